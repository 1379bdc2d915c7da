/* The C interface of fewlabels' numerical core.
 *
 * Plain functions on arrays that the caller owns: no allocation, no global state, no exceptions.
 * Arrays are C-contiguous. Sizes and indices are int64_t. Functions return FL_OK or another code
 * of the enums below, and those declared double or int64_t the number that they compute; further
 * results go to the arguments whose pointers are not const. Scratch space is passed in as `work`;
 * the function named ..._work says how many doubles it needs.
 *
 * Python derives its declarations from this file: one prototype ends with a semicolon.
 */
#ifndef FEWLABELS_H
#define FEWLABELS_H

#include <stdint.h>

#define FL_VERSION 4

#if defined(_WIN32)
#define FL_API __declspec(dllexport)
#else
#define FL_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- the library itself -------------------------------------------------------------------- */

/* FL_VERSION of the library. */
FL_API int32_t fl_version(void);
/* The highest instruction level of this processor: 2, 3 or 4 for x86-64-v2 to v4, else 1. */
FL_API int32_t fl_level(void);

/* -- penalties: passes over all variables of problem (P) ----------------------------------- */

/* The most kinks that a penalty may have. All loops over pieces end here. */
#define FL_N_KINKS 1

/* Numbers of a penalty: the ends of its pieces, and their slopes. */
enum {
    FL_N_PENALTY = FL_N_KINKS + 2 + FL_N_KINKS + 1
};

/* Variable i has slopes[k][i] between ends[k][i] and ends[k + 1][i]. Neither may decrease with k.
 * Where there are fewer kinks, pieces of no length take their place. */
typedef struct {
    const double *ends[FL_N_KINKS + 2], *slopes[FL_N_KINKS + 1];
} fl_penalty;

/* What fl_survey finds: FL_N_SUMS sums, and then the rest, FL_N_TOTALS numbers altogether. */
enum {
    FL_SUM = 0,
    FL_REACH = 1,
    FL_PRODUCT = 2,
    FL_PENALTY = 3,
    FL_SQUARES = 4,
    FL_BETWEEN = 5,
    FL_N_SUMS = 6,
    FL_LOWEST_UP = 6,
    FL_HIGHEST_DOWN = 7,
    FL_LARGEST = 8,
    FL_N_BETWEEN = 9,
    FL_N_USED = 10,
    FL_N_OUTSIDE = 11,
    FL_N_TOTALS = 12
};

/* Fill rates (2 n: g plus the slopes to the right, then to the left) and the totals. */
FL_API int32_t fl_survey(int64_t n, const fl_penalty* penalty, const double* size, const double* a,
                         const double* g, double* rates, double* totals);

/* Sum of h_i(a_i) - min h_i, an upper bound on the optimality gap; infinite where unbounded. The
 * last four inputs bound variables whose interval is infinite, as the equality implies. */
FL_API int32_t fl_gap(int64_t n, const fl_penalty* penalty, const double* ridge, const double* a,
                      const double* g, double multiplier, double low, double low_free, double high,
                      double high_free, double* gap);

/* Set every variable that is not held to the minimiser of
 * phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2, unless that is infinite. */
FL_API int32_t fl_settle(int64_t n, const fl_penalty* penalty, const double* ridge,
                         double multiplier, const double* smooth, const uint8_t* held, double* a,
                         double* sum_of_a);

/* Add values to the totals of their groups, with compensation. work: n_groups. */
FL_API int32_t fl_group_sums(int64_t n, const int64_t* group, const double* values,
                             int64_t n_groups, double* totals, double* work);

/* Fill a from lower to upper, one variable of a group after the other. amount says how far all
 * variables of a group are above their lower ends; within near of an end they are on it. work:
 * 2 n_groups. */
FL_API int32_t fl_share_out(int64_t n, const double* lower, const double* upper,
                            const int64_t* group, int64_t n_groups, const double* amount,
                            const double* near, double* a, double* work);

/* -- blocks: problem (P) with all or some rows of its matrix ------------------------------- */

/* Violation relative to the multiplier that counts as none. */
#define FL_EXACT 1e-13

/* How steps ended. */
enum {
    FL_OK = 0,
    FL_DONE = 0,
    FL_STEP_LIMIT = 1,
    FL_STUCK = 2,     /* rounding allows no step */
    FL_UNBOUNDED = 3, /* the objective falls for ever */
    FL_SINGULAR = 4,  /* many solutions are equal, or too many variables are in use */
    FL_MISSING = 5    /* rows of Q in `wanted` are needed next */
};

/* Doubles of scratch space that fl_solve_block needs, beside 5 n integers. */
FL_API int64_t fl_block_work(int64_t n, int64_t largest);

/* Minimise 1/2 a'Qa + sum phi_i(a_i) with the sum of a fixed, from a and its gradient g.
 *
 * Pair steps (max_steps of them at most, until the violation is tol), and then, unless largest is
 * 0, Newton steps among at most `largest` variables between breakpoints until the violation is
 * goal, at a cost of *budget. max_steps 0: Newton steps alone. Row p of Q (n columns) is that of
 * variable here[p], and place inverts here. Where rows are missing (n_wanted > 0), part is Q[:,
 * here] with rows part_stride apart, of which `joined` rows are filled in, and wanted receives the
 * rows to evaluate next, filled up with -1. */
FL_API int32_t fl_solve_block(int64_t n, const double* Q, int64_t n_here, const int64_t* here,
                              const int64_t* place, double* part, int64_t part_stride,
                              int64_t joined, const double* diagonal, double* g, double* a,
                              const fl_penalty* penalty, int64_t* wanted, int64_t n_wanted,
                              double tol, int64_t max_steps, double goal, int64_t largest,
                              double* budget, double* work, int64_t* integers, int64_t* steps);

/* The rows that fl_solve_block requests: those that are least `far` from the worst violation, best
 * first, none that are infinitely far; the rest of wanted is -1. */
FL_API int32_t fl_nearest(int64_t n, const double* far, int64_t* wanted, int64_t n_wanted);

/* g += sum_p change[p] Q[which[p]], where Q has n columns. */
FL_API int32_t fl_add_products(int64_t n, const double* Q, int64_t count, const int64_t* which,
                               const double* change, double* g);

/* -- kernel values (tiles.cpp, sparse.cpp, columns.cpp) ------------------------------------------------- */
/* K(row, column) is a map of z = row_term[row] + column_term[column] + constant + <row, column>. */

/* The maps: 2^z (z > 0 counts as 0), z^degree, tanh z and z. */
enum {
    FL_EXP2 = 0,
    FL_POWER = 1,
    FL_TANH = 2,
    FL_IDENTITY = 3
};

/* Dense rows come in tiles of `width` rows: tiles[t, k, i] is feature k of row t * width + i, of n
 * rows with d features. row_term is padded to whole tiles as well. A tile holds at most
 * FL_TILE_BYTES bytes of each feature, and a multiple of FL_VECTOR_BYTES. */
#define FL_TILE_BYTES 768
#define FL_VECTOR_BYTES 64

/* out[row] += sum_j K(row, columns[j]) coef[j] for the rows of tiles start to stop. */
FL_API int32_t fl_apply_tiles_f32(int32_t kind, int64_t degree, double constant, int64_t n,
                                  int64_t d, int64_t width, const float *tiles,
                                  const float *row_term, int64_t m, const float *columns,
                                  const float *column_term, const double *coef, double *out,
                                  int64_t start, int64_t stop);
FL_API int32_t fl_apply_tiles_f64(int32_t kind, int64_t degree, double constant, int64_t n,
                                  int64_t d, int64_t width, const double *tiles,
                                  const double *row_term, int64_t m, const double *columns,
                                  const double *column_term, const double *coef, double *out,
                                  int64_t start, int64_t stop);

/* out[j, row] = K(row, columns[j]) for the rows of tiles start to stop; out has n columns. */
FL_API int32_t fl_column_tiles_f32(int32_t kind, int64_t degree, double constant, int64_t n,
                                   int64_t d, int64_t width, const float *tiles,
                                   const float *row_term, int64_t m, const float *columns,
                                   const float *column_term, float *out, int64_t start,
                                   int64_t stop);
FL_API int32_t fl_column_tiles_f64(int32_t kind, int64_t degree, double constant, int64_t n,
                                   int64_t d, int64_t width, const double *tiles,
                                   const double *row_term, int64_t m, const double *columns,
                                   const double *column_term, double *out, int64_t start,
                                   int64_t stop);

/* Sparse rows are CSR. A group of columns is held dense and interleaved: lanes[k, c] is feature k of
 * column c, and lane_term[c] its term and the kernel's constant. width is 1, or at most FL_LANES and
 * a multiple of FL_VECTOR_BYTES bytes: lanes beyond the columns are filled with zeros. */
#define FL_LANES 64

/* out[row] += sum_c K(row, column c) coef[c] for rows start to stop; coef has `width` elements. */
FL_API int32_t fl_apply_sparse_f32(int32_t kind, int64_t degree, const float *data,
                                   const int64_t *indices, const int64_t *indptr,
                                   const float *row_term, int64_t width, const float *lanes,
                                   const float *lane_term, const double *coef, double *out,
                                   int64_t start, int64_t stop);
FL_API int32_t fl_apply_sparse_f64(int32_t kind, int64_t degree, const double *data,
                                   const int64_t *indices, const int64_t *indptr,
                                   const double *row_term, int64_t width, const double *lanes,
                                   const double *lane_term, const double *coef, double *out,
                                   int64_t start, int64_t stop);

/* out[c, row] = K(row, column c) for rows start to stop; out is m x n. */
FL_API int32_t fl_column_sparse_f32(int32_t kind, int64_t degree, const float *data,
                                    const int64_t *indices, const int64_t *indptr,
                                    const float *row_term, int64_t width, const float *lanes,
                                    const float *lane_term, int64_t n, int64_t m, float *out,
                                    int64_t start, int64_t stop);
FL_API int32_t fl_column_sparse_f64(int32_t kind, int64_t degree, const double *data,
                                    const int64_t *indices, const int64_t *indptr,
                                    const double *row_term, int64_t width, const double *lanes,
                                    const double *lane_term, int64_t n, int64_t m, double *out,
                                    int64_t start, int64_t stop);

/* <x, x> of rows, summed as the functions above sum <row, column>: with minus half of it as its
 * term, a row's z with itself, or with an equal row, is exactly 0. */
FL_API int32_t fl_squared_norms(int64_t n, int64_t d, const double *rows, double *out);
FL_API int32_t fl_squared_norms_sparse(int64_t n, const double *data, const int64_t *indptr,
                                       double *out);

/* out[j, i] = ||rows[i] - columns[j]||^2 from differences, where nothing cancels, for rows start to
 * stop of n. Entries of CSR rows are sorted, and there is one for a place. */
FL_API int32_t fl_squared_distances(int64_t n, int64_t d, const double *rows, int64_t m,
                                    const double *columns, double *out, int64_t start,
                                    int64_t stop);
FL_API int32_t fl_squared_distances_sparse(int64_t n, const double *data, const int64_t *indices,
                                           const int64_t *indptr, int64_t m,
                                           const double *column_data,
                                           const int64_t *column_indices,
                                           const int64_t *column_indptr, double *out,
                                           int64_t start, int64_t stop);

/* Stored columns: storage[s] is the column in slot s, with room for `length` rows. */

/* out[row] += sum_k storage[slots[k], row] coef[k] for rows start to stop. */
FL_API int32_t fl_apply_columns_f32(int64_t length, const float *storage, int64_t count,
                                    const int64_t *slots, const double *coef, double *out,
                                    int64_t start, int64_t stop);
FL_API int32_t fl_apply_columns_f64(int64_t length, const double *storage, int64_t count,
                                    const int64_t *slots, const double *coef, double *out,
                                    int64_t start, int64_t stop);

/* out[i, k] = storage[slots[k], rows[i]] */
FL_API int32_t fl_gather(int64_t length, const double *storage, int64_t count,
                         const int64_t *slots, int64_t n_rows, const int64_t *rows, double *out);

/* out[i] += sum_k storage[slots[k], rows[i]] coef[k] */
FL_API int32_t fl_gather_product(int64_t length, const double *storage, int64_t count,
                                 const int64_t *slots, int64_t n_rows, const int64_t *rows,
                                 const double *coef, double *out);

/* storage[s, first + r] = new_rows[r, column_of[s]] for every slot that holds a column; column_of is
 * -1 for the others. */
FL_API int32_t fl_extend_columns(int64_t length, double *storage, int64_t n_slots,
                                 const int64_t *column_of, int64_t n_new, int64_t n_columns,
                                 const double *new_rows, int64_t first);

/* -- paths and factors (path.cpp) ----------------------------------------------------------- */

/* The optimality condition of a row says that (a, -h) lies on the staircase of its penalty's
 * slopes: flat on a segment (h + slope = 0, a between two breakpoints), upright on a breakpoint
 * (left <= -h <= right). The state of all rows is two arrays with a line per quantity, whose lines
 * are `stride` apart: F of FL_N_FLOATS doubles per row, S of FL_N_INTS integers. */

/* Lines of F. LO to UP: ends of the penalty's pieces now; SL to SR: their slopes. RATE: by how much
 * these lines change over the whole clock. TARGET: what they are when it has run out. LOW, HIGH:
 * range of h at a breakpoint; RLOW, RHIGH: its rates. D: direction of a; GAMMA: direction of h;
 * ROOT: sqrt of Q_ii. */
enum {
    FL_F_A = 0,
    FL_F_H = 1,
    FL_F_LO = 2,
    FL_F_UP = FL_F_LO + FL_N_KINKS + 1,
    FL_F_SL = FL_F_UP + 1,
    FL_F_SR = FL_F_SL + FL_N_KINKS,
    FL_F_LOW = FL_F_SR + 1,
    FL_F_HIGH = FL_F_SR + 2,
    FL_F_GAMMA = FL_F_SR + 3,
    FL_F_D = FL_F_SR + 4,
    FL_F_RIDGE = FL_F_SR + 5,
    FL_F_ROOT = FL_F_SR + 6,
    FL_F_RATE = FL_F_SR + 7,
    FL_F_TARGET = FL_F_RATE + FL_N_PENALTY,
    FL_F_RLOW = FL_F_TARGET + FL_N_PENALTY,
    FL_F_RHIGH = FL_F_RLOW + 1,
    FL_N_FLOATS = FL_F_RLOW + 2
};

/* Lines of S. SIGN: current sign of a row with the symmetric hinge, 0 for others. REGION: 0 below
 * the interval, k on its k-th segment, and one more above; at a breakpoint, its line of F. DIR:
 * direction of a moving row. IGNORED: how often the row was met here in steps of no length.
 * POSITION: where a free row stands among the free ones. */
enum {
    FL_S_STATUS = 0,
    FL_S_SIGN = 1,
    FL_S_REGION = 2,
    FL_S_DIR = 3,
    FL_S_IGNORED = 4,
    FL_S_POSITION = 5,
    FL_N_INTS = 6
};

/* Statuses. */
enum {
    FL_AT_BREAKPOINT = 0, /* a is held while h moves within a range */
    FL_FREE = 1,          /* on a segment: h is held while a moves */
    FL_MOVING = 2,        /* beside the staircase: a moves until it meets it */
    FL_ABSENT = 3         /* not in the problem */
};

/* What ends a step. */
enum {
    FL_EVENT_CLOCK = 0,
    FL_EVENT_FREE_LOW = 1,
    FL_EVENT_FREE_HIGH = 2,
    FL_EVENT_RANGE_LOW = 3,
    FL_EVENT_RANGE_HIGH = 4,
    FL_EVENT_MEET = 5,
    FL_EVENT_BREAK = 6,
    FL_EVENT_FLIP = 7,
    FL_EVENT_NONE = 8
};
/* Longer than any step. */
#define FL_FAR 1e300

/* Hold row i at the breakpoint where it stands: its range of h. */
FL_API int32_t fl_path_hold(double *F, int64_t *S, int64_t stride, int64_t i);
/* Row i is at a breakpoint no longer, and has no range of h. */
FL_API int32_t fl_path_release(double *F, int64_t *S, int64_t stride, int64_t i, int64_t status);
/* Change the sign of a row with the symmetric hinge. */
FL_API int32_t fl_path_flip(double *F, int64_t *S, int64_t stride, int64_t i);
/* Turn the penalty in the lines from `first` on into that of the other sign. */
FL_API int32_t fl_path_mirror(double *F, int64_t *S, int64_t stride, int64_t i, int64_t first);

/* Line of F with the end of a segment, in a direction. */
FL_API int64_t fl_path_segment_end(int64_t region, int64_t direction);
/* Line of F with the breakpoint that a moving row reaches next. */
FL_API int64_t fl_path_next_breakpoint(const double *F, const int64_t *S, int64_t stride,
                                       int64_t i);
/* Region that a row at a breakpoint enters in a direction. */
FL_API int64_t fl_path_beside(const double *F, const int64_t *S, int64_t stride, int64_t i,
                              int64_t direction);

/* Give rows that are not free the status that their a and h ask for; it goes to `found`. FREE, and
 * nothing is changed, for a row that stands on a segment: the caller makes it free. */
FL_API int32_t fl_path_place(double *F, int64_t *S, int64_t stride, int64_t count,
                             const int64_t *rows, double tol, double tol_inside, int64_t *found);
/* Hold rows that stand at breakpoints of a solution. Others are to become free (FREE), or to be
 * placed because they are on the wrong side of h = 0 (MOVING). */
FL_API int32_t fl_path_adopt(double *F, int64_t *S, int64_t stride, int64_t count,
                             const int64_t *rows, int64_t *found);
/* Hold moving rows at the breakpoint that they have reached, or let them pass it. counts: how many
 * move on, the first ones of `moving`, and how many are held, the first ones of `arrived`. Returns
 * the largest way that was missing to a breakpoint, times ROOT. */
FL_API double fl_path_arrive(double *F, int64_t *S, int64_t stride, int64_t n_moving,
                             int64_t *moving, double rtol, double atol, double tol,
                             int64_t *arrived, int64_t *counts);
/* Ranges and rates of all rows at breakpoints, after their penalties changed. */
FL_API int32_t fl_path_hold_all(double *F, int64_t *S, int64_t stride, int64_t n);
/* Rows at breakpoints whose h left its range, `count` of them in `found`; free ones a rounding
 * outside go to the end. Returns the largest error of a free row's condition. */
FL_API double fl_path_check(double *F, int64_t *S, int64_t stride, int64_t n, double tol,
                            int64_t *found, int64_t *count);
/* Largest violation of a condition under the penalties in the lines from `first` on; infinite
 * where a variable is outside its interval. */
FL_API double fl_path_violation(const double *F, const int64_t *S, int64_t stride, int64_t count,
                                const int64_t *rows, int64_t first);
/* Largest a, largest ROOT, and the sum of their products. */
FL_API int32_t fl_path_sizes(const double *F, const int64_t *S, int64_t stride, int64_t n,
                             double *sizes);

/* Penalties when the share `left` of the clock is left and `share` of it has passed since the last
 * time; rows at breakpoints go with them. */
FL_API int32_t fl_path_move_penalties(double *F, int64_t *S, int64_t stride, int64_t n,
                                      double left, double share);
/* Shift the slopes of every row by what its condition misses, where that exceeds tol. */
FL_API int32_t fl_path_shift_slopes(double *F, int64_t *S, int64_t stride, int64_t n, double tol);
/* Widen the range of h of every row at a breakpoint, by its width on either side. */
FL_API int32_t fl_path_widen_ranges(double *F, int64_t *S, int64_t stride, int64_t n,
                                    const double *width);

/* In the next functions `used` are the free rows and then the moving ones, and `left` is the share
 * of the clock that the whole step takes. */

/* Moving rows head for the far end of their interval, where it stops if it moves. The speed towards
 * infinity is as large as the variables and their `total`. Returns the sum of their directions. */
FL_API double fl_path_set_directions(double *F, int64_t *S, int64_t stride, int64_t n_free,
                                     int64_t n_moving, const int64_t *used, double left,
                                     double total);
/* Take from `out` by how much the slopes of free rows change. */
FL_API int32_t fl_path_subtract_slope_rates(const double *F, const int64_t *S, int64_t stride,
                                            int64_t n_free, const int64_t *free, double left,
                                            double *out);
/* Sum and maximum that the rounding of a direction is relative to. The factor is that of
 * K + corner: its rounding is relative to both. */
FL_API int32_t fl_path_size_of_step(const double *F, const int64_t *S, int64_t stride,
                                    int64_t count, const int64_t *used, double corner,
                                    double *sizes);
/* The first event along the direction: returns the length of the step. event: its code, and the
 * row, or the position among the free or the moving rows. No step is longer than `limit`; `least`
 * plus `noise` times ROOT is rounding in GAMMA. Ties go to the event that is approached fastest. */
FL_API double fl_path_next_event(const double *F, const int64_t *S, int64_t stride, int64_t n,
                                 int64_t n_free, int64_t n_moving, const int64_t *used,
                                 double left, double limit, double least, double noise,
                                 int64_t *event);
/* The first end of a segment that rows meet along D: returns the length of the step. event: the
 * position of the row, -1 for none, and the line of F. */
FL_API double fl_path_first_end(const double *F, const int64_t *S, int64_t stride, int64_t count,
                                const int64_t *rows, int64_t *event);
/* Take a step of length eta, for penalties that stand still. progress: rows that were ignored
 * count again. */
FL_API int32_t fl_path_advance(double *F, int64_t *S, int64_t stride, int64_t n, int64_t count,
                               const int64_t *used, double eta, int32_t progress);

/* Cholesky factors that gain and lose rows: L is lower triangular in the first m rows of an array
 * whose rows are `stride` apart. */

/* Add a last row and column, `column` (m numbers) and `corner`. Returns 0, and adds nothing, if
 * they depend on the others: the Schur complement is at most rtol times the corner. */
FL_API int32_t fl_factor_append(double *L, int64_t m, int64_t stride, const double *column,
                                double corner, double rtol);
/* Remove row and column p. work: 2 m. */
FL_API int32_t fl_factor_delete(double *L, int64_t m, int64_t stride, int64_t p, double *work);
/* Solve in place for `count` right-hand sides of m numbers each. */
FL_API int32_t fl_factor_solve(const double *L, int64_t m, int64_t stride, int64_t count,
                               double *x);
/* Solve Q_MM d + shift = rhs and sum d = total, with rhs in d, where L is the factor of
 * Q_MM + corner; returns shift. work: 2 m. */
FL_API double fl_factor_directions(const double *L, int64_t m, int64_t stride, double corner,
                                   double *d, double total, double *work);

/* -- USMO (usmo.cpp) -------------------------------------------------------------------------- */

/* See solvers/papers/usmo.py for the problem and the names. F[u] is the function without its bias,
 * right at all times for the non-bound samples and at the moment of examination for the others.
 * members[:count] are the non-bound samples, and place[u] says where u is among them (-1: it is
 * not). The kernel row of u is that of `rows` with the number slot[u] (-1: not held); rows are
 * `stride` apart. Scans return DONE, STEP_LIMIT, STUCK or MISSING: then rows of the samples `need`
 * have to be loaded. */

/* The sub-problem (8) of a pair. result: new values, and the decrease, which is 0 where rounding
 * leaves no step. */
FL_API int32_t fl_usmo_pair(double F_i, double F_j, double sigma_i, double sigma_j, double k_ii,
                            double k_jj, double k_ij, double kink_i, double upper_i,
                            double kink_j, double upper_j, double *result);
/* Put u into the non-bound set or take it out; returns its new size. */
FL_API int64_t fl_usmo_set_membership(int64_t u, int32_t inside, int64_t *members, int64_t *place,
                                      int64_t count);
/* F of samples from their kernel rows, which must be held. */
FL_API int32_t fl_usmo_evaluate(int64_t n, int64_t n_samples, const int64_t *samples,
                                const double *sigma, const double *linear, const double *rows,
                                int64_t stride, const int64_t *slot, double *F);
/* The most critical values over the non-bound set (four numbers), and who has them. */
FL_API int32_t fl_usmo_critical_values(const int64_t *members, int64_t count, const double *sigma,
                                       const double *kink, const double *upper, const double *F,
                                       double *critical, int64_t *who);
/* First approach: most violating pairs of the non-bound set, until tau-optimal on it. tally: the
 * decrease of the objective (added to) and the largest violation met (raised). */
FL_API int32_t fl_usmo_scan_non_bound(double *sigma, const double *kink, const double *upper,
                                      const double *diagonal, double *F, int64_t *members,
                                      int64_t *place, int64_t *count, const double *rows,
                                      int64_t stride, const int64_t *slot, double tol,
                                      int64_t max_steps, double *tally, int64_t *need,
                                      int64_t *steps);
/* Second approach: examine the samples from *position to last - 1, one by one. critical and who go
 * from call to call; at the end of a scan without steps they are those of the whole set. */
FL_API int32_t fl_usmo_scan_whole(int64_t n, int64_t *position, int64_t last, double *critical,
                                  int64_t *who, double *sigma, const double *kink,
                                  const double *upper, const double *linear,
                                  const double *diagonal, double *F, int64_t *members,
                                  int64_t *place, int64_t *count, const double *rows,
                                  int64_t stride, const int64_t *slot, double tol,
                                  int64_t max_steps, double *tally, int64_t *need,
                                  int64_t *steps);

/* -- forests (forest.cpp) ------------------------------------------------------------------- */

/* Grow trees `start` to `stop`.
 *
 * columns are d x n, place the classes of the rows. Each tree sees n_drawn rows, drawn with
 * replacement, or all once (n_drawn 0), and all classes weigh the same in it. At every node,
 * thresholds of `tried` columns are tried, and the one of least Gini impurity is taken: all
 * thresholds where `best` isn't 0, or a random one of each column (Geurts, Ernst and Wehenkel
 * 2006). No leaf has fewer than `smallest` distinct rows. Tree number first + t of a seed is always
 * the same. Its nodes go to the places from t * most on, numbered from 0 as in fl_leaves; most is
 * 2 n_rows - 1 for n_rows distinct rows; sizes and depths get their number and depth. Scratch
 * space, of each call: 3 n_classes doubles, and 8 n + d + 4 integers. n is below 2^32. */
FL_API int32_t fl_grow_trees(int64_t n, int64_t d, const float *columns, int64_t n_classes,
                             const int32_t *place, int64_t n_drawn, int64_t best, int64_t tried,
                             int64_t smallest, int64_t seed, int64_t first, int64_t most,
                             int64_t *feature, double *threshold, int64_t *left, int64_t *right,
                             int64_t *sizes, int64_t *depths, double *work, int64_t *places,
                             int64_t start, int64_t stop);
/* times[t, i] = how often tree number t of such a seed sees row i. */
FL_API int32_t fl_draw_rows(int64_t n, int64_t n_drawn, int64_t seed, int32_t *times,
                            int64_t start, int64_t stop);
/* The leaves of rows `start` to `stop`, n_trees each, of rows with d numbers.
 *
 * A row with rows[feature] <= threshold goes to the node `left`, else to `right`. Both are a leaf's
 * own place. No row passes more than `depth` nodes. Indices have to be right. */
FL_API int32_t fl_leaves(int64_t d, const float *rows, int64_t n_trees, const int64_t *roots,
                         const int64_t *feature, const double *threshold, const int64_t *left,
                         const int64_t *right, int64_t depth, int32_t *out, int64_t start,
                         int64_t stop);
/* out[i, j] = the share of trees with a[i, tree] == b[tree, j]: n rows and, of m, the columns
 * `start` to `stop`. */
FL_API int32_t fl_shared_leaves_u8(int64_t n, int64_t n_trees, const uint8_t *a, int64_t m,
                                   const uint8_t *b, double *out, int64_t start, int64_t stop);
FL_API int32_t fl_shared_leaves_u16(int64_t n, int64_t n_trees, const uint16_t *a, int64_t m,
                                    const uint16_t *b, double *out, int64_t start, int64_t stop);
FL_API int32_t fl_shared_leaves_u32(int64_t n, int64_t n_trees, const uint32_t *a, int64_t m,
                                    const uint32_t *b, double *out, int64_t start, int64_t stop);
/* out[i, c] += sum over the trees of weights[c, leaves[i, tree]], for k rows of n_nodes weights and
 * rows `start` to `stop`. Leaves have to be right. */
FL_API int32_t fl_add_leaves(int64_t n_trees, const int32_t *leaves, int64_t n_nodes, int64_t k,
                             const double *weights, double *out, int64_t start, int64_t stop);

/* -- Shapley values of product games (games.cpp) ---------------------------------------------- */

/* Doubles of scratch space that fl_product_values needs, beside n_players + n_terms integers. */
FL_API int64_t fl_product_work(int64_t n_players, int64_t n_terms);
/* Add Shapley values, summed over backgrounds, to `out`, one per player.
 *
 * P are factors of the row, n_players x n_terms, Q those of the background rows, one more axis
 * first; differs (n_backgrounds x n_players) tells where these are not the same. Row n of nodes and
 * weights (n_rules columns each) holds the rule with n nodes on [0, 1]: first_nodes are taken to
 * begin with, and twice as many until values change by tol at most or are exact. More than n_rules
 * are not taken: far beyond, values are accurate to rounding without being exact. Terms that stay
 * below `tiny` are left out. */
FL_API int32_t fl_product_values(int64_t n_players, int64_t n_terms, int64_t n_backgrounds,
                                 const double *P, const double *Q, const uint8_t *differs,
                                 const double *coef, int64_t n_rules, const double *nodes,
                                 const double *weights, int64_t first_nodes, double tiny,
                                 double tol, double *out, double *work, int64_t *integers);

#ifdef __cplusplus
}
#endif

#endif
