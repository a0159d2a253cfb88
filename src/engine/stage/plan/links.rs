//! Data about links in provider calls of a plan. A link's provider receives the objects at both
//! ends with their staged values; the provider of another resource receives the links that write
//! into it.

use crate::stage::link_arguments;
use crate::stage::nodes::Node;
use crate::stage::prior::PriorState;
use crate::stage::walk::Walk;
use calls::{CallContext, LinkEnd, Linked, StateEntry};
use cty::Value;
use lang::addr::AbsInstance;
use provider::LINK;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use store::records::StateObject;

/// Links of the state by the addresses of their ends.
#[derive(Default)]
pub struct LinksByEnd(OnceLock<HashMap<String, Vec<StateEntry>>>);

/// Call contexts with the links of an object.
#[derive(Clone, Copy)]
pub(super) struct LinkContexts<'a> {
    pub(super) walk: &'a Walk,
    pub(super) prior: &'a PriorState,
    /// Index of the links in `prior`.
    pub(super) by_end: &'a LinksByEnd,
}

impl LinkContexts<'_> {
    /// Returns the context to read an existing object.
    pub(super) fn read_context(
        &self,
        ctx: &CallContext,
        address: &AbsInstance,
        object: &StateObject,
    ) -> CallContext {
        let linked = if *address.resource.kind == *LINK {
            // The state record of a link names its ends.
            let ends = link_arguments::ends_in(&object.attributes);
            let ends =
                ends.and_then(|[from, to]| Some([self.prior_end(&from)?, self.prior_end(&to)?]));
            Linked {
                ends,
                ending_links: Vec::new(),
            }
        } else {
            let by = self.links_by_end().get(&object.address).cloned();
            Linked {
                ends: None,
                ending_links: by.unwrap_or_default(),
            }
        };
        let some = linked.ends.is_some() || !linked.ending_links.is_empty();
        CallContext {
            linked: some.then(|| Arc::new(linked)),
            ..ctx.clone()
        }
    }

    /// Returns the context to plan a link from its configuration.
    pub(super) fn plan_context(&self, ctx: &CallContext, config: &Value) -> CallContext {
        let ends = link_arguments::ends_of(config);
        let ends =
            ends.and_then(|[from, to]| Some([self.planned_end(&from)?, self.planned_end(&to)?]));
        CallContext {
            linked: ends.map(|ends| {
                Arc::new(Linked {
                    ends: Some(ends),
                    ending_links: Vec::new(),
                })
            }),
            ..ctx.clone()
        }
    }

    /// Returns an end with its state.
    fn prior_end(&self, address: &AbsInstance) -> Option<LinkEnd> {
        let object = self.prior.objects(address).and_then(|o| o.current.as_ref());
        let held = object.map(|object| (&*object.provider, StateEntry::from(object)));
        link_arguments::end(self.walk, address, held)
    }

    /// Returns an end with its state and its staged change.
    fn planned_end(&self, address: &AbsInstance) -> Option<LinkEnd> {
        let end = self.prior_end(address)?;
        let step = self.walk.nodes.step(&Node::Resource(address.config()));
        // A link refers to its ends, so their changes are planned before it.
        let cell = step.and_then(|step| self.walk.cells.of(step));
        let mut changes = cell.iter().flat_map(|cell| &cell.changes);
        let change = changes.find(|c| c.deposed.is_none() && c.address == *address);
        Some(match change {
            Some(change) => LinkEnd {
                before: Some(change.before.value.clone().unmark_deep().0),
                after: Some(change.after.value.clone().unmark_deep().0),
                ..end
            },
            None => end,
        })
    }

    fn links_by_end(&self) -> &HashMap<String, Vec<StateEntry>> {
        // Indexed once, because each refreshed object is looked up here.
        self.by_end.0.get_or_init(|| {
            let mut all: HashMap<String, Vec<StateEntry>> = HashMap::new();
            let links = self.prior.resources.iter();
            let links = links.filter(|(resource, _)| *resource.resource.kind == *LINK);
            let objects = links.flat_map(|(_, instances)| instances.values());
            for object in objects.filter_map(|objects| objects.current.as_ref()) {
                for end in link_arguments::ends_in(&object.attributes)
                    .into_iter()
                    .flatten()
                {
                    let of_it = all.entry(end.to_string()).or_default();
                    of_it.push(StateEntry::from(object));
                }
            }
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::testing::Unplanned;

    const STATE: &[&str] = &[
        "lab_thing.a name=x",
        "lab_thing.b",
        "lab_thing.c",
        "link.l from=lab_thing.a to=lab_thing.b !version=0",
        "link.broken from=lab_thing.a !version=0",
    ];

    /// Context of a read: the addresses at the ends of a link, and the number of links that end at
    /// the object.
    fn read(address: &str) -> (Option<[String; 2]>, usize) {
        let unplanned = Unplanned::new("locals {}", STATE, &[]);
        let links = LinkContexts {
            walk: &unplanned.walk,
            prior: &unplanned.prior,
            by_end: &unplanned.by_end,
        };
        let instance: AbsInstance = address.parse().expect("an address");
        let objects = unplanned.prior.objects(&instance).expect("objects");
        let object = objects.current.as_ref().expect("an object");
        let ctx = links.read_context(&unplanned.walk.context(address), &instance, object);
        let Some(linked) = ctx.linked else {
            return (None, 0);
        };
        let ends = linked.ends.as_ref();
        let ends = ends.map(|[from, to]| [from.address.clone(), to.address.clone()]);
        (ends, linked.ending_links.len())
    }

    #[test]
    fn link_is_read_with_its_ends_and_an_end_with_its_links() {
        let ends = ["lab_thing.a", "lab_thing.b"].map(str::to_owned);
        for (address, expected) in [
            ("link.l", (Some(ends), 0)),
            ("lab_thing.a", (None, 1)),
            ("lab_thing.b", (None, 1)),
            ("lab_thing.c", (None, 0)),
            // A record that does not name both ends.
            ("link.broken", (None, 0)),
        ] {
            assert_eq!(read(address), expected, "{address}");
        }
    }
}
