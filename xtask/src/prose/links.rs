//! Links between Markdown pages: finds those whose file or heading does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Returns the place and target of each broken link. Links to other hosts are not checked.
pub fn broken(pages: &BTreeMap<PathBuf, String>) -> Vec<(String, String)> {
    let headings: BTreeMap<PathBuf, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| (normalized(path), headings(text)))
        .collect();
    let mut broken = Vec::new();
    for (path, text) in pages {
        let dir = path.parent().unwrap_or(Path::new(""));
        for (number, target) in targets(text) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = match file {
                "" => normalized(path),
                file => normalized(&dir.join(file)),
            };
            let is_there = match headings.get(&file) {
                Some(headings) => anchor.is_empty() || headings.contains(anchor),
                None => file.exists(),
            };
            if !is_there {
                broken.push((format!("{}:{number}", path.display()), target));
            }
        }
    }
    broken
}

/// Lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Targets of inline links, with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    prose(text)
        .flat_map(|(number, line)| {
            line.split("](").skip(1).filter_map(move |rest| {
                let (target, _) = rest.split_once(')')?;
                Some((number, target.to_owned()))
            })
        })
        .collect()
}

/// Anchors of the headings, as GitHub makes them: lower case, without punctuation, dashes for
/// spaces.
fn headings(text: &str) -> BTreeSet<String> {
    prose(text)
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

/// Resolves `.` and `..` in the text of the path, so that two spellings of one page are equal.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_without_file_or_heading_are_broken() {
        let page = "# One `two` (three)\n[a](#one-two-three) [b](b.md#x) [c](c.md) [d](https://x)\n```\n[e](e.md)\n```\n";
        let pages = BTreeMap::from([
            (PathBuf::from("docs/a.md"), page.to_owned()),
            (PathBuf::from("docs/b.md"), "## y\n".to_owned()),
        ]);
        let found = broken(&pages);
        let targets: Vec<&str> = found.iter().map(|(_, target)| target.as_str()).collect();
        assert_eq!(targets, ["b.md#x", "c.md"]);
    }
}
