// Points that lie evenly on straight lines through the origin, on a periodic grid in tiles: which of them are near a tile follows from the
// lines' directions, so that none is stored or sorted.
#pragma once
#include "../common/complex.cuh"

constexpr int TILE = 16;
// Lines of an item at most.
constexpr int ITEM_LINES = 128;
// Coefficients are those of the taps and, MARGIN on either side, 0.
constexpr int MARGIN = 4, TAPS = 16 + 2 * MARGIN, DEGREE = 20;

// Mirrors `Direction` in src/nufft/gpu/line_lists.rs.
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
    // The lines run along y rather than along x.
    int upright;
};
static_assert(sizeof(Item) == 24);

// Neighbouring images.
template <int N> struct alignas(8 * N) Images {
    Complex<float> of[N];
};

__device__ inline Images<2> load_pair(const Complex<float> *from) {
    const float4 q = __ldg(reinterpret_cast<const float4 *>(from));
    return {{{q.x, q.y}, {q.z, q.w}}};
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

// A lane's line, of neighbouring ones: how many points of this line and those of the lanes before are near something, the last of them
// all, and which direction it is.
struct NearLine {
    int until, last, at;

    // Of all lanes.
    __device__ inline int total() const { return __shfl_sync(~0u, until, 31); }
};

// Line `start` + lane of a range, and its points from `low` to `high` along x and y; `half` is the last point of a line.
__device__ inline NearLine near_line(
    const Direction *directions, int directions_count, int half, const Range &range, int start, float2 low, float2 high) {
    const int lane = threadIdx.x % 32;
    NearLine line;
    int first = -half;
    line.last = half, line.at = range.first + start + lane;
    if (line.at >= directions_count) line.at -= directions_count;
    if (start + lane < range.count) {
        const Direction d = directions[line.at];
        const float scale = 1.f / 4294967296.f;
        narrow(d.x * scale, low.x, high.x, half, first, line.last);
        narrow(d.y * scale, low.y, high.y, half, first, line.last);
    } else {
        line.last = first - 1;
    }
    line.until = max(line.last - first + 1, 0);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(~0u, line.until, step);
        if (lane >= step) line.until += before;
    }
    return line;
}

// A point of the lanes' lines by its number: its direction and place in the line; of no use from the total on.
__device__ inline int2 near_point(const NearLine &line, int number) {
    int found = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        const int end = __shfl_sync(~0u, line.until, found + step - 1);
        if (end <= number) found += step;
    }
    const int end = __shfl_sync(~0u, line.until, found), last = __shfl_sync(~0u, line.last, found);
    return {__shfl_sync(~0u, line.at, found), last - (end - 1 - number)};
}

// An axis's first grid point of the function about a point `at` 2^-32 grid points from the origin, and how far the point is from there:
// from -1 to 1, what polynomials take.
__device__ inline int first_tap(long long at, int width, float &z) {
    const long long begin = at - ((long long)width << 31);
    const unsigned rest = 0u - (unsigned)begin;
    z = rest * (2.f / 4294967296.f) - 1;
    return (int)(begin >> 32) + (rest != 0);
}
