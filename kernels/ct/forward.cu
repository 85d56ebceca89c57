// Forward projection by Joseph's method. A gather: a thread sums what its rays meet, line after line of the volume (rows for
// rays that are closer to y, else columns), with linear interpolation along the line.
//
// A block takes neighbouring bins of a few views that are neighbours in angle: their rays cross nearly the same pixels,
// which are copied to shared memory a few lines at a time. Positions are fixed-point numbers, 32 bits before and 32 bits after
// the point: stepping from line to line is exact, however many lines there are, and floor and fraction are free.
#include "joseph.cuh"
#include <cfloat>

// Where the ray of a bin crosses a line: origin + bin * along + line * across, in samples of the line.
// Mirrors `DeviceRay` in crates/ct/src/gpu/forward.rs.
struct Ray {
    double origin, along, across;
    // Length of the ray between two lines.
    float step;
    int view;
};
static_assert(sizeof(Ray) == 32);

// Mirrors `Arguments` in crates/ct/src/gpu/forward.rs.
struct Forward {
    // [group][line][sample][lanes] of f32; slice = group * lanes + lane.
    const float *volume;
    // The views of this direction, in order of angle (modulo 2 pi: rays of opposite directions have bins in opposite order).
    const Ray *rays;
    // Bin (slice, view, bin) is at slice * slice_stride + view * view_stride + bin.
    float *projections;
    long long slice_stride, view_stride;
    // `width`: samples of a line that shared memory has room for, of 2 * LINES lines; wider strips are read from global memory.
    int ray_count, bins, slices, lines, samples, width;
};
static_assert(sizeof(Forward) == 64);

// Mirrors `PackArguments` in crates/ct/src/gpu/forward.rs.
struct PackVolume {
    // Pixel (slice, row, column) is at slice * slice_stride + row * row_stride + column * column_stride; NaN and Inf count as 0.
    const float *volume;
    long long slice_stride, row_stride, column_stride;
    // [group][ny][nx][lanes], or [group][nx][ny][lanes] by the transposing kernels. Lanes beyond the last slice are 0.
    float *packed;
    int slices, nx, ny;
};
static_assert(sizeof(PackVolume) == 56);

constexpr int THREADS = 512;
// Lines in shared memory at a time; the next ones are on their way meanwhile.
constexpr int LINES = 8;

// Position along a line: samples times 2^32.
typedef long long Fixed;

__device__ inline Fixed fixed(double samples, double limit) {
    return (Fixed)(fmin(fmax(samples, -limit), limit) * 4294967296.0);
}

__device__ inline int whole(Fixed position) {
    return (int)(position >> 32);
}

// A position on the way from line to line: its whole part, as an index, and its fraction.
struct Walk {
    unsigned fraction;
    int index;

    __device__ void step(unsigned fraction_step, int index_step) {
        asm("add.cc.u32 %0, %0, %2; addc.u32 %1, %1, %3;" : "+r"(fraction), "+r"(index) : "r"(fraction_step), "r"(index_step));
    }

    // 1 + fraction, to 2^-23.
    __device__ float one_and_fraction() const {
        return __uint_as_float(fraction >> 9 | 0x3f800000u);
    }
};

template <int BYTES> __device__ inline void copy_or_clear(void *shared, const void *global, bool copy) {
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    int bytes = copy ? BYTES : 0;
    if constexpr (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(BYTES), "r"(bytes) : "memory");
    }
}

__device__ inline void copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// The views of a block, and the lines that its rays meet.
template <int VIEWS> struct Strip {
    Fixed origin[VIEWS], along[VIEWS], across[VIEWS];
    int first, end;
};

// By one warp: lane v takes view v.
template <int VIEWS>
__device__ inline void prepare(const Forward &p, int first_ray, int first_bin, int last_bin, Strip<VIEWS> &strip) {
    int lane = threadIdx.x % 32;
    const Ray ray = p.rays[min(first_ray + lane % VIEWS, p.ray_count - 1)];
    double origin = fma((double)first_bin, ray.along, ray.origin);
    double span = ray.along * last_bin;
    // Lines on which the strip reaches -1 and the last sample; where rays run along the strip, all.
    double a = (-1 - origin - fmax(span, 0.0)) / ray.across, b = (p.samples - origin - fmin(span, 0.0)) / ray.across;
    if (!(fabs(ray.across) > 1e-9)) a = 0, b = p.lines;
    int first = (int)fmax(fmin(fmin(a, b) - 1, (double)p.lines), 0.0);
    int end = (int)fmin(fmax(fmax(a, b) + 2, 0.0), (double)p.lines);
    first = __reduce_min_sync(~0u, first);
    end = __reduce_max_sync(~0u, end);
    if (lane < VIEWS) {
        strip.along[lane] = fixed(ray.along, 4194304.0);
        strip.across[lane] = fixed(ray.across, 1.0);
        strip.origin[lane] = fixed(origin, 1073741824.0) + first * strip.across[lane];
    }
    if (lane == 0) strip.first = first, strip.end = end;
}

// A block takes BINS bins of the views of SETS threads, PER_THREAD each.
template <int LANES, int BINS, int PER_THREAD> __device__ inline void forward(const Forward &p) {
    constexpr int SETS = THREADS / BINS, VIEWS = SETS * PER_THREAD;
    extern __shared__ float4 shared[];
    Lanes<LANES> *cache = (Lanes<LANES> *)shared;
    __shared__ Strip<VIEWS> strip;

    int strips = (p.bins + BINS - 1) / BINS;
    int first_bin = blockIdx.x % strips * BINS, first_ray = blockIdx.x / strips * VIEWS;
    int last_bin = min(BINS, p.bins - first_bin) - 1;
    const Lanes<LANES> *volume = (const Lanes<LANES> *)p.volume + blockIdx.y * (long long)p.lines * p.samples;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    if (warp == 0) prepare(p, first_ray, first_bin, last_bin, strip);
    __syncthreads();

    // A quarter warp is 4 bins of 2 views: pixels that neighbour or coincide, so in different banks.
    int bin = warp % (BINS / 16) * 16 + lane / 8 * 4 + lane % 4;
    int set = warp / (BINS / 16) * 2 + lane / 4 % 2;
    Walk walk[PER_THREAD];
    unsigned fraction_step[PER_THREAD];
    int index_step[PER_THREAD];
    Lanes<LANES> sum[PER_THREAD] = {};
#pragma unroll
    for (int v = 0; v < PER_THREAD; v++) {
        int view = v * SETS + set;
        // Bins beyond the last repeat it: they must stay in the window.
        Fixed at = strip.origin[view] + min(bin, last_bin) * strip.along[view];
        walk[v] = {(unsigned)at, whole(at)};
        fraction_step[v] = (unsigned)strip.across[view];
        index_step[v] = whole(strip.across[view]) + p.width;
    }

    // The strip's edges in view lane % VIEWS on the chunk's first line.
    Fixed span = last_bin * strip.along[lane % VIEWS], across = strip.across[lane % VIEWS];
    Fixed low = strip.origin[lane % VIEWS] + min(span, 0LL), high = strip.origin[lane % VIEWS] + max(span, 0LL);

    // Copies a chunk of lines, from sample `start` on, to half `half` of the cache; false where they do not fit.
    auto stage = [&](int line, int half, int &start) {
        Fixed reach = (LINES - 1) * across;
        start = __reduce_min_sync(~0u, whole(low + min(reach, 0LL)));
        int count = __reduce_max_sync(~0u, whole(high + max(reach, 0LL))) + 2 - start;
        low += LINES * across;
        high += LINES * across;
        if (count > p.width) return false;
        // A warp a line; the others go on to their sums.
        if (warp >= LINES) return true;
        const Lanes<LANES> *from = volume + (line + warp) * (long long)p.samples + start;
        Lanes<LANES> *to = cache + (half * LINES + warp) * p.width;
        bool inside = line + warp < p.lines;
        for (int s = lane; s < count; s += 32) {
            bool copy = inside && (unsigned)(start + s) < (unsigned)p.samples;
            copy_or_clear<4 * LANES>(to + s, copy ? from + s : volume, copy);
        }
        return true;
    };

    int start, half = 0;
    bool cached = strip.first < strip.end && stage(strip.first, 0, start);
    for (int line = strip.first; line < strip.end; line += LINES) {
        copies_done();
        __syncthreads();
        int offset = half * LINES * p.width - start, next_start = 0;
        bool now = cached;
        half ^= 1;
        // Into the half that every thread has finished with.
        if (line + LINES < strip.end) cached = stage(line + LINES, half, next_start);
        start = next_start;
        if (now) {
#pragma unroll
            for (int v = 0; v < PER_THREAD; v++) walk[v].index += offset;
#pragma unroll
            for (int l = 0; l < LINES; l++) {
#pragma unroll
                for (int v = 0; v < PER_THREAD; v++) {
                    float t = walk[v].one_and_fraction();
                    const Lanes<LANES> *at = cache + walk[v].index;
                    Lanes<LANES> a = at[0], b = at[1];
                    add(sum[v], 2 - t, a);
                    add(sum[v], t - 1, b);
                    walk[v].step(fraction_step[v], index_step[v]);
                }
            }
#pragma unroll
            for (int v = 0; v < PER_THREAD; v++) walk[v].index -= offset + LINES * p.width;
        } else {
            for (int l = 0; l < LINES; l++) {
                const Lanes<LANES> *at = volume + (line + l) * (long long)p.samples;
                for (int v = 0; v < PER_THREAD; v++) {
                    float t = walk[v].one_and_fraction();
                    int k = walk[v].index;
                    bool inside = line + l < p.lines;
                    if (inside && (unsigned)k < (unsigned)p.samples) add(sum[v], 2 - t, at[k]);
                    if (inside && (unsigned)(k + 1) < (unsigned)p.samples) add(sum[v], t - 1, at[k + 1]);
                    walk[v].step(fraction_step[v], index_step[v] - p.width);
                }
            }
        }
    }

    if (bin > last_bin) return;
#pragma unroll
    for (int v = 0; v < PER_THREAD; v++) {
        int r = first_ray + v * SETS + set;
        if (r >= p.ray_count) return;
        float step = p.rays[r].step;
        float *out = p.projections + p.rays[r].view * p.view_stride + first_bin + bin;
#pragma unroll
        for (int n = 0; n < LANES; n++) {
            int slice = blockIdx.y * LANES + n;
            if (slice < p.slices) out[slice * p.slice_stride] = sum[v].of[n] * step;
        }
    }
}

constexpr int TILE = 32;

// Interleaves LANES slices; a block takes a tile of TILE by TILE pixels with TILE by 8 threads.
template <int LANES, bool TRANSPOSE> __device__ inline void pack(const PackVolume &p) {
    __shared__ float tile[LANES][TILE][TILE + 1];
    int tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
    int across = (p.nx + TILE - 1) / TILE;
    int x = blockIdx.x % across * TILE, y = blockIdx.x / across * TILE;
    for (int n = 0; n < LANES; n++) {
        int slice = blockIdx.y * LANES + n;
        for (int r = ty; r < TILE; r += 8) {
            bool inside = slice < p.slices && y + r < p.ny && x + tx < p.nx;
            float value = 0;
            if (inside) value = p.volume[slice * p.slice_stride + (y + r) * p.row_stride + (x + tx) * p.column_stride];
            tile[n][r][tx] = fabsf(value) <= FLT_MAX ? value : 0;
        }
    }
    __syncthreads();
    Lanes<LANES> *packed = (Lanes<LANES> *)p.packed + blockIdx.y * (long long)p.ny * p.nx;
    for (int r = ty; r < TILE; r += 8) {
        int row = TRANSPOSE ? tx : r, column = TRANSPOSE ? r : tx;
        if (y + row >= p.ny || x + column >= p.nx) continue;
        Lanes<LANES> value;
#pragma unroll
        for (int n = 0; n < LANES; n++) value.of[n] = tile[n][row][column];
        long long at = TRANSPOSE ? (x + column) * (long long)p.ny + y + row : (y + row) * (long long)p.nx + x + column;
        packed[at] = value;
    }
}

// Many views: their strips overlap. Few (sparse) views: wider strips of fewer of them.
#define FORWARD(LANES)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS) forward_##LANES(const __grid_constant__ Forward p) {                 \
        forward<LANES, 64, 2>(p);                                                                                              \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) forward_sparse_##LANES(const __grid_constant__ Forward p) {          \
        forward<LANES, 128, 1>(p);                                                                                             \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(8 * TILE) pack_rows_##LANES(const __grid_constant__ PackVolume p) {           \
        pack<LANES, false>(p);                                                                                                 \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(8 * TILE) pack_columns_##LANES(const __grid_constant__ PackVolume p) {        \
        pack<LANES, true>(p);                                                                                                  \
    }
FORWARD(1)
FORWARD(2)
FORWARD(4)
