//! Colours of the roles in three themes, and the rendering without colour or in ASCII.

use crate::app::doc::Role;
use crate::app::state::{Appearance, ThemeName};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// Theme to draw in.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    appearance: Appearance,
}

impl Theme {
    /// Creates the theme of these looks.
    pub fn of(looks: Appearance) -> Self {
        Self { appearance: looks }
    }

    /// Base style: the terminal's own colours, except for high contrast.
    pub fn base_style(&self) -> Style {
        match self.appearance.theme {
            ThemeName::Contrast => Style::new().fg(Color::White).bg(Color::Black),
            ThemeName::Dark | ThemeName::Light => Style::new(),
        }
    }

    /// Style of header and footer.
    pub fn bar(&self) -> Style {
        match self.appearance.theme {
            ThemeName::Dark => Style::new().bg(Color::Indexed(236)),
            ThemeName::Light => Style::new().bg(Color::Indexed(254)),
            ThemeName::Contrast => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// Base style of popups.
    pub fn popup(&self) -> Style {
        match self.appearance.theme {
            ThemeName::Dark => Style::new().bg(Color::Indexed(235)),
            ThemeName::Light => Style::new().bg(Color::Indexed(255)),
            ThemeName::Contrast => Style::new().fg(Color::White).bg(Color::Black),
        }
    }

    /// Style of the row under the cursor.
    pub fn cursor(&self) -> Style {
        // Without colours, only attributes can mark the row.
        if !self.appearance.color {
            return Style::new().add_modifier(Modifier::REVERSED);
        }
        match self.appearance.theme {
            ThemeName::Dark => Style::new()
                .bg(Color::Indexed(238))
                .add_modifier(Modifier::BOLD),
            ThemeName::Light => Style::new()
                .bg(Color::Indexed(252))
                .add_modifier(Modifier::BOLD),
            ThemeName::Contrast => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
        }
    }

    /// Style of the row under the cursor in a list without the focus.
    pub fn unfocused_cursor(&self) -> Style {
        if !self.appearance.color {
            return Style::new().add_modifier(Modifier::UNDERLINED);
        }
        match self.appearance.theme {
            ThemeName::Dark => Style::new().bg(Color::Indexed(236)),
            ThemeName::Light => Style::new().bg(Color::Indexed(254)),
            ThemeName::Contrast => Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD),
        }
    }

    /// Style of the rows of a range.
    pub fn range(&self) -> Style {
        if !self.appearance.color {
            return Style::new().add_modifier(Modifier::UNDERLINED);
        }
        match self.appearance.theme {
            ThemeName::Dark => Style::new().bg(Color::Indexed(24)),
            ThemeName::Light => Style::new().bg(Color::Indexed(153)),
            ThemeName::Contrast => Style::new().add_modifier(Modifier::UNDERLINED),
        }
    }

    /// Style of the current tab.
    pub fn tab(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// Style of a role.
    pub fn style(&self, role: Role) -> Style {
        use Role::*;
        let light = self.appearance.theme == ThemeName::Light;
        let contrast = self.appearance.theme == ThemeName::Contrast;
        let fg = |dark: Color, on_light: Color, high: Color| {
            Style::new().fg(if light {
                on_light
            } else if contrast {
                high
            } else {
                dark
            })
        };
        match role {
            // Inherits the style that the area was filled with.
            Plain => Style::new(),
            Dim => fg(Color::Indexed(245), Color::Indexed(242), Color::White),
            Strong => Style::new().add_modifier(Modifier::BOLD),
            Heading => fg(Color::Indexed(110), Color::Indexed(25), Color::LightCyan)
                .add_modifier(Modifier::BOLD),
            Ok | Create => fg(Color::Indexed(114), Color::Indexed(28), Color::LightGreen),
            Busy => fg(Color::Indexed(117), Color::Indexed(31), Color::LightCyan),
            Warn | Update => fg(Color::Indexed(179), Color::Indexed(130), Color::LightYellow),
            Bad | Destroy => fg(Color::Indexed(203), Color::Indexed(160), Color::LightRed),
            Removed => self
                .style(Destroy)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Added => self
                .style(Create)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Read => fg(Color::Indexed(80), Color::Indexed(30), Color::LightCyan),
            Forget => fg(Color::Indexed(245), Color::Indexed(242), Color::White),
            Key => fg(Color::Indexed(222), Color::Indexed(94), Color::LightYellow)
                .add_modifier(Modifier::BOLD),
            Match => Style::new().add_modifier(Modifier::REVERSED),
        }
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
    if looks.color && !looks.ascii {
        return;
    }
    for cell in &mut buffer.content {
        if !looks.color {
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
