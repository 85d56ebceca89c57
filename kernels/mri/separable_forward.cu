// s(m) = sum over voxels r of rho(r) exp(-2 pi i k_m.r), on a grid.
//
// A block holds the folded axis's cos and sin of its samples in registers and multiplies them by one column of the image after
// the other: (samples x cos, sin) times (folded voxels x real and imaginary parts of 16 columns). The products are weighted by the
// second factor and summed; the first factor comes last. In f32 both matrices are split into f16 parts, in f64 they stay whole.
#include "separable.cuh"

// Mirrors `FoldArguments` in crates/mri/src/gpu/separable_forward.rs.
struct ForwardFold {
    Grid grid;
    const void *image;
    // Of the grid's axes.
    long long strides[3];
    // Scale of the image; NULL for 1.
    const float *scale;
    // [block of folded positions][first / 16][second][TILE].
    char *folded;
};
static_assert(sizeof(ForwardFold) == 96);

// Mirrors `FactorArguments` in crates/mri/src/gpu/separable_forward.rs.
struct ForwardFactors {
    Grid grid;
    // [samples][dims], from this piece's first sample on.
    const double *points;
    // [firsts][padded], [seconds][padded].
    void *first, *second;
    long long samples, padded;
};
static_assert(sizeof(ForwardFactors) == 88);

// Mirrors `ProductArguments` in crates/mri/src/gpu/separable_forward.rs.
struct ForwardProduct {
    Grid grid;
    const double *points;
    const char *folded;
    const void *first, *second;
    // [blocks of folded positions][splits][padded].
    void *partials;
    long long samples, padded;
    int splits;
};
static_assert(sizeof(ForwardProduct) == 112);

// Mirrors `FinishArguments` in crates/mri/src/gpu/separable_forward.rs.
struct ForwardFinish {
    const void *partials;
    const float *scale;
    void *data;
    long long samples, padded;
    int count;
};
static_assert(sizeof(ForwardFinish) == 48);

namespace {

constexpr int WARPS = 8, THREADS = 32 * WARPS;
// Columns that are multiplied together: neighbours in the first factor.
constexpr int FIRSTS = 16;

template <typename T> struct Layout {
    static constexpr bool SPLIT = sizeof(T) == 4;
    // A warp's samples, in halves of 8; folded positions of a block.
    static constexpr int ROWS = SPLIT ? 2 : 1, SAMPLES = 16 * ROWS * WARPS, POSITIONS = SPLIT ? 64 : 32;
    static constexpr int TILE = 16384, FACTORS = SAMPLES * 2 * sizeof(T), STAGE = TILE + FACTORS, STAGES = 4;
};

// Where P and Q of a position go, in a tile of 16 columns. In f32 [16 values deep][high, low][4 columns][half of the depth]
// [columns' real, imaginary parts][8 values deep] of f16; a position is two values deep.
__device__ inline void store_fold(char *tile, int position, int column, Complex<float> p, Complex<float> q) {
    char *at = tile + position / 8 * 2048 + column / 4 * 256 + position / 4 % 2 * 128 + column % 4 * 32 + position % 4 * 4;
    unsigned high, low;
    split(p.x, q.x, high, low);
    *(unsigned *)at = high;
    *(unsigned *)(at + 1024) = low;
    split(p.y, q.y, high, low);
    *(unsigned *)(at + 16) = high;
    *(unsigned *)(at + 16 + 1024) = low;
}

// In f64 [4 positions][4 columns][real, imaginary][position][2].
__device__ inline void store_fold(char *tile, int position, int column, Complex<double> p, Complex<double> q) {
    char *at = tile + position / 4 * 2048 + column / 4 * 512 + column % 4 * 128 + position % 4 * 16;
    *(double2 *)at = {p.x, q.x};
    *(double2 *)(at + 64) = {p.y, q.y};
}

// a exp(-i t) + b exp(i t) = P cos t + Q sin t.
template <typename T> __device__ inline void fold(const ForwardFold &p) {
    typedef Layout<T> L;
    const Grid &g = p.grid;
    int positions = g.blocks * L::POSITIONS;
    long long id = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int u = id % positions;
    int i = id / positions % g.firsts, j = id / positions / g.firsts;
    if (j >= g.seconds) return;
    int y = i + FIRSTS * (j % g.period), z = j / g.period;
    Complex<T> a = {0, 0}, b = {0, 0};
    if (u < folded_count(g) && y < g.n[1] && z < g.n[2]) {
        const Complex<T> *row = (const Complex<T> *)p.image + y * p.strides[1] + z * p.strides[2];
        a = row[above(g, u) * p.strides[0]];
        if (below(g, u) != above(g, u)) b = row[below(g, u) * p.strides[0]];
        T scale = p.scale ? *p.scale : 1;
        a.x *= scale, a.y *= scale, b.x *= scale, b.y *= scale;
    }
    long long tile = (u / L::POSITIONS * (g.firsts / FIRSTS) + i / FIRSTS) * (long long)g.seconds + j;
    Complex<T> sum = {a.x + b.x, a.y + b.y}, difference = {a.y - b.y, b.x - a.x};
    store_fold(p.folded + tile * L::TILE, u % L::POSITIONS, i % FIRSTS, sum, difference);
}

template <typename T> __device__ inline void factors(const ForwardFactors &p) {
    const Grid &g = p.grid;
    long long id = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long m = id % p.padded, entry = id / p.padded;
    if (entry >= g.firsts + g.seconds) return;
    Complex<T> v = {0, 0};
    bool is_first = entry < g.firsts;
    if (m < p.samples) {
        const double *point = p.points + m * g.dims;
        v = cycle<T>(-(is_first ? first_phase(g, point, entry) : second_phase(g, point, entry - g.firsts, FIRSTS)));
    }
    if (is_first) ((Complex<T> *)p.first)[entry * p.padded + m] = v;
    else ((Complex<T> *)p.second)[(entry - g.firsts) * p.padded + m] = v;
}

// A warp's folded factors and products with a tile of columns.
template <typename T> struct Product;

template <> struct Product<float> {
    typedef Layout<float> L;
    static constexpr int STEPS = L::POSITIONS / 8;
    unsigned high[STEPS][2][4], low[STEPS][2][4];
    float sums[2][2][2][4];

    // `factor(row, position)`: of 4 samples, 8 apart.
    template <typename F> __device__ void prepare(F factor, int lane) {
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int i = 0; i < 8; i++) {
                Complex<float> v = factor(i / 4 * 2 + i % 2, 8 * s + i % 4 / 2 * 4 + lane % 4);
                split(v.x, v.y, high[s][i / 4][i % 4], low[s][i / 4][i % 4]);
            }
    }

    __device__ void tile(const char *tile, int lane) {
#pragma unroll
        for (int i = 0; i < 32; i++) sums[i / 16][i / 8 % 2][i / 4 % 2][i % 4] = 0;
        const char *at = tile + lane * 16;
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            unsigned b_high[2][4], b_low[2][4];
#pragma unroll
            for (int t = 0; t < 2; t++) {
                load_matrices(b_high[t], at + s * 2048 + t * 512);
                load_matrices(b_low[t], at + s * 2048 + t * 512 + 1024);
            }
            multiply_add<2, 2>(sums, high[s], low[s], b_high, b_low);
        }
    }

    // Of sample row (8 apart) and column 4 t + lane % 4.
    __device__ Complex<float> get(int row, int t) const {
        const float(&c)[4] = sums[t / 2][row / 2][t % 2];
        return row % 2 ? Complex<float>{c[2], c[3]} : Complex<float>{c[0], c[1]};
    }
};

template <> struct Product<double> {
    typedef Layout<double> L;
    static constexpr int STEPS = L::POSITIONS / 4;
    double factors[STEPS][4];
    double sums[4][4];

    template <typename F> __device__ void prepare(F factor, int lane) {
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int row = 0; row < 2; row++) {
                Complex<double> v = factor(row, 4 * s + lane % 4);
                factors[s][row] = v.x, factors[s][2 + row] = v.y;
            }
    }

    __device__ void tile(const char *tile, int lane) {
#pragma unroll
        for (int i = 0; i < 16; i++) sums[i / 4][i % 4] = 0;
        const char *at = tile + lane * 16;
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int t = 0; t < 4; t++) {
                double2 b = *(const double2 *)(at + s * 2048 + t * 512);
                multiply_add(sums[t], factors[s], b.x, b.y);
            }
    }

    __device__ Complex<double> get(int row, int t) const {
        return row ? Complex<double>{sums[t][2], sums[t][3]} : Complex<double>{sums[t][0], sums[t][1]};
    }
};

// c += a b
template <typename C> __device__ inline void accumulate(C &c, C a, C b) {
    c.x = fma(a.x, b.x, fma(-a.y, b.y, c.x));
    c.y = fma(a.x, b.y, fma(a.y, b.x, c.y));
}

// A block: samples of grid x, folded positions of grid y, a part of the columns of grid z.
template <typename T> __device__ inline void product(const ForwardProduct &p) {
    typedef Layout<T> L;
    constexpr int ROWS = 2 * L::ROWS;
    extern __shared__ char shared[];
    const Grid &g = p.grid;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int block = blockIdx.y;
    long long block_sample = blockIdx.x * (long long)L::SAMPLES, sample = block_sample + warp * (8 * ROWS) + lane / 4;

    long long tiles = g.firsts / FIRSTS * (long long)g.seconds;
    int begin = tiles * blockIdx.z / p.splits, end = tiles * (blockIdx.z + 1LL) / p.splits;
    const char *folded = p.folded + block * tiles * L::TILE;
    const char *second = (const char *)p.second + block_sample * (2 * sizeof(T));
    long long second_step = p.padded * (2LL * sizeof(T));

    auto stage = [&](int tile) {
        char *to = shared + tile % L::STAGES * L::STAGE;
        const char *from = folded + tile * (long long)L::TILE, *factors = second + tile % g.seconds * second_step;
#pragma unroll
        for (int c = threadIdx.x * 16; c < L::TILE; c += THREADS * 16) copy16(to + c, from + c);
        for (int c = threadIdx.x * 16; c < L::FACTORS; c += THREADS * 16) copy16(to + L::TILE + c, factors + c);
    };

#pragma unroll
    for (int s = 0; s < L::STAGES - 1; s++) {
        if (begin + s < end) stage(begin + s);
        copies_issued();
    }

    Product<T> products;
    products.prepare(
        [&](int row, int position) {
            long long m = sample + 8 * row;
            Complex<T> v = {0, 0};
            if (m < p.samples) v = cycle<T>(folded_phase(g, p.points + m * g.dims, block * L::POSITIONS + position));
            return v;
        },
        lane);

    // Sums over the second factor, by sample and column; sums over all.
    Complex<T> columns[ROWS][4] = {}, totals[ROWS] = {};
    for (int tile = begin; tile < end; tile++) {
        copies_arrived<L::STAGES - 2>();
        __syncthreads();
        // Into the stage that every thread has finished with.
        if (tile + L::STAGES - 1 < end) stage(tile + L::STAGES - 1);
        copies_issued();
        const char *at = shared + tile % L::STAGES * L::STAGE;
        products.tile(at, lane);
        const Complex<T> *factors = (const Complex<T> *)(at + L::TILE) + warp * (8 * ROWS) + lane / 4;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            Complex<T> factor = factors[8 * row];
#pragma unroll
            for (int t = 0; t < 4; t++) accumulate(columns[row][t], factor, products.get(row, t));
        }
        if (tile + 1 == end || (tile + 1) % g.seconds == 0) {
            const Complex<T> *firsts = (const Complex<T> *)p.first + (tile / g.seconds * FIRSTS + lane % 4) * p.padded + sample;
#pragma unroll
            for (int row = 0; row < ROWS; row++)
#pragma unroll
                for (int t = 0; t < 4; t++) {
                    accumulate(totals[row], firsts[4 * t * p.padded + 8 * row], columns[row][t]);
                    columns[row][t] = {0, 0};
                }
        }
    }

    Complex<T> *partials = (Complex<T> *)p.partials + (block * (long long)p.splits + blockIdx.z) * p.padded + sample;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        Complex<T> v = totals[row];
#pragma unroll
        for (int step = 1; step < 4; step *= 2) {
            v.x += __shfl_xor_sync(~0u, v.x, step);
            v.y += __shfl_xor_sync(~0u, v.y, step);
        }
        if (lane % 4 == 0) partials[8 * row] = v;
    }
}

template <typename T> __device__ inline void finish(const ForwardFinish &p) {
    long long m = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (m >= p.samples) return;
    T scale = p.scale ? 1 / *p.scale : 1;
    Complex<T> sum = sum_partials<T>((const Complex<T> *)p.partials + m, p.padded, p.count);
    ((Complex<T> *)p.data)[m] = {sum.x * scale, sum.y * scale};
}

}  // namespace

#define FORWARD(NAME, T)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) forward_fold_##NAME(const __grid_constant__ ForwardFold p) {        \
        fold<T>(p);                                                                                                       \
    }                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) forward_factors_##NAME(const __grid_constant__ ForwardFactors p) {  \
        factors<T>(p);                                                                                                    \
    }                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                              \
        forward_product_##NAME(const __grid_constant__ ForwardProduct p) {                                                \
        product<T>(p);                                                                                                    \
    }                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) forward_finish_##NAME(const __grid_constant__ ForwardFinish p) {    \
        finish<T>(p);                                                                                                     \
    }
FORWARD(f32, float)
FORWARD(f64, double)
