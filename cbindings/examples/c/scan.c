#include "scan.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static int complain(const char *path, const char *what, const char *name) {
    fprintf(stderr, "error: %s: %s %s\n", path, what, name);
    return -1;
}

/* The type in memory: counts that the library reads as they are stay so, everything else becomes f32. */
static hid_t memory_type(hid_t set, isoc_dtype *dtype) {
    hid_t type = H5Dget_type(set);
    int is_unsigned = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
    size_t size = H5Tget_size(type);
    H5Tclose(type);
    if (is_unsigned && size == 1) {
        *dtype = (isoc_dtype)ISOC_U8;
        return H5T_NATIVE_UINT8;
    }
    if (is_unsigned && size == 2) {
        *dtype = (isoc_dtype)ISOC_U16;
        return H5T_NATIVE_UINT16;
    }
    *dtype = (isoc_dtype)ISOC_F32;
    return H5T_NATIVE_FLOAT;
}

/* Reads a whole set of one to three dimensions; sizes are aligned to the end of `shape`, with ones before them. */
static int read_set(hid_t file, const char *path, const char *name, int least_ndim, int most_ndim, int as_double,
                    void **data, isoc_dtype *dtype, int64_t shape[3]) {
    int result = -1;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = -1;
    if (set < 0) return complain(path, "no data set", name);
    if ((space = H5Dget_space(set)) < 0) goto end;
    hsize_t dims[3] = { 1, 1, 1 };
    int ndim = H5Sget_simple_extent_ndims(space);
    if (ndim < least_ndim || ndim > most_ndim || H5Sget_simple_extent_dims(space, dims + 3 - ndim, NULL) < 0) {
        complain(path, "wrong number of dimensions in", name);
        goto end;
    }
    hid_t type = as_double ? H5T_NATIVE_DOUBLE : memory_type(set, dtype);
    size_t bytes = H5Tget_size(type);
    for (int d = 0; d < 3; d++) {
        if (dims[d] == 0 || dims[d] > (hsize_t)INT64_MAX / bytes || dims[d] > SIZE_MAX / bytes) {
            complain(path, "empty or far too large:", name);
            goto end;
        }
        bytes *= (size_t)dims[d];
        shape[d] = (int64_t)dims[d];
    }
    if (!(*data = malloc(bytes))) {
        complain(path, "no memory for", name);
    } else if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *data) < 0) {
        complain(path, "cannot read", name);
    } else {
        result = 0;
    }
end:
    if (space >= 0) H5Sclose(space);
    H5Dclose(set);
    return result;
}

static int read_frames(hid_t file, const char *path, const char *name, int least_ndim, scan_frames *out) {
    if (read_set(file, path, name, least_ndim, 3, 0, &out->data, &out->dtype, out->shape) != 0) return -1;
    const int64_t strides[] = { out->shape[1] * out->shape[2], out->shape[2], 1 };
    memcpy(out->strides, strides, sizeof strides);
    return 0;
}

/* Flats or darks: as many rows and bins as the data. */
static int read_field(hid_t file, const char *path, const char *name, const scan *s, scan_frames *out) {
    if (read_frames(file, path, name, 2, out) != 0) return -1;
    if (out->shape[1] == s->rows && out->shape[2] == s->bins) return 0;
    return complain(path, "rows and bins differ from the data's in", name);
}

int scan_read(scan *s, const char *path) {
    int result = -1;
    memset(s, 0, sizeof *s);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* one line of our own in place of HDF5's stack */
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return complain(path, "missing, or not an", "HDF5 file");
    if (read_frames(file, path, "/exchange/data", 3, &s->data) != 0) goto end;
    s->views = s->data.shape[0];
    s->rows = s->data.shape[1];
    s->bins = s->data.shape[2];
    if (read_field(file, path, "/exchange/data_white", s, &s->white) != 0) goto end;
    if (H5Lexists(file, "/exchange/data_dark", H5P_DEFAULT) > 0) {
        if (read_field(file, path, "/exchange/data_dark", s, &s->dark) != 0) goto end;
    } else {
        printf("no /exchange/data_dark: the dark field is taken as zero\n");
    }
    int64_t shape[3];
    void *theta = NULL;
    int failed = read_set(file, path, "/exchange/theta", 1, 1, 1, &theta, NULL, shape);
    s->angles = theta;
    if (failed) goto end;
    if (shape[2] != s->views) {
        complain(path, "one angle a view is needed in", "/exchange/theta");
        goto end;
    }
    for (int64_t k = 0; k < s->views; k++) s->angles[k] *= PI / 180.0;
    result = 0;
end:
    H5Fclose(file);
    return result;
}

void scan_free(scan *s) {
    free(s->data.data);
    free(s->white.data);
    free(s->dark.data);
    free(s->angles);
}

isoc_tensor scan_tensor(const scan_frames *frames) {
    return (isoc_tensor){ frames->data, ISOC_HOST, 3, frames->dtype, frames->shape, frames->strides, 0 };
}

static int write_number(hid_t set, const char *name, double value) {
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(set, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    int failed = attribute < 0 || H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value) < 0;
    if (attribute >= 0) failed |= H5Aclose(attribute) < 0;
    H5Sclose(space);
    return failed;
}

static int write_text(hid_t set, const char *name, const char *text) {
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int failed = attribute < 0 || H5Awrite(attribute, type, text) < 0;
    if (attribute >= 0) failed |= H5Aclose(attribute) < 0;
    H5Tclose(type);
    H5Sclose(space);
    return failed;
}

int scan_write_volume(const char *path, const float *volume, const int64_t shape[3], const scan_notes *notes) {
    const hsize_t dims[] = { (hsize_t)shape[0], (hsize_t)shape[1], (hsize_t)shape[2] };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) return complain(path, "cannot be", "created");
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(3, dims, NULL);
    H5Pset_create_intermediate_group(links, 1);
    hid_t set = H5Dcreate2(file, "/exchange/data", H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    int failed = set < 0 || H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, volume) < 0;
    failed = failed || write_text(set, "description", "attenuation a length unit, by filtered back projection")
        || write_text(set, "software", isoc_version()) || write_text(set, "source", notes->source)
        || write_number(set, "rotation_axis", notes->axis) || write_number(set, "bin_pitch", notes->bin_pitch)
        || write_number(set, "pixel_size", notes->pixel_size);
    if (set >= 0) failed |= H5Dclose(set) < 0;
    H5Sclose(space);
    H5Pclose(links);
    failed |= H5Fclose(file) < 0; /* a full disk may show only here */
    return failed ? complain(path, "cannot be", "written") : 0;
}
