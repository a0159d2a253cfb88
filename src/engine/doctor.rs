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

/// Looks at everything, one thing after the other; what cannot be looked at is a finding too.
pub async fn examine(settings: &Settings) -> Vec<Finding> {
    let (here, mut found) = (settings.clone(), Findings::default());
    // Reading a large configuration takes a while.
    let looked = tokio::task::spawn_blocking(move || {
        let mut found = Findings::default();
        machine::examine(&here.workspace, &mut found);
        let root = workspace::examine(&here, &mut found);
        (found, root)
    });
    let root = match looked.await {
        Ok((first, root)) => {
            found.append(first);
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
