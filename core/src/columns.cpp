// Stored columns of a kernel matrix: products, and numbers gathered from them. Column s is
// storage[s], and rows of the storage are `length` apart.
#include "fewlabels.h"
#include "vec.hpp"

namespace fl {
namespace {

// A slice of the result that stays in cache over all columns.
constexpr int64_t kSlice = 2048;

// As many numbers as a vector of doubles has lanes, as doubles.
typedef float vhalf __attribute__((vector_size(kBytes / 2)));
FL_INLINE vdouble widened(const double* p) { return loadd(p); }
FL_INLINE vdouble widened(const float* p) {
    return __builtin_convertvector(load<vhalf>(p), vdouble);
}

// part[i] += sum_k x[k][i] c[k]: one pass over a slice of the result for K columns.
template <int K, typename T>
FL_INLINE void join(const T* const* x, const double* c, double* part, int64_t n) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        vdouble sum = widened(x[0] + i) * c[0];
        for (int k = 1; k < K; k++) sum += widened(x[k] + i) * c[k];
        store(part + i, loadd(part + i) + sum);
    }
    for (; i < n; i++) {
        double sum = x[0][i] * c[0];
        for (int k = 1; k < K; k++) sum += x[k][i] * c[k];
        part[i] += sum;
    }
}

template <typename T>
void apply(int64_t length, const T* storage, int64_t count, const int64_t* slots,
           const double* coef, double* out, int64_t start, int64_t stop) {
    constexpr int64_t kJoined = 8;
    const T* x[kJoined];
    for (int64_t first = start; first < stop; first += kSlice) {
        const int64_t n = imin(kSlice, stop - first);
        double* part = out + first;
        int64_t k = 0;
        for (; k + kJoined <= count; k += kJoined) {
            for (int64_t j = 0; j < kJoined; j++) x[j] = storage + slots[k + j] * length + first;
            join<kJoined>(x, coef + k, part, n);
        }
        for (; k < count; k++) {
            x[0] = storage + slots[k] * length + first;
            join<1>(x, coef + k, part, n);
        }
    }
}

}  // namespace
}  // namespace fl

extern "C" {

int32_t fl_apply_columns_f32(int64_t length, const float* storage, int64_t count,
                             const int64_t* slots, const double* coef, double* out, int64_t start,
                             int64_t stop) {
    fl::apply(length, storage, count, slots, coef, out, start, stop);
    return FL_OK;
}

int32_t fl_apply_columns_f64(int64_t length, const double* storage, int64_t count,
                             const int64_t* slots, const double* coef, double* out, int64_t start,
                             int64_t stop) {
    fl::apply(length, storage, count, slots, coef, out, start, stop);
    return FL_OK;
}

int32_t fl_gather(int64_t length, const double* storage, int64_t count, const int64_t* slots,
                  int64_t n_rows, const int64_t* rows, double* out) {
    for (int64_t k = 0; k < count; k++) {
        const double* column = storage + slots[k] * length;
        for (int64_t i = 0; i < n_rows; i++) out[i * count + k] = column[rows[i]];
    }
    return FL_OK;
}

int32_t fl_gather_product(int64_t length, const double* storage, int64_t count,
                          const int64_t* slots, int64_t n_rows, const int64_t* rows,
                          const double* coef, double* out) {
    for (int64_t k = 0; k < count; k++) {
        const double* column = storage + slots[k] * length;
        const double c = coef[k];
        for (int64_t i = 0; i < n_rows; i++) out[i] += column[rows[i]] * c;
    }
    return FL_OK;
}

int32_t fl_extend_columns(int64_t length, double* storage, int64_t n_slots,
                          const int64_t* column_of, int64_t n_new, int64_t n_columns,
                          const double* new_rows, int64_t first) {
    for (int64_t s = 0; s < n_slots; s++)
        if (column_of[s] >= 0)
            for (int64_t r = 0; r < n_new; r++)
                storage[s * length + first + r] = new_rows[r * n_columns + column_of[s]];
    return FL_OK;
}

}  // extern "C"
