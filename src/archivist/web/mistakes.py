"""What was wrong with a posted form, as its page says it beside the field."""

from collections.abc import Mapping

from archivist.domain.errors import ArchivistError, Conflict, InvalidArgument
from archivist.http.forms import Form
from archivist.web import words
from archivist.web.door import sentence


def mistakes(error: ArchivistError) -> Mapping[str, str]:
    """A sentence for the field that it is about; under `form` if it is about all of them."""
    if isinstance(error, InvalidArgument):
        rule = error.detail.removeprefix(f"{error.field}: ").replace("..", " to ")
        return {error.field: f"It {rule}."}
    if isinstance(error, Conflict) and error.detail.startswith("name: "):
        return {"name": words.MISTAKES["name_taken"]}
    return {"form": sentence(error)}


def new_password(form: Form) -> str:
    """The password that was typed twice.

    Raises:
        InvalidArgument: the two differ.
    """
    first, second = form.one("password"), form.one("again")
    if first != second:  # both come from the same person, who is told: nothing is compared with what is kept
        raise InvalidArgument("again", "differs from the first one; type the same password twice")
    return first
