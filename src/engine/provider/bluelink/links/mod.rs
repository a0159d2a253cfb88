//! Links between two resources: kinds of links, their records, and the calls that stage, create,
//! update and remove them. To the engine a link is a managed resource of a separate type.

mod annotations;
mod apply;
mod keep;
mod kinds;
mod look;
mod overlay;
mod phases;
mod plan;
mod record;
mod schema;
mod sides;
#[cfg(test)]
mod tests;
mod validate;

pub(super) use kinds::{Links, links};
pub(super) use overlay::without_links;
pub(super) use schema::{link_schema, pairs};
