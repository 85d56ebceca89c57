#include "picture.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct picture {
    cairo_surface_t *surface;
    cairo_t *cairo;
};

static void set_colour(picture *page, uint32_t colour) {
    const double red = colour >> 16 & 255, green = colour >> 8 & 255, blue = colour & 255;
    cairo_set_source_rgb(page->cairo, red / 255, green / 255, blue / 255);
}

picture *picture_new(int width, int height) {
    picture *page = calloc(1, sizeof *page);
    if (!page) return NULL;
    page->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    page->cairo = cairo_create(page->surface);
    cairo_select_font_face(page->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    set_colour(page, 0xffffff);
    cairo_paint(page->cairo);
    return page;
}

void picture_free(picture *page) {
    if (!page) return;
    cairo_destroy(page->cairo);
    cairo_surface_destroy(page->surface);
    cairo_debug_reset_static_data(); /* its font cache */
    free(page);
}

void picture_text(picture *page, double x, double y, double size, double align, uint32_t colour, const char *text) {
    cairo_text_extents_t extents;
    cairo_set_font_size(page->cairo, size);
    cairo_text_extents(page->cairo, text, &extents);
    set_colour(page, colour);
    cairo_move_to(page->cairo, x - align * extents.x_advance, y);
    cairo_show_text(page->cairo, text);
}

void picture_line(picture *page, double x0, double y0, double x1, double y1, double width, uint32_t colour) {
    set_colour(page, colour);
    cairo_set_line_width(page->cairo, width);
    cairo_move_to(page->cairo, x0, y0);
    cairo_line_to(page->cairo, x1, y1);
    cairo_stroke(page->cairo);
}

void picture_image(picture *page, picture_box box, const float *pixels, int64_t nx, int64_t ny, double low,
                   double high) {
    if (nx > INT16_MAX || ny > INT16_MAX) return; /* cairo's own limit */
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)nx, (int)ny);
    unsigned char *bytes = cairo_image_surface_get_data(image);
    int64_t stride = cairo_image_surface_get_stride(image);
    for (int64_t i = 0; bytes && i < ny; i++) {
        uint32_t *row = (uint32_t *)(void *)(bytes + i * stride);
        for (int64_t j = 0; j < nx; j++) {
            double level = ((double)pixels[i * nx + j] - low) / (high - low);
            row[j] = 0x010101u * (uint32_t)(255.0 * fmin(fmax(level, 0.0), 1.0) + 0.5);
        }
    }
    cairo_surface_mark_dirty(image);
    double scale = fmin(box.width / (double)nx, box.height / (double)ny);
    cairo_save(page->cairo);
    cairo_translate(page->cairo, box.x, box.y);
    cairo_scale(page->cairo, scale, scale);
    cairo_set_source_surface(page->cairo, image, 0, 0);
    /* One to one stays as it is: no resampling comes between the data and the eye. */
    cairo_pattern_set_filter(cairo_get_source(page->cairo), scale == 1.0 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_rectangle(page->cairo, 0, 0, (double)nx, (double)ny);
    cairo_fill(page->cairo);
    cairo_restore(page->cairo);
    cairo_surface_destroy(image);
}

void picture_slices(picture *page, picture_box box, const float *volume, const int64_t shape[3], const int64_t *slices,
                    int count, double low, double high) {
    const double gap = 4, width = box.height * (double)shape[2] / (double)shape[1];
    for (int k = 0; k < count; k++) {
        const picture_box place = { box.x + k * (width + gap), box.y, width, box.height };
        picture_image(page, place, volume + slices[k] * shape[1] * shape[2], shape[2], shape[1], low, high);
    }
}

void picture_scale(picture *page, picture_box box, double low, double high) {
    char text[32];
    cairo_pattern_t *greys = cairo_pattern_create_linear(box.x, 0, box.x + box.width, 0);
    cairo_pattern_add_color_stop_rgb(greys, 0, 0, 0, 0);
    cairo_pattern_add_color_stop_rgb(greys, 1, 1, 1, 1);
    cairo_set_source(page->cairo, greys);
    cairo_rectangle(page->cairo, box.x, box.y, box.width, box.height);
    cairo_fill_preserve(page->cairo);
    set_colour(page, PICTURE_GREY);
    cairo_set_line_width(page->cairo, 1);
    cairo_stroke(page->cairo);
    cairo_pattern_destroy(greys);
    snprintf(text, sizeof text, "%.3g", low);
    picture_text(page, box.x - 6, box.y + box.height - 1, 12, 1, PICTURE_GREY, text);
    snprintf(text, sizeof text, "%.3g", high);
    picture_text(page, box.x + box.width + 6, box.y + box.height - 1, 12, 0, PICTURE_GREY, text);
}

/* A round step (1, 2 or 5 times a power of ten) that puts at most `most` ticks on the range. */
static double tick_step(double low, double high, double most) {
    double rough = (high - low) / most, decade = pow(10, floor(log10(rough)));
    return rough <= decade ? decade : rough <= 2 * decade ? 2 * decade : rough <= 5 * decade ? 5 * decade : 10 * decade;
}

static double plot_x(const picture_plot *plot, double x) {
    return plot->box.x + plot->box.width * (x - plot->x_low) / (plot->x_high - plot->x_low);
}

static double plot_y(const picture_plot *plot, double y) {
    return plot->box.y + plot->box.height * (plot->y_high - y) / (plot->y_high - plot->y_low);
}

void picture_axes(picture *page, const picture_plot *plot, const char *x_label, const char *y_label) {
    const picture_box box = plot->box;
    const double bottom = box.y + box.height;
    char text[32];
    double step = tick_step(plot->x_low, plot->x_high, 12);
    for (double k = ceil(plot->x_low / step); k * step <= plot->x_high; k++) {
        double x = plot_x(plot, k * step);
        picture_line(page, x, box.y, x, bottom, 0.5, 0xdddddd);
        picture_line(page, x, bottom, x, bottom + 5, 1, PICTURE_BLACK);
        snprintf(text, sizeof text, "%g", k * step + 0.0); /* never "-0" */
        picture_text(page, x, bottom + 20, 12, 0.5, PICTURE_BLACK, text);
    }
    step = tick_step(plot->y_low, plot->y_high, 8);
    for (double k = ceil(plot->y_low / step); k * step <= plot->y_high; k++) {
        double y = plot_y(plot, k * step);
        picture_line(page, box.x, y, box.x + box.width, y, 0.5, 0xdddddd);
        picture_line(page, box.x - 5, y, box.x, y, 1, PICTURE_BLACK);
        snprintf(text, sizeof text, "%g", k * step + 0.0); /* never "-0" */
        picture_text(page, box.x - 9, y + 4, 12, 1, PICTURE_BLACK, text);
    }
    cairo_set_line_width(page->cairo, 1);
    set_colour(page, PICTURE_BLACK);
    cairo_rectangle(page->cairo, box.x, box.y, box.width, box.height);
    cairo_stroke(page->cairo);
    picture_text(page, box.x + box.width / 2, bottom + 40, 13, 0.5, PICTURE_BLACK, x_label);
    cairo_save(page->cairo);
    cairo_translate(page->cairo, box.x - 46, box.y + box.height / 2);
    cairo_rotate(page->cairo, -1.5707963267948966);
    picture_text(page, 0, 0, 13, 0.5, PICTURE_BLACK, y_label);
    cairo_restore(page->cairo);
}

void picture_curve(picture *page, const picture_plot *plot, double first, double step, const float *values,
                   int64_t count, double width, uint32_t colour) {
    cairo_save(page->cairo);
    cairo_rectangle(page->cairo, plot->box.x, plot->box.y, plot->box.width, plot->box.height);
    cairo_clip(page->cairo);
    for (int64_t k = 0; k < count; k++) {
        cairo_line_to(page->cairo, plot_x(plot, first + (double)k * step), plot_y(plot, (double)values[k]));
    }
    set_colour(page, colour);
    cairo_set_line_width(page->cairo, width);
    cairo_set_line_join(page->cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(page->cairo);
    cairo_restore(page->cairo);
}

void picture_points(picture *page, const picture_plot *plot, const float *x, const float *y, int64_t count,
                    double width, uint32_t colour) {
    cairo_save(page->cairo);
    cairo_rectangle(page->cairo, plot->box.x, plot->box.y, plot->box.width, plot->box.height);
    cairo_clip(page->cairo);
    set_colour(page, colour);
    cairo_set_line_width(page->cairo, width);
    cairo_set_line_join(page->cairo, CAIRO_LINE_JOIN_ROUND);
    for (int64_t k = 0; k < count; k++) {
        cairo_line_to(page->cairo, plot_x(plot, (double)x[k]), plot_y(plot, (double)y[k]));
    }
    cairo_stroke(page->cairo);
    for (int64_t k = 0; k < count; k++) {
        cairo_arc(page->cairo, plot_x(plot, (double)x[k]), plot_y(plot, (double)y[k]), 2 * width, 0, 6.2831853071795865);
        cairo_fill(page->cairo);
    }
    cairo_restore(page->cairo);
}

int picture_save(picture *page, const char *path) {
    cairo_status_t status = cairo_status(page->cairo);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png(page->surface, path);
    if (status == CAIRO_STATUS_SUCCESS) return 0;
    fprintf(stderr, "error: %s: %s\n", path, cairo_status_to_string(status));
    return -1;
}
