"""Readers of batches that are made as they are read."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pandas
import pyarrow as pa
import pytest

import kcodec.columns.stream
from kcodec.columns.stream import reader_of, stream
from kcodec.errors import KcodecError, RegistryError

SCHEMA = pa.schema({"id": pa.int64()})


def batches(*given):
    """Make a batch of each number, up to an error."""
    for each in given:
        if isinstance(each, BaseException):
            raise each
        yield pa.record_batch([[each]], SCHEMA)


def test_all_batches_up_to_the_end():
    reader = stream(SCHEMA, batches(1, 2))
    assert [batch["id"][0].as_py() for batch in reader] == [1, 2]
    with pytest.raises(StopIteration):
        reader.read_next_batch()


def test_an_error_is_no_end():
    reader = stream(SCHEMA, batches(1, RegistryError("gone"), 3))
    assert reader.read_next_batch()["id"].to_pylist() == [1]
    for _ in range(3):
        with pytest.raises(RegistryError, match="gone"):
            reader.read_next_batch()
    with pytest.raises(RegistryError, match="gone"):
        reader.read_all()


def test_an_interruption_is_no_end():
    reader = stream(SCHEMA, batches(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        reader.read_next_batch()
    with pytest.raises(KcodecError, match="interrupted"):
        reader.read_next_batch()


def test_what_makes_the_batches_is_closed_with_the_reader():
    closed = []

    def endless():
        try:
            while True:
                yield pa.record_batch([[1]], SCHEMA)
        finally:
            closed.append(True)

    reader = stream(SCHEMA, endless())
    reader.read_next_batch()
    reader.close()
    del reader
    assert closed


def test_threads_share_a_reader():
    def made():
        for number in range(40):
            # Others ask meanwhile.
            time.sleep(0.001)
            yield pa.record_batch([[number]], SCHEMA)

    reader = stream(SCHEMA, made())
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: [batch["id"][0].as_py() for batch in reader], range(4))
    assert sorted(number for each in found for number in each) == list(range(40))


def test_rows_of_dicts_have_the_columns_of_all():
    assert reader_of([{"id": 1}, {"note": "a"}]).read_all().to_pydict() == {
        "id": [1, None],
        "note": [None, "a"],
    }
    assert reader_of({"id": [1, 2]}).read_all().to_pydict() == {"id": [1, 2]}
    assert reader_of(iter([])).read_all().num_rows == 0


def test_an_iterator_is_read_as_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(kcodec.columns.stream, "_ROWS", 2)
    taken = []

    def rows():
        for number in range(5):
            taken.append(number)
            yield {"id": number}

    reader = reader_of(rows())
    assert taken == [0, 1]
    assert reader.read_next_batch().to_pydict() == {"id": [0, 1]}
    assert reader.read_all().to_pydict() == {"id": [2, 3, 4]}


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ({"id": "x"}, "rows from 2 have other types than the first 2"),
        ({"id": 1, "more": 2}, "row 2 has a column 'more', which the first 2 rows have not"),
        (5, "row 2 is no dict but int: a table is"),
    ],
)
def test_rows_that_are_unlike_the_first(monkeypatch, last, message):
    monkeypatch.setattr(kcodec.columns.stream, "_ROWS", 2)
    reader = reader_of(iter([{"id": 1}, {"id": 2}, last]))
    with pytest.raises(TypeError, match=message):
        reader.read_all()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"id": [1, "a"]}, "column 'id': "),
        ({1: [1]}, "1 is no name of a column"),
        ({"a": [1], "b": [1, 2]}, "dict is no table: .*length"),
        ([{"id": 1}, 5], "row 1 is no dict but int"),
        (5, "int is no table: a table is an Arrow table"),
        (pa.array([1]), "Array is no table: .*; a table is"),
    ],
)
def test_what_is_no_table(data, message):
    with pytest.raises(TypeError, match=message):
        reader_of(data)


def test_an_index_without_a_name_is_no_column():
    frame = pandas.DataFrame({"id": [2, 3]}, index=[7, 5])
    assert reader_of(frame).read_all().to_pydict() == {"id": [2, 3]}
    assert reader_of(frame.rename_axis("place")).schema.names == ["id", "place"]


def test_batches_one_by_one():
    batches = pa.table({"id": [1, 2, 3]}).to_batches(2)
    assert reader_of(iter(batches)).read_all().to_pydict() == {"id": [1, 2, 3]}


FORKED = """
import os, signal, threading, warnings
import pyarrow as pa
from kcodec.columns.stream import Lasting

warnings.simplefilter("ignore", DeprecationWarning)  # of forking where threads run
began, go_on = threading.Event(), threading.Event()

class Batches:
    def __next__(self):
        if threading.current_thread() is not threading.main_thread():
            began.set()
            go_on.wait()
        return pa.record_batch({"a": [1]})

    def __iter__(self):
        return self

lasting = Lasting(Batches())
thread = threading.Thread(target=next, args=(lasting,))
thread.start()
began.wait()
child = os.fork()
if not child:
    signal.alarm(10)
    os._exit(next(lasting).num_rows - 1)
status = os.waitpid(child, 0)[1]
go_on.set()
thread.join()
raise SystemExit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_child_waits_for_no_thread_of_its_parent():
    assert subprocess.run([sys.executable, "-c", FORKED], check=False).returncode == 0
