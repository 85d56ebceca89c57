// Complex numbers of either precision.
#pragma once

template <class T> struct alignas(2 * sizeof(T)) Complex {
    T x, y;
};

template <class T> __device__ inline Complex<T> operator+(Complex<T> a, Complex<T> b) { return {a.x + b.x, a.y + b.y}; }
template <class T> __device__ inline Complex<T> operator-(Complex<T> a, Complex<T> b) { return {a.x - b.x, a.y - b.y}; }
template <class T> __device__ inline Complex<T> operator*(Complex<T> a, T b) { return {a.x * b, a.y * b}; }
template <class T> __device__ inline Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return {fma(a.x, b.x, -a.y * b.y), fma(a.x, b.y, a.y * b.x)};
}
template <class T> __device__ inline Complex<T> conj(Complex<T> a) { return {a.x, -a.y}; }

// Of memory that no thread writes meanwhile, in one access.
__device__ inline Complex<float> load_constant(const Complex<float> *from) {
    const float2 v = __ldg(reinterpret_cast<const float2 *>(from));
    return {v.x, v.y};
}
__device__ inline Complex<double> load_constant(const Complex<double> *from) {
    const double2 v = __ldg(reinterpret_cast<const double2 *>(from));
    return {v.x, v.y};
}
