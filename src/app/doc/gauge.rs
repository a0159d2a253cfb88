//! Progress bars: a heavy line for the part, a light one for the rest.

use super::{Line, Role, omittable};

/// Bars of one cell, from the lowest to the full one.
pub const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Cells of the bar of a running time.
const TIME_CELLS: usize = 8;

/// Draws a share of `cells` cells in halves of a cell: `━━━╸────`. A share that is neither nothing
/// nor all is never drawn as one of them.
pub fn gauge(role: Role, part: usize, whole: usize, cells: usize) -> Line {
    let (part, halves) = (part.min(whole), cells * 2);
    let mut filled = part * halves / whole.max(1);
    if part > 0 && part < whole {
        filled = filled.clamp(1, halves - 1);
    }
    let half = if filled % 2 == 1 { "╸" } else { "" };
    let rest = "─".repeat(cells - filled.div_ceil(2));
    vec![
        omittable(role, format!("{}{half}", "━".repeat(filled / 2))),
        omittable(Role::Dim, rest),
    ]
}

/// Draws a duration relative to the usual one.
pub fn bar(role: Role, ms: u64, usual_ms: u64) -> Line {
    let ms = usize::try_from(ms).unwrap_or(usize::MAX / TIME_CELLS / 2);
    let usual = usize::try_from(usual_ms).unwrap_or(usize::MAX / TIME_CELLS / 2);
    gauge(role, ms, usual.max(1), TIME_CELLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doc::plain;

    #[test]
    fn gauge_distinguishes_some_from_none_and_all() {
        let drawn = |part, whole| plain(&gauge(Role::Ok, part, whole, 5));
        assert_eq!(drawn(0, 100), "─────");
        assert_eq!(drawn(1, 1_000), "╸────");
        assert_eq!(drawn(1, 2), "━━╸──");
        assert_eq!(drawn(999, 1_000), "━━━━╸");
        assert_eq!(drawn(7, 7), "━━━━━");
        assert_eq!(drawn(0, 0), "─────");
        assert_eq!(plain(&bar(Role::Ok, 90, 40)), "━━━━━━━━");
    }
}
