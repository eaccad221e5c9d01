/* Bounds-checked reads of varints: 7 bits a byte, the lowest group first; the top bit says that another byte follows.
 *
 * `end` is where the value's bytes end, `limit` where the memory behind it ends (limit >= end): up to there eight bytes
 * are loaded at once, even if the varint is shorter. A failed read leaves the position untouched.
 *
 * These are C rather than Cython for one attribute: unless they are inlined, the address of the row loop's position is
 * handed out, and the compiler must then load it again after every byte that is stored. */
#ifndef KCODEC_VARINT_H
#define KCODEC_VARINT_H

#include "bits.h"

#define KC_STOP_BITS UINT64_C(0x8080808080808080)

/* Put the low seven bits of eight bytes next to each other. */
static KC_INLINE uint64_t kc_gather7(uint64_t word) {
    word = ((word & UINT64_C(0x7F007F007F007F00)) >> 1) | (word & UINT64_C(0x007F007F007F007F));
    word = ((word & UINT64_C(0x3FFF00003FFF0000)) >> 2) | (word & UINT64_C(0x00003FFF00003FFF));
    return ((word & UINT64_C(0x0FFFFFFF00000000)) >> 4) | (word & UINT64_C(0x000000000FFFFFFF));
}

/* The same by one instruction, where the processor has a fast one: Zen and Zen 2 take hundreds of steps for it. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
static inline int kc_has_pext(void) { return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("amdfam17h"); }

static KC_INLINE uint64_t kc_pext7(uint64_t word) {
    uint64_t result;
    __asm__("pextq %2, %1, %0" : "=r"(result) : "r"(word), "r"(~KC_STOP_BITS));
    return result;
}

static KC_INLINE uint64_t kc_pdep7(uint64_t value) {
    uint64_t result;
    __asm__("pdepq %2, %1, %0" : "=r"(result) : "r"(value), "r"(~KC_STOP_BITS));
    return result;
}
#else
static inline int kc_has_pext(void) { return 0; }
#define kc_pext7 kc_gather7
#define kc_pdep7 kc_spread7
#endif

/* One way or the other; `pext` is what kc_has_pext answers. */
static KC_INLINE uint64_t kc_gather7_by(uint64_t word, int pext) {
    return pext ? kc_pext7(word) : kc_gather7(word);
}

/* What `size` of kc_read_any is where a varint has more than ten bytes: more than there ever are. */
#define KC_ENDLESS (INT64_C(1) << 40)

/* Read a varint, and the low 64 bits of the longest, without a branch on its length, where 16 bytes can be read:
 * numbers below 0 take ten bytes, so that a column of small ones of both signs has two lengths, and no order in them. */
static KC_INLINE uint64_t kc_read_any(const uint8_t *p, int pext, int64_t *size) {
    const uint64_t word = kc_load_le64(p), behind = kc_load_le64(p + 8);
    const uint64_t stops = ~word & KC_STOP_BITS;
    const uint64_t beyond = (uint64_t)0 - (stops == 0);
    const uint64_t ten = behind >> 7 & 1;
    const uint64_t high = (behind & 0x7F) << 56 | (behind << 55 & ((uint64_t)0 - ten) & UINT64_C(1) << 63);
    const int64_t more = (int64_t)(1 + ten) + (int64_t)(ten & behind >> 15) * KC_ENDLESS;
    *size = (kc_ctz64(stops | UINT64_C(1) << 63) >> 3) + 1 + (more & (int64_t)beyond);
    return kc_gather7_by(word & (stops ^ (stops - 1)), pext) | (high & beyond);
}

/* Put 56 bits into the low seven of eight bytes. */
static KC_INLINE uint64_t kc_spread7(uint64_t value) {
    value = ((value & UINT64_C(0x00FFFFFFF0000000)) << 4) | (value & UINT64_C(0x000000000FFFFFFF));
    value = ((value & UINT64_C(0x0FFFC0000FFFC000)) << 2) | (value & UINT64_C(0x00003FFF00003FFF));
    return ((value & UINT64_C(0x3F803F803F803F80)) << 1) | (value & UINT64_C(0x007F007F007F007F));
}

/* The varint of a number of at most 56 bits, the first byte lowest; what it takes no branch to find is its size. */
static KC_INLINE uint64_t kc_varint_word(uint64_t value, int64_t *size, int pext) {
    value = pext ? kc_pdep7(value) : kc_spread7(value);
    const int last = kc_top64(value | 1) & 56;
    *size = (last >> 3) + 1;
    return value | (KC_STOP_BITS & ~(~UINT64_C(0) << last));
}

/* Write a varint of any length without a branch; return the position behind. 16 bytes are written. */
static KC_INLINE uint8_t *kc_write_any(uint8_t *out, uint64_t value, int pext) {
    /* The ninth byte has bits 56 to 62, and says by bit 63 that the tenth, which has that one alone, follows. */
    const uint64_t top = value >> 56, beyond = (uint64_t)0 - (top != 0);
    int64_t size;
    const uint64_t word = kc_varint_word(value & UINT64_C(0x00FFFFFFFFFFFFFF), &size, pext);
    kc_store_le64(out, word | (KC_STOP_BITS & beyond));
    kc_store_le64(out + 8, top | top >> 7 << 8);
    return out + (beyond ? 9 + (int64_t)(top >> 7) : size);
}

static KC_INLINE int64_t kc_unzigzag(uint64_t value) { return (int64_t)((value >> 1) ^ (0 - (value & 1))); }

/* Byte by byte: near the end of memory, and the longest forms. `last` is the largest last byte of the longest form:
 * 1 of ten bytes, 15 of five. */
KC_COLD static int kc_varint_bytes(const uint8_t **at, const uint8_t *end, int longest, uint8_t last, uint64_t *value) {
    const uint8_t *p = *at;
    uint64_t result = 0;
    for (int i = 0; i < longest; i++, p++) {
        if (p >= end) return KC_TRUNCATED;
        result |= (uint64_t)(*p & 0x7F) << (7 * i);
        if (*p < 0x80) {
            if (i == longest - 1 && *p > last) return KC_VARINT_OVERFLOW;
            *at = p + 1;
            *value = result;
            return KC_OK;
        }
    }
    return KC_VARINT_OVERLONG;
}

/* Nine and ten bytes: large numbers and hashes, a quarter of some columns. */
static KC_NOINLINE int kc_varint_longest(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint8_t last, uint64_t *value
) {
    const uint8_t *p = *at;
    if (KC_LIKELY(limit - p >= 9)) {
        const uint64_t word = kc_load_le64(p);
        const int size = p[8] < 0x80 ? 9 : 10;
        if (KC_LIKELY((~word & KC_STOP_BITS) == 0 && size <= end - p && (size == 9 || p[9] <= last))) {
            const uint64_t top = size == 10 ? p[9] : 0;
            *value = kc_gather7(word & ~KC_STOP_BITS) | (uint64_t)(p[8] & 0x7F) << 56 | top << 63;
            *at = p + size;
            return KC_OK;
        }
    }
    return kc_varint_bytes(at, end, 10, last, value);
}

static KC_INLINE int kc_varint_apart(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, int longest, uint8_t last, uint64_t *value
) {
    const uint8_t *place = *at;
    uint64_t result = 0;
    const int answer = longest == 10 ? kc_varint_longest(&place, end, limit, last, &result)
                                     : kc_varint_bytes(&place, end, longest, last, &result);
    *at = place;
    *value = result;
    return answer;
}

/* Numbers are of any size: all bytes are loaded at once, rather than guessed to be one. */
static KC_INLINE int kc_read_long(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint8_t last, uint64_t *value
) {
    const uint8_t *p = *at;
    if (KC_LIKELY(limit - p >= 8)) {
        const uint64_t word = kc_load_le64(p);
        const uint64_t stops = ~word & KC_STOP_BITS;
        if (KC_LIKELY(stops != 0)) {
            const int size = (kc_ctz64(stops) >> 3) + 1;
            if (KC_LIKELY(size <= end - p)) {
                /* Bits up to the stop bit, which is 0 itself. */
                *value = kc_gather7(word & (stops ^ (stops - 1)));
                *at = p + size;
                return KC_OK;
            }
        }
    }
    return kc_varint_apart(at, end, limit, 10, last, value);
}

static KC_INLINE int kc_read_varint64(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint64_t *value
) {
    return kc_read_long(at, end, limit, 1, value);
}

/* The low 64 bits of at most ten bytes, whatever the tenth holds beyond them. */
static KC_INLINE int kc_read_low64(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint64_t *value
) {
    return kc_read_long(at, end, limit, 0x7F, value);
}

static KC_INLINE int kc_read_varint32(
    const uint8_t **at, const uint8_t *end, const uint8_t *limit, uint32_t *value
) {
    const uint8_t *p = *at;
    uint64_t wide;
    int answer;
    if (KC_LIKELY(limit - p >= 8)) {
        const uint64_t word = kc_load_le64(p);
        const uint64_t stops = ~word & (KC_STOP_BITS >> 24);
        if (KC_LIKELY(stops != 0)) {
            const int size = (kc_ctz64(stops) >> 3) + 1;
            if (KC_LIKELY(size <= end - p)) {
                wide = kc_gather7(word & (stops ^ (stops - 1)));
                if (KC_UNLIKELY(wide > UINT32_MAX)) return KC_VARINT_OVERFLOW;
                *value = (uint32_t)wide;
                *at = p + size;
                return KC_OK;
            }
        }
    }
    answer = kc_varint_apart(at, end, limit, 5, 15, &wide);
    *value = (uint32_t)wide;
    return answer;
}

/* Lengths, counts and branches are nearly always one byte, and else two. */
static KC_INLINE int kc_read_short(
    const uint8_t **at, const uint8_t *end, int longest, uint8_t last, uint64_t *value
) {
    const uint8_t *p = *at;
    if (KC_LIKELY(p < end && *p < 0x80)) {
        *value = *p;
        *at = p + 1;
        return KC_OK;
    }
    if (KC_LIKELY(end - p >= 2 && p[1] < 0x80)) {
        *value = (uint64_t)p[1] << 7 | (*p & 0x7F);
        *at = p + 2;
        return KC_OK;
    }
    return kc_varint_apart(at, end, end, longest, last, value);
}

static KC_INLINE int kc_read_branch(const uint8_t **at, const uint8_t *end, uint64_t *index) {
    return kc_read_short(at, end, 5, 15, index);
}

static KC_INLINE int kc_read_length(const uint8_t **at, const uint8_t *end, int64_t *length) {
    uint64_t raw;
    const int answer = kc_read_short(at, end, 10, 1, &raw);
    *length = kc_unzigzag(raw);
    return answer;
}

#endif
