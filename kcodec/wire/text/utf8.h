/* Strict UTF-8 validation: no surrogates, no overlong forms, nothing above U+10FFFF, no cut sequence at the end.
 *
 * Text that is not ASCII goes through the lookup algorithm of Keiser and Lemire, "Validating UTF-8 in less than one
 * instruction per byte" (2021), with AVX-512 or AVX2 where the processor has it (asked at run time) or NEON, and through
 * a plain loop elsewhere. */
#ifndef KCODEC_UTF8_H
#define KCODEC_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "processor.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define KCODEC_UTF8_AVX2
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(__AARCH64EB__)
#define KCODEC_UTF8_NEON
#include <arm_neon.h>
#endif

/* Length of the leading bytes that are ASCII, in whole steps of 8: a lower bound that is exact enough to skip. */
static inline size_t kcodec_utf8_ascii(const uint8_t *data, size_t size) {
    const uint64_t high = 0x8080808080808080u;
    size_t at = 0;
    uint64_t a, b, c, d;
    while (size - at >= 32) {
        memcpy(&a, data + at, 8);
        memcpy(&b, data + at + 8, 8);
        memcpy(&c, data + at + 16, 8);
        memcpy(&d, data + at + 24, 8);
        if ((a | b | c | d) & high) break;
        at += 32;
    }
    while (size - at >= 8) {
        memcpy(&a, data + at, 8);
        if (a & high) break;
        at += 8;
    }
    return at;
}

/* Length of the longest valid prefix; the input is valid when that is all of it. */
static inline size_t utf8_valid_prefix(const uint8_t *data, size_t size) {
    size_t at = 0;
    while (at < size) {
        const uint8_t lead = data[at];
        if (lead < 0x80) {
            at++;
            at += kcodec_utf8_ascii(data + at, size - at);
        } else if (lead < 0xC2) {
            return at;
        } else if (lead < 0xE0) {
            if (size - at < 2 || (data[at + 1] & 0xC0) != 0x80) return at;
            at += 2;
        } else if (lead < 0xF0) {
            if (size - at < 3 || (data[at + 1] & 0xC0) != 0x80 || (data[at + 2] & 0xC0) != 0x80) return at;
            if (lead == 0xE0 && data[at + 1] < 0xA0) return at;
            if (lead == 0xED && data[at + 1] > 0x9F) return at;
            at += 3;
        } else if (lead < 0xF5) {
            if (size - at < 4 || (data[at + 1] & 0xC0) != 0x80 || (data[at + 2] & 0xC0) != 0x80 ||
                (data[at + 3] & 0xC0) != 0x80)
                return at;
            if (lead == 0xF0 && data[at + 1] < 0x90) return at;
            if (lead == 0xF4 && data[at + 1] > 0x8F) return at;
            at += 4;
        } else {
            return at;
        }
    }
    return at;
}

#if defined(KCODEC_UTF8_AVX2) || defined(KCODEC_UTF8_NEON)

/* One bit for each way in which two neighbouring bytes can be wrong; an error is a bit set by all three tables. */
enum {
    KCODEC_TOO_SHORT = 1 << 0,      /* a lead byte or ASCII where a continuation belongs */
    KCODEC_TOO_LONG = 1 << 1,       /* a continuation after ASCII */
    KCODEC_OVERLONG_3 = 1 << 2,     /* E0 80..9F */
    KCODEC_TOO_LARGE = 1 << 3,      /* F4 90..BF, F5..FF */
    KCODEC_SURROGATE = 1 << 4,      /* ED A0..BF */
    KCODEC_OVERLONG_2 = 1 << 5,     /* C0, C1 */
    KCODEC_OVERLONG_4 = 1 << 6,     /* F0 80..8F */
    KCODEC_TOO_LARGE_1000 = 1 << 6, /* F5..FF 80..8F */
    KCODEC_TWO_CONTS = 1 << 7,      /* two continuations: right only after a lead of three or four bytes */
    KCODEC_CARRY = KCODEC_TOO_SHORT | KCODEC_TOO_LONG | KCODEC_TWO_CONTS
};

/* By the high half of the first byte. */
static const uint8_t kcodec_utf8_first_high[16] = {
    KCODEC_TOO_LONG, KCODEC_TOO_LONG, KCODEC_TOO_LONG, KCODEC_TOO_LONG,
    KCODEC_TOO_LONG, KCODEC_TOO_LONG, KCODEC_TOO_LONG, KCODEC_TOO_LONG,
    KCODEC_TWO_CONTS, KCODEC_TWO_CONTS, KCODEC_TWO_CONTS, KCODEC_TWO_CONTS,
    KCODEC_TOO_SHORT | KCODEC_OVERLONG_2,
    KCODEC_TOO_SHORT,
    KCODEC_TOO_SHORT | KCODEC_OVERLONG_3 | KCODEC_SURROGATE,
    KCODEC_TOO_SHORT | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000 | KCODEC_OVERLONG_4,
};

/* By the low half of the first byte. */
static const uint8_t kcodec_utf8_first_low[16] = {
    KCODEC_CARRY | KCODEC_OVERLONG_3 | KCODEC_OVERLONG_2 | KCODEC_OVERLONG_4,
    KCODEC_CARRY | KCODEC_OVERLONG_2,
    KCODEC_CARRY,
    KCODEC_CARRY,
    KCODEC_CARRY | KCODEC_TOO_LARGE,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000 | KCODEC_SURROGATE,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
    KCODEC_CARRY | KCODEC_TOO_LARGE | KCODEC_TOO_LARGE_1000,
};

/* By the high half of the second byte. */
static const uint8_t kcodec_utf8_second_high[16] = {
    KCODEC_TOO_SHORT, KCODEC_TOO_SHORT, KCODEC_TOO_SHORT, KCODEC_TOO_SHORT,
    KCODEC_TOO_SHORT, KCODEC_TOO_SHORT, KCODEC_TOO_SHORT, KCODEC_TOO_SHORT,
    KCODEC_TOO_LONG | KCODEC_OVERLONG_2 | KCODEC_TWO_CONTS | KCODEC_OVERLONG_3 | KCODEC_TOO_LARGE_1000 |
        KCODEC_OVERLONG_4,
    KCODEC_TOO_LONG | KCODEC_OVERLONG_2 | KCODEC_TWO_CONTS | KCODEC_OVERLONG_3 | KCODEC_TOO_LARGE,
    KCODEC_TOO_LONG | KCODEC_OVERLONG_2 | KCODEC_TWO_CONTS | KCODEC_SURROGATE | KCODEC_TOO_LARGE,
    KCODEC_TOO_LONG | KCODEC_OVERLONG_2 | KCODEC_TWO_CONTS | KCODEC_SURROGATE | KCODEC_TOO_LARGE,
    KCODEC_TOO_SHORT, KCODEC_TOO_SHORT, KCODEC_TOO_SHORT, KCODEC_TOO_SHORT,
};

#endif

#ifdef KCODEC_UTF8_AVX2

__attribute__((target("avx2"))) static inline __m256i kcodec_utf8_block_avx2(__m256i input, __m256i before) {
    const __m256i low = _mm256_set1_epi8(0x0F);
    const __m256i first_high =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)kcodec_utf8_first_high));
    const __m256i first_low =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)kcodec_utf8_first_low));
    const __m256i second_high =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)kcodec_utf8_second_high));
    const __m256i straddle = _mm256_permute2x128_si256(before, input, 0x21);
    const __m256i back1 = _mm256_alignr_epi8(input, straddle, 15);
    const __m256i back2 = _mm256_alignr_epi8(input, straddle, 14);
    const __m256i back3 = _mm256_alignr_epi8(input, straddle, 13);
    __m256i special = _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(back1, 4), low));
    special = _mm256_and_si256(special, _mm256_shuffle_epi8(first_low, _mm256_and_si256(back1, low)));
    special = _mm256_and_si256(
        special, _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(input, 4), low)));
    const __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    const __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    const __m256i must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(must, special);
}

/* Nonzero where the block ends inside a sequence. */
__attribute__((target("avx2"))) static inline __m256i kcodec_utf8_cut_avx2(__m256i input) {
    const __m256i most =
        _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, -1, -1, -1, -1, -1, (char)0xEF, (char)0xDF, (char)0xBF);
    return _mm256_subs_epu8(input, most);
}

/* `ascii`: whether there is nothing else. */
__attribute__((target("avx2"))) static int kcodec_utf8_valid_avx2(const uint8_t *data, size_t size, int *ascii) {
    __m256i error = _mm256_setzero_si256();
    __m256i seen = _mm256_setzero_si256();
    __m256i before = _mm256_setzero_si256();
    __m256i cut = _mm256_setzero_si256();
    size_t at = 0;
    while (size - at >= 64) {
        const __m256i one = _mm256_loadu_si256((const __m256i *)(data + at));
        const __m256i two = _mm256_loadu_si256((const __m256i *)(data + at + 32));
        const __m256i both = _mm256_or_si256(one, two);
        seen = _mm256_or_si256(seen, both);
        if (_mm256_movemask_epi8(both) == 0) {
            error = _mm256_or_si256(error, cut);
            cut = _mm256_setzero_si256();
        } else {
            error = _mm256_or_si256(error, kcodec_utf8_block_avx2(one, before));
            error = _mm256_or_si256(error, kcodec_utf8_block_avx2(two, one));
            cut = kcodec_utf8_cut_avx2(two);
        }
        before = two;
        at += 64;
    }
    if (size - at >= 32) {
        const __m256i one = _mm256_loadu_si256((const __m256i *)(data + at));
        seen = _mm256_or_si256(seen, one);
        error = _mm256_or_si256(error, kcodec_utf8_block_avx2(one, before));
        cut = kcodec_utf8_cut_avx2(one);
        before = one;
        at += 32;
    }
    if (size > at) {
        /* The zeros after the text are ASCII, so a sequence that is cut there shows as too short. */
        uint8_t tail[32] = {0};
        memcpy(tail, data + at, size - at);
        const __m256i one = _mm256_loadu_si256((const __m256i *)tail);
        seen = _mm256_or_si256(seen, one);
        error = _mm256_or_si256(error, kcodec_utf8_block_avx2(one, before));
    } else {
        error = _mm256_or_si256(error, cut);
    }
    *ascii = _mm256_movemask_epi8(seen) == 0;
    return _mm256_testz_si256(error, error);
}

/* The same for 64 bytes. */
KC_ICELAKE static inline __m512i kcodec_utf8_block_icelake(__m512i input, __m512i before) {
    const __m512i low = _mm512_set1_epi8(0x0F), top = _mm512_set1_epi8((char)0x80);
    const __m512i first_high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)kcodec_utf8_first_high));
    const __m512i first_low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)kcodec_utf8_first_low));
    const __m512i second_high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)kcodec_utf8_second_high));
    const __m512i straddle = _mm512_alignr_epi64(input, before, 6);
    const __m512i back1 = _mm512_alignr_epi8(input, straddle, 15);
    const __m512i back2 = _mm512_alignr_epi8(input, straddle, 14);
    const __m512i back3 = _mm512_alignr_epi8(input, straddle, 13);
    const __m512i special = _mm512_and_si512(
        _mm512_and_si512(
            _mm512_shuffle_epi8(first_high, _mm512_and_si512(_mm512_srli_epi16(back1, 4), low)),
            _mm512_shuffle_epi8(first_low, _mm512_and_si512(back1, low))
        ),
        _mm512_shuffle_epi8(second_high, _mm512_and_si512(_mm512_srli_epi16(input, 4), low))
    );
    const __m512i third = _mm512_subs_epu8(back2, _mm512_set1_epi8((char)(0xE0 - 0x80)));
    const __m512i fourth = _mm512_subs_epu8(back3, _mm512_set1_epi8((char)(0xF0 - 0x80)));
    return _mm512_xor_si512(_mm512_and_si512(_mm512_or_si512(third, fourth), top), special);
}

KC_ICELAKE static int kcodec_utf8_valid_icelake(const uint8_t *data, size_t size, int *ascii) {
    __m512i error = _mm512_setzero_si512();
    __m512i before = _mm512_setzero_si512();
    uint64_t seen = 0, last = 0; /* where bytes are no ASCII: of all blocks, and of the one before */
    size_t at = 0;
    while (at < size) {
        /* With a mask, a block is loaded at a quarter of the speed where it is not in a cache yet. The zeros after the
         * text are ASCII, so a sequence that is cut there shows as too short. */
        const __m512i input = size - at >= 64
                                  ? _mm512_loadu_si512(data + at)
                                  : _mm512_maskz_loadu_epi8(((uint64_t)1 << (size - at)) - 1, data + at);
        const uint64_t wide = _mm512_movepi8_mask(input);
        if (wide | last) error = _mm512_or_si512(error, kcodec_utf8_block_icelake(input, before));
        seen |= wide;
        last = wide;
        before = input;
        at += 64;
    }
    *ascii = seen == 0;
    /* Behind a last block that is full, no zeros show it. */
    if (last >> 61 && (data[size - 1] >= 0xC0 || data[size - 2] >= 0xE0 || data[size - 3] >= 0xF0)) return 0;
    return _mm512_test_epi8_mask(error, error) == 0;
}

#endif

#ifdef KCODEC_UTF8_NEON

static inline uint8x16_t kcodec_utf8_block_neon(uint8x16_t input, uint8x16_t before) {
    const uint8x16_t back1 = vextq_u8(before, input, 15);
    const uint8x16_t back2 = vextq_u8(before, input, 14);
    const uint8x16_t back3 = vextq_u8(before, input, 13);
    uint8x16_t special = vqtbl1q_u8(vld1q_u8(kcodec_utf8_first_high), vshrq_n_u8(back1, 4));
    special = vandq_u8(special, vqtbl1q_u8(vld1q_u8(kcodec_utf8_first_low), vandq_u8(back1, vdupq_n_u8(0x0F))));
    special = vandq_u8(special, vqtbl1q_u8(vld1q_u8(kcodec_utf8_second_high), vshrq_n_u8(input, 4)));
    const uint8x16_t third = vqsubq_u8(back2, vdupq_n_u8(0xE0 - 0x80));
    const uint8x16_t fourth = vqsubq_u8(back3, vdupq_n_u8(0xF0 - 0x80));
    return veorq_u8(vandq_u8(vorrq_u8(third, fourth), vdupq_n_u8(0x80)), special);
}

static int kcodec_utf8_valid_neon(const uint8_t *data, size_t size) {
    uint8x16_t error = vdupq_n_u8(0);
    uint8x16_t before = vdupq_n_u8(0);
    size_t at = 0;
    while (size - at >= 16) {
        const uint8x16_t one = vld1q_u8(data + at);
        error = vorrq_u8(error, kcodec_utf8_block_neon(one, before));
        before = one;
        at += 16;
    }
    /* The zeros after the text are ASCII, so a sequence that is cut there shows as too short. */
    uint8_t tail[16] = {0};
    memcpy(tail, data + at, size - at);
    error = vorrq_u8(error, kcodec_utf8_block_neon(vld1q_u8(tail), before));
    return vmaxvq_u8(error) == 0;
}

#endif

/* From how many bytes on ASCII is passed over faster with vectors than a few words at a time. */
#if defined(KCODEC_UTF8_AVX2)
#define KCODEC_UTF8_LONG 128
#else
#define KCODEC_UTF8_LONG SIZE_MAX
#endif

/* Not inlined: what callers want inline is the way through short ASCII, below. */
static int kcodec_utf8_valid_from(const uint8_t *data, size_t size) {
#if defined(KCODEC_UTF8_AVX2)
    int ascii;
    if (kc_has_icelake()) return kcodec_utf8_valid_icelake(data, size, &ascii);
    if (size >= 16 && __builtin_cpu_supports("avx2")) return kcodec_utf8_valid_avx2(data, size, &ascii);
#elif defined(KCODEC_UTF8_NEON)
    if (size >= 16) return kcodec_utf8_valid_neon(data, size);
#endif
    return utf8_valid_prefix(data, size) == size;
}

static inline int utf8_valid(const uint8_t *data, size_t size) {
    const uint64_t high = 0x8080808080808080u;
    uint64_t word, last;
    if (size >= KCODEC_UTF8_LONG) return kcodec_utf8_valid_from(data, size);
    if (size >= 8) {
        /* The last word may overlap the one before: every byte is seen without a loop over the rest. */
        const size_t skipped = kcodec_utf8_ascii(data, size);
        if (size - skipped < 8) {
            memcpy(&last, data + size - 8, 8);
            if (!(last & high)) return 1;
        }
        return kcodec_utf8_valid_from(data + skipped, size - skipped);
    }
    word = 0;
    for (size_t i = 0; i < size; i++) word |= data[i];
    if (!(word & 0x80)) return 1;
    return utf8_valid_prefix(data, size) == size;
}

static int kcodec_utf8_valid_together(const uint8_t *data, size_t size, int *ascii) {
#if defined(KCODEC_UTF8_AVX2)
    if (kc_has_icelake()) return kcodec_utf8_valid_icelake(data, size, ascii);
    if (__builtin_cpu_supports("avx2")) return kcodec_utf8_valid_avx2(data, size, ascii);
#endif
    uint8_t seen = 0;
    for (size_t at = 0; at < size; at++) seen |= data[at];
    *ascii = seen < 0x80;
    return *ascii || kcodec_utf8_valid_from(data, size);
}

/* Whether each of some values is valid. If all their bytes are valid as a whole, so is each value, unless one starts
 * inside a character. The first bytes of all are looked at, with no way out of the loop. */
#define KCODEC_UTF8_VALUES(name, offset_t)                                                                   \
    static inline int name(const uint8_t *data, const offset_t *offsets, int64_t count) {                    \
        int ascii, inside = 0;                                                                               \
        if (!kcodec_utf8_valid_together(data + offsets[0], (size_t)(offsets[count] - offsets[0]), &ascii))   \
            return 0;                                                                                        \
        if (ascii) return 1;                                                                                 \
        while (offsets[count - 1] == offsets[count]) count--;                                                \
        for (int64_t at = 0; at < count; at++) inside |= (data[offsets[at]] & 0xC0) == 0x80;                 \
        return !inside;                                                                                      \
    }

KCODEC_UTF8_VALUES(utf8_valid_values32, int32_t)
KCODEC_UTF8_VALUES(utf8_valid_values64, int64_t)

#endif
