/* Where the cells of delimited text end, and what is in them, 64 bytes at a time. */
#ifndef KCODEC_DELIMITED_H
#define KCODEC_DELIMITED_H

#include "json_string.h"

/* A bit for each of 64 bytes. */
typedef struct {
    uint64_t delimiters;
    uint64_t odd;   /* a quote, a backslash, or a control character that is not the delimiter */
    uint64_t wide;  /* not ASCII */
    uint64_t words; /* what stands in no number */
} kc_delimited_marks;

static KC_INLINE int kc_is_of_number(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' || (byte | 0x20) == 'e';
}

static KC_INLINE kc_delimited_marks kc_delimited_marks_of(const uint8_t *at, uint8_t delimiter) {
    kc_delimited_marks marks = {0, 0, 0, 0};
#if defined(KC_JSON_SSE2)
    const __m128i delimiters = _mm_set1_epi8((char)delimiter), control = _mm_set1_epi8(0x1F);
    for (int i = 0; i < 64; i += 16) {
        const __m128i text = _mm_loadu_si128((const __m128i *)(at + i));
        const __m128i odd = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('"')), _mm_cmpeq_epi8(text, _mm_set1_epi8('\\'))),
            _mm_cmpeq_epi8(_mm_min_epu8(text, control), text)
        );
        const __m128i digit = _mm_sub_epi8(text, _mm_set1_epi8('0'));
        const __m128i sign = _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('-')), _mm_cmpeq_epi8(text, _mm_set1_epi8('+')));
        const __m128i letter = _mm_or_si128(text, _mm_set1_epi8(0x20));
        const __m128i number = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit), sign),
            _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('.')), _mm_cmpeq_epi8(letter, _mm_set1_epi8('e')))
        );
        marks.words |= (uint64_t)(_mm_movemask_epi8(number) ^ 0xFFFF) << i;
        marks.delimiters |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, delimiters)) << i;
        marks.odd |= (uint64_t)_mm_movemask_epi8(odd) << i;
        marks.wide |= (uint64_t)_mm_movemask_epi8(text) << i;
    }
#else
    for (int i = 0; i < 64; i++) {
        marks.delimiters |= (uint64_t)(at[i] == delimiter) << i;
        marks.odd |= (uint64_t)(at[i] == '"' || at[i] == '\\' || at[i] < 0x20) << i;
        marks.wide |= (uint64_t)(at[i] >> 7) << i;
        marks.words |= (uint64_t)!kc_is_of_number(at[i]) << i;
    }
#endif
    marks.odd &= ~marks.delimiters;
    return marks;
}

#endif
