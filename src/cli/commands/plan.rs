//! `flightdeck plan`: `stage` with the name and flags of Terraform. Can write the stage to a file.

use super::stage::{self, Wanted};
use crate::cli::exit::Ended;
use crate::cli::options::PlanArgs;
use crate::cli::output::Output;

pub(super) async fn run(args: PlanArgs, out: &mut Output) -> Ended {
    let wanted = Wanted {
        command: "plan",
        choice: args.choice,
        name: None,
        plan_json: None,
        file: args.out,
        detailed_exitcode: args.detailed_exitcode,
    };
    stage::work_out(wanted, out).await
}
