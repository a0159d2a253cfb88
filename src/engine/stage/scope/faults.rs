//! Checks references without evaluating them: undeclared names, and names not available in the
//! scope.

use super::{ModuleScope, Phase};
use lang::addr::{InstanceKey, Mode, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use lang::eval;
use lang::syntax::ast::{Step, StepKind, Traversal};
use std::sync::Arc;
use workspace::provider_addr;
use workspace::refs::{self, Ref};

impl<'a> ModuleScope<'a> {
    /// Checks references. Undeclared resources and modules come first; undeclared names are
    /// reported only without these.
    pub fn check(&self, traversals: &[&Traversal]) -> Diagnostics {
        let mut things = Diagnostics::new();
        let mut names = Diagnostics::new();
        for t in traversals {
            match refs::parse(t) {
                Err(d) => things.push(d),
                // Evaluation reports a missing output, so that `try` and `can` work with it.
                Ok(Ref::ModuleOutput { call, .. }) if self.module.calls.contains_key(&call) => {}
                Ok(reference) => match self.fault(t, &reference) {
                    Some((d, true)) => things.push(d),
                    Some((d, false)) => names.push(d),
                    None => {}
                },
            }
        }
        if things.has_errors() { things } else { names }
    }

    /// Returns the error of a reference. True marks errors that take precedence over undeclared
    /// names, see [`check`](Self::check).
    pub(super) fn fault(&self, t: &Traversal, reference: &Ref) -> Option<(Diagnostic, bool)> {
        let error = |summary: &str, detail: String| Diagnostic::error(summary, detail).at(t.span());
        match reference {
            Ref::Var(name) if !self.module.variables.contains_key(name) => {
                let detail = format!(
                    "An input variable with the name {name:?} has not been declared.{}",
                    suggestion(name, self.module.variables.keys())
                );
                Some((
                    error("Reference to undeclared input variable", detail),
                    false,
                ))
            }
            Ref::Local(name) if !self.module.locals.contains_key(name) => {
                let detail = format!(
                    "A local value with the name {name:?} has not been declared.{}",
                    suggestion(name, self.module.locals.keys())
                );
                Some((error("Reference to undeclared local value", detail), false))
            }
            Ref::Each(_) if self.repetition.each_key.is_none() => {
                let detail = "The \"each\" object can be used only in \"module\" or \"resource\" blocks, and only when the \"for_each\" argument is set.";
                Some((
                    error(
                        "Reference to \"each\" in context without for_each",
                        detail.to_owned(),
                    ),
                    false,
                ))
            }
            Ref::Each(attr) if !matches!(&**attr, "key" | "value") => {
                let detail = format!(
                    "The \"each\" object does not have an attribute named {attr:?}. The supported attributes are each.key and each.value, the current key and value pair of the \"for_each\" attribute set."
                );
                Some((error("Invalid \"each\" attribute", detail), false))
            }
            Ref::Count(attr) if &**attr != "index" => {
                let detail = format!(
                    "The \"count\" object does not have an attribute named {attr:?}. The only supported attribute is count.index, which is the index of each instance of a resource block that has the \"count\" argument set."
                );
                Some((error("Invalid \"count\" attribute", detail), false))
            }
            Ref::Count(_) if self.repetition.count_index.is_none() => {
                let detail = "The \"count\" object can only be used in \"module\", \"resource\", and \"data\" blocks, and only when the \"count\" argument is set.";
                Some((
                    error(
                        "Reference to \"count\" in non-counted context",
                        detail.to_owned(),
                    ),
                    false,
                ))
            }
            Ref::SelfObject if self.self_value.is_none() => {
                let detail = "The \"self\" object is not available in this context. It can be used only in resource provisioner, connection, and postcondition blocks.";
                Some((error("Invalid \"self\" reference", detail.to_owned()), true))
            }
            Ref::SelfObject => self.self_fault(t).map(|d| (d, true)),
            Ref::Path(attr) if !matches!(&**attr, "module" | "root" | "cwd") => {
                let detail =
                    format!("The \"path\" object does not have an attribute named {attr:?}.");
                Some((error("Invalid \"path\" attribute", detail), false))
            }
            Ref::Terraform(attr) if !matches!(&**attr, "workspace" | "applying") => {
                let detail = format!(
                    "The {:?} object does not have an attribute named {attr:?}. The only supported attributes are workspace and applying.",
                    &*t.root
                );
                Some((error("Invalid \"terraform\" attribute", detail), false))
            }
            Ref::Module { call, .. } if !self.module.calls.contains_key(call) => {
                let detail = format!(
                    "No module call named {call:?} is declared in {}.{}",
                    self.owner_text(),
                    suggestion(call, self.module.calls.keys())
                );
                Some((error("Reference to undeclared module", detail), true))
            }
            Ref::ModuleOutput { call, output, key } => self
                .module_fault(t, call, output, key.is_some())
                .map(|d| (d, true)),
            Ref::Resource {
                resource,
                used,
                key,
            } => self
                .resource_fault(t, resource, *used, key.as_ref())
                .map(|d| (d, true)),
            Ref::Check(_) => Some((
                error(
                    "Invalid reference",
                    "Expressions cannot refer to a check.".to_owned(),
                ),
                true,
            )),
            _ => None,
        }
    }

    fn owner_text(&self) -> String {
        if self.module.path.is_root() {
            "the root module".to_owned()
        } else {
            self.module.path.to_string()
        }
    }

    fn module_fault(
        &self,
        t: &Traversal,
        call: &Arc<str>,
        output: &Arc<str>,
        keyed: bool,
    ) -> Option<Diagnostic> {
        let Some(found) = self.module.calls.get(call) else {
            let detail = format!(
                "No module call named {call:?} is declared in {}.{}",
                self.owner_text(),
                suggestion(call, self.module.calls.keys())
            );
            return Some(Diagnostic::error("Reference to undeclared module", detail).at(t.span()));
        };
        let repeated = found.count.is_some() || found.for_each.is_some();
        if repeated && !keyed {
            // In this case the step is an attribute of the collection of instances; evaluation
            // reports it.
            return None;
        }
        let child = found.module.as_ref()?;
        if child.outputs.contains_key(output) {
            return None;
        }
        // The steps are the call, its key if there is one, and the output.
        let step = t.steps.get(if keyed { 2 } else { 1 });
        let detail = format!(
            "This object does not have an attribute named {output:?}.{}",
            suggestion(output, child.outputs.keys())
        );
        Some(
            Diagnostic::error("Unsupported attribute", detail)
                .at(step.map_or(t.span(), |s| s.span))
                .within(t.span()),
        )
    }

    fn resource_fault(
        &self,
        t: &Traversal,
        resource: &Resource,
        used: usize,
        key: Option<&InstanceKey>,
    ) -> Option<Diagnostic> {
        let Some(declared) = self.module.resources.get(resource) else {
            let kind = if resource.mode == Mode::Data {
                "data resource"
            } else {
                "managed resource"
            };
            let names = self
                .module
                .resources
                .keys()
                .filter(|r| r.mode == resource.mode)
                .map(|r| Arc::from(r.to_string()))
                .collect::<Vec<Arc<str>>>();
            let hint = suggestion(&Arc::from(resource.to_string()), names.iter());
            let detail = format!(
                "A {kind} {:?} {:?} has not been declared in {}.{hint}",
                &*resource.kind,
                &*resource.name,
                self.owner_text()
            );
            return Some(
                Diagnostic::error("Reference to undeclared resource", detail).at(t.span()),
            );
        };
        if declared.check.is_some() && declared.check.as_deref() != self.check {
            let detail =
                format!("{resource} belongs to a check, so only that check can refer to it.");
            return Some(Diagnostic::error("Reference to scoped resource", detail).at(t.span()));
        }
        // Only instances are evaluated, so a resource without instances may refer to itself.
        if self.own_resource == Some(resource) && self.context.phase != Phase::Validate {
            let detail = "Configuration for a resource may not refer to itself.";
            return Some(
                Diagnostic::error("Self-referential block", detail)
                    .at(t.span())
                    .with_address(resource.to_string()),
            );
        }
        let next = t.steps.get(used);
        let repeated = declared.count.is_some() || declared.for_each.is_some();
        if repeated
            && key.is_none()
            && let Some(Step {
                kind: StepKind::Attr(_),
                span,
            }) = next
        {
            let (how, key) = match declared.count {
                Some(_) => ("count", "count.index"),
                None => ("for_each", "each.key"),
            };
            let detail = format!(
                "Because {resource} has {how:?} set, its attributes must be accessed on specific instances. For example: {resource}[{key}]"
            );
            return Some(
                Diagnostic::error("Missing resource instance key", detail)
                    .at(t.root_span.to(*span)),
            );
        }
        if !repeated && key.is_some() {
            let detail = format!(
                "Because {resource} does not have \"count\" or \"for_each\" set, references to it must not include an index key. Remove the bracketed index to refer to the single instance of this resource."
            );
            return Some(
                Diagnostic::error("Unexpected resource instance key", detail).at(t.span()),
            );
        }
        let address =
            provider_addr::for_resource(&self.context.root, self.module, declared).address;
        // The resource itself reports a type that its provider does not have.
        let schema = self.context.schema(&address, resource)?;
        // Before the check against the schema, which would only report an unknown attribute.
        if let Some(Step {
            kind: StepKind::Attr(name),
            span,
        }) = next
            && &**name == "count"
        {
            let detail = format!(
                "A resource has no attribute for the number of its instances. Use length({resource})."
            );
            return Some(
                Diagnostic::error("Invalid resource count attribute", detail)
                    .at(t.root_span.to(*span)),
            );
        }
        lang::decode::traversal_fault(&schema.block, &t.steps[used..]).map(|d| d.within(t.span()))
    }

    /// Checks the steps after `self`.
    fn self_fault(&self, t: &Traversal) -> Option<Diagnostic> {
        let declared = self.module.resources.get(self.self_of?)?;
        let address =
            provider_addr::for_resource(&self.context.root, self.module, declared).address;
        let schema = self.context.schema(&address, &declared.name)?;
        lang::decode::traversal_fault(&schema.block, &t.steps).map(|d| d.within(t.span()))
    }
}

/// Returns "Did you mean …?" if a declared name is similar.
fn suggestion<'n>(given: &Arc<str>, names: impl Iterator<Item = &'n Arc<str>>) -> String {
    let close = eval::closest(given, names.map(|n| &**n));
    close
        .map(|n| format!(" Did you mean {n:?}?"))
        .unwrap_or_default()
}
