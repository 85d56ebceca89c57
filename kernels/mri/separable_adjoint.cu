// b(r) = sum over samples m of w_m d_m exp(+2 pi i k_m.r), on a grid.
//
// Rows are columns' values w d exp(2 pi i (phase of the column)), made in registers from two tables as they are needed, real and
// imaginary parts 8 rows apart; they are multiplied by the folded axis's cos and sin: (rows x samples) times (samples x cos, sin).
// In f32 both matrices are split into f16 parts, in f64 they stay whole.
#include "separable.cuh"

// Mirrors `FactorArguments` in crates/mri/src/gpu/separable_adjoint.rs.
struct AdjointFactors {
    Grid grid;
    // [samples][dims], from this piece's first sample on, as the next two are.
    const double *points;
    // Real, or NULL for ones; complex.
    const void *weights, *data;
    // Scale of the data; NULL for 1.
    const float *scale;
    // Tables of the piece, by groups of 16 samples.
    char *folded, *first, *second;
    long long samples;
    int groups;
};
static_assert(sizeof(AdjointFactors) == 120);

// Mirrors `ProductArguments` in crates/mri/src/gpu/separable_adjoint.rs.
struct AdjointProduct {
    Grid grid;
    const char *folded, *first, *second;
    // [splits][n[2]][n[1]][n[0]].
    void *partials;
    int groups, splits;
    // Adds to the partial sums instead of replacing them.
    int accumulate;
};
static_assert(sizeof(AdjointProduct) == 96);

// Mirrors `FinishArguments` in crates/mri/src/gpu/separable_adjoint.rs.
struct AdjointFinish {
    const void *partials;
    const float *scale;
    void *image;
    // Of the image, by partial sums' axes.
    long long strides[3];
    int n[3];
    int splits;
};
static_assert(sizeof(AdjointFinish) == 64);

namespace {

constexpr int WARPS = 8, THREADS = 32 * WARPS;
// A block's columns: first factors, and second factors, of which a warp has two.
constexpr int FIRSTS = 8, SECONDS = 2 * WARPS;

template <typename T> struct Layout {
    static constexpr bool SPLIT = sizeof(T) == 4;
    // Folded positions of a block: cos and sin make tiles of 8 values.
    static constexpr int POSITIONS = SPLIT ? 32 : 16, TILES = POSITIONS / 4;
    // Bytes for 16 samples: folded factors of a block; 8 first or second factors, as 16-byte pieces of
    // [real, imaginary][piece][factor][quarter of the samples].
    static constexpr int FOLDED = 4096, PIECES = sizeof(T) / 4, FACTORS = 1024 * PIECES;
    static constexpr int GROUP = FOLDED + 3 * FACTORS;
    // Groups of 16 samples that are copied together, and how many such sets are in shared memory.
    static constexpr int GROUPS = SPLIT ? 4 : 2, STAGES = SPLIT ? 3 : 4;
    // Stages after which sums in tensor cores, which cut off instead of rounding, go to rounded sums: 256 samples.
    static constexpr int KEEP = 4;
};

__device__ inline void store_factors(char *table, int factor, int quarter, const Complex<float> (&v)[4]) {
    char *at = table + factor * 64 + quarter * 16;
    *(float4 *)at = {v[0].x, v[1].x, v[2].x, v[3].x};
    *(float4 *)(at + 512) = {v[0].y, v[1].y, v[2].y, v[3].y};
}

__device__ inline void store_factors(char *table, int factor, int quarter, const Complex<double> (&v)[4]) {
    char *at = table + factor * 64 + quarter * 16;
    *(double2 *)at = {v[0].x, v[1].x};
    *(double2 *)(at + 512) = {v[2].x, v[3].x};
    *(double2 *)(at + 1024) = {v[0].y, v[1].y};
    *(double2 *)(at + 1536) = {v[2].y, v[3].y};
}

__device__ inline void load_factors(const char *at, float (&re)[4], float (&im)[4]) {
    float4 a = *(const float4 *)at, b = *(const float4 *)(at + 512);
    re[0] = a.x, re[1] = a.y, re[2] = a.z, re[3] = a.w;
    im[0] = b.x, im[1] = b.y, im[2] = b.z, im[3] = b.w;
}

__device__ inline void load_factors(const char *at, double (&re)[4], double (&im)[4]) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
        double2 a = *(const double2 *)(at + 512 * h), b = *(const double2 *)(at + 1024 + 512 * h);
        re[2 * h] = a.x, re[2 * h + 1] = a.y, im[2 * h] = b.x, im[2 * h + 1] = b.y;
    }
}

// Folded factors: [high, low][tile][half of the depth][8 values][8 samples] of f16. Depth 2 q + {0, 1, 8, 9} of a product is
// samples 4 q + {0, 1, 2, 3}, so that a thread needs four in a row.
__device__ inline void store_folded(char *table, int position, int quarter, const Complex<float> (&v)[4]) {
    char *at = table + position / 4 * 256 + position % 4 * 32 + quarter * 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        Complex<float> a = v[2 * half], b = v[2 * half + 1];
        unsigned high, low;
        split(a.x, b.x, high, low);
        *(unsigned *)(at + half * 128) = high;
        *(unsigned *)(at + half * 128 + 2048) = low;
        split(a.y, b.y, high, low);
        *(unsigned *)(at + half * 128 + 16) = high;
        *(unsigned *)(at + half * 128 + 16 + 2048) = low;
    }
}

// In f64: [tile][half][8 values][quarter][2 samples].
__device__ inline void store_folded(char *table, int position, int quarter, const Complex<double> (&v)[4]) {
    char *at = table + position / 4 * 1024 + position % 4 * 128 + quarter * 16;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        Complex<double> a = v[2 * half], b = v[2 * half + 1];
        *(double2 *)(at + half * 512) = {a.x, b.x};
        *(double2 *)(at + half * 512 + 64) = {a.y, b.y};
    }
}

// A thread makes one factor of four samples.
template <typename T> __device__ inline void factors(const AdjointFactors &p) {
    typedef Layout<T> L;
    const Grid &g = p.grid;
    int folded = g.blocks * L::POSITIONS, entries = folded + g.firsts + g.seconds;
    long long id = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    int quarter = id % 4, entry = id / 4 % entries;
    long long group = id / 4 / entries;
    if (group >= p.groups) return;
    bool is_folded = entry < folded, is_first = !is_folded && entry < folded + g.firsts;
    int index = is_folded ? entry : is_first ? entry - folded : entry - folded - g.firsts;
    Complex<T> v[4];
    for (int s = 0; s < 4; s++) {
        long long m = group * 16 + quarter * 4 + s;
        v[s] = {0, 0};
        if (m >= p.samples) continue;
        const double *point = p.points + m * g.dims;
        if (is_folded) {
            v[s] = cycle<T>(folded_phase(g, point, index));
        } else if (is_first) {
            Complex<T> d = ((const Complex<T> *)p.data)[m];
            T scale = p.scale ? *p.scale : 1;
            if (p.weights) scale *= ((const T *)p.weights)[m];
            d.x *= scale, d.y *= scale;
            v[s] = d * cycle<T>(first_phase(g, point, index));
        } else {
            v[s] = cycle<T>(second_phase(g, point, index, FIRSTS));
        }
    }
    if (is_folded) {
        long long block = group * g.blocks + index / L::POSITIONS;
        store_folded(p.folded + block * L::FOLDED, index % L::POSITIONS, quarter, v);
    } else {
        long long block = is_first ? group * (g.firsts / 8) + index / 8 : group * (g.seconds / 8) + index / 8;
        store_factors((is_first ? p.first : p.second) + block * L::FACTORS, index % 8, quarter, v);
    }
}

// A warp's sums: rows of two second factors by the values of a block.
template <typename T> struct Sums;

template <> struct Sums<float> {
    typedef Layout<float> L;
    float sums[L::TILES / 2][2][2][4], totals[L::TILES / 2][2][2][4];

    __device__ void clear() {
#pragma unroll
        for (int t = 0; t < L::TILES / 2; t++)
#pragma unroll
            for (int i = 0; i < 16; i++) sums[t][i / 8][i / 4 % 2][i % 4] = totals[t][i / 8][i / 4 % 2][i % 4] = 0;
    }

    __device__ void keep() {
#pragma unroll
        for (int t = 0; t < L::TILES / 2; t++)
#pragma unroll
            for (int i = 0; i < 16; i++) {
                totals[t][i / 8][i / 4 % 2][i % 4] += sums[t][i / 8][i / 4 % 2][i % 4];
                sums[t][i / 8][i / 4 % 2][i % 4] = 0;
            }
    }

    // 16 samples of the rows.
    struct Rows {
        unsigned high[2][4], low[2][4];

        __device__ void put(int m, const float (&re)[4], const float (&im)[4]) {
            split(re[0], re[1], high[m][0], low[m][0]);
            split(im[0], im[1], high[m][1], low[m][1]);
            split(re[2], re[3], high[m][2], low[m][2]);
            split(im[2], im[3], high[m][3], low[m][3]);
        }
    };

    // Times the folded factors in shared memory.
    __device__ void add(const Rows &rows, const char *folded, int lane) {
        const char *at = folded + lane * 16;
#pragma unroll
        for (int t = 0; t < L::TILES / 2; t += 2) {
            unsigned b_high[2][4], b_low[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load_matrices(b_high[i], at + (t + i) * 512);
                load_matrices(b_low[i], at + (t + i) * 512 + 2048);
            }
            multiply_add<2, 2>(sums + t, rows.high, rows.low, b_high, b_low);
        }
    }

    // Tile t of the row pair m: cos and sin times real, then imaginary part.
    __device__ const float (&get(int m, int t) const)[4] { return totals[t / 2][m][t % 2]; }
};

template <> struct Sums<double> {
    typedef Layout<double> L;
    double sums[2][L::TILES][4];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < 2 * L::TILES * 4; i++) sums[i / (L::TILES * 4)][i / 4 % L::TILES][i % 4] = 0;
    }

    __device__ void keep() {}

    struct Rows {
        double re[2][4], im[2][4];

        __device__ void put(int m, const double (&new_re)[4], const double (&new_im)[4]) {
#pragma unroll
            for (int k = 0; k < 4; k++) re[m][k] = new_re[k], im[m][k] = new_im[k];
        }
    };

    __device__ void add(const Rows &rows, const char *folded, int lane) {
        const char *at = folded + lane * 16;
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int t = 0; t < L::TILES; t++) {
                double2 b = *(const double2 *)(at + t * 1024 + half * 512);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    const double a[4] = {rows.re[m][2 * half], rows.im[m][2 * half], rows.re[m][2 * half + 1],
                                         rows.im[m][2 * half + 1]};
                    multiply_add(sums[m][t], a, b.x, b.y);
                }
            }
    }

    __device__ const double (&get(int m, int t) const)[4] { return sums[m][t]; }
};

// A warp's rows for a group of 16 samples in shared memory.
template <typename T> __device__ inline void make_rows(typename Sums<T>::Rows &rows, const char *group, int warp, int lane) {
    typedef Layout<T> L;
    const char *firsts = group + L::FOLDED + lane * 16;
    const char *seconds = group + L::FOLDED + L::FACTORS * (1 + warp / 4) + warp % 4 * 128 + lane % 4 * 16;
    T first_re[4], first_im[4];
    load_factors(firsts, first_re, first_im);
#pragma unroll
    for (int m = 0; m < 2; m++) {
        T second_re[4], second_im[4], re[4], im[4];
        load_factors(seconds + m * 64, second_re, second_im);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            re[k] = fma(first_re[k], second_re[k], -first_im[k] * second_im[k]);
            im[k] = fma(first_re[k], second_im[k], first_im[k] * second_re[k]);
        }
        rows.put(m, re, im);
    }
}

// A block: 8 first factors, 16 second factors, a block of folded positions; grid y splits the samples.
template <typename T> __device__ inline void product(const AdjointProduct &p) {
    typedef Layout<T> L;
    extern __shared__ char shared[];
    const Grid &g = p.grid;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int block = blockIdx.x % g.blocks, columns = blockIdx.x / g.blocks;
    int first = columns % (g.firsts / FIRSTS) * FIRSTS, second = columns / (g.firsts / FIRSTS) * SECONDS;

    int stages = p.groups / L::GROUPS;
    int begin = stages * (long long)blockIdx.y / p.splits, end = stages * (blockIdx.y + 1LL) / p.splits;
    const char *folded_table = p.folded + block * L::FOLDED;
    const char *first_table = p.first + first / 8 * L::FACTORS;
    const char *second_table = p.second + second / 8 * L::FACTORS;
    long long folded_step = g.blocks * (long long)L::FOLDED;
    long long first_step = g.firsts / 8 * (long long)L::FACTORS, second_step = g.seconds / 8 * (long long)L::FACTORS;

    auto stage = [&](int index) {
        char *to = shared + index % L::STAGES * (L::GROUPS * L::GROUP);
        constexpr int COPIES = L::GROUP / 16;
        for (int c = threadIdx.x; c < L::GROUPS * COPIES; c += THREADS) {
            long long group = (long long)index * L::GROUPS + c / COPIES;
            int offset = c % COPIES * 16;
            const char *from;
            if (offset < L::FOLDED) from = folded_table + group * folded_step + offset;
            else if (offset < L::FOLDED + L::FACTORS) from = first_table + group * first_step + (offset - L::FOLDED);
            else from = second_table + group * second_step + (offset - L::FOLDED - L::FACTORS);
            copy16(to + c * 16, from);
        }
    };

    Sums<T> sums;
    sums.clear();
#pragma unroll
    for (int s = 0; s < L::STAGES - 1; s++) {
        if (begin + s < end) stage(begin + s);
        copies_issued();
    }
    for (int s = begin; s < end; s++) {
        copies_arrived<L::STAGES - 2>();
        __syncthreads();
        // Into the set that every thread has finished with.
        if (s + L::STAGES - 1 < end) stage(s + L::STAGES - 1);
        copies_issued();
        const char *set = shared + s % L::STAGES * (L::GROUPS * L::GROUP);
        // The next rows are made while products with these are under way.
        typename Sums<T>::Rows rows[2];
        make_rows<T>(rows[0], set, warp, lane);
#pragma unroll
        for (int group = 0; group < L::GROUPS; group++) {
            const char *at = set + group * L::GROUP;
            if (group + 1 < L::GROUPS) make_rows<T>(rows[(group + 1) % 2], at + L::GROUP, warp, lane);
            sums.add(rows[group % 2], at, lane);
        }
        if ((s - begin) % L::KEEP == L::KEEP - 1) sums.keep();
    }
    sums.keep();

    int i = first + lane / 4;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        int j = second + 2 * warp + m;
        int y = i + FIRSTS * (j % g.period), z = j / g.period;
        if (y >= g.n[1] || z >= g.n[2]) continue;
        Complex<T> *row = (Complex<T> *)p.partials + ((blockIdx.y * (long long)g.n[2] + z) * g.n[1] + y) * g.n[0];
        auto put = [&](int x, T re, T im) {
            Complex<T> old = {0, 0};
            if (p.accumulate) old = row[x];
            row[x] = {old.x + re, old.y + im};
        };
#pragma unroll
        for (int t = 0; t < L::TILES; t++) {
            int u = block * L::POSITIONS + 4 * t + lane % 4;
            if (u >= folded_count(g)) continue;
            // cos re, sin re, cos im, sin im: sums C and S; C + i S and C - i S.
            const T(&c)[4] = sums.get(m, t);
            put(above(g, u), c[0] - c[3], c[2] + c[1]);
            if (below(g, u) != above(g, u)) put(below(g, u), c[0] + c[3], c[2] - c[1]);
        }
    }
}

template <typename T> __device__ inline void finish(const AdjointFinish &p) {
    long long count = (long long)p.n[0] * p.n[1] * p.n[2];
    T scale = p.scale ? 1 / *p.scale : 1;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < count; at += gridDim.x * (long long)blockDim.x) {
        Complex<T> sum = sum_partials<T>((const Complex<T> *)p.partials + at, count, p.splits);
        long long x = at % p.n[0], y = at / p.n[0] % p.n[1], z = at / p.n[0] / p.n[1];
        ((Complex<T> *)p.image)[x * p.strides[0] + y * p.strides[1] + z * p.strides[2]] = {sum.x * scale, sum.y * scale};
    }
}

}  // namespace

#define ADJOINT(NAME, T)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) adjoint_factors_##NAME(const __grid_constant__ AdjointFactors p) {  \
        factors<T>(p);                                                                                                    \
    }                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                              \
        adjoint_product_##NAME(const __grid_constant__ AdjointProduct p) {                                                \
        product<T>(p);                                                                                                    \
    }                                                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) adjoint_finish_##NAME(const __grid_constant__ AdjointFinish p) {    \
        finish<T>(p);                                                                                                     \
    }
ADJOINT(f32, float)
ADJOINT(f64, double)
