"""The examples of the README and of docs/*.md, and what each needs to run."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("howto/*.md")])
#: With the pages that are not in the folder.
ALL_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]


class Block(NamedTuple):
    """A block of a page, between fences: its language, and where and what it is."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def fenced(page: Path) -> list[Block]:
    """Return all blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in re.finditer(r"^ *```(.*)\n((?:.*\n)*?) *```$", text, re.MULTILINE)
    ]


def commands(page: Path) -> list[str]:
    """Return what the page's ``sh`` and ``console`` blocks tell to type, a command each, without comments."""
    found = []
    for block in fenced(page):
        if block.language == "sh":
            lines = block.text.replace("\\\n", " ").splitlines()
        elif block.language == "console":
            # What has no prompt is printed.
            lines = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
        else:
            continue
        found += [command for line in lines if (command := re.sub(r"\s+#.*", "", line).strip())]
    return found


def is_run(command: str) -> bool:
    """Return whether tests/services/docs runs a command; test_docs_commands.py checks the others."""
    return command.split()[0] in ("kcodec", "curl")


def blocks(page: Path) -> list[str]:
    """Return the Python examples of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def needs_services(block: str) -> bool:
    """Return whether an example names a broker, a registry server or a Connect server."""
    # Drivers of key management services ask nobody.
    code = re.sub(r"#.*|confluent_kafka\.schema_registry\.rules", "", block)
    return (
        re.search(r"confluent_kafka|kafka\.bootstrap\.servers|://registry:8081|sc://spark", code) is not None
    )


def needs_spark(block: str) -> bool:
    return "kcodec_spark" in block or re.search(r"\bspark\b", block) is not None


def page_needs_cloud(page: Path) -> bool:
    """Return whether test_docs_glue.py or test_docs_azure.py runs a page, without what needs Spark."""
    return "broker:9092" in page.read_text(encoding="utf-8") and any(
        f'"{scheme}://' in block for block in blocks(page) for scheme in ("azure", "glue")
    )


def page_needs_services(page: Path) -> bool:
    return any(map(needs_services, blocks(page)))


def page_needs_spark(page: Path) -> bool:
    """Return whether tests of Spark run a page; of Glue's, tests/spark/registries runs what needs it."""
    return any(map(needs_spark, blocks(page))) and not page_needs_cloud(page)


#: The examples of the README that need no services; tests/services runs the others.
README_BLOCKS = [block for block in blocks(ROOT / "README.md") if not needs_services(block)]
