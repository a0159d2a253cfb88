//! Columns of a table, and their places for the content of its rows.

use super::doc::Line;
use super::text::width;

/// Width of a column.
#[derive(Debug, Clone, Copy)]
pub enum Width {
    /// As wide as its content, and at least this while it has any, so that changing values do not
    /// move the columns after it.
    Content(u16),
    /// Minimum width, and the weight of its share if the texts are longer than the table.
    Flex(u16, u16),
    /// Like `Flex`; takes the space that no text needs, so that the columns after it are at the
    /// right edge.
    Fill(u16, u16),
    /// Minimum width of addresses, which are shortened in the middle.
    Key(u16),
}

/// A column. If the table is too narrow, columns with the highest `drop` are left out first; 0 is
/// never left out. A column without content is left out in any case.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub title: &'static str,
    pub width: Width,
    pub drop: u8,
    pub right: bool,
}

/// Creates a column of text.
pub const fn column(title: &'static str, width: Width, drop: u8) -> Column {
    Column {
        title,
        width,
        drop,
        right: false,
    }
}

/// Creates a right-aligned column of numbers.
pub const fn number(title: &'static str, width: u16, drop: u8) -> Column {
    Column {
        title,
        width: Width::Content(width),
        drop,
        right: true,
    }
}

/// Width from which a note gives cells to the blanks between columns.
const LONG_NOTE: u16 = 30;

/// Weight of a column of addresses in its share of a narrow table.
const KEY_WEIGHT: u16 = 5;

impl Column {
    /// Width for a content of `content` cells, without a cut.
    fn whole(&self, content: u16) -> u16 {
        let least = match self.width {
            Width::Content(least) => least,
            Width::Flex(..) | Width::Fill(..) | Width::Key(_) => 0,
        };
        content.max(self.title_width()).max(least)
    }

    /// Smallest usable width for a content of `content` cells.
    fn least(&self, content: u16) -> u16 {
        let whole = self.whole(content);
        match self.width {
            Width::Content(_) => whole,
            Width::Flex(least, _) | Width::Fill(least, _) | Width::Key(least) => {
                whole.min(least.max(self.title_width()))
            }
        }
    }

    /// Weight of its share; 0 for a column that is never cut.
    fn weight(&self) -> u16 {
        match self.width {
            Width::Content(_) => 0,
            Width::Flex(_, weight) | Width::Fill(_, weight) => weight.max(1),
            Width::Key(_) => KEY_WEIGHT,
        }
    }

    fn title_width(&self) -> u16 {
        u16::try_from(width(self.title)).unwrap_or(u16::MAX)
    }
}

/// A visible column: index, first cell, width.
pub type Placed = (usize, u16, u16);

/// Cells of a table that rather leaves out columns than the second blank between them.
const ROOMY: u16 = 100;

/// Places the columns that have content in `cells` cells, with a blank between two of them, or two
/// blanks if there is space. `contents` are the widths of their longest cells.
pub fn place(columns: &[Column], contents: &[u16], cells: u16) -> Vec<Placed> {
    let content = |i: usize| contents.get(i).copied().unwrap_or(0);
    let mut shown: Vec<usize> = (0..columns.len()).filter(|i| content(*i) > 0).collect();
    let least = |i: usize| columns[i].least(content(i));
    // Marks without a title belong to the text after them.
    let roomy = |i: usize| cells >= ROOMY && !columns[i].title.is_empty();
    let gaps = |shown: &[usize]| {
        let all = shown.iter().rev().skip(1);
        all.map(|i| 1 + u16::from(roomy(*i))).sum::<u16>()
    };
    let total = |shown: &[usize]| shown.iter().map(|i| least(*i)).sum::<u16>() + gaps(shown);
    // Minimum widths do not fit: leaves out columns one by one.
    while total(&shown) > cells {
        let droppable = shown.iter().copied().filter(|i| columns[*i].drop > 0);
        let Some(worst) = droppable.max_by_key(|i| columns[*i].drop) else {
            break;
        };
        shown.retain(|i| *i != worst);
    }
    let mut widths: Vec<u16> = shown.iter().map(|i| least(*i)).collect();
    let mut spare = cells.saturating_sub(total(&shown));
    // One cell at a time to the column with the smallest share, so that short texts are whole and
    // only the longest ones are cut.
    while spare > 0 {
        let short = (0..shown.len())
            .filter(|at| widths[*at] < columns[shown[*at]].whole(content(shown[*at])));
        let share = |at: &usize| {
            u32::from(widths[*at]) * 100 / u32::from(columns[shown[*at]].weight().max(1))
        };
        let Some(next) = short.min_by_key(share) else {
            break;
        };
        widths[next] += 1;
        spare -= 1;
    }
    // A second blank between two columns, which a long note gives if there is no other space.
    let titled = shown.iter().rev().skip(1);
    let titled = titled.filter(|i| !columns[**i].title.is_empty() && !roomy(**i));
    // None in a wide table, which has counted the second blanks already.
    let titled = titled.count();
    let wider = u16::try_from(titled).unwrap_or(u16::MAX);
    if let (Some(i), Some(w)) = (shown.last(), widths.last_mut())
        && matches!(columns[*i].width, Width::Flex(..))
        && *w >= LONG_NOTE + wider
        && spare < wider
    {
        *w -= wider - spare;
        spare = wider;
    }
    let gap = if spare >= wider { 2 } else { 1 };
    spare -= if gap == 2 { wider } else { 0 };
    // The rest belongs to the note, so that the search mark and later texts have space.
    let note = (0..shown.len()).rfind(|at| columns[shown[*at]].weight() > 0);
    let is_fill = |at: &usize| matches!(columns[shown[*at]].width, Width::Fill(..));
    if let Some(at) = note.filter(|at| at + 1 == shown.len() || is_fill(at)) {
        widths[at] += spare;
    }
    let mut x = 0;
    let mut out = Vec::with_capacity(shown.len());
    for (i, w) in shown.into_iter().zip(widths) {
        let w = w.min(cells.saturating_sub(x));
        out.push((i, x, w));
        let gap = if columns[i].title.is_empty() { 1 } else { gap };
        x = (x + w + gap).min(cells);
    }
    out
}

/// Longest measured text in cells; wider than any screen.
const MAX_CONTENT: u16 = 1000;

/// Raises the widths of the columns to those of a row's cells.
pub fn measure(contents: &mut Vec<u16>, row: &[Line]) {
    contents.resize(contents.len().max(row.len()), 0);
    for (content, cell) in contents.iter_mut().zip(row) {
        // Blanks at the end need no space.
        let text: String = cell.iter().map(|s| s.text.as_str()).collect();
        let cells = u16::try_from(width(text.trim_end())).unwrap_or(u16::MAX);
        *content = (*content).max(cells.min(MAX_CONTENT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doc::{Role, line};

    const COLUMNS: &[Column] = &[
        column("A", Width::Content(5), 0),
        column("B", Width::Key(10), 0),
        number("C", 8, 2),
        number("D", 8, 1),
        column("NOTE", Width::Flex(10, 3), 3),
    ];

    fn titles(contents: &[u16], cells: u16) -> String {
        let placed = place(COLUMNS, contents, cells);
        placed.iter().map(|p| COLUMNS[p.0].title).collect()
    }

    #[test]
    fn least_important_columns_are_dropped_first() {
        let full = [5, 40, 8, 8, 30];
        assert_eq!(titles(&full, 60), "ABCDNOTE");
        assert_eq!(titles(&full, 40), "ABCD");
        assert_eq!(titles(&full, 30), "ABD");
        assert_eq!(titles(&full, 20), "AB");
        assert_eq!(titles(&full, 8), "AB");
    }

    #[test]
    fn column_without_content_has_no_space() {
        assert_eq!(titles(&[5, 40, 0, 8, 0], 200), "ABD");
        assert_eq!(titles(&[0, 0, 0, 0, 0], 200), "");
        assert_eq!(titles(&[], 200), "");
    }

    #[test]
    fn short_columns_are_whole_and_the_note_takes_the_rest() {
        let of = |contents: &[u16], cells| -> Vec<u16> {
            place(COLUMNS, contents, cells)
                .iter()
                .map(|p| p.2)
                .collect()
        };
        assert_eq!(
            of(&[3, 20, 2, 0, 30], 120),
            [5, 20, 8, 120 - 5 - 20 - 8 - 6]
        );
        // Two long texts share the space; a short one is whole.
        assert_eq!(of(&[5, 90, 0, 0, 90], 107), [5, 61, 37]);
        assert_eq!(of(&[5, 90, 0, 0, 12], 107), [5, 86, 12]);
        // A long note gives cells to the gaps.
        assert_eq!(of(&[5, 12, 0, 0, 90], 107), [5, 12, 86]);
    }

    #[test]
    fn no_column_overflows_the_table() {
        for cells in 0..200 {
            for contents in [[5, 40, 8, 8, 30], [30, 90, 8, 0, 200], [1, 1, 1, 1, 1]] {
                for (_, x, w) in place(COLUMNS, &contents, cells) {
                    assert!(x + w <= cells, "{cells}");
                }
            }
        }
    }

    #[test]
    fn measured_width_is_that_of_the_longest_cell() {
        let mut contents = Vec::new();
        for texts in [["ab", "", "漢字"], ["abcd  ", "  ", "x"]] {
            measure(&mut contents, &texts.map(|t| line(Role::Plain, t)));
        }
        assert_eq!(contents, [4, 0, 4]);
    }
}
