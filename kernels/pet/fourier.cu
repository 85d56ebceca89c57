// Projections by Fourier transforms along x and y; along z, where kernels are short, sums stay sums, of a few planes for each
// frequency. Two rows of voxels make one complex line. Neighbours along z are neighbours in memory throughout, so that a block
// transforms a few lines side by side.
#include "../common/fft_lines.cuh"
#include "finish.cuh"

typedef Complex<float> Number;

// Mirrors `Arguments` in crates/pet/src/gpu/fourier.rs.
struct Fourier {
    FftLine line;
    // A volume, or frequencies.
    const void *from;
    void *to;
    // [kx][ky][float]: of the planes at distance 0 real, at 1 real and imaginary, ...; or of all from -reach on.
    const float *spectrum;
    // Of each identifier, and [y][x] identifiers; NULL: all are 1.
    const float *coefficients;
    const int *map;
    // Room for sums of some terms.
    float *between;
    // From one term to the next, of `from`, `to` and `spectrum`, in their elements; 0: all have the same. `blockIdx.y` is the first of the
    // `terms` that a block adds up.
    long long from_term, to_term, spectrum_term;
    // Largest size that each block of the first step read, and the sum of all; NULL: not asked for.
    float2 *peaks;
    int peak_count;
    // Least size of a projection's values, next to the largest that its input can give, that is not rounding; of the terms, the largest
    // size of a value over the sum of all.
    float floor, concentration;
    Finish finish;
    int nx, ny, nz, column;
    // Lengths of the transforms.
    int long_x, long_y;
    int reach, floats, even, transposed;
    int terms;
    // Of a term's coefficients.
    int identifiers;
    // Non-zero: to what earlier launches gave; and these terms are not the last.
    int add, goes_on;
    int width, log_width, chunks;
    // To divide by the width.
    unsigned by_width;
};
static_assert(sizeof(Fourier) == 392);

struct Block {
    // Row pair or kx, the first of its lines, and a term.
    int outer, z, term;

    __device__ explicit Block(const Fourier &p) {
        outer = blockIdx.x / p.chunks;
        z = (blockIdx.x - outer * p.chunks) * p.width;
        term = blockIdx.y;
    }
};

template <class Load, class Store> __device__ inline void transform(const Fourier &p, const Load &load, const Store &store) {
    fft_transform<float>(p.line, FftLines<false>{p.width, p.log_width, p.line.length}, load, store);
}

__device__ inline float coefficient(const Fourier &p, int term, int cell) {
    return p.map ? p.coefficients[(long long)term * p.identifiers + p.map[cell]] : 1;
}

// Sizes of values: the largest, and the sum.
struct Peak {
    float largest = 0, sum = 0;

    __device__ inline void add(float2 other) {
        largest = fmaxf(largest, other.x);
        sum += other.y;
    }
};

__device__ inline Peak block_peak(Peak v) {
    __shared__ float2 warps[32];
    for (int step = 16; step; step /= 2) {
        v.add({__shfl_xor_sync(~0u, v.largest, step), __shfl_xor_sync(~0u, v.sum, step)});
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = {v.largest, v.sum};
    __syncthreads();
    Peak all;
    for (int w = 0; w < (blockDim.x + 31) / 32; w++) all.add(warps[w]);
    return all;
}

// Voxels of two rows to frequencies [kx][pair][z].
struct RowsThere {
    const Fourier &p;
    Block at;
    mutable Peak peak = {};

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line, y = 2 * at.outer;
        const float *rows = static_cast<const float *>(p.from) + (long long)y * p.nx * p.column + z;
        const bool both = y + 1 < p.ny;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int x = position + r * stride;
            v[r] = {0, 0};
            if (x < p.nx && z < p.nz) {
                const float *voxel = rows + (long long)x * p.column;
                const float one = *voxel, other = both ? voxel[(long long)p.nx * p.column] : 0;
                // Of the input itself, whichever term.
                peak.add({fmaxf(fabsf(one), fabsf(other)), fabsf(one) + fabsf(other)});
                v[r].x = one * coefficient(p, at.term, y * p.nx + x);
                if (both) v[r].y = other * coefficient(p, at.term, (y + 1) * p.nx + x);
            }
        }
    }
};

struct StoreRows {
    const Fourier &p;
    Block at;

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line, pairs = (p.ny + 1) / 2;
        if (z >= p.nz) return;
        Number *to = static_cast<Number *>(p.to) + at.term * p.to_term + z;
#pragma unroll
        for (int r = 0; r < R; r++) to[((long long)(position + r * stride) * pairs + at.outer) * p.column] = v[r];
    }
};

extern "C" __global__ void __launch_bounds__(320, 3) fourier_rows_there(const __grid_constant__ Fourier p) {
    const Block at(p);
    const RowsThere load = {p, at};
    transform(p, load, StoreRows{p, at});
    // The same of all terms.
    if (p.peaks && blockIdx.y == 0) {
        const Peak peak = block_peak(load.peak);
        if (threadIdx.x == 0) p.peaks[blockIdx.x] = {peak.largest, peak.sum};
    }
}

// Frequencies of two rows' sum, parted, to [kx][ky][z], twice what they are.
struct LoadPairs {
    const Fourier &p;
    Block at;

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line, pairs = (p.ny + 1) / 2, mirror = at.outer ? p.long_x - at.outer : 0;
        const Number *from = static_cast<const Number *>(p.from) + at.term * p.from_term + z;
        const long long here = (long long)at.outer * pairs, there = (long long)mirror * pairs;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int y = position + r * stride;
            v[r] = {0, 0};
            if (y < p.ny && z < p.nz) {
                const Number a = load_constant(from + (here + y / 2) * p.column), b = load_constant(from + (there + y / 2) * p.column);
                v[r] = y % 2 ? Number{a.y + b.y, b.x - a.x} : Number{a.x + b.x, a.y - b.y};
            }
        }
    }
};

struct StoreFrequencies {
    const Fourier &p;
    Block at;

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line;
        if (z >= p.nz) return;
        Number *to = static_cast<Number *>(p.to) + at.term * p.to_term + (long long)at.outer * p.long_y * p.column + z;
#pragma unroll
        for (int r = 0; r < R; r++) to[(long long)(position + r * stride) * p.column] = v[r];
    }
};

extern "C" __global__ void __launch_bounds__(320, 3) fourier_columns_there(const __grid_constant__ Fourier p) {
    const Block at(p);
    transform(p, LoadPairs{p, at}, StoreFrequencies{p, at});
}

// The product with the spectrum, to [kx][y][z]: of frequencies in global memory, or of the block's own in shared memory, [ky][z].
enum Products { OF_SHARED, OF_TERM, OF_TERMS };
template <Products OF> struct LoadProducts {
    static constexpr bool SHARED = OF == OF_SHARED;

    const Fourier &p;
    Block at;
    const Number *frequencies;

    __device__ inline Number get(const Number *from) const {
        if (SHARED) return *from;
        return load_constant(from);
    }

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const long long first = (long long)at.outer * p.long_y + position;
        const Number *from = frequencies + (SHARED ? position * p.width : first * p.column) + at.z + line;
        const float *w = p.spectrum + (SHARED ? 0 : at.term * p.spectrum_term) + first * p.floats;
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = {0, 0};
        if (at.z + line < p.nz) {
#pragma unroll 1
            for (int t = 0; t < (OF == OF_TERMS ? p.terms : 1); t++, from += p.from_term, w += p.spectrum_term) {
                add<R>(v, at.z + line, stride, from, w);
            }
        }
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = conj(v[r]);
    }

    // A term. Distances outside, so that all of a butterfly's elements are on the way at once.
    template <int R> __device__ inline void add(Number *v, int z, int stride, const Number *from, const float *w) const {
        const int step = stride * (SHARED ? p.width : p.column), w_step = stride * p.floats;
        const Number zero = {0, 0};
        if (p.even) {
#pragma unroll
            for (int r = 0; r < R; r++) v[r] = v[r] + get(from + r * step) * __ldg(w + r * w_step);
#pragma unroll 1
            for (int d = 1; d <= p.reach; d++) {
                const bool down = z >= d, up = z + d < p.nz;
#pragma unroll
                for (int r = 0; r < R; r++) {
                    const Number below = down ? get(from + r * step - d) : zero, above = up ? get(from + r * step + d) : zero;
                    const float re = __ldg(w + r * w_step + 2 * d - 1), im = __ldg(w + r * w_step + 2 * d);
                    v[r].x += (below.x + above.x) * re - (below.y - above.y) * im;
                    v[r].y += (below.y + above.y) * re + (below.x - above.x) * im;
                }
            }
        } else {
#pragma unroll 1
            for (int d = -p.reach; d <= p.reach; d++, w += 2) {
                // The transpose takes the complex conjugate, from the other side.
                const int there = p.transposed ? d : -d;
                const float sign = p.transposed ? -1 : 1;
                if ((unsigned)(z + there) >= p.nz) continue;
#pragma unroll
                for (int r = 0; r < R; r++) {
                    v[r] = v[r] + get(from + r * step + there) * Number{__ldg(w + r * w_step), sign * __ldg(w + r * w_step + 1)};
                }
            }
        }
    }
};

struct StoreColumns {
    const Fourier &p;
    Block at;

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line;
        if (z >= p.nz) return;
        Number *to = static_cast<Number *>(p.to) + at.term * p.to_term + (long long)at.outer * p.ny * p.column + z;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int y = position + r * stride;
            if (y >= p.ny) continue;
            Number *const there = to + (long long)y * p.column;
            *there = p.add ? *there + conj(v[r]) : conj(v[r]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(320, 2) fourier_columns_back(const __grid_constant__ Fourier p) {
    const Block at(p);
    transform(p, LoadProducts<OF_TERM>{p, at, static_cast<const Number *>(p.from)}, StoreColumns{p, at});
}

// The sum of some terms.
extern "C" __global__ void __launch_bounds__(320, 2) fourier_columns_sum(const __grid_constant__ Fourier p) {
    const Block at(p);
    transform(p, LoadProducts<OF_TERMS>{p, at, static_cast<const Number *>(p.from)}, StoreColumns{p, at});
}

struct KeepFrequencies {
    Number *to;
    int width;

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
#pragma unroll
        for (int r = 0; r < R; r++) to[(position + r * stride) * width + line] = v[r];
    }
};

// There and back in one, of all planes: frequencies of one kx stay in shared memory.
extern "C" __global__ void __launch_bounds__(768, 1) fourier_columns(const __grid_constant__ Fourier p) {
    extern __shared__ char lines_shared[];
    const Block at(p);
    Number *const exchanged = reinterpret_cast<Number *>(lines_shared), *const frequencies = exchanged + p.long_y * p.width;
    const FftBand lines = {p.width, p.by_width};
    fft_transform(p.line, lines, exchanged, LoadPairs{p, at}, KeepFrequencies{frequencies, p.width});
    __syncthreads();
    fft_transform(p.line, lines, exchanged, LoadProducts<OF_SHARED>{p, at, frequencies}, StoreColumns{p, at});
}

struct RowsBack {
    const Fourier &p;
    Block at;
    int term;

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line, y = 2 * at.outer, half = p.long_x / 2;
        const Number *from = static_cast<const Number *>(p.from) + term * p.from_term + (long long)y * p.column + z;
        const bool both = y + 1 < p.ny;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = position + r * stride;
            const bool mirrored = k > half;
            v[r] = {0, 0};
            if (z < p.nz) {
                const Number *there = from + (long long)(mirrored ? p.long_x - k : k) * p.ny * p.column;
                const Number a = load_constant(there), b = both ? load_constant(there + p.column) : Number{0, 0};
                // The conjugate of both rows' sum.
                v[r] = mirrored ? Number{a.x + b.y, a.y - b.x} : Number{a.x - b.y, -a.y - b.x};
            }
        }
    }
};

// A view's only term; or of terms that are added up one of the first, whose sum stays between, or the last.
enum Part { ONLY, ONE_OF, LAST };
template <Part OF> struct FinishRows {
    const Fourier &p;
    Block at;
    float floor;
    int term;
    mutable Sums sums = {};

    // So many voxels of a row from `at` on, `step` apart; all that is read is on the way at once.
    template <int R> __device__ inline void finish(float (&sum)[R], int count, long long at, int step) const {
        // A thread has the same voxels in all terms.
        if (OF == LAST || (OF == ONE_OF && (term || p.add))) {
#pragma unroll
            for (int r = 0; r < R; r++) {
                if (r < count) sum[r] += p.between[at + r * step];
            }
        }
        float *const output = (OF == ONE_OF ? p.between : p.finish.output) + at;
        const int what = OF == ONE_OF ? STORE : p.finish.what;
        if (what == QUOTIENT || what == DISCREPANCY) {
            float d[R], a[R], b[R];
#pragma unroll
            for (int r = 0; r < R; r++) {
                d[r] = r < count ? __ldg(p.finish.measured + at + r * step) : 0;
                a[r] = r < count && p.finish.factors ? __ldg(p.finish.factors + at + r * step) : 1;
                b[r] = r < count && p.finish.additive ? __ldg(p.finish.additive + at + r * step) : 0;
            }
#pragma unroll
            for (int r = 0; r < R; r++) {
                const float projected = sum[r] <= floor ? 0 : sum[r];
                if (r < count) output[r * step] = compared(projected, what == DISCREPANCY, d[r], a[r], b[r], p.finish.most, sums);
            }
            return;
        }
        if (what != RELAX && OF != ONE_OF) {
            // What rounding made of nothing is nothing: no values below 0 of what has none.
#pragma unroll
            for (int r = 0; r < R; r++) sum[r] = fabsf(sum[r]) <= floor ? 0 : sum[r];
        }
        if (what != STORE) {
            const float relaxation = what == RELAX ? *p.finish.step : 0;
            float old[R];
#pragma unroll
            for (int r = 0; r < R; r++) old[r] = r < count ? output[r * step] : 0;
#pragma unroll
            for (int r = 0; r < R; r++) sum[r] = what == RELAX ? relaxed(sum[r], old[r], relaxation) : old[r] + sum[r];
        }
#pragma unroll
        for (int r = 0; r < R; r++) {
            if (r < count) output[r * step] = sum[r];
        }
    }

    template <int R> __device__ inline void run(Number *v, int line, int position, int stride) const {
        const int z = at.z + line, y = 2 * at.outer;
        if (z >= p.nz || position >= p.nx) return;
        const int count = min(R, (p.nx - 1 - position) / stride + 1), rows = min(2, p.ny - y);
        for (int row = 0; row < rows; row++) {
            const int cell = (y + row) * p.nx + position;
            // As many at once as registers hold.
            constexpr int PART = R > 8 && R % 2 == 0 ? R / 2 : R;
#pragma unroll
            for (int first = 0; first < R; first += PART) {
                float sum[PART];
#pragma unroll
                for (int r = 0; r < PART; r++) {
                    sum[r] = row ? -v[first + r].y : v[first + r].x;
                    if (p.map && first + r < count) sum[r] *= coefficient(p, term, cell + (first + r) * stride);
                }
                finish(sum, count - first, (long long)(cell + first * stride) * p.column + z, stride * p.column);
            }
        }
    }
};

template <bool TERMS> __device__ inline void rows_back(const Fourier &p) {
    const Block at(p);
    float floor = 0;
    if (p.peaks) {
        Peak peak;
        for (int b = threadIdx.x; b < p.peak_count; b += blockDim.x) peak.add(p.peaks[b]);
        peak = block_peak(peak);
        floor = p.floor * fminf(peak.largest, p.concentration * peak.sum);
        if (isinf(floor)) floor = 0; // what left the range of f32 is to be seen
        __syncthreads();
    }
    const int last = TERMS ? p.terms - !p.goes_on : 0;
    if (TERMS) {
#pragma unroll 1
        for (int term = 0; term < last; term++) {
            transform(p, RowsBack{p, at, term}, FinishRows<ONE_OF>{p, at, floor, term});
            __syncthreads();
        }
        if (p.goes_on) return;
    }
    const FinishRows<TERMS ? LAST : ONLY> store = {p, at, floor, last};
    transform(p, RowsBack{p, at, last}, store);
    if (compares(p.finish)) tally(p.finish, store.sums);
}

extern "C" __global__ void __launch_bounds__(320, 2) fourier_rows_back(const __grid_constant__ Fourier p) { rows_back<false>(p); }
extern "C" __global__ void __launch_bounds__(320, 2) fourier_rows_sum(const __grid_constant__ Fourier p) { rows_back<true>(p); }
