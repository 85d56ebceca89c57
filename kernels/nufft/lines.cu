// Spreading (type 1) of points that lie evenly on straight lines through the origin, of many images at once, without atomics and in a
// fixed order: grid = sum over lines and points of value * phi(x) phi(y).
//
// A gather. A block makes a tile of the grid, or a part of it, from all lines that pass near. The points near follow from the lines'
// directions, so that none is stored or sorted. What a grid point sums, and in which order, does not depend on the number of images.
#include "lines.cuh"

namespace {

constexpr int PATCH = 4, PATCHES = (TILE / PATCH) * (TILE / PATCH);
static_assert(PATCH <= MARGIN, "taps are looked up from PATCH before the first to PATCH behind the last");

// Mirrors `SpreadArguments` in crates/nufft/src/gpu/lines.rs.
struct Spread {
    const Item *items;
    const Range *ranges;
    const Direction *directions;
    // [degree + 1][TAPS], the highest power first.
    const float *coefficients;
    // [line][point][image]; an even number of images.
    const Complex<float> *values;
    // [y][x][image]
    Complex<float> *grid;
    // [slot][y][x][image] of a tile.
    Complex<float> *parts;
    Course course;
    int directions_count, width, degree;
    // Of the grid: x, y.
    int size[2];
    int images;
    // Half of the spreading function's width, and what f32 may round of a position.
    float reach;
    int unused;
};
static_assert(sizeof(Spread) == 104);

// Mirrors `SumArguments` there.
struct Sum {
    // Tiles made of parts: first grid point, first slot and number of slots.
    const int4 *tiles;
    const Complex<float> *parts;
    Complex<float> *grid;
    int size[2];
    int images, unused;
};
static_assert(sizeof(Sum) == 40);

// What a point does to a patch: to a row's grid points.
struct alignas(16) Row {
    float of[PATCH];
};
struct Weights {
    Row rows[PATCH];
};

// Many images: a warp makes a patch of 4 x 4 grid points of 64 images, two a lane, in registers. The points near the patch come in
// batches of 32: each lane works out what one of them does to the patch, then all lanes add all of them.
template <int WARPS> __device__ inline void many(const Spread &p) {
    constexpr int IMAGES = 2, BLOCKS = PATCHES / WARPS;
    __shared__ float coefficients[(DEGREE + 1) * TAPS];
    __shared__ Weights all[WARPS * 32];
    for (int i = threadIdx.x; i < (p.degree + 1) * TAPS; i += WARPS * 32) coefficients[i] = p.coefficients[i];
    __syncthreads();

    const Item item = p.items[blockIdx.x / BLOCKS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, patch = blockIdx.x % BLOCKS * WARPS + warp;
    // A block's patches lie along the lines, so that they need the same values at the same time.
    const int along = patch % (TILE / PATCH) * PATCH, across = patch / (TILE / PATCH) * PATCH;
    const int left = item.upright ? across : along, top = item.upright ? along : across;
    const int image = (blockIdx.y * 32 + lane) * IMAGES;
    // Of a lane without images: those of another.
    const Complex<float> *values = p.values + min(image, p.images - IMAGES);
    Weights *weights = all + warp * 32;

    Images<IMAGES> sum[PATCH][PATCH] = {};
    for (int r = 0; r < item.ranges; r++) {
        const Range range = p.ranges[item.first_range + r];
        const int x = range.x + item.x + left, y = range.y + item.y + top;
        for (int start = 0; start < range.count; start += 32) {
            // A line a lane: which of its points are near the patch.
            const float2 low = {x - p.reach, y - p.reach};
            const float2 high = {x + PATCH - 1 + p.reach, y + PATCH - 1 + p.reach};
            const NearLine line = near_line(p.directions, p.directions_count, p.course, range, start, low, high);
            const int total = line.total();
            for (int batch = 0; batch < total; batch += 32) {
                // A point a lane: of the first line that ends behind it.
                const int number = batch + lane;
                const int2 point = near_point(line, number);
                // Its values, in pairs of images. Behind the last point any will do: they have no weight.
                unsigned offset = 0;
                int t = 0;
                Direction d = {};
                if (number < total) {
                    t = point.y;
                    d = p.directions[point.x];
                    offset = (unsigned)p.course.index(d.line, t) * (p.images / 2);
                }
                auto fetch = [&](int i) { return load_pair(values + 2ull * __shfl_sync(~0u, offset, i)); };
                // On their way while weights are worked out, and later while the points before them are added.
                Images<IMAGES> next[2] = {fetch(0), fetch(1)};
                Row wx = {}, wy = {};
                if (number < total) {
                    float zx, zy;
                    const int sx = first_tap(p.course.at(t, d.x), p.width, zx), sy = first_tap(p.course.at(t, d.y), p.width, zy);
                    const int tx = min(max(x - sx + MARGIN, 0), TAPS - PATCH), ty = min(max(y - sy + MARGIN, 0), TAPS - PATCH);
                    for (int k = 0; k <= p.degree; k++) {
                        const float *row = coefficients + k * TAPS;
#pragma unroll
                        for (int i = 0; i < PATCH; i++) {
                            wx.of[i] = fmaf(wx.of[i], zx, row[tx + i]);
                            wy.of[i] = fmaf(wy.of[i], zy, row[ty + i]);
                        }
                    }
                }
                __syncwarp();
#pragma unroll
                for (int b = 0; b < PATCH; b++) {
                    Row row;
#pragma unroll
                    for (int a = 0; a < PATCH; a++) row.of[a] = wy.of[b] * wx.of[a];
                    weights[lane].rows[b] = row;
                }
                __syncwarp();
                auto add = [&](const Images<IMAGES> &v, int i) {
#pragma unroll
                    for (int b = 0; b < PATCH; b++) {
                        const Row w = weights[i].rows[b];
#pragma unroll
                        for (int a = 0; a < PATCH; a++) {
#pragma unroll
                            for (int n = 0; n < IMAGES; n++) {
                                Complex<float> &s = sum[b][a].of[n];
                                s = {fmaf(v.of[n].x, w.of[a], s.x), fmaf(v.of[n].y, w.of[a], s.y)};
                            }
                        }
                    }
                };
                const int count = min(total - batch, 32);
#pragma unroll 1
                for (int i = 0; i < count; i += 4) {
                    const Images<IMAGES> later[2] = {fetch(i + 2), fetch(i + 3)};
                    add(next[0], i), add(next[1], i + 1);
                    if (i + 2 >= count) break;
                    next[0] = fetch(i + 4), next[1] = fetch(i + 5);
                    add(later[0], i + 2), add(later[1], i + 3);
                }
            }
        }
    }
    if (image >= p.images) return;
#pragma unroll
    for (int b = 0; b < PATCH; b++) {
#pragma unroll
        for (int a = 0; a < PATCH; a++) {
            const int cx = item.x + left + a, cy = item.y + top + b;
            if (item.slot >= 0) {
                const long long cell = ((long long)item.slot * TILE + top + b) * TILE + left + a;
                *reinterpret_cast<Images<IMAGES> *>(p.parts + cell * p.images + image) = sum[b][a];
            } else if (cx < p.size[0] && cy < p.size[1]) {
                const long long cell = (long long)cy * p.size[0] + cx;
                *reinterpret_cast<Images<IMAGES> *>(p.grid + cell * p.images + image) = sum[b][a];
            }
        }
    }
}

// What a point does to the grid points of a tile along an axis; its taps begin at `start` there.
__device__ inline void expand_taps(const Spread &p, const float *coefficients, float z, int start, float *to) {
#pragma unroll
    for (int i = 0; i < TILE; i += 4) *reinterpret_cast<float4 *>(to + i) = {0, 0, 0, 0};
    for (int i = 0; i < p.width; i += 4) {
        float w[4] = {};
        for (int k = 0; k <= p.degree; k++) {
            const float4 c = *reinterpret_cast<const float4 *>(coefficients + k * TAPS + MARGIN + i);
            w[0] = fmaf(w[0], z, c.x), w[1] = fmaf(w[1], z, c.y), w[2] = fmaf(w[2], z, c.z), w[3] = fmaf(w[3], z, c.w);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            // Taps behind the last one are 0.
            if ((unsigned)(start + i + k) < (unsigned)TILE) to[start + i + k] = w[k];
        }
    }
}

// Few images: a thread makes two grid points of a tile, one above the other, of IMAGES images. All points near the tile come in batches,
// whose taps and values are worked out once and shared; a warp makes 8 x 8 grid points and takes those of the batch that touch them.
template <int IMAGES> __device__ inline void few(const Spread &p) {
    constexpr int THREADS = TILE * TILE / 2, BATCH = THREADS, SIDE = 8;
    // What a point does along an axis: to each of the tile's grid points. Apart as 16 bytes are stored in other banks.
    constexpr int PITCH = TILE + 4;
    static_assert(ITEM_LINES <= THREADS && IMAGES % 2 == 0, "a thread a line, and pairs of images");
    __shared__ __align__(16) float coefficients[(DEGREE + 1) * TAPS];
    __shared__ __align__(16) float taps[2][BATCH * PITCH];
    __shared__ Images<IMAGES> values[BATCH];
    // Where the taps of a point begin in the tile, along x and y.
    __shared__ int2 starts[BATCH];
    struct Line {
        // Points of the lines up to this one; its last point; which direction; the tile's first grid point, where the line is.
        int until, last, at, x, y;
    };
    __shared__ Line lines[ITEM_LINES];
    __shared__ int sums[ITEM_LINES / 32];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    for (int i = thread; i < (p.degree + 1) * TAPS; i += THREADS) coefficients[i] = p.coefficients[i];

    const Item item = p.items[blockIdx.x];
    if (thread < ITEM_LINES) {
        Line line = {};
        int number = thread, points = 0;
        for (int r = 0; r < item.ranges; r++) {
            const Range range = p.ranges[item.first_range + r];
            if (number < range.count) {
                line.at = range.first + number, line.x = range.x + item.x, line.y = range.y + item.y;
                if (line.at >= p.directions_count) line.at -= p.directions_count;
                const Direction d = p.directions[line.at];
                const float scale = 1.f / 4294967296.f;
                int first = p.course.first, last = p.course.last;
                narrow(p.course, d.x * scale, line.x - p.reach, line.x + TILE - 1 + p.reach, first, last);
                narrow(p.course, d.y * scale, line.y - p.reach, line.y + TILE - 1 + p.reach, first, last);
                line.last = last, points = max(last - first + 1, 0);
                break;
            }
            number -= range.count;
        }
        line.until = points;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(~0u, line.until, step);
            if (lane >= step) line.until += before;
        }
        if (lane == 31) sums[warp] = line.until;
        lines[thread] = line;
    }
    __syncthreads();
    if (thread < ITEM_LINES) {
        for (int i = 0; i < warp; i++) lines[thread].until += sums[i];
    }
    __syncthreads();
    const int total = lines[ITEM_LINES - 1].until;

    const int left = warp % (TILE / SIDE) * SIDE, top = warp / (TILE / SIDE) * SIDE;
    const int x = left + lane % SIDE, y = top + lane / SIDE * 2, image = blockIdx.y * IMAGES;
    Images<IMAGES> sum[2] = {};
    for (int batch = 0; batch < total; batch += BATCH) {
        const int number = batch + thread;
        int2 start = {TILE, TILE};
        if (number < total) {
            int found = 0;
#pragma unroll
            for (int step = ITEM_LINES / 2; step > 0; step /= 2) {
                if (lines[found + step - 1].until <= number) found += step;
            }
            const Line line = lines[found];
            const int t = line.last - (line.until - 1 - number);
            const Direction d = p.directions[line.at];
            const Complex<float> *from = p.values + p.course.long_index(d.line, t) * p.images + image;
#pragma unroll
            for (int n = 0; n < IMAGES; n++) {
                values[thread].of[n] = image + n < p.images ? load_constant(from + n) : Complex<float>{0, 0};
            }
            float zx, zy;
            start.x = first_tap(p.course.at(t, d.x), p.width, zx) - line.x;
            start.y = first_tap(p.course.at(t, d.y), p.width, zy) - line.y;
            expand_taps(p, coefficients, zx, start.x, taps[0] + thread * PITCH);
            expand_taps(p, coefficients, zy, start.y, taps[1] + thread * PITCH);
        }
        starts[thread] = start;
        __syncthreads();
        for (int first = 0; first < BATCH; first += 32) {
            const int2 s = starts[first + lane];
            const bool meets = s.x < left + SIDE && s.x + p.width > left && s.y < top + SIDE && s.y + p.width > top;
            for (unsigned some = __ballot_sync(~0u, meets); some; some &= some - 1) {
                const int i = first + __ffs(some) - 1;
                const float wx = taps[0][i * PITCH + x];
                const float2 wy = *reinterpret_cast<const float2 *>(taps[1] + i * PITCH + y);
                const float w[2] = {wy.x * wx, wy.y * wx};
                const Images<IMAGES> v = values[i];
#pragma unroll
                for (int n = 0; n < IMAGES; n++) {
#pragma unroll
                    for (int b = 0; b < 2; b++) {
                        Complex<float> &s = sum[b].of[n];
                        s = {fmaf(v.of[n].x, w[b], s.x), fmaf(v.of[n].y, w[b], s.y)};
                    }
                }
            }
        }
        __syncthreads();
    }
    const bool part = item.slot >= 0;
#pragma unroll
    for (int b = 0; b < 2; b++) {
        const int cx = item.x + x, cy = item.y + y + b;
        if (!part && (cx >= p.size[0] || cy >= p.size[1])) continue;
        const long long cell = part ? ((long long)item.slot * TILE + y + b) * TILE + x : (long long)cy * p.size[0] + cx;
        Complex<float> *to = (part ? p.parts : p.grid) + cell * p.images + image;
#pragma unroll
        for (int n = 0; n < IMAGES; n++) {
            if (image + n < p.images) to[n] = sum[b].of[n];
        }
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(128, 4) lines_64(const __grid_constant__ Spread p) { many<4>(p); }
extern "C" __global__ void __launch_bounds__(128, 6) lines_8(const __grid_constant__ Spread p) { few<8>(p); }
extern "C" __global__ void __launch_bounds__(128, 8) lines_2(const __grid_constant__ Spread p) { few<2>(p); }

// A block sums the parts of a row of a tile.
extern "C" __global__ void __launch_bounds__(256) lines_sum(const __grid_constant__ Sum p) {
    const int4 tile = p.tiles[blockIdx.x];
    const int y = blockIdx.y;
    if (tile.y + y >= p.size[1]) return;
    for (int i = threadIdx.x; i < TILE * p.images; i += 256) {
        const int x = i / p.images;
        if (tile.x + x >= p.size[0]) return;
        Complex<float> total = {0, 0};
        for (int s = 0; s < tile.w; s++) {
            const long long cell = ((long long)(tile.z + s) * TILE + y) * TILE;
            total = total + load_constant(p.parts + cell * p.images + i);
        }
        p.grid[((long long)(tile.y + y) * p.size[0] + tile.x) * p.images + i] = total;
    }
}
