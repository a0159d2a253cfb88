//! Text of a log line, with its `key=value` pairs.

use super::{Line, Role, span};

/// Renders the text of a log line: the message in a role, then dim keys with their values.
pub fn log_text(role: Role, text: &str) -> Line {
    let value_role = if role == Role::Dim {
        Role::Dim
    } else {
        Role::Plain
    };
    let mut l = Line::new();
    let mut add = |role: Role, text: &str| match l.last_mut() {
        Some(last) if last.role == role => {
            let more = span(role, text).text;
            last.text.push_str(&more);
        }
        _ => l.push(span(role, text)),
    };
    // A value in quotation marks may have blanks.
    let (mut quoted, mut value) = (false, false);
    for word in text.split_inclusive(' ') {
        let rest = match key_length(word).filter(|_| !quoted) {
            Some(key) => {
                add(Role::Dim, &word[..key]);
                value = true;
                &word[key..]
            }
            None => {
                value &= quoted;
                word
            }
        };
        add(if value { value_role } else { role }, rest);
        // An escaped quotation mark ends nothing.
        let marks = rest.matches('"').count() - rest.matches("\\\"").count();
        quoted ^= value && marks % 2 == 1;
    }
    l
}

/// Length of `key=` at the begin of a word.
fn key_length(word: &str) -> Option<usize> {
    let (key, _) = word.split_once('=')?;
    let begins = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@' || c == '_');
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    (begins && key.chars().all(is_key)).then_some(key.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_dim_and_values_plain() {
        let parts = |text: &str| -> Vec<(Role, String)> {
            let l = log_text(Role::Warn, text);
            l.into_iter().map(|s| (s.role, s.text)).collect()
        };
        let expected = [
            (Role::Warn, "not found "),
            (Role::Dim, "name="),
            (Role::Plain, "\"a b=c\" "),
            (Role::Dim, "id="),
            (Role::Plain, "7 "),
            (Role::Warn, "twice"),
        ]
        .map(|(role, text)| (role, text.to_owned()));
        assert_eq!(parts("not found name=\"a b=c\" id=7 twice"), expected);
        for plain in ["a == b", "1=2", "    at main.go:17 +0x6c", ""] {
            let all: String = parts(plain).into_iter().map(|(_, text)| text).collect();
            assert_eq!(all, plain);
            assert!(parts(plain).iter().all(|(role, _)| *role == Role::Warn));
        }
    }
}
