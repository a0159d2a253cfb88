//! Assembles the files of one directory into a module: collects all declarations first, then reads
//! each with its overrides.

use super::call::CallBlock;
use super::draft::Draft;
use super::files::ConfigFile;
use super::group::{self, GROUP};
use super::link::{self, LINK};
use super::model::Module;
use super::secret::{self, SECRET};
use super::type_blocks::{PROVIDER, TYPE};
use super::{language, settings};
use crate::addr::Mode;
use crate::body::{Block, BodySchema};
use crate::diag::Diagnostics;
use crate::source::Span;

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
        .block(LINK, &["name"])
        .block("moved", &[])
        .block("import", &[])
        .block("check", &["name"])
        .block("removed", &[])
        .block("terraform", &[])
}

pub(super) fn mode_of(block: &Block) -> Mode {
    match &*block.type_name {
        "data" => Mode::Data,
        "ephemeral" => Mode::Ephemeral,
        _ => Mode::Managed,
    }
}

/// Blocks of the files that OpenTofu ignores.
fn own_schema() -> BodySchema {
    BodySchema::new()
        .block(GROUP, &["name"])
        .block(TYPE, &["name"])
        .block(PROVIDER, &["source"])
        .block(LINK, &["name"])
        .block(SECRET, &["name"])
}

/// Returns the module of these files and its calls, whose modules are not loaded yet.
pub(super) fn assemble(
    files: &[ConfigFile],
    is_root: bool,
    diags: &mut Diagnostics,
) -> (Module, Vec<CallBlock>) {
    let mut module = Module::default();
    let mut draft = Draft::default();
    let mut required: Option<Span> = None;
    for file in files {
        language::check_version_syntax(file, diags);
        if file.is_own {
            own_blocks(&mut module, &mut draft, file, is_root, diags);
            continue;
        }
        let (content, found) = file.body.content(&top_schema());
        diags.append(found);
        let mut own = settings::Settings::default();
        for block in content.blocks {
            match &*block.type_name {
                "language" => language::language(&block, file.is_override, diags),
                "terraform" => settings::terraform(&block, &mut own, diags),
                "required_providers" => diags.error(
                    block.type_span,
                    "Invalid required_providers block",
                    "A \"required_providers\" block must be nested inside a \"terraform\" block.",
                ),
                _ if file.is_override => draft.overrides(link::labelled(block), diags),
                _ => draft.declare(link::labelled(block), diags),
            }
        }
        take_settings(&mut module, own, file.is_override, &mut required, diags);
    }
    let calls = draft.finish(&mut module, diags);
    (module, calls)
}

fn own_blocks(
    module: &mut Module,
    draft: &mut Draft,
    file: &ConfigFile,
    is_root: bool,
    diags: &mut Diagnostics,
) {
    let (content, found) = file.body.content(&own_schema());
    diags.append(found);
    for block in content.blocks {
        match &*block.type_name {
            GROUP => group::declare(module, &block, is_root, diags),
            SECRET => secret::declare(module, &block, is_root, diags),
            TYPE | PROVIDER => module.types.push(block),
            _ => draft.declare(link::labelled(block), diags),
        }
    }
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
            // An override replaces entries by name and keeps the others.
            module.required_providers.extend(entries);
        } else if required.is_some() {
            let detail = "A module may have only one required_providers block.";
            diags.error(span, "Duplicate required providers configuration", detail);
        } else {
            *required = Some(span);
            module.required_providers = entries;
        }
    }
    super::encryption::add_blocks(module, own.encryptions, is_override, diags);
    // OpenTofu ignores `provider_meta` blocks of override files.
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
    // `backend` and `cloud` blocks seen in this file.
    let mut in_this_file = [false; 2];
    for (kind, span, body) in own.backends {
        let is_cloud = &*kind == "cloud";
        // An override replaces the backend of other files; a second one in the same override is a
        // duplicate.
        let before = module.backend.as_ref();
        let other = match is_override {
            true => in_this_file[usize::from(is_cloud)].then_some(is_cloud),
            false => before.map(|(other, _)| &**other == "cloud"),
        };
        // If both blocks exist, the error is placed at the backend.
        let place = before
            .filter(|_| other == Some(false) && is_cloud)
            .map_or(span, |(_, place)| *place);
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
                diags.error(place, summary, detail);
            }
            // If an override has both, the cloud block wins in any order.
            None if is_override && !is_cloud && in_this_file[1] => {}
            None => {
                module.backend = Some((kind, span));
                module.backend_body = body;
            }
        }
        in_this_file[usize::from(is_cloud)] = true;
    }
}
