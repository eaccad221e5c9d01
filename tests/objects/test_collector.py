"""Python's collector of garbage waits for lists of objects, and for nothing else."""

import gc

import pytest

from kcodec import AvroCodec, DecodeError, rows
from kcodec.objects.collector import uncollected

TAGS = AvroCodec('{"type": "array", "items": "int"}')


@pytest.fixture(autouse=True)
def collected():
    # The tests' own setting is off.
    gc.enable()
    yield
    gc.disable()


def test_it_is_as_it_was_behind_errors_too():
    assert uncollected(gc.isenabled) is False
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        uncollected(lambda: 1 // 0)
    assert gc.isenabled()
    gc.disable()
    assert uncollected(gc.isenabled) is False
    assert not gc.isenabled()


def test_lists_are_made_without_it(impl):
    made = []
    values = [b"\x02\x02\0"] * 10_000
    column = TAGS.decode(values)
    gc.callbacks.append(lambda phase, info: made.append(phase))
    try:
        assert len(TAGS.decode_list(values)) == len(rows(column)) == 10_000
    finally:
        gc.callbacks.pop()
    # At most one behind each list.
    assert len(made) <= 4
    with pytest.raises(DecodeError):
        TAGS.decode_list([b"\x02"])
    assert gc.isenabled()


def test_classes_of_users_are_called_with_it():
    seen = []

    class Point:
        def __init__(self, x):
            seen.append(gc.isenabled())

    codec = AvroCodec('{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}')
    codec.decode_list([b"\x02"], into=Point)
    assert seen == [True]
