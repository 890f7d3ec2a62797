CREATE TABLE audit (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  at BIGINT NOT NULL,
  "user" VARCHAR(36) NOT NULL,
  credential VARCHAR(16) NOT NULL,
  credential_id VARCHAR(36) NOT NULL,
  action VARCHAR(64) NOT NULL,
  target VARCHAR(36) NOT NULL,
  count BIGINT NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  PRIMARY KEY (vault, id)
);

CREATE INDEX audit_recent ON audit (vault, at);

CREATE TABLE changes (
  vault VARCHAR(36) NOT NULL,
  seq BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  kind VARCHAR(16) NOT NULL,
  id VARCHAR(36) NOT NULL,
  version BIGINT NOT NULL,
  op VARCHAR(16) NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (vault, seq)
);

CREATE TABLE heads (
  vault VARCHAR(36) NOT NULL,
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  secret BYTEA NOT NULL,
  space VARCHAR(200) NOT NULL,
  erasing BIGINT NOT NULL,
  PRIMARY KEY (vault)
);

CREATE TABLE keys (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  start VARCHAR(16) NOT NULL,
  name VARCHAR(400) NOT NULL,
  owner VARCHAR(36) NOT NULL,
  scopes VARCHAR(200) NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT,
  revoked BIGINT,
  PRIMARY KEY (vault, id),
  UNIQUE (digest)
);

CREATE TABLE lineage (
  vault VARCHAR(36) NOT NULL,
  parent VARCHAR(36) NOT NULL,
  child VARCHAR(36) NOT NULL,
  child_version BIGINT NOT NULL,
  batch VARCHAR(36) NOT NULL,
  PRIMARY KEY (vault, parent, child)
);

CREATE INDEX lineage_child ON lineage (vault, child);

CREATE TABLE memories (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  doc BIGINT NOT NULL,
  tier BIGINT NOT NULL,
  version BIGINT NOT NULL,
  importance BIGINT,
  text TEXT NOT NULL,
  title VARCHAR(400) NOT NULL,
  tokens BIGINT NOT NULL,
  terms TEXT NOT NULL,
  digest VARCHAR(64) NOT NULL,
  repeat_of VARCHAR(64),
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  event BIGINT NOT NULL,
  source_context TEXT NOT NULL,
  batch VARCHAR(36) NOT NULL,
  archived BIGINT NOT NULL,
  favorite BIGINT NOT NULL,
  priority BIGINT NOT NULL,
  kind VARCHAR(32) NOT NULL,
  level VARCHAR(16) NOT NULL,
  category VARCHAR(32) NOT NULL,
  project VARCHAR(400) NOT NULL,
  summary TEXT NOT NULL,
  notes TEXT NOT NULL,
  language VARCHAR(16) NOT NULL,
  path TEXT NOT NULL,
  codename VARCHAR(32) NOT NULL,
  aliases TEXT NOT NULL,
  keywords TEXT NOT NULL,
  PRIMARY KEY (vault, id)
);

CREATE INDEX memories_counted ON memories (vault, tier, archived, batch, tokens);

CREATE INDEX memories_created ON memories (vault, created, id);

CREATE UNIQUE INDEX memories_doc ON memories (vault, doc);

CREATE INDEX memories_event ON memories (vault, event, id);

CREATE UNIQUE INDEX memories_repeat ON memories (vault, repeat_of);

CREATE TABLE pending (
  vault VARCHAR(36) NOT NULL,
  memory VARCHAR(36) NOT NULL,
  PRIMARY KEY (vault, memory)
);

CREATE TABLE tags (
  vault VARCHAR(36) NOT NULL,
  memory VARCHAR(36) NOT NULL,
  position BIGINT NOT NULL,
  tag VARCHAR(400) NOT NULL,
  PRIMARY KEY (vault, memory, position)
);

CREATE TABLE tombstones (
  vault VARCHAR(36) NOT NULL,
  memory VARCHAR(36) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (vault, memory)
);

CREATE TABLE vaults (
  vault VARCHAR(36) NOT NULL,
  name VARCHAR(400) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  owner VARCHAR(36) NOT NULL,
  created BIGINT NOT NULL,
  removed BIGINT,
  name_digest VARCHAR(64) NOT NULL,
  PRIMARY KEY (vault)
);

CREATE UNIQUE INDEX vaults_named ON vaults (name_digest);

CREATE TABLE vectors (
  vault VARCHAR(36) NOT NULL,
  memory VARCHAR(36) NOT NULL,
  "window" BIGINT NOT NULL,
  space VARCHAR(200) NOT NULL,
  scale DOUBLE PRECISION NOT NULL,
  data BYTEA NOT NULL,
  PRIMARY KEY (vault, memory, "window")
);
