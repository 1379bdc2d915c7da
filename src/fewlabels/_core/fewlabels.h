/* The C interface of fewlabels' numerical core.
 *
 * Plain functions on arrays that the caller owns: no allocation, no global state, no exceptions.
 * Arrays are C-contiguous. Sizes and indices are int64_t. Functions return FL_OK or another code
 * of the enums below; results go to the arguments whose pointers are not const. Scratch space is
 * passed in as `work`; the function named ..._work says how many doubles it needs.
 *
 * Python derives its declarations from this file: one prototype ends with a semicolon.
 */
#ifndef FEWLABELS_H
#define FEWLABELS_H

#include <stdint.h>

#define FL_VERSION 1

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
/* Variable i has slope_left[i] below kink[i] and slope_right[i] above it, on [lower[i], upper[i]]. */

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

/* Fill up and down (g plus the slope to either side) and the totals. */
FL_API int32_t fl_survey(int64_t n, const double *lower, const double *kink, const double *upper,
                         const double *slope_left, const double *slope_right, const double *size,
                         const double *a, const double *g, double *up, double *down,
                         double *totals);

/* Sum of h_i(a_i) - min h_i, an upper bound on the optimality gap; infinite where unbounded. The
 * last four inputs bound variables whose interval is infinite, as the equality implies. */
FL_API int32_t fl_gap(int64_t n, const double *lower, const double *kink, const double *upper,
                      const double *slope_left, const double *slope_right, const double *ridge,
                      const double *a, const double *g, double multiplier, double low,
                      double low_free, double high, double high_free, double *gap);

/* Set every variable that is not held to the minimiser of
 * phi_i(a) + (smooth_i - multiplier) a + ridge_i a^2 / 2, unless that is infinite. */
FL_API int32_t fl_settle(int64_t n, const double *lower, const double *kink, const double *upper,
                         const double *slope_left, const double *slope_right, const double *ridge,
                         double multiplier, const double *smooth, const uint8_t *held, double *a,
                         double *sum_of_a);

/* Add values to the totals of their groups, with compensation. work: n_groups. */
FL_API int32_t fl_group_sums(int64_t n, const int64_t *group, const double *values,
                             int64_t n_groups, double *totals, double *work);

/* Fill a from the lower ends of the groups' pieces, one variable after the other. is_above says
 * which piece, amount how far all variables of a group are above its lower ends; within near of an
 * end they are on it. work: 2 n_groups. */
FL_API int32_t fl_share_out(int64_t n, const double *lower, const double *kink,
                            const double *upper, const int64_t *group, int64_t n_groups,
                            const uint8_t *is_above, const double *amount, const double *near,
                            double *a, double *work);

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

/* Doubles of scratch space that fl_solve_block needs, beside 4 n integers. */
FL_API int64_t fl_block_work(int64_t n, int64_t largest);

/* Minimise 1/2 a'Qa + sum phi_i(a_i) with the sum of a fixed, from a and its gradient g.
 *
 * Pair steps (max_steps of them at most, until the violation is tol), and then, unless largest is
 * 0, Newton steps among at most `largest` variables between breakpoints until the violation is
 * goal, at a cost of *budget. max_steps 0: Newton steps alone. Row p of Q (n columns) is that of
 * variable here[p], and place inverts here. Where rows are missing (n_wanted > 0), part is Q[:,
 * here] with rows part_stride apart, of which `joined` rows are filled in, and wanted receives the
 * rows to evaluate next, filled up with -1. */
FL_API int32_t fl_solve_block(int64_t n, const double *Q, int64_t n_here, const int64_t *here,
                              const int64_t *place, double *part, int64_t part_stride,
                              int64_t joined, const double *diagonal, double *g, double *a,
                              const double *lower, const double *kink, const double *upper,
                              const double *slope_left, const double *slope_right,
                              int64_t *wanted, int64_t n_wanted, double tol, int64_t max_steps,
                              double goal, int64_t largest, double *budget, double *work,
                              int64_t *integers, int64_t *steps);

/* The rows that fl_solve_block requests: those that are least `far` from the worst violation, best
 * first, none that are infinitely far; the rest of wanted is -1. */
FL_API int32_t fl_nearest(int64_t n, const double *far, int64_t *wanted, int64_t n_wanted);

/* Replace the lower triangle of A (m x m) by its Cholesky factor; smallest is the smallest pivot,
 * 0 if one is not positive. */
FL_API int32_t fl_factorise(int64_t m, double *A, double *smallest);

/* g += sum_p change[p] Q[which[p]], where Q has n columns. */
FL_API int32_t fl_add_products(int64_t n, const double *Q, int64_t count, const int64_t *which,
                               const double *change, double *g);

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

/* -- USMO (usmo.cpp) -------------------------------------------------------------------------- */

/* -- Shapley values of product games (games.cpp) ---------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif
