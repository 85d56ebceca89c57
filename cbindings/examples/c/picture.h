/* Grey-scale images and line plots on one page, written as PNG. Drawn with cairo. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdint.h>

typedef struct picture picture;

/* A place on the page, in pixels from its upper left corner. */
typedef struct {
    double x, y, width, height;
} picture_box;

/* A line plot: its place, and the values at the ends of its axes. */
typedef struct {
    picture_box box;
    double x_low, x_high, y_low, y_high;
} picture_plot;

#define PICTURE_BLACK 0x000000u
#define PICTURE_GREY 0x666666u
#define PICTURE_BLUE 0x1f6fb4u
#define PICTURE_ORANGE 0xf28e2bu
#define PICTURE_GREEN 0x2ca02cu

/* A white page, or NULL. */
picture *picture_new(int width, int height);
void picture_free(picture *page);

/* Text on the line at y; `align` 0 starts at x, 0.5 is centred on it, 1 ends there. */
void picture_text(picture *page, double x, double y, double size, double align, uint32_t colour, const char *text);
void picture_line(picture *page, double x0, double y0, double x1, double y1, double width, uint32_t colour);

/* Shows an ny by nx image in the box; `low` is black and `high` is white. */
void picture_image(picture *page, picture_box box, const float *pixels, int64_t nx, int64_t ny, double low,
                   double high);

/* Shows slices of a volume of `shape` (z, y, x) side by side from the box's left, each as high as the box. */
void picture_slices(picture *page, picture_box box, const float *volume, const int64_t shape[3], const int64_t *slices,
                    int count, double low, double high);

/* A bar of greys along the box, with its end values below. */
void picture_scale(picture *page, picture_box box, double low, double high);

/* Frame, ticks and labels. */
void picture_axes(picture *page, const picture_plot *plot, const char *x_label, const char *y_label);

/* A curve through values[k] at x = first + k * step, cut at the frame. */
void picture_curve(picture *page, const picture_plot *plot, double first, double step, const float *values,
                   int64_t count, double width, uint32_t colour);

/* A curve through (x[k], y[k]), cut at the frame, with a dot at each. */
void picture_points(picture *page, const picture_plot *plot, const float *x, const float *y, int64_t count,
                    double width, uint32_t colour);

/* Writes the page; 0, or -1 with the reason said on stderr. */
int picture_save(picture *page, const char *path);

#endif
