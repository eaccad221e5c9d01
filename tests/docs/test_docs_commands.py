"""Every block of the README and of docs/*.md runs in a test, or is checked here, with the reason why it does not run.

Python blocks are run by the tests of examples, what ``kcodec`` and ``curl`` are told to do by
tests/services/docs/test_docs_commands.py. A block of another kind, or a command that neither runs nor is named here,
fails.
"""

import ast
import configparser
import contextlib
import importlib
import inspect
import io
import json
import os
import re
import shlex

import pytest
from cases import cases
from doc_pages import ALL_PAGES, PAGES, ROOT, commands, fenced, is_run

import kcodec_spark
from kcodec import protocol, registry
from kcodec.cli.main import main
from kcodec.errors import CODES, DecodeError
from kcodec.formats import schema_format
from kcodec.registry import Config, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.access.passwords import hashed
from kcodec.server.access.users import Access

EXTRAS = set(
    re.findall(
        r"^(\w+) = \[",
        (ROOT / "pyproject.toml")
        .read_text()
        .partition("[project.optional-dependencies]")[2]
        .partition("\n[")[0],
        re.MULTILINE,
    )
)
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def helped(words: list[str]) -> str:
    """Return what ``kcodec`` prints of a command's arguments."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0, words
    return out.getvalue()


def path_of(words: list[str]) -> list[str]:
    """Return the words of a command that name it: ``registry copy``."""
    path: list[str] = []
    for word in words:
        found = re.search(r"^  \{([\w,-]+)\}$", helped(path), re.MULTILINE)
        if found is None or word not in found[1].split(","):
            assert found is None, f"kcodec {' '.join(path)} has no {word}"
            break
        path.append(word)
    return path


def check_options(command: str) -> None:
    """Check that a ``kcodec`` command exists, with its options."""
    words = shlex.split(command)[1:]
    if words and not words[0].startswith("-"):
        path = path_of(words)
        known = helped(path)
        for word in words[len(path) :]:
            if re.match(r"--?[A-Za-z]", word):
                assert re.search(rf"(?<![\w-]){re.escape(word.partition('=')[0])}(?![\w-])", known), command


def packages(command: str) -> None:
    for name in shlex.split(command)[2:]:
        found = re.fullmatch(
            r"kcodec(?:\[([\w,]+)\])?|duckdb|venv-pack2|aws-msk-iam-sasl-signer-python|\.", name
        )
        assert found, name
        assert not found[1] or set(found[1].split(",")) <= EXTRAS, name


def wheels(text: str) -> None:
    """Check that wheels are fetched for the platform that they are built for."""
    (platform,) = re.findall(r"--platform (\w+)_x86_64$", text, re.MULTILINE)
    assert f'manylinux-x86_64-image = "{platform}"' in (ROOT / "pyproject.toml").read_text()


def target(command: str) -> None:
    assert {word for word in shlex.split(command)[1:] if re.fullmatch("[a-z]+", word)} <= TARGETS


def script(command: str) -> None:
    compile((ROOT / command.split()[1]).read_text(), command, "exec")


def program(command: str) -> None:
    assert os.access(ROOT / command.split()[0], os.X_OK)


def environment(command: str) -> None:
    made, _, installed = command.partition(" && ")
    packages(installed.removeprefix("env/bin/"))
    assert made == "python3 -m venv env"


def submitted(command: str) -> None:
    # tests/services asks spark-submit itself which options it has.
    archive = command.partition("--archives ")[2].split()[0]
    folder = archive.partition("#")[2]
    assert f"PYSPARK_PYTHON=./{folder}/bin/python" in command
    assert archive == "env.tar.gz#environment"


def broker(command: str) -> None:
    """It is the one that tests/services runs."""
    pinned = (ROOT / "tests" / "services" / "pom.xml").read_text()
    (version,) = set(re.findall(r"kafka_2\.13-([\d.]+\d)", command))
    assert f"<artifactId>kafka_2.13</artifactId>\n      <version>{version}</version>" in pinned


#: Commands that do not run in tests, and why; and what is checked of them.
NOT_RUN = [
    (r"pip install .+", "needs a package index, and installs into where the tests run", packages),
    (r"make \w+.*", "builds and tests this checkout, as these tests do", target),
    (r"\.ci/\w+.*", "runs all tests, or builds everything", program),
    (r"python asv_bench/.+\.py( \w+)*", "a benchmark: minutes, and packages to compare with", script),
    (r"asv .+", "benchmarks: minutes, and some of two commits, which it builds", None),
    (r"sudo apt install .+", "needs root, and Debian's packages", None),
    (r"python3 -m venv \.venv && \. \.venv/bin/activate", "changes the shell that it is typed into", None),
    (r"wget .+", "needs the internet", broker),
    (
        r"kafka/bin/kafka-\S+\.sh .+",
        "what the line above it unpacks; tests/services runs a broker itself",
        None,
    ),
    (r"python3 -m venv .+", "needs a package index", environment),
    (
        r"env/bin/venv-pack -p env -o env.tar.gz",
        "another project's tool, which the line above it installs",
        None,
    ),
    (r"PYSPARK_PYTHON=\S+\s+spark-submit .+", "needs a cluster", submitted),
]


def dockerfile(text: str) -> None:
    assert {line.split()[0] for line in text.splitlines()} <= {"FROM", "USER", "RUN"}
    (needed,) = re.findall(r'"(pyarrow>=\d+)', (ROOT / "pyproject.toml").read_text())
    assert f"pip install --no-cache-dir '{needed}' kcodec" in text


def settings_of_spark(text: str) -> None:
    names = [re.fullmatch(r"--conf (spark\.[\w.-]+)=\S+", line)[1] for line in text.splitlines()]
    assert sum(name.endswith("PYSPARK_PYTHON") for name in names) == 2


def users(text: str, folder) -> None:
    file = folder / "access.json"
    file.write_text(text.replace("scrypt:14:8:1:...", hashed("secret")))
    access = Access(str(file))
    assert json.loads(text)["grants"]
    assert access.challenge


def changes(text: str) -> None:
    own = MemoryRegistry()
    own.register("orders-value", Schema('"string"'))
    own.set_config(Config(compatibility="FULL"), "orders-value")
    printed = json.loads(text)
    for told, made in zip(printed, (each.json for each in own.changes()), strict=True):
        assert list(told) == list(made)
        assert [told["action"], told["subject"], list(told["detail"])] == [
            made["action"],
            made["subject"],
            list(made["detail"]),
        ]


def unit(text: str) -> None:
    made = configparser.ConfigParser()
    made.optionxform = str
    made.read_string(text)
    command = made["Service"]["ExecStart"]
    check_options(command[command.index("kcodec registry") :])


def entry_points(text: str) -> None:
    made = configparser.ConfigParser()
    made.optionxform = str
    made.read_string(text)
    (section,) = made.sections()
    assert section == f'project.entry-points."{schema_format.GROUP}"'
    for value in made[section].values():
        module, _, name = json.loads(value).partition(":")
        assert issubclass(getattr(importlib.import_module(module), name), schema_format.SchemaFormat)


def opener(text: str) -> None:
    made = configparser.ConfigParser()
    made.read_string(text)
    (section,) = made.sections()
    assert section == f'project.entry-points."{registry.GROUP}"'
    for scheme, value in made[section].items():
        module, _, name = json.loads(value).partition(":")
        opened = getattr(importlib.import_module(module), name)(f"{scheme}://", {})
        assert isinstance(opened, registry.SchemaRegistry)


def call_of_databricks(text: str) -> None:
    call = ast.parse(text).body[0].value
    given = [ast.literal_eval(each) for each in call.args]
    named = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    inspect.signature(kcodec_spark.from_avro).bind(*given, **named)


def grammar(text: str) -> None:
    """The page's own example prints it."""
    page = (ROOT / "docs" / "protocol.md").read_text()
    definition = page.partition('definition = """')[2].partition('"""')[0]
    assert protocol.load([definition])["PlaceRequest"].describe(2).strip() == text.strip()


def python(text: str) -> None:
    ast.parse(text)


def error_of_row(text: str) -> None:
    error = DecodeError(7, 53, "lines[2].sku", "truncated", CODES["truncated"], 1)
    assert text.strip() == f"{DecodeError.__module__}.DecodeError: {error}"


#: Blocks that are no commands, by page and language, in their order: why they do not run, and what is checked.
OTHER = {
    ("backfill.md", "text"): [("asks a package index", wheels)],
    ("from_abris.md", "scala"): [("what stands in a program today: ABRiS is a library of Scala", None)],
    ("from_databricks.md", "text"): [
        ("what stands in a notebook today: it runs on Databricks alone", None),
        ("needs a key store", None),
    ],
    ("frameworks.md", "py"): [(f"{name} is not installed", python) for name in ("aiokafka", "Quix", "faust")],
    ("install.md", "dockerfile"): [("needs Docker", dockerfile)],
    ("install.md", "text"): [("settings of a cluster", settings_of_spark)],
    ("migrate.md", "text"): [("runs on Databricks alone, with a password", call_of_databricks)],
    ("migrate.md", "scala"): [("what stands in a program today: ABRiS is a library of Scala", None)],
    ("protocol.md", "text"): [
        ("printed by the example before it", grammar),
        ("settings of Spark's own source; tests/services/kafka/test_internal_topics.py uses both", python),
    ],
    ("frames.md", "toml"): [("a part of another project's pyproject.toml", opener)],
    ("encrypted_fields.md", "json"): [("a file that a command of the page sends", json.loads)],
    ("registry.md", "toml"): [("a part of another project's pyproject.toml", entry_points)],
    ("registry_server.md", "json"): [
        ("passwords are left out", users),
        ("an answer of another day", changes),
    ],
    ("registry_server.md", "ini"): [("needs systemd", unit)],
    ("spark.md", "text"): [("an error's text", error_of_row)],
}


@cases("page", ALL_PAGES, ids=lambda page: page.name)
def test_commands(page):
    for command in commands(page):
        if is_run(command):
            if command.startswith("kcodec"):
                check_options(command)
            continue
        found = [check for pattern, _, check in NOT_RUN if re.fullmatch(pattern, command)]
        assert found, f"{command}: neither run by a test, nor named here with a reason"
        if found[0] is not None:
            found[0](command)


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_blocks_of_other_languages(page, tmp_path):
    found: dict[str, int] = {}
    for block in fenced(page):
        if block.language in ("python", "sh", "console"):
            continue
        known = OTHER.get((page.name, block.language), [])
        number = found[block.language] = found.get(block.language, 0) + 1
        assert number <= len(known), f"{block}: {block.language!r} is neither run by a test, nor named here"
        check = known[number - 1][1]
        if check is users:
            check(block.text, tmp_path)
        elif check is not None:
            check(block.text)


def test_what_is_named_is_there():
    typed = [command for page in ALL_PAGES for command in commands(page)]
    assert len(typed) >= 25
    for pattern, _, _ in NOT_RUN:
        assert any(re.fullmatch(pattern, command) for command in typed), pattern
    for (name, language), blocks in OTHER.items():
        (page,) = [page for page in ALL_PAGES if page.name == name]
        assert len([block for block in fenced(page) if block.language == language]) == len(blocks)


@cases("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_no_block_is_without_fences(page):
    """What is merely indented has no language, and would be seen by no test."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\n\n    \S.*", text) == []


@cases("page", ALL_PAGES, ids=lambda page: page.name)
def test_commands_within_the_text(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for command in re.findall(r"`(kcodec [a-z][^`]*)`", text):
        check_options(re.sub(r"\s+", " ", command))
    for command in re.findall(r"`pip install ([^`]*)`", text):
        packages(f"pip install {command}")
    for command in re.findall(r"`(make [^`]*)`", text):
        target(command)


def test_options_within_the_text():
    """Of kcodec's commands; those of others are named."""
    paths = [["protocol", "generate"]]
    paths += [["registry", action] for action in ("serve", "copy", "check", "register")]
    alone = ["demo", "dump-log", "consume", "produce", "topics", "groups"]
    every = "".join(map(helped, [*([name] for name in alone), *paths]))
    others = {"--collect-all", "--packages", "--py-files"}
    for page in ALL_PAGES[:1] + PAGES:
        for option in re.findall(r"`(--[a-z][a-z-]+)", page.read_text(encoding="utf-8")):
            assert option in others or re.search(rf"{option}(?![\w-])", every), f"{page.name}: {option}"
