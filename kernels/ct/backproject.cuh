// What every back projector is given, and what they share.
#pragma once

// Fractional bin that pixel (row i, column j) of a slice falls on in one view: origin + j * dx + i * dy.
struct ViewLine {
    double origin, dx, dy;
};
static_assert(sizeof(ViewLine) == 24);

// Mirrors `Arguments` in crates/ct/src/gpu/case.rs.
struct Backproject {
    // Rows [group][view][pitch][lanes] of f32 or f16; slice = group * lanes + lane. Bins from `bins` to `pitch` are zero.
    const void *data;
    const ViewLine *lines;
    // What each slice's sums are multiplied by, [groups * lanes].
    const float *scale;
    // Pixel (slice, row, column) is at slice * slice_stride + row * row_stride + column.
    float *volume;
    long long slice_stride, row_stride;
    int views, bins, pitch, slices, nx, ny;
};
static_assert(sizeof(Backproject) == 72);

// A view's line seen from pixel (x, y): the whole bin in `bin`, the rest in `fraction` (0 to 1), so that positions near that
// pixel are small numbers, exact in f32 however wide the detector is.
struct LocalLine {
    float fraction, dx, dy;
    int bin;
};

__device__ inline LocalLine local_line(const ViewLine &line, int x, int y) {
    double h = fma((double)x, line.dx, fma((double)y, line.dy, line.origin));
    // Far outside every detector; keeps the conversion defined.
    h = fmin(fmax(h, -1e9), 1e9);
    double whole = floor(h);
    return {(float)(h - whole), (float)line.dx, (float)line.dy, (int)whole};
}
