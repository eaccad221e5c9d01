/* Powers of ten, and the arithmetic on 128 and 256 bits that decimals need.
 *
 * A number is an array of 64-bit words in two's complement, the lowest word first: two words are an Arrow decimal128,
 * four a decimal256. */
#ifndef KCODEC_WIDEINT_H
#define KCODEC_WIDEINT_H

#include <stddef.h>

#include "bits.h"

enum { KC_MAX_DIGITS64 = 19, KC_MAX_DIGITS128 = 38, KC_MAX_DIGITS256 = 76 };

static const uint64_t kc_pow10[KC_MAX_DIGITS256 + 1][4] = {
    {0x1u, 0, 0, 0},
    {0xAu, 0, 0, 0},
    {0x64u, 0, 0, 0},
    {0x3E8u, 0, 0, 0},
    {0x2710u, 0, 0, 0},
    {0x186A0u, 0, 0, 0},
    {0xF4240u, 0, 0, 0},
    {0x989680u, 0, 0, 0},
    {0x5F5E100u, 0, 0, 0},
    {0x3B9ACA00u, 0, 0, 0},
    {0x2540BE400u, 0, 0, 0},
    {0x174876E800u, 0, 0, 0},
    {0xE8D4A51000u, 0, 0, 0},
    {0x9184E72A000u, 0, 0, 0},
    {0x5AF3107A4000u, 0, 0, 0},
    {0x38D7EA4C68000u, 0, 0, 0},
    {0x2386F26FC10000u, 0, 0, 0},
    {0x16345785D8A0000u, 0, 0, 0},
    {0xDE0B6B3A7640000u, 0, 0, 0},
    {0x8AC7230489E80000u, 0, 0, 0},
    {0x6BC75E2D63100000u, 0x5u, 0, 0},
    {0x35C9ADC5DEA00000u, 0x36u, 0, 0},
    {0x19E0C9BAB2400000u, 0x21Eu, 0, 0},
    {0x2C7E14AF6800000u, 0x152Du, 0, 0},
    {0x1BCECCEDA1000000u, 0xD3C2u, 0, 0},
    {0x161401484A000000u, 0x84595u, 0, 0},
    {0xDCC80CD2E4000000u, 0x52B7D2u, 0, 0},
    {0x9FD0803CE8000000u, 0x33B2E3Cu, 0, 0},
    {0x3E25026110000000u, 0x204FCE5Eu, 0, 0},
    {0x6D7217CAA0000000u, 0x1431E0FAEu, 0, 0},
    {0x4674EDEA40000000u, 0xC9F2C9CD0u, 0, 0},
    {0xC0914B2680000000u, 0x7E37BE2022u, 0, 0},
    {0x85ACEF8100000000u, 0x4EE2D6D415Bu, 0, 0},
    {0x38C15B0A00000000u, 0x314DC6448D93u, 0, 0},
    {0x378D8E6400000000u, 0x1ED09BEAD87C0u, 0, 0},
    {0x2B878FE800000000u, 0x13426172C74D82u, 0, 0},
    {0xB34B9F1000000000u, 0xC097CE7BC90715u, 0, 0},
    {0xF436A000000000u, 0x785EE10D5DA46D9u, 0, 0},
    {0x98A224000000000u, 0x4B3B4CA85A86C47Au, 0, 0},
    {0x5F65568000000000u, 0xF050FE938943ACC4u, 0x2u, 0},
    {0xB9F5610000000000u, 0x6329F1C35CA4BFABu, 0x1Du, 0},
    {0x4395CA0000000000u, 0xDFA371A19E6F7CB5u, 0x125u, 0},
    {0xA3D9E40000000000u, 0xBC627050305ADF14u, 0xB7Au, 0},
    {0x6682E80000000000u, 0x5BD86321E38CB6CEu, 0x72CBu, 0},
    {0x11D100000000000u, 0x9673DF52E37F2410u, 0x47BF1u, 0},
    {0xB22A00000000000u, 0xE086B93CE2F768A0u, 0x2CD76Fu, 0},
    {0x6F5A400000000000u, 0xC5433C60DDAA1640u, 0x1C06A5Eu, 0},
    {0x5986800000000000u, 0xB4A05BC8A8A4DE84u, 0x118427B3u, 0},
    {0x7F41000000000000u, 0xE4395D69670B12Bu, 0xAF298D05u, 0},
    {0xF88A000000000000u, 0x8EA3DA61E066EBB2u, 0x6D79F8232u, 0},
    {0xB564000000000000u, 0x926687D2C40534FDu, 0x446C3B15F9u, 0},
    {0x15E8000000000000u, 0xB8014E3BA83411E9u, 0x2AC3A4EDBBFu, 0},
    {0xDB10000000000000u, 0x300D0E549208B31Au, 0x1ABA4714957Du, 0},
    {0x8EA0000000000000u, 0xE0828F4DB456FF0Cu, 0x10B46C6CDD6E3u, 0},
    {0x9240000000000000u, 0xC51999090B65F67Du, 0xA70C3C40A64E6u, 0},
    {0xB680000000000000u, 0xB2FFFA5A71FBA0E7u, 0x6867A5A867F103u, 0},
    {0x2100000000000000u, 0xFDFFC78873D4490Du, 0x4140C78940F6A24u, 0},
    {0x4A00000000000000u, 0xEBFDCB54864ADA83u, 0x28C87CB5C89A2571u, 0},
    {0xE400000000000000u, 0x37E9F14D3EEC8920u, 0x97D4DF19D6057673u, 0x1u},
    {0xE800000000000000u, 0x2F236D04753D5B48u, 0xEE50B7025C36A080u, 0xFu},
    {0x1000000000000000u, 0xD762422C946590D9u, 0x4F2726179A224501u, 0x9Fu},
    {0xA000000000000000u, 0x69D695BDCBF7A87Au, 0x17877CEC0556B212u, 0x639u},
    {0x4000000000000000u, 0x2261D969F7AC94CAu, 0xEB4AE1383562F4B8u, 0x3E3Au},
    {0x8000000000000000u, 0x57D27E23ACBDCFE6u, 0x30ECCC3215DD8F31u, 0x26E4Du},
    {0, 0x6E38ED64BF6A1F01u, 0xE93FF9F4DAA797EDu, 0x184F03u},
    {0, 0x4E3945EF7A25360Au, 0x1C7FC3908A8BEF46u, 0xF31627u},
    {0, 0xE3CBB5AC5741C64u, 0x1CFDA3A5697758BFu, 0x97EDD87u},
    {0, 0x8E5F518BB6891BE8u, 0x21E864761EA97776u, 0x5EF4A747u},
    {0, 0x8FB92F75215B1710u, 0x5313EC9D329EAAA1u, 0x3B58E88C7u},
    {0, 0x9D3BDA934D8EE6A0u, 0x3EC73E23FA32AA4Fu, 0x25179157C9u},
    {0, 0x245689C107950240u, 0x73C86D67C5FAA71Cu, 0x172EBAD6DDCu},
    {0, 0x6B61618A4BD21680u, 0x85D4460DBBCA8719u, 0xE7D34C64A9Cu},
    {0, 0x31CDCF66F634E100u, 0x3A4ABC8955E946FEu, 0x90E40FBEEA1Du},
    {0, 0xF20A1A059E10CA00u, 0x46EB5D5D5B1CC5EDu, 0x5A8E89D752524u},
    {0, 0x746504382CA7E400u, 0xC531A5A58F1FBB4Bu, 0x3899162693736Au},
    {0, 0x8BF22A31BE8EE800u, 0xB3F07877973D50F2u, 0x235FADD81C2822Bu},
    {0, 0x7775A5F171951000u, 0x764B4ABE8652979u, 0x161BCCA7119915B5u},
};

static inline int kc_clz64(uint64_t x) {
#if defined(_MSC_VER)
    unsigned long i;
    _BitScanReverse64(&i, x);
    return 63 - (int)i;
#else
    return __builtin_clzll(x);
#endif
}

/* The low word of a product; the high word through `high`. */
static inline uint64_t kc_wide_multiply64(uint64_t a, uint64_t b, uint64_t *high) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0;
    const uint64_t middle = a1 * b0 + (low >> 32);
    const uint64_t other = a0 * b1 + (uint32_t)middle;
    *high = a1 * b1 + (middle >> 32) + (other >> 32);
    return (other << 32) | (uint32_t)low;
#endif
}

static inline int kc_wide_negative(const uint64_t *x, int words) { return (int)(x[words - 1] >> 63); }

static inline int kc_wide_zero(const uint64_t *x, int words) {
    uint64_t any = 0;
    for (int i = 0; i < words; i++) any |= x[i];
    return any == 0;
}

static inline void kc_wide_negate(uint64_t *x, int words) {
    uint64_t carry = 1;
    for (int i = 0; i < words; i++) {
        x[i] = ~x[i] + carry;
        carry = carry && x[i] == 0;
    }
}

static inline int kc_wide_less(const uint64_t *a, const uint64_t *b, int words) {
    for (int i = words - 1; i > 0; i--)
        if (a[i] != b[i]) return a[i] < b[i];
    return a[0] < b[0];
}

/* Whether a magnitude has at most this many digits. */
static inline int kc_wide_fits(const uint64_t *magnitude, int words, int digits) {
    return digits >= 0 && kc_wide_less(magnitude, kc_pow10[digits], words);
}

/* x *= 10**digits, which the caller knows to fit. */
static inline void kc_wide_scale_up(uint64_t *x, int words, int digits) {
    const uint64_t *power = kc_pow10[digits];
    uint64_t product[4] = {0, 0, 0, 0};
    for (int i = 0; i < words; i++) {
        uint64_t carry = 0;
        for (int j = 0; i + j < words; j++) {
            uint64_t high;
            uint64_t low = kc_wide_multiply64(x[i], power[j], &high);
            low += carry;
            high += low < carry;
            product[i + j] += low;
            carry = high + (product[i + j] < low);
        }
    }
    memcpy(x, product, 8 * (size_t)words);
}

/* Limbs of 32 bits, the lowest first: limbs /= divisor, and the remainder. */
static inline uint32_t kc_limbs_divide(uint32_t *limbs, size_t count, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = count; i-- > 0;) {
        const uint64_t part = rest << 32 | limbs[i];
        limbs[i] = (uint32_t)(part / divisor);
        rest = part % divisor;
    }
    return (uint32_t)rest;
}

/* The same with the divisor that a compiler turns into a multiplication. */
static inline uint32_t kc_limbs_divide_billion(uint32_t *limbs, size_t count) {
    return kc_limbs_divide(limbs, count, 1000000000u);
}

/* limbs = limbs * factor + term; the new count. There is room for one limb more. */
static inline size_t kc_limbs_multiply(uint32_t *limbs, size_t count, uint32_t factor, uint32_t term) {
    uint64_t carry = term;
    for (size_t i = 0; i < count; i++) {
        carry += (uint64_t)limbs[i] * factor;
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) limbs[count++] = (uint32_t)carry;
    return count;
}

/* magnitude /= 10**digits; 0 if that leaves a remainder (the magnitude is then not meaningful). */
static inline int kc_wide_scale_down(uint64_t *x, int words, int digits) {
    uint32_t limbs[8];
    uint64_t above = 0;
    for (int i = 1; i < words; i++) above |= x[i];
    if (above == 0 && digits <= KC_MAX_DIGITS64) {
        const uint64_t divisor = kc_pow10[digits][0];
        const uint64_t quotient = x[0] / divisor;
        if (quotient * divisor != x[0]) return 0;
        x[0] = quotient;
        return 1;
    }
    for (int i = 0; i < words; i++) {
        limbs[2 * i] = (uint32_t)x[i];
        limbs[2 * i + 1] = (uint32_t)(x[i] >> 32);
    }
    for (; digits >= 9; digits -= 9)
        if (kc_limbs_divide_billion(limbs, 2 * (size_t)words)) return 0;
    if (kc_limbs_divide(limbs, 2 * (size_t)words, (uint32_t)kc_pow10[digits][0])) return 0;
    for (int i = 0; i < words; i++) x[i] = limbs[2 * i] | (uint64_t)limbs[2 * i + 1] << 32;
    return 1;
}

#endif
