//! Terminal as a [`Surface`]: draws frames and reads input.

use std::ffi::{OsStr, OsString};
use std::future::{pending, poll_fn};
use std::io;
use std::io::{BufWriter, Stdout, Write, stdout};
use std::mem::ManuallyDrop;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::background::{BackgroundFilter, Heard, QUESTION};
use super::capabilities::{Capabilities, Question};
use super::jobs::Jobs;
use super::sixteen::SixteenColors;
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, Event, EventStream, KeyModifiers, MouseButton,
    MouseEventKind,
};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{event, execute, queue, terminal};
use futures_util::StreamExt;
use model::FileLine;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use tokio::time::sleep_until;
use tui_logger::{TuiWidgetEvent, TuiWidgetState};

use super::setup::{TAKEN, install_panic_hook, restore_once, set_loop_thread, write_enter};
use crate::app::State;
use crate::app::key::{Input, Key, KeyCode, MouseAct};
use crate::app::msg::{Effect, TracingMove};
use crate::app::run::Surface;
use crate::app::theme::ColorDepth;

/// Buffer size, so that a frame is written at once. The 1 KiB buffer of stdout would tear it.
const FRAME_BYTES: usize = 64 * 1024;
/// Time that the first frame waits for the background of the terminal.
const BACKGROUND_TIMEOUT: Duration = Duration::from_millis(150);

type Output = SixteenColors<BufWriter<Stdout>>;

/// Terminal while the console uses it. Restored on drop.
pub struct Screen {
    /// Never dropped: its own cleanup would write to the terminal, and panic if that is closed.
    /// [`leave`] does the cleanup.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Output>>>,
    /// Input events; `None` while the shell has the terminal.
    input: Option<EventStream>,
    jobs: Jobs,
    mouse: bool,
    tracing: TuiWidgetState,
    clicks: Clicks,
    background: BackgroundFilter,
}

impl Screen {
    /// Sets up the terminal, and asks for its background.
    ///
    /// # Errors
    /// Standard output is no terminal, or cannot be set up.
    pub fn enter(mouse: bool, capabilities: Capabilities) -> io::Result<Self> {
        install_panic_hook();
        // Recorded again at each poll and draw, because the runtime may move the loop.
        set_loop_thread();
        // The memory limit ends the process without unwinding, so no drop would restore the
        // terminal.
        engine::memory_limit::set_exit_hook(restore_once);
        let output = BufWriter::with_capacity(FRAME_BYTES, stdout());
        let output = SixteenColors::new(output, capabilities.depth == ColorDepth::Sixteen);
        let mut screen = Self {
            terminal: ManuallyDrop::new(Terminal::new(CrosstermBackend::new(output))?),
            input: None,
            jobs: Jobs::new()?,
            mouse,
            tracing: TuiWidgetState::new()
                .set_default_display_level(tui_logger::LevelFilter::Debug),
            clicks: Clicks::default(),
            background: BackgroundFilter::default(),
        };
        screen.take_terminal()?;
        match capabilities.question {
            Question::None => {}
            Question::Asked => screen.ask_background()?,
            Question::Awaited => {
                screen.ask_background()?;
                screen.await_background()?;
            }
        }
        Ok(screen)
    }

    /// Asks for the background of the terminal.
    fn ask_background(&mut self) -> io::Result<()> {
        let output = self.terminal.backend_mut();
        output.write_all(QUESTION.as_bytes())?;
        Write::flush(output)?;
        self.background.expect(Instant::now());
        Ok(())
    }

    /// Waits for the answer, so that the first frame has the right colours. Keys that come
    /// meanwhile are kept.
    fn await_background(&mut self) -> io::Result<()> {
        let until = Instant::now() + BACKGROUND_TIMEOUT;
        while self.background.is_waiting() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !event::poll(left)? {
                break;
            }
            self.background.hear(event::read()?, Instant::now());
        }
        Ok(())
    }

    fn take_terminal(&mut self) -> io::Result<()> {
        // A stop from outside may have left the terminal in another mode than crossterm has
        // recorded.
        terminal::disable_raw_mode()?;
        terminal::enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        // Marked as taken before, so that a partial setup is undone as well.
        write_enter(self.terminal.backend_mut(), self.mouse)?;
        self.forget()?;
        self.input = Some(EventStream::new());
        Ok(())
    }

    /// Makes the next frame a complete one. `Terminal::clear` would ask the terminal for its
    /// cursor, and wait for terminals that do not answer.
    fn forget(&mut self) -> io::Result<()> {
        let (width, height) = self.size();
        self.terminal.resize(Rect {
            x: 0,
            y: 0,
            width,
            height,
        })
    }

    /// Gives the terminal to an editor until that ends. An editor that fails says so itself.
    fn edit(&mut self, place: &FileLine) -> io::Result<()> {
        // The stream's thread reads from the terminal until it is dropped.
        self.input = None;
        restore_once();
        let mut command = editor(place, |name| std::env::var(name).ok());
        // Other tasks of the runtime go on meanwhile.
        let ended = tokio::task::block_in_place(|| command.status());
        if let Err(error) = ended {
            let editor = command.get_program().to_string_lossy().into_owned();
            tracing::error!(%error, editor, "cannot start the editor");
        }
        self.take_terminal()
    }

    /// Suspends to the shell. Nothing is drawn or read until the terminal may be used again, see
    /// [`Surface::input`].
    fn suspend(&mut self, words: &str) -> io::Result<()> {
        // The stream's thread reads from the terminal until it is dropped, but the shell needs the
        // input now.
        self.input = None;
        restore_once();
        if !words.is_empty() {
            writeln!(stdout(), "{words}")?;
        }
        self.jobs.stop()
    }

    /// Returns the next event; `None` if the process was stopped and continues.
    async fn event(&mut self) -> Option<Option<io::Result<Event>>> {
        let stream = self.input.as_mut()?;
        let next = poll_fn(|cx| {
            set_loop_thread();
            stream.poll_next_unpin(cx)
        });
        tokio::select! { biased;
            () = self.jobs.continued() => {
                // Stopped from outside without restoring the terminal: the shell has changed its
                // mode since.
                self.input = None;
                TAKEN.store(false, Ordering::SeqCst);
                None
            }
            event = next => Some(event),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.input = None;
        restore_once();
    }
}

impl Surface for Screen {
    fn size(&self) -> (u16, u16) {
        self.terminal
            .size()
            .map_or((80, 24), |s| (s.width, s.height))
    }

    fn draw(&mut self, state: &State) -> io::Result<()> {
        // The shell has the terminal.
        if self.input.is_none() {
            return Ok(());
        }
        set_loop_thread();
        // Terminals that support it show the frame only when it is complete.
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let tracing = &self.tracing;
        self.terminal.draw(|frame| {
            if let Some(at) = super::super::draw(state, tracing, frame.buffer_mut()) {
                frame.set_cursor_position(at);
            }
        })?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    async fn input(&mut self) -> Option<io::Result<Input>> {
        loop {
            match self.background.next() {
                Some(Heard::Background(color)) => return Some(Ok(Input::Background(color))),
                Some(Heard::Event(event)) => match translate(event) {
                    Some(input) => return Some(Ok(self.clicks.counted(input, Instant::now()))),
                    None => continue,
                },
                None => {}
            }
            let release = self.background.release_at();
            let event = tokio::select! { biased;
                event = self.event() => event,
                () = async { match release { Some(at) => sleep_until(at.into()).await, None => pending().await } } => {
                    self.background.release();
                    continue;
                }
            };
            match event {
                Some(Some(Ok(event))) => self.background.hear(event, Instant::now()),
                Some(Some(Err(e))) => return Some(Err(e)),
                Some(None) => return None,
                None => {
                    self.jobs.wait_for_foreground().await;
                    if let Err(e) = self.take_terminal() {
                        return Some(Err(e));
                    }
                    // The terminal may have been resized.
                    let (width, height) = self.size();
                    return Some(Ok(Input::Resize(width, height)));
                }
            }
        }
    }

    fn trigger(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Copy(text) => execute!(
                self.terminal.backend_mut(),
                CopyToClipboard::to_clipboard_from(text)
            ),
            Effect::Edit(place) => self.edit(&place),
            Effect::Notify(text) => {
                let output = self.terminal.backend_mut();
                output.write_all(notification(&text).as_bytes())?;
                Write::flush(output)
            }
            Effect::Mouse(on) => {
                // Kept for the setup after a suspension.
                self.mouse = on;
                if on {
                    execute!(self.terminal.backend_mut(), EnableMouseCapture)
                } else {
                    execute!(self.terminal.backend_mut(), DisableMouseCapture)
                }
            }
            Effect::Suspend(words) => self.suspend(&words),
            Effect::Redraw => self.forget(),
            Effect::Tracing(to) => {
                self.tracing.transition(match to {
                    TracingMove::Up => TuiWidgetEvent::UpKey,
                    TracingMove::Down => TuiWidgetEvent::DownKey,
                    TracingMove::Left => TuiWidgetEvent::LeftKey,
                    TracingMove::Right => TuiWidgetEvent::RightKey,
                    TracingMove::PageUp => TuiWidgetEvent::PrevPageKey,
                    TracingMove::PageDown => TuiWidgetEvent::NextPageKey,
                    // Escape ends the page mode of tui-logger, which then follows again.
                    TracingMove::Follow => TuiWidgetEvent::EscapeKey,
                    TracingMove::Targets => TuiWidgetEvent::HideKey,
                    TracingMove::Focus => TuiWidgetEvent::FocusKey,
                    TracingMove::More => TuiWidgetEvent::PlusKey,
                    TracingMove::Less => TuiWidgetEvent::MinusKey,
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Command of the editor of the environment at a line. The shell splits its words, as for git.
fn editor(place: &FileLine, variable: impl Fn(&str) -> Option<String>) -> Command {
    let names = ["VISUAL", "EDITOR"].into_iter();
    let set = names
        .filter_map(variable)
        .find(|text| !text.trim().is_empty());
    let editor = set.unwrap_or_else(|| "vi".to_owned());
    let program = editor.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let (path, line) = (place.path.as_os_str(), place.line);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$@\""), "flightdeck"]);
    match program {
        "code" | "codium" | "cursor" => {
            command.args(["--goto".as_ref(), with_line(path, line).as_os_str()])
        }
        "hx" | "helix" | "subl" | "zed" => command.arg(with_line(path, line)),
        _ => command.args([format!("+{line}").as_ref(), path]),
    };
    command
}

/// Path with a line, `main.tf:12`.
fn with_line(path: &OsStr, line: u32) -> OsString {
    let mut text = path.to_owned();
    text.push(format!(":{line}"));
    text
}

/// Sequences of a notification: the bell, OSC 9 (iTerm2, kitty, Windows Terminal) and OSC 777
/// (urxvt, foot, VTE), which show it on the desktop. Other terminals ignore the latter two. The
/// text must be escaped already.
fn notification(text: &str) -> String {
    // A semicolon separates the parts of OSC 777.
    let text = text.replace(';', ",");
    format!("\x07\x1b]9;{text}\x07\x1b]777;notify;flightdeck;{text}\x07")
}

/// Longest time between the two clicks of a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// Last click of the mouse, to detect a double click, which terminals do not report.
#[derive(Default)]
struct Clicks {
    last: Option<(Instant, u16)>,
}

impl Clicks {
    /// Makes the second of two clicks on the same line a double click.
    fn counted(&mut self, input: Input, now: Instant) -> Input {
        let Input::Mouse {
            act: MouseAct::Down,
            x,
            y,
        } = input
        else {
            return input;
        };
        let is_second = |(at, line): (Instant, u16)| {
            line == y && now.saturating_duration_since(at) <= DOUBLE_CLICK
        };
        if self.last.take().is_some_and(is_second) {
            let act = MouseAct::Double;
            return Input::Mouse { act, x, y };
        }
        self.last = Some((now, y));
        input
    }
}

/// Converts an event of crossterm; `None` for events that the console ignores.
fn translate(event: Event) -> Option<Input> {
    match event {
        Event::FocusGained => Some(Input::Focus(true)),
        Event::FocusLost => Some(Input::Focus(false)),
        // Terminals may report the release of a key, too, which must not act twice.
        Event::Key(k) if k.kind != event::KeyEventKind::Release => {
            let shift = k.modifiers.contains(KeyModifiers::SHIFT);
            let code = match k.code {
                event::KeyCode::Up if shift => KeyCode::ShiftUp,
                event::KeyCode::Down if shift => KeyCode::ShiftDown,
                event::KeyCode::Char(c) => KeyCode::Char(c),
                event::KeyCode::Enter => KeyCode::Enter,
                event::KeyCode::Esc => KeyCode::Esc,
                event::KeyCode::Tab => KeyCode::Tab,
                event::KeyCode::BackTab => KeyCode::BackTab,
                event::KeyCode::Backspace => KeyCode::Backspace,
                event::KeyCode::Delete => KeyCode::Delete,
                event::KeyCode::Up => KeyCode::Up,
                event::KeyCode::Down => KeyCode::Down,
                event::KeyCode::Left => KeyCode::Left,
                event::KeyCode::Right => KeyCode::Right,
                event::KeyCode::Home => KeyCode::Home,
                event::KeyCode::End => KeyCode::End,
                event::KeyCode::PageUp => KeyCode::PageUp,
                event::KeyCode::PageDown => KeyCode::PageDown,
                event::KeyCode::F(n) => KeyCode::F(n),
                _ => return None,
            };
            let (ctrl, alt) = (
                k.modifiers.contains(KeyModifiers::CONTROL),
                k.modifiers.contains(KeyModifiers::ALT),
            );
            Some(Input::Key(Key { code, ctrl, alt }))
        }
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(w, h) => Some(Input::Resize(w, h)),
        Event::Mouse(m) => {
            let act = match m.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseAct::Down,
                MouseEventKind::Drag(MouseButton::Left) => MouseAct::Drag,
                MouseEventKind::Up(MouseButton::Left) => MouseAct::Up,
                MouseEventKind::ScrollUp => MouseAct::WheelUp,
                MouseEventKind::ScrollDown => MouseAct::WheelDown,
                _ => return None,
            };
            Some(Input::Mouse {
                act,
                x: m.column,
                y: m.row,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup::{background_is_light, write_enter, write_leave};
    use super::{Clicks, DOUBLE_CLICK, editor, notification};
    use crate::app::key::{Input, MouseAct};
    use std::time::{Duration, Instant};

    #[test]
    fn editor_of_the_environment_opens_at_the_line() {
        let place = model::FileLine {
            path: "/w/my shop/main.tf".into(),
            line: 12,
        };
        for (visual, expected) in [
            (None, "vi \"$@\" flightdeck +12 /w/my shop/main.tf"),
            (Some("  "), "vi \"$@\" flightdeck +12 /w/my shop/main.tf"),
            (
                Some("/usr/bin/code -w"),
                "/usr/bin/code -w \"$@\" flightdeck --goto /w/my shop/main.tf:12",
            ),
            (Some("hx"), "hx \"$@\" flightdeck /w/my shop/main.tf:12"),
        ] {
            let variable = |name: &str| visual.filter(|_| name == "VISUAL").map(str::to_owned);
            let command = editor(&place, variable);
            let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
            assert_eq!(args[1..].join(" "), expected, "{visual:?}");
        }
    }

    #[test]
    fn notification_rings_the_bell_and_keeps_its_text_in_one_part() {
        assert_eq!(
            notification("shop: 1 done; 1 failed"),
            "\x07\x1b]9;shop: 1 done, 1 failed\x07\
             \x1b]777;notify;flightdeck;shop: 1 done, 1 failed\x07"
        );
    }

    #[test]
    fn leaving_the_screen_resets_each_terminal_mode() {
        let (mut entered, mut left) = (Vec::new(), Vec::new());
        write_enter(&mut entered, true).unwrap();
        write_leave(&mut left).unwrap();
        let modes = |bytes: &[u8], end: char| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut found: Vec<String> = text
                .split("\u{1b}[?")
                .skip(1)
                .filter_map(|p| {
                    p.find(['h', 'l'])
                        .filter(|i| p[*i..].starts_with(end))
                        .map(|i| p[..i].to_owned())
                })
                .collect();
            found.sort();
            found
        };
        // Every mode that is set is reset; the cursor (25) and synchronized updates (2026) are the
        // inverse.
        for mode in modes(&entered, 'h') {
            assert!(modes(&left, 'l').contains(&mode), "mode {mode} stays on");
        }
        assert!(
            modes(&entered, 'l').contains(&"25".to_owned())
                && modes(&left, 'h').contains(&"25".to_owned())
        );
        assert!(modes(&left, 'l').contains(&"2026".to_owned()));
    }

    #[test]
    fn light_background_is_detected_from_colorfgbg() {
        assert_eq!(background_is_light(Some("0;15")), Some(true));
        assert_eq!(background_is_light(Some("15;default;0")), Some(false));
        assert_eq!(background_is_light(Some("0;7")), Some(true));
        assert_eq!(background_is_light(Some("nonsense")), None);
        assert_eq!(background_is_light(None), None);
    }

    #[test]
    fn second_click_soon_after_on_the_same_line_is_a_double_click() {
        let start = Instant::now();
        let mut clicks = Clicks::default();
        let mut act = |ms, y| {
            let (act, x) = (MouseAct::Down, 3);
            let input = Input::Mouse { act, x, y };
            match clicks.counted(input, start + Duration::from_millis(ms)) {
                Input::Mouse { act, .. } => act,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(act(0, 5), MouseAct::Down);
        assert_eq!(act(400, 5), MouseAct::Double);
        // The third click begins anew.
        assert_eq!(act(500, 5), MouseAct::Down);
        assert_eq!(act(550, 6), MouseAct::Down);
        let late = 551 + u64::try_from(DOUBLE_CLICK.as_millis()).unwrap();
        assert_eq!(act(late, 6), MouseAct::Down);
    }
}
