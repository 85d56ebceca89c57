//! How blocks are shared out.

use std::ops::Range;

/// Runs of blocks that follow each other, in their order, which processes take one after the other: large ones first, so that little
/// begins and ends, and single ones last, so that all end together. One process takes what follows each other at once.
pub fn shares(blocks: &[usize], processes: usize) -> Vec<Range<usize>> {
    let (mut left, mut shares) = (blocks.len(), Vec::new());
    for run in blocks.chunk_by(|a, b| a + 1 == *b) {
        let mut run = run[0]..run[0] + run.len();
        while !run.is_empty() {
            let fair = if processes == 1 { run.len() } else { left / (2 * processes) };
            let count = fair.clamp(1, run.len());
            shares.push(run.start..run.start + count);
            run.start += count;
            left -= count;
        }
    }
    shares
}

/// Slices of a block, at most: so many are made anew where a run ended early.
const BLOCK: usize = 128;
/// At least: fewer have more neighbours than slices.
const SMALL: usize = 8;
/// Blocks that each process should have, so that all end together.
const EACH: usize = 4;

/// Slices of a block for so many slices and processes: a power of two, so that chunks of files end where blocks do.
pub fn block(slices: usize, processes: usize) -> usize {
    let fair = slices / (EACH * processes).max(1);
    if processes == 1 || fair >= BLOCK { BLOCK } else { (fair + 1).next_power_of_two().div_euclid(2).max(SMALL) }
}

/// One of several equal parts of so many blocks; parts are counted from 1.
pub fn part([which, of]: [usize; 2], blocks: usize) -> Range<usize> {
    (which - 1) * blocks / of..which * blocks / of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_share() {
        for blocks in [vec![], (0..7).collect(), vec![0, 1, 2, 5, 6, 9], (3..300).collect::<Vec<_>>()] {
            for processes in [1, 2, 3, 7, 20] {
                let shares = shares(&blocks, processes);
                assert_eq!(shares.iter().cloned().flatten().collect::<Vec<_>>(), blocks);
                assert!(processes == 1 || blocks.len() < processes || shares.len() >= processes);
                assert!(processes == 1 || shares.iter().all(|s| s.len() <= 1.max(blocks.len() / (2 * processes))));
            }
        }
        assert_eq!(shares(&[0, 1, 2, 4], 1), [0..3, 4..5]);
    }

    #[test]
    fn every_process_has_blocks() {
        for (slices, processes, expected) in
            [(2048, 1, 128), (100, 1, 128), (2048, 4, 128), (2048, 8, 64), (2048, 9, 32), (8192, 400, 8), (7, 3, 8)]
        {
            assert_eq!(block(slices, processes), expected, "{slices} slices, {processes} processes");
        }
    }

    #[test]
    fn parts_are_all() {
        for (blocks, of) in [(16, 3), (2, 5), (0, 1)] {
            let parts = (1..=of).flat_map(|k| part([k, of], blocks));
            assert!(parts.eq(0..blocks));
        }
    }
}
