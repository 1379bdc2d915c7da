// Which instruction level this processor has: asked of the lowest library before another loads.
#include "fewlabels.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

namespace {

bool all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

uint32_t register_state() {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int level() {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 2;
    const uint32_t fma = 1u << 12, movbe = 1u << 22, osxsave = 1u << 27, avx = 1u << 28,
                   f16c = 1u << 29;
    if (!all(c, fma | movbe | osxsave | avx | f16c)) return 2;
    const uint32_t state = register_state();
    if (!all(state, 0x6)) return 2;  // the system keeps the AVX registers
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    const uint32_t bmi1 = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8;
    if (!all(b, bmi1 | avx2 | bmi2)) return 2;
    uint32_t extended_b = b;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !all(c, 1u << 5)) return 2;  // lzcnt
    const uint32_t f = 1u << 16, dq = 1u << 17, cd = 1u << 28, bw = 1u << 30, vl = 1u << 31;
    return all(extended_b, f | dq | cd | bw | vl) && all(state, 0xe6) ? 4 : 3;
}

}  // namespace
#else
namespace {
int level() { return 1; }
}  // namespace
#endif

extern "C" {
int32_t fl_version(void) { return FL_VERSION; }
int32_t fl_level(void) { return level(); }
}
