//! Where a line is inside of simple bodies, without branches, so that loops over lines are vectorised.

/// Interval of t with |a + t b| <= 1; where it is empty, the first end is not below the second.
#[inline(always)]
pub(super) fn slab(a: f64, b: f64) -> [f64; 2] {
    // b = 0 gives both ends an infinity: of different signs inside, of the same outside.
    let (p, q) = ((-1.0 - a) / b, (1.0 - a) / b);
    [p.min(q), p.max(q)]
}

/// Interval of t with sum of (a + t b)^2 <= 1, in the same way.
#[inline(always)]
pub(super) fn unit_ball<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; 2] {
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    for d in 0..D {
        aa += a[d] * a[d];
        ab += a[d] * b[d];
        bb += b[d] * b[d];
    }
    let root = (ab * ab - bb * (aa - 1.0)).max(0.0).sqrt();
    let everywhere = if aa <= 1.0 { f64::INFINITY } else { f64::NEG_INFINITY };
    if bb > 0.0 { [(-ab - root) / bb, (-ab + root) / bb] } else { [-everywhere, everywhere] }
}

/// Where two intervals overlap.
#[inline(always)]
pub(super) fn both([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
    [a.max(c), b.min(d)]
}
