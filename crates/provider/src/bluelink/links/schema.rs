//! Schema of links: configured attributes and link data. Pure.

use super::kinds::Links;
use super::record::PARTS;
use crate::LinkTypes;
use cty::Type;
use cty::schema::{Attribute, Block, Schema};

/// Attributes with the ids of both ends.
pub(super) const IDS: [&str; 2] = ["from_id", "to_id"];
/// Attribute with the intermediary resources by their ids.
pub(super) const INTERMEDIARIES: &str = "intermediary_resources";
/// Attribute with the phases that remain after a failure.
pub(super) const UNFINISHED: &str = "unfinished";
/// Attribute with the sensitive values.
pub(super) const SECRETS: &str = "sensitive_data";

/// Returns the schema of links.
pub(in super::super) fn link_schema() -> Schema {
    let text = |required: bool, description: &str| Attribute {
        ty: Type::String,
        required,
        computed: !required,
        description: description.to_owned(),
        ..Attribute::default()
    };
    let any = |sensitive: bool, description: &str| Attribute {
        ty: Type::Dynamic,
        computed: true,
        sensitive,
        description: description.to_owned(),
        ..Attribute::default()
    };
    let mut annotations = Attribute::optional(Type::map(Type::String));
    annotations.description = "annotations that the link type defines".to_owned();
    let unfinished = Attribute {
        ty: Type::list(Type::String),
        computed: true,
        description: "phases that remain after a failure".to_owned(),
        ..Attribute::default()
    };
    let [a, b, middle] = PARTS;
    let attributes = [
        ("from", text(true, "the resource at which the link begins")),
        ("to", text(true, "the resource to which the link leads")),
        (IDS[0], text(false, "the id of the resource at `from`")),
        (IDS[1], text(false, "the id of the resource at `to`")),
        ("annotations", annotations),
        (a, any(false, "link data about the resource at `from`")),
        (b, any(false, "link data about the resource at `to`")),
        (
            middle,
            any(false, "link data about the intermediary resources"),
        ),
        (
            INTERMEDIARIES,
            any(false, "intermediary resources of the link"),
        ),
        (UNFINISHED, unfinished),
        (SECRETS, any(true, "sensitive parts of the link data")),
    ];
    let block = Block {
        attributes: attributes.map(|(name, a)| (name.into(), a)).into(),
        description: "a link between two resources".to_owned(),
        ..Block::default()
    };
    Schema::new(0, block)
}

/// Returns the types that a provider links, for the engine.
pub(in super::super) fn pairs(links: &Links) -> LinkTypes {
    let kinds = links.kinds.iter();
    match links.too_old {
        true => LinkTypes::Refused(links.kinds.keys().cloned().collect(), too_old()),
        false => LinkTypes::Pairs(
            kinds
                .map(|(pair, kind)| (pair.clone(), kind.first))
                .collect(),
        ),
    }
}

fn too_old() -> String {
    "The plugin does not implement the call GetLinkIntermediaryExternalState, so it uses version 0.1 or older of Bluelink's plugin framework. Newer versions renumbered the fields of link messages, so the plugin would silently misread them. Its other features work. To use links, install a version of the plugin built with plugin-framework 0.2.0 or newer.".to_owned()
}
