"""The calls of Confluent's API: what each answers, with its codes and texts."""

import pytest
from cases import cases

from kcodec.server.api.calls import ROUTES

INT, LONG = '"int"', '"long"'
INT_GUID = "ef524ea1-b91e-7317-3d93-8ade36c1db32"
ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
CART = '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}'
REFERENCE = {"name": "shop.Order", "subject": "order", "version": 1}
PROTO = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n}\n'


@pytest.fixture
def filled(ask):
    """Three subjects: one of two versions, one referring to another."""
    ask.register("s")
    ask.register("s", LONG)
    ask.register("order", ORDER)
    ask.register("cart", CART, references=[{**REFERENCE, "version": -1}])
    return ask


class TestRegister:
    def test_the_answer_holds_what_is_kept(self, ask):
        answer = ask.register("cart/ü", '{ "type": "int" }')
        assert (answer.status, answer.headers["content-type"]) == (
            200,
            "application/vnd.schemaregistry.v1+json",
        )
        assert answer.json == {"id": 1, "version": 1, "guid": INT_GUID, "schemaType": "AVRO", "schema": INT}
        assert ask("GET", "/subjects").json == ["cart/ü"]

    def test_the_latest_reference_is_replaced(self, filled):
        found = filled("GET", "/subjects/cart/versions/latest").json
        assert found["references"] == [REFERENCE]
        assert (found["id"], found["schema"]) == (4, CART)

    def test_metadata_and_rules_are_kept_and_inherited(self, ask):
        metadata = {"properties": {"owner": "shop"}, "tags": {"a": ["PII"]}, "sensitive": ["owner"]}
        rules = {
            "domainRules": [{"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "1"}]
        }
        first = ask.register("s", metadata=metadata, ruleSet=rules).json
        assert (first["metadata"], first["ruleSet"]) == (metadata, rules)
        second = ask.register("s", LONG).json
        assert (second["id"], second["metadata"], second["ruleSet"]) == (2, metadata, rules)
        assert ask.register("s", metadata=metadata, ruleSet=rules).json["version"] == 1
        # Without a text the latest one is meant.
        third = ask.register("s", "", metadata={"properties": {"owner": "else"}}).json
        assert (third["schema"], third["version"]) == (LONG, 3)

    def test_ids_are_given_in_mode_import(self, ask):
        ask("PUT", "/mode/s", {"mode": "IMPORT"})
        assert ask.register("s", id=42, version="7").json["version"] == 7
        assert ask("GET", "/schemas/ids/42").json["schema"] == INT
        assert ask.register("s", LONG, id=42).fault == (
            422,
            42205,
            "Overwrite new schema with id 42 in context  is not permitted.",
        )
        assert ask("GET", "/schemas/ids/42?fetchMaxId=true").json["maxId"] == 42

    def test_force_leaves_out_the_check(self, ask):
        ask.register("s")
        assert ask.register("s", '"string"').fault[:2] == (409, 40901)
        forced = ask("POST", "/subjects/s/versions?force=true", {"schema": '"string"'})
        assert forced.json["version"] == 2

    def test_normalize(self, ask):
        text = '{"type":"int","b":1,"a":2}'
        body = {"schema": text}
        found = ask("POST", "/subjects/s/versions?normalize=TRUE", body).json
        assert found["schema"] == '{"type":"int","a":2,"b":1}'
        assert ask("POST", "/subjects/s", body).fault == (404, 40403, "Schema not found")
        assert ask("POST", "/subjects/s?normalize=true", body).json["id"] == found["id"]


class TestRead:
    def test_versions_of_a_subject(self, filled):
        assert filled("GET", "/subjects/s/versions").json == [1, 2]
        assert filled("GET", "/subjects/s/versions/").json == [1, 2]
        expected = {"subject": "s", "version": 2, "id": 2, "schemaType": "AVRO", "schema": LONG}
        for version in ("2", "latest", "LATEST", "-1"):
            found = filled("GET", f"/subjects/s/versions/{version}").json
            assert found.pop("guid")
            assert found == expected
        answer = filled("GET", "/subjects/s/versions/1/schema")
        assert (answer.data, answer.headers["content-type"]) == (
            INT.encode(),
            "application/vnd.schemaregistry.v1+json",
        )

    def test_schemas_by_id_and_guid(self, filled):
        expected = {"guid": INT_GUID, "schemaType": "AVRO", "schema": INT}
        assert filled("GET", "/schemas/ids/1").json == expected
        # Java's client asks so.
        assert filled("GET", "/schemas/ids/1?fetchMaxId=false&subject=").json == expected
        assert filled("GET", "/schemas/ids/1?subject=s").json == {**expected, "subject": "s", "version": 1}
        assert filled("GET", f"/schemas/guids/{INT_GUID}").json == expected
        assert filled("GET", f"/schemas/guids/{INT_GUID}/ids").json == [{"context": ".", "id": 1}]
        assert filled("GET", "/schemas/guids/0/ids").json == []
        assert filled("GET", "/schemas/ids/1/schema").data == INT.encode()
        assert filled("GET", "/schemas/ids/1/subjects").json == ["s"]
        assert filled("GET", "/schemas/ids/1/versions").json == [{"subject": "s", "version": 1}]
        assert filled("GET", "/schemas/ids/1/versions?offset=1").json == []

    def test_ids_under_subjects(self, ask):
        for subject, text in (("a", INT), (":.lab:only", LONG), (":.lab:b", '"float"'), (":.raw:b", INT)):
            ask.register(subject, text)
        ask("PUT", "/config/nick", {"alias": "a"})

        def found(subject, number=1):
            fields = ask("GET", f"/schemas/ids/{number}?subject={subject}&fetchMaxId=true").json
            return tuple(fields[key] for key in ("schema", "subject", "version", "maxId"))

        assert found("a") == found("nick") == found("none") == (INT, "a", 1, 1)
        # A subject that no context is named with is looked for in all.
        assert found("only") == found(":.lab:only") == found(":.lab:") == (LONG, ":.lab:only", 1, 2)
        assert found("b", 2) == ('"float"', ":.lab:b", 1, 2)
        for subject in (":.lab:a", ":.raw:only", ":.none:"):
            assert ask("GET", f"/schemas/ids/1?subject={subject}").fault[:2] == (404, 40403)
        ask.register("c")
        places = [{"subject": each, "version": 1} for each in ("a", "c")]
        assert ask("GET", "/schemas/ids/1/versions?subject=nick").json == places
        assert ask("GET", "/schemas/ids/1/subjects?subject=only").json == [":.lab:only"]

    def test_what_is_looked_up_is_a_schema(self, ask):
        assert ask("POST", "/subjects/none", {"schema": "{}"}).fault[:2] == (422, 42201)
        assert ask("POST", "/subjects/none", {"schema": INT}).fault[:2] == (404, 40401)

    def test_forms_of_the_text(self, filled):
        resolved = filled("GET", "/subjects/cart/versions/1?format=resolved").json["schema"]
        assert '"name":"Order"' in resolved
        assert filled("GET", "/subjects/cart/versions/1/schema?format=resolved").data == resolved.encode()
        found = filled.register("p", PROTO, schemaType="PROTOBUF").json
        serialized = filled("GET", f"/schemas/ids/{found['id']}?format=serialized").json["schema"]
        assert serialized != PROTO
        assert "shop" not in serialized

    def test_forms_of_other_answers(self, ask):
        plain = ask("POST", "/subjects/p/versions", {"schema": PROTO, "schemaType": "PROTOBUF"}).json[
            "schema"
        ]
        body = {"schema": PROTO, "schemaType": "PROTOBUF", "metadata": {"properties": {"a": "1"}}}
        found = ask("POST", "/subjects/q/versions?format=serialized", body).json
        assert found["schema"] != plain
        for method, path in (
            ("POST", "/subjects/q/versions?format=serialized"),
            ("POST", "/subjects/q?format=serialized"),
            ("GET", "/subjects/q/metadata?key=a&value=1&format=serialized"),
        ):
            assert ask(method, path, body if method == "POST" else None).json["schema"] == found["schema"]
        assert ask("GET", "/subjects/q/versions/1").json["schema"] == plain

    def test_references_within_a_context(self, ask):
        ask("POST", "/contexts/.lab/subjects/order/versions", {"schema": ORDER})
        body = {"schema": CART, "references": [REFERENCE]}
        ask("POST", "/contexts/.lab/subjects/cart/versions", body)
        path = "/contexts/.lab/subjects/cart/versions/1"
        assert ask("GET", path).json["references"] == [REFERENCE]
        whole = [{**REFERENCE, "subject": ":.lab:order"}]
        assert ask("GET", f"{path}?referenceFormat=qualified").json["references"] == whole
        assert (
            ask("GET", "/contexts/.lab/schemas/ids/2?referenceFormat=qualified").json["references"] == whole
        )

    def test_references_both_ways(self, filled):
        assert filled("GET", "/subjects/order/versions/1/referencedby").json == [4]
        assert filled("GET", "/subjects/s/versions/1/referencedby").json == []
        assert filled("DELETE", "/subjects/order").fault == (
            422,
            42206,
            "One or more references exist to order version 1.",
        )

    def test_lookup(self, filled):
        found = filled("POST", "/subjects/s", {"schema": INT}).json
        assert (found["subject"], found["version"], found["id"]) == ("s", 1, 1)
        assert filled("POST", "/subjects/none", {"schema": INT}).fault == (
            404,
            40401,
            "Subject 'none' not found.",
        )

    def test_lists_have_pages(self, filled):
        assert filled("GET", "/subjects").json == ["cart", "order", "s"]
        assert filled("GET", "/subjects?offset=1&limit=1").json == ["order"]
        assert filled("GET", "/subjects?limit=0").json == ["cart", "order", "s"]
        assert filled("GET", "/subjects?subjectPrefix=o").json == ["order"]
        assert filled("GET", "/subjects?subjectPrefix=s&subjectPrefix=o").json == ["order", "s"]
        assert filled("GET", "/subjects?subjectPrefix=s&subjectPrefix=o&limit=1").json == ["order"]
        assert filled("GET", "/subjects/s/versions?offset=1").json == [2]
        listed = filled("GET", "/schemas?latestOnly=true").json
        assert [(each["subject"], each["version"]) for each in listed] == [
            ("cart", 1),
            ("order", 1),
            ("s", 2),
        ]
        assert [each["id"] for each in filled("GET", "/schemas?offset=2&limit=1").json] == [1]
        listed = filled("GET", "/schemas?subjectPrefix=s&subjectPrefix=o&offset=1").json
        assert [(each["subject"], each["version"]) for each in listed] == [("s", 1), ("s", 2)]
        rule = {"name": "r", "type": "CEL", "mode": "READ"}
        for subject, rules in (
            ("q", {"domainRules": [rule]}),
            ("r", {"encodingRules": [{**rule, "type": "ENCRYPT"}]}),
            ("t", {"migrationRules": [{**rule, "mode": "UPGRADE"}]}),
        ):
            filled.register(subject, ruleSet=rules)

        def ruled(query):
            return [each["subject"] for each in filled("GET", f"/schemas?ruleType={query}").json]

        assert ruled("CEL") == ["q", "t"]
        assert ruled("CEL&offset=1") == ruled("CEL&subjectPrefix=t") == ["t"]
        assert ruled("ENCRYPT&limit=1") == ["r"]
        assert ruled("cel") == []

    def test_latest_with_metadata(self, ask):
        ask.register("s", metadata={"properties": {"a": "1", "b": "2"}})
        ask.register("s", metadata={"properties": {"a": "2"}})
        assert ask("GET", "/subjects/s/metadata?key=a&value=1&key=b&value=2").json["version"] == 1
        assert ask("GET", "/subjects/s/metadata?key=a&value=3").fault[:2] == (404, 40403)
        assert ask("GET", "/subjects/t/metadata?key=a&value=3").fault[:2] == (404, 40401)

    def test_what_the_server_is(self, ask):
        assert ask("GET", "/").json == {}
        assert ask("GET", "/schemas/types").json[:3] == ["JSON", "PROTOBUF", "AVRO"]
        assert ask("GET", "/contexts").json == ["."]
        assert ask("GET", "/v1/metadata/id").json["scope"]["path"] == []
        assert ask("GET", "/v1/metadata/version").json["version"]
        assert ask("GET", "/v1/metadata/deployment").json == {"attributes": []}
        for place in ("resources/-/topic?associationType=key", "resources/lkc-1:topic", "subjects/topic-key"):
            assert ask("GET", f"/associations/{place}").json == []


class TestContexts:
    def test_paths_may_begin_with_one(self, ask):
        ask.register("s", LONG)
        assert ask("POST", "/contexts/.lab/subjects/s/versions", {"schema": INT}).json["id"] == 1
        assert ask("GET", "/subjects").json == [":.lab:s", "s"]
        assert ask("GET", "/contexts").json == [".", ".lab"]
        assert ask("GET", "/subjects?subjectPrefix=").json == ["s"]
        assert ask("GET", "/subjects?subjectPrefix=:*:s").json == [":.lab:s", "s"]
        assert ask("GET", "/contexts/.lab/subjects").json == [":.lab:s"]
        for query in ("", "?subjectPrefix=s", "?subjectPrefix=:.lab:"):
            found = ask("GET", f"/contexts/.lab/schemas{query}").json
            assert [each["subject"] for each in found] == [":.lab:s"]
        assert ask("GET", "/contexts/:.lab:/subjects/s/versions/1").json["subject"] == ":.lab:s"
        assert ask("GET", "/contexts/.lab/schemas/ids/1").json["schema"] == INT
        assert ask("GET", "/schemas/ids/1").json["schema"] == LONG
        assert ask("GET", "/schemas/ids/1?subject=:.lab:").json["schema"] == INT
        assert ask("GET", "/contexts/./schemas/ids/1").json["schema"] == LONG
        body = {"schema": '"string"'}
        checked = ask("POST", "/contexts/.lab/compatibility/subjects/s/versions/latest", body)
        assert checked.json == {"is_compatible": False}

    def test_settings_of_one(self, ask):
        assert ask("PUT", "/contexts/.lab/config", {"compatibility": "FULL"}).status == 200
        assert ask("GET", "/config/:.lab:").json == {"compatibilityLevel": "FULL"}
        assert ask("GET", "/config/:.lab:s?defaultToGlobal=true").json["compatibilityLevel"] == "FULL"
        assert ask("PUT", "/config/:.:", {"compatibility": "NONE"}).status == 200
        assert ask("GET", "/config").json["compatibilityLevel"] == "NONE"

    def test_an_empty_one_can_be_deleted(self, ask):
        ask.register(":.lab:s")
        assert ask("DELETE", "/contexts/.lab").fault[:2] == (422, 42211)
        ask("DELETE", "/subjects/:.lab:s")
        ask("DELETE", "/subjects/:.lab:s?permanent=true")
        answer = ask("DELETE", "/contexts/.lab")
        assert (answer.status, answer.data) == (204, b"")
        assert ask("DELETE", "/contexts/.lab").fault[:2] == (404, 40401)
        assert ask("GET", "/contexts").json == ["."]


class TestCompatibility:
    def test_verdicts_and_messages(self, filled):
        path = "/compatibility/subjects/s/versions"
        assert filled("POST", f"{path}/latest", {"schema": LONG}).json == {"is_compatible": True}
        verbose = filled("POST", f"{path}/latest?verbose=true", {"schema": LONG}).json
        assert verbose == {"is_compatible": True, "messages": []}
        found = filled("POST", f"{path}/1?verbose=true", {"schema": '"string"'}).json
        assert found["is_compatible"] is False
        assert found["messages"][0].startswith("{errorType:'TYPE_MISMATCH', description:")
        assert found["messages"][1:] == [
            "{oldSchemaVersion: 1}",
            "{oldSchema: '\"int\"'}",
            "{validateFields: 'false', compatibility: 'BACKWARD'}",
        ]
        filled("PUT", "/config/s", {"compatibility": "FORWARD_TRANSITIVE"})
        # Of a transitive level too, a named version is the only one that is looked at.
        assert filled("POST", f"{path}/2", {"schema": LONG}).json == {"is_compatible": True}
        assert filled("POST", path, {"schema": LONG}).json == {"is_compatible": False}

    def test_what_would_not_be_registered(self, filled):
        path = "/compatibility/subjects/none/versions"
        wrong = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
        assert filled("POST", path, {"schema": wrong}).fault[:2] == (422, 42201)
        found = filled("POST", f"{path}?verbose=true", {"schema": wrong}).json
        assert found["is_compatible"] is False
        assert '"x" is not a value of int' in found["messages"][0]
        assert filled("POST", path, {"schema": " "}).fault == (422, 42201, "Empty schema")
        reserved = {"schema": '{"properties":{"$$a":{}}}', "schemaType": "JSON"}
        assert filled("POST", path, reserved).json == {"is_compatible": True}
        filled("PUT", "/config/none", {"validateFields": True})
        assert filled("POST", path, reserved).fault[:2] == (422, 42201)

    def test_what_is_no_version(self, filled):
        for subject in ("s", "none"):
            for body in ({"schema": INT}, {"schema": "{}"}):
                path = f"/compatibility/subjects/{subject}/versions/9"
                assert filled("POST", path, body).fault == (404, 40402, "Version 9 not found.")

    def test_what_is_no_schema(self, filled):
        path = "/compatibility/subjects/s/versions/latest"
        assert filled("POST", path, {"schema": "{}"}).fault[:2] == (422, 42201)
        found = filled("POST", f"{path}?verbose=true", {"schema": "{}"}).json
        assert found["is_compatible"] is False
        assert found["messages"][0].startswith("Invalid schema")

    def test_places(self, filled):
        at = "/compatibility/subjects/{}/versions/{}"
        assert filled("POST", at.format("none", "latest"), {"schema": INT}).json == {"is_compatible": True}
        assert filled("POST", at.format("s", 9), {"schema": INT}).fault == (
            404,
            40402,
            "Version 9 not found.",
        )
        assert filled("POST", at.format("s", 0), {"schema": INT}).fault[:2] == (422, 42202)


class TestSettings:
    def test_config(self, ask):
        assert ask("GET", "/config").json["compatibilityLevel"] == "BACKWARD"
        assert ask("GET", "/config/s").fault == (
            404,
            40408,
            "Subject 's' does not have subject-level compatibility configured",
        )
        body = {"compatibility": "full", "normalize": True, "compatibilityGroup": "g"}
        assert ask("PUT", "/config/s", body).json == {**body, "compatibility": "FULL"}
        found = {"compatibilityLevel": "FULL", "normalize": True, "compatibilityGroup": "g"}
        assert ask("GET", "/config/s").json == found
        # What is null is no longer set; what is not named stays.
        ask("PUT", "/config/s", {"compatibilityGroup": None})
        found.pop("compatibilityGroup")
        assert ask("DELETE", "/config/s").json == found
        assert ask("DELETE", "/config/s").fault == (404, 40401, "Subject 's' not found.")
        assert ask("PUT", "/config", {"compatibility": "SOME"}).fault[:2] == (422, 42203)
        assert ask("PUT", "/config", {"compatibilityLevel": "NONE"}).json == {"compatibility": "NONE"}
        assert ask("DELETE", "/config").json["compatibilityLevel"] == "NONE"
        assert ask("GET", "/config").json["compatibilityLevel"] == "BACKWARD"

    def test_metadata_of_a_config(self, ask):
        rule = {"kind": "CONDITION", "mode": "READ", "type": "CEL"}
        body = {
            "defaultMetadata": {"properties": {"owner": "nobody", "a": "0"}},
            "overrideMetadata": {"properties": {"stage": "test"}, "tags": {"x": ["PII"]}},
            "defaultRuleSet": {"domainRules": [{**rule, "name": "d"}]},
            "overrideRuleSet": {"domainRules": [{**rule, "name": "o"}]},
        }
        assert ask("PUT", "/config/s", body).json == body
        assert ask("GET", "/config/s").json == body
        found = ask.register("s", metadata={"properties": {"a": "1", "stage": "own"}}).json
        assert found["metadata"] == {
            "properties": {"a": "1", "owner": "nobody", "stage": "test"},
            "tags": {"x": ["PII"]},
        }
        assert [each["name"] for each in found["ruleSet"]["domainRules"]] == ["d", "o"]
        # Found again as it was sent, and without metadata, which are then those of the latest version.
        sent = {"schema": INT, "metadata": {"properties": {"a": "1", "stage": "own"}}}
        assert ask("POST", "/subjects/s", sent).json["version"] == 1
        assert ask("POST", "/subjects/s", {"schema": INT}).json["version"] == 1
        assert ask.register("s").json["version"] == 1
        assert ask("PUT", "/config/s", {"defaultMetadata": "x"}).fault[:2] == (400, 400)

    def test_aliases(self, ask):
        ask.register("orders-value")
        ask("PUT", "/config/short", {"alias": "orders-value"})
        assert ask("GET", "/subjects/short/versions/1").json["subject"] == "orders-value"

    def test_mode(self, ask):
        assert ask("GET", "/mode").json == {"mode": "READWRITE"}
        assert ask("GET", "/mode/s").fault == (
            404,
            40409,
            "Subject 's' does not have subject-level mode configured",
        )
        assert ask("GET", "/mode/s?defaultToGlobal=true").json == {"mode": "READWRITE"}
        assert ask("PUT", "/mode/s", {"mode": "readonly"}).json == {"mode": "READONLY"}
        assert ask.register("s").fault == (422, 42205, "Subject s in context  is in read-only mode")
        assert ask("DELETE", "/mode/s").json == {"mode": "READONLY"}
        assert ask("DELETE", "/mode/s").fault == (404, 40401, "Subject 's' not found.")
        assert ask("PUT", "/mode", {"mode": "SOME"}).fault[:2] == (422, 42204)
        ask.register("s")
        assert ask("PUT", "/mode", {"mode": "IMPORT"}).fault[:2] == (422, 42205)
        assert ask("PUT", "/mode?force=true", {"mode": "IMPORT"}).json == {"mode": "IMPORT"}
        assert ask("DELETE", "/mode").json == {"mode": "IMPORT"}

    def test_a_context_without_its_last_colon(self, ask):
        assert ask("PUT", "/config/:.lab", {"compatibility": "NONE"}).status == 200
        assert ask("GET", "/config/:.lab:").json == {"compatibilityLevel": "NONE"}
        assert ask("GET", "/config/:.lab:s?defaultToGlobal=true").json["compatibilityLevel"] == "NONE"
        assert ask("PUT", "/mode/:.", {"mode": "READONLY"}).status == 200
        assert ask("GET", "/mode").json == {"mode": "READONLY"}

    def test_modes_of_a_context_are_dropped_together(self, ask):
        places = (":.lab:", ":.lab:s", "t", ":.other:s")
        for place in places:
            ask("PUT", f"/mode/{place}", {"mode": "READONLY"})
        assert ask("DELETE", "/mode/:.other:s?recursive=true").json == {"mode": "READONLY"}
        assert ask("DELETE", "/mode/:.other:s?recursive=true").json == {}
        assert ask("DELETE", "/mode/:.lab:?recursive=true").json == {"mode": "READONLY"}
        assert [ask("GET", f"/mode/{place}").status for place in places] == [404, 404, 200, 404]
        ask("PUT", "/mode/:.lab:s", {"mode": "READONLY"})
        assert ask("DELETE", "/mode?recursive=true").json == {"mode": "READWRITE"}
        assert [ask("GET", f"/mode/{place}").status for place in places] == [404, 200, 404, 404]


class TestDeletion:
    def test_in_order(self, filled):
        assert filled("DELETE", "/subjects/s/versions/1?permanent=true").fault[:2] == (404, 40407)
        assert filled("DELETE", "/subjects/s/versions/1").data == b"1"
        assert filled("DELETE", "/subjects/s/versions/1").fault[:2] == (404, 40406)
        assert filled("GET", "/subjects/s/versions").json == [2]
        assert filled("GET", "/subjects/s/versions?deleted=true&deletedAsNegative=true").json == [-1, 2]
        assert filled("GET", "/subjects/s/versions?deletedAsNegative=true").json == [-1, 2]
        assert filled("GET", "/subjects/s/versions?deletedOnly=true").json == [1]
        assert filled("GET", "/subjects/s/versions/1").fault == (404, 40402, "Version 1 not found.")
        assert filled("GET", "/subjects/s/versions/1?deleted=true").json["id"] == 1
        assert filled("DELETE", "/subjects/s?permanent=true").fault[:2] == (404, 40405)
        assert filled("DELETE", "/subjects/s").json == [2]
        assert filled("DELETE", "/subjects/s").fault[:2] == (404, 40404)
        assert filled("GET", "/subjects").json == ["cart", "order"]
        assert filled("GET", "/subjects?deletedOnly=true").json == ["s"]
        assert filled("GET", "/schemas/ids/1").status == 200
        assert filled("DELETE", "/subjects/s?permanent=true").json == [1, 2]
        assert filled("GET", "/schemas/ids/1").fault == (404, 40403, "Schema 1 not found")
        assert filled("DELETE", "/subjects/s").fault == (404, 40401, "Subject 's' not found.")

    def test_the_latest(self, filled):
        assert filled("DELETE", "/subjects/s/versions/latest").data == b"2"


REFUSED = [
    ("GET", "/subjects/none/versions", None, 404, 40401),
    ("GET", "/subjects/none/versions/latest", None, 404, 40401),
    ("GET", "/subjects/s/versions/0", None, 422, 42202),
    ("GET", "/subjects/s/versions/abc", None, 422, 42202),
    ("GET", "/subjects/s/versions/0_1", None, 422, 42202),
    ("GET", "/subjects/s/versions/2147483648", None, 422, 42202),
    ("GET", "/subjects/s/versions/" + "9" * 6000, None, 422, 42202),
    ("GET", "/subjects/s/versions/9/referencedby", None, 404, 40402),
    ("GET", "/schemas/ids/99", None, 404, 40403),
    ("GET", "/schemas/ids/99/versions", None, 404, 40403),
    ("GET", "/schemas/ids/abc", None, 404, 404),
    ("GET", "/schemas/ids/4294967295", None, 404, 40403),
    ("GET", "/schemas/ids/" + "9" * 6000, None, 404, 40403),
    ("GET", "/schemas/ids/-1", None, 404, 40403),
    ("GET", "/schemas/ids/1_0", None, 404, 404),
    ("GET", "/schemas/guids/no", None, 404, 40403),
    ("GET", "/subjects?offset=x", None, 404, 404),
    ("GET", "/nothing", None, 404, 404),
    ("GET", "/subjects/s/nothing", None, 404, 404),
    ("PATCH", "/subjects", None, 405, 405),
    ("POST", "/subjects//versions", {"schema": INT}, 422, 42208),
    ("POST", "/subjects/__GLOBAL/versions", {"schema": INT}, 422, 42208),
    ("POST", "/subjects/:.lab:/versions", {"schema": INT}, 422, 42208),
    ("POST", "/subjects/:.lab/versions", {"schema": INT}, 422, 42208),
    ("POST", "/subjects/:.::./versions", {"schema": INT}, 422, 42208),
    ("POST", "/subjects/:.::.:s/versions", {"schema": INT}, 422, 42208),
    ("GET", "/contexts/.a:b/subjects/s/versions", None, 422, 42208),
    (
        "POST",
        "/subjects/s/versions",
        {"schema": INT, "references": [{"name": "A", "subject": 5, "version": 1}]},
        422,
        42201,
    ),
    ("POST", "/subjects/a%00b/versions", {"schema": INT}, 422, 42208),
    ("POST", "/subjects/s/versions", {"schema": "{"}, 422, 42201),
    ("POST", "/subjects/new/versions", {"schema": ""}, 422, 42201),
    ("POST", "/subjects/new/versions", {}, 422, 42201),
    ("POST", "/subjects/s/versions", {"schema": INT, "schemaType": "THRIFT"}, 422, 42201),
    ("POST", "/subjects/s/versions", {"schema": INT, "references": [{"name": "x"}]}, 422, 42201),
    ("POST", "/subjects/s/versions", {"schema": INT, "references": [7]}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "references": 7}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "version": "0_1"}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": {"type": "int"}}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "schemaType": 7}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "metadata": []}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "metadata": {"properties": 7}}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "ruleSet": {"domainRules": [{}]}}, 422, 42210),
    *(
        ("POST", "/subjects/s/versions", {"schema": INT, "ruleSet": {"domainRules": [rule]}}, 422, 42210)
        for rule in ({"name": ["r"]}, {"name": "r", "onSuccess": 1}, {"name": {"a": 1}, "type": "CEL"})
    ),
    ("POST", "/subjects/s/versions", {"schema": INT, "ruleSet": {"domainRules": {}}}, 400, 400),
    (
        "POST",
        "/subjects/s/versions",
        {"schema": INT, "ruleSet": {"domainRules": [{"name": "r", "disabled": "no"}]}},
        400,
        400,
    ),
    ("POST", "/subjects/s/versions", {"schema": INT, "metadata": {"sensitive": {}}}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "references": {}}, 400, 400),
    ("PUT", "/config/s", {"defaultRuleSet": {"migrationRules": ""}}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "id": "x"}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "id": True}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "id": 10**30}, 400, 400),
    ("POST", "/subjects/s/versions", {"schema": INT, "id": 7}, 422, 42205),
    ("POST", "/subjects/s/versions", [], 400, 400),
    ("POST", "/subjects/s/versions", None, 400, 400),
    ("PUT", "/mode/s", {"mode": 7}, 422, 42204),
    ("PUT", "/config/s", {"compatibility": 7}, 422, 42203),
    ("PUT", "/config/s", {"normalize": "x"}, 422, 42203),
]


@cases(("method", "path", "body", "status", "code"), REFUSED)
def test_refusals(filled, method, path, body, status, code):
    assert filled(method, path, body).fault[:2] == (status, code)


@pytest.mark.parametrize("number", ["4294967295", "9" * 23])
def test_a_number_beyond_all_ids_is_told_as_it_was_asked_for(filled, number):
    assert filled("GET", f"/schemas/ids/{number}").fault == (404, 40403, f"Schema {number} not found")


def test_every_call_is_described():
    assert len({(each.method, each.template) for each in ROUTES}) == len(ROUTES) >= 39
    assert all(each.call.__doc__ for each in ROUTES)
