// Interpolation (type 2): value = sum over the window of grid * phi(x) phi(y) phi(z).
//
// A block has a tile of the grid with its margin in shared memory, and a warp takes its points eight at a time, in order of
// their cells: a lane holds its share of a cell's window in registers, where the cell's points find it. A wide window is
// read from global memory instead.
#include "points.cuh"

// Mirrors `InterpolateArguments` in crates/nufft/src/gpu/interpolate.rs.
template <typename Real> struct Interpolate {
    const Point<Real> *points;
    // Where each point's value goes.
    const unsigned *order;
    const Part *parts;
    const Real *coefficients;
    // [coil][z][y][x]
    const Complex<Real> *grid;
    // [coil][value_stride]
    Complex<Real> *values;
    long long value_stride;
    int size[3];
    int coils;
};
static_assert(sizeof(Interpolate<float>) == 72 && sizeof(Interpolate<double>) == 72);

// Points that a warp takes at a time.
constexpr int BATCH = 8, THREADS = 256, WARPS = THREADS / 32;

template <typename Real, int WINDOW> struct Weights {
    // In the order that lanes read them.
    Real x[BATCH][WINDOW], y[BATCH][WINDOW], z[BATCH][WINDOW];
};

// Into shared memory, beside other work.
template <int BYTES> __device__ inline void copy(void *shared, const void *global) {
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES) : "memory");
}

__device__ inline int wrap(int i, int n) {
    while (i >= n) i -= n;
    return i;
}

// Sums over the lanes of eight points' shares; lane l gets that of point l / 4.
template <typename C> __device__ inline C reduce(C (&v)[BATCH], int lane) {
#pragma unroll
    for (int half = BATCH / 2, apart = 16; half; half /= 2, apart /= 2) {
        bool upper = lane & apart;
#pragma unroll
        for (int i = 0; i < half; i++) {
            C mine = upper ? v[i + half] : v[i], other = upper ? v[i] : v[i + half];
            v[i] = C{mine.x + __shfl_xor_sync(~0u, other.x, apart), mine.y + __shfl_xor_sync(~0u, other.y, apart)};
        }
    }
    C sum = v[0];
#pragma unroll
    for (int apart = 2; apart; apart /= 2) {
        sum = C{sum.x + __shfl_xor_sync(~0u, sum.x, apart), sum.y + __shfl_xor_sync(~0u, sum.y, apart)};
    }
    return sum;
}

template <typename Real, int DIMS, int WINDOW> __device__ inline void interpolate(const Interpolate<Real> &p) {
    typedef Complex<Real> C;
    typedef Padded<Real, DIMS, WINDOW> T;
    constexpr bool SHARED = WINDOW == 8;
    // A lane has x = lane % 8 + 8 i, y = lane / 8 + 4 j of each plane.
    constexpr int XS = WINDOW / 8, YS = WINDOW / 4, ZS = DIMS == 3 ? WINDOW : 1;
    constexpr int COILS = DIMS == 3 ? 1 : T::PLANES_AT_ONCE;
    extern __shared__ double2 shared[];
    C *tile = (C *)shared;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Weights<Real, WINDOW> &weights = ((Weights<Real, WINDOW> *)(tile + (SHARED ? (T::COUNT + 1) / 2 * 2 : 0)))[warp];
    const Part part = p.parts[blockIdx.x];
    const long long plane = (long long)p.size[1] * p.size[0], volume = plane * p.size[2];
    const C *grid = p.grid + blockIdx.y * COILS * volume;

    if (SHARED) {
        const bool pairs = sizeof(C) == 8 && p.size[0] % 2 == 0;
        // A row at a time, by half warps, of which each lane takes 16 bytes or two times 8.
        constexpr int GROUP = 16;
        for (int row = threadIdx.x / GROUP; row < T::NZ * T::NY; row += THREADS / GROUP) {
            int y = row % T::NY, z = row / T::NY;
            if (DIMS == 2 && (int)blockIdx.y * COILS + z >= p.coils) break;
            const C *from = grid + (DIMS == 3 ? wrap(part.origin[2] + z, p.size[2]) : z) * plane +
                            (long long)wrap(part.origin[1] + y, p.size[1]) * p.size[0];
            C *to = tile + z * T::PLANE + y * T::ROW;
            if (pairs) {
                for (int x = 2 * (threadIdx.x % GROUP); x < T::NX; x += 2 * GROUP) {
                    copy<16>(to + x, from + wrap(part.origin[0] + x, p.size[0]));
                }
            } else {
                for (int x = threadIdx.x % GROUP; x < T::NX; x += GROUP) {
                    copy<sizeof(C)>(to + x, from + wrap(part.origin[0] + x, p.size[0]));
                }
            }
        }
    }

    // Points of this warp: neighbours in three dimensions; in two, each warp has a coil and all points.
    int begin = part.begin, end = part.end, coil = blockIdx.y;
    if (DIMS == 3) {
        int share = (part.end - part.begin + WARPS - 1) / WARPS;
        begin += warp * share;
        end = min(begin + share, part.end);
    } else {
        int turns = WARPS / COILS, share = (part.end - part.begin + turns - 1) / turns;
        begin += warp / COILS * share;
        end = min(begin + share, part.end);
        coil = coil * COILS + warp % COILS;
        if (coil >= p.coils) end = begin;
    }
    C *values = p.values + coil * p.value_stride;
    if (DIMS == 2) grid += (warp % COILS) * plane;
    const C *own = tile + (DIMS == 2 ? warp % COILS * T::PLANE : 0) + lane / 8 * T::ROW + lane % 8;

    constexpr int AT_ONCE = 32 / WINDOW;
    const int tap = lane % WINDOW, row = lane / WINDOW;
    Polynomial<Real> phi;
    phi.template load<WINDOW>(p.coefficients, tap);

    if (SHARED) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }

    C window[SHARED ? ZS : 1][YS][XS];
    unsigned current = ~0u;
    for (int start = begin; start < end; start += BATCH) {
        unsigned at = 0, to = 0;
        __syncwarp();
#pragma unroll
        for (int r = 0; r < BATCH / AT_ONCE; r++) {
            int i = r * AT_ONCE + row;
            const Point<Real> q = p.points[min(start + i, end - 1)];
            int x = tap + place(q.at, 0) & WINDOW - 1, y = tap + place(q.at, 1) & WINDOW - 1;
            weights.x[i][x % 8 * XS + x / 8] = phi(q.u[0]);
            weights.y[i][y % 4 * YS + y / 4] = phi(q.u[1]);
            if (DIMS == 3) weights.z[i][tap + place(q.at, 2) & WINDOW - 1] = phi(q.u[2]);
        }
        const int count = min(BATCH, end - start);
        if (lane < BATCH) at = p.points[start + min(lane, count - 1)].at;
        if (lane / 4 < count) to = p.order[start + lane / 4];
        __syncwarp();

        C sum[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            sum[i] = C{0, 0};
            if (i >= count) continue;
            unsigned cell = __shfl_sync(~0u, at, i) >> 15;
            Pack<Real, XS> wx = *(const Pack<Real, XS> *)&weights.x[i][lane % 8 * XS];
            Pack<Real, YS> wy = *(const Pack<Real, YS> *)&weights.y[i][lane / 8 * YS];
            if constexpr (SHARED) {
                if (cell != current) {
                    current = cell;
                    const C *from = own + place(cell, 1) * T::ROW + place(cell, 0);
                    if (DIMS == 3) from += place(cell, 2) * T::PLANE;
#pragma unroll
                    for (int z = 0; z < ZS; z++) {
#pragma unroll
                        for (int y = 0; y < YS; y++) window[z][y][0] = from[z * T::PLANE + y * 4 * T::ROW];
                    }
                }
                C rows[YS];
                if (DIMS == 3) {
                    Pack<Real, ZS> wz = *(const Pack<Real, ZS> *)&weights.z[i][0];
#pragma unroll
                    for (int y = 0; y < YS; y++) {
                        rows[y] = C{0, 0};
#pragma unroll
                        for (int z = 0; z < ZS; z++) {
                            C g = window[z][y][0];
                            rows[y] = C{fma(g.x, wz.of[z], rows[y].x), fma(g.y, wz.of[z], rows[y].y)};
                        }
                    }
                } else {
#pragma unroll
                    for (int y = 0; y < YS; y++) rows[y] = window[0][y][0];
                }
#pragma unroll
                for (int y = 0; y < YS; y++) {
                    sum[i] = C{fma(rows[y].x, wy.of[y], sum[i].x), fma(rows[y].y, wy.of[y], sum[i].y)};
                }
                sum[i] = C{sum[i].x * wx.of[0], sum[i].y * wx.of[0]};
            } else {
                int x[XS], y[YS], z = wrap(part.origin[2] + (DIMS == 3 ? place(cell, 2) : 0), p.size[2]);
                Real w[YS][XS];
#pragma unroll
                for (int j = 0; j < YS; j++) y[j] = wrap(part.origin[1] + place(cell, 1) + lane / 8 + 4 * j, p.size[1]);
#pragma unroll
                for (int j = 0; j < XS; j++) x[j] = wrap(part.origin[0] + place(cell, 0) + lane % 8 + 8 * j, p.size[0]);
#pragma unroll
                for (int j = 0; j < YS; j++) {
#pragma unroll
                    for (int k = 0; k < XS; k++) w[j][k] = wy.of[j] * wx.of[k];
                }
#pragma unroll 2
                for (int n = 0; n < ZS; n++) {
                    C s = {0, 0};
#pragma unroll
                    for (int j = 0; j < YS; j++) {
#pragma unroll
                        for (int k = 0; k < XS; k++) {
                            C g = load_constant(grid + z * plane + (long long)y[j] * p.size[0] + x[k]);
                            s = C{fma(g.x, w[j][k], s.x), fma(g.y, w[j][k], s.y)};
                        }
                    }
                    Real wz = DIMS == 3 ? weights.z[i][n] : Real(1);
                    sum[i] = C{fma(s.x, wz, sum[i].x), fma(s.y, wz, sum[i].y)};
                    if (++z == p.size[2]) z = 0;
                }
            }
        }
        C value = reduce(sum, lane);
        if (lane % 4 == 0 && lane / 4 < count) values[to] = value;
    }
}

#define INTERPOLATE(REAL, NAME, DIMS, WINDOW)                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, sizeof(REAL) == 8 ? 1 : WINDOW == 8 ? 3 : 2)                         \
        interpolate_##NAME##_##DIMS##d_##WINDOW(const __grid_constant__ Interpolate<REAL> p) {                                 \
        interpolate<REAL, DIMS, WINDOW>(p);                                                                                    \
    }
INTERPOLATE(float, f32, 2, 8)
INTERPOLATE(float, f32, 3, 8)
INTERPOLATE(float, f32, 2, 16)
INTERPOLATE(float, f32, 3, 16)
INTERPOLATE(double, f64, 2, 8)
INTERPOLATE(double, f64, 3, 8)
INTERPOLATE(double, f64, 2, 16)
INTERPOLATE(double, f64, 3, 16)
