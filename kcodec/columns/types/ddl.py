"""Types in the text that Spark writes and reads: ``id BIGINT, tags ARRAY<STRING>``."""

import re
from typing import NoReturn

import pyarrow as pa

from kcodec.columns.types.plain import is_list, plain_type
from kcodec.errors import SchemaError

#: Levels of types within types.
_MAX_DEPTH = 100

_TOKEN = re.compile(
    r"""(?:\s|--[^\r\n]*|/\*.*?\*/)*
    (?: (?P<word>[0-9]*[A-Za-z_][A-Za-z0-9_]*)(?!\w)
      | (?P<number>[0-9]+)(?!\w)
      | `(?P<quoted>(?:[^`]|``)*)`
      | (?P<text>r?'(?:[^'\\]|\\.|'')*'|r?"(?:[^"\\]|\\.|"")*")
      | (?P<mark>[<>(),:])
      | (?P<end>\Z) )""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)

_TYPES = {
    "BOOLEAN": pa.bool_(),
    **dict.fromkeys(("TINYINT", "BYTE"), pa.int8()),
    **dict.fromkeys(("SMALLINT", "SHORT"), pa.int16()),
    **dict.fromkeys(("INT", "INTEGER"), pa.int32()),
    **dict.fromkeys(("BIGINT", "LONG"), pa.int64()),
    **dict.fromkeys(("FLOAT", "REAL"), pa.float32()),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ"), pa.timestamp("us", "UTC")),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "VOID": pa.null(),
}
_TEXTS = ("CHAR", "CHARACTER", "VARCHAR")
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_DIGITS = 38
#: Of a time of day.
_FRACTION = 6
_WITHOUT = ("VARIANT", "GEOMETRY", "GEOGRAPHY")
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def ddl_type(text: str) -> pa.DataType:
    """Return the Arrow type of a type in Spark's DDL: columns are a struct of them.

    Names of types are compared without regard to case; lengths of text, comments and collations are not kept. A text
    that is not DDL, or names a type that no codec has (intervals, variants, geometries), is a `SchemaError`.

    >>> print(ddl_type("id BIGINT NOT NULL, tags ARRAY<STRING>, price DECIMAL(10, 2) COMMENT 'net'"))
    struct<id: int64 not null, tags: list<item: string>, price: decimal128(10, 2)>
    >>> print(ddl_type("map<string, struct<a: int, `b c`: timestamp>>"))
    map<string, struct<a: int32, b c: timestamp[us, tz=UTC]>>
    """
    parser = _Parser(text)
    columns = parser.is_column()
    kind = parser.fields("") if columns else parser.type(0)
    if parser.kind != "end":
        parser.fail("the end")
    return kind


#: As columns of Spark are: the next wider type for integers without a sign.
_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    **dict.fromkeys((pa.int16(), pa.uint8()), "SMALLINT"),
    **dict.fromkeys((pa.int32(), pa.uint16()), "INT"),
    **dict.fromkeys((pa.int64(), pa.uint32()), "BIGINT"),
    pa.uint64(): "DECIMAL(20,0)",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    **dict.fromkeys((pa.string(), pa.large_string()), "STRING"),
    **dict.fromkeys((pa.binary(), pa.large_binary()), "BINARY"),
    pa.null(): "VOID",
}
_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def ddl_text(kind: pa.DataType) -> str:
    """Return the text of a type in Spark's DDL: of a struct, its columns.

    It is what `ddl_type` reads, but for the widths that Spark does not know. Spark has no word for items that are never
    null. A type of Arrow's that Spark does not have is a `SchemaError`.

    >>> ddl_text(pa.struct([pa.field("id", pa.uint8(), False), ("a b", pa.list_(pa.struct([("x", pa.date32())])))]))
    'id SMALLINT NOT NULL, `a b` ARRAY<STRUCT<x: DATE>>'
    """
    kind = plain_type(kind, sized=False, days=True)
    return _columns(kind, " ", "") if pa.types.is_struct(kind) and kind.num_fields else _name(kind, "")


def _columns(kind: pa.DataType, between: str, path: str) -> str:
    found = []
    for field in kind:
        text = _name(field.type, f"{path}.{field.name}" if path else field.name)
        name = field.name
        if _PLAIN_NAME.fullmatch(name) is None:
            name = "`" + name.replace("`", "``") + "`"
        found.append(f"{name}{between}{text}{'' if field.nullable else ' NOT NULL'}")
    return ", ".join(found)


def _name(kind: pa.DataType, path: str) -> str:
    types = pa.types
    if kind in _NAMES:
        return _NAMES[kind]
    if types.is_struct(kind):
        return f"STRUCT<{_columns(kind, ': ', path)}>"
    if is_list(kind):
        return f"ARRAY<{_name(kind.value_type, f'{path}[]')}>"
    if types.is_map(kind):
        return f"MAP<{_name(kind.key_type, f'{path}[].key')}, {_name(kind.item_type, f'{path}[].value')}>"
    if types.is_date(kind):
        return "DATE"
    if types.is_time(kind):
        return f"TIME({_FRACTION})"
    if types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if types.is_decimal(kind) and kind.precision <= _DIGITS and 0 <= kind.scale <= kind.precision:
        return f"DECIMAL({kind.precision},{kind.scale})"
    raise SchemaError(f"{path + ': ' if path else ''}Spark's DDL has no type for {kind}")


class _Parser:
    """The tokens of a text, one of them at hand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = self.behind = 0
        self.kind = self.value = ""
        self.next()

    def next(self) -> None:
        found = _TOKEN.match(self.text, self.behind)
        if found is None:
            self.at = self.behind
            raise SchemaError(f"the schema is not Spark's DDL: at {self.shown()}")
        self.kind = found.lastgroup or ""
        self.value = found[self.kind]
        self.at, self.behind = found.start(self.kind), found.end()

    def shown(self) -> str:
        rest = self.text[self.at : self.at + 40]
        return repr(rest) if rest else "the end"

    def fail(self, wanted: str) -> NoReturn:
        raise SchemaError(f"the schema is not Spark's DDL: {wanted} was expected at {self.shown()}")

    def is_column(self) -> bool:
        """Return whether the text begins with a column: a name with a type behind it."""
        if self.kind != "word":
            return self.kind == "quoted"
        ahead = _TOKEN.match(self.text, self.behind)
        if ahead is None or ahead.lastgroup == "end":
            return False
        if ahead.lastgroup == "mark":
            return ahead["mark"] == ":"
        word = (ahead["word"] or "").upper()
        # What goes on with a word; any other type ends with one.
        goes_on = {"STRING": ("COLLATE",), "INTERVAL": _UNITS, "TIMESTAMP": ("WITHOUT",)}
        return word not in goes_on.get(self.value.upper(), ())

    def take(self, value: str) -> bool:
        if self.kind in ("word", "mark") and self.value.upper() == value:
            self.next()
            return True
        return False

    def need(self, value: str) -> None:
        if not self.take(value):
            self.fail(value)

    def number(self) -> int:
        # Any more digits are more than there can be.
        if self.kind != "number" or len(self.value) > 9:
            self.fail("a number")
        value = int(self.value)
        self.next()
        return value

    def name(self) -> str:
        if self.kind == "quoted":
            name = self.value.replace("``", "`")
        elif self.kind == "word":
            name = self.value
        else:
            self.fail("a name")
        try:
            name.encode()
        except UnicodeEncodeError:
            self.fail("a name of whole characters")
        self.next()
        return name

    def fields(self, end: str, depth: int = 0) -> pa.DataType:
        """Read columns, or the fields of a struct up to its end."""
        found: list[pa.Field] = []
        while not (end and not found and self.kind == "mark" and self.value == end):
            name = self.name()
            self.take(":")
            kind = self.type(depth + 1)
            nullable = True
            if self.take("NOT"):
                self.need("NULL")
                nullable = False
            if self.take("COMMENT"):
                if self.kind != "text":
                    self.fail("a comment's text")
                self.next()
            if not nullable and pa.types.is_null(kind):
                raise SchemaError(f"column {name!r}: what is always null cannot be NOT NULL")
            found.append(pa.field(name, kind, nullable))
            if not self.take(","):
                break
        return pa.struct(found)

    def type(self, depth: int) -> pa.DataType:
        if depth > _MAX_DEPTH:
            raise SchemaError(f"types are nested deeper than {_MAX_DEPTH} levels")
        if self.kind != "word":
            self.fail("a type")
        name = self.value.upper()
        if name in _WITHOUT:
            raise SchemaError(f"no codec has a type for Spark's {name.lower()}")
        if name == "INTERVAL":
            raise SchemaError(f"no codec has a type for Spark's {self.interval()}")
        if not (name in _TYPES or name in (*_TEXTS, *_DECIMALS, "TIME", "ARRAY", "MAP", "STRUCT")):
            self.fail("a type")
        self.next()
        if name == "ARRAY":
            self.need("<")
            item = self.type(depth + 1)
            self.need(">")
            return pa.list_(pa.field("item", item))
        if name == "MAP":
            self.need("<")
            key = self.type(depth + 1)
            self.need(",")
            value = self.type(depth + 1)
            self.need(">")
            return pa.map_(key, pa.field("value", value))
        if name == "STRUCT":
            self.need("<")
            struct = self.fields(">", depth)
            self.need(">")
            return struct
        if name in _DECIMALS:
            return self.decimal()
        if name in _TEXTS:
            self.need("(")
            self.number()
            self.need(")")
        if name == "TIME":
            if self.take("("):
                if self.number() > _FRACTION:
                    raise SchemaError(f"a time has {_FRACTION} digits of a second at most")
                self.need(")")
            return pa.time64("us")
        if name == "TIMESTAMP" and self.take("WITHOUT"):
            self.need("TIME")
            self.need("ZONE")
            return _TYPES["TIMESTAMP_NTZ"]
        if name in ("STRING", *_TEXTS) and self.take("COLLATE"):
            self.name()
        return _TYPES.get(name, pa.string())

    def interval(self) -> str:
        """Read the type of an interval; return its name."""
        words = []
        while self.kind == "word" and self.value.upper() in ("INTERVAL", "TO", *_UNITS):
            words.append(self.value.lower())
            self.next()
        return " ".join(words)

    def decimal(self) -> pa.DataType:
        precision, scale = 10, 0
        if self.take("("):
            precision = self.number()
            if self.take(","):
                scale = self.number()
            self.need(")")
        if not 1 <= precision <= _DIGITS or scale > precision:
            raise SchemaError(
                f"Spark's decimals have 1 to {_DIGITS} digits, and no more than these behind the point: "
                f"not DECIMAL({precision},{scale})"
            )
        return pa.decimal128(precision, scale)
