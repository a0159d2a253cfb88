//! Cells: results of graph nodes. The evaluation of a node reads published cells and returns one
//! new [`Cell`], which only [`Cells::publish`] publishes. Diagnostics come out in graph order, not
//! in the order of evaluation.

use super::change::{Change, Drift, ObjectRead};
use super::checked::{self, At, Checked};
use super::conditions::{Status, Statuses};
use super::scope::WalkContext;
use super::values::PublishedValue;
use super::walk::{call_failed, placed};
use calls::{ProviderDiagnostic, ProviderError};
use graph::Step;
use lang::addr::{AbsResource, InstanceKey};
use lang::body::Body;
use lang::diag::Diagnostics;
use lang::source::Span;
use model::ConfigKey;
use model::mutex::lock;
use provider::{Provider, Signatures};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use store::records::StateEdit;

/// Number of the newest diagnostics that a new one is compared with.
const COMPARED: usize = 64;

/// Configured provider.
#[derive(Clone)]
pub struct Ready {
    pub key: ConfigKey,
    pub provider: Arc<dyn Provider>,
    /// Functions of the configured provider, if the configuration calls any.
    pub functions: Signatures,
}

/// Result of the evaluation of one node.
#[derive(Default)]
pub struct Cell {
    /// Dependents are not evaluated.
    pub failed: bool,
    /// Values that references to the node see.
    pub values: Vec<PublishedValue>,
    /// Provider configurations that the node has configured.
    pub ready: Vec<Ready>,
    /// Data sources of checks that failed to read.
    pub failed_reads: Vec<AbsResource>,
    /// Instance keys that the configuration declares.
    pub expansions: BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    pub changes: Vec<Change>,
    pub drift: Vec<Drift>,
    pub reads: Vec<ObjectRead>,
    pub edits: Vec<StateEdit>,
    pub statuses: Statuses,
    pub checked: Checked,
    pub diags: Diagnostics,
}

impl Cell {
    /// Records the status of a condition of an object and its failure messages.
    pub fn record_condition(&mut self, at: &At, rest: &str, status: Status, said: &Diagnostics) {
        self.statuses.record(&at.object(rest), status);
        self.checked
            .record_condition(at, rest, status, checked::problem(status, said));
    }

    /// Adds diagnostics; returns true if none of them is an error.
    pub fn report(&mut self, diags: impl Into<Diagnostics>) -> bool {
        let diags = diags.into();
        let good = !diags.has_errors();
        add_distinct(&mut self.diags, diags);
        good
    }

    /// Adds a provider's diagnostics, placed at the argument that they name if it can be found.
    pub fn report_provider(
        &mut self,
        said: &[ProviderDiagnostic],
        address: &dyn Display,
        body: Option<&Body>,
        span: Option<Span>,
    ) -> bool {
        self.report(placed(said, address, body, span))
    }

    /// Adds the failure of a call.
    pub fn report_call(
        &mut self,
        error: &ProviderError,
        address: &dyn Display,
        span: Option<Span>,
    ) -> bool {
        self.report(call_failed(error, address, span))
    }

    /// Merges the cell of a part of the node.
    pub fn append(&mut self, part: Self) {
        self.failed |= part.failed;
        self.values.extend(part.values);
        self.ready.extend(part.ready);
        self.failed_reads.extend(part.failed_reads);
        self.expansions.extend(part.expansions);
        self.changes.extend(part.changes);
        self.drift.extend(part.drift);
        self.reads.extend(part.reads);
        self.edits.extend(part.edits);
        part.statuses
            .0
            .into_iter()
            .for_each(|(object, status)| self.statuses.record(&object, status));
        self.checked.append(part.checked);
        add_distinct(&mut self.diags, part.diags);
    }

    /// Marks the cell as failed unless `good`.
    #[must_use]
    pub fn failed_unless(mut self, good: bool) -> Self {
        self.failed |= !good;
        self
    }
}

/// Adds diagnostics without repetitions. Instances of one block repeat a diagnostic right after
/// each other, so it is enough to compare with the newest ones; this bounds the cost.
fn add_distinct(all: &mut Diagnostics, more: Diagnostics) {
    for d in more {
        let from = all.len().saturating_sub(COMPARED);
        if !all.0[from..].contains(&d) {
            all.push(d);
        }
    }
}

/// Published results of one walk, by step and, in a deploy, part of the module instances.
#[derive(Default)]
pub struct Cells {
    published: Mutex<BTreeMap<(Step, usize), Arc<Cell>>>,
    ready: Mutex<HashMap<ConfigKey, Arc<dyn Provider>>>,
    failed_reads: Mutex<HashSet<AbsResource>>,
    /// Diagnostics of a step outside of its cell: those of ephemeral resources that it has opened.
    extra_diagnostics: Mutex<BTreeMap<Step, Diagnostics>>,
}

/// Published results of a walk, merged from the cells of its nodes.
#[derive(Default)]
pub struct MergedCells {
    pub changes: Vec<(Step, Change)>,
    pub drift: Vec<Drift>,
    pub reads: Vec<ObjectRead>,
    pub edits: Vec<StateEdit>,
    pub statuses: Statuses,
    pub checked: Checked,
    pub expansions: BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    pub diags: Diagnostics,
}

impl Cells {
    /// Publishes the result of a node; nothing else does. Returns true if the node succeeded.
    pub fn publish(&self, part: (Step, usize), mut cell: Cell, around: &WalkContext) -> bool {
        let good = !cell.failed;
        // Values and providers are published before the cell, whose presence says that the step is
        // complete.
        around.values.publish(std::mem::take(&mut cell.values));
        for ready in std::mem::take(&mut cell.ready) {
            let (key, provider) = (ready.key, ready.provider);
            lock(&self.ready).insert(key.clone(), provider.clone());
            around.functions.configured(key, provider, ready.functions);
        }
        lock(&self.failed_reads).extend(std::mem::take(&mut cell.failed_reads));
        lock(&self.published).insert(part, Arc::new(cell));
        good
    }

    /// Adds diagnostics of a step outside of its cell.
    pub fn add_diagnostics(&self, step: Step, diags: impl Into<Diagnostics>) {
        add_distinct(
            lock(&self.extra_diagnostics).entry(step).or_default(),
            diags.into(),
        );
    }

    /// Returns the result of a step if it was evaluated.
    pub fn of(&self, step: Step) -> Option<Arc<Cell>> {
        lock(&self.published).get(&(step, 0)).cloned()
    }

    /// Returns the provider of a configuration that is ready.
    pub fn ready(&self, key: &ConfigKey) -> Option<Arc<dyn Provider>> {
        lock(&self.ready).get(key).cloned()
    }

    /// Returns true if the data source of a check failed to read.
    pub fn has_failed_read(&self, resource: &AbsResource) -> bool {
        lock(&self.failed_reads).contains(resource)
    }

    /// Returns true if any step has an error.
    pub fn has_errors(&self) -> bool {
        lock(&self.published)
            .values()
            .any(|cell| cell.diags.has_errors())
            || lock(&self.extra_diagnostics)
                .values()
                .any(Diagnostics::has_errors)
    }

    /// Merges all cells in the order given; steps that `order` lacks follow by number.
    pub fn merge_in_order(&self, order: impl IntoIterator<Item = Step>) -> MergedCells {
        let mut cells: BTreeMap<Step, Vec<Arc<Cell>>> = BTreeMap::new();
        for ((step, _), cell) in std::mem::take(&mut *lock(&self.published)) {
            cells.entry(step).or_default().push(cell);
        }
        let mut beside = std::mem::take(&mut *lock(&self.extra_diagnostics));
        let mut all = MergedCells::default();
        let ordered: Vec<Step> = order.into_iter().collect();
        let known: HashSet<Step> = ordered.iter().copied().collect();
        // A deploy also records diagnostics under steps beyond the graph, such as those of
        // operations.
        let rest: BTreeSet<Step> = cells
            .keys()
            .chain(beside.keys())
            .copied()
            .filter(|s| !known.contains(s))
            .collect();
        for step in ordered.into_iter().chain(rest) {
            let parts = cells.remove(&step).into_iter().flatten();
            // Tasks hold cells only during the walk, so `into_inner` succeeds here.
            for cell in parts.filter_map(Arc::into_inner) {
                all.changes
                    .extend(cell.changes.into_iter().map(|change| (step, change)));
                all.drift.extend(cell.drift);
                all.reads.extend(cell.reads);
                all.edits.extend(cell.edits);
                cell.statuses
                    .0
                    .into_iter()
                    .for_each(|(object, status)| all.statuses.record(&object, status));
                all.checked.append(cell.checked);
                all.expansions.extend(cell.expansions);
                add_distinct(&mut all.diags, cell.diags);
            }
            add_distinct(&mut all.diags, beside.remove(&step).unwrap_or_default());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::testing::Unplanned;
    use lang::diag::Diagnostic;

    fn error(text: &str) -> Diagnostic {
        Diagnostic::error(text, "")
    }

    fn summaries(diags: &Diagnostics) -> Vec<String> {
        diags.iter().map(|d| d.summary.to_string()).collect()
    }

    #[test]
    fn diagnostic_is_repeated_only_after_many_others() {
        let mut cell = Cell::default();
        assert!(!cell.report(error("a")));
        assert!(!cell.report(error("a")), "a repetition is an error too");
        assert_eq!(summaries(&cell.diags), ["a"]);
        for n in 0..COMPARED {
            cell.report(Diagnostic::warning(format!("w{n}"), ""));
        }
        cell.report(error("a"));
        assert_eq!(cell.diags.len(), COMPARED + 2);
    }

    #[test]
    fn results_are_merged_in_the_order_of_the_graph() {
        let unplanned = Unplanned::new("locals {}", &[], &[]);
        let context = &unplanned.walk.context;
        let cells = Cells::default();
        // Published in the order in which the steps ended.
        for (step, status) in [(2, Status::Pass), (0, Status::Fail), (1, Status::Unknown)] {
            let mut cell = Cell::default();
            cell.report(error(&format!("step {step}")));
            cell.statuses.record("check.c", status);
            let failed = step == 1;
            let good = cells.publish((step, 0), cell.failed_unless(!failed), context);
            assert_eq!(good, !failed);
        }
        cells.add_diagnostics(0, error("beside"));
        // A deploy has steps beyond the graph.
        cells.add_diagnostics(9, error("operation"));
        assert!(cells.has_errors() && cells.of(2).is_some() && cells.of(9).is_none());
        let all = cells.merge_in_order([1, 0, 2]);
        assert_eq!(
            summaries(&all.diags),
            ["step 1", "step 0", "beside", "step 2", "operation"]
        );
        assert_eq!(all.statuses.0["check.c"], Status::Fail, "the worst counts");
    }

    #[test]
    fn part_of_a_node_fails_the_node() {
        let mut cell = Cell::default();
        cell.append(Cell::default().failed_unless(true));
        assert!(!cell.failed);
        cell.append(Cell::default().failed_unless(false));
        cell.append(Cell::default());
        assert!(cell.failed);
    }
}
