// Stored columns of a kernel matrix: products, and numbers gathered from them. Column s is
// storage[s], and rows of the storage are `length` apart.
#include "fewlabels.h"
#include "vec.hpp"

namespace fl {
namespace {

// A slice of the result that stays in cache over all columns.
constexpr int64_t kSlice = 2048;

template <typename T>
void apply(int64_t length, const T* storage, int64_t count, const int64_t* slots,
           const double* coef, double* out, int64_t start, int64_t stop) {
    for (int64_t first = start; first < stop; first += kSlice) {
        const int64_t n = imin(kSlice, stop - first);
        double* __restrict part = out + first;
        int64_t k = 0;
        for (; k + 4 <= count; k += 4) {
            const T* x0 = storage + slots[k] * length + first;
            const T* x1 = storage + slots[k + 1] * length + first;
            const T* x2 = storage + slots[k + 2] * length + first;
            const T* x3 = storage + slots[k + 3] * length + first;
            const double c0 = coef[k], c1 = coef[k + 1], c2 = coef[k + 2], c3 = coef[k + 3];
            for (int64_t i = 0; i < n; i++)
                part[i] += x0[i] * c0 + x1[i] * c1 + x2[i] * c2 + x3[i] * c3;
        }
        for (; k < count; k++) {
            const T* x = storage + slots[k] * length + first;
            const double c = coef[k];
            for (int64_t i = 0; i < n; i++) part[i] += x[i] * c;
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
