//! The files of one directory into one module: declarations collected, overrides merged, duplicates
//! refused.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::call::{self, CallBlock};
use super::files::ConfigFile;
use super::model::{Local, Module};
use super::values::Named;
use super::{refactor, resource, settings, values};
use crate::addr::{Mode, Resource as ResourceName, Target};
use crate::body::{Block, Body, BodySchema};
use crate::diag::Diagnostics;
use crate::source::Span;

/// A declaration with what overrides it.
struct Slot {
    block: Block,
    /// As it was before it was overridden.
    base: Option<Body>,
    over: Option<Span>,
}

type Slots<K> = BTreeMap<K, Slot>;

/// Everything declared in one directory, in the order of kinds that later kinds need.
#[derive(Default)]
struct Draft {
    variables: Slots<Arc<str>>,
    outputs: Slots<Arc<str>>,
    calls: Slots<Arc<str>>,
    resources: Slots<ResourceName>,
    providers: Slots<(Arc<str>, Arc<str>)>,
    provider_order: Vec<(Arc<str>, Arc<str>)>,
    locals: Named<Local>,
    checks: Vec<Block>,
    moved: Vec<Block>,
    removed: Vec<Block>,
    imports: Vec<Block>,
    /// Declared twice: read for their errors alone.
    duplicates: Vec<Block>,
}

fn top_schema() -> BodySchema {
    BodySchema::new()
        .block("language", &[])
        .block("required_providers", &[])
        .block("provider", &["name"])
        .block("variable", &["name"])
        .block("locals", &[])
        .block("output", &["name"])
        .block("module", &["name"])
        .block("resource", &["type", "name"])
        .block("data", &["type", "name"])
        .block("ephemeral", &["type", "name"])
        .block("moved", &[])
        .block("import", &[])
        .block("check", &["name"])
        .block("removed", &[])
        .block("terraform", &[])
}

fn mode_of(block: &Block) -> Mode {
    match &*block.type_name {
        "data" => Mode::Data,
        "ephemeral" => Mode::Ephemeral,
        _ => Mode::Managed,
    }
}

/// The module that the files make, and its calls (whose modules are not loaded yet).
pub(super) fn assemble(files: &[ConfigFile], diags: &mut Diagnostics) -> (Module, Vec<CallBlock>) {
    let mut module = Module::default();
    let mut draft = Draft::default();
    let mut required: Option<Span> = None;
    for file in files {
        settings::check_version_syntax(file, diags);
        let (content, found) = file.body.content(&top_schema());
        diags.append(found);
        let mut own = settings::Settings::default();
        for block in content.blocks {
            match &*block.type_name {
                "language" => settings::language(&block, file.is_override, diags),
                "terraform" => settings::terraform(&block, &mut own, diags),
                "required_providers" => diags.error(
                    block.type_span,
                    "Invalid required_providers block",
                    "A \"required_providers\" block must be nested inside a \"terraform\" block.",
                ),
                _ if file.is_override => draft.overrides(block, diags),
                _ => draft.declare(block, diags),
            }
        }
        take_settings(&mut module, own, file.is_override, &mut required, diags);
    }
    let calls = draft.finish(&mut module, diags);
    (module, calls)
}

fn take_settings(
    module: &mut Module,
    own: settings::Settings,
    is_override: bool,
    required: &mut Option<Span>,
    diags: &mut Diagnostics,
) {
    for (entries, span) in own.required {
        if is_override {
            module.required_providers.extend(entries);
        } else if required.is_some() {
            let detail = "A module may have only one required_providers block.";
            diags.error(span, "Duplicate required providers configuration", detail);
        } else {
            *required = Some(span);
            module.required_providers = entries;
        }
    }
    super::encryption::take(module, own.encryptions, is_override, diags);
    // What an override file says of it is left aside, as the reference engine does.
    for (meta, span) in own.metas.into_iter().filter(|_| !is_override) {
        if module.provider_metas.iter().any(|m| m.name == meta.name) {
            let detail = format!(
                "A provider_meta block for \"{}\" was already given. A module may have one for each provider.",
                meta.name
            );
            diags.error(span, "Duplicate provider_meta block", detail);
        }
        module.provider_metas.push(meta);
    }
    // A backend, a cloud block.
    let mut in_this_file = [false; 2];
    for (kind, span, body) in own.backends {
        let is_cloud = &*kind == "cloud";
        // An override takes the place of what other files say, and not of what itself says.
        let other = match is_override {
            true => in_this_file[usize::from(is_cloud)].then_some(is_cloud),
            false => module
                .backend
                .as_ref()
                .map(|(other, _)| &**other == "cloud"),
        };
        match other {
            Some(other) => {
                let (summary, detail) = match (other, is_cloud) {
                    (false, false) => (
                        "Duplicate backend configuration",
                        "A module may have only one backend configuration.",
                    ),
                    (true, true) => (
                        "Duplicate cloud configuration",
                        "A module may have only one cloud block.",
                    ),
                    _ => (
                        "Both a backend and a cloud configuration are present",
                        "A module may have either a backend or a cloud block.",
                    ),
                };
                diags.error(span, summary, detail);
            }
            // Of both in one override the cloud block counts, whichever comes first.
            None if is_override && !is_cloud && in_this_file[1] => {}
            None => {
                module.backend = Some((kind, span));
                module.backend_body = body;
            }
        }
        in_this_file[usize::from(is_cloud)] = true;
    }
}

impl Draft {
    fn put<K: Ord + Clone>(
        slots: &mut Slots<K>,
        duplicates: &mut Vec<Block>,
        key: K,
        block: Block,
        words: impl FnOnce() -> (String, String),
        diags: &mut Diagnostics,
    ) {
        match slots.entry(key) {
            Entry::Occupied(_) => {
                let (summary, detail) = words();
                diags.error(block.def_span, summary, detail);
                duplicates.push(block);
            }
            Entry::Vacant(vacant) => {
                vacant.insert(Slot {
                    block,
                    base: None,
                    over: None,
                });
            }
        }
    }

    fn declare(&mut self, block: Block, diags: &mut Diagnostics) {
        let name = block
            .labels
            .last()
            .map(|l| l.text.clone())
            .unwrap_or_default();
        let again = |what: &str| {
            (
                format!("Duplicate {what}"),
                format!("\"{name}\" was already declared. Names must be unique within a module."),
            )
        };
        let duplicates = &mut self.duplicates;
        match &*block.type_name {
            "variable" => {
                Self::put(
                    &mut self.variables,
                    duplicates,
                    name.clone(),
                    block,
                    || again("variable declaration"),
                    diags,
                );
            }
            "output" => Self::put(
                &mut self.outputs,
                duplicates,
                name.clone(),
                block,
                || again("output definition"),
                diags,
            ),
            "module" => Self::put(
                &mut self.calls,
                duplicates,
                name.clone(),
                block,
                || again("module call"),
                diags,
            ),
            "resource" | "data" | "ephemeral" => {
                let kind = block.labels[0].text.clone();
                let word = &*block.type_name.clone();
                let key = ResourceName {
                    mode: mode_of(&block),
                    kind: kind.clone(),
                    name: name.clone(),
                };
                let words = || {
                    let summary = format!("Duplicate {word} \"{kind}\" configuration");
                    (
                        summary,
                        format!(
                            "A {kind} {word} named \"{name}\" was already declared. Names must be unique per type in each module."
                        ),
                    )
                };
                Self::put(&mut self.resources, duplicates, key, block, words, diags);
            }
            "provider" => {
                let key = provider_key(&block);
                let words = || {
                    let detail = match &*key.1 {
                        "" => format!(
                            "A default configuration for \"{}\" was already given. Set \"alias\" for further ones.",
                            key.0
                        ),
                        alias => format!(
                            "A configuration for \"{}\" with alias \"{alias}\" was already given.",
                            key.0
                        ),
                    };
                    ("Duplicate provider configuration".to_owned(), detail)
                };
                self.provider_order.push(key.clone());
                Self::put(
                    &mut self.providers,
                    duplicates,
                    key.clone(),
                    block,
                    words,
                    diags,
                );
            }
            "locals" => {
                for (name, local) in values::locals(&block.body, diags) {
                    if self.locals.contains_key(&name) {
                        let detail = format!(
                            "A local value named \"{name}\" was already defined. Names must be unique within a module."
                        );
                        diags.error(local.span, "Duplicate local value definition", detail);
                    }
                    self.locals.insert(name, local);
                }
            }
            "moved" => self.moved.push(block),
            "removed" => self.removed.push(block),
            "import" => self.imports.push(block),
            "check" => self.checks.push(block),
            _ => {}
        }
    }

    fn overrides(&mut self, block: Block, diags: &mut Diagnostics) {
        let name = block
            .labels
            .last()
            .map(|l| l.text.clone())
            .unwrap_or_default();
        let missing = |what: &str, diags: &mut Diagnostics| {
            let detail = format!(
                "There is no {what} named \"{name}\" in the normal files: an override file can only change what they declare."
            );
            diags.error(
                block.def_span,
                format!("Missing {what} to override"),
                detail,
            );
        };
        match &*block.type_name {
            "variable" => {
                values::no_override_of_conditions(&block.body, &["validation"], diags);
                match self.variables.get_mut(&name) {
                    Some(slot) => merge_into(slot, &block),
                    None => missing("variable", diags),
                }
            }
            "output" => {
                values::no_override_of_conditions(&block.body, &["precondition"], diags);
                call::check_override(&block.body, diags);
                match self.outputs.get_mut(&name) {
                    Some(slot) => merge_into(slot, &block),
                    None => missing("output", diags),
                }
            }
            "module" => {
                call::check_override(&block.body, diags);
                match self.calls.get_mut(&name) {
                    Some(slot) => {
                        slot.block.body = call::merge(&slot.block.body, &block.body);
                        slot.over = Some(block.def_span);
                    }
                    None => missing("module call", diags),
                }
            }
            "resource" | "data" | "ephemeral" => {
                let mode = mode_of(&block);
                resource::check_override(&block.body, mode, diags);
                let key = ResourceName {
                    mode,
                    kind: block.labels[0].text.clone(),
                    name: name.clone(),
                };
                match self.resources.get_mut(&key) {
                    Some(slot) => {
                        slot.block.body = resource::merge(&slot.block.body, &block.body);
                        slot.over = Some(block.def_span);
                    }
                    None => missing(&format!("{} \"{}\"", block.type_name, key.kind), diags),
                }
            }
            "provider" => {
                let key = provider_key(&block);
                match self.providers.get_mut(&key) {
                    Some(slot) => merge_into(slot, &block),
                    None if key.1.is_empty() => {
                        self.provider_order.push(key.clone());
                        self.providers.insert(
                            key,
                            Slot {
                                block,
                                base: None,
                                over: None,
                            },
                        );
                    }
                    None => missing("provider configuration", diags),
                }
            }
            "locals" => {
                for (name, local) in values::locals(&block.body, diags) {
                    if let Some(own) = self.locals.get_mut(&name) {
                        *own = local;
                    } else {
                        let detail = format!(
                            "There is no local value named \"{name}\" in the normal files to override."
                        );
                        diags.error(
                            local.span,
                            "Missing base local value definition to override",
                            detail,
                        );
                    }
                }
            }
            kind => {
                let detail = format!(
                    "\"{kind}\" blocks can appear only in normal files, not in override files."
                );
                diags.error(
                    block.def_span,
                    format!("Cannot override '{kind}' blocks"),
                    detail,
                );
            }
        }
    }

    fn finish(self, module: &mut Module, diags: &mut Diagnostics) -> Vec<CallBlock> {
        for (name, slot) in &self.variables {
            module.variables.insert(
                name.clone(),
                values::variable(&slot.block, slot.base.as_ref(), slot.over, diags),
            );
        }
        module.locals = self.locals;
        for (name, slot) in &self.outputs {
            module
                .outputs
                .insert(name.clone(), values::output(&slot.block, diags));
        }
        let read = |(name, slot): (ResourceName, Slot)| {
            let resource = resource::resource(&slot.block, name.mode, false, diags);
            (name, resource)
        };
        module.resources = self.resources.into_iter().map(read).collect();
        for key in self.provider_order {
            if let Some(slot) = self.providers.get(&key)
                && !module
                    .providers
                    .iter()
                    .any(|p| p.name == key.0 && p.alias.as_deref().unwrap_or("") == &*key.1)
            {
                module
                    .providers
                    .extend(settings::provider(&slot.block, diags));
            }
        }
        let calls = self
            .calls
            .values()
            .map(|slot| call::call(&slot.block, diags))
            .collect();
        for block in &self.duplicates {
            match &*block.type_name {
                "variable" => drop(values::variable(block, None, None, diags)),
                "output" => drop(values::output(block, diags)),
                "module" => drop(call::call(block, diags)),
                "provider" => drop(settings::provider(block, diags)),
                _ => drop(resource::resource(block, mode_of(block), false, diags)),
            }
        }
        module.moved = self
            .moved
            .iter()
            .filter_map(|b| refactor::moved(b, diags))
            .collect();
        module.removed = self
            .removed
            .iter()
            .filter_map(|b| refactor::removed(b, diags))
            .collect();
        imports(module, &self.imports, diags);
        checks(module, &self.checks, diags);
        calls
    }
}

fn merge_into(slot: &mut Slot, over: &Block) {
    slot.base.get_or_insert_with(|| slot.block.body.clone());
    slot.block.body = Body::merged(slot.block.body.clone(), over.body.clone());
    slot.over = Some(over.def_span);
}

/// Local name and alias (empty for the default configuration) of a provider block.
fn provider_key(block: &Block) -> (Arc<str>, Arc<str>) {
    let (content, _, _) = block
        .body
        .partial_content(&BodySchema::new().optional(&["alias"]));
    let mut ignored = Diagnostics::new();
    let alias = content
        .attribute("alias")
        .and_then(|a| super::constant::text(a, &mut ignored))
        .unwrap_or_default();
    (block.labels[0].text.clone(), alias.into())
}

fn imports(module: &mut Module, blocks: &[Block], diags: &mut Diagnostics) {
    let mut seen: Vec<Target> = Vec::new();
    for block in blocks {
        let Some((import, resolved)) = refactor::import(block, diags) else {
            continue;
        };
        if let Some(target) = resolved {
            if seen.contains(&target) {
                let detail = format!(
                    "An import block for \"{target}\" was already declared. A resource can have only one import block."
                );
                diags.error(
                    import.span,
                    format!("Duplicate import configuration for \"{target}\""),
                    detail,
                );
            }
            seen.push(target);
        }
        module.imports.push(import);
    }
}

fn checks(module: &mut Module, blocks: &[Block], diags: &mut Diagnostics) {
    for block in blocks {
        let (check, data) = refactor::check(block, diags);
        if let Some(data) = &data
            && module.resources.contains_key(&data.name)
        {
            let detail = format!(
                "\"{}\" was already declared. Names must be unique per type in each module, check blocks included.",
                data.name
            );
            diags.error(
                data.span,
                format!("Duplicate data \"{}\" configuration", data.name.kind),
                detail,
            );
            continue;
        }
        if module.checks.contains_key(&check.name) {
            let detail = format!(
                "A check block named \"{}\" was already declared. Names must be unique within each module.",
                check.name
            );
            diags.error(
                check.span,
                format!("Duplicate check \"{}\" configuration", check.name),
                detail,
            );
            continue;
        }
        module
            .resources
            .extend(data.map(|data| (data.name.clone(), data)));
        module.checks.insert(check.name.clone(), check);
    }
}
