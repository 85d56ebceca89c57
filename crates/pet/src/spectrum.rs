//! Transforms of kernels along x and y, one for each distance along z.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::lanes::{LaneFft, Strand};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;

/// Distances along z that a kernel reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    pub(crate) reach: usize,
    /// The kernel is the same at opposite offsets: the slice at -d is the complex conjugate of that at d, that at 0 real.
    pub(crate) even: bool,
}

impl Slices {
    /// Floats of one frequency: of slices 0 to `reach` real, (real, imaginary), ...; or of all (real, imaginary) from -reach on.
    pub(crate) fn floats(self) -> usize {
        if self.even { 2 * self.reach + 1 } else { 4 * self.reach + 2 }
    }

    fn distances(self) -> impl Iterator<Item = i32> {
        let reach = self.reach as i32;
        if self.even { 0..=reach } else { -reach..=reach }
    }
}

/// `[kx][ky][float]` of kx from 0 to half the length of transforms along x, times `scale`; both are good lengths.
pub(crate) fn spectrum(
    offsets: &[[i32; 3]],
    values: &[f32],
    slices: Slices,
    [nx, ny]: [usize; 2],
    scale: f32,
    level: Level,
) -> Result<Vec<f32>> {
    let [along_x, along_y] = [nx, ny].map(|n| LaneFft::new(n, level));
    let (lanes, half) = (level.lanes(), nx / 2 + 1);
    let reach = offsets.iter().map(|o| o[1].unsigned_abs() as usize).max().unwrap_or(0);
    let rows = 2 * reach + 1;
    let cell = 2 * lanes;
    let mut spectrum: Vec<f32> = zeros(half * ny * slices.floats())?;
    let mut line: Vec<f32> = zeros(nx.max(ny) * cell)?;
    let mut room: Vec<f32> = zeros(along_x.room().max(along_y.room()))?;
    // `[kx][row]`
    let mut between: Vec<f32> = zeros(half * rows * cell)?;
    let distances: Vec<i32> = slices.distances().collect();
    for (part, distances) in distances.chunks(lanes).enumerate() {
        let lane_of = |z: i32| distances.iter().position(|d| *d == z);
        for row in 0..rows {
            line.fill(0.0);
            for (o, value) in offsets.iter().zip(values).filter(|(o, _)| o[1] == row as i32 - reach as i32) {
                if let Some(lane) = lane_of(o[2]) {
                    line[o[0].rem_euclid(nx as i32) as usize * cell + lane] = *value;
                }
            }
            let from = Strand::packed(line.as_mut_ptr(), lanes, nx);
            let to = between.as_mut_ptr().wrapping_add(row * cell);
            let to = Strand { re: to, im: to.wrapping_add(lanes), step: rows * cell, count: half };
            // SAFETY: `line` has a vector pair for each of nx, `between` for each of half.
            unsafe { along_x.run(from, to, room.as_mut_ptr()) };
        }
        for (kx, rows) in between.chunks_exact(rows * cell).enumerate() {
            line.fill(0.0);
            for (row, from) in rows.chunks_exact(cell).enumerate() {
                let y = (row as i32 - reach as i32).rem_euclid(ny as i32) as usize;
                line[y * cell..][..cell].copy_from_slice(from);
            }
            let strand = Strand::packed(line.as_mut_ptr(), lanes, ny);
            // SAFETY: `line` has a vector pair for each of ny.
            unsafe { along_y.run(strand, strand, room.as_mut_ptr()) };
            let floats = slices.floats();
            let to = spectrum[kx * ny * floats..].chunks_exact_mut(floats);
            for (to, from) in to.zip(line.chunks_exact(cell).take(ny)) {
                for lane in 0..distances.len() {
                    let (i, [re, im]) = (part * lanes + lane, [from[lane], from[lanes + lane]].map(|v| v * scale));
                    match (slices.even, i) {
                        (true, 0) => to[0] = re,
                        (true, i) => to[2 * i - 1..=2 * i].copy_from_slice(&[re, im]),
                        (false, i) => to[2 * i..2 * i + 2].copy_from_slice(&[re, im]),
                    }
                }
            }
        }
    }
    Ok(spectrum)
}
