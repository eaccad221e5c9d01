"""What compares columns, a compiled kernel with its plain-Python twin, and threads with each other."""

import datetime
import functools
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import kcodec
from kcodec import CODES
from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.objects.form import ObjectForm
from kcodec.plan import Limits
from kcodec.plan.failure import OtherPrefix

THREADS = 8
#: By kernel: what reads single values quickly.
QUICK = {
    "formats.json._kernel": "formats.json.objects._read",
    "formats.protobuf._kernel": "formats.protobuf.objects._read",
}
QUICK_WRITERS = {
    "formats.json._kernel": ("formats.json.objects._write", {"fills": True}),
    "formats.protobuf._kernel": ("formats.protobuf.objects._write", {}),
}
#: What frames put before payloads.
PREFIXES = [b"\0\0\0\0\7", b"\1" + bytes(range(16))]


def comparable(array: pa.Array) -> list:
    """Return the values of a column in a form that compares bit by bit."""
    kind = array.type
    types = pa.types
    if types.is_struct(kind):
        columns = [comparable(array.field(i)) for i in range(kind.num_fields)]
        rows = [
            {field.name: column[i] for field, column in zip(kind, columns, strict=True)}
            for i in range(len(array))
        ]
    elif types.is_map(kind):
        pairs = list(zip(comparable(array.keys), comparable(array.items), strict=True))
        rows = [pairs[begin:end] for begin, end in pairwise(array.offsets.to_pylist())]
    elif types.is_list(kind) or types.is_large_list(kind):
        items = comparable(array.values)
        rows = [items[begin:end] for begin, end in pairwise(array.offsets.to_pylist())]
    elif types.is_float32(kind) or types.is_float64(kind):
        form, width = (">I", pa.uint32()) if types.is_float32(kind) else (">Q", pa.uint64())
        rows = [
            None if bits is None else struct.pack(form, bits).hex() for bits in array.view(width).to_pylist()
        ]
    elif types.is_decimal(kind):
        rows = [None if value is None else f"{value:f}" for value in array.to_pylist()]
    elif types.is_date32(kind) or types.is_time32(kind):
        rows = array.view(pa.int32()).to_pylist()
    elif types.is_temporal(kind) and kind.bit_width == 64:
        rows = array.view(pa.int64()).to_pylist()
    else:
        rows = array.to_pylist()
    valid = array.is_valid().to_pylist()
    return [row if present else None for row, present in zip(rows, valid, strict=True)]


@functools.cache
def _bits(kind: pa.DataType) -> pa.DataType:
    """Return the type of the same memory that has integers for floating-point numbers."""
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([field.with_type(_bits(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(*(field.with_type(_bits(field.type)) for field in (kind.key_field, kind.item_field)))
    if types.is_list(kind) or types.is_large_list(kind):
        made = pa.list_ if types.is_list(kind) else pa.large_list
        return made(kind.value_field.with_type(_bits(kind.value_type)))
    return {pa.float32(): pa.uint32(), pa.float64(): pa.uint64()}.get(kind, kind)


class _AsBits:
    """A column with the bits of its floating-point numbers, as Arrow takes it."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return _bits(self._column.type).__arrow_c_schema__(), self._column.__arrow_c_array__()[1]


def assert_same(column: pa.Array, expected: pa.Array) -> None:
    """Compare two columns bit by bit, by Arrow, which is fast; only where they differ as what people can read."""
    assert column.type == expected.type
    if not pa.array(_AsBits(column)).equals(pa.array(_AsBits(expected))):
        assert comparable(column) == comparable(expected)


def on_both(act: Callable[[], Any]) -> Any:
    """Run something on the compiled modules and on their twins; return what both return."""
    answers = []
    for implementation in IMPLEMENTATIONS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KCODEC_IMPL", implementation)
            answers.append(act())
    assert answers[0] == answers[1]
    return answers[0]


def answer(column: pa.Array, report: pa.Table) -> tuple[list, list]:
    """Return a column that was handed out, and its report, as what can be compared."""
    column.validate(full=True)
    assert set(report["code"].to_pylist()) <= set(CODES)
    return comparable(column), report.to_pylist()


def surroundings(rows: Sequence[bytes | None], kind: pa.DataType) -> list[pa.Array]:
    """Return a column alone in its memory, with memory behind it, and with the bytes of other rows around it."""
    behind = pa.array([*rows, bytes(64)], kind).slice(0, len(rows))
    around = pa.array([b"{" * 16, *rows, b'":1}' * 20], kind).slice(1, len(rows))
    return [pa.array(rows, kind), behind, around]


class NoObject(Exception):
    """A value that Python's dates and times do not have."""


def exact(value: Any) -> Any:
    """Return an object in a form that compares bit by bit, dicts with the order of their keys."""
    if isinstance(value, dict):
        return {"keys": [*value], "values": [exact(each) for each in value.values()]}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [exact(each) for each in value]
    if isinstance(value, float):
        return struct.pack(">d", value).hex()
    if isinstance(value, datetime.datetime):
        if getattr(value, "nanosecond", 0):
            raise NoObject
        zone = None if value.tzinfo is None else "UTC"
        return "datetime", value.replace(tzinfo=None).isoformat(timespec="microseconds"), zone
    return type(value).__name__, repr(value)


class NotPlain(Exception):
    """What is quick leaves a value to columns."""


class _Columns:
    """What stands for the columns that values are left to."""

    told = True

    def decode_one(self, data: Any, start: int = 0) -> Any:
        raise NotPlain

    def encode_one(self, value: Any, prefix: bytes = b"") -> Any:
        raise NotPlain


left_to_columns = _Columns()


def told(act, value) -> Any:
    """Return what an act makes of a value, told from what is equal but of another class; or its error."""
    try:
        return exact(act(value))
    except (kcodec.KcodecError, TypeError) as error:
        return type(error), str(error)


def same_objects(name, plan, rows, expected, faults, limits) -> None:
    """Check that what a quick reader makes of rows is what columns have."""
    reader = kernel(QUICK[name], "native").object_reader(plan, limits, left_to_columns, ObjectForm())
    failed = {fault.row for fault in faults}
    for at, row in enumerate(rows):
        for start, data in ((0, row), (3, None if row is None else b"\0\0\0" + row)):
            try:
                made = reader.decode_one(data, start)
            except NotPlain:
                continue
            assert at not in failed, row
            assert exact(made) == exact(kcodec.rows(expected.slice(at, 1))[0])


def same_decode(name, plans, rows, *, limits=None, kind=None, **options) -> pa.Array:
    """Decode rows by both kernels of a name, and to the first fault only; return the column that both make."""
    limits = limits or Limits()
    native, pure = (kernel(name, implementation) for implementation in IMPLEMENTATIONS)
    # The compiled kernel may read past a value where memory goes on; the plain one knows no memory.
    values, *others = surroundings(rows, kind or pa.binary())
    expected, faults = _decoded(pure, plans, values, limits, options)
    for column in (values, *others):
        decoded, found = _decoded(native, plans, column, limits, options)
        assert found == faults
        assert_same(decoded, expected)
    others_given = any(each for option, each in options.items() if option != "trailing")
    if name in QUICK and len(plans) == 1 and not others_given and kind is None:
        same_objects(name, plans[0], rows, expected, faults, limits)
    # To the plain one, whose rows are Python's bytes, one prefix is as good as another.
    for module, prefixes in ((native, PREFIXES), (pure, PREFIXES[1:])):
        programs = [module.Program(plan, limits) for plan in plans]
        assert module.decode(values, programs, stop=True, **options)[1] == faults[:1]
        if not options.keys() & {"starts", "ends"}:
            for prefix in prefixes:
                _behind_prefix(prefix, module, programs, values, expected, faults, options)
    return decoded


def _decoded(module, plans, values: pa.Array, limits: Limits, options: dict) -> tuple[pa.Array, list]:
    """Return what a kernel makes of rows, when it is what Arrow takes for a column of the plan's type."""
    decoded, faults = module.decode(values, [module.Program(plan, limits) for plan in plans], **options)
    decoded.validate(full=True)
    assert decoded.type == plans[0].arrow_type
    return decoded, faults


def _behind_prefix(prefix: bytes, module, programs, values, expected, faults, options) -> None:
    """Check that a kernel reads rows behind the same bytes as it reads them alone, and notices other bytes."""
    rows = [None if row is None else prefix + row for row in values.cast(pa.large_binary()).to_pylist()]
    # With memory behind the last row, so that the offsets of rows may do for where they are.
    _, behind, _ = surroundings(rows, values.type)
    decoded, found = module.decode(behind, programs, starts=prefix, **options)
    assert [fault._replace(offset=fault.offset - len(prefix)) for fault in found] == faults
    assert_same(decoded, expected)
    for bad in (prefix[:-1], PREFIXES[prefix == PREFIXES[0]] * 2):
        for column in surroundings([prefix * 4, bad], values.type):
            with pytest.raises(OtherPrefix):
                module.decode(column, programs, starts=prefix)


def same_payloads(name, plan, column) -> None:
    """Check that what a quick writer makes of the objects in a column is what a column of each is written as."""
    quick, options = QUICK_WRITERS[name]
    writer = kernel(quick, "native").object_writer(plan, left_to_columns, **options)
    module = kernel(name, "pure")
    for at in range(min(len(column), 20)):
        try:
            value = kcodec.rows(column.slice(at, 1))[0]
        except (OverflowError, ValueError):
            # Python has no such time.
            continue
        try:
            made = writer.encode_one(value, b"\7")
        except NotPlain:
            continue
        given = pa.array([value], plan.arrow_type)
        encoded, faults = module.encode(given, module.Program(plan, Limits()), prefix=b"\7")
        assert not faults, value
        assert made == encoded[0].as_py()


def same_encode(name, plan, column, *, limits=None, **options) -> pa.Array:
    """Encode a column by both kernels of a name, and to the first fault only; return what both write."""
    limits = limits or Limits()
    answers = []
    for implementation in IMPLEMENTATIONS:
        module = kernel(name, implementation)
        encoded, faults = module.encode(column, module.Program(plan, limits), **options)
        encoded.validate(full=True)
        answers.append((encoded.type, encoded.to_pylist(), faults))
        assert answers[-1] == answers[0]
        first = module.encode(column, module.Program(plan, limits), stop=True, **options)[1]
        assert first == faults[:1]
    if name in QUICK_WRITERS:
        same_payloads(name, plan, column)
    return encoded


def at_once(work: Callable[[int], Any]) -> list:
    """Run something in several threads, none before the last has started; return all results."""
    barrier = threading.Barrier(THREADS)

    def one(number):
        barrier.wait()
        return [work(number) for _ in range(3)]

    with ThreadPoolExecutor(THREADS) as pool:
        return [result for results in pool.map(one, range(THREADS)) for result in results]
