//! Minimal init process for containers. As process 1 of a pid namespace, flightdeck becomes the
//! parent of every orphan there. Process 1 then only reaps and forwards signals, and the program
//! runs in its child: nothing else takes the exit status of a process that the engine waits for.

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal as Number, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{ForkResult, fork};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};
use std::io;
use std::process::ExitCode;

/// Added to the signal that ended the child, as shells do: process 1 cannot end by a signal of its
/// own.
const SIGNALLED: i32 = 128;
/// Signals that report a fault of process 1 itself.
const FAULTS: [Number; 7] = [
    Number::SIGABRT,
    Number::SIGBUS,
    Number::SIGFPE,
    Number::SIGILL,
    Number::SIGSEGV,
    Number::SIGSYS,
    Number::SIGTRAP,
];

/// Moves the program into a child where this is process 1. Returns in the child with `None`, and
/// in process 1 with the exit code of the child after its end. Elsewhere it does nothing.
///
/// # Safety
/// No other thread runs: the child would lack it, and wait forever for a lock that it held.
#[allow(unsafe_code)]
pub(super) unsafe fn supervise() -> Option<ExitCode> {
    if !getpid().is_init() {
        return None;
    }
    // SAFETY: the caller promises that no other thread runs.
    match unsafe { start() } {
        Ok(started) => started.map(|(child, signals)| run(child, &signals)),
        Err(error) => {
            eprintln!(
                "warning: cannot start a child of process 1: {error}; orphaned processes stay as zombies until this command ends; start the container with an init (`docker run --init`)"
            );
            None
        }
    }
}

/// Starts the child with the signal mask that process 1 began with. `None` is the child.
///
/// # Safety
/// As for [`supervise`].
#[allow(unsafe_code)]
unsafe fn start() -> io::Result<Option<(Pid, SignalFd)>> {
    let mut all = SigSet::all();
    for fault in FAULTS {
        all.remove(fault);
    }
    // Blocked before the fork, because the kernel drops other signals to process 1.
    let before = all.thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let forked = SignalFd::with_flags(&all, SfdFlags::SFD_CLOEXEC).and_then(|signals| {
        // SAFETY: no handler is installed. If SIGCHLD was ignored, the kernel would report no end.
        unsafe { signal(Number::SIGCHLD, SigHandler::SigDfl) }?;
        // SAFETY: the caller promises that no other thread runs.
        Ok((unsafe { fork() }?, signals))
    });
    if let Ok((ForkResult::Parent { child }, signals)) = forked {
        let child = Pid::from_raw(child.as_raw()).ok_or(io::ErrorKind::NotFound)?;
        return Ok(Some((child, signals)));
    }
    // Reached by the child, and by this process after a failed fork: both need the original mask.
    before.thread_set_mask()?;
    forked?;
    Ok(None)
}

/// Forwards signals to the child and reaps every process that ends, until the child does.
fn run(child: Pid, signals: &SignalFd) -> ExitCode {
    loop {
        let read = signals.read_signal();
        let options = match read {
            Ok(_) => WaitOptions::NOHANG,
            // Only ends of processes are noticed then.
            Err(_) => WaitOptions::empty(),
        };
        if let Ok(Some(info)) = read
            && let Ok(number) = i32::try_from(info.ssi_signo)
            && let Some(signal) = Signal::from_named_raw(number)
            && is_forwarded(signal, info.ssi_code)
        {
            // The child may have ended already.
            kill_process(child, signal).ok();
        }
        if let Some(code) = reap(child, options) {
            return code;
        }
    }
}

/// True if the child needs a signal of process 1. Those that the terminal's keys and size cause
/// come from the kernel and reach the whole foreground process group, the child included. Only the
/// session leader gets the hangup of a terminal.
fn is_forwarded(signal: Signal, code: i32) -> bool {
    let is_sent_by_process = code <= 0;
    signal != Signal::CHILD && (is_sent_by_process || signal == Signal::HUP)
}

/// Takes the exit status of all processes that have ended. Returns that of the child as an exit
/// code.
fn reap(child: Pid, options: WaitOptions) -> Option<ExitCode> {
    loop {
        match wait(options) {
            Ok(Some((pid, status))) if pid == child => {
                return Some(ExitCode::from(exit_code(status)));
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return None,
            Err(_) => return Some(ExitCode::FAILURE),
        }
    }
}

fn exit_code(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal();
    let code = status.exit_status().or(signal.map(|s| SIGNALLED + s));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_already_delivered_to_the_child_are_not_forwarded() {
        /// `si_code` of `kill`, `sigqueue` and the kernel.
        const USER: i32 = 0;
        const QUEUE: i32 = -1;
        const KERNEL: i32 = 0x80;
        for (signal, code, forwarded) in [
            (Signal::TERM, USER, true),
            (Signal::TERM, QUEUE, true),
            (Signal::INT, USER, true),
            (Signal::HUP, USER, true),
            (Signal::CONT, USER, true),
            // From the terminal to its foreground process group.
            (Signal::INT, KERNEL, false),
            (Signal::QUIT, KERNEL, false),
            (Signal::TSTP, KERNEL, false),
            (Signal::WINCH, KERNEL, false),
            // From the terminal to its session leader.
            (Signal::HUP, KERNEL, true),
            (Signal::CHILD, USER, false),
            (Signal::CHILD, 1, false),
        ] {
            assert_eq!(
                is_forwarded(signal, code),
                forwarded,
                "{signal:?} with {code}"
            );
        }
    }
}
