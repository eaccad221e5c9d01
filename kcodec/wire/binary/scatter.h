/* Values spread among more rows, where they are, from the last row to the first; eight rows are a step.
 *
 * `present` has a bit for each row, of `length`: `count` of them are set, and as many values stand at the start. There
 * is room for eight values behind the last one, which may be read and written. A step reads no value that a step before
 * it has written, as no value moves to a lower place. */

#ifndef KCODEC_SCATTER_H
#define KCODEC_SCATTER_H

#include "varint.h"

/* Rows that are not present become zero. */
#define KC_SCATTER(name, type) \
    static void name(type *data, const uint8_t *present, int64_t count, int64_t length) { \
        for (int64_t step = length / 8; step >= 0; step--) \
            for (int bit = 7; bit >= 0; bit--) { \
                int there = present[step] >> bit & 1; \
                count -= there; \
                data[8 * step + bit] = data[count] & -(type)there; \
            } \
    }

/* Rows that are not present become empty: they end where the row before ends. */
#define KC_SCATTER_ENDS(name, type) \
    static void name(type *ends, const uint8_t *present, int64_t count, int64_t length) { \
        for (int64_t step = length / 8; step >= 0; step--) \
            for (int bit = 7; bit >= 0; bit--) { \
                ends[8 * step + bit + 1] = ends[count]; \
                count -= present[step] >> bit & 1; \
            } \
    }

KC_SCATTER(kc_scatter_32, uint32_t)
KC_SCATTER(kc_scatter_64, uint64_t)
KC_SCATTER_ENDS(kc_scatter_ends_32, int32_t)
KC_SCATTER_ENDS(kc_scatter_ends_64, int64_t)

/* Of bits the byte behind may be written to already, but then holds none of those that are wanted. */
static void kc_scatter_bits(uint8_t *data, const uint8_t *present, int64_t count, int64_t length) {
    for (int64_t step = length / 8; step >= 0; step--) {
        unsigned held, found = 0;
        for (int bit = 0; bit < 8; bit++) count -= present[step] >> bit & 1;
        held = (data[count >> 3] | (unsigned)data[(count >> 3) + 1] << 8) >> (count & 7);
        for (int bit = 0; bit < 8; bit++) {
            unsigned there = present[step] >> bit & 1;
            found |= (held & there) << bit;
            held >>= there;
        }
        data[step] = (uint8_t)found;
    }
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define KC_SCATTER_HASWELL __attribute__((target("avx2,bmi2,popcnt")))
#define KC_ONES UINT64_C(0x0101010101010101)

/* A byte for each of eight rows: how many rows up to and with it are present. */
#define KC_COUNTED(rows) (_pdep_u64(rows, KC_ONES) * KC_ONES)

/* Which of the values from `data[count]` on stands in each row; those in rows that are not present are never used. */
#define KC_TAKEN(rows) _mm256_sub_epi32(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)KC_COUNTED(rows))), ones)

KC_SCATTER_HASWELL static void kc_scatter_32_haswell(
    uint32_t *data, const uint8_t *present, int64_t count, int64_t length
) {
    const __m256i ones = _mm256_set1_epi32(1), bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (int64_t step = length / 8; step >= 0; step--) {
        unsigned rows = present[step];
        __m256i there = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)rows), bits), bits);
        count -= __builtin_popcount(rows);
        __m256i found = _mm256_permutevar8x32_epi32(
            _mm256_loadu_si256((const __m256i *)(data + count)), KC_TAKEN(rows)
        );
        _mm256_storeu_si256((__m256i *)(data + 8 * step), _mm256_and_si256(found, there));
    }
}

/* Four rows of eight bytes each: a place of eight bytes is two of four. */
KC_SCATTER_HASWELL static __m256i kc_four_of(const uint64_t *data, unsigned rows) {
    const __m256i ones = _mm256_set1_epi64x(1), bits = _mm256_setr_epi64x(1, 2, 4, 8);
    __m256i there = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x((long long)rows), bits), bits);
    __m256i place = _mm256_sub_epi64(_mm256_cvtepu8_epi64(_mm_cvtsi64_si128((long long)KC_COUNTED(rows))), ones);
    place = _mm256_add_epi64(place, place);
    place = _mm256_or_si256(place, _mm256_slli_epi64(_mm256_add_epi64(place, ones), 32));
    return _mm256_and_si256(
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)data), place), there
    );
}

KC_SCATTER_HASWELL static void kc_scatter_64_haswell(
    uint64_t *data, const uint8_t *present, int64_t count, int64_t length
) {
    for (int64_t step = length / 8; step >= 0; step--) {
        unsigned low = present[step] & 15, high = present[step] >> 4;
        __m256i last, first;
        count -= __builtin_popcount(high);
        last = kc_four_of(data + count, high);
        count -= __builtin_popcount(low);
        first = kc_four_of(data + count, low);
        _mm256_storeu_si256((__m256i *)(data + 8 * step), first);
        _mm256_storeu_si256((__m256i *)(data + 8 * step + 4), last);
    }
}

KC_SCATTER_HASWELL static void kc_scatter_ends_32_haswell(
    int32_t *ends, const uint8_t *present, int64_t count, int64_t length
) {
    const __m256i ones = _mm256_set1_epi32(1);
    for (int64_t step = length / 8; step >= 0; step--) {
        unsigned rows = present[step];
        __m256i place = KC_TAKEN(rows);
        count -= __builtin_popcount(rows);
        __m256i found = _mm256_permutevar8x32_epi32(
            _mm256_loadu_si256((const __m256i *)(ends + count + 1)), place
        );
        /* Before the first row that is present, the end is that of the steps before. */
        __m256i before = _mm256_cmpgt_epi32(_mm256_setzero_si256(), place);
        found = _mm256_blendv_epi8(found, _mm256_set1_epi32(ends[count]), before);
        _mm256_storeu_si256((__m256i *)(ends + 8 * step + 1), found);
    }
}

KC_SCATTER_HASWELL static void kc_scatter_bits_haswell(
    uint8_t *data, const uint8_t *present, int64_t count, int64_t length
) {
    for (int64_t step = length / 8; step >= 0; step--) {
        count -= __builtin_popcount(present[step]);
        unsigned held = (data[count >> 3] | (unsigned)data[(count >> 3) + 1] << 8) >> (count & 7);
        data[step] = (uint8_t)_pdep_u64(held, present[step]);
    }
}

static inline int kc_has_haswell(void) { return __builtin_cpu_supports("avx2") && kc_has_pext(); }
#define KC_SCATTER_BY(name, type) \
    static void name##_best(type *data, const uint8_t *present, int64_t count, int64_t length) { \
        (kc_has_haswell() ? name##_haswell : name)(data, present, count, length); \
    }

KC_SCATTER_BY(kc_scatter_32, uint32_t)
KC_SCATTER_BY(kc_scatter_64, uint64_t)
KC_SCATTER_BY(kc_scatter_ends_32, int32_t)
KC_SCATTER_BY(kc_scatter_bits, uint8_t)
#else
#define kc_scatter_32_best kc_scatter_32
#define kc_scatter_64_best kc_scatter_64
#define kc_scatter_ends_32_best kc_scatter_ends_32
#define kc_scatter_bits_best kc_scatter_bits
#endif

#endif
