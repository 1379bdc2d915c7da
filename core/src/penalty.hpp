// The one home of a penalty's slopes, values and minimisers in compiled code. `PiecewiseLinear` in
// problem/penalty.py is the other one; tests hold them against each other.
#pragma once

#include "fewlabels.h"
#include "vec.hpp"

namespace fl {

// phi on [lower, upper]: slopes that meet at so many kinks. Kinks that are equal, or infinite,
// leave fewer pieces.
template <int kinks>
struct PieceOf {
    double ends[kinks + 2], slopes[kinks + 1];

    FL_INLINE double lower() const { return ends[0]; }
    FL_INLINE double upper() const { return ends[kinks + 1]; }

    // To the right; +inf at the upper end.
    FL_INLINE double right(double a) const {
        double slope = slopes[0];
        for (int k = 1; k <= kinks; k++) slope = a >= ends[k] ? slopes[k] : slope;
        return a >= upper() ? kInf : slope;
    }
    // To the left; -inf at the lower end.
    FL_INLINE double left(double a) const {
        double slope = slopes[kinks];
        for (int k = kinks; k > 0; k--) slope = a <= ends[k] ? slopes[k - 1] : slope;
        return a <= lower() ? -kInf : slope;
    }
    // The next breakpoint above and below.
    FL_INLINE double above(double a) const {
        double end = upper();
        for (int k = kinks; k > 0; k--) end = a < ends[k] ? ends[k] : end;
        return end;
    }
    FL_INLINE double below(double a) const {
        double end = lower();
        for (int k = 1; k <= kinks; k++) end = a > ends[k] ? ends[k] : end;
        return end;
    }

    FL_INLINE bool is_kink(double a) const {
        bool found = false;
        for (int k = 1; k <= kinks; k++) found |= a == ends[k];
        return found;
    }
    FL_INLINE bool is_between(double a) const { return a > lower() && a < upper() && !is_kink(a); }
    FL_INLINE bool is_breakpoint(double a) const {
        return a == lower() || a == upper() || is_kink(a);
    }

    // The way from zero to a, piece by piece; the outer pieces have no end.
    FL_INLINE double value(double a) const {
        if (a == 0.0) return 0.0;
        double sum = 0.0;
        for (int p = 0; p <= kinks; p++) {
            const double low = p > 0 ? ends[p] : -kInf, high = p < kinks ? ends[p + 1] : kInf;
            const double from = dmin(dmax(0.0, low), high), to = dmin(dmax(a, low), high);
            sum += from != to ? slopes[p] * (to - from) : 0.0;
        }
        return sum;
    }

    // argmin_a  phi(a) + linear a + curvature a^2 / 2; ties go to a kink or zero.
    FL_INLINE double minimiser(double linear, double curvature) const {
        // Zero slopes without curvature give NaN, which loses every comparison.
        double at = 0.0;
        for (int p = 0; p <= kinks; p++) {
            double here = -(linear + slopes[p]) / curvature;
            if (p > 0 && !(here > ends[p]) && ends[p] != -kInf) continue;
            if (p < kinks && !(here < ends[p + 1]) && ends[p + 1] != kInf) here = ends[p + 1];
            at = here;
        }
        if (at != at) at = 0.0;
        return dmin(dmax(at, lower()), upper());
    }
};

typedef PieceOf<FL_N_KINKS> Piece;
constexpr int kEnds = FL_N_KINKS + 2, kSlopes = FL_N_KINKS + 1;

// Penalties of many variables, one array per field.
struct Pieces : fl_penalty {
    FL_INLINE Piece operator[](int64_t i) const {
        Piece piece;
        for (int k = 0; k < kEnds; k++) piece.ends[k] = ends[k][i];
        for (int k = 0; k < kSlopes; k++) piece.slopes[k] = slopes[k][i];
        return piece;
    }

    // `right` and `left` of the variables k to k + kLanes - 1.
    FL_INLINE vdouble rights(vdouble a, int64_t k) const {
        vdouble slope = loadd(slopes[0] + k);
        for (int p = 1; p < kSlopes; p++)
            slope = a >= loadd(ends[p] + k) ? loadd(slopes[p] + k) : slope;
        return a >= loadd(ends[kEnds - 1] + k) ? vdouble{} + kInf : slope;
    }
    FL_INLINE vdouble lefts(vdouble a, int64_t k) const {
        vdouble slope = loadd(slopes[kSlopes - 1] + k);
        for (int p = kSlopes - 1; p > 0; p--)
            slope = a <= loadd(ends[p] + k) ? loadd(slopes[p - 1] + k) : slope;
        return a <= loadd(ends[0] + k) ? vdouble{} - kInf : slope;
    }

    // Those of some variables in `room` for FL_N_PENALTY times `count` numbers.
    Pieces taken(const int64_t* which, int64_t count, double* room) const {
        Pieces some;
        for (int k = 0; k < kEnds; k++, room += count)
            some.ends[k] = take(ends[k], which, count, room);
        for (int k = 0; k < kSlopes; k++, room += count)
            some.slopes[k] = take(slopes[k], which, count, room);
        return some;
    }

  private:
    static const double* take(const double* values, const int64_t* which, int64_t count,
                              double* room) {
        for (int64_t p = 0; p < count; p++) room[p] = values[which[p]];
        return room;
    }
};

}  // namespace fl
