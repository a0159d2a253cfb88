//! Plugin with a fault, for the tests. The name of the fault is its first argument, or else part of
//! its file name (`terraform-provider-NAME`), so that one workspace can contain several; `good` has
//! no fault. Data that outlives a launch is a file in `FAKE_PLUGIN_DIR`.

mod apply;
mod chosen_answers;
mod grpc_server;
mod launch_faults;
mod names;
mod provider;
mod socket;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Variable with the directory of one test.
const FOLDER: &str = "FAKE_PLUGIN_DIR";
/// First lines of a Go panic; path and numbers are invented.
const GO_PANIC: &str = "panic: runtime error: invalid memory address or nil pointer dereference\n\
    [signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a2f31]\n\n\
    goroutine 42 [running]:\nacme/internal/provider.(*thing).Change(0x0, {0xc000124000, 0x2})\n\
    \tacme/internal/provider/thing.go:117 +0x31\n";

fn folder() -> PathBuf {
    std::env::var_os(FOLDER).map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Adds a line to a file of the test; returns the new number of lines.
fn count(file: &str) -> usize {
    let path = folder().join(file);
    let written = std::fs::File::options()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut f| writeln!(f, "{}", std::process::id()));
    if let Err(error) = written {
        eprintln!("[ERROR] {} cannot be written: {error}", path.display());
    }
    std::fs::read_to_string(&path)
        .unwrap_or_default()
        .lines()
        .count()
}

/// Sleeps longer than any test waits.
fn sleep() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(3_600));
    }
}

/// Exits like a Go program after a panic.
#[allow(
    clippy::disallowed_methods,
    reason = "the fake exits without cleanup on purpose"
)]
fn panic_like_go() -> ! {
    eprint!("{GO_PANIC}");
    std::process::exit(2)
}

/// Exits like a Go program after a fatal signal: all goroutines, and the registers last.
#[allow(clippy::disallowed_methods, reason = "as above")]
fn abort_like_go() -> ! {
    let mut text = "SIGABRT: abort\nPC=0x40866e m=0 sigcode=0\n\n".to_owned();
    for n in 1..=300 {
        text.push_str(&format!("goroutine {n} gp=0x3e5ebaf41e0 m=0 mp=0x584f60 [running]:\nmain.main()\n\t/acme/main.go:{n} +0x13c\n\n"));
    }
    for register in ["rax", "rbx", "fs ", "gs "] {
        text.push_str(&format!("{register}    0x0\n"));
    }
    eprint!("{text}");
    std::process::exit(2)
}

/// Writes `lines` lines of a hundred bytes to standard error, like an excessive log, and then a
/// different last line.
fn flood(lines: usize) {
    let line = format!(
        "[DEBUG] {}\n",
        "0123456789".repeat(10).get(..91).unwrap_or_default()
    );
    let chunk = line.repeat(1_000);
    let mut err = std::io::stderr().lock();
    for _ in 0..lines / 1_000 {
        // A log ignores write errors after its reader has gone.
        err.write_all(chunk.as_bytes()).ok();
    }
    err.write_all(b"[WARN] the flood is over\n").ok();
}

fn name() -> Option<String> {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let own = || {
        let file = Path::new(&program)
            .file_name()?
            .to_str()?
            .strip_prefix("terraform-provider-")?;
        Some(file.split(['_', '.']).next().unwrap_or(file).to_owned())
    };
    arguments.next().or_else(own)
}

fn main() -> ExitCode {
    let Some(name) = name() else {
        eprintln!("usage: fake-plugin MISBEHAVIOUR; see tests/misbehaving/fake");
        return ExitCode::from(64);
    };
    // A fake without an entry would be missing in the tests that cover all of them.
    if !names::NAMES.contains(&&*name) {
        eprintln!("no fake {name:?} in tests/misbehaving/fake/names.rs");
        return ExitCode::from(64);
    }
    count("launches");
    match launch_faults::run_launch_fault(&name) {
        Some(code) => code,
        None => grpc_server::run(&name),
    }
}
