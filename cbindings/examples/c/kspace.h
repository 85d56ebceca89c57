/* A measured scan as NumPy arrays in a folder:
 *   kspace.npy                       (coils, samples), or (coils, spokes, samples of a spoke); complex
 *   trajectory_cycles_per_fov.npy    (samples, axes), or (spokes, samples of a spoke, axes); x first; real
 *   or trajectory_cycles_per_pixel.npy
 *   sensitivities.npy                (coils, z, y, x) or (coils, y, x), complex; may be absent */
#ifndef KSPACE_H
#define KSPACE_H

#include "npy.h"

typedef struct {
    npy data, trajectory, maps; /* (coils, samples), (samples, axes), (coils, ...) or no data */
    uint32_t unit;              /* an isoc_mri_unit */
    int64_t coils, samples, axes;
    int64_t readout; /* samples of a spoke; 0 where the arrays do not tell */
} kspace;

/* 0, or -1 with the reason said on stderr. kspace_free takes what kspace_read left, either way. */
int kspace_read(kspace *out, const char *folder);
void kspace_free(kspace *in);

#endif
