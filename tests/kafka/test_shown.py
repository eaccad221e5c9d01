"""What was read, and where a follower stands, as consoles and notebooks show them."""

import pyarrow as pa
from fake_broker import PLACE, FakeCluster

from kcodec.columns.shown import MOST_ROWS
from kcodec.kafka import follow
from kcodec.kafka.report import ReadReport, RecordFault
from kcodec.protocol import write_batches


def test_a_follower_is_a_table_of_positions(fast):
    with FakeCluster({"t": 2}) as cluster:
        cluster.append(PLACE, write_batches(pa.table({"value": [b"a", b"b"]})))
        with follow("t", servers=cluster.address, start="earliest", group="g", config=fast) as follower:
            assert follower.poll(10).num_rows == 2
            assert repr(follower).split("\n")[:3] == [
                "Follower of 2 partitions for group g, 0 records behind",
                "  topic  partition  position  end  lag",
                "  t      0          2         2    0",
            ]
            assert "<td>t</td><td>0</td><td>2</td><td>2</td><td>0</td>" in follower._repr_html_()
        assert repr(follower).split("\n")[0] == "Follower of 2 partitions for group g, closed"


def test_a_report_is_a_table_of_its_first_faults():
    report = ReadReport()
    assert repr(report) == "ReadReport: 0 faults"
    report.faults.append(RecordFault("t", 0, 12, "value", 3, "id", "truncated", "the value ends"))
    assert repr(report).split("\n") == [
        "ReadReport: 1 fault",
        "  topic  partition  offset  column  byte  path  code       reason          schema_id",
        "  t      0          12      value   3     id    truncated  the value ends  null",
    ]
    attack = "\x1b]0;owned\x07<script>\u202e"
    report.faults += [RecordFault(attack, 0, 0, None, None, attack, attack, attack * 100)] * 1000
    assert len(repr(report).split("\n")) == MOST_ROWS + 3
    assert all(line.isprintable() for line in repr(report).split("\n"))
    assert report._repr_html_().isprintable()
    assert "<script>" not in report._repr_html_()
    assert report._repr_html_().endswith(f"<p>... and {1001 - MOST_ROWS} more</p>")
