//! Text of others (plugins, providers, configuration, other users) as it is printed for people.

/// In one line: names, addresses, whoever did something.
pub(super) use crate::engine::visible::one_line as safe;

/// With its own line ends: details, values, what plugins say.
pub(super) use crate::engine::visible::lines as safe_lines;

/// The name of a file or a directory, in one line.
pub(super) fn safe_path(path: &std::path::Path) -> String {
    safe(&path.to_string_lossy()).into_owned()
}
