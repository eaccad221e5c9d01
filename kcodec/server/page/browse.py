"""The pages that show what a registry holds."""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from kcodec.errors import KcodecError, RegistryError, one_line
from kcodec.formats.language import Difference
from kcodec.formats.schema_format import schema_format, schema_types
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    context_of,
    qualified,
)
from kcodec.registry.compatibility.levels import Earlier, check
from kcodec.registry.references import named_texts
from kcodec.registry.store.versions import Summary
from kcodec.server.page.code import code_lines
from kcodec.server.page.document_changes import MAX_CHANGES, document_changes, named_steps
from kcodec.server.page.line_diff import diff_rows
from kcodec.server.page.message import find_guid, inside
from kcodec.server.page.part import ListPart
from kcodec.server.page.request import Refused, Response
from kcodec.server.page.visit import Visit

__all__ = ["compare", "find", "overview", "schema", "subject", "subjects", "text", "version"]

#: Versions that are shown with what they need or are needed by, and steps from the one at hand.
_MAX_NODES = 100
_MAX_DEPTH = 10

#: Differences that changes are said to be the reasons of.
_MAX_PLACES = 1000

#: Texts of a schema that a registry can give beside the one that it keeps.
_FORMS = ("resolved", "ignore_extensions", "serialized")


#: What files of schemas are called at the end.
_ENDINGS = {"AVRO": "avsc", "PROTOBUF": "proto", "JSON": "json"}


#: The orders that a list of subjects may have, and how people call them.
_ORDERS = {
    "": "name",
    "-name": "name, from Z",
    "-date": "newest version",
    "date": "oldest version",
    "type": "type",
}


def overview(visit: Visit) -> Response:
    """Show how much the registry holds, and what was registered last."""
    registry = visit.registry
    counts = registry.counts() if visit.can("read") else None
    newest = []
    for each in registry.newest(8):
        subject, version = each.subject or "", each.version or 0
        newest.append((each, registry.origins(subject, [version]).get(version)))
    return visit.page(
        "overview",
        counts=counts,
        contexts=registry.contexts(),
        newest=newest,
        config=registry.config(),
        mode=registry.mode(),
        context_of=context_of,
    )


def subjects(visit: Visit) -> Response:
    """List subjects: all, or those whose names hold a text."""
    query, registry = visit.request.query, visit.registry
    wanted, context, deleted = query.text("q").strip(), query.text("context"), bool(query.text("deleted"))
    kind, order = query.text("type"), query.text("sort")
    if order not in _ORDERS:
        raise Refused(400, "There is no such order.")
    number = query.number("page", 1)
    if visit.can("read") and order == "" and not (wanted or context or kind):
        # Of thousands of subjects, only those of this page are read.
        ask = functools.partial(registry.subjects, deleted=deleted)
        total = registry.count_subjects(deleted=deleted)
        part = ListPart.read(total, number, lambda offset, limit: ask(offset=offset, limit=limit))
    else:
        names = registry.subjects(deleted=deleted)
        if context:
            names = [each for each in names if context_of(each) == context]
        if wanted:
            folded = wanted.casefold()
            names = [each for each in names if folded in each.casefold()]
        if kind:
            of_type = registry.subjects_of(kind, deleted=deleted)
            names = [each for each in names if each in of_type]
        names = _ordered(visit, names, order, deleted=deleted)
        part = ListPart.of(names, number)
    # What begins with a name comes behind it.
    alive = {each for each in part.items if not deleted or registry.subjects(each, limit=1) == [each]}
    rows = [_subject_row(visit, each, each in alive) for each in part.items]
    return visit.page(
        "subjects",
        rows=rows,
        part=part,
        wanted=wanted,
        context=context,
        deleted=deleted,
        contexts=registry.contexts(),
        type=kind,
        types=schema_types(),
        sort=order,
        orders=_ORDERS,
        fields={
            "q": wanted,
            "context": context,
            "type": kind,
            "sort": order,
            "deleted": "1" if deleted else "",
        },
    )


def _ordered(visit: Visit, names: list[str], order: str, *, deleted: bool) -> list[str]:
    """Return names of subjects, which are sorted, in an order; those of the same type or date stay sorted."""
    if order in ("", "-name"):
        return names if not order else names[::-1]
    known = visit.registry.summaries(deleted=deleted)
    nothing = Summary("", None)
    if order == "type":
        return sorted(names, key=lambda name: known.get(name, nothing).type)
    dates = {name: known.get(name, nothing).ts for name in names}
    dated = [name for name in names if dates[name] is not None]
    dated.sort(key=lambda name: dates[name] or 0, reverse=order == "-date")
    # What has no date comes last in both orders.
    return dated + [name for name in names if dates[name] is None]


def _subject_row(visit: Visit, name: str, is_alive: bool) -> dict[str, Any]:
    registry = visit.registry
    config = registry.config(name, default_to_global=True)
    row: dict[str, Any] = {
        "name": name,
        "alias": config.alias,
        "level": config.compatibility,
        "alive": is_alive,
    }
    try:
        row["latest"] = registry.get_version(name, deleted=not is_alive)
        row["context"] = context_of(row["latest"].subject or name)
        row["origin"] = registry.origins(name, [row["latest"].version]).get(row["latest"].version)
        row["versions"] = len(registry.versions(name, deleted=not is_alive))
    except RegistryError:
        # An alias of nothing, or deleted since the list was made.
        row["latest"], row["versions"] = None, 0
    return row


def subject(visit: Visit) -> Response:
    """Show a subject: its versions, and the text of the latest."""
    query, registry = visit.request.query, visit.registry
    name, deleted = query.text("name"), bool(query.text("deleted"))
    visit.need("read", name)
    numbers = registry.versions(name, deleted=True)
    alive = set(visit.alive(name))
    has_deleted = len(alive) < len(numbers)
    deleted = deleted or not alive
    listed = [each for each in reversed(numbers) if deleted or each in alive]
    part = ListPart.of(listed, query.number("page", 1))
    versions = [registry.get_version(name, each, deleted=True) for each in part.items]
    latest = registry.get_version(name) if alive else versions[0]
    origins = registry.origins(name, part.items)
    return visit.page(
        "subject",
        name=name,
        versions=versions,
        origins=origins,
        alive=alive,
        has_deleted=has_deleted,
        deleted=deleted,
        part=part,
        fields={"name": name, "deleted": "1" if deleted else ""},
        latest=latest,
        context=context_of(name),
        code=visit.code(latest, context_of(name)),
        config=registry.config(name, default_to_global=True),
        mode=registry.mode(name, default_to_global=True),
    )


def version(visit: Visit) -> Response:
    """Show a version of a subject."""
    query, registry = visit.request.query, visit.registry
    name, form = query.text("subject"), query.text("form")
    visit.need("read", name)
    found = _found(visit, name, query.text("version", "latest"))
    numbers = visit.alive(name)
    is_alive = found.version in numbers
    context = context_of(found.subject or name)
    here = SubjectVersion(found.subject or name, found.version or 0)
    text = None
    if form:
        text = registry.get_version(name, found.version or 0, deleted=True, form=form).schema.text
    return visit.page(
        "version",
        name=name,
        found=found,
        origin=registry.origins(name, [here.version]).get(here.version),
        alive=is_alive,
        is_latest=bool(numbers) and found.version == numbers[-1],
        previous=max((each for each in numbers if each < (found.version or 0)), default=None),
        following=min((each for each in numbers if each > (found.version or 0)), default=None),
        context=context,
        form=form,
        forms=_forms(visit, found),
        file=_file_name(name, found, form),
        code=visit.code(found, context, text),
        elsewhere=[
            each for each in visit.places(found.id, context) if each != (found.subject, found.version)
        ],
        needed=_needed(visit, found.schema, context, set()),
        needing=_needing(visit, here, context, {here}) if is_alive else [],
        rules={} if found.schema.rules is None else found.schema.rules.json,
    )


def _file_name(subject: str, found: RegisteredSchema, form: str) -> str:
    """Return what a file of the text of a version is called."""
    ending = "txt" if form == "serialized" else _ENDINGS.get(found.schema.type, "txt")
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', subject).strip('_.') or 'schema'}-v{found.version}.{ending}"


def _found(visit: Visit, name: str, number: str) -> RegisteredSchema:
    """Return a version that an address names."""
    if number == "latest":
        return visit.registry.get_version(name)
    if not (number.isascii() and number.isdigit() and len(number) <= 10):
        raise Refused(400, "A version is a number, or latest.")
    return visit.registry.get_version(name, int(number), deleted=True)


def _forms(visit: Visit, found: RegisteredSchema) -> list[str]:
    """Return the forms in which a version has another text."""
    forms = []
    for form in _FORMS:
        try:
            other = visit.registry.get_version(
                found.subject or "", found.version or 0, deleted=True, form=form
            ).schema.text
        except KcodecError:
            continue
        if other != found.schema.text:
            forms.append(form)
    return forms


class Neighbour(NamedTuple):
    """A version that another one needs, or that needs another one, and those beyond it."""

    #: Where it is.
    place: SubjectVersion
    #: What the reference calls it.
    note: str
    #: Whether the user may look at it.
    can_read: bool
    #: What it needs itself, or what needs it; empty where that is shown already, or would be too much.
    beyond: list[Neighbour]


def _needed(
    visit: Visit, schema: Schema, context: str, seen: set[SubjectVersion], depth: int = 0
) -> list[Neighbour]:
    """Return what a schema refers to, and what that refers to in turn."""
    nodes = []
    for each in schema.references:
        place = SubjectVersion(qualified(each.subject, context), each.version)
        can_read = visit.can("read", place.subject)
        beyond = []
        if can_read and place not in seen and len(seen) < _MAX_NODES and depth < _MAX_DEPTH:
            seen.add(place)
            found = visit.registry.get_version(*place, deleted=True)
            beyond = _needed(visit, found.schema, context_of(place.subject), seen, depth + 1)
        nodes.append(Neighbour(place, each.name, can_read, beyond))
    return nodes


def _needing(
    visit: Visit, target: SubjectVersion, context: str, seen: set[SubjectVersion], depth: int = 0
) -> list[Neighbour]:
    """Return what refers to a version, and what refers to that in turn; other contexts cannot be asked for ids."""
    nodes = []
    for schema_id in visit.registry.referenced_by(*target)[:_MAX_NODES]:
        try:
            places = visit.registry.schema_versions(schema_id, inside(context))
        except RegistryError:
            continue
        for place in places:
            beyond = []
            if place not in seen and len(seen) < _MAX_NODES and depth < _MAX_DEPTH:
                seen.add(place)
                beyond = _needing(visit, place, context, seen, depth + 1)
            nodes.append(Neighbour(place, f"id {schema_id}", True, beyond))
    return nodes


def schema(visit: Visit) -> Response:
    """Show a schema by its id or its GUID, and where it is registered."""
    query, registry = visit.request.query, visit.registry
    context = query.text("context", DEFAULT_CONTEXT)
    # Who may not read all is not told which schemas there are.
    hidden = Refused(403, "There is no such schema, or you may not read it.")
    try:
        if query.text("guid"):
            found, context = find_guid(registry, query.text("guid"), context)
        else:
            found = registry.get(query.number("id", 0), inside(context))
    except RegistryError:
        if visit.can("read"):
            raise
        raise hidden from None
    places = visit.places(found.id, context)
    alive = set(registry.schema_versions(found.id or 0, inside(context)))
    return visit.page(
        "schema", found=found, context=context, places=places, alive=alive, code=visit.code(found, context)
    )


def text(visit: Visit) -> Response:
    """Return the text of a version and nothing else."""
    query = visit.request.query
    name = query.text("subject")
    visit.need("read", name)
    found = _found(visit, name, query.text("version", "latest"))
    kept = visit.registry.get_version(name, found.version or 0, deleted=True, form=query.text("form"))
    return visit.plain(kept.schema.text)


def find(visit: Visit) -> Response:
    """Lead from the text of the search box to a schema, to the subject of that name, or to all subjects like it."""
    wanted = visit.request.query.text("q").strip()
    if wanted.isascii() and wanted.isdigit() and len(wanted) <= 10:
        try:
            visit.registry.get(int(wanted))
        except RegistryError:
            return visit.go("subjects", q=wanted)
        return visit.go("schema", id=wanted)
    try:
        return visit.go("schema", guid=str(uuid.UUID(wanted)))
    except ValueError:
        pass
    if wanted and visit.can("read", wanted) and visit.alive(wanted):
        return visit.go("subject", name=wanted)
    return visit.go("subjects", q=wanted)


def compare(visit: Visit) -> Response:
    """Compare two versions: what breaks for readers, and which lines differ."""
    query, registry = visit.request.query, visit.registry
    name = query.text("subject")
    visit.need("read", name)
    numbers = registry.versions(name, deleted=True)
    to = query.number("to", numbers[-1])
    before = query.number("from", max((each for each in numbers if each < to), default=numbers[0]))
    old, new = (registry.get_version(name, each, deleted=True) for each in (before, to))
    context = context_of(old.subject or name)
    for each in (old, new):
        visit.need_references(each.schema, context)
    policy = registry.config(name, default_to_global=True).compatibility_policy or "STRICT"
    directions = _directions(visit, old, new, context, policy)
    return visit.page(
        "compare",
        name=name,
        numbers=numbers,
        old=old,
        new=new,
        directions=directions,
        changes=_changes(visit, old, new, context, directions),
        rows=diff_rows(code_lines(old.schema.text), code_lines(new.schema.text)),
    )


class Direction(NamedTuple):
    """One way in which two versions meet."""

    #: The level that asks for it, ``"BACKWARD"`` or ``"FORWARD"``.
    level: str
    #: Whose data is to be read by whom.
    reader: RegisteredSchema
    writer: RegisteredSchema
    #: Why it cannot be read, each with a sentence.
    differences: list[tuple[Difference, str]]
    #: Where it is converted for a logical type that is another one.
    conversions: list[Difference]
    #: Why they cannot be compared; empty if they can.
    problem: str
    #: What is read otherwise than it was written, if all can be read.
    losses: list[Difference]

    def places(self) -> list[tuple[str, ...]]:
        """Return where in the reader's schema the first differences are."""
        return self._steps([difference for difference, _ in self.differences])

    def lossy_places(self) -> list[tuple[str, ...]]:
        """Return where in the reader's schema the first losses are."""
        return self._steps(self.losses)

    def _steps(self, differences: list[Difference]) -> list[tuple[str, ...]]:
        paths = [difference.path for difference in differences[:_MAX_PLACES]]
        return named_steps(self.reader.schema.text, paths)


def _parsed(visit: Visit, found: RegisteredSchema, context: str) -> Any:
    references = named_texts(visit.registry, found.schema, context)
    return schema_format(found.schema.type).parse_known(found.schema.text, references)


def _directions(
    visit: Visit, old: RegisteredSchema, new: RegisteredSchema, context: str, policy: str
) -> list[Direction]:
    """Return for both directions whether a version can read the other's data, and in words why not."""
    found = []
    for level, reader, writer in (("BACKWARD", new, old), ("FORWARD", old, new)):
        differences: list[tuple[Difference, str]] = []
        problem = ""
        if old.schema.type != new.schema.type:
            problem = f"One is {old.schema.type}, the other {new.schema.type}."
        else:
            known = schema_format(new.schema.type)
            parse = functools.partial(_parsed, visit, old, context)
            earlier = Earlier(old.version or 0, old.schema.type, old.schema.text, parse)
            try:
                verdict = check(known, level, _parsed(visit, new, context), [earlier], policy)
                differences = [
                    (each, known.describe(each, f"version {reader.version}", f"version {writer.version}"))
                    for each in verdict.differences
                ]
            except KcodecError as error:
                problem = f"{one_line(error)}."
        asked, language = (visit, reader, writer, context), schema_format(reader.schema.type)
        converted = _told(*asked, language.conversions)
        lost = [] if differences or problem else _told(*asked, language.losses)
        found.append(Direction(level, reader, writer, differences, converted, problem, lost))
    return found


def _told(
    visit: Visit,
    reader: RegisteredSchema,
    writer: RegisteredSchema,
    context: str,
    ask: Callable[[Any, Any], list[Difference]],
) -> list[Difference]:
    """Return what a language says of two schemas; empty if they cannot be compared."""
    if reader.schema.type != writer.schema.type:
        return []
    try:
        return ask(*(_parsed(visit, each, context) for each in (reader, writer)))[:MAX_CHANGES]
    except KcodecError:
        # The levels do not ask whether all types are known.
        return []


def _changes(
    visit: Visit, old: RegisteredSchema, new: RegisteredSchema, context: str, directions: list[Direction]
) -> list[dict[str, Any]]:
    """Return what changed, in words, and at which levels each change breaks readers, or loses something."""
    if old.schema.type != new.schema.type:
        return []
    found = document_changes(old.schema.text, new.schema.text)
    if found:
        places = [(each.level, each.places()) for each in directions]
        lossy = [(each.level, each.lossy_places()) for each in directions]
        return [
            {
                "path": change.path,
                "words": change.words,
                "breaks": [level for level, steps in places if any(map(change.concerns, steps))],
                "loses": [level for level, steps in lossy if any(map(change.concerns, steps))],
            }
            for change in found
        ]
    try:
        parsed = [_parsed(visit, each, context) for each in (old, new)]
        changes = schema_format(new.schema.type).changes(*parsed)
    except KcodecError:
        return []
    broken = [(each.level, {difference.path for difference, _ in each.differences}) for each in directions]
    lost = [(each.level, {difference.path for difference in each.losses}) for each in directions]
    return [
        {
            "path": change.path,
            "words": change.type.lower().replace("_", " ")
            + (f": {change.message}" if change.message else ""),
            "breaks": [level for level, paths in broken if change.path in paths],
            "loses": [level for level, paths in lost if change.path in paths],
        }
        for change in changes[:MAX_CHANGES]
    ]
