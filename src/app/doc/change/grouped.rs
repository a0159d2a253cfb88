//! Equal changes of several elements of a list as one row.

use model::AttributeChange;
use std::borrow::Cow;
use std::collections::HashMap;

/// Attribute, or equal changes of several attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouped<'a> {
    /// First of the equal changes.
    pub attribute: &'a AttributeChange,
    /// Path with `[*]` for each element that differs.
    pub path: Cow<'a, str>,
    pub times: usize,
}

impl<'a> Grouped<'a> {
    /// A single attribute.
    pub fn one(attribute: &'a AttributeChange) -> Self {
        Self {
            attribute,
            path: Cow::Borrowed(&attribute.path),
            times: 1,
        }
    }
}

/// Groups equal changes whose paths differ in the elements of lists only. `parts` also groups added
/// and removed values; the rows of a new block would otherwise be mixed with those of others.
/// Sensitive values are never grouped, because a group says that they are equal.
pub fn grouped<'a>(all: &[&'a AttributeChange], parts: bool) -> Vec<Grouped<'a>> {
    let mut groups: Vec<Grouped> = Vec::with_capacity(all.len());
    let mut known = HashMap::new();
    for a in all {
        let both = a.before.is_some() && a.after.is_some();
        if a.sensitive || !(both || parts) {
            groups.push(Grouped::one(a));
            continue;
        }
        let steps = steps(&a.path);
        let pattern: String = steps
            .iter()
            .map(|s| if s.element { "[*]" } else { s.text })
            .collect();
        let key = (
            pattern,
            &a.before,
            &a.after,
            a.unknown,
            a.forces_replacement,
        );
        match known.get(&key) {
            Some(i) => {
                let group: &mut Grouped = &mut groups[*i];
                group.times += 1;
                group.path = Cow::Owned(merged(&group.path, &steps));
            }
            None => {
                known.insert(key, groups.len());
                groups.push(Grouped::one(a));
            }
        }
    }
    groups
}

/// Part of a path: an element of a list, or the text up to the next one.
struct Step<'a> {
    text: &'a str,
    element: bool,
}

/// Splits a path at the elements of lists. Quoted keys of maps are no elements.
fn steps(path: &str) -> Vec<Step<'_>> {
    let mut out = Vec::new();
    let (mut rest, mut from) = (path, 0);
    while let Some(at) = rest[from..].find('[').map(|at| from + at) {
        if rest[at..].starts_with("[\"") {
            from = at + 2 + quoted_length(&rest[at + 2..]);
            continue;
        }
        let end = rest[at..].find(']').map_or(rest.len(), |end| at + end + 1);
        let (text, element) = (&rest[..at], &rest[at..end]);
        out.push(Step {
            text,
            element: false,
        });
        out.push(Step {
            text: element,
            element: true,
        });
        (rest, from) = (&rest[end..], 0);
    }
    out.push(Step {
        text: rest,
        element: false,
    });
    out
}

/// Length of a quoted text up to and with its end.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' if !escaped => return i + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the path of a group with one more member.
fn merged(path: &str, member: &[Step<'_>]) -> String {
    steps(path)
        .iter()
        .zip(member)
        .map(|(a, b)| if a.text == b.text { a.text } else { "[*]" })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(path: &str, before: Option<&str>, after: Option<&str>) -> AttributeChange {
        AttributeChange {
            path: path.to_owned(),
            before_path: None,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            unknown: false,
            sensitive: false,
            forces_replacement: false,
            changed: true,
        }
    }

    fn shown(all: &[AttributeChange], parts: bool) -> Vec<String> {
        let all: Vec<&AttributeChange> = all.iter().collect();
        grouped(&all, parts)
            .iter()
            .map(|g| format!("{} ×{}", g.path, g.times))
            .collect()
    }

    #[test]
    fn equal_changes_of_elements_are_counted() {
        let (old, new) = (Some("\"v1\""), Some("\"v2\""));
        let mut secret = attr("rule[0].tag", old, new);
        secret.sensitive = true;
        let mut forcing = attr("rule[5].tag", old, new);
        forcing.forces_replacement = true;
        let table: Vec<(Vec<AttributeChange>, bool, Vec<&str>)> = vec![
            (
                (0..8)
                    .map(|i| attr(&format!("rule[{i}].tag"), old, new))
                    .collect(),
                false,
                vec!["rule[*].tag ×8"],
            ),
            // Only elements that differ are replaced.
            (
                vec![attr("a[1].b[0].c", old, new), attr("a[1].b[2].c", old, new)],
                false,
                vec!["a[1].b[*].c ×2"],
            ),
            // Elements named by their identity, and a bracket inside a quoted key.
            (
                vec![
                    attr("s[Sid=A][\"x[0]\\\"]\"]", old, new),
                    attr("s[Sid=B][\"x[0]\\\"]\"]", old, new),
                ],
                false,
                vec!["s[*][\"x[0]\\\"]\"] ×2"],
            ),
            // Keys of maps are different places.
            (
                vec![attr("tags[\"a\"]", old, new), attr("tags[\"b\"]", old, new)],
                false,
                vec!["tags[\"a\"] ×1", "tags[\"b\"] ×1"],
            ),
            // Another value, a reason of a replacement, a sensitive value.
            (
                vec![
                    attr("rule[0].tag", old, new),
                    attr("rule[1].tag", old, Some("3")),
                    forcing,
                ],
                false,
                vec!["rule[0].tag ×1", "rule[1].tag ×1", "rule[5].tag ×1"],
            ),
            (
                vec![secret.clone(), secret],
                false,
                vec!["rule[0].tag ×1", "rule[0].tag ×1"],
            ),
            // New parts are grouped in documents only.
            (
                vec![
                    attr("rule[0].tag", None, new),
                    attr("rule[1].tag", None, new),
                ],
                false,
                vec!["rule[0].tag ×1", "rule[1].tag ×1"],
            ),
            (
                vec![
                    attr("rule[0].tag", None, new),
                    attr("rule[1].tag", None, new),
                ],
                true,
                vec!["rule[*].tag ×2"],
            ),
        ];
        for (all, parts, expected) in table {
            assert_eq!(shown(&all, parts), expected);
        }
    }
}
