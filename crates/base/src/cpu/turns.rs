//! Sines and cosines of angles in turns.

use super::simd::{Real, Vector};

/// Minimax polynomials in the square of x, |x| <= 1/2, lowest power first: sin(pi x) / x and cos(pi x).
struct Polynomials {
    sine: &'static [f64],
    cosine: &'static [f64],
}

/// To 7e-9.
const SINGLE: Polynomials = Polynomials {
    sine: &[3.1415926400772034, -5.167710076668315, 2.550077386528912, -0.5982904112834275, 0.07765591227601387],
    cosine: &[
        0.999999999779154,
        -4.934802136928946,
        4.058709154763134,
        -1.3352119493905503,
        0.2349370685950865,
        -0.024395932097550446,
    ],
};

/// To 4e-18.
const DOUBLE: Polynomials = Polynomials {
    sine: &[
        std::f64::consts::PI,
        -5.167712780049969,
        2.5501640398773007,
        -0.5992645293189447,
        0.0821458865731029,
        -0.007370430505916944,
        0.0004662998161898394,
        -2.1903497074626018e-05,
        7.697826768224191e-07,
    ],
    cosine: &[
        1.0,
        -4.934802200544676,
        4.058712126416497,
        -1.335262768843447,
        0.23533063012953284,
        -0.025806888737002202,
        0.0019295562724817132,
        -0.00010456655338748738,
        4.149564353942586e-06,
    ],
};

/// The nearest whole number, for |v| below 2^22 (f32) or 2^51 (f64).
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn nearest<T: Real, V: Vector<Element = T>>(v: V) -> V {
    // From here on the distance of numbers is 1.
    let large = T::of(0.75 / T::UNIT);
    // SAFETY: by the caller's contract.
    unsafe { v.add(V::splat(large)).sub(V::splat(large)) }
}

/// cos(2 pi t) and sin(2 pi t), |t| <= 1/2, to about 6 units of round-off.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub unsafe fn cos_sin<T: Real, V: Vector<Element = T>>(t: V) -> (V, V) {
    let Polynomials { sine, cosine } = if size_of::<T>() == size_of::<f32>() { &SINGLE } else { &DOUBLE };
    // SAFETY: by the caller's contract.
    unsafe {
        let square = t.mul(t);
        // Half the angle lies in a quarter turn either way, so that there are no cases.
        let (half_sine, half_cosine) = (t.mul(polynomial(sine, square)), polynomial(cosine, square));
        let cosine = half_cosine.mul(half_cosine).sub(half_sine.mul(half_sine));
        (cosine, half_sine.add(half_sine).mul(half_cosine))
    }
}

/// The same of a number, |t| <= 1/2, to 1e-8: loops over it are vectorised by the compiler.
#[inline(always)]
pub fn cos_sin_scalar(t: f64) -> (f64, f64) {
    let square = t * t;
    let sum = |terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * square + term);
    let (half_sine, half_cosine) = (t * sum(SINGLE.sine), sum(SINGLE.cosine));
    (half_cosine * half_cosine - half_sine * half_sine, 2.0 * half_sine * half_cosine)
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn polynomial<T: Real, V: Vector<Element = T>>(terms: &[f64], x: V) -> V {
    // SAFETY: by the caller's contract.
    unsafe {
        let mut sum = V::splat(T::of(terms[terms.len() - 1]));
        for term in terms[..terms.len() - 1].iter().rev() {
            sum = sum.fma(x, V::splat(T::of(*term)));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::level::Level;
    use crate::cpu::simd::{Kernel, dispatch};

    struct Errors<'a>(&'a mut f64);

    impl<T: Real> Kernel<T> for Errors<'_> {
        unsafe fn run<V: Vector<Element = T>>(self) {
            let mut lanes = [[T::ZERO; 16]; 2];
            for i in -5000..=5000 {
                let turns = T::of(i as f64 / 10000.0);
                // SAFETY: arrays hold the widest vector; instructions by the caller's contract.
                unsafe {
                    let (c, s) = cos_sin(V::splat(turns));
                    c.store(lanes[0].as_mut_ptr());
                    s.store(lanes[1].as_mut_ptr());
                }
                let (s, c) = (std::f64::consts::TAU * turns.wide()).sin_cos();
                let error = (lanes[0][0].wide() - c).abs().max((lanes[1][V::LANES - 1].wide() - s).abs());
                *self.0 = self.0.max(error / T::UNIT);
            }
        }
    }

    /// The half angle's sine and cosine are right to 2 to 3 units each; squares and products double that at most, and round.
    #[test]
    fn sines_are_right_to_a_few_units() {
        for level in Level::available() {
            let mut worst = [0.0; 2];
            dispatch::<f32, _>(level, Errors(&mut worst[0]));
            dispatch::<f64, _>(level, Errors(&mut worst[1]));
            assert!(worst.iter().all(|w| *w < 8.0), "{worst:?} at {level:?}");
        }
        for i in -5000..=5000 {
            let turns = f64::from(i) / 10000.0;
            let ((c, s), (sine, cosine)) = (cos_sin_scalar(turns), (std::f64::consts::TAU * turns).sin_cos());
            assert!((c - cosine).abs().max((s - sine).abs()) < 3e-8, "{turns}");
        }
    }
}
