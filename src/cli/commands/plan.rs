//! `flightdeck plan`: `stage` with the name and flags of Terraform. Can write the stage to a file.

use super::stage::{self, StageCommand};
use crate::cli::exit::CommandResult;
use crate::cli::options::PlanArgs;
use crate::cli::output::Output;

pub(super) async fn run(args: PlanArgs, out: &mut Output) -> CommandResult {
    let wanted = StageCommand {
        command: "plan",
        choice: args.choice,
        name: None,
        selection: None,
        plan_json: None,
        file: args.out,
        detailed_exitcode: args.detailed_exitcode,
    };
    stage::run_stage(wanted, out).await
}
