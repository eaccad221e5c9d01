/* Numbers of JSON; reading them is as json_string.h says. */
#ifndef KCODEC_JSON_NUMBER_H
#define KCODEC_JSON_NUMBER_H

#include <float.h>

#include "json_string.h"

static inline const uint8_t *kc_json_digits(const uint8_t *at, const uint8_t *end, kc_json_fault *fault) {
    if (at >= end) return kc_json_refuse(fault, KC_TRUNCATED, end);
    if ((uint8_t)(*at - '0') > 9) return kc_json_refuse(fault, KC_JSON_SYNTAX, at);
    while (at < end && (uint8_t)(*at - '0') < 10) at++;
    return at;
}

/* [-] (0 | 1-9 digits) [. digits] [(e|E) [+-] digits] */
static inline const uint8_t *kc_json_number(const uint8_t *at, const uint8_t *end, kc_json_fault *fault) {
    if (at < end && *at == '-') at++;
    if (at < end && *at == '0')
        at++;
    else if ((at = kc_json_digits(at, end, fault)) == NULL)
        return NULL;
    if (at < end && *at == '.')
        if ((at = kc_json_digits(at + 1, end, fault)) == NULL) return NULL;
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = kc_json_digits(at, end, fault);
    }
    return at;
}

/* The leading digits of eight bytes: their number, and their value. All at once, as lengths cannot be predicted. */
static KC_INLINE int kc_json_eight(const uint8_t *at, uint64_t *value) {
    uint64_t digits = kc_load_le64(at) ^ (KC_JSON_ONES * '0');
    const uint64_t others = ((digits + KC_JSON_ONES * 0x76) | digits) & KC_JSON_TOPS;
    const int count = others ? kc_ctz64(others) >> 3 : 8;
    digits = count ? digits << (64 - 8 * count) : 0;
    digits = digits * 10 + (digits >> 8);
    digits = ((digits & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
              ((digits >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
             32;
    *value = (uint32_t)digits;
    return count;
}

/* The number of the first `count` of eight bytes, at most seven. */
static KC_INLINE uint64_t kc_json_first(const uint8_t *at, int count) {
    uint64_t digits = (kc_load_le64(at) ^ (KC_JSON_ONES * '0')) << (56 - 8 * count) << 8;
    digits = digits * 10 + (digits >> 8);
    digits = ((digits & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
              ((digits >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
             32;
    return (uint32_t)digits;
}

static const uint64_t kc_json_pow10[19] = {
    UINT64_C(1), UINT64_C(10), UINT64_C(100), UINT64_C(1000), UINT64_C(10000), UINT64_C(100000),
    UINT64_C(1000000), UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000),
    UINT64_C(10000000000), UINT64_C(100000000000), UINT64_C(1000000000000), UINT64_C(10000000000000),
    UINT64_C(100000000000000), UINT64_C(1000000000000000), UINT64_C(10000000000000000),
    UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
};

/* Read a number of at most 15 digits before the point and 15 behind it, 18 together, without an exponent: its value
 * without the point, and how many digits are behind it. NULL for any other, with nothing noted. */
static KC_INLINE const uint8_t *kc_json_short(const uint8_t *at, const uint8_t *end, int64_t *value, int *fraction) {
    uint64_t number, more;
    const int64_t negative = *at == '-';
    at += negative;
    const uint8_t first = *at;
    int count = kc_json_eight(at, &number);
    if (KC_UNLIKELY(count == 0 || (first == '0' && count > 1))) return NULL;
    at += count;
    if (count == 8) {
        const int next = kc_json_eight(at, &more);
        number = number * kc_json_pow10[next] + more;
        count += next;
        at += next;
        if (KC_UNLIKELY(next == 8)) return NULL;
    }
    *fraction = 0;
    if (*at == '.') {
        int next = kc_json_eight(at + 1, &more);
        if (KC_UNLIKELY(next == 0)) return NULL;
        number = number * kc_json_pow10[next] + more;
        at += 1 + next;
        *fraction = next;
        if (next == 8) {
            next = kc_json_eight(at, &more);
            if (KC_UNLIKELY(next == 8 || count + next > 10)) return NULL;
            number = number * kc_json_pow10[next] + more;
            at += next;
            *fraction += next;
        } else if (KC_UNLIKELY(count + next > 18)) {
            return NULL;
        }
    }
    if (KC_UNLIKELY((*at | 0x20) == 'e' || at >= end)) return NULL;
    *value = ((int64_t)number ^ -negative) + negative;
    return at;
}

/* The same by 16 bytes at once, for at most 15 characters and a sign, with no branch but for the point: how long numbers
 * are cannot be predicted. 17 bytes before the one behind the number may be read too. */
#if defined(KC_JSON_SSE2)

/* 16 bytes from n on are a mask of the last n of them. */
static const uint8_t kc_json_counted[32] = {
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* A bit for each of 16 bytes that is no digit, and one behind. */
static KC_INLINE uint64_t kc_json_others(const uint8_t *at) {
    const __m128i text = _mm_loadu_si128((const __m128i *)at);
    const __m128i moved = _mm_add_epi8(text, _mm_set1_epi8((char)(0x80 - '0')));
    return (uint64_t)_mm_movemask_epi8(_mm_cmpgt_epi8(moved, _mm_set1_epi8((char)(0x80 + 9)))) | 0x10000;
}

/* The same of 32 bytes. */
static KC_INLINE uint64_t kc_json_others32(const uint8_t *at) {
    return (kc_json_others(at) ^ 0x10000) | kc_json_others(at + 16) << 16;
}

/* The number of the last `count` of 16 digits. */
static KC_INLINE int64_t kc_json_last(__m128i text, size_t count) {
    __m128i tens = _mm_set1_epi16(10 * 256 + 1);
#if defined(__GNUC__)
    /* Or the product becomes four shifts and sums. */
    __asm__("" : "+x"(tens));
#endif
    const __m128i digits = _mm_and_si128(
        _mm_sub_epi8(text, _mm_set1_epi8('0')), _mm_loadu_si128((const __m128i *)(kc_json_counted + count))
    );
    const __m128i pairs = _mm_srli_epi16(_mm_mullo_epi16(digits, tens), 8);
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    const uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eights);
    return (int64_t)((halves & UINT32_MAX) * 100000000 + (halves >> 32));
}

#else

/* A bit for each of 32 bytes that is no digit, and one behind; right up to the first one that is no digit or point. */
static KC_INLINE uint64_t kc_json_others32(const uint8_t *at) {
    uint64_t bits = UINT64_C(1) << 32;
    for (int i = 0; i < 32; i += 8) {
        const uint64_t digits = kc_load_le64(at + i) ^ (KC_JSON_ONES * '0');
        const uint64_t others = ((digits + KC_JSON_ONES * 0x76) | digits) & KC_JSON_TOPS;
        bits |= ((others >> 7) * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return bits;
}

#endif

static KC_INLINE const uint8_t *kc_json_whole(const uint8_t *at, const uint8_t *end, int64_t *value) {
#if defined(KC_JSON_SSE2)
    /* By their last five bits: a point, an exponent. */
    const uint32_t more = UINT32_C(1) << ('.' & 31) | UINT32_C(1) << ('e' & 31);
    const int64_t negative = *at == '-';
    const uint8_t *const first = at + negative;
    const size_t size = (size_t)kc_ctz64(kc_json_others(first));
    at = first + size;
    if (KC_UNLIKELY(size - 1 >= 15) || (KC_UNLIKELY(*first == '0') && size > 1)) return NULL;
    if (KC_UNLIKELY(more >> (*at & 31) & 1) || KC_UNLIKELY(at >= end)) return NULL;
    const int64_t number = kc_json_last(_mm_loadu_si128((const __m128i *)(at - 16)), size);
    *value = (number ^ -negative) + negative;
    return at;
#else
    int fraction = 0;
    at = kc_json_short(at, end, value, &fraction);
    return fraction ? NULL : at;
#endif
}

/* The same for 16 to 19 digits, as far as 64 bits hold them. Nothing before the number is read. */
static KC_NOINLINE const uint8_t *kc_json_long(const uint8_t *at, const uint8_t *end, int64_t *value) {
    const int64_t negative = *at == '-';
    const uint8_t *const first = at + negative;
    const int size = kc_ctz64(kc_json_others32(first)), more = size - 16;
    uint64_t number;
    at = first + size;
    if (KC_UNLIKELY((unsigned)more > 3) || *first == '0' || *at == '.' || (*at | 0x20) == 'e' || at >= end) return NULL;
#if defined(KC_JSON_SSE2)
    number = (uint64_t)kc_json_last(_mm_loadu_si128((const __m128i *)(at - 16)), 16);
#else
    uint64_t low, high;
    kc_json_eight(at - 16, &high);
    kc_json_eight(at - 8, &low);
    number = high * 100000000 + low;
#endif
    number += kc_json_first(first, more) * UINT64_C(10000000000000000);
    if (KC_UNLIKELY(number > (uint64_t)INT64_MAX + (uint64_t)negative)) return NULL;
    *value = (int64_t)((number ^ (uint64_t)-negative) + (uint64_t)negative);
    return at;
}

/* Where a number of fewer than 32 digits without an exponent ends; NULL for any other. */
static KC_INLINE const uint8_t *kc_json_fixed(const uint8_t *at, const uint8_t *end) {
    const uint8_t *const first = at + (*at == '-');
    uint64_t others = kc_json_others32(first);
    int size = kc_ctz64(others), whole = size;
    if (first[size] == '.') {
        others &= others - 1;
        size = kc_ctz64(others | UINT64_C(1) << 33);
        if (size == whole + 1) return NULL;
    }
    if (whole == 0 || (*first == '0' && whole > 1) || size >= 32) return NULL;
    at = first + size;
    return (*at | 0x20) == 'e' || *at == '.' || at >= end ? NULL : at;
}

static KC_INLINE const uint8_t *kc_json_tight(const uint8_t *at, const uint8_t *end, int64_t *value, int *fraction) {
#if defined(KC_JSON_SSE2)
    const int64_t negative = *at == '-';
    const uint8_t *const first = at + negative;
    const uint64_t others = kc_json_others(first);
    const size_t whole = (size_t)kc_ctz64(others);
    size_t behind = 0;
    __m128i text;
    at = first + whole;
    if (KC_UNLIKELY(whole - 1 >= 15) || (KC_UNLIKELY(*first == '0') && whole > 1)) return NULL;
    if (KC_LIKELY(*at == '.')) {
        const size_t size = (size_t)kc_ctz64((others & (others - 1)) | 0x10000);
        behind = size - whole - 1;
        at = first + size;
        if (KC_UNLIKELY(behind == 0) || KC_UNLIKELY(size == 16)) return NULL;
        /* What stands before the point from a byte earlier on, so that no point is between. */
        const __m128i before = _mm_loadu_si128((const __m128i *)(at - 17));
        const __m128i both = _mm_xor_si128(before, _mm_loadu_si128((const __m128i *)(at - 16)));
        const __m128i mask = _mm_loadu_si128((const __m128i *)(kc_json_counted + behind));
        text = _mm_xor_si128(before, _mm_and_si128(both, mask));
    } else {
        text = _mm_loadu_si128((const __m128i *)(at - 16));
    }
    if (KC_UNLIKELY((*at | 0x20) == 'e') || KC_UNLIKELY(at >= end)) return NULL;
    const int64_t number = kc_json_last(text, whole + behind);
    *fraction = (int)behind;
    *value = (number ^ -negative) + negative;
    return at;
#else
    return kc_json_short(at, end, value, fraction);
#endif
}

/* A quotient of two numbers that the type holds exactly is the nearest to it: one operation, rounded once. */
static KC_INLINE int kc_json_quotient(int64_t value, int fraction, double *result) {
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    *result = (double)value / powers[fraction];
    return (uint64_t)(value + (INT64_C(1) << 53)) <= UINT64_C(1) << 54;
#else
    (void)powers, (void)value, (void)fraction, (void)result;
    return 0;
#endif
}

static KC_INLINE int kc_json_quotient_single(int64_t value, int fraction, float *result) {
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    if (fraction > 10) return 0;
    *result = (float)value / powers[fraction];
    return (uint64_t)(value + (INT64_C(1) << 24)) <= UINT64_C(1) << 25;
#else
    (void)powers, (void)value, (void)fraction, (void)result;
    return 0;
#endif
}

/* A bit for each of 64 bytes that ends an item of a list of numbers: a comma or a bracket. */
static KC_INLINE uint64_t kc_json_item_ends(const uint8_t *at) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += 16) {
#if defined(KC_JSON_SSE2)
        const __m128i text = _mm_loadu_si128((const __m128i *)(at + i));
        const __m128i found =
            _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(',')), _mm_cmpeq_epi8(text, _mm_set1_epi8(']')));
        bits |= (uint64_t)_mm_movemask_epi8(found) << i;
#else
        for (int j = i; j < i + 16; j++) bits |= (uint64_t)(at[j] == ',' || at[j] == ']') << j;
#endif
    }
    return bits;
}

#endif
