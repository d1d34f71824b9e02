//! Memory of lanes that isn't there, and memory that stays.

use std::fs;
use std::path::{Path, PathBuf};

use corelane::shm::Lane;
use corelane::{Backing, Config, Memory};
use rustix::fs::{SealFlags, fcntl_add_seals, ftruncate};

use super::{Tick, lane, program, signals, with_limit};

const MIB: usize = 1 << 20;

/// The program of the other processes.
pub(super) fn child(role: &str, group: &str) {
    let create = |bytes: usize| Lane::<[u8]>::create(bytes);
    let refused = |limit: &str| {
        let error = create(64 * MIB).unwrap_err().to_string();
        assert!(error.contains(limit) && error.contains("the lane needs"), "{error}");
        create(MIB).unwrap();
    };
    match role {
        "memory beyond the limit of a file" => {
            with_limit(libc::RLIMIT_FSIZE, 16 * MIB as u64, || refused("RLIMIT_FSIZE"));
        }
        "mirrored memory beyond the limit of a file" => {
            let config = Config::new(64 * 1024).memory(Memory::Mirrored);
            let queue = || {
                let (tx, _rx) = corelane::lamport::lazy::queue_with::<u64>(config).unwrap();
                tx.backing()
            };
            assert_eq!(with_limit(libc::RLIMIT_FSIZE, 4096, queue), Backing::Heap);
        }
        "memory beyond the limit of a group" => {
            fs::write(Path::new(group).join("cgroup.procs"), "0").unwrap();
            refused("control group");
        }
        "memory of huge pages beyond the limit of a group" => {
            fs::write(Path::new(group).join("cgroup.procs"), "0").unwrap();
            let config = Config::new(4096).memory(Memory::HugePages);
            let (mut tx, mut rx) = corelane::lamport::lazy::queue_with::<u64>(config).unwrap();
            tx.try_push(7).unwrap();
            assert_eq!(rx.try_pop(), Ok(7));
            assert_eq!(tx.backing(), Backing::TransparentHugePages);
        }
        "memory with signals" => {
            signals(1000);
            create(64 * MIB).unwrap();
        }
        other => panic!("no role {other}"),
    }
}

fn run(role: &str, group: &str) {
    let status = program(role, group).status().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn memory_beyond_limit() {
    run("memory beyond the limit of a file", "");
    run("mirrored memory beyond the limit of a file", "");
}

/// A control group of the test, which is removed with this.
struct Group(PathBuf);

impl Group {
    /// In the hierarchy of which this is the root. `None` if this process may make none there.
    fn new(root: &str, limit: &str, bytes: usize) -> Option<Self> {
        let name = format!("corelane-test-{}-{limit}", std::process::id());
        let group = Self(Path::new(root).join(name));
        fs::create_dir(&group.0).ok()?;
        let limit = group.0.join(limit);
        // Otherwise it is a plain directory.
        limit.exists().then(|| fs::write(limit, bytes.to_string()).ok()).flatten()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn memory_beyond_limit_of_a_group() {
    let first = || Group::new("/sys/fs/cgroup/memory", "memory.limit_in_bytes", 32 * MIB);
    let second = || Group::new("/sys/fs/cgroup", "memory.max", 32 * MIB);
    // Into swap a group can go beyond its limit.
    match first().or_else(second).filter(|_| rustix::system::sysinfo().freeswap == 0) {
        Some(group) => run("memory beyond the limit of a group", group.0.to_str().unwrap()),
        None => eprintln!("left out: this process can't limit the memory of another one"),
    }
}

/// Where the system has huge pages, and groups with a limit of them.
#[test]
fn huge_pages_beyond_limit_of_a_group() {
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let free = memory.lines().find_map(|line| line.strip_prefix("HugePages_Free:"));
    let has_none = free.is_none_or(|free| free.trim() == "0");
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let group = roots.iter().find_map(|root| Group::new(root, "hugetlb.2MB.max", 0));
    match group.filter(|_| !has_none) {
        Some(group) => {
            let group = group.0.to_str().unwrap();
            run("memory of huge pages beyond the limit of a group", group);
        }
        None => eprintln!("left out: no huge pages that can be limited"),
    }
}

/// On systems where it interrupts `fallocate`.
#[test]
fn a_signal_does_not_end_the_search_for_memory() {
    run("memory with signals", "");
}

#[test]
fn nobody_can_take_the_memory_away() {
    let lane = lane(1000);
    assert!(ftruncate(&lane, 0).is_err() && ftruncate(&lane, 1 << 30).is_err());
    assert!(fcntl_add_seals(&lane, SealFlags::WRITE).is_err());
    Lane::<Tick>::open(&lane).unwrap();
}
