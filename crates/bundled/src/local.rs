//! Provider `local`: files, directories and processes of this machine, which is the only state.

mod directory;
mod file;
mod process;

use std::sync::Arc;

use cty::Value;
use sdk::{Failure, Provider, Resource, State, async_trait};

/// Provider `local`.
pub struct Local;

#[async_trait]
impl Provider for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![
            Arc::new(file::LocalFile),
            Arc::new(directory::LocalDirectory),
            Arc::new(process::LocalProcess),
        ]
    }
}

/// Checks permissions such as `0644`.
fn permission(value: &Value) -> Result<(), String> {
    mode(value.as_str().unwrap_or_default()).map(|_| ())
}

fn mode(text: &str) -> Result<u32, String> {
    let parsed = u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777 && (3..=4).contains(&text.len()));
    parsed.ok_or_else(|| format!("{text:?} is not an octal permission like 0644"))
}

/// Formats permissions, in the spelling of the state if they are equal.
fn permission_text(found: u32, state: Option<&str>) -> String {
    match state {
        // `644` and `0644` are equal; keeping the spelling avoids a difference in the plan.
        Some(text) if mode(text) == Ok(found & 0o777) => text.to_owned(),
        _ => format!("{:04o}", found & 0o777),
    }
}

fn failed(doing: &str, path: &str) -> impl Fn(std::io::Error) -> Failure {
    let summary = format!("cannot {doing} {path}");
    move |error| Failure::new(summary.clone(), error.to_string())
}

fn undescribable(problem: impl Into<String>) -> Failure {
    Failure::new("the object is not valid", problem)
}

/// Runs file operations on a thread for blocking work.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(Failure::new(
            "the file operation did not end normally",
            error.to_string(),
        ))
    })
}

fn state(object: sdk::Object) -> Result<State, Failure> {
    object.into_value().map(State::new).map_err(undescribable)
}
