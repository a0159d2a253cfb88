//! Built-in themes. A test checks the contrast of each colour on each of its backgrounds.

use super::{ColorTheme, Palette, Rgb};

/// Name, colours, and numbers of the 16 colours of each built-in theme.
type Builtin = (&'static str, Palette<Rgb>, Palette<u8>);

const fn rgb(hex: u32) -> Rgb {
    let [_, r, g, b] = hex.to_be_bytes();
    Rgb(r, g, b)
}

const DARK: Palette<Rgb> = Palette {
    background: rgb(0x14_171c),
    text: rgb(0xd5_dae3),
    dim: rgb(0x8b_95a5),
    accent: rgb(0x6c_b6ff),
    heading: rgb(0xc9_a9f4),
    good: rgb(0x7e_c77b),
    attention: rgb(0xe3_b341),
    bad: rgb(0xff_7b72),
    bar: rgb(0x1f_242c),
    popup: rgb(0x1a_1e25),
    cursor: rgb(0x2b_3340),
    cursor_text: None,
    unfocused: rgb(0x20_262f),
};

const LIGHT: Palette<Rgb> = Palette {
    background: rgb(0xfb_fbfa),
    text: rgb(0x24_292f),
    dim: rgb(0x65_6d76),
    accent: rgb(0x0a_4fa8),
    heading: rgb(0x6b_3aa8),
    good: rgb(0x11_6329),
    // Orange, because brown is close to the text, and a red with some blue, far from the orange.
    attention: rgb(0x9a_4d00),
    bad: rgb(0xb8_003c),
    bar: rgb(0xec_eef1),
    popup: rgb(0xf3_f4f6),
    cursor: rgb(0xdb_e7f5),
    cursor_text: None,
    unfocused: rgb(0xe9_edf2),
};

const CONTRAST: Palette<Rgb> = Palette {
    background: rgb(0),
    text: rgb(0xff_ffff),
    dim: rgb(0xc8_c8c8),
    accent: rgb(0x40_e0ff),
    heading: rgb(0xe3_b8ff),
    good: rgb(0x4d_ff6a),
    attention: rgb(0xff_e14d),
    bad: rgb(0xff_8a8a),
    bar: rgb(0),
    popup: rgb(0),
    cursor: rgb(0xff_ffff),
    cursor_text: Some(rgb(0)),
    unfocused: rgb(0),
};

// Blue, yellow and orange differ for people who cannot tell red from green.
const COLORBLIND_DARK: Palette<Rgb> = Palette {
    accent: rgb(0xe0_a0d0),
    heading: rgb(0xd5_dae3),
    good: rgb(0x5b_b8f5),
    attention: rgb(0xf0_e442),
    bad: rgb(0xff_7f3f),
    ..DARK
};

const COLORBLIND_LIGHT: Palette<Rgb> = Palette {
    accent: rgb(0x7a_2a7a),
    heading: rgb(0x24_292f),
    good: rgb(0x00_55a8),
    attention: rgb(0x9a_5200),
    bad: rgb(0x90_003c),
    ..LIGHT
};

// Backgrounds are 0 to 7 and 15 only, because consoles without 16 backgrounds exist. Bars and
// popups have the background of the screen.
const DARK_16: Palette<u8> = Palette {
    background: 0,
    text: 15,
    dim: 7,
    accent: 14,
    heading: 13,
    good: 10,
    attention: 11,
    bad: 9,
    bar: 0,
    popup: 0,
    cursor: 7,
    cursor_text: Some(0),
    unfocused: 0,
};

// On white, green, yellow and cyan are unreadable in most terminals.
const LIGHT_16: Palette<u8> = Palette {
    background: 15,
    text: 0,
    dim: 8,
    accent: 4,
    heading: 0,
    good: 4,
    attention: 5,
    bad: 1,
    bar: 15,
    popup: 15,
    cursor: 4,
    cursor_text: Some(15),
    unfocused: 15,
};

const COLORBLIND_DARK_16: Palette<u8> = Palette {
    accent: 13,
    heading: 15,
    good: 14,
    ..DARK_16
};

const ALL: [Builtin; 5] = [
    ("dark", DARK, DARK_16),
    ("light", LIGHT, LIGHT_16),
    ("contrast", CONTRAST, DARK_16),
    ("colorblind-dark", COLORBLIND_DARK, COLORBLIND_DARK_16),
    ("colorblind-light", COLORBLIND_LIGHT, LIGHT_16),
];

/// Returns the built-in themes.
pub fn builtin() -> Vec<ColorTheme> {
    let theme = |(name, colors, sixteen): Builtin| ColorTheme {
        name: name.to_owned(),
        colors,
        sixteen,
    };
    ALL.map(theme).into()
}
