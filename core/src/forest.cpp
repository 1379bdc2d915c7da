// Forests: the leaves that rows fall into, shares of common leaves, and sums over leaves.
#include "fewlabels.h"
#include "vec.hpp"

namespace fl {
namespace {

// Columns that are compared with a row at a time: their counts stay in the first cache, and their
// codes in the second.
constexpr int64_t kChunk = 512;

// counts[j] += how many of the trees from `tree` to `end` have the same code in row a and column j.
template <typename T>
void count(const T* a, const T* b, int64_t m, int64_t tree, int64_t end, T* __restrict counts,
           int64_t wide) {
    for (; tree + 4 <= end; tree += 4) {
        const T *b0 = b + tree * m, *b1 = b0 + m, *b2 = b1 + m, *b3 = b2 + m;
        const T a0 = a[tree], a1 = a[tree + 1], a2 = a[tree + 2], a3 = a[tree + 3];
        for (int64_t j = 0; j < wide; j++)
            counts[j] += T(b0[j] == a0) + T(b1[j] == a1) + T(b2[j] == a2) + T(b3[j] == a3);
    }
    for (; tree < end; tree++) {
        const T *row = b + tree * m, code = a[tree];
        for (int64_t j = 0; j < wide; j++) counts[j] += T(row[j] == code);
    }
}

// A count has as many bytes as a code, so it is emptied before it can overflow.
template <typename T>
void share(int64_t n, int64_t n_trees, const T* a, int64_t m, const T* b, double* out,
           int64_t start, int64_t stop) {
    constexpr int64_t kMost = sizeof(T) == 1 ? 252 : 65532;
    for (int64_t first = start; first < stop; first += kChunk) {
        const int64_t wide = imin(kChunk, stop - first);
        for (int64_t i = 0; i < n; i++) {
            double* __restrict found = out + i * m + first;
            for (int64_t j = 0; j < wide; j++) found[j] = 0.0;
            for (int64_t tree = 0; tree < n_trees; tree += kMost) {
                T counts[kChunk] = {};
                count(a + i * n_trees, b + first, m, tree, imin(tree + kMost, n_trees), counts,
                      wide);
                for (int64_t j = 0; j < wide; j++) found[j] += double(counts[j]);
            }
            for (int64_t j = 0; j < wide; j++) found[j] /= double(n_trees);
        }
    }
}

}  // namespace
}  // namespace fl

extern "C" {

int32_t fl_leaves(int64_t d, const float* rows, int64_t n_trees, const int64_t* roots,
                  const int64_t* feature, const double* threshold, const int64_t* left,
                  const int64_t* right, int64_t depth, int32_t* out, int64_t start,
                  int64_t stop) {
    for (int64_t tree = 0; tree < n_trees; tree++) {  // a tree's nodes stay in cache
        for (int64_t i = start; i < stop; i++) {
            const float* row = rows + i * d;
            int64_t at = roots[tree];
            for (int64_t step = 0; step < depth && left[at] != at; step++)
                at = double(row[feature[at]]) <= threshold[at] ? left[at] : right[at];
            out[i * n_trees + tree] = int32_t(at);
        }
    }
    return FL_OK;
}

int32_t fl_shared_leaves_u8(int64_t n, int64_t n_trees, const uint8_t* a, int64_t m,
                            const uint8_t* b, double* out, int64_t start, int64_t stop) {
    fl::share(n, n_trees, a, m, b, out, start, stop);
    return FL_OK;
}

int32_t fl_shared_leaves_u16(int64_t n, int64_t n_trees, const uint16_t* a, int64_t m,
                             const uint16_t* b, double* out, int64_t start, int64_t stop) {
    fl::share(n, n_trees, a, m, b, out, start, stop);
    return FL_OK;
}

int32_t fl_shared_leaves_u32(int64_t n, int64_t n_trees, const uint32_t* a, int64_t m,
                             const uint32_t* b, double* out, int64_t start, int64_t stop) {
    fl::share(n, n_trees, a, m, b, out, start, stop);
    return FL_OK;
}

int32_t fl_add_leaves(int64_t n_trees, const int32_t* leaves, int64_t n_nodes, int64_t k,
                      const double* weights, double* out, int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; i++) {
        const int32_t* row = leaves + i * n_trees;
        for (int64_t c = 0; c < k; c++) {
            const double* weight = weights + c * n_nodes;
            double sum = 0.0;
            for (int64_t tree = 0; tree < n_trees; tree++) sum += weight[row[tree]];
            out[i * k + c] += sum;
        }
    }
    return FL_OK;
}

}  // extern "C"
