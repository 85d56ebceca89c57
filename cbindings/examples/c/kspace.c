#define _POSIX_C_SOURCE 200809L
#include "kspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FOLDER/NAME. To be freed. */
static char *path_in(const char *folder, const char *name) {
    size_t length = strlen(folder) + 1 + strlen(name) + 1;
    char *path = malloc(length);
    if (path) snprintf(path, length, "%s/%s", folder, name);
    else fputs("error: no memory for a path\n", stderr);
    return path;
}

/* Reads one array; without an error if it is `optional` and not there. */
static int read_array(npy *out, const char *folder, const char *name, int optional) {
    char *path = path_in(folder, name);
    int failed = !path || ((!optional || access(path, F_OK) == 0) && npy_read(out, path) != 0);
    free(path);
    return failed ? -1 : 0;
}

/* Makes one dimension of `first` and the next. */
static int merge(npy *array, int32_t first, const char *name) {
    if (array->strides[first] != array->strides[first + 1] * array->shape[first + 1]) {
        fprintf(stderr, "error: %s: an array of three dimensions must be in C order\n", name);
        return -1;
    }
    array->shape[first] *= array->shape[first + 1];
    array->strides[first] = array->strides[first + 1];
    for (int32_t d = first + 1; d + 1 < array->ndim; d++) {
        array->shape[d] = array->shape[d + 1];
        array->strides[d] = array->strides[d + 1];
    }
    array->ndim--;
    return 0;
}

static int check(const kspace *scan, const char *folder) {
    const npy *data = &scan->data, *trajectory = &scan->trajectory, *maps = &scan->maps;
    if (data->ndim != 2 || trajectory->ndim != 2) {
        fprintf(stderr, "error: %s: kspace has %d dimensions and the trajectory %d; both must have 2 (or 3: spokes)\n",
                folder, (int)data->ndim, (int)trajectory->ndim);
        return -1;
    }
    if (data->shape[1] != trajectory->shape[0]) {
        fprintf(stderr, "error: %s: kspace has %lld samples a coil, the trajectory %lld\n", folder,
                (long long)data->shape[1], (long long)trajectory->shape[0]);
        return -1;
    }
    if (trajectory->shape[1] != 2 && trajectory->shape[1] != 3) {
        fprintf(stderr, "error: %s: the trajectory has %lld axes; it must have 2 or 3\n", folder,
                (long long)trajectory->shape[1]);
        return -1;
    }
    if (maps->data && (maps->ndim != trajectory->shape[1] + 1 || maps->shape[0] != data->shape[0])) {
        fprintf(stderr, "error: %s: sensitivities must be (coils, ...), an image of the trajectory's axes for each of %lld "
                        "coils\n", folder, (long long)data->shape[0]);
        return -1;
    }
    return 0;
}

int kspace_read(kspace *out, const char *folder) {
    *out = (kspace){ 0 };
    npy *trajectory = &out->trajectory;
    if (read_array(&out->data, folder, "kspace.npy", 0) != 0) return -1;
    if (read_array(trajectory, folder, "trajectory_cycles_per_fov.npy", 1) != 0) return -1;
    out->unit = ISOC_MRI_UNIT_CYCLES_PER_FIELD_OF_VIEW;
    if (!trajectory->data) {
        out->unit = ISOC_MRI_UNIT_CYCLES_PER_VOXEL;
        if (read_array(trajectory, folder, "trajectory_cycles_per_pixel.npy", 0) != 0) return -1;
    }
    if (read_array(&out->maps, folder, "sensitivities.npy", 1) != 0) return -1;
    if (out->data.ndim == 3 && trajectory->ndim == 3) {
        out->readout = out->data.shape[2];
        if (merge(&out->data, 1, "kspace") != 0 || merge(trajectory, 0, "trajectory") != 0) return -1;
    }
    if (check(out, folder) != 0) return -1;
    out->coils = out->data.shape[0];
    out->samples = out->data.shape[1];
    out->axes = trajectory->shape[1];
    return 0;
}

void kspace_free(kspace *in) {
    npy_free(&in->data);
    npy_free(&in->trajectory);
    npy_free(&in->maps);
}
