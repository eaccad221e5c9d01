/* Decimals: an unscaled integer as big-endian two's complement bytes (java.math.BigInteger.toByteArray), as the words
 * of an Arrow decimal, and as text (java.math.BigDecimal.toString and toPlainString). All exact. */
#ifndef KCODEC_DECIMAL_H
#define KCODEC_DECIMAL_H

#include "wideint.h"

/* Value of 1 to 8 bytes. The two loads of four bytes may overlap: both then hold the same bits there. */
static inline int64_t kc_decimal_small(const uint8_t *source, size_t size) {
    uint64_t value;
    if (size >= 4) {
        value = (uint64_t)kc_load_be32(source) << (8 * (size - 4)) | kc_load_be32(source + size - 4);
    } else {
        const size_t middle = size >> 1;
        value = (uint64_t)source[0] << (8 * (size - 1)) | (uint64_t)source[middle] << (8 * (size - 1 - middle)) |
                source[size - 1];
    }
    const int shift = (int)(64 - 8 * size);
    return (int64_t)(value << shift) >> shift;
}

/* Number of leading bytes that only repeat the sign; at least one byte is left of a value that is not empty. */
static inline size_t kc_decimal_padding(const uint8_t *source, size_t size) {
    size_t skip = 0;
    if (size == 0) return 0;
    const uint8_t sign = (uint8_t)-(source[0] >> 7);
    while (skip + 1 < size && source[skip] == sign && (source[skip + 1] ^ sign) < 0x80) skip++;
    return skip;
}

static inline void kc_decimal_store(const uint64_t *value, int words, uint8_t *slot) {
    for (int i = 0; i < words; i++) kc_store_le64(slot + 8 * i, value[i]);
}

static inline void kc_decimal_load(const uint8_t *slot, int words, uint64_t *value) {
    for (int i = 0; i < words; i++) value[i] = kc_load_le64(slot + 8 * i);
}

/* Make the magnitude of a number; whether it was negative. */
static inline int kc_decimal_magnitude(uint64_t *value, int words) {
    const int negative = kc_wide_negative(value, words);
    if (negative) kc_wide_negate(value, words);
    return negative;
}

/* The largest magnitude of so many digits; of more than 64 bits hold, all that they hold. */
static inline uint64_t kc_decimal_limit(int precision) {
    return precision < KC_MAX_DIGITS64 ? kc_pow10[precision][0] - 1 : UINT64_MAX;
}

/* Big-endian bytes of any length -> slot of an Arrow decimal. */
static inline int kc_decimal_from_bytes(
    const uint8_t *source, size_t size, int precision, int words, uint8_t *slot
) {
    uint64_t value[4], magnitude[4];
    if (KC_LIKELY(size - 1 < 8)) {
        const int64_t small = kc_decimal_small(source, size);
        if (precision < KC_MAX_DIGITS64) {
            const uint64_t absolute = small < 0 ? 0 - (uint64_t)small : (uint64_t)small;
            if (KC_UNLIKELY(absolute >= kc_pow10[precision][0])) return KC_DECIMAL_PRECISION;
        }
        kc_store_le64(slot, (uint64_t)small);
        for (int i = 1; i < words; i++) kc_store_le64(slot + 8 * i, (uint64_t)(small >> 63));
        return KC_OK;
    }
    if (size == 0) {
        memset(slot, 0, 8 * (size_t)words);
        return KC_OK;
    }
    if (size > 8 * (size_t)words) {
        const size_t skip = kc_decimal_padding(source, size);
        source += skip;
        size -= skip;
        if (size > 8 * (size_t)words) return KC_DECIMAL_PRECISION;
    }
    const uint64_t sign = (uint64_t)-(int64_t)(source[0] >> 7);
    for (int i = 0; i < words; i++) {
        if (size >= 8) {
            size -= 8;
            value[i] = kc_load_be64(source + size);
        } else if (size > 0) {
            value[i] = (uint64_t)kc_decimal_small(source, size);
            size = 0;
        } else {
            value[i] = sign;
        }
        magnitude[i] = value[i];
    }
    kc_decimal_magnitude(magnitude, words);
    if (!kc_wide_fits(magnitude, words, precision)) return KC_DECIMAL_PRECISION;
    kc_decimal_store(value, words, slot);
    return KC_OK;
}

/* Slot of an Arrow decimal -> the fewest bytes; their number. Up to 8 * words bytes are written. */
static inline size_t kc_decimal_to_bytes(const uint8_t *slot, int words, uint8_t *target) {
    uint64_t value[4];
    int top = words - 1;
    kc_decimal_load(slot, words, value);
    while (top > 0 && value[top] == (uint64_t)((int64_t)value[top - 1] >> 63)) top--;
    const uint64_t bits = value[top] ^ (uint64_t)((int64_t)value[top] >> 63);
    const size_t skip = bits == 0 ? 7 : (size_t)(kc_clz64(bits) - 1) >> 3;
    size_t size = 8 - skip;
    kc_store_be64(target, value[top] << (8 * skip));
    for (int i = top - 1; i >= 0; i--) {
        kc_store_be64(target + size, value[i]);
        size += 8;
    }
    return size;
}

/* The same at the upper end of a word, with zeros below; 0 if there are more than eight bytes. */
static inline int kc_decimal_to_word(const uint8_t *slot, int words, uint64_t *word) {
    const uint64_t value = kc_load_le64(slot), sign = (uint64_t)((int64_t)value >> 63);
    for (int i = 1; i < words; i++)
        if (kc_load_le64(slot + 8 * i) != sign) return 0;
    const int skip = (kc_clz64((value ^ sign) | 1) - 1) >> 3;
    *word = value << (8 * skip);
    return 8 - skip;
}

/* Bytes of any length -> exactly `wanted` bytes of the same value. */
static inline int kc_decimal_resize(const uint8_t *source, size_t size, uint8_t *target, size_t wanted) {
    const size_t skip = kc_decimal_padding(source, size);
    source += skip;
    size -= skip;
    if (size > wanted) return KC_DECIMAL_PRECISION;
    memset(target, size != 0 && source[0] >= 0x80 ? 0xFF : 0, wanted - size);
    memcpy(target + wanted - size, source, size);
    return KC_OK;
}

/* Slot -> exactly `wanted` bytes. */
static inline int kc_decimal_to_fixed(const uint8_t *slot, int words, uint8_t *target, size_t wanted) {
    uint8_t bytes[40];
    return kc_decimal_resize(bytes, kc_decimal_to_bytes(slot, words, bytes), target, wanted);
}

/* Slot -> slot: the value times 10**digits, which may be negative. */
static inline int kc_decimal_rescale(
    const uint8_t *source, int words, int64_t digits, int precision, uint8_t *slot
) {
    uint64_t value[4];
    kc_decimal_load(source, words, value);
    if (!kc_wide_zero(value, words)) {
        const int most = words == 2 ? KC_MAX_DIGITS128 : KC_MAX_DIGITS256;
        const int negative = kc_decimal_magnitude(value, words);
        if (digits < 0) {
            /* 10**(most + 1) is above every magnitude: only 0 is a multiple of it. */
            if (digits < -most || !kc_wide_scale_down(value, words, (int)-digits)) return KC_INEXACT;
            if (!kc_wide_fits(value, words, precision)) return KC_DECIMAL_PRECISION;
        } else {
            if (digits > precision || !kc_wide_fits(value, words, precision - (int)digits))
                return KC_DECIMAL_PRECISION;
            kc_wide_scale_up(value, words, (int)digits);
        }
        if (negative) kc_wide_negate(value, words);
    }
    kc_decimal_store(value, words, slot);
    return KC_OK;
}

/* ---- text ---- */

static inline int kc_decimal_count(uint64_t value) {
    /* 1233 / 4096 is just above log10(2): the guess is right or one too high. */
    const int guess = ((64 - kc_clz64(value | 1)) * 1233) >> 12;
    return guess + ((value | 1) >= kc_pow10[guess][0]);
}

/* Eight digits of a value below 10**8, the first in the lowest byte: three divisions, each of all lanes at once. */
static inline uint64_t kc_decimal_eight(uint32_t value) {
    const uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    const uint64_t high = ((fours * 10486) >> 20) & UINT64_C(0x7F0000007F);
    const uint64_t twos = high | (fours - 100 * high) << 16;
    const uint64_t tens = ((twos * 103) >> 10) & UINT64_C(0x000F000F000F000F);
    return (tens | (twos - 10 * tens) << 8) | UINT64_C(0x3030303030303030);
}

/* Write the digits in groups of eight, with zeros in front, into 24 bytes; how many digits these are. */
static inline int kc_decimal_groups(uint64_t value, char *out) {
    const uint32_t unit = 100000000;
    if (value < unit) {
        kc_store_le64(out, kc_decimal_eight((uint32_t)value));
        return 8;
    }
    uint64_t high = value / unit;
    const uint64_t last = kc_decimal_eight((uint32_t)(value - high * unit));
    if (high < unit) {
        kc_store_le64(out, kc_decimal_eight((uint32_t)high));
        kc_store_le64(out + 8, last);
        return 16;
    }
    const uint64_t highest = high / unit;
    kc_store_le64(out, kc_decimal_eight((uint32_t)highest));
    kc_store_le64(out + 8, kc_decimal_eight((uint32_t)(high - highest * unit)));
    kc_store_le64(out + 16, last);
    return 24;
}

/* Write exactly `count` digits, with zeros in front. */
static inline void kc_decimal_digits(uint64_t value, int count, char *out) {
    char groups[24];
    int have = kc_decimal_groups(value, groups);
    for (; count > have; count--) *out++ = '0';
    memcpy(out, groups + have - count, (size_t)count);
}

/* Most digits that a value of this many bytes can have: 8 * log10(2) is below 2.41. */
static inline size_t kc_decimal_most_digits(size_t size) { return size * 2 + size * 41 / 100 + 1; }

/* Bytes that must be free behind `out` in kc_decimal_text. Short digits are moved 40 bytes at a time; those of more
 * than 16 bytes are made, with the limbs they come from, behind where the text will end. */
static inline size_t kc_decimal_text_room(size_t size, int32_t scale, int plain) {
    size_t room = 104;
    if (size > 16) room += 2 * kc_decimal_most_digits(size) + size + 8;
    if (plain) room += (size_t)(scale < 0 ? -(int64_t)scale : (int64_t)scale);
    return room;
}

/* With at most 40 digits the move is of that fixed size. */
static inline char *kc_decimal_move(char *out, const char *digits, size_t count, int many) {
    if (many)
        memcpy(out, digits, count);
    else
        memcpy(out, digits, 40);
    return out + count;
}

/* Digits -> text; its length. `many` says that there may be more than 40; if not, 40 bytes can be read and written
 * from anywhere in them. */
static inline size_t kc_decimal_layout(
    int negative, const char *digits, size_t count, int many, int32_t scale, int plain, char *out
) {
    const int64_t adjusted = (int64_t)count - 1 - scale;
    char *at = out;
    *at = '-';
    at += negative;
    if (scale == 0) {
        at = kc_decimal_move(at, digits, count, many);
    } else if (scale > 0 && (plain || adjusted >= -6)) {
        if (count > (size_t)scale) {
            at = kc_decimal_move(at, digits, count - (size_t)scale, many);
            *at++ = '.';
            at = kc_decimal_move(at, digits + count - scale, (size_t)scale, many);
        } else {
            *at++ = '0';
            *at++ = '.';
            memset(at, '0', (size_t)scale - count);
            at = kc_decimal_move(at + ((size_t)scale - count), digits, count, many);
        }
    } else if (plain) {
        at = kc_decimal_move(at, digits, count, many);
        if (digits[0] != '0') {
            memset(at, '0', (size_t)-(int64_t)scale);
            at += -(int64_t)scale;
        }
    } else {
        *at++ = digits[0];
        if (count > 1) {
            *at++ = '.';
            at = kc_decimal_move(at, digits + 1, count - 1, many);
        }
        *at++ = 'E';
        *at++ = adjusted < 0 ? '-' : '+';
        const uint64_t exponent = (uint64_t)(adjusted < 0 ? -adjusted : adjusted);
        const int length = kc_decimal_count(exponent);
        kc_decimal_digits(exponent, length, at);
        at += length;
    }
    return (size_t)(at - out);
}

/* Digits of a magnitude of more than 16 bytes, with the limbs in scratch memory behind them; their number. */
static inline size_t kc_decimal_long_digits(const uint8_t *source, size_t size, int negative, char *out) {
    const size_t most = kc_decimal_most_digits(size);
    uint32_t *limbs = (uint32_t *)(((uintptr_t)(out + most) + 3) & ~(uintptr_t)3);
    size_t count = (size + 3) / 4;
    size_t at = most;
    uint64_t carry = (uint64_t)negative;
    for (size_t i = 0; i < count; i++) {
        const size_t left = size - 4 * i;
        uint32_t limb = left >= 4 ? kc_load_be32(source + left - 4) : (uint32_t)kc_decimal_small(source, left);
        if (negative) limb = ~limb;
        carry += limb;
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    while (count > 0 && limbs[count - 1] == 0) count--;
    while (count > 0) {
        const uint32_t chunk = kc_limbs_divide_billion(limbs, count);
        while (count > 0 && limbs[count - 1] == 0) count--;
        const int length = count > 0 ? 9 : kc_decimal_count(chunk);
        at -= (size_t)length;
        kc_decimal_digits(chunk, length, out + at);
    }
    memmove(out, out + at, most - at);
    return most - at;
}

/* Text without an exponent of a value below 10**8 at a scale of 0 to 7; its length. All of it happens in a register:
 * storing the digits and loading them again from where they start would wait for the store. */
static inline size_t kc_decimal_short(uint64_t value, int count, int scale, char *out) {
    if (count <= scale) count = scale + 1;
    uint64_t digits = kc_decimal_eight((uint32_t)value) >> (8 * (8 - count));
    if (scale == 0) {
        kc_store_le64(out, digits);
        return (size_t)count;
    }
    const int point = 8 * (count - scale);
    const uint64_t whole = digits & ((UINT64_C(1) << point) - 1);
    out[8] = (char)('0' + value % 10);
    digits = (digits ^ whole) << 8 | (uint64_t)'.' << point | whole;
    kc_store_le64(out, digits);
    return (size_t)count + 1;
}

/* A value of 64 bits -> text of at most `precision` digits, with kc_decimal_text_room free. */
static inline int kc_decimal_small_text(
    int64_t value, int32_t scale, int plain, int64_t precision, char *out, size_t *length
) {
    char digits[88];
    const int negative = value < 0;
    /* Without a branch: signs come in no order that could be predicted. */
    const uint64_t flip = (uint64_t)(value >> 63);
    const uint64_t magnitude = ((uint64_t)value ^ flip) - flip;
    const size_t count = (size_t)kc_decimal_count(magnitude);
    if (KC_UNLIKELY((int64_t)count > precision)) return KC_DECIMAL_PRECISION;
    if (KC_LIKELY(magnitude < 100000000 && (uint32_t)scale < 8 && (plain || scale - (int)count < 6))) {
        *out = '-';
        *length = (size_t)negative + kc_decimal_short(magnitude, (int)count, scale, out + negative);
        return KC_OK;
    }
    const char *first = digits + kc_decimal_groups(magnitude, digits) - count;
    *length = kc_decimal_layout(negative, first, count, 0, scale, plain, out);
    return KC_OK;
}

/* Bytes of any length -> text of at most `precision` digits (0 is one digit), with kc_decimal_text_room free. */
static inline int kc_decimal_text(
    const uint8_t *source, size_t size, int32_t scale, int plain, int64_t precision, char *out, size_t *length
) {
    char digits[88];
    int negative;
    size_t count;
    if (size > 8) {
        const size_t skip = kc_decimal_padding(source, size);
        source += skip;
        size -= skip;
    }
    if (KC_LIKELY(size <= 8)) {
        const int64_t value = size == 0 ? 0 : kc_decimal_small(source, size);
        return kc_decimal_small_text(value, scale, plain, precision, out, length);
    }
    negative = source[0] >> 7;
#if defined(__SIZEOF_INT128__)
    if (size <= 16) {
        /* 2**127 has 39 digits: two chunks of 19 and one more. */
        unsigned __int128 magnitude =
            (unsigned __int128)(uint64_t)kc_decimal_small(source, size - 8) << 64 | kc_load_be64(source + size - 8);
        if (negative) magnitude = 0 - magnitude;
        const uint64_t unit = kc_pow10[KC_MAX_DIGITS64][0];
        uint64_t chunk[3];
        int chunks = 0;
        while (magnitude >> 64) {
            const unsigned __int128 quotient = magnitude / unit;
            chunk[chunks++] = (uint64_t)(magnitude - quotient * unit);
            magnitude = quotient;
        }
        chunk[chunks] = (uint64_t)magnitude;
        if (chunk[chunks] >= unit) {
            chunk[chunks + 1] = chunk[chunks] / unit;
            chunk[chunks] %= unit;
            chunks++;
        }
        count = (size_t)kc_decimal_count(chunk[chunks]);
        kc_decimal_digits(chunk[chunks], (int)count, digits);
        while (chunks-- > 0) {
            kc_decimal_digits(chunk[chunks], KC_MAX_DIGITS64, digits + count);
            count += KC_MAX_DIGITS64;
        }
        if ((int64_t)count > precision) return KC_DECIMAL_PRECISION;
        *length = kc_decimal_layout(negative, digits, count, 0, scale, plain, out);
        return KC_OK;
    }
#endif
    /* n bytes without padding have more than 2n - 3 digits: the check that keeps hostile lengths cheap. */
    if ((int64_t)size / 2 > precision) return KC_DECIMAL_PRECISION;
    char *behind = out + kc_decimal_text_room(0, scale, plain) + kc_decimal_most_digits(size);
    if (size <= 16) behind = digits;
    count = kc_decimal_long_digits(source, size, negative, behind);
    if ((int64_t)count > precision) return KC_DECIMAL_PRECISION;
    *length = kc_decimal_layout(negative, behind, count, 1, scale, plain, out);
    return KC_OK;
}

/* Slot of an Arrow decimal -> text; its length. kc_decimal_text_room is free for 8 * words bytes. */
static inline size_t kc_decimal_slot_text(const uint8_t *slot, int words, int32_t scale, int plain, char *out) {
    uint8_t bytes[40];
    size_t length = 0;
    const int64_t low = (int64_t)kc_load_le64(slot);
    uint64_t more = 0;
    for (int i = 1; i < words; i++) more |= kc_load_le64(slot + 8 * i) ^ (uint64_t)(low >> 63);
    if (KC_LIKELY(more == 0))
        kc_decimal_small_text(low, scale, plain, INT64_MAX, out, &length);
    else
        kc_decimal_text(bytes, kc_decimal_to_bytes(slot, words, bytes), scale, plain, INT64_MAX, out, &length);
    return length;
}

/* Digits of an integer, moved as 24 bytes; their number. */
static inline size_t kc_decimal_put_integer(uint64_t magnitude, char *out) {
    char digits[48];
    const size_t count = (size_t)kc_decimal_count(magnitude);
    memcpy(out, digits + (size_t)kc_decimal_groups(magnitude, digits) - count, 24);
    return count;
}

/* A number read from text: (whole digits, then part digits) times 10**power, without zeros in front. */
typedef struct {
    const char *whole, *part;
    size_t whole_size, part_size;
    int64_t power;
    int negative;
} kc_decimal_number;

/* [+-] (digits [. [digits]] | . digits) [(e|E) [+-] digits], as java.math.BigDecimal reads, in ASCII. */
static inline int kc_decimal_scan(const char *text, size_t size, kc_decimal_number *number) {
    const char *at = text;
    const char *const end = text + size;
    number->negative = 0;
    if (at < end && (*at == '+' || *at == '-')) number->negative = *at++ == '-';
    number->whole = at;
    while (at < end && (uint8_t)(*at - '0') < 10) at++;
    number->whole_size = (size_t)(at - number->whole);
    number->part = at;
    number->part_size = 0;
    if (at < end && *at == '.') {
        number->part = ++at;
        while (at < end && (uint8_t)(*at - '0') < 10) at++;
        number->part_size = (size_t)(at - number->part);
    }
    if (number->whole_size + number->part_size == 0) return KC_INVALID_NUMBER;
    number->power = -(int64_t)number->part_size;
    if (at < end && (*at == 'e' || *at == 'E')) {
        int64_t exponent = 0;
        int below = 0;
        at++;
        if (at < end && (*at == '+' || *at == '-')) below = *at++ == '-';
        if (at == end) return KC_INVALID_NUMBER;
        for (; at < end && (uint8_t)(*at - '0') < 10; at++)
            /* Stops where no value but 0 can be in range any more. */
            if (exponent < INT64_C(1000000000000000)) exponent = 10 * exponent + (*at - '0');
        number->power += below ? -exponent : exponent;
    }
    if (at != end) return KC_INVALID_NUMBER;
    while (number->whole_size && *number->whole == '0') number->whole++, number->whole_size--;
    if (number->whole_size == 0)
        while (number->part_size && *number->part == '0') number->part++, number->part_size--;
    return KC_OK;
}

/* How to write the number at a scale: its first `take` digits, then `zeros` zeros. */
static inline int kc_decimal_align(
    const kc_decimal_number *number, int32_t scale, int64_t precision, size_t *take, size_t *zeros
) {
    const size_t count = number->whole_size + number->part_size;
    const int64_t shift = number->power + scale;
    *take = count;
    *zeros = 0;
    if (count == 0) return KC_OK;
    if (shift >= 0) {
        if ((int64_t)count > precision || shift > precision - (int64_t)count) return KC_DECIMAL_PRECISION;
        *zeros = (size_t)shift;
        return KC_OK;
    }
    if (-shift >= (int64_t)count) return KC_INEXACT;
    *take = count - (size_t)-shift;
    for (size_t i = *take; i < count; i++)
        if ((i < number->whole_size ? number->whole[i] : number->part[i - number->whole_size]) != '0')
            return KC_INEXACT;
    return (int64_t)*take > precision ? KC_DECIMAL_PRECISION : KC_OK;
}

/* Text -> number, aligned to the scale. */
static inline int kc_decimal_parse(
    const char *text, size_t size, int32_t scale, int64_t precision, kc_decimal_number *number, size_t *take,
    size_t *zeros
) {
    const int status = kc_decimal_scan(text, size, number);
    return status == KC_OK ? kc_decimal_align(number, scale, precision, take, zeros) : status;
}

/* The number of at most 19 digits. */
static inline uint64_t kc_decimal_of_digits(const char *text, size_t size) {
    uint64_t value = 0;
    for (; size >= 8; text += 8, size -= 8) {
        /* Eight digits make four pairs, these two fours. */
        uint64_t digits = kc_load_le64(text) & UINT64_C(0x0F0F0F0F0F0F0F0F);
        digits = (digits * 2561 >> 8) & UINT64_C(0x00FF00FF00FF00FF);
        digits = (digits * 6553601 >> 16) & UINT64_C(0x0000FFFF0000FFFF);
        value = 100000000 * value + (digits * UINT64_C(42949672960001) >> 32);
    }
    for (; size; text++, size--) value = 10 * value + (uint64_t)(*text - '0');
    return value;
}

/* x = x * 10**size + the number of as many digits, which the caller knows to fit. */
static inline void kc_decimal_append(uint64_t *x, int words, const char *text, size_t size) {
    while (size) {
        const size_t count = size < 19 ? size : 19;
        uint64_t carry = kc_decimal_of_digits(text, count);
        for (int i = 0; i < words; i++) {
            uint64_t high;
            x[i] = kc_wide_multiply64(x[i], kc_pow10[count][0], &high) + carry;
            carry = high + (x[i] < carry);
        }
        text += count;
        size -= count;
    }
}

/* That number, where it has at most 18 digits. */
static inline int64_t kc_decimal_small_number(const kc_decimal_number *number, size_t take, size_t zeros) {
    const size_t whole = take < number->whole_size ? take : number->whole_size;
    uint64_t value = kc_decimal_of_digits(number->whole, whole);
    if (take > whole)
        value = value * kc_pow10[take - whole][0] + kc_decimal_of_digits(number->part, take - whole);
    if (zeros) value *= kc_pow10[zeros][0];
    return (int64_t)(number->negative ? 0 - value : value);
}

/* The limbs of that number's magnitude; their count. */
static inline size_t kc_decimal_limbs(const kc_decimal_number *number, size_t take, size_t zeros, uint32_t *limbs) {
    size_t count = 0, i = 0;
    const size_t all = take + zeros;
    while (i < all) {
        uint32_t chunk = 0;
        uint32_t unit = 1;
        for (; unit < 1000000000u && i < all; i++, unit *= 10) {
            uint32_t digit = 0;
            if (i < number->whole_size && i < take)
                digit = (uint32_t)(number->whole[i] - '0');
            else if (i < take)
                digit = (uint32_t)(number->part[i - number->whole_size] - '0');
            chunk = 10 * chunk + digit;
        }
        count = kc_limbs_multiply(limbs, count, unit, chunk);
    }
    return count;
}

/* Text -> slot of an Arrow decimal of this precision and scale. */
static inline int kc_decimal_slot_from_text(
    const char *text, size_t size, int32_t scale, int precision, int words, uint8_t *slot
) {
    kc_decimal_number number;
    size_t take, zeros;
    uint64_t value[4] = {0, 0, 0, 0};
    const int status = kc_decimal_parse(text, size, scale, precision, &number, &take, &zeros);
    if (status != KC_OK) return status;
    if (take + zeros <= 18) {
        const int64_t small = kc_decimal_small_number(&number, take, zeros);
        kc_store_le64(slot, (uint64_t)small);
        for (int i = 1; i < words; i++) kc_store_le64(slot + 8 * i, (uint64_t)(small >> 63));
        return KC_OK;
    }
    const size_t whole = take < number.whole_size ? take : number.whole_size;
    kc_decimal_append(value, words, number.whole, whole);
    kc_decimal_append(value, words, number.part, take - whole);
    if (zeros) kc_wide_scale_up(value, words, (int)zeros);
    if (number.negative) kc_wide_negate(value, words);
    kc_decimal_store(value, words, slot);
    return KC_OK;
}

/* Most bytes that a value of this many digits can have: log2(10) / 8 is below 0.416. */
static inline size_t kc_decimal_most_bytes(size_t digits) {
    return digits / 1000 * 416 + digits % 1000 * 416 / 1000 + 2;
}

/* Bytes that must be free behind `target` in kc_decimal_number_to_bytes: the result and the limbs it comes from. */
static inline size_t kc_decimal_bytes_room(size_t digits) { return 2 * kc_decimal_most_bytes(digits) + 16; }

/* Number -> the fewest bytes; how many. */
static inline size_t kc_decimal_number_to_bytes(
    const kc_decimal_number *number, size_t take, size_t zeros, uint8_t *target
) {
    if (take + zeros <= 18) {
        const int64_t small = kc_decimal_small_number(number, take, zeros);
        const uint64_t bits = (uint64_t)(small ^ (small >> 63));
        const size_t skip = bits == 0 ? 7 : (size_t)(kc_clz64(bits) - 1) >> 3;
        kc_store_be64(target, (uint64_t)small << (8 * skip));
        return 8 - skip;
    }
    const size_t most = kc_decimal_most_bytes(take + zeros);
    uint32_t *limbs = (uint32_t *)(((uintptr_t)(target + most) + 3) & ~(uintptr_t)3);
    const size_t count = kc_decimal_limbs(number, take, zeros, limbs);
    uint64_t carry = (uint64_t)number->negative;
    for (size_t i = 0; i < most; i++) {
        const size_t limb = i / 4;
        uint8_t byte = limb < count ? (uint8_t)(limbs[limb] >> (8 * (i % 4))) : 0;
        carry += number->negative ? (uint8_t)~byte : byte;
        target[most - 1 - i] = (uint8_t)carry;
        carry >>= 8;
    }
    const size_t skip = kc_decimal_padding(target, most);
    memmove(target, target + skip, most - skip);
    return most - skip;
}

#endif
