//! Whether what a deploy is about to do is what was approved.

use super::*;

impl Deploying {
    /// What is planned now must be what was approved, with unknown values filled in.
    pub(super) fn as_approved(
        &self,
        change: &Change,
        schema: &Schema,
        provider: &Arc<dyn Provider>,
        config: &Value,
        now: &managed::Planned,
    ) -> Result<(), Box<Trouble>> {
        let approved = change.after.clone().unmark_deep().0;
        let planned = now.after.clone().unmark_deep().0;
        let who = &provider.info().address;
        let mut faults: Vec<String> = Vec::new();
        let becomes = now.action;
        let fits = matches!(
            (change.action, becomes),
            (
                Action::Create | Action::Replace | Action::ReplaceCreateFirst,
                Action::Create
            ) | (Action::Update, Action::Update | Action::NoOp)
        );
        if !fits {
            faults.push(format!(
                "the action was {} and is {} now",
                change.action.word(),
                becomes.word()
            ));
        } else {
            for (path, text) in
                cty::plan::assert_object_compatible(&schema.block, &approved, &planned)
            {
                let marked = || {
                    change
                        .after
                        .hides_at(&path)
                        .or_else(|| now.after.hides_at(&path))
                };
                faults.push(
                    match marked().or_else(|| managed::at_sensitive(schema, &planned, &path)) {
                        Some(path) => format!("{path}: a sensitive value differs"),
                        None => format!("{path}: {text}"),
                    },
                );
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        // Before a provider is blamed: it may have been given something else.
        let given = change.config.as_ref().map(|staged| {
            cty::plan::assert_object_compatible(
                &schema.block,
                &staged.clone().unmark_deep().0,
                config,
            )
        });
        if let Some(given) = given.filter(|g| !g.is_empty()) {
            let places: Vec<String> = given.iter().map(|(path, _)| path.to_string()).collect();
            let detail = format!(
                "{}: what these arguments rest on has changed since it was staged: {}. Stage again.",
                change.address,
                places.join(", ")
            );
            return Err(Diagnostics::from(Diagnostic::error(
                "The arguments are not those that were staged",
                detail,
            ))
            .into());
        }
        let detail = format!(
            "When expanding the plan for {} to include new values learned so far, {who} produced an invalid new value: {}. This is a bug in the provider; report it there.",
            change.address,
            faults.join("; ")
        );
        let failed = Failed {
            class: FailureClass::InconsistentResult,
            diagnostics: vec![ProviderDiagnostic::error(
                "Provider produced inconsistent final plan",
                detail,
            )],
            error: None,
            unknown: false,
        };
        Err(Box::new(Trouble::Provider {
            failed,
            method: Some(Method::Plan),
        }))
    }
}
