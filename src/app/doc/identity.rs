//! Values that tell objects of a type apart, for the notes of their rows.

use crate::app::text::{truncate_start, width};
use lang::addr::unquote;
use model::ChangeView;
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Names of attributes that identify an object, the most telling one first.
const IDENTITIES: [&str; 17] = [
    "name",
    "filename",
    "path",
    "bucket",
    "key",
    "title",
    "id",
    "identifier",
    "hostname",
    "host",
    "domain",
    "fqdn",
    "zone",
    "url",
    "uri",
    "address",
    "email",
];

/// Longest path of a note in cells. Paths of objects differ at their ends.
const LONGEST_PATH: usize = 32;

/// Attributes whose values differ between the changes of a stage, by type of resource.
pub type Varying = BTreeMap<String, BTreeSet<String>>;

/// Returns the attributes whose values differ between changes of the same type.
pub fn varying(changes: &[ChangeView]) -> Varying {
    let mut first = BTreeMap::new();
    let mut out = Varying::new();
    for c in changes {
        for a in c.attributes.iter().filter(|a| !a.sensitive && !a.unknown) {
            match first.entry((&c.resource_type, &a.path)) {
                Entry::Vacant(free) => {
                    free.insert(&a.after);
                }
                Entry::Occupied(value) if **value.get() != a.after => {
                    let names = out.entry(c.resource_type.clone()).or_default();
                    names.insert(a.path.clone());
                }
                Entry::Occupied(_) => {}
            }
        }
    }
    out
}

/// Kinds of attributes in the order of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Index among the identities.
    Identity(usize),
    /// Its value differs from that of another object of the type.
    Varying,
    Text,
    Number,
    Flag,
    /// Permissions and modes, which are alike for most objects.
    Mode,
    /// Part of a block.
    Nested,
}

impl Rank {
    /// Ranks an attribute by its name and value.
    pub fn of(name: &str, value: &str, varies: bool) -> Self {
        if name.contains(['.', '[']) {
            return Self::Nested;
        }
        if let Some(at) = IDENTITIES.iter().position(|known| *known == name) {
            return Self::Identity(at);
        }
        match value {
            _ if name.contains("permission") || name.contains("mode") => Self::Mode,
            _ if varies => Self::Varying,
            "true" | "false" => Self::Flag,
            text if text.starts_with('"') => Self::Text,
            _ => Self::Number,
        }
    }
}

/// Returns the first `most` values as `name = value`, in the order of their ranks. Equal identities
/// are named once, and modes and parts of blocks only fill a short note.
pub fn note<'a>(
    values: impl Iterator<Item = (Rank, &'a str, Cow<'a, str>)>,
    most: usize,
) -> Vec<String> {
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(|(rank, ..)| *rank);
    let mut told: Vec<(Cow<'_, str>, String)> = Vec::new();
    for (rank, name, value) in values {
        let (most, repeats) = match rank {
            Rank::Identity(_) => (most, told.iter().any(|(known, _)| *known == value)),
            Rank::Mode => (1, false),
            Rank::Nested => (2, false),
            _ => (most, false),
        };
        if told.len() < most && !repeats {
            let text = format!("{name} = {value}");
            told.push((value, text));
        }
    }
    told.into_iter().map(|(_, text)| text).collect()
}

/// Returns a value in at most `cells` cells. Of a long path, it keeps the end. Returns `None` for
/// other long values, and for empty ones, which tell nothing.
pub fn short_value(value: &str, cells: usize) -> Option<Cow<'_, str>> {
    if is_empty(value) {
        return None;
    }
    let is_path = |text: &String| text.starts_with(['/', '.', '~']) && !text.contains('\n');
    let (path, longest) = match unquote(value).filter(is_path) {
        Some(path) => (Some(path), cells.min(LONGEST_PATH)),
        None => (None, cells),
    };
    if width(value) <= longest {
        return Some(Cow::Borrowed(value));
    }
    let end = truncate_start(path.as_ref()?, longest.saturating_sub(2)).into_owned();
    Some(Cow::Owned(format!("\"{end}\"")))
}

/// Returns true for a value without content.
fn is_empty(value: &str) -> bool {
    ["null", "\"\"", "[]", "{}"].contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_precede_texts_and_modes() {
        let mut all = [
            ("directory_permission", "\"0777\""),
            ("force", "false"),
            ("content", "\"x\""),
            ("size", "3"),
            ("id", "\"a\""),
            ("backup.name", "\"b\""),
            ("filename", "\"f\""),
        ];
        // A mode that differs is still a mode.
        let varies = |name: &str| name == "size" || name.contains("permission");
        all.sort_by_key(|(name, value)| Rank::of(name, value, varies(name)));
        let names = all.map(|(name, _)| name);
        assert_eq!(
            names,
            [
                "filename",
                "id",
                "size",
                "content",
                "force",
                "directory_permission",
                "backup.name"
            ]
        );
    }

    #[test]
    fn note_has_equal_identities_once_and_no_mode_beside_them() {
        let values = [
            ("id", "\"/srv\""),
            ("path", "\"/srv\""),
            ("permission", "\"0755\""),
            ("force", "true"),
        ];
        let values = values.map(|(name, v)| (Rank::of(name, v, false), name, v.into()));
        let parts = note(values.into_iter(), 3);
        assert_eq!(parts, ["path = \"/srv\"", "force = true"]);
    }

    #[test]
    fn long_paths_keep_their_ends() {
        let path = "\"/tmp/shop/out/credentials.txt\"";
        assert_eq!(
            short_value(path, 20).as_deref(),
            Some("\"…/credentials.txt\"")
        );
        assert_eq!(short_value(path, 40).as_deref(), Some(path));
        let longer = "\"/tmp/demo-x1/shop/out/credentials.txt\"";
        assert_eq!(
            short_value(longer, 40).as_deref(),
            Some("\"…/shop/out/credentials.txt\"")
        );
        assert_eq!(short_value("\"a text without any path\"", 10), None);
        assert_eq!(short_value("\"{\\\"Resource\\\":\\\"a/b\\\"}\"", 10), None);
        assert_eq!(short_value("{}", 10), None);
    }
}
