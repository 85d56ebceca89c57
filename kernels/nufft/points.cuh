// What sorting, spreading and interpolation share: tiles of the grid, points sorted by tile, the spreading function.
//
// A point touches `width` grid points an axis, the first of which is its start. A tile owns the points that start in it, so
// what they touch lies in the tile and a margin of WINDOW - 1 behind it. WINDOW, a power of two, is at least the width; the
// difference lets points whose starts differ by up to WINDOW - width share one window of the grid: a cell of points.
#pragma once
#include "../common/complex.cuh"

// Extents of a tile; a pass of spreading keeps PLANES_AT_ONCE of the window's planes (of the grids of as many coils in two
// dimensions) in shared memory, of which a warp has PLANES_A_WARP. Mirrors `Tile` in crates/nufft/src/gpu/tile.rs.
template <typename Real, int DIMS, int WINDOW> struct Tile;
template <> struct Tile<float, 3, 8> {
    static constexpr int X = 16, Y = 8, Z = 16, PLANES_AT_ONCE = 8, PLANES_A_WARP = 2;
};
template <> struct Tile<float, 2, 8> {
    static constexpr int X = 16, Y = 16, Z = 1, PLANES_AT_ONCE = 8, PLANES_A_WARP = 2;
};
template <> struct Tile<float, 3, 16> {
    static constexpr int X = 8, Y = 8, Z = 16, PLANES_AT_ONCE = 4, PLANES_A_WARP = 1;
};
template <> struct Tile<float, 2, 16> {
    static constexpr int X = 8, Y = 8, Z = 1, PLANES_AT_ONCE = 4, PLANES_A_WARP = 1;
};
template <> struct Tile<double, 3, 8> {
    static constexpr int X = 16, Y = 8, Z = 8, PLANES_AT_ONCE = 8, PLANES_A_WARP = 2;
};
template <> struct Tile<double, 2, 8> {
    static constexpr int X = 16, Y = 16, Z = 1, PLANES_AT_ONCE = 8, PLANES_A_WARP = 2;
};
template <> struct Tile<double, 3, 16> {
    static constexpr int X = 8, Y = 8, Z = 16, PLANES_AT_ONCE = 4, PLANES_A_WARP = 1;
};
template <> struct Tile<double, 2, 16> {
    static constexpr int X = 8, Y = 8, Z = 1, PLANES_AT_ONCE = 4, PLANES_A_WARP = 1;
};

// A tile with its margin. In two dimensions its planes are coils.
template <typename Real, int DIMS, int WINDOW> struct Padded : Tile<Real, DIMS, WINDOW> {
    typedef Tile<Real, DIMS, WINDOW> Own;
    static constexpr int NX = Own::X + WINDOW - 1, NY = Own::Y + WINDOW - 1;
    static constexpr int NZ = DIMS == 3 ? Own::Z + WINDOW - 1 : Own::PLANES_AT_ONCE;
    // Two rows of eight f32 values, one below the other, are in different banks.
    static constexpr int ROW = sizeof(Real) == 4 ? (NX + 7) / 16 * 16 + 8 : NX;
    static constexpr int PLANE = NY * ROW;
    static constexpr int COUNT = NZ * PLANE;
    static_assert(ROW >= NX && Own::X <= 32 && Own::Y <= 32 && Own::Z <= 32, "places in a tile have 5 bits");
};

// `u`: place of the start on the grid relative to the point, from -1 (half a width below it) to 1 (one grid point more), an
// axis; `at`: from bit 15 on the place in the tile of the point's cell, x, y, z in 5 bits each, and in the same way below that
// how far behind it the point starts.
template <typename Real> struct alignas(4 * sizeof(Real)) Point {
    Real u[3];
    unsigned at;
};

__device__ inline int place(unsigned at, int axis) { return at >> 5 * axis & 31; }

// Points of one tile, not more than a block takes. Its size is `PART_BYTES` in crates/nufft/src/gpu/sort.rs.
struct Part {
    int begin, end;
    // Of the tile, on the grid: x, y, z.
    int origin[3];
};
static_assert(sizeof(Part) == 20);

// Values of the spreading function: a thread holds the polynomial of one grid point of the width, as a function of u.
// How many they are, `max_terms` says in crates/nufft/src/gpu/spreading.rs.
template <typename Real> struct Polynomial {
    static constexpr int COUNT = sizeof(Real) == 4 ? 10 : 25;
    Real c[COUNT];

    // `table`: [COUNT][WINDOW], highest power first; zeros beyond the width.
    template <int WINDOW> __device__ inline void load(const Real *table, int tap) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) c[k] = __ldg(table + k * WINDOW + tap);
    }

    __device__ inline Real operator()(Real u) const {
        Real v = c[0];
#pragma unroll
        for (int k = 1; k < COUNT; k++) v = fma(v, u, c[k]);
        return v;
    }
};

// Several values that are read at once.
template <typename T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
    T of[N];
};
