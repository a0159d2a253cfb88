//! `flightdeck plugin scaffold`: a starter block of a type, from the live schema.

use super::choice;
use crate::cli::escape::safe_lines;
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::options::ScaffoldArgs;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::suggest::nearest_word;
use engine::error::EngineError;
use engine::handle::Engine;
use model::PluginId;
use model::settings::Access;
use provider::ProviderSchema;
use serde_json::json;
use std::sync::Arc;

pub(super) async fn run(args: ScaffoldArgs, out: &mut Output) -> CommandResult {
    let settings = settings("plugin scaffold", Access::ReadOnly, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let found = session
        .wait(out, &mut progress, schemas(&engine, &args))
        .await;
    session.finish(out).await;
    out.flush_diagnostics();
    let schemas = found??;
    for (plugin, schema) in &schemas {
        if let Some(text) = conform::starter_text(schema, &args.type_name, args.all) {
            if out.json {
                let result = json!({ "plugin": plugin, "configuration": text });
                out.result("plugin", fields(result));
            } else {
                out.line(safe_lines(&text).trim_end());
            }
            return Ok(OK);
        }
    }
    Err(unknown_type(&args.type_name, &schemas))
}

type Schemas = Vec<(PluginId, Arc<ProviderSchema>)>;

/// Launches the plugins that may have the type.
async fn schemas(
    engine: &Engine,
    args: &ScaffoldArgs,
) -> Result<Result<Schemas, CliError>, EngineError> {
    let candidates = match &args.plugin {
        Some(name) => match choice::chosen(engine, name).await? {
            Ok(plugin) => vec![plugin],
            Err(error) => return Ok(Err(error)),
        },
        None => {
            let all = engine.find_installed().await?;
            match named_like(&args.type_name, &all) {
                Ok(candidates) => candidates,
                Err(error) => return Ok(Err(error)),
            }
        }
    };
    let (mut found, mut failure) = (Vec::new(), None);
    for plugin in candidates {
        match engine.documented(&plugin).await {
            Ok(schema) => found.push((plugin, schema)),
            // A plugin that fails must not hide the type of another one.
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(Ok(found)),
    }
}

/// Returns the providers that are named like the first word of a type.
fn named_like(type_name: &str, all: &[PluginId]) -> Result<Vec<PluginId>, CliError> {
    let kind = type_name.strip_prefix("data.").unwrap_or(type_name);
    // By convention a type begins with the name of its provider.
    let word = kind.split('_').next().unwrap_or(kind);
    let named = |id: &&PluginId| id.0.rsplit('/').next() == Some(word);
    let found: Vec<PluginId> = all.iter().filter(named).cloned().collect();
    if found.is_empty() {
        let error = CliError::missing(format!("no installed provider is named {word:?}"));
        return Err(error.hint("name the provider of the type with --plugin"));
    }
    Ok(found)
}

fn unknown_type(type_name: &str, schemas: &Schemas) -> CliError {
    let data = |name: &str| format!("data.{name}");
    let known: Vec<String> = schemas
        .iter()
        .flat_map(|(_, schema)| {
            let resources = schema.resources.iter().map(|(name, _)| name.to_owned());
            resources.chain(schema.data_sources.iter().map(|(name, _)| data(name)))
        })
        .collect();
    let names: Vec<&str> = schemas.iter().map(|(id, _)| &*id.0).collect();
    let error = CliError::missing(format!("{} has no type {type_name:?}", names.join(", ")));
    match nearest_word(type_name, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`flightdeck plugins --installed --launch NAME` lists its types"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_word_of_a_type_chooses_its_provider() {
        let ids = ["bundled/lab", "hashicorp/aws", "acme/aws"];
        let all: Vec<PluginId> = ids.map(|id| PluginId(id.into())).into();
        let names = |name: &str| {
            let found = named_like(name, &all);
            found.map(|ids| ids.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(names("lab_bucket").expect("found"), ["bundled/lab"]);
        assert_eq!(names("data.aws_ami").expect("found").len(), 2);
        let error = names("gcp_disk").expect_err("absent").to_string();
        assert!(error.contains("--plugin"), "{error}");
    }
}
