//! Links between two resources: what a provider says of the kinds of links that it has, what is
//! kept of one, and the calls by which one is staged, made, changed and taken away. To the engine a
//! link is a managed resource of a type of its own.

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
