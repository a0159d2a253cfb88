//! Data about links in provider calls of a deploy: the current objects at both ends of the link,
//! with their values at the time of the stage.

use super::deploying::Deploying;
use crate::stage::change::Change;
use crate::stage::link_arguments;
use calls::{LinkEnd, Linked, StateEntry};
use lang::addr::AbsInstance;
use provider::LINK;
use std::sync::Arc;

impl Deploying {
    /// Returns the link data for the call of a change; `None` unless the change is a link.
    pub(super) fn linked(&self, change: &Change, destroys: bool) -> Option<Arc<Linked>> {
        if *change.address.resource.kind != *LINK {
            return None;
        }
        let object = match destroys || change.after.value.is_null() {
            true => &change.before.value,
            false => &change.after.value,
        };
        let [from, to] = link_arguments::ends_of(object)?;
        let ends = Some([self.link_end(&from)?, self.link_end(&to)?]);
        Some(Arc::new(Linked {
            ends,
            ending_links: Vec::new(),
        }))
    }

    fn link_end(&self, address: &AbsInstance) -> Option<LinkEnd> {
        let object = self.objects.object(address);
        let held = object.map(|object| (object.provider.clone(), StateEntry::from(&object)));
        let held = held
            .as_ref()
            .map(|(provider, held)| (&**provider, held.clone()));
        let end = link_arguments::end(&self.walk, address, held)?;
        // Links compare with the value that the stage has compared with.
        let change = self.selection.selected_change(&address.to_string());
        let before = change.map(|change| change.before.value.clone());
        Some(LinkEnd {
            before: before.map(|value| value.unmark_deep().0),
            ..end
        })
    }
}
