/* A parallel-beam scan in a Data Exchange HDF5 file (De Carlo et al. 2014, J. Synchrotron Rad. 21, 1224):
 *   /exchange/data        (views, rows, bins)   raw counts: f32, u16 or u8; other numbers are converted to f32
 *   /exchange/data_white  (frames, rows, bins) or (rows, bins)
 *   /exchange/data_dark   the same; may be absent
 *   /exchange/theta       (views)               degrees */
#ifndef SCAN_H
#define SCAN_H

#include <isocenter.h>

/* Frames as they are in the file. */
typedef struct {
    void *data;
    isoc_dtype dtype;
    int64_t shape[3], strides[3];
} scan_frames;

typedef struct {
    scan_frames data, white, dark; /* dark.data is NULL where the file has none */
    int64_t views, rows, bins;
    double *angles; /* radians */
} scan;

/* What a volume file says about itself. */
typedef struct {
    double axis, bin_pitch, pixel_size;
    const char *source;
} scan_notes;

/* 0, or -1 with the reason said on stderr. scan_free takes what scan_read left, either way. */
int scan_read(scan *out, const char *path);
void scan_free(scan *in);

/* All frames. The tensor points into `frames`. */
isoc_tensor scan_tensor(const scan_frames *frames);

/* Writes (slices, ny, nx) to /exchange/data of a new file; 0, or -1 with the reason said on stderr. */
int scan_write_volume(const char *path, const float *volume, const int64_t shape[3], const scan_notes *notes);

#endif
