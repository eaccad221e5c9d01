"""Files of settings, as Java reads them."""

import pytest

from kcodec.cli.properties import properties
from kcodec.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1\n b : 2\n\tc 3\r\nd=\n", {"a": "1", "b": "2", "c": "3", "d": ""}),
        ("a=1 \\\n  2 \\\r\n# 3\n#b=\\\nc=\\\\\n", {"a": "1 2 # 3", "c": "\\"}),
        (r"a\ b\=c=d=e\:f\\g\h\t\u00e4\ud83d\ude00", {"a b=c": "d=e:f\\gh\tä\U0001f600"}),
        ("a==b\x0bc", {"a": "=b\x0bc"}),
        ("a=1\na=2\nb=3\\", {"a": "2", "b": "3"}),
    ],
)
def test_settings_as_java_reads_them(text, found):
    assert properties(text, "f") == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n#\na\n", "f, line 3 is not name=value"),
        ("a=1\\\n2\n=3", "f, line 3 is not name=value"),
        (r"a=secret\u12x4", r"f, line 1: behind \u stand four hexadecimal digits"),
    ],
)
def test_settings_that_are_none(text, reason):
    with pytest.raises(ConfigError) as info:
        properties(text, "f")
    assert str(info.value) == reason
