//! Event loop of the console: turns input, clock, events and answers into messages, runs the
//! effects of `update`, and draws changed frames. Generic over terminal and event source, so that
//! tests can drive it.

use super::choices::{Choices, KeptChoices};
use super::effects::{Runner, find_configuration};
use super::key::Input;
use super::keymap::KeyMap;
use super::msg::{Effect, Msg};
use super::state::{Appearance, Fault, Screen, State};
use super::theme::Themes;
use super::{refresh_lists, start, update};
use engine::Engine;
use futures_util::FutureExt;
use model::bus::{Subscription, Update};
use model::{EventKind, PluginEvent, StageRequest, now_ms};
use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Minimum interval of frames caused by events, about 30 per second.
const FRAME: Duration = Duration::from_millis(33);
/// Minimum interval of frames caused by keys. A single key is drawn at once; a paste or a turn of
/// the wheel is not drawn key by key.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Capacity of the queue of answers.
const ANSWER_QUEUE: usize = 256;
/// Time limit for running tasks after the engine has ended.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(15);

/// Options of a console.
#[derive(Debug, Clone, Default)]
pub struct ConsoleOptions {
    pub appearance: Appearance,
    pub themes: Themes,
    pub mouse: bool,
    /// The process can be suspended to a shell.
    pub shell: bool,
    /// The terminal is in tmux.
    pub tmux: bool,
    /// Choices to start with, and their file; `None` keeps none.
    pub choices: Option<KeptChoices>,
    /// Keys by command name; override the defaults.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Problems to report on the screen.
    pub problems: Vec<String>,
    /// Lines on the screen until there is a stage.
    pub notes: Vec<String>,
    /// Faults of the demo.
    pub demo: Option<DemoHook>,
    /// Number of destroyed objects from which a confirmation must be typed; 0 for the default.
    pub typed_from: usize,
    /// Plan options of each stage.
    pub plan: StageRequest,
}

/// Reasons why a fault of the demo fails.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("unknown fault")]
    NoSuchFault,
    #[error(transparent)]
    Lab(#[from] bundled::lab::LabError),
}

/// Faults of the demo, and the function that triggers them.
#[derive(Clone)]
pub struct DemoHook {
    pub faults: Vec<Fault>,
    /// Triggers the fault with an id. Returns a text about it.
    pub act: Arc<dyn Fn(&str) -> Result<String, DemoError> + Send + Sync>,
}

impl std::fmt::Debug for DemoHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DemoHook")
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

impl DemoHook {
    /// Creates the faults of the bundled lab in the demo's workspace.
    pub fn of_lab(workspace: PathBuf) -> Self {
        let faults = bundled::demo::demo_faults();
        let act = move |id: &str| {
            let lab = bundled::demo::lab_file(&workspace);
            let fault = bundled::demo::demo_faults()
                .iter()
                .find(|b| b.title == id)
                .ok_or(DemoError::NoSuchFault)?;
            Ok(fault.trigger(&lab)?)
        };
        Self {
            faults: faults
                .iter()
                .map(|b| Fault {
                    key: b.key,
                    id: b.title.to_owned(),
                    doc: b.effect.to_owned(),
                })
                .collect(),
            act: Arc::new(act),
        }
    }

    /// Note with the first steps; the popup of `B` lists the faults.
    pub const NOTE: &str = "demo of a small shop: 3 opens Stage, s stages, a applies the selected changes, B causes a fault";
}

/// Terminal interface of the loop.
#[expect(async_fn_in_trait, reason = "used by this loop alone, on one thread")]
pub trait Surface {
    /// Columns and rows.
    fn size(&self) -> (u16, u16);
    /// Draws the state.
    fn draw(&mut self, state: &State) -> io::Result<()>;
    /// Returns the next input; `None` at its end. Cancel-safe.
    async fn input(&mut self) -> Option<io::Result<Input>>;
    /// Runs an effect of the terminal.
    fn trigger(&mut self, effect: Effect) -> io::Result<()>;
}

/// Source of events.
#[expect(async_fn_in_trait, reason = "used by this loop alone, on one thread")]
pub trait EventSource {
    /// Returns the next events; `None` after the engine's end. Cancel-safe.
    async fn next(&mut self) -> Option<Update>;
}

impl EventSource for Subscription {
    async fn next(&mut self) -> Option<Update> {
        self.recv().await
    }
}

/// Runs the console on an engine until the operator leaves it or `told` completes. `take` sets up
/// the terminal, with or without mouse. Restores the terminal, and then calls `farewell` to shut
/// down the current engine.
///
/// # Errors
/// The terminal cannot be set up, drawn to or read from.
pub async fn run<S: Surface>(
    engine: Engine,
    options: ConsoleOptions,
    take: impl FnOnce(bool) -> io::Result<S>,
    told: impl Future<Output = ()> + Send + 'static,
    farewell: impl AsyncFnOnce(Engine),
) -> color_eyre::Result<()> {
    let cancel = CancellationToken::new();
    let tasks = TaskTracker::new();
    tasks.spawn(cancel_on_signal(told, cancel.clone()));
    // Unwind-safe: only the engine's handle is used after a panic.
    let now = Mutex::new(engine);
    let ended = AssertUnwindSafe(run_on(take, &now, options, &cancel, &tasks))
        .catch_unwind()
        .await;
    let engine = now.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Also after a panic: outcomes must be recorded and plugins stopped.
    farewell(engine).await;
    // Ends the task that waits for a signal.
    cancel.cancel();
    tasks.close();
    timeout(SHUTDOWN_TIMEOUT, tasks.wait()).await.ok();
    match ended {
        Ok(ended) => Ok(ended?),
        // Only now, because the panic ends the process: plugins are stopped and the lock is
        // released.
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs the console until it leaves the terminal, on one engine after the other if the operator
/// switches workspaces. `now` always has the current engine.
async fn run_on<S: Surface>(
    take: impl FnOnce(bool) -> io::Result<S>,
    now: &Mutex<Engine>,
    mut options: ConsoleOptions,
    cancel: &CancellationToken,
    tasks: &TaskTracker,
) -> io::Result<()> {
    let mut terminal = take(options.mouse)?;
    let mut before: Option<State> = None;
    loop {
        // A clone: after a panic, `now` still has the engine to shut down.
        let engine = now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // View and feed belong together: the feed starts with the first event after the view.
        let (view, mut feed) = engine.subscribe();
        let mut state = first_state(&engine, &options);
        (state.view, state.frame.size) = (view, terminal.size());
        // Notices from before this subscription.
        let said: Vec<&str> = state.view.notices.iter().map(|(_, t)| t.as_str()).collect();
        if !said.is_empty() {
            // The list has both, and the failure is the one to see.
            let failure = state.frame.toast.take();
            state.show_message(said.join("; "));
            state.frame.toast = failure.or(state.frame.toast);
        }
        if let Some(before) = before.take() {
            state.take_over_view(before);
        }
        state.recall_options();
        // Reported once, not in each workspace.
        options.problems.clear();
        let (answers, mut inbox) = mpsc::channel(ANSWER_QUEUE);
        let directory = engine.settings().workspace.clone();
        let runner = Runner::new(
            engine,
            answers,
            tasks.clone(),
            options.demo.clone(),
            directory,
            options.choices.as_ref().map(|c| c.file.clone()),
        );
        event_loop(
            &mut terminal,
            &mut state,
            &mut feed,
            &mut inbox,
            cancel,
            |e| runner.run(e),
        )
        .await?;
        // The old engine has ended and the new one could not be opened.
        if let Some(why) = state.ending.engine_failure.take() {
            return Err(io::Error::other(format!(
                "cannot reopen the workspace: {why}"
            )));
        }
        match runner.next() {
            Some(next) => *now.lock().unwrap_or_else(PoisonError::into_inner) = next,
            None => return Ok(()),
        }
        // The operator left while the other workspace was opened.
        if state.ending.quit {
            return Ok(());
        }
        before = Some(state);
    }
}

fn first_state(engine: &Engine, options: &ConsoleOptions) -> State {
    let workspace = &engine.settings().workspace;
    let absolute = std::path::absolute(workspace).unwrap_or_else(|_| workspace.clone());
    let name = absolute
        .file_name()
        .map_or_else(|| "/".to_owned(), |n| n.to_string_lossy().into_owned());
    let mut state = State::new(&name, &absolute.to_string_lossy());
    state.place.workspace = engine.workspace_name().to_owned();
    state.now = now_ms();
    state.incident_log.since = state.now;
    state.utc_offset = jiff::Zoned::now().offset().seconds();
    state.place.configured = find_configuration(&absolute, false).is_some();
    if !state.place.configured {
        state.screen = Screen::Start;
    }
    state.frame.appearance = options.appearance;
    state.frame.themes.clone_from(&options.themes);
    state.frame.mouse = options.mouse;
    if let Some(choices) = &options.choices {
        state.options.keeps_choices = true;
        if let Some(stored) = &choices.stored {
            stored.apply(&mut state);
            state.saved_choices = Some(Choices::of(&state));
        }
    }
    state.options.shell = options.shell;
    state.options.tmux = options.tmux;
    state.frame.notes.clone_from(&options.notes);
    state.options.faults = options
        .demo
        .as_ref()
        .map(|d| d.faults.clone())
        .unwrap_or_default();
    state.options.plan.clone_from(&options.plan);
    state.options.parallelism = engine.settings().parallelism;
    if options.typed_from > 0 {
        state.options.typed_from = options.typed_from;
    }
    let (keys, bad_keys) = KeyMap::remapped(&options.keys);
    state.options.keys = keys;
    let problems = [options.problems.clone(), bad_keys].concat();
    if !problems.is_empty() {
        state.show_error(problems.join("; "));
    }
    state
}

/// Cancels the loop when a signal asks for the end, so that the terminal is restored and plugins
/// are stopped.
async fn cancel_on_signal(told: impl Future<Output = ()>, cancel: CancellationToken) {
    tokio::select! {
        () = told => cancel.cancel(),
        () = cancel.cancelled() => {}
    }
}

/// Source of a wakeup.
enum Woken {
    Terminate,
    Input(Option<io::Result<Input>>),
    Answer(Option<Msg>),
    Frame,
    Clock,
    Feed(Option<Update>),
}

/// Runs until the state quits, another engine is open, the input ends, or `cancel` is cancelled.
///
/// # Errors
/// The terminal cannot be drawn to or read from.
pub async fn event_loop<S: Surface, F: EventSource>(
    surface: &mut S,
    state: &mut State,
    feed: &mut F,
    answers: &mut mpsc::Receiver<Msg>,
    cancel: &CancellationToken,
    mut engine: impl FnMut(Effect),
) -> io::Result<()> {
    let mut clock = interval(Duration::from_secs(1));
    // After a suspension, one tick is enough.
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut frame = Some(Instant::now());
    let mut last_frame: Option<Instant> = None;
    let mut feeding = true;
    start(state).into_iter().for_each(&mut engine);
    while !state.ending.is_due() {
        let due = frame;
        // Cancellation and keys first. A due frame precedes events, which could delay it forever
        // under load.
        let woken = tokio::select! { biased;
            () = cancel.cancelled() => Woken::Terminate,
            input = surface.input() => Woken::Input(input),
            () = async { match due { Some(at) => sleep_until(at).await, None => pending().await } } => Woken::Frame,
            _ = clock.tick() => Woken::Clock,
            answer = answers.recv() => Woken::Answer(answer),
            events = feed.next(), if feeding => Woken::Feed(events),
        };
        // The message, and the delay of the next frame after the last one. `None` needs no frame of
        // its own.
        let (msg, pause) = match woken {
            Woken::Frame => {
                // Rows must match the state that is drawn.
                refresh_lists(state);
                surface.draw(state)?;
                (frame, last_frame) = (None, Some(Instant::now()));
                continue;
            }
            Woken::Terminate => (Msg::Terminate, Some(KEY_FRAME)),
            Woken::Input(Some(input)) => (Msg::Input(input?), Some(KEY_FRAME)),
            // The terminal was closed.
            Woken::Input(None) => (Msg::Terminate, Some(KEY_FRAME)),
            Woken::Clock => (Msg::Tick(now_ms()), Some(FRAME)),
            Woken::Answer(Some(msg)) => (msg, Some(KEY_FRAME)),
            Woken::Answer(None) => (Msg::EngineGone, Some(FRAME)),
            Woken::Feed(Some(Update::Events(events))) => {
                // Samples of memory and processor time cause no frame; the next tick of the clock
                // shows them.
                let quiet = events
                    .iter()
                    .all(|e| matches!(e.kind, EventKind::Plugin(PluginEvent::Usage { .. })));
                (Msg::Events(events), (!quiet).then_some(FRAME))
            }
            Woken::Feed(Some(Update::Snapshot(view))) => (Msg::Snapshot(view), Some(FRAME)),
            Woken::Feed(None) => {
                // The closed channel would otherwise wake the loop again and again.
                feeding = false;
                (Msg::EngineGone, Some(FRAME))
            }
        };
        for effect in update(state, msg) {
            match effect {
                Effect::Copy(_)
                | Effect::Mouse(_)
                | Effect::Notify(_)
                | Effect::Edit(_)
                | Effect::Suspend(_)
                | Effect::Redraw
                | Effect::Tracing(_) => surface.trigger(effect)?,
                other => engine(other),
            }
        }
        if let Some(pause) = pause {
            // An earlier frame that is already due stays due.
            let at = last_frame.map_or_else(Instant::now, |l| l + pause);
            frame = Some(frame.map_or(at, |f| f.min(at)));
        }
    }
    Ok(())
}
