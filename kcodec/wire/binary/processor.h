/* What newer processors can do: functions for them are compiled along, and chosen at run time. */
#ifndef KCODEC_PROCESSOR_H
#define KCODEC_PROCESSOR_H

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

/* AVX-512 as Intel's Ice Lake and AMD's Zen 4 have it. Processors without VBMI2 lower their clock when they use it. */
#define KC_ICELAKE \
    __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt,pclmul")))

static inline int kc_has_icelake(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul");
}
#endif

#endif
