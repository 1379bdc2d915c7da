// Kernel values between CSR rows; see kernels/operators/rows.py.
//
// A group of columns is held dense and interleaved: lanes[k, c] is feature k of column c. One
// stored entry of a row serves them all, and their sums stay in registers over the whole row.
#include "maps.hpp"

namespace fl {
namespace {

// Rows whose values are collected before they are written column by column.
constexpr int64_t kTogether = 16;

template <typename T>
struct Sparse {
    int32_t kind;
    int64_t degree;
    const T* data;
    const int64_t *indices, *indptr;
    const T* row_term;
    int64_t width;
    const T *lanes, *lane_term;
};

// z += <row r, columns from c on> for K values of type V: vectors, or one number. Four products are
// summed before their sum joins the others.
template <int K, typename V, typename T>
FL_INLINE void add_products(const Sparse<T>& p, int64_t r, int64_t c, V* z) {
    const int64_t end = p.indptr[r + 1];
    int64_t e = p.indptr[r];
    while (e < end) {
        const int64_t last = imin(end, e + 4);
        V sums[K] = {};
        if (last == e + 4) {
            for (int i = 0; i < 4; i++) {
                const T* entries = p.lanes + p.indices[e + i] * p.width + c;
                const V value = V{} + p.data[e + i];
                for (int k = 0; k < K; k++)
                    sums[k] = fused(load<V>(entries + k * (sizeof(V) / sizeof(T))), value, sums[k]);
            }
            e = last;
        }
        for (; e < last; e++) {
            const T* entries = p.lanes + p.indices[e] * p.width + c;
            const V value = V{} + p.data[e];
            for (int k = 0; k < K; k++)
                sums[k] = fused(load<V>(entries + k * (sizeof(V) / sizeof(T))), value, sums[k]);
        }
        for (int k = 0; k < K; k++) z[k] += sums[k];
    }
}

// Values of row r with K vectors of columns from c on.
template <int K, typename T>
FL_INLINE void evaluate(const Sparse<T>& p, int64_t r, int64_t c, T* values) {
    VecOf<T> z[K];
    for (int k = 0; k < K; k++) z[k] = VecOf<T>{};
    add_products<K>(p, r, c, z);
    // At the end: where a row meets itself, the terms take away exactly what they were made of.
    for (int k = 0; k < K; k++)
        z[k] += load<VecOf<T>>(p.lane_term + c + k * kLanesOf<T>) + p.row_term[r];
    map_values < T, K<4 ? K : 4>(p.kind, p.degree, z);
    for (int k = 0; k < K; k++) store(values + c + k * kLanesOf<T>, z[k]);
}

// Values of row r with all columns: a single one, or whole vectors.
template <typename T>
void row_values(const Sparse<T>& p, int64_t r, T* values) {
    if (p.width == 1) {
        T z = 0;
        add_products<1>(p, r, 0, &z);
        z += p.lane_term[0] + p.row_term[r];
        VecOf<T> all[1] = {VecOf<T>{} + z};
        map_values<T, 1>(p.kind, p.degree, all);
        values[0] = all[0][0];
        return;
    }
    int64_t c = 0, left = p.width / kLanesOf<T>;
    for (; left >= 8; left -= 8, c += 8 * kLanesOf<T>) evaluate<8>(p, r, c, values);
    if (left >= 4) evaluate<4>(p, r, c, values), left -= 4, c += 4 * kLanesOf<T>;
    if (left >= 2) evaluate<2>(p, r, c, values), left -= 2, c += 2 * kLanesOf<T>;
    if (left) evaluate<1>(p, r, c, values);
}

// <x, x>, summed as `add_products` sums it.
double squared(const double* data, int64_t length) {
    double z = 0.0;
    for (int64_t e = 0; e < length;) {
        const int64_t last = imin(length, e + 4);
        double sum = 0.0;
        for (; e < last; e++) sum = fused(data[e], data[e], sum);
        z += sum;
    }
    return z;
}

double weighted_sum(const double* values, const double* coef, int64_t width) {
    if (width == 1) return values[0] * coef[0];
    vdouble sum = {};
    for (int64_t c = 0; c < width; c += kLanes) sum += loadd(values + c) * loadd(coef + c);
    return sum_of(sum);
}
double weighted_sum(const float* values, const double* coef, int64_t width) {
    if (width == 1) return values[0] * coef[0];
    vdouble even = {}, odd = {};
    for (int64_t c = 0; c < width; c += 2 * kLanes) {
        const vfloat v = load<vfloat>(values + c);
        even += low(v) * loadd(coef + c);
        odd += high(v) * loadd(coef + c + kLanes);
    }
    return sum_of(even + odd);
}

template <typename T>
void apply(const Sparse<T>& p, const double* coef, double* out, int64_t start, int64_t stop) {
    T values[FL_LANES];
    for (int64_t r = start; r < stop; r++) {
        row_values(p, r, values);
        out[r] += weighted_sum(values, coef, p.width);
    }
}

template <typename T>
void evaluate_all(const Sparse<T>& p, int64_t n, int64_t m, T* out, int64_t start, int64_t stop) {
    T values[kTogether][FL_LANES];
    for (int64_t first = start; first < stop; first += kTogether) {
        const int64_t count = imin(kTogether, stop - first);
        for (int64_t i = 0; i < count; i++) row_values(p, first + i, values[i]);
        for (int64_t c = 0; c < m; c++)
            for (int64_t i = 0; i < count; i++) out[c * n + first + i] = values[i][c];
    }
}

}  // namespace
}  // namespace fl

#define FL_SPARSE(T, suffix)                                                                     \
    int32_t fl_apply_sparse_##suffix(                                                            \
        int32_t kind, int64_t degree, const T* data, const int64_t* indices,                     \
        const int64_t* indptr, const T* row_term, int64_t width, const T* lanes,                 \
        const T* lane_term, const double* coef, double* out, int64_t start, int64_t stop) {      \
        fl::apply<T>({kind, degree, data, indices, indptr, row_term, width, lanes, lane_term},   \
                     coef, out, start, stop);                                                    \
        return FL_OK;                                                                            \
    }                                                                                            \
    int32_t fl_column_sparse_##suffix(                                                           \
        int32_t kind, int64_t degree, const T* data, const int64_t* indices,                     \
        const int64_t* indptr, const T* row_term, int64_t width, const T* lanes,                 \
        const T* lane_term, int64_t n, int64_t m, T* out, int64_t start, int64_t stop) {         \
        fl::evaluate_all<T>(                                                                     \
            {kind, degree, data, indices, indptr, row_term, width, lanes, lane_term}, n, m, out, \
            start, stop);                                                                        \
        return FL_OK;                                                                            \
    }

extern "C" {
int32_t fl_squared_norms_sparse(int64_t n, const double* data, const int64_t* indptr,
                                double* out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = fl::squared(data + indptr[i], indptr[i + 1] - indptr[i]);
    return FL_OK;
}
FL_SPARSE(float, f32)
FL_SPARSE(double, f64)
}
