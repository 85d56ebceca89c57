// Back projection on tensor cores.
//
// For one view, the 16 pixels of a 4x4 square fall on at most 8 neighbouring bins, so their sums over the slices are a matrix
// product: weights (16 pixels x 8 bins) times data (8 bins x 8 slices), summed over views in f32 registers. Two views make one
// product of depth 16. Weights are made in registers; data come as rows [slice / 8][view][pitch][8 slices] of f16, of which 8
// neighbouring bins are 128 bytes in a row, so that a transposed matrix load may start at any bin without bank conflicts.
//
// f32 grade: data and weights are sums of a high and a low f16 part, and three of the four products are taken.
#include "../common/barrier.cuh"
#include "backproject.cuh"
#include <cuda_fp16.h>

// Mirrors `TensorArguments` in crates/ct/src/gpu/tensor.rs.
struct TensorBackproject {
    Backproject b;
    // Stages of 8 views that shared memory has room for, at least 2.
    int stages;
    // Planes of 8 slices in `data` (high and low parts count apart).
    int planes;
    // A CUtensorMap of the data: (2 x pitch, views, planes) elements of 8 bytes, box (2 x window, 1, 8). Unused before
    // compute capability 9.0.
    __align__(64) unsigned char map[128];
};
static_assert(sizeof(TensorBackproject) == 256);

namespace {

constexpr int WARPS_X = 4, WARPS_Y = 3, WARPS = WARPS_X * WARPS_Y, THREADS = 32 * WARPS;
constexpr int TILE_X = 8 * WARPS_X, TILE_Y = 8 * WARPS_Y;  // a warp has 8x8 pixels, as 2x2 squares
constexpr int PLANES = 8;                                  // planes of 8 slices that a block holds
constexpr int VIEWS = 8;                                   // views of a stage
constexpr int MAX_STAGES = 8;

// A view seen from a block: position of a square's least pixel, in bins from the first bin of the window, is
// start + x dx + y dy for the square at (x, y); `low` is by how much its first pixel lies above its least one.
struct Line {
    float start, dx, dy, low;
};

__device__ inline void load_matrices(unsigned (&b)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address));
}

__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline unsigned bits(__half2 v) { return *reinterpret_cast<unsigned *>(&v); }

// Weights of bins k and k + 1 for a position d = h - k. Near the bins d is small, so f16 keeps it to 2^-12.
template <bool NEAREST> __device__ inline unsigned weigh(float d) {
    if (NEAREST) return bits(__floats2half2_rn(d >= -0.5f && d < 0.5f ? 1.f : 0.f, d >= 0.5f && d < 1.5f ? 1.f : 0.f));
    return bits(__hsub2_sat(__half2{1.0f, 1.0f}, __habs2(__floats2half2_rn(d, d - 1.0f))));
}

// The same with a low part.
template <bool NEAREST> __device__ inline void weigh(float d, unsigned &high, unsigned &low) {
    if (NEAREST) {
        high = weigh<true>(d);
        low = 0;
        return;
    }
    float a = __saturatef(1.f - fabsf(d)), b = __saturatef(1.f - fabsf(d - 1.f));
    __half2 h = __floats2half2_rn(a, b);
    high = bits(h);
    low = bits(__floats2half2_rn(a - __low2float(h), b - __high2float(h)));
}

// The line of a view, and the first bin of its window.
__device__ inline Line block_line(const ViewLine &view, int x0, int y0, int &first) {
    double h = fma((double)x0, view.dx, fma((double)y0, view.dy, view.origin));
    double low_x = fmin(0., view.dx), low_y = fmin(0., view.dy);
    double least = h + low_x * (TILE_X - 1) + low_y * (TILE_Y - 1);
    // Far outside every detector, where all is zero; keeps the conversion defined.
    double window = floor(fmin(fmax(least, -5e8), 5e8));
    first = (int)window;
    // Beyond that, the window is not where the pixels are: no pixel may find a bin.
    float away = fabs(least) < 5e8 ? 0.f : 1000.f;
    double low = 3. * (low_x + low_y);
    return {away ? 0.f : (float)(h - window + low), (float)view.dx, (float)view.dy, away - (float)low};
}

// Stands in for the second view of the last pair: no pixel finds a bin.
__device__ inline Line no_line() { return {0.f, 0.f, 0.f, 1000.f}; }

template <int WINDOW, bool NEAREST, bool SPLIT> struct Kernel {
    static constexpr int ROW = 16, PLANE = WINDOW * ROW, VIEW = PLANES * PLANE, STAGE = VIEWS * VIEW;
    static constexpr int GROUPS = SPLIT ? PLANES / 2 : PLANES;  // of 8 slices
    // Sums in tensor cores are cut off, not rounded: f32 grade moves them to rounded sums every few stages.
    static constexpr int KEEP = 4;

    float sums[4][GROUPS][4];
    float totals[SPLIT ? 4 : 1][SPLIT ? GROUPS : 1][4];

    __device__ inline void stage(unsigned data, const Line *lines, int count, int lane, float square_x, float square_y) {
        const float px = (lane >> 2) & 3, py = lane >> 4, bin = 2 * (lane & 3);
        const bool second = lane & 8;
        // Rows of the four matrices of a load: bins lane % 8 of both views, of plane 0 and 1.
        unsigned at0 = data + (lane & 7) * ROW + (second ? VIEW : 0) + (lane >> 4) * PLANE - (0x4B000000u << 4);
#pragma unroll 1
        for (int v = 0; v < count; v += 2, at0 += 2 * VIEW) {
            const Line l = lines[v], k = lines[v + 1];
            const float lc = fmaf(px, l.dx, fmaf(py, l.dy, l.low - bin)), kc = fmaf(px, k.dx, fmaf(py, k.dy, k.low - bin));
            const float l0 = fmaf(square_x, l.dx, fmaf(square_y, l.dy, l.start));
            const float k0 = fmaf(square_x, k.dx, fmaf(square_y, k.dy, k.start));
#pragma unroll
            for (int g = 0; g < 4; g++) {
                float lq = l0, kq = k0;
                if (g & 1) lq = fmaf(4.f, l.dx, lq), kq = fmaf(4.f, k.dx, kq);
                if (g & 2) lq = fmaf(4.f, l.dy, lq), kq = fmaf(4.f, k.dy, kq);
                // 2^23 + floor: the whole bin is in the low bits.
                const float lw = __fadd_rd(lq, 8388608.f), kw = __fadd_rd(kq, 8388608.f);
                const unsigned at = at0 + (__float_as_uint(second ? kw : lw) << 4);
                const float ld = lc + (lq - (lw - 8388608.f)), kd = kc + (kq - (kw - 8388608.f));
                const float ld2 = fmaf(2.f, l.dy, ld), kd2 = fmaf(2.f, k.dy, kd);
                unsigned a[4], low[4];
                if (SPLIT) {
                    weigh<NEAREST>(ld, a[0], low[0]);
                    weigh<NEAREST>(ld2, a[1], low[1]);
                    weigh<NEAREST>(kd, a[2], low[2]);
                    weigh<NEAREST>(kd2, a[3], low[3]);
                } else {
                    a[0] = weigh<NEAREST>(ld), a[1] = weigh<NEAREST>(ld2);
                    a[2] = weigh<NEAREST>(kd), a[3] = weigh<NEAREST>(kd2);
                }
#pragma unroll
                for (int n = 0; n < PLANES; n += 2) {
                    unsigned b[4];
                    load_matrices(b, at + n * PLANE);
                    if (SPLIT) {
                        if (!NEAREST) multiply(sums[g][n / 2], low, b[0], b[1]);
                        multiply(sums[g][n / 2], a, b[2], b[3]);
                        multiply(sums[g][n / 2], a, b[0], b[1]);
                    } else {
                        multiply(sums[g][n], a, b[0], b[1]);
                        multiply(sums[g][n + 1], a, b[2], b[3]);
                    }
                }
            }
        }
    }

    __device__ inline void clear() {
#pragma unroll
        for (int g = 0; g < 4; g++)
#pragma unroll
            for (int n = 0; n < GROUPS; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sums[g][n][i] = 0.f;
                    if (SPLIT) totals[SPLIT ? g : 0][SPLIT ? n : 0][i] = 0.f;
                }
    }

    __device__ inline void keep() {
        if constexpr (SPLIT) {
#pragma unroll
            for (int g = 0; g < 4; g++)
#pragma unroll
                for (int n = 0; n < GROUPS; n++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        totals[g][n][i] += sums[g][n][i];
                        sums[g][n][i] = 0.f;
                    }
        }
    }

    __device__ inline void store(const Backproject &b, int lane, int x0, int y0, int group0) {
#pragma unroll
        for (int n = 0; n < GROUPS; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int slice = (group0 + n) * 8 + 2 * (lane & 3) + i;
                if (slice >= b.slices) continue;
                float scale = b.scale[slice];
                float *out = b.volume + slice * b.slice_stride;
#pragma unroll
                for (int g = 0; g < 4; g++)
#pragma unroll
                    for (int r = 0; r < 2; r++) {
                        int x = x0 + (g & 1) * 4 + ((lane >> 2) & 3), y = y0 + (g >> 1) * 4 + (lane >> 4) + 2 * r;
                        float sum = SPLIT ? totals[SPLIT ? g : 0][SPLIT ? n : 0][2 * r + i] : sums[g][n][2 * r + i];
                        if (x < b.nx && y < b.ny) out[y * b.row_stride + x] = sum * scale;
                    }
            }
    }

    __device__ inline void run(const TensorBackproject &p, unsigned char *shared) {
        __shared__ Line lines[MAX_STAGES][VIEWS];
        const Backproject &b = p.b;
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        const int x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y, plane0 = blockIdx.z * PLANES;
        const int square_x = warp % WARPS_X * 8, square_y = warp / WARPS_X * 8;
        const int steps = (b.views + VIEWS - 1) / VIEWS;
        const unsigned base = shared_address(shared);
        // A square's 8 bins may reach past the window, where weights are 0: whatever is there must be a number.
        for (int i = threadIdx.x; i < (p.stages * STAGE + 8 * ROW) / 16; i += THREADS) reinterpret_cast<uint4 *>(shared)[i] = {};
        clear();
#if __CUDA_ARCH__ >= 900
        __shared__ alignas(8) unsigned long long full[MAX_STAGES], empty[MAX_STAGES];
        const unsigned full0 = shared_address(full), empty0 = shared_address(empty);
        if (threadIdx.x < p.stages) {
            barrier_init(full0 + 8 * threadIdx.x, VIEWS);
            barrier_init(empty0 + 8 * threadIdx.x, THREADS);
        }
        barrier_init_done();
        __syncthreads();
        // One warp after another fills a stage: each of its lanes fetches a view.
        auto fill = [&](int step, int slot, unsigned parity) {
            if (step >= p.stages) barrier_wait(empty0 + 8 * slot, parity);
            if (lane >= VIEWS) return;
            int view = step * VIEWS + lane, first;
            if (view >= b.views) {
                lines[slot][lane] = no_line();
                barrier_arrive(full0 + 8 * slot);
                return;
            }
            lines[slot][lane] = block_line(b.lines[view], x0, y0, first);
            barrier_arrive_expect(full0 + 8 * slot, VIEW);
            copy_box(base + slot * STAGE + lane * VIEW, p.map, 2 * first, view, plane0, full0 + 8 * slot);
        };
        // Filling lags behind by a whole stage where there is room, so that warps need not keep step.
        const int ahead = p.stages > 2 ? p.stages - 2 : 1;
        int fill_slot = 0, fill_warp = 0, filled = 0, slot = 0;
        unsigned fill_parity = 1, parity = 0;
        auto next = [&] {
            if (filled >= steps) return;
            if (warp == fill_warp) fill(filled, fill_slot, fill_parity);
            filled++;
            if (++fill_slot == p.stages) fill_slot = 0, fill_parity ^= 1;
            if (++fill_warp == WARPS) fill_warp = 0;
        };
        for (int s = 0; s < ahead; s++) next();
        for (int step = 0; step < steps; step++) {
            next();
            barrier_wait(full0 + 8 * slot, parity);
            stage(base + slot * STAGE, lines[slot], min(VIEWS, b.views - step * VIEWS), lane, square_x, square_y);
            barrier_arrive(empty0 + 8 * slot);
            if (++slot == p.stages) slot = 0, parity ^= 1;
            if (step % KEEP == KEEP - 1) keep();
        }
#else
        // Each thread copies its share of a stage, 16 bytes at a time; bins outside the rows become zeros.
        auto fill = [&](int step, int slot) {
            __shared__ int firsts[VIEWS];
            if (threadIdx.x < VIEWS) {
                int view = step * VIEWS + threadIdx.x, first = 0;
                lines[slot][threadIdx.x] = view < b.views ? block_line(b.lines[view], x0, y0, first) : no_line();
                firsts[threadIdx.x] = first;
            }
            __syncthreads();
            for (int i = threadIdx.x; i < VIEWS * PLANES * WINDOW; i += THREADS) {
                int k = i % WINDOW, plane = i / WINDOW % PLANES, v = i / (WINDOW * PLANES), view = step * VIEWS + v;
                int bin = firsts[v] + k;
                bool inside = view < b.views && plane0 + plane < p.planes && bin >= 0 && bin < b.bins;
                long long row = (long long)(inside ? plane0 + plane : 0) * b.views + (inside ? view : 0);
                const char *from = static_cast<const char *>(b.data) + (row * b.pitch + (inside ? bin : 0)) * ROW;
                copy_16(base + slot * STAGE + v * VIEW + plane * PLANE + k * ROW, from, inside);
            }
            copies_commit();
        };
        __syncthreads();
        fill(0, 0);
        for (int step = 0, slot = 0; step < steps; step++) {
            copies_wait();
            __syncthreads();
            int after = slot + 1 == p.stages ? 0 : slot + 1;
            if (step + 1 < steps) fill(step + 1, after);
            stage(base + slot * STAGE, lines[slot], min(VIEWS, b.views - step * VIEWS), lane, square_x, square_y);
            slot = after;
            if (step % KEEP == KEEP - 1) keep();
        }
#endif
        keep();
        store(b, lane, x0 + square_x, y0 + square_y, blockIdx.z * GROUPS);
    }
};

}  // namespace

// Windows: the bins that a block's pixels may need, even: 31 |dx| + 23 |dy| + 2, for pixels up to 1 and 1.4 bins wide.
#define TENSOR(NAME, WINDOW, NEAREST, SPLIT)                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) ct_tensor_##NAME##_##WINDOW(const __grid_constant__ TensorBackproject p) { \
        extern __shared__ __align__(128) unsigned char shared[];                                                       \
        Kernel<WINDOW, NEAREST, SPLIT> kernel;                                                                         \
        kernel.run(p, shared);                                                                                         \
    }

TENSOR(half_linear, 42, false, false)
TENSOR(half_linear, 58, false, false)
TENSOR(half_nearest, 42, true, false)
TENSOR(half_nearest, 58, true, false)
TENSOR(split_linear, 42, false, true)
TENSOR(split_linear, 58, false, true)
TENSOR(split_nearest, 42, true, true)
TENSOR(split_nearest, 58, true, true)
