/* Varints of the records of a batch: zigzag sizes and deltas, nearly always of one or two bytes. */
#ifndef KCODEC_RECORD_VARINT_H
#define KCODEC_RECORD_VARINT_H

#include "varint.h"

static KC_INLINE int kc_record_varint32(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int32_t *value
) {
    const uint8_t *p = *at;
    uint32_t raw = 0;
    int answer;
    if (KC_LIKELY(p < end)) {
        const uint32_t first = p[0];
        if (KC_LIKELY(first < 0x80)) {
            *value = (int32_t)((first >> 1) ^ (0 - (first & 1)));
            *at = p + 1;
            return KC_OK;
        }
        if (KC_LIKELY(p + 1 != end && p[1] < 0x80)) {
            *value = (int32_t)(((first & 0x7E) >> 1 | (uint32_t)p[1] << 6) ^ (0 - (first & 1)));
            *at = p + 2;
            return KC_OK;
        }
    }
    answer = kc_read_varint32(at, end, limit, &raw);
    *value = (int32_t)((raw >> 1) ^ (0 - (raw & 1)));
    return answer;
}

static KC_INLINE int kc_record_varint64(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t *value
) {
    const uint8_t *p = *at;
    uint64_t raw = 0;
    int answer;
    if (KC_LIKELY(p < end)) {
        const uint32_t first = p[0];
        if (first < 0x80) {
            *value = kc_unzigzag(first);
            *at = p + 1;
            return KC_OK;
        }
        if (p + 1 != end && p[1] < 0x80) {
            *value = kc_unzigzag((first & 0x7F) | (uint32_t)p[1] << 7);
            *at = p + 2;
            return KC_OK;
        }
    }
    answer = kc_read_varint64(at, end, limit, &raw);
    *value = kc_unzigzag(raw);
    return answer;
}

/* At most ten bytes; returns the place after them. */
static KC_INLINE uint8_t *kc_write_zigzag(uint8_t *out, int64_t value) {
    uint64_t raw = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (raw >= 0x80) {
        *out++ = (uint8_t)raw | 0x80;
        raw >>= 7;
    }
    *out++ = (uint8_t)raw;
    return out;
}

static KC_INLINE int kc_zigzag_size(int64_t value) {
    uint64_t raw = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    int size = 1;
    while (raw >= 0x80) {
        size++;
        raw >>= 7;
    }
    return size;
}

#endif
