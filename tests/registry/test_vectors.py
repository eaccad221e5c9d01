"""Texts and verdicts of Confluent's registry, through a registry of ours."""

import gzip
import json
import uuid

import pytest
from vector_files import HERE, read_vectors

from kcodec.errors import RegistryError
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

#: Where we are kinder or stricter, and why.
ON_PURPOSE = {
    "invalid/avro/unicode-name": "names may be of any script, as in Avro Java",
}


def prepared(references, kind):
    """Return a registry with the references of a line, and these with their versions."""
    registry, named = MemoryRegistry(uuid.uuid4().hex), []
    registry.set_mode("IMPORT")
    for number, each in enumerate(references, 1):
        subject, version = each.get("subject", each["name"]), each.get("version", 1)
        if not any((subject, version) == (known.subject, known.version) for known in named):
            schema = Schema(each["schema"], kind, tuple(named) if "indirect" not in each else ())
            registry.register(subject, schema, schema_id=number, version=version)
        named.append(Reference(each["name"], subject, version))
    registry.set_mode("READWRITE")
    return registry, tuple(named)


def test_texts_of_the_real_registry():
    checked = dict.fromkeys(["AVRO", "JSON", "PROTOBUF"], 0)
    for line in read_vectors("registry_normalize.jsonl.gz"):
        kind = line["type"]
        registry, references = prepared(line.get("references", ()), kind)
        schema = Schema(line["schema"], kind, references)
        assert registry.register("plain", schema).schema.text == line["canonical"], line["id"]
        if "error" in line:
            with pytest.raises(RegistryError):
                registry.register("normalized", schema, normalize=True)
        else:
            found = registry.register("normalized", schema, normalize=True)
            assert found.schema.text == line["normalized"], line["id"]
            if "normalized_references" in line:
                expected = [
                    (each["name"], each["subject"], each["version"]) for each in line["normalized_references"]
                ]
                kept = [(each.name, each.subject, each.version) for each in found.schema.references]
                assert kept == expected, line["id"]
        for form in ("resolved", "ignore_extensions", "serialized"):
            if form in line:
                assert registry.get_version("plain", form=form).schema.text == line[form], (line["id"], form)
        if "error" not in line:
            again = registry.register("again", found.schema, normalize=True)
            assert (again.id == found.id) is line["renormalized_same"], line["id"]
        checked[kind] += 1
    print(f"texts: {checked}")
    assert checked == {"AVRO": 22, "JSON": 18, "PROTOBUF": 52}


def test_avro_texts_of_the_real_registry():
    with gzip.open(HERE / "vectors" / "avro_normalize.json.gz", "rt", encoding="utf-8") as file:
        lines = json.load(file)
    kept = refused = 0
    for line in lines:
        references = [
            {"name": f"r{number}", "schema": text} for number, text in enumerate(line.get("refs", ()))
        ]
        registry, named = prepared(references, "AVRO")
        schema = Schema(line["schema"], references=named)
        # A default of the wrong type is refused.
        if "error" in line or '"bad"' in line["schema"]:
            with pytest.raises(RegistryError) as info:
                registry.register("s", schema)
            assert info.value.error_code == 42201
            refused += 1
        else:
            assert registry.register("s", schema).schema.text == line["canonical"]
            assert registry.register("n", schema, normalize=True).schema.text == line["normalized"]
            kept += 1
    assert (kept, refused) == (37, 8)


def test_what_the_real_registry_refuses():
    verdicts = {"ok": 0, "refused": 0}
    for line in read_vectors("registry_invalid.jsonl.gz"):
        kind = line["type"]
        registry, references = prepared(line.get("references", ()), kind)
        schema = Schema(line["schema"], kind, references)
        calls = {
            "register": lambda: registry.register("s", schema),  # noqa: B023
            "lookup": lambda: registry.lookup("none", schema),  # noqa: B023
            "register_validate_fields": lambda: registry.register("t", schema),  # noqa: B023
        }
        for step, call in calls.items():
            if step == "register_validate_fields":
                registry.set_config(Config(validate_fields=True))
            try:
                call()
                found = "ok"
            except RegistryError as error:
                # What is not found was taken.
                found = {42201: "refused", 40401: "ok"}.get(error.error_code, "failed")
            expected = "ok" if line[step] == "ok" else "refused"
            if line["id"] not in ON_PURPOSE:
                assert found == expected, (line["id"], step)
            verdicts[found] += 1
    print(f"verdicts: {verdicts}")
    assert sum(verdicts.values()) == 86 * 3
