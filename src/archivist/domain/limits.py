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
