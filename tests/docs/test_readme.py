"""What the README says is so: its examples run; and the tables of the pages behind it are those of the code."""

import json
import re
from pathlib import Path

import pytest
from cases import cases
from doc_pages import ALL_PAGES, PAGES, README_BLOCKS, ROOT, needs_spark

import kcodec
from kcodec.errors import SchemaError
from kcodec.formats.schema_format import find_schema_format
from kcodec.formats.table import FORMATS, registered_names
from kcodec.kafka.connection.settings import _KEYS
from kcodec.serde.config import KEYS


def table(page: str, heading: str) -> list[list[str]]:
    """Read the rows of a table of a page, without the marks of code."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = text.partition(f"\n{heading}\n|---")[2].partition("\n")[2].partition("\n\n")[0].splitlines()
    assert rows, heading
    return [[cell.strip().strip("`") for cell in row.strip("|").split(" | ")] for row in rows]


def test_plain_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    plain = [block for block in README_BLOCKS if not needs_spark(block)]
    assert len(plain) >= 5
    for block in plain:
        exec(compile(block, "README.md", "exec"), names)


def test_first_sight():
    """A picture, how to install it and what it is for, on one screen; then links."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if re.search(r"(?<!!)\[[^]]+\]\(", line))
    assert first <= 40
    head = "\n".join(lines[:first])
    assert re.findall(r"^```(\w+)$", head, re.MULTILINE) == ["sh", "python", "python", "python"]
    assert "![" in head
    assert lines[first - 2] == "| I have | take |"


@cases("page", PAGES, ids=lambda page: page.name)
def test_pages_begin_with_what_they_are_for(page):
    """In text, which ends before a list, a table or code begins."""
    title, blank, *lines = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert not blank
    paragraph = " ".join(lines[: lines.index("")])
    assert re.match(r"[A-Z`]", paragraph)
    assert not paragraph.startswith("```")
    assert re.search(r"[.:](?: |$)", paragraph)


def test_bars():
    """The picture of the benchmarks has the figures of the tables, those of the README too."""
    picture = (ROOT / "docs" / "benchmarks.svg").read_text(encoding="utf-8")
    bars: dict[str, dict[str, str]] = {}
    for case, project, figure in re.findall(
        r'class="case"[^>]*>([^<]+)|class="project"[^>]*>([^<]+)|<text x[^>]*>([\d,]+)<', picture
    ):
        if case:
            current = bars.setdefault(case, {})
        elif project:
            name = project
        else:
            current[name] = figure
    for page in (ROOT / "README.md", ROOT / "docs" / "benchmarks.md"):
        head, _, *rows = re.search(r"\| ns per record .*\n(?:\|.*\n)+", page.read_text(encoding="utf-8"))[
            0
        ].splitlines()
        projects = [cell.strip() for cell in head.strip("|").split("|")][1:]
        assert len(rows) > 5
        for case, *cells in ([cell.strip() for cell in row.strip("|").split("|")] for row in rows):
            told = {name: cell.partition(" ")[0] for name, cell in zip(projects, cells, strict=True) if cell}
            assert told == {name: bars[case][name] for name in projects if name in bars[case]}


def test_codes():
    assert dict(table("errors.md", "| code | reason |")) == kcodec.CODES


def test_formats():
    """The README's table has a line for each codec of the table of formats."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Formats")[2]
    found = re.findall(r"\| `(\w+)` \| `(\w+)`, `(\w+)` \| \[docs/([\w.]+)\]", text)
    for each in FORMATS.values():
        if each.codec is not None:
            name = each.codec.partition(":")[2]
            assert name in kcodec.__all__
            assert (name, f"from_{each.spark}", f"to_{each.spark}", each.page) in found


def test_formats_of_topics_in_spark():
    [row] = [row for row in table("spark.md", "| option | |") if row[0].endswith("value.format")]
    named = re.findall(r"`(\w+)`", f"`{row[1]}")
    assert set(named) == {name.lower() for name, each in FORMATS.items() if not each.is_plain}


def test_settings_of_a_serde():
    tables = ("| setting | meaning | default |", "| of one format | meaning | default |")
    section = (
        (ROOT / "docs" / "registry.md").read_text(encoding="utf-8").partition("## Settings of a serde")[2]
    )
    rows = [
        row for heading in tables for row in section.partition(heading)[2].partition("\n\n")[0].splitlines()
    ]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.partition(" | ")[0])}
    formats = map(find_schema_format, registered_names())
    own = [each.settings.items() for each in formats]
    used = {key for settings in own for key, meaning in settings if not meaning.startswith("accepted:")}
    assert named == {*KEYS, *used}


def test_settings_of_kafka():
    section = (ROOT / "docs" / "kafka.md").read_text(encoding="utf-8").partition("## Settings")[2]
    named = set(re.findall(r"`([a-z._]+)[`=]", section.partition("\n## ")[0]))
    named |= {f"sasl.oauthbearer{name}" for name in named if name.startswith(".")}
    fields: dict[str, set[str]] = {}
    for name, key in _KEYS.items():
        fields.setdefault(key.field, set()).add(name)
    # The type of stores is told in words.
    named.add("ssl.truststore.type")
    assert [names for names in fields.values() if not named & names] == []


@cases("row", table("avro.md", "| Avro | Arrow | Spark |"), ids=lambda row: row[0])
def test_types(row):
    schema, arrow, spark = row
    json.loads(schema)
    codec = kcodec.AvroCodec(schema)
    assert str(codec.arrow_type) == arrow
    pytest.importorskip("pyspark")
    from kcodec_spark.types.arrow import from_arrow_type

    if spark == "none":
        with pytest.raises(SchemaError):
            from_arrow_type(codec.arrow_type)
    else:
        assert from_arrow_type(codec.arrow_type).simpleString() == spark


@cases("page", [*ALL_PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links(page):
    links = re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    for target, anchor in links:
        found = page.parent / target if target else page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return what a link may name in a page: its headings, as GitHub and the documentation spell them."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_commands():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets
