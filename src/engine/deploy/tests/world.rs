//! Script of a fake provider, the list of its calls with the store's records at that moment, and
//! requests of an operator about a rollout.

use crate::deploy::run::{Stops, parse_rollout};
use calls::GrpcCode;
use model::mutex::lock;
use model::*;
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::Store;
use store::records::{LeaderLease, RolloutRecord, RolloutRequestRecord};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Effect of a call, in place of or before its ordinary answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Effect {
    /// An operator goes to a rung of the cancel ladder while the call runs.
    Cancel(CancelRung),
    /// The answer comes only after this call has started.
    Await(&'static str),
    /// An operator makes a request about the rollout, such as `pause` or `skip 1`, and has an
    /// answer before the call has one.
    Ask(&'static str),
    /// Requests one after the other while the deploy goes on, each at a state of the rollout:
    /// `resume when 0 done`, `skip 1 when waiting for health`.
    AskLater(&'static [&'static str]),
    /// The store's file is removed while the call runs.
    LoseStore,
    /// Another process takes over the lead of the reconcile loop.
    LoseLead,
    /// The answer is an error, without an object.
    Refuse,
    /// The answer is an error with this text, without an object.
    RefuseWith(&'static str),
    /// The answer is an error, with an object.
    Incomplete,
    /// The answer has neither an object nor an error.
    Vanish,
    /// The object of a destroy remains, without an error.
    Remain,
    /// An attribute that an update may change stays the same.
    Keep,
    /// A value of the answer differs from the plan.
    Differ,
    /// A value of the answer is unknown.
    Unknown,
    /// The call fails with a gRPC status.
    Status(GrpcCode),
    /// The process crashes.
    Crash,
    /// The connection ends.
    Disconnect,
    /// The process is killed by an order.
    Kill,
    /// The call was cancelled before it was sent.
    Unsent,
    /// The answer cannot be decoded.
    Garble,
    /// The lease must be renewed.
    Renew,
    /// This many attempts fail temporarily.
    Transient(u32),
}

/// Script of the calls, such as `create a`.
pub(super) type Script = &'static [(&'static str, &'static [Effect])];

/// Call that the provider got.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: String,
    /// Records of the store when the call came.
    pub(super) records: String,
}

/// Objects and calls of the provider.
pub(super) struct World {
    calls: Mutex<Vec<Call>>,
    script: Mutex<Script>,
    started: watch::Sender<Vec<String>>,
    /// Number of objects ever created, by name.
    created: Mutex<std::collections::HashMap<String, u32>>,
    store: PathBuf,
    stops: Mutex<Option<(Stops, CancellationToken)>>,
    operator: Operator,
}

impl World {
    pub(super) fn new(store: PathBuf, operator: Operator) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            script: Mutex::new(&[]),
            started: watch::channel(Vec::new()).0,
            created: Mutex::default(),
            store,
            stops: Mutex::default(),
            operator,
        })
    }

    /// Begins a deploy with its script.
    pub(super) fn begin(&self, script: Script, stops: &Stops, kill: &CancellationToken) {
        lock(&self.calls).clear();
        self.started.send_replace(Vec::new());
        *lock(&self.script) = script;
        *lock(&self.stops) = Some((stops.clone(), kill.clone()));
        lock(&self.operator.answers).clear();
    }

    /// Returns the answers to the requests of the operator, who reads the last one after the end of
    /// the deploy.
    pub(super) async fn answers(&self) -> String {
        let tasks = &self.operator.tasks;
        tasks.close();
        // A request without an answer is missing in the result.
        drop(tokio::time::timeout(Duration::from_secs(10), tasks.wait()).await);
        tasks.reopen();
        lock(&self.operator.answers).join(", ")
    }

    /// Returns the calls, and ends the script.
    pub(super) fn end(&self) -> Vec<Call> {
        *lock(&self.script) = &[];
        std::mem::take(&mut *lock(&self.calls))
    }

    /// Records of the newest deploy, in order: `create a ok, create b open`. Read through a
    /// connection of its own, which sees only committed ones.
    pub(super) fn records(&self) -> String {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let Ok(store) = Connection::open_with_flags(&self.store, flags) else {
            return "no store".to_owned();
        };
        let mut query = store
            .prepare(
                "SELECT step, address, deposed, ok FROM intent
                 WHERE deploy = (SELECT max(id) FROM deploy) ORDER BY id",
            )
            .unwrap();
        let rows = query.query_map([], |row| {
            let (step, address): (String, String) = (row.get(0)?, row.get(1)?);
            let deposed: String = row.get(2)?;
            let end = match row.get::<_, Option<bool>>(3)? {
                Some(true) => "ok",
                Some(false) => "failed",
                None => "open",
            };
            let old = if deposed.is_empty() { "" } else { " (deposed)" };
            Ok(format!("{step} {}{old} {end}", short(&address)))
        });
        let rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        rows.join(", ")
    }

    pub(super) fn effects(&self, call: &str) -> &'static [Effect] {
        let script = *lock(&self.script);
        script
            .iter()
            .find(|(name, _)| *name == call)
            .map_or(&[], |(_, effects)| effects)
    }

    /// Lists a call and applies the effects that come before the answer.
    pub(super) async fn start(&self, name: &str, effects: &[Effect]) {
        let records = self.records();
        lock(&self.calls).push(Call {
            name: name.to_owned(),
            records,
        });
        self.started.send_modify(|all| all.push(name.to_owned()));
        for effect in effects {
            match effect {
                Effect::Cancel(rung) => self.cancel(*rung),
                Effect::Await(other) => {
                    let mut started = self.started.subscribe();
                    let seen = started.wait_for(|all| all.iter().any(|one| one == other));
                    seen.await.unwrap();
                }
                Effect::Ask(request) => self.operator.ask(request).await,
                Effect::AskLater(requests) => {
                    let (operator, requests) = (self.operator.clone(), *requests);
                    self.operator.tasks.spawn(async move {
                        for request in requests {
                            operator.ask(request).await;
                        }
                    });
                }
                Effect::LoseLead => self.operator.lead("other", 2).await,
                Effect::LoseStore => {
                    std::fs::remove_dir_all(self.store.parent().unwrap()).unwrap();
                }
                _ => {}
            }
        }
    }

    /// Cancels the tokens that the rung cancels; see `operations::deploying`.
    fn cancel(&self, rung: CancelRung) {
        let stops = lock(&self.stops);
        let (stops, kill) = stops.as_ref().unwrap();
        stops.starting.cancel();
        if rung >= CancelRung::AskPlugins {
            stops.all.cancel();
        }
        if rung >= CancelRung::EndCommands {
            stops.commands.cancel();
        }
        if rung == CancelRung::KillPlugins {
            kill.cancel();
        }
    }

    pub(super) fn new_id(&self, name: &str) -> String {
        let mut created = lock(&self.created);
        let number = created.entry(name.to_owned()).or_default();
        *number += 1;
        format!("{name}{number}")
    }
}

/// Operator who makes requests about the rollout of the deploy.
#[derive(Clone)]
pub(super) struct Operator {
    pub(super) store: Store,
    /// Notified with each request.
    pub(super) stored: Arc<Notify>,
    /// Requests with their answers: `pause ok`, `skip 9 refused`.
    answers: Arc<Mutex<Vec<String>>>,
    tasks: TaskTracker,
}

impl Operator {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            stored: Arc::default(),
            answers: Arc::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Makes a process the leader of the reconcile loop.
    pub(super) async fn lead(&self, owner: &str, token: i64) {
        let lease = self.store.leader().await.unwrap();
        let next = LeaderLease {
            owner: owner.to_owned(),
            token,
            expires: now_ms() + 60_000,
        };
        assert!(self.store.swap_leader(lease, next).await.unwrap());
    }

    /// Makes a request in the state that it names, and waits for the answer.
    async fn ask(&self, request: &str) {
        let (request, state) = request.split_once(" when ").unwrap_or((request, ""));
        let (verb, member) = request.split_once(' ').unwrap_or((request, ""));
        let rollout = loop {
            let newest = self.store.rollouts(None, 1).await.unwrap();
            match newest.first() {
                Some(found) if rollout(found).contains(state) => break found.id,
                _ => tokio::time::sleep(LOOK_INTERVAL).await,
            }
        };
        let asked = RolloutRequestRecord {
            id: 0,
            rollout: rollout.unwrap(),
            verb: verb.to_owned(),
            member: (!member.is_empty()).then(|| member.to_owned()),
            who: "user".to_owned(),
            requested: now_ms(),
            answered: None,
            refusal: None,
        };
        let id = self.store.put_rollout_request(asked).await.unwrap();
        self.stored.notify_one();
        let refusal = loop {
            let asked = self.store.rollout_request(id).await.unwrap().unwrap();
            match asked.answered {
                Some(_) => break asked.refusal,
                None => tokio::time::sleep(LOOK_INTERVAL).await,
            }
        };
        let answer = match refusal {
            None => "ok".to_owned(),
            Some(why) => format!("refused ({why})"),
        };
        lock(&self.answers).push(format!("{request} {answer}"));
    }
}

/// Interval of looks at the store, which has no events for other processes.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Name of a resource without its type: `a`, `b (deposed)`.
pub(super) fn short(address: &str) -> String {
    let name = address
        .replace("fake_thing.", "")
        .replace("ephemeral.fake_lease.", "");
    match name.split_once(" (deposed") {
        Some((name, _)) => format!("{name} (deposed)"),
        None => name,
    }
}

/// End of a rollout: `converged: 0 done, 1 done`.
pub(super) fn rollout(record: &RolloutRecord) -> String {
    let rollout = parse_rollout(record).expect("a rollout");
    let step = |step: &group::rollout::Step| {
        let state = format!("{:?}", step.state).to_lowercase();
        format!(
            "{} {}",
            step.member,
            state.replace('(', " ").replace(')', "")
        )
    };
    let steps: Vec<String> = rollout.steps().iter().map(step).collect();
    format!("{}: {}", rollout.state(), steps.join(", "))
}
