// Spreading (type 1): grid = sum over points of value * phi(x) phi(y) phi(z), without atomics and in a fixed order.
//
// A block takes a part of a tile's points, in order of their cells. Of the window of grid points that a cell's points touch,
// warp w has the planes whose z is w modulo the number of warps, so that warps never meet; sums of a cell stay in registers,
// and are added to the tile in shared memory when the next cell has other planes there. The tiles with their margins are then summed by a
// second kernel. In two dimensions the planes are those of several coils.
#include "points.cuh"

// Mirrors `SpreadArguments` in crates/nufft/src/gpu/spread.rs.
template <typename Real> struct Spread {
    const Point<Real> *points;
    // Where each point's value is.
    const unsigned *order;
    const Part *part_list;
    const Real *coefficients;
    // [coil][value_stride]
    const Complex<Real> *values;
    long long value_stride;
    // [coil, in 2-D PLANES_AT_ONCE coils][slot][z][y][ROW]: slot 0 is of part `first_part`, and so on, round the last part.
    Complex<Real> *tiles;
    int coils, first_part, parts;
};
static_assert(sizeof(Spread<float>) == 72 && sizeof(Spread<double>) == 72);

// Mirrors `SumArguments` in crates/nufft/src/gpu/spread.rs.
template <typename Real> struct Sum {
    const Complex<Real> *tiles;
    // Parts of tile t: first_part[t] to first_part[t + 1] - 1.
    const int *first_part;
    // [coil][z][y][x]
    Complex<Real> *grid;
    int size[3], tile_count[3];
    // The first tile to make, and what the slots hold.
    int first_tile, first_slot, slots, parts, coils;
};
static_assert(sizeof(Sum<float>) == 72 && sizeof(Sum<double>) == 72);

constexpr int BATCH = 32;

// What a point does to the window of its cell.
template <typename Real, int WINDOW, int PLANES> struct Stamp {
    // Weights along x and y, in the order that lanes read them; value times weight along z.
    Real x[WINDOW], y[WINDOW];
    Complex<Real> z[PLANES];
    // Of the cell's window: place in a plane, and plane from bit 16 on.
    unsigned cell;
    // The threads that write the stamps of different points meet different banks.
    Real unused[sizeof(Real) == 4 ? 7 : 3];
};

template <typename Real, int DIMS, int WINDOW> __device__ inline void spread(const Spread<Real> &p) {
    typedef Complex<Real> C;
    typedef Padded<Real, DIMS, WINDOW> T;
    constexpr int PLANES = T::PLANES_AT_ONCE, ZS = T::PLANES_A_WARP, THREADS = PLANES / ZS * 32;
    // A lane has XS by YS points of each plane: x = lane % 8 + 8 i, y = lane / 8 + 4 j.
    constexpr int XS = WINDOW / 8, YS = WINDOW / 4;
    constexpr int SLOTS = DIMS == 3 ? (T::NZ + WINDOW - 1) / WINDOW * PLANES : PLANES;
    constexpr int KEPT = (SLOTS < T::NZ ? SLOTS : T::NZ) * T::PLANE;
    extern __shared__ double2 shared[];
    C *tile = (C *)shared;
    // One more than a batch is read, and not used.
    typedef Stamp<Real, WINDOW, PLANES> S;
    S *stamps = (S *)(tile + (KEPT + 1) / 2 * 2);

    const int number = blockIdx.x + p.first_part;
    const Part part = p.part_list[number < p.parts ? number : number - p.parts];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    // Of the window's planes, or of the coils.
    const int first = blockIdx.z * PLANES;
    const int coil = DIMS == 3 ? blockIdx.y : blockIdx.y * PLANES;
    const C *values = p.values + coil * p.value_stride;

    constexpr int ROUNDS = BATCH * WINDOW / THREADS;
    const int tap = thread % WINDOW, row = thread / WINDOW;
    Polynomial<Real> phi;
    phi.template load<WINDOW>(p.coefficients, tap);
    if (DIMS == 2) {
        // The tap's coil.
        values += (tap % PLANES) * p.value_stride;
    }
    const bool has_value = DIMS == 3 || (tap < PLANES && coil + tap < p.coils);

    Point<Real> point[ROUNDS];
    C value[ROUNDS];
    unsigned from[ROUNDS];
    auto index = [&](int start, int r) { return min(start + r * (THREADS / WINDOW) + row, part.end - 1); };
    auto fetch_order = [&](int start) {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) from[r] = __ldg(p.order + index(start, r));
    };
    auto fetch = [&](int start) {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            point[r] = p.points[index(start, r)];
            value[r] = has_value ? load_constant(values + from[r]) : C{0, 0};
        }
    };
    fetch_order(part.begin);
    fetch(part.begin);
    fetch_order(part.begin + BATCH);

    for (int i = thread; i < KEPT; i += THREADS) tile[i] = C{0, 0};

    C sum[ZS][YS][XS] = {};
    // Of the lane's first point of each plane.
    C *at[ZS];
    const int in_plane = lane / 8 * T::ROW + lane % 8;
    auto place_of = [&](unsigned cell, int i) {
        int z = cell >> 16, plane = warp * ZS + i;
        if (DIMS == 3) {
            int deep = z + (first + plane - z & WINDOW - 1);
            plane = PLANES == WINDOW ? deep : plane + deep / WINDOW * PLANES;
        }
        return plane * T::PLANE + (int)(cell & 0xffff);
    };
#pragma unroll
    for (int i = 0; i < ZS; i++) at[i] = tile + place_of(0, i) + in_plane;
    auto leave = [&] {
        // Other lanes may have written here before.
        __syncwarp();
        // All reads before the first write, so that they wait together.
        C old[ZS][YS][XS];
#pragma unroll
        for (int i = 0; i < ZS * YS * XS; i++) {
            old[i / (YS * XS)][i / XS % YS][i % XS] = at[i / (YS * XS)][4 * (i / XS % YS) * T::ROW + 8 * (i % XS)];
        }
#pragma unroll
        for (int i = 0; i < ZS * YS * XS; i++) {
            C o = old[i / (YS * XS)][i / XS % YS][i % XS], s = sum[i / (YS * XS)][i / XS % YS][i % XS];
            at[i / (YS * XS)][4 * (i / XS % YS) * T::ROW + 8 * (i % XS)] = C{o.x + s.x, o.y + s.y};
        }
    };
    struct Weights {
        Pack<Real, XS> x;
        Pack<Real, YS> y;
        Pack<C, ZS> z;
    };
    // The lane's of the first stamp.
    const Real *own_x = stamps->x + lane % 8 * XS, *own_y = stamps->y + lane / 8 * YS;
    const C *own_z = stamps->z + warp * ZS;
    auto weights = [&](int i) {
        int at = i * (int)(sizeof(S) / sizeof(Real));
        return Weights{*(const Pack<Real, XS> *)(own_x + at), *(const Pack<Real, YS> *)(own_y + at),
            *(const Pack<C, ZS> *)(own_z + at / 2)};
    };
    auto add = [&](const Weights &w, bool anew) {
#pragma unroll
        for (int z = 0; z < ZS; z++) {
#pragma unroll
            for (int x = 0; x < XS; x++) {
                C v = {w.z.of[z].x * w.x.of[x], w.z.of[z].y * w.x.of[x]};
#pragma unroll
                for (int y = 0; y < YS; y++) {
                    C &s = sum[z][y][x];
                    if (anew) s = C{v.x * w.y.of[y], v.y * w.y.of[y]};
                    else s = C{fma(v.x, w.y.of[y], s.x), fma(v.y, w.y.of[y], s.y)};
                }
            }
        }
    };
    unsigned cell = 0;

    for (int start = part.begin; start < part.end; start += BATCH) {
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int i = r * (THREADS / WINDOW) + row;
            const Point<Real> &q = point[r];
            S &stamp = stamps[i];
            int x = tap + place(q.at, 0) & WINDOW - 1, y = tap + place(q.at, 1) & WINDOW - 1;
            stamp.x[x % 8 * XS + x / 8] = phi(q.u[0]);
            stamp.y[y % 4 * YS + y / 4] = phi(q.u[1]);
            unsigned home = q.at >> 15;
            if (DIMS == 3) {
                // By z modulo WINDOW, on which the warp depends.
                int z = (tap + place(q.at, 2) + place(home, 2) & WINDOW - 1) - first;
                Real w = phi(q.u[2]);
                if ((unsigned)z < PLANES) stamp.z[z] = C{value[r].x * w, value[r].y * w};
            } else if (tap < PLANES) {
                stamp.z[tap] = value[r];
            }
            if (tap == 0) stamp.cell = place(home, 2) << 16 | place(home, 1) * T::ROW + place(home, 0);
        }
        __syncthreads();
        fetch(start + BATCH);
        fetch_order(start + 2 * BATCH);

        const int count = min(BATCH, part.end - start);
        unsigned cells = stamps[lane].cell;
        unsigned before = __shfl_up_sync(~0u, cells, 1);
        if (lane == 0) before = cell;
        bool moves = false;
#pragma unroll
        for (int i = 0; i < ZS; i++) moves |= place_of(cells, i) != place_of(before, i);
        unsigned changes = __ballot_sync(~0u, moves && lane < count);
        cell = __shfl_sync(~0u, cells, count - 1);
        Weights next = weights(0);
        unsigned next_cell = stamps[0].cell;
#pragma unroll 4
        for (int i = 0; i < count; i++, changes >>= 1) {
            Weights now = next;
            next = weights(i + 1);
            unsigned to = next_cell;
            if (changes & 2) next_cell = stamps[i + 1].cell;
            if (changes & 1) {
                leave();
#pragma unroll
                for (int z = 0; z < ZS; z++) at[z] = tile + place_of(to, z) + in_plane;
                add(now, true);
            } else {
                add(now, false);
            }
        }
    }
    leave();
    __syncthreads();

    C *out = p.tiles + (blockIdx.y * (long long)gridDim.x + blockIdx.x) * T::COUNT;
    if (KEPT == T::COUNT) {
        // Whole: two f32 values at a time.
        typedef Pack<C, 16 / sizeof(C)> Two;
        for (int i = thread; i < KEPT * (int)sizeof(C) / 16; i += THREADS) ((Two *)out)[i] = ((const Two *)tile)[i];
    } else {
        for (int i = thread; i < KEPT; i += THREADS) {
            int slot = i / T::PLANE, z = slot / PLANES * WINDOW + first + slot % PLANES;
            if (z < T::NZ) out[z * T::PLANE + i % T::PLANE] = tile[i];
        }
    }
}

// A thread makes a few points of a tile of the grid, one below the other, from all tiles that reach into it: along each axis
// the tile itself and those before it, round the end of the grid.
template <typename Real, int DIMS, int WINDOW> __device__ inline void sum(const Sum<Real> &p) {
    typedef Complex<Real> C;
    typedef Padded<Real, DIMS, WINDOW> T;
    // The last tile of an axis may be short, and is then no whole step.
    constexpr int THREADS = 256, REACH = (WINDOW - 2) / (T::X < T::Y ? T::X : T::Y) + 3, SOURCES = REACH * REACH * REACH;
    // Parts that reach into this tile, and the place of its first point in them.
    struct Source {
        long long first;
        int parts, x, y, z;
    };
    __shared__ Source sources[SOURCES];
    __shared__ int source_count;

    const int own[3] = {T::X, T::Y, T::Z}, padded[3] = {T::NX, T::NY, DIMS == 3 ? T::NZ : 1};
    constexpr int PLANES = DIMS == 3 ? T::Z : T::PLANES_AT_ONCE, LAYERS = THREADS / (T::Y * T::X);
    constexpr int COLUMN = PLANES / LAYERS < 4 ? PLANES / LAYERS : 4, BLOCKS = PLANES / LAYERS / COLUMN;
    static_assert(THREADS % (T::Y * T::X) == 0 && BLOCKS * LAYERS * COLUMN == PLANES, "blocks divide a tile");
    const int number = p.first_tile + blockIdx.x / BLOCKS;
    const int tile[3] = {
        number % p.tile_count[0], number / p.tile_count[0] % p.tile_count[1], number / p.tile_count[0] / p.tile_count[1]};
    if (threadIdx.x < 32) {
        int count = 0;
        for (int step = threadIdx.x; step < (SOURCES + 31) / 32 * 32; step += 32) {
            int at[3], t[3], steps = step;
            bool reaches = step < SOURCES;
#pragma unroll
            for (int a = 0; a < 3; a++, steps /= REACH) {
                t[a] = tile[a], at[a] = 0;
                for (int i = 0; i < steps % REACH; i++) {
                    t[a] = t[a] ? t[a] - 1 : p.tile_count[a] - 1;
                    at[a] += min(own[a], p.size[a] - t[a] * own[a]);
                }
                reaches = reaches && at[a] < padded[a];
            }
            Source s = {};
            if (reaches) {
                long long number = ((long long)t[2] * p.tile_count[1] + t[1]) * p.tile_count[0] + t[0];
                int begin = p.first_part[number], parts = p.first_part[number + 1] - begin;
                int slot = begin - p.first_slot;
                if (slot < 0) slot += p.parts;
                s = {(blockIdx.y * (long long)p.slots + slot) * T::COUNT + at[2] * T::PLANE + at[1] * T::ROW + at[0], parts,
                    at[0], at[1], at[2]};
                reaches = parts > 0;
            }
            unsigned found = __ballot_sync(~0u, reaches);
            if (reaches) sources[count + __popc(found & (1u << threadIdx.x) - 1)] = s;
            count += __popc(found);
        }
        if (threadIdx.x == 0) source_count = count;
    }
    __syncthreads();

    const int x = threadIdx.x % T::X, y = threadIdx.x / T::X % T::Y;
    const int z = blockIdx.x % BLOCKS * (LAYERS * COLUMN) + threadIdx.x / (T::X * T::Y);
    const int gx = tile[0] * T::X + x, gy = tile[1] * T::Y + y;
    if (gx >= p.size[0] || gy >= p.size[1]) return;
    C total[COLUMN] = {};
    for (int s = 0; s < source_count; s++) {
        const Source source = sources[s];
        if (source.x + x >= T::NX || source.y + y >= T::NY) continue;
        const C *from = p.tiles + source.first + (z * T::PLANE + y * T::ROW + x);
        // In two dimensions all planes are there.
        const int deep = DIMS == 3 ? T::NZ - source.z - z : PLANES;
#pragma unroll 2
        for (int n = 0; n < source.parts; n++, from += T::COUNT) {
            C v[COLUMN];
#pragma unroll
            for (int i = 0; i < COLUMN; i++) v[i] = i * LAYERS < deep ? load_constant(from + i * LAYERS * T::PLANE) : C{0, 0};
#pragma unroll
            for (int i = 0; i < COLUMN; i++) total[i] = C{total[i].x + v[i].x, total[i].y + v[i].y};
        }
    }
    const long long plane = (long long)p.size[1] * p.size[0];
    const int first = DIMS == 3 ? tile[2] * T::Z + z : blockIdx.y * PLANES + z;
    C *to = p.grid + (DIMS == 3 ? blockIdx.y * p.size[2] * plane : 0) + first * plane + (long long)gy * p.size[0] + gx;
#pragma unroll
    for (int i = 0; i < COLUMN; i++) {
        if (first + i * LAYERS < (DIMS == 3 ? p.size[2] : p.coils)) to[i * LAYERS * plane] = total[i];
    }
}

#define SPREAD(REAL, NAME, DIMS, WINDOW)                                                                                       \
    extern "C" __global__ void __launch_bounds__(                                                                              \
        Tile<REAL, DIMS, WINDOW>::PLANES_AT_ONCE / Tile<REAL, DIMS, WINDOW>::PLANES_A_WARP * 32)                               \
        spread_##NAME##_##DIMS##d_##WINDOW(const __grid_constant__ Spread<REAL> p) {                                           \
        spread<REAL, DIMS, WINDOW>(p);                                                                                         \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) sum_##NAME##_##DIMS##d_##WINDOW(const __grid_constant__ Sum<REAL> p) {   \
        sum<REAL, DIMS, WINDOW>(p);                                                                                            \
    }
SPREAD(float, f32, 2, 8)
SPREAD(float, f32, 3, 8)
SPREAD(float, f32, 2, 16)
SPREAD(float, f32, 3, 16)
SPREAD(double, f64, 2, 8)
SPREAD(double, f64, 3, 8)
SPREAD(double, f64, 2, 16)
SPREAD(double, f64, 3, 16)
