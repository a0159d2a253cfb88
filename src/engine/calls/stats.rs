//! How long calls take: a histogram with buckets an eighth of a power of two wide (6 % off at most), in microseconds.
//! Owned by a lane.

use crate::engine::event::Latency;
use std::time::Duration;

/// Values below this have a bucket each.
const EXACT: u64 = 16;
/// Buckets for each power of two above.
const SPLIT: u64 = 8;
/// Up to 2^40 microseconds, which is twelve days.
const BUCKETS: usize = (EXACT + (40 - 4 + 1) * SPLIT) as usize;
/// How much earlier runs may weigh against this one.
const PAST_WEIGHT: u64 = 1_000;

/// Durations of one method of one plugin.
#[derive(Clone)]
pub(super) struct Histogram {
    buckets: Box<[u32; BUCKETS]>,
    /// How many values the buckets hold.
    weight: u64,
    count: u64,
    errors: u64,
    max_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Box::new([0; BUCKETS]), weight: 0, count: 0, errors: 0, max_us: 0 }
    }
}

fn bucket(us: u64) -> usize {
    if us < EXACT {
        return us as usize;
    }
    let power = u64::from(63 - us.leading_zeros());
    let part = (us >> (power - 3)) & (SPLIT - 1);
    ((EXACT + (power - 4) * SPLIT + part) as usize).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle(index: usize) -> u64 {
    let index = index as u64;
    if index < EXACT {
        return index;
    }
    let (power, part) = ((index - EXACT) / SPLIT + 4, (index - EXACT) % SPLIT);
    let width = 1 << (power - 3);
    (1 << power) + part * width + width / 2
}

fn round_ms(us: u64) -> u64 {
    (us + 500) / 1_000
}

impl Histogram {
    /// Adds one call. How soon one failed is not how long one takes: errors are counted, and no more.
    pub(super) fn add(&mut self, took: Duration, error: bool) {
        self.count += 1;
        self.errors += u64::from(error);
        if error {
            return;
        }
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.put(us, 1);
        self.max_us = self.max_us.max(us);
    }

    fn put(&mut self, us: u64, times: u64) {
        let slot = &mut self.buckets[bucket(us)];
        *slot = slot.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
        self.weight += times;
    }

    /// What is left of earlier runs: values placed so that the percentiles come out as they were.
    pub(super) fn of(past: &Latency) -> Self {
        let mut h = Self::default();
        let n = past.count.saturating_sub(past.errors).min(PAST_WEIGHT);
        let (half, most) = (n.div_ceil(2), (n * 95).div_ceil(100));
        h.put(past.p50_ms * 1_000, half);
        h.put(past.p95_ms * 1_000, most - half);
        h.put(past.max_ms * 1_000, n - most);
        (h.count, h.errors, h.max_us) = (past.count, past.errors, past.max_ms * 1_000);
        h
    }

    /// Percentiles over both; `None` where there is nothing.
    pub(super) fn latency<'a>(parts: impl Iterator<Item = &'a Self> + Clone) -> Option<Latency> {
        let weight: u64 = parts.clone().map(|h| h.weight).sum();
        if weight == 0 {
            return None;
        }
        let max_us = parts.clone().map(|h| h.max_us).max().unwrap_or(0);
        let (mut seen, mut p50, mut p95) = (0, None, None);
        let (half, most) = (weight.div_ceil(2), (weight * 95).div_ceil(100));
        for index in 0..BUCKETS {
            seen += parts.clone().map(|h| u64::from(h.buckets[index])).sum::<u64>();
            if p50.is_none() && seen >= half {
                p50 = Some(middle(index));
            }
            if seen >= most {
                p95 = Some(middle(index));
                break;
            }
        }
        Some(Latency {
            count: parts.clone().map(|h| h.count).sum(),
            errors: parts.map(|h| h.errors).sum(),
            p50_ms: round_ms(p50.unwrap_or(max_us).min(max_us)),
            p95_ms: round_ms(p95.unwrap_or(max_us).min(max_us)),
            max_ms: round_ms(max_us),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_a_bucket_whose_middle_is_near() {
        for us in (0..5_000).chain((0..35).map(|p| (1u64 << p) + 77)).chain((5..39).map(|p| (1u64 << p) - 1)) {
            let near = middle(bucket(us));
            assert!(near.abs_diff(us) * 16 <= us.max(16), "{us} → {near}");
        }
        assert!((0..5_000).is_sorted_by_key(bucket));
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_of_a_known_distribution() {
        let mut h = Histogram::default();
        (1..=100).for_each(|ms| h.add(Duration::from_millis(ms), ms % 10 == 0));
        let latency = Histogram::latency([&h].into_iter()).expect("values");
        assert_eq!((latency.count, latency.errors, latency.max_ms), (100, 10, 99));
        assert!((47..=53).contains(&latency.p50_ms), "{latency:?}");
        assert!((90..=100).contains(&latency.p95_ms), "{latency:?}");
    }

    #[test]
    fn history_comes_back_as_it_was_and_gives_way_to_what_is_new() {
        let past = Latency { count: 40, errors: 3, p50_ms: 200, p95_ms: 900, max_ms: 4_000 };
        let old = Histogram::of(&past);
        let back = Histogram::latency([&old].into_iter()).expect("values");
        assert_eq!((back.count, back.errors, back.max_ms), (40, 3, 4_000));
        assert!(back.p50_ms.abs_diff(200) <= 12 && back.p95_ms.abs_diff(900) <= 56, "{back:?}");
        let mut new = Histogram::default();
        (0..4_000).for_each(|_| new.add(Duration::from_millis(10), false));
        let both = Histogram::latency([&old, &new].into_iter()).expect("values");
        assert_eq!((both.count, both.p50_ms), (4_040, 10));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(Histogram::latency(std::iter::empty()), None);
        assert_eq!(Histogram::latency([&Histogram::of(&Latency::default())].into_iter()), None);
        let failed = Latency { count: 3, errors: 3, ..Latency::default() };
        assert_eq!(Histogram::latency([&Histogram::of(&failed)].into_iter()), None, "nothing is usual where all failed");
    }
}
