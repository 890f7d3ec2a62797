"""Every limit on input, in one table, for all faces. Counts are of characters unless the name says bytes."""

TEXT_BYTES = 64 * 1024
TAGS = 50
TAG_LENGTH = 100
SOURCE_CONTEXT_LENGTH = 500
TITLE_LENGTH = 80
"""What a title made from the first line of a text is cut to."""

QUERY_LENGTH = 100_000
SEARCH_LIMIT = 500
SEARCH_DEFAULT = 10
DELETE_IDS = 500
DATE_TOKENS = (1_000, 200_000)
DATE_TOKENS_DEFAULT = 20_000
RESULT_TOKENS = 200_000
"""No search answer carries more text than this, whatever its limit."""

INSPECT_SOURCES = 200
INSPECT_TOKENS = 20_000
"""What one look behind a memory answers at most: so many of its sources, so many tokens of them and of itself."""

INSPECT_ABOVE = 20
"""So many of the reflections built on it are listed; one batch makes ten at most."""

EXCERPT_LENGTH = 300
"""What is shown of a text where only its memory is to be recognised."""

BODY_BYTES = 1024 * 1024
JSON_DEPTH = 32
VAULT_NAME_LENGTH = 100
KEY_NAME_LENGTH = 100

USER_NAME_LENGTH = 100
PASSWORD_LENGTH = (12, 256)
PASSWORD_BYTES = 1024
FORM_BYTES = 16 * 1024
"""Of a posted form, and of a registration."""

CLIENT_ID_LENGTH = 2048
STATE_BYTES = 4096
CLIENT_NAME_LENGTH = 64
WAITING_CLIENTS = 1000
"""Registered apps that nobody has allowed yet; when there are more, no further one can register."""

LEASE_MINUTES = 15
"""How long a reflection batch keeps its memories from others."""

OPEN_BATCHES = 4
"""Reflection batches of one vault that may be open at once."""

BATCH_TOKENS = (1_000, 60_000)
BATCH_TOKENS_DEFAULT = 12_000
BATCH_ITEMS = 150
BATCH_LEAST_ITEMS = 10
"""With fewer memories left there is no batch, unless it is asked for with a number of tokens."""

REFLECTIONS = (5, 10)
"""How many reflections come of a batch."""

DUE_TOKENS = 8_000
DUE_ITEMS = 60
"""Consolidation is offered from so much of raw memories on: tokens or items, of those that are old enough."""

DUE_AGE_MINUTES = 10
"""Younger ones do not count: they may belong to the conversation that is going on."""

DUE_REFLECTIONS = 40
"""Reflections of tier 2 from which on top-level reflections are due."""
