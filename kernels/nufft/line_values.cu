// Interpolation (type 2) at points that lie evenly on straight lines through the origin, of many images at once: value = sum over the
// grid points near a point of grid phi(x) phi(y). What a value sums, and in which order, does not depend on the number of images.
#include "../common/barrier.cuh"
#include "lines.cuh"

namespace {

// Mirrors `ValuesArguments` in crates/nufft/src/gpu/lines.rs.
struct Values {
    const Item *items;
    const Range *ranges;
    const Direction *directions;
    // [degree + 1][TAPS], the highest power first.
    const float *coefficients;
    // [y][x][image]; an even number of images.
    const Complex<float> *grid;
    // [line][point][image]
    Complex<float> *values;
    Course course;
    int directions_count, width, degree;
    // Of the grid: x, y.
    int size[2];
    int images;
    // What f32 may round of a position, in grid points.
    float slack;
    int unused;
};
static_assert(sizeof(Values) == 96);

// Points of a batch: two lanes each work out their taps.
constexpr int WARPS = 4, THREADS = 32 * WARPS, BATCH = 16;
// Two images a lane.
typedef Images<2> Pair;

// Where a point's value goes, and where its function begins in the block's part of the grid.
struct Place {
    long long to;
    int x, y;
};

// What a block keeps in shared memory, for functions of a width: its part of the grid, and each warp's points and their taps: along x and
// along y, a 0 before the first and behind the last.
struct Kept {
    int width, side, lanes;

    __host__ __device__ int cells() const { return (side + width) * (side + width) * lanes; }
    // An odd number, so that points' taps are in different banks.
    __device__ int pitch() const { return 2 * (width + 2) + 1; }
    __device__ Pair *grid(char *shared) const { return reinterpret_cast<Pair *>(shared); }
    __device__ Place *places(char *shared) const { return reinterpret_cast<Place *>(grid(shared) + cells()); }
    __device__ float *taps(char *shared) const { return reinterpret_cast<float *>(places(shared) + WARPS * BATCH); }
};

// The part of the grid of `lanes` lanes from (x, y) on, onto its way into shared memory.
template <int LANES> __device__ inline void fetch(const Values &p, const Kept &kept, int x, int y, int image, Pair *cells) {
    const int across = kept.side + kept.width, lane = threadIdx.x % LANES;
    for (int i = threadIdx.x / LANES; i < across * across; i += THREADS / LANES) {
        // The grid goes on with its beginning.
        const int row = (y + i / across) % p.size[1], column = (x + i % across) % p.size[0];
        const Complex<float> *from = p.grid + ((long long)row * p.size[0] + column) * p.images + image;
        copy_16(shared_address(cells + i * LANES + lane), from, true);
    }
}

__device__ inline void add(Pair &sum, const Pair &v, float weight) {
#pragma unroll
    for (int n = 0; n < 2; n++) {
        sum.of[n] = {fmaf(v.of[n].x, weight, sum.of[n].x), fmaf(v.of[n].y, weight, sum.of[n].y)};
    }
}

// Two points a grid point apart at most, over the grid points from where the first of either begins: one more each way than functions are
// wide. Their taps from there on, and the grid's, `pitch` from row to row.
template <int LANES> struct Two {
    const float *along[2], *across[2];
    const Pair *cells;
    int pitch;

    // W is the functions' width.
    template <int W> __device__ inline void run(Pair sum[2]) const {
        float weights[2][W + 1];
#pragma unroll
        for (int a = 0; a <= W; a++) weights[0][a] = along[0][a], weights[1][a] = along[1][a];
        rows(W, sum, [&](const Pair *row, Pair part[2]) {
#pragma unroll
            for (int a = 0; a <= W; a++) {
                const Pair v = row[a * LANES];
                add(part[0], v, weights[0][a]), add(part[1], v, weights[1][a]);
            }
        });
    }

    __device__ inline void run_any(int width, Pair sum[2]) const {
        rows(width, sum, [&](const Pair *row, Pair part[2]) {
            for (int a = 0; a <= width; a++) {
                const Pair v = row[a * LANES];
                add(part[0], v, along[0][a]), add(part[1], v, along[1][a]);
            }
        });
    }

    template <class Row> __device__ inline void rows(int width, Pair sum[2], const Row &row) const {
        sum[0] = sum[1] = {};
#pragma unroll 1
        for (int b = 0; b <= width; b++) {
            Pair part[2] = {};
            row(cells + b * pitch, part);
            add(sum[0], part[0], across[0][b]), add(sum[1], part[1], across[1][b]);
        }
    }
};

// The taps of a point, one way, 0 on either side.
__device__ inline void store_taps(const Values &p, const float *coefficients, float z, float *to) {
    to[0] = 0, to[p.width + 1] = 0;
    for (int i = 0; i < p.width; i += 4) {
        float w[4] = {};
        for (int k = 0; k <= p.degree; k++) {
            const float4 c = *reinterpret_cast<const float4 *>(coefficients + k * TAPS + MARGIN + i);
            w[0] = fmaf(w[0], z, c.x), w[1] = fmaf(w[1], z, c.y), w[2] = fmaf(w[2], z, c.z), w[3] = fmaf(w[3], z, c.w);
        }
#pragma unroll
        for (int n = 0; n < 4; n++) {
            if (i + n < p.width) to[1 + i + n] = w[n];
        }
    }
}

// A block takes the points whose functions begin in a part of the grid, SIDE x SIDE, and keeps all that they touch in shared memory. LANES
// lanes take two points at a time, two images each. A warp takes a quarter of the part.
template <int LANES, int SIDE> __device__ inline void values(const Values &p) {
    constexpr int PARTS = (TILE / SIDE) * (TILE / SIDE), QUARTER = SIDE / 2;
    static_assert(WARPS == 4, "a warp a quarter");
    extern __shared__ char shared[];
    __shared__ __align__(16) float coefficients[(DEGREE + 1) * TAPS];
    __shared__ int orders[WARPS * BATCH];
    const Item item = p.items[blockIdx.x / PARTS];
    const int part = blockIdx.x % PARTS;
    const int home_x = item.x + part % (TILE / SIDE) * SIDE, home_y = item.y + part / (TILE / SIDE) * SIDE;
    if (item.ranges == 0 || home_x >= p.size[0] || home_y >= p.size[1]) return;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, image = (blockIdx.y * LANES + lane % LANES) * 2;
    const Kept kept = {p.width, SIDE, LANES};
    const int pitch = kept.pitch(), row = (SIDE + p.width) * LANES;
    Place *places = kept.places(shared) + warp * BATCH;
    float *taps = kept.taps(shared) + warp * BATCH * pitch;
    int *order = orders + warp * BATCH;
    const int axis = lane / BATCH;
    // Of a lane without images: those of another.
    fetch<LANES>(p, kept, home_x, home_y, min(image, p.images - 2), kept.grid(shared));
    for (int i = threadIdx.x; i < (p.degree + 1) * TAPS; i += THREADS) coefficients[i] = p.coefficients[i];
    copies_wait();
    __syncthreads();

    const int left = warp % 2 * QUARTER, top = warp / 2 * QUARTER;
    const Pair *cells = kept.grid(shared) + lane % LANES;
    const float half_width = 0.5f * p.width;
    for (int r = 0; r < item.ranges; r++) {
        const Range range = p.ranges[item.first_range + r];
        const int x = range.x + home_x, y = range.y + home_y;
        for (int start = 0; start < range.count; start += 32) {
            // Functions that begin behind the grid point before the quarter, up to its last one.
            const float2 low = {x + left - 1 + half_width - p.slack, y + top - 1 + half_width - p.slack};
            const float2 high = {low.x + QUARTER + 2 * p.slack, low.y + QUARTER + 2 * p.slack};
            const NearLine line = near_line(p.directions, p.directions_count, p.course, range, start, low, high);
            const int total = line.total();
            for (int batch = 0; batch < total; batch += BATCH) {
                const int number = batch + lane % BATCH;
                const int2 point = near_point(line, number);
                const Direction d = number < total ? p.directions[point.x] : Direction{};
                float z;
                const int begin = first_tap(p.course.at(point.y, axis ? d.y : d.x), p.width, z) - (axis ? y : x);
                const int other = __shfl_xor_sync(~0u, begin, BATCH);
                const int px = axis ? other : begin, py = axis ? begin : other;
                // Others are another quarter's.
                const bool own = number < total && (unsigned)(px - left) < (unsigned)QUARTER && (unsigned)(py - top) < (unsigned)QUARTER &&
                                 home_x + px < p.size[0] && home_y + py < p.size[1];
                const unsigned owned = __ballot_sync(~0u, own) & ((1u << BATCH) - 1);
                const int count = __popc(owned), slot = __popc(owned & ((1u << lane % BATCH) - 1));
                __syncwarp();
                if (own) {
                    const long long to = p.course.long_index(d.line, point.y) * p.images;
                    if (!axis) places[slot] = {to, px, py};
                    store_taps(p, coefficients, z, taps + slot * pitch + axis * (p.width + 2));
                }
                __syncwarp();
                // Which points go with the next one: in a chain of neighbours the first, the third, ...
                bool near = false;
                if (lane + 1 < count) {
                    const Place a = places[lane], b = places[lane + 1];
                    near = abs(a.x - b.x) <= 1 && abs(a.y - b.y) <= 1;
                }
                const unsigned chain = __ballot_sync(~0u, near);
                const unsigned before = ~chain & ((1u << lane) - 1);
                const int link = lane - (before ? 32 - __clz(before) : 0);
                const bool head = lane < count && link % 2 == 0;
                const unsigned heads = __ballot_sync(~0u, head);
                const int pairs = __popc(heads);
                if (head) order[__popc(heads & ((1u << lane) - 1))] = lane;
                __syncwarp();
                for (int done = 0; done < pairs; done += 32 / LANES) {
                    const int which = done + lane / LANES;
                    const bool there = which < pairs;
                    const int first = order[there ? which : 0];
                    const bool two = chain >> first & 1;
                    const int both[2] = {first, first + (two ? 1 : 0)};
                    const Place at[2] = {places[both[0]], places[both[1]]};
                    const int sx = min(at[0].x, at[1].x), sy = min(at[0].y, at[1].y);
                    Two<LANES> points = { {}, {}, cells + sy * row + sx * LANES, row };
#pragma unroll
                    for (int n = 0; n < 2; n++) {
                        points.along[n] = taps + both[n] * pitch + 1 - (at[n].x - sx);
                        points.across[n] = taps + both[n] * pitch + p.width + 3 - (at[n].y - sy);
                    }
                    Pair sum[2];
                    switch (p.width) {
                        case 3: points.template run<3>(sum); break;
                        case 4: points.template run<4>(sum); break;
                        case 5: points.template run<5>(sum); break;
                        case 6: points.template run<6>(sum); break;
                        case 7: points.template run<7>(sum); break;
                        case 8: points.template run<8>(sum); break;
                        default: points.run_any(p.width, sum);
                    }
                    if (there && image < p.images) {
                        *reinterpret_cast<Pair *>(p.values + at[0].to + image) = sum[0];
                        if (two) *reinterpret_cast<Pair *>(p.values + at[1].to + image) = sum[1];
                    }
                }
            }
        }
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 4) line_values_32(const __grid_constant__ Values p) { values<16, 8>(p); }
extern "C" __global__ void __launch_bounds__(THREADS, 4) line_values_8(const __grid_constant__ Values p) { values<4, 16>(p); }
extern "C" __global__ void __launch_bounds__(THREADS, 4) line_values_2(const __grid_constant__ Values p) { values<1, 16>(p); }
