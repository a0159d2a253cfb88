//! Table that builds visible rows only: headings, adaptive widths, pinned rows, cursor.

use super::paint::Brush;
use crate::app::column::{Column, Width};
use crate::app::doc::{Line, Role};
use crate::app::list::Row;
use crate::app::text::{truncate_end, truncate_start, width};
use ratatui::layout::Rect;

/// A visible column: index, first cell, width.
type Placed = (usize, u16, u16);

/// Distributes `cells` among the columns, with a blank between two.
fn distribute_widths(columns: &[Column], cells: u16, longest_key: u16) -> Vec<Placed> {
    let least = |c: &Column| match c.width {
        Width::Fix(w) | Width::Flex(w, _) | Width::Key(w) => w,
    };
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let total = |shown: &[usize]| {
        shown
            .iter()
            .map(|i| least(&columns[*i]) + 1)
            .sum::<u16>()
            .saturating_sub(1)
    };
    // Minimum widths do not fit: leaves out columns one by one.
    while total(&shown) > cells {
        let Some(worst) = shown
            .iter()
            .copied()
            .filter(|i| columns[*i].drop > 0)
            .max_by_key(|i| columns[*i].drop)
        else {
            break;
        };
        shown.retain(|i| *i != worst);
    }
    let mut spare = u32::from(cells.saturating_sub(total(&shown)));
    let key = shown.iter().find_map(|i| {
        if let Width::Key(w) = columns[*i].width {
            Some(longest_key.saturating_sub(w))
        } else {
            None
        }
    });
    // Keys identify the rows, so they get spare width before flexible columns.
    let key = spare.min(u32::from(key.unwrap_or(0)));
    spare -= key;
    let weights: u32 = shown
        .iter()
        .map(|i| {
            if let Width::Flex(_, w) = columns[*i].width {
                u32::from(w)
            } else {
                0
            }
        })
        .sum();
    let mut x = 0;
    let mut given = 0;
    let last_flex = shown
        .iter()
        .copied()
        .rev()
        .find(|i| matches!(columns[*i].width, Width::Flex(..)));
    let mut out = Vec::with_capacity(shown.len());
    for i in shown {
        let mut w = least(&columns[i]);
        if let Width::Flex(_, weight) = columns[i].width {
            // The last flexible column gets the remainder of the division.
            let more = if Some(i) == last_flex {
                spare - given
            } else {
                spare * u32::from(weight) / weights.max(1)
            };
            given += more;
            w += u16::try_from(more).unwrap_or(0);
        } else if let Width::Key(_) = columns[i].width {
            w += u16::try_from(key).unwrap_or(0);
        }
        let w = w.min(cells.saturating_sub(x));
        out.push((i, x, w));
        x = (x + w + 1).min(cells);
    }
    out
}

/// Area of one row.
fn row_area(area: Rect, y: u16) -> Rect {
    Rect {
        y,
        height: 1,
        ..area
    }
}

/// A table to draw.
pub struct Table<'a> {
    pub columns: &'a [Column],
    pub rows: &'a [Row],
    pub index: usize,
    pub offset: usize,
    pub pinned: usize,
    pub has_keys: bool,
    /// Cells before the key in its column.
    pub indent: u16,
    /// Title of the column that sorts the rows, and true if its largest value comes first.
    pub sorted: Option<(&'a str, bool)>,
    /// First and last index of the range that commands act on.
    pub range: Option<(usize, usize)>,
    /// Lower-case text to mark.
    pub find: &'a str,
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
        let placed = self.place_columns(area);
        if head.height > 0 {
            self.headings(head, &placed, brush);
        }
        let height = usize::from(area.height);
        let pinned = self.pinned.min(self.rows.len());
        // The offset counts from the rows below the pinned ones.
        let first = pinned + self.offset;
        // Only visible rows are built, because a list may have thousands.
        let visible = (0..pinned).chain(first..self.rows.len()).take(height);
        for (line, i) in visible.enumerate() {
            let y = area.y + u16::try_from(line).unwrap_or(0);
            let row = &self.rows[i];
            if row.heading {
                brush.text(
                    area.x + 1,
                    y,
                    area.width.saturating_sub(2),
                    Role::Heading,
                    row.key.text().unwrap_or_default(),
                );
                continue;
            }
            self.cells(&cells(row), &placed, area.x, y, brush);
            if !self.find.is_empty() {
                brush.mark(area.x, y, area.width, self.find);
            }
            if self
                .range
                .is_some_and(|(first, last)| (first..=last).contains(&i))
            {
                brush.fill(row_area(area, y), brush.theme.range());
            }
            if i == self.index {
                let style = if self.has_keys {
                    brush.theme.cursor()
                } else {
                    brush.theme.unfocused_cursor()
                };
                brush.fill(row_area(area, y), style);
            }
        }
        self.scroll_mark(area, first, brush);
    }

    /// Places the columns for the longest key of all rows.
    fn place_columns(&self, area: Rect) -> Vec<Placed> {
        let keyed = self
            .columns
            .iter()
            .any(|c| matches!(c.width, Width::Key(_)));
        // Measuring all keys is costly, so only tables with a key column do it.
        let longest = if keyed {
            self.rows
                .iter()
                .filter(|r| !r.heading)
                .map(Row::label_width)
                .max()
                .unwrap_or(0)
        } else {
            0
        };
        let longest = u16::try_from(longest)
            .unwrap_or(u16::MAX)
            .saturating_add(self.indent);
        distribute_widths(self.columns, area.width.saturating_sub(2), longest)
    }

    fn headings(&self, head: Rect, placed: &[Placed], brush: &mut Brush<'_>) {
        for (i, x, w) in placed {
            let c = &self.columns[*i];
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
        for (i, x, w) in placed {
            if let Some(cell) = made.get(*i) {
                let used: usize = cell.iter().map(|s| width(&s.text)).sum();
                if let (Width::Key(_), [only]) = (self.columns[*i].width, cell.as_slice())
                    // The end of an address is its most specific part, so its start is cut.
                    && used > usize::from(*w)
                {
                    brush.text(
                        left + 1 + x,
                        y,
                        *w,
                        only.role,
                        &truncate_start(&only.text, usize::from(*w)),
                    );
                    continue;
                }
                let pad = if self.columns[*i].right {
                    w.saturating_sub(u16::try_from(used).unwrap_or(u16::MAX))
                } else {
                    0
                };
                brush.line(left + 1 + x + pad, y, w - pad, cell, false);
            }
        }
    }

    /// Draws the scroll position at the right edge if not all rows are visible.
    fn scroll_mark(&self, area: Rect, first: usize, brush: &mut Brush<'_>) {
        let (height, all) = (usize::from(area.height), self.rows.len());
        if all <= height || height < 3 {
            return;
        }
        // The mark moves over `height` lines, so its last position is `height - 1`.
        let room = height - 1;
        let at = (first * room / (all - height).max(1)).min(room);
        brush.text(
            area.right().saturating_sub(1),
            area.y + u16::try_from(at).unwrap_or(0),
            1,
            Role::Dim,
            "┃",
        );
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::column::{column, number};

    const COLUMNS: &[Column] = &[
        column("A", Width::Fix(5), 0),
        column("B", Width::Flex(10, 1), 0),
        number("C", 8, 2),
        number("D", 8, 1),
    ];

    #[test]
    fn heading_of_the_sorted_column_has_a_mark() {
        assert_eq!(heading("ACTION", 8, Some(false)), "ACTION ▲");
        assert_eq!(heading("ACTION", 7, Some(true)), "ACTION▼");
        assert_eq!(heading("CALLS", 5, Some(false)), "CALL▲");
        assert_eq!(heading("ACTION", 8, None), "ACTION");
        assert_eq!(heading("ACTION", 4, None), "ACT…");
    }

    #[test]
    fn least_important_columns_are_dropped_first() {
        let names = |cells| {
            distribute_widths(COLUMNS, cells, 0)
                .iter()
                .map(|p| COLUMNS[p.0].title)
                .collect::<String>()
        };
        assert_eq!(names(60), "ABCD");
        assert_eq!(names(30), "ABD");
        assert_eq!(names(20), "AB");
        assert_eq!(names(8), "AB");
    }

    #[test]
    fn flexible_column_takes_the_remaining_width_and_no_column_overflows() {
        for cells in 0..200 {
            for (_, x, w) in distribute_widths(COLUMNS, cells, 0) {
                assert!(x + w <= cells, "{cells}");
            }
        }
        assert_eq!(
            distribute_widths(COLUMNS, 100, 0)[1].2,
            10 + 100 - 5 - 10 - 8 - 8 - 3
        );
    }
}
