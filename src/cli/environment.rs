//! Takes values of variables out of the environment of this process: every process of the same user
//! could read them in `/proc/PID/environ`, plugins among them.

use lang::config::environment::{PREFIX, withdraw};
use std::io;
use std::os::unix::fs::FileExt;

/// Beginnings of their names: arguments from the environment may have values of variables too.
const PREFIXES: [&str; 2] = [PREFIX, "TF_CLI_ARGS"];

/// Whether a name, or an entry that begins with it, is one of a variable to be withdrawn.
fn is_withdrawn(entry: &[u8]) -> bool {
    PREFIXES
        .iter()
        .any(|prefix| entry.starts_with(prefix.as_bytes()))
}

/// Keeps the variables with values for this process and its provisioners alone.
///
/// # Safety
/// No other thread runs: it could read the environment meanwhile.
#[allow(unsafe_code)]
pub(super) unsafe fn withdraw_variables() {
    let all: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| is_withdrawn(name.as_encoded_bytes()))
        .collect();
    if all.is_empty() {
        return;
    }
    for (name, _) in &all {
        // SAFETY: the caller promises that no other thread runs.
        unsafe { std::env::remove_var(name) };
    }
    withdraw(all);
    // Without `/proc` nobody can read them there.
    wipe().ok();
}

/// The kernel shows the memory in which it put the environment when the process began, whatever
/// became of the variables since.
fn wipe() -> io::Result<()> {
    let shown = std::fs::read("/proc/self/environ")?;
    let mut at = env_start()?;
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/mem")?;
    for entry in shown.split(|byte| *byte == 0) {
        if is_withdrawn(entry) {
            memory.write_all_at(&vec![0; entry.len()], at)?;
        }
        at += entry.len() as u64 + 1;
    }
    Ok(())
}

/// Where that memory begins: field 50 of `/proc/self/stat`.
fn env_start() -> io::Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The command, in parentheses, may hold anything; the field after it is the third.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let start = fields.split_ascii_whitespace().nth(50 - 3);
    start
        .and_then(|start| start.parse().ok())
        .filter(|start| *start != 0)
        .ok_or_else(|| io::Error::other("the place of the environment is not shown"))
}
