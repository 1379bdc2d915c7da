// Forests: extremely randomized trees, the leaves that rows fall into, shares of common leaves, and
// sums over leaves.
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

// Random numbers (splitmix64).
struct Random {
    uint64_t state;
    uint64_t bits() {
        uint64_t z = (state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    double uniform() { return double(bits() >> 11) * 0x1p-53; }
    int64_t below(int64_t n) { return int64_t(uniform() * double(n)); }  // n is small beside 2^53
};

// What a tree is grown on: `columns` are d x n, `place` the class of each row.
struct Grown {
    int64_t n, d, n_classes;
    const float* columns;
    const int32_t* place;
    int64_t tried, smallest;
};

// Scratch space of a tree: the rows in it, columns in the order they were drawn, and by class the
// weight of a row and sums over the node and below a threshold.
struct Scratch {
    int64_t *rows, *features, *waiting;
    double *weight, *inside, *below;
};

struct Split {
    double score, threshold;
    int64_t feature;
};

// Sums of weights by class, squared, over the sum of weights: the higher, the purer.
double purity(const double* sums, int64_t n_classes) {
    double total = 0.0, squares = 0.0;
    for (int64_t c = 0; c < n_classes; c++) total += sums[c], squares += sums[c] * sums[c];
    return squares / total;
}

// Try one random threshold of column f among rows; false if the column is constant there.
bool try_column(const Grown& on, const Scratch& s, const int64_t* rows, int64_t count, int64_t f,
                Random& random, Split& best) {
    const float* x = on.columns + f * on.n;
    float low = x[rows[0]], high = low;
    for (int64_t i = 1; i < count; i++) {
        const float v = x[rows[i]];
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    if (!(high > low)) return false;
    double threshold = double(low) + random.uniform() * (double(high) - double(low));
    if (!(threshold < double(high))) threshold = double(low);
    for (int64_t c = 0; c < on.n_classes; c++) s.below[c] = 0.0;
    int64_t n_below = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!(double(x[rows[i]]) <= threshold)) continue;
        const int32_t c = on.place[rows[i]];
        s.below[c] += s.weight[c];
        n_below++;
    }
    if (n_below < on.smallest || count - n_below < on.smallest) return true;
    double score = purity(s.below, on.n_classes);
    for (int64_t c = 0; c < on.n_classes; c++) s.below[c] = s.inside[c] - s.below[c];
    score += purity(s.below, on.n_classes);
    // Equal splits score the same but for rounding: the first is kept.
    if (best.feature < 0 || score > best.score * (1.0 + 1e-12)) best = {score, threshold, f};
    return true;
}

// The best of `tried` random splits of rows; feature is -1 if there is none. More are tried while
// all columns are constant.
Split find_split(const Grown& on, const Scratch& s, const int64_t* rows, int64_t count,
                 Random& random) {
    Split best = {0.0, 0.0, -1};
    for (int64_t c = 0; c < on.n_classes; c++) s.inside[c] = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const int32_t c = on.place[rows[i]];
        s.inside[c] += s.weight[c];
    }
    int64_t n_inside = 0;
    for (int64_t c = 0; c < on.n_classes; c++) n_inside += s.inside[c] > 0.0;
    if (n_inside < 2 || count < 2 * on.smallest) return best;
    bool varies = false;
    for (int64_t i = 0; i < on.d && (i < on.tried || !varies); i++) {
        const int64_t j = i + random.below(on.d - i), f = s.features[j];
        s.features[j] = s.features[i];
        s.features[i] = f;
        varies |= try_column(on, s, rows, count, f, random, best);
    }
    return best;
}

// A tree over the rows in s.rows, nodes numbered from 0; how many there are, and their depth.
int64_t grow(const Grown& on, const Scratch& s, int64_t n_rows, Random& random, int64_t* feature,
             double* threshold, int64_t* left, int64_t* right, int64_t* depth) {
    int64_t n_nodes = 1, n_waiting = 1;
    int64_t* waiting = s.waiting;  // node, its first row, the row after its last, depth
    waiting[0] = 0, waiting[1] = 0, waiting[2] = n_rows, waiting[3] = 0;
    *depth = 0;
    while (n_waiting > 0) {
        const int64_t* own = waiting + 4 * --n_waiting;
        const int64_t node = own[0], first = own[1], end = own[2], deep = own[3];
        int64_t* rows = s.rows + first;
        if (deep > *depth) *depth = deep;
        const Split split = find_split(on, s, rows, end - first, random);
        if (split.feature < 0) {
            feature[node] = 0, threshold[node] = 0.0, left[node] = right[node] = node;
            continue;
        }
        const float* x = on.columns + split.feature * on.n;
        int64_t middle = 0;
        for (int64_t i = 0; i < end - first; i++) {
            const int64_t row = rows[i];
            if (!(double(x[row]) <= split.threshold)) continue;
            rows[i] = rows[middle];
            rows[middle++] = row;
        }
        feature[node] = split.feature, threshold[node] = split.threshold;
        left[node] = n_nodes, right[node] = n_nodes + 1;
        const int64_t edges[3] = {first, first + middle, end};
        for (int64_t side = 1; side >= 0; side--) {
            int64_t* next = waiting + 4 * n_waiting++;
            next[0] = n_nodes + side, next[1] = edges[side], next[2] = edges[side + 1];
            next[3] = deep + 1;
        }
        n_nodes += 2;
    }
    return n_nodes;
}

}  // namespace
}  // namespace fl

extern "C" {

int32_t fl_grow_trees(int64_t n, int64_t d, const float* columns, int64_t n_classes,
                      const int32_t* place, int64_t n_drawn, int64_t tried, int64_t smallest,
                      int64_t seed, int64_t first, int64_t most, int64_t* feature,
                      double* threshold, int64_t* left, int64_t* right, int64_t* sizes,
                      int64_t* depths, double* work, int64_t* places, int64_t start,
                      int64_t stop) {
    const fl::Grown on = {n, d, n_classes, columns, place, tried, smallest};
    const int64_t n_rows = n_drawn > 0 ? n_drawn : n;
    fl::Scratch s;
    s.weight = work, s.inside = work + n_classes, s.below = s.inside + n_classes;
    s.rows = places, s.features = s.rows + n_rows, s.waiting = s.features + d;
    for (int64_t tree = start; tree < stop; tree++) {
        fl::Random random = {uint64_t(seed)};
        random.state = random.bits() + uint64_t(first + tree) * 0xD1B54A32D192ED03u;
        for (int64_t i = 0; i < n_rows; i++) s.rows[i] = n_drawn > 0 ? random.below(n) : i;
        for (int64_t f = 0; f < d; f++) s.features[f] = f;
        for (int64_t c = 0; c < n_classes; c++) s.inside[c] = 0.0;
        for (int64_t i = 0; i < n_rows; i++) s.inside[place[s.rows[i]]] += 1.0;
        for (int64_t c = 0; c < n_classes; c++)  // all classes weigh the same
            s.weight[c] = s.inside[c] > 0.0 ? double(n_rows) / s.inside[c] : 0.0;
        const int64_t at = tree * most;
        sizes[tree] = fl::grow(on, s, n_rows, random, feature + at, threshold + at, left + at,
                               right + at, depths + tree);
    }
    return FL_OK;
}

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
