//! Iterative methods in f64, slice by slice, by the formulas of `isoc_ct_algorithm`, over Joseph's weights one by one.

use super::joseph;
use isocenter::ct::{Algorithm, Geometry, Iterative, Order};
use std::f64::consts::PI;

/// The weights of one slice's rays, view after view and bin after bin.
pub struct Matrix {
    rows: Vec<Vec<(usize, f64)>>,
    pixels: usize,
    bins: usize,
}

impl Matrix {
    pub fn new(g: &Geometry) -> Self {
        let mut rows = vec![Vec::new(); g.views() * g.bins];
        for v in 0..g.views() {
            for i in 0..g.ny {
                for j in 0..g.nx {
                    for k in 0..g.bins {
                        let w = joseph(g, v, i, j, k);
                        if w > 0.0 {
                            rows[v * g.bins + k].push((i * g.nx + j, w));
                        }
                    }
                }
            }
        }
        Self { rows, pixels: g.ny * g.nx, bins: g.bins }
    }

    /// Of weights that are not Joseph's, one by one.
    pub fn dense(g: &Geometry, weight: impl Fn(usize, usize) -> f64) -> Self {
        let (pixels, bins) = (g.ny * g.nx, g.bins);
        let row = |ray: usize| (0..pixels).map(|pixel| (pixel, weight(ray, pixel))).collect();
        Self { rows: (0..g.views() * bins).map(row).collect(), pixels, bins }
    }

    fn ray(&self, r: usize, x: &[f64]) -> f64 {
        self.rows[r].iter().map(|(p, w)| w * x[*p]).sum()
    }

    /// A x over some views; 0 elsewhere.
    pub fn forward(&self, views: &[usize], x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.rows.len()];
        self.rays(views).for_each(|r| y[r] = self.ray(r, x));
        y
    }

    /// A^T y over some views.
    pub fn adjoint(&self, views: &[usize], y: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.pixels];
        for r in self.rays(views) {
            self.rows[r].iter().for_each(|(p, w)| x[*p] += w * y[r]);
        }
        x
    }

    fn rays(&self, views: &[usize]) -> impl Iterator<Item = usize> {
        let bins = self.bins;
        views.iter().flat_map(move |v| v * bins..(v + 1) * bins)
    }
}

/// 0 below a thousandth of a pixel's side.
fn inverse(g: &Geometry, sums: &[f64]) -> Vec<f64> {
    sums.iter().map(|s| if *s >= 1e-3 * g.pixel_size { 1.0 / s } else { 0.0 }).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Subset s has every S-th view by angle modulo pi; they take turns `stride` apart.
fn subsets(g: &Geometry, count: usize) -> Vec<Vec<usize>> {
    let mut views: Vec<usize> = (0..g.views()).collect();
    if count == 1 {
        return vec![views];
    }
    views.sort_by(|a, b| g.angles[*a].rem_euclid(PI).total_cmp(&g.angles[*b].rem_euclid(PI)));
    let golden = count as f64 * 0.618_033_988_749_894_9;
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let apart = |n: &usize| (*n as f64 - golden).abs();
    let coprime = (1..=count).filter(|n| gcd(*n, count) == 1);
    let stride = coprime.min_by(|a, b| apart(a).total_cmp(&apart(b))).expect("1 is one");
    (0..count).map(|t| views.iter().skip(t * stride % count).step_by(count).copied().collect()).collect()
}

/// 1 inside the mask.
fn mask(g: &Geometry, radius: f64) -> Vec<f64> {
    let (cx, cy) = ((g.nx as f64 - 1.0) / 2.0, (g.ny as f64 - 1.0) / 2.0);
    let largest = (radius * g.nx.min(g.ny) as f64 / 2.0).powi(2);
    let inside = |p: usize| {
        let (y, x) = ((p / g.nx) as f64 - cy, (p % g.nx) as f64 - cx);
        radius == 0.0 || x * x + y * y <= largest
    };
    (0..g.ny * g.nx).map(|p| f64::from(u8::from(inside(p)))).collect()
}

/// One slice from its sinogram, (view, bin), and each iteration's objective.
pub fn slice(
    matrix: &Matrix,
    g: &Geometry,
    algorithm: Algorithm,
    o: &Iterative,
    data: &[f64],
    start: Option<&[f64]>,
) -> (Vec<f64>, Vec<f64>) {
    let mask = mask(g, o.mask_radius);
    let begin = f64::from(u8::from(algorithm == Algorithm::Mlem));
    let [lower, upper] = o.bounds;
    let bounded = |v: f64| v.max(lower).min(upper);
    let mut x: Vec<f64> = (0..mask.len()).map(|p| mask[p] * bounded(start.map_or(begin, |s| s[p]))).collect();
    let all: Vec<usize> = (0..g.views()).collect();
    let mut history = Vec::new();
    if algorithm == Algorithm::Cgls {
        let gradient = |r: &[f64], x: &[f64]| -> Vec<f64> {
            let back = matrix.adjoint(&all, r);
            (0..x.len()).map(|p| mask[p] * (back[p] - o.regularisation * x[p])).collect()
        };
        let mut r: Vec<f64> = matrix.forward(&all, &x).iter().zip(data).map(|(a, b)| b - a).collect();
        let mut s = gradient(&r, &x);
        let (mut d, mut square) = (s.clone(), dot(&s, &s));
        let first = square;
        for _ in 0..o.iterations {
            if square == 0.0 {
                break;
            }
            history.push(0.5 * (dot(&r, &r) + o.regularisation * dot(&x, &x)));
            let q = matrix.forward(&all, &d);
            let step = square / (dot(&q, &q) + o.regularisation * dot(&d, &d));
            (0..x.len()).for_each(|p| x[p] += step * d[p]);
            (0..r.len()).for_each(|k| r[k] -= step * q[k]);
            s = gradient(&r, &x);
            let next = dot(&s, &s);
            (0..x.len()).for_each(|p| d[p] = s[p] + next / square * d[p]);
            square = next;
            if square <= o.tolerance.powi(2) * first {
                break;
            }
        }
        return (x, history);
    }
    let parts = subsets(g, o.subsets);
    let rays = inverse(g, &matrix.forward(&all, &mask));
    let counted: Vec<f64> =
        rays.iter().map(|r| f64::from(u8::from(algorithm == Algorithm::Sirt || *r > 0.0))).collect();
    let pixels: Vec<Vec<f64>> = parts.iter().map(|v| inverse(g, &matrix.adjoint(v, &counted))).collect();
    if algorithm == Algorithm::Mlem && start.is_none() {
        // What no ray meets is nothing.
        (0..x.len()).filter(|p| pixels.iter().all(|of| of[*p] == 0.0)).for_each(|p| x[p] = 0.0);
    }
    for _ in 0..o.iterations {
        let mut objective = 0.0;
        for (views, pixels) in parts.iter().zip(&pixels) {
            let seen = matrix.forward(views, &x);
            let mut y = vec![0.0; data.len()];
            for r in matrix.rays(views) {
                let (b, e) = (data[r], seen[r]);
                match algorithm {
                    Algorithm::Sirt => {
                        y[r] = rays[r] * (b - e);
                        objective += 0.5 * y[r] * (b - e);
                    }
                    _ if e > 0.0 && rays[r] > 0.0 => {
                        y[r] = b / e;
                        objective += e - b + if b > 0.0 { b * (b / e).ln() } else { 0.0 };
                    }
                    _ if b > 0.0 && rays[r] > 0.0 => objective = f64::INFINITY,
                    _ => {}
                }
            }
            let back = matrix.adjoint(views, &y);
            for p in (0..x.len()).filter(|p| mask[*p] > 0.0) {
                match algorithm {
                    Algorithm::Sirt if pixels[p] > 0.0 => x[p] = bounded(x[p] + o.relaxation * pixels[p] * back[p]),
                    Algorithm::Sirt => {}
                    _ if pixels[p] > 0.0 => x[p] = bounded(x[p] * pixels[p] * back[p]),
                    _ => {}
                }
            }
        }
        history.push(objective);
    }
    (x, history)
}

/// The volume, slice by slice, and the history, summed over slices.
pub fn reconstruct(
    g: &Geometry,
    algorithm: Algorithm,
    o: &Iterative,
    projections: &[f32],
    start: Option<&[f32]>,
) -> (Vec<f64>, Vec<f64>) {
    let matrix = Matrix::new(g);
    let pixels = g.ny * g.nx;
    let (mut volume, mut sum) = (Vec::new(), Vec::new());
    for z in 0..g.slices {
        let at = |v: usize, k: usize| match g.order {
            Order::Frames => (v * g.rows + g.first_row + z) * g.bins + k,
            Order::Sinograms => ((g.first_row + z) * g.views() + v) * g.bins + k,
        };
        let data: Vec<f64> =
            (0..g.views() * g.bins).map(|r| f64::from(projections[at(r / g.bins, r % g.bins)])).collect();
        let start: Option<Vec<f64>> =
            start.map(|s| s[z * pixels..(z + 1) * pixels].iter().map(|v| f64::from(*v)).collect());
        let (x, history) = slice(&matrix, g, algorithm, o, &data, start.as_deref());
        sum.resize(history.len().max(sum.len()), 0.0);
        sum.iter_mut().zip(&history).for_each(|(s, h)| *s += h);
        volume.extend(x);
    }
    (volume, sum)
}
