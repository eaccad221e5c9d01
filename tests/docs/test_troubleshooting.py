"""The texts of docs/troubleshooting.md are those that are raised."""

import importlib
import json
import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import cases

import kcodec
from kcodec import CODES, AvroCodec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
SOURCES = "".join(
    path.read_text() for path in (ROOT / "kcodec").rglob("*.py*") if path.suffix in (".py", ".pyx")
)
#: One line, without the quotes between parts of a text.
FLAT = re.sub(r'"\s*\n\s*f?"', "", SOURCES)


@cases(
    "text",
    [
        "looks framed: schema id ",
        "the time has more digits than the type that is written; round=",
        "there is no column ",
        "rows need more memory than there is",
        "offsets are not in order",
        "does not hold payloads",
        "is not the name of a reference",
        "a list holds bytes and None",
        "NumPy's arrays of type S have lost zero bytes at the ends",
        "a whole statement: give what stands between its parentheses",
        "here it is ",
        "is the base path missing?",
        "are the credentials right?",
        "does it run, and listen at this port?",
        "is the name of the host right?",
        "no whole answer within ",
        "does it want https://?",
        "does it speak http://?",
        "is ssl.ca.location the authority that signed its certificate?",
        "does it want a certificate of its clients, and is it the right one?",
        "credentials in the address and in ",
        "the answer has more than ",
        "a reference does not exist",
    ],
)
def test_texts_are_those_that_are_raised(text):
    assert text in PAGE
    assert text in FLAT


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: kcodec.kafka.write([], "t", codec="zstd"), "got an unexpected keyword argument 'codec'"),
        (lambda: kcodec.ConnectJsonCodec(key=True), "'key'"),
        (lambda: kcodec.ProtobufCodec("", reader=""), "'reader'"),
        (lambda: AvroCodec('"int"').plan, "has no attribute 'plan'"),
        (lambda: kcodec.kafka.plan, "has no attribute 'plan'"),
        (lambda: kcodec.TypeOptions, "'TypeOptions'"),
        (
            lambda: importlib.import_module("kcodec.registry.server"),
            "No module named 'kcodec.registry.server'",
        ),
    ],
)
def test_former_names_are_there(call, text):
    with pytest.raises((TypeError, AttributeError, ImportError)) as raised:
        call()
    assert text in str(raised.value)
    assert f"`{text}`" in PAGE


def test_what_pyarrow_says_of_null_rows_is_there(tmp_path):
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
    table = pa.Table.from_struct_array(AvroCodec(schema).decode([None]))
    with pytest.raises(pa.ArrowException) as raised:
        pq.write_table(table, tmp_path / "rows.parquet")
    assert f"`{raised.value}`" in PAGE


def rows():
    """Return the texts in the first column of all tables, each as the parts that are written out."""
    for line in PAGE.splitlines():
        cells = line.split(" | ")
        if len(cells) == 3 and cells[0].startswith("|") and cells[0] != "| text":
            yield from re.findall(r"`([^`]+)`", cells[0])


def spark_conditions():
    """Return the names of all errors of Spark: those of its Java, and of its Python."""
    pyspark = pytest.importorskip("pyspark")
    if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 3):
        pytest.skip("the page names what the newest Spark says; Python 3.10 has 4.1")
    home = Path(pyspark.__file__).parent
    (jar,) = list((home / "jars").glob("spark-common-utils_*.jar")) or pytest.skip("a client without Java")
    with zipfile.ZipFile(jar) as opened:
        java = json.loads(opened.read("error/error-conditions.json"))
    return {*java, *json.loads((home / "errors" / "error-conditions.json").read_text())}


def test_conditions_are_sparks():
    named = {name for text in rows() for name in re.findall(r"\[([A-Z_]+)(?:\.\.\.)?\]", text)}
    conditions = spark_conditions()
    assert len(named) >= 8
    for name in named:
        assert name in conditions or (
            name.endswith("_") and any(each.startswith(name) for each in conditions)
        ), name


#: What others print: Spark, pyarrow, Python, the system, web servers.
OTHERS = re.compile(
    r"^\[[A-Z_]+|^Column '|^No module named|^ArrowInvalid|^Failed to find data source|^KeyError|^HTTP |Errno|"
    r"^all columns|html|^got an unexpected keyword argument '|^has no attribute '|^'[a-zA-Z]+'$|"
    r"^SSLCertVerificationError|^deterministic|^Invalid schema|^\"NaN\"|^\"Infinity\"|^from_avro$|requires \["
)


#: What differs from case to case, or is put into a text by its caller.
VARIABLE = re.compile(
    r"\.\.\.|(?<![A-Za-z])'[^']*'|No module named|\b\d+\b|\b[xR]\b|\bID\b| AVRO$| AVRO: |"
    r"http://\S*|ssl\.ca\.location, a PEM file|"
    r"glibc$|from_avro: |basic\.auth\.user\.info$"
)


def test_other_texts_are_kcodecs():
    """Codes stand with their own reason, and what comes after the name of an error is raised somewhere."""
    sources = SOURCES + "".join(path.read_text() for path in (ROOT / "kcodec_spark").rglob("*.py"))
    flat = re.sub(r'"\s*\n\s*f?"', "", sources).replace('\\"', '"')
    checked = 0
    for text in rows():
        if OTHERS.search(text):
            continue
        code, _, reason = text.partition(": ")
        if code in CODES and "..." not in reason and reason in CODES.values():
            assert CODES[code] == reason
            checked += 1
            continue
        reason = text if code not in CODES and not re.fullmatch(r"\w+Error", code) else reason
        for part in VARIABLE.split(reason):
            words = part.strip(" :.()'`,/[]")
            if len(words) >= 8 and words not in CODES:
                assert words in flat, f"{text}: nobody prints {words!r}"
                checked += 1
    assert checked >= 40
