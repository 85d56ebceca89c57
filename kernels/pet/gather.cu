// Projections by blocks of voxels: each thread sums 8 voxels along z of 4 columns that follow one another along the line of
// response, so that each value that is loaded serves up to 16 products.
//
// A block has some anchors along the minor axis of the transverse plane, each with 4 columns one step of the major axis apart.
// It goes through the data by groups of rows of the major axis: warps of their own bring the next group's columns into shared
// memory, with zeros around them, and its weights where kernels vary, while the others sum. A segment is what columns of data with
// the same window along z give to the columns of sums.
#include "../common/barrier.cuh"
#include "finish.cuh"
#include "weights.cuh"

constexpr int CHAIN = 4, DEEP = 8, STAGES = 2;
// Threads that sum.
constexpr int SUMMING = 128;

// One kernel, or whose kernel a product takes: that of the sum or of the data. FACTORED: each kernel has, in each column, the
// same values along z but for a factor.
enum Kernels { ONE, OF_SUM, OF_DATA, FACTORED_OF_SUM, FACTORED_OF_DATA };
template <Kernels KERNELS> constexpr bool FACTORS = KERNELS == FACTORED_OF_SUM || KERNELS == FACTORED_OF_DATA;
template <Kernels KERNELS> constexpr bool BY_SUM = KERNELS == OF_SUM || KERNELS == FACTORED_OF_SUM;
template <Kernels KERNELS> constexpr bool BY_DATA = KERNELS == OF_DATA || KERNELS == FACTORED_OF_DATA;
// Threads that bring data and weights, and all.
template <Kernels KERNELS> constexpr int FETCHING = KERNELS == ONE ? 64 : 128;
template <Kernels KERNELS> constexpr int THREADS = SUMMING + FETCHING<KERNELS>;
// Of each column of data and anchor in shared memory, in 16 bytes: one for each tap or column of sums, or the factors of these.
template <Kernels KERNELS> constexpr int PARTS = KERNELS == ONE ? 0 : FACTORS<KERNELS> ? 1 : 4;

// Mirrors `GroupRecord` in crates/pet/src/gpu/arranged.rs: rows of data. The first is `major` rows after the first column of sums, its first
// column `minor` columns after the anchor.
struct Group {
    int major, minor;
    // Columns between the first and the last of the minor axis.
    int extent;
    // Bytes of records; columns of data of all segments.
    int record_bytes, columns;
    int unused[3];
};

// Mirrors `Arguments` in crates/pet/src/gpu/arranged.rs.
struct Gather {
    const float *input;
    // Groups of rows one after the other, of segments: see `Segment`.
    const char *records;
    // With more than one kernel. By sum: [column of data][identifier][column of sums][tap]; by data: [column of
    // data][identifier][tap][column of sums]; 1, 2 or 4 taps. Sums of an anchor have neighbouring identifiers.
    const float *weights;
    // Of the groups' segments one after the other, with more than one kernel.
    const WeightColumn *columns;
    // Of each column of voxels: identifier, and the rank from which on its kernel is 0.
    const int2 *map;
    const Group *groups;
    // With zeros in front and behind; see `along_z`.
    const float *axial;
    Finish to;
    // Floats between columns.
    long long major_stride, minor_stride;
    // Columns along the axes, and places of the map between them.
    int majors, minors, map_major, map_minor;
    // Floats of a column; voxels of a column.
    int column, nz;
    // Places of the 4 columns of sums on the minor axis, from the anchor on; the first anchor.
    int chain[CHAIN], first_anchor;
    // Of a block; threads of one; blocks along the minor axis.
    int anchors, lanes, tiles;
    int group_count, group_rows;
    // Of rows in shared memory: columns; 16 bytes from column to column; 16 bytes of zeros in front of a column.
    int width, pitch, margin;
    // Most bytes of a group's records, and 16 bytes of its weights.
    int group_bytes, group_weights;
    // Groups of 4 weights of the axial factor (0: there is none), and of zeros and weights in front of its middle.
    int axial_groups, axial_front;
};
static_assert(sizeof(Gather) == 224);

// What a group has in shared memory; offsets in 16 bytes.
struct Stage {
    int plane, records, map, weights, size;
    __device__ explicit Stage(const Gather &p)
        : plane(p.group_rows * p.width * p.pitch), records(2 * plane), map(records + p.group_bytes / 16),
          weights(map + (p.group_rows * p.width + 1) / 2), size(weights + p.group_weights) {}
};

// In a group's records. The columns of data follow; with more than one kernel, their ranks in the order of radial distance; with
// one kernel or kernels that factor, weights [column][tap][column of sums]. Each as much as fills 16 bytes.
struct Segment {
    // Places of the even and odd parts of the window, in 16 bytes from the column's own place on.
    int even, odd;
    // 4 times the voxels before the window that are not needed, plus the taps less 1.
    int kind;
    // Columns of data, at most 32.
    int count;
};

// Barriers of the block besides the first: filled and empty of each stage.
template <Kernels KERNELS> __device__ inline void sync(int barrier) {
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "n"(THREADS<KERNELS>) : "memory");
}
template <Kernels KERNELS> __device__ inline void arrive(int barrier) {
    asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "n"(THREADS<KERNELS>) : "memory");
}
__device__ inline int filled(int group) { return 1 + group % STAGES; }
__device__ inline int empty(int group) { return 1 + STAGES + group % STAGES; }

__device__ inline void unpack(float *w, float4 v) { w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w; }

// The axial factor over finished sums, by way of shared memory, which nobody uses any more.
template <Kernels KERNELS>
__device__ inline void along_z(const Gather &p, float4 *shared, float (&sums)[CHAIN][DEEP], int anchor, int lane, bool mine) {
    const int plane = CHAIN * p.anchors * p.pitch;
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * plane; i += THREADS<KERNELS>) shared[i] = {0, 0, 0, 0};
    __syncthreads();
    const int first = 2 * lane + p.margin;
    auto chunk = [&](int c, int k) { return (k & 1) * plane + (c * p.anchors + anchor) * p.pitch + (k >> 1); };
    if (mine)
#pragma unroll
        for (int c = 0; c < CHAIN; c++) {
            shared[chunk(c, first)] = {sums[c][0], sums[c][1], sums[c][2], sums[c][3]};
            shared[chunk(c, first + 1)] = {sums[c][4], sums[c][5], sums[c][6], sums[c][7]};
        }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < CHAIN; c++) {
#pragma unroll
        for (int z = 0; z < DEEP; z++) sums[c][z] = 0;
        for (int g = 0; g < p.axial_groups; g++) {
            float v[12];
#pragma unroll
            for (int k = 0; k < 3; k++) {
                float4 d = shared[chunk(c, first - p.axial_front + g + k)];
                v[4 * k] = d.x, v[4 * k + 1] = d.y, v[4 * k + 2] = d.z, v[4 * k + 3] = d.w;
            }
            float w[4];
            unpack(w, reinterpret_cast<const float4 *>(p.axial)[g]);
#pragma unroll
            for (int t = 0; t < 4; t++)
#pragma unroll
                for (int z = 0; z < DEEP; z++) sums[c][z] = fmaf(w[t], v[z + t], sums[c][z]);
        }
    }
}

// Where a thread's weights are in shared memory, of a segment.
template <Kernels KERNELS> struct Weights {
    // [column][tap]
    const float4 *same;
    // [column][anchor][part]
    const float4 *own;
    int stride;
    // Of the segment's columns of data: places in the group.
    const int *columns;

    template <int R> __device__ inline void load(float (&w)[R][CHAIN], int k) const {
        if constexpr (KERNELS == ONE || FACTORS<KERNELS>)
#pragma unroll
            for (int r = 0; r < R; r++) unpack(w[r], same[k * R + r]);
        if constexpr (FACTORS<KERNELS>) {
            float factors[CHAIN];
            unpack(factors, own[k * stride]);
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int c = 0; c < CHAIN; c++) w[r][c] *= factors[c];
        }
        if constexpr (KERNELS == OF_SUM)
#pragma unroll
            for (int c = 0; c < CHAIN; c++) {
                float taps[4];
                unpack(taps, own[k * stride + c]);
#pragma unroll
                for (int r = 0; r < R; r++) w[r][c] = taps[r];
            }
        if constexpr (KERNELS == OF_DATA)
#pragma unroll
            for (int r = 0; r < R; r++) unpack(w[r], own[k * stride + r]);
    }
};

// What one column of data gives: a window of 8 + R - 1 voxels after A that are not needed, and its weights.
template <int A, int R> struct Column {
    static constexpr int CHUNKS = (DEEP + R - 1 + A + 3) / 4;
    float v[4 * CHUNKS], w[R][CHAIN];

    template <Kernels KERNELS>
    __device__ inline void load(const float4 *even, const float4 *odd, int pitch, const Weights<KERNELS> &weights, int k) {
        const int column = weights.columns[k];
        weights.load(w, k);
#pragma unroll
        for (int i = 0; i < CHUNKS; i++) unpack(v + 4 * i, (i % 2 ? odd : even)[column * pitch + i / 2]);
    }

    __device__ inline void add(float (&sums)[CHAIN][DEEP]) const {
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int c = 0; c < CHAIN; c++)
#pragma unroll
                for (int z = 0; z < DEEP; z++) sums[c][z] = fmaf(w[r][c], v[z + r + A], sums[c][z]);
    }
};

// A segment's columns of data, each loaded while the one before is used; `needed` has a bit for each that must not be left out.
template <int A, int R, Kernels KERNELS>
__device__ inline void segment(
    float (&sums)[CHAIN][DEEP], const float4 *even, const float4 *odd, int pitch, const Weights<KERNELS> &weights, int count,
    unsigned needed) {
    Column<A, R> one, two;
    int k = 0;
    // Whether there is another one; else the last is loaded again.
    auto next = [&]() {
        if (KERNELS == ONE) {
            const bool more = k + 1 < count;
            k += more;
            return more;
        }
        needed &= needed - 1;
        if (needed) k = __ffs(needed) - 1;
        return needed != 0;
    };
    if (KERNELS != ONE) k = __ffs(needed) - 1;
    one.load(even, odd, pitch, weights, k);
    while (true) {
        bool more = next();
        two.load(even, odd, pitch, weights, k);
        one.add(sums);
        if (!more) break;
        more = next();
        one.load(even, odd, pitch, weights, k);
        two.add(sums);
        if (!more) break;
    }
}

// f(column, its place) of every `step`-th column, whose records are read before.
template <class F> __device__ inline void to_each(const WeightColumn *columns, int count, int first, int step, const F &f) {
    constexpr int BATCH = 8;
    for (int k = first; k < count; k += BATCH * step) {
        WeightColumn some[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) some[i] = columns[min(k + i * step, count - 1)];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (k + i * step < count) f(some[i], k + i * step);
    }
}

// Brings a group's weights into shared memory, at `to`: those of kernels that are not 0.
template <Kernels KERNELS>
__device__ inline void
fetch_weights(const Gather &p, unsigned to, const WeightColumn *columns, int count, const int2 *own, int major, int minor) {
    constexpr int PART = 16, OF_ANCHOR = PART * PARTS<KERNELS>;
    // Each thread takes the same sum, or the same anchor, of several columns.
    const int t = threadIdx.x - SUMMING, items = BY_SUM<KERNELS> ? CHAIN * p.anchors : p.anchors;
    const int at_once = max(FETCHING<KERNELS> / items, 1), first = t / min(items, FETCHING<KERNELS>);
    if (first >= at_once) return;
    for (int item = t % min(items, FETCHING<KERNELS>); item < items; item += FETCHING<KERNELS>) {
        if (BY_SUM<KERNELS>) {
            const int c = item % CHAIN, anchor = item / CHAIN;
            const int2 kernel = own[item];
            to_each(columns, count, first, at_once, [&](const WeightColumn &column, int k) {
                const int n = together(column.taps);
                const float *from = p.weights + 4ll * column.first + (kernel.x * CHAIN + c) * n;
                const unsigned place = to + (k * p.anchors + anchor) * OF_ANCHOR;
                const bool needed = column.rank < kernel.y;
                if (FACTORS<KERNELS>) {
                    copy_4(place + 4 * c, from, needed);
                } else if (n == 4) {
                    copy_16(place + PART * c, from, needed);
                } else if (n == 2) {
                    copy_8(place + PART * c, from, needed);
                } else {
                    copy_4(place + PART * c, from, needed);
                }
            });
        } else {
            to_each(columns, count, first, at_once, [&](const WeightColumn &column, int k) {
                const int i = major + (column.place >> 16), j = minor + (column.place & 0xffff) + item;
                const bool inside = (unsigned)i < p.majors && (unsigned)j < p.minors;
                const long long at = (long long)i * p.map_major + (long long)j * p.map_minor;
                const int2 kernel = inside ? __ldg(p.map + at) : int2{0, 0};
                const int n = together(column.taps);
                const float *from = p.weights + 4ll * (column.first + kernel.x * n);
                const unsigned place = to + (k * p.anchors + item) * OF_ANCHOR;
                const bool needed = column.rank < kernel.y;
                for (int r = 0; r < column.taps; r++) copy_16(place + PART * r, from + 4 * r, needed);
            });
        }
    }
}

// Brings the groups into shared memory.
template <Kernels KERNELS>
__device__ inline void
fetch(const Gather &p, const Stage &stage, float4 *shared, const Group *groups, const int2 *own, int first_major,
      int first_anchor) {
    // Each thread copies the same part of several columns.
    const int t = threadIdx.x - SUMMING, parts = p.column / 4, part_threads = min(parts, FETCHING<KERNELS>);
    const int columns = FETCHING<KERNELS> / part_threads, first_part = t % part_threads, first_column = t / part_threads;
    const unsigned row_step = p.width * p.pitch * 16;
    const char *records = p.records;
    const WeightColumn *weight_columns = p.columns;
    for (int group = 0; group < p.group_count; group++) {
        if (group >= STAGES) sync<KERNELS>(empty(group));
        float4 *const to = shared + group % STAGES * stage.size;
        const Group g = groups[group];
        const int width = p.anchors + g.extent, major = first_major + g.major, minor = first_anchor + g.minor;
        for (int part = first_column < columns ? first_part : parts; part < parts; part += part_threads) {
            const int k = part + p.margin;
            unsigned place = shared_address(to + (k & 1) * stage.plane + (k >> 1) + first_column * p.pitch);
            const float *from = p.input + major * p.major_stride + (minor + first_column) * p.minor_stride + 4 * part;
            for (int c = first_column; c < width; c += columns) {
                const bool there = (unsigned)(minor + c) < p.minors;
                unsigned at = place;
                const float *data = from;
#pragma unroll 4
                for (int row = 0; row < p.group_rows; row++) {
                    const bool inside = there && (unsigned)(major + row) < p.majors;
                    copy_16(at, inside ? data : p.input, inside);
                    at += row_step;
                    data += p.major_stride;
                }
                place += columns * p.pitch * 16;
                from += columns * p.minor_stride;
            }
        }
        if (BY_DATA<KERNELS>)
            for (int c = t; c < width; c += FETCHING<KERNELS>)
                for (int row = 0; row < p.group_rows; row++) {
                    const bool inside = (unsigned)(minor + c) < p.minors && (unsigned)(major + row) < p.majors;
                    const long long at = (long long)(major + row) * p.map_major + (long long)(minor + c) * p.map_minor;
                    copy_8(shared_address(to + stage.map) + 8 * (row * p.width + c), p.map + (inside ? at : 0), inside);
                }
        for (int i = 16 * t; i < g.record_bytes; i += 16 * FETCHING<KERNELS>)
            copy_16(shared_address(to + stage.records) + i, records + i, true);
        records += g.record_bytes;
        if (KERNELS != ONE) {
            fetch_weights<KERNELS>(p, shared_address(to + stage.weights), weight_columns, g.columns, own, major, minor);
            weight_columns += g.columns;
        }
        copies_commit();
        copies_wait();
        arrive<KERNELS>(filled(group));
    }
}

template <Kernels KERNELS> __device__ inline void gather(const Gather &p) {
    extern __shared__ float4 shared[];
    const Stage stage(p);
    Group *const groups = reinterpret_cast<Group *>(shared + STAGES * stage.size);
    // Kernels of the sums, [anchor][column of sums].
    int2 *const own = reinterpret_cast<int2 *>(groups + p.group_count);
    const int band = blockIdx.x / p.tiles, tile = blockIdx.x - band * p.tiles;
    const int first_major = band * CHAIN, first_anchor = p.first_anchor + tile * p.anchors;
    const int t = threadIdx.x, anchor = min(t / p.lanes, p.anchors - 1), lane = t % p.lanes;
    const bool mine = t < p.anchors * p.lanes;

    for (int i = t; i < p.group_count; i += THREADS<KERNELS>) groups[i] = p.groups[i];
    for (int i = t; i < STAGES * stage.size; i += THREADS<KERNELS>) shared[i] = {0, 0, 0, 0};
    if (BY_SUM<KERNELS>)
        for (int i = t; i < CHAIN * p.anchors; i += THREADS<KERNELS>) {
            const int major = first_major + i % CHAIN, minor = first_anchor + i / CHAIN + p.chain[i % CHAIN];
            const bool inside = major < p.majors && (unsigned)minor < p.minors;
            own[i] = inside ? p.map[(long long)major * p.map_major + (long long)minor * p.map_minor] : int2{0, 0};
        }
    __syncthreads();
    // Weights belong in plain registers; if the compiler saw that all threads have the same, it would move them to uniform ones,
    // one by one.
    const int zero = reinterpret_cast<const int *>(shared)[t % 32];
    __syncthreads();

    float sums[CHAIN][DEEP] = {};
    if (t >= SUMMING) {
        fetch<KERNELS>(p, stage, shared, groups, own, first_major, first_anchor);
    } else {
        Weights<KERNELS> weights;
        weights.stride = p.anchors * PARTS<KERNELS>;
        // The rank from which on no thread of the warp needs a column.
        int limit = 0;
        if (BY_SUM<KERNELS>) {
#pragma unroll
            for (int c = 0; c < CHAIN; c++) limit = max(limit, own[CHAIN * anchor + c].y);
            limit = __reduce_max_sync(~0u, limit);
        }
        for (int group = 0; group < p.group_count; group++) {
            sync<KERNELS>(filled(group));
            const float4 *const here = shared + group % STAGES * stage.size;
            const float4 *const data = here + anchor * p.pitch + lane;
            const char *record = reinterpret_cast<const char *>(here + stage.records) + zero;
            const char *const end = record + groups[group].record_bytes;
            weights.own = here + stage.weights + anchor * PARTS<KERNELS>;
            if (BY_DATA<KERNELS>) {
                const int2 *const map = reinterpret_cast<const int2 *>(here + stage.map);
                // Of all columns that the warp's threads take, and some more.
                const int low = __shfl_sync(~0u, anchor, 0), most = p.group_rows * p.width - low;
                limit = 0;
                for (int c = t % 32; c < most; c += 32) limit = max(limit, map[low + c].y);
                limit = __reduce_max_sync(~0u, limit);
            }
            while (record < end) {
                const Segment s = *reinterpret_cast<const Segment *>(record);
                const int list = (4 * s.count + 15) / 16 * 16;
                weights.columns = reinterpret_cast<const int *>(record + sizeof(Segment));
                record += sizeof(Segment) + list;
                unsigned needed = 1;
                if (KERNELS != ONE) {
                    const int k = t % 32;
                    needed = __ballot_sync(~0u, k < s.count && reinterpret_cast<const int *>(record)[k] < limit);
                    record += list;
                }
                if (KERNELS == ONE || FACTORS<KERNELS>) {
                    weights.same = reinterpret_cast<const float4 *>(record);
                    record += 16 * s.count * (s.kind % 4 + 1);
                }
                const Weights<KERNELS> of_segment = weights;
                weights.own += s.count * weights.stride;
                if (!needed) continue;
                const float4 *const even = data + s.even, *const odd = data + s.odd;
#define SEGMENT(a, r) \
    case a: segment<a, r>(sums, even, odd, p.pitch, of_segment, s.count, needed); break;
#define SEGMENTS(r) \
    switch (s.kind >> 2) { SEGMENT(0, r) SEGMENT(1, r) SEGMENT(2, r) SEGMENT(3, r) }
                // The most frequent first.
                const int taps = s.kind % 4 + 1;
                if (taps == 4) {
                    SEGMENTS(4)
                } else if (taps == 3) {
                    SEGMENTS(3)
                } else if (taps == 2) {
                    SEGMENTS(2)
                } else {
                    SEGMENTS(1)
                }
            }
            if (group + STAGES < p.group_count) arrive<KERNELS>(empty(group));
        }
    }

    const int z = DEEP * lane;
#pragma unroll
    for (int c = 0; c < CHAIN; c++)
#pragma unroll
        for (int k = 0; k < DEEP; k++)
            if (z + k >= p.nz) sums[c][k] = 0;
    if (p.axial_groups > 0) along_z<KERNELS>(p, shared, sums, anchor, lane, mine);

    Sums found;
    long long at[CHAIN];
    bool inside[CHAIN];
#pragma unroll
    for (int c = 0; c < CHAIN; c++) {
        const int major = first_major + c, minor = first_anchor + anchor + p.chain[c];
        inside[c] = mine && major < p.majors && (unsigned)minor < p.minors;
        at[c] = major * p.major_stride + minor * p.minor_stride + z;
    }
    // For half of each column f(loaded, sums, voxels of the lattice): beyond those zeros stay.
    auto each = [&](auto load, auto f) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const bool there = z + 4 * half < p.column;
            decltype(load(0ll)) loaded[CHAIN];
            // All loads first.
#pragma unroll
            for (int c = 0; c < CHAIN; c++)
                if (there && inside[c]) loaded[c] = load(at[c] + 4 * half);
#pragma unroll
            for (int c = 0; c < CHAIN; c++)
                if (there && inside[c]) {
                    float *const sum = sums[c] + 4 * half;
                    const int voxels = p.nz - z - 4 * half;
#pragma unroll
                    for (int k = 0; k < 4; k++) sum[k] = k < voxels ? f(loaded[c], sum[k], k) : 0;
                    *reinterpret_cast<float4 *>(p.to.output + at[c] + 4 * half) = {sum[0], sum[1], sum[2], sum[3]};
                }
        }
    };
    struct Four {
        float v[4];
        __device__ Four() {}
        __device__ explicit Four(const float *from) { unpack(v, *reinterpret_cast<const float4 *>(from)); }
    };
    if (compares(p.to)) {
        struct Histo {
            Four d, a, b;
        };
        const float less = p.to.what == DISCREPANCY;
        const Finish &to = p.to;
        each(
            [&](long long i) {
                Histo h;
                h.d = Four(to.measured + i);
                if (to.factors) h.a = Four(to.factors + i);
                if (to.additive) h.b = Four(to.additive + i);
                return h;
            },
            [&](const Histo &h, float sum, int k) {
                return compared(sum, less, h.d.v[k], to.factors ? h.a.v[k] : 1, to.additive ? h.b.v[k] : 0, INFINITY, found);
            });
        tally(p.to, found);
    } else if (p.to.what == RELAX) {
        const float step = *p.to.step;
        each([&](long long i) { return Four(p.to.output + i); },
             [&](const Four &old, float sum, int k) { return relaxed(sum, old.v[k], step); });
    } else {
        const bool add = p.to.what == ADD;
        each([&](long long i) { return add ? Four(p.to.output + i) : Four(); },
             [&](const Four &old, float sum, int k) { return add ? old.v[k] + sum : sum; });
    }
}

#define GATHER(name, kernels) \
    extern "C" __global__ void __launch_bounds__(THREADS<kernels>, 2) name(const __grid_constant__ Gather p) { gather<kernels>(p); }

GATHER(gather_one, ONE)
GATHER(gather_of_sum, OF_SUM)
GATHER(gather_of_data, OF_DATA)
GATHER(gather_factored_of_sum, FACTORED_OF_SUM)
GATHER(gather_factored_of_data, FACTORED_OF_DATA)
