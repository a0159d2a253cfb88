//! Detects whether a process was killed for lack of memory. The kernel counts such kills per
//! control group and for the machine; the counter is read when the process starts and after it has
//! ended.

use std::fs;
use std::path::{Path, PathBuf};

/// Conclusion from the kernel's counter for a process that ended by SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// No process was killed for lack of memory in the meantime.
    Enough,
    /// The counter of its own control group has increased.
    GroupRanOut,
    /// The counter of the machine has increased; the group's cannot be read.
    MachineRanOut,
}

/// Counter value at the start of a process.
#[derive(Debug)]
pub(super) struct OutOfMemory {
    /// True if `file` counts the control group's kills, false for the machine's.
    group: bool,
    file: PathBuf,
    count: u64,
}

impl OutOfMemory {
    /// Reads the counter for the process with this pid. `None` if the system has no readable
    /// counter.
    pub(super) fn watch(pid: u32) -> Option<Self> {
        Self::below(Path::new("/"), pid)
    }

    fn below(root: &Path, pid: u32) -> Option<Self> {
        let groups =
            fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).unwrap_or_default();
        let of_group = files(&groups)
            .into_iter()
            .map(|file| (true, root.join("sys/fs/cgroup").join(file)));
        let of_machine = (false, root.join("proc/vmstat"));
        // The group's own counter comes first, because it excludes kills of unrelated processes.
        of_group.chain([of_machine]).find_map(|(group, file)| {
            Some(Self {
                group,
                count: count(&file)?,
                file,
            })
        })
    }

    /// Compares the counter with its value at the start.
    pub(super) fn compare_with_start(&self) -> Option<Memory> {
        // `None` if the group was removed together with its process.
        let now = count(&self.file)?;
        Some(match (now > self.count, self.group) {
            (false, _) => Memory::Enough,
            (true, true) => Memory::GroupRanOut,
            (true, false) => Memory::MachineRanOut,
        })
    }
}

/// Returns candidate paths of the counters for the groups in `/proc/PID/cgroup`, the most likely
/// first: `0::PATH` is a group of version 2, `N:memory:PATH` one of version 1. In a container the
/// path may be valid on the host only; the group is then the root of the mount.
fn files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            files.extend([
                Path::new(path).join("memory.events"),
                "memory.events".into(),
            ]);
        } else if controllers.split(',').any(|c| c == "memory") {
            let own = Path::new("memory").join(path).join("memory.oom_control");
            files.extend([own, "memory/memory.oom_control".into()]);
        }
    }
    files
}

/// Reads the line `oom_kill N`, which all these files have.
fn count(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Excerpt of a system's files, as kernels write them.
    struct System(tempfile::TempDir);

    impl System {
        fn new(groups: &str) -> Self {
            let it = Self(tempfile::tempdir().expect("folder"));
            it.write("proc/42/cgroup", groups);
            it
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.path().join(file);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("written");
        }

        fn watch(&self) -> Option<OutOfMemory> {
            OutOfMemory::below(self.0.path(), 42)
        }
    }

    const EVENTS: &str = "low 0\nhigh 12\nmax 340\noom 1\noom_kill 1\noom_group_kill 0\n";

    #[test]
    fn cgroup_oom_kill_counter_detects_memory_exhaustion() {
        let system = System::new("0::/user.slice/app.scope\n");
        let file = "sys/fs/cgroup/user.slice/app.scope/memory.events";
        system.write(file, EVENTS);
        system.write("proc/vmstat", "oom_kill 7\n");
        let watch = system.watch().expect("counted");
        assert_eq!(watch.compare_with_start(), Some(Memory::Enough));
        // First memory is short without a kill, then a process is killed.
        system.write(file, &EVENTS.replace("oom 1", "oom 2"));
        assert_eq!(watch.compare_with_start(), Some(Memory::Enough));
        system.write(file, &EVENTS.replace("oom_kill 1", "oom_kill 2"));
        assert_eq!(watch.compare_with_start(), Some(Memory::GroupRanOut));
        // A group removed with its process has no counter.
        fs::remove_file(system.0.path().join(file)).expect("removed");
        assert_eq!(watch.compare_with_start(), None);
    }

    #[test]
    fn cgroup_v1_and_container_counters_are_read() {
        let system = System::new("4:cpu,memory:/docker/abc\n1:name=systemd:/\n0::/\n");
        let file = "sys/fs/cgroup/memory/memory.oom_control";
        system.write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        let watch = system.watch().expect("counted");
        system.write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
        assert_eq!(watch.compare_with_start(), Some(Memory::GroupRanOut));
    }

    #[test]
    fn machine_oom_counter_is_used_without_a_cgroup() {
        let system = System::new("");
        assert!(system.watch().is_none(), "nothing is counted here");
        system.write("proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
        let watch = system.watch().expect("counted");
        assert_eq!(watch.compare_with_start(), Some(Memory::Enough));
        system.write("proc/vmstat", "nr_free_pages 1\noom_kill 8\n");
        assert_eq!(watch.compare_with_start(), Some(Memory::MachineRanOut));
    }
}
