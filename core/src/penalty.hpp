// The one home of a penalty's slopes, values and minimisers in compiled code. `Penalty` in
// problem/penalty.py is the other one; tests hold them against each other.
#pragma once

#include "fewlabels.h"
#include "vec.hpp"

namespace fl {

// phi on [lower, upper]: two slopes that meet at the kink. An infinite kink leaves one piece.
struct Piece {
    double lower, kink, upper, slope_left, slope_right;

    // To the right; +inf at the upper end.
    FL_INLINE double right(double a) const {
        if (a >= upper) return kInf;
        return a >= kink ? slope_right : slope_left;
    }
    // To the left; -inf at the lower end.
    FL_INLINE double left(double a) const {
        if (a <= lower) return -kInf;
        return a <= kink ? slope_left : slope_right;
    }
    // The next breakpoint above and below.
    FL_INLINE double above(double a) const { return a < kink ? kink : upper; }
    FL_INLINE double below(double a) const { return a > kink ? kink : lower; }

    FL_INLINE bool is_between(double a) const { return a > lower && a < upper && a != kink; }
    FL_INLINE bool is_breakpoint(double a) const { return a == lower || a == upper || a == kink; }

    FL_INLINE double value(double a) const {
        if (a == 0.0) return 0.0;
        if (kink >= 0.0)
            return slope_left * dmin(a, kink) + (a > kink ? slope_right * (a - kink) : 0.0);
        return slope_right * dmax(a, kink) + (a < kink ? slope_left * (a - kink) : 0.0);
    }

    // argmin_a  phi(a) + linear a + curvature a^2 / 2; ties go to the kink or zero.
    FL_INLINE double minimiser(double linear, double curvature) const {
        // Zero slopes without curvature give NaN, which loses every comparison.
        const double high = -(linear + slope_right) / curvature;
        const double low = -(linear + slope_left) / curvature;
        double at;
        if (kink == -kInf)
            at = high;
        else if (kink == kInf)
            at = low;
        else
            at = high > kink ? high : (low < kink ? low : kink);
        if (at != at) at = 0.0;
        return dmin(dmax(at, lower), upper);
    }
};

// Penalties of many variables, one array per field.
struct Pieces : fl_penalty {
    FL_INLINE Piece operator[](int64_t i) const {
        return {lower[i], kink[i], upper[i], slope_left[i], slope_right[i]};
    }

    // `right` and `left` of the variables k to k + kLanes - 1.
    FL_INLINE vdouble rights(vdouble a, int64_t k) const {
        const vdouble slope = a >= loadd(kink + k) ? loadd(slope_right + k) : loadd(slope_left + k);
        return a >= loadd(upper + k) ? vdouble{} + kInf : slope;
    }
    FL_INLINE vdouble lefts(vdouble a, int64_t k) const {
        const vdouble slope = a <= loadd(kink + k) ? loadd(slope_left + k) : loadd(slope_right + k);
        return a <= loadd(lower + k) ? vdouble{} - kInf : slope;
    }
};

}  // namespace fl
