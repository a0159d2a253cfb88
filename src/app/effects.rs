//! Runs the console's effects on the engine, and sends their results back as messages. Owns the
//! tasks.

mod groups;
mod selecting;

use super::choices::ChoicesFile;
use super::msg::{Answer, Effect, Msg, Subject};
use super::run::DemoHook;
use super::schema;
use crate::app::doc::HISTORY;
use crate::app::format::count;
use engine::Engine;
use engine::EngineError;
use engine::doctor;
use model::process::ProcessIdentity;
use model::{LogQuery, OrphanView, Select, StageId, StateChange};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

/// Maximum number of deploys on the History screen.
const DEPLOYS: u32 = 500;
/// Maximum number of stored log lines loaded at the start.
const LOG_LINES: u32 = 2_000;
/// Capacity of the queue of selection changes.
const SELECTS: usize = 256;

/// Runs effects.
pub struct Runner {
    engine: Engine,
    messages: mpsc::Sender<Msg>,
    tasks: TaskTracker,
    select_queue: mpsc::Sender<(StageId, Vec<Select>)>,
    demo: Option<DemoHook>,
    directory: PathBuf,
    choices: Option<Arc<ChoicesFile>>,
    next: Next,
}

/// Engine that replaces the current one, as soon as it is open.
type Next = Arc<Mutex<Option<Engine>>>;

impl Runner {
    /// Takes the replacing engine, if one was opened.
    pub fn next(&self) -> Option<Engine> {
        self.next
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Creates a runner that sends answers to `messages` and writes files to `directory`.
    pub fn new(
        engine: Engine,
        messages: mpsc::Sender<Msg>,
        tasks: TaskTracker,
        demo: Option<DemoHook>,
        directory: PathBuf,
        choices: Option<Arc<ChoicesFile>>,
    ) -> Self {
        let (selects, queue) = mpsc::channel(SELECTS);
        // Sequential: a later change of the selection must not overtake an earlier one.
        tasks.spawn(selecting::select_in_order(
            engine.clone(),
            queue,
            messages.clone(),
        ));
        Self {
            engine,
            messages,
            tasks,
            select_queue: selects,
            demo,
            directory,
            choices,
            next: Next::default(),
        }
    }

    /// Starts an effect. Effects of the terminal are ignored; the event loop handles them.
    pub fn run(&self, effect: Effect) {
        tracing::info!(?effect, "asked");
        if let Effect::Select(stage, selects) = effect {
            // Refused instead of awaited, because this runs in the event loop.
            if self.select_queue.try_send((stage, selects)).is_err() {
                let why = "too many changes of the selection at once";
                self.spawn_effect(async move { Some(plain_failure(Subject::Select, why)) });
            }
            return;
        }
        if let Effect::SaveChoices { before, now } = effect {
            if let Some(file) = self.choices.clone() {
                // Added here, because tasks may run in another order.
                file.add(before, now);
                self.spawn_effect(write_choices(file));
            }
            return;
        }
        if let Effect::Cancel(rung) = effect {
            // Bypasses the tasks, so that nothing delays a cancellation.
            self.engine.cancel(rung);
            return;
        }
        if let Effect::GiveUp(call) = effect {
            // An answer that arrives first ends the call on its own.
            self.engine.give_up_call(call);
            return;
        }
        let around = EffectContext {
            engine: self.engine.clone(),
            directory: self.directory.clone(),
            demo: self.demo.clone(),
            next: self.next.clone(),
        };
        self.spawn_effect(Box::pin(run_effect(around, effect)));
    }

    fn spawn_effect(&self, work: impl Future<Output = Option<Answer>> + Send + 'static) {
        let messages = self.messages.clone();
        self.tasks.spawn(async move {
            if let Some(answer) = work.await {
                match &answer {
                    // The engine's own log keeps every result, because a message in the footer
                    // disappears.
                    Answer::Failed { what, text, .. } => tracing::warn!(%what, text, "failed"),
                    Answer::Done(text) => tracing::info!(text, "done"),
                    _ => {}
                }
                // If the console has ended, the answer has no receiver and is dropped.
                messages.send(Msg::Answer(answer)).await.ok();
            }
        });
    }
}

fn failed(what: Subject, e: &EngineError) -> Option<Answer> {
    Some(Answer::Failed {
        what,
        text: e.to_string(),
        diagnostics: e.diagnostics().to_vec(),
    })
}

/// Creates a failure that has only a text.
fn plain_failure(what: Subject, why: impl std::fmt::Display) -> Answer {
    Answer::Failed {
        what,
        text: why.to_string(),
        diagnostics: Vec::new(),
    }
}

/// Ends each orphan, after a check that the pid still is the same process.
async fn end_orphans(engine: Engine, orphans: Vec<OrphanView>) -> Answer {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for one in orphans {
        let process = ProcessIdentity {
            pid: one.pid,
            start_time: one.start_time,
            boot_id: one.boot_id,
        };
        match doctor::mend(&doctor::Fix::Stop { process }).await {
            Ok(text) => done.push(text),
            Err(error) => failed.push(error.to_string()),
        }
    }
    // Updates the list that the screen shows.
    engine.look_for_orphans().await;
    if failed.is_empty() {
        return Answer::EndedOrphans(done.join("; "));
    }
    let all: Vec<String> = failed.into_iter().chain(done).collect();
    plain_failure(Subject::Orphans, all.join("; "))
}

/// Reports manual changes of the state: the first one, and the number of others.
fn edited(changes: &[StateChange]) -> Answer {
    let Some(first) = changes.first() else {
        return Answer::Done("nothing was changed".to_owned());
    };
    let what = match &first.to {
        Some(to) => format!("{} is now {to}", first.address),
        None => format!("{}: {}", first.address, first.what.label()),
    };
    let more = match changes.len() - 1 {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    Answer::StateEdited(format!("{what}{more}; stage again"))
}

fn convert_result<T>(
    what: Subject,
    result: Result<T, EngineError>,
    answer: impl FnOnce(T) -> Option<Answer>,
) -> Option<Answer> {
    match result {
        Ok(value) => answer(value),
        // Events have reported the cancellation already.
        Err(EngineError::Cancelled) => None,
        Err(e) => failed(what, &e),
    }
}

/// Context of an effect.
struct EffectContext {
    engine: Engine,
    directory: PathBuf,
    demo: Option<DemoHook>,
    next: Next,
}

/// Launches all plugins. Transformers come first: they are not awaited, and errors of the
/// configuration do not concern them.
async fn load_plugins(engine: &Engine) -> Option<Answer> {
    let transformers = engine.launch_transformers().await;
    let loaded = convert_result(
        Subject::Plugins,
        Box::pin(engine.load_plugins()).await,
        |()| Some(Answer::Loaded),
    );
    if let (Some(Answer::Loaded), Err(error)) = (&loaded, engine.open_newest_stage().await) {
        // Nobody asked for it: the console is complete without a stage.
        tracing::warn!(%error, "the newest stage could not be opened");
    }
    match loaded {
        Some(Answer::Loaded) => convert_result(Subject::Transformers, transformers, |()| {
            Some(Answer::Loaded)
        }),
        other => other,
    }
}

/// Maximum number of directory entries in a search for a configuration.
const ENTRIES: usize = 10_000;

/// Returns the name of a configuration file of a directory. With `complete`, skips empty files,
/// which an editor may be about to write.
pub(super) fn find_configuration(directory: &Path, complete: bool) -> Option<String> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries.flatten().take(ENTRIES).find_map(|e| {
        let name = e.file_name().to_string_lossy().into_owned();
        let is_configuration = !name.starts_with('.')
            && [".tf", ".tf.json", ".tofu", ".tofu.json"]
                .iter()
                .any(|end| name.ends_with(end));
        let is_complete = || e.metadata().is_ok_and(|m| m.len() > 0);
        (is_configuration && (!complete || is_complete())).then_some(name)
    })
}

/// Reports the differences between a stage and the workspace, if any. The deploy reports other
/// failures, so the confirmation stays open.
async fn check_stage(engine: &Engine, stage: StageId) -> Option<Answer> {
    match engine.check_stage(stage).await {
        Err(EngineError::Stale { stage, what }) => Some(Answer::Outdated { stage, text: what }),
        Err(error) => {
            tracing::debug!(stage, %error, "the stage could not be checked");
            None
        }
        Ok(()) => None,
    }
}

async fn run_effect(around: EffectContext, effect: Effect) -> Option<Answer> {
    let EffectContext {
        engine,
        directory,
        demo,
        next,
    } = around;
    match effect {
        Effect::WatchWorkspace => {
            engine.watch_workspace();
            None
        }
        Effect::FindInstalled => {
            convert_result(Subject::Plugins, engine.find_installed().await, |all| {
                let text = format!(
                    "{} installed providers are listed; s launches one",
                    all.len()
                );
                Some(Answer::Done(text))
            })
        }
        Effect::LoadPlugins => load_plugins(&engine).await,
        Effect::FindConfiguration => {
            // File access blocks, and this is a worker thread of the engine's runtime.
            let search = move || find_configuration(&directory, true);
            let found = tokio::task::spawn_blocking(search).await;
            Some(Answer::Configuration(found.unwrap_or_default()))
        }
        Effect::Stage(request) => convert_result(
            Subject::Stage,
            Box::pin(engine.stage(request)).await,
            |_| None,
        ),
        Effect::LoadSelections => {
            convert_result(Subject::Selection, engine.saved_selections().await, |all| {
                Some(Answer::Selections(all))
            })
        }
        Effect::SaveSelection(stage, name) => {
            let saved = engine.save_selection(stage, &name).await;
            convert_result(Subject::Selection, saved, |saved| {
                let n = count(saved.addresses.len(), "change");
                let text = format!("selection {} saved: {n}", saved.name);
                Some(Answer::Done(text))
            })
        }
        Effect::DeleteSelection(name) => {
            let deleted = engine.delete_selection(&name).await;
            convert_result(Subject::Selection, deleted, |()| {
                Some(Answer::Done(format!("selection {name} deleted")))
            })
        }
        Effect::CheckStage(stage) => check_stage(&engine, stage).await,
        Effect::Deploy(request) => convert_result(
            Subject::Deploy,
            Box::pin(engine.deploy(request)).await,
            |_| None,
        ),
        Effect::Forget(addresses) => convert_result(
            Subject::Forget,
            engine.forget(addresses, false).await,
            |all| Some(edited(&all)),
        ),
        Effect::Import(object) => convert_result(
            Subject::Import,
            Box::pin(engine.import(object)).await,
            |c| Some(edited(&[c])),
        ),
        Effect::Taint { address, tainted } => {
            convert_result(Subject::Taint, engine.taint(address, tainted).await, |c| {
                Some(edited(&[c]))
            })
        }
        Effect::Move { from, to, dry_run } => convert_result(
            Subject::Move,
            engine.rename(from.clone(), to.clone(), dry_run).await,
            |moves| match dry_run {
                true => Some(Answer::Moves { from, to, moves }),
                false => Some(edited(&moves)),
            },
        ),
        Effect::Trust(plugins) => match engine.trust_plugins(plugins).await {
            // Launches the plugins that waited for the decision.
            Ok(()) => load_plugins(&engine).await,
            Err(e) => failed(Subject::Trust, &e),
        },
        Effect::Plugin(plugin, command) => convert_result(
            Subject::Plugin,
            engine.plugin(&plugin, command).await,
            |()| None,
        ),
        Effect::LoadHistory => {
            convert_result(Subject::History, engine.history(DEPLOYS).await, |all| {
                Some(Answer::History(all))
            })
        }
        Effect::LoadRecord(deploy) => {
            convert_result(Subject::Replay, engine.deploy_record(deploy).await, |r| {
                Some(Answer::Record(Box::new(r)))
            })
        }
        Effect::CompareDeploys(before, after) => {
            let compared = engine.compare_deploys(before, after).await;
            convert_result(Subject::History, compared, |c| {
                Some(Answer::Comparison(Box::new(c)))
            })
        }
        Effect::CompareConfiguration(deploy) => {
            let files = engine.configuration_difference(deploy).await;
            convert_result(Subject::History, files, |files| {
                Some(Answer::ConfigurationDifference(deploy, files))
            })
        }
        Effect::LoadLast(deploy) => {
            convert_result(Subject::Deploy, engine.deploy_record(deploy).await, |r| {
                Some(Answer::Last(Box::new(r)))
            })
        }
        Effect::LoadFailures => {
            convert_result(Subject::Failures, engine.failures(None).await, |all| {
                Some(Answer::Failures(all))
            })
        }
        Effect::LoadOperations(deploy) => {
            convert_result(Subject::History, engine.operations(deploy).await, |all| {
                Some(Answer::Operations(deploy, all))
            })
        }
        Effect::FindDeclaration(of) => {
            convert_result(Subject::Stage, engine.place_of(of).await, |place| {
                Some(Answer::Declaration(place))
            })
        }
        Effect::LoadVariables(plan) => {
            convert_result(Subject::Stage, engine.root_variables(plan).await, |all| {
                Some(Answer::Variables(Box::new(all)))
            })
        }
        Effect::LoadGroups => convert_result(Subject::Groups, engine.groups().await, |all| {
            Some(Answer::Groups(all))
        }),
        Effect::RequestRollout(group, verb, member) => {
            Some(groups::request_rollout(&engine, &group, verb, member).await)
        }
        Effect::ScaleGroup(group, size) => Some(groups::scale(&engine, &group, size).await),
        Effect::FreeGroup(group) => Some(groups::free(&engine, &group).await),
        Effect::RollBackGroup(group) => Some(groups::roll_back(&engine, &group).await),
        Effect::LoadRollout(group) => {
            let newest = engine.newest_rollout(&group).await;
            convert_result(Subject::Groups, newest, |rollout| {
                Some(Answer::Rollout(group, rollout.map(Box::new)))
            })
        }
        Effect::LoadLogs => {
            let query = LogQuery {
                limit: LOG_LINES,
                ..LogQuery::default()
            };
            convert_result(Subject::Logs, engine.logs(query).await, |rows| {
                Some(Answer::Logs(rows))
            })
        }
        Effect::LoadState => convert_result(Subject::State, engine.state_rows().await, |rows| {
            Some(Answer::State(rows))
        }),
        Effect::Look => convert_result(Subject::State, engine.look_at_all().await, |runs| {
            let all = runs
                .iter()
                .map(|run| format!("{}: {}", run.subject(), run.summary()));
            let text = all.collect::<Vec<_>>().join("; ");
            Some(Answer::StateEdited(text))
        }),
        Effect::LoadObservations(address) => {
            let changes = engine.observation_history(&address, HISTORY).await;
            convert_result(Subject::State, changes, |changes| {
                Some(Answer::Observations(address, changes))
            })
        }
        Effect::LoadOutputs => convert_result(Subject::State, engine.output_rows().await, |rows| {
            Some(Answer::Outputs(rows))
        }),
        Effect::Reveal(place) => {
            convert_result(Subject::Reveal, engine.reveal(&place).await, |value| {
                Some(Answer::Revealed(place.clone(), value))
            })
        }
        Effect::LoadSchema(plugin) => {
            convert_result(Subject::Schema, engine.documented(&plugin).await, |s| {
                Some(Answer::Schema(plugin.clone(), schema::flatten(&s)))
            })
        }
        Effect::WriteStarter(plugin, name) => {
            convert_result(Subject::Schema, engine.documented(&plugin).await, |s| {
                let text = conform::starter_text(&s, &name, false);
                let absent = || plain_failure(Subject::Schema, format!("there is no type {name}"));
                Some(text.map_or_else(absent, Answer::Starter))
            })
        }
        Effect::LoadWorkspaces => {
            convert_result(Subject::Workspace, engine.workspaces().await, |all| {
                Some(Answer::Workspaces(all))
            })
        }
        Effect::Install(bring) => match engine.install(bring).await {
            // Events ask the operator about these states.
            Err(EngineError::StatesToMigrate { .. }) => None,
            done => convert_result(Subject::Init, done, |()| None),
        },
        Effect::RunDoctor => Some(Answer::Findings(doctor::examine(engine.settings()).await)),
        Effect::ApplyFix(what) => Some(match doctor::mend(&what).await {
            Ok(text) => Answer::Mended(text),
            Err(e) => plain_failure(Subject::Doctor, e),
        }),
        Effect::EndOrphans(orphans) => Some(end_orphans(engine, orphans).await),
        Effect::Open { workspace, create } => open(engine, next, &workspace, create).await,
        Effect::Export(deploy) => match engine.deploy_record(deploy).await {
            Ok(record) => {
                let text = serde_json::to_string_pretty(&record).unwrap_or_default();
                write(
                    &directory,
                    &format!("flightdeck-deploy-{deploy}"),
                    "json",
                    text,
                )
                .await
            }
            Err(e) => failed(Subject::Export, &e),
        },
        Effect::Save {
            stem,
            extension,
            text,
        } => write(&directory, &stem, extension, text).await,
        Effect::Demo(fault) => {
            let hook = demo?;
            // File access blocks, and this is a worker thread of the engine's runtime.
            let done = tokio::task::spawn_blocking(move || (hook.act)(&fault)).await;
            Some(match done {
                Ok(Ok(text)) => Answer::Done(text),
                Ok(Err(why)) => plain_failure(Subject::Demo, why),
                Err(e) => plain_failure(Subject::Demo, e),
            })
        }
        // Handled by the event loop, or by [`Runner::run`] itself.
        Effect::Copy(_)
        | Effect::Mouse(_)
        | Effect::Notify(_)
        | Effect::Edit(_)
        | Effect::Suspend(_)
        | Effect::Redraw
        | Effect::Tracing(_)
        | Effect::Select(..)
        | Effect::SaveChoices { .. }
        | Effect::Cancel(_)
        | Effect::GiveUp(_) => None,
    }
}

/// Opens the engine of a workspace and shuts this one down. Another workspace is opened first, so
/// that a failure leaves this engine running.
async fn open(engine: Engine, next: Next, workspace: &str, create: bool) -> Option<Answer> {
    // Read before the shutdown, which frees the address for the other engine.
    let metrics = engine.metrics_address();
    // The same workspace can be opened only after its lock is released.
    if workspace == engine.workspace_name() {
        engine.shutdown().await;
    }
    let other = match Box::pin(engine.on_workspace(workspace, create)).await {
        Ok(other) => other,
        Err(e) => return failed(Subject::Workspace, &e),
    };
    *next.lock().unwrap_or_else(PoisonError::into_inner) = Some(other.clone());
    if workspace != engine.workspace_name() {
        engine.shutdown().await;
    }
    other.resume_metrics_server(metrics).await;
    Some(Answer::Opened)
}

/// Writes changed choices.
async fn write_choices(file: Arc<ChoicesFile>) -> Option<Answer> {
    let path = file.path().display().to_string();
    let written = tokio::task::spawn_blocking(move || file.write()).await;
    let error = match written {
        Ok(written) => written.err()?,
        Err(e) => e.into(),
    };
    let why = format!("cannot write {path}: {error}; they apply to this console only");
    Some(plain_failure(Subject::Choices, why))
}

/// Writes a file under the first free name: `stem.ext`, `stem-2.ext`, …
async fn write(directory: &Path, stem: &str, extension: &str, text: String) -> Option<Answer> {
    use tokio::io::AsyncWriteExt;
    for n in 1..1_000 {
        let name = if n == 1 {
            format!("{stem}.{extension}")
        } else {
            format!("{stem}-{n}.{extension}")
        };
        let mut options = tokio::fs::OpenOptions::new();
        // Never overwrites a file, not even one created after the name was chosen.
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let written = match options.open(directory.join(&name)).await {
            Ok(mut file) => match file.write_all(text.as_bytes()).await {
                Ok(()) => file.flush().await,
                Err(e) => Err(e),
            },
            Err(e) => Err(e),
        };
        match written {
            Ok(()) => {
                return Some(Answer::Done(format!(
                    "written to {}",
                    directory.join(&name).display()
                )));
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => {
                return Some(plain_failure(Subject::Write(Some(name)), e));
            }
        }
    }
    let why = format!("too many files named {stem}");
    Some(plain_failure(Subject::Write(None), why))
}
