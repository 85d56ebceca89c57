//! Fourier sums over samples on lines on the processor: several coils at a time, side by side in vectors, in f32 and two dimensions.

use crate::transform::Progress;
use isocenter_base::cpu::buffer::{Workspace, clear, collected};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Error, Result, Status};
use isocenter_nufft::Scalar;
use isocenter_nufft::Settings;
use isocenter_nufft::lines::{ENOUGH, LineSettings, Lines, MAX_IMAGES};
use isocenter_nufft::straight::StraightLines;
use rustfft::num_complex::Complex;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Sums between images and samples, both ways.
pub(super) struct LineSums {
    lines: Lines,
    /// Voxels of a row, and of an image.
    row: usize,
    voxels: usize,
    samples: usize,
    /// Coils side by side: a power of two.
    together: usize,
    /// The fine grid, and values of some lines.
    workspace: Workspace,
}

/// Coils that are worked on together, as they lie in values.
struct Group {
    first: usize,
    used: usize,
    /// A power of two; behind those that are used there is nothing.
    count: usize,
}

impl LineSums {
    /// For so many coils; None if the sums are not for this precision, these points or one coil.
    pub(super) fn new<T: Scalar>(settings: &Settings, points: [&[f64]; 3], coils: usize) -> Result<Option<Self>> {
        let Settings { shape, tolerance, upsampling, level, .. } = *settings;
        // Whoever asks for an upsampling has that of points anywhere.
        if size_of::<T>() != size_of::<f32>() || upsampling.is_some() || coils < 2 {
            return Ok(None);
        }
        let Some(StraightLines { course, steps }) = StraightLines::find(points, shape, tolerance)? else {
            return Ok(None);
        };
        let [_, ny, nx] = shape;
        let lines = Lines::new(LineSettings { shape: [ny, nx], tolerance, course, level }, &steps)?;
        let mut together = coils.next_power_of_two().min(MAX_IMAGES);
        while together > 1 && bytes(&lines, ny, together) > ENOUGH {
            together /= 2;
        }
        let (row, voxels, samples) = (nx, ny * nx, points[0].len());
        Ok(Some(Self { lines, row, voxels, samples, together, workspace: Workspace::default() }))
    }

    /// From now on with half as many coils side by side; false if there is one.
    pub(super) fn take_less(&mut self) -> bool {
        let more = self.together > 1;
        if more {
            self.together /= 2;
            self.workspace = Workspace::default();
        }
        more
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        bytes(&self.lines, self.voxels / self.row, self.together)
    }

    /// Along z, y, x, and the spreading function's width.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        let ([y, x], width) = self.lines.fine_grid();
        ([1, y, x], width)
    }

    /// samples `[coil][m]` = F images: one for each coil, or with maps `[coil][set][voxel]` one of each set that all see.
    pub(super) fn forward<T: Scalar>(
        &mut self,
        images: &[Complex<T>],
        maps: Option<&[Complex<T>]>,
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let coils = samples.len() / self.samples;
        let sets = self.sets(maps, coils);
        for group in self.groups(coils) {
            let done = |part: f64| (group.first as f64 + part * group.used as f64) / coils as f64;
            progress(done(0.0))?;
            let (lines, [cells, values], row) =
                (&self.lines, take(&mut self.workspace, &self.lines, group.count)?, self.row);
            let read = |y: usize, image: usize, [re, im]: [&mut [f32]; 2]| {
                let coil = group.first + image;
                let row_of = |k: usize| k * self.voxels + y * row..k * self.voxels + (y + 1) * row;
                let parts = re.iter_mut().zip(im);
                match maps {
                    None => {
                        let from = &images[row_of(coil)];
                        parts.zip(from).for_each(|((re, im), v)| (*re, *im) = (single(v.re), single(v.im)));
                    }
                    Some(maps) if sets == 1 => {
                        let from = images[row_of(0)].iter().zip(&maps[row_of(coil)]);
                        parts.zip(from).for_each(|((re, im), (v, map))| {
                            let v = *v * *map;
                            (*re, *im) = (single(v.re), single(v.im));
                        });
                    }
                    Some(maps) => {
                        let seen = |x: usize| {
                            let products =
                                (0..sets).map(|set| images[row_of(set)][x] * maps[row_of(coil * sets + set)][x]);
                            products.fold(Complex::<T>::default(), |sum, v| sum + v)
                        };
                        parts
                            .zip((0..row).map(seen))
                            .for_each(|((re, im), v)| (*re, *im) = (single(v.re), single(v.im)));
                    }
                }
                Ok(())
            };
            lines.cells(group.used, group.count, cells, read)?;
            progress(done(0.5))?;
            // Each line of each coil, for whoever comes to it.
            let parts =
                collected(samples[group.samples(self.samples)].chunks_exact_mut(lines.points()).map(Mutex::new))?;
            for chunk in lines.chunks() {
                lines.interpolate(chunk.clone(), group.count, cells, values)?;
                let of_line = lines.points() * 2 * group.count;
                values[..chunk.len() * of_line].par_chunks(of_line).zip(chunk).for_each(|(values, k)| {
                    for image in 0..group.used {
                        let part = &parts[image * lines.order().len() + lines.order()[k]];
                        let mut to = part.lock().unwrap_or_else(PoisonError::into_inner);
                        for (to, v) in to.iter_mut().zip(values.chunks_exact(2 * group.count)) {
                            *to = Complex::new(T::of(v[2 * image].into()), T::of(v[2 * image + 1].into()));
                        }
                    }
                });
            }
        }
        Ok(())
    }

    /// images = F^H samples; with maps the sum of what coils see, for each set.
    pub(super) fn adjoint<T: Scalar>(
        &mut self,
        samples: &[Complex<T>],
        maps: Option<&[Complex<T>]>,
        images: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let coils = samples.len() / self.samples;
        let sets = self.sets(maps, coils);
        if maps.is_some() {
            images.par_iter_mut().for_each(|v| *v = Complex::default());
        }
        for group in self.groups(coils) {
            let done = |part: f64| (group.first as f64 + part * group.used as f64) / coils as f64;
            progress(done(0.0))?;
            let (lines, [cells, values]) = (&self.lines, take(&mut self.workspace, &self.lines, group.count)?);
            let samples = &samples[group.samples(self.samples)];
            clear(cells);
            for chunk in lines.chunks() {
                let of_line = lines.points() * 2 * group.count;
                values[..chunk.len() * of_line].par_chunks_mut(of_line).zip(chunk.clone()).for_each(|(values, k)| {
                    values.fill(0.0);
                    for image in 0..group.used {
                        let from = image * self.samples + lines.order()[k] * lines.points();
                        let from = &samples[from..from + lines.points()];
                        for (v, from) in values.chunks_exact_mut(2 * group.count).zip(from) {
                            (v[2 * image], v[2 * image + 1]) = (single(from.re), single(from.im));
                        }
                    }
                });
                lines.spread(chunk, group.count, values, cells)?;
            }
            progress(done(0.5))?;
            // Rows of all coils' images, or of the one that they share, for whoever comes to them: a row's coils come in their order.
            let of_group = if maps.is_some() { 0..sets } else { group.first..group.first + group.used };
            let of_group = &mut images[of_group.start * self.voxels..of_group.end * self.voxels];
            let rows = collected(of_group.chunks_exact_mut(self.row).map(Mutex::new))?;
            let height = self.voxels / self.row;
            let write = |y: usize, image: usize, [re, im]: [&[f32]; 2]| {
                let parts = re.iter().zip(im).map(|(re, im)| Complex::new(T::of((*re).into()), T::of((*im).into())));
                let lock = |row: usize| rows[row].lock().unwrap_or_else(PoisonError::into_inner);
                let Some(maps) = maps else {
                    lock(image * height + y).iter_mut().zip(parts).for_each(|(to, v)| *to = v);
                    return Ok(());
                };
                for set in 0..sets {
                    let map = &maps[((group.first + image) * sets + set) * self.voxels + y * self.row..][..self.row];
                    let mut to = lock(set * height + y);
                    to.iter_mut().zip(parts.clone()).zip(map).for_each(|((to, v), map)| *to = *to + map.conj() * v);
                }
                Ok(())
            };
            lines.images(group.used, group.count, cells, write)?;
        }
        Ok(())
    }

    /// Sets in maps of so many coils.
    fn sets<T>(&self, maps: Option<&[T]>, coils: usize) -> usize {
        maps.map_or(1, |maps| maps.len() / (coils * self.voxels))
    }

    /// Coils one group after the other.
    fn groups(&self, coils: usize) -> impl Iterator<Item = Group> + use<> {
        let together = self.together;
        (0..coils).step_by(together).map(move |first| {
            let used = together.min(coils - first);
            Group { first, used, count: used.next_power_of_two() }
        })
    }
}

impl Group {
    /// Its coils' among the samples of all.
    fn samples(&self, each: usize) -> Range<usize> {
        self.first * each..(self.first + self.used) * each
    }
}

fn single<T: Scalar>(v: T) -> f32 {
    v.wide() as f32
}

/// The fine grid and values of some lines, for so many images.
fn take<'a>(workspace: &'a mut Workspace, lines: &Lines, images: usize) -> Result<[&'a mut [f32]; 2]> {
    let Some(len) = lines.grid_len(images) else {
        return Err(Error::new(Status::SizeOverflow, "the fine grid is more than memory can be"));
    };
    workspace.take([len, lines.values_len(images)], u64::MAX)
}

/// Of the sums with so many images of so many rows side by side, in the pool that this is called in.
fn bytes(lines: &Lines, rows: usize, images: usize) -> u64 {
    let floats = lines.grid_len(images).and_then(|n| n.checked_add(lines.values_len(images)));
    let locks = size_of::<Mutex<&mut [Complex<f32>]>>() * images * rows.max(lines.order().len());
    let others = lines.bytes(images, rayon::current_num_threads()) + locks as u64;
    floats.map_or(u64::MAX, |n| 4 * n as u64).saturating_add(others)
}
