"""A browser without a window: it sends forms, keeps cookies, and checks every page that it gets."""

import asyncio
import json
import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx

from kcodec.registry import Config, Metadata, Reference, Rule, RuleSet, Schema
from kcodec.registry.memory import MemoryRegistry

ORIGIN = "http://registry:8081"
VOID = {"meta", "link", "img", "input", "br", "wbr", "rect"}
TAGS = re.compile(
    "html|head|title|body|a|header|div|nav|form|label|main|section|h[123]|p|span|dl|dt|dd|table|caption|thead|tbody|tr|th|"
    "td|ul|ol|li|pre|code|strong|small|footer|button|select|option|textarea|details|summary|fieldset|legend|bdi|svg|mark|time"
)


class Page(HTMLParser):
    """What a page is made of; whatever no template has in it is an error."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__()
        self.status, self.address, self.headers = response.status_code, str(response.url), response.headers
        self.html = response.text
        self.links, self.titles, self.ids, self.labelled, self.inputs = [], [], [], set(), []
        self.fields: dict[str, str] = {}
        self._open, self._texts, self._area = [], [], None
        self.feed(response.text)
        self.close()
        self.text = re.sub(r"\s+", " ", " ".join(self._texts))
        self._check()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert tag in VOID or TAGS.fullmatch(tag), f"{self.address} has the element {tag}"
        assert not [name for name in given if name.startswith("on") or name == "style"], self.address
        for name in ("href", "src", "action"):
            if name in given:
                assert not urlsplit(given[name]).scheme, f"{self.address}: {given[name]}"
                assert not given[name].startswith("//"), f"{self.address}: {given[name]}"
        if tag == "a":
            self.links.append(urljoin(self.address, given["href"]))
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "label" and "for" in given:
            self.labelled.add(given["for"])
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden":
            within_label = "label" in self._open
            self.inputs.append((given.get("id"), within_label or "aria-label" in given, given))
        if tag == "input" and "name" in given and given.get("type") not in ("radio", "checkbox"):
            self.fields[given["name"]] = given.get("value", "")
        if tag == "textarea":
            self._area = given["name"]
            self.fields[self._area] = ""
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self._open.pop() == tag, f"{self.address}: {tag} is closed where another element is open"
        if tag == "textarea":
            # As browsers do: the first line break is not part of it.
            self.fields[self._area] = self.fields[self._area].removeprefix("\n")
            self._area = None

    def handle_data(self, data):
        self._texts.append(data)
        if self._area is not None:
            self.fields[self._area] += data
        if self._open and self._open[-1] in ("h1", "title"):
            self.titles.append((self._open[-1], data))

    def _check(self):
        assert not self._open, f"{self.address} leaves {self._open} open"
        assert self.html.count("<h1") == 1, self.address
        assert self.html.count("<main") == 1, self.address
        assert '<html lang="en">' in self.html, self.address
        assert len(set(self.ids)) == len(self.ids), f"{self.address} has an id twice"
        for name, is_labelled, given in self.inputs:
            assert is_labelled or name in self.labelled, f"{self.address}: no label for {given}"
        policy = self.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "unsafe" not in policy
        assert self.headers["x-content-type-options"] == "nosniff"
        assert self.headers["cache-control"] == "no-store"


class Browser:
    """Gets pages, and sends forms as a browser does: with its cookies, its token and where they come from."""

    def __init__(self, app) -> None:
        self.app = app
        self.cookies = httpx.Cookies()

    def request(self, method, address, **arguments) -> httpx.Response:
        async def send():
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(
                transport=transport, base_url=f"{ORIGIN}/ui/", cookies=self.cookies
            ) as client:
                response = await client.request(method, urljoin(f"{ORIGIN}/ui/", address), **arguments)
                self.cookies = client.cookies
                return response

        return asyncio.run(send())

    def get(self, address="") -> Page:
        response = self.request("GET", address)
        if response.status_code in (303, 307):
            return self.get(urljoin(str(response.url), response.headers["location"]))
        return Page(response)

    def post(self, address, headers=None, **fields) -> Page:
        if not self.cookies.get("kcodec_page"):
            self.get()
        token = self.cookies.get("kcodec_page")
        sent = {"token": token, **fields}
        origin = {"sec-fetch-site": "same-origin", "origin": ORIGIN} if headers is None else headers
        response = self.request(
            "POST",
            address,
            data={name: value for name, value in sent.items() if value is not None},
            headers=origin,
        )
        if response.status_code == 303:
            return self.get(urljoin(str(response.url), response.headers["location"]))
        return Page(response)

    def crawl(self, address="") -> dict[str, Page]:
        """Return all pages that links lead to, by their addresses."""
        waiting, seen = [self.get(address)], {}
        while waiting:
            page = waiting.pop()
            seen[page.address] = page
            for each in page.links:
                each = each.partition("#")[0]
                if each not in seen and "/ui/text?" not in each:
                    seen[each] = None
                    waiting.append(self.get(each))
        return {address: page for address, page in seen.items() if page is not None}


def record(*fields, name="Order"):
    return Schema(json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": list(fields)}))


ID, SKU = {"name": "id", "type": "long"}, {"name": "sku", "type": "string"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
ADDRESS = 'syntax = "proto3"; package shop; message Address { string city = 1; }'
CUSTOMER = (
    'syntax = "proto3"; package shop; import "shop/address.proto"; '
    "message Other { } message Customer { int64 id = 1; Address address = 2; }"
)


def filled() -> MemoryRegistry:
    """Make a registry with some of everything."""
    registry = MemoryRegistry("page")
    registry.register("orders-value", record(ID, SKU))
    registry.register("orders-value", record(ID, SKU, NOTE))
    registry.set_config(Config("NONE"), "orders-value")
    registry.register(
        "orders-value",
        Schema(
            record({"name": "id", "type": "string"}, NOTE).text,
            metadata=Metadata.of(
                {"owner": "billing", "key": "s3cret"}, {"shop.Order.note": ["PII"]}, ["key"]
            ),
            rules=RuleSet(domain=(Rule("positive", type="CEL", expr="message.id > 0", kind="CONDITION"),)),
        ),
    )
    registry.set_config(Config("FULL"), "orders-value")
    registry.register("shop/address.proto", Schema(ADDRESS, "PROTOBUF"))
    registry.register(
        "customers-value",
        Schema(CUSTOMER, "PROTOBUF", (Reference("shop/address.proto", "shop/address.proto", 1),)),
    )
    registry.register(
        "clicks-value", Schema('{"type":"object","properties":{"a":{"type":"integer"}}}', "JSON")
    )
    registry.register(":.lab:orders-value", Schema('"int"'))
    registry.register("gone-value", Schema('"bytes"'))
    registry.delete_subject("gone-value")
    return registry
