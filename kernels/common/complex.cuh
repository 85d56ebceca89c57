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
