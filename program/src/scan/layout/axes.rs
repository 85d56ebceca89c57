//! What the axes of a NeXus group (`axes`, a name for each dimension) say of frames in it.

use crate::scan::terms::{self, is_angle};
use crate::scan::tree::Found;
use crate::scan::units::texts;
use hdf5_metno::Group;

/// Names of three axes of the group that a dataset is in, if it says so.
fn axes(of: &Group, stack: &Found) -> Option<[String; 3]> {
    stack.paths.iter().find_map(|path| {
        let (group, name) = path.rsplit_once('/')?;
        let group = if group.is_empty() { of.clone() } else { of.group(group).ok()? };
        let signal = group.attr("signal").ok().and_then(|signal| texts(&signal).into_iter().next());
        // As older files have it, the dataset has the attribute, and says so by a number.
        if signal.is_some_and(|signal| signal != name) {
            return None;
        }
        texts(&*group.attr("axes").ok()?).try_into().ok()
    })
}

/// Whether a stack holds sinograms, (rows, views, bins).
pub fn are_sinograms(of: &Group, stack: &Found) -> bool {
    axes(of, stack).is_some_and(|[first, second, _]| !is_angle(&first) && is_angle(&second))
}

/// Whether it is a volume, of which no axis is an angle and all are places.
pub fn are_of_volume(of: &Group, stack: &Found) -> bool {
    let place = |name: &String| {
        let words = terms::words(name);
        words.iter().any(|word| ["voxel", "x", "y", "z"].contains(&word.as_str()))
            && words.iter().all(|word| word != "detector")
    };
    axes(of, stack).is_some_and(|axes| axes.iter().all(place))
}
