//! Memory that this process may still take, as the system tells.

/// Bytes that can be had without pushing anything out; None where the system does not tell. Control groups, which containers and batch
/// systems limit jobs by, are heeded.
#[cfg(target_os = "linux")]
pub fn available() -> Option<u64> {
    linux::available(std::path::Path::new("/"))
}

/// Bytes that can be had without pushing anything out; None where the system does not tell. What the process may still commit is heeded:
/// Windows promises no memory that neither the machine nor its paging file has.
#[cfg(windows)]
pub fn available() -> Option<u64> {
    windows::status().map(|memory| memory.available.min(memory.may_commit))
}

#[cfg(not(any(target_os = "linux", windows)))]
pub fn available() -> Option<u64> {
    None
}

/// Bytes of memory of the machine; 0 where the system does not tell.
#[cfg(unix)]
pub fn physical() -> u64 {
    // SAFETY: sysconf only reads.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// Bytes of memory of the machine; 0 where the system does not tell.
#[cfg(windows)]
pub fn physical() -> u64 {
    windows::status().map_or(0, |memory| memory.physical)
}

#[cfg(not(any(unix, windows)))]
pub fn physical() -> u64 {
    0
}

#[cfg(windows)]
mod windows {
    /// Windows' MEMORYSTATUSEX; all but the first two fields are bytes. One function and one struct, which cannot change, are less to keep
    /// than a crate with all of the system's.
    #[repr(C)]
    #[derive(Default)]
    pub(super) struct MemoryStatus {
        length: u32,
        /// Percent in use.
        load: u32,
        pub(super) physical: u64,
        pub(super) available: u64,
        /// What the process may have committed, and what is left of it; Windows' names speak of the paging file.
        commit_limit: u64,
        pub(super) may_commit: u64,
        address_space: u64,
        address_space_left: u64,
        /// Always 0.
        extended: u64,
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GlobalMemoryStatusEx(status: *mut MemoryStatus) -> i32;
    }

    pub(super) fn status() -> Option<MemoryStatus> {
        let mut status = MemoryStatus { length: size_of::<MemoryStatus>() as u32, ..Default::default() };
        // SAFETY: it writes the struct, whose length it is told.
        (unsafe { GlobalMemoryStatusEx(&mut status) } != 0).then_some(status)
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_machines_own_memory() {
            let (physical, available) = (super::super::physical(), super::super::available().expect("a number"));
            assert!(physical > 256 << 20 && (1 << 20..=physical).contains(&available), "{available} of {physical}");
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::read_to_string;
    use std::path::{Path, PathBuf};

    /// A version of control groups: where its limits are mounted, and what its files are called.
    struct Version {
        mount: &'static str,
        limit: &'static str,
        usage: &'static str,
        /// In `memory.stat`: file contents kept in memory, which go when memory is asked for.
        cache: &'static str,
    }

    const FIRST: Version = Version {
        mount: "sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        cache: "total_inactive_file",
    };
    const SECOND: Version =
        Version { mount: "sys/fs/cgroup", limit: "memory.max", usage: "memory.current", cache: "inactive_file" };

    /// With the file system's root elsewhere, for tests.
    pub(super) fn available(root: &Path) -> Option<u64> {
        let free = table(&root.join("proc/meminfo"), "MemAvailable:")?.checked_mul(1024)?;
        Some(groups(root).into_iter().fold(free, u64::min))
    }

    /// What each control group of the process leaves, its parents' too.
    fn groups(root: &Path) -> Vec<u64> {
        let list = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let mut left = Vec::new();
        for line in list.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            let version = match controllers {
                "" => SECOND,
                list if list.split(',').any(|c| c == "memory") => FIRST,
                _ => continue,
            };
            let mount = root.join(version.mount);
            let own = mount.join(path.trim_start_matches('/'));
            // In a container the mount may begin at the process's own group, and the path lie outside it.
            let own = if own.is_dir() { own } else { mount.clone() };
            let upwards = own.ancestors().take_while(|folder| folder.starts_with(&mount));
            left.extend(upwards.filter_map(|folder| version.left(folder)));
        }
        left
    }

    impl Version {
        /// None where there is no limit.
        fn left(&self, folder: &Path) -> Option<u64> {
            let number = |name: &str| read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
            let used = number(self.usage)?;
            let cache = table(&folder.join("memory.stat"), self.cache).unwrap_or(0);
            Some(number(self.limit)?.saturating_sub(used.saturating_sub(cache)))
        }
    }

    /// The number behind a name at the beginning of a line.
    fn table(path: &PathBuf, name: &str) -> Option<u64> {
        let text = read_to_string(path).ok()?;
        let mut words = text.lines().map(str::split_whitespace);
        words.find_map(|mut line| (line.next() == Some(name)).then(|| line.next()?.parse().ok())?)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::fs;

        /// A file system with these files, and what is available there.
        fn among(name: &str, files: &[(&str, &str)]) -> Option<u64> {
            let root = std::env::temp_dir().join(format!("isocenter-memory-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, text).expect("a file");
            }
            let found = available(&root);
            fs::remove_dir_all(&root).expect("the folder");
            found
        }

        const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal: 4000 kB\nMemFree: 100 kB\nMemAvailable: 3000 kB\n");

        #[test]
        fn the_machines_own_memory() {
            assert_eq!(among("machine", &[MACHINE]), Some(3000 << 10));
            assert_eq!(among("none", &[("proc/version", "")]), None);
            assert!(super::super::available().is_some_and(|bytes| bytes > 1 << 20));
        }

        #[test]
        fn a_group_leaves_its_limit_less_what_is_used_and_no_cache() {
            let files = [
                MACHINE,
                ("proc/self/cgroup", "0::/job/step\n"),
                ("sys/fs/cgroup/memory.stat", "anon 1\n"),
                ("sys/fs/cgroup/job/memory.max", "1000000\n"),
                ("sys/fs/cgroup/job/memory.current", "700000\n"),
                ("sys/fs/cgroup/job/memory.stat", "anon 200000\nactive_file 1\ninactive_file 500000\n"),
                ("sys/fs/cgroup/job/step/memory.max", "max\n"),
                ("sys/fs/cgroup/job/step/memory.current", "700000\n"),
            ];
            assert_eq!(among("second", &files), Some(1_000_000 - 200_000));
        }

        #[test]
        fn a_container_sees_its_group_as_the_root() {
            let files = [
                MACHINE,
                ("proc/self/cgroup", "4:cpu,memory:/docker/abc\n0::/\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "900000\n"),
                ("sys/fs/cgroup/memory/memory.usage_in_bytes", "950000\n"),
                ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 100\n"),
            ];
            // More is used than may be: nothing is left.
            assert_eq!(among("first", &files), Some(0));
            let unlimited =
                [MACHINE, files[1], ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")];
            assert_eq!(among("unlimited", &unlimited), Some(3000 << 10));
        }
    }
}
