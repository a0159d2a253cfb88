//! Checks of a resource type against the protocol's rules: one object through its life, with the
//! rules of stages and deploys. Works on values through the trait `Provider`; launches nothing.

mod arguments;
mod cancel;
mod compare;
mod create;
mod destroy;
mod protection;
mod records;
mod steps;
mod update;
mod vary;

use crate::stage::managed::Prior;
use calls::CallContext;
pub use cancel::cancel;
pub(crate) use compare::shown;
use conform::{Check, Leftover, RULES, Status, TypeReport};
pub use create::id_of;
use cty::Value;
use cty::schema::Schema;
pub use destroy::{clean_up, destroy_recorded};
use provider::{Provider, ProviderSchema};
pub use records::{ObjectRecord, Records, RunRecord};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Resource type to check.
pub struct Subject<'a> {
    /// Configured provider.
    pub provider: &'a dyn Provider,
    pub schemas: &'a ProviderSchema,
    pub type_name: &'a str,
    pub config: Value,
    /// True if the operator gave the configuration; otherwise it is the starter.
    pub is_given: bool,
    /// Prefix of new texts.
    pub prefix: &'a str,
    /// True to create an object; false to stop after planning.
    pub creates: bool,
    /// Deadline of each call.
    pub call_deadline: Duration,
    /// End of the whole run.
    pub ends: Instant,
    pub stop: &'a CancellationToken,
    /// Records of the created objects.
    pub records: &'a Records,
}

/// Result of the checks of a type.
pub struct Checked {
    pub report: TypeReport,
    /// Object that still exists.
    pub object: Option<Prior>,
    /// Number of its record.
    pub record: Option<u64>,
    /// Duration of the create, if it has passed.
    pub created_in: Option<Duration>,
    /// Objects that may exist although no answer has them.
    pub leftovers: Vec<Leftover>,
}

/// Checks of one type while they run.
struct TypeRun<'a> {
    subject: Subject<'a>,
    schema: &'a Schema,
    /// Configuration of the object.
    config: Value,
    checks: Vec<Check>,
    object: Option<Prior>,
    record: Option<u64>,
    /// Object that was replaced with its record, until a destroy is proven.
    replaced: Option<(Prior, Option<u64>)>,
    created_in: Option<Duration>,
    leftovers: Vec<Leftover>,
    /// Reason for all checks that are not made.
    reason: String,
}

/// Checks a type. Returns `None` if the provider has no such type.
pub async fn check(subject: Subject<'_>) -> Option<Checked> {
    let mut run = TypeRun::new(subject)?;
    run.life().await;
    Some(run.finish())
}

/// Returns the reason that no further step of a run may begin, if there is one.
pub fn end_reason(stop: &CancellationToken, ends: Instant) -> Option<&'static str> {
    match stop.is_cancelled() {
        true => Some("the run was interrupted"),
        false if Instant::now() >= ends => Some("the deadline of the run has passed"),
        false => None,
    }
}

/// Returns the report of a type without any check.
pub fn skipped(type_name: &str, why: &str) -> TypeReport {
    let mut report = TypeReport {
        type_name: type_name.to_owned(),
        ..TypeReport::default()
    };
    complete(&mut report.checks, why);
    report
}

/// Adds the checks of a type that were not made.
fn complete(checks: &mut Vec<Check>, why: &str) {
    let of_type = RULES.iter().filter(|rule| rule.of_type);
    for rule in of_type {
        // One rule covers all updates, whose ids have the attribute after a colon.
        let is_made = |check: &Check| check.id.split(':').next() == Some(rule.id);
        if !checks.iter().any(is_made) {
            checks.push(Check::new(rule.id, Status::Skipped, why));
        }
    }
    let place = |check: &Check| {
        let id = check.id.split(':').next();
        RULES.iter().position(|rule| Some(rule.id) == id)
    };
    // Stable, so that updates stay in the order of their attributes.
    checks.sort_by_key(place);
}

impl<'a> TypeRun<'a> {
    fn new(subject: Subject<'a>) -> Option<Self> {
        Some(Self {
            config: subject.config.clone(),
            schema: subject.schemas.resources.get(subject.type_name)?,
            subject,
            checks: Vec::new(),
            object: None,
            record: None,
            replaced: None,
            created_in: None,
            leftovers: Vec::new(),
            reason: String::new(),
        })
    }

    async fn life(&mut self) {
        if !self.validate().await {
            return;
        }
        let Some(planned) = self.plan_create().await else {
            return;
        };
        if !self.subject.creates {
            self.because("only planned: allow the creation of objects with --yes");
            return;
        }
        if self.create(planned).await {
            self.read().await;
            self.no_op_plan().await;
            self.import().await;
            self.updates().await;
            self.replace().await;
        }
        // A failed create may leave an object, too, which must be destroyed.
        self.destroy().await;
    }

    fn finish(mut self) -> Checked {
        complete(&mut self.checks, &self.reason);
        self.into_checked()
    }

    fn into_checked(self) -> Checked {
        Checked {
            report: TypeReport {
                type_name: self.subject.type_name.to_owned(),
                checks: self.checks,
            },
            object: self.object,
            record: self.record,
            created_in: self.created_in,
            leftovers: self.leftovers,
        }
    }

    fn pass(&mut self, id: impl Into<String>, evidence: impl AsRef<str>) {
        self.checks.push(Check::new(id, Status::Pass, evidence));
    }

    fn fail(&mut self, id: impl Into<String>, evidence: impl AsRef<str>) {
        if self.is_over() {
            // The interruption may be the cause.
            let why = self.reason.clone();
            return self.skip(id, why);
        }
        self.checks.push(Check::new(id, Status::Fail, evidence));
    }

    fn skip(&mut self, id: impl Into<String>, why: impl AsRef<str>) {
        self.checks.push(Check::new(id, Status::Skipped, why));
    }

    /// Records the result of a check: the evidence of a pass, or that of a failure.
    fn result(&mut self, id: impl Into<String>, result: Result<String, String>) -> bool {
        match result {
            Ok(evidence) => self.pass(id, evidence),
            Err(evidence) => {
                self.fail(id, evidence);
                return false;
            }
        }
        true
    }

    /// Sets the reason for the checks that are not made from here on; the first one stays.
    fn because(&mut self, why: &str) {
        if self.reason.is_empty() {
            why.clone_into(&mut self.reason);
        }
    }

    /// Returns true if no further step may begin, and sets the reason.
    fn is_over(&mut self) -> bool {
        let Some(why) = end_reason(self.subject.stop, self.subject.ends) else {
            return false;
        };
        self.because(why);
        true
    }

    /// Context of a call.
    fn context(&self) -> CallContext {
        let address: Arc<str> = format!("{}.conform", self.subject.type_name).into();
        CallContext {
            deadline: Some(self.subject.call_deadline),
            ..CallContext::for_resource(address, self.subject.stop)
        }
    }
}
