// Cholesky factors that gain and lose rows: L is lower triangular in the first m rows of an array
// whose rows are `stride` apart. Each change costs O(m^2).
#pragma once

#include "vec.hpp"

namespace fl {

// Add a last row: the new `column` (m entries) and `corner` of the matrix. False, and nothing
// added, if the Schur complement is at most `rtol` times the corner.
static inline bool append_row(double* L, int64_t m, int64_t stride, const double* column,
                              double corner, double rtol) {
    double* row = L + m * stride;
    for (int64_t i = 0; i < m; i++) {
        const double* other = L + i * stride;
        row[i] = (column[i] - dot(other, row, i)) / other[i];
    }
    const double complement = corner - dot(row, row, m);
    if (!(complement > rtol * corner)) return false;
    row[m] = sqrt(complement);
    return true;
}

// Remove row and column p of the matrix: shift rows up, and rotate back to triangular.
// `work` has room for 2 m numbers.
static inline void delete_row(double* L, int64_t m, int64_t stride, int64_t p, double* work) {
    double *cosine = work, *sine = work + m;
    for (int64_t r = p; r + 1 < m; r++) {
        double* row = L + r * stride;
        const double* next = row + stride;
        for (int64_t j = 0; j < p; j++) row[j] = next[j];
        double x = next[p];
        for (int64_t k = p; k < r; k++) {
            const double y = next[k + 1];
            row[k] = cosine[k] * x + sine[k] * y;
            x = cosine[k] * y - sine[k] * x;
        }
        const double y = next[r + 1], length = hypot(x, y);
        cosine[r] = x / length;
        sine[r] = y / length;
        row[r] = length;
    }
}

// x = (L L')^-1 x in place, for `count` right-hand sides of m numbers, one after the other.
static inline void solve(const double* L, int64_t m, int64_t stride, double* x, int64_t count = 1) {
    for (int64_t i = 0; i < m; i++) {
        const double* row = L + i * stride;
        for (double* y = x; y < x + count * m; y += m) y[i] = (y[i] - dot(row, y, i)) / row[i];
    }
    for (int64_t i = m - 1; i >= 0; i--) {
        const double* row = L + i * stride;
        for (double* y = x; y < x + count * m; y += m) {
            y[i] /= row[i];
            add_scaled(-y[i], row, y, i);
        }
    }
}

}  // namespace fl
