//! Turns of operations: so many at a time, first come, first served, but for what is urgent. Owned
//! by one deploy.

use crate::engine::graph::{Step, Urgency};
use crate::engine::mutex::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// The turns of a deploy and who waits for one.
pub struct Turns {
    line: Mutex<Line>,
    urgency: Arc<Urgency>,
}

struct Line {
    free: usize,
    waiting: VecDeque<(Step, oneshot::Sender<Turn>)>,
}

/// One operation's turn; dropping it gives it to the next in line.
pub struct Turn(Arc<Turns>);

impl Turns {
    /// `at_a_time` turns.
    pub fn new(at_a_time: usize, urgency: Arc<Urgency>) -> Arc<Self> {
        Arc::new(Self {
            line: Mutex::new(Line {
                free: at_a_time.max(1),
                waiting: VecDeque::new(),
            }),
            urgency,
        })
    }

    /// Waits for a turn; nobody who waits is passed over for ever, since what is urgent ends.
    pub async fn take(self: &Arc<Self>, step: Step) -> Option<Turn> {
        let answer = {
            let mut line = lock(&self.line);
            if line.free > 0 {
                line.free -= 1;
                return Some(Turn(self.clone()));
            }
            let (grant, answer) = oneshot::channel();
            line.waiting.push_back((step, grant));
            answer
        };
        answer.await.ok()
    }

    fn next(&self) -> Option<oneshot::Sender<Turn>> {
        let mut line = lock(&self.line);
        let first = line
            .waiting
            .iter()
            .position(|(step, _)| self.urgency.is_urgent(*step))
            .unwrap_or(0);
        match line.waiting.remove(first) {
            Some((_, grant)) => Some(grant),
            None => {
                line.free += 1;
                None
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(grant) = self.0.next() {
            // One that nobody takes comes back here, and goes on to the one after.
            drop(grant.send(Turn(self.0.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::graph::Graph;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn the_urgent_one_is_next_and_one_that_left_costs_no_turn() {
        let mut graph = Graph::default();
        for _ in 0..4 {
            graph.add();
        }
        let urgency = Arc::new(Urgency::default());
        let turns = Turns::new(1, urgency.clone());
        let first = turns.take(0).await.unwrap();
        let mut ordinary = Box::pin(turns.take(1));
        let mut gone = Box::pin(turns.take(2));
        let mut urgent = Box::pin(turns.take(3));
        assert!(
            ordinary.as_mut().now_or_never().is_none() && gone.as_mut().now_or_never().is_none()
        );
        assert!(urgent.as_mut().now_or_never().is_none());
        urgency.hurry(&graph, 3);
        urgency.hurry(&graph, 2);
        drop(gone);
        drop(first);
        let second = urgent.as_mut().now_or_never().flatten().unwrap();
        assert!(ordinary.as_mut().now_or_never().is_none());
        drop(second);
        let third = ordinary.as_mut().now_or_never().flatten();
        assert!(third.is_some());
        drop(third);
        assert!(turns.take(0).now_or_never().flatten().is_some());
    }
}
