/* Dates, times and timestamps of ISO 8601 in the forms that Java and JavaScript write, in the years 1 to 9999:
 *
 *   date       YYYY-MM-DD
 *   time       hh:mm:ss [. one to nine digits]
 *   timestamp  date T time [zone]     T may be t or a space; zone is Z, z, +hh:mm, +hhmm or, as java.time prints the
 *                                     offsets of times before there were zones, +hh:mm:ss
 *
 * A form with KC_ISO_UTC is as java.time's ISO_OFFSET formatters print what is in UTC: a Z stands behind dates and times
 * too (and need not, when read), and fractions have no zeros at their end.
 */
#ifndef KCODEC_ISOTIME_H
#define KCODEC_ISOTIME_H

#include "bits.h"

enum {
    KC_ISO_DATE, KC_ISO_CLOCK, KC_ISO_LOCAL, KC_ISO_ZONED,
    KC_ISO_UTC = 8,
    KC_ISO_FLOOR = 16    /* read: digits beyond the unit are cut off */
};

static const int64_t kc_iso_units[10] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

/* Days since 1970 of a date of the proleptic Gregorian calendar; years are counted from March. */
static inline int64_t kc_iso_days(int64_t year, int month, int day) {
    year -= month <= 2;
    const int64_t era = year / 400;
    const int64_t of_era = year - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* `count` digits, or -1. */
static inline int kc_iso_number(const uint8_t *at, int count) {
    int value = 0;
    for (int i = 0; i < count; i++) {
        if ((uint8_t)(at[i] - '0') > 9) return -1;
        value = 10 * value + (at[i] - '0');
    }
    return value;
}

/* Text -> days of a date, else units of 10**-digits seconds since midnight or 1970. */
static inline int kc_iso_read(const uint8_t *at, int64_t size, int form, int digits, int64_t *value) {
    static const uint8_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const uint8_t *end = at + size;
    int64_t days = 0, seconds = 0, part = 0;
    int count = 0; /* of the digits of the part */
    const int floor = form & KC_ISO_FLOOR;
    if (form & KC_ISO_UTC && (form & 3) < KC_ISO_LOCAL && size > 0 && (end[-1] == 'Z' || end[-1] == 'z')) end--;
    form &= 3;
    if (form != KC_ISO_CLOCK) {
        if (end - at < 10 || at[4] != '-' || at[7] != '-') return KC_INVALID_TIME;
        const int year = kc_iso_number(at, 4), month = kc_iso_number(at + 5, 2), day = kc_iso_number(at + 8, 2);
        if (year < 1 || month < 1 || month > 12 || day < 1) return KC_INVALID_TIME;
        const int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (day > lengths[month - 1] + (leap && month == 2)) return KC_INVALID_TIME;
        days = kc_iso_days(year, month, day);
        at += 10;
        if (form == KC_ISO_DATE) {
            *value = days;
            return at == end ? KC_OK : KC_INVALID_TIME;
        }
        if (at == end || (*at != 'T' && *at != 't' && *at != ' ')) return KC_INVALID_TIME;
        at++;
    }
    if (end - at < 8 || at[2] != ':' || at[5] != ':') return KC_INVALID_TIME;
    const int hour = kc_iso_number(at, 2), minute = kc_iso_number(at + 3, 2), second = kc_iso_number(at + 6, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return KC_INVALID_TIME;
    seconds = days * 86400 + hour * 3600 + minute * 60 + second;
    at += 8;
    if (at < end && *at == '.') {
        for (at++; at < end && (uint8_t)(*at - '0') < 10; at++, count++)
            if (count < 9) part = 10 * part + (*at - '0');
        if (count == 0 || count > 9) return KC_INVALID_TIME;
    }
    if (form == KC_ISO_ZONED) {
        if (at == end) return KC_INVALID_TIME;
        const uint8_t sign = *at++;
        if (sign == '+' || sign == '-') {
            const int hours = end - at >= 2 ? kc_iso_number(at, 2) : -1;
            at += 2;
            const int colon = at < end && *at == ':';
            at += colon;
            if (hours < 0 || hours > 23 || end - at < 2) return KC_INVALID_TIME;
            const int minutes = kc_iso_number(at, 2);
            if (minutes < 0 || minutes > 59) return KC_INVALID_TIME;
            at += 2;
            int offset = (hours * 60 + minutes) * 60;
            if (colon && end - at == 3 && *at == ':') {
                const int rest = kc_iso_number(at + 1, 2);
                if (rest < 0 || rest > 59) return KC_INVALID_TIME;
                offset += rest;
                at += 3;
            }
            seconds -= sign == '+' ? offset : -offset;
        } else if (sign != 'Z' && sign != 'z') {
            return KC_INVALID_TIME;
        }
    }
    if (at != end) return KC_INVALID_TIME;
    const int64_t unit = kc_iso_units[digits];
    if (KC_LIKELY(count <= digits)) {
        part *= kc_iso_units[digits - count];
    } else {
        const int64_t step = kc_iso_units[count - digits];
        if (part % step && !floor) return KC_INEXACT;
        part /= step;
    }
    /* Towards zero, so that nothing in between is out of range that the result is not. */
    if (seconds < 0 && part > 0) {
        seconds++;
        part -= unit;
    }
    if (kc_mul64(seconds, unit, value)) return KC_OUT_OF_RANGE;
    if (part > 0 ? *value > INT64_MAX - part : *value < INT64_MIN - part) return KC_OUT_OF_RANGE;
    *value += part;
    return KC_OK;
}

static inline void kc_iso_put2(uint8_t *out, uint32_t value) {
    out[0] = (uint8_t)('0' + value / 10);
    out[1] = (uint8_t)('0' + value % 10);
}

static inline uint8_t *kc_iso_put(uint8_t *out, uint32_t value, int count) {
    int at = count;
    for (; at > 1; at -= 2, value /= 100) kc_iso_put2(out + at - 2, value % 100);
    if (at) out[0] = (uint8_t)('0' + value);
    return out + count;
}

/* The largest multiple of a unit that is not above a value, in units, and what is above it. */
static KC_INLINE int64_t kc_iso_floor(int64_t value, int64_t unit, int64_t *rest) {
    const int64_t less = value % unit < 0;
    *rest = value % unit + (less ? unit : 0);
    return value / unit - less;
}

/* The same for units of 10**-digits; to divide by what the compiler knows takes less time. */
static inline int64_t kc_iso_seconds(int64_t value, int digits, int64_t *rest) {
    if (digits == 6) return kc_iso_floor(value, 1000000, rest);
    if (digits == 3) return kc_iso_floor(value, 1000, rest);
    return kc_iso_floor(value, kc_iso_units[digits], rest);
}

/* The reverse, with all digits of the unit and zone Z, into 32 bytes; NULL for a year that does not have four digits,
 * and for a time outside one day. */
static inline uint8_t *kc_iso_write(int64_t value, int form, int digits, uint8_t *out) {
    int64_t days = value, of_day = 0, part = 0;
    const int utc = form & KC_ISO_UTC;
    form &= 3;
    if (form != KC_ISO_DATE) days = kc_iso_floor(kc_iso_seconds(value, digits, &part), 86400, &of_day);
    const uint32_t seconds = (uint32_t)of_day;
    if (form == KC_ISO_CLOCK) {
        if (days != 0) return NULL;
    } else {
        if (days < -719162 || days > 2932896) return NULL;
        /* Years are counted from March (Neri and Schneider, Euclidean Affine Functions, 2022, figure 3). */
        const uint32_t quarters = 4 * (uint32_t)(days + 719468) + 3;
        const uint32_t century = quarters / 146097;
        const uint64_t product = UINT64_C(2939745) * (quarters % 146097 | 3);
        const uint32_t of_year = (uint32_t)product / 2939745 / 4;
        const uint32_t turned = 2141 * of_year + 197913;
        const uint32_t next = of_year >= 306;
        const uint32_t year = 100 * century + (uint32_t)(product >> 32) + next;
        kc_iso_put2(out, year / 100);
        kc_iso_put2(out + 2, year % 100);
        out[4] = '-';
        kc_iso_put2(out + 5, (turned >> 16) - 12 * next);
        out[7] = '-';
        kc_iso_put2(out + 8, (turned & 0xFFFF) / 2141 + 1);
        out += 10;
        if (form == KC_ISO_DATE) {
            if (utc) *out++ = 'Z';
            return out;
        }
        *out++ = 'T';
    }
    kc_iso_put2(out, seconds / 3600);
    out[2] = ':';
    kc_iso_put2(out + 3, seconds / 60 % 60);
    out[5] = ':';
    kc_iso_put2(out + 6, seconds % 60);
    out += 8;
    if (digits && (part || !utc)) {
        *out++ = '.';
        out = kc_iso_put(out, (uint32_t)part, digits);
        while (utc && out[-1] == '0') out--;
    }
    if (form == KC_ISO_ZONED || utc) *out++ = 'Z';
    return out;
}

#endif
