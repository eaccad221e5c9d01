"""The examples of the README and of docs/*.md, and what each needs to run."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def blocks(page: Path) -> list[str]:
    """Give the Python examples of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def needs_services(block: str) -> bool:
    """Tell whether an example names a broker, a registry server or a Connect server."""
    code = re.sub(r"#.*", "", block)
    return (
        re.search(r"confluent_kafka|kafka\.bootstrap\.servers|://registry:8081|sc://spark", code) is not None
    )


def needs_spark(block: str) -> bool:
    return "kcodec_spark" in block or re.search(r"\bspark\b", block) is not None


def page_needs_services(page: Path) -> bool:
    return any(map(needs_services, blocks(page)))


def page_needs_spark(page: Path) -> bool:
    return any(map(needs_spark, blocks(page)))
