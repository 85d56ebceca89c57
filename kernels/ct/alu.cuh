// Back projection by the arithmetic units: shared memory caches the bins that a square of pixels meets, threads interpolate
// in f32 and keep their pixels' sums in registers over all views.
#pragma once
#include <cuda_fp16.h>
#include "backproject.cuh"

// Mirrors `AluArguments` in crates/ct/src/gpu/alu.rs.
//
// A view's reach is (columns - 1) |dx| + (rows - 1) |dy|, for a tile of columns x rows pixels. The launcher gives
// - slots: the largest reach of all views, rounded up, + 4;
// - stage: any number from 1 to the threads of the block. Best is 32, halved until the blocks that the kernel's launch bounds
//   hope for share a multiprocessor;
// - dynamic shared memory: stage * (144 + 2 * slots * bytes), where a slot has 8 * lanes bytes in linear kernels and a bin's
//   bytes in nearest ones; at least 4 * columns * rows * lanes where a tile has several sets of threads.
// It refuses a geometry that does not fit at stage 1. Positions in a tile, and the values that AluLines extrapolates to its
// middle, are f32: the error is about 3e-6 of the maximum at a reach of 90 and grows with it, so a reach above 300 is better
// left to a smaller tile. Data: `data` aligned to 16 bytes; a NaN or infinity spoils pixels up to 5 bins away.
// Oversampled data: the nearest kernels, with `lines` and `bins` times the samples a bin.
struct AluBackproject {
    Backproject b;
    // Bins that a view gets in the cache, views cached together.
    int slots, stage;
};
static_assert(sizeof(AluBackproject) == 80);

// A view as seen from a tile: a position is origin + x * dx + y * dy for pixel (x, y) counted from the tile's middle, and
// slot s of the cache holds what is at position lowest + s. `base` takes the bits of a rounded position, times the bytes of a
// slot, to the slot's address.
struct __align__(16) AluView {
    float origin, dx, dy;
    unsigned base;
    // The bins from `low` on; the cache holds them the other way round where `turned`. `inside`: every bin that full rounds of
    // a copy touch, and its neighbours, are in the row.
    const char *from;
    int low, lowest, turned, inside;
};

// 1.5 * 2^23: a sum with it has no fraction, and its low bits are the whole number.
constexpr float alu_round = 12582912.0f;
constexpr unsigned alu_round_bits = 0x4b400000;

// How a block's threads cover COLUMNS x ROWS pixels: SPLIT sets of threads take every SPLIT-th view of the same pixels. In a
// set, a warp covers WIDTH x 32 / WIDTH patches at once, patches being HEIGHT pixels high, and steps down STEPS times.
template <int COLUMNS, int ROWS, int WIDTH, int HEIGHT, int STEPS, int SPLIT> struct AluTile {
    static constexpr int columns = COLUMNS, rows = ROWS, split = SPLIT, steps = STEPS, height = HEIGHT;
    static constexpr int stride = 32 / WIDTH * HEIGHT, across = COLUMNS / WIDTH;
    static constexpr int set = across * (ROWS / (stride * STEPS)) * 32, threads = set * SPLIT;
    // Rounds of 32 that copy a view's bins where pixels are no wider than bins.
    static constexpr int rounds = ((COLUMNS + ROWS) * 71 / 100 + 4 + 31) / 32;
    static_assert(COLUMNS % WIDTH == 0 && ROWS % (stride * STEPS) == 0, "warps cover the tile");

    // Upper left pixel of a thread's first patch; patch k lies k * stride below.
    __device__ static int2 pixel(int thread) {
        const int warp = thread / 32, lane = thread % 32;
        int x = lane % WIDTH, y = lane / WIDTH;
        if (WIDTH == 8) {
            // Z-order: threads that share a cycle of shared memory are neighbours in the slice, whatever the angle.
            x = (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4);
            y = (lane >> 1 & 1) | (lane >> 2 & 2);
        }
        return {warp % across * WIDTH + x, warp / across * (stride * STEPS) + y * HEIGHT};
    }
};

__device__ __forceinline__ float alu_start(const AluView &view, float x, float y) {
    return fmaf(y, view.dy, fmaf(x, view.dx, view.origin));
}
// Position of patch k. Each step rounds monotonically, so positions at the tile's corners bound all the others.
template <class Tile> __device__ __forceinline__ float alu_position(float start, float dy, int k) {
    return k == 0 ? start : fmaf((float)(k * Tile::stride), dy, start);
}

// A Sample that `turns` has views turned round whose position falls down the tile, so that dy is never negative.
template <class Tile, class Sample>
__device__ __forceinline__ AluView alu_view(const AluBackproject &p, int x0, int y0, int group, int row, unsigned cache) {
    constexpr int right = Tile::columns / 2, down = Tile::rows / 2, last = Tile::steps - 1;
    const LocalLine local = local_line(p.b.lines[row], x0 + right, y0 + down);
    const int way = Sample::turns && local.dy < 0 ? -1 : 1;
    AluView view;
    view.origin = way * local.fraction + Sample::offset;
    view.dx = way * local.dx;
    view.dy = way * local.dy;
    const bool falls = view.dy < 0;
    const float start = alu_start(view, view.dx < 0 ? right - 1 : -right, falls ? down - last * Tile::stride - 1 : -down);
    view.lowest = (int)floorf(alu_position<Tile>(start, view.dy, falls ? last : 0));
    view.base = cache + (0u - view.lowest - alu_round_bits) * Sample::slot_bytes;
    view.turned = way < 0;
    view.low = way < 0 ? local.bin - view.lowest - p.slots + 1 : local.bin + view.lowest;
    const int touched = (p.slots + 32 * Tile::rounds - 1) / (32 * Tile::rounds) * (32 * Tile::rounds);
    view.inside = view.low > 0 && view.low + touched < p.b.pitch;
    view.from = (const char *)p.b.data + (((long long)group * p.b.views + row) * p.b.pitch + view.low) * Sample::Bin::bytes;
    return view;
}

template <int BYTES> __device__ __forceinline__ void alu_copy(unsigned to, const void *from) {
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES) : "memory");
}
template <int BYTES> __device__ __forceinline__ void alu_zero(unsigned to) {
    if (BYTES == 16) asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(0) : "memory");
    if (BYTES == 8) asm volatile("st.shared.v2.b32 [%0], {%1, %1};" ::"r"(to), "r"(0) : "memory");
    if (BYTES == 4) asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(0) : "memory");
}

// Shared memory by its 32-bit address, so that finding a slot is one instruction.
template <int WORDS> __device__ __forceinline__ void alu_load(unsigned address, float (&v)[WORDS]) {
    if constexpr (WORDS == 1) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v[0]) : "r"(address) : "memory");
    if constexpr (WORDS == 2)
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "r"(address) : "memory");
    if constexpr (WORDS == 4)
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                     : "r"(address)
                     : "memory");
}

template <int WORDS> __device__ __forceinline__ void alu_save(unsigned address, const float (&v)[WORDS]) {
    if constexpr (WORDS == 1) asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v[0]) : "memory");
    if constexpr (WORDS == 2) asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(v[0]), "f"(v[1]) : "memory");
    if constexpr (WORDS == 4)
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                     : "memory");
}

// A bin of a row: LANES values of T, in 32-bit words.
template <class T, int LANES> struct AluBin {
    static constexpr int bytes = LANES * sizeof(T), words = bytes / 4;

    __device__ static void load(const char *from, float (&v)[words]) {
        if constexpr (words == 1) {
            v[0] = __ldg((const float *)from);
        } else if constexpr (words == 2) {
            const float2 a = __ldg((const float2 *)from);
            v[0] = a.x, v[1] = a.y;
        } else {
            const float4 a = __ldg((const float4 *)from);
            v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        }
    }

    __device__ static void convert(const float (&w)[words], float (&v)[LANES]) {
        if constexpr (words == LANES) {
#pragma unroll
            for (int k = 0; k < LANES; k++) v[k] = w[k];
        } else {
#pragma unroll
            for (int k = 0; k < words; k++) {
                const unsigned bits = __float_as_uint(w[k]);
                const float2 pair = __half22float2(*(const __half2 *)&bits);
                v[2 * k] = pair.x, v[2 * k + 1] = pair.y;
            }
        }
    }
};

// Gives `store(i, here, next)` the bin at slot lane + 32 * i (counted from the end where the view is turned) and the one at the
// position after it. The loads of all rounds are in flight together.
template <int ROUNDS, class Bin, class Store>
__device__ __forceinline__ void alu_pairs(const AluBackproject &p, const AluView &view, int way, Store store) {
    const int lane = threadIdx.x % 32;
    const char *from = view.from + lane * Bin::bytes;
    if (view.inside) {
#pragma unroll 1
        for (int k = 0; 32 * k < p.slots; k += ROUNDS, from += 32 * ROUNDS * Bin::bytes) {
            float here[ROUNDS][Bin::words], next[ROUNDS][Bin::words];
#pragma unroll
            for (int i = 0; i < ROUNDS; i++) {
                Bin::load(from + 32 * i * Bin::bytes, here[i]);
                Bin::load(from + (32 * i + way) * Bin::bytes, next[i]);
            }
#pragma unroll
            for (int i = 0; i < ROUNDS; i++)
                if (32 * (k + i) + lane < p.slots) store(k + i, here[i], next[i]);
        }
    } else {
        const unsigned bins = p.b.bins;
#pragma unroll 1
        for (int i = 0; 32 * i + lane < p.slots; i++) {
            const int bin = view.low + 32 * i + lane;
            float here[Bin::words] = {}, next[Bin::words] = {};
            if ((unsigned)bin < bins) Bin::load(from + (long long)i * 32 * Bin::bytes, here);
            if ((unsigned)(bin + way) < bins) Bin::load(from + ((long long)i * 32 + way) * Bin::bytes, next);
            store(i, here, next);
        }
    }
}

// Nearest bin: the cache holds bins as they are, and one load serves an update of every lane.
template <class T, int LANES> struct AluNearest {
    using Bin = AluBin<T, LANES>;
    static constexpr int slices = LANES, planes = 1, slot_bytes = Bin::bytes;
    static constexpr float offset = 0.5f;
    static constexpr bool turns = false;

    // A warp copies one view.
    template <int ROUNDS> __device__ static void fill(const AluBackproject &p, const AluView &view, unsigned cache, int) {
        const int lane = threadIdx.x % 32;
        const char *from = view.from + lane * slot_bytes;
        const unsigned to = cache + lane * slot_bytes;
        if (view.inside) {
#pragma unroll 1
            for (int k = 0; 32 * k < p.slots; k += ROUNDS, from += 32 * ROUNDS * slot_bytes)
#pragma unroll
                for (int i = 0; i < ROUNDS; i++)
                    if (32 * (k + i) + lane < p.slots)
                        alu_copy<slot_bytes>(to + 32 * (k + i) * slot_bytes, from + 32 * i * slot_bytes);
        } else {
#pragma unroll 1
            for (int i = 0; 32 * i + lane < p.slots; i++) {
                if ((unsigned)(view.low + lane + 32 * i) < (unsigned)p.b.bins)
                    alu_copy<slot_bytes>(to + 32 * i * slot_bytes, from + (long long)i * 32 * slot_bytes);
                else
                    alu_zero<slot_bytes>(to + 32 * i * slot_bytes);
            }
        }
    }

    __device__ static void add(unsigned base, float position, float (&sums)[LANES]) {
        float words[Bin::words], v[LANES];
        alu_load(__float_as_uint(__fadd_rd(position, alu_round)) * slot_bytes + base, words);
        Bin::convert(words, v);
#pragma unroll
        for (int lane = 0; lane < LANES; lane++) sums[lane] += v[lane];
    }
};

// Linear, with one wide load an update: a slot holds the line through its bin and the next, as the value at position 0 of the
// tile and the slope, so that the position itself is the weight.
struct AluLines {
    using Bin = AluBin<float, 1>;
    static constexpr int slices = 1, planes = 1, slot_bytes = 8;
    static constexpr float offset = 0;
    static constexpr bool turns = false;

    template <int ROUNDS> __device__ static void fill(const AluBackproject &p, const AluView &view, unsigned cache, int) {
        const int lane = threadIdx.x % 32;
        const unsigned to = cache + lane * slot_bytes;
        const float place = (float)(view.lowest + lane);
        alu_pairs<ROUNDS, Bin>(p, view, 1, [&](int i, const float(&here)[1], const float(&next)[1]) {
            const float slope = next[0] - here[0];
            const float line[2] = {fmaf(-(place + 32 * i), slope, here[0]), slope};
            alu_save(to + 32 * i * slot_bytes, line);
        });
    }

    __device__ static void add(unsigned base, float position, float (&sums)[1]) {
        float line[2];
        alu_load(__float_as_uint(__fadd_rd(position, alu_round)) * slot_bytes + base, line);
        sums[0] += fmaf(line[1], position, line[0]);
    }
};

// Linear, for 4 pixels one above the other. They meet neighbouring bins, so each bin is loaded once for all 4, and what differs
// between two of the pixels is the slopes of the bins from one to the other, each times the part of that bin's width that lies
// between the two positions. So sums[i] is the difference of pixel i to its parent, and the cache holds values and slopes, in
// planes of up to 4 slices.
template <class T, int LANES> struct AluStrip {
    using Bin = AluBin<T, LANES>;
    static constexpr int height = 4, slices = LANES, chunk = LANES < 4 ? LANES : 4;
    static constexpr int planes = 2 * slices / chunk, slot_bytes = 4 * chunk;
    static constexpr float offset = 0;
    static constexpr bool turns = true;

    template <int ROUNDS>
    __device__ static void fill(const AluBackproject &p, const AluView &view, unsigned cache, int plane_bytes) {
        const int lane = threadIdx.x % 32, slot = view.turned ? p.slots - 1 - lane : lane;
        const int step = view.turned ? -32 * slot_bytes : 32 * slot_bytes, way = view.turned ? -1 : 1;
        const unsigned to = cache + slot * slot_bytes;
        alu_pairs<ROUNDS, Bin>(p, view, way, [&](int i, const auto &here, const auto &next) {
            float v[LANES], after[LANES];
            Bin::convert(here, v);
            Bin::convert(next, after);
#pragma unroll
            for (int c = 0; c < LANES / chunk; c++) {
                float values[chunk], slopes[chunk];
#pragma unroll
                for (int k = 0; k < chunk; k++) {
                    values[k] = v[c * chunk + k];
                    slopes[k] = after[c * chunk + k] - values[k];
                }
                alu_save(to + i * step + 2 * c * plane_bytes, values);
                alu_save(to + i * step + (2 * c + 1) * plane_bytes, slopes);
            }
        });
    }

    // Kinds of views by dy, in sixths. In a kind, pixel i is past all of bin j (counted from the first pixel's) where j < low,
    // and never in it where j >= high.
    static constexpr int kinds = 4;
    __host__ __device__ static constexpr int sixths(int kind) { return kind == 0 ? 0 : kind == 4 ? 6 : kind + 1; }
    __host__ __device__ static constexpr int low(int kind, int i) { return i * sixths(kind) / 6; }
    __host__ __device__ static constexpr int high(int kind, int i) { return i == 0 ? 1 : (6 + i * sixths(kind + 1) + 5) / 6; }
    __host__ __device__ static constexpr int parent(int i) { return i == 3 ? 2 : 0; }

    template <int KIND>
    __device__ static void add(unsigned base, int plane_bytes, float start, float dy, float (&sums)[height][slices]) {
        const float rounded = __fadd_rd(start, alu_round), t = start - (rounded - alu_round);
        const unsigned slot = __float_as_uint(rounded) * slot_bytes + base;
        // How much of bin j lies before pixel i.
        const auto before = [&](int i, int j) {
            if (i == 0 && j == 0) return t;
            if (j < low(KIND, i)) return 1.0f;
            if (j >= high(KIND, i)) return 0.0f;
            return __saturatef(t + (j == 0 ? i * dy : i * dy - j));
        };
        constexpr int bins = high(KIND, height - 1);
        float weight[height][bins];
        weight[0][0] = t;
#pragma unroll
        for (int i = 1; i < height; i++) {
            const int first = low(KIND, parent(i)), last = high(KIND, i) - 1;
#pragma unroll
            for (int j = first; j <= last; j++) weight[i][j] = before(i, j) - before(parent(i), j);
            if (last == first + 1) weight[i][first] = (i - parent(i)) * dy - weight[i][last];
        }
#pragma unroll
        for (int c = 0; c < slices / chunk; c++) {
            float v[chunk];
            alu_load(slot + 2 * c * plane_bytes, v);
#pragma unroll
            for (int k = 0; k < chunk; k++) sums[0][c * chunk + k] += v[k];
#pragma unroll
            for (int j = 0; j < bins; j++) {
                alu_load(slot + (2 * c + 1) * plane_bytes + j * slot_bytes, v);
#pragma unroll
                for (int i = 0; i < height; i++)
                    if (i == 0 ? j == 0 : j >= low(KIND, parent(i)) && j < high(KIND, i))
#pragma unroll
                        for (int k = 0; k < chunk; k++)
                            sums[i][c * chunk + k] = fmaf(weight[i][j], v[k], sums[i][c * chunk + k]);
            }
        }
    }

    // Pixels wider than a bin share nothing.
    __device__ static void add_wide(unsigned base, int plane_bytes, float start, float dy, float (&sums)[height][slices]) {
        float pixel[height][slices];
#pragma unroll
        for (int i = 0; i < height; i++) {
            const float position = fmaf((float)i, dy, start), rounded = __fadd_rd(position, alu_round);
            const float t = position - (rounded - alu_round);
            const unsigned slot = __float_as_uint(rounded) * slot_bytes + base;
#pragma unroll
            for (int c = 0; c < slices / chunk; c++) {
                float v[chunk], slope[chunk];
                alu_load(slot + 2 * c * plane_bytes, v);
                alu_load(slot + (2 * c + 1) * plane_bytes, slope);
#pragma unroll
                for (int k = 0; k < chunk; k++) {
                    pixel[i][c * chunk + k] = fmaf(t, slope[k], v[k]);
                    sums[i][c * chunk + k] += pixel[i][c * chunk + k] - (i == 0 ? 0 : pixel[parent(i)][c * chunk + k]);
                }
            }
        }
    }

    // From differences to pixels.
    __device__ static void finish(float (&sums)[height][slices]) {
#pragma unroll
        for (int i = 1; i < height; i++)
#pragma unroll
            for (int k = 0; k < slices; k++) sums[i][k] += sums[parent(i)][k];
    }
};

template <int VALUE> struct AluKind {
    static constexpr int value = VALUE;
};

// Takes a tile through all views. `add` adds the views [first, last), every Tile::split-th, which are in the cache. One barrier
// a stage: while a stage is added up, the next is being copied and the lines of the one after are worked out.
template <class Tile, class Sample, class Add>
__device__ __forceinline__ void alu_stages(const AluBackproject &p, char *shared, int x0, int y0, int group, Add add) {
    constexpr int warps = Tile::threads / 32;
    const int warp = threadIdx.x / 32, part = threadIdx.x / Tile::set;
    const int view_bytes = p.slots * Sample::slot_bytes, plane_bytes = p.stage * view_bytes;
    AluView *views = (AluView *)shared;
    const unsigned buffers = (unsigned)__cvta_generic_to_shared(views + 3 * p.stage);
    const auto cache = [&](int stage, int k) { return buffers + (stage & 1) * Sample::planes * plane_bytes + k * view_bytes; };
    const auto count = [&](int stage) { return min(p.stage, p.b.views - stage * p.stage); };
    const auto place = [&](int stage, int ring) {
        const int k = threadIdx.x;
        if (k < count(stage))
            views[ring * p.stage + k] = alu_view<Tile, Sample>(p, x0, y0, group, stage * p.stage + k, cache(stage, k));
    };
    const auto fill = [&](int stage, int ring) {
        for (int k = warp; k < count(stage); k += warps)
            Sample::template fill<Tile::rounds>(p, views[ring * p.stage + k], cache(stage, k), plane_bytes);
    };
    place(0, 0);
    place(1, 1);
    __syncthreads();
    fill(0, 0);
    int ring = 0;
    for (int stage = 0; stage * p.stage < p.b.views; stage++) {
        const int next = ring == 2 ? 0 : ring + 1, after = next == 2 ? 0 : next + 1;
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        place(stage + 2, after);
        const AluView *first = views + ring * p.stage;
        // Half the warps copy first, half last, so that not all wait for memory at the same time (unless a stage is short).
        const int turn = Tile::split == 1 || Tile::height > 1 ? warp & 1 : 0;
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            if (half == turn)
                fill(stage + 1, next);
            else
                add(first + part, first + count(stage), plane_bytes);
        }
        ring = next;
    }
}

// Adds up the sets of threads in a fixed order and writes the tile. sums[k][i] is row i of patch k.
template <class Tile, int SLICES>
__device__ __forceinline__ void alu_store(const Backproject &b, float *shared, int x0, int y0, int slice0,
                                          float (&sums)[Tile::steps][Tile::height][SLICES]) {
    const int part = threadIdx.x / Tile::set, thread = threadIdx.x % Tile::set;
    const auto each = [&](auto value) {
#pragma unroll
        for (int k = 0; k < Tile::steps * Tile::height * SLICES; k++)
            value(sums[k / (Tile::height * SLICES)][k / SLICES % Tile::height][k % SLICES], shared[k * Tile::set + thread]);
    };
#pragma unroll 1
    for (int other = 1; other < Tile::split; other++) {
        __syncthreads();
        if (part == other) each([](float &mine, float &place) { place = mine; });
        __syncthreads();
        if (part == 0) each([](float &mine, float &place) { mine += place; });
    }
    if (part != 0) return;
    const int2 pixel = Tile::pixel(thread);
    const int x = x0 + pixel.x;
#pragma unroll
    for (int lane = 0; lane < SLICES; lane++) {
        const int slice = slice0 + lane;
        if (slice >= b.slices) return;
        const float scale = b.scale[slice];
        float *out = b.volume + slice * b.slice_stride + x;
#pragma unroll
        for (int k = 0; k < Tile::steps; k++)
#pragma unroll
            for (int i = 0; i < Tile::height; i++) {
                const int y = y0 + pixel.y + k * Tile::stride + i;
                if (x < b.nx && y < b.ny) out[y * b.row_stride] = sums[k][i][lane] * scale;
            }
    }
}

// One tile of one group, each pixel on its own.
template <class Tile, class Sample>
__device__ __forceinline__ void alu_points(const AluBackproject &p, char *shared, int tile_x, int tile_y, int group) {
    const int x0 = tile_x * Tile::columns, y0 = tile_y * Tile::rows;
    const int2 pixel = Tile::pixel(threadIdx.x % Tile::set);
    const float x = pixel.x - Tile::columns / 2, y = pixel.y - Tile::rows / 2;
    float sums[Tile::steps][1][Sample::slices] = {};
    alu_stages<Tile, Sample>(p, shared, x0, y0, group, [&](const AluView *view, const AluView *end, int) {
#pragma unroll 1
        for (; view < end; view += Tile::split) {
            const float start = alu_start(*view, x, y), dy = view->dy;
            const unsigned base = view->base;
#pragma unroll
            for (int k = 0; k < Tile::steps; k++) Sample::add(base, alu_position<Tile>(start, dy, k), sums[k][0]);
        }
    });
    alu_store<Tile, Sample::slices>(p.b, (float *)shared, x0, y0, group * Sample::slices, sums);
}

// One tile of one group, in strips of pixels.
template <class Tile, class Strip>
__device__ __forceinline__ void alu_strips(const AluBackproject &p, char *shared, int tile_x, int tile_y, int group) {
    constexpr int slices = Strip::slices;
    const int x0 = tile_x * Tile::columns, y0 = tile_y * Tile::rows;
    const int2 pixel = Tile::pixel(threadIdx.x % Tile::set);
    const float x = pixel.x - Tile::columns / 2, y = pixel.y - Tile::rows / 2;
    float sums[Tile::steps][Strip::height][slices] = {};
    const auto add = [&](const AluView *view, const AluView *end, int plane_bytes) {
#pragma unroll 1
        for (; view < end; view += Tile::split) {
            const float start = alu_start(*view, x, y), dy = view->dy;
            const unsigned base = view->base;
            const auto strips = [&](auto kind) {
#pragma unroll
                for (int k = 0; k < Tile::steps; k++)
                    Strip::template add<decltype(kind)::value>(base, plane_bytes, alu_position<Tile>(start, dy, k), dy,
                                                               sums[k]);
            };
            // The same for all threads of a block.
            if (dy > 2.0f / 3) {
                if (dy <= 1) {
                    strips(AluKind<3>());
                } else {
#pragma unroll
                    for (int k = 0; k < Tile::steps; k++)
                        Strip::add_wide(base, plane_bytes, alu_position<Tile>(start, dy, k), dy, sums[k]);
                }
            } else if (dy > 0.5f) {
                strips(AluKind<2>());
            } else if (dy > 1.0f / 3) {
                strips(AluKind<1>());
            } else {
                strips(AluKind<0>());
            }
        }
    };
    alu_stages<Tile, Strip>(p, shared, x0, y0, group, add);
#pragma unroll
    for (int k = 0; k < Tile::steps; k++) Strip::finish(sums[k]);
    alu_store<Tile, slices>(p.b, (float *)shared, x0, y0, group * slices, sums);
}
