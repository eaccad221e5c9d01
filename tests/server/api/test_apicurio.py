"""The calls of Apicurio's own API: what its clients send, and what they read of the answers."""

import json

import pytest
from asked import Asked
from shop_users import KEPT, basic

from kcodec.registry import Reference, Schema
from kcodec.registry.memory import MemoryRegistry

ROOT = "/apis/registry/v3"
INT, LONG = '"int"', '"long"'
ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
CART = '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}'


def create(ask, artifact, text, *, root=ROOT, group="default", kind="AVRO", references=(), headers=()):
    content = {"content": text, "contentType": "application/json", "references": references}
    body = {"artifactId": artifact, "artifactType": kind, "firstVersion": {"content": content}}
    path = f"{root}/groups/{group}/artifacts?canonical=false&ifExists=FIND_OR_CREATE_VERSION"
    return ask("POST", path, body, headers)


def search(ask, artifact, text, *, kind="AVRO", content_type="application/json"):
    path = f"{ROOT}/search/versions?artifactId={artifact}&artifactType={kind}&groupId=default&limit=100"
    return ask("POST", path, text.encode(), {"content-type": content_type}).json


def metadata(artifact, version, number, **more):
    place = {"groupId": "default", "artifactId": artifact, "artifactType": "AVRO"}
    return {**place, "version": version, "contentId": number, "globalId": number, "state": "ENABLED", **more}


@pytest.fixture
def filled(ask):
    """Two versions of one subject, and one that refers to another."""
    for subject, text in (("s", INT), ("s", LONG), ("order", ORDER)):
        ask.registry.register(subject, Schema(text))
    ask.registry.register("cart", Schema(CART, references=(Reference("shop.Order", "order", 1),)))
    return ask


REFERENCES = [{"groupId": "default", "artifactId": "order", "version": "1", "name": "shop.Order"}]


class TestCreate:
    def test_versions_of_an_artifact(self, ask):
        found = create(ask, "s", INT).json
        place = {"groupId": "default", "artifactId": "s", "artifactType": "AVRO"}
        assert found == {"artifact": place, "version": metadata("s", "1", 1)}
        assert create(ask, "s", LONG).json["version"] == metadata("s", "2", 2)
        assert create(ask, "s", INT).json["version"] == metadata("s", "1", 1)
        assert ask.registry.versions("s") == [1, 2]

    def test_references(self, ask):
        create(ask, "order", ORDER, group="shop")
        create(ask, "cart", CART, references=[{**REFERENCES[0], "groupId": "shop"}])
        assert ask.registry.get_version("cart").schema.references == (
            Reference("shop.Order", "shop:order", 1),
        )

    def test_levels_hold(self, ask):
        create(ask, "s", INT)
        assert create(ask, "s", '"string"').fault[:2] == (409, 40901)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"artifactId": "s"},
            {"artifactId": 7, "artifactType": "AVRO", "firstVersion": {"content": {"content": INT}}},
            {"artifactId": "s", "artifactType": "AVRO", "firstVersion": []},
            {"artifactId": "s", "artifactType": "AVRO", "firstVersion": {"content": INT}},
            {"artifactId": "s", "artifactType": "AVRO", "firstVersion": {"content": {"content": 7}}},
            {
                "artifactId": "s",
                "artifactType": "AVRO",
                "firstVersion": {"content": {"content": INT, "references": [{"name": "a"}]}},
            },
        ],
    )
    def test_other_bodies(self, ask, body):
        answer = ask("POST", f"{ROOT}/groups/default/artifacts?ifExists=CREATE_VERSION", body)
        assert answer.fault[:2] == (400, 400)

    @pytest.mark.parametrize("how", ["", "?ifExists=FAIL"])
    def test_what_may_be_done_with_one_that_exists(self, ask, how):
        assert ask("POST", f"{ROOT}/groups/default/artifacts{how}", {}).fault[:2] == (400, 400)


class TestRead:
    @pytest.mark.parametrize("ids", ["contentIds", "globalIds"])
    def test_by_id(self, filled, ids):
        answer = filled("GET", f"{ROOT}/ids/{ids}/4", headers={"accept": "*/*, application/json"})
        assert answer.data.decode() == CART
        assert filled("GET", f"{ROOT}/ids/{ids}/4/references").json == REFERENCES
        assert filled("GET", f"{ROOT}/ids/{ids}/9").fault[:2] == (404, 40403)
        whole = filled("GET", f"{ROOT}/ids/{ids}/4?references=DEREFERENCE").json
        assert whole["fields"][0]["type"]["name"] == "Order"

    def test_by_version(self, filled):
        place = f"{ROOT}/groups/default/artifacts/cart/versions"
        assert filled("GET", f"{place}/1").json == metadata("cart", "1", 4)
        assert filled("GET", f"{place}/branch=latest/content").json == json.loads(CART)
        assert filled("GET", f"{place}/1/references").json == REFERENCES
        assert filled("GET", f"{place}/2").fault[:2] == (404, 40402)
        assert filled("GET", f"{place}/branch=draft").fault[:2] == (422, 42202)
        assert filled("GET", f"{ROOT}/groups/shop/artifacts/cart/versions/1").fault[:2] == (404, 40401)

    def test_by_content(self, filled):
        assert search(filled, "s", ' "int" ') == {"count": 1, "versions": [metadata("s", "1", 1)]}
        assert search(filled, "cart", CART) == {"count": 1, "versions": [metadata("cart", "1", 4)]}
        for artifact, text in (("s", '"string"'), ("cart", ORDER), ("none", INT), ("s", "{")):
            assert search(filled, artifact, text) == {"count": 0, "versions": []}

    def test_protobuf_by_content(self, ask):
        text = 'syntax = "proto3";\n\nmessage Order {}\n'
        number = create(ask, "p", text, kind="PROTOBUF").json["version"]["contentId"]
        found = search(ask, "p", text, kind="PROTOBUF", content_type="application/x-protobuf")
        assert found["versions"] == [metadata("p", "1", number, artifactType="PROTOBUF")]

    def test_text_that_is_no_unicode(self, ask):
        answer = ask("POST", f"{ROOT}/search/versions?artifactId=s&artifactType=AVRO", b"\xff")
        assert answer.fault[:2] == (400, 400)


def test_a_context(ask):
    root = f"/contexts/.lab{ROOT}"
    create(ask, "order", ORDER, root=root)
    create(ask, "cart", CART, root=root, references=REFERENCES)
    assert ask.registry.subjects() == [":.lab:cart", ":.lab:order"]
    assert ask("GET", f"{root}/ids/contentIds/2/references").json == REFERENCES
    assert ask("GET", f"{root}/groups/default/artifacts/order/versions/1/content").json == json.loads(ORDER)


def test_roles(tmp_path):
    """Those of the subjects that artifacts are."""
    users = dict.fromkeys(("shop", "nobody"), KEPT)
    grants = [{"role": "write", "users": ["shop"], "subjects": ["shop:*"]}]
    path = tmp_path / "access.json"
    path.write_text(json.dumps({"users": users, "grants": grants}))
    registry = MemoryRegistry()
    registry.register("hidden", Schema(LONG))
    ask = Asked(registry, access=str(path))
    assert create(ask, "s", INT, group="shop", headers=basic("shop")).status == 200
    assert ask("GET", f"{ROOT}/groups/shop/artifacts/s/versions/1", headers=basic("shop")).status == 200
    assert create(ask, "s", INT, headers=basic("shop")).fault[:2] == (403, 40301)
    assert create(ask, "s", INT, group="shop", headers=basic("nobody")).fault[:2] == (403, 40301)
    assert create(ask, "s", INT).fault[:2] == (401, 40101)
    for path in (
        "ids/contentIds/1",
        "ids/globalIds/1/references",
        "groups/default/artifacts/hidden/versions/1",
    ):
        for part in ("", "/content") if "versions" in path else ("",):
            answer = ask("GET", f"{ROOT}/{path}{part}", headers=basic("shop"))
            assert answer.fault[:2] == (403, 40301)
    answer = ask(
        "POST", f"{ROOT}/search/versions?artifactId=hidden&artifactType=AVRO", LONG.encode(), basic("shop")
    )
    assert answer.fault[:2] == (403, 40301)
    ask.close()


class TestLists:
    """What kcodec's own client of this API asks for."""

    def test_versions_of_an_artifact(self, filled):
        path = f"{ROOT}/groups/default/artifacts/s/versions"
        both = [metadata("s", "1", 1), metadata("s", "2", 2)]
        assert filled("GET", path).json == {"count": 2, "versions": both}
        assert filled("GET", f"{path}?offset=1&limit=1").json == {"count": 2, "versions": both[1:]}
        assert filled("GET", path.replace("/s/", "/nothing/")).status == 404

    @pytest.mark.parametrize("name", ["contentId", "globalId"])
    def test_versions_with_an_id(self, filled, name):
        filled.registry.register("shop:s", Schema(LONG))
        found = filled("GET", f"{ROOT}/search/versions?{name}=2").json
        others = {"groupId": "shop", "artifactId": "s", "version": "1"}
        assert found == {"count": 2, "versions": [metadata("s", "2", 2), {**metadata("s", "2", 2), **others}]}
        for other in (0, 99, 2**63 - 1, "9" * 1000):
            assert filled("GET", f"{ROOT}/search/versions?{name}={other}").json == {
                "count": 0,
                "versions": [],
            }
        assert filled("GET", f"{ROOT}/search/versions?{name}=x").status == 400
