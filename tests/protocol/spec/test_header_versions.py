"""Definitions that say which header versions their versions have."""

import json

import pytest
from cases import cases

from kcodec.protocol import MessageSpec, SpecError
from kcodec.protocol.spec.text import spec_text


def spec(header_versions, **members):
    base = {
        "type": "request",
        "apiKey": 1,
        "name": "FooRequest",
        "validVersions": "0-3",
        "flexibleVersions": "2+",
    }
    base["fields"] = [{"name": "a", "type": "int32", "versions": "0+"}]
    return MessageSpec.parse(json.dumps({**base, "headerVersions": header_versions, **members}))


def test_each_version_has_one():
    found = spec({"2+": " 2", "0-1": "1"})
    assert [found.header_version(version) for version in range(4)] == [1, 1, 2, 2]
    assert MessageSpec.parse(spec_text(found)) == found


@cases(
    ("header_versions", "reason"),
    [
        ({"": "1"}, "specifies a blank version range"),
        ({"x": "1"}, 'specifies an invalid version range "x"'),
        ({"none": "1"}, 'specifies an invalid version range "none"'),
        ({"0+": " "}, 'specifies a blank header version for range "0+"'),
        ({"0+": None}, 'specifies a blank header version for range "0+"'),
        ({"0+": "x"}, 'specifies an invalid header version "x" for range "0+"'),
        ({"0+": "-1"}, 'specifies a negative header version "-1" for range "0+"'),
        ({"1+": "1"}, "has headerVersions starting at version 1, "),
        ({"0+": "1", "2+": "2"}, "has an open-ended headerVersions range 0+ that is followed by 2+"),
        (
            {"0-1": "1", "2-3": "1", "4+": "2"},
            "has a headerVersions range 4+ that starts above the highest valid",
        ),
        ([], "Cannot deserialize value of type `java.util.Map`"),
    ],
)
def test_what_is_refused(header_versions, reason):
    with pytest.raises(SpecError) as error:
        spec(header_versions)
    assert reason in str(error.value)


def test_a_message_without_versions_has_none():
    with pytest.raises(
        SpecError, match="must not be specified for message FooRequest, which has no valid versions"
    ):
        spec({"0+": "1"}, validVersions="none")
