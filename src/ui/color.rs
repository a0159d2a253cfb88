//! Nearest colours of the 256-colour palette.

use crate::app::theme::Rgb;
use std::sync::LazyLock;

/// First colour that terminals do not let the user change.
const FIRST: u8 = 16;

/// Colours from [`FIRST`] on in a perceptual colour space.
static INDEXED: LazyLock<Vec<[f32; 3]>> =
    LazyLock::new(|| (FIRST..=255).map(|i| oklab(indexed(i).linear())).collect());

/// Returns the colour of the cube (16 to 231) or of the greys (232 to 255).
pub fn indexed(i: u8) -> Rgb {
    if i >= 232 {
        let grey = 8 + 10 * (i - 232);
        return Rgb(grey, grey, grey);
    }
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    let i = i.saturating_sub(FIRST);
    Rgb(level(i / 36), level(i / 6 % 6), level(i % 6))
}

/// Returns the colour of the 256-colour palette that looks most similar. Never one of the first 16,
/// because users change these.
pub fn nearest_indexed(color: Rgb) -> u8 {
    let wanted = oklab(color.linear());
    let nearest = (FIRST..=255)
        .zip(INDEXED.iter())
        .min_by(|a, b| distance(*a.1, wanted).total_cmp(&distance(*b.1, wanted)));
    nearest.map_or(FIRST, |(i, _)| i)
}

/// Converts linear light to Oklab, in which distances match the perceived difference.
pub fn oklab([r, g, b]: [f32; 3]) -> [f32; 3] {
    let l = (0.412_221_5 * r + 0.536_332_5 * g + 0.051_445_99 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

/// Euclidean distance.
pub fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_of_the_palette_map_to_themselves() {
        for i in FIRST..=255 {
            assert_eq!(indexed(nearest_indexed(indexed(i))), indexed(i), "{i}");
        }
        assert_eq!(nearest_indexed(Rgb(0, 0, 0)), 16);
        assert_eq!(nearest_indexed(Rgb(255, 255, 255)), 231);
        assert_eq!(nearest_indexed(Rgb(94, 174, 254)), 75);
    }
}
