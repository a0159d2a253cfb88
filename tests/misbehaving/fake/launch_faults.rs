//! Faults before a plugin listens: exits, output, and processes left behind.

use crate::{GO_PANIC, count, flood, sleep};
use rustix::process::{Signal, getpid, kill_process};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Message of a go-plugin program that was started by hand.
const GO_PLUGIN_REFUSAL: &str = "This binary is a plugin. These are not meant to be executed directly.\n\
    Please execute the program that consumes these plugins, which will\n\
    load any plugins automatically\n";

/// Length of an endless line, which flightdeck must not buffer.
const ENDLESS: usize = 1 << 30;

/// Runs the fault of this name; `None` if the fault comes after the handshake.
pub(crate) fn run_launch_fault(name: &str) -> Option<ExitCode> {
    let said = |line: &str| {
        println!("{line}");
        sleep()
    };
    match name {
        "exit-0" => return Some(ExitCode::SUCCESS),
        "exit-1" | "never" => {
            eprintln!("[ERROR] /etc/acme.conf cannot be read: permission denied");
            return Some(ExitCode::from(1));
        }
        "exit-1-mute" => return Some(ExitCode::from(1)),
        "usage" => {
            println!("This binary is a plugin. It is not meant to be executed directly.");
            return Some(ExitCode::from(1));
        }
        "other-program" | "other-program-after-a-line" => {
            if name == "other-program-after-a-line" {
                println!("2026/11/26 acme plugin 0.11.3");
            }
            eprint!("{GO_PLUGIN_REFUSAL}");
            return Some(ExitCode::from(1));
        }
        "panics" => {
            eprint!("{GO_PANIC}");
            return Some(ExitCode::from(2));
        }
        "fifth" if count("tries") < 5 => {
            eprintln!("[ERROR] the caches are cold");
            return Some(ExitCode::from(1));
        }
        "dies-of-segv" => raise_signal(Signal::SEGV),
        "dies-of-kill" => raise_signal(Signal::KILL),
        "dies-of-abrt" => raise_signal(Signal::ABORT),
        "silent" => {
            eprintln!("[INFO] warming up");
            sleep()
        }
        "closes-stdout" => {
            close_stdout();
            sleep()
        }
        "garbage" => said("acme 4.2: reading /etc/acme.conf"),
        "garbage-bytes" => {
            write(b"\xff\xfe\x00\x1b[2J|\n");
            sleep()
        }
        "empty-line" => said(""),
        "endless-line" => {
            let chunk = vec![b'x'; 1 << 20];
            for _ in 0..ENDLESS >> 20 {
                write(&chunk);
            }
            sleep()
        }
        "two-fields" => said("1|6"),
        "core-version-2" => said("2|6|unix|/s|grpc|"),
        "protocol-4" => said("1|4|unix|/s|grpc|"),
        "protocol-7" => said("1|7|unix|/s|grpc|"),
        "net-rpc" => said("1|5|unix|/s|netrpc|"),
        "net-rpc-tcp" => said("1|5|tcp|127.0.0.1:10001|netrpc|"),
        "net-rpc-old" => said("1|5|tcp|127.0.0.1:10001"),
        "other-network" => said("1|6|quic|127.0.0.1:10001|grpc|"),
        "long-path" => said(&format!("1|6|unix|/{}|grpc|", "x".repeat(120))),
        "certificate-not-base64" => said(&format!("1|6|unix|/s|grpc|{}", "*".repeat(80))),
        "certificate-not-der" => said(&format!("1|6|unix|/s|grpc|{}", "AAAA".repeat(40))),
        "grandchild" => {
            grandchild(false);
            eprintln!("[ERROR] left a child behind");
            return Some(ExitCode::from(1));
        }
        "grandchild-away" => {
            grandchild(true);
            eprintln!("[ERROR] left a daemon behind");
            return Some(ExitCode::from(1));
        }
        "flood-and-exit" => {
            flood(1_000_000);
            eprintln!("[ERROR] the very last line");
            return Some(ExitCode::from(1));
        }
        "floods" => flood(1_000_000),
        _ => {}
    }
    None
}

/// Ends by a signal that it sends to itself.
fn raise_signal(signal: Signal) -> ! {
    // The Rust runtime's handler takes the first SIGSEGV and restores the default action.
    loop {
        kill_process(getpid(), signal).ok();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).ok();
}

/// Replaces stdout by `/dev/null`, which closes the pipe.
pub(crate) fn close_stdout() {
    let nothing = std::fs::File::options().write(true).open("/dev/null");
    if let Err(error) = nothing.and_then(|nothing| Ok(rustix::stdio::dup2_stdout(nothing)?)) {
        eprintln!("[ERROR] stdout cannot be closed: {error}");
    }
}

/// Starts a child that holds the plugin's pipes and outlives it; in its own process group if
/// `away`.
pub(crate) fn grandchild(away: bool) {
    let mut command = Command::new("sleep");
    command.arg("600");
    if away {
        command.process_group(0);
    }
    match command.spawn() {
        Ok(child) => std::fs::write(crate::folder().join("grandchild"), child.id().to_string())
            .unwrap_or_default(),
        Err(error) => eprintln!("[ERROR] no child: {error}"),
    }
}
