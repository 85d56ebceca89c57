//! Rows of voxels.

/// Adds to each voxel `value` times the part of it that lies between two ends; voxel j reaches from j to j + 1.
pub fn add_segment(row: &mut [f64], [enter, leave]: [f64; 2], value: f64) {
    let (enter, leave) = (enter.max(0.0), leave.min(row.len() as f64));
    if enter >= leave {
        return;
    }
    for (j, voxel) in row.iter_mut().enumerate().take(leave.ceil() as usize).skip(enter as usize) {
        *voxel += value * (leave.min((j + 1) as f64) - enter.max(j as f64));
    }
}
