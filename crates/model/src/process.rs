//! Process identity: pid, start time in clock ticks, and boot id. A reused pid is never mistaken
//! for the earlier process. Owns nothing; reads `/proc`.

use serde::{Deserialize, Serialize};
use std::fs;

/// Unambiguous identity of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process.
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id`, which changes with each boot.
    pub boot_id: String,
}

impl ProcessIdentity {
    /// Identity of the process with this pid; `None` without such a process or without `/proc`.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let (_, start_time) = stat(pid)?;
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
            .trim()
            .to_owned();
        Some(Self {
            pid,
            start_time,
            boot_id,
        })
    }

    /// Identity of this process.
    #[must_use]
    pub fn current() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Is the same process still running? A zombie is not.
    #[must_use]
    pub fn is_running(&self) -> bool {
        // Also compares the start time, because the pid may have been reused.
        matches!(stat(self.pid), Some((state, _)) if !matches!(state, 'Z' | 'X'))
            && Self::of(self.pid).as_ref() == Some(self)
    }
}

/// Pid of a process's parent.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&text)?.nth(1)?.parse().ok()
}

/// Is the process in the middle of `exec`, with its new memory but without its new environment?
/// `/proc/PID/environ` is empty then, as it is for a kernel thread and for a process that was
/// started with no variables.
#[must_use]
pub fn is_starting_program(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|text| parse_starting_program(&text).unwrap_or_default())
}

/// Flag of a kernel thread in field 9 of `/proc/PID/stat` (`PF_KTHREAD`).
const KERNEL_THREAD: u32 = 0x0020_0000;

fn parse_starting_program(text: &str) -> Option<bool> {
    let mut fields = fields(text)?;
    // Fields 3 (state), 9 (flags), 50 and 51 (addresses of the environment). The addresses are 0
    // until `exec` has set them. If they are set, the environment may have appeared since it was
    // read, so that only an empty one counts as final.
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let flags: u32 = fields.nth(5)?.parse().ok()?;
    let (start, end) = (fields.nth(40)?, fields.next()?);
    let has_no_variables = start == end && end != "0";
    Some(!has_ended && flags & KERNEL_THREAD == 0 && !has_no_variables)
}

/// Boot time of this machine, in milliseconds since 1970.
#[must_use]
pub fn booted_at() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    seconds.trim().parse::<i64>().ok()?.checked_mul(1_000)
}

/// State letter and start time of a process.
fn stat(pid: u32) -> Option<(char, u64)> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields after the command, starting with the third. The command is in parentheses and may itself
/// contain spaces and parentheses, so fields are counted from the last `)`.
fn fields(text: &str) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    Some(text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace())
}

fn parse_stat(text: &str) -> Option<(char, u64)> {
    let mut fields = fields(text)?;
    let state = fields.next()?.chars().next()?;
    // The state is field 3; the start time is field 22.
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_stat_is_parsed_with_any_command_name() {
        let fields: Vec<String> = (4..=30).map(|n| n.to_string()).collect();
        let text = format!("42 (a) R (b c) S {}", fields.join(" "));
        assert_eq!(parse_stat(&text), Some(('S', 22)));
        assert_eq!(parse_stat("42 (a"), None);
    }

    #[test]
    fn program_is_starting_until_its_environment_has_an_address() {
        let stat = |state: &str, flags: u32, environment: (u64, u64)| {
            let mut fields: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
            fields[9 - 4] = flags.to_string();
            fields[50 - 4] = environment.0.to_string();
            fields[51 - 4] = environment.1.to_string();
            parse_starting_program(&format!("42 (sleep) {state} {}", fields.join(" ")))
        };
        assert_eq!(stat("R", 0, (0, 0)), Some(true));
        assert_eq!(
            stat("R", 0, (4096, 4200)),
            Some(true),
            "set in the meantime"
        );
        assert_eq!(stat("R", 0, (4096, 4096)), Some(false), "no variables");
        assert_eq!(stat("Z", 0, (0, 0)), Some(false));
        assert_eq!(stat("S", KERNEL_THREAD, (0, 0)), Some(false));
        assert_eq!(parse_starting_program("42 (sleep) R 1"), None);
    }

    #[test]
    fn recycled_pid_is_a_different_process() {
        let own = ProcessIdentity::current().expect("proc");
        assert!(own.is_running());
        let other_time = ProcessIdentity {
            start_time: own.start_time + 1,
            ..own.clone()
        };
        assert!(!other_time.is_running());
        let other_boot = ProcessIdentity {
            boot_id: "another".into(),
            ..own
        };
        assert!(!other_boot.is_running());
    }
}
