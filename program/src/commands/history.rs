//! What the iterations of a run found, which worked on some of its slices at a time, in some processes.

use crate::team::Team;
use anyhow::Result;
use isocenter::ct::Iterated;
use std::collections::BTreeSet;

/// Bytes of an iteration.
const EACH: usize = 4 * size_of::<f64>();

/// Iterations of slices that were worked on apart, summed: those of slices that ended earlier count as they were then.
pub fn together(parts: &[Vec<Iterated>]) -> Vec<Iterated> {
    let all: BTreeSet<usize> = parts.iter().flatten().map(|found| found.iteration).collect();
    let sum = |iteration: usize| {
        let mut sum = Iterated { iteration, objective: 0.0, gap: 0.0, slices: 0 };
        for part in parts {
            let so_far = part.partition_point(|found| found.iteration <= iteration);
            let Some(last) = part[..so_far].last() else { continue };
            sum.objective += last.objective;
            sum.gap += last.gap;
            sum.slices += if last.iteration == iteration { last.slices } else { 0 };
        }
        sum
    };
    all.into_iter().map(sum).collect()
}

/// Those of all processes, at the first of them: all of them call this.
pub fn gathered(team: &dyn Team, own: Vec<Iterated>) -> Result<Vec<Iterated>> {
    if team.size() == 1 {
        return Ok(own);
    }
    let bytes: Vec<u8> = own.iter().flat_map(written).collect();
    let lengths = team.gathered(bytes.len() as f64)?;
    let mut shared = team.shared(bytes.len())?;
    shared.own().copy_from_slice(&bytes);
    team.meet()?;
    if team.rank() > 0 {
        return Ok(own);
    }
    let mut parts = vec![own];
    for (rank, length) in lengths.iter().enumerate().skip(1).filter(|(_, length)| **length > 0.0) {
        let mut bytes = vec![0; *length as usize];
        let count = bytes.len();
        shared.read(rank, 0, count as u64, count, &mut bytes)?;
        parts.push(bytes.as_chunks::<EACH>().0.iter().map(read).collect());
    }
    Ok(together(&parts))
}

fn written(found: &Iterated) -> impl Iterator<Item = u8> {
    let Iterated { iteration, objective, gap, slices } = *found;
    [iteration as f64, objective, gap, slices as f64].into_iter().flat_map(f64::to_le_bytes)
}

fn read(bytes: &[u8; EACH]) -> Iterated {
    let number = |k: usize| f64::from_le_bytes(bytes.as_chunks().0[k]);
    Iterated { iteration: number(0) as usize, objective: number(1), gap: number(2), slices: number(3) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(iteration: usize, objective: f64, slices: usize) -> Iterated {
        Iterated { iteration, objective, gap: f64::INFINITY, slices }
    }

    /// Four slices to the third iteration, and two more that end after the second.
    #[test]
    fn parts_of_a_volume() {
        let parts =
            [vec![found(0, 8.0, 4), found(1, 4.0, 4), found(2, 2.0, 3)], vec![found(0, 1.0, 2), found(1, 0.5, 2)]];
        assert_eq!(together(&parts), [found(0, 9.0, 6), found(1, 4.5, 6), found(2, 2.5, 3)]);
        assert_eq!(together(&[]), []);
        for one in &parts[0] {
            let bytes: Vec<u8> = written(one).collect();
            assert_eq!(read(&bytes.as_chunks().0[0]), *one);
        }
    }
}
