//! What links have to do with the resource of a call: the ends of a link, or the links that a
//! resource is an end of. Whoever makes the call says it; of use to dialects that have links.

use super::Held;
use cty::Value;

/// What links have to do with a resource.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// Of a link: from and to, as far as they are known.
    pub ends: Option<[LinkEnd; 2]>,
    /// Of another resource: the links in the state that have it at an end.
    pub by: Vec<Held>,
}

/// One end of a link.
#[derive(Debug, Clone)]
pub struct LinkEnd {
    /// The address of the instance.
    pub address: String,
    /// Its resource type.
    pub kind: String,
    /// The whole address of its provider.
    pub provider: String,
    /// As the state has it, where it does.
    pub held: Option<Held>,
    /// What it was before the change that is staged for it; `None` for as the state has it.
    pub before: Option<Value>,
    /// What it is to be, with what is not known yet; `None` for as the state has it.
    pub after: Option<Value>,
}
