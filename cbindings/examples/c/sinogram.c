#include "sinogram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tiffio.h>

static const double PI = 3.14159265358979323846;

static int complain(const char *path, const char *what) {
    fprintf(stderr, "error: %s: %s\n", path, what);
    return -1;
}

int sinogram_is(const char *path) {
    const char *end = strrchr(path, '.');
    return end && (strcasecmp(end, ".tif") == 0 || strcasecmp(end, ".tiff") == 0);
}

static double value(const scan_frames *f, int64_t view, int64_t bin) {
    const int64_t k = view * f->strides[0] + bin;
    if (f->dtype.bits == 8) return ((const uint8_t *)f->data)[k];
    if (f->dtype.bits == 16) return ((const uint16_t *)f->data)[k];
    return (double)((const float *)f->data)[k];
}

/* Mean distance of a view from another one, bin by bin. */
static double distance(const scan *s, int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t k = 0; k < s->bins; k++) sum += fabs(value(&s->data, a, k) - value(&s->data, b, k));
    return sum / (double)s->bins;
}

static int read_lines(TIFF *tiff, const char *path, scan *s) {
    uint32_t width = 0, height = 0;
    uint16_t bits = 0, samples = 1, format = SAMPLEFORMAT_UINT;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetField(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    if (samples == 1 && format == SAMPLEFORMAT_UINT && bits == 8) {
        s->data.dtype = (isoc_dtype)ISOC_U8;
    } else if (samples == 1 && format == SAMPLEFORMAT_UINT && bits == 16) {
        s->data.dtype = (isoc_dtype)ISOC_U16;
    } else if (samples == 1 && format == SAMPLEFORMAT_IEEEFP && bits == 32) {
        s->data.dtype = (isoc_dtype)ISOC_F32;
    } else {
        return complain(path, "no image of one channel of 8 or 16 bits, or of floats");
    }
    if (width < 8 || height < 8) return complain(path, "a sinogram has 8 views and bins, and more");
    if (TIFFIsTiled(tiff)) return complain(path, "tiles; a sinogram is stored by lines");
    const int64_t shape[] = { height, 1, width }, strides[] = { width, width, 1 };
    memcpy(s->data.shape, shape, sizeof shape);
    memcpy(s->data.strides, strides, sizeof strides);
    s->views = height, s->rows = 1, s->bins = width;
    const size_t line = (size_t)TIFFScanlineSize(tiff);
    if (line != (size_t)width * bits / 8) return complain(path, "lines of an unexpected length");
    if (!(s->data.data = malloc(line * height))) return complain(path, "no memory for it");
    for (uint32_t view = 0; view < height; view++)
        if (TIFFReadScanline(tiff, (char *)s->data.data + view * line, view, 0) < 0) return complain(path, "cannot be read");
    return 0;
}

/* The beam: a flat of one frame that is the mean of a 25th of the bins on either side, over all views. */
static int find_beam(scan *s, const char *path) {
    const int64_t ends = (s->bins + 24) / 25;
    double sum = 0;
    for (int64_t view = 0; view < s->views; view++)
        for (int64_t k = 0; k < ends; k++) sum += value(&s->data, view, k) + value(&s->data, view, s->bins - 1 - k);
    const double beam = sum / (2.0 * (double)(ends * s->views));
    float *flat = malloc((size_t)s->bins * sizeof *flat);
    if (!flat) return complain(path, "no memory for its beam");
    for (int64_t k = 0; k < s->bins; k++) flat[k] = (float)beam;
    s->white = (scan_frames){ flat, ISOC_F32, { 1, 1, s->bins }, { s->bins, s->bins, 1 } };
    printf("beam           %.0f, the mean of %lld bins at either side\n", beam, (long long)ends);
    return 0;
}

int sinogram_read(scan *s, const char *path) {
    memset(s, 0, sizeof *s);
    TIFFSetWarningHandler(NULL); /* tags that are not known */
    TIFF *tiff = TIFFOpen(path, "r");
    if (!tiff) return complain(path, "missing, or not a TIFF file");
    const int failed = read_lines(tiff, path, s);
    TIFFClose(tiff);
    if (failed) return -1;
    /* Neighbours differ by noise and a step; opposite views, the other way round, by far more. */
    const int full = distance(s, 0, s->views - 1) < 1.5 * distance(s, 0, 1);
    if (full) s->views--, s->data.shape[0]--; /* the last is the first once more */
    if (!(s->angles = malloc((size_t)s->views * sizeof *s->angles))) return complain(path, "no memory for its angles");
    for (int64_t k = 0; k < s->views; k++) s->angles[k] = (full ? 2 : 1) * PI * (double)k / (double)s->views;
    printf("angles         taken for %s turn, evenly spaced: the last view is %s the first\n", full ? "a full" : "half a",
           full ? "as" : "not as");
    return find_beam(s, path);
}
