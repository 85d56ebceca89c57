// Transforms of lines longer than a block takes, in two steps through scratch memory, each of lines that a block does take.
//
// A line has n = n1 n2 elements. For each k1 < n1 the first step transforms positions k1 + n1 k2 over k2 and multiplies frequency q2 by
// exp(-2 pi i k1 q2 / n). For each q2 the second step transforms the outcome over k1: its frequency q1 is the line's q2 + n2 q1. So in
// either step, what the caller loads or stores are elements `other + others * k` of a line, k and `others` being those of the step. If
// k1, q2 are at place k1 + n1 q2 of the scratch memory, it may be what the first step reads: these are the positions that it has read.
// If they are at place q2 + n2 k1, it may be what the second step writes.
//
// A step's lines are numbered with neighbours in memory first, then `other`, so that blocks are full where there are few neighbours.
#pragma once
#include "fft_lines.cuh"

// Mirrors `DeviceStep` in crates/base/src/gpu/fft/long.rs.
struct FftStep {
    // exp(-2 pi i k / length), k < length
    const void *roots;
    // Of the whole line, and how many of the step's lines make one.
    int length, others;
};
static_assert(sizeof(FftStep) == 16);

// Which lines a block has.
struct FftStepLines {
    const FftLine &line;
    const FftStep &step;
    // Neighbours that have lines.
    int inner;
    // Of the block's first line.
    int first_other, first_neighbour;

    __device__ inline FftStepLines(const FftLine &line, const FftStep &step, int inner, int first)
        : line(line), step(step), inner(inner), first_other(first / inner), first_neighbour(first % inner) {}

    // The neighbour is `inner` for a line that is not there.
    __device__ inline void find(int line, int &other, int &neighbour) const {
        const unsigned at = first_neighbour + line, more = at / (unsigned)inner;
        other = first_other + more;
        neighbour = other < step.others ? at - more * inner : inner;
    }
};

// Scratch memory, as a step sees it.
template <class T> struct FftScratch {
    // Of the first neighbour's line.
    Complex<T> *first;
    // Elements between one `other` and the next, and between one k and the next.
    long long other_stride, stride;
};

// The caller's load or store: `run` as that of a line that is not long, of neighbour `line` (`inner` for none).
template <class Caller> struct FftSpaced {
    const FftStepLines &lines;
    const Caller &caller;

    template <int R, class T> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        int other, neighbour;
        lines.find(line, other, neighbour);
        caller.template run<R>(v, neighbour, other + position * lines.step.others, stride * lines.step.others);
    }
};

template <class T> struct FftStoreTurned {
    const FftStepLines &lines;
    const FftScratch<T> &scratch;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        int other, neighbour;
        lines.find(line, other, neighbour);
        if (neighbour >= lines.inner) return;
        const int turn = other * stride;
        const Complex<T> *roots = static_cast<const Complex<T> *>(lines.step.roots) + other * position;
        Complex<T> *to = scratch.first + neighbour + other * scratch.other_stride + position * scratch.stride;
        const long long apart = stride * scratch.stride;
#pragma unroll
        for (int r = 0; r < R; r++) to[r * apart] = v[r] * load_constant(roots + r * turn);
    }
};

template <class T> struct FftLoadPlaces {
    const FftStepLines &lines;
    const FftScratch<T> &scratch;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        int other, neighbour;
        lines.find(line, other, neighbour);
        const bool there = neighbour < lines.inner;
        const Complex<T> *from = scratch.first + neighbour + other * scratch.other_stride + position * scratch.stride;
        const long long apart = stride * scratch.stride;
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = there ? from[r * apart] : Complex<T>{0, 0};
    }
};

// The first step of a block's `width` lines, a power of 2.
template <class T, class Load>
__device__ inline void fft_first_step(
    const FftStepLines &lines, int width, int log_width, const Load &load, const FftScratch<T> &scratch) {
    fft_transform<T>(lines.line, FftLines<false>{width, log_width, lines.line.length}, FftSpaced<Load>{lines, load},
        FftStoreTurned<T>{lines, scratch});
}

// The second one.
template <class T, class Store>
__device__ inline void fft_second_step(
    const FftStepLines &lines, int width, int log_width, const FftScratch<T> &scratch, const Store &store) {
    fft_transform<T>(lines.line, FftLines<false>{width, log_width, lines.line.length}, FftLoadPlaces<T>{lines, scratch},
        FftSpaced<Store>{lines, store});
}
