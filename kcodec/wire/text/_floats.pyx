# distutils: language = c++
# distutils: extra_compile_args = -std=c++17
"""Floating-point numbers from and to text; see the .pxd."""

from libc.stdint cimport uint8_t, uint64_t

import struct


cdef extern from * nogil:
    """
    #include "real.h"
    #include <charconv>
    #include <cmath>
    #include <cstdint>
    #include <cstring>

    template <typename Real>
    static bool kc_read_real(const uint8_t *at, const uint8_t *end, Real *value) {
        const char *const first = reinterpret_cast<const char *>(at);
        const char *const last = reinterpret_cast<const char *>(end);
        const auto answer = std::from_chars(first, last, *value);
        if (answer.ec == std::errc()) return !std::isinf(*value);
        // Out of range: too large, or so small that it is zero. The power of ten of its first digit tells.
        const char *digit = first + (*first == '-');
        long long power = 0, exponent = 0;
        const char *mark = digit;
        while (mark < last && (*mark | 0x20) != 'e') mark++;
        if (mark < last) {
            const bool below = mark[1] == '-';
            for (const char *at = mark + 1 + (mark[1] == '-' || mark[1] == '+'); at < last; at++)
                if (exponent < 1000000000000) exponent = 10 * exponent + (*at - '0');
            if (below) exponent = -exponent;
        }
        const char *point = digit;
        while (point < mark && *point != '.') point++;
        while (digit < mark && (*digit == '0' || *digit == '.')) digit++;
        power = digit < point ? point - digit : point + 1 - digit;
        if (digit < mark && power + exponent > 0) return false;
        *value = *first == '-' ? Real(-0.0) : Real(0.0);
        return true;
    }

    // A decimal of at most 15 digits that is read as a number is the only one of so few digits, so it is what the
    // longer way would find: with 3 or 6 places behind the point, else 0. The quotient is rounded once, as reading is.
    static int kc_short_decimal(double value, uint64_t *mantissa) {
        if (!(value >= 1e-3 && value < 1e7)) return 0;
        // Most are not even near one: that takes no division to see.
        const double scaled = value * 1e6;
        if (std::fabs(scaled - static_cast<double>(static_cast<uint64_t>(scaled + 0.5))) > scaled * 1e-15) return 0;
        *mantissa = static_cast<uint64_t>(value * 1e3 + 0.5);
        if (static_cast<double>(*mantissa) / 1e3 == value) return 3;
        *mantissa = static_cast<uint64_t>(value * 1e6 + 0.5);
        return static_cast<double>(*mantissa) / 1e6 == value ? 6 : 0;
    }

    static int kc_short_decimal(float, uint64_t *) { return 0; }

    // Eight digits of a number below 10**8.
    static void kc_put8(char *out, uint32_t number) {
        const uint64_t fours = number / 10000 | static_cast<uint64_t>(number % 10000) << 32;
        const uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007F0000007F);
        const uint64_t pairs = (fours - 100 * hundreds) << 16 | hundreds;
        const uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000F000F000F000F);
        kc_store_le64(out, ((pairs - 10 * tens) << 8 | tens) | UINT64_C(0x3030303030303030));
    }

    // Digits without zeros at the end, of which the first stands before the point; returns how many. 24 bytes before
    // them are written too.
    static int kc_shortest_text(double value, const uint64_t *powers, char *digits, int *exponent) {
        int power;
        uint64_t number = kc_shortest(value, powers, &power);
        while (number % 10 == 0) {
            number /= 10;
            power++;
        }
        int count = (kc_top64(number) + 1) * 1233 >> 12;
        count += number >= kc_json_pow10[count];
        // Zeros go before them.
        kc_put8(digits + count - 24, static_cast<uint32_t>(number / 10000000000000000));
        kc_put8(digits + count - 16, static_cast<uint32_t>(number / 100000000 % 100000000));
        kc_put8(digits + count - 8, static_cast<uint32_t>(number % 100000000));
        *exponent = power + count - 1;
        return count;
    }

    static int kc_shortest_text(float value, const uint64_t *, char *digits, int *exponent) {
        // d.ddde+dd
        char *const end = std::to_chars(digits - 1, digits + 30, value, std::chars_format::scientific).ptr;
        char *mark = end - 1;
        while (*mark != 'e') mark--;
        *exponent = 0;
        for (const char *at = mark + 2; at < end; at++) *exponent = 10 * *exponent + (*at - '0');
        if (mark[1] == '-') *exponent = -*exponent;
        if (*digits != '.') return 1;
        *digits = digits[-1];
        return static_cast<int>(mark - digits);
    }

    // The closest of the shortest decimals that are read as this number, of two digits or more.
    template <typename Real>
    static uint8_t *kc_put_real(Real value, const uint64_t *powers, uint8_t *out) {
        char text[64];
        uint64_t mantissa = 0;
        // Which sign cannot be predicted.
        *out = '-';
        out += std::signbit(value);
        value = std::fabs(value);
        if (value == 0) {
            std::memcpy(out, "0.0", 3);
            return out + 3;
        }
        if (const int places = kc_short_decimal(value, &mantissa)) {
            // Digits before the point, as many as there are, and `places` behind it without zeros at the end.
            char *const place = reinterpret_cast<char *>(out);
            uint64_t unit = 1000000;
            if (places == 3) unit = 1000;
            char *at = std::to_chars(place, place + 24, mantissa / unit).ptr;
            *at++ = '.';
            uint64_t rest = mantissa % unit;
            int count = places;
            for (; count > 1 && rest % 10 == 0; count--) rest /= 10;
            for (int i = count - 1; i >= 0; i--, rest /= 10) at[i] = static_cast<char>('0' + rest % 10);
            return reinterpret_cast<uint8_t *>(at + count);
        }
        int exponent = 0;
        char *digits = text + 24;
        int count = kc_shortest_text(value, powers, digits, &exponent);
        if (count < 2) {
            // Two digits at least: the nearest ones. They stand as d.de+dd.
            char *const end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, 1).ptr;
            exponent = 0;
            for (const char *at = text + 5; at < end; at++) exponent = 10 * exponent + (*at - '0');
            if (text[4] == '-') exponent = -exponent;
            digits[0] = text[0];
            digits[1] = text[2];
            count = text[2] == '0' ? 1 : 2;
        }
        if (exponent >= -3 && exponent < 0) {
            std::memcpy(out, "0.000", 5);
            out += 1 - exponent;
            std::memcpy(out, digits, 17);
            return out + count;
        }
        const int whole = exponent >= 0 && exponent < 7 ? exponent + 1 : 1;
        for (int i = 0; i < whole; i++) *out++ = static_cast<uint8_t>(i < count ? digits[i] : '0');
        *out++ = '.';
        if (count > whole) {
            std::memcpy(out, digits + whole, 17);
            out += count - whole;
        } else {
            *out++ = '0';
        }
        if (exponent < -3 || exponent >= 7) {
            *out++ = 'E';
            char *const place = reinterpret_cast<char *>(out);
            out += std::to_chars(place, place + 8, exponent).ptr - place;
        }
        return out;
    }
    """
    bint kc_read_real[Real](const uint8_t *at, const uint8_t *end, Real *value) noexcept
    uint8_t *kc_put_real[Real](Real value, const uint64_t *powers, uint8_t *out) noexcept


cdef bint read_double(const uint8_t *at, const uint8_t *end, double *value) noexcept nogil:
    return kc_read_real(at, end, value)


cdef bint read_single(const uint8_t *at, const uint8_t *end, float *value) noexcept nogil:
    return kc_read_real(at, end, value)


cdef uint8_t *put_double(double value, uint8_t *out) noexcept nogil:
    return kc_put_real(value, powers_of_five, out)


cdef uint8_t *put_single(float value, uint8_t *out) noexcept nogil:
    return kc_put_real(value, powers_of_five, out)


cdef extern from "real.h" nogil:
    enum:
        KC_LEAST_POWER
        KC_MOST_POWER


cdef bytes powers_text():
    """Return the 128 most significant bits of the powers of five, as `kc_nearest` takes them."""
    words = []
    for power in range(KC_LEAST_POWER, KC_MOST_POWER + 1):
        five = 5 ** abs(power)
        size = five.bit_length()
        if power >= 0:
            bits = five << 128 >> size
        else:
            # Rounded up, where the power is the divisor of a whole number of 64 bits.
            bits = (1 << (size + 127)) // five + (power >= -27)
        words += (bits >> 64, bits & 0xFFFF_FFFF_FFFF_FFFF)
    return struct.pack(f"={len(words)}Q", *words)


cdef bytes _powers = powers_text()
powers_of_five = <const uint64_t *><const uint8_t *>_powers
