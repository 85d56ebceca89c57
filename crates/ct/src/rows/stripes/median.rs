//! Medians over a window of neighbouring bins.

/// Ranks, or views, that are filtered side by side.
pub(super) const LANES: usize = 16;

/// The place of 0..n that a window sees at `k`, which may lie beyond either end: there values go on in mirror image, the end repeated.
pub(super) fn mirrored(k: isize, n: usize) -> usize {
    let k = k.rem_euclid(2 * n as isize) as usize;
    if k < n { k } else { 2 * n - 1 - k }
}

/// Replaces `leaving`, which is in the window, by `entering`; the window stays in rising order.
#[inline(always)]
fn replace(window: &mut [[f32; LANES]], leaving: &[f32; LANES], entering: &[f32; LANES]) {
    let mut below = [f32::NEG_INFINITY; LANES];
    for i in 0..window.len() {
        let next = if i + 1 < window.len() { window[i + 1] } else { [f32::INFINITY; LANES] };
        let here = &mut window[i];
        for l in 0..LANES {
            let without = if here[l] < leaving[l] { here[l] } else { next[l] };
            let raised = if below[l] > entering[l] { below[l] } else { entering[l] };
            here[l] = if raised < without { raised } else { without };
            below[l] = without;
        }
    }
}

/// Median over `window` bins (of an even number the upper one, the window reaching one bin farther down) at each bin, for lanes side by
/// side: `read` gives a bin's lanes, `write` takes them. All values are finite; `room` holds `window` vectors.
#[inline(always)]
pub(super) fn along_bins(
    bins: usize,
    room: &mut [[f32; LANES]],
    read: impl Fn(usize) -> [f32; LANES],
    mut write: impl FnMut(usize, [f32; LANES]),
) {
    let window = room.len();
    let before = (window / 2) as isize;
    let at = |k: isize| read(mirrored(k, bins));
    room.fill([f32::INFINITY; LANES]);
    for k in 0..window as isize {
        replace(room, &[f32::INFINITY; LANES], &at(k - before));
    }
    for bin in 0..bins as isize {
        write(bin as usize, room[window / 2]);
        replace(room, &at(bin - before), &at(bin - before + window as isize));
    }
}

/// The same of one list; `sorted` has room for the window and one more.
pub(super) fn of_list(list: &[f64], window: usize, sorted: &mut Vec<f64>, medians: &mut [f64]) {
    let (bins, before) = (list.len(), (window / 2) as isize);
    let at = |k: isize| list[mirrored(k - before, bins)];
    sorted.clear();
    sorted.extend((0..window as isize).map(at));
    sorted.sort_unstable_by(f64::total_cmp);
    for (bin, median) in medians.iter_mut().enumerate() {
        *median = sorted[window / 2];
        let place = |sorted: &[f64], v: f64| sorted.partition_point(|s| s.total_cmp(&v).is_lt());
        let (leaving, entering) = (at(bin as isize), at(bin as isize + window as isize));
        sorted.remove(place(sorted, leaving));
        sorted.insert(place(sorted, entering), entering);
    }
}
