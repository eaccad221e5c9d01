/* Base64 (RFC 4648, section 4), padded. */
#ifndef KCODEC_BASE64_H
#define KCODEC_BASE64_H

#include "bits.h"

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

#endif
