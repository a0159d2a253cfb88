//! `flightdeck plugin serve`: the binary as its own plugin, a real child process speaking the real protocol.

use crate::cli::exit::{CliError, Ended};

pub(super) async fn serve(name: &str) -> Ended {
    Err(CliError::Refused(format!("there is no bundled plugin named {name:?}")))
}
