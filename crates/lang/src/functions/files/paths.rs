//! Slash-separated paths as text, without access to files.

/// Shortest equivalent path: no `.`, no inner `..`, no doubled slashes; empty becomes `.`.
pub(crate) fn clean(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&last) if last != ".." => {
                    kept.pop();
                }
                // The parent of the root is the root.
                _ if rooted => {}
                // A leading `..` of a relative path cannot be removed.
                _ => kept.push(".."),
            },
            other => kept.push(other),
        }
    }
    let joined = kept.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Joins and cleans `base` and `path`; empty parts are ignored.
pub(crate) fn join(base: &str, path: &str) -> String {
    match (base.is_empty(), path.is_empty()) {
        (true, true) => String::new(),
        (true, false) => clean(path),
        (false, true) => clean(base),
        (false, false) => clean(&format!("{base}/{path}")),
    }
}

/// Last element of a path.
pub(crate) fn base(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/".to_owned();
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed).to_owned()
}

/// All but the last element of a path, cleaned.
pub(crate) fn dir(path: &str) -> String {
    match path.rfind('/') {
        Some(at) => clean(&path[..=at]),
        None => ".".to_owned(),
    }
}

/// `target` relative to `from`, both cleaned; `target` itself if there is no relative path.
pub(crate) fn relative(from: &str, target: &str) -> String {
    let (from, target) = (clean(from), clean(target));
    if from == "." {
        return target;
    }
    if from.starts_with('/') != target.starts_with('/') {
        return target;
    }
    let a: Vec<&str> = from.split('/').filter(|p| !p.is_empty()).collect();
    let b: Vec<&str> = target.split('/').filter(|p| !p.is_empty()).collect();
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let mut parts: Vec<&str> = vec![".."; a.len() - same];
    parts.extend(&b[same..]);
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_functions_match_expected_results() {
        assert_eq!(clean("a/../b/./c//"), "b/c");
        assert_eq!(clean("/../a"), "/a");
        assert_eq!(clean("../.."), "../..");
        assert_eq!(
            (base("a/b/"), base(""), base("//")),
            ("b".into(), ".".into(), "/".into())
        );
        assert_eq!(
            (dir("a/b/"), dir("a"), dir("/a")),
            ("a/b".into(), ".".into(), "/".into())
        );
        assert_eq!(relative("./sub", "sub/x/y"), "x/y");
        assert_eq!(relative("sub", "x"), "../x");
    }
}
