//! Chooses the plugin that a command line names: an installed provider, or an executable.

use crate::cli::exit::CliError;
use crate::cli::suggest::nearest_word;
use engine::error::EngineError;
use engine::handle::Engine;
use model::PluginId;
use std::path::Path;

/// Returns the plugin of a path, or the only installed one with this name.
pub(super) async fn chosen(
    engine: &Engine,
    name: &str,
) -> Result<Result<PluginId, CliError>, EngineError> {
    // A bare name means a provider, even if a file in this directory has that name.
    if name.contains(std::path::MAIN_SEPARATOR) && Path::new(name).is_file() {
        return Ok(Ok(engine.declare_executable(Path::new(name)).await?));
    }
    let all = engine.find_installed().await?;
    Ok(only_one(&all, name))
}

fn only_one(all: &[PluginId], name: &str) -> Result<PluginId, CliError> {
    let is_it = |id: &&PluginId| &*id.0 == name || last_name(id) == name;
    let exact: Vec<&PluginId> = all.iter().filter(is_it).collect();
    let part: Vec<&PluginId> = all.iter().filter(|id| id.0.contains(name)).collect();
    // An exact name wins, because it may also be a part of other names.
    match (exact.as_slice(), part.as_slice()) {
        ([one], _) | ([], [one]) => Ok((*one).clone()),
        ([], []) => Err(none_of(name, all)),
        ([], many) | (many, _) => {
            let names: Vec<&str> = many.iter().map(|id| &*id.0).collect();
            let error = CliError::usage(format!("{name:?} matches {} plugins", many.len()));
            Err(error.hint(format!("use one of the full names: {}", names.join(", "))))
        }
    }
}

/// Returns the name of a plugin without its namespace.
pub(super) fn last_name(id: &PluginId) -> &str {
    id.0.rsplit('/').next().unwrap_or(&id.0)
}

fn none_of(name: &str, all: &[PluginId]) -> CliError {
    let near = nearest_word(name, all.iter().map(last_name));
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`flightdeck plugins --installed` lists them; an executable needs a path with a `/`"
                .to_owned()
        }
    };
    CliError::missing(format!("no installed provider has {name:?} in its name")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_chooses_the_exact_plugin_or_the_only_one_with_that_part() {
        let ids = [
            "bundled/lab",
            "bundled/local",
            "hashicorp/local",
            "acme/time",
        ];
        let all: Vec<PluginId> = ids.map(|id| PluginId(id.into())).into();
        for (name, result) in [
            ("acme/time", Ok("acme/time")),
            ("tim", Ok("acme/time")),
            ("lab", Ok("bundled/lab")),
            ("hashicorp", Ok("hashicorp/local")),
            ("local", Err("use one of the full names: bundled/local, ")),
            ("lav", Err("did you mean `lab`?")),
            ("zebra", Err("flightdeck plugins --installed")),
        ] {
            match (only_one(&all, name), result) {
                (Ok(id), Ok(expected)) => assert_eq!(&*id.0, expected),
                (Err(error), Err(words)) => {
                    assert!(error.to_string().contains(words), "{name}: {error}");
                }
                (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
            }
        }
    }
}
