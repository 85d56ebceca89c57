/* The sinogram of one detector row in a TIFF file (u8, u16 or f32; a line a view), which says nothing of beam and angles. What is behind
 * the object's sides is taken for the beam; views are evenly spaced, over a full turn if the last one is as the first, else over half a
 * turn without its end. */
#ifndef SINOGRAM_H
#define SINOGRAM_H

#include "scan.h"

/* Whether the name is one of a TIFF file. */
int sinogram_is(const char *path);
/* 0, or -1 with the reason said on stderr. scan_free takes what it left, either way. */
int sinogram_read(scan *out, const char *path);

#endif
