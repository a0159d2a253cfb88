//! Functions on lists, sets, maps, tuples and objects. A tuple stays a tuple if the types of its
//! elements are known.

pub(super) mod choose;
pub(super) mod lists;
pub(super) mod maps;
pub(super) mod product;
pub(super) mod search;
pub(super) mod sets;
