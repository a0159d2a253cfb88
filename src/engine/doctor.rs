//! `doctor`: checks machine and workspace. Each finding has a remedy, and a fix if that is safe.
//! Launches and locks nothing, and changes only what it is asked to fix.

mod finding;
mod fix;
mod machine;
mod plugins;
mod processes;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod workspace;

pub use finding::{Area, Finding, Fix, Level};
pub use fix::{MendError, mend};

use finding::Findings;
use model::settings::Settings;

/// Runs all checks in order; a check that cannot run is a finding too.
pub async fn examine(settings: &Settings) -> Vec<Finding> {
    let (here, mut found) = (settings.clone(), Findings::default());
    // Loading a large configuration takes time.
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
            found.error(Area::Machine, format!("the check failed: {error}"));
            None
        }
    };
    let store = store::examine(settings, &mut found).await;
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
            Err(error) => found.error(Area::Plugins, format!("the plugin search failed: {error}")),
        }
    }
    if let Some(store) = &store {
        plugins::check_last_launches(store, &mut found).await;
    }
    processes::examine(settings, &mut found).await;
    found.into_vec()
}
