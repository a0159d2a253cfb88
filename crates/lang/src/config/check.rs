//! Checks across modules, once all are read: provider configurations passed between modules, and
//! arguments of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dependency::ProviderAddress;

use super::model::{Module, ModuleCall, ProviderRef};
use super::provider_passing;
use crate::addr::Mode;
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::{Expr, Traversal};

/// Local name and alias (empty for the default configuration).
type Key = (Arc<str>, Arc<str>);

pub(super) fn key(name: &Arc<str>, alias: Option<&Arc<str>>) -> Key {
    (name.clone(), alias.cloned().unwrap_or_default())
}

pub(super) fn display_key(key: &Key) -> String {
    if key.1.is_empty() {
        key.0.to_string()
    } else {
        format!("{}.{}", key.0, key.1)
    }
}

pub(super) fn source_of(module: &Module, name: &str) -> Option<ProviderAddress> {
    let entry = module.required_providers.get(name)?;
    if entry.explicit {
        ProviderAddress::of_source(&entry.source).ok()
    } else {
        Some(ProviderAddress::implied(name))
    }
}

/// Provider source of a local name, with the implied source if the module does not require it.
pub(super) fn source_or_implied(module: &Module, name: &str) -> ProviderAddress {
    source_of(module, name).unwrap_or_else(|| ProviderAddress::of_name(name))
}

pub(super) fn module_text(module: &Module) -> String {
    if module.path.is_root() {
        "the root module".to_owned()
    } else {
        module.path.to_string()
    }
}

/// Checks that provider references in resources and calls exist, and that passed configurations
/// match. With `alone`, the root may be a module that others call.
pub(super) fn providers(root: &Module, alone: bool, diags: &mut Diagnostics) {
    check_module(root, None, None, alone, diags);
}

fn check_module(
    module: &Module,
    call: Option<(&Module, &ModuleCall)>,
    no_configs: Option<Span>,
    alone: bool,
    diags: &mut Diagnostics,
) {
    for inner in module.calls.values() {
        let Some(child) = inner.module.as_deref() else {
            continue;
        };
        let blocked = forbids_configs(inner).or(no_configs);
        check_module(child, Some((module, inner)), blocked, alone, diags);
    }
    let configs = ProviderConfigs::of(module);
    let known = configs.known(module, alone);
    for reference in references(module) {
        undefined_alias(module, reference, &known, diags);
    }
    provider_passing::check_local_names(module, diags);
    provider_passing::check_passed(module, call, diags);
    provider_passing::warn_placeholders(module, diags);
    instances(module, &configs.configured, diags);
    if let Some((parent, call)) = call {
        let passed = PassedProviders::new(module, parent, call, &configs);
        passed.reject_own_configs(no_configs, diags);
        passed.reject_overrides(diags);
        passed.require_aliases(diags);
        passed.check_pairs(diags);
    }
}

/// Argument of a call below which modules must not have their own provider configurations:
/// repetition or `depends_on`.
fn forbids_configs(call: &ModuleCall) -> Option<Span> {
    let mut repetition = [&call.count, &call.for_each, &call.enabled]
        .into_iter()
        .flatten();
    let repeated = repetition.next().map(|argument| argument.span);
    repeated.or_else(|| call.depends_on.first().map(Traversal::span))
}

/// References to provider configurations in resources and calls.
fn references(module: &Module) -> impl Iterator<Item = &ProviderRef> {
    let resources = module.resources.values();
    let uses = resources.filter_map(|resource| resource.provider.as_ref());
    let calls = module.calls.values();
    let passes = calls.flat_map(|call| call.providers.iter().flatten());
    uses.chain(passes.map(|(_, outer)| outer))
}

/// Provider configurations that a module has or expects.
struct ProviderConfigs {
    /// Blocks with a configuration.
    configured: BTreeMap<Key, Span>,
    /// All blocks, also placeholders for a passed configuration.
    declared: BTreeSet<Key>,
    /// Entries of `configuration_aliases`.
    aliases: BTreeSet<Key>,
}

impl ProviderConfigs {
    fn of(module: &Module) -> ProviderConfigs {
        let mut configured: BTreeMap<Key, Span> = BTreeMap::new();
        let mut declared: BTreeSet<Key> = BTreeSet::new();
        for provider in &module.providers {
            let own = key(&provider.name, provider.alias.as_ref());
            // An empty block in a called module is a placeholder for a passed configuration.
            if !provider_passing::is_empty(provider) || module.path.is_root() {
                configured.insert(own.clone(), provider.span);
            }
            declared.insert(own);
        }
        let required = module.required_providers.iter();
        let aliases = required.flat_map(|(name, entry)| {
            let aliases = entry.aliases.iter();
            aliases.map(|(alias, _)| (name.clone(), alias.clone()))
        });
        ProviderConfigs {
            configured,
            declared,
            aliases: aliases.collect(),
        }
    }

    /// Configurations that a reference in the module may name.
    fn known(&self, module: &Module, alone: bool) -> BTreeSet<Key> {
        let mut passed_in = self.aliases.clone();
        // A root has no caller that passes configurations, so it must declare all of them. Only a
        // module validated alone may have one.
        if module.path.is_root() {
            passed_in.retain(|(name, _)| alone && !self.declared.contains(&key(name, None)));
        }
        self.declared.union(&passed_in).cloned().collect()
    }
}

/// Checks that each reference to a configuration with `for_each` selects an instance.
fn instances(module: &Module, configured: &BTreeMap<Key, Span>, diags: &mut Diagnostics) {
    for call in module.calls.values() {
        for (inner, outer) in call.providers.iter().flatten() {
            if let Some(key) = &inner.key {
                let detail = "The left side is the name that the called module uses for the \
                    configuration, and it cannot have an instance key. Only the right side can \
                    select an instance.";
                diags.error(key.span, "Invalid module provider configuration", detail);
            }
            let address = if module.path.is_root() {
                format!("module.{}", call.name)
            } else {
                format!("{}.module.{}", module.path, call.name)
            };
            check_reference_key(
                module,
                configured,
                "module",
                outer,
                call.for_each.as_ref(),
                Some(&address),
                diags,
            );
        }
    }
    for resource in module.resources.values() {
        let Some(reference) = &resource.provider else {
            continue;
        };
        let address = if module.path.is_root() {
            resource.name.to_string()
        } else {
            format!("{}.{}", module.path, resource.name)
        };
        let kept = (resource.name.mode == Mode::Managed).then_some(&*address);
        check_reference_key(
            module,
            configured,
            "resource",
            reference,
            resource.for_each.as_ref(),
            kept,
            diags,
        );
    }
}

/// Checks that a reference has an instance key exactly where the configuration has instances. Warns
/// if an object in the state (at address `kept`) loses the provider configuration needed to destroy
/// it.
fn check_reference_key(
    module: &Module,
    configured: &BTreeMap<Key, Span>,
    by: &str,
    reference: &ProviderRef,
    for_each: Option<&Expr>,
    kept: Option<&str>,
    diags: &mut Diagnostics,
) {
    let own = key(&reference.name, reference.alias.as_ref());
    let block = module
        .providers
        .iter()
        .find(|p| key(&p.name, p.alias.as_ref()) == own);
    let summary = format!("Invalid {by} provider configuration");
    let name = display_key(&own);
    match (&reference.key, block.and_then(|p| p.for_each.as_ref())) {
        (Some(_), Some(instances)) => {
            let (Some(for_each), Some(kept)) = (for_each, kept) else {
                return;
            };
            // A constant for_each loses an element only by an edit of the configuration itself.
            if !for_each.traversals().is_empty() && for_each.same_as(instances) {
                let detail = format!(
                    "The provider configuration {name} and this {by} have the same for_each. \
                    After you remove an element, the {by} can no longer be destroyed, because \
                    its provider configuration is removed too. Keep the element in for_each of \
                    the provider until its objects are destroyed, or destroy them first with \
                    --destroy --target {kept}."
                );
                diags.warning(
                    for_each.span,
                    format!("Provider configuration for_each matches {by}"),
                    detail,
                );
            }
        }
        (Some(key), None) if configured.contains_key(&own) || block.is_some() => {
            let detail =
                format!("{name} has no for_each and therefore no instances. Remove the key.");
            diags.error(key.span, summary, detail);
        }
        (Some(_), None) => {
            let detail = format!(
                "A key selects an instance of a provider block with for_each, but {} has no such \
                block for {name}. A module uses a configuration from its caller without a key.",
                module_text(module)
            );
            diags.error(reference.span, summary, detail);
        }
        (None, Some(_)) => {
            let detail = format!(
                "{name} has for_each, so the reference must select one of its instances: \
                {name}[each.key] or {name}[\"key\"]. You cannot use or pass all instances \
                together."
            );
            diags.error(reference.span, summary, detail);
        }
        (None, None) => {}
    }
}

fn undefined_alias(
    module: &Module,
    reference: &ProviderRef,
    known: &BTreeSet<Key>,
    diags: &mut Diagnostics,
) {
    let own = key(&reference.name, reference.alias.as_ref());
    // A reference with a key gets its own error in `chosen`.
    if reference.alias.is_some() && reference.key.is_none() && !known.contains(&own) {
        diags.error(
            reference.span,
            "Provider configuration not present",
            format!(
                "There is no provider \"{}\" block with alias = \"{}\" in {}, and no \
                configuration with this name is passed to it.",
                own.0,
                own.1,
                module_text(module)
            ),
        );
    }
}

/// Configurations that a call passes to its module.
struct PassedProviders<'a> {
    module: &'a Module,
    parent: &'a Module,
    call: &'a ModuleCall,
    configs: &'a ProviderConfigs,
    /// Entries of the `providers` argument by their name in the module.
    given: BTreeMap<Key, &'a (ProviderRef, ProviderRef)>,
}

impl<'a> PassedProviders<'a> {
    fn new(
        module: &'a Module,
        parent: &'a Module,
        call: &'a ModuleCall,
        configs: &'a ProviderConfigs,
    ) -> Self {
        let pairs = call.providers.iter().flatten();
        let given = pairs.map(|pair| (key(&pair.0.name, pair.0.alias.as_ref()), pair));
        PassedProviders {
            module,
            parent,
            call,
            configs,
            given: given.collect(),
        }
    }

    fn reject_own_configs(&self, no_configs: Option<Span>, diags: &mut Diagnostics) {
        let Some(span) = no_configs.filter(|_| !self.configs.configured.is_empty()) else {
            return;
        };
        let detail = format!(
            "The module at {} has its own provider configurations, so calls to it cannot \
            use these arguments.",
            self.module.path
        );
        let summary = "Module is incompatible with count, for_each, enabled and depends_on";
        diags.error(span, summary, detail);
    }

    fn reject_overrides(&self, diags: &mut Diagnostics) {
        for own in self.configs.configured.keys() {
            let Some((inner, _)) = self.given.get(own) else {
                continue;
            };
            let detail = format!(
                "{} has its own configuration for {}, so you cannot pass one to it.",
                module_text(self.module),
                display_key(own)
            );
            diags.error(inner.span, "Cannot override provider configuration", detail);
        }
    }

    fn require_aliases(&self, diags: &mut Diagnostics) {
        for own in &self.configs.aliases {
            if self.configs.configured.contains_key(own) || self.given.contains_key(own) {
                continue;
            }
            let name = display_key(own);
            let detail = format!(
                "The child module requires a provider configuration with the local name \
                \"{name}\". Add it to \"providers\" in the module block."
            );
            let summary = "Missing required provider configuration";
            diags.error(self.call.span, summary, detail);
        }
    }

    /// Checks that the module expects each passed configuration, and for the same provider.
    fn check_pairs(&self, diags: &mut Diagnostics) {
        for (own, (inner, outer)) in &self.given {
            let child_type = source_or_implied(self.module, &inner.name);
            if !self.expects(own) {
                self.report_undeclared(own, inner, &child_type, diags);
            }
            let parent_type = source_or_implied(self.parent, &outer.name);
            if !parent_type.is_same_source(&child_type) {
                let detail = format!(
                    "The local name \"{}\" in {} means provider {parent_type}, but \"{}\" in {} means {child_type}.",
                    outer.name,
                    module_text(self.parent),
                    inner.name,
                    module_text(self.module)
                );
                diags.error(outer.span, "Provider type mismatch", detail);
            }
        }
    }

    fn expects(&self, own: &Key) -> bool {
        let (name, alias) = own;
        // A requirement declares the default configuration; aliases need a declaration of their
        // own.
        let required = self.module.required_providers.contains_key(name) && alias.is_empty();
        required || self.configs.aliases.contains(own) || self.configs.declared.contains(own)
    }

    fn report_undeclared(
        &self,
        own: &Key,
        inner: &ProviderRef,
        child_type: &ProviderAddress,
        diags: &mut Diagnostics,
    ) {
        let detail = format!(
            "{} does not declare a provider requirement with the local name \"{}\".",
            module_text(self.module),
            display_key(own)
        );
        // A provider of the default namespace needs no requirement, so a warning suffices.
        if child_type.host.is_none() && child_type.has_default_namespace() {
            diags.warning(inner.span, "Reference to undefined provider", detail);
        } else {
            diags.error(inner.span, "Reference to undefined provider", detail);
        }
    }
}

/// Reports missing arguments and arguments without a variable in all module calls.
pub(super) fn arguments(root: &Module, diags: &mut Diagnostics) {
    for module in root.all() {
        for call in module.calls.values() {
            diags.append(call.argument_errors.clone());
        }
    }
}
