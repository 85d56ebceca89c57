// Projections voxel by voxel: each thread sums what lies around its own. For kernels of any extent.
#include "finish.cuh"

// Mirrors `Plain` in crates/pet/src/gpu/plain.rs.
struct Plain {
    const float *input;
    // x, y, z.
    const int4 *offsets;
    // [identifier][offset]
    const float *values;
    // [y][x]: identifier first.
    const int2 *map;
    Finish to;
    int nx, ny, nz, column;
    int count;
    // The kernel is that of the data's voxel, taken from its other end.
    int of_data;
};
static_assert(sizeof(Plain) == 112);

extern "C" __global__ void __launch_bounds__(256) plain_gather(const __grid_constant__ Plain p) {
    Sums sums;
    const bool compare = compares(p.to);
    const float less = p.to.what == DISCREPANCY;
    const long long voxels = (long long)p.ny * p.nx * p.nz;
    const float step = p.to.what == RELAX ? *p.to.step : 0;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < voxels; i += gridDim.x * 256ll) {
        const long long cell = i / p.nz;
        const int z = (int)(i - cell * p.nz), y = (int)(cell / p.nx), x = (int)(cell - (long long)y * p.nx);
        const float *own = p.values + (long long)p.map[cell].x * p.count;
        float sum = 0;
        for (int k = 0; k < p.count; k++) {
            const int4 o = p.offsets[k];
            const int u = x + o.x, v = y + o.y, w = z + o.z;
            if ((unsigned)u >= p.nx || (unsigned)v >= p.ny || (unsigned)w >= p.nz) continue;
            const long long there = (long long)v * p.nx + u;
            const float weight =
                p.of_data ? p.values[(long long)p.map[there].x * p.count + p.count - 1 - k] : own[k];
            sum += weight * p.input[there * p.column + w];
        }
        const long long at = cell * p.column + z;
        float *const output = p.to.output + at;
        if (compare) {
            const float a = p.to.factors ? p.to.factors[at] : 1, b = p.to.additive ? p.to.additive[at] : 0;
            *output = compared(sum, less, p.to.measured[at], a, b, INFINITY, sums);
        } else if (p.to.what == RELAX) {
            *output = relaxed(sum, *output, step);
        } else {
            *output = p.to.what == ADD ? *output + sum : sum;
        }
    }
    if (compare) tally(p.to, sums);
}
