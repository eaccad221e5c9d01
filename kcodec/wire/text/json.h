/* The tokens of JSON (RFC 8259): literals, and values that are only read past; strings and numbers are included. Reading
 * is as json_string.h says. */
#ifndef KCODEC_JSON_H
#define KCODEC_JSON_H

#include "json_number.h"
#include "json_objects.h"
#include "json_string.h"

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
    const uint8_t *start, *stop;
    return kc_json_objects(at, end, &start, &stop, 1) ? stop : NULL;
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
            const char *const word = byte == 't' ? "true" : byte == 'f' ? "false" : "null";
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

#endif
