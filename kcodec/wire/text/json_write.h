/* Strings written as JSON. */
#ifndef KCODEC_JSON_WRITE_H
#define KCODEC_JSON_WRITE_H

#include "json_string.h"

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
