/* A disk from 180 sides; its slice, as a picture. C99 or C++20: cc recon_20_lines.c $(pkg-config --cflags --libs isocenter) */
#include <isocenter.h>
#include <stdio.h>

#define VIEWS 180
#define BINS 256
static double angles[VIEWS];
static float projections[VIEWS * BINS], volume[BINS * BINS];

int main(void) {
    for (int i = 0; i < VIEWS; i++) angles[i] = 3.14159265358979 * i / VIEWS;
    int64_t p_shape[] = { VIEWS, 1, BINS }, v_shape[] = { 1, BINS, BINS };
    isoc_tensor p = { projections, ISOC_HOST, 3, ISOC_F32, p_shape, NULL, 0 };
    isoc_tensor v = { volume, ISOC_HOST, 3, ISOC_F32, v_shape, NULL, 0 };
    isoc_ct_geometry geometry = { .struct_size = sizeof geometry, .views = VIEWS, .bins = BINS, .angles = angles };
    isoc_ct_ellipse disk = { 1.0, 20.0, -10.0, 80.0, 80.0, 0.0 }; /* attenuation, centre, semi-axes, rotation */
    isoc_context *ctx = NULL;
    isoc_ct *ct = NULL;
    int failed = isoc_context_create(NULL, &ctx) || isoc_ct_create(ctx, &ct) || isoc_ct_set_geometry(ct, &geometry)
        || isoc_ct_phantom_projections(ct, &disk, 1, &p) /* a scanner's line integrals go here */
        || isoc_ct_reconstruct(ct, &p, &v);
    if (failed) fprintf(stderr, "%s\n", isoc_last_error());
    else printf("attenuation in the disk: %.3f\n", volume[138 * BINS + 148]);
    FILE *picture = failed ? NULL : fopen("disk.pgm", "wb");
    if (picture) {
        fprintf(picture, "P5 %d %d 255\n", BINS, BINS);
        for (int i = 0; i < BINS * BINS; i++) fputc((int)(255 * (volume[i] < 0 ? 0 : volume[i] > 1 ? 1 : volume[i])), picture);
        fclose(picture);
    }
    isoc_ct_destroy(ct);
    isoc_context_destroy(ctx);
    return failed;
}
