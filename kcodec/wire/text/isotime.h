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
        int count = 0;
        for (at++; at < end && (uint8_t)(*at - '0') < 10; at++, count++)
            if (count < 9) part = 10 * part + (*at - '0');
        if (count == 0 || count > 9) return KC_INVALID_TIME;
        part *= kc_iso_units[9 - count];
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
    const int64_t unit = kc_iso_units[digits], step = kc_iso_units[9 - digits];
    if (part % step && !floor) return KC_INEXACT;
    part /= step;
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

static inline uint8_t *kc_iso_put(uint8_t *out, int64_t value, int count) {
    for (int i = count - 1; i >= 0; i--, value /= 10) out[i] = (uint8_t)('0' + value % 10);
    return out + count;
}

static inline int64_t kc_iso_floor(int64_t value, int64_t unit) {
    return value / unit - (value % unit < 0);
}

/* What is above that: what floor times the unit leaves of it, which may have more than 64 bits. */
static inline int64_t kc_iso_rest(int64_t value, int64_t unit) {
    return value % unit + (value % unit < 0 ? unit : 0);
}

/* The reverse, with all digits of the unit and zone Z, into 32 bytes; NULL for a year that does not have four digits,
 * and for a time outside one day. */
static inline uint8_t *kc_iso_write(int64_t value, int form, int digits, uint8_t *out) {
    int64_t days = value, seconds = 0, part = 0;
    const int utc = form & KC_ISO_UTC;
    form &= 3;
    if (form != KC_ISO_DATE) {
        const int64_t unit = kc_iso_units[digits];
        seconds = kc_iso_floor(value, unit);
        part = kc_iso_rest(value, unit);
        days = kc_iso_floor(seconds, 86400);
        seconds = kc_iso_rest(seconds, 86400);
    }
    if (form == KC_ISO_CLOCK) {
        if (days != 0) return NULL;
    } else {
        if (days < -719162 || days > 2932896) return NULL;
        const int64_t from = days + 719468;
        const int64_t era = from / 146097, of_era = from % 146097;
        const int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
        const int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
        const int64_t turned = (5 * of_year + 2) / 153;
        const int64_t month = turned < 10 ? turned + 3 : turned - 9;
        out = kc_iso_put(out, years + era * 400 + (month <= 2), 4);
        *out++ = '-';
        out = kc_iso_put(out, month, 2);
        *out++ = '-';
        out = kc_iso_put(out, of_year - (153 * turned + 2) / 5 + 1, 2);
        if (form == KC_ISO_DATE) {
            if (utc) *out++ = 'Z';
            return out;
        }
        *out++ = 'T';
    }
    out = kc_iso_put(out, seconds / 3600, 2);
    *out++ = ':';
    out = kc_iso_put(out, seconds / 60 % 60, 2);
    *out++ = ':';
    out = kc_iso_put(out, seconds % 60, 2);
    if (digits && (part || !utc)) {
        *out++ = '.';
        out = kc_iso_put(out, part, digits);
        while (utc && out[-1] == '0') out--;
    }
    if (form == KC_ISO_ZONED || utc) *out++ = 'Z';
    return out;
}

#endif
