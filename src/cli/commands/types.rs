//! `flightdeck types`: settings of resource types with the layers that set them.

use crate::cli::escape::safe;
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::session::{run_request, settings};
use crate::cli::suggest::nearest_word;
use engine::handle::Engine;
use model::TypeView;
use model::settings::Access;
use serde_json::json;

pub(super) async fn run(name: Option<String>, all: bool, out: &mut Output) -> CommandResult {
    let settings = settings("types", Access::ReadState, None)?;
    let question = |engine: Engine| async move { engine.resource_types(None).await };
    let types = run_request(settings, out, question).await?;
    out.flush_diagnostics();
    let of_operator = |view: &TypeView| view.settings.iter().any(|s| s.layer != "built in");
    let shown: Vec<&TypeView> = match &name {
        Some(name) => types.iter().filter(|v| v.type_name == *name).collect(),
        None if all => types.iter().collect(),
        None => types
            .iter()
            .filter(|view| view.used || of_operator(view))
            .collect(),
    };
    if let (Some(name), true) = (&name, shown.is_empty()) {
        let known = types.iter().map(|view| view.type_name.as_str());
        let error = CliError::usage(format!("the type {name} has no settings"));
        return Err(match nearest_word(name, known) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error.hint(format!(
                "write a block type \"{name}\" in a file *.flightdeck.hcl"
            )),
        });
    }
    if out.json {
        out.result("types", fields(json!({ "types": shown })));
    } else if shown.is_empty() {
        out.line("no type in use has settings; --all lists the built-in ones");
    } else {
        shown.iter().for_each(|view| show(out, view));
    }
    Ok(OK)
}

fn show(out: &mut Output, view: &TypeView) {
    let waits = match view.waits {
        true => "  (an apply waits until the object is ready)",
        false => "",
    };
    let head = out.paint(Ink::Bold, &safe(&view.type_name));
    out.line(&format!("{head}{waits}"));
    let width = |of: fn(&model::TypeSetting) -> &str| {
        let all = view.settings.iter().map(|s| of(s).chars().count());
        all.max().unwrap_or(0)
    };
    let (name, value) = (width(|s| &s.name), width(|s| &s.value).min(60));
    for setting in &view.settings {
        let place = setting.place.as_deref();
        let place = place.map_or_else(String::new, |place| format!(", {place}"));
        out.line(&format!(
            "  {:name$}  {:value$}  {}{}",
            setting.name,
            safe(&setting.value),
            setting.layer,
            safe(&place)
        ));
    }
}
