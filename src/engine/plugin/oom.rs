//! Whether a process that was killed was killed for lack of memory: the kernel counts such kills
//! for each control group, and for the whole machine. Counted when the process starts, and again
//! when it has ended.

use std::fs;
use std::path::{Path, PathBuf};

/// What the kernel's count says of a process that ended by SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Nobody was killed for memory meanwhile.
    Enough,
    /// The count of its own control group rose.
    GroupRanOut,
    /// The count of the whole machine rose; that of its group cannot be read.
    MachineRanOut,
}

/// The count as it was when a process started.
#[derive(Debug)]
pub(super) struct OutOfMemory {
    /// Of the group; `None` for the machine's.
    group: bool,
    file: PathBuf,
    count: u64,
}

impl OutOfMemory {
    /// Begins to watch the process with this pid. `None` where the system counts nothing that we
    /// can read.
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
        // The first that can be read: the group's own says most.
        of_group.chain([of_machine]).find_map(|(group, file)| {
            Some(Self {
                group,
                count: count(&file)?,
                file,
            })
        })
    }

    /// What has happened since.
    pub(super) fn since(&self) -> Option<Memory> {
        let now = count(&self.file)?;
        Some(match (now > self.count, self.group) {
            (false, _) => Memory::Enough,
            (true, true) => Memory::GroupRanOut,
            (true, false) => Memory::MachineRanOut,
        })
    }
}

/// Where the counts of the groups in `/proc/PID/cgroup` may lie, the likeliest first: `0::PATH` is
/// a group of version 2, `N:memory:PATH` one of version 1. In a container the path may be one that
/// only its host knows; then the group is the root of what is mounted.
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

/// The line `oom_kill N`, which all these files have.
fn count(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of a system's files, as kernels write them.
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
    fn the_groups_own_count_is_taken() {
        let system = System::new("0::/user.slice/app.scope\n");
        let file = "sys/fs/cgroup/user.slice/app.scope/memory.events";
        system.write(file, EVENTS);
        system.write("proc/vmstat", "oom_kill 7\n");
        let watch = system.watch().expect("counted");
        assert_eq!(watch.since(), Some(Memory::Enough));
        // Memory was short, and nobody was killed; then somebody was.
        system.write(file, &EVENTS.replace("oom 1", "oom 2"));
        assert_eq!(watch.since(), Some(Memory::Enough));
        system.write(file, &EVENTS.replace("oom_kill 1", "oom_kill 2"));
        assert_eq!(watch.since(), Some(Memory::GroupRanOut));
        // A group that is gone with its process tells nothing.
        fs::remove_file(system.0.path().join(file)).expect("removed");
        assert_eq!(watch.since(), None);
    }

    #[test]
    fn groups_of_version_1_and_containers_are_counted_too() {
        let system = System::new("4:cpu,memory:/docker/abc\n1:name=systemd:/\n0::/\n");
        let file = "sys/fs/cgroup/memory/memory.oom_control";
        system.write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        let watch = system.watch().expect("counted");
        system.write(file, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
        assert_eq!(watch.since(), Some(Memory::GroupRanOut));
    }

    #[test]
    fn without_a_group_the_machines_count_is_taken() {
        let system = System::new("");
        assert!(system.watch().is_none(), "nothing is counted here");
        system.write("proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
        let watch = system.watch().expect("counted");
        assert_eq!(watch.since(), Some(Memory::Enough));
        system.write("proc/vmstat", "nr_free_pages 1\noom_kill 8\n");
        assert_eq!(watch.since(), Some(Memory::MachineRanOut));
    }
}
