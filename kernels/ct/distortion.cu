// Frames without the detector's distortion: each pixel is read linearly between four of the measured frame, where `places` of
// crates/ct/src/rows/distortion/mod.rs says.
#include <cuda_runtime.h>

namespace {

constexpr int TILE = 256;

// Mirrors `Distorted` in crates/ct/src/gpu/distortion.rs.
struct Distorted {
    // Transmissions or line integrals, [row][view][bin].
    const float *frames;
    float *to;
    // [view][bins, rows], or NULL.
    const double *shifts;
    // (bin, row); cosine and sine.
    double middle[2], turn[2], centre[2];
    double perspective[8], radial[10];
    // Of the detector.
    int rows, bins, views;
    // The rows that are there, and the first that is wanted.
    int first, count, top;
    // Non-zero: there is a perspective. Coefficients.
    int has_perspective, radial_count;
    // Views of a block.
    int block;
    // Non-zero: `to` are line integrals, of transmissions of at least `minimum`.
    int logarithm;
    float minimum;
    int unused;
};
static_assert(sizeof(Distorted) == 264);

// Where a pixel is read: bin and row of the corner above on the left, and how far from there.
struct Place {
    int bin, row;
    float x, y;
};

__device__ inline Place place(const Distorted &p, double x, double y) {
    const double dx = x - p.middle[0], dy = y - p.middle[1];
    x = p.middle[0] + (dx * p.turn[0] + dy * p.turn[1]), y = p.middle[1] + (dy * p.turn[0] - dx * p.turn[1]);
    if (p.has_perspective) {
        const double *c = p.perspective;
        const double scale = 1 / (c[6] * x + c[7] * y + 1);
        const double u = (c[0] * x + c[1] * y + c[2]) * scale;
        y = (c[3] * x + c[4] * y + c[5]) * scale, x = u;
    }
    if (p.radial_count) {
        const double cx = x - p.centre[0], cy = y - p.centre[1], radius = sqrt(cx * cx + cy * cy);
        double factor = 0;
        for (int k = p.radial_count - 1; k >= 0; k--) factor = factor * radius + p.radial[k];
        x = p.centre[0] + factor * cx, y = p.centre[1] + factor * cy;
    }
    x = fmin(fmax(x, 0.), p.bins - 1.), y = fmin(fmax(y, 0.), p.rows - 1.);
    const double left = floor(x), above = floor(y);
    // Of what is wanted all rows are there.
    const int row = max(0, min((int)above - p.first, p.count - 1));
    return {(int)left, row, (float)(x - left), (float)(y - above)};
}

} // namespace

extern "C" __global__ void __launch_bounds__(TILE) ct_distortion(const __grid_constant__ Distorted p) {
    const int bin = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y;
    const int begin = blockIdx.z * p.block, end = min(begin + p.block, p.views);
    if (bin >= p.bins) return;
    const long long pitch = (long long)p.views * p.bins;
    float *to = p.to + row * pitch + bin;
    Place at;
    if (!p.shifts) at = place(p, bin, p.top + row);
#pragma unroll 4
    for (int view = begin; view < end; view++) {
        if (p.shifts) at = place(p, bin + p.shifts[2 * view], p.top + row + p.shifts[2 * view + 1]);
        const int right = min(at.bin + 1, p.bins - 1) - at.bin;
        const long long below = at.row + 1 < p.count ? pitch : 0;
        const float *from = p.frames + at.row * pitch + (long long)view * p.bins + at.bin;
        const float a = __ldg(from), b = __ldg(from + right), c = __ldg(from + below), d = __ldg(from + below + right);
        const float upper = a + at.x * (b - a), lower = c + at.x * (d - c);
        float value = upper + at.y * (lower - upper);
        if (p.logarithm) value = -logf(fmaxf(value, p.minimum));
        to[(long long)view * p.bins] = value;
    }
}
