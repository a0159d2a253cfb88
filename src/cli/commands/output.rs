//! `flightdeck output`: prints outputs of the root module from the state.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CliError, CommandResult, OK};
use crate::cli::output::Output;
use crate::cli::session::{run_request, settings};
use crate::cli::suggest::nearest_word;
use cty::{Type, Value};
use lang::literal::format_value;
use model::OutputValue;
use model::settings::Access;

pub(super) async fn run(
    name: Option<&str>,
    (json, raw): (bool, bool),
    out: &mut Output,
) -> CommandResult {
    let settings = settings("output", Access::ReadState, None)?;
    let outputs = run_request(
        settings,
        out,
        |engine| async move { engine.outputs().await },
    )
    .await;
    let outputs = outputs?;
    out.flush_diagnostics();
    let Some(name) = name else {
        return all(&outputs, json, out);
    };
    let Some(found) = outputs.iter().find(|output| output.name == name) else {
        let near = nearest_word(name, outputs.iter().map(|o| o.name.as_str()));
        let hint = near.map_or_else(
            || "`flightdeck output` lists the outputs".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(CliError::missing(format!(
            "the state has no output {name:?} (the next deploy adds new ones of the configuration)"
        ))
        .hint(hint));
    };
    if json {
        out.write((statefile::compact(&found.value) + "\n").as_bytes());
        return Ok(OK);
    }
    let value = value(found)?;
    // Without a line break, so that scripts get exactly the value.
    if raw {
        out.write(raw_value(found, &value)?.as_bytes());
    } else {
        out.line(&safe_lines(&format_value(&value, 0)));
    }
    Ok(OK)
}

/// Prints all outputs.
pub(super) fn all(outputs: &[OutputValue], json: bool, out: &mut Output) -> CommandResult {
    if json {
        // Assembled from the stored texts, so that numbers keep all digits.
        let members: Vec<String> = outputs
            .iter()
            .map(|output| {
                let name = serde_json::Value::from(output.name.as_str());
                format!(
                    "{name}:{{\"sensitive\":{},\"type\":{},\"value\":{}}}",
                    output.sensitive, output.ty, output.value
                )
            })
            .collect();
        let text = statefile::indented(&format!("{{{}}}", members.join(",")));
        out.write((text.trim_end().to_owned() + "\n").as_bytes());
        return Ok(OK);
    }
    if outputs.is_empty() {
        out.stderr_line("the state has no outputs; the next deploy adds those of the root module");
    }
    for output in outputs {
        let text = if output.sensitive && !out.flags.show_sensitive {
            "<sensitive>".to_owned()
        } else {
            format_value(&value(output)?, 0)
        };
        out.line(&format!("{} = {}", safe(&output.name), safe_lines(&text)));
    }
    Ok(OK)
}

fn value(output: &OutputValue) -> Result<Value, CliError> {
    let damaged = |why: String| {
        CliError::internal(format!(
            "cannot read the output {:?} from the state: {why}",
            output.name
        ))
    };
    let ty = Type::from_json(output.ty.as_bytes()).map_err(|e| damaged(e.to_string()))?;
    let json = serde_json::from_str(&output.value).map_err(|e| damaged(e.to_string()))?;
    cty::json::decode_value(&json, &ty).map_err(|e| damaged(e.to_string()))
}

/// Returns the value of `--raw`, for scripts.
fn raw_value(output: &OutputValue, value: &Value) -> Result<String, CliError> {
    let refused = |value: String| {
        CliError::usage(format!(
            "the output {:?} is {value}, and --raw prints only a string, a number or a bool",
            output.name
        ))
        .hint("use --json")
    };
    if value.is_null() {
        return Err(refused("null".to_owned()));
    }
    // As in OpenTofu, a value has a raw form if it converts to a string.
    let text = value.convert(&Type::String);
    let text = text.ok().and_then(|text| text.as_str().map(str::to_owned));
    text.ok_or_else(|| refused(format!("a value of type {}", value.ty().friendly_name())))
}
