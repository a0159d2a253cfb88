//! What is to be said of names that a configuration uses, whatever their values: functions of
//! providers that a module does not require, variables and outputs that their module's author wants
//! nobody to use any more. Pure.

use crate::engine::workspace::refs::{self, Ref};
use lang::config::{Module, Variable};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use lang::syntax::ast::Traversal;
use std::collections::BTreeMap;

/// What was found, by place: one place is used in several instances, and told once.
#[derive(Default)]
pub struct Names {
    found: BTreeMap<Span, Diagnostic>,
}

impl Names {
    pub fn said(&self) -> Diagnostics {
        Diagnostics(self.found.values().cloned().collect())
    }

    fn say(&mut self, span: Span, diagnostic: Diagnostic) {
        self.found
            .entry(span)
            .or_insert_with(|| diagnostic.at(span));
    }

    /// A function of a provider is called by the name that the module gives that provider.
    pub fn called(&mut self, module: &Module, name: &str, span: Span) {
        let Some((provider, _)) = name
            .strip_prefix("provider::")
            .and_then(|rest| rest.split_once("::"))
        else {
            return;
        };
        if !module
            .required_providers
            .get(provider)
            .is_some_and(|r| r.explicit || !r.versions.is_empty())
        {
            let detail = format!(
                "The provider {provider:?} is not among the required_providers of this module, so its functions have no name here."
            );
            self.say(span, Diagnostic::error("Unknown function provider", detail));
        }
    }

    /// A value for a variable of a module that is called.
    pub fn passed(&mut self, variable: &Variable, span: Span) {
        if let Some(why) = &variable.deprecated {
            let detail = format!(
                "The module's author says of the variable {:?}: {why}",
                variable.name
            );
            self.say(
                span,
                Diagnostic::warning("Variable marked as deprecated by the module author", detail),
            );
        }
    }

    /// A reference, perhaps to an output of a module that is called.
    pub fn referred(&mut self, module: &Module, t: &Traversal) {
        let Ok(Ref::ModuleOutput {
            call, output: name, ..
        }) = refs::parse(t)
        else {
            return;
        };
        let called = module.calls.get(&call).and_then(|c| c.module.as_ref());
        if let Some(why) = called
            .and_then(|m| m.outputs.get(&name))
            .and_then(|o| o.deprecated.as_ref())
        {
            let detail = format!("The author of module.{call} says of its output {name:?}: {why}");
            self.say(
                t.span(),
                Diagnostic::warning("Value derived from a deprecated source", detail),
            );
        }
    }
}
