// Points that lie evenly on straight lines through the origin, on a periodic grid in tiles: which of them are near a tile follows from the
// lines' directions, so that none is stored or sorted.
#pragma once
#include "../common/complex.cuh"

constexpr int TILE = 16;
// Lines of an item at most.
constexpr int ITEM_LINES = 128;
// Coefficients are those of the taps and, MARGIN on either side, 0.
constexpr int MARGIN = 4, TAPS = 16 + 2 * MARGIN, DEGREE = 20;

// Mirrors `Direction` in crates/nufft/src/gpu/line_lists.rs.
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

// Where every line has its points: at t + offset / 2 steps from the origin, t from first to last; offset is 0 or 1.
// Mirrors `DeviceCourse` in crates/nufft/src/gpu/lines.rs.
struct Course {
    int first, last, offset;

    __host__ __device__ int points() const { return last - first + 1; }
    // Point t of line `line` among those of all lines.
    __device__ int index(int line, int t) const { return line * points() + t - first; }
    __device__ long long long_index(int line, int t) const { return (long long)line * points() + t - first; }
    // Point t along an axis, from the line's step there.
    __device__ long long at(int t, long long step) const { return (2 * t + offset) * step >> 1; }
};
static_assert(sizeof(Course) == 12);

// Points of a line that are within [low, high], both relative to the same origin: narrows [first, last] to them and, at the ends, perhaps
// one more.
__device__ inline void narrow(const Course &course, float step, float low, float high, int &first, int &last) {
    if (fabsf(step) * (max(-course.first, course.last) + course.offset) < 1.f / 256) {
        // All of them are at the origin.
        if (low > 0 || high < 0) last = first - 1;
        return;
    }
    const float shift = 0.5f * course.offset, a = low / step - shift, b = high / step - shift, limit = 8388608;
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

// Line `start` + lane of a range, and its points from `low` to `high` along x and y.
__device__ inline NearLine near_line(
    const Direction *directions, int directions_count, const Course &course, const Range &range, int start, float2 low, float2 high) {
    const int lane = threadIdx.x % 32;
    NearLine line;
    int first = course.first;
    line.last = course.last, line.at = range.first + start + lane;
    if (line.at >= directions_count) line.at -= directions_count;
    if (start + lane < range.count) {
        const Direction d = directions[line.at];
        const float scale = 1.f / 4294967296.f;
        narrow(course, d.x * scale, low.x, high.x, first, line.last);
        narrow(course, d.y * scale, low.y, high.y, first, line.last);
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
