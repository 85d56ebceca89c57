use super::*;

type C = Complex<f64>;

const GRIDS: [[usize; 3]; 3] = [[1, 9, 13], [4, 5, 6], [3, 1, 17]];

fn picture(count: usize, seed: usize) -> Vec<C> {
    (0..count).map(|k| C::from_polar(1.0 + ((k * k + seed) as f64 * 0.7).sin(), k as f64 * 1.3 + seed as f64)).collect()
}

/// Squared `[axis][voxel]`, x first.
fn weights(voxels: usize) -> Vec<f64> {
    (0..3 * voxels).map(|k| 0.2 + (k as f64 * 0.37).sin().powi(2)).collect()
}

/// K x by its definition, `[voxel][axis]`, axes of one voxel left out.
fn differences(grid: [usize; 3], w: Option<&[f64]>, x: &[C]) -> Vec<Vec<C>> {
    let [nz, ny, nx] = grid;
    let voxels = nx * ny * nz;
    (0..voxels)
        .map(|i| {
            let at = [i % nx, i / nx % ny, i / nx / ny];
            axes(grid)
                .into_iter()
                .map(|a| {
                    let step = [1, nx, nx * ny][a];
                    let there = at[a] + 1 < [nx, ny, nz][a];
                    let factor = w.map_or(1.0, |w| w[a * voxels + i].sqrt());
                    if there { (x[i + step] - x[i]) * factor } else { C::default() }
                })
                .collect()
        })
        .collect()
}

/// The same of several images, `[voxel][image and axis]`.
fn differences_of(images: usize, grid: [usize; 3], w: Option<&[f64]>, x: &[C]) -> Vec<Vec<C>> {
    let voxels = grid.iter().product();
    let of_each: Vec<_> = x.chunks(voxels).map(|x| differences(grid, w, x)).collect();
    assert_eq!(of_each.len(), images);
    (0..voxels).map(|i| of_each.iter().flat_map(|d| d[i].clone()).collect()).collect()
}

/// p and q `[voxel][image and axis]` of what the fields hold.
fn held(fields: &CpuFields<f64>) -> [Vec<Vec<C>>; 2] {
    let (nx, of_voxel) = (fields.grid[2], fields.images * fields.axes.len());
    let of = |which: usize| {
        (0..fields.grid.iter().product())
            .map(|i: usize| {
                (0..of_voxel)
                    .map(|a| fields.fields[i / nx * 2 * of_voxel * nx + (2 * a + which) * nx + i % nx])
                    .collect()
            })
            .collect()
    };
    [of(0), of(1)]
}

/// Numbers are of size 1 to 10, and each is made in a few steps.
const ROUNDING: f64 = 1e-13;

#[test]
fn duals_rise_and_are_limited() {
    for (grid, images) in GRIDS.into_iter().flat_map(|g| [(g, 1), (g, 3)]) {
        let voxels = grid.iter().product();
        let w = weights(voxels);
        for (w, level) in [None, Some(&*w)].into_iter().flat_map(|w| Level::available().map(move |l| (w, l))) {
            let mut fields = CpuFields::<f64>::new(level, grid, images).expect("memory");
            let mut expected = [vec![vec![C::default(); images * fields.axes.len()]; voxels], Vec::new()];
            expected[1] = expected[0].clone();
            for seed in 0..3 {
                let x = picture(images * voxels, seed);
                let raise = Raise { keep: 0.9, step: 0.3, momentum: 0.4 };
                fields.raise(w, raise, &x);
                let d = differences_of(images, grid, w, &x);
                for i in 0..voxels {
                    let moved: Vec<C> = expected[1][i].iter().zip(&d[i]).map(|(q, d)| q * 0.9 + d * 0.3).collect();
                    let length = moved.iter().map(|m| m.norm_sqr()).sum::<f64>().sqrt();
                    for (a, m) in moved.iter().enumerate() {
                        let p = m / length.max(1.0);
                        expected[1][i][a] = p + (p - expected[0][i][a]) * 0.4;
                        expected[0][i][a] = p;
                    }
                }
            }
            let now = held(&fields);
            let apart = now.iter().zip(&expected).flat_map(|(a, b)| a.iter().zip(b)).flat_map(|(a, b)| a.iter().zip(b));
            assert!(apart.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) < ROUNDING, "{level:?} {grid:?}");
        }
    }
}

/// Re of (K x) . q is Re of x . K^H q.
#[test]
fn back_is_the_transpose() {
    for (grid, images) in GRIDS.into_iter().flat_map(|g| [(g, 1), (g, 3)]) {
        let voxels: usize = grid.iter().product();
        let (w, all) = (weights(voxels), images * voxels);
        for (w, level) in [None, Some(&*w)].into_iter().flat_map(|w| Level::available().map(move |l| (w, l))) {
            let mut fields = CpuFields::<f64>::new(level, grid, images).expect("memory");
            fields.raise(w, Raise { keep: 0.0, step: 0.2, momentum: 0.0 }, &picture(all, 1));
            let [_, q] = held(&fields);
            let (x, zeros, mut out) = (picture(all, 2), vec![C::default(); all], vec![C::default(); all]);
            fields.back(w, -1.0, &zeros, &mut out);
            let d = differences_of(images, grid, w, &x);
            let left: f64 = d.iter().flatten().zip(q.iter().flatten()).map(|(d, q)| (d * q.conj()).re).sum();
            let right: f64 = x.iter().zip(&out).map(|(x, o)| (x * o.conj()).re).sum();
            assert!((left - right).abs() < ROUNDING * all as f64, "{level:?} {grid:?}: {left} {right}");
        }
    }
}

#[test]
fn variation_is_the_sum_of_lengths() {
    for (grid, huber) in GRIDS.into_iter().flat_map(|g| [(g, 0.0), (g, 0.7)]) {
        let voxels: usize = grid.iter().product();
        let w = weights(voxels);
        for (w, images) in [(None, 1), (Some(&*w), 1), (None, 3), (Some(&*w), 3)] {
            let x = picture(images * voxels, 5);
            let fields = CpuFields::<f64>::new(Level::detect(), grid, images).expect("memory");
            let lengths = differences_of(images, grid, w, &x)
                .into_iter()
                .map(|d| d.iter().map(|d| d.norm_sqr()).sum::<f64>().sqrt());
            let of = |l: f64| if l < huber { l * l / 2.0 / huber } else { l - huber / 2.0 };
            let expected: f64 = lengths.map(of).sum();
            let found = fields.variation(w, huber, &x).expect("a sum");
            assert!((found - expected).abs() < ROUNDING * x.len() as f64, "{grid:?}: {found} {expected}");
        }
    }
}
