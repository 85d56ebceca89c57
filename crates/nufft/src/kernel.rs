//! The spreading function: Kaiser-Bessel, as long as the tolerance needs and no longer.
//!
//! A point at grid coordinate g touches the `width` grid points from `ceil(g - width / 2)` on, along every axis. Each tap's
//! value is its own polynomial in the point's place between grid points, so that all taps are one vector's Horner scheme.
//!
//! Kaiser-Bessel and not the exponential of a semicircle: at the best shape of each it aliases 1.5 to 2 times less for every
//! width and upsampling (a prolate function would gain another 10 to 20 %), it is smooth up to its edge, which keeps the
//! polynomials short, and its Fourier transform is known in closed form.

use isocenter_base::error::{Result, fail};
use std::collections::VecDeque;
use std::f64::consts::PI;
use std::sync::{Mutex, PoisonError};

/// Maximum width of a spreading function, in grid points.
pub const MAX_WIDTH: usize = 16;
/// Upsampling that [`Kernel::new`] takes.
pub const UPSAMPLING: std::ops::RangeInclusive<f64> = 1.1..=4.0;

/// Tolerance, upsampling, dimensions and unit round-off.
type Key = (u64, u64, usize, u64);
/// What was found last: a search takes milliseconds, and a plan makes a dozen, mostly of the same.
static FOUND: Mutex<VecDeque<(Key, Result<Kernel>)>> = Mutex::new(VecDeque::new());
const MAX_FOUND: usize = 64;

/// A spreading function and how to evaluate it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    width: usize,
    beta: f64,
    upsampling: f64,
    degree: usize,
    coefficients: Vec<f64>,
    error: f64,
}

impl Kernel {
    /// The shortest spreading function whose relative l2 error stays below `tolerance`, with fine grids at least `upsampling`
    /// times as long as the image along each of `dims` axes, in arithmetic with unit round-off `unit` (half of `EPSILON`).
    pub fn new(tolerance: f64, upsampling: f64, dims: usize, unit: f64) -> Result<Self> {
        if !UPSAMPLING.contains(&upsampling) {
            let (low, high) = UPSAMPLING.into_inner();
            fail!(OutOfRange, "upsampling is {upsampling}; it must be {low} to {high}");
        }
        // NaN is refused as well.
        if !(tolerance > 0.0 && tolerance < 1.0) {
            fail!(OutOfRange, "tolerance is {tolerance}; it must be above 0 and below 1");
        }
        let key = (tolerance.to_bits(), upsampling.to_bits(), dims, unit.to_bits());
        let list = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kernel)) = list().iter().find(|(k, _)| *k == key) {
            return kernel.clone();
        }
        // Others need not wait.
        let kernel = Self::search(tolerance, upsampling, dims, unit);
        let mut found = list();
        if found.len() == MAX_FOUND {
            found.pop_front();
        }
        found.push_back((key, kernel.clone()));
        kernel
    }

    fn search(tolerance: f64, upsampling: f64, dims: usize, unit: f64) -> Result<Self> {
        // The error falls about so much with every grid point; start one shorter.
        let rate = PI * (1.0 - 1.0 / upsampling).sqrt();
        let first = ((-tolerance.ln() / rate) as usize).saturating_sub(1).clamp(2, MAX_WIDTH);
        let mut reached = (f64::INFINITY, 0.0);
        for width in first..=MAX_WIDTH {
            let best = best_beta(width, upsampling, dims, unit);
            if best.0 <= tolerance {
                let (degree, coefficients) =
                    polynomials(width, best.1, 0.1 * tolerance * lowest_gain(width, best.1, upsampling));
                return Ok(Self { width, beta: best.1, upsampling, degree, coefficients, error: best.0 });
            }
            if best.0 < reached.0 {
                reached = best;
            }
        }
        fail!(
            OutOfRange,
            "tolerance is {tolerance:e}; with upsampling {upsampling}, {dims} dimensions and this precision {:.1e} can be reached",
            reached.0
        )
    }

    /// Grid points touched along each axis.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Shape: phi(x) = I0(beta sqrt(1 - (2 x / width)^2)) / I0(beta) at distance x <= width / 2, in grid points.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// The upsampling that it was made for; a finer grid only lowers the error.
    pub fn upsampling(&self) -> f64 {
        self.upsampling
    }

    /// Expected relative l2 error, rounding included.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Degree of the polynomials.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Coefficients `[degree + 1][width]`, the highest power first: with s = ceil(g - width / 2) the first grid point touched
    /// and z = 2 (s - g) + width - 1 in [-1, 1], tap t (at grid point s + t) is `sum_k coefficients[k][t] z^(degree - k)`.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// phi at distance x, in grid points, by its definition.
    pub fn value(&self, x: f64) -> f64 {
        let u = 2.0 * x / self.width as f64;
        if u.abs() > 1.0 { 0.0 } else { bessel(self.beta * (1.0 - u * u).sqrt()) / bessel(self.beta) }
    }

    /// Fourier transform of phi at a frequency in cycles per grid point.
    pub fn transform(&self, frequency: f64) -> f64 {
        transform(self.width, self.beta, frequency)
    }

    /// What mode n - floor(N / 2), for n = 0 .. N, is multiplied by on the way to or from a fine grid of `grid` points.
    pub fn factors(&self, n: usize, grid: usize) -> Vec<f64> {
        let centre = (n / 2) as f64;
        (0..n).map(|j| 1.0 / self.transform((j as f64 - centre) / grid as f64)).collect()
    }

    /// Points of the fine grid for an axis of n: even, a product of 2, 3, 5 and 7, and room for the function to wrap round.
    pub fn grid_size(&self, n: usize) -> usize {
        let minimum = ((n as f64 * self.upsampling - 1e-9).ceil() as usize).max(2 * self.width);
        smooth(minimum)
    }
}

/// Smallest even number from `minimum` on whose prime factors are 2, 3, 5 and 7.
pub fn smooth(minimum: usize) -> usize {
    let is_smooth = |n: usize| [2, 3, 5, 7].into_iter().fold(n, strip) == 1;
    let mut n = minimum.max(2).next_multiple_of(2);
    while !is_smooth(n) {
        n += 2;
    }
    n
}

/// Smallest multiple of 8 from `minimum` on whose prime factors are 2, 3, 5 and 7: rustfft takes twice as long or more for other
/// lengths of some hundreds.
pub fn fast(minimum: usize) -> usize {
    4 * smooth(minimum.div_ceil(4))
}

fn strip(mut n: usize, p: usize) -> usize {
    while n.is_multiple_of(p) {
        n /= p;
    }
    n
}

/// Modified Bessel function of order 0; every term is positive, so the series loses nothing.
fn bessel(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-18 * sum {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

fn transform(width: usize, beta: f64, frequency: f64) -> f64 {
    width as f64 * shape(width, beta, frequency) / bessel(beta)
}

/// The transform but for what does not depend on the frequency.
fn shape(width: usize, beta: f64, frequency: f64) -> f64 {
    let z = PI * width as f64 * frequency;
    let s = beta * beta - z * z;
    let root = s.abs().sqrt();
    if root < 1e-4 {
        1.0 + s / 6.0
    } else if s > 0.0 {
        root.sinh() / root
    } else {
        root.sin() / root
    }
}

/// Smallest of the transform over the modes, relative to its largest.
fn lowest_gain(width: usize, beta: f64, upsampling: f64) -> f64 {
    shape(width, beta, 0.5 / upsampling) / shape(width, beta, 0.0)
}

/// Lowest error over the shape, and the shape. Neighbouring shapes differ, since the jump at the function's edge aliases with
/// either sign: so all are tried.
fn best_beta(width: usize, upsampling: f64, dims: usize, unit: f64) -> (f64, f64) {
    let classical = PI * width as f64 * (1.0 - 0.5 / upsampling);
    (0..33)
        .map(|k| (0.80 + 0.22 * f64::from(k) / 32.0) * classical)
        .map(|beta| (expected_error(width, beta, upsampling, dims, unit), beta))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or_else(|| unreachable!("there are shapes"))
}

/// Relative l2 error, for samples without structure or for a single one, whichever is worse.
/// Aliasing: mode n gets `phi^(n + p G) / phi^(n)` of its aliases p, all as large as itself; those of a single sample add up with
/// equal or alternating signs, and so do the axes. Rounding: on the fine grid it is of the grid's own size, everywhere the same,
/// and the division by phi^ makes much of it where phi^ is small.
fn expected_error(width: usize, beta: f64, upsampling: f64, dims: usize, unit: f64) -> f64 {
    const MODES: i32 = 48;
    const ALIASES: i32 = 6;
    let at = |f: f64| shape(width, beta, f);
    let mean = 1.0 / f64::from(MODES);
    let dims = dims as f64;
    let (mut incoherent, mut inverse, mut coherent) = (Moments::default(), Moments::default(), [Moments::default(); 2]);
    for k in 0..=MODES {
        let f = 0.5 / upsampling * (f64::from(k) + 0.5).min(f64::from(MODES)) * mean;
        let own = at(f);
        let (mut squares, mut sums) = (0.0, [0.0; 2]);
        for p in 1..=ALIASES {
            let alternating = if p % 2 == 0 { 1.0 } else { -1.0 };
            for alias in [at(f64::from(p) - f) / own, at(f64::from(p) + f) / own] {
                squares += alias * alias;
                sums = [sums[0] + alias, sums[1] + alternating * alias];
            }
        }
        // The last mode by itself; the others have the same share each.
        let share = if k == MODES { LAST_MODE } else { (1.0 - LAST_MODE) * mean };
        incoherent.add(share, squares.sqrt());
        inverse.add(share, 1.0 / own);
        // A point whose taps reach both edges has one of them whole, not two halves.
        let edge = 0.5 / (width as f64 * own);
        coherent[0].add(share, sums[0].abs() + edge);
        coherent[1].add(share, sums[1].abs() + edge);
    }
    let together = coherent.map(|m| dims * m.second + dims * (dims - 1.0) * m.first * m.first);
    let alias = together.into_iter().fold(dims * incoherent.second, f64::max).sqrt();
    let grid: f64 = (0..MODES).map(|k| mean * at(0.5 * (f64::from(k) + 0.5) * mean).powi(2)).sum();
    ALIASING * alias + ROUNDING * unit * (grid * inverse.second).powf(0.5 * dims)
}

/// Mean and mean square.
#[derive(Clone, Copy, Default)]
struct Moments {
    first: f64,
    second: f64,
}

impl Moments {
    fn add(&mut self, share: f64, v: f64) {
        self.first += share * v;
        self.second += share * v * v;
    }
}

/// What the last mode, which has the most error, has of an image of a dozen voxels beyond its share of a long one.
const LAST_MODE: f64 = 1.0 / 24.0;

/// Room for images of few voxels and for samples of few values: 1.1 was seen.
const ALIASING: f64 = 1.25;
/// Rounding of spreading and transforms together, in units of round-off: 8 to 20 was seen, the most with hundreds of samples
/// in one place.
const ROUNDING: f64 = 10.0;

/// Polynomials of the lowest degree that are within `error` of phi, by interpolation at Chebyshev points.
fn polynomials(width: usize, beta: f64, error: f64) -> (usize, Vec<f64>) {
    let phi = |x: f64| bessel(beta * (1.0 - (2.0 * x / width as f64).powi(2)).max(0.0).sqrt()) / bessel(beta);
    // Tap t lies at t + (z + 1 - width) / 2 from the point.
    let tap = |t: usize, z: f64| phi(t as f64 + 0.5 * (z + 1.0 - width as f64));
    let error = error.max(24.0 * f64::EPSILON);
    let highest = width + 4;
    for degree in 2..=highest {
        let columns: Vec<Vec<f64>> = (0..width).map(|t| interpolate(degree, |z| tap(t, z))).collect();
        let worst = (0..width).flat_map(|t| (0..=64).map(move |k| (t, f64::from(k) / 32.0 - 1.0)));
        let worst = worst.map(|(t, z)| (horner(&columns[t], z) - tap(t, z)).abs()).fold(0.0, f64::max);
        if worst <= error || degree == highest {
            let row = |k: usize| columns.iter().map(move |c| c[k]).collect::<Vec<_>>();
            return (degree, (0..=degree).flat_map(row).collect());
        }
    }
    unreachable!("the highest degree is taken as it is")
}

fn horner(coefficients: &[f64], z: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * z + c)
}

/// Coefficients, the highest power first, of the polynomial through f at the Chebyshev points of [-1, 1].
fn interpolate(degree: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let n = degree + 1;
    let angle = |k: usize| PI * (k as f64 + 0.5) / n as f64;
    let values: Vec<f64> = (0..n).map(|k| f(angle(k).cos())).collect();
    // T_j as powers, by T_(j+1) = 2 z T_j - T_(j-1), lowest power first.
    let (mut last, mut this) = (vec![0.0; n], vec![0.0; n]);
    this[0] = 1.0;
    let mut sum = vec![0.0; n];
    for j in 0..n {
        let scale = if j == 0 { 1.0 } else { 2.0 } / n as f64;
        let c: f64 = values.iter().enumerate().map(|(k, v)| v * (j as f64 * angle(k)).cos()).sum::<f64>() * scale;
        sum.iter_mut().zip(&this).for_each(|(s, t)| *s += c * t);
        let factor = if j == 0 { 1.0 } else { 2.0 };
        let next = (0..n).map(|i| factor * if i > 0 { this[i - 1] } else { 0.0 } - last[i]).collect();
        last = std::mem::replace(&mut this, next);
    }
    sum.reverse();
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: f64 = f32::EPSILON as f64 / 2.0;
    const F64: f64 = f64::EPSILON / 2.0;

    fn some() -> Vec<(f64, Kernel)> {
        let mut list = Vec::new();
        for (unit, tolerances) in [(F32, &[1e-2, 1e-4, 1e-5][..]), (F64, &[1e-2, 1e-5, 1e-8, 1e-11][..])] {
            for &tolerance in tolerances {
                for upsampling in [1.5, 2.0] {
                    list.push((tolerance, Kernel::new(tolerance, upsampling, 3, unit).expect("a kernel")));
                }
            }
        }
        list
    }

    #[test]
    fn polynomials_match_the_function() {
        for (tolerance, k) in some() {
            let w = k.width();
            for step in 0..=100 {
                let z = f64::from(step) / 50.0 - 1.0;
                for t in 0..w {
                    let column: Vec<f64> = (0..=k.degree()).map(|p| k.coefficients()[p * w + t]).collect();
                    let d = (horner(&column, z) - k.value(t as f64 + 0.5 * (z + 1.0 - w as f64))).abs();
                    assert!(d <= 0.1 * tolerance, "{k:?}, tap {t} at {z}: {d:.1e}");
                }
            }
        }
    }

    /// Midpoint sums err by the square of the step times the slope at the edge.
    #[test]
    fn the_transform_is_the_functions() {
        const STEPS: usize = 20_000;
        for (_, k) in some() {
            let h = k.width() as f64 / STEPS as f64;
            for frequency in [0.0, 0.1, 0.25, 0.4, 0.61, 1.3] {
                let at = |i: usize| (i as f64 + 0.5) * h - 0.5 * k.width() as f64;
                let sum: f64 = (0..STEPS).map(|i| k.value(at(i)) * (2.0 * PI * frequency * at(i)).cos() * h).sum();
                assert!((sum - k.transform(frequency)).abs() < 1e-7, "{k:?} at {frequency}: {sum}");
            }
        }
    }

    #[test]
    fn widths_are_as_short_as_known() {
        for (tolerance, upsampling, unit, longest) in
            [(1e-5, 2.0, F32, 7), (1e-3, 1.25, F32, 7), (1e-8, 1.25, F64, 15), (1e-12, 2.0, F64, 14)]
        {
            let k = Kernel::new(tolerance, upsampling, 3, unit).expect("a kernel");
            println!("{tolerance:e} {upsampling}: width {}, degree {}, {:.1e}", k.width(), k.degree(), k.error());
            assert!(k.width() <= longest && k.error() <= tolerance, "{k:?}");
        }
    }

    #[test]
    fn out_of_reach_says_what_is_in_reach() {
        let e = Kernel::new(1e-9, 2.0, 3, F32).expect_err("f32 has 7 digits");
        assert!(e.message.contains("can be reached"), "{e}");
        for (tolerance, upsampling) in [(0.0, 2.0), (1.0, 2.0), (f64::NAN, 2.0), (1e-3, 1.0), (1e-3, f64::NAN)] {
            assert!(Kernel::new(tolerance, upsampling, 3, F32).is_err());
        }
    }

    #[test]
    fn grids_are_even_and_smooth() {
        let k = Kernel::new(1e-3, 1.25, 2, F32).expect("a kernel");
        assert_eq!(k.grid_size(128), 160);
        assert_eq!(k.grid_size(1), 2 * k.width());
        assert_eq!([smooth(1), smooth(7), smooth(11), smooth(158), smooth(242)], [2, 8, 12, 160, 250]);
        assert_eq!(smooth(243), 250);
        assert_eq!([fast(1), fast(9), fast(626), fast(1244), fast(2480)], [8, 16, 640, 1280, 2520]);
    }
}
