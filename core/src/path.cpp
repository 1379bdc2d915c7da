// Steps of path following: where rows stand, which event comes next, the step; and the factor of
// the free rows. See the header for the two arrays F and S.
#include "factor.hpp"
#include "fewlabels.h"
#include "penalty.hpp"

namespace fl {
namespace {

// Lines of F and S.
enum : int64_t {
    A = FL_F_A,
    H = FL_F_H,
    LO = FL_F_LO,
    UP = FL_F_UP,
    SL = FL_F_SL,
    SR = FL_F_SR,
    LOW = FL_F_LOW,
    HIGH = FL_F_HIGH,
    GAMMA = FL_F_GAMMA,
    D = FL_F_D,
    ROOT = FL_F_ROOT,
    RATE = FL_F_RATE,
    TARGET = FL_F_TARGET,
    RLOW = FL_F_RLOW,
    RHIGH = FL_F_RHIGH,
};
enum : int64_t {
    STATUS = FL_S_STATUS,
    SIGN = FL_S_SIGN,
    REGION = FL_S_REGION,
    DIR = FL_S_DIR,
    IGNORED = FL_S_IGNORED,
};

// A row that was met so often in steps of no length is not met again before a longer one.
constexpr int64_t kTimesIgnored = 3;
// Vectors that are looked at together.
constexpr int64_t kTogether = 4;

// F and S. Real and Int are const where nothing is written.
template <typename Real, typename Int>
struct Lines {
    Real* F;
    Int* S;
    int64_t stride;

    Real* line(int64_t l) const { return F + l * stride; }
    Real& f(int64_t l, int64_t i) const { return F[l * stride + i]; }
    Int& s(int64_t l, int64_t i) const { return S[l * stride + i]; }
    // The rate of a line of the penalty.
    Real& rate(int64_t l, int64_t i) const { return f(RATE + l - LO, i); }

    // The penalty in the lines from `first` on.
    Piece piece(int64_t i, int64_t first = LO) const {
        Piece piece;
        for (int k = 0; k < kEnds; k++) piece.ends[k] = f(first + k, i);
        for (int k = 0; k < kSlopes; k++) piece.slopes[k] = f(first + kEnds + k, i);
        return piece;
    }

    operator Lines<const double, const int64_t>() const { return {F, S, stride}; }
};
typedef Lines<double, int64_t> Rows;
typedef Lines<const double, const int64_t> Given;

// -- segments ----------------------------------------------------------------------------------

// Region k > 0 is the k-th piece of the penalty. Region 0 lies below all of them, and the last one
// above.
constexpr int64_t kAbove = kSlopes + 1;

bool is_segment(int64_t region) { return 0 < region && region < kAbove; }
int64_t segment_low(int64_t region) { return LO + region - 1; }
int64_t segment_high(int64_t region) { return LO + region; }
int64_t segment_slope(int64_t region) { return SL + region - 1; }

int64_t next_breakpoint(Given r, int64_t i) {
    const int64_t region = r.s(REGION, i);
    return r.s(DIR, i) > 0 ? segment_high(region) : segment_low(region);
}

int64_t beside(Given r, int64_t i, int64_t direction) {
    const double a = r.f(A, i);
    int64_t region = 1;
    for (int64_t line = LO + 1; line < UP; line++)
        region += direction > 0 ? a >= r.f(line, i) : a > r.f(line, i);
    return region;
}

// -- statuses ----------------------------------------------------------------------------------

// Where a row at a breakpoint is: the line of that, and the pieces below and above, of which there
// are none beyond the ends of the interval.
struct Place {
    int64_t line, below, above;

    bool has_below() const { return below > 0; }
    bool has_above() const { return above < kAbove; }
};

// Pieces of no length that are about to open lie at the breakpoint too. Then the row goes with the
// one of their ends that its h asks for.
Place place_of(Given r, int64_t i) {
    const double a = r.f(A, i), h = r.f(H, i);
    int64_t first = a > r.f(LO, i) ? segment_high(beside(r, i, -1)) : LO;
    const int64_t last = a < r.f(UP, i) ? segment_low(beside(r, i, 1)) : UP;
    Place place{first == LO && last < UP ? LO : last, first - LO, last - LO + 1};
    for (; first < last; first++) {
        if (!(r.rate(first, i) < r.rate(first + 1, i))) continue;
        const int64_t region = first - LO + 1;
        if (h + r.f(segment_slope(region), i) < 0.0) {
            place.line = last, place.below = region;
        } else {
            place.line = segment_high(place.below), place.above = region;
            break;
        }
    }
    return place;
}

void hold(Rows r, int64_t i) {
    const Place place = place_of(r, i);
    const int64_t line = place.line, below = segment_slope(place.below),
                  above = segment_slope(place.above);
    const bool is_fixed = !place.has_below() && !place.has_above();
    r.f(A, i) = r.f(line, i);
    r.s(REGION, i) = line;
    r.f(D, i) = r.rate(line, i);
    r.f(LOW, i) = place.has_above() ? -r.f(above, i) : -kInf;
    r.f(HIGH, i) = place.has_below() ? -r.f(below, i) : kInf;
    r.f(RLOW, i) = place.has_above() ? -r.rate(above, i) : 0.0;
    r.f(RHIGH, i) = place.has_below() ? -r.rate(below, i) : 0.0;
    r.s(STATUS, i) = FL_AT_BREAKPOINT;
    if (r.s(SIGN, i) != 0 && !is_fixed) {
        // Beyond h = 0 the row changes sign.
        if (r.s(SIGN, i) > 0 && !place.has_above())
            r.f(LOW, i) = r.f(RLOW, i) = 0.0;
        else if (r.s(SIGN, i) < 0 && !place.has_below())
            r.f(HIGH, i) = r.f(RHIGH, i) = 0.0;
    }
}

void release(Rows r, int64_t i, int64_t status) {
    r.f(LOW, i) = -kInf, r.f(HIGH, i) = kInf;
    r.f(RLOW, i) = r.f(RHIGH, i) = r.f(D, i) = 0.0;
    r.s(STATUS, i) = status;
}

// The symmetric hinge of sign -1 is that of sign 1 from the other side.
void mirror(Rows r, int64_t i, int64_t first) {
    const Piece piece = r.piece(i, first);
    for (int k = 0; k < kEnds; k++) r.f(first + k, i) = -piece.ends[kEnds - 1 - k];
    for (int k = 0; k < kSlopes; k++) r.f(first + kEnds + k, i) = -piece.slopes[kSlopes - 1 - k];
}

void flip(Rows r, int64_t i) {
    mirror(r, i, LO);
    mirror(r, i, RATE);
    mirror(r, i, TARGET);
    r.s(SIGN, i) = -r.s(SIGN, i);
}

// Row i starts to move towards its staircase.
void set_off(Rows r, int64_t i, int64_t region, int64_t direction) {
    release(r, i, FL_MOVING);
    r.s(REGION, i) = region, r.s(DIR, i) = direction;
}

int64_t place(Rows r, int64_t i, double tol, double tol_inside) {
    if ((double)r.s(SIGN, i) * r.f(H, i) < -tol) flip(r, i);
    const Piece piece = r.piece(i);
    const double a = r.f(A, i), h = r.f(H, i);
    if (a < piece.lower()) {
        set_off(r, i, 0, 1);
    } else if (a > piece.upper()) {
        set_off(r, i, kAbove, -1);
    } else if (piece.is_breakpoint(a)) {
        if (h + piece.right(a) < -tol)
            set_off(r, i, beside(r, i, 1), 1);
        else if (h + piece.left(a) > tol)
            set_off(r, i, beside(r, i, -1), -1);
        else
            hold(r, i);
    } else {
        const double g = h + piece.right(a);  // on a segment there is one slope
        if (dabs(g) <= tol_inside) return FL_FREE;
        set_off(r, i, beside(r, i, 1), g < 0.0 ? 1 : -1);
    }
    return r.s(STATUS, i);
}

int64_t adopt(Rows r, int64_t i) {
    if ((double)r.s(SIGN, i) * r.f(H, i) < 0.0) return FL_MOVING;
    if (!r.piece(i).is_breakpoint(r.f(A, i))) return FL_FREE;
    hold(r, i);
    return FL_AT_BREAKPOINT;
}

double arrive(Rows r, int64_t n_moving, int64_t* moving, double rtol, double atol, double tol,
              int64_t* arrived, int64_t& n_left, int64_t& n_arrived) {
    double missing = 0.0;
    n_left = n_arrived = 0;
    for (int64_t k = 0; k < n_moving; k++) {
        const int64_t i = moving[k], line = next_breakpoint(r, i);
        double size = dabs(r.f(A, i));
        for (int64_t other = LO; other <= UP; other++) {
            const double end = dabs(r.f(other, i));
            if (end < kInf) size = dmax(end, size);
        }
        const double direction = (double)r.s(DIR, i);
        if (direction * (r.f(line, i) - r.f(A, i)) <= dmax(atol, rtol * size)) {
            missing = dmax(dabs(r.f(line, i) - r.f(A, i)) * r.f(ROOT, i), missing);
            const double a = r.f(A, i) = r.f(line, i), h = r.f(H, i);
            const Piece piece = r.piece(i);
            if (direction > 0.0 ? h + piece.right(a) >= -tol : h + piece.left(a) <= tol) {
                hold(r, i);
                arrived[n_arrived++] = i;
                continue;
            }
            r.s(REGION, i) = beside(r, i, r.s(DIR, i));
        }
        moving[n_left++] = i;
    }
    return missing;
}

double check(Rows r, int64_t n, double tol, int64_t* found, int64_t& count) {
    double largest = 0.0;
    count = 0;
    for (int64_t i = 0; i < n; i++) {
        r.s(IGNORED, i) = 0;
        const double h = r.f(H, i);
        if (r.s(STATUS, i) == FL_AT_BREAKPOINT) {
            if (h < r.f(LOW, i) - tol || h > r.f(HIGH, i) + tol) found[count++] = i;
        } else if (r.s(STATUS, i) == FL_FREE) {
            const int64_t region = r.s(REGION, i);
            const double low = r.f(segment_low(region), i);
            const double high = r.f(segment_high(region), i);
            r.f(A, i) = dmin(high, dmax(low, r.f(A, i)));
            largest = dmax(dabs(h + r.f(segment_slope(region), i)), largest);
        }
    }
    return largest;
}

double violation(Given r, int64_t count, const int64_t* rows, int64_t first) {
    double largest = 0.0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = rows[k];
        const Piece piece = r.piece(i, first);
        const double a = r.f(A, i), h = r.f(H, i);
        if (a < piece.lower() || a > piece.upper()) return kInf;
        largest = dmax(h + piece.left(a), largest);
        largest = dmax(-(h + piece.right(a)), largest);
        largest = dmax((double)-r.s(SIGN, i) * h, largest);
    }
    return largest;
}

// -- penalties that move -----------------------------------------------------------------------

void move_penalties(Rows r, int64_t n, double left, double share) {
    for (int64_t line = LO; line < LO + FL_N_PENALTY; line++)
        for (int64_t i = 0; i < n; i++)
            if (r.rate(line, i) != 0.0)
                r.f(line, i) = r.f(TARGET + line - LO, i) - left * r.rate(line, i);
    for (int64_t i = 0; i < n; i++) {
        if (r.s(STATUS, i) != FL_AT_BREAKPOINT) continue;
        r.f(A, i) = r.f(r.s(REGION, i), i);
        r.f(LOW, i) += share * r.f(RLOW, i);
        r.f(HIGH, i) += share * r.f(RHIGH, i);
    }
}

void shift_slopes(Rows r, int64_t n, double tol) {
    for (int64_t i = 0; i < n; i++) {
        const double h = r.f(H, i);
        double miss = 0.0;
        if (r.s(STATUS, i) == FL_FREE) {
            miss = -h - r.f(segment_slope(r.s(REGION, i)), i);
        } else if (r.s(STATUS, i) == FL_AT_BREAKPOINT) {
            const Piece piece = r.piece(i);
            const double a = r.f(A, i);
            miss = dmax(-h - piece.right(a), 0.0) + dmin(-h - piece.left(a), 0.0);
        }
        if (dabs(miss) > tol)
            for (int64_t line = SL; line <= SR; line++) r.f(line, i) += miss;
    }
}

void widen_ranges(Rows r, int64_t n, const double* width) {
    for (int64_t i = 0; i < n; i++) {
        if (r.s(STATUS, i) != FL_AT_BREAKPOINT) continue;
        const double a = r.f(A, i);
        for (int64_t k = 0; k < kSlopes; k++)
            r.f(SL + k, i) += a <= r.f(LO + k, i) ? width[i] : -width[i];
    }
}

// -- steps -------------------------------------------------------------------------------------

double set_directions(Rows r, int64_t n_free, int64_t n_moving, const int64_t* used, double left,
                      double total) {
    double cap = 0.0, added = 0.0;
    for (int64_t p = 0; p < n_free; p++) cap = dmax(dabs(r.f(A, used[p])), cap);
    cap += dabs(total);
    if (cap == 0.0) cap = 1.0;
    for (int64_t k = n_free; k < n_free + n_moving; k++) {
        const int64_t i = used[k], line = r.s(DIR, i) > 0 ? UP : LO;
        const double end = r.f(line, i);
        const double d =
            dabs(end) < kInf ? end - r.f(A, i) + left * r.rate(line, i) : cap * (double)r.s(DIR, i);
        r.f(D, i) = d;
        added += d;
    }
    return added;
}

// The first event so far.
struct First {
    double eta, steepest;
    int64_t code, which;

    // An event at the end of `way`, which is approached with `slope`.
    FL_INLINE void meet(double way, double slope, double floor, int64_t event, int64_t where) {
        if (!(slope > floor)) return;
        const double x = dmax(way / slope, 0.0);
        if (x < eta || (x == eta && slope > steepest))
            eta = x, steepest = slope, code = event, which = where;
    }
};

void meet_free(Given r, int64_t n_free, const int64_t* free, double left, First& first) {
    for (int64_t p = 0; p < n_free; p++) {
        const int64_t i = free[p], region = r.s(REGION, i);
        const int64_t low = segment_low(region), high = segment_high(region);
        const double a = r.f(A, i), d = r.f(D, i);
        first.meet(a - r.f(low, i), left * r.rate(low, i) - d, 0.0, FL_EVENT_FREE_LOW, p);
        first.meet(r.f(high, i) - a, d - left * r.rate(high, i), 0.0, FL_EVENT_FREE_HIGH, p);
    }
}

void meet_moving(Given r, int64_t n_moving, const int64_t* moving, double left, double least,
                 double noise, First& first) {
    for (int64_t k = 0; k < n_moving; k++) {
        const int64_t i = moving[k], region = r.s(REGION, i);
        const double floor = least + noise * r.f(ROOT, i), direction = (double)r.s(DIR, i);
        const double h = r.f(H, i), gamma = r.f(GAMMA, i);
        if (is_segment(region)) {
            const int64_t line = segment_slope(region);
            first.meet(-direction * (h + r.f(line, i)),
                       direction * (gamma + left * r.rate(line, i)), floor, FL_EVENT_MEET, k);
        }
        const int64_t line = next_breakpoint(r, i);
        first.meet(direction * (r.f(line, i) - r.f(A, i)),
                   direction * (r.f(D, i) - left * r.rate(line, i)), 0.0, FL_EVENT_BREAK, k);
        const double sign = (double)r.s(SIGN, i);
        if (sign != 0.0) first.meet(sign * h, -sign * gamma, floor, FL_EVENT_FLIP, k);
    }
}

// Where h of rows at breakpoints reaches the end of its range, and how fast. Other rows have no
// end. For numbers and for vectors of them.
template <typename V>
struct Ranges {
    V h, gamma, low, high;

    // Nothing moves but h: whether it is inside its range after a step of length eta.
    FL_INLINE auto stays(double eta) const {
        const V reach = h + eta * gamma;
        return (reach > low) & (reach < high);
    }
    // The range moves too: whether both ends are surely farther away than eta.
    FL_INLINE auto is_far(double eta, V rate_low, V rate_high) const {
        return is_beyond(h - low, rate_low - gamma, eta) &
               is_beyond(high - h, gamma - rate_high, eta);
    }
    // Whether way / slope > eta, rounding included. Slopes down to zero lead to no event.
    FL_INLINE static auto is_beyond(V way, V slope, double eta) {
        return (slope <= 0.0) | (way > slope * (eta * (1.0 + 1e-14)) + 1e-290);
    }
};

struct Breakpoints {
    const double *h, *gamma, *low, *high, *rate_low, *rate_high;

    template <typename V>
    FL_INLINE Ranges<V> ranges(int64_t i) const {
        return {load<V>(h + i), load<V>(gamma + i), load<V>(low + i), load<V>(high + i)};
    }
    // Whether none of the rows in so many vectors from i on has an event before eta.
    FL_INLINE bool are_quiet(int64_t i, double left, double eta) const {
        vmask loud = {};
        for (int64_t v = 0; v < kTogether; v++, i += kLanes) {
            const Ranges<vdouble> some = ranges<vdouble>(i);
            loud |= left == 0.0 ? ~some.stays(eta)
                                : ~some.is_far(eta, left * loadd(rate_low + i),
                                               left * loadd(rate_high + i));
        }
        return !any(loud);
    }
};

void meet_ranges(Given r, int64_t n, double left, double least, double noise, First& first) {
    const Breakpoints all{r.line(H),    r.line(GAMMA), r.line(LOW),
                          r.line(HIGH), r.line(RLOW),  r.line(RHIGH)};
    constexpr int64_t step = kTogether * kLanes;
    for (int64_t begin = 0; begin < n; begin += step) {
        const int64_t end = imin(begin + step, n);
        if (end - begin == step && all.are_quiet(begin, left, first.eta)) continue;
        for (int64_t i = begin; i < end; i++) {
            const Ranges<double> row = all.ranges<double>(i);
            if (left == 0.0 && row.stays(first.eta)) continue;
            if (r.s(STATUS, i) != FL_AT_BREAKPOINT || r.s(IGNORED, i) >= kTimesIgnored) continue;
            const double floor = least + noise * r.f(ROOT, i);
            first.meet(row.h - row.low, left * r.f(RLOW, i) - row.gamma, floor, FL_EVENT_RANGE_LOW,
                       i);
            first.meet(row.high - row.h, row.gamma - left * r.f(RHIGH, i), floor,
                       FL_EVENT_RANGE_HIGH, i);
        }
    }
}

First next_event(Given r, int64_t n, int64_t n_free, int64_t n_moving, const int64_t* used,
                 double left, double limit, double least, double noise) {
    First first{limit, 0.0, limit >= FL_FAR ? FL_EVENT_NONE : FL_EVENT_CLOCK, -1};
    meet_free(r, n_free, used, left, first);
    meet_moving(r, n_moving, used + n_free, left, least, noise, first);
    meet_ranges(r, n, left, least, noise, first);
    return first;
}

double first_end(Given r, int64_t count, const int64_t* rows, int64_t& which, int64_t& line) {
    double eta = kInf, steepest = 0.0;
    which = -1, line = LO;
    for (int64_t p = 0; p < count; p++) {
        const int64_t i = rows[p], region = r.s(REGION, i);
        const double d = r.f(D, i);
        if (d == 0.0) continue;
        const int64_t end = d > 0.0 ? segment_high(region) : segment_low(region);
        const double x = dmax((r.f(end, i) - r.f(A, i)) / d, 0.0);
        if (x < eta || (x == eta && dabs(d) > steepest))
            eta = x, steepest = dabs(d), which = p, line = end;
    }
    return eta;
}

void advance(Rows r, int64_t n, int64_t count, const int64_t* used, double eta, bool progress) {
    for (int64_t k = 0; k < count; k++) r.f(A, used[k]) += eta * r.f(D, used[k]);
    add_scaled(eta, r.line(GAMMA), r.line(H), n);
    if (!progress) return;
    int64_t* ignored = &r.s(IGNORED, 0);
    for (int64_t i = 0; i < n; i++) ignored[i] = 0;
}

}  // namespace
}  // namespace fl

using fl::Given;
using fl::Rows;

extern "C" {

int32_t fl_path_hold(double* F, int64_t* S, int64_t stride, int64_t i) {
    fl::hold({F, S, stride}, i);
    return FL_OK;
}

int32_t fl_path_release(double* F, int64_t* S, int64_t stride, int64_t i, int64_t status) {
    fl::release({F, S, stride}, i, status);
    return FL_OK;
}

int32_t fl_path_flip(double* F, int64_t* S, int64_t stride, int64_t i) {
    fl::flip({F, S, stride}, i);
    return FL_OK;
}

int32_t fl_path_mirror(double* F, int64_t* S, int64_t stride, int64_t i, int64_t first) {
    fl::mirror({F, S, stride}, i, first);
    return FL_OK;
}

int64_t fl_path_segment_end(int64_t region, int64_t direction) {
    return direction > 0 ? fl::segment_high(region) : fl::segment_low(region);
}

int64_t fl_path_next_breakpoint(const double* F, const int64_t* S, int64_t stride, int64_t i) {
    return fl::next_breakpoint({F, S, stride}, i);
}

int64_t fl_path_beside(const double* F, const int64_t* S, int64_t stride, int64_t i,
                       int64_t direction) {
    return fl::beside({F, S, stride}, i, direction);
}

int32_t fl_path_place(double* F, int64_t* S, int64_t stride, int64_t count, const int64_t* rows,
                      double tol, double tol_inside, int64_t* found) {
    const Rows r{F, S, stride};
    for (int64_t k = 0; k < count; k++) found[k] = fl::place(r, rows[k], tol, tol_inside);
    return FL_OK;
}

int32_t fl_path_adopt(double* F, int64_t* S, int64_t stride, int64_t count, const int64_t* rows,
                      int64_t* found) {
    const Rows r{F, S, stride};
    for (int64_t k = 0; k < count; k++) found[k] = fl::adopt(r, rows[k]);
    return FL_OK;
}

double fl_path_arrive(double* F, int64_t* S, int64_t stride, int64_t n_moving, int64_t* moving,
                      double rtol, double atol, double tol, int64_t* arrived, int64_t* counts) {
    return fl::arrive({F, S, stride}, n_moving, moving, rtol, atol, tol, arrived, counts[0],
                      counts[1]);
}

int32_t fl_path_hold_all(double* F, int64_t* S, int64_t stride, int64_t n) {
    const Rows r{F, S, stride};
    for (int64_t i = 0; i < n; i++)
        if (r.s(FL_S_STATUS, i) == FL_AT_BREAKPOINT) fl::hold(r, i);
    return FL_OK;
}

double fl_path_check(double* F, int64_t* S, int64_t stride, int64_t n, double tol, int64_t* found,
                     int64_t* count) {
    return fl::check({F, S, stride}, n, tol, found, *count);
}

double fl_path_violation(const double* F, const int64_t* S, int64_t stride, int64_t count,
                         const int64_t* rows, int64_t first) {
    return fl::violation({F, S, stride}, count, rows, first);
}

int32_t fl_path_sizes(const double* F, const int64_t* S, int64_t stride, int64_t n, double* sizes) {
    const Given r{F, S, stride};
    sizes[0] = sizes[1] = sizes[2] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double a = fl::dabs(r.f(FL_F_A, i)), root = r.f(FL_F_ROOT, i);
        sizes[0] = fl::dmax(a, sizes[0]);
        sizes[1] = fl::dmax(root, sizes[1]);
        sizes[2] += a * root;
    }
    return FL_OK;
}

int32_t fl_path_move_penalties(double* F, int64_t* S, int64_t stride, int64_t n, double left,
                               double share) {
    fl::move_penalties({F, S, stride}, n, left, share);
    return FL_OK;
}

int32_t fl_path_shift_slopes(double* F, int64_t* S, int64_t stride, int64_t n, double tol) {
    fl::shift_slopes({F, S, stride}, n, tol);
    return FL_OK;
}

int32_t fl_path_widen_ranges(double* F, int64_t* S, int64_t stride, int64_t n,
                             const double* width) {
    fl::widen_ranges({F, S, stride}, n, width);
    return FL_OK;
}

double fl_path_set_directions(double* F, int64_t* S, int64_t stride, int64_t n_free,
                              int64_t n_moving, const int64_t* used, double left, double total) {
    return fl::set_directions({F, S, stride}, n_free, n_moving, used, left, total);
}

int32_t fl_path_subtract_slope_rates(const double* F, const int64_t* S, int64_t stride,
                                     int64_t n_free, const int64_t* free, double left,
                                     double* out) {
    const Given r{F, S, stride};
    for (int64_t p = 0; p < n_free; p++)
        out[p] -= left * r.rate(fl::segment_slope(r.s(FL_S_REGION, free[p])), free[p]);
    return FL_OK;
}

int32_t fl_path_size_of_step(const double* F, const int64_t* S, int64_t stride, int64_t count,
                             const int64_t* used, double corner, double* sizes) {
    const Given r{F, S, stride};
    sizes[0] = sizes[1] = 0.0;
    for (int64_t k = 0; k < count; k++) {
        const double own = r.f(FL_F_ROOT, used[k]), root = sqrt(own * own + corner);
        sizes[0] += fl::dabs(r.f(FL_F_D, used[k])) * root;
        sizes[1] = fl::dmax(root, sizes[1]);
    }
    return FL_OK;
}

double fl_path_next_event(const double* F, const int64_t* S, int64_t stride, int64_t n,
                          int64_t n_free, int64_t n_moving, const int64_t* used, double left,
                          double limit, double least, double noise, int64_t* event) {
    const fl::First first =
        fl::next_event({F, S, stride}, n, n_free, n_moving, used, left, limit, least, noise);
    event[0] = first.code, event[1] = first.which;
    return first.eta;
}

double fl_path_first_end(const double* F, const int64_t* S, int64_t stride, int64_t count,
                         const int64_t* rows, int64_t* event) {
    return fl::first_end({F, S, stride}, count, rows, event[0], event[1]);
}

int32_t fl_path_advance(double* F, int64_t* S, int64_t stride, int64_t n, int64_t count,
                        const int64_t* used, double eta, int32_t progress) {
    fl::advance({F, S, stride}, n, count, used, eta, progress != 0);
    return FL_OK;
}

int32_t fl_factor_append(double* L, int64_t m, int64_t stride, const double* column, double corner,
                         double rtol) {
    return fl::append_row(L, m, stride, column, corner, rtol);
}

int32_t fl_factor_delete(double* L, int64_t m, int64_t stride, int64_t p, double* work) {
    fl::delete_row(L, m, stride, p, work);
    return FL_OK;
}

int32_t fl_factor_solve(const double* L, int64_t m, int64_t stride, int64_t count, double* x) {
    fl::solve(L, m, stride, x, count);
    return FL_OK;
}

double fl_factor_directions(const double* L, int64_t m, int64_t stride, double corner, double* d,
                            double total, double* work) {
    double *x = work, *ones = work + m;
    for (int64_t i = 0; i < m; i++) x[i] = d[i] + corner * total, ones[i] = 1.0;
    fl::solve(L, m, stride, work, 2);
    double lack = -total, weight = 0.0;
    for (int64_t i = 0; i < m; i++) lack += x[i], weight += ones[i];
    const double shift = lack / weight;
    for (int64_t i = 0; i < m; i++) d[i] = x[i] - shift * ones[i];
    return shift;
}
}
