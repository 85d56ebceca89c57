//! Medians of small windows, for bins side by side.

/// Bins side by side.
pub(in crate::ct::rows) const LANES: usize = 8;
pub(in crate::ct::rows) type Lanes = [f32; LANES];

#[inline(always)]
fn order(values: &mut [Lanes], i: usize, j: usize) {
    let (a, b) = (values[i], values[j]);
    values[i] = std::array::from_fn(|l| if a[l] < b[l] { a[l] } else { b[l] });
    values[j] = std::array::from_fn(|l| if a[l] < b[l] { b[l] } else { a[l] });
}

/// The smallest value goes to the front, the largest to the back.
#[inline(always)]
fn extremes_outwards(values: &mut [Lanes]) {
    let n = values.len();
    for i in 0..n / 2 {
        order(values, i, n - 1 - i);
    }
    for i in 1..n.div_ceil(2) {
        order(values, 0, i);
    }
    for i in n / 2..n - 1 {
        order(values, i, n - 1);
    }
}

/// The median of an odd number of values, 3 or more, none of them NaN: of half of them and one more, the smallest and the largest cannot
/// be it; another takes their place, until three are left.
#[inline(always)]
pub(in crate::ct::rows) fn median<const N: usize>(mut values: [Lanes; N]) -> Lanes {
    let (mut first, end) = (0, N / 2 + 2);
    for next in end..N {
        extremes_outwards(&mut values[first..end]);
        first += 1;
        values[end - 1] = values[next];
    }
    extremes_outwards(&mut values[first..end]);
    values[first + 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::random::{OneByOne, Random};

    #[test]
    fn medians_are_those_of_sorting() {
        fn check<const N: usize>() {
            let mut random = OneByOne::uniform(Random::new(3, 0, 0));
            for round in 0..50 {
                // Few different values, so that many are equal.
                let values: [Lanes; N] = std::array::from_fn(|_| {
                    std::array::from_fn(|_| (random.next() * f64::from(5 + round)) as u32 as f32)
                });
                let medians = median(values);
                for l in 0..LANES {
                    let mut sorted = values.map(|v| v[l]);
                    sorted.sort_by(f32::total_cmp);
                    assert_eq!(medians[l], sorted[N / 2], "{N} values, round {round}");
                }
            }
        }
        check::<3>();
        check::<9>();
        check::<25>();
        check::<27>();
        check::<75>();
    }
}
