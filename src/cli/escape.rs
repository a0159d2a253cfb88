//! Escapes untrusted text (of plugins, providers, configurations and other users) for the terminal.

/// Escapes text to one line: names, addresses, users.
pub(super) use model::visible::one_line as safe;

/// Escapes text and keeps its line breaks: details, values, messages of plugins.
pub(super) use model::visible::lines as safe_lines;

/// Escapes the path of a file or a directory to one line.
pub(super) fn safe_path(path: &std::path::Path) -> String {
    safe(&path.to_string_lossy()).into_owned()
}
