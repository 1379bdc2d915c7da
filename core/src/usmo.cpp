// Scans of USMO; see solvers/papers/usmo.py for the problem and the names, and the header for the
// arrays.
#include "fewlabels.h"
#include "members.hpp"
#include "penalty.hpp"

namespace fl {
namespace {

// Curvature below this share of the pair's diagonal is rounding: duplicated rows.
constexpr double kFlat = 1e-12;
// A value this near to a breakpoint, relative to the interval, is the breakpoint.
constexpr double kSnap = 1e-14;

// The five groups of eq. (17): D1 = kLow + kBelow, D2 = kAbove + kHigh, D3 = kBelow + kKink +
// kAbove, non-bound = kBelow + kAbove. kFixed is a sample of weight zero.
enum Group { kLow, kBelow, kKink, kAbove, kHigh, kFixed };

// -delta / 2 at the best delta: slopes of -1 and 1.
typedef PieceOf<1> Delta;
FL_INLINE Delta delta_of(double kink, double upper) { return {{0.0, kink, upper}, {-1.0, 1.0}}; }

Group group_of(double sigma, double kink, double upper) {
    if (upper <= 0.0) return kFixed;
    if (sigma <= 0.0) return kLow;
    if (sigma < kink) return kBelow;
    if (sigma == kink) return kKink;
    return sigma < upper ? kAbove : kHigh;
}

double snapped(double sigma, const Delta& delta) {
    const double near = kSnap * delta.upper();
    for (const double end : delta.ends)
        if (dabs(sigma - end) <= near) return end;
    return dmin(delta.upper(), dmax(0.0, sigma));
}

// A sample of a pair.
struct Sample {
    double F, sigma;
    Delta delta;
};

struct Solved {
    double i, j, decrease;
};

// The pair's sub-problem (8), by the four cases of Table 1: new values and the decrease.
//
// With e and a of the paper, a (k_ii - k_ij) + e_1 - e_2 is eta sigma_j + F_j - F_i, and in this
// form nothing cancels.
Solved solve_pair(const Sample& i, const Sample& j, double k_ii, double k_jj, double k_ij) {
    const double eta = k_ii + k_jj - 2.0 * k_ij;
    const bool flat = eta <= kFlat * (dabs(k_ii) + dabs(k_jj));
    const double a = i.sigma + j.sigma;
    const double before = i.delta.value(i.sigma) + j.delta.value(j.sigma);
    double best = 0.0, best_i = i.sigma, best_j = j.sigma;
    for (int which = 0; which < 4; which++) {
        const bool i_above = which < 2, j_above = which % 2 == 0;
        const double low_i = i.delta.ends[i_above], high_i = i.delta.ends[i_above + 1];
        const double low_j = j.delta.ends[j_above], high_j = j.delta.ends[j_above + 1];
        const double lowest = dmax(a - high_i, low_j), highest = dmin(a - low_i, high_j);
        if (lowest > highest) continue;
        double first = lowest;
        if (!flat) {
            const double shift = (i_above ? 1.0 : -1.0) - (j_above ? 1.0 : -1.0);
            first = j.sigma + (j.F - i.F + shift) / eta;
            first = dmin(highest, dmax(lowest, first));
        }
        // Without curvature the minimum lies at an end of the interval.
        const double tried[] = {first, flat ? highest : first};
        for (int k = 0; k < (flat ? 2 : 1); k++) {
            const double new_j = tried[k], new_i = a - new_j, d = new_j - j.sigma;
            const double after = i.delta.value(new_i) + j.delta.value(new_j);
            const double change = 0.5 * eta * d * d + (i.F - j.F) * d + (after - before);
            if (change < best) best = change, best_i = new_i, best_j = new_j;
        }
    }
    return {snapped(best_i, i.delta), snapped(best_j, j.delta), -best};
}

struct KernelRows {
    const double* rows;
    int64_t stride;
    const int64_t* slot;

    bool has(int64_t u) const { return slot[u] >= 0; }
    const double* operator[](int64_t u) const { return rows + slot[u] * stride; }
};

// The variables, and what belongs to them.
struct State {
    double* sigma;
    const double *kink, *upper, *diagonal;
    double* F;

    Group group(int64_t u) const { return group_of(sigma[u], kink[u], upper[u]); }
    Delta delta(int64_t u) const { return delta_of(kink[u], upper[u]); }
    Sample sample(int64_t u) const { return {F[u], sigma[u], delta(u)}; }
};

// The most critical values (13), and the samples that have them.
struct Critical {
    enum { kMax1, kMin2, kMin3, kMax3 };
    double* value;
    int64_t* who;

    void clear() {
        value[kMax1] = value[kMax3] = -kInf;
        value[kMin2] = value[kMin3] = kInf;
    }
    void raise(int at, double F, int64_t u) {
        if (F > value[at]) value[at] = F, who[at] = u;
    }
    void lower(int at, double F, int64_t u) {
        if (F < value[at]) value[at] = F, who[at] = u;
    }
    // Let sample u take part.
    void include(int64_t u, Group group, double F) {
        if (group <= kBelow) raise(kMax1, F, u);
        if (group == kAbove || group == kHigh) lower(kMin2, F, u);
        if (kBelow <= group && group <= kAbove) {
            lower(kMin3, F, u);
            raise(kMax3, F, u);
        }
    }
    void find(const int64_t* members, int64_t count, const State& state) {
        clear();
        for (int64_t k = 0; k < count; k++)
            include(members[k], state.group(members[k]), state.F[members[k]]);
    }
    // The sample that should rise most, and its level: f + 1 in D1, f - 1 in D3.
    double rising(int64_t& i) const {
        const double first = value[kMax1] + 1.0, third = value[kMax3] - 1.0;
        i = who[first >= third ? kMax1 : kMax3];
        return first >= third ? first : third;
    }
    // The sample that should fall most, and its level: f - 1 in D2, f + 1 in D3.
    double falling(int64_t& j) const {
        const double second = value[kMin2] - 1.0, third = value[kMin3] + 1.0;
        j = who[second <= third ? kMin2 : kMin3];
        return second <= third ? second : third;
    }
};

// Solve the sub-problem of (i, j), and update the function cache by (15); the decrease.
double step(int64_t i, int64_t j, const State& state, Members& set, const KernelRows& rows) {
    const double *row_i = rows[i], *row_j = rows[j];
    double *sigma = state.sigma, *F = state.F;
    const Solved solved = solve_pair(state.sample(i), state.sample(j), state.diagonal[i],
                                     state.diagonal[j], row_i[j]);
    const double d_i = solved.i - sigma[i], d_j = solved.j - sigma[j];
    if (!(solved.decrease > 0.0) || (d_i == 0.0 && d_j == 0.0)) return 0.0;
    sigma[i] = solved.i, sigma[j] = solved.j;
    // alpha = -sigma on unlabelled samples.
    for (int64_t k = 0; k < set.count; k++) {
        const int64_t v = set.members[k];
        F[v] -= d_i * row_i[v] + d_j * row_j[v];
    }
    const int64_t pair[] = {i, j};
    for (int k = 0; k < 2; k++) {
        const int64_t u = pair[k];
        if (set.place[u] < 0) F[u] -= d_i * row_i[u] + d_j * row_j[u];
    }
    for (int k = 0; k < 2; k++) set.set(pair[k], state.delta(pair[k]).is_between(sigma[pair[k]]));
    return solved.decrease;
}

// Scratch and results that both scans share.
struct Tally {
    double* numbers;
    int64_t* need;

    void violation(double found) { numbers[1] = dmax(found, numbers[1]); }
    int32_t ask_for(int64_t i, int64_t j) {
        need[0] = i, need[1] = j;
        return FL_MISSING;
    }
};

int32_t scan_non_bound(const State& state, Members& set, const KernelRows& rows, double tol,
                       int64_t max_steps, Tally tally, int64_t& steps) {
    double values[4];
    int64_t who[4] = {};
    Critical critical{values, who};
    for (steps = 0;; steps++) {
        int64_t i, j;
        critical.find(set.members, set.count, state);
        const double rise = critical.rising(i), fall = critical.falling(j);
        tally.violation(rise - fall);
        if (!(rise - fall > tol)) return FL_DONE;
        if (steps >= max_steps) return FL_STEP_LIMIT;
        if (!rows.has(i) || !rows.has(j)) return tally.ask_for(i, j);
        const double decrease = step(i, j, state, set, rows);
        if (!(decrease > 0.0)) return FL_STUCK;
        tally.numbers[0] += decrease;
    }
}

int32_t scan_whole(int64_t n, int64_t& u, int64_t last, Critical critical, const State& state,
                   const double* linear, Members& set, const KernelRows& rows, double tol,
                   int64_t max_steps, Tally tally, int64_t& steps) {
    double* F = state.F;
    steps = 0;
    for (; u < last; u++) {
        const Group group = state.group(u);
        if (group == kFixed) continue;
        if (set.place[u] < 0) {
            if (!rows.has(u)) return tally.ask_for(u, u);
            F[u] = -linear[u] - dot(rows[u], state.sigma, n);
        }
        critical.include(u, group, F[u]);
        int64_t i, j;
        const double rise = critical.rising(i), fall = critical.falling(j);
        // Only pairs of the examined sample with a most critical one.
        const Delta delta = state.delta(u);
        const double rise_u = F[u] - delta.right(state.sigma[u]);
        const double fall_u = F[u] - delta.left(state.sigma[u]);
        double violation = rise_u - fall;
        if (violation >= rise - fall_u)
            i = u;
        else
            violation = rise - fall_u, j = u;
        tally.violation(violation);
        if (!(violation > tol)) continue;
        if (steps >= max_steps) return FL_STEP_LIMIT;
        if (!rows.has(i) || !rows.has(j)) return tally.ask_for(i, j);
        const double decrease = step(i, j, state, set, rows);
        if (!(decrease > 0.0)) continue;
        tally.numbers[0] += decrease;
        steps++;
        critical.find(set.members, set.count, state);
        critical.include(i, state.group(i), F[i]);
        critical.include(j, state.group(j), F[j]);
    }
    return FL_DONE;
}

}  // namespace
}  // namespace fl

extern "C" {

int32_t fl_usmo_pair(double F_i, double F_j, double sigma_i, double sigma_j, double k_ii,
                     double k_jj, double k_ij, double kink_i, double upper_i, double kink_j,
                     double upper_j, double* result) {
    const fl::Solved solved =
        fl::solve_pair({F_i, sigma_i, fl::delta_of(kink_i, upper_i)},
                       {F_j, sigma_j, fl::delta_of(kink_j, upper_j)}, k_ii, k_jj, k_ij);
    result[0] = solved.i, result[1] = solved.j, result[2] = solved.decrease;
    return FL_OK;
}

int64_t fl_usmo_set_membership(int64_t u, int32_t inside, int64_t* members, int64_t* place,
                               int64_t count) {
    fl::Members set{members, place, count};
    set.set(u, inside != 0);
    return set.count;
}

int32_t fl_usmo_evaluate(int64_t n, int64_t n_samples, const int64_t* samples, const double* sigma,
                         const double* linear, const double* rows, int64_t stride,
                         const int64_t* slot, double* F) {
    const fl::KernelRows held{rows, stride, slot};
    for (int64_t k = 0; k < n_samples; k++)
        F[samples[k]] = -linear[samples[k]] - fl::dot(held[samples[k]], sigma, n);
    return FL_OK;
}

int32_t fl_usmo_critical_values(const int64_t* members, int64_t count, const double* sigma,
                                const double* kink, const double* upper, const double* F,
                                double* critical, int64_t* who) {
    // Nothing is written to sigma and F.
    const fl::State state{const_cast<double*>(sigma), kink, upper, nullptr, const_cast<double*>(F)};
    fl::Critical{critical, who}.find(members, count, state);
    return FL_OK;
}

int32_t fl_usmo_scan_non_bound(double* sigma, const double* kink, const double* upper,
                               const double* diagonal, double* F, int64_t* members, int64_t* place,
                               int64_t* count, const double* rows, int64_t stride,
                               const int64_t* slot, double tol, int64_t max_steps, double* tally,
                               int64_t* need, int64_t* steps) {
    fl::Members set{members, place, *count};
    const int32_t ended =
        fl::scan_non_bound({sigma, kink, upper, diagonal, F}, set, {rows, stride, slot}, tol,
                           max_steps, {tally, need}, *steps);
    *count = set.count;
    return ended;
}

int32_t fl_usmo_scan_whole(int64_t n, int64_t* position, int64_t last, double* critical,
                           int64_t* who, double* sigma, const double* kink, const double* upper,
                           const double* linear, const double* diagonal, double* F,
                           int64_t* members, int64_t* place, int64_t* count, const double* rows,
                           int64_t stride, const int64_t* slot, double tol, int64_t max_steps,
                           double* tally, int64_t* need, int64_t* steps) {
    fl::Members set{members, place, *count};
    const int32_t ended =
        fl::scan_whole(n, *position, last, {critical, who}, {sigma, kink, upper, diagonal, F},
                       linear, set, {rows, stride, slot}, tol, max_steps, {tally, need}, *steps);
    *count = set.count;
    return ended;
}
}
