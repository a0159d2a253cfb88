//! File name patterns: `*`, `?`, `[a-z]`, `{a,b}` and `**` for any number of folders.
//! A pattern is expanded over braces once, then matched name by name while the folders are walked.

use super::paths;
use std::path::Path;

/// Maximum directory depth, which ends the walk in cycles of links.
const DEPTH: usize = 64;

/// Errors of pattern matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GlobError {
    #[error("syntax error in pattern")]
    Syntax,
    #[error("the alternatives in braces expand to more than 1024 patterns")]
    TooMany,
    #[error("the search was cancelled")]
    Cancelled,
}

/// Paths of all files that match `pattern` (itself a path), sorted and unique.
///
/// # Errors
/// The pattern is malformed.
pub(crate) fn files(pattern: &str, ended: &dyn Fn() -> bool) -> Result<Vec<String>, GlobError> {
    let mut found = std::collections::BTreeSet::new();
    for alternative in braces(pattern)? {
        let parts: Vec<&str> = alternative.split('/').collect();
        for part in &parts {
            // Checked before the walk, so that errors do not depend on the files that exist.
            valid(part)?;
        }
        let rooted = alternative.starts_with('/');
        // Doubled slashes count as one.
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        walk(if rooted { "/" } else { "" }, &parts, 0, &mut found, ended);
    }
    if ended() {
        return Err(GlobError::Cancelled);
    }
    Ok(found.into_iter().collect())
}

fn child(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        "/" => format!("/{name}"),
        _ => format!("{folder}/{name}"),
    }
}

fn names(folder: &str) -> Vec<String> {
    let place = if folder.is_empty() { "." } else { folder };
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    entries
        // Names that are not UTF-8 cannot be values of the language.
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .collect()
}

fn walk(
    folder: &str,
    parts: &[&str],
    depth: usize,
    found: &mut std::collections::BTreeSet<String>,
    ended: &dyn Fn() -> bool,
) {
    let Some((&first, rest)) = parts.split_first() else {
        return;
    };
    // Also stops between directories when evaluation is cancelled.
    if depth > DEPTH || ended() {
        return;
    }
    if first == "**" {
        walk(
            folder,
            // `**` also matches no directory at all.
            if rest.is_empty() { &["*"] } else { rest },
            depth,
            found,
            ended,
        );
        for name in names(folder) {
            let path = child(folder, &name);
            if Path::new(&path).is_dir() {
                walk(&path, parts, depth + 1, found, ended);
            }
        }
        return;
    }
    let candidates = if first.contains(['*', '?', '[', '\\']) {
        let pattern: Vec<char> = first.chars().collect();
        names(folder)
            .into_iter()
            .filter(|n| matches(&pattern, &n.chars().collect::<Vec<_>>()))
            .collect()
    } else {
        // Opened by name, so the directory need not be listed.
        vec![first.to_owned()]
    };
    for name in candidates {
        let path = child(folder, &name);
        if rest.is_empty() {
            if Path::new(&path).is_file() {
                found.insert(paths::clean(&path));
            }
        } else if Path::new(&path).is_dir() {
            walk(&path, rest, depth + 1, found, ended);
        }
    }
}

/// Expands `{a,b}` (also nested) to its alternatives.
fn braces(pattern: &str) -> Result<Vec<String>, GlobError> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '[' => at = class_end(&chars, at).ok_or(GlobError::Syntax)?,
            '{' => return expand(&chars, at),
            _ => {}
        }
        at += 1;
    }
    Ok(vec![pattern.to_owned()])
}

fn expand(chars: &[char], open: usize) -> Result<Vec<String>, GlobError> {
    let mut depth = 0;
    let mut starts = vec![open + 1];
    let mut at = open;
    loop {
        match chars.get(at) {
            None => return Err(GlobError::Syntax),
            Some('\\') => at += 1,
            Some('{') => depth += 1,
            Some(',') if depth == 1 => starts.push(at + 1),
            Some('}') => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            Some(_) => {}
        }
        at += 1;
    }
    starts.push(at + 1);
    let mut out = Vec::new();
    for pair in starts.windows(2) {
        let text: String = chars[..open]
            .iter()
            .chain(&chars[pair[0]..pair[1] - 1])
            .chain(&chars[at + 1..])
            .collect();
        out.extend(braces(&text)?);
        // Nested braces multiply, so the number of patterns is limited.
        if out.len() > 1024 {
            return Err(GlobError::TooMany);
        }
    }
    Ok(out)
}

/// Position of the `]` that closes the class opened at `open`.
fn class_end(chars: &[char], open: usize) -> Option<usize> {
    let mut at = open + 1;
    if matches!(chars.get(at), Some('^' | '!')) {
        at += 1;
    }
    let first = at;
    loop {
        match chars.get(at)? {
            '\\' => at += 1,
            // A bracket at the start of a class is a member of it.
            ']' if at > first => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

fn valid(part: &str) -> Result<(), GlobError> {
    let chars: Vec<char> = part.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' if at + 1 == chars.len() => return Err(GlobError::Syntax),
            '\\' => at += 1,
            '[' => at = class_end(&chars, at).ok_or(GlobError::Syntax)?,
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn matches(pattern: &[char], name: &[char]) -> bool {
    // `star` remembers where to resume when a shorter match of the last `*` fails.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match one(pattern, p, name[n]) {
            Some(Step::Star) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(Step::Match(width)) => {
                p += width;
                n += 1;
                continue;
            }
            None => {}
        }
        let Some((at, from)) = star else { return false };
        // The last `*` takes one character more.
        star = Some((at, from + 1));
        p = at + 1;
        n = from + 1;
    }
    pattern[p..].iter().all(|&c| c == '*')
}

enum Step {
    Star,
    Match(usize),
}

fn one(pattern: &[char], at: usize, c: char) -> Option<Step> {
    match pattern.get(at)? {
        '*' => Some(Step::Star),
        '?' => Some(Step::Match(1)),
        '\\' => (pattern.get(at + 1) == Some(&c)).then_some(Step::Match(2)),
        '[' => {
            let end = class_end(pattern, at)?;
            in_class(&pattern[at + 1..end], c).then_some(Step::Match(end + 1 - at))
        }
        literal => (*literal == c).then_some(Step::Match(1)),
    }
}

fn in_class(class: &[char], c: char) -> bool {
    let (negated, class) = match class.first() {
        Some('^' | '!') => (true, &class[1..]),
        _ => (false, class),
    };
    let mut at = 0;
    let mut hit = false;
    while at < class.len() {
        let mut low = class[at];
        if low == '\\' && at + 1 < class.len() {
            at += 1;
            low = class[at];
        }
        at += 1;
        let mut high = low;
        if class.get(at) == Some(&'-') && at + 1 < class.len() {
            high = class[at + 1];
            at += 2;
            if high == '\\' && at < class.len() {
                high = class[at];
                at += 1;
            }
        }
        hit |= (low..=high).contains(&c);
    }
    hit != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        matches(
            &pattern.chars().collect::<Vec<_>>(),
            &name.chars().collect::<Vec<_>>(),
        )
    }

    #[test]
    fn glob_patterns_match_names() {
        for (pattern, name) in [
            ("*.txt", "a.txt"),
            ("a?c", "abc"),
            ("[a-c]*", "box"),
            ("[^a]x", "bx"),
            ("\\*", "*"),
            ("*a*b", "xaxxb"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.txt", "a.txtx"), ("?", ""), ("[!a]", "a"), ("a", "b")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn glob_braces_expand_to_alternatives() {
        assert_eq!(braces("a{b,c{d,e}}f").unwrap(), ["abf", "acdf", "acef"]);
        assert!(braces("a{b").is_err());
    }

    #[test]
    fn double_star_crosses_directories() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_str().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        for name in ["x.tf", "a/x.tf", "a/b/x.tf", "a/b/y.md"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let got = files(&format!("{root}/**/*.tf"), &|| false).unwrap();
        let got: Vec<_> = got.iter().map(|p| paths::relative(root, p)).collect();
        assert_eq!(got, ["a/b/x.tf", "a/x.tf", "x.tf"]);
        assert_eq!(files(&format!("{root}/*/*"), &|| false).unwrap().len(), 1);
    }
}
