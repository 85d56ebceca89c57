// Points of the coarse lattice from which a view's lines meet no body as far as the time of flight tells. The arithmetic is the processor's, in crates/pet/src/scatter/tails.rs, without fused products: both find the same points.
#include "../common/each.cuh"

// Mirrors `Direction` in crates/pet/src/gpu/tails.rs; `tangent` is the tilt's.
struct Direction {
    double sin, cos, tangent;
};

// Mirrors `Search` in crates/pet/src/gpu/tails.rs.
struct Search {
    // [z][y][x], 1 where there is a body or the cell next to one.
    const float *body;
    const Direction *lines;
    // [z][y][x], 1 in tails.
    float *tails;
    // Of points, mm.
    double lowest[3], apart[3];
    // mm along the axis's plane from one sample to the next.
    double step;
    float body_lowest[3], per_mm[3];
    int count[3], line_count;
    // `steps`: to either side.
    int points[3], steps;
};
static_assert(sizeof(Direction) == 24 && sizeof(Search) == 136);

__device__ inline bool is_body(const Search &p, double x, double y, double z) {
    const double at[3] = { x, y, z };
    int cell[3];
    for (int d = 0; d < 3; d++) {
        const float v = __fadd_rn(__fmul_rn((float)at[d] - p.body_lowest[d], p.per_mm[d]), 0.5f);
        if (!(v >= 0 && v < p.count[d])) return false;
        cell[d] = (int)v;
    }
    return p.body[((size_t)cell[2] * p.count[1] + cell[1]) * p.count[0] + cell[0]] > 0;
}

// A thread for a point.
extern "C" __global__ void __launch_bounds__(THREADS) tails(const __grid_constant__ Search p) {
    each((long long)p.points[0] * p.points[1] * p.points[2], [&](long long k) {
        const long long at[3] = { k % p.points[0], k / p.points[0] % p.points[1], k / p.points[0] / p.points[1] };
        double place[3];
        for (int d = 0; d < 3; d++) place[d] = __dadd_rn(p.lowest[d], __dmul_rn((double)at[d], p.apart[d]));
        bool meets = false;
        for (int l = 0; l < p.line_count && !meets; l++) {
            const Direction line = p.lines[l];
            // From the point on: those in a body are found at once.
            for (int s = 0; s <= 2 * p.steps && !meets; s++) {
                const double t = __dmul_rn((double)(s % 2 ? -(s / 2) - 1 : s / 2), p.step);
                meets = is_body(p, __dadd_rn(place[0], __dmul_rn(t, line.cos)), __dadd_rn(place[1], __dmul_rn(t, line.sin)), __dadd_rn(place[2], __dmul_rn(t, line.tangent)));
            }
        }
        p.tails[k] = meets ? 0.0f : 1.0f;
    });
}
