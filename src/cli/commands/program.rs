//! `flightdeck completions` and `flightdeck man`, generated from the table of arguments.

use crate::cli::exit::{CliError, CommandResult, OK};
use crate::cli::flags;
use crate::cli::output::Output;

pub(super) fn completions(shell: clap_complete::Shell, out: &mut Output) -> CommandResult {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut flags::command(), "flightdeck", &mut bytes);
    out.write(&bytes);
    Ok(OK)
}

pub(super) fn print_man_page(out: &mut Output) -> CommandResult {
    let mut bytes = Vec::new();
    let broken =
        |e: std::io::Error| CliError::internal(format!("cannot generate the manual page: {e}"));
    let mut table = flags::command();
    // Subcommands get their inherited arguments only when the table is built.
    table.build();
    clap_mangen::Man::new(table.clone())
        .render(&mut bytes)
        .map_err(broken)?;
    // One page with a section for each command.
    for command in table.get_subcommands() {
        let page = clap_mangen::Man::new(command.clone());
        page.render_synopsis_section(&mut bytes).map_err(broken)?;
        page.render_description_section(&mut bytes)
            .map_err(broken)?;
        page.render_options_section(&mut bytes).map_err(broken)?;
    }
    out.write(&bytes);
    Ok(OK)
}
