//! Values in the language's syntax, for people. Type functions are added where the literal is
//! ambiguous.

use cty::{Type, Value};
use std::fmt::Write as _;

/// Formats a value in the language's syntax, with further lines indented by `indent` spaces.
/// Sensitive, ephemeral and unknown values are replaced by a note.
#[must_use]
pub fn format_value(value: &Value, indent: usize) -> String {
    // Marks come first, so that a secret is not even shown to be null or unknown.
    if value.has_mark(&cty::Mark::Sensitive) {
        return "(sensitive value)".to_owned();
    }
    if value.has_mark(&cty::Mark::Ephemeral) {
        return "(ephemeral value)".to_owned();
    }
    if !value.is_known() {
        return "(known after apply)".to_owned();
    }
    let (value, _) = value.clone().unmark();
    if value.is_null() {
        return null(value.ty());
    }
    match value.ty() {
        Type::String => {
            let text = value.as_str().unwrap_or_default();
            if text.contains('\n') {
                heredoc(text, indent)
            } else {
                quoted(text)
            }
        }
        Type::Number => value
            .as_number()
            .map_or_else(String::new, |number| number.to_text()),
        Type::Bool => value.as_bool().unwrap_or_default().to_string(),
        Type::Object(_) => mapping(&value, indent),
        Type::Map(_) => format!("tomap({})", mapping(&value, indent)),
        Type::Tuple(_) => sequence(&value, indent),
        Type::List(_) => format!("tolist({})", sequence(&value, indent)),
        Type::Set(_) => format!("toset({})", sequence(&value, indent)),
        Type::Dynamic => "null".to_owned(),
    }
}

fn null(ty: &Type) -> String {
    let of =
        |name: &str, inner: &Type| format!("to{name}(null) /* of {} */", inner.friendly_name());
    match ty {
        Type::Dynamic => "null".to_owned(),
        Type::String => "tostring(null)".to_owned(),
        Type::Number => "tonumber(null)".to_owned(),
        Type::Bool => "tobool(null)".to_owned(),
        Type::List(inner) => of("list", inner),
        Type::Set(inner) => of("set", inner),
        Type::Map(inner) => of("map", inner),
        Type::Tuple(_) | Type::Object(_) => format!("null /* {} */", ty.friendly_name()),
    }
}

fn mapping(value: &Value, indent: usize) -> String {
    let inner = " ".repeat(indent + 2);
    let mut out = "{".to_owned();
    for (name, value) in value.as_map().into_iter().flat_map(|all| all.iter()) {
        // Writing to a text cannot fail.
        let _ = write!(
            out,
            "\n{inner}{} = {}",
            quoted(name),
            format_value(value, indent + 2)
        );
    }
    if out.len() > 1 {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
    out + "}"
}

fn sequence(value: &Value, indent: usize) -> String {
    let inner = " ".repeat(indent + 2);
    let mut out = "[".to_owned();
    for value in value.as_slice().unwrap_or_default() {
        let _ = write!(out, "\n{inner}{},", format_value(value, indent + 2));
    }
    if out.len() > 1 {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
    out + "]"
}

/// Heredoc, with an end marker that is not a line of the text.
fn heredoc(text: &str, indent: usize) -> String {
    let mut end = "EOT".to_owned();
    while text.split('\n').any(|line| line.trim() == end) {
        end.push('_');
    }
    let margin = " ".repeat(indent);
    // `<<-` removes the indentation that aligns the lines with the value around them.
    let operator = if indent > 0 { "<<-" } else { "<<" };
    let mut out = format!("{operator}{end}");
    for line in text.split('\n') {
        let _ = write!(out, "\n{margin}{line}");
    }
    format!("{out}\n{margin}{end}")
}

/// Quoted text with invisible characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    cty::quote(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_value_shows_its_type() {
        let text = |v: &str| Value::string(v);
        assert_eq!(format_value(&text("a\"b\t\u{1b}"), 0), "\"a\\\"b\\t\\x1b\"");
        assert_eq!(format_value(&text("a\nEOT"), 0), "<<EOT_\na\nEOT\nEOT_");
        assert_eq!(
            format_value(&Value::null(Type::String), 0),
            "tostring(null)"
        );
        let list = Value::list(Type::String, vec![text("x"), text("a\nb")]);
        assert_eq!(
            format_value(&list, 0),
            "tolist([\n  \"x\",\n  <<-EOT\n  a\n  b\n  EOT,\n])"
        );
        let empty = Value::list(Type::Number, Vec::new());
        assert_eq!(format_value(&empty, 0), "tolist([])");
    }
}
