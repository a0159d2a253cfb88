//! Checks of provider configurations that modules pass on: existence of each, and empty placeholder
//! blocks.

use std::collections::BTreeMap;

use super::check::{display_key, key, module_text, source_of, source_or_implied};
use super::model::{Module, ModuleCall, ProviderConfig};
use crate::body::BodySchema;
use crate::diag::Diagnostics;
use crate::source::Span;
use dependency::ProviderAddress;

fn type_of(module: &Module, name: &str) -> ProviderAddress {
    source_of(module, name).unwrap_or_else(|| ProviderAddress::implied(name))
}

/// Returns true for a block without content. Outside the root, it stands for the configuration that
/// the caller passes.
pub(super) fn is_empty(block: &ProviderConfig) -> bool {
    // Under an empty schema, any argument or block is an error.
    !block.body.content(&BodySchema::new()).1.has_errors() && block.version.is_none()
}

/// Checks that the default configurations passed on by a module exist. Aliased ones are checked
/// with all other references to aliases.
pub(super) fn check_passed(
    module: &Module,
    call: Option<(&Module, &ModuleCall)>,
    diags: &mut Diagnostics,
) {
    let there = defaults(module, call);
    let configured = |name: &str| {
        module
            .providers
            .iter()
            .any(|p| *p.name == *name && p.alias.is_none() && !is_empty(p))
    };
    for inner in module.calls.values() {
        let Some(child) = inner.module.as_deref() else {
            continue;
        };
        for (to, from) in inner
            .providers
            .iter()
            .flatten()
            .filter(|(_, from)| from.alias.is_none())
        {
            let (name, here, source) = (&from.name, module_text(module), type_of(child, &to.name));
            if !there.iter().any(|other| other.is_same_source(&source)) {
                // A name with another provider source gets its own error elsewhere.
                if !source_or_implied(module, name)
                    .is_same_source(&source_or_implied(child, &to.name))
                {
                    continue;
                }
                let remedy = match module.path.is_root() {
                    true => format!(
                        "Declare the provider in required_providers: {name} = {{ source = \
                        \"{source}\" }}."
                    ),
                    false => {
                        format!("Pass it with \"providers\" in the module block that calls {here}.")
                    }
                };
                let detail = format!(
                    "There is no configuration of {source} in {here} to pass on as {name}. {remedy}"
                );
                diags.error(from.span, "Provider configuration not present", detail);
            } else if !configured(name) && !module.required_providers.contains_key(name) {
                let detail = format!(
                    "{name} is not declared in {here}, so {source} is assumed. Add it to \
                    required_providers with its source."
                );
                diags.warning(from.span, "Reference to undefined provider", detail);
            } else if let Some((parent, call)) =
                call.filter(|(_, call)| !configured(name) && !is_given(call, name))
            {
                let detail = format!(
                    "{here} passes on {name}, but {} does not pass it to this module, so the \
                    default configuration is inherited. Add {name} to \"providers\" in this \
                    block.",
                    module_text(parent)
                );
                diags.warning(call.span, "Missing required provider configuration", detail);
            }
        }
    }
}

/// Returns true if a call passes a default configuration under this name.
fn is_given(call: &ModuleCall, name: &str) -> bool {
    call.providers
        .iter()
        .flatten()
        .any(|(to, _)| *to.name == *name && to.alias.is_none())
}

/// Providers with a default configuration in a module: from a block, passed by the caller, or, in
/// the root, required. An inherited configuration has no local name that can be passed on.
fn defaults(module: &Module, call: Option<(&Module, &ModuleCall)>) -> Vec<ProviderAddress> {
    let blocks = module
        .providers
        .iter()
        .filter(|p| p.alias.is_none())
        .map(|p| &p.name);
    // No caller passes configurations to the root, so its requirements count.
    let required = module
        .required_providers
        .keys()
        .filter(|_| module.path.is_root());
    let passed = call
        .into_iter()
        .flat_map(|(_, call)| call.providers.iter().flatten())
        .filter(|(to, _)| to.alias.is_none());
    blocks
        .chain(required)
        .chain(passed.map(|(to, _)| &to.name))
        .map(|name| type_of(module, name))
        .collect()
}

/// Warns about one provider under two local names, because a configuration of one does not apply to
/// the other. Rejects versions of built-in providers.
pub(super) fn check_local_names(module: &Module, diags: &mut Diagnostics) {
    const SUMMARY: &str = "Duplicate required provider";
    const NO_BUILTIN: &str = "Invalid dependency on built-in provider";
    let mut seen: Vec<(&str, ProviderAddress, Span)> = Vec::new();
    for (name, entry) in &module.required_providers {
        let source = type_of(module, name);
        if source.is_builtin() && !entry.versions.is_empty() {
            let detail = format!(
                "{source} is built into the engine and has no versions. Remove the version \
                constraint."
            );
            diags.error(entry.span, NO_BUILTIN, detail);
        }
        if source.is_builtin() && &*source.name != "terraform" {
            let detail = format!(
                "There is no provider {source}. The only built-in provider is \
                terraform.io/builtin/terraform."
            );
            diags.error(entry.span, NO_BUILTIN, detail);
        }
        if let Some((other, _, place)) = seen.iter().find(|(_, s, _)| s.is_same_source(&source)) {
            // Entries are sorted by name, but the warning belongs to the later one in the file.
            let later = entry.span.max(*place);
            let detail = format!(
                "{other} and {name} are both {source}. Declare it only once in required_providers."
            );
            diags.warning(later, SUMMARY, detail);
        } else if source.is_same_source(&ProviderAddress::implied(&source.name)) {
            let implied = &source.name;
            if **name != **implied && module.providers.iter().any(|p| *p.name == **implied) {
                let detail = format!(
                    "required_providers declares {source} as {name}, but a provider block uses \
                    the name {implied}. Rename that block to {name}."
                );
                diags.warning(entry.span, SUMMARY, detail);
            }
        }
        seen.push((name, source, entry.span));
    }
    for provider in &module.providers {
        let source = type_of(module, &provider.name);
        if let Some((_, span)) = provider.version.as_ref().filter(|_| source.is_builtin()) {
            let detail = format!(
                "{source} is built into the engine and has no versions. Remove the version \
                constraint."
            );
            diags.error(*span, NO_BUILTIN, detail);
        }
    }
    for resource in module.resources.values().filter(|r| r.provider.is_none()) {
        let kind = &*resource.name.kind;
        let local = kind.split_once('_').map_or(kind, |(first, _)| first);
        if module.required_providers.contains_key(local) {
            continue;
        }
        let implied = ProviderAddress::implied(local);
        for (name, _, _) in seen.iter().filter(|(_, s, _)| s.is_same_source(&implied)) {
            let detail = format!(
                "{} uses the provider {implied} under the name {local}, but required_providers \
                declares it as {name}. Rename the entry to {local}, or set provider = {name} \
                here.",
                resource.name
            );
            diags.warning(resource.span, SUMMARY, detail);
        }
    }
}

/// Warns about empty provider blocks of called modules, a placeholder that `configuration_aliases`
/// has replaced.
pub(super) fn warn_placeholders(module: &Module, diags: &mut Diagnostics) {
    if module.path.is_root() {
        return;
    }
    let mut by_name: BTreeMap<&str, (Vec<String>, Vec<Span>)> = BTreeMap::new();
    for block in module.providers.iter().filter(|block| is_empty(block)) {
        let (names, spans) = by_name.entry(&block.name).or_default();
        names.push(display_key(&key(&block.name, block.alias.as_ref())));
        spans.push(block.span);
    }
    for (name, (mut names, mut spans)) in by_name {
        names.sort();
        spans.sort_by_key(|span| (span.file, span.start));
        let aliases = match names.iter().any(|n| n != name) {
            true => format!(", configuration_aliases = [{}]", names.join(", ")),
            false => String::new(),
        };
        let detail = format!(
            "An empty provider block in a called module only declares that the module receives a \
            configuration. Declare this in required_providers instead: remove the empty \
            \"{name}\" blocks from {}, and add {name} = {{ source = \"{}\"{aliases} }}",
            module_text(module),
            type_of(module, name)
        );
        diags.warning(spans[0], "Redundant empty provider block", detail);
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Inputs, load_root};
    use crate::source::SourceMap;

    #[test]
    fn duplicate_required_provider_is_warned_about() {
        const A: &str = "terraform {\n  required_providers {\n    mine = { source = \"hashicorp/a\" }\n  }\n}\n";
        const TWICE: &str = "terraform {\n  required_providers {\n    x = { source = \"o/a\" }\n    b = { source = \"o/a\" }\n    c = { source = \"o/c\" }\n  }\n}\n";
        for (name, text, lines) in [
            ("required twice", TWICE.to_owned(), &[4][..]),
            ("a block", format!("{A}provider \"a\" {{}}\n"), &[3]),
            (
                "a block with an alias",
                format!("{A}provider \"a\" {{\n  alias = \"x\"\n}}\n"),
                &[3],
            ),
            (
                "a resource",
                format!("{A}resource \"a_b\" \"c\" {{}}\n"),
                &[6],
            ),
            (
                "a resource that says which",
                format!("{A}data \"a_b\" \"c\" {{\n  provider = mine\n}}\n"),
                &[],
            ),
            ("its own name", format!("{A}provider \"mine\" {{}}\n"), &[]),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            std::fs::write(dir.path().join("main.tf"), text).expect("written");
            let sources = SourceMap::new();
            let (_, diags) = load_root(dir.path(), &sources, &Inputs::default());
            let places: Vec<u32> = diags
                .iter()
                .filter(|d| d.summary == "Duplicate required provider")
                .filter_map(|d| Some(d.range(&sources)?.start.line))
                .collect();
            assert_eq!(places, lines, "{name}: {diags:?}");
        }
    }
}
