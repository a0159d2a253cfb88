//! Functions on lists, sets, maps, tuples and objects. Results keep the exact kind: a tuple in
//! gives a tuple out where the types of the elements can be told.

pub(super) mod choose;
pub(super) mod lists;
pub(super) mod maps;
pub(super) mod product;
pub(super) mod search;
pub(super) mod sets;
