//! Tests of the themes: contrast, colour-blind safety, and colours of whole frames.

use super::{Console, fixture};
use crate::app::choices::Choices;
use crate::app::doc::Role;
use crate::app::key::Input;
use crate::app::msg::{Answer, Effect, Msg};
use crate::app::state::Appearance;
use crate::app::theme::{ColorDepth, ColorTheme, Rgb, builtin};
use crate::ui::Theme;
use crate::ui::color::{distance, indexed, oklab};
use ratatui::style::{Color, Modifier, Style};

const ROLES: [Role; 17] = [
    Role::Plain,
    Role::Dim,
    Role::Strong,
    Role::Heading,
    Role::Ok,
    Role::Busy,
    Role::Warn,
    Role::Bad,
    Role::Create,
    Role::Update,
    Role::Destroy,
    Role::Read,
    Role::Forget,
    Role::Key,
    Role::Match,
    Role::Removed,
    Role::Added,
];

/// The 16 colours of xterm.
const XTERM: [u32; 16] = [
    0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5,
    0x7f_7f7f, 0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
];
/// The 16 colours of VGA, which consoles have.
const VGA: [u32; 16] = [
    0x00_0000, 0xaa_0000, 0x00_aa00, 0xaa_5500, 0x00_00aa, 0xaa_00aa, 0x00_aaaa, 0xaa_aaaa,
    0x55_5555, 0xff_5555, 0x55_ff55, 0xff_ff55, 0x55_55ff, 0xff_55ff, 0x55_ffff, 0xff_ffff,
];

fn shown(color: Option<Color>, sixteen: &[u32; 16]) -> Rgb {
    match color {
        Some(Color::Rgb(r, g, b)) => Rgb(r, g, b),
        Some(Color::Indexed(i @ 0..16)) => {
            let [_, r, g, b] = sixteen[usize::from(i)].to_be_bytes();
            Rgb(r, g, b)
        }
        Some(Color::Indexed(i)) => indexed(i),
        other => panic!("the style leaves the colour {other:?} to the terminal"),
    }
}

/// Contrast by WCAG.
fn contrast(style: Style, sixteen: &[u32; 16]) -> f32 {
    let a = shown(style.fg, sixteen).luminance() + 0.05;
    let b = shown(style.bg, sixteen).luminance() + 0.05;
    // The same for reversed text.
    a.max(b) / a.min(b)
}

/// Contrast of each role on each background, with a description.
fn contrasts(
    theme: &ColorTheme,
    depth: ColorDepth,
    sixteen: &[u32; 16],
) -> Vec<(String, Role, f32)> {
    let looks = Appearance {
        depth,
        ascii: false,
    };
    let t = Theme::of(theme, looks);
    let mut all = Vec::new();
    for role in ROLES {
        let mut add = |place: &str, style: Style| {
            let what = format!("{} {depth:?} {role:?} on {place}", theme.name);
            all.push((what, role, contrast(style, sixteen)));
        };
        let base = t.base_style();
        add("background", base.patch(t.style(role)));
        add("bar", base.patch(t.bar()).patch(t.style(role)));
        add("popup", t.popup().patch(t.style(role)));
        add("cursor", base.patch(t.style(role)).patch(t.cursor()));
        add(
            "popup cursor",
            t.popup().patch(t.style(role)).patch(t.cursor()),
        );
        add(
            "unfocused",
            base.patch(t.style(role)).patch(t.unfocused_cursor()),
        );
        add("tab", base.patch(t.tab()));
    }
    all
}

#[test]
fn each_role_is_readable_in_each_theme_and_color_depth() {
    let depths = [
        (ColorDepth::True, &XTERM),
        (ColorDepth::Indexed, &XTERM),
        (ColorDepth::Sixteen, &XTERM),
        (ColorDepth::Sixteen, &VGA),
    ];
    let mut bad = Vec::new();
    for theme in builtin() {
        for (depth, sixteen) in depths {
            for (what, role, contrast) in contrasts(&theme, depth, sixteen) {
                let least = match role {
                    Role::Dim | Role::Forget => 3.0,
                    _ if theme.name == "contrast" && depth != ColorDepth::Sixteen => 7.0,
                    _ => 4.5,
                };
                if contrast < least {
                    bad.push(format!("{what}: {contrast:.2} < {least}"));
                }
            }
        }
    }
    assert_eq!(bad, Vec::<String>::new());
}

/// Matrices of Machado, Oliveira and Fernandes for linear light, at full severity.
const PROTANOPIA: [[f32; 3]; 3] = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];
const DEUTERANOPIA: [[f32; 3]; 3] = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];

/// Smallest difference of success, attention and failure for people without red or green cones.
fn smallest_difference(theme: &ColorTheme, depth: ColorDepth) -> f32 {
    let looks = Appearance {
        depth,
        ascii: false,
    };
    let t = Theme::of(theme, looks);
    let seen = |role: Role, matrix: [[f32; 3]; 3]| {
        let light = shown(t.style(role).fg, &XTERM).linear();
        oklab(matrix.map(|row| {
            let sum: f32 = row.iter().zip(light).map(|(a, b)| a * b).sum();
            sum.clamp(0.0, 1.0)
        }))
    };
    let mut least = f32::MAX;
    for matrix in [PROTANOPIA, DEUTERANOPIA] {
        let [ok, warn, bad] = [Role::Ok, Role::Warn, Role::Bad].map(|role| seen(role, matrix));
        for (a, b) in [(ok, warn), (ok, bad), (warn, bad)] {
            least = least.min(distance(a, b));
        }
    }
    least
}

#[test]
fn colorblind_themes_distinguish_success_attention_and_failure() {
    const DISTINCT: f32 = 0.1;
    for theme in builtin() {
        for depth in [ColorDepth::True, ColorDepth::Indexed] {
            let least = smallest_difference(&theme, depth);
            if theme.name.starts_with("colorblind") {
                assert!(least >= DISTINCT, "{} {depth:?}: {least}", theme.name);
            }
        }
    }
    // The simulation finds the problem of red and green.
    assert!(smallest_difference(&builtin()[0], ColorDepth::True) < DISTINCT);
}

fn full() -> Console {
    let mut c = Console::deploying(120, 40);
    c.answer(Answer::History(fixture::history()));
    c.answer(Answer::State(fixture::state_rows()));
    c.answer(Answer::Failures(fixture::failures()));
    c
}

#[test]
fn no_cell_is_left_to_the_colors_of_the_terminal() {
    for theme in builtin() {
        for depth in [ColorDepth::True, ColorDepth::Indexed, ColorDepth::Sixteen] {
            let mut c = full();
            c.state.frame.themes.choose(Some(&theme.name));
            c.state.frame.appearance.depth = depth;
            for keys in [
                "1", "2", "3", "4", "5", "6", "7", "7 e", "e 3 ?", "esc :", "esc 4 c",
            ] {
                c.press(keys);
                c.dump(&format!("theme-{}-{depth:?}-{keys}", theme.name).replace(' ', "-"));
                let buffer = c.buffer();
                for (i, cell) in buffer.content().iter().enumerate() {
                    assert!(
                        cell.fg != Color::Reset && cell.bg != Color::Reset,
                        "{} {depth:?} {keys}: {:?} {cell:?}",
                        theme.name,
                        buffer.pos_of(i)
                    );
                }
            }
        }
    }
}

#[test]
fn cursor_is_visible_in_each_theme_and_color_depth() {
    for theme in builtin() {
        for depth in [
            ColorDepth::True,
            ColorDepth::Indexed,
            ColorDepth::Sixteen,
            ColorDepth::None,
        ] {
            let looks = Appearance {
                depth,
                ascii: false,
            };
            let t = Theme::of(&theme, looks);
            for style in [t.cursor(), t.unfocused_cursor()] {
                let marks = Modifier::REVERSED | Modifier::UNDERLINED;
                assert!(
                    style.add_modifier.intersects(marks)
                        || style.bg.is_some_and(|bg| Some(bg) != t.base_style().bg),
                    "{} {depth:?}: {style:?}",
                    theme.name
                );
            }
        }
    }
}

#[test]
fn theme_follows_the_background_that_the_terminal_reports() {
    let mut c = full();
    let background = |c: &mut Console, color| {
        c.send(Msg::Input(Input::Background(color)));
        c.buffer()[(60, 39)].bg
    };
    let light = background(&mut c, Rgb(253, 246, 227));
    assert_eq!(light, Color::Rgb(0xec, 0xee, 0xf1));
    assert_ne!(background(&mut c, Rgb(0, 43, 54)), light);
    // A chosen theme stays.
    c.press("ctrl-t");
    assert_eq!(background(&mut c, Rgb(0, 0, 0)), light);
}

#[test]
fn list_of_themes_previews_the_one_under_the_cursor() {
    let mut c = full();
    let name = |c: &Console| c.state.shown_theme().name.clone();
    c.press(":");
    c.type_text("themes");
    c.press("enter");
    c.shows("● follow the terminal (dark)");
    c.press("down down");
    assert_eq!(name(&c), "light");
    c.press("esc");
    assert_eq!(name(&c), "dark");
    assert_eq!(c.state.frame.themes.chosen(), None);
    c.press(":");
    c.type_text("themes");
    c.press("enter down down enter");
    assert_eq!(c.state.frame.themes.chosen(), Some("light"));
    c.shows("theme: light");
    c.press(":");
    c.type_text("themes");
    c.press("enter up up enter");
    assert_eq!(c.state.frame.themes.chosen(), None);
    c.shows("theme: follows the terminal");
}

#[test]
fn changed_choices_are_stored_once_a_second_and_at_the_end() {
    let stored = |c: &mut Console| -> Vec<Choices> {
        let effects = c.take_effects().into_iter();
        let saves = effects.filter_map(|e| match e {
            Effect::SaveChoices { now, .. } => Some(now),
            _ => None,
        });
        saves.collect()
    };
    let mut c = full();
    c.press("1 , ctrl-t");
    c.tick(1_000);
    assert_eq!(stored(&mut c), [], "no file to keep them in");
    c.state.options.keeps_choices = true;
    c.state.saved_choices = Some(Choices::of(&c.state));
    c.press("< < < M");
    assert_eq!(stored(&mut c), []);
    c.tick(1_000);
    let [saved] = stored(&mut c).try_into().unwrap();
    assert_eq!((saved.split, saved.mouse), (Some(45), Some(false)));
    c.tick(1_000);
    assert_eq!(stored(&mut c), []);
    c.press("M");
    c.send(Msg::Terminate);
    assert_eq!(stored(&mut c)[0].mouse, None);
}
