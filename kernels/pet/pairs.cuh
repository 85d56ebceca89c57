// Which pairs of crystals are measured: mirrors crates/pet/src/gpu/pairs.rs; crates/pet/src/scanner/pairs.rs says what it holds.
#pragma once

struct Pairs {
    // Module and element of each crystal; NULL: all pairs are measured.
    const uint2 *members;
    // [module][other module], 0 or a group from 1 on; [group][element][other element].
    const unsigned *groups;
    const float *values;
    int modules, side;
};
static_assert(sizeof(Pairs) == 32);

// Of a pair; 0: it is not measured.
__device__ inline float efficiency(const Pairs &p, unsigned a, unsigned b) {
    uint2 first = __ldg(p.members + a), second = __ldg(p.members + b);
    if (first.x < second.x || (first.x == second.x && first.y < second.y)) {
        const uint2 other = first;
        first = second, second = other;
    }
    const unsigned group = __ldg(p.groups + (size_t)first.x * p.modules + second.x);
    return group ? __ldg(p.values + ((size_t)(group - 1) * p.side + first.y) * p.side + second.y) : 0.f;
}
