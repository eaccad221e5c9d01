/* Varints byte by byte: near the end of memory, and the longest forms. Kept out of line, so that what reads the common
 * forms stays small enough to be inlined. Answers are the first of the enum Status in status.pxd. */
#ifndef KCODEC_VARINT_H
#define KCODEC_VARINT_H

#include "bits.h"

enum { KC_VARINT_OK = 0, KC_VARINT_TRUNCATED, KC_VARINT_OVERLONG, KC_VARINT_OVERFLOW };

/* `last` is the most that the last byte of the longest form may be: 1 of ten bytes, 15 of five. */
static inline int kc_varint_bytes(const uint8_t **at, const uint8_t *end, int longest, uint8_t last, uint64_t *value) {
    const uint8_t *p = *at;
    uint64_t result = 0;
    for (int i = 0; i < longest; i++, p++) {
        if (p >= end) return KC_VARINT_TRUNCATED;
        result |= (uint64_t)(*p & 0x7F) << (7 * i);
        if (*p < 0x80) {
            if (i == longest - 1 && *p > last) return KC_VARINT_OVERFLOW;
            *at = p + 1;
            *value = result;
            return KC_VARINT_OK;
        }
    }
    return KC_VARINT_OVERLONG;
}

KC_COLD static int kc_varint64_bytes(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    return kc_varint_bytes(at, end, 10, 1, value);
}

KC_COLD static int kc_varint32_bytes(const uint8_t **at, const uint8_t *end, uint32_t *value) {
    uint64_t wide = 0;
    const int answer = kc_varint_bytes(at, end, 5, 15, &wide);
    *value = (uint32_t)wide;
    return answer;
}

#endif
