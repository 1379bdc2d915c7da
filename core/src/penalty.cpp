// Passes over all variables of problem (P) and their penalties, and over groups of equal rows.
#include "penalty.hpp"

#include "fewlabels.h"

namespace fl {
namespace {

// So many terms are added plainly before their sum is added with compensation.
constexpr int64_t kPart = 128;

// A sum with compensation (Neumaier 1974).
struct Sum {
    double total = 0.0, lost = 0.0;

    FL_INLINE void add(double term) {
        const double sum = total + term;
        lost += dabs(total) >= dabs(term) ? (total - sum) + term : (term - sum) + total;
        total = sum;
    }
    double value() const { return total + lost; }
};

}  // namespace
}  // namespace fl

using fl::kInf;
using fl::Piece;
using fl::Pieces;

extern "C" {

int32_t fl_survey(int64_t n, const fl_penalty* pieces, const double* size, const double* a,
                  const double* g, double* rates, double* totals) {
    const Pieces penalty{*pieces};
    double *up = rates, *down = rates + n;
    fl::Sum sums[FL_N_SUMS];
    double part[FL_N_SUMS] = {};
    double lowest = kInf, highest = -kInf, largest = 0.0;
    int64_t between = 0, used = 0, outside = 0;
    for (int64_t i = 0; i < n; i++) {
        const Piece piece = penalty[i];
        const double at = a[i];
        up[i] = g[i] + piece.right(at);
        down[i] = g[i] + piece.left(at);
        // A NaN stays.
        if (up[i] < lowest || up[i] != up[i]) lowest = up[i];
        if (down[i] > highest || down[i] != down[i]) highest = down[i];
        if (piece.is_between(at)) {
            between++;
            part[FL_BETWEEN] += up[i];
        } else if (!(piece.lower() <= at && at <= piece.upper())) {
            outside++;
        }
        if (at != 0.0) {
            used++;
            largest = fl::dmax(largest, fl::dabs(at));
            part[FL_SUM] += at;
            part[FL_REACH] += fl::dabs(at);
            part[FL_PRODUCT] += at * g[i];
            part[FL_PENALTY] += piece.value(at);
            part[FL_SQUARES] += fl::dabs(size[i]) * at * at;
        }
        if (i % fl::kPart == fl::kPart - 1 || i + 1 == n)
            for (int k = 0; k < FL_N_SUMS; k++) {
                sums[k].add(part[k]);
                part[k] = 0.0;
            }
    }
    for (int k = 0; k < FL_N_SUMS; k++) totals[k] = sums[k].value();
    totals[FL_LOWEST_UP] = lowest;
    totals[FL_HIGHEST_DOWN] = highest;
    totals[FL_LARGEST] = largest;
    totals[FL_N_BETWEEN] = (double)between;
    totals[FL_N_USED] = (double)used;
    totals[FL_N_OUTSIDE] = (double)outside;
    return FL_OK;
}

int32_t fl_gap(int64_t n, const fl_penalty* pieces, const double* ridge, const double* a,
               const double* g, double multiplier, double low, double low_free, double high,
               double high_free, double* gap) {
    const Pieces penalty{*pieces};
    fl::Sum sum;
    double part = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const Piece piece = penalty[i];
        const double linear = g[i] - ridge[i] * a[i] - multiplier;
        double at = piece.minimiser(linear, ridge[i]);
        const double lower = piece.lower(), upper = piece.upper();
        if (lower == -kInf) at = fl::dmax(at, upper < kInf ? low + upper : low_free);
        if (upper == kInf) at = fl::dmin(at, lower > -kInf ? high + lower : high_free);
        if (!(fl::dabs(at) < kInf)) {
            *gap = kInf;
            return FL_OK;
        }
        part += (linear + 0.5 * ridge[i] * (a[i] + at)) * (a[i] - at) + piece.value(a[i]) -
                piece.value(at);
        if (i % fl::kPart == fl::kPart - 1) {
            sum.add(part);
            part = 0.0;
        }
    }
    sum.add(part);
    *gap = sum.value();
    return FL_OK;
}

int32_t fl_settle(int64_t n, const fl_penalty* pieces, const double* ridge, double multiplier,
                  const double* smooth, const uint8_t* held, double* a, double* sum_of_a) {
    const Pieces penalty{*pieces};
    fl::Sum sum;
    double part = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (!held[i]) {
            const double at = penalty[i].minimiser(smooth[i] - multiplier, ridge[i]);
            if (fl::dabs(at) < kInf) a[i] = at;
        }
        part += a[i];
        if (i % fl::kPart == fl::kPart - 1) {
            sum.add(part);
            part = 0.0;
        }
    }
    sum.add(part);
    *sum_of_a = sum.value();
    return FL_OK;
}

int32_t fl_group_sums(int64_t n, const int64_t* group, const double* values, int64_t n_groups,
                      double* totals, double* work) {
    double* lost = work;
    for (int64_t k = 0; k < n_groups; k++) lost[k] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = group[i];
        const double total = totals[k] + values[i];
        if (fl::dabs(total) < kInf)
            lost[k] += fl::dabs(totals[k]) >= fl::dabs(values[i]) ? (totals[k] - total) + values[i]
                                                                  : (values[i] - total) + totals[k];
        totals[k] = total;
    }
    for (int64_t k = 0; k < n_groups; k++) totals[k] += lost[k];
    return FL_OK;
}

int32_t fl_share_out(int64_t n, const double* lower, const double* upper, const int64_t* group,
                     int64_t n_groups, const double* amount, const double* near, double* a,
                     double* work) {
    double *used = work, *lost = work + n_groups;
    for (int64_t k = 0; k < n_groups; k++) used[k] = lost[k] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = group[i];
        const double low = lower[i], high = upper[i];
        const double left = amount[k] - (used[k] + lost[k]);
        if (left <= near[k]) {
            a[i] = low;
        } else if (left >= high - low - near[k]) {
            a[i] = high;
            const double total = used[k] + (high - low);
            lost[k] += used[k] >= high - low ? (used[k] - total) + (high - low)
                                             : (high - low - total) + used[k];
            used[k] = total;
        } else {
            a[i] = low + left;
            used[k] = amount[k];
            lost[k] = 0.0;
        }
    }
    return FL_OK;
}
}
