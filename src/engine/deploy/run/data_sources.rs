//! Reads data sources during a deploy, also those of checks.

use super::deploying::Deploying;
use super::instances::Subject;
use super::operation_error::OperationError;
use super::outcome::StoredOutcome;
use crate::stage::cell::Cell;
use crate::stage::change::Change;
use crate::stage::managed::{self};
use crate::stage::needs::Needs;
use crate::stage::walk::{call_failed, placed};
use calls::CallContext;
use cty::Value;
use model::*;
use std::sync::Arc;

impl Deploying {
    /// Reads a data source and stores the result.
    pub(super) async fn read(&self, change: &Change) -> Result<(), Box<OperationError>> {
        let subject = self.subject(change, "data source")?;
        let (config, _) = self.evaluated_config(&subject)?;
        let (plain, marks) = config.unmark_deep_with_paths();
        if !plain.is_wholly_known() {
            return Err(OperationError::text(
                "The configuration still contains unknown values.",
            ));
        }
        let ctx = self.context(change, false);
        let work = ObjectWork::Apply(Action::Read);
        let follow = |phase, value| {
            self.walk
                .report_step(&change.address, work.clone(), phase, value)
        };
        follow(ObjectPhase::Begun, None);
        let (state, was_read) = match &subject.resource.check {
            None => {
                let answer = subject
                    .provider
                    .read_data(&change.address.resource.kind, plain, &ctx)
                    .await?;
                self.check_provider_diagnostics(&answer.diagnostics, change, subject.resource)?;
                (answer.state, true)
            }
            Some(check) => self.read_for_check(&subject, check, plain, &ctx).await,
        };
        let value = managed::mark(subject.schema, state, &marks);
        if was_read {
            follow(ObjectPhase::Ended, Some(&value));
        }
        // Data sources have no destroy order, so the state stores no dependencies for them.
        let none = Change {
            dependencies: Arc::default(),
            needs: Needs::new(),
            ..change.clone()
        };
        let kept = StoredOutcome {
            value: &value,
            private: &[],
            identity: None,
            step: Some(OperationStep::Read),
        };
        self.store_unchanged(&none, subject.schema, kept).await?;
        self.postconditions(&subject, value)
    }

    /// Reads the data source of a check, whose errors fail the check but not the deploy. Returns
    /// the value, and true if it was read.
    async fn read_for_check(
        &self,
        subject: &Subject<'_>,
        check: &str,
        plain: Value,
        ctx: &CallContext,
    ) -> (Value, bool) {
        let Subject {
            change, resource, ..
        } = *subject;
        let text = change.address.to_string();
        let span = Some(resource.span);
        let (said, state) = match subject
            .provider
            .read_data(&change.address.resource.kind, plain.clone(), ctx)
            .await
        {
            Err(error) => (call_failed(&error, &text, span).into(), None),
            Ok(answer) => (
                placed(&answer.diagnostics, &text, Some(&resource.body), span),
                Some(answer.state),
            ),
        };
        let mut cell = Cell::default();
        let good = self
            .walk
            .report_of_check(check, &change.address, said, &mut cell);
        self.publish_cell(change, cell);
        // An unread data source is stored with its configuration.
        let read = state.filter(|_| good);
        let was_read = read.is_some();
        (read.unwrap_or(plain), was_read)
    }
}
