// A Hermitian matrix of coils by coils at each voxel, from its Fourier coefficients, and its strongest eigenvectors: what
// crates/mri/src/coils/field.rs and voxels.rs do on the processor, with the same names.
#include "../common/complex.cuh"
#include "../common/each.cuh"

constexpr int WARP = 32;

// Mirrors `RowsArguments` in crates/mri/src/gpu/sensitivities.rs: sums along y of sums along z.
struct Rows {
    // [plane][pair][distance along y][distance along x], each from -reach to reach.
    const Complex<double> *planes;
    // cos and sin of k / ny turns.
    const Complex<double> *turns;
    // [plane][y][pair][distance along x, from 0 on]
    float4 *terms;
    // Terms of all rows.
    long long count;
    int pairs, ny, reach_y, reach_x;
};
static_assert(sizeof(Rows) == 48);

extern "C" __global__ void __launch_bounds__(THREADS) sensitivities_rows_f64(const __grid_constant__ Rows p) {
    each(p.count, [&](long long i) {
        const long long line = i / (p.reach_x + 1), row = line / p.pairs, plane = row / p.ny;
        const int lag = (int)(i - line * (p.reach_x + 1)), y = (int)(row - plane * p.ny), width = 2 * p.reach_x + 1;
        const long long pair = plane * p.pairs + (line - row * p.pairs);
        const Complex<double> *from = p.planes + pair * (2 * p.reach_y + 1) * width + p.reach_x;
        // Turns of distance k at voxel y: k (y - floor(ny / 2)) / ny, of which whole ones go.
        const int step = (y - p.ny / 2 + p.ny) % p.ny;
        int at = (int)((long long)(p.ny - step) * p.reach_y % p.ny);
        Complex<double> v = {0, 0}, w = {0, 0};
        for (int k = 0; k <= 2 * p.reach_y; k++, from += width) {
            const Complex<double> turn = load_constant(p.turns + at);
            v = v + load_constant(from + lag) * turn;
            w = w + load_constant(from - lag) * turn;
            at += step;
            if (at >= p.ny) at -= p.ny;
        }
        // v exp(i a) + w exp(-i a) = (v + w) cos a + i (v - w) sin a
        p.terms[i] = lag == 0 ? make_float4((float)v.x, (float)v.y, 0, 0)
                              : make_float4((float)(v.x + w.x), (float)(v.y + w.y), (float)(w.y - v.y), (float)(v.x - w.x));
    });
}

// Mirrors `VoxelsArguments`.
struct Voxels {
    const float4 *terms;
    // cos and sin of k / nx turns.
    const float2 *turns;
    // Conjugate, one number a coil.
    const float2 *reference;
    // [plane][set][coil][y][x], and [plane][set][y][x] with imaginary parts of 0; NULL: nobody wants them.
    float2 *maps, *values;
    int planes, ny, nx, coils, sets, reach;
    float crop;
    int relative;
};
static_assert(sizeof(Voxels) == 72);

// As in voxels.rs.
constexpr int SQUARINGS = 12;
constexpr float NEAR = 1e-3f, SMALL = 1e-18f, LEAST = 1.17549435e-38f;

// Rows of a warp's lanes, and columns.
constexpr int TALL = 4, WIDE = 8;

// Whose rows begin in different banks.
struct Matrix {
    float2 *at;
    int pitch;
    __device__ float2 &operator()(int row, int column) const { return at[row * pitch + column]; }
};

__device__ inline float total(float v) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(~0u, v, distance);
    return v;
}

// To 2 units in the last place: exact division is a subroutine, around which registers are spilled.
__device__ inline float inverse(float v, float least) { return v > least ? __fdividef(1, v) : 0; }
__device__ inline float inverse_root(float v) { return v > LEAST ? rsqrtf(v) : 0; }

// sum + a b
__device__ inline float2 add_product(float2 a, float2 b, float2 sum) {
    return {fmaf(-a.y, b.y, fmaf(a.x, b.x, sum.x)), fmaf(a.y, b.x, fmaf(a.x, b.y, sum.y))};
}

// to = factor from from, and its trace. Both have rows and columns up to a multiple of WIDE, of which only the coils' mean something.
__device__ inline float square(Matrix from, Matrix to, int coils, float factor) {
    const int lane = threadIdx.x % WARP;
    float trace = 0;
    for (int row = 0; row < coils; row += 2 * TALL) {
        const int i = row + lane / WIDE, l = i + TALL;
        for (int j = lane % WIDE; j - lane % WIDE < coils; j += WIDE) {
            float2 above = {0, 0}, below = {0, 0};
            for (int k = 0; k < coils; k++) {
                const float2 b = from(k, j);
                above = add_product(from(i, k), b, above);
                below = add_product(from(l, k), b, below);
            }
            if (i == j) above.y = 0;
            if (l == j) below.y = 0;
            above = {above.x * factor, above.y * factor}, below = {below.x * factor, below.y * factor};
            to(i, j) = above, to(l, j) = below;
            if (i == j && i < coils) trace += above.x;
            if (l == j && l < coils) trace += below.x;
        }
    }
    __syncwarp();
    return total(trace);
}

// The matrix of a voxel; lanes take pairs of coils.
__device__ inline void build(const Voxels &p, const ushort2 *pairs, unsigned row, int x, Matrix g) {
    const int lane = threadIdx.x % WARP, count = p.coils * (p.coils + 1) / 2;
    const int step = (x - p.nx / 2 + p.nx) % p.nx;
    for (int pair = lane; pair < count; pair += WARP) {
        const float4 *terms = p.terms + ((long long)row * count + pair) * (p.reach + 1);
        const float4 middle = __ldg(terms);
        float re = middle.x, im = middle.y;
        int at = 0;
        for (int k = 1; k <= p.reach; k++) {
            at += step;
            if (at >= p.nx) at -= p.nx;
            const float4 term = __ldg(terms + k);
            const float2 turn = __ldg(p.turns + at);
            re = fmaf(term.x, turn.x, fmaf(term.z, turn.y, re));
            im = fmaf(term.y, turn.x, fmaf(term.w, turn.y, im));
        }
        const int c = pairs[pair].x, d = pairs[pair].y;
        if (c == d) im = 0;
        g(c, d) = {re, im};
        g(d, c) = {re, -im};
    }
    __syncwarp();
}

// Whether an eigenvalue may be above: the root of the sum of their squares is, but for rounding.
__device__ inline bool may_be_above(Matrix g, int coils, float scale, float crop) {
    const int lane = threadIdx.x % WARP;
    float sum = 0;
    if (lane < coils)
        for (int d = 0; d < coils; d++) sum = fmaf(g(lane, d).x, g(lane, d).x, fmaf(g(lane, d).y, g(lane, d).y, sum));
    return total(sum) * scale * scale >= crop * crop * (1 - 1e-5f);
}

// The strongest eigenvector of g becomes number `set` of `found` [set][coil] and is taken away from g; its eigenvalue. Lane c has what is of
// coil c.
__device__ inline float strongest(Matrix g, Matrix a, Matrix b, float2 *found, int set, int coils) {
    const int lane = threadIdx.x % WARP;
    const bool own = lane < coils;
    float factor = inverse(total(own ? g(lane, lane).x : 0), SMALL);
    // Relative to the square of the last one's trace: 1 if it was of one vector alone.
    float trace = square(g, a, coils, factor * factor);
    for (int k = 0; k < SQUARINGS; k++) {
        factor = inverse(trace, SMALL);
        trace = square(a, b, coils, factor * factor);
        float2 *other = a.at;
        a.at = b.at, b.at = other;
        if (trace > 1 - NEAR || factor == 0) break;
    }
    // Any column is the vector: the one with the largest diagonal has it best.
    float largest = own ? fmaxf(a(lane, lane).x, 0) : -1;
    int column = lane;
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const float other = __shfl_xor_sync(~0u, largest, distance);
        const int at = __shfl_xor_sync(~0u, column, distance);
        if (other > largest || (other == largest && at < column)) largest = other, column = at;
    }
    const float2 v = own ? a(lane, column) : float2{0, 0};
    // One more product with the matrix itself, which is not rounded as often: its length is the eigenvalue.
    float2 w = {0, 0};
    for (int d = 0; d < coils; d++) {
        const float2 other = {__shfl_sync(~0u, v.x, d), __shfl_sync(~0u, v.y, d)};
        if (own) w = add_product(g(lane, d), other, w);
    }
    const float product = total(fmaf(w.x, v.x, w.y * v.y)), length = total(fmaf(v.x, v.x, v.y * v.y));
    const float eigenvalue = product * inverse(length, LEAST);
    // At right angles with those before, which rounding and neighbouring eigenvalues blur.
    for (int before = 0; before < set; before++) {
        const float2 u = own ? found[before * coils + lane] : float2{0, 0};
        const float re = total(fmaf(u.x, w.x, u.y * w.y)), im = total(fmaf(u.x, w.y, -u.y * w.x));
        w = add_product(u, {-re, -im}, w);
    }
    factor = inverse_root(total(fmaf(w.x, w.x, w.y * w.y)));
    w = {w.x * factor, w.y * factor};
    if (own) found[set * coils + lane] = w;
    const float2 strong = {-eigenvalue * w.x, -eigenvalue * w.y};
    for (int d = 0; d < coils; d++) {
        const float2 other = {__shfl_sync(~0u, w.x, d), -__shfl_sync(~0u, w.y, d)};
        if (own) g(lane, d) = add_product(strong, other, g(lane, d));
    }
    __syncwarp();
    return eigenvalue;
}

// A warp a voxel; warps of a block are neighbours along x. At most 32 coils, and 2^30 voxels.
extern "C" __global__ void __launch_bounds__(THREADS, 4) sensitivities_voxels(const __grid_constant__ Voxels p) {
    extern __shared__ float2 shared[];
    const int coils = p.coils, count = coils * (coils + 1) / 2, side = (coils + WIDE - 1) / WIDE * WIDE, size = side * (side + 1);
    // (c, d) of each pair, c at most d.
    ushort2 *pairs = reinterpret_cast<ushort2 *>(shared);
    for (int pair = threadIdx.x; pair < count; pair += blockDim.x) {
        int c = 0, rest = pair;
        for (; rest >= coils - c; c++) rest -= coils - c;
        pairs[pair] = {(unsigned short)c, (unsigned short)(c + rest)};
    }
    __syncthreads();
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    float2 *own = shared + (count + 1) / 2 + warp * (3 * size + p.sets * (coils + 1));
    const Matrix g = {own, side + 1}, a = {own + size, side + 1}, b = {own + 2 * size, side + 1};
    // [set][coil], and eigenvalues.
    float2 *found = own + 3 * size, *eigenvalues = found + p.sets * coils;
    const float2 reference = lane < coils ? p.reference[lane] : float2{0, 0};
    const unsigned plane_voxels = (unsigned)p.ny * p.nx, voxels = p.planes * plane_voxels;
    for (unsigned i = blockIdx.x * warps + warp; i < voxels; i += gridDim.x * warps) {
        const unsigned row = i / p.nx, plane = row / p.ny, at = i - plane * plane_voxels;
        build(p, pairs, row, (int)(i - row * p.nx), g);
        float scale = 1;
        if (p.relative) scale = inverse(total(lane < coils ? g(lane, lane).x : 0), SMALL);
        const bool skip = p.crop > 0 && !p.values && !may_be_above(g, coils, scale, p.crop);
        for (int set = 0; set < p.sets; set++) {
            float eigenvalue = 0;
            if (!skip) eigenvalue = strongest(g, a, b, found, set, coils) * scale;
            if (lane == 0) eigenvalues[set].x = eigenvalue;
        }
        __syncwarp();
        for (int set = 0; set < p.sets; set++) {
            const float eigenvalue = eigenvalues[set].x;
            // Two of nearly the same eigenvalue may have come the other way round.
            int rank = 0;
            for (int other = 0; other < p.sets; other++) {
                const float value = eigenvalues[other].x;
                rank += value > eigenvalue || (value == eigenvalue && other < set);
            }
            float2 v = {0, 0};
            if (!skip && lane < coils) v = found[set * coils + lane];
            const float2 product = add_product(reference, v, {0, 0});
            const float re = total(product.x), im = total(product.y), size = inverse_root(fmaf(re, re, im * im));
            float2 turn = size > 0 ? float2{re * size, -im * size} : float2{1, 0};
            if (eigenvalue < p.crop) turn = {0, 0};
            const long long first = (long long)plane * p.sets + rank;
            if (lane < coils) p.maps[(first * coils + lane) * plane_voxels + at] = add_product(v, turn, {0, 0});
            if (lane == 0 && p.values) p.values[first * plane_voxels + at] = {eigenvalue, 0};
        }
        __syncwarp();
    }
}
