// The transpose of the forward projection: each pixel sums, view after view, the bins that its tent of half-width m a / b
// reaches. A block takes SIDE by SIDE pixels and copies the bins that they need, some views at a time, to shared memory.
//
// A thread takes squares of two by two pixels. Their tents overlap, so that few bins serve all four, read once each.
#include "backproject.cuh"
#include "joseph.cuh"

// Mirrors `AdjointArguments` in crates/ct/src/gpu/adjoint.rs.
struct Adjoint {
    Backproject b;
    // Of each view: b / (m a), the tent's slope, and a / m, its height.
    const float2 *tent;
    // `taps`: bins that the four tents of a square can weigh, or that of one pixel where a warp takes a pixel.
    // Shared memory holds `width` bins of `views` views, 32 at most.
    int taps, width, views;
};
static_assert(sizeof(Adjoint) == 96);

constexpr int SIDE = 32;
// Pixels from one square of a thread to the next below it. Each warp has 8 by 4 squares at a time.
constexpr int STEP = 8;
// Threads of a block that sums one group of slices, and of one that sums two: these have more sums a square, and one square
// a thread instead of two.
constexpr int THREADS = 128;
constexpr int DOUBLE_THREADS = 256;
// Added to a number below 2^22, rounding down: its floor is then in the low bits of the sum.
constexpr float MAGIC = 12582912;
constexpr int MAGIC_BITS = 0x4b400000;

// What a block needs to know of a view.
struct alignas(16) View {
    // Where the leftmost tent begins of the square at the block's middle, seen from bin `origin` of the cache (whose index is
    // less by MAGIC_BITS), and how it moves with the square.
    float fraction, dx, dy, slope;
    float height;
    // The bin that the cache's row begins with.
    int start, origin;
};

// Squares are kept with their leftmost pixel first. That is the right one where dx is negative (flips & 1), the lower one where
// dy is (flips & 2).
template <int LANES, int GROUPS> __device__ inline void flip(Lanes<LANES> (&sum)[GROUPS][4], int flips) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        auto swap = [&](int i, int k) {
            Lanes<LANES> first = sum[g][i];
            sum[g][i] = sum[g][k];
            sum[g][k] = first;
        };
        if (flips & 1) swap(0, 1), swap(2, 3);
        if (flips & 2) swap(0, 2), swap(1, 3);
    }
}

// Weight of a bin that lies `distance` half-widths from a tent's middle.
__device__ inline float tent_at(float distance) {
    return __saturatef(1 - fabsf(distance));
}

// NARROW: pixels no wider than a bin. Then tents are at most 2 bins wide, and of a square's bins 0 to 3 the leftmost pixel can
// weigh 0 and 1, its neighbours 0 to 2, and the rightmost 0 to 3.
template <int LANES, int GROUPS, bool NARROW>
__device__ inline void add_square(Lanes<LANES> (&sum)[GROUPS][4], const Lanes<LANES> *at, float distance, const View &view,
                                  const Adjoint &p) {
    // From bin `at` to the tents' middles, the leftmost pixel's first. Fused here, as the compiler would do in one kernel and not in another:
    // sums are the same to the bit in all of them.
    float x = fmaf(-fabsf(view.dx), view.slope, distance), y = fmaf(-fabsf(view.dy), view.slope, distance);
    float d[4] = {distance, x, y, fmaf(-fabsf(view.dy), view.slope, x)};
    auto add_bin = [&](int i, int first, int end) {
        Lanes<LANES> value[GROUPS];
#pragma unroll
        for (int g = 0; g < GROUPS; g++) value[g] = at[g * p.views * p.width + i];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            if (q < first || q >= end) continue;
            float weight = tent_at(d[q]);
#pragma unroll
            for (int g = 0; g < GROUPS; g++) add(sum[g][q], weight, value[g]);
            d[q] += view.slope;
        }
    };
    if (NARROW) {
        add_bin(0, 0, 4);
        add_bin(1, 0, 4);
        add_bin(2, 1, 4);
        add_bin(3, 3, 4);
    } else {
        for (int i = 0; i < p.taps; i++) add_bin(i, 0, 4);
    }
}

template <int LANES, int GROUPS, bool NARROW> __device__ inline void adjoint(const Adjoint &p) {
    constexpr int BLOCK = GROUPS == 1 ? THREADS : DOUBLE_THREADS, SQUARES = SIDE * SIDE / (4 * BLOCK);
    extern __shared__ float4 shared[];
    const Backproject &b = p.b;
    View *views = (View *)shared;
    // Bit v: whether dx, dy of view v are negative.
    __shared__ unsigned falling[2];
    Lanes<LANES> *cache = (Lanes<LANES> *)(views + p.views);

    int across = (b.nx + SIDE - 1) / SIDE;
    int x0 = blockIdx.x % across * SIDE, y0 = blockIdx.x / across * SIDE;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // A quarter warp is 4 by 2 squares: neighbours, whose bins lie in different banks or coincide.
    int x = warp % 2 * 16 + lane / 16 * 8 + lane % 4 * 2, y = warp / 2 * (STEP * SQUARES) + lane / 4 % 4 * 2;
    float rx = x - SIDE / 2, ry = y - SIDE / 2;
    Lanes<LANES> sum[SQUARES][GROUPS][4] = {};
    int group = blockIdx.y * GROUPS, groups = (b.slices + LANES - 1) / LANES;
    int flips = 0;

    for (int first = 0; first < b.views; first += p.views) {
        int count = min(p.views, b.views - first);
        __syncthreads();
        if (warp == 0) {
            // Lanes beyond the last view repeat it, so that their bits do not change.
            int v = first + min(lane, count - 1);
            ViewLine line = b.lines[v];
            float2 tent = p.tent[v];
            // So that a position's floor is the first bin that its tent can weigh.
            line.origin += 1.0f - 1.0f / tent.x;
            LocalLine local = local_line(line, x0 + SIDE / 2, y0 + SIDE / 2);
            int reach = (int)ceilf(SIDE / 2 * (fabsf(local.dx) + fabsf(local.dy))) + 1;
            float left = fminf(local.dx, 0) + fminf(local.dy, 0);
            int origin = lane * p.width + reach - MAGIC_BITS;
            if (lane < count) {
                views[lane] = {local.fraction + left, local.dx, local.dy, tent.x, tent.y, local.bin - reach, origin};
            }
            unsigned x_falls = __ballot_sync(~0u, local.dx < 0), y_falls = __ballot_sync(~0u, local.dy < 0);
            if (lane == 0) falling[0] = x_falls, falling[1] = y_falls;
        }
        __syncthreads();
        for (int v = warp; v < count; v += BLOCK / 32) {
            const Lanes<LANES> *row = (const Lanes<LANES> *)b.data + (group * (long long)b.views + first + v) * b.pitch;
            int start = views[v].start;
            float height = views[v].height;
            for (int k = lane; k < p.width; k += 32) {
#pragma unroll
                for (int g = 0; g < GROUPS; g++) {
                    Lanes<LANES> value = {};
                    bool inside = group + g < groups && (unsigned)(start + k) < (unsigned)b.bins;
                    if (inside) value = row[g * (long long)b.views * b.pitch + start + k];
#pragma unroll
                    for (int n = 0; n < LANES; n++) value.of[n] *= height;
                    cache[(g * p.views + v) * p.width + k] = value;
                }
            }
        }
        __syncthreads();
        for (int v = 0; v < count;) {
            // Views up to `end` need the same flips.
            int next = (falling[0] >> v & 1) + (falling[1] >> v & 1) * 2;
            if (next != flips) {
#pragma unroll
                for (int s = 0; s < SQUARES; s++) flip(sum[s], next ^ flips);
                flips = next;
            }
            unsigned change = ((flips & 1 ? ~falling[0] : falling[0]) | (flips & 2 ? ~falling[1] : falling[1])) & ~0u << v;
            int end = change ? __ffs(change) - 1 : count;
#pragma unroll 1
            for (; v < end; v++) {
                View view = views[v];
#pragma unroll
                for (int s = 0; s < SQUARES; s++) {
                    // From the square's own place, so that sums are the same to the bit however many squares a thread has.
                    float h = fmaf(rx, view.dx, fmaf(ry + s * STEP, view.dy, view.fraction));
                    float floored = __fadd_rd(h, MAGIC);
                    float distance = fmaf(floored - MAGIC - h, view.slope, view.slope - 1);
                    const Lanes<LANES> *at = cache + (__float_as_int(floored) + view.origin);
                    add_square<LANES, GROUPS, NARROW>(sum[s], at, distance, view, p);
                }
            }
        }
    }

#pragma unroll
    for (int s = 0; s < SQUARES; s++) flip(sum[s], flips);
#pragma unroll
    for (int n = 0; n < LANES * GROUPS; n++) {
        int slice = group * LANES + n;
        if (slice >= b.slices) return;
        float scale = b.scale[slice];
        float *out = b.volume + slice * b.slice_stride;
#pragma unroll
        for (int s = 0; s < SQUARES; s++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                int column = x0 + x + q % 2, row = y0 + y + s * STEP + q / 2;
                if (column < b.nx && row < b.ny) out[row * b.row_stride + column] = sum[s][n / LANES][q].of[n % LANES] * scale;
            }
        }
    }
}

// For pixels many bins wide: a warp takes a pixel, its lanes the bins in reach.
template <int LANES> __device__ inline void adjoint_wide(const Adjoint &p) {
    const Backproject &b = p.b;
    int lane = threadIdx.x % 32;
    long long pixel = blockIdx.x * (long long)(THREADS / 32) + threadIdx.x / 32;
    if (pixel >= (long long)b.nx * b.ny) return;
    int x = pixel % b.nx, y = pixel / b.nx;
    Lanes<LANES> sum = {};
    for (int v = 0; v < b.views; v++) {
        ViewLine line = b.lines[v];
        float2 tent = p.tent[v];
        line.origin += 1.0f - 1.0f / tent.x;
        LocalLine local = local_line(line, x, y);
        const Lanes<LANES> *row = (const Lanes<LANES> *)b.data + (blockIdx.y * (long long)b.views + v) * b.pitch;
        Lanes<LANES> part = {};
        int first = max(-local.bin, 0), end = min(p.taps, b.bins - local.bin);
        for (int i = first + lane; i < end; i += 32) {
            float distance = fmaf(i + 1 - local.fraction, tent.x, -1.0f);
            add(part, tent_at(distance), row[local.bin + i]);
        }
        add(sum, tent.y, part);
    }
#pragma unroll
    for (int n = 0; n < LANES; n++) {
#pragma unroll
        for (int d = 16; d > 0; d /= 2) sum.of[n] += __shfl_xor_sync(~0u, sum.of[n], d);
        int slice = blockIdx.y * LANES + n;
        if (lane == n && slice < b.slices) {
            b.volume[slice * b.slice_stride + y * b.row_stride + x] = sum.of[n] * b.scale[slice];
        }
    }
}

#define ADJOINT(NAME, LANES, GROUPS, ...)                                                                                      \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__) adjoint_##NAME(const __grid_constant__ Adjoint p) {              \
        adjoint<LANES, GROUPS, true>(p);                                                                                       \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__) adjoint_taps_##NAME(const __grid_constant__ Adjoint p) {         \
        adjoint<LANES, GROUPS, false>(p);                                                                                      \
    }
#define WIDE(LANES)                                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS) adjoint_wide_##LANES(const __grid_constant__ Adjoint p) {            \
        adjoint_wide<LANES>(p);                                                                                                \
    }
ADJOINT(1, 1, 1, THREADS)
ADJOINT(2, 2, 1, THREADS)
ADJOINT(4, 4, 1, THREADS)
ADJOINT(4x2, 4, 2, DOUBLE_THREADS, 3)
WIDE(1)
WIDE(2)
WIDE(4)
