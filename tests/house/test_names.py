"""What a module gives to others: its names without an underscore."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Modules that the reference shows as such.
SHOWN = {
    name
    for page in (ROOT / "docs" / "reference").glob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
}


def own_names(tree):
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def test_names_are_listed_only_where_underscores_do_not_tell_them():
    wrong = []
    for package in ("kcodec", "kcodec_spark"):
        for path in (ROOT / package).rglob("[!_]*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {name for name in own_names(tree) if name != "__all__"}
            listed = [
                ast.literal_eval(node.value)
                for node in tree.body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            ]
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if listed and module not in SHOWN and {*listed[0]} == {each for each in names if each[0] != "_"}:
                wrong.append(module)
    assert wrong == []
