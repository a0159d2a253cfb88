//! Letter case of single code points, and word boundaries, as in Go's `unicode` and `strings`: a
//! letter whose uppercase has several letters stays unchanged.

/// Uppercase of a code point, or itself.
pub(crate) fn upper(c: char) -> char {
    match c as u32 {
        // Rust writes the capitals of these Greek letters with two code points, and Go with one.
        0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7 => {
            char::from_u32(c as u32 + 8).unwrap_or(c)
        }
        0x1FB3 | 0x1FC3 | 0x1FF3 => char::from_u32(c as u32 + 9).unwrap_or(c),
        _ => single(c.to_uppercase(), c),
    }
}

/// Lowercase of a code point, or itself.
pub(crate) fn lower(c: char) -> char {
    // Rust gives two code points here, and Go the plain letter.
    if c == '\u{130}' {
        'i'
    } else {
        single(c.to_lowercase(), c)
    }
}

/// Title case of a code point.
fn title(c: char) -> char {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        // Georgian has capitals, but does not use them at the start of a word.
        '\u{10D0}'..='\u{10FF}' => c,
        _ => upper(c),
    }
}

fn single(mut letters: impl Iterator<Item = char>, otherwise: char) -> char {
    match (letters.next(), letters.next()) {
        (Some(one), None) => one,
        _ => otherwise,
    }
}

/// Returns true if `c` separates words.
fn separates(c: char) -> bool {
    if c.is_ascii() {
        return !(c.is_ascii_alphanumeric() || c == '_');
    }
    if c.is_alphabetic() || c.is_numeric() {
        return false;
    }
    space(c)
}

/// White space for `trimspace`.
pub(crate) fn space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}'
    ) || (!c.is_ascii() && c.is_whitespace())
}

/// Capitalizes each word.
pub(crate) fn titled(text: &str) -> String {
    let mut before = ' ';
    text.chars()
        .map(|c| {
            let out = if separates(before) { title(c) } else { c };
            before = c;
            out
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_keeps_letters_without_a_single_uppercase_form() {
        assert_eq!("straße".chars().map(upper).collect::<String>(), "STRAßE");
        assert_eq!(lower('İ'), 'i');
    }

    #[test]
    fn title_words_start_after_dashes_and_spaces_but_not_underscores() {
        assert_eq!(
            titled("hello-world foo_bar 1st don't"),
            "Hello-World Foo_bar 1st Don'T"
        );
    }
}
