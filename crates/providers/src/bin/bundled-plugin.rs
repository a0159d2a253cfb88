//! A bundled provider as a program of its own, for the tests and for other hosts:
//! `bundled-plugin lab`, or the same program under the name `terraform-provider-lab`, or by a link
//! where a plugin of Bluelink's kind lies.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
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
    let installed = || providers::installed_as(program.as_ref()).map(str::to_owned);
    match arguments.next().or_else(of_program).or_else(installed) {
        Some(name) => providers::main(&name),
        None => {
            eprintln!(
                "usage: bundled-plugin NAME, where NAME is one of: {}",
                providers::NAMES.join(", ")
            );
            ExitCode::from(1)
        }
    }
}
