//! `flightdeck plugin dev`: builds a provider after each change, replaces its process, stages a
//! workspace again, and shows what changed.

mod build;
mod watch;

use crate::app::format::count;
use crate::cli::commands::change_directory;
use crate::cli::escape::{safe, safe_path};
use crate::cli::exit::{CliError, CommandResult, OK, report_problem};
use crate::cli::options::PluginDevArgs;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::show;
use build::{Build, Built};
use conform::schema_changes;
use model::settings::Access;
use model::{PluginCommand, PluginId, StageRequest, StageSummary};
use provider::ProviderSchema;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use watch::Sources;

/// Workspace that is staged, if there is one of this name beside the provider's source.
const EXAMPLE: &str = "example";

pub(super) async fn run(args: PluginDevArgs, out: &mut Output) -> CommandResult {
    let source = directory(&args.dir)?;
    let example = source.join(EXAMPLE);
    let workspace = match &args.workspace {
        Some(named) => directory(named)?,
        None if example.is_dir() => example,
        None => directory(Path::new("."))?,
    };
    let build = Build::new(&source, args.build.as_deref(), args.binary.as_deref())?;
    change_directory(&workspace)?;
    // Taken before the first build, so that edits during it count as changes.
    let mut sources = Sources::new(vec![source, workspace.clone()], build.binary());
    // Before the session there is nothing to end, so an interrupt ends this process at once.
    let built = loop {
        match build.run().await? {
            Ok(built) => break built,
            Err(failed) if args.once => return Err(CliError::io(failed)),
            Err(failed) => out.error_line(&failed),
        }
        sources.changed().await?;
    };
    let mut settings = settings("plugin dev", Access::ReadWrite, None)?;
    let development = (built.name.clone(), built.directory.clone());
    settings.development = BTreeMap::from([development]);
    let mut work = Development {
        session: Session::start(settings, out).await?,
        workspace,
        built,
        shown: None,
        schema: None,
    };
    let ended = work.repeat(&build, &mut sources, args.once, out).await;
    work.session.finish(out).await;
    out.flush_diagnostics();
    match ended {
        // An interrupt is the usual end of the loop.
        Err(CliError::Cancelled) if !args.once => Ok(OK),
        Err(error) => Err(error),
        Ok(()) => Ok(OK),
    }
}

fn directory(path: &Path) -> Result<PathBuf, CliError> {
    let found = path.canonicalize().ok().filter(|found| found.is_dir());
    found.ok_or_else(|| {
        CliError::missing(format!("there is no directory {}", safe_path(path)))
            .hint("name an existing directory")
    })
}

/// Provider under development, and the last stage with it.
struct Development {
    session: Session,
    workspace: PathBuf,
    built: Built,
    shown: Option<Arc<StageSummary>>,
    schema: Option<Arc<ProviderSchema>>,
}

impl Development {
    /// Stages, and again after each change, until a signal arrives.
    async fn repeat(
        &mut self,
        build: &Build,
        sources: &mut Sources,
        once: bool,
        out: &mut Output,
    ) -> Result<(), CliError> {
        loop {
            match self.stage(out).await {
                Ok(()) => {}
                Err(CliError::Cancelled) => return Err(CliError::Cancelled),
                Err(error) if once => return Err(error),
                // The next change of the source may fix it.
                Err(error) => report_problem(&error, out),
            }
            out.flush_diagnostics();
            if once {
                return Ok(());
            }
            // Each stage must report its problems again, also those of the stage before.
            out.forget_diagnostics();
            out.stderr_line("waiting for a change; press Ctrl-C to stop");
            loop {
                self.session
                    .wait_outside_engine(sources.changed())
                    .await??;
                let built = self.session.wait_outside_engine(build.run()).await??;
                match built {
                    Ok(built) => break self.replace(built, out).await?,
                    Err(failed) => out.error_line(&failed),
                }
            }
        }
    }

    /// Launches the new executable in place of the running process.
    async fn replace(&mut self, built: Built, out: &mut Output) -> Result<(), CliError> {
        // The running session looks for the executable only in the first directory.
        if built.directory != self.built.directory {
            return Err(CliError::missing(format!(
                "cannot replace the process: the build now writes the executable to {} instead of {}",
                safe_path(&built.directory),
                safe_path(&self.built.directory)
            ))
            .hint("run the command again"));
        }
        let is_same = built.stamp == self.built.stamp;
        self.built = built;
        // A new process of an unchanged executable would only cost time.
        let Some(plugin) = self.plugin().filter(|_| !is_same) else {
            return Ok(());
        };
        let engine = self.session.engine.clone();
        let mut progress = Progress::new(out);
        let restart = engine.plugin(&plugin, PluginCommand::Restart);
        match self.session.wait(out, &mut progress, restart).await {
            Err(CliError::Cancelled) => Err(CliError::Cancelled),
            // The stage launches it again, and reports why it does not start.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The plugin that serves the executable.
    fn plugin(&self) -> Option<PluginId> {
        let (view, _) = self.session.engine.subscribe();
        let is_it = |executable: &String| Path::new(executable) == self.built.executable;
        let mut plugins = view.plugins.into_values();
        let found = plugins.find(|p| {
            let executable = p.found.as_ref().and_then(|found| found.executable.as_ref());
            executable.is_some_and(is_it)
        });
        Some(found?.id)
    }

    /// Stages the workspace, and shows the first stage whole and then the differences.
    async fn stage(&mut self, out: &mut Output) -> Result<(), CliError> {
        let engine = self.session.engine.clone();
        let mut progress = Progress::new(out);
        let stage = engine.stage(StageRequest::default());
        let staged = self.session.wait(out, &mut progress, stage).await;
        let Some(plugin) = self.plugin() else {
            // The error of the stage, if there is one, explains more than the one below.
            staged?;
            return Err(CliError::missing(format!(
                "the configuration in {} uses no provider named {:?}",
                safe_path(&self.workspace),
                self.built.name
            ))
            .hint("name another workspace with --workspace"));
        };
        // A plugin that did not start is the error of the stage.
        let schema = engine.schema(&plugin);
        if let Ok(schema) = self.session.wait(out, &mut progress, schema).await {
            self.show_schema(&plugin, &schema, out);
            self.schema = Some(schema);
        }
        let staged = staged?;
        match &self.shown {
            None => show::stage(out, &staged),
            Some(before) => show_differences(before, &staged, out),
        }
        self.shown = Some(staged);
        Ok(())
    }

    fn show_schema(&self, plugin: &PluginId, schema: &ProviderSchema, out: &mut Output) {
        let Some(before) = &self.schema else { return };
        let changes = schema_changes(before, schema);
        if changes.is_empty() {
            return;
        }
        out.line(&format!("schema of {plugin}:"));
        changes
            .iter()
            .for_each(|line| out.line(&format!("  {}", safe(line))));
    }
}

/// Shows the changes that differ from those of the stage before.
fn show_differences(before: &StageSummary, after: &StageSummary, out: &mut Output) {
    let effective = |stage: &StageSummary| {
        let changes = stage.changes.iter().filter(|c| c.has_effect());
        changes
            .map(|c| (c.address.clone(), c.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (effective(before), effective(after));
    let mut differences = 0;
    for (address, change) in &after {
        if before.get(address) != Some(change) {
            show::change(out, change);
            differences += 1;
        }
    }
    for address in before.keys().filter(|a| !after.contains_key(*a)) {
        out.line(&format!("  {}: no change any more", safe(address)));
        differences += 1;
    }
    if differences == 0 {
        let changes = count(after.len(), "change");
        out.line(&format!("the stage is the same as before ({changes})"));
    }
}
