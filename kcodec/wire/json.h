/* The tokens of JSON (RFC 8259): strings, numbers, literals, values that are only read past; and strings and Base64
 * written. Reading takes a position, returns the one behind what it read, and NULL for a failure, whose code and place
 * it notes. `end` is where the document ends; KC_JSON_MARGIN bytes behind it may be read. The text is known to be UTF-8. */
#ifndef KCODEC_JSON_H
#define KCODEC_JSON_H

#include <float.h>
#include <stddef.h>

#include "bits.h"

#if defined(__SSE2__) || (defined(_MSC_VER) && defined(_M_X64))
#define KC_JSON_SSE2
#include <emmintrin.h>
#endif
/* What later processors do better, they are asked for at run time. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define KC_JSON_HASWELL __attribute__((target("avx2,bmi,bmi2,lzcnt")))
#define KC_JSON_ICELAKE \
    __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")))
#include <immintrin.h>
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

/* ---- strings ---- */

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
        const int code = kc_json_hex(at[2]) << 12 | kc_json_hex(at[3]) << 8 | kc_json_hex(at[4]) << 4 | kc_json_hex(at[5]);
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

#if defined(KC_JSON_ICELAKE)
/* All escapes of 64 bytes at once: the characters behind backslashes are looked up, and the backslashes dropped. */
KC_JSON_ICELAKE static const uint8_t *kc_json_text_icelake(
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
            if ((next = kc_json_unicode(odd_one, end, &target)) == NULL) return NULL;
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
    if (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi"))
        return kc_json_text_icelake(at, end, target, length);
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

/* ---- numbers ---- */

static inline const uint8_t *kc_json_digits(const uint8_t *at, const uint8_t *end, kc_json_fault *fault) {
    if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
    if ((uint8_t)(*at - '0') > 9) return kc_json_refuse(fault, KC_JSON_SYNTAX, at);
    while (at < end && (uint8_t)(*at - '0') < 10) at++;
    return at;
}

/* [-] (0 | 1-9 digits) [. digits] [(e|E) [+-] digits] */
static inline const uint8_t *kc_json_number(const uint8_t *at, const uint8_t *end, kc_json_fault *fault) {
    if (at < end && *at == '-') at++;
    if (at < end && *at == '0')
        at++;
    else if ((at = kc_json_digits(at, end, fault)) == NULL)
        return NULL;
    if (at < end && *at == '.')
        if ((at = kc_json_digits(at + 1, end, fault)) == NULL) return NULL;
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = kc_json_digits(at, end, fault);
    }
    return at;
}

/* The leading digits of eight bytes: their number, and their value. All at once, as lengths cannot be predicted. */
static KC_INLINE int kc_json_eight(const uint8_t *at, uint64_t *value) {
    uint64_t digits = kc_load_le64(at) ^ (KC_JSON_ONES * '0');
    const uint64_t others = ((digits + KC_JSON_ONES * 0x76) | digits) & KC_JSON_TOPS;
    const int count = others ? kc_ctz64(others) >> 3 : 8;
    digits = count ? digits << (64 - 8 * count) : 0;
    digits = digits * 10 + (digits >> 8);
    digits = ((digits & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
              ((digits >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
             32;
    *value = (uint32_t)digits;
    return count;
}

/* The number of the first `count` of eight bytes, at most seven. */
static KC_INLINE uint64_t kc_json_first(const uint8_t *at, int count) {
    uint64_t digits = (kc_load_le64(at) ^ (KC_JSON_ONES * '0')) << (56 - 8 * count) << 8;
    digits = digits * 10 + (digits >> 8);
    digits = ((digits & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
              ((digits >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
             32;
    return (uint32_t)digits;
}

static const uint64_t kc_json_pow10[19] = {
    UINT64_C(1), UINT64_C(10), UINT64_C(100), UINT64_C(1000), UINT64_C(10000), UINT64_C(100000),
    UINT64_C(1000000), UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000),
    UINT64_C(10000000000), UINT64_C(100000000000), UINT64_C(1000000000000), UINT64_C(10000000000000),
    UINT64_C(100000000000000), UINT64_C(1000000000000000), UINT64_C(10000000000000000),
    UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
};

/* Read a number of at most 15 digits before the point and 15 behind it, 18 together, without an exponent: its value
 * without the point, and how many digits are behind it. NULL for any other, with nothing noted. */
static KC_INLINE const uint8_t *kc_json_short(const uint8_t *at, const uint8_t *end, int64_t *value, int *fraction) {
    uint64_t number, more;
    const int64_t negative = *at == '-';
    at += negative;
    const uint8_t first = *at;
    int count = kc_json_eight(at, &number);
    if (KC_UNLIKELY(count == 0 || (first == '0' && count > 1))) return NULL;
    at += count;
    if (count == 8) {
        const int next = kc_json_eight(at, &more);
        number = number * kc_json_pow10[next] + more;
        count += next;
        at += next;
        if (KC_UNLIKELY(next == 8)) return NULL;
    }
    *fraction = 0;
    if (*at == '.') {
        int next = kc_json_eight(at + 1, &more);
        if (KC_UNLIKELY(next == 0)) return NULL;
        number = number * kc_json_pow10[next] + more;
        at += 1 + next;
        *fraction = next;
        if (next == 8) {
            next = kc_json_eight(at, &more);
            if (KC_UNLIKELY(next == 8 || count + next > 10)) return NULL;
            number = number * kc_json_pow10[next] + more;
            at += next;
            *fraction += next;
        } else if (KC_UNLIKELY(count + next > 18)) {
            return NULL;
        }
    }
    if (KC_UNLIKELY((*at | 0x20) == 'e' || at >= end)) return NULL;
    *value = ((int64_t)number ^ -negative) + negative;
    return at;
}

/* The same by 16 bytes at once, for at most 15 characters and a sign, with no branch but for the point: how long numbers
 * are cannot be predicted. 17 bytes before the one behind the number may be read too. */
#if defined(KC_JSON_SSE2)

/* 16 bytes from n on are a mask of the last n of them. */
static const uint8_t kc_json_counted[32] = {
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* A bit for each of 16 bytes that is no digit, and one behind. */
static KC_INLINE uint64_t kc_json_others(const uint8_t *at) {
    const __m128i text = _mm_loadu_si128((const __m128i *)at);
    const __m128i moved = _mm_add_epi8(text, _mm_set1_epi8((char)(0x80 - '0')));
    return (uint64_t)_mm_movemask_epi8(_mm_cmpgt_epi8(moved, _mm_set1_epi8((char)(0x80 + 9)))) | 0x10000;
}

/* The same of 32 bytes. */
static KC_INLINE uint64_t kc_json_others32(const uint8_t *at) {
    return (kc_json_others(at) ^ 0x10000) | kc_json_others(at + 16) << 16;
}

/* The number of the last `count` of 16 digits. */
static KC_INLINE int64_t kc_json_last(__m128i text, size_t count) {
    __m128i tens = _mm_set1_epi16(10 * 256 + 1);
#if defined(__GNUC__)
    /* Or the product becomes four shifts and sums. */
    __asm__("" : "+x"(tens));
#endif
    const __m128i digits = _mm_and_si128(
        _mm_sub_epi8(text, _mm_set1_epi8('0')), _mm_loadu_si128((const __m128i *)(kc_json_counted + count))
    );
    const __m128i pairs = _mm_srli_epi16(_mm_mullo_epi16(digits, tens), 8);
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    const uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eights);
    return (int64_t)((halves & UINT32_MAX) * 100000000 + (halves >> 32));
}

#else

/* A bit for each of 32 bytes that is no digit, and one behind; right up to the first one that is no digit or point. */
static KC_INLINE uint64_t kc_json_others32(const uint8_t *at) {
    uint64_t bits = UINT64_C(1) << 32;
    for (int i = 0; i < 32; i += 8) {
        const uint64_t digits = kc_load_le64(at + i) ^ (KC_JSON_ONES * '0');
        const uint64_t others = ((digits + KC_JSON_ONES * 0x76) | digits) & KC_JSON_TOPS;
        bits |= ((others >> 7) * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return bits;
}

#endif

static KC_INLINE const uint8_t *kc_json_whole(const uint8_t *at, const uint8_t *end, int64_t *value) {
#if defined(KC_JSON_SSE2)
    /* By their last five bits: a point, an exponent. */
    const uint32_t more = UINT32_C(1) << ('.' & 31) | UINT32_C(1) << ('e' & 31);
    const int64_t negative = *at == '-';
    const uint8_t *const first = at + negative;
    const size_t size = (size_t)kc_ctz64(kc_json_others(first));
    at = first + size;
    if (KC_UNLIKELY(size - 1 >= 15) || (KC_UNLIKELY(*first == '0') && size > 1)) return NULL;
    if (KC_UNLIKELY(more >> (*at & 31) & 1) || KC_UNLIKELY(at >= end)) return NULL;
    const int64_t number = kc_json_last(_mm_loadu_si128((const __m128i *)(at - 16)), size);
    *value = (number ^ -negative) + negative;
    return at;
#else
    int fraction = 0;
    at = kc_json_short(at, end, value, &fraction);
    return fraction ? NULL : at;
#endif
}

/* The same for 16 to 19 digits, up to 921 * 10**16. Nothing before the number is read. */
static KC_NOINLINE const uint8_t *kc_json_long(const uint8_t *at, const uint8_t *end, int64_t *value) {
    const int64_t negative = *at == '-';
    const uint8_t *const first = at + negative;
    const int size = kc_ctz64(kc_json_others32(first)), more = size - 16;
    int64_t number;
    at = first + size;
    if (KC_UNLIKELY((unsigned)more > 3) || *first == '0' || *at == '.' || (*at | 0x20) == 'e' || at >= end) return NULL;
    const uint64_t before = kc_json_first(first, more);
    if (KC_UNLIKELY(before > 921)) return NULL;
#if defined(KC_JSON_SSE2)
    number = kc_json_last(_mm_loadu_si128((const __m128i *)(at - 16)), 16);
#else
    uint64_t low, high;
    kc_json_eight(at - 16, &high);
    kc_json_eight(at - 8, &low);
    number = (int64_t)(high * 100000000 + low);
#endif
    number += (int64_t)before * INT64_C(10000000000000000);
    *value = (number ^ -negative) + negative;
    return at;
}

static KC_INLINE const uint8_t *kc_json_tight(const uint8_t *at, const uint8_t *end, int64_t *value, int *fraction) {
#if defined(KC_JSON_SSE2)
    const int64_t negative = *at == '-';
    const uint8_t *const first = at + negative;
    const uint64_t others = kc_json_others(first);
    const size_t whole = (size_t)kc_ctz64(others);
    size_t behind = 0;
    __m128i text;
    at = first + whole;
    if (KC_UNLIKELY(whole - 1 >= 15) || (KC_UNLIKELY(*first == '0') && whole > 1)) return NULL;
    if (KC_LIKELY(*at == '.')) {
        const size_t size = (size_t)kc_ctz64((others & (others - 1)) | 0x10000);
        behind = size - whole - 1;
        at = first + size;
        if (KC_UNLIKELY(behind == 0) || KC_UNLIKELY(size == 16)) return NULL;
        /* What stands before the point from a byte earlier on, so that no point is between. */
        const __m128i before = _mm_loadu_si128((const __m128i *)(at - 17));
        const __m128i both = _mm_xor_si128(before, _mm_loadu_si128((const __m128i *)(at - 16)));
        const __m128i mask = _mm_loadu_si128((const __m128i *)(kc_json_counted + behind));
        text = _mm_xor_si128(before, _mm_and_si128(both, mask));
    } else {
        text = _mm_loadu_si128((const __m128i *)(at - 16));
    }
    if (KC_UNLIKELY((*at | 0x20) == 'e') || KC_UNLIKELY(at >= end)) return NULL;
    const int64_t number = kc_json_last(text, whole + behind);
    *fraction = (int)behind;
    *value = (number ^ -negative) + negative;
    return at;
#else
    return kc_json_short(at, end, value, fraction);
#endif
}

/* A quotient of two numbers that the type holds exactly is the nearest to it: one operation, rounded once. */
static KC_INLINE int kc_json_quotient(int64_t value, int fraction, double *result) {
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    *result = (double)value / powers[fraction];
    return (uint64_t)(value + (INT64_C(1) << 53)) <= UINT64_C(1) << 54;
#else
    (void)powers, (void)value, (void)fraction, (void)result;
    return 0;
#endif
}

static KC_INLINE int kc_json_quotient_single(int64_t value, int fraction, float *result) {
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    if (fraction > 10) return 0;
    *result = (float)value / powers[fraction];
    return (uint64_t)(value + (INT64_C(1) << 24)) <= UINT64_C(1) << 25;
#else
    (void)powers, (void)value, (void)fraction, (void)result;
    return 0;
#endif
}

/* A bit for each of 64 bytes that ends an item of a list of numbers: a comma or a bracket. */
static KC_INLINE uint64_t kc_json_item_ends(const uint8_t *at) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += 16) {
#if defined(KC_JSON_SSE2)
        const __m128i text = _mm_loadu_si128((const __m128i *)(at + i));
        const __m128i found =
            _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')), _mm_cmpeq_epi8(text, _mm_set1_epi8(']')));
        bits |= (uint64_t)_mm_movemask_epi8(found) << i;
#else
        for (int j = i; j < i + 16; j++) bits |= (uint64_t)(at[j] == ',' || at[j] == ']') << j;
#endif
    }
    return bits;
}

/* ---- literals ---- */

/* Read `true` or `false`, NULL if it is neither. Which of the two cannot be predicted: a bit of the first letter chooses
 * what is compared. */
static KC_INLINE const uint8_t *kc_json_truth(const uint8_t *at, const uint8_t *end, uint8_t *truth) {
    static const uint64_t words[2] = {UINT64_C(0x65736C6166), UINT64_C(0x65757274)};
    const int bit = *at >> 4 & 1;
    *truth = (uint8_t)bit;
    at += 5 - bit;
    return KC_LIKELY(at <= end && (kc_load_le64(at - 5 + bit) ^ words[bit]) << (24 + 8 * bit) == 0) ? at : NULL;
}

/* ---- values that are read past ---- */

static inline const uint8_t *kc_json_literal(
    const uint8_t *at, const uint8_t *end, const char *word, kc_json_fault *fault
) {
    const uint8_t *const start = at;
    for (; *word; word++, at++) {
        if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
        if (*at != (uint8_t)*word) return kc_json_refuse(fault, KC_JSON_SYNTAX, start);
    }
    return at;
}

#if defined(KC_JSON_SSE2)
/* A bit for each of 16 bytes that ends a number or a literal. */
static KC_INLINE uint64_t kc_json_separators(__m128i text) {
    const __m128i space = _mm_set1_epi8(' ');
    return (uint64_t)_mm_movemask_epi8(_mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')), _mm_cmpeq_epi8(text, _mm_set1_epi8('}'))),
        _mm_cmpeq_epi8(_mm_max_epu8(text, space), space)
    ));
}
#endif

/* How many of 32 bytes, from the first on, are plain text of a string. */
static KC_INLINE int kc_json_plain_size(const uint8_t *at) {
#if defined(KC_JSON_SSE2)
    const __m128i one = _mm_loadu_si128((const __m128i *)at), two = _mm_loadu_si128((const __m128i *)(at + 16));
    return kc_ctz64(kc_json_specials(one) | kc_json_specials(two) << 16 | UINT64_C(1) << 32);
#else
    uint8_t copy[32];
    return kc_json_plain32(at, copy);
#endif
}

/* Where a string, a number or a literal ends, if it is one: what it holds is not looked at. NULL where that is behind
 * the end. Which of them it is cannot be predicted, nor how long, so that makes no difference up to 32 bytes. */
static KC_INLINE const uint8_t *kc_json_past(const uint8_t *at, const uint8_t *end) {
    const int text = *at == '"';
#if defined(KC_JSON_SSE2)
    const __m128i one = _mm_loadu_si128((const __m128i *)at), two = _mm_loadu_si128((const __m128i *)(at + 16));
    const uint64_t special = (kc_json_specials(one) | kc_json_specials(two) << 16) & ~UINT64_C(1);
    const uint64_t separator = kc_json_separators(one) | kc_json_separators(two) << 16;
    const uint64_t found = text ? special : separator;
    if (KC_LIKELY(found)) {
        const uint8_t *const stop = at + kc_ctz64(found);
        if (KC_LIKELY(stop < end) && KC_LIKELY(!(text & (*stop != '"')))) return stop + text;
    }
#endif
    if (text) {
        at = kc_json_plain(at + 1, end, NULL);
        while (at < end && *at == '\\') at = kc_json_plain(at + 2, end, NULL);
        return at < end && *at == '"' ? at + 1 : NULL;
    }
    while (at < end && *at != ',' && *at != '}' && *at > ' ') at++;
    return at < end ? at : NULL;
}

/* The same for an object or a list, of which only the brackets are looked at; NULL also if that does not tell. */
static KC_INLINE const uint8_t *kc_json_past_brackets(const uint8_t *at, const uint8_t *end) {
#if defined(KC_JSON_SSE2)
    const __m128i lower = _mm_set1_epi8(0x20);
    uint64_t inside = 0; /* all ones while a string goes on */
    int64_t depth = 0;
    for (; at < end; at += 64) {
        uint64_t quotes = 0, slashes = 0, opens = 0, closes = 0;
        for (int i = 0; i < 64; i += 16) {
            const __m128i text = _mm_loadu_si128((const __m128i *)(at + i)), letter = _mm_or_si128(text, lower);
            quotes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('"'))) << i;
            slashes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('\\'))) << i;
            opens |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(letter, _mm_set1_epi8('{'))) << i;
            closes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(letter, _mm_set1_epi8('}'))) << i;
        }
        for (int i = 1; i < 64; i <<= 1) quotes ^= quotes << i;
        inside ^= quotes;
        opens &= ~inside;
        closes &= ~inside;
        for (; closes; closes &= closes - 1) {
            const uint64_t before = closes & (0 - closes);
            depth += KC_POPCOUNT64(opens & (before - 1)) - 1;
            opens &= ~(before - 1);
            if (depth == 0) {
                at += kc_ctz64(closes);
                return (slashes & (before - 1)) || at >= end ? NULL : at + 1;
            }
        }
        if (slashes) return NULL;
        depth += KC_POPCOUNT64(opens);
        inside = (uint64_t)((int64_t)inside >> 63);
    }
#else
    (void)at, (void)end;
#endif
    return NULL;
}

/* A key and its colon. */
static inline const uint8_t *kc_json_skip_key(
    const uint8_t *at, const uint8_t *end, kc_json_fault *fault
) {
    at = kc_json_space(at, end);
    if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
    if (*at != '"') return kc_json_refuse(fault, KC_JSON_SYNTAX, at);
    if ((at = kc_json_skip_string(at + 1, end, fault)) == NULL) return NULL;
    at = kc_json_space(at, end);
    if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
    if (*at != ':') return kc_json_refuse(fault, KC_JSON_SYNTAX, at);
    return at + 1;
}

/* Read any value past; `levels` more may be nested (at most 1024). The stack is a bit for each level: an object or not. */
static inline const uint8_t *kc_json_skip(
    const uint8_t *at, const uint8_t *end, int levels, kc_json_fault *fault
) {
    uint64_t stack[16];
    int depth = 0;
    for (;;) {
        at = kc_json_space(at, end);
        if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
        const uint8_t byte = *at;
        if (byte == '{' || byte == '[') {
            if (depth >= levels || depth >= 1024) return kc_json_refuse(fault, KC_DEPTH_LIMIT, at);
            const uint64_t bit = UINT64_C(1) << (depth & 63);
            if (byte == '{')
                stack[depth >> 6] |= bit;
            else
                stack[depth >> 6] &= ~bit;
            depth++;
            at = kc_json_space(at + 1, end);
            if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
            if (*at != byte + 2) {
                if (byte == '{' && (at = kc_json_skip_key(at, end, fault)) == NULL) return NULL;
                continue;
            }
        } else if (byte == '"') {
            if ((at = kc_json_skip_string(at + 1, end, fault)) == NULL) return NULL;
        } else if (byte == '-' || (uint8_t)(byte - '0') < 10) {
            if ((at = kc_json_number(at, end, fault)) == NULL) return NULL;
        } else {
            const char *const word = byte == 't' ? "true" : byte == 'f' ? "false" : byte == 'n' ? "null" : "?";
            if ((at = kc_json_literal(at, end, word, fault)) == NULL) return NULL;
        }
        for (;;) {
            if (depth == 0) return at;
            at = kc_json_space(at, end);
            if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
            const int object = (int)(stack[(depth - 1) >> 6] >> ((depth - 1) & 63)) & 1;
            if (*at == (object ? '}' : ']')) {
                at++;
                depth--;
                continue;
            }
            if (*at != ',') return kc_json_refuse(fault, KC_JSON_SYNTAX, at);
            at++;
            if (object && (at = kc_json_skip_key(at, end, fault)) == NULL) return NULL;
            break;
        }
    }
}

/* ---- Base64 (RFC 4648, section 4), padded ---- */

/* Values of the letters of ASCII; -1 for what is none. */
static const int8_t kc_base64_values[128] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 62, -1, -1, -1, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1, -1,
    -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1,
    -1, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -1, -1, -1, -1, -1,
};

static KC_INLINE int kc_base64_value(uint8_t letter) { return letter < 128 ? kc_base64_values[letter] : -1; }

/* Text -> bytes, perhaps in its own place; how many, or -1. */
static inline int64_t kc_base64_decode(const uint8_t *text, int64_t size, uint8_t *target) {
    int64_t padding = 0, count = 0, i = 0;
    int bits;
    if (size % 4) return -1;
    while (padding < 2 && padding < size && text[size - 1 - padding] == '=') padding++;
    for (; i < size - (padding ? 4 : 0); i += 4, count += 3) {
        const int a = kc_base64_value(text[i]), b = kc_base64_value(text[i + 1]);
        const int c = kc_base64_value(text[i + 2]), d = kc_base64_value(text[i + 3]);
        if (KC_UNLIKELY((a | b | c | d) < 0)) return -1;
        bits = a << 18 | b << 12 | c << 6 | d;
        target[count] = (uint8_t)(bits >> 16);
        target[count + 1] = (uint8_t)(bits >> 8);
        target[count + 2] = (uint8_t)bits;
    }
    if (padding) {
        /* Two or three letters are one or two bytes; the bits behind these do not count. */
        const int a = kc_base64_value(text[i]), b = kc_base64_value(text[i + 1]);
        const int c = padding < 2 ? kc_base64_value(text[i + 2]) : 0;
        if ((a | b | c) < 0) return -1;
        bits = a << 18 | b << 12 | c << 6;
        target[count++] = (uint8_t)(bits >> 16);
        if (padding < 2) target[count++] = (uint8_t)(bits >> 8);
    }
    return count;
}

/* Bytes -> text; returns behind it. */
static inline uint8_t *kc_base64_encode(const uint8_t *data, int64_t size, uint8_t *out) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (; size > 0; data += 3, size -= 3, out += 4) {
        const uint32_t bits =
            (uint32_t)data[0] << 16 | (size > 1 ? (uint32_t)data[1] << 8 : 0) | (size > 2 ? data[2] : 0);
        out[0] = (uint8_t)letters[bits >> 18];
        out[1] = (uint8_t)letters[bits >> 12 & 63];
        out[2] = size > 1 ? (uint8_t)letters[bits >> 6 & 63] : '=';
        out[3] = size > 2 ? (uint8_t)letters[bits & 63] : '=';
    }
    return out;
}

/* ---- strings written ---- */

static inline uint8_t *kc_json_put_unit(uint8_t *out, unsigned unit) {
    static const char digits[] = "0123456789ABCDEF";
    out[0] = '\\';
    out[1] = 'u';
    for (int i = 0; i < 4; i++) out[2 + i] = (uint8_t)digits[unit >> (12 - 4 * i) & 15];
    return out + 6;
}

/* Write what plain text is ended by: an escape, or with `pairs` a character beyond U+FFFF as two. */
static KC_COLD uint8_t *kc_json_put_special(const uint8_t **from, const uint8_t *end, uint8_t *out, int pairs) {
    const uint8_t *at = *from;
    const uint8_t byte = *at++;
    if (byte >= 0xF0 && pairs && end - at >= 3) {
        const unsigned code = (unsigned)(byte & 7) << 18 | (unsigned)(at[0] & 0x3F) << 12 |
                              (unsigned)(at[1] & 0x3F) << 6 | (unsigned)(at[2] & 0x3F);
        at += 3;
        out = kc_json_put_unit(out, 0xD800 + ((code - 0x10000) >> 10));
        out = kc_json_put_unit(out, 0xDC00 + (code & 0x3FF));
    } else if (byte == '"' || byte == '\\') {
        *out++ = '\\';
        *out++ = byte;
    } else if (byte < 0x20) {
        static const char names[] = "\0\0\0\0\0\0\0\0btn\0fr";
        const char name = byte < 14 ? names[byte] : 0;
        if (name) {
            *out++ = '\\';
            *out++ = (uint8_t)name;
        } else {
            out = kc_json_put_unit(out, byte);
        }
    } else {
        *out++ = byte;
    }
    *from = at;
    return out;
}

/* Write valid text with its quotes as Jackson does, beyond U+FFFF as pairs of escaped surrogates if `pairs`. `out` has
 * room for six bytes for each, and 32. */
static KC_INLINE uint8_t *kc_json_put_string(
    const uint8_t *at, int64_t size, const uint8_t *limit, uint8_t *out, int pairs
) {
    const uint8_t *const end = at + size;
    *out++ = '"';
    while (at < end) {
#if defined(KC_JSON_SSE2)
        if (KC_LIKELY(limit - at >= 16)) {
            const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
            const __m128i high = _mm_set1_epi8(pairs ? (char)0xF0 : (char)0xFF);
            const __m128i text = _mm_loadu_si128((const __m128i *)at);
            _mm_storeu_si128((__m128i *)out, text);
            const __m128i found = _mm_or_si128(
                _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, slash)),
                _mm_or_si128(
                    _mm_cmpeq_epi8(_mm_max_epu8(text, control), control),
                    _mm_cmpeq_epi8(_mm_max_epu8(text, high), text)
                )
            );
            const unsigned mask = (unsigned)_mm_movemask_epi8(found);
            const int64_t plain = mask ? kc_ctz64(mask) : 16;
            if (plain >= end - at) {
                out += end - at;
                break;
            }
            out += plain;
            at += plain;
            if (mask) out = kc_json_put_special(&at, end, out, pairs);
            continue;
        }
#else
        if (KC_LIKELY(limit - at >= 8)) {
            const uint64_t word = kc_load_le64(at);
            const uint64_t high = pairs ? word & word << 1 & word << 2 & word << 3 & KC_JSON_TOPS : 0;
            const uint64_t mask = kc_json_special8(word) | high;
            const int64_t plain = mask ? kc_ctz64(mask) >> 3 : 8;
            kc_store_le64(out, word);
            if (plain >= end - at) {
                out += end - at;
                break;
            }
            out += plain;
            at += plain;
            if (mask) out = kc_json_put_special(&at, end, out, pairs);
            continue;
        }
#endif
        out = kc_json_put_special(&at, end, out, pairs);
    }
    *out++ = '"';
    return out;
}

#endif
