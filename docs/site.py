"""What the documentation site adds to the pages.

The README is its first page, the guide and the changes are pages, and asv's site is in the folder ``history`` if
results are kept.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
#: Files of the repository, by the page that they are on the site.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
BENCHMARKS = ROOT / "asv_bench"
#: Whether there is something of asv to show.
MEASURED = any(BENCHMARKS.glob("results/asv/*/machine.json"))


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand outside of the folder."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        files.append(File.generated(config, page, content=_linked(text, "")))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Let links to files of the repository lead to their pages."""
    if page.file.src_uri == "benchmarks.md" and MEASURED:
        link = '<a href="../history/">The commits that were measured</a>'
        text = text.replace("## Over time\n", f"## Over time\n\n{link}\n")
    return _linked(text, "../")


def on_post_page(output: str, **_: Any) -> str:
    """Give names to what the theme leaves without one, for those who hear a page."""
    output = output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
    output = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", output)
    # The label of a section that has a page of its own is empty; the title above its list is not.
    output = re.sub(r'<label class="md-nav__title" for="(__nav_\w+)"', r'\g<0> id="\1_title"', output)
    output = re.sub(r'aria-labelledby="(__nav_\w+)_label"', r'aria-labelledby="\1_title"', output)
    # Parts of the outline are called as their headings are, two of which may be alike.
    seen: Counter[str] = Counter()

    def numbered(found: re.Match[str]) -> str:
        seen[found[1]] += 1
        return found[0] if seen[found[1]] == 1 else f'{found[0][:-1]} {seen[found[1]]}"'

    return re.sub(r'<nav class="md-nav" aria-label="([^"]*)"', numbered, output)


def on_post_build(config: Any) -> None:
    """Let asv publish the results that are kept."""
    if MEASURED:
        command = [sys.executable, "-m", "asv", "publish", "--html-dir", f"{config['site_dir']}/history"]
        subprocess.run(command, cwd=BENCHMARKS, check=True, capture_output=True)


class Choices(griffe.Extension):
    """The choices of a parameter as they are written: Griffe takes texts among them for names of types."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Make them no Python."""
        if obj.docstring is not None:
            value = obj.docstring.value
            obj.docstring.value = re.sub(
                r"^(\s*\w[\w, ]* : )\{(.+)\}", r"\1one of \2", value, flags=re.MULTILINE
            )


def _linked(text: str, parent: str) -> str:
    for name, page in PAGES.items():
        text = text.replace(f"]({parent}{name}", f"]({page}")
    return text.replace("](../LICENSE)", "](https://www.apache.org/licenses/LICENSE-2.0)")
