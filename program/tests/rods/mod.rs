//! A small scan: two rods and something like noise, line integrals in a Data Exchange file.

use std::f64::consts::PI;
use std::path::Path;

pub const ROWS: usize = 5;
pub const BINS: usize = 80;
pub const AXIS: f64 = 38.2;

/// Of so many views over half a turn, or a full one.
pub fn scan(path: &Path, views: usize, turn: f64) {
    let value = |k: usize| {
        let (view, row, bin) = (k / (ROWS * BINS), k / BINS % ROWS, (k % BINS) as f64);
        let rod = |x: f64, y: f64| {
            let angle = turn * view as f64 / views as f64;
            let s = bin - AXIS - x * angle.cos() - y * angle.sin();
            (-s * s / 30.0).exp() * (1.0 + 0.1 * row as f64)
        };
        (rod(15.0, 3.0) + 0.5 * rod(-9.0, 12.0) + (k * 7 % 11) as f64 * 1e-3) as f32
    };
    let values: Vec<f32> = (0..views * ROWS * BINS).map(value).collect();
    let file = hdf5_metno::File::create(path).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let data = exchange.new_dataset::<f32>().shape([views, ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&values).expect("values");
    let degrees: Vec<f64> = (0..views).map(|view| (turn / PI * 180.0) * view as f64 / views as f64).collect();
    let theta = exchange.new_dataset::<f64>().shape(views).create("theta").expect("a dataset");
    theta.write_raw(&degrees).expect("angles");
}
