// Kernel values between dense rows, tile by tile; see kernels/operators/rows.py.
//
// A tile holds 768 bytes of each feature: tiles[t, k, i] is feature k of row t * width + i. The
// inner loop takes a strip of rows and four columns, whose products stay in registers over a chain
// of features. Then the map follows, and whatever becomes of the values, without a detour through
// memory.
#include "maps.hpp"

namespace fl {
namespace {

constexpr int kColumns = 4;
// Vectors of rows for four columns and for one: 32 registers hold 16 sums, 16 hold 12 (Clang spills
// some of these, which costs more than the loads that a third vector saves).
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kStrip = 4, kTall = 4;
#elif defined(__clang__)
constexpr int kStrip = 2, kTall = 6;
#else
constexpr int kStrip = 3, kTall = 6;
#endif
// Products that are summed before their sum joins the others: rounding errors grow with the length
// of a sum, and with the number of sums.
constexpr int64_t kChain = 16;

template <typename T>
constexpr int64_t kRows = FL_TILE_BYTES / sizeof(T);

template <typename T>
struct Tiles {
    int32_t kind;
    int64_t degree;
    T constant;
    int64_t n, d, width;
    const T *tiles, *row_term;
    int64_t m;
    const T *columns, *column_term;
};

// sums = <rows, columns> over features first to last. The features of x are `width` apart.
template <typename T, int S, int C>
FL_INLINE void chain(const T* x, int64_t width, const T* columns, int64_t d, int64_t first,
                     int64_t last, VecOf<T> (&sums)[C * S]) {
    for (int i = 0; i < C * S; i++) sums[i] = VecOf<T>{};
    for (int64_t k = first; k < last; k++) {
        VecOf<T> rows[S];
        for (int s = 0; s < S; s++) rows[s] = load<VecOf<T>>(x + k * width + s * kLanesOf<T>);
        for (int c = 0; c < C; c++) {
            T entry = columns[c * d + k];
            const VecOf<T> all = VecOf<T>{} + entry;
            for (int s = 0; s < S; s++) sums[c * S + s] = fused(rows[s], all, sums[c * S + s]);
        }
    }
}

// Values of S vectors of rows, from the i-th of tile t on, with C columns from the j-th on.
template <typename T, int S, int C>
FL_INLINE void evaluate(const Tiles<T>& p, int64_t t, int64_t i, int64_t j, VecOf<T> (&z)[C * S]) {
    const T* x = p.tiles + t * p.d * p.width + i;
    const T* columns = p.columns + j * p.d;
    int64_t last = imin(p.d, kChain);
    chain<T, S, C>(x, p.width, columns, p.d, 0, last, z);
    while (last < p.d) {
        int64_t first = last;
        last = imin(p.d, first + kChain);
        VecOf<T> sums[C * S];
        chain<T, S, C>(x, p.width, columns, p.d, first, last, sums);
        for (int k = 0; k < C * S; k++) z[k] += sums[k];
    }
    // At the end: where a row meets itself, the terms take away exactly what they were made of.
    for (int s = 0; s < S; s++) {
        VecOf<T> term = load<VecOf<T>>(p.row_term + t * p.width + i + s * kLanesOf<T>);
        for (int c = 0; c < C; c++) z[c * S + s] += term + (p.column_term[j + c] + p.constant);
    }
    map_values<T, S == 1 ? C : S>(p.kind, p.degree, z);
}

// Takes the values of a tile and adds their products with the coefficients.
template <typename T>
struct Products {
    const double* coef;
    double total[kRows<T>];

    template <int S, int C>
    FL_INLINE void take(int64_t i, int64_t j, const VecOf<T> (&z)[C * S]) {
        T weights[C];
        for (int c = 0; c < C; c++) weights[c] = T(coef[j + c]);
        for (int s = 0; s < S; s++) {
            VecOf<T> sum = {};
            for (int c = 0; c < C; c++) sum += z[c * S + s] * weights[c];
            add_to(total + i + s * kLanesOf<T>, sum);
        }
    }
};

// Takes the values of a tile and writes them.
template <typename T>
struct Values {
    T* out;
    int64_t first, n;

    template <int S, int C>
    FL_INLINE void take(int64_t i, int64_t j, const VecOf<T> (&z)[C * S]) {
        for (int c = 0; c < C; c++)
            for (int s = 0; s < S; s++) {
                int64_t row = first + i + s * kLanesOf<T>;
                T* target = out + (j + c) * n + row;
                if (row + kLanesOf<T> <= n) {
                    store(target, z[c * S + s]);
                } else {
                    T values[kLanesOf<T>];
                    store(values, z[c * S + s]);
                    for (int64_t l = 0; row + l < n; l++) target[l] = values[l];
                }
            }
    }
};

template <int S, int C, typename T, typename Taker>
FL_INLINE void strips(const Tiles<T>& p, int64_t t, int64_t j, int64_t used, Taker& taker) {
    int64_t i = 0;
    for (; i + S * kLanesOf<T> <= used; i += S * kLanesOf<T>) {
        VecOf<T> z[S * C];
        evaluate<T, S, C>(p, t, i, j, z);
        taker.template take<S, C>(i, j, z);
    }
    for (; i < used; i += kLanesOf<T>) {
        VecOf<T> z[C];
        evaluate<T, 1, C>(p, t, i, j, z);
        taker.template take<1, C>(i, j, z);
    }
}

// Let the taker have all values of tile t.
template <typename T, typename Taker>
FL_INLINE void walk(const Tiles<T>& p, int64_t t, Taker& taker) {
    int64_t used = imin(p.width, p.n - t * p.width);
    used = (used + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
    int64_t j = 0;
    for (; j + kColumns <= p.m; j += kColumns) strips<kStrip, kColumns>(p, t, j, used, taker);
    for (; j < p.m; j++) strips<kTall, 1>(p, t, j, used, taker);
}

template <typename T>
void apply(const Tiles<T>& p, const double* coef, double* out, int64_t start, int64_t stop) {
    for (int64_t t = start; t < stop; t++) {
        Products<T> products = {coef, {}};
        walk(p, t, products);
        int64_t first = t * p.width, rows = imin(p.width, p.n - first);
        for (int64_t i = 0; i < rows; i++) out[first + i] += products.total[i];
    }
}

// <x, x> of up to kLanes rows, summed as `evaluate` sums it.
void squared(const double* rows, int64_t d, int64_t count, double* out) {
    vdouble z = {};
    for (int64_t first = 0; first < d; first += kChain) {
        const int64_t last = imin(d, first + kChain);
        vdouble sum = {};
        for (int64_t k = first; k < last; k++) {
            vdouble entry = {};
            for (int64_t i = 0; i < count; i++) entry[i] = rows[i * d + k];
            sum = fused(entry, entry, sum);
        }
        z = first ? z + sum : sum;
    }
    for (int64_t i = 0; i < count; i++) out[i] = z[i];
}

template <typename T>
void evaluate_all(const Tiles<T>& p, T* out, int64_t start, int64_t stop) {
    for (int64_t t = start; t < stop; t++) {
        Values<T> values = {out, t * p.width, p.n};
        walk(p, t, values);
    }
}

}  // namespace
}  // namespace fl

#define FL_TILES(T, suffix)                                                                       \
    int32_t fl_apply_tiles_##suffix(                                                              \
        int32_t kind, int64_t degree, double constant, int64_t n, int64_t d, int64_t width,       \
        const T* tiles, const T* row_term, int64_t m, const T* columns, const T* column_term,     \
        const double* coef, double* out, int64_t start, int64_t stop) {                           \
        fl::apply<T>(                                                                             \
            {kind, degree, T(constant), n, d, width, tiles, row_term, m, columns, column_term},   \
            coef, out, start, stop);                                                              \
        return FL_OK;                                                                             \
    }                                                                                             \
    int32_t fl_column_tiles_##suffix(int32_t kind, int64_t degree, double constant, int64_t n,    \
                                     int64_t d, int64_t width, const T* tiles, const T* row_term, \
                                     int64_t m, const T* columns, const T* column_term, T* out,   \
                                     int64_t start, int64_t stop) {                               \
        fl::evaluate_all<T>(                                                                      \
            {kind, degree, T(constant), n, d, width, tiles, row_term, m, columns, column_term},   \
            out, start, stop);                                                                    \
        return FL_OK;                                                                             \
    }

extern "C" {
int32_t fl_squared_norms(int64_t n, int64_t d, const double* rows, double* out) {
    for (int64_t i = 0; i < n; i += fl::kLanes)
        fl::squared(rows + i * d, d, fl::imin(fl::kLanes, n - i), out + i);
    return FL_OK;
}
FL_TILES(float, f32)
FL_TILES(double, f64)
}
