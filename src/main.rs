//! Program entry: runs the command line and returns its exit code.

use std::process::ExitCode;

/// A plan has many small values, which one thread allocates and another frees. With the system's
/// allocator that takes an eighth of the run time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Err(error) = color_eyre::install() {
        eprintln!("error: {error}");
    }
    flightdeck::cli::main()
}
