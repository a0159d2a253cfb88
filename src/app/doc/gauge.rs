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

/// Draws the newest values of a row of samples in `cells` cells of `each` samples, scaled to the
/// largest cell, which leaves a gap to the row above. Empty if all are 0.
pub fn sparkline(
    role: Role,
    samples: impl DoubleEndedIterator<Item = u64>,
    each: usize,
    cells: usize,
) -> Line {
    let newest: Vec<u64> = samples.rev().take(each * cells).collect();
    let mut sums: Vec<u64> = newest.chunks(each).map(|part| part.iter().sum()).collect();
    let most = sums.iter().max().copied().unwrap_or(0);
    if most == 0 {
        return Line::new();
    }
    sums.resize(cells, 0);
    let level = |n: &u64| LEVELS[usize::try_from((n * 6).div_ceil(most)).unwrap_or(0).min(6)];
    let parts: Vec<&[u64]> = sums.chunk_by(|a, b| (*a == 0) == (*b == 0)).collect();
    let parts = parts.into_iter().rev();
    parts
        .map(|part| {
            let role = if part[0] == 0 { Role::Dim } else { role };
            omittable(role, part.iter().rev().map(level).collect::<String>())
        })
        .collect()
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
    fn sparkline_sums_the_newest_samples_and_is_empty_without_any() {
        let drawn = |samples: &[u64]| plain(&sparkline(Role::Ok, samples.iter().copied(), 2, 3));
        assert_eq!(drawn(&[]), "");
        assert_eq!(drawn(&[0, 0]), "");
        assert_eq!(drawn(&[5, 2]), "▁▁▇");
        assert_eq!(drawn(&[9, 9, 1, 0, 0, 0, 7, 0]), "▂▁▇");
    }

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
