"""Reading message definitions, with the rules that Kafka's generator has for each field and struct by itself."""

import itertools
import re
from typing import Any, TypeVar

from kcodec.java.numbers import parse_java_integer
from kcodec.protocol.spec.json import (
    SpecError,
    parse_json,
    read_boolean,
    read_choice,
    read_integer,
    read_list,
    read_object,
    read_text,
)
from kcodec.protocol.spec.model import (
    API_VERSIONS,
    ENTITY_TYPES,
    LISTENERS,
    MESSAGE_TYPES,
    FieldSpec,
    FieldType,
    MessageModel,
    StructSpec,
    snake_case,
)
from kcodec.protocol.spec.versions import Versions

__all__ = ["parse"]

Spec = TypeVar("Spec", bound=MessageModel | StructSpec | FieldSpec)
Message = TypeVar("Message", bound=MessageModel)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def parse(text: str, file: str, make: type[Message]) -> Message:
    """Read a definition, without the rules that take the whole message; raise `SpecError` if it is wrong."""
    try:
        return _message(parse_json(text), file, make)
    except SpecError as error:
        raise SpecError(error.reason, error.rule, error.path, file) from None
    except RecursionError:
        raise SpecError("fields are nested too deeply", "json", "", file) from None


def _step(path: str, value: Any, name: str) -> str:
    """Append the name of a field or struct, where it has one that is text."""
    step = value.get(name) if isinstance(value, dict) else None
    return ".".join(part for part in (path, step if isinstance(step, str) else "?") if part)


def _versions(text: str | None, otherwise: Versions | None, path: str) -> Versions | None:
    if text is None or not text.strip():
        return otherwise
    try:
        return Versions.parse(text)
    except ValueError as error:
        raise SpecError(str(error), "versions_syntax", path) from None


def _some_versions(text: str | None, path: str) -> Versions:
    return _versions(text, None, path) or Versions.NONE


def _message(value: Any, file: str, make: type[Message]) -> Message:
    given, unknown = read_object(value, "MessageSpec", _OF_MESSAGE, "")
    struct = _make_struct(given, "validVersions", "")
    name, kind = struct.name, given.get("type")
    if kind is None:
        raise SpecError(f"You must specify the type of the {name} message.", "missing_type")
    api_key, texts = given.get("apiKey"), given.get("headerVersions")
    common = given.get("commonStructs") or ()
    if struct.versions.empty:
        if texts is not None:
            raise SpecError(
                f"The `headerVersions` property must not be specified for message {name}, which has no valid versions.",
                "header_versions",
            )
        return _known(make(name, kind, struct, Versions.NONE, api_key, common, file=file), unknown)
    if given.get("flexibleVersions") is None:
        raise SpecError(
            "You must specify a value for flexibleVersions. Please use 0+ for all new messages.",
            "missing_flexible_versions",
        )
    flexible = _some_versions(given["flexibleVersions"], "")
    if not flexible.empty and not flexible.open:
        raise SpecError(
            f"Field {name} specifies flexibleVersions {flexible}, which is not open-ended.  flexibleVersions must be "
            "either none, or an open-ended range (that ends with a plus sign).",
            "flexible_versions_closed",
        )
    listeners = given.get("listeners") or ()
    if listeners and kind != "request":
        raise SpecError(
            "The `requestScope` property is only valid for messages with type `request`", "listeners"
        )
    unstable = given.get("latestVersionUnstable", False)
    if unstable and kind != "request":
        raise SpecError(
            "The `latestVersionUnstable` property is only valid for messages with type `request`",
            "latest_version_unstable",
        )
    if texts is not None and kind not in ("request", "response"):
        raise SpecError(
            "The `headerVersions` property is only valid for messages with type `request` or `response`",
            "header_versions",
        )
    headers = None if texts is None else _header_versions(name, texts, struct.versions)
    if kind == "response" and api_key == API_VERSIONS:
        for versions, header in headers or ():
            if header:
                raise SpecError(
                    f"Message {name} maps versions {versions} to response header version {header}, but "
                    "ApiVersionsResponse must use a v0 response header at every version so that older brokers can "
                    "parse it (KIP-511).",
                    "header_versions",
                )
    _check_coordinator(name, kind, api_key, struct.versions, flexible)
    spec = make(name, kind, struct, flexible, api_key, common, listeners, unstable, headers, file)
    return _known(spec, unknown)


def _known(made: Spec, unknown: str | None, path: str = "") -> Spec:
    if unknown is not None:
        raise SpecError(unknown, "unknown_property", path)
    return made


def _check_coordinator(
    name: str, kind: str, api_key: int | None, valid: Versions, flexible: Versions
) -> None:
    if kind == "coordinator-key":
        if api_key is None:
            raise SpecError(
                f"The ApiKey must be set for messages {name} with type `{kind}`", "coordinator_api_key"
            )
        if valid != Versions(0, 0):
            raise SpecError(
                f"The Versions must be set to `0` for messages {name} with type `{kind}`",
                "coordinator_key_versions",
            )
        if not flexible.empty:
            raise SpecError(
                f"The FlexibleVersions are not supported for messages {name}  with type `{kind}`",
                "coordinator_key_versions",
            )
    if kind == "coordinator-value" and api_key is None:
        raise SpecError(f"The ApiKey must be set for messages with type `{kind}`", "coordinator_api_key")


def _header_texts(value: Any, path: str) -> dict[str, str | None] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise SpecError(
            "Cannot deserialize value of type `java.util.Map` from what is no object", "json_type", path
        )
    return {key: read_text(each, path) for key, each in value.items()}


def _header_versions(
    name: str, texts: dict[str, str | None], valid: Versions
) -> tuple[tuple[Versions, int], ...]:
    def fail(text: str) -> SpecError:
        return SpecError(f"Message {name} {text}", "header_versions")

    if not texts:
        raise fail("specifies an empty headerVersions map.")
    entries = []
    for key, value in texts.items():
        if not key.strip():
            raise fail("specifies a blank version range in headerVersions.")
        try:
            versions = Versions.parse(key)
        except ValueError:
            versions = Versions.NONE
        if versions.empty:
            raise fail(f'specifies an invalid version range "{key}" in headerVersions.')
        if value is None or not value.strip():
            raise fail(f'specifies a blank header version for range "{key}" in headerVersions.')
        try:
            header = parse_java_integer(value.strip(), 16)
        except ValueError:
            raise fail(
                f'specifies an invalid header version "{value}" for range "{key}" in headerVersions.'
            ) from None
        if header < 0:
            raise fail(f'specifies a negative header version "{value}" for range "{key}" in headerVersions.')
        entries.append((versions, header))
    entries.sort(key=lambda entry: entry[0].lowest)
    first, last = entries[0][0], entries[-1][0]
    if first.lowest:
        raise fail(
            f"has headerVersions starting at version {first.lowest}, but the first range must start at version 0 so "
            "that the map covers every version the schema describes, including versions that are no longer valid."
        )
    for (before, _), (after, _) in itertools.pairwise(entries):
        if before.open:
            raise fail(
                f"has an open-ended headerVersions range {before} that is followed by {after}; only the last range "
                "may be open-ended."
            )
        if after.lowest != before.highest + 1:
            raise fail(
                f"has non-contiguous headerVersions: the range after {before} must start at version "
                f"{before.highest + 1}, but it starts at version {after.lowest}."
            )
    if not last.open:
        raise fail(
            f"has headerVersions whose last range {last} is not open-ended; the last range must end with a plus sign."
        )
    for versions, _ in entries:
        if versions.lowest > valid.highest:
            raise fail(
                f"has a headerVersions range {versions} that starts above the highest valid version {valid.highest}."
            )
    return tuple(entries)


def _struct(value: Any, path: str) -> StructSpec:
    path = _step(path, value, "name")
    given, unknown = read_object(value, "StructSpec", _OF_STRUCT, path)
    return _known(_make_struct(given, "versions", path), unknown, path)


def _make_struct(given: dict[str, Any], versions: str, path: str) -> StructSpec:
    """Make a struct of the members that were read, of which one has its versions; raise `SpecError` if it is wrong."""
    name = given.get("name")
    if name is None:
        raise SpecError("You must specify the name of the structure.", "missing_name", path)
    own = _versions(given.get(versions), None, path)
    if own is None:
        raise SpecError(f"You must specify the version of the {name} structure.", "missing_versions", path)
    deprecated = _some_versions(given.get("deprecatedVersions"), path)
    fields = given.get("fields") or ()
    tags: set[int] = set()
    names: set[str] = set()
    for each in fields:
        below = f"{path}.{each.name}" if path else each.name
        if each.tag in tags:
            raise SpecError(
                f"In {name}, field {each.name} has a duplicate tag ID {each.tag}. All tags IDs must be unique.",
                "duplicate_tag",
                below,
            )
        if each.name in names:
            raise SpecError(
                f"In {name}, field {each.name} has a duplicate name {each.name}. All field names must be unique.",
                "duplicate_name",
                below,
            )
        names.add(each.name)
        if each.tag is not None:
            tags.add(each.tag)
    for tag in range(len(tags)):
        if tag not in tags:
            raise SpecError(
                f"In {name}, the tag IDs are not contiguous.  Make use of tag {tag} before using any higher tag IDs.",
                "tags_not_contiguous",
                path,
            )
    return StructSpec(name, own, fields, deprecated)


def _field(value: Any, path: str) -> FieldSpec:
    path = _step(path, value, "name")
    given, unknown = read_object(value, "FieldSpec", _OF_FIELD, path)
    try:
        made = _make_field(given)
    except SpecError as error:
        raise SpecError(error.reason, error.rule, error.path or path) from None
    return _known(made, unknown, path)


def _make_field(given: dict[str, Any]) -> FieldSpec:
    name = given.get("name")
    if name is None:
        raise SpecError("You must specify the name of the field.", "missing_name")
    if not _NAME.fullmatch(name):
        raise SpecError(f"Invalid field name {name}", "field_name")
    tagged = _some_versions(given.get("taggedVersions"), "")
    versions = _versions(given.get("versions"), None if tagged.empty else tagged, "")
    if versions is None:
        raise SpecError(f"You must specify the version of the {name} structure.", "missing_versions")
    if given.get("type") is None:
        raise SpecError(f"You must specify the type of the {name} field.", "missing_type")
    kind = FieldType.parse(given["type"])
    nullable = _some_versions(given.get("nullableVersions"), "")
    if not nullable.empty and not kind.nullable:
        raise SpecError(f"Type {kind} cannot be nullable.", "not_nullable")
    entity = given.get("entityType") or "unknown"
    if ENTITY_TYPES[entity] not in (None, kind.element):
        raise SpecError(
            f"Field {name} has entity type {snake_case(entity).upper()}, but field type {kind.element}, which does "
            "not match.",
            "entity_type",
        )
    fields = given.get("fields") or ()
    if fields:
        if not kind.is_array and not kind.is_struct:
            raise SpecError(f"Non-array or Struct field {name} cannot have fields", "fields_of_primitive")
        if kind.has_struct:
            _make_struct(given, "versions", "")
    flexible = None
    if given.get("flexibleVersions"):
        flexible = _some_versions(given["flexibleVersions"], "")
        if str(kind) not in ("string", "bytes"):
            raise SpecError(
                f"Invalid flexibleVersions override for {name}.  Only fields of type string or bytes can specify a "
                "flexibleVersions override.",
                "flexible_versions_type",
            )
    tag, map_key = given.get("tag"), given.get("mapKey", False)
    if tag is not None and map_key:
        raise SpecError("Tagged fields cannot be used as keys.", "tagged_key")
    _check_tag(name, tag, tagged, versions, nullable)
    zero_copy = given.get("zeroCopy", False)
    if zero_copy and str(kind) != "bytes":
        raise SpecError(
            f"Invalid zeroCopy value for {name}. Only fields of type bytes can use zeroCopy flag.",
            "zero_copy",
        )
    return FieldSpec(
        name,
        kind,
        versions,
        nullable,
        tagged,
        tag,
        flexible,
        given.get("default") or "",
        given.get("ignorable", False),
        map_key,
        entity,
        zero_copy,
        given.get("about") or "",
        fields,
    )


def _check_tag(name: str, tag: int | None, tagged: Versions, versions: Versions, nullable: Versions) -> None:
    if tag is None:
        if not tagged.empty:
            raise SpecError(
                f"Field {name} does not specify a tag, but specifies tagged versions of {tagged}.  Please specify a "
                "tag, or remove the taggedVersions.",
                "missing_tag",
            )
        return
    if tag < 0:
        raise SpecError(f"Field {name} specifies a tag of {tag}.  Tags cannot be negative.", "negative_tag")
    if tagged.empty:
        raise SpecError(
            f"Field {name} specifies a tag of {tag}, but has no tagged versions.  If a tag is specified, "
            "taggedVersions must be specified as well.",
            "missing_tagged_versions",
        )
    if nullable & tagged not in (Versions.NONE, tagged):
        raise SpecError(
            f"Field {name} specifies nullableVersions {nullable} and taggedVersions {tagged}.  Either all tagged "
            "versions must be nullable, or none must be.",
            "tagged_versions_nullable",
        )
    if not tagged.open:
        raise SpecError(
            f"Field {name} specifies taggedVersions {tagged}, which is not open-ended.  taggedVersions must be "
            "either none, or an open-ended range (that ends with a plus sign).",
            "tagged_versions_closed",
        )
    if tagged & versions != tagged:
        raise SpecError(
            f"Field {name} specifies taggedVersions {tagged}, and versions {versions}.  taggedVersions must be a "
            "subset of versions.",
            "tagged_versions_outside",
        )


#: Members of what definitions are made of, and what reads each.
_OF_FIELD = {
    "default": read_text,
    "mapKey": read_boolean,
    "flexibleVersions": read_text,
    "taggedVersions": read_text,
    "name": read_text,
    "ignorable": read_boolean,
    "fields": read_list(_field),
    "type": read_text,
    "versions": read_text,
    "nullableVersions": read_text,
    "entityType": read_choice("EntityType", tuple(ENTITY_TYPES)),
    "about": read_text,
    "tag": read_integer(32),
    "zeroCopy": read_boolean,
}
_OF_STRUCT = {
    "name": read_text,
    "versions": read_text,
    "deprecatedVersions": read_text,
    "fields": read_list(_field),
}
_OF_MESSAGE = {
    "name": read_text,
    "validVersions": read_text,
    "deprecatedVersions": read_text,
    "fields": read_list(_field),
    "apiKey": read_integer(16),
    "type": read_choice("MessageSpecType", MESSAGE_TYPES),
    "commonStructs": read_list(_struct),
    "flexibleVersions": read_text,
    "headerVersions": _header_texts,
    "listeners": read_list(read_choice("RequestListenerType", LISTENERS)),
    "latestVersionUnstable": read_boolean,
}
