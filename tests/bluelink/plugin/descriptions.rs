//! Descriptions of the fake provider's types. `fake/slow/thing` has none, and its first such call
//! is an error.

use crate::resource_calls::unexpected;
use proto::bluelink::sharedtypesv1::{ErrorResponse, Examples, TypeDescription};

fn is_box(kind: &str) -> bool {
    kind.ends_with("/box")
}

pub fn label(kind: &str) -> Result<String, ErrorResponse> {
    match is_box(kind) {
        true => Ok("Cardboard box".to_owned()),
        false => Err(unexpected("it has no label")),
    }
}

pub fn description(kind: &str) -> Result<TypeDescription, ErrorResponse> {
    let mut said = TypeDescription::default();
    if is_box(kind) {
        said.plain_text_summary = "A box for things.".to_owned();
        said.markdown_description = "A **box** that holds things.\nIt has a lid.".to_owned();
    }
    Ok(said)
}

pub fn examples(kind: &str) -> Result<Examples, ErrorResponse> {
    let mut said = Examples::default();
    if is_box(kind) {
        said.examples = vec!["resources:\n  red:\n    type: fake/box".to_owned()];
    }
    Ok(said)
}
