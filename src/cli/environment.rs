//! Removes values of variables from the environment of this process. Every process of the same
//! user, plugins included, could read them in `/proc/PID/environ`.

use lang::config::environment::{PREFIX, withdraw};
use std::io;
use std::os::unix::fs::FileExt;

/// Name prefixes of withdrawn variables. Arguments from the environment may contain values, too.
const PREFIXES: [&str; 2] = [PREFIX, "TF_CLI_ARGS"];

/// Returns true for a name, or an entry `NAME=VALUE`, of a variable to withdraw.
fn is_withdrawn(entry: &[u8]) -> bool {
    PREFIXES
        .iter()
        .any(|prefix| entry.starts_with(prefix.as_bytes()))
}

/// Moves variables with values out of the environment. This process and its provisioners keep them.
///
/// # Safety
/// No other thread runs, because it could read the environment at the same time.
#[allow(unsafe_code)]
pub(super) unsafe fn move_out_variables() {
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
    // Without `/proc`, no other process can read them either.
    wipe().ok();
}

/// Overwrites the entries in the initial environment block. `/proc/PID/environ` shows that memory
/// even after a variable was removed.
fn wipe() -> io::Result<()> {
    let shown = std::fs::read("/proc/self/environ")?;
    let mut at = env_start()?;
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/mem")?;
    // Entries are in the order of memory, so their lengths give their addresses.
    for entry in shown.split(|byte| *byte == 0) {
        if is_withdrawn(entry) {
            memory.write_all_at(&vec![0; entry.len()], at)?;
        }
        at += entry.len() as u64 + 1;
    }
    Ok(())
}

/// Returns the address of that block: field 50 of `/proc/self/stat`.
fn env_start() -> io::Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The command name in parentheses may contain blanks and parentheses. The field after it is the
    // third.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let start = fields.split_ascii_whitespace().nth(50 - 3);
    start
        .and_then(|start| start.parse().ok())
        .filter(|start| *start != 0)
        .ok_or_else(|| io::Error::other("/proc/self/stat has no address of the environment"))
}
