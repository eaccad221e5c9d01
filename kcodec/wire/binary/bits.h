/* Loads, stores and bit counts that compile to one instruction, on any byte order. */
#ifndef KCODEC_BITS_H
#define KCODEC_BITS_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(_MSC_VER)
#include <intrin.h>
#include <stdlib.h>
#define KC_BSWAP16(x) _byteswap_ushort(x)
#define KC_BSWAP32(x) _byteswap_ulong(x)
#define KC_BSWAP64(x) _byteswap_uint64(x)
static inline int kc_ctz64(uint64_t x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
static inline int kc_top64(uint64_t x) { unsigned long i; _BitScanReverse64(&i, x); return (int)i; }
#define KC_POPCOUNT64(x) ((int)__popcnt64(x))
#define KC_COLD __declspec(noinline)
#define KC_NOINLINE __declspec(noinline)
#define KC_APART __declspec(noinline)
#define KC_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#define KC_INLINE __forceinline
#define KC_LIKELY(x) (x)
#define KC_UNLIKELY(x) (x)
#else
#define KC_BSWAP16(x) __builtin_bswap16(x)
#define KC_BSWAP32(x) __builtin_bswap32(x)
#define KC_BSWAP64(x) __builtin_bswap64(x)
static inline int kc_ctz64(uint64_t x) { return __builtin_ctzll(x); }
static inline int kc_top64(uint64_t x) { return 63 ^ __builtin_clzll(x); }
#define KC_POPCOUNT64(x) __builtin_popcountll(x)
#define KC_COLD __attribute__((noinline, cold, unused))
#define KC_NOINLINE __attribute__((noinline, unused))
#define KC_APART __attribute__((noinline, unused))
#define KC_PREFETCH(p) __builtin_prefetch(p)
#define KC_INLINE inline __attribute__((always_inline))
#define KC_LIKELY(x) __builtin_expect(!!(x), 1)
#define KC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#endif

/* Ask for what a text has behind its first line of the cache; of a long one the processor finds the rest itself. */
static KC_INLINE void kc_prefetch_text(const uint8_t *at, int64_t size) {
    if (size <= 64) return;
    for (int64_t line = 64; line <= 256; line += 64) KC_PREFETCH(at + (size < line ? size : line));
    if (size > 256 && size < 2048)
        for (int64_t line = 320; line <= size; line += 64) KC_PREFETCH(at + line);
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KC_LE16(x) KC_BSWAP16(x)
#define KC_LE32(x) KC_BSWAP32(x)
#define KC_LE64(x) KC_BSWAP64(x)
#define KC_BE16(x) (x)
#define KC_BE32(x) (x)
#define KC_BE64(x) (x)
#else
#define KC_LE16(x) (x)
#define KC_LE32(x) (x)
#define KC_LE64(x) (x)
#define KC_BE16(x) KC_BSWAP16(x)
#define KC_BE32(x) KC_BSWAP32(x)
#define KC_BE64(x) KC_BSWAP64(x)
#endif

static inline uint32_t kc_load_le32(const void *p) { uint32_t v; memcpy(&v, p, 4); return KC_LE32(v); }
static inline uint64_t kc_load_le64(const void *p) { uint64_t v; memcpy(&v, p, 8); return KC_LE64(v); }
static inline uint32_t kc_load_be32(const void *p) { uint32_t v; memcpy(&v, p, 4); return KC_BE32(v); }
static inline uint64_t kc_load_be64(const void *p) { uint64_t v; memcpy(&v, p, 8); return KC_BE64(v); }
static inline void kc_store_le32(void *p, uint32_t v) { v = KC_LE32(v); memcpy(p, &v, 4); }
static inline void kc_store_le64(void *p, uint64_t v) { v = KC_LE64(v); memcpy(p, &v, 8); }
static inline void kc_store_be32(void *p, uint32_t v) { v = KC_BE32(v); memcpy(p, &v, 4); }
static inline void kc_store_be64(void *p, uint64_t v) { v = KC_BE64(v); memcpy(p, &v, 8); }

/* Those members of the enum Status in status.pxd that functions in headers return; a test compares the numbers. */
enum {
    KC_OK = 0,
    KC_TRUNCATED = 1,
    KC_VARINT_OVERLONG = 2,
    KC_VARINT_OVERFLOW = 3,
    KC_DECIMAL_PRECISION = 12,
    KC_OUT_OF_RANGE = 13,
    KC_DEPTH_LIMIT = 15,
    KC_INEXACT = 23,
    KC_JSON_SYNTAX = 28,
    KC_INVALID_NUMBER = 32,
    KC_LONE_SURROGATE = 34,
    KC_INVALID_TIME = 35
};

/* Whether a * b leaves 64 bits; the product where it does not. */
static inline int kc_mul64(int64_t a, int64_t b, int64_t *product) {
#if defined(_MSC_VER)
    int64_t high;
    *product = _mul128(a, b, &high);
    return high != (*product >> 63);
#else
    return __builtin_mul_overflow(a, b, product);
#endif
}

/* A move of a fixed size is two instructions where memcpy of a variable one is a call. */
static inline void kc_copy32(void *to, const void *from) { memcpy(to, from, 32); }

/* The top bit of each byte that is the same in two words. What stands above the first of them may be wrong. */
static inline uint64_t kc_equal8(uint64_t a, uint64_t b) {
    const uint64_t other = a ^ b;
    return (other - UINT64_C(0x0101010101010101)) & ~other & UINT64_C(0x8080808080808080);
}

/* One bit per byte of eight bytes that are each 0 or 1, the first in the lowest bit. */
static inline uint8_t kc_pack8(const uint8_t *p) {
    return (uint8_t)((kc_load_le64(p) * UINT64_C(0x0102040810204080)) >> 56);
}

/* The same for as many bytes as `count` says, a multiple of eight. */
static inline void kc_pack(uint8_t *bits, const uint8_t *p, int64_t count) {
    const uint8_t *const end = p + count;
#if defined(__SSE2__)
    for (; end - p >= 16; p += 16, bits += 2) {
        const int pair = _mm_movemask_epi8(_mm_slli_epi16(_mm_loadu_si128((const __m128i *)p), 7));
        bits[0] = (uint8_t)pair;
        bits[1] = (uint8_t)(pair >> 8);
    }
#endif
    for (; p < end; p += 8) *bits++ = kc_pack8(p);
}

/* And back: eight bytes that are each 0 or 1, the first for the lowest bit. */
static inline void kc_unpack8(uint8_t *p, uint8_t bits) {
    const uint64_t apart = (bits * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
    kc_store_le64(p, ((apart + UINT64_C(0x7F7F7F7F7F7F7F7F)) >> 7) & UINT64_C(0x0101010101010101));
}

#endif
