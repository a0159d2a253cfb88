//! The event bus: numbers events, folds them into the current [`View`] and hands them to
//! subscribers. Owned by the engine; every room that reports holds a clone. Never blocks: a
//! subscriber that falls behind gets a fresh snapshot.

use super::secrets::Secrets;
use super::view::View;
use super::words::{Event, EventKind, ObjectStep, now_ms};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// How many events a subscriber may lag behind before it is given a snapshot instead: what waits in
/// a deploy of tens of thousands of objects is told at once, and what was not attempted of it.
pub(super) const CAPACITY: usize = 65_536;
/// How many events a reader that does not gather is given at once.
const BATCH: usize = 256;

/// Takes facts and numbers them. Must neither block nor call back into who emits: it is called with
/// locks held.
pub trait EventSink: Send + Sync + 'static {
    /// Takes one fact.
    fn emit(&self, kind: EventKind);

    /// What must not be in a fact. Every sink says so itself: who forgot would hide nothing.
    fn secrets(&self) -> Secrets;

    /// Whether each step of what is done with an object is wanted.
    fn is_followed(&self) -> bool {
        false
    }
}

/// Says a step of what is done with an object, where that is wanted.
pub fn follow(sink: &dyn EventSink, step: impl FnOnce() -> ObjectStep) {
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
        self.followed
    }
}

/// Hears every event as it is said, in order: who only counts. Must neither block nor call back.
pub trait Listener: Send + Sync + 'static {
    /// Takes one event in.
    fn hear(&self, event: &Event);
}

/// Where events go. Cheap to clone.
#[derive(Clone, Default)]
pub struct Bus {
    inner: Arc<Mutex<Inner>>,
    secrets: Secrets,
    followed: bool,
}

#[derive(Default)]
struct Inner {
    view: View,
    listeners: Vec<Arc<dyn Listener>>,
    subscribers: Vec<Subscriber>,
    missed: u64,
}

struct Subscriber {
    events: mpsc::Sender<Arc<Event>>,
    /// Set when an event could not be delivered; the reader then asks for a snapshot.
    lagged: Arc<std::sync::atomic::AtomicBool>,
}

impl Bus {
    /// One on which each step of what is done with an object is said, or not.
    pub fn followed(followed: bool) -> Self {
        Self {
            followed,
            ..Self::default()
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // The fold has no invariant that a panic in it could break for others: go on with what is
        // there.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers and times an event, folds it in and delivers it.
    pub fn emit(&self, kind: EventKind) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let event = Arc::new(Event {
            seq: inner.view.seq + 1,
            at: now_ms(),
            kind,
        });
        inner.view.apply(&event);
        inner.listeners.iter().for_each(|l| l.hear(&event));
        inner
            .subscribers
            .retain(|s| match s.events.try_send(event.clone()) {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    s.lagged.store(true, std::sync::atomic::Ordering::Relaxed);
                    inner.missed += 1;
                    true
                }
                Err(mpsc::error::TrySendError::Closed(_)) => false,
            });
    }

    /// From the next event on, as long as there is the bus.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.lock().listeners.push(listener);
    }

    /// How many events were not delivered to readers that had fallen behind.
    pub fn missed(&self) -> u64 {
        self.lock().missed
    }

    /// What is seen now, and every event after it, with no gap.
    pub fn subscribe(&self) -> (View, Subscription) {
        let (events, receiver) = mpsc::channel(CAPACITY);
        let lagged = Arc::new(std::sync::atomic::AtomicBool::new(false));
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

    /// What is seen now.
    pub fn view(&self) -> View {
        self.lock().view.clone()
    }

    /// Reads the current view without copying it. `read` must be short: it holds up every emitter.
    pub fn with_view<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.lock().view)
    }
}

/// What a subscriber receives.
#[derive(Debug, Clone)]
pub enum Update {
    /// The next events, in order.
    Events(Vec<Arc<Event>>),
    /// The reader fell behind: start again from this.
    Snapshot(Box<View>),
}

/// A reader's place in the stream of events.
pub struct Subscription {
    receiver: mpsc::Receiver<Arc<Event>>,
    lagged: Arc<std::sync::atomic::AtomicBool>,
    bus: Bus,
    /// What was taken and not handed out yet.
    batch: Vec<Arc<Event>>,
    /// When the events that are gathered are handed out.
    due: Option<Instant>,
}

impl Subscription {
    /// The next batch of at most 256 events, or a snapshot where the reader fell behind; `None`
    /// once the engine is gone. Nothing is lost where it is dropped.
    pub async fn recv(&mut self) -> Option<Update> {
        if self.batch.is_empty() && self.receiver.recv_many(&mut self.batch, BATCH).await == 0 {
            return None;
        }
        Some(self.hand_out())
    }

    /// As [`Self::recv`], but what comes within this time after the first event comes with it: who
    /// emits wakes a reader that gathers once, and not with every event.
    pub async fn recv_together(&mut self, within: Duration) -> Option<Update> {
        if self.batch.is_empty() && self.receiver.recv_many(&mut self.batch, 1).await == 0 {
            return None;
        }
        let due = *self.due.get_or_insert_with(|| Instant::now() + within);
        sleep_until(due).await;
        while self.batch.len() < CAPACITY
            && let Ok(event) = self.receiver.try_recv()
        {
            self.batch.push(event);
        }
        Some(self.hand_out())
    }

    /// Number of the last event that was said to anybody.
    pub fn said(&self) -> u64 {
        self.bus.with_view(|view| view.seq)
    }

    fn hand_out(&mut self) -> Update {
        self.due = None;
        let batch = std::mem::take(&mut self.batch);
        if self
            .lagged
            .swap(false, std::sync::atomic::Ordering::Relaxed)
        {
            // Everything that is still queued is older than the snapshot.
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
    async fn a_reader_gets_every_event_after_its_snapshot() {
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
    async fn a_reader_that_falls_behind_starts_again_from_a_snapshot() {
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

    /// As many as are told at once where a large deploy begins, or is not attempted.
    #[tokio::test(start_paused = true)]
    async fn a_reader_that_gathers_loses_nothing_of_fifty_thousand_events_at_once() {
        let bus = Bus::default();
        let (_, mut events) = bus.subscribe();
        (0..50_000).for_each(|n| bus.emit(notice(n)));
        let within = Duration::from_millis(50);
        let Some(Update::Events(all)) = events.recv_together(within).await else {
            panic!("expected events")
        };
        assert_eq!((all.len(), bus.missed()), (50_000, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_gathers_is_woken_once_and_loses_nothing_where_it_gives_up_waiting() {
        let bus = Bus::default();
        let (_, mut events) = bus.subscribe();
        let within = Duration::from_millis(20);
        bus.emit(notice(0));
        // It waits for more, and is dropped meanwhile.
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

    /// How often somebody was woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
