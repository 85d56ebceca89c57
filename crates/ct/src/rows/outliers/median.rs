//! Medians of small windows, for bins side by side.

/// Bins side by side.
pub(in crate::rows) const LANES: usize = 8;
pub(in crate::rows) type Lanes = [f32; LANES];

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
pub(in crate::rows) fn median<const N: usize>(mut values: [Lanes; N]) -> Lanes {
    let (mut first, end) = (0, N / 2 + 2);
    for next in end..N {
        extremes_outwards(&mut values[first..end]);
        first += 1;
        values[end - 1] = values[next];
    }
    extremes_outwards(&mut values[first..end]);
    values[first + 1]
}

/// Bins that bounds are found for together.
pub(in crate::rows) const BLOCK: usize = 256;

/// Two lists of values between which medians of N lie, at less cost than those, for up to [`BLOCK`] bins side by side; `at` gives the k-th
/// value of all. Two of three values are no smaller than these three's median: where so many threes have a median of m or more that twice
/// their number is more than half of N, so is the median of all.
#[inline(always)]
pub(in crate::rows) fn bounds<'a, const N: usize>(
    count: usize,
    at: impl Fn(usize) -> &'a [f32],
    [lows, highs]: [&mut [f32; BLOCK]; 2],
) {
    let threes = N / 3;
    // Which of the threes' medians it is, from either end; a nearer one is as right.
    let rank = (threes + 1).saturating_sub((N / 2 + 1).div_ceil(2)).clamp(1, KEPT);
    let (smaller, larger) = (|a: f32, b: f32| if a < b { a } else { b }, |a: f32, b: f32| if a > b { a } else { b });
    let (mut low, mut high) = ([[f32::INFINITY; BLOCK]; KEPT], [[f32::NEG_INFINITY; BLOCK]; KEPT]);
    for three in 0..threes {
        let [a, b, c] = std::array::from_fn(|k| &at(3 * three + k)[..count]);
        let ([l0, l1, l2], [h0, h1, h2]) = (&mut low, &mut high);
        for k in 0..count {
            let (x, y, z) = (a[k], b[k], c[k]);
            let middle = larger(smaller(x, y), smaller(larger(x, y), z));
            let down = larger(l0[k], middle);
            l0[k] = smaller(l0[k], middle);
            l2[k] = smaller(l2[k], larger(l1[k], down));
            l1[k] = smaller(l1[k], down);
            let up = smaller(h0[k], middle);
            h0[k] = larger(h0[k], middle);
            h2[k] = larger(h2[k], smaller(h1[k], up));
            h1[k] = larger(h1[k], up);
        }
    }
    (*lows, *highs) = (low[rank - 1], high[rank - 1]);
}

/// Medians of threes that are kept in order.
const KEPT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use isocenter_base::cpu::random::{OneByOne, Random};

    #[test]
    fn medians_are_those_of_sorting() {
        fn check<const N: usize>() {
            let mut random = OneByOne::uniform(Random::new(3, 0, 0));
            for round in 0..50 {
                // Few different values, so that many are equal.
                let values: [Lanes; N] = std::array::from_fn(|_| {
                    std::array::from_fn(|_| (random.draw() * f64::from(5 + round)) as u32 as f32)
                });
                let medians = median(values);
                let [mut low, mut high] = [[0.0; BLOCK]; 2];
                bounds::<N>(LANES, |k| &values[k], [&mut low, &mut high]);
                for l in 0..LANES {
                    let mut sorted = values.map(|v| v[l]);
                    sorted.sort_by(f32::total_cmp);
                    assert_eq!(medians[l], sorted[N / 2], "{N} values, round {round}");
                    assert!(low[l] <= medians[l] && medians[l] <= high[l], "{N} values, round {round}");
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
