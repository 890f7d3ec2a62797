ALTER TABLE heads ADD COLUMN leasing BIGINT DEFAULT '0' NOT NULL;

ALTER TABLE audit ADD COLUMN seq BIGINT DEFAULT '0' NOT NULL;

CREATE INDEX audit_seq ON audit (vault, seq);

ALTER TABLE memories ADD COLUMN going VARCHAR(36) DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL;

ALTER TABLE memories ADD COLUMN checksum BIGINT;

UPDATE memories SET batch = '00000000-0000-0000-0000-000000000000' WHERE batch = '';

DROP INDEX memories_counted ON memories;

CREATE INDEX memories_counted ON memories (vault, tier, archived, batch, event, id, going, tokens);

CREATE TABLE batches (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  holder VARCHAR(36) NOT NULL,
  source_tier BIGINT NOT NULL,
  items BIGINT NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  committed BIGINT,
  result LONGTEXT NOT NULL,
  PRIMARY KEY (vault, id)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX batches_open ON batches (vault, committed, expires);

CREATE TABLE leased (
  vault VARCHAR(36) NOT NULL,
  memory VARCHAR(36) NOT NULL,
  batch VARCHAR(36) NOT NULL,
  version BIGINT NOT NULL,
  position BIGINT NOT NULL,
  PRIMARY KEY (vault, memory)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX leased_batch ON leased (vault, batch, position);

CREATE TABLE erasures (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  whole BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (vault, id)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

ALTER TABLE vaults ADD COLUMN approval BIGINT DEFAULT '0' NOT NULL;

ALTER TABLE users ADD COLUMN zone VARCHAR(64) DEFAULT '' NOT NULL;

CREATE TABLE approvals (
  vault VARCHAR(36) NOT NULL,
  id VARCHAR(36) NOT NULL,
  action VARCHAR(64) NOT NULL,
  user VARCHAR(36) NOT NULL,
  credential_id VARCHAR(36) NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  approved BIGINT,
  approver VARCHAR(36) NOT NULL,
  spent BIGINT,
  PRIMARY KEY (vault, id)
)ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;
