CREATE TABLE users (
  id VARCHAR(36) NOT NULL,
  name VARCHAR(400) NOT NULL,
  name_digest VARCHAR(64) NOT NULL,
  password VARCHAR(200) NOT NULL,
  administrator BIGINT NOT NULL,
  created BIGINT NOT NULL,
  disabled BIGINT,
  factor TEXT NOT NULL,
  factor_step BIGINT NOT NULL,
  PRIMARY KEY (id)
);

CREATE UNIQUE INDEX users_named ON users (name_digest);

CREATE TABLE recovery_codes (
  user VARCHAR(36) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  PRIMARY KEY (user, digest)
);

CREATE TABLE identities (
  digest VARCHAR(64) NOT NULL,
  user VARCHAR(36) NOT NULL,
  issuer VARCHAR(400) NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (digest)
);

CREATE INDEX identities_user ON identities (user);

CREATE TABLE sessions (
  digest VARCHAR(64) NOT NULL,
  id VARCHAR(36) NOT NULL,
  user VARCHAR(36) NOT NULL,
  stage VARCHAR(16) NOT NULL,
  agent VARCHAR(400) NOT NULL,
  created BIGINT NOT NULL,
  used BIGINT NOT NULL,
  fresh BIGINT NOT NULL,
  PRIMARY KEY (digest)
);

CREATE UNIQUE INDEX sessions_id ON sessions (id);

CREATE INDEX sessions_user ON sessions (user);

CREATE TABLE devices (
  digest VARCHAR(64) NOT NULL,
  user VARCHAR(36) NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (digest)
);

CREATE INDEX devices_user ON devices (user);

CREATE TABLE links (
  digest VARCHAR(64) NOT NULL,
  id VARCHAR(36) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  user VARCHAR(36) NOT NULL,
  maker VARCHAR(36) NOT NULL,
  into_vault VARCHAR(36) NOT NULL,
  role VARCHAR(16) NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  used BIGINT,
  PRIMARY KEY (digest)
);

CREATE TABLE members (
  vault VARCHAR(36) NOT NULL,
  user VARCHAR(36) NOT NULL,
  role VARCHAR(16) NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (vault, user)
);

CREATE INDEX members_user ON members (user);

CREATE TABLE clients (
  digest VARCHAR(64) NOT NULL,
  client_id TEXT NOT NULL,
  kind VARCHAR(16) NOT NULL,
  name VARCHAR(400) NOT NULL,
  redirect_uris TEXT NOT NULL,
  secret VARCHAR(64) NOT NULL,
  method VARCHAR(32) NOT NULL,
  created BIGINT NOT NULL,
  approved BIGINT,
  blocked BIGINT,
  PRIMARY KEY (digest)
);

CREATE INDEX clients_waiting ON clients (approved, created);

CREATE TABLE transactions (
  digest VARCHAR(64) NOT NULL,
  session VARCHAR(36) NOT NULL,
  client VARCHAR(64) NOT NULL,
  request TEXT NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  PRIMARY KEY (digest)
);

CREATE TABLE grants (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  user VARCHAR(36) NOT NULL,
  client VARCHAR(64) NOT NULL,
  client_name VARCHAR(400) NOT NULL,
  host VARCHAR(400) NOT NULL,
  shown VARCHAR(64) NOT NULL,
  toolset VARCHAR(16) NOT NULL,
  scopes VARCHAR(200) NOT NULL,
  created BIGINT NOT NULL,
  approved BIGINT NOT NULL,
  ended BIGINT,
  reason VARCHAR(32) NOT NULL,
  PRIMARY KEY (vault, id)
);

CREATE INDEX grants_client ON grants (client);

CREATE INDEX grants_user ON grants (user);

CREATE TABLE codes (
  vault VARCHAR(36) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  grant VARCHAR(36) NOT NULL,
  family VARCHAR(36) NOT NULL,
  client VARCHAR(64) NOT NULL,
  redirect_uri TEXT NOT NULL,
  challenge VARCHAR(64) NOT NULL,
  toolset VARCHAR(16) NOT NULL,
  scopes VARCHAR(200) NOT NULL,
  session VARCHAR(36) NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  spent BIGINT,
  failures BIGINT NOT NULL,
  PRIMARY KEY (vault, digest)
);

CREATE UNIQUE INDEX codes_digest ON codes (digest);

CREATE TABLE tokens (
  vault VARCHAR(36) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  grant VARCHAR(36) NOT NULL,
  family VARCHAR(36) NOT NULL,
  client VARCHAR(64) NOT NULL,
  toolset VARCHAR(16) NOT NULL,
  scopes VARCHAR(200) NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  until BIGINT NOT NULL,
  ended BIGINT,
  spent BIGINT,
  salt VARCHAR(64) NOT NULL,
  request VARCHAR(64) NOT NULL,
  successor VARCHAR(64) NOT NULL,
  PRIMARY KEY (vault, digest)
);

CREATE UNIQUE INDEX tokens_digest ON tokens (digest);

CREATE INDEX tokens_expires ON tokens (expires);

CREATE INDEX tokens_family ON tokens (vault, grant, family);

CREATE TABLE attempts (
  subject VARCHAR(64) NOT NULL,
  id VARCHAR(36) NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (subject, id)
);

CREATE INDEX attempts_at ON attempts (at);

CREATE TABLE uses (
  vault VARCHAR(36) NOT NULL,
  credential VARCHAR(36) NOT NULL,
  operation VARCHAR(64) NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  count BIGINT NOT NULL,
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  PRIMARY KEY (vault, credential, operation, outcome)
);

ALTER TABLE keys ADD COLUMN kind VARCHAR(16) DEFAULT 'memory' NOT NULL;

INSERT INTO members (vault, "user", role, created) SELECT vault, owner, 'owner', created FROM vaults;
