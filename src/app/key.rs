//! Keys and other input, independent of terminal libraries, and their names in help and settings.

use super::theme::Rgb;
use std::fmt;
use std::str::FromStr;

/// Code of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    Char(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    ShiftUp,
    ShiftDown,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// A key with its modifiers. Shift is part of the character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
}

impl Key {
    /// Creates a key without modifiers.
    pub const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            ctrl: false,
            alt: false,
        }
    }

    /// Creates a character key without modifiers.
    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    /// Returns true if the key is typed text.
    pub fn is_letter(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && !self.ctrl
    }

    /// Returns true if the key edits a text, or moves within it.
    pub fn is_editing(self) -> bool {
        use KeyCode::{Backspace, Char, Delete, End, Home, Left, Right};
        match self.code {
            Char(c) => self.ctrl && matches!(c, 'a' | 'e' | 'u' | 'w'),
            code => matches!(code, Backspace | Delete | End | Home | Left | Right),
        }
    }

    /// Creates a character key with Ctrl.
    pub const fn ctrl(c: char) -> Self {
        Self {
            code: KeyCode::Char(c),
            ctrl: true,
            alt: false,
        }
    }
}

/// Names of special keys, and of characters that are hard to read.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("shift-up", KeyCode::ShiftUp),
    ("shift-down", KeyCode::ShiftDown),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        if let Some((name, _)) = NAMES.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(n) => write!(f, "f{n}"),
            // All other codes have a name in [`NAMES`].
            _ => Ok(()),
        }
    }
}

/// A key name that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown key {0:?}; use a character, or a name such as ctrl-x, alt-x, enter, esc, tab, space, up, f1"
)]
pub struct BadKey(pub String);

impl FromStr for Key {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        let mut rest = text;
        let (mut ctrl, mut alt) = (false, false);
        // Modifiers are accepted in any order.
        loop {
            if let Some(r) = rest.strip_prefix("ctrl-").filter(|r| !r.is_empty()) {
                (ctrl, rest) = (true, r);
            } else if let Some(r) = rest.strip_prefix("alt-").filter(|r| !r.is_empty()) {
                (alt, rest) = (true, r);
            } else {
                break;
            }
        }
        let mut chars = rest.chars();
        // A single character is a key itself, even if it could start a name.
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => match NAMES.iter().find(|(name, _)| *name == rest) {
                Some((_, code)) => *code,
                None => match rest
                    .strip_prefix('f')
                    .and_then(|n| n.parse().ok())
                    .filter(|n| (1..=12).contains(n))
                {
                    Some(n) => KeyCode::F(n),
                    None => return Err(BadKey(text.to_owned())),
                },
            },
        };
        Ok(Self { code, ctrl, alt })
    }
}

/// Closes a popup or prompt.
pub const ESC: Key = Key::plain(KeyCode::Esc);

/// Accepts the selection.
pub const ENTER: Key = Key::plain(KeyCode::Enter);

impl Key {
    /// Returns the number of rows that a key moves the cursor by; `None` if it does not move.
    pub fn step(self) -> Option<isize> {
        Some(match self {
            Self {
                code: KeyCode::Down,
                ..
            }
            | Self {
                code: KeyCode::Char('j'),
                ctrl: false,
                ..
            }
            | Self {
                code: KeyCode::Char('n'),
                ctrl: true,
                ..
            } => 1,
            Self {
                code: KeyCode::Up, ..
            }
            | Self {
                code: KeyCode::Char('k'),
                ctrl: false,
                ..
            }
            | Self {
                code: KeyCode::Char('p'),
                ctrl: true,
                ..
            } => -1,
            Self {
                code: KeyCode::PageDown,
                ..
            }
            | Self {
                code: KeyCode::Char('d'),
                ctrl: true,
                ..
            } => 10,
            Self {
                code: KeyCode::PageUp,
                ..
            }
            | Self {
                code: KeyCode::Char('u'),
                ctrl: true,
                ..
            } => -10,
            Self {
                code: KeyCode::Home,
                ..
            }
            | Self {
                code: KeyCode::Char('g'),
                ctrl: false,
                ..
                // Longer than any list; `moved` limits the step to the bounds.
            } => -100_000,
            Self {
                code: KeyCode::End, ..
            }
            | Self {
                code: KeyCode::Char('G'),
                ctrl: false,
                ..
            } => 100_000,
            _ => return None,
        })
    }
}

/// Moves a position in a list of `len` rows by `by`, within its bounds.
pub fn moved(at: usize, by: isize, len: usize) -> usize {
    at.saturating_add_signed(by).min(len.saturating_sub(1))
}

/// Action of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseAct {
    Down,
    /// The button is pressed again soon after on the same line.
    Double,
    Drag,
    Up,
    WheelUp,
    WheelDown,
}

/// Input from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    Paste(String),
    Resize(u16, u16),
    Mouse {
        act: MouseAct,
        x: u16,
        y: u16,
    },
    /// Background of the terminal.
    Background(Rgb),
    /// The terminal has got or lost the focus.
    Focus(bool),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_through_text() {
        for text in [
            "a",
            "R",
            "ctrl-c",
            "alt-x",
            "enter",
            "space",
            "f5",
            "-",
            "+",
            "*",
            ":",
            "ctrl-space",
            "pgdn",
            "shift-up",
            "shift-down",
        ] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
        assert!("hyper-x".parse::<Key>().is_err());
        assert!("f13".parse::<Key>().is_err());
        assert!("".parse::<Key>().is_err());
    }
}
