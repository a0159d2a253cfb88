//! Latency statistics of the last thousand calls of a kind, in buckets an eighth of a power of two
//! wide. A percentile is the mean of its bucket (error at most 12 %), so equal durations have no
//! error. Older calls are dropped, so counts, errors and percentiles are of the same calls. Owned
//! by a lane.

use model::Latency;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Values below this have a bucket each.
const EXACT_BUCKETS: u64 = 16;
/// Number of buckets for each power of two above.
const SPLIT: u64 = 8;
/// Covers values up to 2^40 microseconds, about twelve days.
const BUCKETS: usize = (EXACT_BUCKETS + (40 - 4 + 1) * SPLIT) as usize;
/// Number of calls to keep.
pub(super) const WINDOW: usize = 1_000;
/// Marks a failed call, whose duration says nothing about successful ones.
const FAILED: u64 = u64::MAX;

/// Counts and sums of durations per bucket, in microseconds.
#[derive(Clone)]
struct Histogram {
    buckets: Box<[u32; BUCKETS]>,
    sums: Box<[u64; BUCKETS]>,
    weight: u64,
    /// Range of buckets that ever had a value. Calls of a kind are similar, so it is short to scan.
    used: Range<usize>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            sums: Box::new([0; BUCKETS]),
            weight: 0,
            used: Range::default(),
        }
    }
}

/// Last calls of a kind in this run.
#[derive(Clone, Default)]
pub(super) struct Window {
    /// Durations in microseconds, oldest first; [`FAILED`] for failed calls.
    calls: VecDeque<u64>,
    good: Histogram,
    /// Successful calls, with their numbers, that took longer than all later ones, so the first is
    /// the longest of the window.
    longest: VecDeque<(u64, u64)>,
    /// Total number of calls, which is the number of the next one.
    count: u64,
}

/// Statistics of earlier runs. Their weight decreases as this run makes calls.
#[derive(Clone, Default)]
pub(super) struct EarlierStats {
    good: Histogram,
    errors: u64,
    max_us: u64,
}

fn bucket(us: u64) -> usize {
    if us < EXACT_BUCKETS {
        return us as usize;
    }
    let power = u64::from(63 - us.leading_zeros());
    let part = (us >> (power - 3)) & (SPLIT - 1);
    ((EXACT_BUCKETS + (power - 4) * SPLIT + part) as usize).min(BUCKETS - 1)
}

fn round_ms(us: u64) -> u64 {
    (us + 500) / 1_000
}

impl Histogram {
    fn add(&mut self, us: u64, times: u64) {
        let index = bucket(us);
        let slot = &mut self.buckets[index];
        *slot = slot.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
        self.sums[index] = self.sums[index].saturating_add(us.saturating_mul(times));
        self.weight += times;
        self.used = if self.used.is_empty() {
            index..index + 1
        } else {
            self.used.start.min(index)..self.used.end.max(index + 1)
        };
    }

    fn remove(&mut self, us: u64) {
        let index = bucket(us);
        self.buckets[index] -= 1;
        self.sums[index] = self.sums[index].saturating_sub(us);
        self.weight -= 1;
    }
}

impl Window {
    /// Adds a call and drops the oldest one beyond the window.
    pub(super) fn add(&mut self, took: Duration, error: bool) {
        if self.calls.len() == WINDOW
            && let Some(oldest) = self.calls.pop_front().filter(|us| *us != FAILED)
        {
            self.good.remove(oldest);
            let number = self.count - WINDOW as u64;
            self.longest.pop_front_if(|(longest, _)| *longest == number);
        }
        let us = u64::try_from(took.as_micros())
            .unwrap_or(u64::MAX)
            // `FAILED` is reserved as a marker.
            .min(FAILED - 1);
        if !error {
            self.good.add(us, 1);
            // A monotonic queue: shorter calls before this one can no longer become the maximum.
            while self.longest.pop_back_if(|(_, took)| *took <= us).is_some() {}
            self.longest.push_back((self.count, us));
        }
        self.calls.push_back(if error { FAILED } else { us });
        self.count += 1;
    }

    /// Returns the statistics of these calls alone.
    pub(super) fn latency(&self) -> Latency {
        latency(Some(self), None)
    }
}

impl EarlierStats {
    /// Restores a histogram with the given percentiles.
    pub(super) fn from_latency(past: &Latency) -> Self {
        let most = WINDOW as u64;
        // Scale the total to the window, and keep the ratio of errors.
        let count = past.count.min(most);
        let errors = (past.errors * count).div_ceil(past.count.max(1)).min(count);
        let n = count - errors;
        let (half, most) = (n.div_ceil(2), (n * 95).div_ceil(100));
        let mut good = Histogram::default();
        good.add(past.p50_ms * 1_000, half);
        good.add(past.p95_ms * 1_000, most - half);
        good.add(past.max_ms * 1_000, n - most);
        Self {
            good,
            errors,
            max_us: past.max_ms * 1_000,
        }
    }
}

/// Computes the statistics over the calls of this run, and over earlier ones as far as the window
/// has room. Percentiles are 0 without a successful call.
pub(super) fn latency(live: Option<&Window>, past: Option<&EarlierStats>) -> Latency {
    let now = live.map_or(0, |w| w.calls.len() as u64);
    let room = (WINDOW as u64).saturating_sub(now);
    let past = past.filter(|_| room > 0);
    // In thousandths of a call, because a past call counts for less the more calls this run has.
    let whole = WINDOW as u64;
    let weight_of = |pick: &dyn Fn(&Histogram) -> u64| {
        live.map_or(0, |w| pick(&w.good) * whole) + past.map_or(0, |p| pick(&p.good) * room)
    };
    let sum_of = |index: usize| {
        let sum = |h: &Histogram, times: u64| u128::from(h.sums[index]) * u128::from(times);
        live.map_or(0, |w| sum(&w.good, whole)) + past.map_or(0, |p| sum(&p.good, room))
    };
    let weight = weight_of(&|h| h.weight);
    let (mut seen, mut p50, mut p95) = (0, None, None);
    let (half, most) = (weight.div_ceil(2), (weight * 95).div_ceil(100));
    // Scan only the buckets in use; this runs with every call.
    let used = || {
        live.iter()
            .map(|w| &w.good.used)
            .chain(past.iter().map(|p| &p.good.used))
    };
    let from = used().map(|u| u.start).min().unwrap_or(0);
    let to = used().map(|u| u.end).max().unwrap_or(0);
    for index in (from..to).take_while(|_| weight > 0) {
        let here = weight_of(&|h| u64::from(h.buckets[index]));
        seen += here;
        // The mean of the bucket; its middle could be below the shortest call.
        let mean = || sum_of(index) / u128::from(here.max(1));
        if p50.is_none() && seen >= half {
            p50 = Some(mean());
        }
        if seen >= most {
            p95 = Some(mean());
            break;
        }
    }
    let longest = |w: &Window| w.longest.front().map_or(0, |(_, us)| *us);
    let max_us = live.map_or(0, longest).max(past.map_or(0, |p| p.max_us));
    let rounded = |us: Option<u128>| round_ms(us.map_or(0, |us| us as u64).min(max_us));
    let errors = live.map_or(0, |w| w.calls.len() as u64 - w.good.weight)
        + past.map_or(0, |p| (p.errors * room).div_ceil(whole));
    Latency {
        count: weight.div_ceil(whole) + errors,
        errors,
        p50_ms: rounded(p50),
        p95_ms: rounded(p95),
        max_ms: round_ms(max_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_buckets_have_bounded_relative_error() {
        for us in (0..5_000)
            .chain((0..35).map(|p| (1u64 << p) + 77))
            .chain((5..39).map(|p| (1u64 << p) - 1))
        {
            let (mut w, same) = (Window::default(), Duration::from_micros(us * 1_000));
            (0..3).for_each(|_| w.add(same, false));
            assert_eq!((w.latency().p50_ms, w.latency().p95_ms), (us, us));
            // The widest buckets are an eighth of their lowest value.
            let next = us + us / 8 + 1;
            assert!(
                bucket(next) > bucket(us) || bucket(us) == BUCKETS - 1,
                "{us}"
            );
        }
        assert!((0..5_000).is_sorted_by_key(bucket));
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_match_a_known_distribution() {
        let mut w = Window::default();
        (1..=100).for_each(|ms| w.add(Duration::from_millis(ms), ms % 10 == 0));
        let latency = w.latency();
        assert_eq!(
            (latency.count, latency.errors, latency.max_ms),
            (100, 10, 99)
        );
        assert!((47..=53).contains(&latency.p50_ms), "{latency:?}");
        assert!((90..=100).contains(&latency.p95_ms), "{latency:?}");
    }

    #[test]
    fn stored_latency_is_restored_and_displaced_by_new_samples() {
        let past = Latency {
            count: 40,
            errors: 3,
            p50_ms: 200,
            p95_ms: 900,
            max_ms: 4_000,
        };
        let old = EarlierStats::from_latency(&past);
        let back = latency(None, Some(&old));
        assert_eq!((back.count, back.errors, back.max_ms), (40, 3, 4_000));
        assert!(
            back.p50_ms.abs_diff(200) <= 12 && back.p95_ms.abs_diff(900) <= 56,
            "{back:?}"
        );
        let mut new = Window::default();
        (0..500).for_each(|_| new.add(Duration::from_millis(10), false));
        let both = latency(Some(&new), Some(&old));
        assert_eq!((both.count, both.p50_ms, both.max_ms), (521, 10, 4_000));
        (0..4_000).for_each(|_| new.add(Duration::from_millis(10), false));
        let both = latency(Some(&new), Some(&old));
        assert_eq!(
            both,
            Latency {
                count: 1_000,
                errors: 0,
                p50_ms: 10,
                p95_ms: 10,
                max_ms: 10
            }
        );
    }

    #[test]
    fn latency_window_reflects_only_the_latest_calls() {
        let mut w = Window::default();
        (0..20_000).for_each(|_| w.add(Duration::from_millis(10), true));
        (0..20_000).for_each(|_| w.add(Duration::from_millis(10), false));
        (0..WINDOW).for_each(|n| w.add(Duration::from_secs(2), n % 4 == 0));
        let now = w.latency();
        assert_eq!((now.count, now.errors, now.max_ms), (1_000, 250, 2_000));
        assert!(
            now.p50_ms.abs_diff(2_000) <= 125 && now.p95_ms == now.p50_ms,
            "{now:?}"
        );
    }

    #[test]
    fn maximum_latency_covers_successful_calls_in_the_window() {
        let mut w = Window::default();
        let ms = |n: usize| (n * 7_919) % 1_301;
        for n in 0..5 * WINDOW {
            w.add(Duration::from_millis(ms(n) as u64), n % 3 == 0);
            let good = (n.saturating_sub(WINDOW - 1)..=n).filter(|n| n % 3 != 0);
            let longest = good.map(ms).max().unwrap_or(0);
            assert_eq!(w.latency().max_ms, longest as u64, "after {n}");
        }
    }

    #[test]
    fn latency_is_unknown_without_a_successful_call() {
        assert_eq!(latency(None, None), Latency::default());
        assert!(!latency(None, Some(&EarlierStats::from_latency(&Latency::default()))).is_known());
        let failed = Latency {
            count: 3,
            errors: 3,
            ..Latency::default()
        };
        assert_eq!(
            latency(None, Some(&EarlierStats::from_latency(&failed))),
            failed
        );
        assert!(!failed.is_known());
    }
}
