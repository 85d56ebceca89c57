//! Which pairs of crystals are measured, and what is measured of them besides what each crystal detects.

use isocenter_base::cpu::buffer::{Plain, filled, reserved};
use isocenter_base::error::{Result, fail};

/// Where a crystal is: its module, and its number among those of the module.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) module: u32,
    pub(crate) element: u32,
}

// SAFETY: two whole numbers; any bits are some.
unsafe impl Plain for Member {}

/// Most modules of a scanner.
pub const MAX_MODULES: usize = 1 << 14;
/// Most groups of pairs of modules.
pub const MAX_GROUPS: usize = 1 << 26;

/// Efficiencies of pairs of crystals, by groups of pairs of modules that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Of each crystal.
    members: Vec<Member>,
    modules: usize,
    /// `[module][other module]`; 0: the pair is not measured, else the number of its group, from 1 on.
    groups: Vec<u32>,
    /// Elements of either module that a group has values for; 1 of groups that have one for all.
    side: usize,
    /// `[group][element of the module with the larger number][element of the other]`
    values: Vec<f32>,
}

impl Pairs {
    /// Modules of all crystals, numbered by those from 0 on; groups `[module][other module]`, the same both ways; and values `[group][side][side]`, of which the first side is that of the module with
    /// the larger number, and within a module of the crystal with the larger number.
    pub fn new(modules: &[u32], groups: Vec<u32>, (side, values): (usize, Vec<f32>)) -> Result<Self> {
        let count = groups.len().isqrt();
        let mut sizes: Vec<u32> = filled(count, 0)?;
        let mut members = reserved(modules.len())?;
        for (k, module) in modules.iter().enumerate() {
            let Some(size) = sizes.get_mut(*module as usize) else {
                fail!(OutOfRange, "modules[{k}] is {module}; groups are of {count} modules, counted from 0");
            };
            if side > 1 && *size as usize >= side {
                fail!(
                    OutOfRange,
                    "module {module} has more than {side} crystals; efficiencies are of {side} elements of a module"
                );
            }
            // One value for all is that of element 0.
            members.push(Member { module: *module, element: if side > 1 { *size } else { 0 } });
            *size += 1;
        }
        let known = values.len() / (side * side);
        for (k, group) in groups.iter().enumerate() {
            let (m, n) = (k / count, k % count);
            if *group as usize > known {
                fail!(
                    OutOfRange,
                    "groups[{m}, {n}] is {group}; there are efficiencies of {known} groups, counted from 1"
                );
            }
            let other = groups[n * count + m];
            if *group != other {
                fail!(OutOfRange, "groups[{m}, {n}] is {group}, and groups[{n}, {m}] is {other}; a pair has one group");
            }
        }
        if groups.iter().all(|group| *group == 0) {
            fail!(OutOfRange, "groups are 0 everywhere: no pair of modules is measured");
        }
        if let Some(k) = values.iter().position(|v| !(v.is_finite() && *v >= 0.0)) {
            let at = [k / (side * side), k / side % side, k % side];
            fail!(OutOfRange, "efficiencies{at:?} is {}; it must be at least 0", values[k]);
        }
        Ok(Self { members, modules: count, groups, side, values })
    }

    /// Of a pair of crystals; 0: it is not measured.
    #[inline(always)]
    pub(crate) fn efficiency(&self, a: usize, b: usize) -> f32 {
        let (a, b) = (self.members[a], self.members[b]);
        let (first, second) = if a > b { (a, b) } else { (b, a) };
        match self.groups[first.module as usize * self.modules + second.module as usize] {
            0 => 0.0,
            group => {
                let row = (group as usize - 1) * self.side + first.element as usize;
                self.values[row * self.side + second.element as usize]
            }
        }
    }

    /// The largest.
    pub(crate) fn largest(&self) -> f32 {
        self.values.iter().copied().fold(0.0, f32::max)
    }

    /// A crystal's module.
    pub(crate) fn module(&self, crystal: usize) -> usize {
        self.members[crystal].module as usize
    }

    /// What all pairs of crystals of two modules have; None where they differ.
    pub(crate) fn common(&self, m: usize, n: usize) -> Option<f32> {
        match self.groups[m * self.modules + n] as usize {
            0 => Some(0.0),
            group if self.side == 1 => Some(self.values[group - 1]),
            _ => None,
        }
    }

    /// Members, groups and values; how many modules, and how many values are in a row.
    pub(crate) fn parts(&self) -> (&[Member], &[u32], &[f32], [usize; 2]) {
        (&self.members, &self.groups, &self.values, [self.modules, self.side])
    }

    /// Bytes of all.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of_val(&self.members[..]) + size_of_val(&self.groups[..]) + size_of_val(&self.values[..])) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three modules of two crystals each, whose numbers alternate; 0 and 2 are not measured.
    #[test]
    fn pairs_are_told_by_their_modules() {
        let modules = [0, 1, 2, 0, 1, 2];
        let groups = vec![3, 1, 0, 1, 0, 2, 0, 2, 0];
        let pairs = Pairs::new(&modules, groups.clone(), (2, (0..12).map(|k| k as f32).collect())).expect("pairs");
        // Elements 0 are crystals 0, 1 and 2. The module with the larger number comes first.
        assert_eq!(pairs.efficiency(0, 4), 2.0);
        assert_eq!(pairs.efficiency(4, 0), 2.0);
        assert_eq!(pairs.efficiency(3, 1), 1.0);
        assert_eq!(pairs.efficiency(5, 1), 4.0 + 2.0);
        assert_eq!((pairs.efficiency(0, 2), pairs.efficiency(5, 3)), (0.0, 0.0));
        // Within a module, the crystal with the larger number.
        assert_eq!((pairs.efficiency(0, 3), pairs.efficiency(3, 0)), (8.0 + 2.0, 8.0 + 2.0));
        let plain = Pairs::new(&modules, groups, (1, vec![0.5, 2.0, 0.25])).expect("pairs");
        assert_eq!([(0, 4), (5, 1), (2, 0), (0, 3)].map(|(a, b)| plain.efficiency(a, b)), [0.5, 2.0, 0.0, 0.25]);
        assert_eq!((plain.common(0, 1), plain.common(2, 0), pairs.common(0, 1)), (Some(0.5), Some(0.0), None));
        assert_eq!((plain.module(5), plain.largest()), (2, 2.0));
    }

    #[test]
    fn what_are_no_pairs_is_refused() {
        let of = |modules: &[u32], groups: &[u32], side: usize, values: &[f32]| {
            Pairs::new(modules, groups.to_vec(), (side, values.to_vec())).expect_err("refused").message
        };
        assert_eq!(of(&[0, 2], &[0, 1, 1, 0], 1, &[1.0]), "modules[1] is 2; groups are of 2 modules, counted from 0");
        assert_eq!(
            of(&[0, 1], &[0, 2, 2, 0], 1, &[1.0]),
            "groups[0, 1] is 2; there are efficiencies of 1 groups, counted from 1"
        );
        assert_eq!(
            of(&[0, 1], &[0, 1, 0, 0], 1, &[1.0]),
            "groups[0, 1] is 1, and groups[1, 0] is 0; a pair has one group"
        );
        assert_eq!(of(&[0, 1], &[0; 4], 1, &[1.0]), "groups are 0 everywhere: no pair of modules is measured");
        assert_eq!(of(&[0, 1], &[0, 1, 1, 0], 1, &[-1.0]), "efficiencies[0, 0, 0] is -1; it must be at least 0");
        assert_eq!(
            of(&[0, 1, 1, 1], &[0, 1, 1, 0], 2, &[1.0; 4]),
            "module 1 has more than 2 crystals; efficiencies are of 2 elements of a module"
        );
    }
}
