//! `flightdeck graph`: prints a dependency graph in Graphviz format.

use crate::cli::args::{GraphArgs, GraphKind};
use crate::cli::escape::safe_lines;
use crate::cli::exit::{CliError, CommandResult, OK};
use crate::cli::output::Output;
use crate::cli::session::{run_request, settings};
use engine::handle::Engine;
use model::DrawnGraph;
use model::settings::Access;

pub(super) async fn run(args: GraphArgs, out: &mut Output) -> CommandResult {
    let kind = match (args.kind, &args.plan) {
        (Some(kind), _) => kind,
        // A saved plan has a graph of its deploy only.
        (None, Some(_)) => GraphKind::Apply,
        (None, None) => GraphKind::Plan,
    };
    let what = match (kind, args.plan) {
        (GraphKind::Apply, Some(file)) => DrawnGraph::Deploy(super::show::read(&file)?),
        (GraphKind::Apply, None) => DrawnGraph::NoChanges,
        (_, Some(_)) => {
            return Err(CliError::usage("a plan file contains only the apply graph")
                .hint("use --type=apply, or omit --type"));
        }
        (GraphKind::Plan | GraphKind::PlanRefreshOnly, None) => DrawnGraph::Plan,
        (GraphKind::PlanDestroy, None) => DrawnGraph::Destruction,
    };
    let request = args.variables.request();
    let settings = settings("graph", Access::ReadState, None)?;
    let question = |engine: Engine| async move { engine.render_graph(what, request).await };
    let text = run_request(settings, out, question).await?;
    out.flush_diagnostics();
    out.line(&safe_lines(&text));
    Ok(OK)
}
