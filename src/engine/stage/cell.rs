//! What became of a node: all that others may know of it, as a value. Working out a node reads
//! cells and values that are there and makes one cell; only [`Cells::absorb`] lets others see it.
//! What a walk has to say comes out in the order of its nodes, whichever was worked out first.

use super::change::{Change, Drift};
use super::checked::{self, At, Checked};
use super::conditions::{Status, Statuses};
use super::scope::Surroundings;
use super::values::Worked;
use super::walk::{call_failed, placed};
use crate::engine::calls::{ProviderDiagnostic, ProviderError};
use crate::engine::graph::Step;
use crate::engine::mutex::lock;
use crate::engine::provider::{Provider, Signatures};
use crate::engine::store::model::StateEdit;
use crate::engine::words::ConfigKey;
use lang::addr::{AbsResource, InstanceKey};
use lang::body::Body;
use lang::diag::Diagnostics;
use lang::source::Span;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex};

/// How many of the newest diagnostics a new one is compared with.
const COMPARED: usize = 64;

/// A provider that was given its configuration.
#[derive(Clone)]
pub struct Ready {
    pub key: ConfigKey,
    pub provider: Arc<dyn Provider>,
    /// The functions that it has by that, where the configuration calls such.
    pub functions: Signatures,
}

/// What became of one node.
#[derive(Default)]
pub struct Cell {
    /// Nothing that needs it can be worked out.
    pub failed: bool,
    /// What others see where they refer to it.
    pub values: Vec<Worked>,
    /// Provider configurations that it has made ready.
    pub ready: Vec<Ready>,
    /// Data sources of checks that could not be read.
    pub unread: Vec<AbsResource>,
    /// Keys of the instances that are declared.
    pub expansions: BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    pub changes: Vec<Change>,
    pub drift: Vec<Drift>,
    pub edits: Vec<StateEdit>,
    pub statuses: Statuses,
    pub checked: Checked,
    pub diags: Diagnostics,
}

impl Cell {
    /// Notes how a condition of what this text names stands, and what was said of it.
    pub fn note(&mut self, at: &At, rest: &str, status: Status, said: &Diagnostics) {
        self.statuses.note(&at.object(rest), status);
        self.checked
            .note(at, rest, status, checked::problem(status, said));
    }

    /// Keeps diagnostics; answers whether none of them is an error.
    pub fn report(&mut self, diags: impl Into<Diagnostics>) -> bool {
        let diags = diags.into();
        let good = !diags.has_errors();
        say(&mut self.diags, diags);
        good
    }

    /// Keeps what a provider said; places it at the argument it is about where that can be found.
    pub fn report_provider(
        &mut self,
        said: &[ProviderDiagnostic],
        address: &dyn Display,
        body: Option<&Body>,
        span: Option<Span>,
    ) -> bool {
        self.report(placed(said, address, body, span))
    }

    /// Keeps the failure of a call.
    pub fn report_call(
        &mut self,
        error: &ProviderError,
        address: &dyn Display,
        span: Option<Span>,
    ) -> bool {
        self.report(call_failed(error, address, span))
    }

    /// Adds what became of a part of the node.
    pub fn append(&mut self, part: Self) {
        self.failed |= part.failed;
        self.values.extend(part.values);
        self.ready.extend(part.ready);
        self.unread.extend(part.unread);
        self.expansions.extend(part.expansions);
        self.changes.extend(part.changes);
        self.drift.extend(part.drift);
        self.edits.extend(part.edits);
        part.statuses
            .0
            .into_iter()
            .for_each(|(object, status)| self.statuses.note(&object, status));
        self.checked.append(part.checked);
        say(&mut self.diags, part.diags);
    }

    /// The cell of a node that was worked out well, or not.
    #[must_use]
    pub fn ended(mut self, good: bool) -> Self {
        self.failed |= !good;
        self
    }
}

/// Several instances of one thing say the same right after each other; who has very many to say has
/// them at very many places, and is not compared with all of them.
fn say(all: &mut Diagnostics, more: Diagnostics) {
    for d in more {
        let from = all.len().saturating_sub(COMPARED);
        if !all.0[from..].contains(&d) {
            all.push(d);
        }
    }
}

/// The cells of one walk, by the step that each was worked out in.
#[derive(Default)]
pub struct Cells {
    absorbed: Mutex<BTreeMap<Step, Arc<Cell>>>,
    ready: Mutex<HashMap<ConfigKey, Arc<dyn Provider>>>,
    unread: Mutex<HashSet<AbsResource>>,
    /// Said of a step beside its cell: of what it has opened.
    beside: Mutex<BTreeMap<Step, Diagnostics>>,
}

/// All cells of a walk together.
#[derive(Default)]
pub struct Gathered {
    pub changes: Vec<(Step, Change)>,
    pub drift: Vec<Drift>,
    pub edits: Vec<StateEdit>,
    pub statuses: Statuses,
    pub checked: Checked,
    pub expansions: BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    pub diags: Diagnostics,
}

impl Cells {
    /// The one place where what became of a node is seen by others. Answers whether it was worked
    /// out well.
    pub fn absorb(&self, step: Step, mut cell: Cell, around: &Surroundings) -> bool {
        let good = !cell.failed;
        around.values.absorb(std::mem::take(&mut cell.values));
        for ready in std::mem::take(&mut cell.ready) {
            let (key, provider) = (ready.key, ready.provider);
            lock(&self.ready).insert(key.clone(), provider.clone());
            around.functions.configured(key, provider, ready.functions);
        }
        lock(&self.unread).extend(std::mem::take(&mut cell.unread));
        lock(&self.absorbed).insert(step, Arc::new(cell));
        good
    }

    /// Keeps what is said of a step beside its cell.
    pub fn beside(&self, step: Step, diags: impl Into<Diagnostics>) {
        say(lock(&self.beside).entry(step).or_default(), diags.into());
    }

    /// What became of a step, if it was worked out.
    pub fn of(&self, step: Step) -> Option<Arc<Cell>> {
        lock(&self.absorbed).get(&step).cloned()
    }

    /// The process of a provider configuration that was made ready.
    pub fn ready(&self, key: &ConfigKey) -> Option<Arc<dyn Provider>> {
        lock(&self.ready).get(key).cloned()
    }

    /// Whether the data source of a check could not be read.
    pub fn is_unread(&self, resource: &AbsResource) -> bool {
        lock(&self.unread).contains(resource)
    }

    /// Whether an error was said of any step.
    pub fn has_errors(&self) -> bool {
        lock(&self.absorbed)
            .values()
            .any(|cell| cell.diags.has_errors())
            || lock(&self.beside).values().any(Diagnostics::has_errors)
    }

    /// Everything in the order of the steps given; what is left, by number.
    pub fn gather(&self, order: impl IntoIterator<Item = Step>) -> Gathered {
        let mut cells = std::mem::take(&mut *lock(&self.absorbed));
        let mut beside = std::mem::take(&mut *lock(&self.beside));
        let mut all = Gathered::default();
        let ordered: Vec<Step> = order.into_iter().collect();
        let known: HashSet<Step> = ordered.iter().copied().collect();
        let rest: BTreeSet<Step> = cells
            .keys()
            .chain(beside.keys())
            .copied()
            .filter(|s| !known.contains(s))
            .collect();
        for step in ordered.into_iter().chain(rest) {
            if let Some(cell) = cells.remove(&step).and_then(Arc::into_inner) {
                all.changes
                    .extend(cell.changes.into_iter().map(|change| (step, change)));
                all.drift.extend(cell.drift);
                all.edits.extend(cell.edits);
                cell.statuses
                    .0
                    .into_iter()
                    .for_each(|(object, status)| all.statuses.note(&object, status));
                all.checked.append(cell.checked);
                all.expansions.extend(cell.expansions);
                say(&mut all.diags, cell.diags);
            }
            say(&mut all.diags, beside.remove(&step).unwrap_or_default());
        }
        all
    }
}
