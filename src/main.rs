//! Reads the command line, runs it, ends with its exit code.

use std::process::ExitCode;

/// Values of a plan are small and many, made on one thread and let go on another: the system's own
/// allocator takes an eighth of a run for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Err(error) = color_eyre::install() {
        eprintln!("error: {error}");
    }
    flightdeck::cli::main()
}
