//! Reads the command line, runs it, ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = color_eyre::install() {
        eprintln!("error: {error}");
    }
    flightdeck::cli::main()
}
