/* Fit a ball around some rows and score them, through the C interface alone.
 *
 *     svdd FILE N D GAMMA NU
 *
 * FILE holds N x D doubles. The dual of SVDD with linear slack is problem (P):
 *
 *     minimise a'Ka - sum a_i K_ii   over 0 <= a_i <= 1 / (NU N), sum a = 1.
 *
 * Prints radius^2 - distance^2 of every row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fewlabels.h"

static void *room(int64_t count, size_t size) {
    void *memory = calloc((size_t)(count > 0 ? count : 1), size);
    if (!memory) exit(3);
    return memory;
}
#define DOUBLES(count) ((double *)room((count), sizeof(double)))

int main(int argc, char **argv) {
    if (argc != 6 || fl_version() != FL_VERSION) return 2;
    const int64_t n = atoll(argv[2]), d = atoll(argv[3]);
    const double gamma = atof(argv[4]), cost = 1.0 / (atof(argv[5]) * (double)n);

    double *X = DOUBLES(n * d);
    FILE *file = fopen(argv[1], "rb");
    if (!file || fread(X, sizeof(double), (size_t)(n * d), file) != (size_t)(n * d)) return 2;
    fclose(file);

    /* K = 2^(row_term + column_term + <row, column>) of scaled rows, in tiles of features. */
    const double scale = sqrt(2.0 * gamma / log(2.0));
    const int64_t step = FL_VECTOR_BYTES / 8, most = FL_TILE_BYTES / 8;
    const int64_t width = n < most ? (n + step - 1) / step * step : most;
    const int64_t n_tiles = (n + width - 1) / width;
    double *tiles = DOUBLES(n_tiles * d * width), *term = DOUBLES(n_tiles * width);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < d; k++) {
            X[i * d + k] *= scale;
            tiles[(i / width * d + k) * width + i % width] = X[i * d + k];
            term[i] -= 0.5 * X[i * d + k] * X[i * d + k];
        }
    double *K = DOUBLES(n * n), *Q = DOUBLES(n * n);
    fl_column_tiles_f64(FL_EXP2, 0, 0.0, n, d, width, tiles, term, n, X, term, K, 0, n_tiles);
    for (int64_t i = 0; i < n * n; i++) Q[i] = 2.0 * K[i];

    /* Start from the first rows at their bound. */
    double *lower = DOUBLES(n), *upper = DOUBLES(n), *slope = DOUBLES(n), *diagonal = DOUBLES(n);
    double *a = DOUBLES(n), *g = DOUBLES(n), left = 1.0;
    int64_t *order = (int64_t *)room(n, sizeof(int64_t));
    for (int64_t i = 0; i < n; i++) {
        upper[i] = cost;
        slope[i] = -K[i * n + i];
        diagonal[i] = Q[i * n + i];
        order[i] = i;
        a[i] = left < cost ? left : cost;
        left -= a[i];
    }
    fl_add_products(n, Q, n, order, a, g);

    fl_penalty penalty; /* one slope: all kinks are at the lower end */
    for (int k = 0; k <= FL_N_KINKS; k++) penalty.ends[k] = lower, penalty.slopes[k] = slope;
    penalty.ends[FL_N_KINKS + 1] = upper;
    const int64_t largest = n < 256 ? n : 256;
    double *work = DOUBLES(fl_block_work(n, largest)), budget = 60.0;
    int64_t *integers = (int64_t *)room(5 * n, sizeof(int64_t)), steps = 0;
    const int32_t ended =
        fl_solve_block(n, Q, n, order, order, NULL, 0, n, diagonal, g, a, &penalty, NULL, 0, 1e-6,
                       1000000, 1e-12, largest, &budget, work, integers, &steps);
    if (ended != FL_DONE && ended != FL_STUCK) return 1;

    /* distance^2 = K_xx - 2 sum a_i K_xi + a'Ka; the radius is that of rows between bounds. */
    double *sums = DOUBLES(n), norm = 0.0, radius = 0.0;
    int64_t free_rows = 0;
    fl_apply_tiles_f64(FL_EXP2, 0, 0.0, n, d, width, tiles, term, n, X, term, a, sums, 0, n_tiles);
    for (int64_t i = 0; i < n; i++) norm += a[i] * sums[i];
    for (int64_t i = 0; i < n; i++)
        if (a[i] > 0.0 && a[i] < cost) {
            radius += 1.0 - 2.0 * sums[i] + norm;
            free_rows++;
        }
    if (!free_rows) return 1;
    radius /= (double)free_rows;
    for (int64_t i = 0; i < n; i++) printf("%.17g\n", radius - (1.0 - 2.0 * sums[i] + norm));
    return 0;
}
