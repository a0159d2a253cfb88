//! Themes of the user: a table for each theme in `themes.toml`, with a built-in theme as its base.

use super::{ColorTheme, FOLLOW, Palette, Rgb, builtin};
use toml::{Table, Value};

/// Names of the colours in a theme's table.
const COLORS: [&str; 13] = [
    "background",
    "text",
    "dim",
    "accent",
    "heading",
    "good",
    "attention",
    "bad",
    "bar",
    "popup",
    "cursor",
    "cursor-text",
    "unfocused",
];

/// Parses the themes of a file. Returns the valid ones, and one message for each invalid one.
/// `file` is the path in messages.
pub fn parse(file: &str, text: &str) -> (Vec<ColorTheme>, Vec<String>) {
    let tables: Table = match toml::from_str(text) {
        Ok(tables) => tables,
        Err(e) => {
            let before = e.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |t| t.matches('\n').count() + 1);
            return (Vec::new(), vec![format!("{file}:{line}: {}", e.message())]);
        }
    };
    let (mut themes, mut problems) = (Vec::new(), Vec::new());
    for (name, value) in &tables {
        match theme(name, value) {
            Ok(theme) => themes.push(theme),
            Err(why) => problems.push(format!("{file}: {why}")),
        }
    }
    (themes, problems)
}

fn theme(name: &str, value: &Value) -> Result<ColorTheme, String> {
    let builtin = builtin();
    let names = || {
        let all: Vec<&str> = builtin.iter().map(|t| t.name.as_str()).collect();
        all.join(", ")
    };
    if name == FOLLOW || builtin.iter().any(|t| t.name == name) {
        return Err(format!("{name}: this name is built in; choose another"));
    }
    let Value::Table(table) = value else {
        return Err(format!(
            "{name}: a theme is a table; write [{name}] and its colours below"
        ));
    };
    let base = match table.get("base") {
        None => &builtin[0],
        Some(base) => builtin
            .iter()
            .find(|t| base.as_str() == Some(&t.name))
            .ok_or_else(|| format!("{name}.base: not {base}; allowed are {}", names()))?,
    };
    let mut colors = base.colors;
    for (key, value) in table.iter().filter(|(key, _)| *key != "base") {
        let Some(slot) = color(&mut colors, key) else {
            return Err(format!(
                "{name}.{key}: unknown colour; allowed are base, {}",
                COLORS.join(", ")
            ));
        };
        let parsed = value.as_str().and_then(Rgb::from_hex);
        *slot = parsed.ok_or_else(|| {
            format!("{name}.{key}: {value} is no colour; write \"#rrggbb\", such as \"#6cb6ff\"")
        })?;
    }
    Ok(ColorTheme {
        name: name.to_owned(),
        colors,
        sixteen: base.sixteen,
    })
}

/// Returns the colour with this name in the table.
fn color<'p>(colors: &'p mut Palette<Rgb>, key: &str) -> Option<&'p mut Rgb> {
    Some(match key {
        "background" => &mut colors.background,
        "text" => &mut colors.text,
        "dim" => &mut colors.dim,
        "accent" => &mut colors.accent,
        "heading" => &mut colors.heading,
        "good" => &mut colors.good,
        "attention" => &mut colors.attention,
        "bad" => &mut colors.bad,
        "bar" => &mut colors.bar,
        "popup" => &mut colors.popup,
        "cursor" => &mut colors.cursor,
        "cursor-text" => colors.cursor_text.get_or_insert(colors.text),
        "unfocused" => &mut colors.unfocused,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theme_replaces_colors_of_its_base() {
        let text =
            "[sea]\nbase = \"light\"\naccent = \"#006d77\"\n[night]\ncursor-text = \"#000000\"\n";
        let (themes, problems) = parse("themes.toml", text);
        assert_eq!(problems, Vec::<String>::new());
        let builtin = builtin();
        assert_eq!(themes[0].name, "night");
        assert_eq!(themes[0].colors.cursor_text, Some(Rgb(0, 0, 0)));
        assert_eq!(themes[0].colors.background, builtin[0].colors.background);
        assert_eq!(themes[1].colors.accent, Rgb(0, 0x6d, 0x77));
        assert_eq!(themes[1].colors.text, builtin[1].colors.text);
        assert_eq!(themes[1].sixteen, builtin[1].sixteen);
    }

    #[test]
    fn invalid_theme_is_reported_with_file_key_and_allowed_values_and_the_rest_is_used() {
        let text = "dark = {}\nflat = 1\n[good]\n[sea]\nbase = \"ocean\"\n[sky]\nacent = \"#ffffff\"\n[sun]\naccent = \"yellow\"\n";
        let (themes, problems) = parse("/c/themes.toml", text);
        let names: Vec<&str> = themes.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["good"]);
        assert_eq!(
            problems,
            [
                "/c/themes.toml: dark: this name is built in; choose another",
                "/c/themes.toml: flat: a theme is a table; write [flat] and its colours below",
                "/c/themes.toml: sea.base: not \"ocean\"; allowed are dark, light, contrast, colorblind-dark, colorblind-light",
                "/c/themes.toml: sky.acent: unknown colour; allowed are base, background, text, dim, accent, heading, good, attention, bad, bar, popup, cursor, cursor-text, unfocused",
                "/c/themes.toml: sun.accent: \"yellow\" is no colour; write \"#rrggbb\", such as \"#6cb6ff\"",
            ]
        );
    }

    #[test]
    fn example_of_the_repository_is_valid() {
        let text = include_str!("../../../assets/themes.toml");
        let (themes, problems) = parse("assets/themes.toml", text);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(themes.len(), 2);
    }

    #[test]
    fn syntax_error_is_reported_with_its_line() {
        let (themes, problems) = parse("themes.toml", "[sea]\naccent = \n");
        assert!(themes.is_empty());
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("themes.toml:2: "), "{problems:?}");
    }

    #[test]
    fn each_named_color_is_accepted() {
        let mut colors = builtin()[0].colors;
        for name in COLORS {
            assert!(color(&mut colors, name).is_some(), "{name}");
        }
    }
}
