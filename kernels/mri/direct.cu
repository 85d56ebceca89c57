// sum over sources n of v_n exp(2 pi i (a.b)), a = (x, y, z, f) of the target, b = (kx, ky, kz, t) of the source or the other way
// round: voxels and samples at any places, with an optional field map f (Hz) and sample times t (s). The adjoint sum has voxels
// as targets and samples as sources; the forward sum the reverse, and the sources' sign turned.
//
// A thread holds a few targets in registers and goes through all sources, which come through shared memory.
//
// In f32 places are 32-bit integers, scaled so that the upper half of a product is in units of 2^-fraction cycles. Whole cycles
// overflow harmlessly, so that a phase of 100 cycles is as precise as one of a tenth. Integer products are slow, though: where a
// block's targets are close to each other, phases are split at their centre. The centre's share turns the sources' values, once
// for all targets; the rest is small enough for f32.
#include "../common/complex.cuh"

// Mirrors `PlaceArguments` in crates/mri/src/gpu/direct.rs.
struct DirectPlace {
    // [count][dims], and [count] or NULL for zeros.
    const double *points, *fourth;
    // What 1 becomes, by component.
    double scale[4];
    // Four components each: int in f32, double in f64.
    void *places;
    long long count;
    int dims;
};
static_assert(sizeof(DirectPlace) == 72);

// Mirrors `SumArguments` in crates/mri/src/gpu/direct.rs.
struct DirectSum {
    const void *targets, *sources;
    // Which target comes where, or NULL.
    const unsigned *order;
    // Complex [coils][source_count], and real [source_count] or NULL for ones.
    const void *values, *weights;
    // Complex [splits][coils][target_count].
    void *sums;
    long long target_count, source_count;
    int coils, splits;
    // Bits of the phase after the point, at most 23 (f32).
    int fraction;
    // Greatest share of a phase of 1 in a target's component, in cycles (f32).
    float reach[4];
};
static_assert(sizeof(DirectSum) == 96);

// Mirrors `FinishArguments` in crates/mri/src/gpu/direct.rs.
struct DirectFinish {
    const void *partials;
    void *sums;
    long long count;
    int splits;
};
static_assert(sizeof(DirectFinish) == 32);

namespace {

constexpr int THREADS = 128;
// Sources in shared memory; their sum is added to the total, which keeps rounding errors from growing with the number of sources.
constexpr int SOURCES = 256;
// Of so many targets of a thread, one is left to the arithmetic units where the others use the hardware's sine and cosine.
constexpr int SHARE = 8;
// Cycles between the centre of a block's targets and their bounding box's corners, up to which phases are split: errors of phases
// then stay below 2e-6 rad (root mean square).
constexpr float NEAR = 24;

template <typename T> struct Types;
template <> struct Types<float> {
    typedef int4 Place;
};
template <> struct Types<double> {
    struct alignas(16) Place {
        double x, y, z, w;
    };
};
template <typename T> using Place = typename Types<T>::Place;

// a b / 2^32 + c
__device__ inline int multiply_high_add(int a, int b, int c) {
    int d;
    asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

// Least-maximum polynomials of sin(2 pi r) and cos(2 pi r) for |r| <= 1/2: error 1e-9 and 1e-8, about 2e-7 with rounding.
__device__ inline Complex<float> polynomial_cycle(float r) {
    float z = r * r;
    float s = 3.1996936798095703f, c = 6.5296101570129395f;
    s = fmaf(s, z, -14.868611335754395f), c = fmaf(c, z, -25.968313217163086f);
    s = fmaf(s, z, 42.01616668701172f), c = fmaf(c, z, 60.16783142089844f);
    s = fmaf(s, z, -76.70155334472656f), c = fmaf(c, z, -85.45016479492188f);
    s = fmaf(s, z, 81.60502624511719f), c = fmaf(c, z, 64.93911743164062f);
    s = fmaf(s, z, -41.341697692871094f), c = fmaf(c, z, -19.73920440673828f);
    s = fmaf(s, z, 6.2831854820251465f), c = fmaf(c, z, 1.f);
    return {c, s * r};
}

// From the integers' products to exp(2 pi i phase).
template <typename T, bool FIELD> struct Cycle;

template <bool FIELD> struct Cycle<float, FIELD> {
    unsigned mask, exponent, start;
    float centre, angle;

    __device__ Cycle(int fraction) {
        // Half a cycle more, taken off again below; and what cutting off takes from the products on average.
        start = (1u << (fraction - 1)) + 2;
        mask = (1u << fraction) - 1;
        // A float 2^(23 - fraction) + phase, from its bits.
        exponent = (127 + 23 - fraction) << 23;
        centre = __uint_as_float(exponent) + 0.5f;
        angle = centre * -6.2831853071795865f;
    }

    template <bool HARDWARE> __device__ Complex<float> get(const int4 &a, const int4 &b) const {
        int phase = multiply_high_add(a.x, b.x, start);
        phase = multiply_high_add(a.y, b.y, phase);
        phase = multiply_high_add(a.z, b.z, phase);
        if (FIELD) phase = multiply_high_add(a.w, b.w, phase);
        float f = __uint_as_float((phase & mask) | exponent);
        if (!HARDWARE) return polynomial_cycle(f - centre);
        float radians = fmaf(f, 6.2831853071795865f, angle);
        return {__cosf(radians), __sinf(radians)};
    }

    // The same for places made by `from_centre`; their product is in radians.
    template <bool HARDWARE> static __device__ Complex<float> get_near(const int4 &a, const int4 &b) {
        float radians = __int_as_float(a.z) * __int_as_float(b.z);
        radians = fmaf(__int_as_float(a.y), __int_as_float(b.y), radians);
        radians = fmaf(__int_as_float(a.x), __int_as_float(b.x), radians);
        if (FIELD) radians = fmaf(__int_as_float(a.w), __int_as_float(b.w), radians);
        if (HARDWARE) return {__cosf(radians), __sinf(radians)};
        const float cycles = 0.15915494309189535f, whole = 12582912;
        float turns = fmaf(radians, cycles, whole) - whole;
        return polynomial_cycle(fmaf(radians, cycles, -turns));
    }
};

// Over the block: a bounding box's centre, and whether it is small enough; every thread takes part.
template <int TARGETS> __device__ inline bool find_centre(const DirectSum &p, const int4 (&targets)[TARGETS], int4 &centre) {
    __shared__ int low[4][THREADS / 32], high[4][THREADS / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    auto component = [](const int4 &v, int c) { return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w; };
#pragma unroll
    for (int c = 0; c < 4; c++) {
        int least = component(targets[0], c), most = least;
#pragma unroll
        for (int t = 1; t < TARGETS; t++) {
            least = min(least, component(targets[t], c));
            most = max(most, component(targets[t], c));
        }
        least = __reduce_min_sync(~0u, least);
        most = __reduce_max_sync(~0u, most);
        if (lane == 0) low[c][warp] = least, high[c][warp] = most;
    }
    __syncthreads();
    float reach = 0;
    int middle[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        int least = low[c][0], most = high[c][0];
#pragma unroll
        for (int w = 1; w < THREADS / 32; w++) least = min(least, low[c][w]), most = max(most, high[c][w]);
        unsigned extent = (unsigned)most - (unsigned)least;
        middle[c] = (int)((unsigned)least + extent / 2);
        reach = fmaf(0.5f * extent, p.reach[c], reach);
    }
    centre = {middle[0], middle[1], middle[2], middle[3]};
    return reach <= NEAR;
}

// Floats in an integer place's stead: from a centre, times a scale.
__device__ inline int4 from_centre(const int4 &a, const int4 &centre, float scale) {
    return {__float_as_int((a.x - centre.x) * scale), __float_as_int((a.y - centre.y) * scale),
            __float_as_int((a.z - centre.z) * scale), __float_as_int((a.w - centre.w) * scale)};
}

template <bool FIELD> struct Cycle<double, FIELD> {
    __device__ Cycle(int) {}

    template <bool HARDWARE> __device__ Complex<double> get(const Place<double> &a, const Place<double> &b) const {
        double phase = fma(a.x, b.x, fma(a.y, b.y, a.z * b.z));
        if (FIELD) phase = fma(a.w, b.w, phase);
        Complex<double> c;
        sincospi(2 * (phase - rint(phase)), &c.y, &c.x);
        return c;
    }
};

// Adds values turned by `factor(target, its index, source)`.
template <typename P, typename C, int COILS, int TARGETS, typename F>
__device__ inline void add_turned(C (&sums)[COILS][TARGETS], const P (&targets)[TARGETS], const P *places,
                                  const C (&values)[COILS][SOURCES], F factor) {
#pragma unroll 2
    for (int n = 0; n < SOURCES; n++) {
        const P source = places[n];
#pragma unroll
        for (int t = 0; t < TARGETS; t++) {
            const C e = factor(targets[t], t, source);
#pragma unroll
            for (int c = 0; c < COILS; c++) {
                const C v = values[c][n];
                C &s = sums[c][t];
                s.x = fma(v.x, e.x, fma(-v.y, e.y, s.x));
                s.y = fma(v.x, e.y, fma(v.y, e.x, s.y));
            }
        }
    }
}

template <typename T, bool HARDWARE, bool FIELD, int COILS, int TARGETS> __device__ inline void sum(const DirectSum &p) {
    __shared__ Place<T> places[SOURCES];
    __shared__ Complex<T> values[COILS][SOURCES];
    constexpr bool INTEGERS = sizeof(T) == 4;
    const Place<T> *targets = (const Place<T> *)p.targets, *sources = (const Place<T> *)p.sources;
    const Complex<T> *from = (const Complex<T> *)p.values;
    const T *weights = (const T *)p.weights;
    const Cycle<T, FIELD> cycle(p.fraction);

    long long first = blockIdx.x * (long long)(THREADS * TARGETS) + threadIdx.x;
    auto index = [&](int t) {
        long long at = min(first + t * THREADS, p.target_count - 1);
        return p.order ? (long long)p.order[at] : at;
    };
    Place<T> target[TARGETS];
    Complex<T> totals[COILS][TARGETS] = {};
#pragma unroll
    for (int t = 0; t < TARGETS; t++) target[t] = targets[index(t)];

    Place<T> centre;
    bool near = false;
    // Of an integer product, in radians.
    const float unit = scalbnf(6.2831853071795865f, -32 - p.fraction);
    if constexpr (INTEGERS) {
        near = find_centre(p, target, centre);
        if (near) {
#pragma unroll
            for (int t = 0; t < TARGETS; t++) target[t] = from_centre(target[t], centre, 1);
        }
    }

    long long chunks = (p.source_count + SOURCES - 1) / SOURCES;
    long long begin = chunks * blockIdx.y / p.splits * SOURCES, end = chunks * (blockIdx.y + 1) / p.splits * SOURCES;
    for (long long chunk = begin; chunk < end; chunk += SOURCES) {
        __syncthreads();
        for (int n = threadIdx.x; n < SOURCES; n += THREADS) {
            bool inside = chunk + n < p.source_count;
            Place<T> source = sources[inside ? chunk + n : 0];
            T weight = inside ? 1 : 0;
            if (inside && weights) weight = weights[chunk + n];
            Complex<T> turn = {weight, 0};
            if constexpr (INTEGERS) {
                if (near) {
                    turn = cycle.template get<false>(centre, source);
                    turn.x *= weight, turn.y *= weight;
                    source = from_centre(source, {0, 0, 0, 0}, unit);
                }
            }
            places[n] = source;
#pragma unroll
            for (int c = 0; c < COILS; c++) {
                Complex<T> v = {0, 0};
                if (inside && c < p.coils) v = from[c * p.source_count + chunk + n];
                values[c][n] = {fma(v.x, turn.x, -v.y * turn.y), fma(v.x, turn.y, v.y * turn.x)};
            }
        }
        __syncthreads();
        Complex<T> sums[COILS][TARGETS] = {};
        if constexpr (INTEGERS) {
            if (near) {
                add_turned(sums, target, places, values, [&](const Place<T> &a, int t, const Place<T> &b) {
                    bool hardware = HARDWARE && t % SHARE != SHARE - 1;
                    return hardware ? cycle.template get_near<true>(a, b) : cycle.template get_near<false>(a, b);
                });
            }
        }
        if (!near) {
            add_turned(sums, target, places, values, [&](const Place<T> &a, int t, const Place<T> &b) {
                bool hardware = HARDWARE && t % SHARE != SHARE - 1;
                return hardware ? cycle.template get<HARDWARE>(a, b) : cycle.template get<false>(a, b);
            });
        }
#pragma unroll
        for (int c = 0; c < COILS; c++)
#pragma unroll
            for (int t = 0; t < TARGETS; t++) totals[c][t].x += sums[c][t].x, totals[c][t].y += sums[c][t].y;
    }

    Complex<T> *out = (Complex<T> *)p.sums + blockIdx.y * (p.coils * p.target_count);
#pragma unroll
    for (int t = 0; t < TARGETS; t++) {
        if (first + t * THREADS >= p.target_count) break;
        long long at = index(t);
#pragma unroll
        for (int c = 0; c < COILS; c++)
            if (c < p.coils) out[c * p.target_count + at] = totals[c][t];
    }
}

__device__ inline int fixed(double value) { return (int)fmin(fmax(rint(value), -2147483647.0), 2147483647.0); }

template <typename T> __device__ inline void place(const DirectPlace &p) {
    long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (n >= p.count) return;
    double v[4] = {0, 0, 0, p.fourth ? p.fourth[n] : 0};
    for (int c = 0; c < p.dims; c++) v[c] = p.points[n * p.dims + c];
    for (int c = 0; c < 4; c++) v[c] *= p.scale[c];
    if constexpr (sizeof(T) == 4) ((int4 *)p.places)[n] = {fixed(v[0]), fixed(v[1]), fixed(v[2]), fixed(v[3])};
    else ((Place<T> *)p.places)[n] = {v[0], v[1], v[2], v[3]};
}

template <typename T> __device__ inline void finish(const DirectFinish &p) {
    long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (n >= p.count) return;
    const Complex<T> *partials = (const Complex<T> *)p.partials + n;
    Complex<T> sum = partials[0];
    for (int s = 1; s < p.splits; s++) sum.x += partials[s * p.count].x, sum.y += partials[s * p.count].y;
    ((Complex<T> *)p.sums)[n] = sum;
}

}  // namespace

#define SUM(NAME, T, HARDWARE, FIELD, COILS, TARGETS)                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS) direct_##NAME##_##COILS(const __grid_constant__ DirectSum p) { \
        sum<T, HARDWARE, FIELD, COILS, TARGETS>(p);                                                               \
    }
#define KINDS(COILS, TARGETS)                                      \
    SUM(precise_f32, float, false, false, COILS, TARGETS)          \
    SUM(precise_field_f32, float, false, true, COILS, TARGETS)     \
    SUM(hardware_f32, float, true, false, COILS, TARGETS)          \
    SUM(hardware_field_f32, float, true, true, COILS, TARGETS)     \
    SUM(precise_field_f64, double, false, true, COILS, 2)
KINDS(1, 8)
KINDS(4, 4)

#define ENDS(NAME, T)                                                                                             \
    extern "C" __global__ void __launch_bounds__(256) direct_place_##NAME(const __grid_constant__ DirectPlace p) { \
        place<T>(p);                                                                                              \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(256) direct_finish_##NAME(const __grid_constant__ DirectFinish p) { \
        finish<T>(p);                                                                                             \
    }
ENDS(f32, float)
ENDS(f64, double)
