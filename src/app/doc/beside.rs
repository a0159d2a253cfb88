//! Parts of a detail side by side.

use super::{Doc, Line, Role, cells_of, span};

/// Blank cells between two parts.
const GAP: usize = 4;

/// Puts `right` beside the last lines of `left` if both fit into `cells` cells, otherwise below
/// them after a blank line.
pub fn beside(mut left: Doc, right: Doc, cells: usize) -> Doc {
    if left.is_empty() || right.is_empty() {
        left.extend(right);
        return left;
    }
    let widest = |doc: &[Line]| doc.iter().map(cells_of).max().unwrap_or(0);
    let room = cells.saturating_sub(widest(&right) + GAP);
    let long = left.iter().rposition(|l| cells_of(l) > room);
    let mut first = long.map_or(0, |at| at + 1);
    // A blank line after long ones separates both parts from them.
    first += usize::from(left.get(first).is_some_and(Vec::is_empty));
    // Beside less than half of it, the right part would look lost.
    if (left.len() - first) * 2 < right.len() {
        left.push(Line::new());
        left.extend(right);
        return left;
    }
    let column = (widest(&left[first..]) + GAP)
        .max(cells / 2)
        .min(room + GAP);
    for (at, line) in right.into_iter().enumerate() {
        if first + at == left.len() {
            left.push(Line::new());
        }
        let l = &mut left[first + at];
        l.push(span(Role::Plain, " ".repeat(column - cells_of(l))));
        l.extend(line);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doc::{line, plain_text};

    fn doc(lines: &[&str]) -> Doc {
        lines.iter().map(|text| line(Role::Plain, text)).collect()
    }

    #[test]
    fn right_part_is_beside_the_lines_that_leave_space_for_it() {
        for (left, right, cells, expected) in [
            (
                &["a", "b"][..],
                &["1", "2", "3"][..],
                20,
                "a         1\nb         2\n          3",
            ),
            (
                &["a long one", "b", "c"],
                &["1", "2"],
                14,
                "a long one\nb      1\nc      2",
            ),
            (&["a long one"], &["1", "2"], 12, "a long one\n\n1\n2"),
            (&[], &["1"], 12, "1"),
            (&["a"], &[], 12, "a"),
        ] {
            let text = plain_text(&beside(doc(left), doc(right), cells));
            assert_eq!(text, expected, "{left:?} {right:?}");
        }
    }
}
