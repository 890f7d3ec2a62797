"""The tables of people, apps and what opens doors. Of codes, tokens, links and sessions only digests are kept.

A row that concerns one vault has it in front, as everywhere. The others belong to people: no vault stands in them.
Digests are SHA-256 of 256 random bits, in hex.
"""

from sqlalchemy import BigInteger, Column, Index, String

from archivist.storage.schema import (
    Id,
    LongText,
    Name,
    approvals,
    audit,
    changes,
    heads,
    keys,
    table,
    vault_column,
    vaults,
)

Digest = String(64)
Scopes = String(200)

users = table(
    "users",
    Column("id", Id, primary_key=True),
    Column("name", Name, nullable=False),
    Column("name_digest", Digest, nullable=False),  # of the folded name
    Column("password", String(200), nullable=False),  # an argon2id string; empty: signs in elsewhere, or not yet
    Column("administrator", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("disabled", BigInteger),
    Column("factor", LongText, nullable=False),  # the sealed secret of the second factor; empty: there is none
    Column("factor_step", BigInteger, nullable=False),  # the last time step whose code was used
    Column("zone", String(64), nullable=False, server_default=""),  # of days without a time, IANA name; empty: UTC
    Index("users_named", "name_digest", unique=True),
)

# One-time codes that stand in for a lost second factor; a used one is deleted.
recovery_codes = table(
    "recovery_codes",
    Column("user", Id, primary_key=True),
    Column("digest", Digest, primary_key=True),
)

# Who a person is at an outside provider; the digest is of issuer and subject.
identities = table(
    "identities",
    Column("digest", Digest, primary_key=True),
    Column("user", Id, nullable=False),
    Column("issuer", Name, nullable=False),
    Column("created", BigInteger, nullable=False),
    Index("identities_user", "user"),
)

sessions = table(
    "sessions",
    Column("digest", Digest, primary_key=True),
    Column("id", Id, nullable=False),
    Column("user", Id, nullable=False),
    Column("stage", String(16), nullable=False),  # `full`, or `half`: the second factor is still missing
    Column("agent", Name, nullable=False),  # what the browser calls itself, cut
    Column("created", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("fresh", BigInteger, nullable=False),  # when password or factor were last shown
    Index("sessions_user", "user"),
    Index("sessions_id", "id", unique=True),
)

# Browsers that signed in before: their failures are counted apart.
devices = table(
    "devices",
    Column("digest", Digest, primary_key=True),
    Column("user", Id, nullable=False),
    Column("created", BigInteger, nullable=False),
    Index("devices_user", "user"),
)

# One-time links: set-up, invitation, recovery.
links = table(
    "links",
    Column("digest", Digest, primary_key=True),
    Column("id", Id, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("user", Id, nullable=False),  # whom it is about: of a recovery; empty where somebody new is awaited
    Column("maker", Id, nullable=False),
    Column("into_vault", Id, nullable=False),  # of an invitation into a vault; empty: into none
    Column("role", String(16), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("used", BigInteger),
)

members = table(
    "members",
    vault_column(),
    Column("user", Id, primary_key=True),
    Column("role", String(16), nullable=False),
    Column("created", BigInteger, nullable=False),
    Index("members_user", "user"),
)

clients = table(
    "clients",
    Column("digest", Digest, primary_key=True),  # of the client id, which may be an address of 2,048 characters
    Column("client_id", LongText, nullable=False),
    Column("kind", String(16), nullable=False),  # registered, document, confidential
    Column("name", Name, nullable=False),
    Column("redirect_uris", LongText, nullable=False),  # a JSON list
    Column("secret", Digest, nullable=False),  # of a confidential client; empty otherwise
    Column("method", String(32), nullable=False),  # how it authenticates: none, client_secret_basic or _post
    Column("created", BigInteger, nullable=False),
    Column("approved", BigInteger),  # when somebody first allowed it; NULL: may be cleared away
    Column("blocked", BigInteger),
    Index("clients_waiting", "approved", "created"),
)

# What an app asked for, while its person decides. The row is deleted with the decision.
transactions = table(
    "transactions",
    Column("digest", Digest, primary_key=True),
    Column("session", Id, nullable=False),
    Column("client", Digest, nullable=False),
    Column("request", LongText, nullable=False),  # JSON
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)

# Connections: what a person allowed an app, in one vault, on one tool set.
grants = table(
    "grants",
    vault_column(),
    Column("id", Id, primary_key=True),
    Column("user", Id, nullable=False),
    Column("client", Digest, nullable=False),
    Column("client_name", Name, nullable=False),
    Column("host", Name, nullable=False),  # where answers go, as the consent page showed it
    Column("shown", Digest, nullable=False),  # of the name and the targets that were approved
    Column("toolset", String(16), nullable=False),
    Column("scopes", Scopes, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("approved", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("reason", String(32), nullable=False),
    Index("grants_user", "user"),
    Index("grants_client", "client"),
)

codes = table(
    "codes",
    vault_column(),
    Column("digest", Digest, primary_key=True),
    Column("grant", Id, nullable=False),
    Column("family", Id, nullable=False),
    Column("client", Digest, nullable=False),
    Column("redirect_uri", LongText, nullable=False),
    Column("challenge", String(64), nullable=False),
    Column("toolset", String(16), nullable=False),
    Column("scopes", Scopes, nullable=False),
    Column("session", Id, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("spent", BigInteger),
    Column("failures", BigInteger, nullable=False),
    Index("codes_digest", "digest", unique=True),
)

tokens = table(
    "tokens",
    vault_column(),
    Column("digest", Digest, primary_key=True),
    Column("kind", String(16), nullable=False),  # access, refresh
    Column("grant", Id, nullable=False),
    Column("family", Id, nullable=False),  # all that descends from one code
    Column("client", Digest, nullable=False),
    Column("toolset", String(16), nullable=False),
    Column("scopes", Scopes, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),  # the end of the family, however often it is refreshed
    Column("ended", BigInteger),
    Column("spent", BigInteger),  # of a refresh token: when its successor was made
    Column("salt", Digest, nullable=False),  # of a spent refresh token: with the token itself it makes its successors
    Column("request", Digest, nullable=False),  # and what was asked for with it
    Column("successor", Digest, nullable=False),
    Index("tokens_digest", "digest", unique=True),
    Index("tokens_family", "vault", "grant", "family"),
    Index("tokens_expires", "expires"),
)

# Failures and registrations, counted over a stretch of time; the subject is a digest.
attempts = table(
    "attempts",
    Column("subject", Digest, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Index("attempts_at", "at"),
)

# How often a connection or key did what, flushed now and then; `first` and `last` are moments.
uses = table(
    "uses",
    vault_column(),
    Column("credential", Id, primary_key=True),
    Column("operation", String(64), primary_key=True),
    Column("outcome", String(32), primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
)

PEOPLE = (
    users, recovery_codes, identities, sessions, devices, links, members, clients, transactions, grants, codes, tokens,
    attempts, uses,
)  # fmt: skip
CONTROL = (heads, changes, audit, vaults, keys, approvals, *PEOPLE)
