// The halves of a half acquisition: rows widened to the field about the axis, and weighed where opposite views see the same rays. See
// crates/ct/src/rows/half_acquisition.rs.
#include "rows.cuh"

namespace {

constexpr int TILE = 256;

// Mirrors `Arguments` in crates/ct/src/gpu/half_acquisition.rs.
struct Halves {
    RawRows raw;
    // [slice][view][bins].
    float *rows;
    // Of each view, in the detector's bins.
    const double *axes;
    // From bins to -1 .. 1 over the overlap, positive towards the detector's larger part.
    double scale;
    // Of a widened row; the one that is the detector's first.
    int bins, first;
    // Weights rise along a line; the outer end goes on beyond the detector.
    int linear, edge;
};
static_assert(sizeof(Halves) == 112);

} // namespace

extern "C" __global__ void __launch_bounds__(TILE) ct_halves(const __grid_constant__ Halves p) {
    const int bin = blockIdx.x * TILE + threadIdx.x, slice = blockIdx.z, last = p.raw.bins - 1;
    if (bin >= p.bins) return;
    int k = bin - p.first;
    const bool outer = p.scale > 0 ? k > last : k < 0;
    const bool seen = k >= 0 && k <= last || outer && p.edge;
    k = min(max(k, 0), last);
    float *row = p.rows + (long long)slice * p.raw.views * p.bins + bin;
    for (int view = blockIdx.y; view < p.raw.views; view += gridDim.y) {
        float value = 0;
        if (seen) {
            integral(p.raw, view, slice, k, value);
            const float u = (float)fmin(fmax((k - p.axes[view]) * p.scale, -1.0), 1.0);
            value *= 1 + (p.linear ? u : 0.5f * u * (3 - u * u));
        }
        row[(long long)view * p.bins] = value;
    }
}
