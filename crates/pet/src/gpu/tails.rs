//! Launches `kernels/pet/tails.cu`: where histo-images have no true events.

use crate::scatter::{Coarse, Line, Tails};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Image, Lent, Queue, mirrored};

const IMAGE: &Image = &crate::images::TAILS;

/// Mirrors `Direction`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Direction {
    sin: f64,
    cos: f64,
    tangent: f64,
}
mirrored!(Direction, 24);

/// Mirrors `Search`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Search {
    body: u64,
    lines: u64,
    tails: u64,
    lowest: [f64; 3],
    apart: [f64; 3],
    step: f64,
    body_lowest: [f32; 3],
    per_mm: [f32; 3],
    count: [i32; 3],
    line_count: i32,
    points: [i32; 3],
    steps: i32,
}
mirrored!(Search, 136);

/// [`Tails::view`] of all views, one after the other.
///
/// # Safety
/// The GPU is current.
pub(super) unsafe fn find(queue: &Queue, of: &Tails, views: &[Vec<Line>], coarse: &Coarse, job: &Job) -> Result<Lent> {
    let body = queue.upload(&of.body.values)?;
    let a_view = coarse.points() * size_of::<f32>();
    let tails = queue.pool.take(views.len() * a_view)?;
    let (step, steps) = of.steps();
    let arguments = Search {
        body: body.address(),
        lines: 0,
        tails: 0,
        lowest: coarse.lowest,
        apart: coarse.apart,
        step,
        body_lowest: of.body.lowest.map(|v| v as f32),
        per_mm: of.body.cell.map(|v| (1.0 / v) as f32),
        count: of.body.count.map(|n| n as i32),
        line_count: 0,
        points: coarse.count.map(|n| n as i32),
        steps: steps as i32,
    };
    for (view, lines) in views.iter().enumerate() {
        job.check()?;
        let lines = collected(lines.iter().map(|line| {
            let (sin, cos) = line.azimuth.sin_cos();
            Direction { sin, cos, tangent: line.tangent }
        }))?;
        let values = queue.upload(&lines)?;
        let arguments = Search {
            lines: values.address(),
            line_count: lines.len() as i32,
            tails: tails.address() + (view * a_view) as u64,
            ..arguments
        };
        // SAFETY: the struct mirrors the kernel's, whose memory is of these sizes and goes back to the pool, whose later users follow the stream; the rest
        // by this function's contract.
        unsafe { queue.each((IMAGE, "tails"), coarse.points(), &arguments)? };
    }
    Ok(tails)
}
