//! Parts of a detail side by side.

use super::{Doc, Line, Role, cells_of, span};

/// Blank cells between two parts.
const GAP: usize = 4;

/// Puts `right` beside the first lines of `left` that leave space for it in `cells` cells: as many
/// as it has, or half as many at the end. Without such lines, it follows after a blank line.
pub fn beside(mut left: Doc, right: Doc, cells: usize) -> Doc {
    if left.is_empty() || right.is_empty() {
        left.extend(right);
        return left;
    }
    let widest = |doc: &[Line]| doc.iter().map(cells_of).max().unwrap_or(0);
    let room = cells.saturating_sub(widest(&right) + GAP);
    let Some((first, end)) = lines_with_room(&left, room, right.len()) else {
        left.push(Line::new());
        left.extend(right);
        return left;
    };
    let column = (widest(&left[first..end]) + GAP)
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

/// First lines with room for a part of `height` lines beside them, and the end of these lines.
fn lines_with_room(left: &[Line], room: usize, height: usize) -> Option<(usize, usize)> {
    let is_long = |l: &Line| cells_of(l) > room;
    let mut first = 0;
    loop {
        let length = left[first..].iter().position(is_long);
        let end = length.map_or(left.len(), |length| first + length);
        // A blank line after long ones separates both parts from them.
        if first > 0 && left.get(first).is_some_and(Vec::is_empty) {
            first += 1;
        }
        let lines = end.saturating_sub(first);
        // Beside less than half of it, a part at the end would look lost.
        let fits = match end == left.len() {
            true => lines * 2 >= height,
            false => lines >= height,
        };
        if fits {
            return Some((first, end));
        }
        if end == left.len() {
            return None;
        }
        first = end + 1;
    }
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
            (
                &["a", "b", "a long one"],
                &["1", "2"],
                12,
                "a     1\nb     2\na long one",
            ),
            (&[], &["1"], 12, "1"),
            (&["a"], &[], 12, "a"),
        ] {
            let text = plain_text(&beside(doc(left), doc(right), cells));
            assert_eq!(text, expected, "{left:?} {right:?}");
        }
    }
}
