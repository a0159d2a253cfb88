//! Quotes words for a remote shell, and splits remote paths.

/// Quotes one word for a POSIX shell, or for a Windows command line.
pub(super) fn quote_word(text: &str, windows: bool) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if windows {
        return windows_word(text);
    }
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn windows_word(text: &str) -> String {
    if !text.is_empty() && !text.contains([' ', '\t', '\n', '"']) {
        return text.to_owned();
    }
    let (mut out, mut slashes) = ("\"".to_owned(), 0);
    for c in text.chars() {
        match c {
            // Backslashes are literal unless a quote follows them; then they are doubled.
            '\\' => slashes += 1,
            '"' => out += &"\\".repeat(slashes * 2 + 1),
            _ => out += &"\\".repeat(slashes),
        }
        if c != '\\' {
            slashes = 0;
            out.push(c);
        }
    }
    out + &"\\".repeat(slashes * 2) + "\""
}

/// Splits a path into directory and name, by its text alone: a trailing slash is ignored, `.` and
/// `..` are resolved.
pub(super) fn folder_and_name(path: &str) -> (String, String) {
    let bare = path.trim_end_matches('/');
    let name = match bare.rsplit('/').next() {
        Some("") | None if path.starts_with('/') => "/".to_owned(),
        Some("") | None => ".".to_owned(),
        Some(name) => name.to_owned(),
    };
    (
        clean(
            path.rsplit_once('/').map_or("", |(folder, _)| folder),
            path.starts_with('/'),
        ),
        name,
    )
}

fn clean(path: &str, absolute: bool) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|p| !matches!(*p, "" | ".")) {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            ("..", None) if absolute => {}
            _ => parts.push(part),
        }
    }
    match (absolute, parts.join("/")) {
        (true, rest) => format!("/{rest}"),
        (false, rest) if rest.is_empty() => ".".to_owned(),
        (false, rest) => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_split_into_directory_and_name() {
        for (path, folder, name) in [
            ("/a/b", "/a", "b"),
            ("/a/b/", "/a/b", "b"),
            ("b", ".", "b"),
            ("/b", "/", "b"),
            ("/", "/", "/"),
            ("a/../b/c", "b", "c"),
            ("/../a", "/", "a"),
            ("../a", "..", "a"),
            ("C:/x y/z.txt", "C:/x y", "z.txt"),
        ] {
            assert_eq!(
                folder_and_name(path),
                (folder.to_owned(), name.to_owned()),
                "{path}"
            );
        }
    }

    #[test]
    fn shell_word_is_quoted_as_a_single_word() {
        for (text, unix, windows) in [
            ("/tmp/a", "/tmp/a", "/tmp/a"),
            ("a b", "'a b'", "\"a b\""),
            ("it's", "'it'\\''s'", "it's"),
            ("$(x)", "'$(x)'", "$(x)"),
            ("", "''", "\"\""),
            ("a \"b\\", "'a \"b\\'", "\"a \\\"b\\\\\""),
        ] {
            assert_eq!(
                (
                    quote_word(text, false).as_str(),
                    quote_word(text, true).as_str()
                ),
                (unix, windows),
                "{text}"
            );
        }
    }
}
