//! Converts patterns in RE2 syntax (Go's `regexp`) for the `regex` crate: `\d \s \w \b` match
//! ASCII, `\Q…\E` is literal, and other braces and brackets in classes are literal too.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::Regex;

/// Number of compiled patterns cached per thread.
const MAX_CACHED: usize = 64;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

/// Compiles a pattern, or returns it from the cache.
///
/// # Errors
/// The pattern is invalid.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if let Some(known) = COMPILED.with_borrow(|kept| kept.get(pattern).cloned()) {
        return Ok(known);
    }
    let rewritten = rewrite(pattern)?;
    let compiled = Regex::new(&rewritten).map_err(|e| {
        let text = e.to_string();
        // The message of the crate draws the pattern, and only its last line names the fault.
        let last = text
            .lines()
            .last()
            .unwrap_or("not a valid pattern")
            .trim_start_matches("error: ");
        format!("invalid regexp pattern: {last} in {pattern}")
    })?;
    COMPILED.with_borrow_mut(|kept| {
        if kept.len() >= MAX_CACHED {
            // Simple eviction suffices: configurations use few patterns.
            kept.clear();
        }
        kept.insert(pattern.to_owned(), compiled.clone());
    });
    Ok(compiled)
}

fn rewrite(pattern: &str) -> Result<String, String> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut at = 0;
    let mut repeated = false;
    while at < chars.len() {
        let repeats =
            matches!(chars[at], '*' | '+' | '?') || (chars[at] == '{' && repetition(&chars[at..]));
        // RE2 rejects nested repetition, which the `regex` crate accepts.
        if repeats && repeated {
            return Err(format!(
                "invalid regexp pattern: invalid nested repetition operator in {pattern}"
            ));
        }
        repeated = repeats;
        match chars[at] {
            '\\' => at = escape(&chars, at, false, &mut out)?,
            '[' => at = class(&chars, at, &mut out)?,
            '*' | '+' | '?' | '{' if repeats => at = repeat(&chars, at, &mut out),
            '{' if !repetition(&chars[at..]) => {
                out.push_str("\\{");
                at += 1;
            }
            '(' if chars.get(at + 1) == Some(&'?') => at = group(&chars, at, &mut out)?,
            c => {
                out.push(c);
                at += 1;
            }
        }
    }
    Ok(out)
}

/// Parses `(?…`: the flags i, m, s and U, and named groups. Lookaround is rejected.
fn group(chars: &[char], at: usize, out: &mut String) -> Result<usize, String> {
    let mut end = at + 2;
    if matches!(chars.get(end), Some('P' | '<')) {
        // Named groups have the same form in RE2 and in the crate.
        out.push_str("(?");
        return Ok(end);
    }
    while let Some(&c) = chars.get(end) {
        match c {
            'i' | 'm' | 's' | 'U' | '-' => end += 1,
            ':' | ')' => {
                out.extend(&chars[at..=end]);
                return Ok(end + 1);
            }
            _ => break,
        }
    }
    let shown: String = chars[at..(end + 1).min(chars.len())].iter().collect();
    Err(format!(
        "invalid regexp pattern: invalid or unsupported Perl syntax in {shown}"
    ))
}

/// Copies a repetition including a lazy `?`; returns the position after it.
fn repeat(chars: &[char], at: usize, out: &mut String) -> usize {
    let mut end = at + 1;
    if chars[at] == '{' {
        end += chars[at..].iter().take_while(|c| **c != '}').count();
    }
    // A `?` after a repetition makes it lazy and is no repetition itself.
    if chars.get(end) == Some(&'?') {
        end += 1;
    }
    out.extend(&chars[at..end]);
    end
}

/// Returns true for a repetition such as `{2}`, `{2,}`, `{2,5}`.
fn repetition(chars: &[char]) -> bool {
    let mut at = 1;
    let digits = |from: usize| {
        chars[from.min(chars.len())..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
    };
    let first = digits(at);
    if first == 0 {
        return false;
    }
    at += first;
    if chars.get(at) == Some(&',') {
        at += 1;
        at += digits(at);
    }
    chars.get(at) == Some(&'}')
}

/// Copies the escape at `at`; returns the position after it.
fn escape(chars: &[char], at: usize, in_class: bool, out: &mut String) -> Result<usize, String> {
    let Some(&c) = chars.get(at + 1) else {
        return Err("invalid regexp pattern: trailing backslash at end of expression".to_owned());
    };
    let plain = |out: &mut String, text: &str| {
        out.push_str(text);
        Ok(at + 2)
    };
    match c {
        'd' => plain(out, "[0-9]"),
        'D' => plain(out, "[^0-9]"),
        's' => plain(out, "[\\t\\n\\x0C\\r ]"),
        'S' => plain(out, "[^\\t\\n\\x0C\\r ]"),
        'w' => plain(out, "[0-9A-Za-z_]"),
        'W' => plain(out, "[^0-9A-Za-z_]"),
        'b' if !in_class => plain(out, "(?-u:\\b)"),
        'B' if !in_class => plain(out, "(?-u:\\B)"),
        'Q' if !in_class => {
            let mut end = at + 2;
            while end < chars.len() && !(chars[end] == '\\' && chars.get(end + 1) == Some(&'E')) {
                out.push_str(&regex::escape(&chars[end].to_string()));
                end += 1;
            }
            // `\E` is optional at the end of the pattern.
            Ok((end + 2).min(chars.len()))
        }
        // The braces of `\x{e9}` and `\p{Greek}` are not literal.
        'p' | 'P' | 'x' if chars.get(at + 2) == Some(&'{') => {
            let length = chars[at..]
                .iter()
                .position(|c| *c == '}')
                .map_or(chars.len() - at, |end| end + 1);
            out.extend(&chars[at..at + length]);
            Ok(at + length)
        }
        'A' | 'z' | 'p' | 'P' | 'x' | 'a' | 'f' | 't' | 'n' | 'r' | 'v' => {
            out.push('\\');
            out.push(c);
            Ok(at + 2)
        }
        // A single digit from 1 to 7 would be a back reference, which RE2 does not have.
        '0'..='7' if c == '0' || chars.get(at + 2).is_some_and(|d| ('0'..='7').contains(d)) => {
            let count = chars[at + 1..]
                .iter()
                .take(3)
                .take_while(|d| ('0'..='7').contains(*d))
                .count();
            let text: String = chars[at + 1..at + 1 + count].iter().collect();
            let code = u32::from_str_radix(&text, 8).unwrap_or(0);
            out.push_str(&format!("\\x{{{code:X}}}"));
            Ok(at + 1 + count)
        }
        _ if c.is_ascii_punctuation() => {
            // `\<` and `\>` are word boundaries in the `regex` crate, but literals in RE2.
            if c == '<' || c == '>' {
                out.push(c);
            } else {
                out.push('\\');
                out.push(c);
            }
            Ok(at + 2)
        }
        _ => Err(format!(
            "invalid regexp pattern: invalid escape sequence in \\{c}"
        )),
    }
}

/// Copies a `[…]` class; returns the position after it.
fn class(chars: &[char], open: usize, out: &mut String) -> Result<usize, String> {
    let missing = || {
        Err("invalid regexp pattern: missing closing ] in ".to_owned()
            + &chars[open..].iter().collect::<String>())
    };
    out.push('[');
    let mut at = open + 1;
    if chars.get(at) == Some(&'^') {
        out.push('^');
        at += 1;
    }
    let mut first = true;
    loop {
        let Some(&c) = chars.get(at) else {
            return missing();
        };
        match c {
            ']' if !first => {
                out.push(']');
                return Ok(at + 1);
            }
            // A `]` at the start of a class is literal.
            ']' => {
                out.push_str("\\]");
                at += 1;
            }
            '[' if chars.get(at + 1) == Some(&':') => match chars[at..]
                .windows(2)
                .position(|w| w == [':', ']'])
                .filter(|&p| p > 1)
            {
                Some(end) => {
                    out.extend(&chars[at..at + end + 2]);
                    at += end + 2;
                }
                None => {
                    out.push_str("\\[");
                    at += 1;
                }
            },
            // The `regex` crate has nested classes and set operators here, RE2 has not.
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
                at += 1;
            }
            // A hyphen at either end of a class is literal.
            '-' if first || chars.get(at + 1) == Some(&']') => {
                out.push_str("\\-");
                at += 1;
            }
            '\\' => at = escape(chars, at, true, out)?,
            _ => {
                out.push(c);
                at += 1;
            }
        }
        first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().is_match(text)
    }

    #[test]
    fn regex_classes_match_ascii_only() {
        assert!(finds(r"^\d+$", "123") && !finds(r"^\d+$", "١٢٣"));
        assert!(finds(r"^\w$", "a") && !finds(r"^\w$", "é"));
        assert!(finds(r"[[:alpha:]\d]", "7"));
    }

    #[test]
    fn regex_unusual_brackets_and_braces_are_literal() {
        assert!(finds(r"^[[&~]+$", "[&~"));
        assert!(finds(r"^a{,2}$", "a{,2}"));
        assert!(finds(r"^\Qa.b\E$", "a.b") && !finds(r"^\Qa.b\E$", "axb"));
        assert!(finds(r"^[]a]+$", "]a"));
        assert!(finds(r"^\<x\>$", "<x>"));
    }

    #[test]
    fn regex_escape_braces_are_part_of_the_escape() {
        assert!(finds(r"^\x{e9}+$", "éé") && finds(r"^[\x{e9}a]$", "é"));
        assert!(
            finds(r"^\p{Letter}{2}$", "äb")
                && finds(r"^\P{Decimal_Number}$", "a")
                && finds(r"\p{Greek}", "γ")
        );
        assert!(compile(r"\p{Nonsense}").is_err() && compile(r"\x{e9").is_err());
    }

    #[test]
    fn unsupported_regex_syntax_is_rejected() {
        for pattern in [
            "a(?=b)", "a(?!b)", "(?<=a)b", r"\1", "(", "[a", "a**", "\\", r"\y", "(?x)a",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
