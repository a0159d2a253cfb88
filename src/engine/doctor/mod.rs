//! What is wrong with a machine, a workspace and what belongs to it: each finding with its remedy,
//! and with a hand that does it where that is safe. Launches nothing, locks nothing, changes
//! nothing but what it is asked to mend.

mod finding;
mod machine;
mod mend;
mod plugins;
mod processes;
mod record;
mod state;
#[cfg(test)]
mod tests;
mod workspace;

pub use finding::{Area, Finding, Level, Mend};
pub use mend::{MendError, mend};

use crate::engine::settings::Settings;
use finding::Findings;
use std::sync::Arc;

/// Looks at everything, one thing after the other; what cannot be looked at is a finding too.
pub async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut found = Findings::default();
    let blocking = {
        let settings = settings.clone();
        move || {
            let mut found = Findings::default();
            machine::examine(&settings.workspace, &mut found);
            let root = workspace::examine(&settings, &mut found);
            (found, root)
        }
    };
    // Reading a large configuration takes a while.
    let root = match tokio::task::spawn_blocking(blocking).await {
        Ok((first, root)) => {
            found = first;
            root
        }
        Err(error) => {
            found.error(Area::Machine, format!("the look at it broke off: {error}"));
            None
        }
    };
    let store = record::examine(settings, &mut found).await;
    let in_state = state::examine(settings, store.as_ref(), &mut found).await;
    if let Some(root) = root {
        let settings = settings.clone();
        let root = Arc::clone(&root);
        let seen = tokio::task::spawn_blocking(move || {
            let mut found = Findings::default();
            plugins::examine(&settings, &root, &in_state, &mut found);
            found
        });
        match seen.await {
            Ok(more) => found.append(more),
            Err(error) => found.error(Area::Plugins, format!("the search broke off: {error}")),
        }
    }
    if let Some(store) = &store {
        plugins::last_launches(store, &mut found).await;
    }
    processes::examine(settings, &mut found).await;
    found.into_vec()
}
