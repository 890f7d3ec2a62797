"""Every table, once. Portable column types only: text, 64-bit integer, double, bytes. The vault is first in every key.

Two kinds of database hold them (on a server they are one): CONTROL for people and keys, VAULT for what is remembered.
The tables of people, apps and what opens doors stand in `schema_people`; they belong to no vault.
No table is WITHOUT ROWID and no index holds text that people wrote: SQLite's secure_delete overwrites deleted rows,
but can leave copies of deleted index entries behind.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Double, Index, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.dialects import mysql

metadata = MetaData()

NO_ID = "00000000-0000-0000-0000-000000000000"
"""Stands where a row of text has no id yet. A row that grows is moved, and SQLite's secure_delete leaves a copy of it
behind (seen with SQLite 3.53); an id in the place of another one is written over it."""

Id = String(36)
Name = String(400)
LongText = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
Bytes = LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def table(name: str, *columns: Column[Any] | Index) -> Table:
    """On MariaDB: transactions, all of Unicode, and bytes compared as they are, blanks at the end too."""
    innodb, utf8, binary = "InnoDB", "utf8mb4", "utf8mb4_nopad_bin"
    return Table(name, metadata, *columns, mysql_engine=innodb, mysql_charset=utf8, mysql_collate=binary)


def vault_column() -> Column[str]:
    return Column("vault", Id, primary_key=True)


# One row per vault (and one for `control`): where its log stands, its HMAC key, its vector space.
heads = table(
    "heads",
    vault_column(),
    Column("epoch", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("secret", LargeBinary(32), nullable=False),
    Column("space", String(200), nullable=False),  # of the embedder whose vectors are wanted; empty before the first
    Column("erasing", BigInteger, nullable=False),  # seq of the last deletion whose bytes may be left; 0: none
    Column("leasing", BigInteger, nullable=False, server_default="0"),  # counts what was done to reflection batches
)

changes = table(
    "changes",
    vault_column(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("id", Id, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("op", String(16), nullable=False),
    Column("at", BigInteger, nullable=False),  # microseconds since the epoch, UTC, as every time here
)

audit = table(
    "audit",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("user", Id, nullable=False),
    Column("credential", String(16), nullable=False),
    Column("credential_id", Id, nullable=False),
    Column("action", String(64), nullable=False),
    Column("target", Id, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("outcome", String(32), nullable=False),
    Column("seq", BigInteger, nullable=False, server_default="0"),  # where the log of its database stood
    Index("audit_recent", "vault", "at"),
    Index("audit_seq", "vault", "seq"),
)

vaults = table(
    "vaults",
    vault_column(),
    Column("name", Name, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("owner", Id, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("removed", BigInteger),
    Column("name_digest", String(64), nullable=False),  # of owner and folded name; unique while not removed
    Column(
        "approval", BigInteger, nullable=False, server_default="0"
    ),  # 1: an owner is asked before it is emptied, 2: on a page only
    Index("vaults_named", "name_digest", unique=True),
)

keys = table(
    "keys",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of the secret, hex
    Column("start", String(16), nullable=False),  # what may be shown of the key
    Column("name", Name, nullable=False),
    Column("owner", Id, nullable=False),
    Column("scopes", String(200), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("revoked", BigInteger),
    Column("kind", String(16), nullable=False, server_default="memory"),
)

memories = table(
    "memories",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("doc", BigInteger, nullable=False),  # the full-text rowid: the seq of the change that stored it
    Column("tier", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("importance", BigInteger),
    Column("text", LongText, nullable=False),
    Column("title", Name, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("terms", LongText, nullable=False),  # the analysed tokens as indexed; the index is handed them to forget
    Column("digest", String(64), nullable=False),
    Column("repeat_of", String(64)),  # = digest where exact repeats are answered with this row, else NULL
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Column("event", BigInteger, nullable=False),
    Column("source_context", LongText, nullable=False),
    Column("batch", Id, nullable=False),  # the reflection batch that was built on it; NO_ID if none was
    Column("archived", BigInteger, nullable=False),
    Column("favorite", BigInteger, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("level", String(16), nullable=False),
    Column("category", String(32), nullable=False),
    Column("project", Name, nullable=False),
    Column("summary", LongText, nullable=False),
    Column("notes", LongText, nullable=False),
    Column("language", String(16), nullable=False),
    Column("path", LongText, nullable=False),
    Column("codename", String(32), nullable=False),
    Column("aliases", LongText, nullable=False),  # JSON lists of text
    Column("keywords", LongText, nullable=False),
    Column("going", Id, nullable=False, server_default=NO_ID),  # the erasure that is taking it away: hidden from reads
    Column("checksum", BigInteger),  # of all that is told of it; NULL in rows from before there was one
    Index("memories_doc", "vault", "doc", unique=True),
    Index("memories_repeat", "vault", "repeat_of", unique=True),
    Index("memories_event", "vault", "event", "id"),
    Index("memories_created", "vault", "created", "id"),
    # Counting, and finding the oldest that no reflection was built from, must not read texts.
    # `going` stands so late that nobody takes the index for a way to the rows that are shown.
    Index("memories_counted", "vault", "tier", "archived", "batch", "event", "id", "going", "tokens"),
)

tags = table(
    "tags",
    vault_column(),
    Column("memory", Id, primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("tag", Name, nullable=False),
)

vectors = table(
    "vectors",
    vault_column(),
    Column("memory", Id, primary_key=True),
    Column("window", BigInteger, primary_key=True, autoincrement=False),
    Column("space", String(200), nullable=False),
    Column("scale", Double, nullable=False),
    Column("data", Bytes, nullable=False),  # int8, one per dimension; the vector is scale * data
)

# Memories whose vectors are missing or of another space than the one wanted.
pending = table("pending", vault_column(), Column("memory", Id, primary_key=True))

lineage = table(
    "lineage",
    vault_column(),
    Column("parent", Id, primary_key=True),  # the reflection
    Column("child", Id, primary_key=True),  # what it was built from; may be deleted since
    Column("child_version", BigInteger, nullable=False),
    Column("batch", Id, nullable=False),
    Index("lineage_child", "vault", "child"),
)

tombstones = table(
    "tombstones",
    vault_column(),
    Column("memory", Id, primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

# Reflection batches: memories handed to one connection to reflect on, and what came of it.
batches = table(
    "batches",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("holder", Id, nullable=False),  # the connection or key that took it
    Column("source_tier", BigInteger, nullable=False),
    Column("items", BigInteger, nullable=False),  # how many memories were handed out
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("committed", BigInteger),
    Column("result", LongText, nullable=False),  # JSON: what the commit answered, so that a repeat is answered the same
    Index("batches_open", "vault", "committed", "expires"),
)

# Which batch a memory was last handed out in; gone once that batch is committed.
leased = table(
    "leased",
    vault_column(),
    Column("memory", Id, primary_key=True),
    Column("batch", Id, nullable=False),
    Column("version", BigInteger, nullable=False),  # of the text that was handed out
    Column("position", BigInteger, nullable=False),
    Index("leased_batch", "vault", "batch", "position"),
)

# Deletions that were begun: the rows that are going are hidden, and somebody must finish or withdraw it.
erasures = table(
    "erasures",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("whole", BigInteger, nullable=False),  # 1: everything that the vault held at `seq`
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)

# What an owner is asked to approve before it is done, on a page or in the client.
approvals = table(
    "approvals",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("action", String(64), nullable=False),
    Column("user", Id, nullable=False),
    Column("credential_id", Id, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("approved", BigInteger),
    Column("approver", Id, nullable=False),
    Column("spent", BigInteger),
)

PARTS = ((tags, "memory"), (vectors, "memory"), (pending, "memory"))
"""What goes where its memory goes: each table, and its column that names the memory."""

VAULT = (heads, changes, audit, memories, tags, vectors, pending, lineage, tombstones, batches, leased, erasures)
