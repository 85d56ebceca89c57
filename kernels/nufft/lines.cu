// Spreading (type 1) of points that lie evenly on straight lines through the origin, of many images at once, without atomics and in a
// fixed order: grid = sum over lines and points of value * phi(x) phi(y).
//
// A gather. A block makes a tile of the grid, or a part of it, from all lines that pass near it; a group of lanes makes a patch of 4 x 4
// grid points of all images, IMAGES of them a lane, in registers. The points near a patch follow from the line's direction, so that none is stored
// or sorted. They come in batches of as many as a group has lanes: each lane works out the weights of one point, then all lanes add
// all of them. What a grid point sums, and in which order, depends neither on the number of images nor on the lanes.
#include "../common/complex.cuh"

namespace {

constexpr int TILE = 16, PATCH = 4, PATCHES = (TILE / PATCH) * (TILE / PATCH);
// Taps are looked up from PATCH before the first to PATCH behind the last, where coefficients are 0.
constexpr int TAPS = 16 + 2 * PATCH, DEGREE = 20;

// Mirrors `Direction` in src/nufft/gpu/lines.rs.
struct Direction {
    // From point to point, in grid points times 2^32.
    long long x, y;
    // Which line it is.
    int line;
    int unused;
};
static_assert(sizeof(Direction) == 24);

// Neighbouring directions, by angle, that pass near a tile, or near one of its repetitions: `x`, `y` grid points away.
// Mirrors `Range` there.
struct Range {
    int x, y, first, count;
};
static_assert(sizeof(Range) == 16);

// A tile, or a part of one's lines. Mirrors `Item` there.
struct Item {
    // First grid point.
    int x, y;
    int first_range, ranges;
    // Where a part goes; -1: to the grid.
    int slot;
};
static_assert(sizeof(Item) == 20);

// Mirrors `SpreadArguments` there.
struct Spread {
    const Item *items;
    const Range *ranges;
    const Direction *directions;
    // [degree + 1][TAPS], the highest power first.
    const float *coefficients;
    // [line][point][image], points from -half to half; an even number of images.
    const Complex<float> *values;
    // [y][x][image]
    Complex<float> *grid;
    // [slot][y][x][image] of a tile.
    Complex<float> *parts;
    int directions_count, half, width, degree;
    // Of the grid: x, y.
    int size[2];
    int images;
    // Half of the spreading function's width, and what f32 may round of a position.
    float reach;
};
static_assert(sizeof(Spread) == 88);

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

template <int N> struct alignas(8 * N) Images {
    Complex<float> of[N];
};

template <int N> __device__ inline Images<N> load(const Complex<float> *from) {
    Images<N> v;
    if constexpr (N == 2) {
        const float4 q = __ldg(reinterpret_cast<const float4 *>(from));
        v.of[0] = {q.x, q.y}, v.of[1] = {q.z, q.w};
    } else {
        v.of[0] = load_constant(from);
    }
    return v;
}

// Points t of a line, t * step within [low, high], both relative to the same origin: narrows [first, last] to them and, at the ends,
// perhaps one more.
__device__ inline void narrow(float step, float low, float high, int end, int &first, int &last) {
    if (fabsf(step) * end < 1.f / 256) {
        // All of them are at the origin.
        if (low > 0 || high < 0) last = first - 1;
        return;
    }
    const float a = low / step, b = high / step, limit = 8388608;
    first = max(first, (int)ceilf(fmaxf(fminf(a, b), -limit)));
    last = min(last, (int)floorf(fminf(fmaxf(a, b), limit)));
}

// What a point does to a patch: to a row's grid points.
struct alignas(16) Row {
    float of[PATCH];
};
struct Weights {
    Row rows[PATCH];
};

// IMAGES a lane; LANES of a patch.
template <int IMAGES, int LANES, int WARPS> __device__ inline void spread(const Spread &p) {
    constexpr int GROUPS = 32 / LANES, BLOCKS = PATCHES / GROUPS / WARPS;
    __shared__ float coefficients[(DEGREE + 1) * TAPS];
    __shared__ Weights all[WARPS * 32];
    for (int i = threadIdx.x; i < (p.degree + 1) * TAPS; i += WARPS * 32) coefficients[i] = p.coefficients[i];
    __syncthreads();

    const Item item = p.items[blockIdx.x / BLOCKS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / LANES, own = lane % LANES;
    const int patch = (blockIdx.x % BLOCKS * WARPS + warp) * GROUPS + group;
    const int left = patch % (TILE / PATCH) * PATCH, top = patch / (TILE / PATCH) * PATCH;
    const int image = (blockIdx.y * LANES + own) * IMAGES;
    // Of a lane without images: those of another.
    const Complex<float> *values = p.values + min(image, p.images - IMAGES);
    const unsigned mask = LANES == 32 ? ~0u : ((1u << LANES) - 1) << group * LANES;
    Weights *weights = all + warp * 32 + group * LANES;

    Images<IMAGES> sum[PATCH][PATCH] = {};
    for (int r = 0; r < item.ranges; r++) {
        const Range range = p.ranges[item.first_range + r];
        const int x = range.x + item.x + left, y = range.y + item.y + top;
        for (int start = 0; start < range.count; start += LANES) {
            // A line a lane: which of its points are near the patch.
            int first = -p.half, last = p.half, at = range.first + start + own;
            if (at >= p.directions_count) at -= p.directions_count;
            if (start + own < range.count) {
                const Direction d = p.directions[at];
                const float scale = 1.f / 4294967296.f;
                narrow(d.x * scale, x - p.reach, x + PATCH - 1 + p.reach, p.half, first, last);
                narrow(d.y * scale, y - p.reach, y + PATCH - 1 + p.reach, p.half, first, last);
            } else {
                last = first - 1;
            }
            // Points of this line and those before it.
            int until = max(last - first + 1, 0);
#pragma unroll
            for (int step = 1; step < LANES; step *= 2) {
                int before = __shfl_up_sync(~0u, until, step, LANES);
                if (own >= step) until += before;
            }
            const int total = __shfl_sync(~0u, until, LANES - 1, LANES);
            const int longest = LANES == 32 ? total : __reduce_max_sync(~0u, total);
            for (int batch = 0; batch < longest; batch += LANES) {
                // A point a lane: the first line that ends behind it.
                const int number = batch + own;
                int line = 0;
#pragma unroll
                for (int step = LANES / 2; step > 0; step /= 2) {
                    int end = __shfl_sync(~0u, until, line + step - 1, LANES);
                    if (end <= number) line += step;
                }
                const int end = __shfl_sync(~0u, until, line, LANES), last_of = __shfl_sync(~0u, last, line, LANES);
                const int direction = __shfl_sync(~0u, at, line, LANES);
                // What it is for this lane's point.
                unsigned offset = 0;
                int t = 0;
                Direction d = {};
                if (number < total) {
                    t = last_of - (end - 1 - number);
                    d = p.directions[direction];
                    offset = (unsigned)(d.line * (2 * p.half + 1) + t + p.half) * (p.images / 2);
                }
                // Behind the last point of a patch any will do: it has no weight.
                auto fetch = [&](int i) { return load<IMAGES>(values + 2ull * __shfl_sync(~0u, offset, i, LANES)); };
                // On their way while weights are worked out, and later while the points before them are added.
                Images<IMAGES> next[2] = {fetch(0), fetch(1)};
                Row wx = {}, wy = {};
                if (number < total) {
                    // Where the function begins, in 2^-32 grid points.
                    const long long reach = (long long)p.width << 31, fx = t * d.x - reach, fy = t * d.y - reach;
                    const unsigned rx = 0u - (unsigned)fx, ry = 0u - (unsigned)fy;
                    // The first grid point there, and how far away it is, from -1 to 1.
                    const int sx = (int)(fx >> 32) + (rx != 0), sy = (int)(fy >> 32) + (ry != 0);
                    const float zx = rx * (2.f / 4294967296.f) - 1, zy = ry * (2.f / 4294967296.f) - 1;
                    const int tx = min(max(x - sx + PATCH, 0), TAPS - PATCH), ty = min(max(y - sy + PATCH, 0), TAPS - PATCH);
                    for (int k = 0; k <= p.degree; k++) {
                        const float *row = coefficients + k * TAPS;
#pragma unroll
                        for (int i = 0; i < PATCH; i++) {
                            wx.of[i] = fmaf(wx.of[i], zx, row[tx + i]);
                            wy.of[i] = fmaf(wy.of[i], zy, row[ty + i]);
                        }
                    }
                }
                __syncwarp(mask);
#pragma unroll
                for (int b = 0; b < PATCH; b++) {
                    Row row;
#pragma unroll
                    for (int a = 0; a < PATCH; a++) row.of[a] = wy.of[b] * wx.of[a];
                    weights[own].rows[b] = row;
                }
                __syncwarp(mask);
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
                if constexpr (LANES == 2) {
                    add(next[0], 0), add(next[1], 1);
                } else {
                    const int most = min(longest - batch, LANES);
#pragma unroll 1
                    for (int i = 0; i < most; i += 4) {
                        const Images<IMAGES> later[2] = {fetch(i + 2), fetch(i + 3)};
                        add(next[0], i), add(next[1], i + 1);
                        if (i + 2 >= most) break;
                        next[0] = fetch(i + 4), next[1] = fetch(i + 5);
                        add(later[0], i + 2), add(later[1], i + 3);
                    }
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

} // namespace

// Images and patches of a block.
extern "C" __global__ void __launch_bounds__(128, 4) lines_64_4(const __grid_constant__ Spread p) { spread<2, 32, 4>(p); }
extern "C" __global__ void __launch_bounds__(128, 4) lines_16_16(const __grid_constant__ Spread p) { spread<2, 8, 4>(p); }
extern "C" __global__ void __launch_bounds__(32, 24) lines_2_16(const __grid_constant__ Spread p) { spread<1, 2, 1>(p); }

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
