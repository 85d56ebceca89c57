//! Density weights and factors of samples, and images of coils: times their sensitivities, and combined to one.

use isocenter_base::cpu::parallel::*;
use isocenter_nufft::Scalar;
use isocenter_solve::cpu::GRAIN;
use rustfft::num_complex::Complex;

/// What shots see of images, `[image][shot]` = `phases[shot]` times images.
pub(super) fn by_shots<T: Scalar>(
    phases: &[Complex<T>],
    voxels: usize,
    images: &[Complex<T>],
    seen: &mut [Complex<T>],
) {
    for (seen, image) in seen.chunks_exact_mut(phases.len()).zip(images.chunks_exact(voxels)) {
        for (seen, phase) in seen.chunks_exact_mut(voxels).zip(phases.chunks_exact(voxels)) {
            multiply(phase, image, seen);
        }
    }
}

/// The other way round: images = the sum over shots of conj(`phases[shot]`) times what they see.
pub(super) fn of_shots<T: Scalar>(
    phases: &[Complex<T>],
    voxels: usize,
    seen: &[Complex<T>],
    images: &mut [Complex<T>],
) {
    images.par_iter_mut().with_min_len(GRAIN).for_each(|v| *v = Complex::default());
    for (seen, image) in seen.chunks_exact(phases.len()).zip(images.chunks_exact_mut(voxels)) {
        for (seen, phase) in seen.chunks_exact(voxels).zip(phases.chunks_exact(voxels)) {
            combine(phase, seen, image);
        }
    }
}

/// samples `[coil][sample]` = weights times samples.
pub(super) fn weigh<T: Scalar>(weights: &[T], samples: &mut [Complex<T>]) {
    for coil in samples.chunks_exact_mut(weights.len()) {
        coil.par_iter_mut().zip(weights).with_min_len(GRAIN).for_each(|(s, w)| *s = s.scale(*w));
    }
}

/// coil images = the sum over sets of `maps[set]` times `images[set]`, of as many images a set as there are.
pub(super) fn see<T: Scalar>(maps: &[Complex<T>], voxels: usize, images: &[Complex<T>], seen: &mut [Complex<T>]) {
    for (set, (map, images)) in maps.chunks_exact(voxels).zip(images.chunks_exact(seen.len())).enumerate() {
        if set == 0 {
            multiply(map, images, seen);
        } else {
            for (seen, image) in seen.chunks_exact_mut(voxels).zip(images.chunks_exact(voxels)) {
                add_products(map, image, seen, true);
            }
        }
    }
}

/// The other way round: `images[set]` = `images[set]` + conj(`maps[set]`) times coil images.
pub(super) fn unsee<T: Scalar>(maps: &[Complex<T>], voxels: usize, seen: &[Complex<T>], images: &mut [Complex<T>]) {
    for (map, images) in maps.chunks_exact(voxels).zip(images.chunks_exact_mut(seen.len())) {
        combine(map, seen, images);
    }
}

/// coil images = map times images, of as many images as there are.
pub(super) fn multiply<T: Scalar>(map: &[Complex<T>], images: &[Complex<T>], coil_images: &mut [Complex<T>]) {
    for (coil_image, image) in coil_images.chunks_exact_mut(map.len()).zip(images.chunks_exact(map.len())) {
        coil_image.par_iter_mut().zip(image).zip(map).with_min_len(GRAIN).for_each(|((c, i), s)| *c = *i * *s);
    }
}

/// images = images + conj(map) times coil images.
pub(super) fn combine<T: Scalar>(map: &[Complex<T>], coil_images: &[Complex<T>], images: &mut [Complex<T>]) {
    for (image, coil_image) in images.chunks_exact_mut(map.len()).zip(coil_images.chunks_exact(map.len())) {
        let voxels = image.par_iter_mut().zip(coil_image).zip(map).with_min_len(GRAIN);
        voxels.for_each(|((i, c), s)| *i = *i + s.conj() * *c);
    }
}

/// to = factors times values, added to what is there if `add`.
pub(super) fn add_products<T: Scalar>(factors: &[Complex<T>], values: &[Complex<T>], to: &mut [Complex<T>], add: bool) {
    let product = |(t, (b, v)): (&mut Complex<T>, (&Complex<T>, &Complex<T>))| {
        *t = if add { *t + *b * *v } else { *b * *v };
    };
    to.par_iter_mut().zip(factors.par_iter().zip(values)).with_min_len(GRAIN).for_each(product);
}

/// to = conj(factors) times values.
pub(super) fn conjugate_products<T: Scalar>(factors: &[Complex<T>], values: &[Complex<T>], to: &mut [Complex<T>]) {
    let product = |(t, (b, v)): (&mut Complex<T>, (&Complex<T>, &Complex<T>))| *t = b.conj() * *v;
    to.par_iter_mut().zip(factors.par_iter().zip(values)).with_min_len(GRAIN).for_each(product);
}
