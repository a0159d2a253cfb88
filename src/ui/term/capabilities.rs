//! Capabilities of a terminal, from its environment variables.

use crate::app::theme::ColorDepth;

/// Terminal types with true colour. SSH passes on the type, but drops `COLORTERM`.
const TRUE_COLOR: [&str; 7] = [
    "alacritty",
    "contour",
    "foot",
    "ghostty",
    "wezterm",
    "xterm-ghostty",
    "xterm-kitty",
];

/// Capabilities of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    pub depth: ColorDepth,
    pub question: Question,
}

/// Question for the background of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Question {
    /// Not asked.
    #[default]
    None,
    /// Asked; the first frame does not wait for the answer.
    Asked,
    /// Asked, and awaited with a deadline.
    Awaited,
}

impl Capabilities {
    /// Reads the capabilities from `TERM`, `COLORTERM` and `TMUX`. A terminal is asked if it
    /// answers, or ignores the question.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let true_color = variable("COLORTERM").is_some_and(|v| v == "truecolor" || v == "24bit");
        // tmux may have the name of GNU screen in TERM, but knows more than that.
        let is_screen = term.starts_with("screen") && variable("TMUX").is_none();
        // GNU screen answers out of order, the others may print the question.
        let question = match is_screen || is_basic(&term) {
            true => Question::None,
            false => Question::Awaited,
        };
        Self {
            depth: depth(&term, true_color && !is_screen),
            question,
        }
    }
}

/// Consoles and terminal types without colour schemes.
fn is_basic(term: &str) -> bool {
    matches!(term, "" | "linux" | "ansi" | "cons25" | "dumb" | "sun")
        || term.starts_with("vt")
        || term.starts_with("eterm")
}

fn depth(term: &str, true_color: bool) -> ColorDepth {
    // A terminal type with a number of colours has exactly these, even if COLORTERM, which programs
    // inherit, promises more.
    let has_few = ["-8color", "-16color", "-88color"]
        .iter()
        .any(|end| term.ends_with(end));
    if term.starts_with("vt") || term.ends_with("-mono") || term.ends_with("-m") {
        return ColorDepth::None;
    }
    if has_few || is_basic(term) {
        return ColorDepth::Sixteen;
    }
    let is_known = TRUE_COLOR.iter().any(|name| {
        term.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    if true_color || is_known || term.ends_with("-direct") {
        ColorDepth::True
    } else if term.contains("256color") {
        ColorDepth::Indexed
    } else {
        ColorDepth::Sixteen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_answers_follow_from_the_terminal_type() {
        use ColorDepth::*;
        let table = [
            // TERM, COLORTERM, TMUX: colours, asked for the background
            ("xterm-256color", "truecolor", "", True, true),
            ("xterm-256color", "24bit", "", True, true),
            ("xterm-256color", "", "", Indexed, true),
            ("xterm-256color", "yes", "", Indexed, true),
            ("xterm-16color", "", "", Sixteen, true),
            ("xterm-16color", "truecolor", "", Sixteen, true),
            ("rxvt-88color", "", "", Sixteen, true),
            ("xterm", "", "", Sixteen, true),
            ("xterm", "truecolor", "", True, true),
            ("xterm-direct", "", "", True, true),
            ("xterm-kitty", "", "", True, true),
            ("alacritty", "", "", True, true),
            ("foot-extra", "", "", True, true),
            ("footnote", "", "", Sixteen, true),
            ("tmux-256color", "", "/tmp/tmux", Indexed, true),
            ("screen", "truecolor", "/tmp/tmux", True, true),
            ("screen-256color", "", "/tmp/tmux", Indexed, true),
            ("screen", "", "", Sixteen, false),
            ("screen", "truecolor", "", Sixteen, false),
            ("screen-256color", "truecolor", "", Indexed, false),
            ("screen.xterm-256color", "", "", Indexed, false),
            ("linux", "", "", Sixteen, false),
            ("linux", "truecolor", "", Sixteen, false),
            ("vt220", "", "", None, false),
            ("xterm-mono", "", "", None, true),
            ("eterm-color", "", "", Sixteen, false),
            ("", "", "", Sixteen, false),
        ];
        for (term, colorterm, tmux, depth, answers) in table {
            let found = Capabilities::of(|name| {
                let value = match name {
                    "TERM" => term,
                    "COLORTERM" => colorterm,
                    "TMUX" => tmux,
                    _ => "",
                };
                Some(value.to_owned()).filter(|v| !v.is_empty())
            });
            let asked = found.question == Question::Awaited;
            assert_eq!((found.depth, asked), (depth, answers), "{term} {colorterm}");
        }
    }
}
