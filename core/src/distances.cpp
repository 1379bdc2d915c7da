// Squared distances between rows, from their differences. They take longer than inner products, but
// rows that are close to each other and far from the origin keep all digits.
#include "fewlabels.h"
#include "vec.hpp"

namespace fl {
namespace {

// Rows that share a walk over a column.
constexpr int kTogether = 4;

// Distances of K rows, `d` apart, to one column.
template <int K>
FL_INLINE void distances(const double* rows, const double* column, int64_t d, double* out) {
    vdouble sums[K] = {};
    int64_t k = 0;
    for (; k + kLanes <= d; k += kLanes) {
        const vdouble z = loadd(column + k);
        for (int r = 0; r < K; r++) {
            const vdouble apart = loadd(rows + r * d + k) - z;
            sums[r] += apart * apart;
        }
    }
    for (int r = 0; r < K; r++) {
        double sum = sum_of(sums[r]);
        for (int64_t l = k; l < d; l++) {
            const double apart = rows[r * d + l] - column[l];
            sum += apart * apart;
        }
        out[r] = sum;
    }
}

// Distance of two sorted sparse rows.
double distance(const double* x, const int64_t* i, int64_t nx, const double* z, const int64_t* j,
                int64_t nz) {
    double sum = 0.0;
    int64_t a = 0, b = 0;
    while (a < nx || b < nz) {
        double apart;
        if (b == nz || (a < nx && i[a] < j[b]))
            apart = x[a++];
        else if (a == nx || j[b] < i[a])
            apart = z[b++];
        else
            apart = x[a++] - z[b++];
        sum += apart * apart;
    }
    return sum;
}

}  // namespace
}  // namespace fl

extern "C" {

int32_t fl_squared_distances(int64_t n, int64_t d, const double* rows, int64_t m,
                             const double* columns, double* out, int64_t start, int64_t stop) {
    for (int64_t j = 0; j < m; j++) {
        const double* column = columns + j * d;
        int64_t i = start;
        for (; i + fl::kTogether <= stop; i += fl::kTogether)
            fl::distances<fl::kTogether>(rows + i * d, column, d, out + j * n + i);
        for (; i < stop; i++) fl::distances<1>(rows + i * d, column, d, out + j * n + i);
    }
    return FL_OK;
}

int32_t fl_squared_distances_sparse(int64_t n, const double* data, const int64_t* indices,
                                    const int64_t* indptr, int64_t m, const double* column_data,
                                    const int64_t* column_indices, const int64_t* column_indptr,
                                    double* out, int64_t start, int64_t stop) {
    for (int64_t j = 0; j < m; j++) {
        const int64_t first = column_indptr[j], length = column_indptr[j + 1] - first;
        for (int64_t i = start; i < stop; i++)
            out[j * n + i] = fl::distance(data + indptr[i], indices + indptr[i],
                                          indptr[i + 1] - indptr[i], column_data + first,
                                          column_indices + first, length);
    }
    return FL_OK;
}

}  // extern "C"
