//! References of expressions as strings. A reference is listed with all of its steps, then without
//! the last one, and so on down to its subject, then the object that contains the subject.

use lang::addr::{InstanceKey, Reference, Subject};
use lang::syntax::ast::{Step, StepKind, Traversal};

/// Returns the strings of one reference; empty if the traversal is not a reference.
pub(super) fn texts(traversal: &Traversal) -> Vec<String> {
    let Ok(reference) = Reference::parse(traversal) else {
        return Vec::new();
    };
    let subject = subject_text(traversal, &reference.subject);
    let mut out: Vec<String> = (1..=reference.remaining.len())
        .rev()
        .map(|n| {
            let steps = reference.remaining[..n].iter().map(step_text);
            format!("{subject}{}", steps.collect::<String>())
        })
        .collect();
    out.push(subject);
    match &reference.subject {
        Subject::Resource { resource, key } if *key != InstanceKey::None => {
            out.push(resource.to_string());
        }
        Subject::Module { name, key } if *key != InstanceKey::None => {
            out.push(format!("module.{name}"));
        }
        Subject::ModuleOutput { name, key, .. } => out.push(format!("module.{name}{key}")),
        _ => {}
    }
    out
}

/// Returns the subject of a reference without further steps; empty if the traversal is not a
/// reference.
pub(super) fn subject_name(traversal: &Traversal) -> String {
    Reference::parse(traversal)
        .map(|reference| subject_text(traversal, &reference.subject))
        .unwrap_or_default()
}

/// Renders the subject of a reference.
fn subject_text(traversal: &Traversal, subject: &Subject) -> String {
    match subject {
        Subject::Variable(name)
        | Subject::Local(name)
        | Subject::Count(name)
        | Subject::Each(name)
        | Subject::Path(name)
        | Subject::Terraform(name) => format!("{}.{name}", traversal.root),
        Subject::Resource { resource, key } => format!("{resource}{key}"),
        Subject::Module { name, key } => format!("module.{name}{key}"),
        Subject::ModuleOutput { name, key, output } => format!("module.{name}{key}.{output}"),
        Subject::SelfValue => "self".to_owned(),
    }
}

fn step_text(step: &Step) -> String {
    match &step.kind {
        StepKind::Attr(name) => format!(".{name}"),
        StepKind::Index(key) => match (key.as_str(), key.as_number()) {
            (Some(text), _) => format!("[{}]", quoted(text)),
            (None, Some(number)) => format!("[{}]", number.to_text()),
            (None, None) => "[...]".to_owned(),
        },
    }
}

/// Quotes a string; template markers are not escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
