CREATE TABLE heads (
  vault VARCHAR(36) NOT NULL,
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  secret BLOB NOT NULL,
  space VARCHAR(200) NOT NULL,
  erasing BIGINT NOT NULL,
  PRIMARY KEY (vault)
);

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

CREATE TABLE audit (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  at BIGINT NOT NULL,
  user VARCHAR(36) NOT NULL,
  credential VARCHAR(16) NOT NULL,
  credential_id VARCHAR(36) NOT NULL,
  action VARCHAR(64) NOT NULL,
  target VARCHAR(36) NOT NULL,
  count BIGINT NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  PRIMARY KEY (vault, id)
);

CREATE INDEX audit_recent ON audit (vault, at);

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
