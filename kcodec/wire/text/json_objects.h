/* Where the objects of a list of JSON stand, by their brackets and quotes alone. */
#ifndef KCODEC_JSON_OBJECTS_H
#define KCODEC_JSON_OBJECTS_H

#include "json_string.h"

#if defined(KC_JSON_SSE2)
/* A bit for each of 64 bytes that is one of these. */
typedef struct {
    uint64_t quotes, slashes, brackets;
} kc_json_marks;

static KC_INLINE kc_json_marks kc_json_marks_of(const uint8_t *at) {
    const __m128i lower = _mm_set1_epi8(0x20);
    kc_json_marks marks = {0, 0, 0};
    for (int i = 0; i < 64; i += 16) {
        /* A set bit makes square brackets curly ones. */
        const __m128i text = _mm_loadu_si128((const __m128i *)(at + i)), letter = _mm_or_si128(text, lower);
        const __m128i brackets =
            _mm_or_si128(_mm_cmpeq_epi8(letter, _mm_set1_epi8('{')), _mm_cmpeq_epi8(letter, _mm_set1_epi8('}')));
        marks.quotes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('"'))) << i;
        marks.slashes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8('\\'))) << i;
        marks.brackets |= (uint64_t)_mm_movemask_epi8(brackets) << i;
    }
    return marks;
}

/* A bit for each byte of strings, from their first quote up to the one that ends them. */
static KC_INLINE uint64_t kc_json_strings(uint64_t quotes) {
    for (int i = 1; i < 64; i <<= 1) quotes ^= quotes << i;
    return quotes;
}

static KC_INLINE int64_t kc_json_objects_inline(
    const uint8_t *at, const uint8_t *end, const uint8_t **starts, const uint8_t **ends, int64_t room,
    kc_json_marks (*marks_of)(const uint8_t *), uint64_t (*strings)(uint64_t)
) {
    uint64_t inside = 0;  /* all ones while a string goes on */
    uint64_t carried = 0; /* whether the byte before is the backslash of an escape */
    int64_t depth = 0, found = 0;
    for (; at < end; at += 64) {
        const kc_json_marks marks = marks_of(at);
        uint64_t quotes = marks.quotes;
        if (KC_UNLIKELY(marks.slashes | carried)) {
            uint64_t escaped = carried, slashes = marks.slashes & ~carried;
            carried = 0;
            while (slashes) {
                const uint64_t bit = slashes & (0 - slashes);
                escaped |= bit << 1;
                carried = bit >> 63;
                slashes &= ~(bit | bit << 1);
            }
            quotes &= ~escaped;
        }
        inside ^= strings(quotes);
        for (uint64_t brackets = marks.brackets & ~inside; brackets; brackets &= brackets - 1) {
            const uint8_t *const place = at + kc_ctz64(brackets);
            /* An opening one has this bit unset. */
            if (!(*place & 4)) {
                if (depth++ == 0) starts[found] = place;
                continue;
            }
            if (depth == 0 || place >= end) return found;
            if (--depth == 0) {
                ends[found++] = place + 1;
                if (found == room) return found;
            }
        }
        inside = (uint64_t)((int64_t)inside >> 63);
    }
    return found;
}

#if defined(KC_JSON_HASWELL)
#define KC_JSON_CLMUL __attribute__((target("avx2,bmi,bmi2,lzcnt,pclmul")))

KC_JSON_CLMUL static inline uint64_t kc_json_bits(__m256i one, __m256i two) {
    return (uint32_t)_mm256_movemask_epi8(one) | (uint64_t)(uint32_t)_mm256_movemask_epi8(two) << 32;
}

KC_JSON_CLMUL static inline __m256i kc_json_brackets(__m256i text) {
    const __m256i letter = _mm256_or_si256(text, _mm256_set1_epi8(0x20));
    return _mm256_or_si256(
        _mm256_cmpeq_epi8(letter, _mm256_set1_epi8('{')), _mm256_cmpeq_epi8(letter, _mm256_set1_epi8('}'))
    );
}

KC_JSON_CLMUL static inline kc_json_marks kc_json_marks_of_haswell(const uint8_t *at) {
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\');
    const __m256i one = _mm256_loadu_si256((const __m256i *)at);
    const __m256i two = _mm256_loadu_si256((const __m256i *)(at + 32));
    const kc_json_marks marks = {
        kc_json_bits(_mm256_cmpeq_epi8(one, quote), _mm256_cmpeq_epi8(two, quote)),
        kc_json_bits(_mm256_cmpeq_epi8(one, slash), _mm256_cmpeq_epi8(two, slash)),
        kc_json_bits(kc_json_brackets(one), kc_json_brackets(two))
    };
    return marks;
}

KC_JSON_CLMUL static inline uint64_t kc_json_strings_haswell(uint64_t quotes) {
    /* A product without carries by all ones is the parity of the bits up to each. */
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)quotes), _mm_set1_epi8((char)0xFF), 0)
    );
}

KC_JSON_CLMUL static int64_t kc_json_objects_haswell(
    const uint8_t *at, const uint8_t *end, const uint8_t **starts, const uint8_t **ends, int64_t room
) {
    return kc_json_objects_inline(at, end, starts, ends, room, kc_json_marks_of_haswell, kc_json_strings_haswell);
}
#endif
#endif

/* Find the objects or lists that stand behind each other up to the bracket that closes a list, at most `room`: where they
 * start and end. Return how many there are; fewer, if one does not end. What stands between them is not looked at. */
static inline int64_t kc_json_objects(
    const uint8_t *at, const uint8_t *end, const uint8_t **starts, const uint8_t **ends, int64_t room
) {
#if defined(KC_JSON_SSE2)
#if defined(KC_JSON_HASWELL)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul"))
        return kc_json_objects_haswell(at, end, starts, ends, room);
#endif
    return kc_json_objects_inline(at, end, starts, ends, room, kc_json_marks_of, kc_json_strings);
#else
    /* Without such instructions what is found is not worth the search. */
    (void)at, (void)end, (void)starts, (void)ends, (void)room;
    return 0;
#endif
}

#endif
