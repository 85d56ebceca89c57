/* Reconstructs a modified Shepp-Logan phantom from its exact line integrals and compares the result with the truth.
 * shepp_logan [PICTURE.png] */
#include "demo.h"
#include "picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The detector covers the slices' corners too. */
enum { N = 512, SLICES = 16, VIEWS = 804, BINS = 736, ELLIPSES = ISOC_CT_SHEPP_LOGAN_ELLIPSES };

static const double PI = 3.14159265358979323846;

/* Root of the mean square of the error, relative to the truth's. */
static double relative_error(const float *volume, const float *truth, int64_t count) {
    double error = 0, norm = 0;
    for (int64_t k = 0; k < count; k++) {
        double difference = (double)volume[k] - (double)truth[k];
        error += difference * difference;
        norm += (double)truth[k] * (double)truth[k];
    }
    return sqrt(error / norm);
}

/* Mean and standard deviation of a slice where the truth has `value` for at least two pixels all around: blur at an
 * edge is not a bias. */
static void uniform_region(const float *slice, const float *truth, double value, double *mean, double *deviation) {
    double sum = 0, squares = 0, count = 0;
    for (int64_t i = 2; i < N - 2; i++) {
        for (int64_t j = 2; j < N - 2; j++) {
            int inside = 1;
            for (int64_t y = i - 2; y <= i + 2; y++) {
                for (int64_t x = j - 2; x <= j + 2; x++) inside &= fabs((double)truth[y * N + x] - value) < 1e-5;
            }
            if (inside) {
                double off = (double)slice[i * N + j] - value;
                sum += off;
                squares += off * off;
                count++;
            }
        }
    }
    *mean = value + sum / count;
    *deviation = sqrt(fmax(0.0, squares / count - sum / count * (sum / count)));
}

static int draw(const char *path, const float *slice, const float *truth, const char *caption) {
    const double low = 0, high = 0.45, margin = 24, top = 84;
    const int64_t row = N / 2 + N / 20; /* through both ventricles and a small tumour */
    const double right = margin + N + margin;
    const picture_box left_box = { margin, top, N, N }, right_box = { right, top, N, N };
    const picture_plot plot = { { 76, top + N + 34, right + N - 76, 230 }, 0, N - 1, -0.1, 1.1 };
    picture *page = picture_new((int)right + N + (int)margin, (int)(plot.box.y + plot.box.height) + 56);
    if (!page) return -1;
    picture_text(page, margin, 34, 18, 0, PICTURE_BLACK, "Modified Shepp-Logan phantom, filtered back projection");
    picture_text(page, right + N, 34, 12, 1, PICTURE_GREY, caption);
    picture_text(page, margin, top - 12, 15, 0, PICTURE_BLUE, "Reconstruction");
    picture_text(page, right, top - 12, 15, 0, PICTURE_ORANGE, "Truth");
    picture_scale(page, (picture_box){ right + N - 180, top - 24, 140, 12 }, low, high);
    picture_image(page, left_box, slice, N, N, low, high);
    picture_image(page, right_box, truth, N, N, low, high);
    for (int side = 0; side < 2; side++) {
        double x = side ? right : margin, y = top + (double)row + 0.5;
        uint32_t colour = side ? PICTURE_ORANGE : PICTURE_BLUE;
        picture_line(page, x, y, x + 18, y, 2, colour);
        picture_line(page, x + N - 18, y, x + N, y, 2, colour);
    }
    picture_axes(page, &plot, "column of the marked row", "attenuation");
    picture_curve(page, &plot, 0, 1, truth + row * N, N, 3.5, PICTURE_ORANGE);
    picture_curve(page, &plot, 0, 1, slice + row * N, N, 1.2, PICTURE_BLUE);
    int failed = picture_save(page, path);
    picture_free(page);
    return failed;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "shepp_logan.png";
    const int64_t p_shape[] = { VIEWS, SLICES, BINS }, v_shape[] = { SLICES, N, N };
    isoc_status status = ISOC_STATUS_OK;
    int failed = 1;
    isoc_context *ctx = NULL;
    isoc_ct *ct = NULL;
    demo_bar bar = { "reconstruct", 0, 1 };
    double angles[VIEWS];
    for (int k = 0; k < VIEWS; k++) angles[k] = PI * k / VIEWS;

    float *projections = demo_array((int64_t)VIEWS * SLICES * BINS, sizeof(float));
    float *volume = demo_array((int64_t)SLICES * N * N, sizeof(float));
    float *truth = demo_array((int64_t)SLICES * N * N, sizeof(float));
    if (!projections || !volume || !truth) goto end;
    const isoc_tensor p = { projections, ISOC_HOST, 3, ISOC_F32, p_shape, NULL, 0 };
    const isoc_tensor v = { volume, ISOC_HOST, 3, ISOC_F32, v_shape, NULL, 0 };
    const isoc_tensor t = { truth, ISOC_HOST, 3, ISOC_F32, v_shape, NULL, 0 };
    isoc_ct_geometry geometry = {
        .struct_size = sizeof geometry, .views = VIEWS, .bins = BINS, .rows = SLICES, .angles = angles, .nx = N, .ny = N
    };
    isoc_ct_info info = { .struct_size = sizeof info };
    isoc_ct_ellipse ellipses[ELLIPSES];
    uint64_t bytes = 0;

    TRY(demo_context(&bar, ISOC_NAN_POLICY_ERROR, &ctx));
    TRY(isoc_ct_create(ctx, &ct));
    TRY(isoc_ct_set_geometry(ct, &geometry));
    TRY(isoc_ct_shepp_logan(ISOC_CT_SHEPP_LOGAN_KIND_MODIFIED, N / 2.0, ellipses, ELLIPSES, NULL));
    TRY(isoc_ct_phantom_projections(ct, ellipses, ELLIPSES, &p));
    TRY(isoc_ct_phantom_volume(ct, ellipses, ELLIPSES, &t));
    TRY(isoc_ct_memory(ct, &bytes));
    TRY(isoc_ct_get_info(ct, &info));

    double begin = demo_seconds();
    TRY(isoc_ct_reconstruct(ct, &p, &v));
    double seconds = demo_seconds() - begin;

    double rate = 1e-9 * SLICES * N * N * VIEWS / seconds;
    double error = relative_error(volume, truth, (int64_t)SLICES * N * N);
    /* The brain lies inside the skull's ellipse and its own. */
    double brain = ellipses[0].value + ellipses[1].value;
    const int64_t middle = (int64_t)(SLICES / 2) * N * N;
    double mean = 0, deviation = 0;
    uniform_region(volume + middle, truth + middle, brain, &mean, &deviation);
    char text[160], megabytes[32];
    printf("Isocenter      %s (ABI %" PRIu32 "): %s\n", isoc_version(), isoc_abi_version(), isoc_build_info());
    printf("scan           %d views, %.4f degrees apart, over %.0f degrees\n", VIEWS, info.angular_spacing * 180 / PI,
           info.angle_covered * 180 / PI);
    printf("volume         %d slices of %d x %d, %" PRId64 " at a time\n", SLICES, N, N, info.slab_slices);
    printf("memory         %s of working memory\n", demo_bytes(bytes, megabytes));
    printf("time           %.3f s, %.1f GU/s (1 GU is 1e9 pixels updated from a view)\n", seconds, rate);
    printf("uniform brain  %.5f +- %.5f, truth %.5f\n", mean, deviation, brain);
    printf("error          %.2f %% of the truth (root mean square, most of it on the skull's edges)\n", 100 * error);
    snprintf(text, sizeof text, "%d x %d x %d from %d views in %.2f s: %.0f GU/s", N, N, SLICES, VIEWS, seconds, rate);
    failed = draw(path, volume + middle, truth + middle, text);
    if (!failed) printf("picture        %s\n", path);
end:
    if (status != ISOC_STATUS_OK) demo_complain(status);
    isoc_ct_destroy(ct);
    isoc_context_destroy(ctx);
    free(truth);
    free(volume);
    free(projections);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
