"""UTF-8 by every variant that the header has: which one runs is for the processor to say."""

import ctypes

import pytest
from cases import cases
from compiled import compiled
from hypothesis import example, given
from hypothesis import strategies as st

SOURCE = r"""
#include "utf8.h"
#define SUPPORTED(name) __builtin_cpu_supports(name)
int valid(int variant, const uint8_t *text, int64_t size, int *ascii) {
#if defined(KCODEC_UTF8_AVX2)
    if (variant == 1 && kc_has_icelake()) return kcodec_utf8_valid_icelake(text, size, ascii);
    if (variant == 2 && SUPPORTED("avx2")) return kcodec_utf8_valid_avx2(text, size, ascii);
#elif defined(KCODEC_UTF8_NEON)
    if (variant == 1) return kcodec_utf8_valid_neon(text, size);
#endif
    if (variant == 3) return utf8_valid_prefix(text, size) == (size_t)size;
    return kcodec_utf8_valid_together(text, size, ascii) && utf8_valid(text, size);
}
"""
VARIANTS = range(4)


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    function = compiled(SOURCE, tmp_path_factory.mktemp("utf8")).valid

    def asked(variant, text):
        ascii = ctypes.c_int(-1)
        return bool(function(variant, text, ctypes.c_int64(len(text)), ctypes.byref(ascii))), ascii.value

    return asked


PARTS = st.one_of(
    st.integers(0, 130).map(lambda count: b"x" * count),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(
        ["é", "日", "𝄞", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff"]
    ).map(str.encode),
    st.sampled_from(
        [
            b"\x80",
            b"\xc0\x80",
            b"\xc1\xbf",
            b"\xe0\x9f\xbf",
            b"\xed\xa0\x80",
            b"\xf0\x8f\xbf\xbf",
            b"\xf4\x90\x80\x80",
        ]
    ),
    st.sampled_from([b"\xc3", b"\xe6\x97", b"\xf0\x9d\x84", b"\xff", b"\xf5\x80\x80\x80"]),
)


@given(st.lists(PARTS, max_size=12).map(b"".join))
@example(b"")
@example(b"x" * 63 + "é".encode())  # across two blocks of 64 bytes
@example(b"x" * 61 + "𝄞".encode())
@example(b"x" * 63 + b"\xc3")  # cut where a block ends
@example(b"x" * 62 + b"\xe6\x97" + b"x" * 64)
@example(b"x" * 61 + b"\xf0\x9d\x84" + b"x" * 200)
@example(b"x" * 64 + b"\x80")
def test_valid(valid, text):
    try:
        text.decode()
        expected = True
    except UnicodeDecodeError:
        expected = False
    for variant in VARIANTS:
        answer, ascii = valid(variant, text)
        assert answer is expected
        assert ascii in (-1, text.isascii())


@cases("size", range(1, 140))
def test_cut_anywhere(valid, size):
    text = ("aé日𝄞" * 14).encode()[:size]
    behind = text + b"x" * 70
    for variant in VARIANTS:
        for each in (text, behind):
            try:
                each.decode()
                assert valid(variant, each)[0]
            except UnicodeDecodeError:
                assert not valid(variant, each)[0]
