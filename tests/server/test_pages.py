"""The page as a part of the server: where it is, and that it obeys the same roles."""

import json
import re

import pytest
from asked import Asked
from shop_users import GRANTS, KEPT, basic

from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry

FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_a_browser_is_sent_there(ask):
    answer = ask("GET", "/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (answer.status, answer.headers["location"]) == (307, "/ui/")
    assert ask("GET", "/", headers={"accept": "application/json"}).json == {}
    answer = ask("GET", "/ui")
    assert (answer.status, answer.headers["location"]) == (307, "ui/")


def test_it_shows_the_registry(ask):
    ask.register("orders-value")
    answer = ask("GET", "/ui/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src" in answer.headers["content-security-policy"]
    assert "orders-value" in ask("GET", "/ui/subjects").data.decode()
    assert 'route="/ui/",status="200"' in ask("GET", "/metrics").data.decode()


@pytest.fixture
def guarded(tmp_path):
    path = tmp_path / "access.json"
    grants = [*GRANTS, {"role": "read", "anonymous": True, "subjects": ["common"]}]
    path.write_text(json.dumps({"users": {"shop": KEPT, "root": KEPT}, "grants": grants}))
    registry = MemoryRegistry()
    for subject in ("orders-value", "common", "hidden"):
        registry.register(subject, Schema('"int"'))
    return Asked(registry, access=str(path))


def test_it_shows_what_the_user_may_read(guarded):
    def shown(headers):
        text = guarded("GET", "/ui/subjects", headers=headers).data.decode()
        return {name for name in ("orders-value", "common", "hidden") if f">{name}<" in text}

    assert shown({}) == {"common"}
    assert shown(basic("shop")) == {"orders-value", "common"}
    assert shown(basic("root")) == {"orders-value", "common", "hidden"}
    assert guarded("GET", "/ui/subject?subject=hidden", headers=basic("shop")).status == 403
    assert guarded("GET", "/ui/", headers=basic("shop", "wrong")).status == 401


def test_a_browser_may_say_whose_it_is(guarded):
    answer = guarded("GET", "/ui/subject?subject=hidden")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="kcodec"')


def test_forms_need_the_role(guarded):
    page = guarded("GET", "/ui/settings?subject=orders-value", headers=basic("root"))
    token = re.search(rb'name="token" value="([^"]+)"', page.data)[1].decode()
    cookie = page.headers["set-cookie"].partition(";")[0]
    form = f"subject=orders-value&what=mode&mode=READONLY&token={token}".encode()
    for user, status in (("shop", 403), ("root", 303)):
        headers = {**FORM, **basic(user), "cookie": cookie}
        assert guarded("POST", "/ui/settings", form, headers).status == status
    assert guarded.registry.mode("orders-value") == "READONLY"
