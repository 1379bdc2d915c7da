// Vectors of the widest size of an instruction level, and the loops over them that all files share.
#pragma once

#include <math.h>
#include <stdint.h>

#define FL_INLINE inline __attribute__((always_inline))

namespace fl {

constexpr double kInf = __builtin_inf();

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <typename T>
struct Vec;
template <>
struct Vec<double> {
    typedef double type __attribute__((vector_size(kBytes)));
};
template <>
struct Vec<float> {
    typedef float type __attribute__((vector_size(kBytes)));
};

typedef Vec<double>::type vdouble;
constexpr int64_t kLanes = kBytes / sizeof(double);

template <typename V, typename T>
FL_INLINE V load(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <typename V, typename T>
FL_INLINE void store(T* p, V v) {
    __builtin_memcpy(p, &v, sizeof v);
}
FL_INLINE vdouble loadd(const double* p) { return load<vdouble>(p); }

FL_INLINE vdouble vmin(vdouble a, vdouble b) { return a < b ? a : b; }
FL_INLINE vdouble vmax(vdouble a, vdouble b) { return a > b ? a : b; }
FL_INLINE double dmin(double a, double b) { return a < b ? a : b; }
FL_INLINE double dmax(double a, double b) { return a > b ? a : b; }
FL_INLINE double dabs(double a) { return __builtin_fabs(a); }
FL_INLINE int64_t imin(int64_t a, int64_t b) { return a < b ? a : b; }

typedef int64_t vint __attribute__((vector_size(kBytes)));

// The vector whose lane l is lane l ^ w of v, for w a power of 2 below the number of lanes.
#if defined(__clang__)
#define FL_SHUFFLE(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else
#define FL_SHUFFLE(v, ...) __builtin_shuffle(v, vint{__VA_ARGS__})
#endif
template <int w, typename V>
FL_INLINE V swapped(V v) {
#if defined(__AVX512F__)
    return FL_SHUFFLE(v, 0 ^ w, 1 ^ w, 2 ^ w, 3 ^ w, 4 ^ w, 5 ^ w, 6 ^ w, 7 ^ w);
#elif defined(__AVX__)
    return FL_SHUFFLE(v, 0 ^ w, 1 ^ w, 2 ^ w, 3 ^ w);
#else
    return FL_SHUFFLE(v, 0 ^ w, 1 ^ w);
#endif
}

// The smallest lane, in every lane; without branches, which would be
// mispredicted.
template <typename V>
FL_INLINE V smallest_of(V v) {
    if constexpr (kLanes >= 8) v = v < swapped<4>(v) ? v : swapped<4>(v);
    if constexpr (kLanes >= 4) v = v < swapped<2>(v) ? v : swapped<2>(v);
    return v < swapped<1>(v) ? v : swapped<1>(v);
}

// The smallest of many numbers and the first place where it occurs, lane by lane.
struct Smallest {
    double value = kInf;
    int64_t place = 0;
    vdouble values = vdouble{} + kInf;
    vint places = {}, here = {};

    Smallest() {
        for (int64_t l = 0; l < kLanes; l++) here[l] = l;
    }
    // The next vector of numbers.
    FL_INLINE void add(vdouble numbers) {
        const auto smaller = numbers < values;
        values = smaller ? numbers : values;
        places = smaller ? here : places;
        here += kLanes;
    }
    // All vectors have been added; numbers one by one may follow.
    FL_INLINE void finish() {
        const vdouble least = smallest_of(values);
        const vint none = vint{} + INT64_MAX;
        value = least[0];
        place = smallest_of(values == least ? places : none)[0];
    }
    FL_INLINE void add_one(double number, int64_t at) {
        if (number < value) {
            value = number;
            place = at;
        }
    }
};

// What a comparison of vectors gives: -1 where it holds, else 0.
typedef decltype(vdouble{} < vdouble{}) vmask;

FL_INLINE bool any(vmask m) {
    int64_t s = m[0];
    for (int64_t l = 1; l < kLanes; l++) s |= m[l];
    return s != 0;
}

FL_INLINE double sum_of(vdouble v) {
    double s = v[0];
    for (int64_t l = 1; l < kLanes; l++) s += v[l];
    return s;
}
FL_INLINE double min_of(vdouble v) { return smallest_of(v)[0]; }
FL_INLINE double max_of(vdouble v) { return -smallest_of(-v)[0]; }

// The functions below are static: files differ in their floating-point rules, and the linker would
// keep the version of one of them for all.

// sum_k x[k] y[k]
static inline double dot(const double* x, const double* y, int64_t n) {
    vdouble s0 = {}, s1 = {}, s2 = {}, s3 = {};
    int64_t k = 0;
    for (; k + 4 * kLanes <= n; k += 4 * kLanes) {
        s0 += loadd(x + k) * loadd(y + k);
        s1 += loadd(x + k + kLanes) * loadd(y + k + kLanes);
        s2 += loadd(x + k + 2 * kLanes) * loadd(y + k + 2 * kLanes);
        s3 += loadd(x + k + 3 * kLanes) * loadd(y + k + 3 * kLanes);
    }
    for (; k + kLanes <= n; k += kLanes) s0 += loadd(x + k) * loadd(y + k);
    double total = sum_of((s0 + s1) + (s2 + s3));
    for (; k < n; k++) total += x[k] * y[k];
    return total;
}

// y += t x
static inline void add_scaled(double t, const double* __restrict x, double* __restrict y,
                              int64_t n) {
    for (int64_t k = 0; k < n; k++) y[k] += t * x[k];
}

}  // namespace fl
