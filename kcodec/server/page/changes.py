"""The pages that change a registry: check and register a schema, set configuration and mode, delete."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kcodec.errors import RegistryError, one_line
from kcodec.formats.schema_format import schema_format, schema_types
from kcodec.registry.base import (
    DEFAULT_TYPE,
    Reference,
    Schema,
    context_of,
    own_config,
    own_mode,
)
from kcodec.registry.compatibility.levels import LEVELS
from kcodec.registry.metadata import Metadata
from kcodec.registry.references import named_texts
from kcodec.registry.settings import MODES, POLICIES, Config
from kcodec.server.access.guard import ServedRegistry
from kcodec.server.page.code import code_lines, text_of
from kcodec.server.page.line_diff import diff_rows
from kcodec.server.page.request import Fields, Refused, Response
from kcodec.server.page.visit import Visit

#: Rows for references that a form has beside those that are filled in.
_FREE_ROWS = 2

#: What the form for a configuration sets, and clears where it is left empty: the rest stays as it is.
_FORM_KEYS = (
    "compatibility",
    "compatibilityGroup",
    "compatibilityPolicy",
    "normalize",
    "validateFields",
    "alias",
)

_Row = tuple[str, str, str]


# Check and register


def form(visit: Visit) -> Response:
    """Show the form, with the latest version of a subject to begin with."""
    name = visit.request.query.text("subject")
    values: dict[str, Any] = {"subject": name}
    if name:
        visit.need("read", name)
        number = visit.request.query.number("version", 0)
        if number or visit.alive(name):
            schema = visit.registry.get_version(name, number or "latest", deleted=bool(number)).schema
            shown = "\n".join(map(text_of, code_lines(schema.text)))
            properties = "" if schema.metadata is None else _properties(visit, name, schema.metadata)
            values |= {
                "text": shown,
                "type": schema.type,
                "references": [(each.name, each.subject, str(each.version)) for each in schema.references],
                "properties": properties,
            }
    return _form(visit, **values)


def _properties(visit: Visit, name: str, metadata: Metadata) -> str:
    """Return the properties as the form has them; those that are secret only for who may register them."""
    is_writer = visit.can("write", name)
    return "".join(
        f"{key} = {value}\n"
        for key, value in metadata.properties
        if is_writer or key not in metadata.sensitive
    )


def check(visit: Visit) -> Response:
    """Check the schema of the form at all levels, or register it."""
    given = visit.request.form
    name, action = given.text("subject").strip(), given.text("action", "check")
    values: dict[str, Any] = {
        "subject": name,
        "text": given.text("schema").replace("\r\n", "\n"),
        "type": given.text("type", DEFAULT_TYPE),
        "references": _rows(given),
        "properties": given.text("properties").replace("\r\n", "\n"),
        "normalize": bool(given.text("normalize")),
    }
    if action == "rows":
        return _form(visit, free=2 * _FREE_ROWS, **values)
    visit.need("write" if action == "register" else "read", name)
    try:
        schema = _schema(visit, values)
        if action == "register":
            return _register(visit, name, schema, values["normalize"])
        return _form(visit, result=_result(visit, name, schema, values["normalize"]), **values)
    except RegistryError as error:
        status = _refusal_status(error)
        problem = {"status": status, "code": error.error_code, "message": one_line(error, 2000)}
        return _form(visit, status, problem=problem, **values)


def _refusal_status(error: RegistryError) -> int:
    """Return the status of an error that is about the form's content, to be shown beside it; raise others."""
    if error.status is None or error.status >= 500:
        raise error
    return error.status


def _form(visit: Visit, status: int = 200, *, free: int = _FREE_ROWS, **values: Any) -> Response:
    rows = [*values.pop("references", ()), *[("", "", "")] * free]
    defaults: dict[str, Any] = {
        "text": "",
        "type": DEFAULT_TYPE,
        "properties": "",
        "normalize": False,
        "result": None,
        "problem": None,
    }
    return visit.page("check", status, types=schema_types(), references=rows, **defaults | values)


def _rows(given: Fields) -> list[_Row]:
    columns = (given.all(f"reference_{each}") for each in ("name", "subject", "version"))
    rows = [
        (name.strip(), subject.strip(), version.strip())
        for name, subject, version in zip(*columns, strict=False)
    ]
    return [row for row in rows if any(row)]


def _schema(visit: Visit, values: dict[str, Any]) -> Schema:
    """Return the schema of the form; rules and tags are those of the subject's latest version."""
    if len(values["text"]) > visit.max_schema:
        raise RegistryError(f"The schema has more than {visit.max_schema} characters", 422, 42209)
    if values["type"] not in schema_types():
        raise RegistryError(f"Invalid schema type {values['type']!r}", 422, 42201)
    references = []
    for name, subject, version in values["references"]:
        number = "-1" if version in ("", "latest") else version
        if not number.removeprefix("-").isdecimal() or len(number) > 10:
            raise RegistryError(
                f"The version {version!r} of the reference {name!r} is not a number", 422, 42201
            )
        references.append(Reference(name, subject, int(number)))
    properties = {}
    for line in values["properties"].splitlines():
        key, found, value = line.partition("=")
        if line.strip():
            if not found:
                raise RegistryError(f"The property {line.strip()!r} has no =", 422, 42201)
            properties[key.strip()] = value.strip()
    latest = None
    if values["subject"] and visit.alive(values["subject"]):
        latest = visit.registry.get_version(values["subject"]).schema
    metadata = None if latest is None else latest.metadata
    if properties or metadata is not None:
        metadata = replace(metadata or Metadata(), properties=tuple(properties.items()))
    if metadata == Metadata():
        metadata = None
    rules = None if latest is None else latest.rules
    return Schema(values["text"], values["type"], tuple(references), metadata, rules)


def _register(visit: Visit, name: str, schema: Schema, normalize: bool) -> Response:
    before = set(visit.alive(name))
    found = visit.registry.register(name, schema, normalize=normalize)
    done = "known" if found.version in before else "registered"
    return visit.go("version", subject=name, version=found.version, done=done)


def _result(visit: Visit, name: str, schema: Schema, normalize: bool) -> dict[str, Any]:
    """Return the verdicts of all levels, and how the schema differs from the latest version."""
    registry = visit.registry
    config = registry.config(name, default_to_global=True)
    current = config.compatibility or "NONE"
    known = schema_format(schema.type)
    verdicts, problems = {"NONE": True}, []
    for plain, sides in (("BACKWARD", ("new", "old")), ("FORWARD", ("old", "new"))):
        for level in (plain, f"{plain}_TRANSITIVE"):
            found = registry.check_compatibility(name, schema, level, None, normalize=normalize)
            verdicts[level] = found.compatible
            if not found.compatible:
                differences = [(each, known.describe(each, *sides)) for each in found.differences]
                message = "" if differences else found.messages[0]
                version = _version(found.messages)
                problems.append(
                    {"level": level, "version": version, "differences": differences, "message": message}
                )
                # What breaks the latest version breaks all of them.
                verdicts[f"{plain}_TRANSITIVE"] = False
                break
    for suffix in ("", "_TRANSITIVE"):
        verdicts[f"FULL{suffix}"] = verdicts[f"BACKWARD{suffix}"] and verdicts[f"FORWARD{suffix}"]
    try:
        registered = registry.lookup(name, schema, normalize=normalize)
    except RegistryError as error:
        if error.status != 404:
            raise
        registered = None
    alive = visit.alive(name)
    rows = None
    if alive:
        context = context_of(name)
        canonical = known.canonical(known.parse_known(schema.text, named_texts(registry, schema, context)))
        rows = diff_rows(code_lines(registry.get_version(name).schema.text), code_lines(canonical))
    return {
        "level": current,
        "verdicts": [(level, verdicts[level]) for level in LEVELS],
        "compatible": verdicts[current],
        "problems": problems,
        "registered": registered,
        "versions": len(alive),
        "latest": alive[-1] if alive else None,
        "rows": rows,
        "mode": registry.mode(name, default_to_global=True),
    }


def _version(messages: tuple[str, ...]) -> int | None:
    """Return the version that a schema was compared with, which the registry tells in its messages."""
    for each in messages:
        number = each.removeprefix("{oldSchemaVersion: ").removesuffix("}")
        if number != each and number.isdecimal():
            return int(number)
    return None


# Configuration and modes


def settings(visit: Visit) -> Response:
    """Show the configuration and the mode of a subject, of a context or of the registry."""
    return _settings(visit, visit.request.query.text("subject") or None)


def _settings(visit: Visit, place: str | None, status: int = 200, problem: str = "") -> Response:
    registry = visit.registry
    # What holds for all may be read by all.
    if place is not None:
        visit.need("read", place)
    own, mode = own_config(registry, place) or Config(), own_mode(registry, place)
    more = {key: value for key, value in own.json.items() if key not in _FORM_KEYS}
    return visit.page(
        "settings",
        status,
        place=place,
        is_context=place is not None and place.startswith(":.") and place.endswith(":"),
        own=own,
        own_mode=mode,
        config=registry.config(place, default_to_global=True) if place else own,
        mode=registry.mode(place, default_to_global=True) if place else mode,
        levels=LEVELS,
        policies=POLICIES,
        modes=MODES,
        contexts=registry.contexts(),
        more=visit.lines(json.dumps(more, ensure_ascii=False)) if more else None,
        problem=problem,
    )


def set_settings(visit: Visit) -> Response:
    """Set what the form says: the configuration as a whole, or the mode."""
    given, registry = visit.request.form, visit.registry
    place = given.text("subject") or None
    visit.need("admin", place)
    try:
        if given.text("what") == "mode":
            if given.text("mode"):
                registry.set_mode(given.text("mode"), place, force=bool(given.text("force")))
            elif place is not None:
                _clear_mode(registry, place)
        else:
            config = Config(
                compatibility=given.text("compatibility") or None,
                compatibility_group=given.text("compatibility_group").strip() or None,
                compatibility_policy=given.text("compatibility_policy") or None,
                normalize=_choice(given.text("normalize")),
                validate_fields=_choice(given.text("validate_fields")),
                alias=given.text("alias").strip() or None,
            )
            registry.set_config(config, place, cleared=_FORM_KEYS)
    except RegistryError as error:
        return _settings(visit, place, _refusal_status(error), one_line(error))
    return visit.go("settings", subject=place, done="settings")


def _clear_mode(registry: ServedRegistry, place: str) -> None:
    try:
        registry.delete_mode(place)
    except RegistryError as error:
        # It had none of its own.
        if error.status != 404:
            raise


def _choice(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text)


# Deletion


def deletion(visit: Visit) -> Response:
    """Ask whether a version or a subject is to be deleted, and show what protects it."""
    query = visit.request.query
    return _deletion(visit, query.text("subject"), query.text("version"))


def _deletion(visit: Visit, name: str, number: str, status: int = 200, problem: str = "") -> Response:
    visit.need("write", name)
    versions = visit.registry.versions(name, deleted=True)
    alive = visit.alive(name)
    if number:
        if not number.isdecimal() or len(number) > 10 or int(number) not in versions:
            raise Refused(404, f"{name} has no version {number}.")
        permanent = int(number) not in alive
        versions = alive = [int(number)]
    else:
        permanent = not alive
    if permanent:
        visit.need("admin", name)
    referrers = []
    for each in [] if permanent else alive:
        ids = visit.registry.referenced_by(name, each)
        context = context_of(name)
        for schema_id in ids[:10]:
            referrers += [(each, place) for place in visit.places(schema_id, context)]
    return visit.page(
        "delete",
        status,
        name=name,
        version=number,
        count=len(versions if permanent else alive),
        permanent=permanent,
        referrers=referrers,
        problem=problem,
    )


def delete(visit: Visit) -> Response:
    """Delete what the form names."""
    given = visit.request.form
    name, number, permanent = given.text("subject"), given.text("version"), bool(given.text("permanent"))
    visit.need("admin" if permanent else "write", name)
    try:
        if number:
            if not number.isdecimal() or len(number) > 10:
                raise Refused(400, "A version is a number.")
            visit.registry.delete_version(name, int(number), permanent=permanent)
        else:
            visit.registry.delete_subject(name, permanent=permanent)
    except RegistryError as error:
        return _deletion(visit, name, number, _refusal_status(error), one_line(error))
    try:
        visit.registry.versions(name, deleted=True)
    except RegistryError:
        return visit.go("subjects", done="gone")
    return visit.go("subject", name=name, deleted="1", done="gone" if permanent else "deleted")
