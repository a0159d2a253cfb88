//! What an expression refers to, as texts: a reference with all of its steps, then without the last
//! one and so on down to what it names, then what that is part of.

use lang::addr::{InstanceKey, Reference, Subject};
use lang::syntax::ast::{Step, StepKind, Traversal};

/// The texts of one reference; none where it is no reference.
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

/// What a reference names, without the steps after it; empty where it is no reference.
pub(super) fn named(traversal: &Traversal) -> String {
    Reference::parse(traversal)
        .map(|reference| subject_text(traversal, &reference.subject))
        .unwrap_or_default()
}

/// The subject of this reference as text.
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

/// A text in quotes, where what begins a template means nothing.
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
