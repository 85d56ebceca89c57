/* A region of interest holds the pixels of the full slice: isoc_ct_region for odd and even sizes, pixels of another size than bins, an
 * axis beside the middle, one axis for each view, and regions of regions. */
#include "check.h"

enum { REGION_VIEWS = 40, REGION_ROWS = 3, LARGEST = 96 };

static isoc_ct_geometry described(int64_t bins, int64_t nx, int64_t ny, double pixel_size, const double *angles,
                                  const double *axis, int64_t axis_count) {
    isoc_ct_geometry g;
    memset(&g, 0, sizeof g);
    g.struct_size = sizeof g, g.views = REGION_VIEWS, g.bins = bins, g.rows = REGION_ROWS;
    g.angles = angles, g.axis = axis, g.axis_count = axis_count;
    g.bin_pitch = 0.7, g.pixel_size = pixel_size, g.nx = nx, g.ny = ny, g.x_offset = 1.25, g.y_offset = -2.5;
    return g;
}

static float *reconstructed(isoc_ct *ct, const isoc_ct_geometry *g, const float *projections) {
    const int64_t from[] = { REGION_VIEWS, REGION_ROWS, g->bins };
    const int64_t to[] = { REGION_ROWS, g->ny ? g->ny : g->bins, g->nx ? g->nx : g->bins };
    float *volume = (float *)allocate((size_t)(to[0] * to[1] * to[2]) * sizeof *volume);
    isoc_tensor p = tensor(projections, 3, from, ISOC_DTYPE_FLOAT, 32), v = tensor(volume, 3, to, ISOC_DTYPE_FLOAT, 32);
    check_ok("set_geometry", isoc_ct_set_geometry(ct, g));
    check_ok("reconstruct", isoc_ct_reconstruct(ct, &p, &v));
    return volume;
}

/* Positions of pixels are f32 sums from the start of a run of pixels, which lies elsewhere in a region: at up to 96 bins they move by some
 * 1e-5 of a bin, values of random data by as much of their steps, and the sum over views by less than this part of the largest value. */
static const double rounding = 1e-5;

static void compare(const char *name, isoc_ct *ct, const isoc_ct_geometry *whole, const float *full, const float *projections,
                    int64_t c0, int64_t c1, int64_t r0, int64_t r1) {
    const int64_t nx = whole->nx ? whole->nx : whole->bins, ny = whole->ny ? whole->ny : whole->bins;
    isoc_ct_geometry part = *whole;
    check_ok("isoc_ct_region", isoc_ct_region(&part, c0, c1, r0, r1));
    isoc_ct_geometry rest = part;
    rest.nx = whole->nx, rest.ny = whole->ny, rest.x_offset = whole->x_offset, rest.y_offset = whole->y_offset;
    report(name, part.nx == c1 - c0 && part.ny == r1 - r0 && memcmp(&rest, whole, sizeof rest) == 0,
           "sizes are wrong, or another field was changed");
    /* In two steps: some columns and rows less at first. */
    isoc_ct_geometry twice = *whole;
    const int64_t a = c0 / 2, b = r0 / 3;
    check_ok("isoc_ct_region", isoc_ct_region(&twice, a, nx, b, ny));
    check_ok("isoc_ct_region", isoc_ct_region(&twice, c0 - a, c1 - a, r0 - b, r1 - b));
    report(name, memcmp(&twice, &part, sizeof part) == 0, "a region of a region is another one");

    float *got = reconstructed(ct, &part, projections);
    double most = 0, off = 0;
    for (int64_t z = 0; z < REGION_ROWS; z++)
        for (int64_t i = 0; i < ny; i++)
            for (int64_t j = 0; j < nx; j++) {
                double wanted = (double)full[(z * ny + i) * nx + j];
                most = fmax(most, fabs(wanted));
                if (i >= r0 && i < r1 && j >= c0 && j < c1)
                    off = fmax(off, fabs((double)got[(z * part.ny + i - r0) * part.nx + j - c0] - wanted));
            }
    char why[64];
    snprintf(why, sizeof why, "off by %.1e of the largest value", off / most);
    report(name, off <= rounding * most, why);
    free(got);
}

int main(void) {
    start();
    double angles[REGION_VIEWS], axes[REGION_VIEWS];
    static float projections[REGION_VIEWS * REGION_ROWS * LARGEST];
    uint32_t state = 1;
    for (int k = 0; k < REGION_VIEWS; k++)
        angles[k] = 0.017 + PI * k / REGION_VIEWS, axes[k] = 37.0 + 0.1 * k;
    for (size_t k = 0; k < COUNT_OF(projections); k++)
        state = state * 1664525u + 1013904223u, projections[k] = (float)(state >> 8) / 16777216.0f;
    isoc_context *ctx = NULL;
    isoc_ct *ct = NULL;
    isoc_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options, options.device = ISOC_CONTEXT_DEVICE_CPU, options.threads = 2;
    check_ok("isoc_context_create", isoc_context_create(&options, &ctx));
    check_ok("isoc_ct_create", isoc_ct_create(ctx, &ct));

    static const int64_t sizes[][3] = { { 64, 0, 0 }, { 75, 0, 0 }, { 75, 71, 60 }, { 64, 96, 95 } };
    static const double pixels[] = { 0.7, 0.55, 1.3 };
    for (size_t k = 0; k < COUNT_OF(sizes) * COUNT_OF(pixels); k++) {
        const int64_t *s = sizes[k % COUNT_OF(sizes)];
        const double pixel = pixels[k / COUNT_OF(sizes)], one = 34.3;
        const isoc_ct_geometry g = described(s[0], s[1], s[2], pixel, angles, k % 2 ? axes : &one, k % 2 ? REGION_VIEWS : 1);
        const int64_t nx = g.nx ? g.nx : g.bins, ny = g.ny ? g.ny : g.bins;
        float *full = reconstructed(ct, &g, projections);
        compare("region: all", ct, &g, full, projections, 0, nx, 0, ny);
        compare("region: the middle", ct, &g, full, projections, 13, nx - 11, 7, ny - 12);
        compare("region: one pixel", ct, &g, full, projections, 20, 21, 33, 34);
        compare("region: the first corner", ct, &g, full, projections, 0, 17, 0, 8);
        compare("region: the last corner", ct, &g, full, projections, nx - 9, nx, ny - 16, ny);
        free(full);
    }
    isoc_ct_destroy(ct);
    isoc_context_destroy(ctx);
    check_threads_end();
    return finish();
}
