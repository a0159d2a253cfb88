//! `type` and `provider` blocks of files that OpenTofu ignores. Their content is read where
//! resource types are known.

use std::path::Path;

use super::files;
use crate::body::{Block, Body, BodySchema};
use crate::diag::Diagnostics;
use crate::source::SourceMap;

/// Block of a resource type.
pub(super) const TYPE: &str = "type";
/// Block of a provider's resource types.
pub(super) const PROVIDER: &str = "provider";

/// Parses a text that has only such blocks. `shown` is the name of its file.
pub fn type_blocks(
    text: Vec<u8>,
    shown: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Vec<Block> {
    blocks(files::body_of(text, shown, false, sources, diags), diags)
}

/// Parses a file that has only such blocks.
pub fn type_blocks_of(path: &Path, sources: &SourceMap, diags: &mut Diagnostics) -> Vec<Block> {
    let shown = path.display().to_string();
    blocks(files::read_body(path, &shown, false, sources, diags), diags)
}

fn blocks(body: Option<Body>, diags: &mut Diagnostics) -> Vec<Block> {
    let Some(body) = body else {
        return Vec::new();
    };
    let schema = BodySchema::new()
        .block(TYPE, &["name"])
        .block(PROVIDER, &["source"]);
    let (content, found) = body.content(&schema);
    diags.append(found);
    content.blocks
}
