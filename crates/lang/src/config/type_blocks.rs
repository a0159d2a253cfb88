//! `type` blocks of files outside of modules. Their content is read where resource types are known.

use std::path::Path;

use super::files;
use crate::body::{Block, Body, BodySchema};
use crate::diag::Diagnostics;
use crate::source::SourceMap;

/// Block type.
pub(super) const TYPE: &str = "type";

/// Parses a text that has only `type` blocks. `shown` is the name of its file.
pub fn type_blocks(
    text: Vec<u8>,
    shown: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Vec<Block> {
    blocks(files::body_of(text, shown, false, sources, diags), diags)
}

/// Parses a file that has only `type` blocks.
pub fn type_blocks_of(path: &Path, sources: &SourceMap, diags: &mut Diagnostics) -> Vec<Block> {
    let shown = path.display().to_string();
    blocks(files::read_body(path, &shown, false, sources, diags), diags)
}

fn blocks(body: Option<Body>, diags: &mut Diagnostics) -> Vec<Block> {
    let Some(body) = body else {
        return Vec::new();
    };
    let (content, found) = body.content(&BodySchema::new().block(TYPE, &["name"]));
    diags.append(found);
    content.blocks
}
