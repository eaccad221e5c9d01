"""What the documentation site adds to the pages: the README as its first one, the guide and the changes as pages."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
#: Files of the repository, by the page that they are on the site.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand outside of the folder."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        files.append(File.generated(config, page, content=_linked(text, "")))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Let links to files of the repository lead to their pages."""
    return _linked(text, "../")


def _linked(text: str, parent: str) -> str:
    for name, page in PAGES.items():
        text = text.replace(f"]({parent}{name}", f"]({page}")
    return text.replace("](../LICENSE)", "](https://www.apache.org/licenses/LICENSE-2.0)")
