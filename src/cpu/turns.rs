//! Sines and cosines of angles in turns.

use super::vector::{Real, Vector};

/// Minimax polynomials in the square of x, |x| <= 1/2, lowest power first: sin(pi x) / x and cos(pi x).
struct Polynomials {
    sine: &'static [f64],
    cosine: &'static [f64],
}

/// To 7e-9.
const SINGLE: Polynomials = Polynomials {
    sine: &[
        3.14159264007720340,
        -5.16771007666831483,
        2.55007738652891192,
        -5.98290411283427526e-1,
        7.76559122760138720e-2,
    ],
    cosine: &[
        9.99999999779153992e-1,
        -4.93480213692894587,
        4.05870915476313421,
        -1.33521194939055032,
        2.34937068595086507e-1,
        -2.43959320975504455e-2,
    ],
};

/// To 4e-18.
const DOUBLE: Polynomials = Polynomials {
    sine: &[
        3.14159265358979312,
        -5.16771278004996937,
        2.55016403987730067,
        -5.99264529318944694e-1,
        8.21458865731028998e-2,
        -7.37043050591694362e-3,
        4.66299816189839390e-4,
        -2.19034970746260181e-5,
        7.69782676822419091e-7,
    ],
    cosine: &[
        1.0,
        -4.93480220054467633,
        4.05871212641649670,
        -1.33526276884344708,
        2.35330630129532842e-1,
        -2.58068887370022024e-2,
        1.92955627248171321e-3,
        -1.04566553387487379e-4,
        4.14956435394258569e-6,
    ],
};

/// The nearest whole number, for |v| below 2^22 (f32) or 2^51 (f64).
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn nearest<T: Real, V: Vector<Element = T>>(v: V) -> V {
    // From here on the distance of numbers is 1.
    let large = T::of(0.75 / T::UNIT);
    // SAFETY: by the caller's contract.
    unsafe { v.add(V::splat(large)).sub(V::splat(large)) }
}

/// cos(2 pi t) and sin(2 pi t), |t| <= 1/2, to about 4 units of round-off.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn cos_sin<T: Real, V: Vector<Element = T>>(t: V) -> (V, V) {
    let Polynomials { sine, cosine } = if size_of::<T>() == size_of::<f32>() { &SINGLE } else { &DOUBLE };
    // SAFETY: by the caller's contract.
    unsafe {
        let square = t.mul(t);
        // Half the angle lies in a quarter turn either way, so that there are no cases.
        let (half_sine, half_cosine) = (t.mul(polynomial(sine, square)), polynomial(cosine, square));
        let double = half_sine.add(half_sine);
        (V::splat(T::of(1.0)).sub(double.mul(half_sine)), double.mul(half_cosine))
    }
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
    use crate::cpu::vector::{Kernel, dispatch};

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

    /// The half angle's sine and cosine are right to 1 to 1.5 units each; doubling adds up to 4 of them, and a rounding.
    #[test]
    fn sines_are_right_to_a_few_units() {
        for level in Level::available() {
            let mut worst = [0.0; 2];
            dispatch::<f32, _>(level, Errors(&mut worst[0]));
            dispatch::<f64, _>(level, Errors(&mut worst[1]));
            assert!(worst.iter().all(|w| *w < 6.0), "{worst:?} at {level:?}");
        }
    }
}
