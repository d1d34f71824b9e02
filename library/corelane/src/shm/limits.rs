//! Limits of memory, which are checked first: the system ends a process that exceeds one by a
//! signal.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use rustix::system::sysinfo;

use super::error::Error;
use crate::CapacityError;

/// Refuses a lane for which a limit leaves too little memory.
pub(super) fn check(needed: u64) -> Result<(), Error> {
    let ask = |limit, left: Option<u64>| match left {
        Some(left) if left < needed => Err(Error::Limit { limit, needed, left }),
        _ => Ok(()),
    };
    ask("the limit of a file's size (RLIMIT_FSIZE)", getrlimit(Resource::Fsize).current)?;
    let system = sysinfo();
    let bytes = |units: u64| units.saturating_mul(system.mem_unit.max(1).into());
    if bytes(system.totalram) < needed {
        return Err(CapacityError::OutOfMemory { bytes: needed as usize }.into());
    }
    let [groups, mounts] = ["/proc/self/cgroup", "/proc/self/mountinfo"]
        .map(|file| fs::read_to_string(file).unwrap_or_default());
    for hierarchy in HIERARCHIES {
        for group in hierarchy.groups(&groups, &mounts) {
            ask(hierarchy.name, hierarchy.left(&group, bytes(system.freeswap)))?;
        }
    }
    Ok(())
}

/// How a version of control groups tells the memory of a group.
struct Hierarchy {
    /// As an error tells it.
    name: &'static str,
    file_system: &'static str,
    /// A mount option, which is also in its line of `/proc/self/cgroup`.
    controller: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Limit and use of swap.
    swap: Option<[&'static str; 2]>,
    /// In `memory.stat`: the memory that the system reclaims from the group before it ends a
    /// process.
    caches: [&'static str; 3],
}

const HIERARCHIES: [Hierarchy; 2] = [
    Hierarchy {
        name: "the memory limit of a control group (memory.max)",
        file_system: "cgroup2",
        controller: "",
        limit: "memory.max",
        used: "memory.current",
        swap: Some(["memory.swap.max", "memory.swap.current"]),
        caches: ["active_file", "inactive_file", "slab_reclaimable"],
    },
    Hierarchy {
        name: "the memory limit of a control group (memory.limit_in_bytes)",
        file_system: "cgroup",
        controller: "memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        swap: None,
        caches: ["total_active_file", "total_inactive_file", "total_slab_reclaimable"],
    },
];

impl Hierarchy {
    /// The control group of this process and its parents, by `/proc/self/cgroup` and
    /// `/proc/self/mountinfo`.
    fn groups(&self, groups: &str, mounts: &str) -> Vec<PathBuf> {
        let has_controller = |list: &str| list.split(',').any(|name| name == self.controller);
        let own = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            parts.next().filter(|list| has_controller(list)).and(parts.next())
        });
        let mounted = mounts.lines().find_map(|line| {
            let (place, kind) = line.split_once(" - ")?;
            let mut kind = kind.split(' ');
            let is_this = kind.next()? == self.file_system
                && (self.controller.is_empty() || has_controller(kind.nth(1)?));
            let mut place = place.split(' ').skip(3);
            is_this.then_some((place.next()?, Path::new(place.next()?)))
        });
        let (Some(own), Some((root, mount))) = (own, mounted) else { return Vec::new() };
        // A group outside of the mounted hierarchy can't be seen.
        let own = mount.join(Path::new(own).strip_prefix(root).unwrap_or(Path::new("")));
        let above = own.ancestors().take_while(|group| group.starts_with(mount));
        above.map(Path::to_owned).collect()
    }

    /// The memory that a group can still get if the system reclaims its caches and swaps. `None`
    /// without a limit.
    fn left(&self, group: &Path, free_swap: u64) -> Option<u64> {
        let text = |name| fs::read_to_string(group.join(name)).ok();
        let value = |name| text(name)?.trim().parse::<u64>().ok();
        let (limit, used) = (value(self.limit)?, value(self.used)?);
        let stat = text("memory.stat").unwrap_or_default();
        let caches: u64 = self.caches.iter().filter_map(|name| number(&stat, name)).sum();
        let swap = self.swap.and_then(|[limit, used]| value(limit)?.checked_sub(value(used)?));
        let swap = swap.map_or(free_swap, |swap| swap.min(free_swap));
        Some(limit.saturating_sub(used.saturating_sub(caches)).saturating_add(swap))
    }
}

/// The number behind this name, in a file with a name and a number in each line.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut line = lines.find(|line| line.clone().next() == Some(name))?;
    line.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw\n\
        31 23 0:28 / /groups/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        32 31 0:32 /box /groups/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
        41 31 0:38 / /groups/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn groups_are_found_by_their_mounts() {
        let [second, first] = HIERARCHIES;
        let groups = "4:memory:/box/a/b\n1:cpu,cpuacct:/c\n0::/d:e\n";
        let found = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let expected = ["/groups/memory/a/b", "/groups/memory/a", "/groups/memory"];
        assert_eq!(first.groups(groups, MOUNTS), found(&expected));
        let expected = ["/groups/unified/d:e", "/groups/unified"];
        assert_eq!(second.groups(groups, MOUNTS), found(&expected));
        let outside = "4:memory:/../other\n";
        assert_eq!(first.groups(outside, MOUNTS), found(&["/groups/memory"]));
        assert!(second.groups(outside, MOUNTS).is_empty() && first.groups(groups, "").is_empty());
    }

    #[test]
    fn a_group_leaves_what_it_does_not_need() {
        let group = std::env::temp_dir().join(format!("corelane group {}", std::process::id()));
        fs::create_dir_all(&group).unwrap();
        let left = |files: &[(&str, &str)], free_swap| {
            files.iter().for_each(|(name, text)| fs::write(group.join(name), text).unwrap());
            HIERARCHIES[0].left(&group, free_swap)
        };
        assert_eq!(left(&[], 0), None);
        assert_eq!(left(&[("memory.max", "max\n"), ("memory.current", "700\n")], 0), None);
        assert_eq!(left(&[("memory.max", "1000\n")], 0), Some(300));
        let stat = "anon 100\nactive_file 200\ninactive_file 50\nslab_reclaimable 7\n";
        assert_eq!(left(&[("memory.stat", stat)], 0), Some(557));
        assert_eq!(left(&[], 40), Some(597));
        let swap = [("memory.swap.max", "30\n"), ("memory.swap.current", "10\n")];
        assert_eq!(left(&swap, 40), Some(577));
        fs::remove_dir_all(&group).unwrap();
    }
}
