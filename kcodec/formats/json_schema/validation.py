"""Documents validated by their schemas, with the verdicts of Confluent's serializers.

A compiled validator does the work. Where those of Confluent differ from the specification, or from draft to draft, the
schema is rewritten and given keywords of our own; most documents need none of that.
"""

import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin

import pyarrow as pa

from kcodec.columns.arrays.nested import replace_rows
from kcodec.columns.faults import null_rows
from kcodec.columns.framed.frames import payload_starts
from kcodec.errors import Fault, SchemaError, one_line
from kcodec.formats.json_schema.engine import library, metaschemas, pattern_cost, pattern_options
from kcodec.formats.json_schema.loosened import loosened
from kcodec.formats.json_schema.references import Documents, fragment_of, is_uri, reference_draft, rooted
from kcodec.formats.json_schema.regular_expressions import translated
from kcodec.java.jackson import MAX_NUMBER, JacksonError, read_tree, write_tree
from kcodec.java.utf8 import SURROGATE

#: Formats that are checked in a draft; none are from 2019-09 on. A uri may be a reference in draft 4.
_CHECKED: dict[int, tuple[str, ...]] = {
    4: ("date-time", "email", "hostname", "ipv4", "ipv6", "uri"),
}
_CHECKED[6] = (*_CHECKED[4], "json-pointer", "uri-reference", "uri-template")
_CHECKED[7] = (*_CHECKED[6], "date", "time", "regex", "relative-json-pointer")

#: Formats that the library checks and Confluent's serializers do not know.
_UNKNOWN = ("duration", "idn-email", "idn-hostname", "iri", "iri-reference", "uuid")

_CLASSES = {4: "Draft4Validator", 6: "Draft6Validator", 7: "Draft7Validator", 2020: "Draft202012Validator"}

#: Keywords whose values hold schemas by name, and those whose values are data.
_BY_NAME = (
    *("properties", "patternProperties", "definitions", "$defs"),
    *("dependentSchemas", "dependentRequired", "dependencies"),
)
_DATA = ("enum", "const", "default", "examples")

#: Keywords whose values are whole numbers.
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")

#: Keywords whose values are URIs.
_URIS = ("$ref", "$dynamicRef", "$id", "id")

#: Characters that are not quoted in URIs: all of ASCII, and those that no part of them must quote.
_ASCII = "".join(map(chr, range(128)))
_PLAIN = "".join(set(_ASCII[33:127]) - set('"<>[]\\^`{|}'))

_INTEGER, _UNIQUE, _CHOICE = "kcodec.integer", "kcodec.unique", "kcodec.choice"

#: How values violate a choice of schemas: keyword and message, by what stands under `_CHOICE`.
_CHOICES = {
    "anyOf": ("anyOf", "the value is not valid under any of the schemas listed in the 'anyOf' keyword"),
    "none": ("oneOf", "the value is not valid under any of the schemas listed in the 'oneOf' keyword"),
    "several": (
        "oneOf",
        "the value is valid under more than one of the schemas listed in the 'oneOf' keyword",
    ),
}

#: Characters of a number that a double holds exactly.
_SHORT = 15

#: What names of references are relative to, where the schema has no identifier.
_BASE = "json-schema:///"

#: Steps back of matching one pattern with one text, and what compiling all patterns of a schema may cost.
_MAX_STEPS_BACK = 100_000
_MAX_COST = 500_000

#: Rows that are made objects of Python together.
_ROWS = 4096

_SPACE = re.compile(r"[ \t\n\r]*")


class Validator:
    """A schema, compiled. It pickles as its documents.

    Without the extra ``kcodec[jsonschema]`` it is a `ConfigError`; a schema that cannot be compiled is a `SchemaError`,
    as Confluent's serializer cannot load some schemas that it registers.

    >>> validator = Validator(Documents({"properties": {"a": {"maximum": 5}}}, []))
    >>> validator.violation(b'{"a": 5}')
    >>> validator.violation(b'{"a": 6}')
    ('a', 'maximum at /a: the value is greater than the maximum of 5')
    """

    def __init__(self, documents: Documents) -> None:
        self._sources = documents.main.document, documents.named
        self._draft = documents.main.draft
        self._base = documents.main.base
        self._anchors = frozenset(documents.main.anchors)
        self._is_old = self._draft != 2020
        schemas = [self._sources[0], *(each for _, each in self._sources[1])]
        # Whether a number such as 1.0 needs a validator of its own.
        word = "integer" if self._is_old else "uniqueItems"
        self._has_exception = any(_mentions(each, word) for each in schemas)
        self._may_recur = _may_recur(schemas)
        #: Regular expressions as they stand in the schemas, by what they are translated to.
        self._patterns: dict[str, str] = {}
        self._cost = 0
        self._validator = self._compiled(lambda schema: schema, {})

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._sources

    @functools.cached_property
    def _exact(self) -> Any:
        """The validator that tells 1.0 from 1."""
        return self._compiled(*self._exactly)

    @property
    def _exactly(self) -> tuple[Callable[[Any], Any], Mapping[str, type]]:
        if self._is_old:
            return _without_integers, {_INTEGER: _IsInteger}
        return _without_unique, {_UNIQUE: _IsUnique}

    @functools.cached_property
    def _telling(self) -> Any:
        """What tells why a document is not valid."""
        return self._narrowed(lambda schema: schema, {}) or self._validator

    @functools.cached_property
    def _exact_telling(self) -> Any:
        return self._narrowed(*self._exactly) or self._exact

    def _narrowed(self, rewrite: Callable[[Any], Any], keywords: Mapping[str, type]) -> Any:
        """Return what looks for a violation in values that are not valid only, and not in each schema of a choice.

        The library looks for it everywhere, and where two schemas are about one value, twice: at each level below
        again. Whether a value is valid it finds once. None if there is no need, or no way since a reference names by
        its place what is moved.
        """
        if not self._may_recur:
            return None
        changes = [_with_opaque_choices]
        named = (reference_draft(each, self._draft) or self._draft for _, each in self._sources[1])
        if min((self._draft, *named)) >= 7:
            # Those before have no condition.
            changes.append(functools.partial(_with_asked_references, self._is_old))
        try:
            return self._compiled(
                lambda schema: functools.reduce(_narrowed, changes, rewrite(schema)), keywords
            )
        except SchemaError:
            return None

    def _compiled(self, rewrite: Callable[[Any], Any], keywords: Mapping[str, type]) -> Any:
        engine = library()
        main, named = self._sources
        formats: dict[str, Callable[[str], bool]] = {}
        if self._is_old:
            known = _CHECKED[self._draft]
            formats = {name: _is_anything for name in (*_CHECKED[7], *_UNKNOWN) if name not in known}
        if self._draft == 4:
            formats["uri"] = engine.Draft7Validator(
                {"format": "uri-reference"}, validate_formats=True
            ).is_valid
        names: dict[str, Any] = {}
        try:
            for name, each in named:
                draft = reference_draft(each, self._draft) or self._draft
                place = _absolute(urldefrag(urljoin(self._base, name))[0])
                schema = self._plain(_pointed(rewrite(each), each, draft, place), draft)
                if isinstance(schema, dict):
                    schema = {**schema, "$schema": _DRAFT_NAMES[draft]}
                # Python joins nothing to a scheme that it does not know.
                for place in map(_absolute, (name, urljoin(self._base, name))):
                    names.setdefault(place, schema)
            if any(map(_refers_to_metaschema, (main, *(each for _, each in named)))):
                names = {**metaschemas(), **names}
            registry = engine.Registry(list(names.items()))
            schema = _pointed(rewrite(main), main, self._draft, _absolute(urldefrag(self._base)[0]))
            plain = self._plain(schema, self._draft)
            base = _BASE
            if self._is_old and isinstance(plain, dict) and "$ref" in plain and ":" in self._base:
                # The library does not look at an identifier beside a reference.
                base, plain = self._base, _without(_without(plain, "$id"), "id")
            return getattr(engine, _CLASSES[self._draft])(
                plain,
                formats=formats or None,
                validate_formats=self._is_old,
                registry=registry,
                base_uri=base,
                offline=True,
                keywords={**(_UNCHECKED if self._is_old else _UNCHECKED_NEW), **keywords},
                mask="the value",
                pattern_options=pattern_options(_MAX_STEPS_BACK),
            )
        except SchemaError as error:
            raise SchemaError(f"the schema cannot validate: {error}") from None
        except (
            engine.ValidationError,
            engine.ReferencingError,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
        ) as error:
            culprits = filter(None, map(_culprit, [main, *(each for _, each in named)]))
            raise SchemaError(f"the schema cannot validate: {next(culprits, one_line(error))}") from None

    def _plain(self, schema: Any, draft: int) -> Any:
        """Return a schema without ``$schema``: the draft is known, and others have the rules of draft 7."""
        if not self._is_old and _mentions(schema, "$recursiveAnchor"):
            # Not looked at by Confluent's serializers, and other than what 2020-12 has under that name.
            schema = _changed(schema, lambda part: _without(part, "$recursiveAnchor"))
        schema = _changed(schema, functools.partial(loosened, draft=draft))
        if draft == 4:
            schema = _changed(schema, _without_lone)
        if not self._is_old:
            schema = _changed(schema, _with_whole)
        schema = _changed(schema, functools.partial(self._with_pointers, draft=draft))
        schema = _changed(_changed(schema, _with_quoted), self._with_translated)
        return _without(schema, "$schema") if isinstance(schema, dict) else schema

    def _with_pointers(self, part: dict[str, Any], draft: int) -> dict[str, Any]:
        """Return a schema whose references say as the library reads them which part they mean."""
        found: dict[str, Any] = {}
        for key in ("$ref", "$dynamicRef"):
            if isinstance(part.get(key), str):
                place, mark, fragment = part[key].partition("#")
                meant = fragment_of(fragment, draft, self._anchors)
                # The anchors of other documents are not known here.
                if meant != unquote(fragment) and (not place or fragment.startswith("/")):
                    found[key] = f"{place}{mark}{quote(meant)}"
        return {**part, **found} if found else part

    def _with_translated(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a schema with regular expressions as the library takes them."""
        found: dict[str, Any] = {}
        if isinstance(part.get("pattern"), str):
            found["pattern"] = self._translated(part["pattern"])
        if isinstance(part.get("patternProperties"), dict):
            found["patternProperties"] = {
                self._translated(each): schema for each, schema in part["patternProperties"].items()
            }
        return {**part, **found} if found else part

    def _translated(self, pattern: str) -> str:
        text = translated(pattern)
        if text not in self._patterns:
            self._patterns[text] = pattern
            self._cost += pattern_cost(text)
            if self._cost > _MAX_COST:
                raise SchemaError("the regular expressions of the schema take too long to compile")
        return text

    def violation(self, document: bytes) -> tuple[str, str] | None:
        """Return the path of what a schema refuses in a document, and why; None if it is valid.

        What is not JSON is None too: that is for the decoder to say.
        """
        return self.violation_read_by(self.reader(), document)

    def reader(self) -> "_Documents":
        """Return what reads documents for `violation_read_by`, in one thread."""
        return _Documents(self._is_old)

    def violation_read_by(self, reader: "_Documents", document: bytes) -> tuple[str, str] | None:
        """Return what `violation` does."""
        try:
            tree = reader.read(document)
        except _NotFinite:
            return "", "JSON does not allow numbers that are not finite"
        except ValueError:
            return None
        is_exact = reader.has_whole and self._has_exception
        validator = self._exact if is_exact else self._validator
        try:
            if validator.is_valid(tree):
                return None
            (self._exact_telling if is_exact else self._telling).validate(tree)
            validator.validate(tree)
        except library().ValidationError as error:
            return _path(error.instance_path), _reason(error, self._patterns)
        except UnicodeEncodeError:
            return self.violation(SURROGATE.sub("\ufffd", write_tree(tree)).encode())
        except (ValueError, RecursionError) as error:
            return "", one_line(error)
        return None


def _again(main: Any, named: Any) -> Validator:
    return Validator(Documents(main, named))


_DRAFT_NAMES = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2020: "https://json-schema.org/draft/2020-12/schema",
}


def _is_anything(text: str) -> bool:
    return True


class _NotFinite(ValueError):
    pass


class _Documents:
    """Reads documents as validators take them: numbers are exact in the old drafts, and doubles in the new."""

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        #: Whether a number has a fraction or an exponent, and is whole.
        self.has_whole = False
        self.decoder = json.JSONDecoder(parse_float=self.fraction, parse_constant=self.constant)

    def read(self, document: bytes) -> Any:
        self.has_whole = False
        try:
            # Ten times as fast as the codec "utf-8-sig".
            text = str(document, "utf-8").removeprefix("\ufeff")
            start = _SPACE.match(text) if text[:1] in " \t\n\r" else None
            return self.decoder.raw_decode(text, 0 if start is None else start.end())[0]
        except _NotFinite:
            raise
        except (ValueError, RecursionError):
            # Jackson reads more than that.
            try:
                tree = read_tree(document, fraction=lambda value: self.fraction(str(value)))
            except JacksonError as error:
                raise (_NotFinite if _holds_nonfinite(document) else ValueError)(str(error)) from None
            if tree is ...:
                raise ValueError("there is no value") from None
            return tree

    def fraction(self, text: str) -> float | Decimal:
        if len(text) > MAX_NUMBER:
            raise ValueError("a number is too long")
        value = float(text)
        # What no double holds is whole.
        self.has_whole |= value.is_integer() or math.isinf(value)
        if math.isinf(value) or (self.exact and len(text) > _SHORT):
            try:
                return Decimal(text)
            except InvalidOperation:
                raise ValueError("an exponent is too large") from None
        return value

    def constant(self, text: str) -> Any:
        raise _NotFinite(text)


def _holds_nonfinite(document: bytes) -> bool:
    """Return whether a document is JSON but for numbers that are not finite."""
    try:
        read_tree(document, nonfinite=True)
    except JacksonError:
        return False
    return True


def _path(steps: Sequence[str | int]) -> str:
    """Return the path of a value as other errors have it."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps]
    return "".join(parts).removeprefix(".")


def _reason(error: Any, patterns: Mapping[str, str]) -> str:
    """Return keyword and JSON pointer of a violation, and its message with expressions as they were written."""
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in error.instance_path)
    keyword = str(error.schema_path[-1]) if error.schema_path else "false"
    for own, name in ((_INTEGER, "type"), (_UNIQUE, "uniqueItems")):
        keyword = name if keyword == own else keyword
    message, cause = error.message, error
    while isinstance(cause.kind, library().ValidationErrorKind.PropertyNames):
        cause = cause.kind.error
    if isinstance(cause.kind, library().ValidationErrorKind.Not) and isinstance(cause.kind.schema, dict):
        keyword, message = _CHOICES.get(str(cause.kind.schema.get(_CHOICE)), (keyword, message))
    if isinstance(cause.kind, library().ValidationErrorKind.Pattern):
        pattern = cause.kind.pattern
        message = f'{message.removesuffix(pattern + chr(34))}{patterns.get(pattern, pattern)}"'
    return f"{keyword} at {pointer or 'the root'}: {one_line(message)}"


def validated(
    array: pa.Array,
    faults: Sequence[Fault],
    values: pa.Array,
    validators: Sequence[Validator | None],
    selector: Any = None,
    starts: Any = None,
) -> tuple[pa.Array, list[Fault]]:
    """Make rows of an array null whose document is not valid; return it and all faults, in order.

    The array is what the documents, `values`, were decoded as, or these themselves, and `faults` the rows that are null
    already. `selector` has per row, as int32, an index into the validators, by default 0; negative where there is
    nothing to validate. `starts` has per row, as int32, the byte at which the document starts, by default 0; or it is
    what all rows start with before it.
    """
    numbers = None if selector is None else memoryview(selector).cast("B").cast("i")
    readers = [None if each is None else each.reader() for each in validators]
    invalid: dict[int, Fault] = {}
    start_of = payload_starts(starts)
    for row, value in enumerate(_rows(values)):
        number = 0 if numbers is None else numbers[row]
        validator, reader = (validators[number], readers[number]) if number >= 0 else (None, None)
        if value is None or validator is None or reader is None:
            continue
        data = value.encode() if isinstance(value, str) else value
        at = start_of(row)
        found = validator.violation_read_by(reader, data[at:] if at else data)
        if found is not None:
            invalid[row] = Fault(row, at, found[0], "schema_violation", found[1])
    if not invalid:
        return array, list(faults)
    array = replace_rows(array, list(invalid), null_rows(len(invalid), array.type))
    others = [fault for fault in faults if fault.row not in invalid]
    return array, sorted([*others, *invalid.values()], key=lambda fault: fault.row)


def _rows(values: pa.Array) -> Iterator[bytes | str | None]:
    """Yield the rows of an array, of which only some stand in Python at a time."""
    for begin in range(0, len(values), _ROWS):
        yield from values.slice(begin, _ROWS).to_pylist()


# Schemas rewritten ------------------------------------------------------------------------------------


class _IsAnything:
    """A keyword that is not checked."""

    def __init__(self, parent: Any, value: Any, path: Any) -> None:
        pass

    def validate(self, value: Any) -> None:
        pass


_UNCHECKED = dict.fromkeys(("contentEncoding", "contentMediaType"), _IsAnything)

#: The library still checks ``dependencies``, which the drafts from 2019-09 on do not have.
_UNCHECKED_NEW = {**_UNCHECKED, "dependencies": _IsAnything}


class _IsInteger:
    """The type integer of drafts 4 to 7: written without fraction and exponent."""

    def __init__(self, parent: Any, value: Any, path: Any) -> None:
        pass

    def validate(self, value: Any) -> None:
        if isinstance(value, (float, Decimal)):
            raise ValueError('the value is not of type "integer"')


class _IsUnique:
    """The keyword uniqueItems, to which 1 and 1.0 are two numbers."""

    def __init__(self, parent: Any, value: Any, path: Any) -> None:
        self.wanted = value is True

    def validate(self, value: Any) -> None:
        if self.wanted and isinstance(value, list):
            texts = [json.dumps(each, sort_keys=True, default=str) for each in value]
            if len(set(texts)) < len(texts):
                raise ValueError("the value has non-unique elements")


def _without_integers(schema: Any) -> Any:
    def change(part: dict[str, Any]) -> dict[str, Any]:
        kinds = part.get("type")
        if kinds == "integer":
            return {**part, "type": "number", _INTEGER: True}
        if isinstance(kinds, list) and "integer" in kinds and "number" not in kinds:
            return {
                **part,
                "type": ["number" if kind == "integer" else kind for kind in kinds],
                _INTEGER: True,
            }
        return part

    return _changed(schema, change)


def _without_unique(schema: Any) -> Any:
    def change(part: dict[str, Any]) -> dict[str, Any]:
        return {_UNIQUE if key == "uniqueItems" else key: value for key, value in part.items()}

    return _changed(schema, change)


def _may_recur(schemas: Sequence[Any]) -> bool:
    """Return whether schemas may be within themselves, and none says what is evaluated."""

    def mention(*words: str) -> bool:
        return any(_mentions(each, word) for each in schemas for word in words)

    return mention("$ref", "$dynamicRef", "$recursiveRef") and not mention(
        "unevaluatedProperties", "unevaluatedItems"
    )


def _narrowed(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a schema with a change, but where the message has the schema, or a name that has no levels."""
    return _changed(schema, change, but=("not", "propertyNames"))


def _with_asked_references(is_old: bool, part: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that is only looked into for a violation where it refers to one that a value violates."""
    if not isinstance(part.get("$ref"), str) or "$id" in part or "id" in part:
        return part
    reference = {"$ref": part["$ref"]}
    asked = {"if": {"not": reference}, "then": reference}
    rest = _without(part, "$ref")
    if is_old:
        # What else stands there counts for nothing, but others may refer to it.
        rest = {key: rest[key] for key in ("definitions", "$defs") if key in rest}
        return {**rest, **asked}
    return {**rest, "allOf": [*part.get("allOf", []), asked]}


def _with_opaque_choices(part: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose choices are twice negated: the library only asks whether what is negated is valid."""
    rest = {key: value for key, value in part.items() if key not in ("anyOf", "oneOf")}
    if len(rest) == len(part) or not isinstance(part.get("allOf", []), list):
        return part
    opaque = [*part.get("allOf", [])]
    if "anyOf" in part:
        opaque.append({"not": {_CHOICE: "anyOf", "not": {"anyOf": part["anyOf"]}}})
    if "oneOf" in part:
        opaque.append({"not": {_CHOICE: "none", "not": {"anyOf": part["oneOf"]}}})
        opaque.append({"not": {_CHOICE: "several", "not": {"oneOf": part["oneOf"]}}})
    return {**rest, "allOf": opaque}


def _changed(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]], but: Sequence[str] = ()) -> Any:
    """Return a schema with a change made to each of the schemas in it, but those of some keywords."""
    if isinstance(schema, list):
        return [_changed(each, change, but) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for key, value in schema.items():
        if key in _DATA or key in but:
            made[key] = value
        elif key in _BY_NAME and isinstance(value, dict):
            made[key] = {name: _changed(each, change, but) for name, each in value.items()}
        else:
            made[key] = _changed(value, change, but)
    return change(made)


def _pointed(schema: Any, source: Any, draft: int, place: str) -> Any:
    """Return a schema whose parts with a base of their own point into the whole one where Confluent's reader does."""
    key = "id" if draft == 4 else "$id"
    if draft == 2020 or not isinstance(schema, dict) or not _mentions(schema, key):
        return schema
    meant = rooted(source, draft)

    def point(part: dict[str, Any]) -> dict[str, Any]:
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return part
        fragment = meant(reference[1:])
        return part if fragment is None else {**part, "$ref": f"{place}#{quote(fragment)}"}

    def change(part: dict[str, Any]) -> dict[str, Any]:
        own = part.get(key)
        if not isinstance(own, str) or own.startswith("#"):
            return part
        found: dict[str, Any] = _changed(part, point)
        if isinstance(part.get("$ref"), str):
            # The library does not look at an identifier beside a reference.
            kept = {name: found[name] for name in (key, "definitions", "$defs") if name in found}
            return {**kept, "allOf": [{"$ref": found["$ref"]}]}
        return found

    own = {key: schema[key]} if key in schema else {}
    return {**own, **_changed(_without(schema, key), change)}


def _absolute(name: str) -> str:
    quoted = _quoted(name)
    return quoted if ":" in quoted else f"{_BASE}{quoted}"


def _with_quoted(part: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with URIs as the library takes them."""
    uris = {key: _quoted(part[key]) for key in _URIS if isinstance(part.get(key), str)}
    return {**part, **uris} if uris else part


def _quoted(uri: str) -> str:
    """Quote what Java allows in URIs and the library does not: letters of any script, brackets behind the path."""
    if not is_uri(uri):
        return uri
    whole, mark, fragment = uri.partition("#")
    path, question, query = whole.partition("?")
    parts = (quote(path, safe=_ASCII), quote(query, safe=_PLAIN), quote(fragment, safe=_PLAIN))
    return f"{parts[0]}{question}{parts[1]}{mark}{parts[2]}"


def _with_whole(part: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose lengths have no fractions, which the reader of the newer drafts cuts off."""
    given = ((key, part[key]) for key in _LENGTHS if isinstance(part.get(key), Decimal))
    cut = {key: int(value) for key, value in given if value != value.to_integral_value()}
    return {**part, **cut} if cut else part


def _without_lone(part: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without flags such as ``exclusiveMinimum`` whose bound is missing: the library refuses them."""
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(part.get(key), bool) and bound not in part:
            part = _without(part, key)
    return part


def _culprit(schema: Any) -> str | None:
    """Return what is wrong with a schema, if that is one of its URIs or regular expressions."""
    found: list[str] = []

    def look(part: dict[str, Any]) -> dict[str, Any]:
        for key in _URIS:
            if isinstance(part.get(key), str) and not is_uri(part[key]):
                found.append(f"{part[key]!r} is not a URI, in which a space is %20 and < is %3C")
        patterns = part.get("patternProperties")
        for pattern in (part.get("pattern"), *(patterns if isinstance(patterns, dict) else ())):
            found.extend(_pattern_faults(pattern) if isinstance(pattern, str) else ())
        return part

    _changed(schema, look)
    return found[0] if found else None


def _pattern_faults(pattern: str) -> Iterator[str]:
    try:
        library().Draft7Validator({"pattern": translated(pattern)}, validate_formats=True)
    except SchemaError as error:
        yield str(error)
    except library().ValidationError:
        yield f"there is nothing in ECMA 262 for the regular expression {pattern!r}"


def _without(part: dict[str, Any], keyword: str) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != keyword}


def _refers_to_metaschema(schema: Any) -> bool:
    found = False

    def look(part: dict[str, Any]) -> dict[str, Any]:
        nonlocal found
        found |= any("//json-schema.org/" in str(part.get(key)) for key in ("$ref", "$dynamicRef"))
        return part

    _changed(schema, look)
    return found


def _mentions(schema: Any, word: str) -> bool:
    """Return whether a word stands anywhere in a schema."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if word in part:
                return True
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif part == word:
            return True
    return False
