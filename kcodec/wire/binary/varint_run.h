/* Varints that stand behind each other, such as the items of a list.
 *
 * Where a varint ends is known only when it is loaded, and the next one waits for that. Here the ends of all varints in
 * 64 bytes are found at once, as the bits of a word, and then taken from it one after the other, which is a step each. */
#ifndef KCODEC_VARINT_RUN_H
#define KCODEC_VARINT_RUN_H

#include "varint.h"

enum { KC_RUN_AHEAD = 72 }; /* bytes that are looked at together, and those that are loaded with the last of them */

/* One bit for each of 64 bytes: whether a varint ends there. */
static KC_INLINE uint64_t kc_varint_ends(const uint8_t *p) {
    uint64_t ends = 0;
#if defined(__SSE2__)
    for (int i = 3; i >= 0; i--)
        ends = ends << 16 | (uint16_t)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)));
    return ~ends;
#else
    for (int i = 7; i >= 0; i--) {
        const uint64_t tops = ~kc_load_le64(p + 8 * i) & KC_STOP_BITS;
        ends = ends << 8 | (tops >> 7) * UINT64_C(0x0102040810204080) >> 56;
    }
    return ends;
#endif
}

/* The bytes of a varint that are in its first word, and in the next one, by their number. */
static const uint64_t KC_LOW_BYTES[11] = {
    0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF,
    ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0),
};
static const uint64_t KC_HIGH_BYTES[11] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFFFF};

/* Read varints that stand behind each other, each the low 64 bits of at most ten bytes; return their number, or -1 if
 * they are not that. 64 bytes behind them can be read. Where they end is found for 64 bytes at once, so that no number
 * waits for the length of the one before it. */
static KC_INLINE int64_t kc_read_packed(const uint8_t *p, const uint8_t *stop, int pext, uint64_t *values) {
    uint64_t *next = values;
    const uint8_t *start = p;
    for (; p < stop; p += 64) {
        uint64_t ends = kc_varint_ends(p);
        if (stop - p < 64) ends &= ~(~UINT64_C(0) << (stop - p));
        while (ends) {
            const uint8_t *end = p + kc_ctz64(ends) + 1;
            const int64_t size = end - start;
            if (KC_UNLIKELY(size > 10)) return -1;
            ends &= ends - 1;
            *next++ = kc_gather7_by(kc_load_le64(start) & ~KC_STOP_BITS & KC_LOW_BYTES[size], pext)
                | kc_gather7_by(kc_load_le64(start + 8) & ~KC_STOP_BITS & KC_HIGH_BYTES[size], pext) << 56;
            start = end;
        }
    }
    return start == stop ? next - values : -1;
}

/* Read at most so many zigzag varints from `at` on, which moves behind them; the answer is how many. Either `ints` or
 * `longs` is where they go, times a factor. It stops before what is wrong, and where `limit` is near. */
static KC_INLINE int64_t kc_read_run_to(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int32_t *ints, int64_t *longs,
    int longest, int64_t factor, int pext
) {
    const uint8_t *p = *at;
    int64_t done = 0;
    while (done < count && limit - p >= KC_RUN_AHEAD) {
        const uint8_t *const first = p;
        uint64_t ends = kc_varint_ends(first);
        for (; ends && done < count; ends &= ends - 1) {
            const uint8_t *const next = first + kc_ctz64(ends) + 1;
            const int64_t size = next - p;
            uint64_t raw = kc_load_le64(p);
            if (KC_UNLIKELY(next > end) || KC_UNLIKELY(size > longest)) goto out;
            if (KC_LIKELY(size <= 8)) {
                raw = kc_gather7_by(raw & (~UINT64_C(0) >> (64 - 8 * size)), pext);
            } else {
                if (KC_UNLIKELY(size == 10 && p[9] > 1)) goto out;
                raw = kc_gather7_by(raw, pext) | (uint64_t)(p[8] & 0x7F) << 56;
                if (size == 10) raw |= (uint64_t)p[9] << 63;
            }
            if (longest == 5 && KC_UNLIKELY(raw > UINT32_MAX)) goto out;
            if (ints) ints[done] = (int32_t)kc_unzigzag(raw);
            else if (KC_UNLIKELY(kc_mul64(kc_unzigzag(raw), factor, &longs[done]))) goto out;
            p = next;
            done++;
        }
        if (KC_UNLIKELY(p == first)) break;
    }
out:
    *at = p;
    return done;
}

static KC_APART int64_t kc_read_long_run(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int64_t *out, int64_t factor, int pext
) {
    return kc_read_run_to(at, end, limit, count, NULL, out, 10, factor, pext);
}

static KC_APART int64_t kc_read_int_run(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int32_t *out, int pext
) {
    return kc_read_run_to(at, end, limit, count, out, NULL, 5, 1, pext);
}

static KC_APART int64_t kc_read_int_as_long_run(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int64_t count, int64_t *out, int64_t factor, int pext
) {
    return kc_read_run_to(at, end, limit, count, NULL, out, 5, factor, pext);
}

#endif
