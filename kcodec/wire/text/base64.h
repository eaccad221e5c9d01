/* Base64 (RFC 4648, section 4), padded. */
#ifndef KCODEC_BASE64_H
#define KCODEC_BASE64_H

#include "bits.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define KC_BASE64_AVX2 __attribute__((target("avx2,bmi,lzcnt")))

/* Letters -> their values. What is no letter has bits in `odd`: those that the tables for the lower and the upper four
 * bits of a byte have in common (Mula and Lemire, Faster Base64 Encoding and Decoding Using AVX2 Instructions, 2018). */
KC_BASE64_AVX2 static inline __m256i kc_base64_values32(__m256i text, __m256i *odd) {
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i low_table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A
    ));
    const __m256i high_table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10
    ));
    /* What is added to a letter: by its upper four bits; the slash has a place of its own. */
    const __m256i roll = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0
    ));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(text, 4), nibble);
    const __m256i low = _mm256_and_si256(text, nibble);
    *odd = _mm256_and_si256(_mm256_shuffle_epi8(low_table, low), _mm256_shuffle_epi8(high_table, high));
    const __m256i slash = _mm256_cmpeq_epi8(text, _mm256_set1_epi8('/'));
    return _mm256_add_epi8(text, _mm256_shuffle_epi8(roll, _mm256_add_epi8(slash, high)));
}

/* Values of letters -> bytes, of each half twelve. */
KC_BASE64_AVX2 static inline __m256i kc_base64_packed(__m256i values) {
    const __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
    return _mm256_shuffle_epi8(
        _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000)),
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1))
    );
}

/* Decode as many whole steps of 32 letters as are valid and no part of the last four; return how many letters. */
KC_BASE64_AVX2 static int64_t kc_base64_decode_steps(const uint8_t *text, int64_t size, uint8_t *target) {
    int64_t at = 0;
    for (; size - at >= 36; at += 32, target += 24) {
        __m256i odd;
        const __m256i values = kc_base64_values32(_mm256_loadu_si256((const __m256i *)(text + at)), &odd);
        if (!_mm256_testz_si256(odd, odd)) break;
        const __m256i joined =
            _mm256_permutevar8x32_epi32(kc_base64_packed(values), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
        _mm_storeu_si128((__m128i *)target, _mm256_castsi256_si128(joined));
        _mm_storel_epi64((__m128i *)(target + 16), _mm256_extracti128_si256(joined, 1));
    }
    return at;
}

/* Encode as many whole steps of 24 bytes as have four more behind them; return how many bytes. */
KC_BASE64_AVX2 static int64_t kc_base64_encode_steps(const uint8_t *data, int64_t size, uint8_t *out) {
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10)
    );
    /* What is added to a value: by how far it is above 51, or as to a capital (13) or small letter (0). */
    const __m256i shifts = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
        '+' - 62, '/' - 63, 'A', 0, 0
    ));
    int64_t at = 0;
    for (; size - at >= 28; at += 24, out += 32) {
        const __m256i bytes = _mm256_shuffle_epi8(
            _mm256_inserti128_si256(
                _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(data + at))),
                _mm_loadu_si128((const __m128i *)(data + at + 12)), 1
            ),
            spread
        );
        const __m256i values = _mm256_or_si256(
            _mm256_mulhi_epu16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x0FC0FC00)), _mm256_set1_epi32(0x04000040)),
            _mm256_mullo_epi16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x003F03F0)), _mm256_set1_epi32(0x01000010))
        );
        const __m256i place = _mm256_or_si256(
            _mm256_subs_epu8(values, _mm256_set1_epi8(51)),
            _mm256_and_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(26), values), _mm256_set1_epi8(13))
        );
        _mm256_storeu_si256(
            (__m256i *)out, _mm256_add_epi8(values, _mm256_shuffle_epi8(shifts, place))
        );
    }
    return at;
}

/* See kc_base64_word. */
KC_BASE64_AVX2 static int kc_base64_word_avx2(const uint8_t *text, uint64_t *word) {
    const __m128i letters = _mm_loadu_si128((const __m128i *)text);
    const int quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(letters, _mm_set1_epi8('"')));
    const int count = (int)_tzcnt_u32((uint32_t)quotes | 0x10000);
    if (count % 4 || (unsigned)count - 4 > 8) return 0;
    const int padding = text[count - 1] == '=' ? 1 + (text[count - 2] == '=') : 0;
    const int size = count / 4 * 3 - padding;
    if (size > 8) return 0;
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i behind = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(count - padding - 1)));
    /* A is zero. */
    const __m128i filled = _mm_blendv_epi8(letters, _mm_set1_epi8('A'), behind);
    __m256i odd;
    const __m256i values = kc_base64_values32(_mm256_castsi128_si256(filled), &odd);
    if (!_mm_testz_si128(_mm256_castsi256_si128(odd), _mm256_castsi256_si128(odd))) return 0;
    const __m128i packed = _mm256_castsi256_si128(kc_base64_packed(values));
    *word = __builtin_bswap64((uint64_t)_mm_cvtsi128_si64(packed));
    return size;
}
#endif

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
static KC_NOINLINE int64_t kc_base64_decode(const uint8_t *text, int64_t size, uint8_t *target) {
    int64_t padding = 0, count, i = 0;
    int bits;
    if (size % 4) return -1;
#if defined(KC_BASE64_AVX2)
    if (size >= 36 && __builtin_cpu_supports("avx2")) i = kc_base64_decode_steps(text, size, target);
#endif
    count = i / 4 * 3;
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

/* Read a string of at most 12 letters up to its quote; 16 bytes may be read. Return how many bytes it stands for, at the
 * upper end of the word, what is below may be anything; 0 if there are more than eight, or none, or it is not valid. */
static inline int kc_base64_word(const uint8_t *text, uint64_t *word) {
#if defined(KC_BASE64_AVX2)
    if (__builtin_cpu_supports("avx2")) return kc_base64_word_avx2(text, word);
#endif
    uint8_t bytes[16] = {0};
    int64_t letters = 0;
    while (letters < 13 && text[letters] != '"') letters++;
    const int64_t size = letters < 13 ? kc_base64_decode(text, letters, bytes) : 0;
    *word = kc_load_be64(bytes);
    return size < 0 || size > 8 ? 0 : (int)size;
}

static const char kc_base64_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One to eight bytes at the upper end of a word -> text, as 13 bytes are written; returns behind it. */
static inline uint8_t *kc_base64_put_word(uint64_t word, int size, uint8_t *out) {
    const int count = (8 * size + 5) / 6;
    for (int i = 0; i < 10; i++) out[i] = (uint8_t)kc_base64_letters[word >> (58 - 6 * i) & 63];
    out[10] = (uint8_t)kc_base64_letters[(word & 15) << 2];
    out[count] = out[count + 1] = '=';
    return out + (size + 2) / 3 * 4;
}

/* Bytes -> text; returns behind it. */
static inline uint8_t *kc_base64_encode(const uint8_t *data, int64_t size, uint8_t *out) {
#if defined(KC_BASE64_AVX2)
    if (size >= 28 && __builtin_cpu_supports("avx2")) {
        const int64_t done = kc_base64_encode_steps(data, size, out);
        data += done;
        size -= done;
        out += done / 3 * 4;
    }
#endif
    for (; size > 0; data += 3, size -= 3, out += 4) {
        const uint32_t bits =
            (uint32_t)data[0] << 16 | (size > 1 ? (uint32_t)data[1] << 8 : 0) | (size > 2 ? data[2] : 0);
        out[0] = (uint8_t)kc_base64_letters[bits >> 18];
        out[1] = (uint8_t)kc_base64_letters[bits >> 12 & 63];
        out[2] = size > 1 ? (uint8_t)kc_base64_letters[bits >> 6 & 63] : '=';
        out[3] = size > 2 ? (uint8_t)kc_base64_letters[bits & 63] : '=';
    }
    return out;
}

#endif
