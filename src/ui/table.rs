//! Table that builds visible rows only: headings, adaptive widths, pinned rows, cursor.

use super::paint::Brush;
use crate::app::address::shorten_addresses;
use crate::app::column::{Column, Placed, Width};
use crate::app::doc::{Fit, LEVELS, Line, Role, cells_of, omittable, span};
use crate::app::list::{HEADING_NOTE, Row};
use crate::app::text::{truncate_end, width};
use ratatui::layout::Rect;

/// A table to draw.
pub struct Table<'a> {
    pub columns: &'a [Column],
    /// Visible columns.
    pub placed: Vec<Placed>,
    pub rows: &'a [Row],
    pub index: usize,
    pub offset: usize,
    pub pinned: usize,
    pub has_keys: bool,
    /// Title of the column that sorts the rows, and true if its largest value comes first.
    pub sorted: Option<(&'a str, bool)>,
    /// First and last index of the range that commands act on.
    pub range: Option<(usize, usize)>,
    /// Lower-case text to mark.
    pub find: &'a str,
    /// Heading of the last column instead of its title.
    pub last_heading: Option<Line>,
}

impl Table<'_> {
    /// Draws the headings and the visible rows. `cells` builds the cells of a row.
    pub fn draw(
        &self,
        head: Rect,
        area: Rect,
        brush: &mut Brush<'_>,
        cells: impl Fn(&Row) -> Vec<Line>,
    ) {
        let placed = &self.placed;
        if head.height > 0 {
            self.headings(head, placed, brush);
        }
        let height = usize::from(area.height);
        let pinned = self.pinned.min(self.rows.len());
        // The offset counts from the rows below the pinned ones.
        let first = pinned + self.offset;
        // Only visible rows are built, because a list may have thousands.
        let visible: Vec<usize> = (0..pinned)
            .chain(first..self.rows.len())
            .take(height)
            .collect();
        let mut built: Vec<Vec<Line>> = visible
            .iter()
            .map(|i| match &self.rows[*i] {
                row if row.heading => Vec::new(),
                row => cells(row),
            })
            .collect();
        self.shorten_keys(&mut built, placed);
        let heading = self.hidden_heading(first);
        for ((y, i), cells) in (area.y..).zip(visible).zip(&built) {
            // The heading of the first scrolled rows takes the place of one of them.
            let i = heading.filter(|_| i == first).unwrap_or(i);
            self.row(
                i,
                cells,
                placed,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                brush,
            );
        }
        let pinned = u16::try_from(pinned)
            .unwrap_or(area.height)
            .min(area.height);
        let scrolled = Rect {
            y: area.y + pinned,
            height: area.height - pinned,
            ..area
        };
        let rows = self.rows.len() - self.pinned.min(self.rows.len());
        scroll_mark(scrolled, self.offset, rows, brush);
    }

    /// Heading of the rows around the first scrolled one, unless it is visible. The cursor is never
    /// covered.
    fn hidden_heading(&self, first: usize) -> Option<usize> {
        let is_covered = self.rows.get(first).is_some_and(|row| !row.heading);
        let above = (first - self.offset..first).rev();
        let mut headings = above.filter(|i| self.rows[*i].heading);
        headings
            .next()
            .filter(|_| is_covered && first != self.index)
    }

    /// Draws a row, its matches and the cursor.
    fn row(&self, i: usize, cells: &[Line], placed: &[Placed], area: Rect, brush: &mut Brush<'_>) {
        let row = &self.rows[i];
        if row.heading {
            let text = row.key.text().unwrap_or_default();
            let right = area.width.saturating_sub(2);
            let (text, note) = text.split_once(HEADING_NOTE).unwrap_or((text, ""));
            let used = brush.text(area.x + 1, area.y, right, Role::Heading, text);
            // The note belongs to the last column, above the cells of which it stands. A text that
            // is too long for it begins beside the heading.
            if let Some((_, x, cells)) = placed.last().filter(|(_, x, _)| *x > used) {
                let long = width(note) > usize::from(*cells);
                let x = if long { used + 3 } else { *x };
                let cells = right.saturating_sub(x);
                let bars = note.find(|c| !LEVELS.concat().contains(c));
                let (bars, text) = note.split_at(bars.unwrap_or(note.len()));
                let l = match bars {
                    "" => vec![span(Role::Dim, text)],
                    bars => vec![omittable(Role::Busy, bars), omittable(Role::Dim, text)],
                };
                brush.line(area.x + 1 + x, area.y, cells, &l, false);
            }
            return;
        }
        match cells {
            // It extends over all columns, and over the rest of the line.
            [one] if self.columns.len() > 1 => {
                let width = area.width.saturating_sub(2);
                brush.line(area.x + 1, area.y, width, one, false);
            }
            cells => self.cells(cells, placed, area.x, area.y, brush),
        }
        if !self.find.is_empty() {
            brush.mark(area.x, area.y, area.width, self.find);
        }
        if self
            .range
            .is_some_and(|(first, last)| (first..=last).contains(&i))
        {
            brush.fill(area, brush.theme.range());
        }
        if i == self.index {
            let style = if self.has_keys {
                brush.theme.cursor()
            } else {
                brush.theme.unfocused_cursor()
            };
            brush.cursor(area, style);
        }
    }

    /// Shortens the addresses in the columns of keys together, so that they stay different.
    fn shorten_keys(&self, rows: &mut [Vec<Line>], placed: &[Placed]) {
        for (at, (column, ..)) in placed.iter().enumerate() {
            if !matches!(self.columns[*column].width, Width::Key(_)) {
                continue;
            }
            // Space of the address in its cell, without the texts around it.
            let room = |row: &[Line]| {
                let cell = row.get(*column)?;
                let span = cell.iter().position(|s| s.fit == Fit::Shorten);
                let span = span.or(cell.len().checked_sub(1))?;
                let other = cells_of(cell) - width(&cell[span].text);
                let room = usize::from(room(row, placed, at)).saturating_sub(other);
                Some((span, room))
            };
            let spans: Vec<(usize, usize, usize)> = rows
                .iter()
                .enumerate()
                .filter_map(|(i, row)| room(row).map(|(span, room)| (i, span, room)))
                .collect();
            let all: Vec<(&str, usize)> = spans
                .iter()
                .map(|(i, span, room)| (rows[*i][*column][*span].text.as_str(), *room))
                .collect();
            let short = shorten_addresses(&all);
            for ((i, span, _), text) in spans.into_iter().zip(short) {
                rows[i][*column][span].text = text;
            }
        }
    }

    fn headings(&self, head: Rect, placed: &[Placed], brush: &mut Brush<'_>) {
        for (i, x, w) in placed {
            let c = &self.columns[*i];
            // Bars that do not fit are left out, and so are the times above them.
            if let Some(heading) = &self.last_heading
                && i + 1 == self.columns.len()
                && cells_of(heading) <= usize::from(*w)
            {
                brush.line(head.x + 1 + x, head.y, *w, heading, false);
                continue;
            }
            let sorted = self.sorted.filter(|(title, _)| *title == c.title);
            let title = heading(c.title, usize::from(*w), sorted.map(|(_, down)| down));
            let pad = if c.right {
                w - u16::try_from(width(&title)).unwrap_or(0).min(*w)
            } else {
                0
            };
            brush.text(head.x + 1 + x + pad, head.y, *w, Role::Dim, &title);
        }
    }

    /// Draws the cells of a row.
    fn cells(&self, made: &[Line], placed: &[Placed], left: u16, y: u16, brush: &mut Brush<'_>) {
        for (at, (i, x, _)) in placed.iter().enumerate() {
            let Some(cell) = made.get(*i) else { continue };
            let w = room(made, placed, at);
            let pad = if self.columns[*i].right {
                w.saturating_sub(u16::try_from(cells_of(cell)).unwrap_or(u16::MAX))
            } else {
                0
            };
            brush.line(left + 1 + x + pad, y, w - pad, cell, false);
        }
    }
}

/// Draws the scroll position at the right edge of scrolled rows if not all are visible. Its length
/// is the visible share.
pub(super) fn scroll_mark(area: Rect, offset: usize, all: usize, brush: &mut Brush<'_>) {
    let height = usize::from(area.height);
    if all <= height || height < 3 {
        return;
    }
    let (from, length) = thumb(offset, height, all);
    for (line, y) in (area.top()..area.bottom()).enumerate() {
        let mark = match (from..from + length).contains(&line) {
            true => "┃",
            false => "│",
        };
        brush.text(area.right().saturating_sub(1), y, 1, Role::Dim, mark);
    }
}

/// Returns the first line and the length of the scroll mark, for `height` of `all` rows from
/// `offset` on.
fn thumb(offset: usize, height: usize, all: usize) -> (usize, usize) {
    let length = (height * height / all).clamp(1, height);
    let last = all.saturating_sub(height).max(1);
    (offset.min(last) * (height - length) / last, length)
}

/// Title of a column with the mark of the sort order, which a narrow column shows in any case.
fn heading(title: &str, cells: usize, sorted: Option<bool>) -> String {
    let Some(down) = sorted else {
        return truncate_end(title, cells).into_owned();
    };
    let mark = if down { "▼" } else { "▲" };
    let gap = if cells > width(title) + 1 { " " } else { "" };
    // Without an ellipsis, which would take another letter.
    let mut title = title.to_owned();
    while width(&title) + 1 > cells && title.pop().is_some() {}
    format!("{title}{gap}{mark}")
}

/// Space of a cell: its column, and the columns after it as long as the row has no text there and
/// the cell needs more.
fn room(row: &[Line], placed: &[Placed], at: usize) -> u16 {
    let (column, x, w) = placed[at];
    let needed = row.get(column).map_or(0, cells_of);
    let blank = |column: usize| row.get(column).is_none_or(|l| cells_of(l) == 0);
    let mut w = w;
    for (next, next_x, next_w) in &placed[at + 1..] {
        if usize::from(w) >= needed || !blank(*next) {
            break;
        }
        w = next_x + next_w - x;
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doc::line;

    #[test]
    fn heading_of_the_sorted_column_has_a_mark() {
        assert_eq!(heading("ACTION", 8, Some(false)), "ACTION ▲");
        assert_eq!(heading("ACTION", 7, Some(true)), "ACTION▼");
        assert_eq!(heading("CALLS", 5, Some(false)), "CALL▲");
        assert_eq!(heading("ACTION", 8, None), "ACTION");
        assert_eq!(heading("ACTION", 4, None), "ACT…");
    }

    #[test]
    fn scroll_mark_begins_at_the_top_and_ends_at_the_bottom() {
        for (height, all) in [(10, 20), (3, 4), (17, 3_000)] {
            let (from, length) = thumb(0, height, all);
            assert_eq!(from, 0, "{height} of {all}");
            assert!(
                length >= 1 && length < height,
                "{height} of {all}: {length}"
            );
            let (from, length) = thumb(all - height, height, all);
            assert_eq!(from + length, height, "{height} of {all}");
        }
        assert_eq!(thumb(5, 10, 20), (2, 5));
    }

    #[test]
    fn long_cell_extends_over_blank_cells_of_its_row() {
        let placed = [(0, 0, 4), (1, 5, 6), (2, 12, 8)];
        let row = |texts: [&str; 3]| texts.map(|t| line(Role::Plain, t));
        for (texts, expected) in [
            (["address", "", ""], 11),
            (["a long address", "", ""], 20),
            (["address", "x", ""], 4),
            (["abcd", "", ""], 4),
        ] {
            assert_eq!(room(&row(texts), &placed, 0), expected, "{texts:?}");
        }
    }
}
