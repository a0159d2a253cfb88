//! Checks that a stage still matches the configuration, variables and state, wherever the workspace
//! directory is.

use super::command::Operations;
use super::error::WorkError;
use super::reading::LoadResult;
use super::staging::join_limited;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::stage::change::{Stage, StateOrigin};
use crate::stage::encoding::{self, StageCodecError};
use cty::Value;
use lang::config::{Overridden, Planned, wants_install};
use model::mutex::lock;
use model::view::View;
use model::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::records::{Revision, StageRecord, State};
use workspace::load::{self, Loaded};

/// Purpose of restoring a stage.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// Display or selection; ephemeral variables need no value.
    Display,
    /// Deploy, with these variable flags.
    Deploy(&'a [VariableFlag]),
}

impl<'a> Purpose<'a> {
    pub(super) fn flags(self) -> &'a [VariableFlag] {
        match self {
            Self::Display => &[],
            Self::Deploy(flags) => flags,
        }
    }

    /// Request of a stage in memory, with the values of all variables, including ephemeral ones.
    pub(super) fn of_stage(self, stage: &Stage) -> StageRequest {
        let (values, overridden) = (stage.variables.clone(), stage.overridden.clone());
        self.fixed(stage.request.clone(), values, overridden)
    }

    /// Request of a stored stage, with the values of its variables.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn of_record(self, record: &StageRecord) -> Result<StageRequest, StageCodecError> {
        let asked = encoding::stored_request(record)?;
        let mut request = asked.request;
        // From the record, because a plan file may come from another store.
        if let Some(deploy) = request.configuration_of {
            let inputs = record.inputs.as_ref();
            let stored =
                encoding::stored_configuration(deploy, &record.snapshot, inputs, BTreeMap::new())?;
            request.stored = Some(Arc::new(stored));
        }
        Ok(self.fixed(request, asked.variables, asked.overridden))
    }

    fn fixed(
        self,
        request: StageRequest,
        values: BTreeMap<Arc<str>, Value>,
        overridden: Overridden,
    ) -> StageRequest {
        let applies = matches!(self, Self::Deploy(_));
        StageRequest {
            // Variable files may be gone; their values are stored with the stage.
            variables: self.flags().to_vec(),
            planned: Some(Arc::new(Planned {
                values,
                overridden,
                applies,
            })),
            ..request
        }
    }
}

impl Operations {
    /// Loads the configuration for a stage of `files`, a digest and the files' texts.
    ///
    /// # Errors
    /// Files or values of variables have changed.
    pub(super) async fn read_same(
        &self,
        stage: StageId,
        request: &StageRequest,
        (digest, files): (&str, &[(String, String)]),
    ) -> Result<Loaded, EngineError> {
        let (sources, diags, loaded) = match self.load_same(stage, request, (digest, files)).await?
        {
            Ok((loaded, warnings)) => (loaded.sources.clone(), warnings, Some(loaded)),
            Err((sources, diags)) => (sources, diags, None),
        };
        self.report_missing_modules(&diags, &sources);
        self.emit_diagnostics(convert_all(diags.iter(), &sources, self.pool.secrets()))?;
        loaded.ok_or_else(|| WorkError::Configuration.into())
    }

    /// Loads the configuration like [`Self::read_same`], and emits nothing. The inner error has the
    /// diagnostics, among them those of variables.
    ///
    /// # Errors
    /// Files have changed.
    pub(super) async fn load_same(
        &self,
        stage: StageId,
        request: &StageRequest,
        (digest, files): (&str, &[(String, String)]),
    ) -> Result<LoadResult, EngineError> {
        let read = self.load(request, false).await?;
        let now = match &read {
            Ok((loaded, _)) => loaded.snapshot.clone(),
            // A configuration that cannot be loaded still has files to compare.
            Err((sources, _)) => load::snapshot(sources, request),
        };
        // Checked first, because a changed file can be the cause of any later error.
        if load::config_digest(&now) != *digest && !lacks_modules_only(&read, files, &now) {
            return Err(EngineError::Stale {
                stage,
                what: changed_since(&changed_files(files, &now)),
            });
        }
        Ok(read)
    }

    /// Variables without a value, for staging a request or for deploying a stage with the request's
    /// flags. Empty if the configuration cannot be read; the command itself reports those errors.
    pub async fn unset_variables(
        &self,
        request: StageRequest,
        stage: Option<StageId>,
    ) -> Result<Vec<UnsetVariable>, EngineError> {
        let request = match stage {
            Some(id) => StageRequest {
                variables: request.variables,
                ..self.request_of(id, Purpose::Display).await?
            },
            None => self.with_configuration(request).await?,
        };
        let Ok((loaded, _)) = self.load(&request, true).await? else {
            return Ok(Vec::new());
        };
        let declared = loaded.root.variables.values();
        let unset = declared.filter(|v| v.default.is_none() && !loaded.given.contains_key(&v.name));
        let named = |v: &lang::config::Variable| UnsetVariable {
            name: v.name.to_string(),
            description: v.description.clone(),
            is_secret: v.sensitive || v.ephemeral,
        };
        Ok(unset.map(named).collect())
    }

    /// Root variables with their values for a request. The problem is an error of a value, or of
    /// the configuration, in which case no variable may be known.
    pub async fn root_variables(
        &self,
        request: StageRequest,
    ) -> Result<RootVariables, EngineError> {
        let (loaded, problem) = match self.load(&request, true).await? {
            Ok((loaded, _)) => (Some(loaded), None),
            Err((sources, diags)) => {
                let errors = diags.iter().filter(|d| d.is_error());
                let problem = convert_all(errors, &sources, self.pool.secrets());
                // Without the flags, a wrong value of one hides no declaration.
                let without = StageRequest {
                    variables: Vec::new(),
                    ..request
                };
                let loaded = self.load(&without, true).await?.ok();
                (loaded.map(|(loaded, _)| loaded), problem.into_iter().next())
            }
        };
        let declared = loaded
            .iter()
            .flat_map(|l| l.root.variables.values().map(move |v| (l, v)));
        let all = declared.map(|(loaded, v)| {
            let is_secret = v.sensitive || v.ephemeral;
            let shown = |value: &Value| match is_secret {
                true => "(sensitive value)".to_owned(),
                false => lang::literal::format_value(value, 0),
            };
            RootVariable {
                name: v.name.to_string(),
                type_text: if v.typed {
                    v.ty.ty.to_string()
                } else {
                    "any".to_owned()
                },
                description: v.description.clone(),
                default: v.default.as_ref().map(shown),
                given: match loaded.secrets.get(&v.name) {
                    Some(secret) => Some(format!("({secret})")),
                    None => loaded.given.get(&v.name).map(|(value, _)| shown(value)),
                },
                is_secret,
            }
        });
        Ok(RootVariables {
            all: all.collect(),
            problem: problem.map(|d| match d.detail.lines().next() {
                Some(detail) => format!("{}: {detail}", d.summary),
                None => d.summary,
            }),
        })
    }

    /// File and line of a declaration; `None` if the configuration does not contain it.
    pub async fn place_of(&self, of: Declared) -> Result<Option<FileLine>, EngineError> {
        let Ok((loaded, _)) = self.load(&StageRequest::default(), true).await? else {
            return Ok(None);
        };
        let span = match of {
            Declared::Resource(address) => {
                let address = address.parse::<lang::addr::AbsInstance>().ok();
                address.and_then(|address| {
                    let module = loaded.root.descendant(&address.module.path().0)?;
                    let name = address.resource.to_string();
                    let mut all = module.resources.values();
                    all.find(|r| r.name.to_string() == name).map(|r| r.span)
                })
            }
            Declared::Plugin(plugin) => {
                let modules = loaded.root.all().into_iter();
                let mut all = modules.flat_map(|m| m.required_providers.values());
                // The id of a plugin is the end of its source.
                all.find(|p| !p.implied && (*p.source).ends_with(&*plugin.0))
                    .map(|p| p.span)
            }
        };
        let range = span.and_then(|span| loaded.sources.range(span));
        Ok(range.map(|range| FileLine {
            path: self.settings.workspace.join(range.filename),
            line: range.start.line,
        }))
    }

    /// Identity and location of the state in use.
    pub(super) fn origin(&self, state: &State) -> StateOrigin {
        StateOrigin {
            workspace: self.settings.workspace_name.clone(),
            place: self.memory.state().absolute_place_name(),
            lineage: state.lineage.clone(),
        }
    }

    /// Difference between the store's state and the one that the newest stage was planned on. None
    /// after a deploy of the stage.
    pub(super) fn newest_is_outdated(&self, now: &Revision) -> Option<String> {
        let stage = lock(&self.newest).as_ref()?.stage.clone();
        let deployed = |view: &View| view.deploy.as_ref().is_some_and(|d| d.stage == stage.id);
        if self.bus.with_view(deployed) {
            return None;
        }
        let origin = StateOrigin {
            lineage: now.lineage.clone(),
            ..self.origin(&State::default())
        };
        difference((&stage.origin, stage.state_serial), (&origin, now.serial))
    }

    /// Difference between the present state and the one that a stage was planned on.
    pub(super) async fn another_state(&self, stage: &Stage) -> Result<Option<String>, EngineError> {
        let (lineage, serial) = self.memory.state().version().await?;
        let now = StateOrigin {
            lineage,
            ..self.origin(&State::default())
        };
        Ok(difference(
            (&stage.origin, stage.state_serial),
            (&now, serial),
        ))
    }
}

/// First difference between two states.
fn difference(
    (then, serial_then): (&StateOrigin, i64),
    (now, serial): (&StateOrigin, i64),
) -> Option<String> {
    let name = |origin: &StateOrigin| match origin.workspace.is_empty() {
        true => DEFAULT_WORKSPACE.to_owned(),
        false => origin.workspace.clone(),
    };
    // A state that was never written has a random lineage, which must not be compared.
    match () {
        () if then.workspace != now.workspace => Some(format!(
            "the stage was planned for workspace {:?}, but workspace {:?} is selected",
            name(then),
            name(now)
        )),
        () if then.place != now.place => Some(format!(
            "the stage was planned on the state in {}, but the state is in {} now",
            then.place, now.place
        )),
        () if serial_then != 0 && serial == 0 => Some(format!(
            "the stage was planned on a state with serial {serial_then}, but {} has no state now",
            now.place
        )),
        () if serial_then != 0 && then.lineage != now.lineage => Some(format!(
            "the state in {} is not the one that the stage was planned on (lineage {} then, {} now)",
            now.place, then.lineage, now.lineage
        )),
        () if serial != serial_then => Some(format!(
            "the state has changed since the stage was planned (serial {serial_then} then, {serial} now)"
        )),
        () => None,
    }
}

/// Names of the files that differ, with `(new)` or `(removed)`.
pub(super) fn changed_files(then: &[(String, String)], now: &[(String, String)]) -> Vec<String> {
    let named = differing_files(then, now).into_iter();
    let named = named.map(|FileDifference { name, kind, .. }| match kind {
        DifferenceKind::New => format!("{name} (new)"),
        DifferenceKind::Removed => format!("{name} (removed)"),
        DifferenceKind::Changed => name,
    });
    named.collect()
}

/// Returns true if nothing differs but files of modules that are not installed here. The errors of
/// the configuration name them, and the command that installs them.
fn lacks_modules_only(
    read: &LoadResult,
    then: &[(String, String)],
    now: &[(String, String)],
) -> bool {
    let Err((_, diags)) = read else {
        return false;
    };
    let mut differences = differing_files(then, now).into_iter();
    diags.errors().any(wants_install)
        && differences.all(|file| matches!(file.kind, DifferenceKind::Removed))
}

fn changed_since(files: &[String]) -> String {
    let files = join_limited(files);
    format!("{files} changed since the stage was planned")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(workspace: &str, place: &str, lineage: &str) -> StateOrigin {
        StateOrigin {
            workspace: workspace.into(),
            place: place.into(),
            lineage: lineage.into(),
        }
    }

    #[test]
    fn first_difference_between_states_is_named() {
        let then = (&origin("", "s3://b/k", "l"), 3);
        let table = [
            (origin("", "s3://b/k", "l"), 3, None),
            (origin("", "s3://b/k", "l"), 4, Some("serial 3 then, 4 now")),
            (
                origin("", "s3://b/k", "m"),
                4,
                Some("lineage l then, m now"),
            ),
            (
                origin("", "s3://b/k", "m"),
                0,
                Some("s3://b/k has no state now"),
            ),
            (
                origin("", "s3://c/k", "m"),
                4,
                Some("state is in s3://c/k now"),
            ),
            (
                origin("dev", "s3://c/k", "l"),
                3,
                Some("\"dev\" is selected"),
            ),
        ];
        for (now, serial, expected) in table {
            let found = difference(then, (&now, serial));
            match expected {
                None => assert_eq!(found, None),
                Some(words) => assert!(
                    found.as_ref().is_some_and(|f| f.contains(words)),
                    "{found:?}"
                ),
            }
        }
        // Every empty state at a place counts as the same.
        let first = (&origin("", "s3://b/k", "l"), 0);
        let other = origin("", "s3://b/k", "m");
        assert_eq!(difference(first, (&other, 0)), None);
        assert!(difference(first, (&other, 1)).is_some());
    }

    #[test]
    fn changed_configuration_files_are_named() {
        let files = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            let owned = all.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned()));
            owned.collect()
        };
        let then = files(&[("a.tf", "1"), ("b.tf", "1"), ("c.tf", "1")]);
        let now = files(&[("a.tf", "1"), ("b.tf", "2"), ("d.tf", "1")]);
        let text = changed_since(&changed_files(&then, &now));
        assert!(
            text.starts_with("b.tf, c.tf (removed), d.tf (new) changed since"),
            "{text}"
        );
    }
}
