// A plain launch: blocks of THREADS threads that share `count` elements out.
#pragma once

constexpr int THREADS = 256;

template <class F> __device__ inline void each(long long count, F f) {
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < count; i += gridDim.x * (long long)THREADS) f(i);
}
