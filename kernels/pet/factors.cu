// Factors: lines' efficiencies and attenuation, and their means in voxels. The processor's arithmetic is in
// crates/pet/src/factors and crates/pet/src/scanner/surface.rs.
#include <cuda_runtime.h>

#include "pairs.cuh"

// Mirrors `Plane` in crates/pet/src/scanner/surface.rs.
struct Plane {
    double centre[3], normal[3], width[3], height[3];
};

// A part of a view's directions; its tilt's tangent in planes of voxels a mm, and the length of a mm across the axis.
struct Direction {
    double azimuth, width, sine, height;
    double sin, cos, slope, longer;
    float weight;
    unsigned seed;
    int cone, unused;
};

// The middle of directions of much the same attenuation; `longer`: the length of a mm across the axis.
struct Cone {
    double sin, cos, tangent, longer;
};

// Mirrors `Arguments` in crates/pet/src/gpu/factors.rs.
struct Factors {
    // Cells of lines: s across the axis, z along it.
    double pitch[2], lowest;
    int across, along, below, directions, cones, unused;
    const Direction *direction;
    const Cone *cone;
    // Crystals.
    const Plane *planes;
    const unsigned *seen;
    const float *efficiencies;
    double radius, surface_lowest, per_mm;
    int around, rows;
    // Attenuation, [y][x][z]; NULL for none.
    const float *map;
    int map_count[3], unused_too;
    double map_lowest[2], map_voxel[3], map_first;
    // [cone][cell s][cell z], [direction][line s][even, odd][cell z], [direction][line s].
    float *through, *measured;
    float2 *between;
    // [y][x][z]
    float *volume;
    int nx, ny, nz, column;
    double first[2], voxel[2];
    // Of random coincidences: how far from the middle of a line they are at most; 0 for decays.
    double accidental;
    Pairs pairs;
    // Of crystals behind each other; whether the first that a line meets is the only one.
    int layers, first_alone;
};
static_assert(sizeof(Plane) == 96 && sizeof(Direction) == 80 && sizeof(Cone) == 32 && sizeof(Factors) == 320);

constexpr double TAU = 6.28318530717958647692;
// Lines of a cell along either axis: crates/pet/src/factors/cones.rs.
constexpr int FINE = 2;
// Directions and places across the axis that lines of a row take in turns: crates/pet/src/factors/tables.rs.
constexpr int FANS = 8;
constexpr unsigned NONE = 0xffffffffu, ALL = 0xffffffffu;
// As in crates/pet/src/scanner/surface.rs.
constexpr int NEAR = 5, STEPS = 4, MAX_LAYERS = 8;

__device__ inline unsigned mix(unsigned bits) {
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    return bits ^ bits >> 16;
}

// Number `which` of those that belong to some bits, from -1/2 to 1/2.
__device__ inline double centred(unsigned bits, unsigned which) {
    return ((double)(mix(bits + which * 0x9e3779b9u) >> 1) + 0.5) * (1.0 / 2147483648.0) - 0.5;
}

struct Vector {
    double x, y, z;
};

__device__ inline double dot(const double *a, Vector b) { return a[0] * b.x + a[1] * b.y + a[2] * b.z; }

// How far along a line a plane is; whether its face is there.
__device__ inline bool meets(const Plane &plane, Vector place, Vector along, double &t) {
    const Vector to = { plane.centre[0] - place.x, plane.centre[1] - place.y, plane.centre[2] - place.z };
    t = dot(plane.normal, to) / dot(plane.normal, along);
    const Vector off = { t * along.x - to.x, t * along.y - to.y, t * along.z - to.z };
    return fabs(dot(plane.width, off)) <= 0.5 && fabs(dot(plane.height, off)) <= 0.5;
}

__device__ inline unsigned seen(const Factors &p, int layer, int column, int row) {
    column %= p.around;
    if (column < 0) column += p.around;
    return row >= 0 && row < p.rows ? p.seen[((size_t)layer * p.rows + row) * p.around + column] : NONE;
}

// The crystal of a layer that a line meets ahead of a place, or NONE, and how far.
__device__ __forceinline__ unsigned meet(const Factors &p, int layer, Vector place, Vector along, double &t) {
    const double square = along.x * along.x + along.y * along.y, middle = -(place.x * along.x + place.y * along.y);
    const double rest = p.radius * p.radius - place.x * place.x - place.y * place.y;
    t = (middle + sqrt(fmax(middle * middle + square * rest, 0.0))) / square;
    if (!isfinite(t)) return NONE;
    unsigned before = NONE;
    for (int step = 0;; step++) {
        const double x = place.x + t * along.x, y = place.y + t * along.y, z = place.z + t * along.z;
        // A cell's neighbour serves as well: planes are met exactly.
        const int column = (int)floorf(atan2f((float)y, (float)x) * (float)(1 / TAU) * p.around);
        const int row = (int)floor(fmin(fmax((z - p.surface_lowest) * p.per_mm, -1e9), 1e9));
        const unsigned crystal = step < STEPS ? seen(p, layer, column, row) : NONE;
        if (crystal != NONE && crystal != before) {
            double met;
            const bool on = meets(p.planes[crystal], place, along, met);
            if (on || isfinite(met)) {
                t = met;
                if (on) return crystal;
                before = crystal;
                continue;
            }
        }
        // The nearest of all about the cell.
        unsigned found = NONE, last = NONE;
        double nearest = INFINITY;
        for (int b = -NEAR; b <= NEAR; b++)
            for (int a = -NEAR; a <= NEAR; a++) {
                const unsigned other = seen(p, layer, column + a, row + b);
                if (other == NONE || other == last) continue;
                last = other;
                double met;
                if (meets(p.planes[other], place, along, met) && met > 0 && met < nearest) nearest = met, found = other;
            }
        t = nearest;
        return found;
    }
}

// The place of line `k` of an axis, in cells, moved by a part of its own width.
__device__ inline double fine(int k, double part) { return (k + 0.5 + part) / FINE - 0.5; }

// How far detectors are at least: behind, and ahead.
struct Between {
    float behind = INFINITY, ahead = INFINITY;
};

// What a line is measured with, by the crystals that it meets at either end.
__device__ __forceinline__ float measured(const Factors &p, Vector place, Vector along, Between &between) {
    float value = 1, far[2];
    unsigned met[2];
#pragma unroll 1
    for (int end = 0; end < 2 && value > 0; end++) {
        const double sign = end ? -1 : 1;
        double t;
        const unsigned crystal = meet(p, 0, place, { sign * along.x, sign * along.y, sign * along.z }, t);
        value *= crystal == NONE ? 0 : p.efficiencies[crystal];
        if (p.accidental > 0 && value > 0) value /= (float)fabs(dot(p.planes[crystal].normal, along));
        (end ? far[0] : far[1]) = (float)t;
        (end ? met[0] : met[1]) = crystal;
    }
    if (value > 0 && p.pairs.members) value *= efficiency(p.pairs, met[0], met[1]);
    if (value > 0) {
        if (p.accidental > 0) {
            const float length = far[0] + far[1], middle = 0.5f * (far[1] - far[0]);
            value *= length * length;
            far[0] = (float)p.accidental - middle, far[1] = (float)p.accidental + middle;
        }
        between.behind = fminf(between.behind, far[0]), between.ahead = fminf(between.ahead, far[1]);
    }
    return value;
}

// The same by all pairs of crystals that it crosses, of which some are behind others.
__device__ __noinline__ float measured_by_layers(const Factors &p, Vector place, Vector along, Between &between) {
    unsigned met[2][MAX_LAYERS];
    float far[2][MAX_LAYERS], part[2][MAX_LAYERS];
    int count[2] = { 0, 0 };
    for (int end = 0; end < 2; end++) {
        const double sign = end ? -1 : 1;
        for (int layer = 0; layer < p.layers && !(p.first_alone && count[end]); layer++) {
            double t;
            const unsigned crystal = meet(p, layer, place, { sign * along.x, sign * along.y, sign * along.z }, t);
            if (crystal == NONE) continue;
            const int k = count[end]++;
            met[end][k] = crystal, far[end][k] = (float)t, part[end][k] = p.efficiencies[crystal];
            if (p.accidental > 0) part[end][k] /= (float)fabs(dot(p.planes[crystal].normal, along));
        }
        if (!count[end]) return 0;
    }
    float sum = 0;
    for (int a = 0; a < count[1]; a++)
        for (int b = 0; b < count[0]; b++) {
            float value = part[1][a] * part[0][b], behind = far[1][a], ahead = far[0][b];
            if (p.pairs.members) value *= efficiency(p.pairs, met[1][a], met[0][b]);
            if (p.accidental > 0) {
                const float length = behind + ahead, middle = 0.5f * (ahead - behind);
                value *= length * length;
                behind = (float)p.accidental - middle, ahead = (float)p.accidental + middle;
            }
            if (value > 0) {
                between.behind = fminf(between.behind, behind), between.ahead = fminf(between.ahead, ahead);
                sum += value;
            }
        }
    return sum;
}

// A warp for the lines of a direction and an s.
template <class OfLine> __device__ __forceinline__ void measure(const Factors &p, OfLine of_line) {
    const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= p.directions * p.across * FINE) return;
    const int i = row % (p.across * FINE);
    const Direction &direction = p.direction[row / (p.across * FINE)];
    // A thread's lines are those of a fan.
    static_assert(32 % FANS == 0);
    const unsigned bits = mix(direction.seed ^ (unsigned)(i * FANS + lane % FANS));
    const double s = (fine(i, centred(bits, 0)) - p.across / 2) * p.pitch[0];
    double sin, cos;
    sincospi((direction.azimuth + direction.width * centred(bits, 1)) / (TAU / 2), &sin, &cos);
    const double sine = direction.sine + direction.height * centred(bits, 2), cosine = sqrt(1 - sine * sine);
    Between between;
    for (int j = lane; j < p.along * FINE; j += 32) {
        const double z = p.lowest + (fine(j, centred(bits ^ (unsigned)j * 0x85ebca6bu, 3)) - p.below) * p.pitch[1];
        const Vector place = { -s * sin, s * cos, z };
        float value = of_line(place, Vector{ cos * cosine, sin * cosine, sine }, between);
        if (value > 0 && p.map) value *= p.through[((size_t)direction.cone * p.across + i / FINE) * p.along + j / FINE];
        p.measured[((size_t)row * FINE + j % FINE) * p.along + j / FINE] = value;
    }
    for (int step = 16; step; step >>= 1) {
        between.behind = fminf(between.behind, __shfl_xor_sync(ALL, between.behind, step));
        between.ahead = fminf(between.ahead, __shfl_xor_sync(ALL, between.ahead, step));
    }
    if (lane == 0) p.between[row] = make_float2(between.behind, between.ahead);
}

extern "C" __global__ void __launch_bounds__(128, 4) factors_measured(const __grid_constant__ Factors p) {
    measure(p, [&p](Vector place, Vector along, Between &between) { return measured(p, place, along, between); });
}

extern "C" __global__ void __launch_bounds__(128, 4) factors_measured_by_layers(const __grid_constant__ Factors p) {
    measure(p, [&p](Vector place, Vector along, Between &between) { return measured_by_layers(p, place, along, between); });
}

// A warp for 32 cells of a cone and an s, by the direction of its middle.
extern "C" __global__ void __launch_bounds__(128) factors_through(const __grid_constant__ Factors p) {
    const int lane = threadIdx.x & 31, chunks = (p.along + 31) / 32;
    const long long task = (long long)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (task >= (long long)p.cones * p.across * chunks) return;
    const int j = (int)(task % chunks) * 32 + lane, i = (int)(task / chunks % p.across);
    const int c = (int)(task / chunks / p.across);
    const Cone cone = p.cone[c];
    const double s = ((double)i - p.across / 2) * p.pitch[0];
    const int nx = p.map_count[0], ny = p.map_count[1], nz = p.map_count[2];
    // Where the line is over the map.
    const double place[2] = { -s * cone.sin, s * cone.cos }, along[2] = { cone.cos, cone.sin };
    double from = -INFINITY, to = INFINITY, step = INFINITY;
    for (int axis = 0; axis < 2; axis++) {
        const double low = p.map_lowest[axis], high = low + (p.map_count[axis] - 1) * p.map_voxel[axis];
        if (along[axis] == 0) {
            if (!(place[axis] >= low && place[axis] <= high)) to = -INFINITY;
            continue;
        }
        const double a = (low - place[axis]) / along[axis], b = (high - place[axis]) / along[axis];
        from = fmax(from, fmin(a, b)), to = fmin(to, fmax(a, b)), step = fmin(step, p.map_voxel[axis] / fabs(along[axis]));
    }
    const int steps = from < to ? (int)fmax(ceil((to - from) / step), 1.0) : 0;
    step = (to - from) / steps;
    float sum = 0;
    for (int k = 0; k < steps; k++) {
        const double t = from + (k + 0.5) * step;
        const double u = (-s * cone.sin + t * cone.cos - p.map_lowest[0]) / p.map_voxel[0];
        const double v = (s * cone.cos + t * cone.sin - p.map_lowest[1]) / p.map_voxel[1];
        if (!(u >= 0 && u < nx - 1 && v >= 0 && v < ny - 1)) continue;
        const int x = (int)u, y = (int)v;
        const double w = t * cone.tangent / p.map_voxel[2] - p.below - p.map_first, low = floor(w);
        const long long z = (long long)low + j;
        if (z < 0 || z + 1 >= nz) continue;
        const float fx = (float)(u - x), fy = (float)(v - y), f = (float)(w - low);
        const float parts[4] = { (1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy };
        const float *corner[4] = { p.map + ((size_t)y * nx + x) * nz + z };
        corner[1] = corner[0] + nz, corner[2] = corner[0] + (size_t)nx * nz, corner[3] = corner[2] + nz;
        float below = 0, above = 0;
        for (int q = 0; q < 4; q++) below += parts[q] * corner[q][0], above += parts[q] * corner[q][1];
        sum += below + f * (above - below);
    }
    if (j < p.along) p.through[((size_t)c * p.across + i) * p.along + j] = (float)exp(-(double)(sum * (float)(steps ? step * cone.longer : 0)));
}

// A thread for a voxel.
extern "C" __global__ void __launch_bounds__(256) factors_gather(const __grid_constant__ Factors p) {
    const long long count = (long long)p.nx * p.ny * p.column;
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < count; k += (long long)gridDim.x * blockDim.x) {
        const int z = (int)(k % p.column), column = (int)(k / p.column);
        if (z >= p.nz) {
            p.volume[k] = 0;
            continue;
        }
        const double x = p.first[0] + column % p.nx * p.voxel[0], y = p.first[1] + column / p.nx * p.voxel[1];
        float sum = 0;
        for (int d = 0; d < p.directions; d++) {
            const Direction &direction = p.direction[d];
            const double s = y * direction.cos - x * direction.sin, t = x * direction.cos + y * direction.sin;
            // The first of three lines along either axis that the voxel is over, and how far beyond its middle it begins.
            const double u = FINE * (s / p.pitch[0] + p.across / 2), w = FINE * (p.below - t * direction.slope);
            const int i = (int)u, j = (int)w, row = d * p.across * FINE + i;
            const float along = (float)(t * direction.longer);
            bool outside = false;
            for (int a = 0; a < 3; a++) outside |= -along > p.between[row + a].x || along > p.between[row + a].y;
            if (outside) continue;
            const float f = (float)(u - i) / FINE, g = (float)(w - j) / FINE;
            const float across[3] = { 1.0f / FINE - f, 1.0f / FINE, f }, up[3] = { 1.0f / FINE - g, 1.0f / FINE, g };
            float part = 0;
            for (int a = 0; a < 3; a++) {
                const float *table = p.measured + (size_t)(row + a) * FINE * p.along + z;
                float line = 0;
                for (int b = 0; b < 3; b++) line += up[b] * table[(j + b) % FINE * p.along + (j + b) / FINE];
                part += across[a] * line;
            }
            sum += direction.weight * part;
        }
        p.volume[k] = sum;
    }
}
