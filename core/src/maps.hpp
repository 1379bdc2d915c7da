// The maps of kernels: a kernel value is a map of z = <row, column> + terms, see kernels/operators/rows.py.
#pragma once

#include "fewlabels.h"
#include "lanes.hpp"

namespace fl {

// 2^f for |f| <= 1/2: coefficients from the highest power down; exactly 1 at 0. Adding `round`
// leaves the nearest integer in the low bits, from where it moves into the exponent.
template <typename T>
struct Exp2;
template <>
struct Exp2<float> {
    static constexpr float lowest = -126.0f, round = 12582912.0f;  // 3/2 2^23
    static constexpr int exponent = 23, degree = 6;
    static constexpr float coef[] = {1.535336188319500e-4f,
                                     1.339887440266574e-3f,
                                     9.618437357674640e-3f,
                                     5.550332471162809e-2f,
                                     2.402264791363012e-1f,
                                     6.931472028550421e-1f,
                                     1.0f};
};
template <>
struct Exp2<double> {
    static constexpr double lowest = -1022.0, round = 6755399441055744.0;  // 3/2 2^52
    static constexpr int exponent = 52, degree = 11;
    static constexpr double coef[] = {
        4.4549605981865186e-10, 7.072585949269223e-09, 1.0178062445845774e-07,
        1.321544258792169e-06,  1.525273382983612e-05, 1.540353044173605e-04,
        1.3333558146416936e-03, 9.618129107606888e-03, 5.550410866482160e-02,
        2.4022650695910097e-01, 6.931471805599453e-01, 1.0};
};

// Replace each z <= 0 by 2^z; relative error below 2e-7 (float) or 4e-16 (double). The N vectors
// advance together, because each one's steps wait for each other.
template <typename T, int N>
FL_INLINE void exp2_nonpositive(VecOf<T>* z) {
    typedef VecOf<T> V;
    typedef typename Lanes<T>::U U;
    typedef Exp2<T> E;
    V shifted[N], p[N];
    for (int i = 0; i < N; i++) {
        z[i] = at_least(at_most(z[i], V{}), V{} + E::lowest);
        shifted[i] = z[i] + E::round;
    }
    for (int i = 0; i < N; i++) z[i] -= shifted[i] - E::round;
    for (int i = 0; i < N; i++) p[i] = z[i] * E::coef[0] + E::coef[1];
    for (int k = 2; k <= E::degree; k++)
        for (int i = 0; i < N; i++) p[i] = p[i] * z[i] + E::coef[k];
    for (int i = 0; i < N; i++) z[i] = (V)((U)p[i] + ((U)shifted[i] << E::exponent));
}

template <typename T>
FL_INLINE VecOf<T> power(VecOf<T> z, int64_t degree) {
    VecOf<T> value = VecOf<T>{} + T(1);
    for (int64_t i = 0; i < degree; i++) value *= z;
    return value;
}

// tanh z, from e = exp(-2 |z|)
template <typename T>
FL_INLINE VecOf<T> hyperbolic_tangent(VecOf<T> z) {
    typedef VecOf<T> V;
    const V zero = {};
    V size = z < zero ? -z : z;
    V e = size * T(-2.8853900817779268);  // -2 / log(2)
    exp2_nonpositive<T, 1>(&e);
    V t = (T(1) - e) / (T(1) + e);
    return z < zero ? -t : t;
}

// The maps that are seen less often work through memory, so that the Gaussian's registers are its
// own.
template <typename T>
void map_others(int32_t kind, int64_t degree, VecOf<T>* z, int64_t count) {
    if (kind == FL_POWER)
        for (int64_t i = 0; i < count; i++) z[i] = power<T>(z[i], degree);
    else if (kind == FL_TANH)
        for (int64_t i = 0; i < count; i++) z[i] = hyperbolic_tangent<T>(z[i]);
    else  // no such map: nobody should take z for its value
        for (int64_t i = 0; i < count; i++) z[i] = z[i] * T(0) + T(__builtin_nan(""));
}

// exp2_nonpositive for K vectors at a time, from the i-th on: a recursion, so that z stays in
// registers.
template <typename T, int K, int I, int N>
FL_INLINE void exp2_all(VecOf<T> (&z)[N]) {
    if constexpr (I < N) {
        exp2_nonpositive<T, K>(z + I);
        exp2_all<T, K, I + K>(z);
    }
}

// Replace each z by its kernel value.
template <typename T, int K, int N>
FL_INLINE void map_values(int32_t kind, int64_t degree, VecOf<T> (&z)[N]) {
    if (kind == FL_EXP2) {
        exp2_all<T, K, 0>(z);
    } else if (kind != FL_IDENTITY) {
        VecOf<T> values[N];
        for (int i = 0; i < N; i++) values[i] = z[i];
        map_others<T>(kind, degree, values, N);
        for (int i = 0; i < N; i++) z[i] = values[i];
    }
}

}  // namespace fl
