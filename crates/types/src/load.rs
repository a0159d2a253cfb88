//! The overlays of a workspace: those of flightdeck, of its modules and of the user.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use lang::body::Block;
use lang::config::{self, Module};
use lang::diag::{Diagnostics, Severity};
use lang::source::SourceMap;

use crate::block::{Overlay, read};
use crate::settings::{Layer, TypeSettings};

/// Overlays that are part of flightdeck: file name and text.
const BUILT_IN: [(&str, &str); 3] = [
    ("built-in/aws.hcl", include_str!("built_in/aws.hcl")),
    ("built-in/bundled.hcl", include_str!("built_in/bundled.hcl")),
    ("built-in/other.hcl", include_str!("built_in/other.hcl")),
];

/// Overlays by resource type, the lowest layer first.
#[derive(Clone, Debug, Default)]
pub struct Overlays {
    pub(crate) by_type: BTreeMap<Arc<str>, Vec<Overlay>>,
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
            // Callers come first, and decide over the modules that they call.
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
            let overlay = read(block, layer, sources, &mut found);
            overlay.check_cycles(&mut found);
            let of_type = self.by_type.entry(label.text.clone()).or_default();
            let same = |other: &&Overlay| {
                other.origin.layer == layer && other.origin.span.file == overlay.origin.span.file
            };
            if let Some(other) = of_type.iter().find(same) {
                let line = sources.range(other.origin.span).map_or(0, |r| r.start.line);
                let detail = format!(
                    "A type block \"{}\" stands already in line {line} of this file.",
                    label.text
                );
                found.error(block.def_span, "Duplicate type block", detail);
            }
            if !found.has_errors() {
                of_type.push(overlay);
            }
            diags.append(found);
        }
    }

    /// Names of all types with an overlay.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_type.keys()
    }

    /// Settings of a type of all layers together.
    pub fn effective(&self, type_name: &str) -> TypeSettings {
        let all = self.by_type.get(type_name).into_iter().flatten();
        let merged = all.fold(TypeSettings::default(), |under, overlay| {
            let under = match overlay.replace {
                true => under.redactions(),
                false => under,
            };
            under.overlaid(overlay.settings.clone())
        });
        merged.with_implied_status()
    }
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

/// Nothing about an overlay stops a command.
pub(crate) fn as_warnings(mut diags: Diagnostics) -> Diagnostics {
    let all = diags.0.iter_mut();
    all.for_each(|diagnostic| diagnostic.severity = Severity::Warning);
    diags
}
