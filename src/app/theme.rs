//! Colour themes of the console: the built-in ones, and those of the user's `themes.toml`. Plain
//! colours; `ui` maps them to what the terminal can show.

mod builtin;
mod user;

pub use builtin::builtin;
pub use user::parse;

/// Name that stands for a choice which follows the background of the terminal.
pub const FOLLOW: &str = "auto";

/// Colour in sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Parses `#rrggbb`.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|d| d.len() == 6)?;
        // `from_str_radix` would accept a sign.
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let all = u32::from_str_radix(digits, 16).ok()?;
        let [_, r, g, b] = all.to_be_bytes();
        Some(Self(r, g, b))
    }

    /// Linear light of the three channels, from 0 to 1.
    pub fn linear(self) -> [f32; 3] {
        [self.0, self.1, self.2].map(|c| {
            let c = f32::from(c) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// Relative luminance by WCAG, from 0 to 1.
    pub fn luminance(self) -> f32 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Returns true if dark text is more readable on this background than light text: the contrast
    /// with black is higher than the contrast with white.
    pub fn is_light(self) -> bool {
        self.luminance() > 0.179
    }
}

/// A value for each colour of a theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette<C> {
    pub background: C,
    pub text: C,
    /// Past and minor things.
    pub dim: C,
    /// Keys, the current tab, and running work.
    pub accent: C,
    /// Headings and names.
    pub heading: C,
    /// Success and creation.
    pub good: C,
    /// Warnings and updates.
    pub attention: C,
    /// Failures and destruction.
    pub bad: C,
    /// Background of header and footer.
    pub bar: C,
    /// Background of popups.
    pub popup: C,
    /// Background of the row under the cursor.
    pub cursor: C,
    /// Text of the row under the cursor; `None` keeps the colours of the row.
    pub cursor_text: Option<C>,
    /// Background of the row under the cursor in a pane without the focus.
    pub unfocused: C,
}

impl<C: Copy> Palette<C> {
    /// Converts each value.
    pub fn map<D>(&self, f: impl Fn(C) -> D) -> Palette<D> {
        Palette {
            background: f(self.background),
            text: f(self.text),
            dim: f(self.dim),
            accent: f(self.accent),
            heading: f(self.heading),
            good: f(self.good),
            attention: f(self.attention),
            bad: f(self.bad),
            bar: f(self.bar),
            popup: f(self.popup),
            cursor: f(self.cursor),
            cursor_text: self.cursor_text.map(&f),
            unfocused: f(self.unfocused),
        }
    }
}

/// Colours with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColorTheme {
    pub name: String,
    pub colors: Palette<Rgb>,
    /// Numbers of the terminal's 16 colours. Chosen by hand, because the nearest of so few colours
    /// is often unreadable on its background.
    pub sixteen: Palette<u8>,
}

/// Colours that a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// No colours; attributes such as reverse video only.
    None,
    Sixteen,
    Indexed,
    #[default]
    True,
}

/// Available themes and the chosen one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Themes {
    all: Vec<ColorTheme>,
    /// `None` follows the background of the terminal.
    chosen: Option<String>,
    /// The terminal has a light background.
    pub light_terminal: bool,
}

impl Default for Themes {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Themes {
    /// Creates the built-in themes and those of the user, and follows the terminal.
    pub fn new(user: Vec<ColorTheme>) -> Self {
        Self {
            all: builtin().into_iter().chain(user).collect(),
            chosen: None,
            light_terminal: false,
        }
    }

    /// All themes, in the order of the key that changes them.
    pub fn all(&self) -> &[ColorTheme] {
        &self.all
    }

    /// Name of the chosen theme; `None` if it follows the terminal.
    pub fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// Chooses a theme by its name; `None` follows the terminal. Returns false for an unknown name,
    /// which changes nothing.
    pub fn choose(&mut self, name: Option<&str>) -> bool {
        let known = name.is_none_or(|name| self.all.iter().any(|t| t.name == name));
        if known {
            self.chosen = name.map(str::to_owned);
        }
        known
    }

    /// Chooses the theme after the current one.
    pub fn choose_next(&mut self) {
        let next = (self.position(self.chosen()) + 1) % self.all.len();
        self.chosen = Some(self.all[next].name.clone());
    }

    /// Returns the theme of a choice.
    pub fn of(&self, choice: Option<&str>) -> &ColorTheme {
        &self.all[self.position(choice)]
    }

    /// Returns the current theme.
    pub fn current(&self) -> &ColorTheme {
        self.of(self.chosen())
    }

    fn position(&self, choice: Option<&str>) -> usize {
        let followed = if self.light_terminal { "light" } else { "dark" };
        let name = choice.unwrap_or(followed);
        // Names are checked before they are chosen, so the first theme is never a substitute.
        let found = self.all.iter().position(|t| t.name == name);
        found.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theme_follows_the_terminal_until_one_is_chosen() {
        let mut themes = Themes::default();
        assert_eq!(themes.current().name, "dark");
        themes.light_terminal = true;
        assert_eq!(themes.current().name, "light");
        themes.choose_next();
        assert_eq!(themes.chosen(), Some("contrast"));
        themes.light_terminal = false;
        assert_eq!(themes.current().name, "contrast");
        assert!(!themes.choose(Some("nonsense")));
        assert_eq!(themes.current().name, "contrast");
        assert!(themes.choose(None));
        assert_eq!(themes.current().name, "dark");
    }

    #[test]
    fn next_theme_reaches_every_theme() {
        let mut themes = Themes::default();
        let all: Vec<String> = themes.all().iter().map(|t| t.name.clone()).collect();
        let mut seen: Vec<String> = all
            .iter()
            .map(|_| {
                themes.choose_next();
                themes.current().name.clone()
            })
            .collect();
        seen.rotate_right(1);
        assert_eq!(seen, all);
    }

    #[test]
    fn only_six_hexadecimal_digits_are_a_color() {
        assert_eq!(Rgb::from_hex("#0a4Fff"), Some(Rgb(10, 79, 255)));
        for bad in ["", "#", "0a4fff", "#fff", "#0a4fff0", "#+a4fff", "#äöü"] {
            assert_eq!(Rgb::from_hex(bad), None, "{bad}");
        }
    }
}
