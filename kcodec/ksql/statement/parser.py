"""The statements of a text: ``CREATE STREAM``, ``CREATE TABLE``, and the variables among them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from kcodec.errors import SchemaError, near, one_line
from kcodec.java.numbers import parse_java_double
from kcodec.ksql.statement.properties import typed
from kcodec.ksql.statement.statement import Statement
from kcodec.ksql.types import RESERVED, Parser, SqlColumn, StatementError

#: What ksqlDB's statements begin with.
_COMMANDS = (
    "ALTER", "ASSERT", "CREATE", "DEFINE", "DESCRIBE", "DROP", "EXPLAIN", "INSERT", "LIST", "PAUSE",
    "PRINT", "RESUME", "RUN", "SELECT", "SET", "SHOW", "TERMINATE", "UNDEFINE", "UNSET",
)  # fmt: skip
_READ = "only CREATE STREAM and CREATE TABLE are read, and among them CREATE TYPE, DEFINE and UNDEFINE"
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_@]*")
#: Characters that a text with variables may become: they can double it again and again.
_MOST = 1 << 20


def parse(text: str, variables: Mapping[str, str] | None = None) -> list[Statement]:
    """Parse ksqlDB's statements of streams and tables.

    Parameters
    ----------
    text : str
        ``CREATE [OR REPLACE] [SOURCE] STREAM|TABLE [IF NOT EXISTS] name (columns) WITH (properties);``, any number of
        them, with comments; the semicolon behind the last one may be missing. ``DEFINE`` and ``UNDEFINE`` of variables
        and ``CREATE TYPE`` may stand among them.
    variables : mapping, optional
        Values of further variables; ``${name}`` stands for one.

    Returns
    -------
    list of Statement
        In their order.

    Raises
    ------
    StatementError
        With line and column: for other statements, which are named by their first words, and for all that ksqlDB
        refuses, with its reason.

    Examples
    --------
    >>> text = '''
    ... DEFINE format = 'JSON';
    ... CREATE STREAM orders (id BIGINT KEY, `Paid` BOOLEAN)  -- of the web shop
    ...   WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='${format}', PARTITIONS=3);
    ... '''
    >>> [orders] = parse(text)
    >>> orders.kind, orders.name, orders.value_format, orders.partitions
    ('STREAM', 'ORDERS', 'JSON', 3)
    >>> [column.name for column in orders.columns]
    ['ID', 'Paid']
    >>> orders.value_codec().decode([b'{"Paid": true}']).to_pylist()
    [{'Paid': True}]
    """
    if variables is not None and not isinstance(variables, Mapping):
        raise TypeError(f"variables are a mapping of names to texts, not {type(variables).__name__}")
    for name in variables or ():
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not the name of a variable")
    return _Statements(text, variables or {}).read()


def parse_one(statement: Statement | str, variables: Mapping[str, str] | None = None) -> Statement:
    """Return the only statement of a text, or the statement that is given."""
    if isinstance(statement, Statement):
        return statement
    if not isinstance(statement, str):
        raise TypeError(f"a statement is a text or a Statement, not {type(statement).__name__}")
    found = parse(statement, variables)
    if len(found) != 1:
        raise SchemaError(f"{len(found)} statements: one is needed")
    return found[0]


def parse_kept(text: str) -> Statement:
    """Return a statement as a server keeps it: with what it has added itself."""
    [found] = _Statements(text, {}, kept=True).read()
    return found


class Head(NamedTuple):
    """What is read of a statement that may have a query: its properties, the query's first source and its windows."""

    properties: Mapping[str, Any]
    has_query: bool = False
    source: str | None = None
    window_size: str | None = None


def parse_head(text: str) -> Head | None:
    """Return what is read of a ``CREATE STREAM`` or ``CREATE TABLE``, query or not; None for other statements."""
    try:
        return _Statements(text, {}, kept=True).head()
    except StatementError:
        return None


class _Statements(Parser):
    """A text of statements, with the variables that are defined so far."""

    reserved = RESERVED

    def __init__(self, text: str, variables: Mapping[str, str], kept: bool = False) -> None:
        self._kept = kept
        if not isinstance(text, str):
            raise TypeError(f"statements are text, not {type(text).__name__}")
        # ksqlDB looks variables up in any case.
        self._variables = {name.casefold(): str(value) for name, value in variables.items()}
        super().__init__(text)

    def read(self) -> list[Statement]:
        found: list[Statement] = []
        while self.kind != "end":
            begin = self.begin
            if self.take("DEFINE"):
                name = self._variable()
                self.need("=")
                self._variables[name] = self.string("a value")
            elif self.take("UNDEFINE"):
                self._variables.pop(self._variable(), None)
            elif self.take("CREATE"):
                if self.is_next("TYPE"):
                    self._create_type(begin)
                else:
                    found.append(self._create(begin))
            else:
                self._refuse(begin)
            if self.kind != "end":
                self.need(";")
        return found

    def head(self) -> Head | None:
        """Read a statement up to its query, and of that the size of windows."""
        self.need("CREATE")
        if self.take("OR"):
            self.need("REPLACE")
        self.take("SOURCE")
        if not (self.take("STREAM") or self.take("TABLE")):
            return None
        self._if_not_exists()
        self.name()
        _, properties = self._body()
        if not self.is_next("AS"):
            return Head(properties)
        source: str | None = None
        while self.kind != "end":
            if source is None and self.take("FROM"):
                source = self.name()
            elif self.take("TUMBLING") or self.take("HOPPING"):
                self.need("(")
                self.need("SIZE")
                size = self.token
                self.next()
                return Head(properties, True, source, f"{size} {self.token}")
            else:
                self.next()
        return Head(properties, True, source)

    def name(self, what: str = "a name") -> str:
        """Read a name, or that of a variable."""
        if self.kind != "variable":
            return super().name(what)
        value = self._value(self.token)
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in '`"'
        plain = value[1:-1] if is_quoted else value
        if not _IDENTIFIER.fullmatch(plain):
            self.fail(
                "Illegal argument. Identifier names cannot start with '@' and may only contain alphanumeric values "
                f"and '_'. Got: '{one_line(value, 80)}'"
            )
        if not is_quoted and plain.upper() in RESERVED:
            self.fail(f'"{plain}" is a reserved keyword and it can\'t be used as an identifier.')
        self.next()
        return plain if is_quoted else plain.upper()

    def string(self, what: str) -> str:
        """Read a text in single quotes, and put in the variables of it."""
        begin = self.begin
        text = super().string(what)
        # Where there are no variables at all, ksqlDB looks for none.
        return self._substituted(text, begin) if self._variables and "${" in text else text

    def _variable(self) -> str:
        """Read the name that a variable is given; it may be a keyword."""
        if self.kind != "name" or self.token[0].isdigit():
            self.missing("a name")
        name = self.token.casefold()
        self.next()
        return name

    def _value(self, token: str) -> str:
        """Return the value of ``${name}``, or that itself."""
        return self._variables.get(token[2:-1].casefold(), token)

    def _substituted(self, text: str, begin: int) -> str:
        """Put the values of variables into a text: ``${name}``, ``${name:-default}``; ``$${name}`` is ``${name}``."""
        pieces, size, at = [], 0, 0
        while (start := text.find("${", at)) >= 0 and (end := text.find("}", start)) >= 0:
            if text[start - 1 : start] == "$" and start > at:
                piece = text[at : start - 1] + text[start : start + 2]
                at = start + 2
            else:
                name, has_default, default = text[start + 2 : end].partition(":-")
                value = self._variables.get(name.casefold(), default if has_default else None)
                if value is None:
                    value = text[start : end + 1]
                elif value.startswith("'") and value.endswith("'"):
                    self.fail(f"the value of ${{{one_line(name, 80)}}} is quoted, and so is the text", begin)
                piece = text[at:start] + value
                at = end + 1
            pieces.append(piece)
            size += len(piece)
            if size > _MOST:
                self.fail(f"variables make a text of more than {_MOST} characters", begin)
        return "".join(pieces) + text[at:]

    def _refuse(self, begin: int, words: str = "") -> None:
        """Refuse a statement, naming its first words."""
        if not words:
            first = self.token.upper()
            if self.kind != "name" or first not in _COMMANDS:
                hint = near(first, _COMMANDS)
                self.fail(f"Unknown statement {self.shown}{hint}: {_READ}", begin)
            self.next()
            second = self.token.upper() if self.kind == "name" else ""
            words = f"{first} {one_line(second, 40)}".strip()
        self.fail(f"{words}: {_READ}", begin)

    def _create_type(self, begin: int) -> None:
        self.next()
        exists = self._if_not_exists()
        name = self.name()
        self.need("AS")
        kind = self.type(0)
        key = name.upper()
        if key in self.types and not exists:
            shown = one_line(self.types[key], 80)
            self.fail(
                f"Cannot register custom type '{name}' since it is already registered with type: {shown}",
                begin,
            )
        self.types.setdefault(key, kind)

    def _if_not_exists(self) -> bool:
        """Step over ``IF NOT EXISTS``; something may be called IF."""
        place = self.at, self.kind, self.token, self.begin
        if self.take("IF"):
            if self.take("NOT"):
                self.need("EXISTS")
                return True
            self.at, self.kind, self.token, self.begin = place
        return False

    def _create(self, begin: int) -> Statement:
        or_replace = source = False
        words = "CREATE"
        if self.take("OR"):
            self.need("REPLACE")
            or_replace = True
            words += " OR REPLACE"
        if self.take("SOURCE"):
            source = True
            words += " SOURCE"
        kind = self.token.upper()
        if not (self.take("STREAM") or self.take("TABLE")):
            if self.kind == "name":
                words += f" {one_line(kind, 40)}"
            self._refuse(begin, words)
        words += f" {kind}"
        exists = self._if_not_exists()
        name = self.name()
        columns, properties = self._body()
        if self.is_next("AS"):
            self._refuse(begin, f"{words} AS")
        if self.kind != "end" and not self.is_next(";"):
            self.fail(f"unexpected {self.shown}")
        try:
            made = Statement(kind, name, columns, properties, source, or_replace, exists)
        except SchemaError as error:
            self.fail(str(error), begin)
        for part, has in (("KEY", made.key_columns), ("VALUE", made.value_columns)):
            # ksqlDB itself keeps statements with both.
            if has and f"{part}_SCHEMA_ID" in properties and not self._kept:
                self.fail(
                    f"Table elements and {part}_SCHEMA_ID cannot both exist for create statement.", begin
                )
        return made

    def _body(self) -> tuple[tuple[SqlColumn, ...], dict[str, Any]]:
        """Read the columns and the properties of a stream or table."""
        columns: tuple[SqlColumn, ...] = ()
        if self.take("("):
            columns = self.columns()
            self.need(")")
        return columns, self._properties() if self.take("WITH") else {}

    def _properties(self) -> dict[str, Any]:
        self.need("(")
        found: dict[str, Any] = {}
        while True:
            begin = self.begin
            # Variables stand for nothing within the quotes.
            is_text = self.kind == "text"
            name = (Parser.string(self, "a property") if is_text else self.name("a property")).upper()
            self.need("=")
            value = self._literal()
            if name in found:
                self.fail(f"Multiple entries with same key: {one_line(name, 80)}", begin)
            try:
                found[name] = typed(name, value)
            except SchemaError as error:
                self.fail(str(error), begin)
            if not self.take(","):
                break
        self.need(")")
        return found

    def _literal(self) -> Any:
        if self.kind == "text":
            return self.string("a value")
        if self.kind == "variable":
            return self._variable_literal()
        if self.kind == "name" and self.token.upper() in ("TRUE", "FALSE", "NULL"):
            token = self.token.upper()
            self.next()
            return None if token == "NULL" else token == "TRUE"
        begin = self.begin
        sign = "-" if self.take("-") else ""
        if self.kind not in ("number", "real"):
            self.missing("a value")
        text = sign + self.token
        value = _number(text)
        if value is None:
            self.fail(f"Invalid numeric literal: {one_line(text, 80)}", begin)
        self.next()
        return value

    def _variable_literal(self) -> Any:
        value = self._value(self.token)
        found: Any = None
        if len(value) > 1 and value.startswith("'") and value.endswith("'"):
            found = value[1:-1].replace("''", "'")
        elif value.lower() in ("true", "false"):
            found = value.lower() == "true"
        else:
            found = _number(value.strip(" \t\r\n"))
        if found is None:
            self.fail(f"Illegal argument. Got: '{one_line(value, 80)}'")
        self.next()
        return found


_NUMBER = re.compile(
    r"-?(?:([0-9]+)|([0-9]+\.[0-9]*|\.[0-9]+)|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)"
)


def _number(text: str) -> Any:
    """Return an integer of 64 bits, a decimal, or a double; None if it is none of them."""
    match = _NUMBER.fullmatch(text) if len(text) <= 400 else None
    if match is None:
        return None
    if match[1]:
        value = int(text)
        return value if -1 << 63 <= value < 1 << 63 else None
    if match[2]:
        return Decimal(text)
    double = parse_java_double(text)
    return double if abs(double) != float("inf") else None
