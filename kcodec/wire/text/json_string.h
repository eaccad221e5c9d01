/* Strings of JSON, and what reading all of its tokens stands on. Reading takes a position, returns the one behind what it
 * read, and NULL for a failure, whose code and place it notes. `end` is where the document ends; KC_JSON_MARGIN bytes
 * behind it may be read. The text is known to be UTF-8. */
#ifndef KCODEC_JSON_STRING_H
#define KCODEC_JSON_STRING_H

#include <stddef.h>

#include "bits.h"
#include "processor.h"

#if defined(__SSE2__) || (defined(_MSC_VER) && defined(_M_X64))
#define KC_JSON_SSE2
#include <emmintrin.h>
#endif
/* What later processors do better, they are asked for at run time. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define KC_JSON_HASWELL __attribute__((target("avx2,bmi,bmi2,lzcnt")))
#endif

enum { KC_JSON_MARGIN = 64 };

typedef struct {
    int code;
    const uint8_t *at;
} kc_json_fault;

static KC_COLD const uint8_t *kc_json_refuse(kc_json_fault *fault, int code, const uint8_t *at) {
    fault->code = code;
    fault->at = at;
    return NULL;
}

static KC_INLINE const uint8_t *kc_json_space(const uint8_t *at, const uint8_t *end) {
    while (at < end && *at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

#define KC_JSON_ONES UINT64_C(0x0101010101010101)
#define KC_JSON_TOPS UINT64_C(0x8080808080808080)

/* The top bit of each byte that ends a run of plain text: a quote, a backslash, a control character. What stands above
 * the first of them may be wrong. */
static inline uint64_t kc_json_special8(uint64_t word) {
    return kc_equal8(word, KC_JSON_ONES * '"') | kc_equal8(word, KC_JSON_ONES * '\\') |
           ((word - KC_JSON_ONES * 0x20) & ~word & KC_JSON_TOPS);
}

/* Copy plain text; return where it ends, which may be behind `end`. 16 bytes more than the text may be written. Without
 * a target nothing is. */
static KC_INLINE const uint8_t *kc_json_plain(const uint8_t *at, const uint8_t *end, uint8_t *target) {
#if defined(KC_JSON_SSE2)
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
    do {
        const __m128i text = _mm_loadu_si128((const __m128i *)at);
        if (target) {
            _mm_storeu_si128((__m128i *)target, text);
            target += 16;
        }
        const __m128i found = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, slash)),
            _mm_cmpeq_epi8(_mm_max_epu8(text, control), control)
        );
        const unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask) return at + kc_ctz64(mask);
        at += 16;
    } while (at < end);
#else
    do {
        const uint64_t word = kc_load_le64(at);
        if (target) {
            kc_store_le64(target, word);
            target += 8;
        }
        const uint64_t mask = kc_json_special8(word);
        if (mask) return at + (kc_ctz64(mask) >> 3);
        at += 8;
    } while (at < end);
#endif
    return at;
}

/* Copy 32 bytes; return how many of them, from the first on, are plain text. All at once, as lengths cannot be predicted. */
static KC_INLINE int kc_json_plain32(const uint8_t *at, uint8_t *target) {
#if defined(KC_JSON_SSE2)
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
    const __m128i one = _mm_loadu_si128((const __m128i *)at);
    const __m128i two = _mm_loadu_si128((const __m128i *)(at + 16));
    _mm_storeu_si128((__m128i *)target, one);
    _mm_storeu_si128((__m128i *)(target + 16), two);
    const uint64_t low = (uint64_t)_mm_movemask_epi8(_mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(one, quote), _mm_cmpeq_epi8(one, slash)),
        _mm_cmpeq_epi8(_mm_max_epu8(one, control), control)
    ));
    const uint64_t high = (uint64_t)_mm_movemask_epi8(_mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(two, quote), _mm_cmpeq_epi8(two, slash)),
        _mm_cmpeq_epi8(_mm_max_epu8(two, control), control)
    ));
    return kc_ctz64(low | high << 16 | UINT64_C(1) << 32);
#else
    int count = 0;
    kc_copy32(target, at);
    for (; count < 32; count += 8) {
        const uint64_t mask = kc_json_special8(kc_load_le64(at + count));
        if (mask) return count + (kc_ctz64(mask) >> 3);
    }
    return count;
#endif
}

/* Four hexadecimal digits, or -1 with the failure noted; `start` is the backslash before them. */
static inline int32_t kc_json_unit(
    const uint8_t *at, const uint8_t *end, const uint8_t *start, kc_json_fault *fault
) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++, at++) {
        if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end), -1;
        const uint8_t letter = *at | 0x20;
        if ((uint8_t)(*at - '0') < 10)
            value = 16 * value + (*at - '0');
        else if ((uint8_t)(letter - 'a') < 6)
            value = 16 * value + (letter - 'a' + 10);
        else
            return kc_json_refuse(fault, KC_JSON_SYNTAX, start), -1;
    }
    return value;
}

/* Read the escape at a backslash; its text, of at most four bytes, goes to `text`. */
static inline const uint8_t *kc_json_escape(
    const uint8_t *at, const uint8_t *end, uint8_t *text, int *size, kc_json_fault *fault
) {
    const uint8_t *const start = at++;
    if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
    *size = 1;
    switch (*at++) {
    case '"': text[0] = '"'; return at;
    case '\\': text[0] = '\\'; return at;
    case '/': text[0] = '/'; return at;
    case 'b': text[0] = '\b'; return at;
    case 'f': text[0] = '\f'; return at;
    case 'n': text[0] = '\n'; return at;
    case 'r': text[0] = '\r'; return at;
    case 't': text[0] = '\t'; return at;
    case 'u': break;
    default: return kc_json_refuse(fault, KC_JSON_SYNTAX, start);
    }
    int32_t code = kc_json_unit(at, end, start, fault);
    if (code < 0) return NULL;
    at += 4;
    if ((code & 0xF800) == 0xD800) {
        if (code >= 0xDC00) return kc_json_refuse(fault, KC_LONE_SURROGATE, start);
        const uint8_t *const second = at;
        for (int i = 0; i < 2; i++, at++) {
            if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
            if (*at != "\\u"[i]) return kc_json_refuse(fault, KC_LONE_SURROGATE, start);
        }
        const int32_t low = kc_json_unit(at, end, second, fault);
        if (low < 0) return NULL;
        if ((low & 0xFC00) != 0xDC00) return kc_json_refuse(fault, KC_LONE_SURROGATE, start);
        at += 4;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code < 0x80) {
        text[0] = (uint8_t)code;
    } else if (code < 0x800) {
        text[0] = (uint8_t)(0xC0 | code >> 6);
        text[1] = (uint8_t)(0x80 | (code & 0x3F));
        *size = 2;
    } else if (code < 0x10000) {
        text[0] = (uint8_t)(0xE0 | code >> 12);
        text[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        text[2] = (uint8_t)(0x80 | (code & 0x3F));
        *size = 3;
    } else {
        text[0] = (uint8_t)(0xF0 | code >> 18);
        text[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        text[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        text[3] = (uint8_t)(0x80 | (code & 0x3F));
        *size = 4;
    }
    return at;
}

#if defined(KC_JSON_SSE2)
/* A bit for each of 16 bytes that ends plain text. */
static KC_INLINE uint64_t kc_json_specials(__m128i text) {
    const __m128i control = _mm_set1_epi8(0x1F);
    return (uint64_t)_mm_movemask_epi8(_mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('"')), _mm_cmpeq_epi8(text, _mm_set1_epi8('\\'))),
        _mm_cmpeq_epi8(_mm_max_epu8(text, control), control)
    ));
}
#endif

/* What stands for a character of ASCII behind a backslash; 0: it takes more to tell. */
static const uint8_t kc_json_simple[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 47,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 92, 0, 0, 0,
    0, 0, 8, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 10, 0,
    0, 0, 13, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

/* The value of a hexadecimal digit; -1 for what is none. */
static KC_INLINE int kc_json_hex(uint8_t letter) {
    const unsigned digit = (unsigned)letter - '0', upper = ((unsigned)letter | 0x20) - 'a';
    return digit < 10 ? (int)digit : upper < 6 ? (int)upper + 10 : -1;
}

/* Read what `kc_json_simple` does not have, and escapes \uXXXX that follow it; NULL, with nothing noted, if one is wrong. */
static const uint8_t *kc_json_unicode(const uint8_t *at, const uint8_t *end, uint8_t **target) {
    uint8_t *out = *target;
    do {
        const int code = kc_json_hex(at[2]) * 4096 | kc_json_hex(at[3]) * 256 | kc_json_hex(at[4]) * 16 | kc_json_hex(at[5]);
        if (KC_LIKELY(at[1] == 'u' && code >= 0x80 && (code & 0xF800) != 0xD800)) {
            if (code < 0x800) {
                out[0] = (uint8_t)(0xC0 | code >> 6);
                out[1] = (uint8_t)(0x80 | (code & 0x3F));
                out += 2;
            } else {
                out[0] = (uint8_t)(0xE0 | code >> 12);
                out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
                out[2] = (uint8_t)(0x80 | (code & 0x3F));
                out += 3;
            }
            at += 6;
        } else {
            kc_json_fault fault;
            uint8_t text[4] = {0, 0, 0, 0};
            int size = 0;
            if ((at = kc_json_escape(at, end, text, &size, &fault)) == NULL) return NULL;
            memcpy(out, text, 4);
            out += size;
        }
    } while (at < end && at[0] == '\\' && at[1] == 'u');
    *target = out;
    return at <= end ? at : NULL;
}

/* A bit for each of 64 bytes that ends plain text. */
static KC_INLINE uint64_t kc_json_specials64(const uint8_t *at) {
    uint64_t bits = 0;
#if defined(KC_JSON_SSE2)
    for (int i = 0; i < 64; i += 16) bits |= kc_json_specials(_mm_loadu_si128((const __m128i *)(at + i))) << i;
#else
    for (int i = 0; i < 64; i++) bits |= (uint64_t)(at[i] == '"' || at[i] == '\\' || at[i] < 0x20) << i;
#endif
    return bits;
}

static KC_INLINE void kc_copy64(uint8_t *to, const uint8_t *from) {
    kc_copy32(to, from);
    kc_copy32(to + 32, from + 32);
}

static KC_INLINE const uint8_t *kc_json_plain_inline(
    const uint8_t *at, const uint8_t *end, uint8_t *target, uint64_t (*specials)(const uint8_t *)
) {
    do {
        const uint64_t found = specials(at);
        kc_copy64(target, at);
        if (found) return at + kc_ctz64(found);
        at += 64;
        target += 64;
    } while (at < end);
    return at;
}

/* Escapes are found 64 bytes at a time, so that none waits until the one before is read. */
static KC_INLINE const uint8_t *kc_json_text_inline(
    const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length, uint64_t (*specials)(const uint8_t *)
) {
    uint8_t *const first = target;
    const uint8_t *from = at; /* what is to be copied next */
    for (; at < end; at += 64) {
        uint64_t found = specials(at);
        if (KC_UNLIKELY(from > at)) found = from - at < 64 ? found & UINT64_MAX << (from - at) : 0;
        while (found) {
            const uint8_t *const special = at + kc_ctz64(found);
            const int64_t size = special - from;
            if (KC_UNLIKELY(special >= end)) return NULL;
            kc_copy64(target, from);
            for (int64_t i = 64; KC_UNLIKELY(i < size); i += 64) kc_copy64(target + i, from + i);
            target += size;
            if (*special != '\\') {
                *length = target - first;
                return KC_LIKELY(*special == '"') ? special + 1 : NULL;
            }
            const uint8_t simple = special[1] < 128 ? kc_json_simple[special[1]] : 0;
            if (KC_LIKELY(simple)) {
                *target++ = simple;
                from = special + 2;
            } else if ((from = kc_json_unicode(special, end, &target)) == NULL) {
                return NULL;
            }
            found = from - at < 64 ? found & UINT64_MAX << (from - at) : 0;
        }
    }
    return NULL;
}

#if defined(KC_JSON_HASWELL)
KC_JSON_HASWELL static inline uint64_t kc_json_specials64_haswell(const uint8_t *at) {
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1F);
    const __m256i one = _mm256_loadu_si256((const __m256i *)at);
    const __m256i two = _mm256_loadu_si256((const __m256i *)(at + 32));
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(
        _mm256_or_si256(_mm256_cmpeq_epi8(one, quote), _mm256_cmpeq_epi8(one, slash)),
        _mm256_cmpeq_epi8(_mm256_max_epu8(one, control), control)
    ));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(
        _mm256_or_si256(_mm256_cmpeq_epi8(two, quote), _mm256_cmpeq_epi8(two, slash)),
        _mm256_cmpeq_epi8(_mm256_max_epu8(two, control), control)
    ));
    return low | (uint64_t)high << 32;
}

KC_JSON_HASWELL static const uint8_t *kc_json_plain_haswell(const uint8_t *at, const uint8_t *end, uint8_t *target) {
    return kc_json_plain_inline(at, end, target, kc_json_specials64_haswell);
}

KC_JSON_HASWELL static const uint8_t *kc_json_text_haswell(
    const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length
) {
    return kc_json_text_inline(at, end, target, length, kc_json_specials64_haswell);
}
#endif

#if defined(KC_ICELAKE)
KC_ICELAKE static const uint8_t *kc_json_plain_icelake(const uint8_t *at, const uint8_t *end, uint8_t *target) {
    const __m512i quote = _mm512_set1_epi8('"'), slash = _mm512_set1_epi8('\\'), space = _mm512_set1_epi8(' ');
    do {
        const __m512i text = _mm512_loadu_si512(at);
        const uint64_t found = _mm512_cmpeq_epi8_mask(text, quote) | _mm512_cmpeq_epi8_mask(text, slash) |
                               _mm512_cmplt_epu8_mask(text, space);
        _mm512_storeu_si512(target, text);
        if (found) return at + kc_ctz64(found);
        at += 64;
        target += 64;
    } while (at < end);
    return at;
}

/* All escapes of 64 bytes at once: the characters behind backslashes are looked up, and the backslashes dropped. */
KC_ICELAKE static const uint8_t *kc_json_text_icelake(
    const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length
) {
    const __m512i low = _mm512_loadu_si512(kc_json_simple), high = _mm512_loadu_si512(kc_json_simple + 64);
    const __m512i quote = _mm512_set1_epi8('"'), slash = _mm512_set1_epi8('\\'), space = _mm512_set1_epi8(' ');
    const uint64_t odd = UINT64_C(0xAAAAAAAAAAAAAAAA);
    uint8_t *const first = target;
    uint64_t carried = 0; /* whether the byte before is the backslash of an escape */
    while (at < end) {
        const __m512i text = _mm512_loadu_si512(at);
        const uint64_t slashes = _mm512_cmpeq_epi8_mask(text, slash);
        uint64_t stops = _mm512_cmpeq_epi8_mask(text, quote) | _mm512_cmplt_epu8_mask(text, space);
        /* Of backslashes behind each other, every second one is no escape (as simdjson finds them). */
        const uint64_t codes = (((slashes & ~carried) << 1 | odd) - (slashes & ~carried)) ^ odd;
        const uint64_t escapes = codes & slashes, escaped = codes ^ (slashes | carried);
        const __m512i simple = _mm512_permutex2var_epi8(low, text, high);
        const __m512i result = _mm512_mask_blend_epi8(escaped, text, simple);
        uint64_t odds = escaped & (_mm512_testn_epi8_mask(simple, simple) | _mm512_movepi8_mask(text));
        uint64_t keep = UINT64_MAX;
        const uint8_t *next = at + 64, *odd_one = NULL;
        stops &= ~escaped;
        if (stops) keep = (stops & (0 - stops)) - 1;
        odds &= keep;
        if (KC_UNLIKELY(odds)) {
            /* Up to its backslash, which may be the byte before. */
            const uint64_t bit = odds & (0 - odds);
            keep = (bit >> 1 ? (bit >> 1) - 1 : 0);
            odd_one = at + kc_ctz64(bit) - 1;
        }
        keep &= ~escapes;
        _mm512_storeu_si512(target, _mm512_maskz_compress_epi8(keep, result));
        target += KC_POPCOUNT64(keep);
        carried = escapes >> 63;
        if (KC_UNLIKELY(odds)) {
            /* Behind the end there need not be all of an escape to read. */
            if (odd_one >= end || (next = kc_json_unicode(odd_one, end, &target)) == NULL) return NULL;
            carried = 0;
        } else if (stops) {
            at += kc_ctz64(stops);
            *length = target - first;
            return KC_LIKELY(at < end && *at == '"') ? at + 1 : NULL;
        }
        at = next;
    }
    return NULL;
}
#endif

/* Copy plain text that is long as `kc_json_plain` does, but 64 bytes more than it may be written. */
static inline const uint8_t *kc_json_plain_long(const uint8_t *at, const uint8_t *end, uint8_t *target) {
#if defined(KC_JSON_HASWELL)
    if (kc_has_icelake()) return kc_json_plain_icelake(at, end, target);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return kc_json_plain_haswell(at, end, target);
#endif
    return kc_json_plain_inline(at, end, target, kc_json_specials64);
}

/* Read a string as `kc_json_string` does, but 64 bytes more than the text may be written; NULL, with nothing noted, if it
 * is wrong. */
static KC_NOINLINE const uint8_t *kc_json_text(
    const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length
) {
#if defined(KC_JSON_HASWELL)
    if (kc_has_icelake()) return kc_json_text_icelake(at, end, target, length);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return kc_json_text_haswell(at, end, target, length);
#endif
    return kc_json_text_inline(at, end, target, length, kc_json_specials64);
}

/* Read a string from behind its first quote past its last one. Its text, never longer than it stands there, goes to
 * `target` (16 bytes more may be written), its length to `length`; without a target it is only checked. */
static KC_COLD const uint8_t *kc_json_string(
    const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length, kc_json_fault *fault
) {
    uint8_t *const first = target;
    uint8_t text[4] = {0, 0, 0, 0};
    int size = 0;
    for (;;) {
        const uint8_t *const stop = kc_json_plain(at, end, target);
        if (stop >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
        if (target) target += stop - at;
        at = stop;
        if (*at == '"') {
            if (target) *length = target - first;
            return at + 1;
        }
        if (*at != '\\') return kc_json_refuse(fault, KC_JSON_SYNTAX, at);
        at = kc_json_escape(at, end, text, &size, fault);
        if (at == NULL) return NULL;
        if (target) {
            memcpy(target, text, 4);
            target += size;
        }
    }
}

static KC_INLINE const uint8_t *kc_json_skip_string(
    const uint8_t *at, const uint8_t *end, kc_json_fault *fault
) {
    const uint8_t *const stop = kc_json_plain(at, end, NULL);
    if (KC_LIKELY(stop < end && *stop == '"')) return stop + 1;
    return kc_json_string(at, end, NULL, NULL, fault);
}

#endif
