//! Links passed with a provider call: for a link, the two resources that it connects; for another
//! resource, the links that end at it. Callers set them for dialects with links (Bluelink).

use super::StateEntry;
use cty::Value;

/// Links of a resource.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// For a link: its ends, from and to, as far as known.
    pub ends: Option<[LinkEnd; 2]>,
    /// For another resource: the links in the state that end at it.
    pub ending_links: Vec<StateEntry>,
}

/// End of a link.
#[derive(Debug, Clone)]
pub struct LinkEnd {
    /// Address of the instance.
    pub address: String,
    /// Resource type.
    pub kind: String,
    /// Full address of its provider.
    pub provider: String,
    /// Its object in the state, if there is one.
    pub state_entry: Option<StateEntry>,
    /// Value before the staged change; `None` if the state has it.
    pub before: Option<Value>,
    /// Planned value, possibly with unknown values; `None` if the state has it.
    pub after: Option<Value>,
}
