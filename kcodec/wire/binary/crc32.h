/* CRC-32 (IEEE 802.3, as zlib's), the sum of Kafka's messages of magic 0 and 1: eight bytes at a time by tables
 * (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-based CRC Generators", 2005). */
#ifndef KCODEC_CRC32_H
#define KCODEC_CRC32_H

#include <stddef.h>

#include "bits.h"

static uint32_t kc_crc32_tables[8][256];

/* To be called once, before any sum. */
static inline void kc_crc32_init(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
        kc_crc32_tables[0][byte] = sum;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int i = 1; i < 8; i++) {
            const uint32_t sum = kc_crc32_tables[i - 1][byte];
            kc_crc32_tables[i][byte] = sum >> 8 ^ kc_crc32_tables[0][sum & 0xFF];
        }
}

static inline uint32_t kc_crc32(const uint8_t *data, size_t size) {
    uint32_t sum = 0xFFFFFFFFu;
    for (; size >= 8; data += 8, size -= 8) {
        const uint64_t word = kc_load_le64(data) ^ sum;
        sum = 0;
        for (int i = 0; i < 8; i++) sum ^= kc_crc32_tables[7 - i][word >> 8 * i & 0xFF];
    }
    for (; size > 0; data++, size--) sum = sum >> 8 ^ kc_crc32_tables[0][(sum ^ *data) & 0xFF];
    return ~sum;
}

#endif
