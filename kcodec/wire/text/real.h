/* Numbers of JSON to floating-point numbers, correctly rounded, without division or many-digit arithmetic.
 *
 * The algorithm is that of Eisel and Lemire (Lemire, "Number Parsing at a Gigabyte per Second", 2021): the digits as an
 * integer of 64 bits, times the 128 most significant bits of a power of five, have enough bits right to round by.
 * Mushtak and Lemire ("Fast Number Parsing Without Fallback", 2022) show that they always do, with up to 19 digits. */
#ifndef KCODEC_REAL_H
#define KCODEC_REAL_H

#include "json_number.h"

enum { KC_LEAST_POWER = -342, KC_MOST_POWER = 324, KC_REAL_SIZE = 31 };

static KC_INLINE uint64_t kc_multiply_high(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high;
    *low = _umul128(a, b, &high);
    return high;
#else
    const uint64_t cross = (a >> 32) * (uint32_t)b + ((uint64_t)(uint32_t)a * (uint32_t)b >> 32);
    const uint64_t other = (uint64_t)(uint32_t)a * (b >> 32) + (uint32_t)cross;
    *low = a * b;
    return (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32);
#endif
}

static KC_INLINE int kc_zeros64(uint64_t word) { return 63 ^ kc_top64(word); }

/* The bits of the number nearest to digits * 10**power, which is not 0, in a format with so many bits of a fraction
 * behind its first one, and such an exponent of all ones; 0 where that is no normal number. `even_from` and `even_to` are
 * the powers for which a number can stand half-way between two others. `powers` are the words of `KC_LEAST_POWER` and
 * all above, the high one first. */
static KC_INLINE uint64_t kc_nearest(
    uint64_t digits, int64_t power, const uint64_t *powers, int bits, int ones, int even_from, int even_to
) {
    if (KC_UNLIKELY(power < KC_LEAST_POWER || power > KC_MOST_POWER)) return 0;
    const uint64_t *const five = powers + 2 * (power - KC_LEAST_POWER);
    const int zeros = kc_zeros64(digits);
    uint64_t low, more;
    digits <<= zeros;
    uint64_t high = kc_multiply_high(digits, five[0], &low);
    const uint64_t unsure = UINT64_MAX >> (bits + 3);
    if (KC_UNLIKELY((high & unsure) == unsure)) {
        const uint64_t second = kc_multiply_high(digits, five[1], &more);
        low += second;
        high += low < second;
    }
    const int top = (int)(high >> 63);
    const int shift = top + 64 - bits - 3;
    uint64_t fraction = high >> shift;
    int64_t exponent = ((217706 * power) >> 16) + 63 + top - zeros + (ones >> 1);
    if (KC_UNLIKELY(exponent <= 0)) return 0;
    if (KC_UNLIKELY(low <= 1 && power >= even_from && power <= even_to && (fraction & 3) == 1) &&
        fraction << shift == high)
        fraction--;
    fraction = (fraction + (fraction & 1)) >> 1;
    exponent += (int64_t)(fraction >> (bits + 1));
    if (KC_UNLIKELY(exponent >= ones)) return 0;
    return (uint64_t)exponent << bits | (fraction & ~(UINT64_MAX << bits));
}

/* Read a number of at most `KC_REAL_SIZE` characters and 19 digits: its digits, and the power of ten that they are of.
 * NULL for any other, with nothing noted. Nothing before the number is read. */
static KC_INLINE const uint8_t *kc_json_scientific(
    const uint8_t *at, const uint8_t *end, uint64_t *digits, int64_t *power
) {
    const uint8_t *const start = at;
    at += *at == '-';
    const uint8_t *const first = at;
    const uint64_t others = kc_json_others32(at);
    const int whole = kc_ctz64(others);
    int behind = 0;
    uint64_t number;
    if (KC_UNLIKELY(whole == 0 || whole > 15) || (KC_UNLIKELY(*first == '0') && whole > 1)) return NULL;
    at += whole;
    if (KC_LIKELY(whole < 8)) {
        number = kc_json_first(first, whole);
    } else {
        uint64_t eight;
        kc_json_eight(first, &eight);
        number = eight * kc_json_pow10[whole - 8] + kc_json_first(first + 8, whole - 8);
    }
    if (KC_LIKELY(*at == '.')) {
        const uint8_t *const point = at + 1;
        uint64_t part;
        behind = kc_ctz64((others & (others - 1)) | UINT64_C(1) << 32) - whole - 1;
        at = point + behind;
        if (KC_LIKELY(behind > 15)) {
            /* 16 digits and up to seven before them. */
            const int more = behind - 16;
            if (KC_UNLIKELY(more > 7)) return NULL;
            const uint64_t before = kc_json_first(point, more);
            if (KC_UNLIKELY(number ? whole + behind > 19 : before > 999)) return NULL;
#if defined(KC_JSON_SSE2)
            part = (uint64_t)kc_json_last(_mm_loadu_si128((const __m128i *)(at - 16)), 16);
#else
            uint64_t low;
            kc_json_eight(at - 16, &part);
            kc_json_eight(at - 8, &low);
            part = part * 100000000 + low;
#endif
            number = (number * kc_json_pow10[more] + before) * UINT64_C(10000000000000000) + part;
        } else {
            if (KC_UNLIKELY(behind == 0 || whole + behind > 18)) return NULL;
            int left = behind;
            if (left > 7) {
                uint64_t eight;
                kc_json_eight(point, &eight);
                number = number * 100000000 + eight;
                left -= 8;
            }
            number = number * kc_json_pow10[left] + kc_json_first(at - left, left);
        }
    }
    int64_t exponent = 0;
    if (KC_UNLIKELY((*at | 0x20) == 'e')) {
        at++;
        const int below = *at == '-';
        at += below | (*at == '+');
        if ((uint8_t)(*at - '0') > 9) return NULL;
        for (int i = 0; i < 5 && (uint8_t)(*at - '0') < 10; i++, at++) exponent = 10 * exponent + (*at - '0');
        if (KC_UNLIKELY((uint8_t)(*at - '0') < 10)) return NULL;
        if (below) exponent = -exponent;
    }
    if (KC_UNLIKELY(at >= end) || KC_UNLIKELY(at - start > KC_REAL_SIZE)) return NULL;
    *digits = number;
    *power = exponent - behind;
    return at;
}

/* Zero only without a sign. */
static KC_NOINLINE const uint8_t *kc_json_double(
    const uint8_t *at, const uint8_t *end, const uint64_t *powers, double *result
) {
    const uint64_t sign = (uint64_t)(*at == '-') << 63;
    uint64_t digits = 0, bits = 0;
    int64_t power = 0;
    at = kc_json_scientific(at, end, &digits, &power);
    if (KC_LIKELY(digits)) bits = kc_nearest(digits, power, powers, 52, 0x7FF, -4, 23);
    if (KC_UNLIKELY(bits == 0) && (digits || sign)) at = NULL;
    bits |= sign;
    memcpy(result, &bits, 8);
    return at;
}

static KC_NOINLINE const uint8_t *kc_json_single(
    const uint8_t *at, const uint8_t *end, const uint64_t *powers, float *result
) {
    const uint32_t sign = (uint32_t)(*at == '-') << 31;
    uint64_t digits = 0;
    int64_t power = 0;
    uint32_t bits = 0;
    at = kc_json_scientific(at, end, &digits, &power);
    if (KC_LIKELY(digits)) bits = (uint32_t)kc_nearest(digits, power, powers, 23, 0xFF, -17, 10);
    if (KC_UNLIKELY(bits == 0) && (digits || sign)) at = NULL;
    bits |= sign;
    memcpy(result, &bits, 4);
    return at;
}

/* A number of a list that ends at `stop`, if one digit stands before its point and 16 to 23 behind: most computed ones. */
static KC_INLINE int kc_json_long_double(
    const uint8_t *at, const uint8_t *stop, const uint64_t *powers, double *result
) {
#if defined(KC_JSON_SSE2)
    const uint64_t sign = (uint64_t)(*at == '-') << 63;
    const uint8_t *const first = at + (*at == '-');
    const int64_t behind = stop - first - 2;
    if (KC_UNLIKELY((uint64_t)(behind - 16) > 7)) return 0;
    if (KC_UNLIKELY((kc_json_others32(first) << (62 - behind)) != UINT64_C(2) << (62 - behind)) || first[1] != '.') return 0;
    const int more = (int)behind - 16;
    const uint64_t whole = *first - '0', before = kc_json_first(first + 2, more);
    if (KC_UNLIKELY(whole ? more > 2 : before > 999)) return 0;
    const uint64_t part = (uint64_t)kc_json_last(_mm_loadu_si128((const __m128i *)(stop - 16)), 16);
    const uint64_t digits = (whole * kc_json_pow10[more] + before) * UINT64_C(10000000000000000) + part;
    if (KC_UNLIKELY(digits == 0)) return 0;
    const uint64_t bits = kc_nearest(digits, -behind, powers, 52, 0x7FF, -4, 23) | sign;
    memcpy(result, &bits, 8);
    return 1;
#else
    (void)at, (void)stop, (void)powers, (void)result;
    return 0;
#endif
}

/* Read the numbers of a list, from the first on, up to its bracket: how many goes to `count`. NULL for a list that has
 * others than `kc_json_double` reads. Commas are found beforehand, so that no number waits for the end of the last. */
static KC_INLINE const uint8_t *kc_json_doubles_inline(
    const uint8_t *at, const uint8_t *end, const uint64_t *powers, double *result, int64_t *count
) {
    const double *const begin = result;
    for (const uint8_t *block = at; block < end; block += 64) {
        uint64_t ends = kc_json_item_ends(block);
        if (KC_UNLIKELY(end - block < 64)) ends &= ~(UINT64_MAX << (end - block));
        for (; ends; ends &= ends - 1, result++) {
            const uint8_t *const stop = block + kc_ctz64(ends);
            if (!kc_json_long_double(at, stop, powers, result) &&
                kc_json_double(at, end, powers, result) != stop)
                return NULL;
            if (KC_UNLIKELY(*stop == ']')) {
                *count = result + 1 - begin;
                return stop;
            }
            at = stop + 1;
        }
    }
    return NULL;
}

#if defined(KC_JSON_HASWELL)
KC_JSON_HASWELL static const uint8_t *kc_json_doubles_haswell(
    const uint8_t *at, const uint8_t *end, const uint64_t *powers, double *result, int64_t *count
) {
    return kc_json_doubles_inline(at, end, powers, result, count);
}
#endif

static inline const uint8_t *kc_json_doubles(
    const uint8_t *at, const uint8_t *end, const uint64_t *powers, double *result, int64_t *count
) {
#if defined(KC_JSON_HASWELL)
    /* The same code; with instructions that take three operands it is a fifth shorter. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return kc_json_doubles_haswell(at, end, powers, result, count);
#endif
    return kc_json_doubles_inline(at, end, powers, result, count);
}

/* The high 64 bits of the product of 128 bits and 64 bits, the lowest one set if the product has others below. */
static KC_INLINE uint64_t kc_round_to_odd(uint64_t high, uint64_t low, uint64_t factor) {
    uint64_t rest, bottom;
    const uint64_t carried = kc_multiply_high(low, factor, &bottom);
    uint64_t top = kc_multiply_high(high, factor, &rest);
    rest += carried;
    top += rest < carried;
    return top | (rest > 1);
}

/* The shortest digits that are read as a number, of these the nearest to it, and the power of ten that they are of; by
 * the algorithm of Giulietti ("The Schubfach way to render doubles", 2020). Not for zero and what is not finite. */
static KC_INLINE uint64_t kc_shortest(double value, const uint64_t *powers, int *power) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    const uint64_t fraction = bits & (UINT64_MAX >> 12);
    const int exponent = (int)(bits >> 52 & 0x7FF);
    const uint64_t significand = exponent ? fraction | UINT64_C(1) << 52 : fraction;
    const int two = (exponent ? exponent : 1) - 1075;
    /* Below a power of two, the next number is half as far away. */
    const int closer = fraction == 0 && exponent > 1;
    const int odd = (int)(significand & 1);
    const int ten = (two * 1262611 - (closer ? 524031 : 0)) >> 22;
    const int shift = two + ((-ten * 1741647) >> 19) + 1;
    const uint64_t *const five = powers + 2 * (-ten - KC_LEAST_POWER);
    /* Here the power is rounded up, where it is not exact; there it is cut off, but for those that reading needs so. */
    const int cut = -ten > 55 || -ten < -27;
    const uint64_t low = five[1] + (uint64_t)cut, high = five[0] + (uint64_t)(cut && low == 0);
    const uint64_t least = kc_round_to_odd(high, low, (4 * significand - 2 + (uint64_t)closer) << shift) + (uint64_t)odd;
    const uint64_t exact = kc_round_to_odd(high, low, (4 * significand) << shift);
    const uint64_t most = kc_round_to_odd(high, low, (4 * significand + 2) << shift) - (uint64_t)odd;
    const uint64_t digits = exact / 4;
    *power = ten;
    if (digits >= 10) {
        const uint64_t fewer = digits / 10;
        const int below = least <= 40 * fewer, above = 40 * fewer + 40 <= most;
        if (below != above) {
            *power = ten + 1;
            return fewer + (uint64_t)above;
        }
    }
    const int below = least <= 4 * digits, above = 4 * digits + 4 <= most;
    if (below != above) return digits + (uint64_t)above;
    return digits + (exact > 4 * digits + 2 || (exact == 4 * digits + 2 && (digits & 1)));
}

#endif
