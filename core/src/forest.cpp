// Forests: trees of random or best splits, the leaves that rows fall into, shares of common leaves,
// and sums over leaves.
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
    bool best;
};

// A row of a tree: its class, and how often it was drawn.
struct Drawn {
    int32_t place, times;
};

// Scratch space of a tree: the rows in it, all rows as it sees them, columns in the order they were
// drawn, and by class the weight of a row and sums over the node and below a threshold.
struct Scratch {
    int64_t *rows, *features, *waiting;
    Drawn* drawn;
    uint64_t *keys, *spare;
    double *weight, *inside, *below;

    double of(int64_t row) const { return weight[drawn[row].place] * double(drawn[row].times); }
};

struct Split {
    double score, threshold;
    int64_t feature;

    // Equal splits score the same but for rounding: the first is kept.
    void offer(double other, double at, int64_t f) {
        if (feature < 0 || other > score * (1.0 + 1e-12)) *this = {other, at, f};
    }
};

// Sums of weights by class, squared, over the sum of weights: the higher, the purer.
double purity(const double* sums, int64_t n_classes) {
    double total = 0.0, squares = 0.0;
    for (int64_t c = 0; c < n_classes; c++) total += sums[c], squares += sums[c] * sums[c];
    return squares / total;
}

// The same of the two sides of a split: sums below it and in all.
double purity(const double* below, const double* inside, int64_t n_classes) {
    double total = 0.0, squares = 0.0;
    for (int64_t c = 0; c < n_classes; c++) {
        const double above = inside[c] - below[c];
        total += above, squares += above * above;
    }
    return purity(below, n_classes) + squares / total;
}

// Try one random threshold of column f among rows; false if the column is constant there.
bool try_random(const Grown& on, const Scratch& s, const int64_t* rows, int64_t count, int64_t f,
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
        s.below[s.drawn[rows[i]].place] += s.of(rows[i]);
        n_below++;
    }
    if (n_below < on.smallest || count - n_below < on.smallest) return true;
    best.offer(purity(s.below, s.inside, on.n_classes), threshold, f);
    return true;
}

// A number whose order is that of values, and the value again.
uint64_t order_of(float value) {
    uint32_t bits;
    value += 0.0f;  // -0 equals 0
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
float value_of(uint64_t order) {
    const uint32_t bits = order >> 31 ? uint32_t(order) & 0x7FFFFFFFu : ~uint32_t(order);
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// Sort keys by their upper halves: few by insertion, many by one byte after the other.
uint64_t* sorted(uint64_t* keys, uint64_t* spare, int64_t count) {
    if (count <= 64) {
        for (int64_t i = 1; i < count; i++) {
            const uint64_t key = keys[i];
            int64_t j = i;
            for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
            keys[j] = key;
        }
        return keys;
    }
    for (int shift = 32; shift < 64; shift += 8) {
        int64_t ends[256] = {};
        for (int64_t i = 0; i < count; i++) ends[keys[i] >> shift & 255]++;
        if (ends[keys[0] >> shift & 255] == count) continue;
        for (int64_t digit = 0, before = 0; digit < 256; digit++) {
            const int64_t own = ends[digit];
            ends[digit] = before;
            before += own;
        }
        for (int64_t i = 0; i < count; i++) spare[ends[keys[i] >> shift & 255]++] = keys[i];
        uint64_t* other = keys;
        keys = spare;
        spare = other;
    }
    return keys;
}

// Try every threshold of column f among rows; false if the column is constant there.
bool try_all(const Grown& on, const Scratch& s, const int64_t* rows, int64_t count, int64_t f,
             Split& best) {
    const float* x = on.columns + f * on.n;
    for (int64_t i = 0; i < count; i++) s.keys[i] = order_of(x[rows[i]]) << 32 | uint64_t(rows[i]);
    const uint64_t* keys = sorted(s.keys, s.spare, count);
    if (keys[0] >> 32 == keys[count - 1] >> 32) return false;
    for (int64_t c = 0; c < on.n_classes; c++) s.below[c] = 0.0;
    for (int64_t i = 0; i + on.smallest < count; i++) {
        const int64_t row = keys[i] & 0xFFFFFFFFu;
        s.below[s.drawn[row].place] += s.of(row);
        if (i + 1 < on.smallest || keys[i] >> 32 == keys[i + 1] >> 32) continue;
        const double low = value_of(keys[i] >> 32), high = value_of(keys[i + 1] >> 32);
        double threshold = 0.5 * low + 0.5 * high;
        if (!(threshold < high)) threshold = low;
        best.offer(purity(s.below, s.inside, on.n_classes), threshold, f);
    }
    return true;
}

// The best of splits of rows by `tried` columns; feature is -1 if there is none. More columns are
// tried while all are constant.
Split find_split(const Grown& on, const Scratch& s, const int64_t* rows, int64_t count,
                 Random& random) {
    Split best = {0.0, 0.0, -1};
    for (int64_t c = 0; c < on.n_classes; c++) s.inside[c] = 0.0;
    for (int64_t i = 0; i < count; i++) s.inside[s.drawn[rows[i]].place] += s.of(rows[i]);
    int64_t n_inside = 0;
    for (int64_t c = 0; c < on.n_classes; c++) n_inside += s.inside[c] > 0.0;
    if (n_inside < 2 || count < 2 * on.smallest) return best;
    bool varies = false;
    for (int64_t i = 0; i < on.d && (i < on.tried || !varies); i++) {
        const int64_t j = i + random.below(on.d - i), f = s.features[j];
        s.features[j] = s.features[i];
        s.features[i] = f;
        varies |= on.best ? try_all(on, s, rows, count, f, best)
                          : try_random(on, s, rows, count, f, random, best);
    }
    return best;
}

// Random numbers of one tree of a seed.
Random random_of(int64_t seed, int64_t tree) {
    Random random = {uint64_t(seed)};
    random.state = random.bits() + uint64_t(tree) * 0xD1B54A32D192ED03u;
    return random;
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
                      const int32_t* place, int64_t n_drawn, int64_t best, int64_t tried,
                      int64_t smallest, int64_t seed, int64_t first, int64_t most,
                      int64_t* feature, double* threshold, int64_t* left, int64_t* right,
                      int64_t* sizes, int64_t* depths, double* work, int64_t* places,
                      int64_t start, int64_t stop) {
    const fl::Grown on = {n, d, n_classes, columns, place, tried, smallest, best != 0};
    fl::Scratch s;
    s.weight = work, s.inside = work + n_classes, s.below = s.inside + n_classes;
    s.rows = places, s.features = s.rows + n, s.waiting = s.features + d;
    s.drawn = reinterpret_cast<fl::Drawn*>(s.waiting + 4 * (n + 1));
    s.keys = reinterpret_cast<uint64_t*>(s.drawn + n), s.spare = s.keys + n;
    for (int64_t tree = start; tree < stop; tree++) {
        fl::Random random = fl::random_of(seed, first + tree);
        for (int64_t i = 0; i < n; i++) s.drawn[i] = {place[i], n_drawn > 0 ? 0 : 1};
        for (int64_t i = 0; i < n_drawn; i++) s.drawn[random.below(n)].times++;
        for (int64_t f = 0; f < d; f++) s.features[f] = f;
        for (int64_t c = 0; c < n_classes; c++) s.inside[c] = 0.0;
        int64_t n_rows = 0;
        double n_times = 0.0;
        for (int64_t i = 0; i < n; i++) {
            if (s.drawn[i].times == 0) continue;
            s.rows[n_rows++] = i;
            s.inside[place[i]] += double(s.drawn[i].times);
            n_times += double(s.drawn[i].times);
        }
        for (int64_t c = 0; c < n_classes; c++)  // all classes weigh the same
            s.weight[c] = s.inside[c] > 0.0 ? n_times / s.inside[c] : 0.0;
        const int64_t at = tree * most;
        sizes[tree] = fl::grow(on, s, n_rows, random, feature + at, threshold + at, left + at,
                               right + at, depths + tree);
    }
    return FL_OK;
}

int32_t fl_draw_rows(int64_t n, int64_t n_drawn, int64_t seed, int32_t* times, int64_t start,
                     int64_t stop) {
    for (int64_t tree = start; tree < stop; tree++) {
        fl::Random random = fl::random_of(seed, tree);
        int32_t* own = times + tree * n;
        for (int64_t i = 0; i < n; i++) own[i] = n_drawn > 0 ? 0 : 1;
        for (int64_t i = 0; i < n_drawn; i++) own[random.below(n)]++;
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
