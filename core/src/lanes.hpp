// Vectors of floats or doubles, and the few operations for which compilers don't find the
// instruction: smallest, largest, and from float to double.
#pragma once

#include "vec.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace fl {

// Vectors of T, and of unsigned integers of the same size.
template <typename T>
struct Lanes;
template <>
struct Lanes<float> {
    typedef Vec<float>::type V;
    typedef uint32_t U __attribute__((vector_size(kBytes)));
};
template <>
struct Lanes<double> {
    typedef Vec<double>::type V;
    typedef uint64_t U __attribute__((vector_size(kBytes)));
};
template <typename T>
using VecOf = typename Lanes<T>::V;
template <typename T>
constexpr int64_t kLanesOf = kBytes / sizeof(T);
typedef VecOf<float> vfloat;

// at_most: min(z, end); at_least: max(z, end). NaN if z is. low and high: a half's elements as
// doubles. (With AVX-512 the forms without a mask have false warnings in GCC 12.)
#if defined(__AVX512F__)
FL_INLINE vfloat at_most(vfloat z, vfloat end) { return _mm512_maskz_min_ps(0xffff, end, z); }
FL_INLINE vfloat at_least(vfloat z, vfloat end) { return _mm512_maskz_max_ps(0xffff, end, z); }
FL_INLINE vdouble at_most(vdouble z, vdouble end) { return _mm512_maskz_min_pd(0xff, end, z); }
FL_INLINE vdouble at_least(vdouble z, vdouble end) { return _mm512_maskz_max_pd(0xff, end, z); }
FL_INLINE vdouble low(vfloat v) {
    return _mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, v, 0));
}
FL_INLINE vdouble high(vfloat v) {
    return _mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, v, 1));
}
#elif defined(__AVX__)
FL_INLINE vfloat at_most(vfloat z, vfloat end) { return _mm256_min_ps(end, z); }
FL_INLINE vfloat at_least(vfloat z, vfloat end) { return _mm256_max_ps(end, z); }
FL_INLINE vdouble at_most(vdouble z, vdouble end) { return _mm256_min_pd(end, z); }
FL_INLINE vdouble at_least(vdouble z, vdouble end) { return _mm256_max_pd(end, z); }
FL_INLINE vdouble low(vfloat v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); }
FL_INLINE vdouble high(vfloat v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); }
#elif defined(__SSE2__)
FL_INLINE vfloat at_most(vfloat z, vfloat end) { return _mm_min_ps(end, z); }
FL_INLINE vfloat at_least(vfloat z, vfloat end) { return _mm_max_ps(end, z); }
FL_INLINE vdouble at_most(vdouble z, vdouble end) { return _mm_min_pd(end, z); }
FL_INLINE vdouble at_least(vdouble z, vdouble end) { return _mm_max_pd(end, z); }
FL_INLINE vdouble low(vfloat v) { return _mm_cvtps_pd(v); }
FL_INLINE vdouble high(vfloat v) { return _mm_cvtps_pd(_mm_movehl_ps(v, v)); }
#else
template <typename V>
FL_INLINE V at_most(V z, V end) {
    return end < z ? end : z;
}
template <typename V>
FL_INLINE V at_least(V z, V end) {
    return end > z ? end : z;
}
typedef float vhalf __attribute__((vector_size(kBytes / 2)));
struct Halves {
    vhalf low, high;
};
FL_INLINE vdouble low(vfloat v) {
    return __builtin_convertvector(__builtin_bit_cast(Halves, v).low, vdouble);
}
FL_INLINE vdouble high(vfloat v) {
    return __builtin_convertvector(__builtin_bit_cast(Halves, v).high, vdouble);
}
#endif

// a b + c, rounded once where the processor can. Where sums of products have to be equal to the last
// bit in several loops, it may not be left to the compiler which of them it contracts.
#if defined(__AVX512F__)
FL_INLINE vfloat fused(vfloat a, vfloat b, vfloat c) { return _mm512_fmadd_ps(a, b, c); }
FL_INLINE vdouble fused(vdouble a, vdouble b, vdouble c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__FMA__)
FL_INLINE vfloat fused(vfloat a, vfloat b, vfloat c) { return _mm256_fmadd_ps(a, b, c); }
FL_INLINE vdouble fused(vdouble a, vdouble b, vdouble c) { return _mm256_fmadd_pd(a, b, c); }
#elif defined(__aarch64__)
FL_INLINE vfloat fused(vfloat a, vfloat b, vfloat c) {
    return (vfloat)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
FL_INLINE vdouble fused(vdouble a, vdouble b, vdouble c) {
    return (vdouble)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
FL_INLINE vfloat fused(vfloat a, vfloat b, vfloat c) { return a * b + c; }
FL_INLINE vdouble fused(vdouble a, vdouble b, vdouble c) { return a * b + c; }
#endif
#if defined(__FMA__) || defined(__aarch64__)
FL_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FL_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
FL_INLINE float fused(float a, float b, float c) { return a * b + c; }
FL_INLINE double fused(double a, double b, double c) { return a * b + c; }
#endif

// total += v, in double.
FL_INLINE void add_to(double* total, vdouble v) { store(total, loadd(total) + v); }
FL_INLINE void add_to(double* total, vfloat v) {
    add_to(total, low(v));
    add_to(total + kLanes, high(v));
}

}  // namespace fl
