"""The streams and tables of a ksqlDB server, as statements."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcodec.errors import RegistryError, SchemaError, one_line
from kcodec.ksql.statement.parser import Head, parse_head, parse_kept
from kcodec.ksql.statement.statement import SYSTEM_COLUMNS, Statement
from kcodec.ksql.types import MAX_NESTING, SqlColumn, SqlField, SqlType
from kcodec.registry.client import RegistryClient
from kcodec.registry.client_settings import Redaction, addresses, checked

_ASKED = "SHOW STREAMS EXTENDED; SHOW TABLES EXTENDED;"


class CatalogueEntry(NamedTuple):
    """A stream or table of a server.

    Attributes
    ----------
    name : str
        Its name.
    statement : Statement or None
        What it is read by.
    error : str or None
        Why it has no statement.
    """

    name: str
    statement: Statement | None
    error: str | None = None


class _Client(RegistryClient):
    """Asks a ksqlDB server."""

    accepted = "application/vnd.ksql.v1+json, application/json"
    sent = "application/vnd.ksql.v1+json"
    what = "a ksqlDB server"


def list_statements(url: str, *, config: Mapping[str, Any] | None = None) -> list[CatalogueEntry]:
    """Ask a ksqlDB server for its streams and tables.

    Parameters
    ----------
    url : str
        ``http(s)://[user:password@]host:port``, the server's REST address; several with commas are asked in turn.
    config : mapping, optional
        Settings of the client, by the names that those of registries have: ``basic.auth.user.info``,
        ``ssl.ca.location``, ``timeout``, ``max.retries``, ``proxy`` and others.

    Returns
    -------
    list of CatalogueEntry
        Each with its name, and its statement or the reason why there is none. Those that a query writes have the
        statement that would read them.

    Raises
    ------
    RegistryError
        If the server does not answer, or with an error, or as none that is ksqlDB's.

    Examples
    --------
    >>> from kcodec.ksql import list_statements
    >>> list_statements("http://ksqldb:8088")[0].statement.topic                       # doctest: +SKIP
    'orders'
    """
    settings = checked(config or {})
    places = addresses(url, settings)
    client = _Client(places, settings, Redaction(settings, [place.user_info for place in places]))
    try:
        answer = client.request("POST", "ksql", body={"ksql": _ASKED, "streamsProperties": {}})
        try:
            return statements_of(answer)
        except _Unknown as error:
            client.unknown("POST /ksql", what=str(error))
    finally:
        client.close()


class _Unknown(RegistryError):
    """An answer of another form."""


def statements_of(answer: Any) -> list[CatalogueEntry]:
    """Return the streams and tables of an answer to ``SHOW STREAMS EXTENDED`` and ``SHOW TABLES EXTENDED``.

    >>> [entry] = statements_of([{"@type": "source_descriptions", "sourceDescriptions": [{
    ...     "name": "CLICKS", "type": "STREAM", "topic": "clicks", "keyFormat": "KAFKA", "valueFormat": "JSON",
    ...     "fields": [{"name": "URL", "schema": {"type": "STRING", "fields": None, "memberSchema": None}}],
    ...     "statement": "CREATE STREAM CLICKS AS SELECT * FROM ALL_CLICKS EMIT CHANGES;", "timestamp": "",
    ... }]}])
    >>> print(entry.statement)
    CREATE STREAM `CLICKS` (`URL` STRING) WITH (KAFKA_TOPIC='clicks', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON');
    """
    if not isinstance(answer, list):
        raise _Unknown("the answer is not a list of results")
    described: list[Mapping[str, Any]] = []
    known = False
    for entity in answer:
        descriptions = entity.get("sourceDescriptions") if isinstance(entity, dict) else None
        if isinstance(descriptions, list):
            known = True
            described += descriptions
    if not known:
        raise _Unknown("the answer has no source descriptions")
    heads: dict[str, Head] = {}
    for description in described:
        name = _name(description, "the answer has a source without a name")
        text = description.get("statement")
        if isinstance(text, str) and (head := parse_head(text)) is not None:
            heads[name] = head
    found = []
    for description in described:
        name = description["name"]
        try:
            found.append(CatalogueEntry(name, _statement(name, description, heads)))
        except (SchemaError, _Unknown) as error:
            found.append(CatalogueEntry(name, None, str(error)))
    return found


def _statement(name: str, description: Mapping[str, Any], heads: Mapping[str, Head]) -> Statement:
    """Return the statement that reads a source: its own, or one of what the server says of it."""
    head = heads.get(name)
    if head is not None and not head.has_query and not _is_old(description):
        kept = parse_kept(description["statement"])
        if not kept.infers:
            return kept
    return _described(name, description, _columns(description), _given(name, heads))


def _is_old(description: Mapping[str, Any]) -> bool:
    """Return whether a server before 0.10 answers: each source has a column ROWKEY that nobody declared."""
    return "key" in description


#: What a query takes over from its source, unless its statement names the format.
_TAKEN_OVER = ("DELIMITER", "PROTOBUF_NULLABLE_REPRESENTATION")


def _given(name: str, heads: Mapping[str, Head]) -> dict[str, Any]:
    """Return the properties that a source has been given, by its own statement or those of the sources before it."""
    head = heads.get(name)
    given = {} if head is None else dict(head.properties)
    wanted = {
        f"{part}_{each}"
        for part in ("KEY", "VALUE")
        for each in _TAKEN_OVER
        if not {f"{part}_FORMAT", "FORMAT"} & given.keys()
    }
    seen: set[str] = set()
    while head is not None and name not in seen:
        seen.add(name)
        size = head.properties.get("WINDOW_SIZE", head.window_size)
        if size is not None:
            given.setdefault("WINDOW_SIZE", size)
        for each in wanted & head.properties.keys():
            given.setdefault(each, head.properties[each])
        name = head.source or ""
        head = heads.get(name)
    return given


#: What a server says itself, and what is not said of a source. KEY was the name of a column, before 0.10.
_SAID = ("KAFKA_TOPIC", "FORMAT", "KEY", "KEY_FORMAT", "VALUE_FORMAT", "TIMESTAMP", "WINDOW_TYPE")


def _described(
    name: str, description: Mapping[str, Any], columns: tuple[SqlColumn, ...], given: Mapping[str, Any]
) -> Statement:
    kind = _text(description, "type").upper()
    if kind == "TABLE":
        columns = tuple(
            SqlColumn(each.name, each.type, "key", True) if each.kind == "key" else each for each in columns
        )
    window = _text(description, "windowType")
    properties: dict[str, Any] = {
        "KAFKA_TOPIC": _text(description, "topic"),
        # Before 0.7 there was no other format of keys, and that of values had another name.
        "KEY_FORMAT": _text(description, "keyFormat") or "KAFKA",
        "VALUE_FORMAT": _text(description, "valueFormat") or _text(description, "format"),
        **{each: value for each, value in given.items() if each not in _SAID},
    }
    if timestamp := _text(description, "timestamp"):
        properties["TIMESTAMP"] = "`" + timestamp.replace("`", "``") + "`"
    else:
        properties.pop("TIMESTAMP_FORMAT", None)
    if window:
        properties["WINDOW_TYPE"] = window
    if not window or window.upper() == "SESSION":
        properties.pop("WINDOW_SIZE", None)
    return Statement(kind, name, columns, properties)


def _name(found: Any, problem: str) -> str:
    """Return the name of a source in an answer; refuse one without a name."""
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise _Unknown(problem)
    return str(found["name"])


def _text(description: Mapping[str, Any], key: str) -> str:
    value = description.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unknown(f"{key} is not text")
    return value


def _columns(description: Mapping[str, Any]) -> tuple[SqlColumn, ...]:
    fields = description.get("fields")
    if not isinstance(fields, list):
        raise _Unknown("there are no fields")
    found = []
    for field in fields:
        name = _name(field, "a field has no name")
        part = field.get("type", field.get("fieldType"))
        if part is None and name == "ROWKEY" and _is_old(description):
            part = "KEY"
        # Of servers before 0.9, and of windows.
        if part == "SYSTEM" or name in SYSTEM_COLUMNS:
            continue
        kind = _type(field.get("schema"), 0)
        if part == "HEADER":
            header = field.get("headerKey")
            if header is not None and not isinstance(header, str):
                raise _Unknown("the key of a header is not text")
            found.append(SqlColumn(name, kind, "header", False, header))
        else:
            found.append(SqlColumn(name, kind, "key" if part == "KEY" else "value"))
    return tuple(found)


def _type(schema: Any, depth: int) -> SqlType:
    if not isinstance(schema, dict) or not isinstance(schema.get("type"), str):
        raise _Unknown("a schema has no type")
    if depth > MAX_NESTING:
        raise _Unknown(f"types are nested deeper than {MAX_NESTING}")
    base = schema["type"]
    if base == "ARRAY":
        return SqlType("ARRAY", item=_type(schema.get("memberSchema"), depth + 1))
    if base == "MAP":
        # Keys are not told: no format has others.
        return SqlType("MAP", key=SqlType("STRING"), item=_type(schema.get("memberSchema"), depth + 1))
    if base == "STRUCT":
        fields = []
        for field in schema.get("fields") or []:
            name = _name(field, "a field has no name")
            fields.append(SqlField(name, _type(field.get("schema"), depth + 1)))
        return SqlType("STRUCT", fields=tuple(fields))
    if base == "DECIMAL":
        numbers = schema.get("parameters")
        precision, scale = (
            (numbers.get("precision"), numbers.get("scale")) if isinstance(numbers, dict) else (None, None)
        )
        if not (type(precision) is int and type(scale) is int and 0 <= scale <= precision and precision):
            raise _Unknown("a DECIMAL has no precision and scale")
        return SqlType("DECIMAL", precision, scale)
    if base not in ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "TIME", "DATE", "TIMESTAMP"):
        raise _Unknown(f"{one_line(base, 80)} is not a type")
    return SqlType(base)
