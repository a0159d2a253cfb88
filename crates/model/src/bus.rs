//! Event bus: numbers events, folds them into the current [`View`] and delivers them to
//! subscribers. Owned by the engine; every reporting layer has a clone. Never blocks: a subscriber
//! that falls behind gets a new snapshot.

use crate::secrets::Secrets;
use crate::view::View;
use crate::{Event, EventKind, ObjectStep, now_ms};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Number of events that a subscriber may lag behind before it gets a snapshot. A deploy of tens of
/// thousands of objects emits that many waiting or skipped operations at once.
pub const CAPACITY: usize = 65_536;
/// Maximum number of events in one batch of [`Subscription::recv`].
const BATCH: usize = 256;

/// Receiver of events without numbers. Must not block or call back into the emitter, which may hold
/// locks.
pub trait EventSink: Send + Sync + 'static {
    /// Emits an event.
    fn emit(&self, kind: EventKind);

    /// Register of sensitive values to redact in events. Required, so that no sink forgets it.
    fn secrets(&self) -> Secrets;

    /// Does the sink want an event for each step of an object?
    fn is_followed(&self) -> bool {
        false
    }
}

/// Emits a step of an object, if the sink wants it.
pub fn emit_step(sink: &dyn EventSink, step: impl FnOnce() -> ObjectStep) {
    if sink.is_followed() {
        sink.emit(EventKind::Object(step()));
    }
}

impl EventSink for Bus {
    fn emit(&self, kind: EventKind) {
        Bus::emit(self, kind);
    }

    fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    fn is_followed(&self) -> bool {
        self.object_steps
    }
}

/// Observer that hears every event in order, such as a counter. Must not block or call back.
pub trait Listener: Send + Sync + 'static {
    /// Receives one event.
    fn on_event(&self, event: &Event);
}

/// Delivers events to listeners and subscribers. Cheap to clone.
#[derive(Clone, Default)]
pub struct Bus {
    inner: Arc<Mutex<Inner>>,
    secrets: Secrets,
    object_steps: bool,
}

#[derive(Default)]
struct Inner {
    view: View,
    listeners: Vec<Arc<dyn Listener>>,
    subscribers: Vec<Subscriber>,
    missed_events: u64,
}

struct Subscriber {
    events: mpsc::Sender<Arc<Event>>,
    /// Set when an event could not be delivered; the reader then asks for a snapshot.
    lagged: Arc<std::sync::atomic::AtomicBool>,
}

impl Bus {
    /// Creates a bus with or without events for each step of an object.
    pub fn with_object_steps(followed: bool) -> Self {
        Self {
            object_steps: followed,
            ..Self::default()
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic in the fold cannot break an invariant for others, so a poisoned lock is still
        // usable.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers and dates an event, folds it in and delivers it.
    pub fn emit(&self, kind: EventKind) {
        // One lock for numbering and delivery, so every subscriber sees the same order.
        let mut guard = self.lock();
        let inner = &mut *guard;
        let event = Arc::new(Event {
            seq: inner.view.seq + 1,
            at: now_ms(),
            kind,
        });
        // Folded in before the delivery, so that a snapshot includes the event.
        inner.view.apply(&event);
        inner.listeners.iter().for_each(|l| l.on_event(&event));
        inner
            .subscribers
            .retain(|s| match s.events.try_send(event.clone()) {
                Ok(()) => true,
                // Never waits: a slow subscriber gets a snapshot later.
                Err(mpsc::error::TrySendError::Full(_)) => {
                    s.lagged.store(true, std::sync::atomic::Ordering::Relaxed);
                    inner.missed_events += 1;
                    true
                }
                // The subscriber was dropped.
                Err(mpsc::error::TrySendError::Closed(_)) => false,
            });
    }

    /// Adds a listener for all later events.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.lock().listeners.push(listener);
    }

    /// Number of events not delivered to subscribers that fell behind.
    pub fn missed_events(&self) -> u64 {
        self.lock().missed_events
    }

    /// Returns the current view, and a subscription to all later events without a gap.
    pub fn subscribe(&self) -> (View, Subscription) {
        let (events, receiver) = mpsc::channel(CAPACITY);
        let lagged = Arc::new(std::sync::atomic::AtomicBool::new(false));
        // View and subscription under one lock, so no event falls between them.
        let mut inner = self.lock();
        inner.subscribers.push(Subscriber {
            events,
            lagged: lagged.clone(),
        });
        (
            inner.view.clone(),
            Subscription {
                receiver,
                lagged,
                bus: self.clone(),
                batch: Vec::new(),
                due: None,
            },
        )
    }

    /// Copy of the current view.
    pub fn view(&self) -> View {
        self.lock().view.clone()
    }

    /// Reads the current view without a copy. `read` must be short, because it blocks every
    /// emitter.
    pub fn with_view<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.lock().view)
    }
}

/// Item of a subscription.
#[derive(Debug, Clone)]
pub enum Update {
    /// The next events, in order.
    Events(Vec<Arc<Event>>),
    /// The subscriber fell behind and continues from this view.
    Snapshot(Box<View>),
}

/// Position of one subscriber in the stream of events.
pub struct Subscription {
    receiver: mpsc::Receiver<Arc<Event>>,
    lagged: Arc<std::sync::atomic::AtomicBool>,
    bus: Bus,
    /// Events received but not returned yet.
    batch: Vec<Arc<Event>>,
    /// Time at which the gathered events are returned.
    due: Option<Instant>,
}

impl Subscription {
    /// Returns the next batch of at most 256 events, or a snapshot if the subscriber fell behind;
    /// `None` after the engine has ended. Safe to cancel: nothing is lost.
    pub async fn recv(&mut self) -> Option<Update> {
        if self.batch.is_empty() && self.receiver.recv_many(&mut self.batch, BATCH).await == 0 {
            return None;
        }
        Some(self.take_update())
    }

    /// Like [`Self::recv`], but also returns all events within this time after the first. So a
    /// subscriber is woken once instead of for each event.
    pub async fn recv_together(&mut self, within: Duration) -> Option<Update> {
        if self.batch.is_empty() && self.receiver.recv_many(&mut self.batch, 1).await == 0 {
            return None;
        }
        // Kept across cancelled calls, so that the wait does not start again.
        let due = *self.due.get_or_insert_with(|| Instant::now() + within);
        sleep_until(due).await;
        while self.batch.len() < CAPACITY
            && let Ok(event) = self.receiver.try_recv()
        {
            self.batch.push(event);
        }
        Some(self.take_update())
    }

    /// Number of the last emitted event.
    pub fn last_event_number(&self) -> u64 {
        self.bus.with_view(|view| view.seq)
    }

    fn take_update(&mut self) -> Update {
        self.due = None;
        let batch = std::mem::take(&mut self.batch);
        // Events were lost, so the queue alone is incomplete.
        if self
            .lagged
            .swap(false, std::sync::atomic::Ordering::Relaxed)
        {
            // Every queued event is older than the snapshot.
            while self.receiver.try_recv().is_ok() {}
            return Update::Snapshot(Box::new(self.bus.view()));
        }
        Update::Events(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    fn notice(n: usize) -> EventKind {
        EventKind::Notice {
            text: n.to_string(),
        }
    }

    #[tokio::test]
    async fn subscriber_gets_every_event_after_its_snapshot() {
        let bus = Bus::default();
        bus.emit(notice(0));
        let (view, mut events) = bus.subscribe();
        bus.emit(notice(1));
        bus.emit(notice(2));
        assert_eq!(view.seq, 1);
        let Some(Update::Events(batch)) = events.recv().await else {
            panic!("expected events")
        };
        assert_eq!(batch.iter().map(|e| e.seq).collect::<Vec<_>>(), [2, 3]);
    }

    #[tokio::test]
    async fn lagging_subscriber_restarts_from_a_snapshot() {
        let bus = Bus::default();
        let (_, mut events) = bus.subscribe();
        for n in 0..CAPACITY + 10 {
            bus.emit(notice(n));
        }
        let Some(Update::Snapshot(view)) = events.recv().await else {
            panic!("expected a snapshot")
        };
        assert_eq!(view.seq, CAPACITY as u64 + 10);
        bus.emit(notice(0));
        let Some(Update::Events(batch)) = events.recv().await else {
            panic!("expected events")
        };
        assert_eq!(batch[0].seq, CAPACITY as u64 + 11);
    }

    /// As many events as a large deploy emits at its start or when it is not attempted.
    #[tokio::test(start_paused = true)]
    async fn batching_subscriber_receives_fifty_thousand_events_without_loss() {
        let bus = Bus::default();
        let (_, mut events) = bus.subscribe();
        (0..50_000).for_each(|n| bus.emit(notice(n)));
        let within = Duration::from_millis(50);
        let Some(Update::Events(all)) = events.recv_together(within).await else {
            panic!("expected events")
        };
        assert_eq!((all.len(), bus.missed_events()), (50_000, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn batching_subscriber_wakes_once_and_keeps_events_when_cancelled() {
        let bus = Bus::default();
        let (_, mut events) = bus.subscribe();
        let within = Duration::from_millis(20);
        bus.emit(notice(0));
        // It is cancelled while it gathers.
        let given_up = tokio::time::timeout(within / 2, events.recv_together(within)).await;
        assert!(given_up.is_err());
        bus.emit(notice(1));
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut gathering = std::pin::pin!(events.recv_together(within));
        assert!(gathering.as_mut().poll(&mut context).is_pending());
        bus.emit(notice(2));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0, "by what it gathers");
        tokio::time::advance(within).await;
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        let Poll::Ready(Some(Update::Events(batch))) = gathering.poll(&mut context) else {
            panic!("expected events")
        };
        assert_eq!(batch.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2, 3]);
    }

    /// Counts wake-ups.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
