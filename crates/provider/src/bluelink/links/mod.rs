//! Links between two resources: kinds of links, their records, and the calls that stage, create,
//! update and remove them. To the engine a link is a managed resource of a separate type.

mod annotations;
mod apply;
mod ends;
mod intermediaries;
mod kinds;
mod phases;
mod plan;
mod private_data;
mod record;
mod schema;
#[cfg(test)]
mod tests;
mod validate;
mod written_fields;

pub(super) use kinds::{Links, links};
pub(super) use schema::{link_schema, pairs};
pub(super) use written_fields::without_links;
