//! Background colour of the terminal, asked with OSC 11. crossterm does not know the answer and
//! reports its characters as keys, which would act as commands. This filter takes the answer out of
//! the events, also if it comes late, and leaves typed keys in their order.

use crate::app::theme::Rgb;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Question for the background colour. Ended by BEL, because some terminals answer an ST with half
/// of one.
pub(super) const QUESTION: &str = "\x1b]11;?\x07";
/// Start of the answer.
const START: &str = "\x1b]11;";
/// Maximum length of an answer, in characters; a longer text is typed.
const LONGEST: usize = 40;
/// Time after the question in which an answer is recognised. Slow connections need seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time in which a started answer must continue. A terminal sends it at once, a person does not
/// type this fast.
const HOLD: Duration = Duration::from_millis(50);

/// Event of the terminal without the characters of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Event(Event),
    Background(Rgb),
}

/// Filter for the answer.
#[derive(Debug, Default)]
pub(super) struct BackgroundFilter {
    /// End of the time in which an answer is expected.
    until: Option<Instant>,
    /// Events that may be the start of the answer, and their text.
    held: Vec<Event>,
    text: String,
    held_since: Option<Instant>,
    ready: VecDeque<Heard>,
}

impl BackgroundFilter {
    /// Expects an answer from now on.
    pub(super) fn expect(&mut self, now: Instant) {
        self.until = Some(now + ANSWER_TIMEOUT);
    }

    /// Returns true if no answer has come yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.until.is_some()
    }

    /// Adds an event of the terminal.
    pub(super) fn hear(&mut self, event: Event, now: Instant) {
        if self.until.is_some_and(|until| now > until) {
            self.until = None;
        }
        let Some(piece) = text_of(&event).filter(|_| self.until.is_some()) else {
            self.release();
            self.ready.push_back(Heard::Event(event));
            return;
        };
        if !can_continue(&self.text, &piece) {
            self.release();
        }
        if !can_continue(&self.text, &piece) {
            self.ready.push_back(Heard::Event(event));
            return;
        }
        self.text.push_str(&piece);
        self.held.push(event);
        self.held_since = Some(now);
        if let Some(color) = answer(&self.text) {
            self.held.clear();
            self.text.clear();
            (self.held_since, self.until) = (None, None);
            self.ready.extend(parse(&color).map(Heard::Background));
        }
    }

    /// Returns the next event.
    pub(super) fn next(&mut self) -> Option<Heard> {
        self.ready.pop_front()
    }

    /// Time of the next [`Self::release`].
    pub(super) fn release_at(&self) -> Option<Instant> {
        self.held_since.map(|since| since + HOLD)
    }

    /// Returns held events as typed keys.
    pub(super) fn release(&mut self) {
        self.ready.extend(self.held.drain(..).map(Heard::Event));
        self.text.clear();
        self.held_since = None;
    }
}

/// Characters that crossterm has turned into this key; `None` if an answer cannot contain it.
fn text_of(event: &Event) -> Option<String> {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind: KeyEventKind::Press,
        ..
    }) = event
    else {
        return None;
    };
    match (code, modifiers.difference(KeyModifiers::SHIFT)) {
        (KeyCode::Esc, KeyModifiers::NONE) => Some("\x1b".to_owned()),
        (KeyCode::Char('g'), KeyModifiers::CONTROL) => Some("\x07".to_owned()),
        (KeyCode::Char(c), KeyModifiers::NONE) => Some(c.to_string()),
        (KeyCode::Char(c), KeyModifiers::ALT) => Some(format!("\x1b{c}")),
        _ => None,
    }
}

/// Returns true if `text` and `piece` together are the start of an answer, or a whole one.
fn can_continue(text: &str, piece: &str) -> bool {
    let whole = format!("{text}{piece}");
    if START.starts_with(&whole) {
        return true;
    }
    let Some(rest) = whole.strip_prefix(START).filter(|_| whole.len() <= LONGEST) else {
        return false;
    };
    let rest = ["\x1b\\", "\x1b", "\x07"]
        .into_iter()
        .find_map(|end| rest.strip_suffix(end))
        .unwrap_or(rest);
    rest.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '#'))
}

/// Returns the colour in a complete answer.
fn answer(text: &str) -> Option<String> {
    let rest = text.strip_prefix(START)?;
    let color = rest.strip_suffix('\x07').or(rest.strip_suffix("\x1b\\"))?;
    Some(color.to_owned())
}

/// Parses `rgb:RRRR/GGGG/BBBB` with one to four digits for each channel, and `#rrggbb`.
fn parse(color: &str) -> Option<Rgb> {
    if color.starts_with('#') {
        return Rgb::from_hex(color);
    }
    let channels = color
        .strip_prefix("rgb:")
        .or_else(|| color.strip_prefix("rgba:"))?;
    let mut channels = channels.split('/').map(|digits| {
        let most = match digits.len() {
            1 => 0xf,
            2 => 0xff,
            3 => 0xfff,
            4 => 0xffff,
            _ => return None,
        };
        let value = u32::from_str_radix(digits, 16).ok()?;
        u8::try_from(value * 255 / most).ok()
    });
    Some(Rgb(channels.next()??, channels.next()??, channels.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    /// Events that crossterm makes of these characters.
    fn events(text: &str) -> Vec<Event> {
        let mut out = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            out.push(match c {
                '\x1b' => match chars.next_if(|next| *next != '\x1b') {
                    Some(next) => key(KeyCode::Char(next), KeyModifiers::ALT),
                    None => key(KeyCode::Esc, KeyModifiers::NONE),
                },
                '\x07' => key(KeyCode::Char('g'), KeyModifiers::CONTROL),
                c if c.is_uppercase() => key(KeyCode::Char(c), KeyModifiers::SHIFT),
                c => key(KeyCode::Char(c), KeyModifiers::NONE),
            });
        }
        out
    }

    fn drain(filter: &mut BackgroundFilter) -> Vec<Heard> {
        std::iter::from_fn(|| filter.next()).collect()
    }

    fn hear(filter: &mut BackgroundFilter, events: &[Event]) -> Vec<Heard> {
        let now = Instant::now();
        events.iter().for_each(|e| filter.hear(e.clone(), now));
        drain(filter)
    }

    fn expecting() -> BackgroundFilter {
        let mut filter = BackgroundFilter::default();
        filter.expect(Instant::now());
        filter
    }

    fn as_keys(text: &str) -> Vec<Heard> {
        events(text).into_iter().map(Heard::Event).collect()
    }

    #[test]
    fn answer_is_taken_out_and_typed_keys_stay_in_their_order() {
        let mut filter = expecting();
        let heard = hear(&mut filter, &events("3\x1b]11;rgb:FfFf/FAfa/0000\x1b\\s?"));
        let mut expected = as_keys("3");
        expected.push(Heard::Background(Rgb(255, 250, 0)));
        expected.extend(as_keys("s?"));
        assert_eq!(heard, expected);
        assert!(!filter.is_waiting());
    }

    #[test]
    fn all_forms_of_the_answer_are_understood() {
        let table = [
            ("\x1b]11;rgb:ff/80/00\x07", Some(Rgb(255, 128, 0))),
            ("\x1b]11;rgb:f/8/0\x1b\\", Some(Rgb(255, 136, 0))),
            (
                "\x1b]11;rgba:ffff/ffff/ffff/8000\x07",
                Some(Rgb(255, 255, 255)),
            ),
            ("\x1b]11;#0a0B0c\x07", Some(Rgb(10, 11, 12))),
            // Never acts as keys, even if it is not understood.
            ("\x1b]11;rgb:ff//00\x07", None),
            ("\x1b]11;rgb:fffff/0/0\x07", None),
            ("\x1b]11;red\x07", None),
        ];
        for (text, color) in table {
            let heard = hear(&mut expecting(), &events(text));
            let expected: Vec<Heard> = color.map(Heard::Background).into_iter().collect();
            assert_eq!(heard, expected, "{text:?}");
        }
        // An escape at the end of a read arrives as a key of its own.
        let mut apart = events("\x1b]11;rgb:0/0/0\x07");
        apart[0] = key(KeyCode::Esc, KeyModifiers::NONE);
        apart.insert(1, key(KeyCode::Char(']'), KeyModifiers::NONE));
        assert_eq!(
            hear(&mut expecting(), &apart),
            [Heard::Background(Rgb(0, 0, 0))]
        );
    }

    #[test]
    fn typed_keys_that_look_like_the_start_of_an_answer_are_not_lost() {
        for text in [
            "\x1b]x",
            "\x1b]11;rgb:ff\x1bx",
            "\x1b\x1b]2",
            "\x1b]11;\x1b]12",
        ] {
            let mut filter = expecting();
            let mut heard = hear(&mut filter, &events(text));
            filter.release();
            heard.extend(drain(&mut filter));
            assert_eq!(heard, as_keys(text), "{text:?}");
        }
        // A single escape waits for its continuation, and no longer.
        let mut filter = expecting();
        let escape = [key(KeyCode::Esc, KeyModifiers::NONE)];
        assert_eq!(hear(&mut filter, &escape), []);
        assert!(filter.release_at().is_some());
        filter.release();
        assert_eq!(drain(&mut filter), as_keys("\x1b"));
        assert!(filter.release_at().is_none() && filter.is_waiting());
    }

    #[test]
    fn other_events_pass_and_nothing_is_held_without_a_question() {
        let text = "\x1b]11;rgb:0/0/0\x07";
        assert_eq!(
            hear(&mut BackgroundFilter::default(), &events(text)),
            as_keys(text)
        );
        let mut late = expecting();
        let now = Instant::now() + ANSWER_TIMEOUT + Duration::from_secs(1);
        events(text).into_iter().for_each(|e| late.hear(e, now));
        assert_eq!(drain(&mut late), as_keys(text));
        let mut filter = expecting();
        let heard = hear(
            &mut filter,
            &[events("\x1b]")[0].clone(), Event::Resize(80, 24)],
        );
        let mut expected = as_keys("\x1b]");
        expected.push(Heard::Event(Event::Resize(80, 24)));
        assert_eq!(heard, expected);
    }
}
