"""Text and doubles of JSON by every variant that the headers have: which one runs is for the processor to say."""

import ctypes
import json
import struct

import numpy as np
import pytest
from compiled import compiled
from hypothesis import given
from hypothesis import strategies as st

SOURCE = r"""
#include "json.h"
#include "real.h"
#define SUPPORTED(name) __builtin_cpu_supports(name)
static int64_t all_of(const uint8_t *text, int64_t size, uint8_t *out, int64_t *length) {
    kc_json_fault fault;
    const uint8_t *const at = kc_json_string(text, text + size, out, length, &fault);
    return at ? at - text : -1;
}
static int64_t plain(const uint8_t *text, int64_t size, uint8_t *out, int64_t *length) {
    const uint8_t *const at = kc_json_text_inline(text, text + size, out, length, kc_json_specials64);
    return at ? at - text : -1;
}
static int64_t haswell(const uint8_t *text, int64_t size, uint8_t *out, int64_t *length) {
#if defined(KC_JSON_HASWELL)
    if (SUPPORTED("avx2") && SUPPORTED("bmi2")) {
        const uint8_t *const at = kc_json_text_haswell(text, text + size, out, length);
        return at ? at - text : -1;
    }
#endif
    return plain(text, size, out, length);
}
static int64_t icelake(const uint8_t *text, int64_t size, uint8_t *out, int64_t *length) {
#if defined(KC_ICELAKE)
    if (kc_has_icelake()) {
        const uint8_t *const at = kc_json_text_icelake(text, text + size, out, length);
        return at ? at - text : -1;
    }
#endif
    return plain(text, size, out, length);
}
int64_t read_text(int variant, const uint8_t *text, int64_t size, uint8_t *out, int64_t *length) {
    return (variant == 0 ? all_of : variant == 1 ? plain : variant == 2 ? haswell : icelake)(text, size, out, length);
}
int64_t read_plain(int variant, const uint8_t *text, int64_t size, uint8_t *out) {
#if defined(KC_JSON_HASWELL)
    if (variant == 2 && SUPPORTED("avx2") && SUPPORTED("bmi2"))
        return kc_json_plain_haswell(text, text + size, out) - text;
#endif
    if (variant == 1) return kc_json_plain_inline(text, text + size, out, kc_json_specials64) - text;
    return kc_json_plain_long(text, text + size, out) - text;
}
int64_t read_doubles(
    int variant, const uint8_t *text, int64_t size, const uint64_t *powers, double *out, int64_t *count
) {
    const uint8_t *const at = variant ? kc_json_doubles_inline(text, text + size, powers, out, count)
                                      : kc_json_doubles(text, text + size, powers, out, count);
    return at ? at - text : -1;
}
int64_t objects(
    int variant, const uint8_t *text, int64_t size, const uint8_t **starts, const uint8_t **ends, int64_t room
) {
    const uint8_t *const end = text + size;
#if defined(KC_JSON_SSE2)
    if (variant) return kc_json_objects_inline(text, end, starts, ends, room, kc_json_marks_of, kc_json_strings);
#endif
    return kc_json_objects(text, end, starts, ends, room);
}
int64_t past(const uint8_t *text, int64_t size) {
    const int brackets = (*text | 32) == '{';
    const uint8_t *const at = (brackets ? kc_json_past_brackets : kc_json_past)(text, text + size);
    return at ? at - text : -1;
}
#if defined(KC_JSON_SSE2)
int has_vectors(void) { return 1; }
#else
int has_vectors(void) { return 0; }
#endif
"""
MARGIN = 64  # readable bytes behind a document, and before it


# The headers as they are here, and as where there is no SSE2.
@pytest.fixture(scope="module", params=[[], ["-U__SSE2__"]], ids=["vectors", "words"])
def variants(tmp_path_factory, request):
    loaded = compiled(SOURCE, tmp_path_factory.mktemp("json"), *request.param)
    loaded.vectors = loaded.has_vectors()
    for name in ("read_text", "read_plain", "read_doubles", "objects", "past"):
        getattr(loaded, name).restype = ctypes.c_int64
    return loaded


def placed(text, behind):
    """Return memory with a text in it, and where that is; behind it stands something else."""
    memory = ctypes.create_string_buffer(b"7" * MARGIN + text + (behind * MARGIN)[:MARGIN])
    return memory, ctypes.c_void_p(ctypes.addressof(memory) + MARGIN)


ESCAPES = st.sampled_from(
    [
        r"\n",
        r"\"",
        r"\\",
        r"\/",
        r"\t",
        r"\u00e9",
        r"\u0041",
        r"\ud83d\ude00",
        r"\u4e2d\u6587",
        r"\\\"",
        r"\b\f\r",
    ]
)
BAD = st.sampled_from(["\\", r"\x", r"\u12", r"\ud800", r"\ude00", "\x01", "\n", '"', "\\\u00e9", r"\u00g0"])
PARTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters='"\\', exclude_categories=["Cc"]), max_size=100),
    ESCAPES,
    st.integers(0, 200).map(lambda count: "x" * count),
    st.integers(0, 70).map(lambda count: "\\\\" * count),
)


@given(
    st.lists(PARTS, max_size=12),
    st.one_of(st.just(""), BAD),
    st.sampled_from([b'"', b"\\", b"n", b"\\\\\\n"]),
    st.data(),
)
def test_text(variants, parts, bad, behind, data):
    tail = data.draw(st.sampled_from(['"', '",', '"\\', ""]))
    text = ("".join([*parts, bad, *parts[:2]]) + tail).encode()
    memory, start = placed(text, behind)
    answers = []
    for variant in range(4):
        out = ctypes.create_string_buffer(b"#" * (len(text) + MARGIN))
        length = ctypes.c_int64(0)
        stop = variants.read_text(variant, start, ctypes.c_int64(len(text)), out, ctypes.byref(length))
        answers.append((stop, out.raw[: length.value] if stop >= 0 else b""))
    assert answers == answers[:1] * 4
    if tail and not bad:
        assert answers[0][1].decode() == json.loads(f'"{"".join([*parts, *parts[:2]])}"')
    del memory


@given(st.text(max_size=200), st.sampled_from([b'"', b"\\", b"\n", b"\x1f", b"\x00", b"x"]))
def test_plain_text(variants, plain, behind):
    text = "".join(each for each in plain if each not in '"\\' and each >= " ").encode()
    memory, start = placed(text, behind)
    for variant in range(3):
        out = ctypes.create_string_buffer(len(text) + 2 * MARGIN)
        stop = variants.read_plain(variant, start, ctypes.c_int64(len(text)), out)
        # Where nothing ends it in time, it is looked for in steps of 64 bytes.
        assert stop == len(text) if behind != b"x" else stop >= len(text)
        assert out.raw[: len(text)] == text
    del memory


def powers():
    words = []
    for power in range(-342, 325):
        five = 5 ** abs(power)
        if power >= 0:
            bits = five << 128 >> five.bit_length()
        else:
            bits = (1 << (five.bit_length() + 127)) // five + (power >= -27)
        words += (bits >> 64, bits & (2**64 - 1))
    return np.array(words, np.uint64)


POWERS = powers()
#: Doubles as `repr` prints them, as others may, and at the borders of what is read at once.
DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1, 1).map(repr),
    st.builds("{}.{}".format, st.integers(-(10**15), 10**15), st.from_regex(r"[0-9]{1,24}", fullmatch=True)),
    st.builds("{:.{}e}".format, st.floats(-1e300, 1e300), st.integers(0, 20)),
    st.integers(2**53, 2**54).map(lambda number: f"{number}.5"),
    st.integers(-(10**15), 10**15).map(str),
    st.builds("{}e{}".format, st.integers(1, 99), st.integers(-400, 308)),
)


@given(st.lists(DOUBLES, min_size=1, max_size=40), st.sampled_from(["", ",", "1", "]", "e", "-", "x", " "]))
def test_doubles(variants, numbers, bad):
    text = (",".join(numbers) + bad + "]").encode()
    memory, start = placed(text, b"1,2]")
    for variant in range(2):
        out = np.zeros(len(text) + 8)
        count = ctypes.c_int64(-1)
        stop = variants.read_doubles(
            variant, start, ctypes.c_int64(len(text)), ctypes.c_void_p(POWERS.ctypes.data),
            ctypes.c_void_p(out.ctypes.data), ctypes.byref(count),
        )  # fmt: skip
        if stop < 0:
            continue
        assert stop == text.index(b"]")
        expected = [float(number) for number in text[:stop].decode().split(",")]
        assert struct.pack(f"{count.value}d", *out[: count.value]) == struct.pack(
            f"{len(expected)}d", *expected
        )
    del memory


@given(st.lists(st.floats(-1, 1).filter(lambda number: abs(number) > 1e-4), min_size=1, max_size=40))
def test_computed_doubles_are_all_read_at_once(variants, numbers):
    text = (",".join(map(repr, numbers)) + "]").encode()
    memory, start = placed(text, b"1")
    out, count = np.zeros(len(numbers)), ctypes.c_int64(0)
    stop = variants.read_doubles(
        1, start, ctypes.c_int64(len(text)), ctypes.c_void_p(POWERS.ctypes.data),
        ctypes.c_void_p(out.ctypes.data), ctypes.byref(count),
    )  # fmt: skip
    assert (stop, count.value, out.tolist()) == (len(text) - 1, len(numbers), numbers)
    del memory


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=80)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=9), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([b",", b"}", b" ,"]))
def test_where_a_value_ends(variants, value, escaped, behind):
    text = json.dumps(value, ensure_ascii=escaped).encode()
    memory, start = placed(text + behind, b"}]\"'")
    stop = variants.past(start, ctypes.c_int64(len(text + behind)))
    # Without vectors, brackets are not asked.
    assert stop == (-1 if text[:1] in b"[{" and not variants.vectors else len(text))
    assert variants.past(start, ctypes.c_int64(len(text) - 1)) == -1 or not isinstance(
        value, (list, dict, str)
    )
    del memory


@given(
    st.lists(st.one_of(st.lists(VALUES, max_size=3), st.dictionaries(st.text(max_size=70), VALUES, max_size=3))),
    st.booleans(), st.sampled_from([",", " , "]), st.integers(1, 9), st.integers(0, 3),
)  # fmt: skip
def test_where_objects_stand(variants, values, escaped, comma, room, cut):
    texts = [json.dumps(value, ensure_ascii=escaped).encode() for value in values]
    text = comma.encode().join(texts) + b"]"
    memory, start = placed(text, b'{}]"')
    found = []
    end = 0
    for each in texts[:room]:
        begin = text.index(each, end)
        end = begin + len(each)
        # One that does not end where the text does is not found.
        if end <= len(text) - cut:
            found.append((begin, end))
    for variant in range(2):
        starts, ends = (np.zeros(room, np.int64) for _ in "12")
        count = variants.objects(
            variant, start, ctypes.c_int64(len(text) - cut), ctypes.c_void_p(starts.ctypes.data),
            ctypes.c_void_p(ends.ctypes.data), ctypes.c_int64(room),
        )  # fmt: skip
        expected = found if variants.vectors else []
        assert count == len(expected)
        assert list(zip(starts - start.value, ends - start.value, strict=True))[:count] == expected
    del memory
