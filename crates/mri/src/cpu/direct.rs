//! Exact sums between samples and voxels anywhere, with off-resonance if there is a field map.
//!
//! A phase is a sum over up to four components, k . r and f t, in turns. Each component's two numbers are split in two: the
//! first parts are whole multiples of units so large that their products, and the sum of those, are exact; whole turns drop
//! out of that sum exactly, and what the second parts add is small. Phases of many turns are thus right in f32 too.

use super::progress::{Check, TaskCounter};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::cpu::turns::{cos_sin, nearest};
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::ops::Range;

/// Maximum number of places whose sums one task makes.
const TARGETS: usize = 256;
/// Terms of a sum before it is added in f64.
const SOURCES: usize = 256;
/// Maximum number of components of a phase.
const COMPONENTS: usize = 4;
/// Maximum number of coils that share sines and cosines.
const COILS: usize = 4;

/// Voxels, samples and off-resonance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direct<'a> {
    /// Of the voxels along x, y, z, in voxels: `[voxel][dims]`.
    pub(crate) positions: &'a [f64],
    /// 1 to 3.
    pub(crate) dims: usize,
    /// Of the samples along x, y, z, in cycles per voxel; those beyond `dims` play no part.
    pub(crate) k: [&'a [f64]; 3],
    /// Hz at every voxel, and seconds of every sample.
    pub(crate) field: Option<(&'a [f64], &'a [f64])>,
}

impl Direct<'_> {
    /// out = sum over samples of value exp(+2 pi i (k . r + f t)); values are `[coil][sample]`, out is `[coil][voxel]`.
    pub(crate) fn adjoint<T: Scalar>(
        &self,
        level: Level,
        values: &[Complex<T>],
        coils: usize,
        out: &mut [Complex<T>],
        check: Check,
    ) -> Result<()> {
        let (voxels, samples) = self.sides();
        sum(level, [voxels, samples], 1.0, values, coils, out, check)
    }

    /// out = sum over voxels of value exp(-2 pi i (k . r + f t)); values are `[coil][voxel]`, out is `[coil][sample]`.
    pub(crate) fn forward<T: Scalar>(
        &self,
        level: Level,
        values: &[Complex<T>],
        coils: usize,
        out: &mut [Complex<T>],
        check: Check,
    ) -> Result<()> {
        let (voxels, samples) = self.sides();
        sum(level, [samples, voxels], -1.0, values, coils, out, check)
    }

    fn sides(&self) -> (Side<'_>, Side<'_>) {
        let (dims, samples) = (self.dims, self.k[0].len());
        assert!((1..COMPONENTS).contains(&dims) && self.positions.len().is_multiple_of(dims));
        let voxels = self.positions.len() / dims;
        let (mut of_voxels, mut of_samples) = ([Component::default(); COMPONENTS], [Component::default(); COMPONENTS]);
        for d in 0..dims {
            of_voxels[d] = Component { values: &self.positions[d.min(self.positions.len())..], step: dims };
            of_samples[d] = Component { values: self.k[d], step: 1 };
            assert!(self.k[d].len() == samples, "a sample has a place on each axis");
        }
        let mut components = dims;
        if let Some((hertz, seconds)) = self.field {
            assert!(hertz.len() == voxels && seconds.len() == samples);
            of_voxels[components] = Component { values: hertz, step: 1 };
            of_samples[components] = Component { values: seconds, step: 1 };
            components += 1;
        }
        let side = |components: [_; COMPONENTS], used, count| Side { components, used, count };
        (side(of_voxels, components, voxels), side(of_samples, components, samples))
    }
}

/// Maximum number of bytes that either direction of sums over `components` (axes, and 1 for a field) allocates, on this pool's threads.
pub(crate) fn bytes<T: Scalar>(voxels: usize, samples: usize, components: usize, coils: usize) -> u64 {
    let packed = voxels.max(samples) * length(kernel_components(components), group(coils)) * size_of::<T>();
    (packed + rayon::current_num_threads() * size_of::<Task<T>>()) as u64
}

/// One number of every place.
#[derive(Clone, Copy, Default)]
struct Component<'a> {
    values: &'a [f64],
    step: usize,
}

impl Component<'_> {
    fn at(&self, i: usize) -> f64 {
        self.values.get(i * self.step).copied().unwrap_or(0.0)
    }

    fn largest(&self) -> f64 {
        self.values.iter().step_by(self.step.max(1)).fold(0.0, |a, v| a.max(v.abs()))
    }
}

/// Voxels or samples.
#[derive(Clone, Copy)]
struct Side<'a> {
    components: [Component<'a>; COMPONENTS],
    used: usize,
    count: usize,
}

/// Units of the first parts, of both sides.
fn units<T: Scalar>(sides: &[Side; 2]) -> [[f64; COMPONENTS]; 2] {
    let [a, b] = sides.map(|side| side.components.map(|component| component.largest()));
    let turns: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let power = |v: f64| v.log2().ceil().exp2();
    // Sums of exact products of units stay below 2^24 (f32), with room for what rounding to units adds.
    let unit = power(turns.max(1e-30) * 4.0 * T::UNIT);
    let mut units = [[1.0; COMPONENTS]; 2];
    for (d, (a, b)) in a.into_iter().zip(b).enumerate().filter(|(_, (a, b))| *a > 0.0 && *b > 0.0) {
        // As many units on either side.
        units[0][d] = power((unit * a / b).sqrt());
        units[1][d] = unit / units[0][d];
    }
    units
}

/// out = sum over sources of value exp(2 pi i sign phase), for the targets of `sides`, which are targets and sources.
fn sum<T: Scalar>(
    level: Level,
    sides: [Side; 2],
    sign: f64,
    values: &[Complex<T>],
    coils: usize,
    out: &mut [Complex<T>],
    check: Check,
) -> Result<()> {
    let [targets, sources] = sides;
    assert!(values.len() == coils * sources.count && out.len() == coils * targets.count);
    if out.is_empty() || values.is_empty() {
        out.fill(Complex::default());
        return Ok(());
    }
    // Sums do not depend on how the targets are shared out.
    let share = targets.count.div_ceil(4 * rayon::current_num_threads()).next_multiple_of(16).min(TARGETS);
    let tasks = targets.count.div_ceil(share) * sources.count.div_ceil(SOURCES);
    let counter = TaskCounter::new(check, coils.div_ceil(COILS) * tasks);
    let units = units::<T>(&sides);
    let components = kernel_components(targets.used);
    let mut packed = Buffer::zeroed(sources.count * length(components, group(coils)))?;
    let out = Shared::new(out);
    for first in (0..coils).step_by(COILS) {
        let present = COILS.min(coils - first);
        let group = group(present);
        let length = length(components, group);
        let packed = &mut packed[..sources.count * length];
        packed.par_chunks_exact_mut(length).enumerate().for_each(|(i, to)| {
            let (place, to) = to.split_at_mut(2 * components);
            for (d, to) in place.chunks_exact_mut(2).enumerate() {
                let (high, low) = split(sign * sources.components[d].at(i), units[1][d]);
                (to[0], to[1]) = (T::of(high), T::of(low));
            }
            to.fill(T::ZERO);
            for (coil, to) in to.chunks_exact_mut(3).enumerate().take(present) {
                let value = values[(first + coil) * sources.count + i];
                (to[0], to[1], to[2]) = (value.re, value.im, -value.im);
            }
        });
        let packed = &*packed;
        (0..targets.count.div_ceil(share)).into_par_iter().try_for_each(|i| {
            let chosen = i * share..targets.count.min((i + 1) * share);
            let mut task = Box::new(Task::<T>::new(&targets, &units[0], chosen.clone()));
            for sources in packed.chunks(SOURCES * length) {
                dispatch(level, Terms { task: &mut task, sources, components, group });
                counter.task()?;
            }
            for (coil, [re, im]) in task.sums.iter().enumerate().take(present) {
                for ((i, re), im) in chosen.clone().zip(re).zip(im) {
                    // SAFETY: each target belongs to one task.
                    unsafe { *out.at((first + coil) * targets.count + i) = Complex::new(T::of(*re), T::of(*im)) };
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Components that kernels are made for, at least as many as these; those that are not there are zeros.
fn kernel_components(components: usize) -> usize {
    components.max(2)
}

/// Coils that kernels are made for, at least as many as these; those that are not there are zeros.
fn group(coils: usize) -> usize {
    coils.next_power_of_two().min(COILS)
}

/// Numbers of a source: both parts of each component; real part, imaginary part and its negative for each coil.
fn length(components: usize, coils: usize) -> usize {
    2 * components + 3 * coils
}

/// The multiple of the unit that is next to v, and the rest.
fn split(v: f64, unit: f64) -> (f64, f64) {
    let high = (v / unit).round() * unit;
    (high, v - high)
}

/// A few targets and their sums so far.
struct Task<T> {
    count: usize,
    /// First part, second part and both of each component: `[component][part][target]`.
    places: [[[T; TARGETS]; 3]; COMPONENTS],
    /// `[coil][re, im][target]`
    sums: [[[f64; TARGETS]; 2]; COILS],
}

impl<T: Scalar> Task<T> {
    fn new(targets: &Side, units: &[f64; COMPONENTS], chosen: Range<usize>) -> Self {
        let mut places = [[[T::ZERO; TARGETS]; 3]; COMPONENTS];
        for ((component, unit), parts) in targets.components.iter().zip(units).zip(&mut places) {
            for (m, i) in chosen.clone().enumerate() {
                let v = component.at(i);
                let (high, low) = split(v, *unit);
                for (part, v) in parts.iter_mut().zip([high, low, v]) {
                    part[m] = T::of(v);
                }
            }
        }
        Self { count: chosen.len(), places, sums: [[[0.0; TARGETS]; 2]; COILS] }
    }
}

/// The terms of up to [`SOURCES`] sources.
struct Terms<'a, T> {
    task: &'a mut Task<T>,
    sources: &'a [T],
    components: usize,
    group: usize,
}

impl<T: Scalar> Kernel<T> for Terms<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: by the caller's contract.
        unsafe {
            match (self.components, self.group) {
                (2, 1) => self.add::<V, 2, 1>(),
                (2, 2) => self.add::<V, 2, 2>(),
                (2, _) => self.add::<V, 2, 4>(),
                (3, 1) => self.add::<V, 3, 1>(),
                (3, 2) => self.add::<V, 3, 2>(),
                (3, _) => self.add::<V, 3, 4>(),
                (_, 1) => self.add::<V, 4, 1>(),
                (_, 2) => self.add::<V, 4, 2>(),
                (_, _) => self.add::<V, 4, 4>(),
            }
        }
    }
}

impl<T: Scalar> Terms<'_, T> {
    /// For D components and C coils.
    ///
    /// # Safety
    /// The processor has the instructions of `V`.
    #[inline(always)]
    unsafe fn add<V: Vector<Element = T>, const D: usize, const C: usize>(self) {
        let Task { count, places, sums } = self.task;
        for m in (0..*count).step_by(V::LANES) {
            // SAFETY: there is room for whole vectors of targets; a source has `length(D, C)` numbers; instructions by the
            // caller's contract.
            unsafe {
                let zero = V::splat(T::ZERO);
                let mut place = [[zero; 3]; D];
                for (place, from) in place.iter_mut().zip(places.iter()) {
                    let load = |part: usize| V::load(from[part].as_ptr().add(m));
                    *place = [load(0), load(1), load(2)];
                }
                let mut terms = [[zero; 2]; C];
                for source in self.sources.chunks_exact(length(D, C)) {
                    let number = |i: usize| V::splat(*source.get_unchecked(i));
                    let [high, low, both] = place[0];
                    let mut coarse = high.mul(number(0));
                    let mut fine = low.fma(number(0), both.mul(number(1)));
                    for (d, [high, low, both]) in place.iter().enumerate().skip(1) {
                        coarse = high.fma(number(2 * d), coarse);
                        fine = low.fma(number(2 * d), both.fma(number(2 * d + 1), fine));
                    }
                    let turns = coarse.sub(nearest(coarse.add(fine))).add(fine);
                    let (cosine, sine) = cos_sin(turns);
                    for (coil, [re, im]) in terms.iter_mut().enumerate() {
                        let first = 2 * D + 3 * coil;
                        let [value, imaginary, negative] = [number(first), number(first + 1), number(first + 2)];
                        *re = value.fma(cosine, negative.fma(sine, *re));
                        *im = value.fma(sine, imaginary.fma(cosine, *im));
                    }
                }
                for (terms, sums) in terms.iter().zip(sums.iter_mut()) {
                    for (term, sums) in terms.iter().zip(sums) {
                        let mut lanes = [T::ZERO; 16];
                        term.store(lanes.as_mut_ptr());
                        let lanes = &lanes[..V::LANES];
                        sums[m..].iter_mut().zip(lanes).for_each(|(sum, v)| *sum += v.wide());
                    }
                }
            }
        }
    }
}
