// Spreading (type 1): grid = sum over points of value * phi(x) phi(y) phi(z), without atomics and in a fixed order.
//
// A block takes a part of a tile's points, in order of their cells. Of the window of grid points that a cell's points touch,
// warp w has the planes whose z is w modulo the number of warps, so that warps never meet; sums of a cell stay in registers,
// and are added to the tile in shared memory when the next cell comes. The tiles with their margins are then summed by a
// second kernel. In two dimensions the planes are those of several coils.
#include "points.cuh"

// Mirrors `SpreadArguments` in src/nufft/gpu/spread.rs.
template <typename Real> struct Spread {
    const Point<Real> *points;
    // Where each point's value is.
    const unsigned *order;
    const Part *parts;
    const Real *coefficients;
    // [coil][value_stride]
    const Complex<Real> *values;
    long long value_stride;
    // [coil, in 2-D PLANES_AT_ONCE coils][part][z][y][ROW]
    Complex<Real> *tiles;
    int coils;
};

// Mirrors `SumArguments` in src/nufft/gpu/spread.rs.
template <typename Real> struct Sum {
    const Complex<Real> *tiles;
    // Parts of tile t: first_part[t] to first_part[t + 1] - 1.
    const int *first_part;
    // [coil][z][y][x]
    Complex<Real> *grid;
    int size[3], tile_count[3];
    int parts, coils;
};

constexpr int BATCH = 32;

template <typename Real, int WINDOW, int PLANES> struct Batch {
    // Per point: the window's weights along x and y, in the order that lanes read them, and value times weight along z.
    Real wx[BATCH][WINDOW], wy[BATCH][WINDOW];
    Complex<Real> cz[BATCH][PLANES];
    unsigned cell[BATCH];
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
    Batch<Real, WINDOW, PLANES> &batch = *(Batch<Real, WINDOW, PLANES> *)(tile + (KEPT + 1) / 2 * 2);

    const Part part = p.parts[blockIdx.x];
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
            value[r] = has_value ? __ldg(values + from[r]) : C{0, 0};
        }
    };
    fetch_order(part.begin);
    fetch(part.begin);
    fetch_order(part.begin + BATCH);

    for (int i = thread; i < KEPT; i += THREADS) tile[i] = C{0, 0};

    C sum[ZS][YS][XS] = {};
    // Of the lane's first point of each plane.
    int at[ZS];
    const int in_plane = lane / 8 * T::ROW + lane % 8;
    auto enter = [&](unsigned cell) {
        int x = place(cell, 0), y = place(cell, 1), z = place(cell, 2);
#pragma unroll
        for (int i = 0; i < ZS; i++) {
            int plane = warp * ZS + i;
            if (DIMS == 3) {
                int turned = first + plane;
                int deep = z + (turned - z & WINDOW - 1);
                plane += deep / WINDOW * PLANES;
            }
            at[i] = plane * T::PLANE + y * T::ROW + x + in_plane;
        }
    };
    auto leave = [&] {
#pragma unroll
        for (int i = 0; i < ZS; i++) {
#pragma unroll
            for (int y = 0; y < YS; y++) {
#pragma unroll
                for (int x = 0; x < XS; x++) {
                    C &to = tile[at[i] + 4 * y * T::ROW + 8 * x];
                    C old = to, &s = sum[i][y][x];
                    to = C{old.x + s.x, old.y + s.y};
                    s = C{0, 0};
                }
            }
        }
    };
    enter(0);
    unsigned cell = 0;

    for (int start = part.begin; start < part.end; start += BATCH) {
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
            const int i = r * (THREADS / WINDOW) + row;
            const Point<Real> &q = point[r];
            unsigned home = q.at >> 15;
            int x = tap + place(q.at, 0) - place(home, 0) & WINDOW - 1;
            int y = tap + place(q.at, 1) - place(home, 1) & WINDOW - 1;
            batch.wx[i][x % 8 * XS + x / 8] = phi(q.u[0]);
            batch.wy[i][y % 4 * YS + y / 4] = phi(q.u[1]);
            if (DIMS == 3) {
                // By z modulo WINDOW, on which the warp depends.
                int z = (place(q.at, 2) + tap & WINDOW - 1) - first;
                Real w = phi(q.u[2]);
                if ((unsigned)z < PLANES) batch.cz[i][z] = C{value[r].x * w, value[r].y * w};
            } else if (tap < PLANES) {
                batch.cz[i][tap] = value[r];
            }
            if (tap == 0) batch.cell[i] = home;
        }
        __syncthreads();
        fetch(start + BATCH);
        fetch_order(start + 2 * BATCH);

        const int count = min(BATCH, part.end - start);
        unsigned cells = batch.cell[lane];
        unsigned before = __shfl_up_sync(~0u, cells, 1);
        if (lane == 0) before = cell;
        unsigned changes = __ballot_sync(~0u, cells != before && lane < count);
        cell = __shfl_sync(~0u, cells, count - 1);
        for (int i = 0; i < count;) {
            if (changes >> i & 1) {
                leave();
                enter(__shfl_sync(~0u, cells, i));
            }
            unsigned later = i < 31 ? changes >> (i + 1) : 0;
            const int stop = later ? min(count, i + __ffs(later)) : count;
            for (; i < stop; i++) {
                Pack<Real, XS> wx = *(const Pack<Real, XS> *)&batch.wx[i][lane % 8 * XS];
                Pack<Real, YS> wy = *(const Pack<Real, YS> *)&batch.wy[i][lane / 8 * YS];
                Pack<C, ZS> cz = *(const Pack<C, ZS> *)&batch.cz[i][warp * ZS];
#pragma unroll
                for (int z = 0; z < ZS; z++) {
#pragma unroll
                    for (int x = 0; x < XS; x++) {
                        C v = {cz.of[z].x * wx.of[x], cz.of[z].y * wx.of[x]};
#pragma unroll
                        for (int y = 0; y < YS; y++) {
                            C &s = sum[z][y][x];
                            s = C{fma(v.x, wy.of[y], s.x), fma(v.y, wy.of[y], s.y)};
                        }
                    }
                }
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

// A block makes one tile of the grid from all that reach into it: along each axis the tile itself and those before it,
// round the end of the grid.
template <typename Real, int DIMS, int WINDOW> __device__ inline void sum(const Sum<Real> &p) {
    typedef Complex<Real> C;
    typedef Padded<Real, DIMS, WINDOW> T;
    // The last tile of an axis may be short, and is then no whole step.
    constexpr int THREADS = 256, REACH = (WINDOW - 2) / (T::X < T::Y ? T::X : T::Y) + 3, SOURCES = REACH * REACH * REACH;
    // Parts that reach into this tile, and the place of its first point in them.
    struct Source {
        int begin, end, x, y, z;
    };
    __shared__ Source sources[SOURCES];
    __shared__ int source_count;

    const int own[3] = {T::X, T::Y, T::Z}, padded[3] = {T::NX, T::NY, DIMS == 3 ? T::NZ : 1};
    int tile[3] = {(int)blockIdx.x % p.tile_count[0], (int)blockIdx.x / p.tile_count[0] % p.tile_count[1],
        (int)blockIdx.x / p.tile_count[0] / p.tile_count[1]};
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
                s = {p.first_part[number], p.first_part[number + 1], at[0], at[1], at[2]};
                reaches = s.begin < s.end;
            }
            unsigned found = __ballot_sync(~0u, reaches);
            if (reaches) sources[count + __popc(found & (1u << threadIdx.x) - 1)] = s;
            count += __popc(found);
        }
        if (threadIdx.x == 0) source_count = count;
    }
    __syncthreads();

    constexpr int PLANES = DIMS == 3 ? T::Z : T::PLANES_AT_ONCE;
    for (int i = threadIdx.x; i < PLANES * T::Y * T::X; i += THREADS) {
        int x = i % T::X, y = i / T::X % T::Y, z = i / T::X / T::Y;
        int gx = tile[0] * T::X + x, gy = tile[1] * T::Y + y, gz = tile[2] * T::Z + z;
        int coil = blockIdx.y;
        if (DIMS == 2) coil = coil * PLANES + z, gz = 0;
        if (gx >= p.size[0] || gy >= p.size[1] || gz >= p.size[2] || coil >= p.coils) continue;
        C total = {0, 0};
        for (int s = 0; s < source_count; s++) {
            const Source &source = sources[s];
            int sx = source.x + x, sy = source.y + y, sz = source.z + z;
            if (sx >= T::NX || sy >= T::NY || sz >= T::NZ) continue;
            const C *from = p.tiles + (blockIdx.y * (long long)p.parts + source.begin) * T::COUNT +
                            (sz * T::PLANE + sy * T::ROW + sx);
#pragma unroll 4
            for (int n = source.begin; n < source.end; n++, from += T::COUNT) {
                C v = __ldg(from);
                total = C{total.x + v.x, total.y + v.y};
            }
        }
        p.grid[((coil * (long long)p.size[2] + gz) * p.size[1] + gy) * p.size[0] + gx] = total;
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
