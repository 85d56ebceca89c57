//! Fourier sums over a stack on the GPU: a transform along z, and sums in planes, where planes with the same points and all coils are the
//! images of one transform.

use super::coils::CoilKernels;
use super::fast::FastSums;
use super::lines::LineSums;
use super::place::Place;
use super::stack_kernels::{PlaneSamples, StackKernels};
use super::stack_sizes::{Kind, PatternSizes, Run, StackSizes, images_together};
use super::workspace::{check_available, coils_at_once};
use crate::trajectory::Trajectory;
use crate::transform::Progress;
use isocenter_base::cpu::buffer::{append, collected};
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{Direction, Images, Kernels, Line, Maps, Pass, Side, Steps, Sum, Window};
use isocenter_base::gpu::{Lent, Queue, WorkspaceBytes};
use isocenter_nufft::Scalar;
use isocenter_nufft::gpu::{Coordinates, Plan, Values};
use std::f64::consts::TAU;

/// Sums between images and samples, both ways.
pub(super) struct StackSums<T: Scalar> {
    /// Planes of an image, and pixels of a plane.
    planes: usize,
    pixels: usize,
    /// Bins from the first plane of samples to the last, and whether some of them have none.
    span: Window,
    gaps: bool,
    samples: usize,
    patterns: Vec<Pattern<T>>,
    runs: Vec<Run>,
    line: Line,
    fft: Kernels,
    kernels: StackKernels,
    /// The caller's samples, plane by plane.
    order: Lent,
    /// What kz's offset turns each of an image's planes by on its way to samples, if there is one.
    turns: Option<Lent>,
}

/// Sums in planes that have their samples at the same places.
struct Pattern<T: Scalar> {
    sums: FastSums<T>,
    samples: usize,
    /// Planes of its longest run.
    planes: usize,
}

/// What a group of coils works in.
struct Room<'p> {
    coils: usize,
    /// `[bin of the span][coil][pixel]`
    planes: Lent,
    /// `[coil][z][pixel]`, unless they are where the caller's are.
    images: Option<Lent>,
    /// For sums in planes.
    place: Place<'p>,
}

/// Some images of a run's planes, one after the other, and their samples.
struct Part<'a, T: Scalar> {
    sums: &'a FastSums<T>,
    images: Images,
    values: Values,
    order: PlaneSamples,
    place: Place<'a>,
}

impl<T: Scalar> StackSums<T> {
    pub(super) fn new(queue: &Queue, sizes: StackSizes, trajectory: &Trajectory) -> Result<Self> {
        let StackSizes { stack, span, patterns: of_patterns, runs } = sizes;
        let (depth, [nz, ny, nx]) = (stack.depth(), stack.grid());
        let mut patterns = Vec::new();
        for (sizes, alike) in of_patterns.into_iter().zip(stack.patterns()) {
            let PatternSizes { kind, settings, planes } = sizes;
            let sums = match kind {
                Kind::Lines(sizes) => FastSums::Lines(Box::new(LineSums::new(&queue.device, sizes)?)),
                Kind::Points(_) => {
                    let [x, y] = stack.points(&alike[0], trajectory)?;
                    let [x, y] = [queue.upload(&x)?, queue.upload(&y)?];
                    let axes = [x.address(), y.address(), y.address()];
                    let at = Coordinates { axes, stride: 1, count: settings.samples };
                    // SAFETY: the points were uploaded, and stay until they are sorted.
                    FastSums::Points(Box::new(unsafe { Plan::new(&queue.device, &settings, &at, &queue.stream) }?))
                }
            };
            append(&mut patterns, Pattern { sums, samples: settings.samples, planes })?;
        }
        let turn = |j: usize| {
            let (sin, cos) = (-TAU * depth.place(j, nz).1).sin_cos();
            [T::of(cos), T::of(sin)]
        };
        let turns = if depth.offset == 0.0 { None } else { Some(queue.upload(&collected((0..nz).map(turn))?)?) };
        Ok(Self {
            planes: nz,
            pixels: ny * nx,
            span,
            gaps: stack.planes().len() < span.count,
            samples: stack.order().len(),
            patterns,
            runs,
            line: Line::new(&queue.device, depth.length, T::PRECISION)?,
            fft: Kernels::new(&queue.device, T::PRECISION)?,
            kernels: StackKernels::new(&queue.device, T::PRECISION)?,
            order: queue.upload(stack.order())?,
            turns,
        })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.patterns.iter().map(|p| p.sums.bytes()).sum::<u64>() + self.order.bytes() as u64
    }

    /// Along z the transform's, in planes the fine grid's and the spreading function's width.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        let ([_, y, x], width) = self.patterns.first().map_or(([0; 3], 0), |p| p.sums.fine_grid());
        ([self.line.length(), y, x], width)
    }

    /// samples `[coil][m]` = F images: one for each coil, or with maps one that all see.
    ///
    /// # Safety
    /// All are device memory of these sizes until the stream has passed this; the GPU is current.
    pub(super) unsafe fn forward(
        &self,
        place: &Place,
        coil_kernels: &CoilKernels,
        images: &Images,
        samples: u64,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let (queue, stream) = (place.queue, &place.queue.stream);
        let room = self.room(place, images.maps.is_some() || self.turns.is_some(), coils)?;
        for coil in (0..coils).step_by(room.coils) {
            progress(coil as f64 / coils as f64)?;
            let count = room.coils.min(coils - coil);
            let own = self.of_coil(images, coil);
            // SAFETY: by this function's contract; there is room for as many images and planes.
            unsafe {
                let mut from = own.address;
                if let (Some(maps), Some(seen)) = (own.maps, &room.images) {
                    let sizes = [self.planes * self.pixels, count];
                    coil_kernels.multiply(queue, maps, from, seen.address(), sizes)?;
                    from = seen.address();
                }
                if let (Some(turns), Some(turned)) = (&self.turns, &room.images) {
                    let sizes = [count, self.planes, self.pixels];
                    self.kernels.turn((turns.address(), false), [from, turned.address()], sizes, stream)?;
                    from = turned.address();
                }
                self.pass(from, &room.planes, count, Direction::Forward).launch(stream)?;
                self.each_part(&room, samples + self.bytes_of(coil * self.samples), count, |part| {
                    part.sums.forward(&part.place, coil_kernels, &part.images, part.values, part.order.images)?;
                    self.kernels.scatter(&part.order, stream)
                })?;
            }
        }
        Ok(())
    }

    /// images = F^H samples; with maps the sum of what coils see.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(
        &self,
        place: &Place,
        coil_kernels: &CoilKernels,
        samples: u64,
        images: &Images,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let (queue, stream) = (place.queue, &place.queue.stream);
        let room = self.room(place, images.maps.is_some(), coils)?;
        for coil in (0..coils).step_by(room.coils) {
            progress(coil as f64 / coils as f64)?;
            let count = room.coils.min(coils - coil);
            let own = self.of_coil(images, coil);
            let to = room.images.as_ref().map_or(own.address, |images| images.address());
            if self.gaps {
                room.planes.clear(stream)?;
            }
            // SAFETY: as in `forward`.
            unsafe {
                self.each_part(&room, samples + self.bytes_of(coil * self.samples), count, |part| {
                    self.kernels.gather(&part.order, stream)?;
                    part.sums.adjoint(&part.place, coil_kernels, part.values, &part.images, part.order.images)
                })?;
                self.pass(to, &room.planes, count, Direction::Backward).launch(stream)?;
                if let Some(turns) = &self.turns {
                    let sizes = [count, self.planes, self.pixels];
                    self.kernels.turn((turns.address(), true), [to, to], sizes, stream)?;
                }
                if let Some(maps) = own.maps {
                    let sizes = [self.planes * self.pixels, count];
                    coil_kernels.combine(queue, maps, (own.address, coil > 0), to, sizes)?;
                }
            }
        }
        Ok(())
    }

    /// Bytes of so many complex numbers.
    fn bytes_of(&self, count: usize) -> u64 {
        (count * T::PRECISION.complex()) as u64
    }

    /// Images from a coil on, or the one that all coils see with their maps.
    fn of_coil(&self, images: &Images, coil: usize) -> Images {
        match images.maps {
            Some(m) => {
                let address = m.address + self.bytes_of(coil * m.stride);
                Images { maps: Some(Maps { address, ..m }), ..*images }
            }
            None => Images { address: images.address + self.bytes_of(coil * self.planes * self.pixels), ..*images },
        }
    }

    /// Memory for as many coils side by side as are of use; images of their own where the caller's are not for that.
    fn room<'p>(&self, place: &Place<'p>, own_images: bool, coils: usize) -> Result<Room<'p>> {
        let Place { queue, available } = *place;
        let [planes, images] =
            [self.span.count, if own_images { self.planes } else { 0 }].map(|n| self.bytes_of(n * self.pixels));
        let minimum = self.patterns.iter().map(|p| p.bytes(1).minimum).max().unwrap_or(0);
        check_available(available, planes + images + minimum)?;
        let bytes = |coils: usize| {
            let parts = self.patterns.iter().map(|p| p.bytes(images_together(p.planes, coils)).preferred);
            coils as u64 * (planes + images) + parts.max().unwrap_or(0)
        };
        let coils = coils_at_once(coils, available, bytes);
        let taken = coils as u64 * (planes + images);
        Ok(Room {
            coils,
            planes: queue.pool.take(coils * planes as usize)?,
            images: if own_images { Some(queue.pool.take(coils * images as usize)?) } else { None },
            place: Place { queue, available: available - taken },
        })
    }

    /// Between images, `[coil][z][pixel]`, and planes.
    fn pass(&self, images: u64, planes: &Lent, coils: usize, direction: Direction) -> Pass<'_> {
        let Self { planes: nz, pixels, span, line, .. } = self;
        let image = Side::new(images, [*nz, 1, *pixels], Window::centred(*nz, line.length()));
        let strides = [coils * pixels, *pixels, 1, *pixels];
        let stack = Side { strides, ..Side::new(planes.address(), [span.count, 1, *pixels], *span) };
        let (from, to) = if direction == Direction::Forward { (image, stack) } else { (stack, image) };
        Pass {
            kernels: &self.fft,
            steps: Steps::One(line),
            axis: 0,
            lines: [line.length(), 1, *pixels],
            batches: coils,
            from,
            to,
            direction,
            scale: 1.0,
            map_stride: 0,
            sum: Sum::No,
        }
    }

    /// Calls with the images of so many coils' planes, as many at a time as are of use. `samples`: the first of these coils'.
    fn each_part(&self, room: &Room, samples: u64, coils: usize, run: impl Fn(Part<T>) -> Result<()>) -> Result<()> {
        let Place { queue, available } = room.place;
        for of in &self.runs {
            let (pattern, images) = (&self.patterns[of.pattern], of.planes * coils);
            let together = images_together(of.planes, coils);
            let together = coils_at_once(together, available, |images| pattern.bytes(images).preferred);
            let values = queue.pool.take(self.bytes_of(together * of.samples) as usize)?;
            for first in (0..images).step_by(together) {
                let image = of.position * coils + first;
                run(Part {
                    sums: &pattern.sums,
                    images: Images { address: room.planes.address() + self.bytes_of(image * self.pixels), maps: None },
                    values: Values { address: values.address(), coil_stride: of.samples },
                    order: PlaneSamples {
                        order: self.order.address() + (of.first_sample * size_of::<u32>()) as u64,
                        samples,
                        stride: self.samples,
                        coils,
                        count: of.samples,
                        planes: values.address(),
                        first,
                        images: together.min(images - first),
                    },
                    place: Place { queue, available: available - self.bytes_of(together * of.samples) },
                })?;
            }
        }
        Ok(())
    }
}

impl<T: Scalar> Pattern<T> {
    /// Of sums for so many images side by side, with their samples.
    fn bytes(&self, images: usize) -> WorkspaceBytes {
        self.sums.workspace_bytes(images).plus((images * self.samples * T::PRECISION.complex()) as u64)
    }
}
