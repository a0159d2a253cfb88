//! Single-line text input: search, filter, palette, typed confirmation.

use super::key::{Key, KeyCode};

/// Text and cursor position, in characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    chars: Vec<char>,
    cursor: usize,
}

/// Maximum length in characters; longer input is cut.
const MAX_LENGTH: usize = 500;

impl Entry {
    /// Creates an input with a text, and the cursor at its end.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().take(MAX_LENGTH).collect();
        Self {
            cursor: chars.len(),
            chars,
        }
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// Returns the text before the cursor.
    pub fn before(&self) -> String {
        self.chars[..self.cursor].iter().collect()
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// Inserts text at the cursor, without control characters and line breaks.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| !c.is_control()) {
            if self.chars.len() < MAX_LENGTH {
                self.chars.insert(self.cursor, c);
                self.cursor += 1;
            }
        }
    }

    /// Handles an editing key. Returns false for other keys.
    pub fn key(&mut self, key: Key) -> bool {
        match key {
            Key {
                code: KeyCode::Char(c),
                ctrl: false,
                alt: false,
            } => self.insert(c.encode_utf8(&mut [0; 4])),
            Key {
                code: KeyCode::Backspace,
                ctrl: false,
                alt: false,
            } => {
                if self.cursor > 0 {
                    self.cursor -= 1;
                    self.chars.remove(self.cursor);
                }
            }
            Key {
                code: KeyCode::Delete,
                ..
            } => {
                if self.cursor < self.chars.len() {
                    self.chars.remove(self.cursor);
                }
            }
            Key {
                code: KeyCode::Left,
                ..
            } => self.cursor = self.cursor.saturating_sub(1),
            Key {
                code: KeyCode::Right,
                ..
            } => self.cursor = (self.cursor + 1).min(self.chars.len()),
            Key {
                code: KeyCode::Home,
                ..
            }
            | Key {
                code: KeyCode::Char('a'),
                ctrl: true,
                ..
            } => self.cursor = 0,
            Key {
                code: KeyCode::End, ..
            }
            | Key {
                code: KeyCode::Char('e'),
                ctrl: true,
                ..
            } => self.cursor = self.chars.len(),
            Key {
                code: KeyCode::Char('u'),
                ctrl: true,
                ..
            } => {
                self.chars.drain(..self.cursor);
                self.cursor = 0;
            }
            Key {
                code: KeyCode::Char('w'),
                ctrl: true,
                ..
            }
            | Key {
                code: KeyCode::Backspace,
                ..
            } => {
                // Like a shell: removes blanks before the cursor, and then the word.
                let blank = self.chars[..self.cursor]
                    .iter()
                    .rposition(|c| !c.is_whitespace())
                    .unwrap_or(0);
                let from = self.chars[..blank]
                    .iter()
                    .rposition(|c| c.is_whitespace())
                    .map_or(0, |i| i + 1);
                self.chars.drain(from..self.cursor);
                self.cursor = from;
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_edits_at_the_cursor() {
        let mut e = Entry::new("aws_eip.old");
        for _ in 0..3 {
            e.key(Key::plain(KeyCode::Left));
        }
        e.key(Key::char('x'));
        e.key(Key::plain(KeyCode::Delete));
        assert_eq!(e.text(), "aws_eip.xld");
        assert_eq!(e.before(), "aws_eip.x");
        e.key(Key::ctrl('u'));
        assert_eq!(e.text(), "ld");
        let mut e = Entry::new("one two");
        e.key(Key::ctrl('w'));
        assert_eq!(e.text(), "one ");
        assert!(!e.key(Key::plain(KeyCode::Up)));
    }
}
