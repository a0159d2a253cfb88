//! Progress bars: a heavy line for the part, a light one for the rest.

use super::{Line, Role, omittable};
use std::collections::VecDeque;

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

/// Draws the newest values of a row of samples in `cells` cells, each the sum or the maximum of
/// `each` samples, scaled to the largest cell, which leaves a gap to the row above. Empty if all
/// are 0.
pub fn sparkline(
    role: Role,
    samples: &VecDeque<u64>,
    (each, cells): (usize, usize),
    join: fn(&[u64]) -> u64,
) -> Line {
    let newest: Vec<u64> = samples.iter().rev().take(each * cells).copied().collect();
    let mut values: Vec<u64> = newest.chunks(each).map(join).collect();
    let most = values.iter().max().copied().unwrap_or(0);
    if most == 0 {
        return Line::new();
    }
    values.resize(cells, 0);
    let level = |n: &u64| LEVELS[usize::try_from((n * 6).div_ceil(most)).unwrap_or(0).min(6)];
    let parts: Vec<&[u64]> = values.chunk_by(|a, b| (*a == 0) == (*b == 0)).collect();
    let parts = parts.into_iter().rev();
    parts
        .map(|part| {
            let role = if part[0] == 0 { Role::Dim } else { role };
            omittable(role, part.iter().rev().map(level).collect::<String>())
        })
        .collect()
}

/// Sum of samples, for [`sparkline`].
pub fn sum(samples: &[u64]) -> u64 {
    samples.iter().sum()
}

/// Maximum of samples, for [`sparkline`].
pub fn maximum(samples: &[u64]) -> u64 {
    samples.iter().max().copied().unwrap_or(0)
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
    fn sparkline_joins_the_newest_samples_and_is_empty_without_any() {
        let joined = |samples: &[u64], join| {
            let samples = samples.iter().copied().collect();
            plain(&sparkline(Role::Ok, &samples, (2, 3), join))
        };
        let drawn = |samples: &[u64]| joined(samples, sum);
        assert_eq!(drawn(&[]), "");
        assert_eq!(drawn(&[0, 0]), "");
        assert_eq!(drawn(&[5, 2]), "▁▁▇");
        assert_eq!(drawn(&[9, 9, 1, 0, 0, 0, 7, 0]), "▂▁▇");
        // The oldest cell has one sample.
        assert_eq!(joined(&[5, 5, 5, 4, 5], maximum), "▇▇▇");
        assert_eq!(joined(&[6, 0, 3, 2, 1], maximum), "▇▄▃");
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
