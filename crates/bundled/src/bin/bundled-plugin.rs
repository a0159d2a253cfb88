//! Serves a bundled provider from a program of its own, for tests and other hosts. The name comes
//! from the argument (`bundled-plugin lab`), from the program name (`terraform-provider-lab`), or
//! from the path of an installed Bluelink plugin.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    // Installed providers can have a version in their name: `terraform-provider-lab_v1.0`.
    let of_program = || {
        Some(
            program
                .rsplit('/')
                .next()?
                .strip_prefix("terraform-provider-")?
                .split('_')
                .next()?
                .to_owned(),
        )
    };
    let installed = || bundled::installed_as(program.as_ref()).map(str::to_owned);
    match arguments.next().or_else(of_program).or_else(installed) {
        Some(name) => bundled::main(&name),
        None => {
            eprintln!(
                "usage: bundled-plugin NAME, where NAME is one of: {}",
                bundled::NAMES.join(", ")
            );
            ExitCode::from(1)
        }
    }
}
