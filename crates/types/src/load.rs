//! The overlays of a workspace: those of flightdeck, of its modules and of the user.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use dependency::ProviderAddress;
use lang::body::Block;
use lang::config::{self, Module};
use lang::diag::{Diagnostics, Severity};
use lang::source::SourceMap;

use crate::block::{Overlay, read_provider, read_type};
use crate::settings::{Layer, TypeSettings};

/// Overlays that are part of flightdeck: file name and text.
const BUILT_IN: [(&str, &str); 3] = [
    ("built-in/aws.hcl", include_str!("built_in/aws.hcl")),
    ("built-in/bundled.hcl", include_str!("built_in/bundled.hcl")),
    ("built-in/other.hcl", include_str!("built_in/other.hcl")),
];

/// Overlays by resource type and by provider, the lowest layer first.
#[derive(Clone, Debug, Default)]
pub struct Overlays {
    pub(crate) by_type: BTreeMap<Arc<str>, Vec<Overlay>>,
    /// By the address of the provider, without a default host.
    by_provider: BTreeMap<Arc<str>, Vec<Overlay>>,
}

impl Overlays {
    /// Reads all overlays: built-in ones, those of the modules below `root`, and the `.hcl` files
    /// of the user's directory. Wrong ones are left out, with a warning for each.
    pub fn load(
        root: Option<&Module>,
        user: Option<&Path>,
        sources: &SourceMap,
    ) -> (Overlays, Diagnostics) {
        let mut overlays = built_in().clone();
        let mut diags = Diagnostics::new();
        if let Some(root) = root {
            // `all` lists callers before the modules that they call. Reversed, so that a caller
            // overrides them.
            for module in root.all().into_iter().skip(1).rev() {
                overlays.add(&module.types, Layer::Module, sources, &mut diags);
            }
            overlays.add(&root.types, Layer::Workspace, sources, &mut diags);
        }
        for path in user.map(files).unwrap_or_default() {
            let blocks = config::type_blocks_of(&path, sources, &mut diags);
            overlays.add(&blocks, Layer::User, sources, &mut diags);
        }
        (overlays, as_warnings(diags))
    }

    /// Reads the overlays of a text.
    pub fn of_text(text: &str, layer: Layer, sources: &SourceMap) -> (Overlays, Diagnostics) {
        let mut overlays = Overlays::default();
        let mut diags = Diagnostics::new();
        let name = "types.flightdeck.hcl";
        let blocks = config::type_blocks(text.as_bytes().to_vec(), name, sources, &mut diags);
        overlays.add(&blocks, layer, sources, &mut diags);
        (overlays, as_warnings(diags))
    }

    /// Adds the valid ones of these blocks.
    fn add(
        &mut self,
        blocks: &[Block],
        layer: Layer,
        sources: &SourceMap,
        diags: &mut Diagnostics,
    ) {
        for block in blocks {
            let Some(label) = block.labels.first() else {
                continue;
            };
            let mut found = Diagnostics::new();
            let (overlay, named) = match &*block.type_name {
                "provider" => {
                    let named = match ProviderAddress::of_source(&label.text) {
                        Ok(address) => address.short_form().into(),
                        Err(error) => {
                            found.error(label.span, "Invalid provider source", error.to_string());
                            label.text.clone()
                        }
                    };
                    let overlay = read_provider(block, layer, sources, &mut found);
                    (overlay, self.by_provider.entry(named).or_default())
                }
                _ => {
                    let overlay = read_type(block, layer, sources, &mut found);
                    overlay.check_cycles(&mut found);
                    let of_type = self.by_type.entry(label.text.clone());
                    (overlay, of_type.or_default())
                }
            };
            let same = |other: &&Overlay| {
                other.origin.layer == layer && other.origin.span.file == overlay.origin.span.file
            };
            if let Some(other) = named.iter().find(same) {
                let line = sources.range(other.origin.span).map_or(0, |r| r.start.line);
                let kind = &block.type_name;
                let detail = format!(
                    "A {kind} block \"{}\" is already in line {line} of this file. Merge the two blocks.",
                    label.text
                );
                found.error(block.def_span, format!("Duplicate {kind} block"), detail);
            }
            if !found.has_errors() {
                named.push(overlay);
            }
            diags.append(found);
        }
    }

    /// Names of all types with an overlay.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_type.keys()
    }

    /// Settings of a type of all layers together, without those of its provider.
    pub fn effective(&self, type_name: &str) -> TypeSettings {
        merged(self.by_type.get(type_name)).with_implied_status()
    }

    /// Settings of the provider at this address: the reconcile policy of its objects. The policy of
    /// a type overrides it.
    pub fn of_provider(&self, provider: &str) -> TypeSettings {
        merged(self.by_provider.get(model::short_provider(provider)))
    }
}

/// Settings of all layers together, the lowest first.
fn merged(all: Option<&Vec<Overlay>>) -> TypeSettings {
    let all = all.into_iter().flatten();
    all.fold(TypeSettings::default(), |under, overlay| {
        let under = match overlay.replace {
            true => under.redactions(),
            false => under,
        };
        under.overlaid(overlay.settings.clone())
    })
}

/// Overlays that are part of flightdeck. Their source positions are those of their own texts.
fn built_in() -> &'static Overlays {
    static PARSED: LazyLock<Overlays> = LazyLock::new(|| {
        let (sources, mut diags) = (SourceMap::new(), Diagnostics::new());
        let mut overlays = Overlays::default();
        for (name, text) in BUILT_IN {
            let blocks = config::type_blocks(text.as_bytes().to_vec(), name, &sources, &mut diags);
            overlays.add(&blocks, Layer::BuiltIn, &sources, &mut diags);
        }
        debug_assert!(diags.is_empty(), "{}", diags.joined());
        overlays
    });
    &PARSED
}

/// Files with overlays in the user's directory, by name. A missing directory has none.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "hcl"))
        .collect();
    files.sort();
    files
}

/// Lowers all diagnostics to warnings, because an invalid overlay must not stop a command.
pub(crate) fn as_warnings(mut diags: Diagnostics) -> Diagnostics {
    let all = diags.0.iter_mut();
    all.for_each(|diagnostic| diagnostic.severity = Severity::Warning);
    diags
}
