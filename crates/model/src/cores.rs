//! Maps independent items on several threads, and drops large values on another thread.

/// Fewer items are processed on the caller's thread.
const MIN_PARALLEL_ITEMS: usize = 500;

/// Maximum number of threads; more do not help, because memory is the bottleneck.
const MAX_THREADS: usize = 8;

/// Maps `items` in parallel and keeps their order. Blocks the caller; panics propagate.
pub fn each<T: Send, R: Send>(mut items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
    // For a few items, starting threads takes longer than the work.
    if cores == 1 || items.len() < MIN_PARALLEL_ITEMS {
        return items.into_iter().map(work).collect();
    }
    let size = items.len().div_ceil(cores);
    let mut parts = Vec::with_capacity(cores);
    while items.len() > size {
        let rest = items.split_off(size);
        parts.push(std::mem::replace(&mut items, rest));
    }
    parts.push(items);
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(move || part.into_iter().map(work).collect::<Vec<R>>()))
            .collect();
        running
            .into_iter()
            .flat_map(|part| {
                part.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// Drops a large value on another thread, so that the caller does not wait. Needs a runtime.
pub fn free(large: impl Send + 'static) {
    drop(tokio::task::spawn_blocking(move || drop(large)));
}

#[cfg(test)]
mod tests {
    #[test]
    fn parallel_results_keep_the_item_order() {
        for n in [
            0,
            1,
            super::MIN_PARALLEL_ITEMS - 1,
            super::MIN_PARALLEL_ITEMS,
            4 * super::MIN_PARALLEL_ITEMS + 3,
        ] {
            let doubled = super::each((0..n).collect(), |item: usize| 2 * item);
            assert_eq!(doubled, (0..n).map(|item| 2 * item).collect::<Vec<_>>());
        }
    }
}
