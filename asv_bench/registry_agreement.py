"""On how many verdicts of Confluent's code a registry of ours agrees, beside what is known of Karapace.

``python asv_bench/registry_agreement.py [FOLDER]`` reads the lines of tests/vectors, or of another folder, asks an
embedded registry about each, and prints the counts. Karapace's are those of the same lines, asked of its modules in its
release 6.2.0.
"""

import sys
import uuid
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "tests")]

KARAPACE = {
    "pairs JSON": "73 %",
    "pairs PROTOBUF": "85 %",
    "levels AVRO": "224 of 224",
    "levels JSON": "161 of 168",
    "levels PROTOBUF": "160 of 189",
}


def filled(history, kind):
    """Return a registry whose subject ``s`` has some versions, of which some may be the same."""
    from kcodec.registry import Schema
    from kcodec.registry.memory import MemoryRegistry

    registry = MemoryRegistry(uuid.uuid4().hex)
    registry.set_mode("IMPORT", "s")
    ids = {}
    for version, each in enumerate(history, 1):
        schema = Schema(each["schema"], each.get("type", kind))
        number = ids.setdefault(schema, len(ids) + 1)
        registry.register("s", schema, schema_id=number, version=version)
    return registry


def pairs(name, kind, folder):
    """Yield our verdict and the original's for pairs of schemas."""
    from vector_files import read_vectors

    from kcodec.formats.language import NamedText
    from kcodec.formats.schema_format import schema_format

    known = schema_format(kind)
    for line in read_vectors(name, folder):
        if "error" in line:
            continue
        texts = (
            [NamedText(each["name"], each["schema"]) for each in line.get(f"{side}_references") or ()]
            for side in ("old", "new")
        )
        old, new = (
            known.parse_known(line[side], named) for side, named in zip(("old", "new"), texts, strict=True)
        )
        yield not known.differences(new, old), line["backward"]


def levels(folder):
    """Yield the type, our verdict and the original's for each level of a history."""
    from vector_files import read_vectors

    from kcodec.registry import Schema

    for line in read_vectors("registry_level_compat.jsonl.gz", folder):
        registry = filled(line["history"], line["type"])
        schema = Schema(line["candidate"]["schema"], line["type"])
        for level, verdict in line["verdicts"].items():
            found = registry.check_compatibility("s", schema, level, None)
            yield line["type"], found.compatible, verdict


def main() -> None:
    """Count and print."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "vectors"
    agreed, asked = Counter(), Counter()
    for kind in ("JSON", "PROTOBUF"):
        for ours, theirs in pairs(f"registry_{kind.lower()}_compat.jsonl.gz", kind, folder):
            asked[f"pairs {kind}"] += 1
            agreed[f"pairs {kind}"] += ours is theirs
    for kind, ours, theirs in levels(folder):
        asked[f"levels {kind}"] += 1
        agreed[f"levels {kind}"] += ours is theirs
    print(f"{'':16} {'kcodec':>14} {'Karapace':>12}")
    for name in KARAPACE:
        print(f"{name:16} {f'{agreed[name]} of {asked[name]}':>14} {KARAPACE[name]:>12}")


if __name__ == "__main__":
    main()
