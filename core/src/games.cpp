// Shapley values of sums of products.
//
// A game v(S) = sum_j c_j prod_{i in S} p_ij prod_{i not in S} q_ij has the value
//
//     phi_i = integral over t in [0, 1] of
//             sum_j c_j (p_ij - q_ij) prod_{k != i} (q_kj + t (p_kj - q_kj))
//
// (Owen's multilinear extension along its diagonal), a polynomial in t of a degree below the number
// of players: Gauss and Legendre's rule gives it exactly with half as many nodes as players.
#include "fewlabels.h"
#include "vec.hpp"

namespace fl {
namespace {

// The players of one background row whose factors differ, and the terms that are kept: p, q and
// what comes before a player are n x m.
struct Game {
    double *p, *q, *coef;
    int64_t n, m;
    double *before, *after;
};

// A rule with some nodes on [0, 1].
struct Rule {
    const double *nodes, *weights;
    int64_t count;
};

// next = before (q + t (p - q))
void multiply(const double* __restrict before, const double* __restrict p,
              const double* __restrict q, double t, double* __restrict next, int64_t m) {
    for (int64_t j = 0; j < m; j++) next[j] = before[j] * (q[j] + t * (p[j] - q[j]));
}

// sum_j (p - q) before after; then after *= q + t (p - q).
double share(const double* p, const double* q, const double* before, double t, double* after,
             int64_t m) {
    vdouble sum = {};
    int64_t j = 0;
    for (; j + kLanes <= m; j += kLanes) {
        const vdouble low = loadd(q + j), difference = loadd(p + j) - low, rest = loadd(after + j);
        sum += difference * loadd(before + j) * rest;
        store(after + j, rest * (low + t * difference));
    }
    double total = sum_of(sum);
    for (; j < m; j++) {
        const double difference = p[j] - q[j];
        total += difference * before[j] * after[j];
        after[j] *= q[j] + t * difference;
    }
    return total;
}

// The values of all players by a rule.
void find_values(const Game& game, Rule rule, double* values) {
    const int64_t n = game.n, m = game.m;
    for (int64_t i = 0; i < n; i++) values[i] = 0.0;
    for (int64_t k = 0; k < rule.count; k++) {
        const double t = rule.nodes[k];
        for (int64_t j = 0; j < m; j++) {
            game.before[j] = game.coef[j];
            game.after[j] = rule.weights[k];
        }
        for (int64_t i = 0; i + 1 < n; i++)
            multiply(game.before + i * m, game.p + i * m, game.q + i * m, t,
                     game.before + (i + 1) * m, m);
        for (int64_t i = n - 1; i >= 0; i--)
            values[i] +=
                share(game.p + i * m, game.q + i * m, game.before + i * m, t, game.after, m);
    }
}

// Rules for a game: row n of nodes and weights (n_rules columns each) has n nodes.
struct Rules {
    const double *nodes, *weights;
    int64_t n_rules, first;
    double tol;

    Rule with(int64_t count) const {
        return {nodes + count * n_rules, weights + count * n_rules, count};
    }
    // Values by more and more nodes, until they change by tol at most or are exact.
    void refine(const Game& game, double* values, double* finer) const {
        const int64_t exact = imin((game.n + 1) / 2, n_rules);
        int64_t count = imin(first, exact);
        find_values(game, with(count), values);
        while (count < exact) {
            count = imin(2 * count, exact);
            find_values(game, with(count), finer);
            double change = 0.0;
            for (int64_t i = 0; i < game.n; i++) {
                change = dmax(dabs(finer[i] - values[i]), change);
                values[i] = finer[i];
            }
            if (change <= tol) break;
        }
    }
};

// Gather a game from the factors P of a row and Q of a background row: the players that differ and
// the terms that exceed `tiny` somewhere. The factors of other players go into the coefficients.
//
// `scaled` and `bound` are scratch space.
void gather(const double* P, const double* Q, const uint8_t* differs, const double* coef,
            int64_t n_players, int64_t n_terms, double tiny, Game& game, double* scaled,
            double* bound, int64_t* players, int64_t* kept) {
    int64_t n = 0, m = 0;
    for (int64_t j = 0; j < n_terms; j++) scaled[j] = coef[j];
    for (int64_t i = 0; i < n_players; i++) {
        if (differs[i]) {
            players[n++] = i;
            continue;
        }
        const double* factor = P + i * n_terms;
        for (int64_t j = 0; j < n_terms; j++) scaled[j] *= factor[j];
    }
    for (int64_t j = 0; j < n_terms; j++) bound[j] = dabs(scaled[j]);
    for (int64_t i = 0; i < n; i++) {
        const double *p = P + players[i] * n_terms, *q = Q + players[i] * n_terms;
        for (int64_t j = 0; j < n_terms; j++) bound[j] *= dmax(p[j], q[j]);
    }
    for (int64_t j = 0; j < n_terms; j++)
        if (bound[j] > tiny) kept[m++] = j;
    for (int64_t i = 0; i < n; i++) {
        const double *p = P + players[i] * n_terms, *q = Q + players[i] * n_terms;
        for (int64_t j = 0; j < m; j++) {
            game.p[i * m + j] = p[kept[j]];
            game.q[i * m + j] = q[kept[j]];
        }
    }
    for (int64_t j = 0; j < m; j++) game.coef[j] = scaled[kept[j]];
    game.n = n, game.m = m;
}

}  // namespace
}  // namespace fl

extern "C" {

int64_t fl_product_work(int64_t n_players, int64_t n_terms) {
    return (3 * n_players + 4) * n_terms + 2 * n_players;
}

int32_t fl_product_values(int64_t n_players, int64_t n_terms, int64_t n_backgrounds,
                          const double* P, const double* Q, const uint8_t* differs,
                          const double* coef, int64_t n_rules, const double* nodes,
                          const double* weights, int64_t first_nodes, double tiny, double tol,
                          double* out, double* work, int64_t* integers) {
    const int64_t size = n_players * n_terms;
    const fl::Rules rules{nodes, weights, n_rules, first_nodes, tol};
    fl::Game game{work, work + size,     work + 3 * size,          0,
                  0,    work + 2 * size, work + 3 * size + n_terms};
    double *scaled = game.after + n_terms, *bound = scaled + n_terms, *values = bound + n_terms;
    int64_t *players = integers, *kept = integers + n_players;
    for (int64_t b = 0; b < n_backgrounds; b++) {
        fl::gather(P, Q + b * size, differs + b * n_players, coef, n_players, n_terms, tiny, game,
                   scaled, bound, players, kept);
        if (game.n == 0 || game.m == 0) continue;
        rules.refine(game, values, values + n_players);
        for (int64_t i = 0; i < game.n; i++) out[players[i]] += values[i];
    }
    return FL_OK;
}
}
