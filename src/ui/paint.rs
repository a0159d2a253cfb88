//! Draws text with roles into a buffer, cell by cell. All other modules of `ui` draw with it.

use super::theme::Theme;
use crate::app::doc::{Line, Role, fit_line};
use crate::app::text::{contains, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;

/// A buffer with the theme to draw in.
pub struct Brush<'a> {
    pub buffer: &'a mut Buffer,
    pub theme: &'a Theme,
}

/// Symbol of a border; heavy if the pane has the focus.
pub fn border_symbol(heavy: bool, vertical: bool) -> &'static str {
    match (heavy, vertical) {
        (false, true) => "│",
        (true, true) => "┃",
        (false, false) => "─",
        (true, false) => "━",
    }
}

impl Brush<'_> {
    /// Applies a style to an area.
    pub fn fill(&mut self, area: Rect, style: Style) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, style);
    }

    /// Dims the screen below a popup, so that cut texts beside it do not look like its content.
    pub fn fade(&mut self, area: Rect) {
        let emphasis = Modifier::BOLD | Modifier::UNDERLINED;
        let style = self.theme.dimmed().remove_modifier(emphasis);
        self.fill(area, style);
    }

    /// Gives a row the style of the cursor. Dim text becomes plain, so that the background leaves
    /// it readable.
    pub fn cursor(&mut self, area: Rect, style: Style) {
        let area = area.intersection(self.buffer.area);
        let dim = self.theme.style(Role::Dim).fg;
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position)
                && Some(cell.fg) == dim
            {
                cell.fg = self.theme.base_style().fg.unwrap_or_default();
            }
        }
        self.fill(area, style);
    }

    /// Clears an area, for a popup or a title.
    pub fn clear(&mut self, area: Rect, style: Style) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            // The second half of a wide character would cover the first cell of the area.
            if let Some(before) = area.x.checked_sub(1)
                && let Some(cell) = self.buffer.cell_mut((before, y))
                && width(cell.symbol()) > 1
            {
                cell.set_symbol(" ");
            }
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(style);
                }
            }
        }
    }

    fn inside(&self, x: u16, y: u16) -> bool {
        let a = self.buffer.area;
        x < a.right() && y < a.bottom()
    }

    /// Draws text of one role, cut to `cells`. Returns the number of cells used.
    pub fn text(&mut self, x: u16, y: u16, cells: u16, role: Role, text: &str) -> u16 {
        let style = self.theme.style(role);
        self.styled(x, y, cells, style, text)
    }

    /// Draws text of one style, cut to `cells` with `…`. Returns the number of cells used. The text
    /// must be escaped already.
    pub fn styled(&mut self, x: u16, y: u16, cells: u16, style: Style, text: &str) -> u16 {
        if cells == 0 || !self.inside(x, y) {
            return 0;
        }
        let text = crate::app::text::truncate_end(text, usize::from(cells));
        let (end, _) = self
            .buffer
            .set_stringn(x, y, &text, usize::from(cells), style);
        end - x
    }

    /// Draws a line with several roles, shortened to `cells`. A selected line keeps its colours on
    /// the cursor's background.
    pub fn line(&mut self, x: u16, y: u16, cells: u16, line: &Line, selected: bool) -> u16 {
        let mut at = 0;
        for s in &fit_line(line.clone(), usize::from(cells)) {
            at += self.text(x + at, y, cells - at, s.role, &s.text);
        }
        if selected {
            let style = self.theme.cursor();
            self.cursor(
                Rect {
                    x,
                    y,
                    width: cells,
                    height: 1,
                },
                style,
            );
        }
        at
    }

    /// Marks each occurrence of a lower-case text in a drawn line.
    pub fn mark(&mut self, x: u16, y: u16, cells: u16, needle: &str) {
        let mut drawn: Vec<(u16, String)> = Vec::new();
        let mut at = x;
        while at < x + cells && self.inside(at, y) {
            // Reads the drawn cells, so that matches across pieces of different roles are found.
            let symbol = self
                .buffer
                .cell((at, y))
                .map_or(" ", |c| c.symbol())
                .to_owned();
            let w = u16::try_from(width(&symbol).max(1)).unwrap_or(1);
            drawn.push((at, symbol));
            at += w;
        }
        let line: String = drawn.iter().map(|(_, s)| s.as_str()).collect();
        if !contains(&line, needle) {
            return;
        }
        let n = needle.graphemes(true).count();
        let style = self.theme.style(Role::Match);
        // By cell, because characters and cells differ in number.
        for start in 0..drawn.len().saturating_sub(n - 1) {
            let here: String = drawn[start..start + n]
                .iter()
                .map(|(_, s)| s.to_lowercase())
                .collect();
            if here == needle {
                let from = drawn[start].0;
                let to = drawn.get(start + n).map_or(at, |d| d.0);
                self.fill(
                    Rect {
                        x: from,
                        y,
                        width: to - from,
                        height: 1,
                    },
                    style,
                );
            }
        }
    }

    /// Draws a box with a title.
    pub fn frame(&mut self, area: Rect, role: Role, title: &str) {
        if area.width < 2 || area.height < 2 {
            return;
        }
        let across = "─".repeat(usize::from(area.width) - 2);
        self.text(area.x, area.y, area.width, role, &format!("╭{across}╮"));
        self.text(
            area.x,
            area.bottom() - 1,
            area.width,
            role,
            &format!("╰{across}╯"),
        );
        for y in area.y + 1..area.bottom() - 1 {
            self.text(area.x, y, 1, role, "│");
            self.text(area.right() - 1, y, 1, role, "│");
        }
        if !title.is_empty() {
            self.text(
                area.x + 2,
                area.y,
                area.width.saturating_sub(4),
                Role::Heading,
                &format!(" {title} "),
            );
        }
    }
}
