"""ksqlDB's SQL types and column lists: their text, and the Arrow types that stand for them.

The text is what stands between the parentheses of ``CREATE STREAM`` and ``CREATE TABLE``. As in ksqlDB, a name
without quotes is upper-cased, and one in backquotes or double quotes is taken as it is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import pyarrow as pa

from kcodec.columns.types.plain import is_list, stored_type
from kcodec.errors import SchemaError, one_line
from kcodec.java.blanks import trim
from kcodec.java.utf8 import SURROGATE
from kcodec.plan import Limits

#: Levels of ARRAY, MAP and STRUCT within each other.
MAX_NESTING = 64
#: Parts of all types that are taken by name.
_MAX_PARTS = 100_000

_ALIASES = {"INT": "INTEGER", "VARCHAR": "STRING"}
_SIMPLE = ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "TIME", "DATE", "TIMESTAMP")
_KINDS = ("value", "key", "header")

#: Keywords that are no names unless they are quoted.
RESERVED = frozenset((
    "ADVANCE", "ALL", "AND", "AS", "AT", "BEGINNING", "BETWEEN", "BY", "CASE", "CAST", "CATALOG",
    "CONNECTOR", "CONNECTORS", "CREATE", "DAYS", "DECIMAL", "DELETE", "DESCRIBE", "DISTINCT", "DROP",
    "ELSE", "END", "EXISTS", "EXPORT", "EXTENDED", "FALSE", "FROM", "FULL", "GROUP", "HAVING", "HOPPING",
    "HOURS", "IN", "INNER", "INSERT", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "LIST", "LOAD",
    "MATERIALIZED", "MILLISECOND", "MILLISECONDS", "MINUTES", "MONTHS", "NAMESPACE", "NOT", "NULL", "ON",
    "OR", "OUTER", "PAUSE", "PRINT", "PROPERTIES", "QUERIES", "QUERY", "RENAME", "RESUME", "RETENTION",
    "RIGHT", "RUN", "SAMPLE", "SCRIPT", "SECONDS", "SELECT", "SIZE", "STREAM", "STREAMS", "TABLE",
    "TERMINATE", "THEN", "TO", "TOPIC", "TOPICS", "TRUE", "TUMBLING", "UNSET", "VALUES", "VIEW", "WHEN",
    "WHERE", "WINDOW", "WITH", "WITHIN", "YEARS",
))  # fmt: skip

# As in ksqlDB's lexer, the longest wins: `1E5` is a number, `1E5x` a name.
_TOKEN = re.compile(
    r"""
      (?P<quoted>`[^`]*(?:``[^`]*)*`|"[^"]*(?:""[^"]*)*")
    | (?P<variable>\$\{[A-Za-z_][A-Za-z0-9_@]*\})
    | (?P<real>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?
        |[0-9]+[eE][+-][0-9]+|[0-9]+[eE][0-9]+(?![A-Za-z0-9_@]))
    | (?P<name>[A-Za-z_][A-Za-z0-9_@]*|[0-9]+[A-Za-z_@][A-Za-z0-9_@]*)
    | (?P<number>[0-9]+)
    | (?P<text>'[^']*(?:''[^']*)*')
    | (?P<mark><>|!=|<=|>=|\|\||:=|->|=>|[-<>(),;=.+*/%\[\]])
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t\r\n]+|--[^\r\n]*|/\*.*?\*/", re.DOTALL)


class StatementError(SchemaError):
    """Text of ksqlDB that is not read.

    Attributes
    ----------
    reason : str
        What is wrong, in ksqlDB's words where it has some.
    line, column : int
        Where, counted from 1.

    Examples
    --------
    >>> from kcodec import ksql
    >>> try:
    ...     ksql.parse("CREATE STREAM orders (id BIGINTEGER) WITH (kafka_topic='o', value_format='JSON');")
    ... except StatementError as error:
    ...     print(error.line, error.column)
    1 26
    """

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason, line, column)
        self.reason = reason
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.reason} at line {self.line}, column {self.column}"


@dataclass(frozen=True)
class SqlType:
    """A SQL type.

    >>> print(parse_type("map<varchar, decimal(10,2)>"))
    MAP<STRING, DECIMAL(10, 2)>
    """

    #: BOOLEAN, INTEGER, BIGINT, DOUBLE, DECIMAL, STRING, BYTES, TIME, DATE, TIMESTAMP, ARRAY, MAP or STRUCT.
    base: str
    #: Of a DECIMAL: digits in all, and of these behind the point.
    precision: int = 0
    scale: int = 0
    #: Type of a MAP's keys.
    key: "SqlType | None" = None
    #: Type of an ARRAY's items or a MAP's values.
    item: "SqlType | None" = None
    #: Of a STRUCT.
    fields: "tuple[SqlField, ...]" = ()

    def __str__(self) -> str:
        if self.base == "DECIMAL":
            return f"DECIMAL({self.precision}, {self.scale})"
        if self.base == "ARRAY":
            return f"ARRAY<{self.item}>"
        if self.base == "MAP":
            return f"MAP<{self.key}, {self.item}>"
        if self.base == "STRUCT":
            # Without the blank it would be another token of ksqlDB.
            return f"STRUCT<{', '.join(map(str, self.fields)) or ' '}>"
        return self.base

    @property
    def parts(self) -> "tuple[SqlType, ...]":
        """The item of an ARRAY, key and value of a MAP, the types of a STRUCT's fields."""
        return tuple(part for part in (self.key, self.item, *(field.type for field in self.fields)) if part)

    @property
    def has_map(self) -> bool:
        """Whether it is a MAP or holds one."""
        return self.base == "MAP" or any(part.has_map for part in self.parts)


@dataclass(frozen=True)
class SqlField:
    """A field of a STRUCT."""

    #: As ksqlDB keeps it: upper-cased unless it was quoted.
    name: str
    #: Its type.
    type: SqlType

    def __post_init__(self) -> None:
        if trim(self.name) != self.name:
            raise SchemaError(f"name is not trimmed: {self.name[:80]!r}")
        if not self.name:
            raise SchemaError("name is empty")
        if not self.name.isascii() and SURROGATE.search(self.name):
            raise SchemaError(f"the name {self.name!r} holds half of a surrogate pair")

    def __str__(self) -> str:
        return f"{_quoted(self.name)} {self.type}"


@dataclass(frozen=True)
class SqlColumn(SqlField):
    """A column of a stream or a table.

    Attributes
    ----------
    name, type
        As of a `SqlField`.
    kind : {"value", "key", "header"}
        Which part of a record holds it: ``KEY`` and ``PRIMARY KEY`` mark key columns, ``HEADERS`` and
        ``HEADER('name')`` those that are taken from the headers.
    primary : bool
        Whether it is a ``PRIMARY KEY``, as those of tables are.
    header : str or None
        The name of ``HEADER('name')``; None for all headers.
    """

    kind: str = "value"
    primary: bool = False
    header: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in _KINDS:
            raise SchemaError(f"column {self.name}: kind {self.kind!r} is not one of {', '.join(_KINDS)}")
        if self.header is not None and self.type.base != "BYTES":
            raise SchemaError(
                f"Invalid type for HEADER('{self.header}') column: expected BYTES, got {self.type}"
            )
        if self.kind == "header" and self.header is None and self.type != HEADERS:
            raise SchemaError(f"Invalid type for HEADERS column: expected {HEADERS}, got {self.type}")

    def __str__(self) -> str:
        suffix = {"value": "", "key": " KEY", "header": " HEADERS"}[self.kind]
        if self.primary:
            suffix = " PRIMARY KEY"
        if self.header is not None:
            suffix = f" HEADER({quoted_text(self.header)})"
        return f"{_quoted(self.name)} {self.type}{suffix}"


#: The type of a column of all headers.
HEADERS = SqlType(
    "ARRAY",
    item=SqlType("STRUCT", fields=(SqlField("KEY", SqlType("STRING")), SqlField("VALUE", SqlType("BYTES")))),
)


class RowOptions(NamedTuple):
    """What a format knows of the rows that it reads and writes.

    The kind is a STRUCT of the columns if they are wrapped, or else the type of the only one. Compatible rows are
    answered as ksqlDB does, where that loses something. Large columns have 64-bit offsets. Times that are finer than
    milliseconds are cut off when written, with `floor`.
    """

    kind: SqlType
    wrapped: bool
    compatible: bool
    properties: Mapping[str, str]
    large: bool
    limits: Limits
    floor: bool = False


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """Return a text as a literal of ksqlDB.

    >>> print(quoted_text("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def parse_type(text: str) -> SqlType:
    """Parse a type, or raise `SchemaError`.

    >>> print(parse_type("STRUCT<id INT, `Tags` ARRAY<VARCHAR>>"))
    STRUCT<`ID` INTEGER, `Tags` ARRAY<STRING>>
    """
    parser = Parser(text)
    kind = parser.type(0)
    parser.end()
    return kind


def parse_columns(text: str) -> tuple[SqlColumn, ...]:
    """Parse what ``CREATE STREAM`` takes, with or without the parentheses around it; empty text has no columns.

    >>> print(*parse_columns("id BIGINT KEY, total DECIMAL(10,2), `note` STRING"), sep=", ")
    `ID` BIGINT KEY, `TOTAL` DECIMAL(10, 2), `note` STRING
    """
    return Parser(text).column_list()


_STATEMENT = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?(SOURCE\s+)?(STREAM|TABLE|TYPE)\b", re.IGNORECASE)


def columns_of(columns: object) -> tuple[SqlColumn, ...]:
    """Take columns in any form: text, `SqlColumn`s, or a schema or struct of Arrow, whose fields are value columns."""
    if isinstance(columns, str):
        if _STATEMENT.match(columns):
            raise SchemaError(
                "a whole statement: give what stands between its parentheses, such as 'ID BIGINT KEY, NAME STRING'"
            )
        return parse_columns(columns)
    made: tuple[SqlColumn, ...]
    if isinstance(columns, (pa.Schema, pa.StructType)):
        made = tuple(SqlColumn(field.name, sql_type(field.type, field.name)) for field in columns)
    elif isinstance(columns, Iterable):
        made = tuple(columns)
    else:
        made = (columns,)  # type: ignore[assignment]
    for column in made:
        if not isinstance(column, SqlColumn):
            raise SchemaError(f"columns are text, Arrow fields or SqlColumns, not {type(column).__name__}")
    _unique(made, "column")
    return made


def _unique(fields: Sequence[SqlField], what: str) -> None:
    seen = set()
    for field in fields:
        if field.name in seen:
            raise SchemaError(f"Duplicate {what} names: {_quoted(field.name)}")
        seen.add(field.name)


class Parser:
    """A text of ksqlDB and how far it is read: tokens, names, types and lists of columns."""

    #: Keywords that are names only when they are quoted. A list of columns by itself has none: nothing follows it.
    reserved: frozenset[str] = frozenset()

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind = ""
        self.token = ""
        self.begin = 0
        #: Types by the names that ``CREATE TYPE`` has given them, in upper case; those of ksqlDB go first.
        self.types: dict[str, SqlType] = {}
        self._parts = 0
        self.next()

    def next(self) -> None:
        """Step to the next token."""
        while space := _SPACE.match(self.text, self.at):
            self.at = space.end()
        self.begin = self.at
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            if self.at < len(self.text):
                self.fail(f"unexpected {self.text[self.at]!r}")
            self.kind, self.token = "end", ""
            return
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]
        self.at = match.end()

    def fail(self, reason: str, begin: int | None = None) -> NoReturn:
        """Raise what is wrong, here or where something has begun."""
        begin = self.begin if begin is None else begin
        line = self.text.count("\n", 0, begin) + 1
        raise StatementError(reason, line, begin - self.text.rfind("\n", 0, begin))

    def missing(self, what: str) -> NoReturn:
        """Raise that something is missing here."""
        self.fail(f"{what} is missing before {self.shown}" if self.token else f"{what} is missing")

    @property
    def shown(self) -> str:
        """The token as errors show it."""
        return repr(one_line(self.token, 80))

    def is_next(self, token: str) -> bool:
        """Return whether a mark or a keyword is next."""
        return self.kind in ("mark", "name") and self.token.upper() == token

    def take(self, token: str) -> bool:
        """Step over a mark or a keyword if it is next."""
        if self.is_next(token):
            self.next()
            return True
        return False

    def need(self, token: str) -> None:
        """Step over a mark or a keyword that has to be next."""
        if not self.take(token):
            self.missing(repr(token))

    def name(self, what: str = "a name") -> str:
        """Read a name."""
        if self.kind == "name":
            name = self.token.upper()
            if name in self.reserved:
                self.fail(
                    f'"{self.token}" is a reserved keyword and it can\'t be used as an identifier. '
                    f"You can use it as an identifier by escaping it as `{self.token}`"
                )
        elif self.kind == "quoted":
            quote = self.token[0]
            name = self.token[1:-1].replace(2 * quote, quote)
        else:
            self.missing(what)
        self.next()
        return name

    def string(self, what: str) -> str:
        """Read a text in single quotes."""
        if self.kind != "text":
            self.missing(what)
        text = self.token[1:-1].replace("''", "'")
        self.next()
        return text

    def number(self, what: str) -> int:
        """Read an integer."""
        sign = -1 if self.take("-") else 1
        token = self.token
        if self.kind == "real":
            self.fail(f"Value must be integer for command: {what}")
        if self.kind != "number" or len(token.lstrip("0")) > 9:
            self.fail(f"{self.shown} is not a number")
        self.next()
        return sign * int(token)

    def end(self) -> None:
        """Check that nothing follows."""
        if self.kind != "end":
            self.fail(f"unexpected {self.shown}")

    def column_list(self) -> tuple[SqlColumn, ...]:
        """Read all of the text as columns, with or without parentheses around them."""
        wrapped = self.take("(")
        columns = () if self.kind == "end" or (wrapped and self.is_next(")")) else self.columns()
        if wrapped:
            self.need(")")
        self.end()
        return columns

    def columns(self) -> tuple[SqlColumn, ...]:
        """Read one or more columns."""
        begin = self.begin
        columns = [self.column()]
        while self.take(","):
            if self.kind == "end":
                self.fail("a column is missing")
            columns.append(self.column())
        self._unique(columns, "column", begin)
        return tuple(columns)

    def column(self) -> SqlColumn:
        """Read a column: its name, its type, and what it is."""
        begin = self.begin
        name = self.name()
        kind = self.type(0)
        header = None
        if primary := self.take("PRIMARY"):
            self.need("KEY")
            part = "key"
        elif self.take("KEY"):
            part = "key"
        elif self.take("HEADERS"):
            part = "header"
        elif self.take("HEADER"):
            part = "header"
            self.need("(")
            # Variables stand for nothing here.
            header = trim(Parser.string(self, "the name of a header"))
            if not header:
                self.fail("Header column must have a non-empty header key name defined", begin)
            self.need(")")
        else:
            part = "value"
        try:
            return SqlColumn(name, kind, part, primary, header)
        except SchemaError as error:
            self.fail(str(error), begin)

    def type(self, depth: int) -> SqlType:
        """Read a type, at a depth of nesting."""
        if depth > MAX_NESTING:
            self.fail(f"types are nested deeper than {MAX_NESTING}")
        begin, plain = self.begin, self.kind == "name"
        base = "DECIMAL" if self.take("DECIMAL") else self.name("a type")
        if plain and base == "ARRAY":
            self.need("<")
            kind = SqlType("ARRAY", item=self.type(depth + 1))
            self.need(">")
        elif plain and base == "MAP":
            self.need("<")
            key = self.type(depth + 1)
            self.need(",")
            kind = SqlType("MAP", key=key, item=self.type(depth + 1))
            self.need(">")
        elif plain and base == "STRUCT":
            kind = self._struct(depth)
        elif plain and base == "DECIMAL":
            kind = self._decimal(begin)
        else:
            kind = SqlType(_ALIASES.get(base.upper(), base.upper()))
            if kind.base not in _SIMPLE and base.upper() in self.types:
                kind = self._registered(base.upper(), depth, begin)
            elif kind.base not in _SIMPLE:
                shown = one_line(base, 80)
                known = f"DECIMAL, ARRAY, MAP, STRUCT, {', '.join(_SIMPLE)}"
                self.fail(f"Cannot resolve unknown type: {shown}: not one of {known}", begin)
            if self.take("("):
                self._parameters()
        while self.take("ARRAY"):
            kind = SqlType("ARRAY", item=kind)
            depth += 1
            if depth > MAX_NESTING:
                self.fail(f"types are nested deeper than {MAX_NESTING}")
        return kind

    def _registered(self, name: str, depth: int, begin: int) -> SqlType:
        """Return a type by its name; types of types can double their size again and again."""
        kind = self.types[name]
        levels, parts = 0, [kind]
        while parts:
            levels += 1
            self._parts += len(parts)
            if depth + levels > MAX_NESTING + 1:
                self.fail(f"types are nested deeper than {MAX_NESTING}", begin)
            if self._parts > _MAX_PARTS:
                self.fail(f"types have more than {_MAX_PARTS} parts", begin)
            parts = [part for each in parts for part in each.parts]
        return kind

    def _parameters(self) -> None:
        """Skip parameters that ksqlDB accepts and ignores, as in VARCHAR(255)."""
        while True:
            if self.kind != "number" and not self.is_next("STRING"):
                self.fail(f"{self.shown} is neither a number nor STRING")
            self.next()
            if not self.take(","):
                break
        self.need(")")

    def _decimal(self, begin: int) -> SqlType:
        self.need("(")
        precision = self.number("DECIMAL(PRECISION)")
        self.need(",")
        scale = self.number("DECIMAL(SCALE)")
        self.need(")")
        shown = f"DECIMAL({precision},{scale})"
        if precision < 1:
            self.fail(f"DECIMAL precision must be >= 1: {shown}", begin)
        if scale < 0:
            self.fail(f"DECIMAL scale must be >= 0: {shown}", begin)
        if scale > precision:
            self.fail(f"DECIMAL precision must be >= scale: {shown}", begin)
        return SqlType("DECIMAL", precision, scale)

    def _struct(self, depth: int) -> SqlType:
        begin = self.begin
        self.need("<")
        fields: list[SqlField] = []
        while fields or not self.is_next(">"):
            at = self.begin
            try:
                fields.append(SqlField(self.name(), self.type(depth + 1)))
            except StatementError:
                raise
            except SchemaError as error:
                self.fail(str(error), at)
            if not self.take(","):
                break
        self.need(">")
        self._unique(fields, "field", begin)
        return SqlType("STRUCT", fields=tuple(fields))

    def _unique(self, fields: Sequence[SqlField], what: str, begin: int) -> None:
        try:
            _unique(fields, what)
        except SchemaError as error:
            self.fail(str(error), begin)


_ARROW = {
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "TIME": pa.time32("ms"),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def arrow_type(kind: SqlType, *, wide_decimals: str = "decimal256", large: bool = False) -> pa.DataType:
    """Return the Arrow type that a SQL type is decoded to; see `kcodec.KsqlCodec`. All of it may be null."""
    parts = [arrow_type(part, wide_decimals=wide_decimals, large=large) for part in kind.parts]
    if kind.base == "STRUCT":
        return pa.struct([(field.name, part) for field, part in zip(kind.fields, parts, strict=True)])
    if kind.base == "ARRAY":
        return pa.large_list(*parts) if large else pa.list_(*parts)
    if kind.base == "MAP":
        return pa.map_(*parts)
    if kind.base == "DECIMAL":
        if kind.precision > 76:
            raise SchemaError(f"{kind}: kcodec reads and writes 76 digits at most, those of Arrow's decimals")
        if kind.precision <= 38:
            return pa.decimal128(kind.precision, kind.scale)
        if wide_decimals == "string":
            return pa.large_string() if large else pa.string()
        return pa.decimal256(kind.precision, kind.scale)
    if large and kind.base in ("STRING", "BYTES"):
        return pa.large_string() if kind.base == "STRING" else pa.large_binary()
    return _ARROW[kind.base]


def sql_type(kind: pa.DataType, place: str = "") -> SqlType:
    """Return the SQL type that an Arrow type is written as, at a place that errors name; names are kept as they are."""
    types = pa.types
    stored = stored_type(kind)
    if stored is not None:
        return sql_type(stored, place)
    if types.is_struct(kind):
        before = f"{place}." if place else ""
        fields = tuple(SqlField(field.name, sql_type(field.type, before + field.name)) for field in kind)
        _unique(fields, "field")
        return SqlType("STRUCT", fields=fields)
    if is_list(kind) or types.is_fixed_size_list(kind):
        return SqlType("ARRAY", item=sql_type(kind.value_type, f"{place}[]"))
    if types.is_map(kind):
        return SqlType(
            "MAP", key=sql_type(kind.key_type, f"{place}[]"), item=sql_type(kind.item_type, f"{place}[]")
        )
    if types.is_decimal(kind) and 0 <= kind.scale <= kind.precision:
        return SqlType("DECIMAL", kind.precision, kind.scale)
    if types.is_integer(kind) and kind != pa.uint64():
        return SqlType("INTEGER" if kind.bit_width < 32 or kind == pa.int32() else "BIGINT")
    for base, accepts in _FROM_ARROW.items():
        if any(accept(kind) for accept in accepts):
            return SqlType(base)
    raise SchemaError(f"{place or 'the root'}: ksqlDB has no type for Arrow's {kind}")


_FROM_ARROW = {
    "BOOLEAN": (pa.types.is_boolean,),
    "DOUBLE": (pa.types.is_floating,),
    "STRING": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "BYTES": (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    ),
    "TIME": (pa.types.is_time,),
    "DATE": (pa.types.is_date,),
    "TIMESTAMP": (pa.types.is_timestamp,),
}
