//! Why an operation did not succeed, and what is said and kept of it.

use super::*;
use crate::engine::deploy::class::class_of;

impl Deploying {
    /// Says something of an operation.
    pub(super) fn say(&self, change: &Change, diags: impl Into<Diagnostics>) {
        self.walk.cells.beside(self.place(change), diags);
    }

    /// Keeps what became of a part of an operation.
    pub(super) fn of_operation(&self, change: &Change, mut cell: Cell) {
        let said = std::mem::take(&mut cell.diags);
        self.say(change, said);
        self.walk.absorb(self.place(change), cell);
    }

    /// What is said of operations comes after what is said of nodes, in the order of the changes.
    fn place(&self, change: &Change) -> Step {
        self.walk.nodes.nodes.len() + self.places.get(&change.id()).copied().unwrap_or(self.stage.changes.len())
    }

    /// Errors among what a provider said end the operation; warnings are kept.
    pub(super) fn said(&self, said: &[ProviderDiagnostic], change: &Change, resource: &Resource) -> Result<(), Box<Trouble>> {
        if !said.iter().any(|d| d.severity == Severity::Error) {
            self.say(change, placed(said, &change.address.to_string(), Some(&resource.body), Some(resource.span)));
            return Ok(());
        }
        let failed = Failed { class: class_of(said), diagnostics: said.to_vec(), error: None, unknown: false };
        Err(Box::new(Trouble { failed: Some(failed), diags: Diagnostics::new(), method: None, unknown: false, class: None }))
    }

    /// What cannot be written down is not done: nothing more starts, this neither.
    pub(super) fn store_trouble(&self, error: StoreError) -> Box<Trouble> {
        if !self.store_failed.swap(true, Ordering::Relaxed) {
            self.walk.cells.beside(AT_THE_END, Diagnostic::error("The deploy cannot be written down", error.to_string()));
        }
        Trouble::not_begun()
    }

    /// The call was made, and what came of it is not on record.
    pub(super) fn outcome_trouble(&self, error: StoreError) -> Box<Trouble> {
        self.store_failed.store(true, Ordering::Relaxed);
        let said = ProviderDiagnostic::error("Its outcome cannot be written down", error.to_string());
        let failed = Failed { class: FailureClass::Unexpected, diagnostics: vec![said], error: None, unknown: true };
        Box::new(Trouble { failed: Some(failed), diags: Diagnostics::new(), method: None, unknown: true, class: None })
    }

    /// Records a failed operation and reports it at its place.
    pub(super) async fn fail(&self, change: &Change, trouble: Trouble) {
        let id = change.id();
        if trouble.failed.is_none() && trouble.diags.is_empty() {
            self.recorder.not_begun(&id).await;
            return;
        }
        let declared = self.declared(&change.address.config()).map(|(_, r)| (r.span, r.body.clone()));
        let plugin = self.walk.ready(&change.provider).map(|p| p.info().plugin.clone());
        let failure = trouble.failure(change, plugin.as_ref(), self.stops.all.is_cancelled());
        let span = declared.as_ref().map(|d| d.0);
        match &trouble.failed {
            Some(failed) if failed.error.is_none() => {
                self.say(change, placed(&failed.diagnostics, &id, declared.as_ref().map(|d| &d.1), span));
            }
            Some(_) => {
                let mut d = Diagnostic::error(&failure.summary, failure.detail.clone()).about(id.as_str());
                d.subject = span;
                self.say(change, d);
            }
            None => {
                let mut diags = trouble.diags;
                for d in &mut diags.0 {
                    d.address.get_or_insert_with(|| id.clone());
                    d.subject = d.subject.or(span);
                }
                self.say(change, diags);
            }
        }
        let gone = !lock(&self.state).contains_key(&change.address);
        self.recorder.failed(&id, failure, trouble.unknown, gone).await;
    }
}
