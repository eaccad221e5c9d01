/* Whether offsets go down somewhere: all are looked at, several at once, with no way out of the loop. */

#ifndef KCODEC_OFFSETS_H
#define KCODEC_OFFSETS_H

#include <stdint.h>

#define KCODEC_FALLS(name, type)                                      \
    static int name(const type *offsets, int64_t count) {             \
        type falls = 0;                                               \
        int64_t i;                                                    \
        for (i = 0; i < count; i++)                                   \
            falls |= -(type)(offsets[i + 1] < offsets[i]);            \
        return falls != 0;                                            \
    }

KCODEC_FALLS(kcodec_falls_32, int32_t)
KCODEC_FALLS(kcodec_falls_64, int64_t)

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
__attribute__((target("avx2"))) KCODEC_FALLS(kcodec_falls_32_avx2, int32_t)
__attribute__((target("avx2"))) KCODEC_FALLS(kcodec_falls_64_avx2, int64_t)

static int kcodec_falls32(const int32_t *offsets, int64_t count) {
    return __builtin_cpu_supports("avx2") ? kcodec_falls_32_avx2(offsets, count) : kcodec_falls_32(offsets, count);
}

static int kcodec_falls64(const int64_t *offsets, int64_t count) {
    return __builtin_cpu_supports("avx2") ? kcodec_falls_64_avx2(offsets, count) : kcodec_falls_64(offsets, count);
}
#else
#define kcodec_falls32 kcodec_falls_32
#define kcodec_falls64 kcodec_falls_64
#endif

#endif
