"""Serdes read frames: of several ids, damaged ones, and where the registry fails."""

import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from order_registry import V1, V2, V3, Counted, frame, written

from kcodec import AvroCodec, Serde
from kcodec.errors import DecodeError, RegistryError, SchemaError
from kcodec.formats.avro.schema_format import AvroFormat
from kcodec.registry import Config, Reference, RegisteredSchema, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.serde.metrics import SerdeMetrics

pytestmark = pytest.mark.usefixtures("impl")


class TestRead:
    def test_mixed_ids_come_out_as_the_latest_in_order(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders")
        array = serde.deserialize([None, *mixed, None])
        array.validate(full=True)
        assert array.to_pylist() == [
            None,
            {"note": None, "id": 1, "qty": 1},
            {"note": "b", "id": 2, "qty": 1},
            {"note": "c", "id": 3, "qty": 7},
            {"note": None, "id": 4, "qty": 1},
            {"note": None, "id": 5, "qty": 1},
            {"note": None, "id": 6, "qty": 8},
            None,
        ]
        assert serde.arrow_type == array.type
        assert serde.reader_schema == V3

    @pytest.mark.parametrize(
        ("reader", "names"),
        [
            (V1, ["id"]),
            (2, ["id", "note"]),
            ("id:1", ["id"]),
            ("version:2", ["id", "note"]),
            ("latest", ["note", "id", "qty"]),
            ({"type": "record", "name": "R", "fields": [{"name": "id", "type": "double"}]}, ["id"]),
            (Schema(V2), ["id", "note"]),
        ],
    )
    def test_the_reader_schema_is_given(self, orders, mixed, reader, names):
        serde = Serde("AVRO", orders, topic="orders", reader_schema=reader)
        array, report = serde.deserialize(mixed, errors="report")
        assert [field.name for field in array.type] == names
        # A reader's int does not take a writer's long.
        assert report.num_rows == (4 if reader in (V1, "id:1") else 0)
        assert report["schema_id"].to_pylist() == ([2, 3, 2, 3] if reader in (V1, "id:1") else [])

    def test_without_a_subject_the_first_valid_frame_is_the_reader(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="elsewhere")
        assert serde.arrow_type is None
        assert serde.reader_schema is None
        column = [b"\0\0\0\0\x63", b"junk", mixed[1], mixed[0]]
        array = serde.deserialize(column, errors="null")
        assert array.to_pylist() == [None, None, {"id": 2, "note": "b"}, {"id": 1, "note": None}]
        assert serde.reader_schema == V2
        assert Serde("AVRO", orders).deserialize(mixed[2:]).type == AvroCodec(V3).arrow_type

    def test_nothing_readable_is_a_column_of_nulls(self, orders):
        serde = Serde("AVRO", orders)
        assert serde.deserialize([None, None]).type == pa.null()
        assert serde.deserialize([b"\xff"], errors="null").to_pylist() == [None]
        latest = Serde("AVRO", orders, topic="orders", reader_schema="latest")
        for values in ([None, None], [b"\xff"], [frame(99, b"")]):
            nulls = latest.deserialize(values, errors="null")
            assert nulls.null_count == len(values)
            # As in decoded rows, which Parquet's writer wants.
            assert nulls.field("id").null_count == 0

    def test_the_latest_must_exist_where_it_is_asked_for(self, orders, mixed):
        for serde in (
            Serde("AVRO", orders, topic="elsewhere", config={"use.latest.version": True}),
            Serde("AVRO", orders, topic="elsewhere", reader_schema="latest"),
        ):
            with pytest.raises(RegistryError) as info:
                serde.deserialize(mixed, errors="null")
            assert info.value.error_code == 40401

    def test_ids_are_fetched_once_and_unknown_ones_once_a_column(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders")
        column = mixed * 20 + [frame(99, b"x")] * 30
        serde.deserialize(column, errors="null")
        asked = [call for call in orders.calls if call[0] == "get"]
        assert asked == [("get", 1), ("get", 2), ("get", 3), ("get", 99)]
        orders.calls.clear()
        serde.deserialize(mixed)
        assert orders.calls == []
        serde.deserialize(column, errors="null")
        assert orders.calls == [("get", 99)]

    def test_ids_that_are_not_there_cost_few_questions(self, orders, mixed):
        """Bytes of any kind may look like frames."""
        serde = Serde("AVRO", orders, topic="orders")
        hostile = [frame(number, b"x") for number in range(1000, 11_000)]
        column = [mixed[0], *hostile, mixed[0], mixed[1]]
        array, report = serde.deserialize(column, errors="report")
        asked = [call[1] for call in orders.calls if call[0] == "get"]
        assert asked == [1, *range(1000, 1100)]
        assert set(report["code"].to_pylist()) == {"unknown_schema_id"}
        assert report["schema_id"].to_pylist() == [*range(1000, 11_000), 2]
        told = report["reason"].to_pylist()
        assert told[0] == told[99] == "the registry has no schema of this id"
        assert set(told[100:]) == {
            "one of more than 100 unknown ids in these values, too many to ask the registry for"
        }
        assert (array[0].as_py()["id"], array[10_001].as_py()["id"]) == (1, 1)
        # The next column asks for what it has.
        assert serde.deserialize(mixed).null_count == 0
        assert serde.metrics.schema_ids == serde.metrics.fetched == 3

    def test_the_first_id_that_is_not_there_is_the_last_asked_for(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders")
        with pytest.raises(DecodeError) as info:
            serde.deserialize([mixed[0], frame(98, b"x"), frame(99, b"x"), mixed[1]])
        assert (info.value.row, info.value.code, info.value.schema_id) == (1, "unknown_schema_id", 98)
        assert [call[1] for call in orders.calls if call[0] == "get"] == [1, 98]

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("where", [0, 1, 500, 998, 999])
    def test_rows_among_many_of_one_known_id(self, orders, mixed, where, impl):
        """Once an id is known, the frames of a column that seems to have no other are read with its payloads."""
        serde = Serde("AVRO", orders, topic="orders")
        column = written(3, V3, [{"note": "c", "id": n, "qty": 7} for n in range(1000)])
        first = serde.deserialize(column)
        for other in (
            None,
            mixed[0],
            mixed[1],
            frame(3, b"\x06"),
            frame(99, b"x"),
            b"{",
            b"\1" + bytes(20),
            column[0][:7],
        ):
            changed = pa.array([*column[:where], other, *column[where + 1 :]])
            fresh = Serde("AVRO", orders, topic="orders")
            found = []
            for each in (fresh, serde):
                array, report = each.deserialize(changed, errors="report")
                found.append((array.to_pylist(), report.to_pylist()))
            assert found[0] == found[1]
            assert array.take([row for row in range(1000) if row != where]).equals(
                first.take([row for row in range(1000) if row != where])
            )
            assert serde.deserialize(changed, errors="null").equals(array)
            if report.num_rows:
                with pytest.raises(DecodeError) as info:
                    serde.deserialize(changed)
                assert info.value.row == where
                assert (info.value.offset, info.value.code) == (
                    report["offset"][0].as_py(),
                    report["code"][0].as_py(),
                )

    def test_each_fault_costs_its_row(self, orders, mixed):
        column = [
            mixed[0],
            frame(99, b"x"),
            b"",
            b"\x02abcd",
            b"\0\0\0",
            frame(1, b""),
            frame(2, b"\x02\x08"),
            None,
        ]
        serde = Serde("AVRO", orders, topic="orders")
        array, report = serde.deserialize(column, errors="report")
        assert [row is not None for row in array.to_pylist()] == [True] + [False] * 7
        found = [(row["row"], row["code"], row["schema_id"]) for row in report.to_pylist()]
        assert found == [
            (1, "unknown_schema_id", 99),
            (2, "frame_truncated", None),
            (3, "frame_magic", None),
            (4, "frame_truncated", None),
            (5, "truncated", 1),
            (6, "union_index", 2),
        ]
        assert serde.deserialize(column, errors="null").equals(array)
        with pytest.raises(DecodeError) as info:
            serde.deserialize(column)
        assert (info.value.row, info.value.code, info.value.schema_id) == (1, "unknown_schema_id", 99)
        with pytest.raises(DecodeError) as info:
            serde.deserialize(pa.chunked_array([[mixed[0]], [mixed[1], frame(1, b"")]], pa.binary()))
        assert (info.value.row, info.value.offset, info.value.path) == (2, 5, "id")

    def test_a_schema_that_cannot_be_used_costs_its_rows(self, orders, mixed):
        registered = orders.register("json", Schema('{"type":"object"}', "JSON"))

        class Broken(Counted):
            def get(self, schema_id):
                if schema_id == 77:
                    return RegisteredSchema(77, "", Schema('{"type":"nonsense"}'))
                if schema_id == 78:
                    return RegisteredSchema(78, "", Schema('"int"', references=(Reference("x", "gone", 1),)))
                return orders.get(schema_id)

        serde = Serde("AVRO", Broken(), reader_schema=V1)
        column = [frame(77, b""), mixed[0], frame(registered.id, b""), frame(78, b"")]
        array, report = serde.deserialize(column, errors="report")
        assert array.to_pylist() == [None, {"id": 1}, None, None]
        assert report["code"].to_pylist() == ["schema_error"] * 3
        assert report["schema_id"].to_pylist() == [77, registered.id, 78]

    @pytest.mark.parametrize("reader", [None, "latest", V1])
    def test_a_registered_schema_with_a_wrong_default_is_read(self, reader):
        registry = MemoryRegistry()
        registry.set_mode("IMPORT", "orders-value")
        wrong = (
            '{"type":"record","name":"Order","namespace":"a.B$C","fields":[{"name":"id","type":"int"},'
            '{"name":"flag","type":["null","int"],"default":"null"}]}'
        )
        registry.register("orders-value", Schema(wrong), schema_id=7, version=1)
        serde = Serde("AVRO", registry, topic="orders", reader_schema=reader)
        array, report = serde.deserialize([frame(7, b"\x02\x02\x04")], errors="report")
        assert array.to_pylist() == [{"id": 1} if reader is V1 else {"id": 1, "flag": 2}]
        assert report.num_rows == 0

    def test_a_latest_schema_that_is_none_costs_the_rows(self):
        class Broken(Counted):
            def get_version(self, subject, version="latest", *, deleted=False):
                return RegisteredSchema(5, "", Schema('{"type":"nonsense"}'), subject, 1)

        serde = Serde("AVRO", Broken(), topic="orders")
        array, report = serde.deserialize([frame(5, b"\x02"), None], errors="report")
        assert array.to_pylist() == [None, None]
        assert report.select(["row", "code", "reason", "schema_id"]).to_pylist() == [
            {
                "row": 0,
                "code": "schema_error",
                "reason": "the reader's schema: $.type: nonsense is not defined",
                "schema_id": 5,
            }
        ]
        assert serde.deserialize([frame(5, b"")], errors="null").to_pylist() == [None]
        with pytest.raises(SchemaError, match="nonsense is not defined"):
            serde.deserialize([frame(5, b"")])

    def test_what_no_columns_can_be_made_of_is_said_again_without_trying(self, monkeypatch):
        """A schema is refused when it comes to 100,000 columns, after seconds: not for each batch of a topic."""
        text = '{"type":"record","name":"Order","fields":[{"name":"next","type":["null","Order"]}]}'
        registry = MemoryRegistry()
        registered = registry.register("orders-value", Schema(text))
        serde = Serde("AVRO", registry, topic="orders")
        tried, decoder = [], AvroFormat.decoder

        def counted(*arguments):
            tried.append(1)
            return decoder(*arguments)

        monkeypatch.setattr(AvroFormat, "decoder", counted)
        reports = [serde.deserialize([frame(registered.id, b"\0")], errors="report")[1] for _ in range(3)]
        assert reports[0]["reason"][0].as_py().startswith("the reader's schema: ")
        assert reports[0].equals(reports[2])
        with pytest.raises(SchemaError, match="contains itself"):
            serde.deserialize_one(frame(registered.id, b"\0"))
        assert len(tried) == 1

    def test_a_registry_that_fails_is_not_an_error_of_rows(self, mixed):
        class Down(Counted):
            def get(self, schema_id):
                raise RegistryError("out of order", 500, 50001)

        with pytest.raises(RegistryError, match="out of order"):
            Serde("AVRO", Down(), reader_schema=V1).deserialize(mixed, errors="null")

    def test_a_registry_that_fails_is_in_the_report_and_asked_again(self, orders, mixed, caplog):
        class Flaky(Counted):
            asked = 0

            def get(self, schema_id):
                Flaky.asked += 1
                if Flaky.asked <= 2:
                    raise RegistryError("out of order", 503, 50301)
                return orders.get(schema_id)

        serde = Serde("AVRO", Flaky(), reader_schema=V3)
        column = [*mixed, frame(77, b""), b"not framed"]
        array, report = serde.deserialize(column, errors="report")
        assert Flaky.asked == 1
        assert array.null_count == len(column)
        assert report["code"].to_pylist() == ["registry_error"] * (len(mixed) + 1) + ["frame_magic"]
        assert report["schema_id"].to_pylist()[:2] == [1, 2]
        assert "could not be asked" in report["reason"][0].as_py()
        assert "out of order" in report["reason"][0].as_py()
        with pytest.raises(RegistryError, match="out of order"):
            serde.deserialize(mixed)
        assert serde.deserialize(mixed).null_count == 0
        told = [record for record in caplog.records if record.levelname == "WARNING"]
        assert [record.name for record in told] == ["kcodec"] * 2
        assert told[1].codes == {"registry_error": len(mixed) + 1, "frame_magic": 1}

    def test_counts_what_it_reads(self, orders, mixed, caplog):
        caplog.set_level("DEBUG", "kcodec")
        serde = Serde("AVRO", orders, topic="orders")
        serde.deserialize(mixed)
        before = serde.metrics
        ids = len({value[:5] for value in mixed if value})
        assert before == SerdeMetrics(1, len(mixed), 0, ids, ids)
        serde.deserialize(pa.chunked_array([mixed, [b"", None, mixed[0]]], pa.binary()), errors="null")
        assert serde.metrics - before == SerdeMetrics(2, len(mixed) + 3, 1, 0, 0)
        last = caplog.records[-1]
        assert (last.rows, last.bad_rows, last.schema_ids, last.fetched) == (3, 1, 1, 0)
        assert last.getMessage() == "read 3 rows: 1 bad (frame_truncated 1), 1 schema ids, 0 fetched"
        assert pickle.loads(pickle.dumps(serde)).metrics == SerdeMetrics()

    @pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
    def test_layouts_slices_and_chunks(self, orders, mixed, kind):
        serde = Serde("AVRO", orders, topic="orders")
        whole = serde.deserialize(mixed)
        array = pa.array([b"\0", None, *mixed], kind)
        assert serde.deserialize(array[2:]).equals(whole)
        chunks = pa.chunked_array([array[2:4], array[2:2], array[4:]])
        assert serde.deserialize(chunks).combine_chunks().equals(whole)
        empty = serde.deserialize(pa.chunked_array([], kind))
        assert (len(empty), empty.type) == (0, whole.type)

    def test_trailing_bytes_are_accepted_unless_refused(self, orders, mixed):
        column = [mixed[0] + b"!"]
        assert Serde("AVRO", orders, topic="orders").deserialize(column)[0].as_py()["id"] == 1
        strict = Serde("AVRO", orders, topic="orders", config={"avro.fail.on.trailing.data": "true"})
        with pytest.raises(DecodeError, match="trailing_bytes"):
            strict.deserialize(column)

    def test_the_first_bad_row_beside_payloads_that_are_bytes(self, registry):
        registry.set_config(Config("NONE"))
        for text in ('"bytes"', '["null", "bytes"]'):
            registry.register("b-value", Schema(text))
        serde = Serde("AVRO", registry, reader_schema='"bytes"')
        column = [frame(1, b"x"), frame(2, b"\x02\x02y"), frame(2, b"\x02\x08")]
        assert serde.deserialize(column, errors="null").to_pylist() == [b"x", b"y", None]
        with pytest.raises(DecodeError) as info:
            serde.deserialize(column)
        assert (info.value.row, info.value.code, info.value.schema_id) == (2, "truncated", 2)

    def test_references(self, registry):
        registry.register("order", Schema(V1))
        cart = Schema(
            '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}',
            references=(Reference("shop.Order", "order", 1),),
        )
        serde = Serde("AVRO", registry, topic="carts", schema=cart)
        rows = pa.array([{"first": {"id": 7}}], pa.struct([("first", pa.struct([("id", pa.int32())]))]))
        values = serde.serialize(rows)
        assert values.to_pylist() == [frame(2, b"\x0e")]
        assert Serde("AVRO", registry, topic="carts").deserialize(values).to_pylist() == [
            {"first": {"id": 7}}
        ]

    @given(st.lists(st.one_of(st.none(), st.binary(max_size=12)), max_size=8), st.integers(0, 4))
    def test_any_bytes_give_a_value_or_a_fault(self, rows, schema_id):
        store = MemoryRegistry()
        store.set_config(Config("NONE"))
        for text in (V1, V2, '"bytes"'):
            store.register("orders-value", Schema(text))
        column = [
            row if row is None or index % 2 else frame(schema_id, row) for index, row in enumerate(rows)
        ]
        for reader in (V2, '"bytes"'):
            serde = Serde("AVRO", store, reader_schema=reader)
            array, report = serde.deserialize(column, errors="report")
            array.validate(full=True)
            bad = set(report["row"].to_pylist())
            assert len(bad) == report.num_rows
            for index, (row, value) in enumerate(zip(column, array.to_pylist(), strict=True)):
                assert (value is None) == (row is None or index in bad)


def test_programs_of_the_last_ids_are_kept(monkeypatch):
    monkeypatch.setattr("kcodec.serde.read._MAX_SOURCES", 3)
    registry = MemoryRegistry("many-ids")
    option = '{"name": "x%d", "type": ["null", "int"], "default": null}'
    record = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, %s]}'
    texts = [record % (option % number) for number in range(8)]
    ids = [registry.register(f"s{number}", Schema(text)).id for number, text in enumerate(texts)]
    frames = [b"\0" + schema_id.to_bytes(4, "big") + bytes([2 * n, 0]) for n, schema_id in enumerate(ids)]
    serde = Serde("AVRO", registry, reader_schema=texts[0])
    # More than are kept within one column, twice.
    for _ in range(2):
        assert serde.deserialize(frames).field("id").to_pylist() == [*range(8)]
    assert serde.metrics.fetched == 16
    again = pickle.loads(pickle.dumps(serde))
    for each in (serde, again):
        before = each.metrics
        assert each.deserialize(frames[5:]).field("id").to_pylist() == [5, 6, 7]
        assert (each.metrics - before).fetched == 0
        assert len(each._reader._sources) == 3
