/* Varints of many payloads, one of each, and how far each payload then is.
 *
 * The varint at `at[lane]`, for each of some lanes, becomes `out[index[lane]]`, and `at[lane]` moves behind it; without
 * `lanes` it is all lanes from 0 on, and `out[lane]`. Of a varint that may be absent there is a byte before: 0 or 2, one
 * of which means that there is none; `valid[index[lane]]` becomes 1 or 0. Nine bytes behind each payload's end may be
 * read. Of payloads that are not as expected `odd[lane]` becomes 1, `at[lane]` stays, and `order` gets the lane: the
 * caller finds out what it is; the answer is how many they are. `ahead` bytes further on memory is asked for that will be
 * read later; `pext` is what kc_has_pext answers.
 *
 * The loops stand apart so that all they work with is in registers, and once for each way of reading and of counting
 * lanes, so that they ask neither for each value. */
#ifndef KCODEC_VARINT_LANES_H
#define KCODEC_VARINT_LANES_H

#include "varint.h"

#define KC_EACH_WAY(read, ...) \
    (lanes ? pext ? read(__VA_ARGS__, lanes, index, 1) : read(__VA_ARGS__, lanes, index, 0) \
           : pext ? read(__VA_ARGS__, NULL, NULL, 1) : read(__VA_ARGS__, NULL, NULL, 0))

static KC_INLINE int64_t kc_read_longs_by(
    const uint8_t **at, const uint8_t **end, int64_t count, int64_t *out, int64_t factor, int64_t ahead, uint8_t *odd,
    int64_t *order, const int64_t *lanes, const int64_t *index, int pext
) {
    int64_t rejected = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t lane = lanes ? lanes[i] : i;
        int64_t *to = out + (lanes ? index[lane] : i);
        const uint8_t *p = at[lane];
        const uint64_t word = kc_load_le64(p);
        const uint64_t stops = ~word & KC_STOP_BITS;
        uint64_t raw;
        KC_PREFETCH(p + ahead);
        if (KC_LIKELY(stops != 0)) {
            raw = kc_gather7_by(word & (stops ^ (stops - 1)), pext);
            p += ((uint64_t)kc_ctz64(stops) >> 3) + 1;
        } else {
            const uint8_t *q = p;
            p = kc_varint_apart(&q, end[lane], end[lane] + 9, 10, 1, &raw) == KC_OK ? q : end[lane] + 1;
        }
        if (KC_UNLIKELY(p > end[lane]) || KC_UNLIKELY(kc_mul64(kc_unzigzag(raw), factor, to))) {
            odd[lane] = 1;
            order[rejected++] = lane;
            continue;
        }
        at[lane] = p;
    }
    return rejected;
}

static KC_APART int64_t kc_read_longs(
    const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index, int64_t *out,
    int64_t factor, int64_t ahead, int pext, uint8_t *odd, int64_t *order
) {
    return KC_EACH_WAY(kc_read_longs_by, at, end, count, out, factor, ahead, odd, order);
}

/* Either `ints` or `longs` is where numbers go. */
static KC_INLINE int64_t kc_read_ints_by(
    const uint8_t **at, const uint8_t **end, int64_t count, int32_t *ints, int64_t *longs, int64_t factor, uint8_t *odd,
    int64_t *order, const int64_t *lanes, const int64_t *index, int pext
) {
    int64_t rejected = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t lane = lanes ? lanes[i] : i;
        const int64_t to = lanes ? index[lane] : i;
        const uint8_t *p = at[lane];
        const uint64_t word = kc_load_le64(p);
        const uint64_t stops = ~word & (KC_STOP_BITS >> 24);
        const uint64_t raw = kc_gather7_by(word & (stops ^ (stops - 1)), pext);
        p += ((uint64_t)kc_ctz64(stops | UINT64_C(1) << 63) >> 3) + 1;
        if (KC_UNLIKELY(stops == 0) || KC_UNLIKELY(raw > UINT32_MAX) || KC_UNLIKELY(p > end[lane])) {
            odd[lane] = 1;
            order[rejected++] = lane;
            continue;
        }
        if (ints) ints[to] = (int32_t)kc_unzigzag(raw);
        else longs[to] = kc_unzigzag(raw) * factor;
        at[lane] = p;
    }
    return rejected;
}

static KC_APART int64_t kc_read_ints(
    const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index, int32_t *out,
    int pext, uint8_t *odd, int64_t *order
) {
    return KC_EACH_WAY(kc_read_ints_by, at, end, count, out, NULL, 1, odd, order);
}

/* No factor that is used makes 32 bits overflow 64. */
static KC_APART int64_t kc_read_ints_as_longs(
    const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index, int64_t *out,
    int64_t factor, int pext, uint8_t *odd, int64_t *order
) {
    return KC_EACH_WAY(kc_read_ints_by, at, end, count, NULL, out, factor, odd, order);
}

static KC_INLINE int64_t kc_read_nullable_by(
    const uint8_t **at, const uint8_t **end, int64_t count, int32_t *ints, int64_t *longs, uint8_t *valid,
    int64_t null_branch, int64_t factor, uint8_t *odd, int64_t *order, const int64_t *lanes, const int64_t *index,
    int pext
) {
    int64_t rejected = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t lane = lanes ? lanes[i] : i;
        const int64_t to = lanes ? index[lane] : i;
        const uint8_t *p = at[lane];
        const uint8_t branch = p[0];
        const uint64_t present = (uint64_t)((branch >> 1) ^ null_branch);
        const uint64_t word = kc_load_le64(p + 1);
        const uint64_t stops = ~word & (ints ? KC_STOP_BITS >> 24 : KC_STOP_BITS);
        uint64_t raw = 0;
        if (KC_LIKELY(stops != 0)) {
            raw = kc_gather7_by(word & (stops ^ (stops - 1)) & (0 - present), pext);
            p += 1 + ((((uint64_t)kc_ctz64(stops) >> 3) + 1) & (0 - present));
        } else {
            /* If the value is not there, what stands in its place is no number, and is not looked at. */
            const uint8_t *q = p + 1;
            const int last = ints ? 5 : 10;
            p = !present || kc_varint_apart(&q, end[lane], end[lane] + 9, last, ints ? 15 : 1, &raw) == KC_OK ? q
                                                                                                  : end[lane] + 1;
        }
        if (ints) ints[to] = (int32_t)kc_unzigzag(raw);
        if (KC_UNLIKELY(branch & 0xFD) || KC_UNLIKELY(p > end[lane]) ||
            KC_UNLIKELY(ints ? raw > UINT32_MAX : kc_mul64(kc_unzigzag(raw), factor, &longs[to]))) {
            odd[lane] = 1;
            order[rejected++] = lane;
            continue;
        }
        valid[to] = (uint8_t)present;
        at[lane] = p;
    }
    return rejected;
}

static KC_APART int64_t kc_read_nullable_longs(
    const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index, int64_t *out,
    uint8_t *valid, int64_t null_branch, int64_t factor, int pext, uint8_t *odd, int64_t *order
) {
    return KC_EACH_WAY(kc_read_nullable_by, at, end, count, NULL, out, valid, null_branch, factor, odd, order);
}

static KC_APART int64_t kc_read_nullable_ints(
    const uint8_t **at, const uint8_t **end, const int64_t *lanes, int64_t count, const int64_t *index, int32_t *out,
    uint8_t *valid, int64_t null_branch, int pext, uint8_t *odd, int64_t *order
) {
    return KC_EACH_WAY(kc_read_nullable_by, at, end, count, out, NULL, valid, null_branch, 1, odd, order);
}

#undef KC_EACH_WAY

#endif
