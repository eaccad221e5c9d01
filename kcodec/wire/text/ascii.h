/* Whether bytes are all ASCII, in steps that are longer than those of the whole check of UTF-8. */
#ifndef KCODEC_ASCII_H
#define KCODEC_ASCII_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

/* Bytes at the end that are no whole step are left; how many are in steps. */
__attribute__((target("avx2"))) static size_t kc_ascii_steps(const uint8_t *data, size_t size) {
    size_t at = 0;
    while (size - at >= 256) {
        const __m256i *step = (const __m256i *)(data + at);
        __m256i seen = _mm256_loadu_si256(step);
        for (int i = 1; i < 8; i++) seen = _mm256_or_si256(seen, _mm256_loadu_si256(step + i));
        if (_mm256_movemask_epi8(seen)) break;
        at += 256;
    }
    return at;
}
#endif

static int kc_is_ascii(const uint8_t *data, size_t size) {
    uint8_t seen = 0;
    size_t at = 0;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    if (__builtin_cpu_supports("avx2")) {
        at = kc_ascii_steps(data, size);
        if (size - at >= 256) return 0;
    }
#endif
    for (; at < size; at++) seen |= data[at];
    return seen < 0x80;
}

#endif
