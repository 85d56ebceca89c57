//! Slices of half the sides: means of 2 x 2 x 2 values, of fewer at the ends.

use super::buffers::Buffers;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::{Add, AddAssign};

/// Of slices that begin at an even one.
pub fn of(slices: &[u8], rows @ [down, across]: [usize; 2], dtype: DType, free: &Buffers) -> Result<Vec<u8>> {
    let count = slices.len() / (down * across * dtype.size());
    let half = [count, down, across].map(|n| n.div_ceil(2)).iter().product::<usize>();
    let mut half = free.of(half * dtype.size())?;
    let to = &mut half;
    match dtype {
        DType::U8 => halved(slices, rows, to, |v: [u8; 1]| u32::from(v[0]), |sum, n| [rounded(sum, n) as u8]),
        DType::U16 => {
            let mean = |sum, n| (rounded(sum, n) as u16).to_ne_bytes();
            halved(slices, rows, to, |v| u32::from(u16::from_ne_bytes(v)), mean)
        }
        _ => halved(slices, rows, to, f32::from_ne_bytes, |sum, n| (sum / n as f32).to_ne_bytes()),
    }
    Ok(half)
}

/// The mean of so many values, 1, 2, 4 or 8, of this sum.
fn rounded(sum: u32, n: u32) -> u32 {
    (sum + n / 2) >> n.trailing_zeros()
}

fn halved<const N: usize, T: Copy + Default + AddAssign + Add<Output = T> + Send>(
    slices: &[u8],
    [rows, columns]: [usize; 2],
    half: &mut [u8],
    value: impl Fn([u8; N]) -> T + Sync,
    mean: impl Fn(T, u32) -> [u8; N] + Sync,
) {
    let slice = rows * columns * N;
    let (down, across) = (rows.div_ceil(2), columns.div_ceil(2));
    // Sums of up to four lines, and of pairs of these.
    let row = |sums: &mut Vec<T>, (k, to): (usize, &mut [u8])| {
        let pair = &slices[k / down * 2 * slice..];
        let pair = &pair[..pair.len().min(2 * slice)];
        let top = k % down * 2;
        sums.clear();
        sums.resize(columns, T::default());
        let mut lines = 0;
        for line in pair.chunks(slice).flat_map(|slice| slice.chunks(columns * N).skip(top).take(2)) {
            lines += 1;
            for (sum, v) in sums.iter_mut().zip(line.as_chunks::<N>().0) {
                *sum += value(*v);
            }
        }
        let (pairs, last) = sums.as_chunks::<2>();
        let (to, _) = to.as_chunks_mut::<N>();
        for (to, [a, b]) in to.iter_mut().zip(pairs) {
            *to = mean(*a + *b, 2 * lines);
        }
        if let (Some(to), [sum]) = (to.last_mut(), last) {
            *to = mean(*sum, lines);
        }
    };
    half.par_chunks_mut(across * N).enumerate().for_each_init(Vec::new, row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_what_is_there() {
        // Three slices of 3 x 3.
        let values: Vec<u8> = (0..27).collect();
        let half = of(&values, [3, 3], DType::U8, &Buffers::default()).expect("means");
        // (0 + 1 + 3 + 4 + 9 + 10 + 12 + 13) / 8 is 6.5, and rounds up.
        assert_eq!(half, [7, 8, 11, 13, 20, 22, 25, 26]);
        let wide: Vec<u8> = values.iter().flat_map(|v| (u16::from(*v) * 1000).to_ne_bytes()).collect();
        let half = of(&wide, [3, 3], DType::U16, &Buffers::default()).expect("means");
        assert_eq!(half.as_chunks().0.iter().map(|v| u16::from_ne_bytes(*v)).next(), Some(6500));
        let floats: Vec<u8> = values.iter().flat_map(|v| f32::from(*v).to_ne_bytes()).collect();
        let half = of(&floats, [3, 3], DType::F32, &Buffers::default()).expect("means");
        let half: Vec<f32> = half.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v)).collect();
        assert_eq!(half, [6.5, 8.0, 11.0, 12.5, 20.0, 21.5, 24.5, 26.0]);
    }
}
