// Steps within a block of problem (P): pairs of variables, and Newton steps at the end.
// See _core/functions.py for what they solve.
#include "factor.hpp"
#include "fewlabels.h"
#include "members.hpp"
#include "penalty.hpp"

namespace fl {
namespace {

// Curvature below this share of the pair's diagonal is rounding (duplicated rows) or a kernel that
// is not positive semi-definite: go to the next breakpoint.
constexpr double kFlat = 1e-12, kTiny = 1e-300;
// Pivots below this share of the largest entry are rounding.
constexpr double kSingular = 1e-13;
// While their part of the violation is this, steps are taken among the rows that are present.
constexpr double kShare = 0.5;
// Then rows within this share of the worst violation are requested together; at least so many.
constexpr double kUrgent = 0.5;
constexpr int64_t kFewest = 12;
// Pair steps between Newton steps: enough for a variable in the wrong state to join the others.
constexpr int64_t kStepsBetween = 2;
// How often a Newton direction is refined.
constexpr int kRefined = 2;
// Violation relative to the multiplier that counts as none.
constexpr double kExact = FL_EXACT;
// What a Newton step costs, and factors of kCheap variables: their shares of a budget.
constexpr double kStepCosts = 0.1, kCheap = 200.0;

// Scratch space, handed out piece by piece.
struct Scratch {
    double* reals;
    int64_t* integers;
    double* take(int64_t n) { return (reals += n) - n; }
    int64_t* take_integers(int64_t n) { return (integers += n) - n; }
};

// Rows of Q that are present: row p is that of variable here[p], and place inverts here.
struct Rows {
    const double* Q;
    int64_t n;
    const int64_t *here, *place;
    int64_t n_here;
    const double* row(int64_t variable) const { return Q + place[variable] * n; }
};

// Slopes of the objective in variable k, to the right and to the left.
FL_INLINE double up_slope(const Pieces& p, const double* a, const double* g, int64_t k) {
    return g[k] + p[k].right(a[k]);
}
FL_INLINE double down_slope(const Pieces& p, const double* a, const double* g, int64_t k) {
    return g[k] + p[k].left(a[k]);
}

// Lowest slope of the objective to the right, and highest one to the left.
void extremes(const Pieces& p, const double* a, const double* g, int64_t n, double& low,
              double& high) {
    vdouble lowest = vdouble{} + kInf, highest = -lowest;
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) {
        const vdouble slope = loadd(g + k), at = loadd(a + k);
        lowest = vmin(slope + p.rights(at, k), lowest);
        highest = vmax(slope + p.lefts(at, k), highest);
    }
    low = min_of(lowest), high = max_of(highest);
    for (; k < n; k++) {
        low = dmin(low, up_slope(p, a, g, k));
        high = dmax(high, down_slope(p, a, g, k));
    }
}

// -- products ----------------------------------------------------------------------------------

void add_four(const double* t, const double* __restrict r0, const double* __restrict r1,
              const double* __restrict r2, const double* __restrict r3, double* __restrict g,
              int64_t n) {
    const double t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3];
    for (int64_t k = 0; k < n; k++) g[k] += (t0 * r0[k] + t1 * r1[k]) + (t2 * r2[k] + t3 * r3[k]);
}

// g += sum_p change[p] Q[which[p]], four rows of Q in one pass.
void add_products(const double* Q, int64_t n, const int64_t* which, int64_t count,
                  const double* change, double* g) {
    int64_t p = 0;
    for (; p + 4 <= count; p += 4)
        add_four(change + p, Q + which[p] * n, Q + which[p + 1] * n, Q + which[p + 2] * n,
                 Q + which[p + 3] * n, g, n);
    for (; p < count; p++) add_scaled(change[p], Q + which[p] * n, g, n);
}

// -- pair steps --------------------------------------------------------------------------------

// g += t (row_i - row_j); returns the lowest slope to the right, and where it is.
Smallest move_gradient(double t, const double* row_i, const double* row_j, double* g,
                       const double* right, int64_t n) {
    Smallest up;
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) {
        const vdouble now = loadd(g + k) + t * (loadd(row_i + k) - loadd(row_j + k));
        store(g + k, now);
        up.add(now + loadd(right + k));
    }
    up.finish();
    for (; k < n; k++) {
        g[k] += t * (row_i[k] - row_j[k]);
        up.add_one(g[k] + right[k], k);
    }
    return up;
}

// The largest violation, and the variable j that promises the largest decrease of a step with i.
double best_partner(double lowest, double diagonal_i, const double* row_i, const double* diagonal,
                    const double* g, const double* left, int64_t n, int64_t& j) {
    vdouble highest = vdouble{} - kInf;
    const vdouble zero = {};
    Smallest change;
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) {
        const vdouble violation = loadd(g + k) + loadd(left + k) - lowest;
        const vdouble size = diagonal_i + loadd(diagonal + k);
        const vdouble magnitude = size < zero ? -size : size;
        const vdouble curvature = vmax(size - 2.0 * loadd(row_i + k), kFlat * magnitude + kTiny);
        const vdouble gain = vmax(violation, zero);
        highest = vmax(violation, highest);
        change.add(-(gain * gain) / curvature);
    }
    change.finish();
    double most = max_of(highest);
    for (; k < n; k++) {
        const double violation = g[k] + left[k] - lowest;
        const double size = diagonal_i + diagonal[k];
        const double curvature = dmax(size - 2.0 * row_i[k], kFlat * dabs(size) + kTiny);
        const double gain = dmax(violation, 0.0);
        most = dmax(violation, most);
        change.add_one(-(gain * gain) / curvature, k);
    }
    j = change.place;
    return most;
}

// The same among the variables that are `movable` alone.
double best_movable(const int64_t* movable, int64_t m, double lowest, double diagonal_i,
                    const double* row_i, const double* diagonal, const double* g,
                    const double* left, int64_t& j) {
    double highest = -kInf, best = 0.0;
    j = 0;
    for (int64_t p = 0; p < m; p++) {
        const int64_t k = movable[p];
        const double violation = g[k] + left[k] - lowest;
        const double size = diagonal_i + diagonal[k];
        const double curvature = dmax(size - 2.0 * row_i[k], kFlat * dabs(size) + kTiny);
        const double score = violation * violation / curvature;
        highest = dmax(violation, highest);
        if (violation > 0.0 && score > best) {
            best = score;
            j = k;
        }
    }
    return highest;
}

// Pair steps where all of Q is present, its rows `stride` apart; how they ended.
int32_t all_present(const double* Q, int64_t stride, const double* diagonal, double* g, double* a,
                    const Pieces& penalty, int64_t n, double tol, int64_t max_steps,
                    Scratch scratch, int64_t& steps) {
    double *right = scratch.take(n), *left = scratch.take(n);
    // Variables that can become less: where they are few, no others are scored.
    Members movable{scratch.take_integers(n), scratch.take_integers(n), 0};
    Smallest up;
    steps = 0;
    for (int64_t k = 0; k < n; k++) {
        const Piece piece = penalty[k];
        right[k] = piece.right(a[k]);
        left[k] = piece.left(a[k]);
        up.add_one(g[k] + right[k], k);
        movable.place[k] = -1;
        movable.set(k, a[k] > piece.lower());
    }
    for (;; steps++) {
        const int64_t i = up.place;
        const double lowest = up.value;
        if (!(lowest < kInf)) return FL_DONE;
        const double* row_i = Q + i * stride;
        int64_t j;
        const double highest =
            2 * movable.count < n
                ? best_movable(movable.members, movable.count, lowest, diagonal[i], row_i, diagonal,
                               g, left, j)
                : best_partner(lowest, diagonal[i], row_i, diagonal, g, left, n, j);
        if (highest <= tol) return FL_DONE;
        if (steps >= max_steps) return FL_STEP_LIMIT;
        const double size = diagonal[i] + diagonal[j], curvature = size - 2.0 * row_i[j];
        const double excess = g[j] + left[j] - lowest;
        double step = curvature > kFlat * dabs(size) + kTiny ? excess / curvature : kInf;

        const double end_i = penalty[i].above(a[i]), end_j = penalty[j].below(a[j]);
        const double room_i = end_i - a[i], room_j = a[j] - end_j, room = dmin(room_i, room_j);
        if (step >= room) step = room;
        if (step == kInf) return FL_UNBOUNDED;
        if (!(a[i] + step > a[i] || a[j] - step < a[j])) return FL_STUCK;
        // A step that ends on a breakpoint stores the breakpoint itself.
        a[i] = step == room_i ? end_i : a[i] + step;
        a[j] = step == room_j ? end_j : a[j] - step;
        const int64_t changed[] = {i, j};
        for (const int64_t k : changed) {
            const Piece piece = penalty[k];
            right[k] = piece.right(a[k]);
            left[k] = piece.left(a[k]);
            movable.set(k, a[k] > piece.lower());
        }
        up = move_gradient(step, row_i, Q + j * stride, g, right, n);
    }
}

// Let `wanted` be the rows that are least `far` from the worst violation, best first.
//
// The urgent ones: at least kFewest, and as a multiple of four, which is how kernel values are
// evaluated. None of those that are infinitely far; places that are left are -1.
void nearest(const double* far, int64_t n, int64_t* wanted, int64_t most) {
    int64_t m = 0;
    for (int64_t p = 0; p < most; p++) wanted[p] = -1;
    for (int64_t k = 0; k < n; k++) {
        if (far[k] == kInf || (m == most && far[k] >= far[wanted[m - 1]])) continue;
        int64_t p = m < most ? m : m - 1;
        for (; p > 0 && far[wanted[p - 1]] > far[k]; p--) wanted[p] = wanted[p - 1];
        wanted[p] = k;
        m = imin(m + 1, most);
    }
    while (m > kFewest && (far[wanted[m - 1]] > kUrgent || m % 4)) wanted[--m] = -1;
}

// Q among the variables that are present: rows and columns `here` of it, `stride` apart.
struct Part {
    double* values;
    int64_t stride, joined;
};

// Fill in the rows and columns that have joined since, eight at a time: what is written to a column
// is then a whole cache line.
void gather(const Rows& rows, const Part& part) {
    constexpr int64_t kTogether = 8;
    int64_t p = part.joined;
    for (; p + kTogether <= rows.n_here; p += kTogether) {
        const double* row = rows.Q + p * rows.n;
        double* out = part.values + p * part.stride;
        for (int64_t q = 0; q < p + kTogether; q++) {
            const int64_t k = rows.here[q];
            double* column = part.values + q * part.stride + p;
            for (int64_t r = 0; r < kTogether; r++)
                column[r] = out[r * part.stride + q] = row[r * rows.n + k];
        }
    }
    for (; p < rows.n_here; p++) {
        const double* row = rows.Q + p * rows.n;
        for (int64_t q = 0; q <= p; q++)
            part.values[p * part.stride + q] = part.values[q * part.stride + p] = row[rows.here[q]];
    }
}

// Pair steps; how they ended. Where rows of Q are missing, steps are taken among the others, until
// these are better off.
int32_t pair_steps(const Rows& rows, const Part& part, const double* diagonal, double* g, double* a,
                   const Pieces& penalty, int64_t* wanted, int64_t n_wanted, double tol,
                   int64_t max_steps, Scratch scratch, int64_t& steps) {
    const int64_t n = rows.n, m = rows.n_here;
    if (!n_wanted)
        return all_present(rows.Q, n, diagonal, g, a, penalty, n, tol, max_steps, scratch, steps);
    const int64_t* here = rows.here;
    double *size = scratch.take(m), *now = scratch.take(m), *slopes = scratch.take(m),
           *change = scratch.take(m);
    int64_t* moved = scratch.take_integers(m);
    for (int64_t p = 0; p < m; p++) size[p] = diagonal[here[p]];
    const Pieces some = penalty.taken(here, m, scratch.take(FL_N_PENALTY * m));
    steps = 0;
    for (;;) {
        double lowest, highest;
        extremes(penalty, a, g, n, lowest, highest);
        if (highest - lowest <= tol) return FL_DONE;
        for (int64_t p = 0; p < m; p++) now[p] = a[here[p]], slopes[p] = g[here[p]];
        const double goal = dmax(0.9 * tol, kShare * (highest - lowest));
        int64_t more;
        const int32_t ended = all_present(part.values, part.stride, size, slopes, now, some, m,
                                          goal, max_steps - steps, scratch, more);
        if (more == 0 && ended == FL_DONE) {
            double* far = scratch.take(n);
            for (int64_t k = 0; k < n; k++)
                far[k] = dmin(up_slope(penalty, a, g, k) - lowest,
                              highest - down_slope(penalty, a, g, k)) /
                         (highest - lowest);
            for (int64_t p = 0; p < m; p++) far[here[p]] = kInf;
            nearest(far, n, wanted, n_wanted);
            return FL_MISSING;
        }
        steps += more;
        int64_t count = 0;
        for (int64_t p = 0; p < m; p++) {
            const double difference = now[p] - a[here[p]];
            if (difference != 0.0) {
                moved[count] = p;
                change[count++] = difference;
            }
        }
        add_products(rows.Q, n, moved, count, change, g);
        for (int64_t p = 0; p < m; p++) a[here[p]] = now[p];
        if (ended != FL_DONE) return ended;
    }
}

// -- Newton steps ------------------------------------------------------------------------------

// The share of d that the variables F can move before one is on a breakpoint, and which.
double room_for(const Pieces& penalty, const double* a, const int64_t* F, int64_t m,
                const double* d, int64_t& first) {
    double room = kInf;
    first = -1;
    for (int64_t p = 0; p < m; p++) {
        if (d[p] == 0.0) continue;
        const Piece piece = penalty[F[p]];
        const double at = a[F[p]];
        const double way =
            d[p] > 0.0 ? (piece.above(at) - at) / d[p] : (at - piece.below(at)) / -d[p];
        if (way < room) {
            room = way;
            first = p;
        }
    }
    return room;
}

// Move the variables F by d, or as far as there is room; d becomes what they moved.
void move(const Pieces& penalty, double* a, const int64_t* F, int64_t m, double* d, double room,
          int64_t first) {
    for (int64_t p = 0; p < m; p++) {
        if (d[p] == 0.0) continue;
        const int64_t i = F[p];
        const double before = a[i], high = penalty[i].above(before), low = penalty[i].below(before);
        if (room > 1.0)
            a[i] = before + d[p];
        else if (p == first)
            a[i] = d[p] > 0.0 ? high : low;
        else
            a[i] = dmin(dmax(before + room * d[p], low), high);
        d[p] = a[i] - before;
    }
}

// The Cholesky factor of Q among variables that are between breakpoints, which is kept from one
// round of Newton steps to the next: it loses and gains variables in O(m^2) operations each.
struct Factor {
    double* L;
    int64_t stride;    // of the rows of L
    int64_t* of;       // the variables, in the order of the rows
    int64_t m;         // their number
    double* rotations; // 2 * stride numbers

    void remove(int64_t p) {
        delete_row(L, m, stride, p, rotations);
        m--;
        for (int64_t q = p; q < m; q++) of[q] = of[q + 1];
    }
};

// Bring d closer to a sum of zero and `B d + slope` constant where variables are `free`.
//
// The factor is that of the free rows and columns of B (size x size), and ones the solution for
// ones.
void improve(const double* B, int64_t size, const Factor& factor, const double* ones,
             const int64_t* free, const double* slope, double* d, double* residual, int turns) {
    const int64_t m = factor.m;
    double total = 0.0;
    for (int64_t p = 0; p < m; p++) total += ones[p];
    for (int turn = 0; turn < turns; turn++) {
        for (int64_t p = 0; p < m; p++)
            residual[p] = slope[free[p]] + dot(B + free[p] * size, d, size);
        solve(factor.L, m, factor.stride, residual);
        double sum = 0.0;
        for (int64_t p = 0; p < m; p++) sum += residual[p];
        const double share = sum / total;
        for (int64_t p = 0; p < m; p++) d[free[p]] += ones[p] * share - residual[p];
    }
    // The sum is zero to rounding even where Q is badly conditioned.
    double sum = 0.0;
    for (int64_t p = 0; p < size; p++) sum += d[p];
    for (int64_t p = 0; p < m; p++) d[free[p]] -= ones[p] * (sum / total);
}

// All variables between breakpoints in F, those of the factor first and in its order; their number.
int64_t gather_between(const Pieces& penalty, const double* a, int64_t n, Factor& factor,
                       int64_t* F, int64_t* is_there) {
    for (int64_t p = factor.m - 1; p >= 0; p--)
        if (!penalty[factor.of[p]].is_between(a[factor.of[p]])) factor.remove(p);
    for (int64_t k = 0; k < n; k++) is_there[k] = 0;
    int64_t size = 0;
    for (; size < factor.m; size++) is_there[F[size] = factor.of[size]] = 1;
    for (int64_t k = 0; k < n; k++)
        if (!is_there[k] && penalty[k].is_between(a[k])) F[size++] = k;
    return size;
}

// Newton steps among F until one goes the whole way; variables stay on the way's breakpoints.
//
// The factor is that of the first variables of F, and gains the others. Returns the number of
// steps, 0 where Q_FF is singular, and whether one went the whole way.
int64_t newton_steps(const Rows& rows, const Pieces& penalty, double* a, double* g,
                     const int64_t* F, int64_t size, Factor& factor, Scratch scratch, bool& whole) {
    whole = false;
    double *B = scratch.take(size * size), largest = kTiny;
    for (int64_t p = 0; p < size; p++) {
        const double* row = rows.row(F[p]);
        for (int64_t q = 0; q < size; q++) B[p * size + q] = row[F[q]];
        largest = dmax(largest, dabs(B[p * size + p]));
    }
    for (int64_t &m = factor.m; m < size; m++) {
        const double* row = B + m * size;
        const double least = kSingular * largest / row[m];
        if (!append_row(factor.L, m, factor.stride, row, row[m], least)) return 0;
        factor.of[m] = F[m];
    }
    double *slope = scratch.take(size), *before = scratch.take(size), *d = scratch.take(size),
           *ones = scratch.take(size), *residual = scratch.take(size);
    int64_t *free = scratch.take_integers(size), *places = scratch.take_integers(size);
    for (int64_t p = 0; p < size; p++) {
        slope[p] = g[F[p]] + penalty[F[p]].right(a[F[p]]);  // between breakpoints there is one
        before[p] = a[F[p]];
        free[p] = p;
        places[p] = rows.place[F[p]];
    }
    int64_t steps = 0;
    double room = 0.0;
    while (room <= 1.0 && factor.m > 1) {
        const int64_t m = factor.m;
        for (int64_t p = 0; p < m; p++) ones[p] = 1.0;
        solve(factor.L, m, factor.stride, ones);
        for (int64_t p = 0; p < size; p++) d[p] = 0.0;
        int64_t first;
        improve(B, size, factor, ones, free, slope, d, residual, 1);
        room = room_for(penalty, a, F, size, d, first);
        if (room > 1.0) {  // otherwise it need not be exact
            improve(B, size, factor, ones, free, slope, d, residual, kRefined);
            room = room_for(penalty, a, F, size, d, first);
        }
        move(penalty, a, F, size, d, room, first);
        steps++;
        if (room <= 1.0) {
            for (int64_t p = 0; p < m; p++) residual[p] = d[free[p]];
            add_products(B, size, free, m, residual, slope);
            for (int64_t p = m - 1; p >= 0; p--) {
                if (!penalty[F[free[p]]].is_breakpoint(a[F[free[p]]])) continue;
                factor.remove(p);
                for (int64_t q = p; q < factor.m; q++) free[q] = free[q + 1];
            }
        }
    }
    for (int64_t p = 0; p < size; p++) d[p] = a[F[p]] - before[p];
    add_products(rows.Q, rows.n, places, size, d, g);
    whole = room > 1.0;
    return steps;
}

// What a factor of m variables takes of a budget.
double cost_of(int64_t m) {
    const double share = (double)m / kCheap;
    return share * share * share;
}

// Pair steps and then Newton steps; how they ended.
int32_t solve_rows(const Rows& rows, const Part& part, const double* diagonal, double* g, double* a,
                   const Pieces& penalty, int64_t* wanted, int64_t n_wanted, double tol,
                   int64_t max_steps, double goal, int64_t largest, double& budget, Scratch scratch,
                   int64_t& steps) {
    const int64_t n = rows.n;
    bool whole = false;
    double lowest, highest;
    steps = 0;
    gather(rows, part);
    if (max_steps > 0 || largest == 0) {
        const int32_t ended = pair_steps(rows, part, diagonal, g, a, penalty, wanted, n_wanted, tol,
                                         max_steps, scratch, steps);
        if (ended != FL_DONE || largest == 0) return ended;
        // Many small steps leave more rounding in the gradient than one product.
        Scratch rest = scratch;
        double* used = rest.take(n);
        int64_t *places = rest.take_integers(n), count = 0;
        for (int64_t k = 0; k < n; k++) {
            g[k] = 0.0;
            if (a[k] != 0.0) {
                places[count] = rows.place[k];
                used[count++] = a[k];
            }
        }
        add_products(rows.Q, n, places, count, used, g);
        extremes(penalty, a, g, n, lowest, highest);
        if (dabs(lowest + highest) < kInf) goal = dmax(goal, 0.5 * kExact * dabs(lowest + highest));
    }
    const int64_t most = imin(n, largest);
    int64_t *F = scratch.take_integers(n), *of = scratch.take_integers(n);
    Factor factor{scratch.take(most * most), most, of, 0, scratch.take(2 * most)};
    for (;;) {
        if (whole) {
            int64_t more;
            const int32_t ended = pair_steps(rows, part, diagonal, g, a, penalty, wanted, n_wanted,
                                             0.5 * goal, kStepsBetween, scratch, more);
            steps += more;
            budget -= kStepCosts;
            if (ended == FL_MISSING) return ended;
            if (more == 0) return FL_STUCK;
        }
        if (!(budget > 0.0)) return FL_STEP_LIMIT;
        Scratch rest = scratch;
        const int64_t m = gather_between(penalty, a, n, factor, F, rest.take_integers(n));
        if (m < 2) return FL_STUCK;
        if (m > largest) return FL_SINGULAR;
        budget -= cost_of(m) - cost_of(factor.m);
        const int64_t newton =
            newton_steps(rows, penalty, a, g, F, m, factor, scratch, whole);
        if (newton == 0) return FL_SINGULAR;
        budget -= (double)newton * kStepCosts;
        if (whole) {
            extremes(penalty, a, g, n, lowest, highest);
            if (highest - lowest <= goal) return FL_DONE;
        }
    }
}

}  // namespace
}  // namespace fl

extern "C" {

int64_t fl_block_work(int64_t n, int64_t largest) {
    const int64_t m = fl::imin(n, largest);
    return (FL_N_PENALTY + 6) * n + 2 * m * m + 7 * m;  // pair steps among the rows present; Newton steps
}

int32_t fl_solve_block(int64_t n, const double* Q, int64_t n_here, const int64_t* here,
                       const int64_t* place, double* part, int64_t part_stride, int64_t joined,
                       const double* diagonal, double* g, double* a, const fl_penalty* pieces,
                       int64_t* wanted, int64_t n_wanted, double tol, int64_t max_steps,
                       double goal, int64_t largest, double* budget, double* work,
                       int64_t* integers, int64_t* steps) {
    const fl::Rows rows{Q, n, here, place, n_here};
    return fl::solve_rows(rows, {part, part_stride, joined}, diagonal, g, a, {*pieces}, wanted,
                          n_wanted, tol, max_steps, goal, largest, *budget, {work, integers},
                          *steps);
}

int32_t fl_nearest(int64_t n, const double* far, int64_t* wanted, int64_t n_wanted) {
    fl::nearest(far, n, wanted, n_wanted);
    return FL_OK;
}

int32_t fl_add_products(int64_t n, const double* Q, int64_t count, const int64_t* which,
                        const double* change, double* g) {
    fl::add_products(Q, n, which, count, change, g);
    return FL_OK;
}
}
