"""The tokens of JSON, read and written; see json.h, and json_string.h for what stands for all of them.

``end`` is where the document ends; JSON_MARGIN bytes behind it may be read. Reading returns the position behind what it
read, or NULL with a `JsonFault` filled in.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcodec.wire.binary.status cimport Status


cdef extern from "json.h" nogil:
    enum:
        JSON_MARGIN "KC_JSON_MARGIN"

    ctypedef struct JsonFault "kc_json_fault":
        Status code
        const uint8_t *at

    const uint64_t *pow10 "kc_json_pow10"  # up to 10**18

    const uint8_t *json_space "kc_json_space"(const uint8_t *at, const uint8_t *end)
    const uint8_t *json_plain "kc_json_plain"(const uint8_t *at, const uint8_t *end, uint8_t *target)
    const uint8_t *json_plain_long "kc_json_plain_long"(const uint8_t *at, const uint8_t *end, uint8_t *target)
    int json_plain32 "kc_json_plain32"(const uint8_t *at, uint8_t *target)
    const uint8_t *json_string "kc_json_string"(
        const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length, JsonFault *fault
    )
    const uint8_t *json_text "kc_json_text"(
        const uint8_t *at, const uint8_t *end, uint8_t *target, int64_t *length
    )
    const uint8_t *json_skip_string "kc_json_skip_string"(
        const uint8_t *at, const uint8_t *end, JsonFault *fault
    )
    const uint8_t *json_number "kc_json_number"(const uint8_t *at, const uint8_t *end, JsonFault *fault)
    const uint8_t *json_short "kc_json_short"(
        const uint8_t *at, const uint8_t *end, int64_t *value, int *fraction
    )
    const uint8_t *json_whole "kc_json_whole"(const uint8_t *at, const uint8_t *end, int64_t *value)
    const uint8_t *json_long "kc_json_long"(const uint8_t *at, const uint8_t *end, int64_t *value)
    const uint8_t *json_fixed "kc_json_fixed"(const uint8_t *at, const uint8_t *end)
    const uint8_t *json_tight "kc_json_tight"(
        const uint8_t *at, const uint8_t *end, int64_t *value, int *fraction
    )
    bint json_quotient "kc_json_quotient"(int64_t value, int fraction, double *result)
    bint json_quotient_single "kc_json_quotient_single"(int64_t value, int fraction, float *result)
    const uint8_t *json_truth "kc_json_truth"(const uint8_t *at, const uint8_t *end, uint8_t *truth)
    const uint8_t *json_literal "kc_json_literal"(
        const uint8_t *at, const uint8_t *end, const char *word, JsonFault *fault
    )
    int json_plain_size "kc_json_plain_size"(const uint8_t *at)
    const uint8_t *json_past "kc_json_past"(const uint8_t *at, const uint8_t *end)
    const uint8_t *json_past_brackets "kc_json_past_brackets"(const uint8_t *at, const uint8_t *end)
    const uint8_t *json_skip "kc_json_skip"(
        const uint8_t *at, const uint8_t *end, int levels, JsonFault *fault
    )
    int64_t json_objects "kc_json_objects"(
        const uint8_t *at, const uint8_t *end, const uint8_t **starts, const uint8_t **ends, int64_t room
    )


cdef extern from "json_write.h" nogil:
    uint8_t *json_put_string "kc_json_put_string"(
        const uint8_t *at, int64_t size, const uint8_t *limit, uint8_t *out, bint pairs
    )
