// Events into histo-images: the processor's arithmetic (locate.rs, views.rs and scanner/events.rs in crates/pet/src), operation by operation, so
// that the same voxel counts.
#include <cuda_runtime.h>

#include "pairs.cuh"

enum { F32, F64, U8, U16, U32 };

// Numbers of the caller's.
struct Numbers {
    const void *data;
    // Elements from one event to the next, and from x to y or from crystal to crystal.
    long long stride, along;
    int type, unused;
};

// Mirrors `Face` in crates/pet/src/scanner/crystals.rs.
struct Face {
    float4 centre, width, height;
};

// Mirrors `Arguments` in crates/pet/src/gpu/deposit.rs.
struct Deposit {
    Numbers first, second, time;
    long long count;
    // Along x, y, z.
    double sides[3], per_mm[3];
    double half_light, max_tilt;
    // The element at index 0, u32 or f32, and elements along x, y, z, views and sets.
    void *histos;
    long long strides[5];
    // Of a grid of views; 0 azimuths: of a list.
    int azimuths, tilts;
    // Of a list: cells of azimuth and tilt, where candidates of each begin, and directions of views.
    int cells[2];
    const unsigned *starts, *candidates;
    const double *directions;
    // Events by cause: unknown, not finite, twice the same position, outside tilts, outside lattice, overflow, not measured.
    unsigned long long *dropped;
    int is_float;
    // Of events that name crystals, `first` and `time` being crystals and bins (or times), and `second` labels, NULL for none.
    unsigned sets;
    const Face *faces;
    const double2 *bins;
    unsigned crystals, bin_count;
    unsigned long long first_event;
    Pairs pairs;
};
static_assert(sizeof(Numbers) == 32 && sizeof(Face) == 48 && sizeof(Deposit) == 336);

constexpr double PI = 3.14159265358979323846, HALF_PI = PI / 2, QUARTER_PI = PI / 4;
constexpr int NONE = -1, NOT_MEASURED = 6, CAUSES = 7;

// No product is joined with a sum: rounded as on the processor.
__device__ inline double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ inline double add(double a, double b) { return __dadd_rn(a, b); }
__device__ inline double sub(double a, double b) { return __dsub_rn(a, b); }

__device__ inline double read(const Numbers &n, long long event, int axis) {
    const long long at = event * n.stride + axis * n.along;
    return n.type == F64 ? static_cast<const double *>(n.data)[at] : (double)static_cast<const float *>(n.data)[at];
}

__device__ inline unsigned read_count(const Numbers &n, long long event, int axis) {
    const long long at = event * n.stride + axis * n.along;
    if (n.type == U32) return static_cast<const unsigned *>(n.data)[at];
    return n.type == U16 ? static_cast<const unsigned short *>(n.data)[at] : static_cast<const unsigned char *>(n.data)[at];
}

__device__ inline unsigned mix(unsigned bits) {
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    return bits ^ bits >> 16;
}

// From -1/2 to 1/2, by an event's number; `which` of its five numbers. Exact but for the scaling by a power of 2.
__device__ inline double part(unsigned long long event, unsigned which) {
    const unsigned bits = mix(((unsigned)event ^ mix((unsigned)(event >> 32))) + which * 0x9e3779b9u);
    return ((double)(bits >> 1) + 0.5) * (1.0 / 2147483648.0) - 0.5;
}

// Rounded down, 0 to `max`; NaN is 0.
__device__ inline int whole(double v, double max) { return (int)fmin(fmax(v, 0.0), max); }

// Angle of (x, y), x, y >= 0: crates/base/src/cpu/elementary.rs.
__device__ inline double angle(double x, double y) {
    constexpr double ATAN[9] = { 0.9999999999999732,   -0.33333333330803444, 0.19999999604891724, -0.1428569042382642, 0.11110385045828013,
                                 -0.09078392068648891, 0.07563703520159015,  -0.058745054996039166, 0.030662438483348382 };
    double low = y < x ? y : x, high = y < x ? x : y, base = 0;
    if (low > mul(0.41421356237309503, high)) {
        const double l = low, h = high;
        low = sub(l, h), high = add(l, h), base = QUARTER_PI;
    }
    const double t = __ddiv_rn(low, high), square = mul(t, t);
    double sum = ATAN[8];
    for (int k = 7; k >= 0; k--) sum = add(mul(sum, square), ATAN[k]);
    const double found = add(base, mul(t, sum));
    return y < x ? found : sub(HALF_PI, found);
}

__device__ inline int view_of(const Deposit &p, const double *d) {
    const double sign = copysign(1.0, d[1]), x = mul(d[0], sign), y = mul(d[1], sign), z = mul(d[2], sign);
    const double across = __dsqrt_rn(add(mul(d[0], d[0]), mul(d[1], d[1])));
    const double part = angle(fabs(x), y), azimuth = x < 0 ? sub(PI, part) : part;
    double tilt = copysign(angle(across, fabs(z)), z);
    if (p.azimuths) {
        int step = whole(add(mul(azimuth, __ddiv_rn((double)p.azimuths, PI)), 0.5), p.azimuths);
        // Half a turn is azimuth 0 seen from the other side.
        if (step == p.azimuths) step = 0, tilt = -tilt;
        const int interval = whole(mul(add(__ddiv_rn(tilt, p.max_tilt), 1.0), mul(0.5, p.tilts)), p.tilts - 1);
        return fabs(tilt) <= p.max_tilt ? step * p.tilts + interval : NONE;
    }
    if (!(fabs(tilt) <= p.max_tilt)) return NONE;
    const int a = whole(mul(mul(azimuth, 1 / PI), p.cells[0]), p.cells[0] - 1);
    const int t = whole(mul(mul(0.5, add(__ddiv_rn(tilt, p.max_tilt), 1.0)), p.cells[1]), p.cells[1] - 1);
    const unsigned *cell = p.starts + (long long)a * p.cells[1] + t;
    if (cell[1] - cell[0] == 1) return p.candidates[cell[0]];
    double best = -1;
    int found = 0;
    for (unsigned k = cell[0]; k < cell[1]; k++) {
        const int v = p.candidates[k];
        const double *n = p.directions + 3ll * v;
        const double cosine = fabs(add(add(mul(d[0], n[0]), mul(d[1], n[1])), mul(d[2], n[2])));
        if (cosine > best) best = cosine, found = v;
    }
    return found;
}

// One count more; whether the voxel was full.
__device__ inline bool count_one(const Deposit &p, long long at) {
    if (p.is_float) {
        // From 2^24 on one more is no more.
        const float before = atomicAdd(static_cast<float *>(p.histos) + at, 1.0f);
        return before + 1.0f == before;
    }
    unsigned *const to = static_cast<unsigned *>(p.histos) + at;
    // Far from full, all threads that there are cannot fill it.
    if (__ldcv(to) < 0xf0000000u) return atomicAdd(to, 1u), false;
    for (unsigned seen = __ldcv(to); seen != ~0u;) {
        const unsigned before = atomicCAS(to, seen, seen + 1);
        if (before == seen) return false;
        seen = before;
    }
    return true;
}

// One event's cause to be dropped, or NONE.
__device__ inline int count_event(const Deposit &p, const double *a, const double *b, double dt, unsigned set) {
    double d[3], place[3];
    bool finite = isfinite(dt);
    for (int k = 0; k < 3; k++) {
        d[k] = sub(a[k], b[k]);
        finite = finite && isfinite(a[k]) && isfinite(b[k]);
    }
    const double square = add(add(mul(d[0], d[0]), mul(d[1], d[1])), mul(d[2], d[2]));
    const double shift = __ddiv_rn(mul(p.half_light, dt), __dsqrt_rn(square));
    for (int k = 0; k < 3; k++)
        place[k] = add(mul(add(mul(0.5, add(a[k], b[k])), mul(shift, d[k])), p.per_mm[k]), mul(0.5, p.sides[k]));
    const double sum = add(add(add(place[0], place[1]), place[2]), square);
    if (!isfinite(sum) || !(square > 0)) return !finite ? 1 : square == 0 ? 2 : 4;
    const int view = view_of(p, d);
    if (view == NONE) return 3;
    bool inside = true;
    long long at = set * p.strides[4] + view * p.strides[3];
    for (int k = 0; k < 3; k++) {
        inside = inside && place[k] >= 0 && place[k] < p.sides[k];
        at += whole(place[k], p.sides[k]) * p.strides[k];
    }
    return !inside ? 4 : count_one(p, at) ? 5 : NONE;
}

// What becomes of each of the events, by its number.
template <class OneEvent> __device__ inline void deposit(const Deposit &p, OneEvent one_event) {
    __shared__ unsigned long long causes[CAUSES];
    if (threadIdx.x < CAUSES) causes[threadIdx.x] = 0;
    __syncthreads();
    unsigned own[CAUSES] = {};
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < p.count; i += gridDim.x * 256ll) {
        const int cause = one_event(i);
        for (int k = 0; k < CAUSES; k++) own[k] += cause == k;
    }
    for (int k = 0; k < CAUSES; k++)
        if (own[k]) atomicAdd(&causes[k], (unsigned long long)own[k]);
    __syncthreads();
    if (threadIdx.x < CAUSES && causes[threadIdx.x]) atomicAdd(&p.dropped[threadIdx.x], causes[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(256) deposit_events(const __grid_constant__ Deposit p) {
    deposit(p, [&p](long long i) {
        double a[3], b[3];
        for (int k = 0; k < 3; k++) a[k] = read(p.first, i, k), b[k] = read(p.second, i, k);
        return count_event(p, a, b, read(p.time, i, 0), 0);
    });
}

extern "C" __global__ void __launch_bounds__(256) deposit_crystals(const __grid_constant__ Deposit p) {
    deposit(p, [&p](long long i) {
        const unsigned long long event = p.first_event + i;
        const unsigned crystal[2] = { read_count(p.first, i, 0), read_count(p.first, i, 1) };
        const unsigned set = p.second.data ? read_count(p.second, i, 0) : 0;
        bool known = crystal[0] < p.crystals && crystal[1] < p.crystals && set < p.sets;
        double dt;
        if (p.time.type >= U8) {
            const unsigned bin = read_count(p.time, i, 0);
            known = known && bin < p.bin_count;
            const double2 low_width = p.bins[min(bin, p.bin_count)];
            dt = add(low_width.x, mul(add(part(event, 4), 0.5), low_width.y));
        } else {
            dt = read(p.time, i, 0);
        }
        if (!known) return 0;
        if (p.pairs.members && efficiency(p.pairs, crystal[0], crystal[1]) == 0) return NOT_MEASURED;
        // Twice the same crystal is twice the same place.
        const float apart = crystal[0] != crystal[1] ? 1 : 0;
        double ends[2][3];
        for (int end = 0; end < 2; end++) {
            const Face &face = p.faces[crystal[end]];
            const float4 c = __ldg(&face.centre), w = __ldg(&face.width), h = __ldg(&face.height);
            const float u = __fmul_rn((float)part(event, 2 * end), apart), v = __fmul_rn((float)part(event, 2 * end + 1), apart);
            const auto place = [u, v](float c, float w, float h) { return __fadd_rn(__fadd_rn(c, __fmul_rn(u, w)), __fmul_rn(v, h)); };
            ends[end][0] = place(c.x, w.x, h.x), ends[end][1] = place(c.y, w.y, h.y), ends[end][2] = place(c.z, w.z, h.z);
        }
        return count_event(p, ends[0], ends[1], dt, set);
    });
}
