//! Workspaces of short configurations, as input of a plan or as a walk before its first node.
//!
//! In a configuration `; ` ends a line, `{ ` is followed and ` }` preceded by one, so that a block
//! fits into one line. Text behind `@@DIRECTORY ` belongs to the module in that directory.

use super::SingleProvider;
use super::lab::Lab;
use super::state::state;
use crate::stage::change::{Digests, StateOrigin};
use crate::stage::plan::{LinksByEnd, PlanOptions};
use crate::stage::prior::PriorState;
use crate::stage::scope::Phase;
use crate::stage::staging::PlanInput;
use crate::stage::walk::Walk;
use lang::config::{Module, Resource};
use lang::diag::Diagnostics;
use model::bus::Bus;
use model::{StageMode, StageRequest, VariableFlag};
use std::sync::Arc;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use workspace::link_providers;
use workspace::load::{load, used_providers};

/// Configuration and state, ready to be planned.
pub struct Workspace {
    pub input: PlanInput,
    /// Warnings of the configuration.
    pub warnings: Diagnostics,
    /// Removed with the workspace.
    pub dir: TempDir,
}

/// Reads a workspace; returns the errors of its configuration. `flags` are those of `flightdeck
/// stage`.
pub fn read(
    config: &str,
    objects: &[&str],
    flags: &[&str],
) -> (Arc<Lab>, Result<Workspace, Diagnostics>) {
    let (state, remote) = state(objects);
    let lab = match flags.contains(&"plan_destroy") {
        true => Lab::new(remote).planning_destroys(),
        false => Lab::new(remote),
    };
    let (dir, request) = (tempfile::tempdir().expect("a directory"), request(flags));
    write(dir.path(), config);
    let lab = Arc::new(lab);
    let (loaded, warnings) = match load(dir.path(), "", &request, flags.contains(&"validate")) {
        Ok((loaded, warnings)) if loaded.value_errors.is_empty() => (loaded, warnings),
        Ok((loaded, mut diags)) => {
            diags.append(loaded.value_errors);
            return (lab, Err(diags));
        }
        Err((_, diags)) => return (lab, Err(diags)),
    };
    let mut used = used_providers(&loaded.root);
    used.insert(super::address());
    let schemas = used.into_iter().map(|a| (a, lab.schemas())).collect();
    let input = PlanInput {
        overlays: Arc::default(),
        id: 1,
        request,
        root: link_providers::bind(&loaded.root, &schemas),
        dir: loaded.dir,
        sources: loaded.sources,
        schemas,
        state,
        resolved_providers: Default::default(),
        given: loaded.given,
        given_texts: loaded.written,
        overridden: loaded.overridden,
        secrets: Default::default(),
        digests: Digests::default(),
        committed_groups: Vec::new(),
        state_origin: StateOrigin::default(),
        providers: Arc::new(SingleProvider::new(lab.clone(), Bus::default())),
        cancel: CancellationToken::new(),
        kill: CancellationToken::new(),
        parallelism: 4,
        shows_errored: false,
        progress: Arc::new(|_, _, _| {}),
    };
    let workspace = Workspace {
        input,
        warnings,
        dir,
    };
    (lab, Ok(workspace))
}

/// Parts of a plan walk before its first node, for tests of single objects of it.
pub struct Unplanned {
    pub walk: Walk,
    pub prior: PriorState,
    pub options: PlanOptions,
    pub by_end: LinksByEnd,
    pub lab: Arc<Lab>,
    pub workspace: Workspace,
}

impl Unplanned {
    pub fn new(config: &str, objects: &[&str], flags: &[&str]) -> Self {
        let (lab, read) = read(config, objects, flags);
        let workspace = read.expect("a valid configuration");
        let input = &workspace.input;
        let prior = PriorState::new(&input.state);
        Self {
            walk: input.new_walk(Phase::Plan, &prior, 0),
            options: PlanOptions {
                mode: input.request.mode,
                refresh: !input.request.no_refresh,
                replace: Vec::new(),
                scope: None,
                parallelism: input.parallelism,
            },
            by_end: LinksByEnd::default(),
            prior,
            lab,
            workspace,
        }
    }

    /// Returns the only resource of the root module.
    pub fn resource(&self) -> (&Module, &Resource) {
        let root = &self.walk.context.root;
        (root, root.resources.values().next().expect("a resource"))
    }
}

fn write(dir: &std::path::Path, config: &str) {
    for (at, part) in config.split("@@").enumerate() {
        let (name, text) = match at {
            0 => (".", part),
            _ => part.split_once(' ').expect("a directory, then its text"),
        };
        let text = text.replace("; ", "\n").replace("{ ", "{\n");
        let dir = dir.join(name);
        std::fs::create_dir_all(&dir).expect("create");
        std::fs::write(dir.join("main.tf"), text.replace(" }", "\n}") + "\n").expect("write");
    }
}

fn request(flags: &[&str]) -> StageRequest {
    let mut request = StageRequest::default();
    for flag in flags {
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        match name {
            "-destroy" => request.mode = StageMode::Destroy,
            "-refresh-only" => request.mode = StageMode::RefreshOnly,
            "-refresh" => request.no_refresh = value == "false",
            "-target" => request.target.push(value.to_owned()),
            "-exclude" => request.exclude.push(value.to_owned()),
            "-replace" => request.replace.push(value.to_owned()),
            "-var" => {
                let (name, text) = value.split_once('=').expect("name=text");
                request.variables.push(VariableFlag::Value {
                    name: name.to_owned(),
                    text: text.to_owned(),
                });
            }
            "plan_destroy" | "validate" => {}
            _ => panic!("unknown flag {flag}"),
        }
    }
    request
}
