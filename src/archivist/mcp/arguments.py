"""Arguments of tools: closed, strict, and with an error that names the field and what it may be."""

import re
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from archivist.domain.errors import InvalidArgument
from archivist.http.wire import lone_surrogate

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
Schema = dict[str, Any]


class Arguments(BaseModel):
    """Base of every tool's arguments. Types are checked here; ranges are stated here and checked by the domain."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Given = TypeVar("Given", bound=Arguments)


def parse(model: type[Given], values: dict[str, Any]) -> Given:
    """The arguments as the tool takes them. An empty string or null for an optional one counts as left out.

    An argument that the tool does not have is refused even so: it may be one that its caller relies on.

    Raises:
        InvalidArgument: one is unknown, missing, of the wrong type, or not valid Unicode.
    """
    optional = optional_names(model)
    given = {name: value for name, value in values.items() if name not in optional or value not in ("", None)}
    for name, value in given.items():
        if lone_surrogate([name, value]):
            raise InvalidArgument(_shown(name), "must be valid Unicode, without lone surrogates")
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        raise _invalid(model, exc.errors(include_url=False, include_input=False, include_context=False)[0]) from None


def schema(model: type[Arguments]) -> Schema:
    """The JSON Schema of the arguments, without what only repeats the names."""
    made = model.model_json_schema(schema_generator=_Plain)
    return {
        "type": "object",
        "properties": made.get("properties", {}),
        **({"required": made["required"]} if "required" in made else {}),
        "additionalProperties": False,
    }


@cache
def optional_names(model: type[Arguments]) -> frozenset[str]:
    """The arguments that can be left out, as callers spell them."""
    return frozenset(field.alias or name for name, field in model.model_fields.items() if not field.is_required())


def _invalid(model: type[Arguments], error: ErrorDetails) -> InvalidArgument:
    field = str(error["loc"][0]) if error["loc"] else "arguments"
    known = schema(model)["properties"]
    if error["type"] == "extra_forbidden":
        names = ", ".join(known) or "none"
        return InvalidArgument(_shown(field), f"is not an argument of this tool, which takes: {names}")
    prefix = "is required and " if error["type"] == "missing" else ""
    return InvalidArgument(field, f"{prefix}must be {_rule(known[field])}")


def _shown(name: str) -> str:
    """A name that a caller made up, if it is harmless to repeat."""
    return name if _NAME.fullmatch(name) else "arguments"


def _rule(allowed: Schema) -> str:
    """`an integer 1..500`: what a property may be, in words."""
    if "enum" in allowed:
        return "one of " + ", ".join(map(str, allowed["enum"]))
    match allowed["type"]:
        case "integer":
            return f"an integer{_span(allowed, 'minimum', 'maximum')}"
        case "array":
            item = allowed["items"]
            words = {"integer": "integers", "object": "objects"}.get(item["type"], "strings")
            return f"a list of{_span(allowed, 'minItems', 'maxItems')} {words}"
        case _:
            span = _span(allowed, "minLength", "maxLength")
            return f"a string of{span} characters" if span else "a string"


def _span(allowed: Schema, least: str, most: str) -> str:
    if most not in allowed:
        return ""
    return f" {allowed.get(least, 0)}..{allowed[most]}"


class _Plain(GenerateJsonSchema):
    """No titles, no `null` beside a type: an optional argument is left out, not null."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: Any) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> Schema:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)
