//! Slices of half the sides: means of 2 x 2 x 2 values, of fewer at the ends.

use crate::memory::zeros;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;

/// Of slices that begin at an even one.
pub fn of(slices: &[u8], rows: [usize; 2], dtype: DType) -> Result<Vec<u8>> {
    match dtype {
        DType::U8 => halved(slices, rows, |v: [u8; 1]| u32::from(v[0]), |sum, n| [((sum + n / 2) / n) as u8]),
        DType::U16 => {
            let mean = |sum: u32, n: u32| (((sum + n / 2) / n) as u16).to_ne_bytes();
            halved(slices, rows, |v| u32::from(u16::from_ne_bytes(v)), mean)
        }
        _ => halved(slices, rows, f32::from_ne_bytes, |sum, n| (sum / n as f32).to_ne_bytes()),
    }
}

fn halved<const N: usize, T: Copy + Default + std::ops::AddAssign>(
    slices: &[u8],
    [rows, columns]: [usize; 2],
    value: impl Fn([u8; N]) -> T + Sync,
    mean: impl Fn(T, u32) -> [u8; N] + Sync,
) -> Result<Vec<u8>> {
    let slice = rows * columns * N;
    let (down, across) = (rows.div_ceil(2), columns.div_ceil(2));
    let bytes = (slices.len() / slice).div_ceil(2) * down * across * N;
    let mut half = zeros(bytes)?;
    let row = |(k, to): (usize, &mut [u8])| {
        let pair = &slices[k / down * 2 * slice..];
        let pair = &pair[..pair.len().min(2 * slice)];
        let top = k % down * 2;
        let mut sums = vec![T::default(); across];
        let mut lines = 0;
        for slice in pair.chunks(slice) {
            for line in slice.chunks(columns * N).skip(top).take(2) {
                lines += 1;
                for (sum, values) in sums.iter_mut().zip(line.as_chunks::<N>().0.chunks(2)) {
                    for v in values {
                        *sum += value(*v);
                    }
                }
            }
        }
        for (at, (to, sum)) in to.as_chunks_mut::<N>().0.iter_mut().zip(sums).enumerate() {
            *to = mean(sum, lines * if 2 * at + 1 < columns { 2 } else { 1 });
        }
    };
    half.par_chunks_mut(across * N).enumerate().for_each(row);
    Ok(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_what_is_there() {
        // Three slices of 3 x 3.
        let values: Vec<u8> = (0..27).collect();
        let half = of(&values, [3, 3], DType::U8).expect("means");
        // (0 + 1 + 3 + 4 + 9 + 10 + 12 + 13) / 8 is 6.5, and rounds up.
        assert_eq!(half, [7, 8, 11, 13, 20, 22, 25, 26]);
        let wide: Vec<u8> = values.iter().flat_map(|v| (u16::from(*v) * 1000).to_ne_bytes()).collect();
        let half = of(&wide, [3, 3], DType::U16).expect("means");
        assert_eq!(half.as_chunks().0.iter().map(|v| u16::from_ne_bytes(*v)).next(), Some(6500));
        let floats: Vec<u8> = values.iter().flat_map(|v| f32::from(*v).to_ne_bytes()).collect();
        let half = of(&floats, [3, 3], DType::F32).expect("means");
        let half: Vec<f32> = half.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v)).collect();
        assert_eq!(half, [6.5, 8.0, 11.0, 12.5, 20.0, 21.5, 24.5, 26.0]);
    }
}
