//! Styles of the roles in a theme, and the rendering without colour or in ASCII.

use super::color::nearest_indexed;
use crate::app::doc::Role;
use crate::app::state::Appearance;
use crate::app::theme::{ColorDepth, ColorTheme, Palette, Rgb};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// Theme to draw in: colours that the terminal can show.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    colors: Palette<Color>,
    has_color: bool,
}

impl Theme {
    /// Maps the colours of a theme to those of the terminal.
    pub fn of(theme: &ColorTheme, looks: Appearance) -> Self {
        let colors = match looks.depth {
            ColorDepth::None => theme.colors.map(|_| Color::Reset),
            ColorDepth::Sixteen => theme.sixteen.map(Color::Indexed),
            ColorDepth::Indexed => theme.colors.map(|c| Color::Indexed(nearest_indexed(c))),
            ColorDepth::True => theme.colors.map(|Rgb(r, g, b)| Color::Rgb(r, g, b)),
        };
        Self {
            colors,
            has_color: looks.depth != ColorDepth::None,
        }
    }

    /// Base style. Sets both colours, so that the screen is readable on any terminal.
    pub fn base_style(&self) -> Style {
        self.on(self.colors.background)
    }

    /// Style of header and footer.
    pub fn bar(&self) -> Style {
        if self.is_base(self.colors.bar) {
            return self.base_style().add_modifier(Modifier::BOLD);
        }
        self.on(self.colors.bar)
    }

    /// Base style of popups.
    pub fn popup(&self) -> Style {
        self.on(self.colors.popup)
    }

    /// Style of the row under the cursor.
    pub fn cursor(&self) -> Style {
        // Without colours, only attributes can mark the row.
        if !self.has_color {
            return Style::new().add_modifier(Modifier::REVERSED);
        }
        let style = Style::new()
            .bg(self.colors.cursor)
            .add_modifier(Modifier::BOLD);
        match self.colors.cursor_text {
            Some(text) => style.fg(text),
            None => style,
        }
    }

    /// Style of the row under the cursor in a list without the focus.
    pub fn unfocused_cursor(&self) -> Style {
        if self.is_base(self.colors.unfocused) {
            return Style::new().add_modifier(Modifier::UNDERLINED);
        }
        Style::new().bg(self.colors.unfocused)
    }

    /// Style of the rows of a range. Underlined, because the background is close to that of the
    /// screen.
    pub fn range(&self) -> Style {
        let style = Style::new().add_modifier(Modifier::UNDERLINED);
        match self.has_color {
            true => style.bg(self.colors.unfocused),
            false => style,
        }
    }

    /// Style of the screen below a popup.
    pub fn dimmed(&self) -> Style {
        match self.has_color {
            true => self.style(Role::Dim),
            false => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Style of the current tab.
    pub fn tab(&self) -> Style {
        Style::new()
            .fg(self.colors.accent)
            .add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// Style of a role. Inherits the background that the area was filled with.
    pub fn style(&self, role: Role) -> Style {
        use Role::*;
        let c = &self.colors;
        match role {
            Plain => Style::new(),
            Strong => Style::new().add_modifier(Modifier::BOLD),
            Dim | Forget => Style::new().fg(c.dim),
            Heading => Style::new().fg(c.heading).add_modifier(Modifier::BOLD),
            Key => Style::new().fg(c.accent).add_modifier(Modifier::BOLD),
            RiskyKey => Style::new().fg(c.attention).add_modifier(Modifier::BOLD),
            Busy | Read => Style::new().fg(c.accent),
            Ok | Create => Style::new().fg(c.good),
            Warn | Update => Style::new().fg(c.attention),
            Bad | Destroy => Style::new().fg(c.bad),
            Alarm => Style::new().fg(c.bad).add_modifier(Modifier::BOLD),
            Removed => self
                .style(Destroy)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Added => self
                .style(Create)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Match => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    fn on(&self, background: Color) -> Style {
        Style::new().fg(self.colors.text).bg(background)
    }

    /// Returns true if a background cannot be distinguished from that of the screen.
    fn is_base(&self, background: Color) -> bool {
        background == self.colors.background
    }
}

/// ASCII replacements of symbols; all other non-ASCII symbols become `?`.
const ASCII: &[(&str, &str)] = &[
    ("│", "|"),
    ("┃", "|"),
    ("─", "-"),
    ("━", "="),
    ("╭", "+"),
    ("╮", "+"),
    ("╰", "+"),
    ("╯", "+"),
    ("├", "+"),
    ("┤", "+"),
    ("●", "*"),
    ("○", "o"),
    ("◐", "@"),
    ("◌", "."),
    ("✓", "v"),
    ("✗", "x"),
    ("■", "#"),
    ("▸", ">"),
    ("▾", "v"),
    ("◪", "-"),
    ("→", ">"),
    ("↓", "v"),
    ("↑", "^"),
    ("↻", "r"),
    ("·", "."),
    ("…", "~"),
    ("×", "x"),
    ("▲", "^"),
    ("▼", "v"),
    ("⚠", "!"),
    ("█", "#"),
    ("▕", "|"),
    ("▏", "|"),
    ("░", "."),
    ("▎", "."),
    ("▍", "."),
    ("▌", "#"),
    ("▋", "#"),
    ("▊", "#"),
    ("▉", "#"),
    ("▁", "_"),
    ("▂", "_"),
    ("▃", "-"),
    ("▄", "-"),
    ("▅", "="),
    ("▆", "="),
    ("▇", "#"),
    ("–", "-"),
];

/// Post-processes the frame: removes colours, replaces symbols. No colour may remain in the buffer,
/// because crossterm resets reverse video with each colour that it sets.
pub fn finish(looks: Appearance, buffer: &mut Buffer) {
    let has_color = looks.depth != ColorDepth::None;
    if has_color && !looks.ascii {
        return;
    }
    for cell in &mut buffer.content {
        if !has_color {
            (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
        }
        if looks.ascii && !cell.symbol().is_ascii() {
            let symbol = cell.symbol();
            let plain = ASCII
                .iter()
                .find(|(s, _)| *s == symbol)
                .map_or("?", |(_, a)| *a);
            cell.set_symbol(plain);
        }
    }
}
