//! Details of a resource in the state, and of a log line.

use super::identity::{Rank, note, short_value};
use super::observation::{push_facts, push_history};
use super::{
    Doc, Line, Role, beside, clean, level_role, line, parts, push_heading, push_pair, push_text,
    span, width,
};
use crate::app::format::{clock_ms, count};
use crate::app::layout;
use crate::app::log::LogEntry;
use crate::app::state::State;
use lang::addr::{AbsInstance, Target, unquote};
use model::secrets::MASK;
use model::{DriftKind, LogStream, OutputRow, StateRow, connection_details};

/// Renders a resource instance with its attributes, dependencies and dependents.
pub fn state_row(state: &State, r: &StateRow) -> Doc {
    let mut doc = Doc::new();
    push_pair(&mut doc, "provider", short_provider(&r.provider));
    if let Some(l) = doc.first_mut() {
        l.push(span(Role::Dim, format!("  {}", address_of(&r.provider))));
    }
    push_conditions(r, &mut doc);
    push_facts(state, r, &mut doc);
    push_connection(state, r, &mut doc);
    push_heading(&mut doc, "attributes");
    push_attributes(&mut doc, &r.attributes.iter().collect::<Vec<_>>());
    let mut others = Doc::new();
    push_history(state, r, &mut others);
    push_type(r, &mut others);
    for (heading, all, objects) in [
        ("needs", &r.dependencies, r.dependency_count),
        ("needed by", &r.dependents, r.dependent_count),
    ] {
        push_resources(state, &mut others, heading, all, objects);
    }
    // Only the deploy on the Deploy screen; the History screen has older ones.
    let ops: Vec<_> = state
        .view
        .deploy
        .iter()
        .flat_map(|d| d.operations.iter().map(move |o| (d.deploy, o)))
        .filter(|(_, o)| o.address == r.address)
        .collect();
    if !ops.is_empty() {
        push_heading(&mut others, "last operations");
        for (d, o) in ops {
            others.push(line(
                Role::Plain,
                format!(
                    "  deploy #{d}: {} {}",
                    o.action.operation_word(),
                    o.state.label()
                ),
            ));
        }
    }
    beside(doc, others, layout::detail_size(state).0)
}

/// Appends the settings of the type, each with the layer that has set it.
fn push_type(r: &StateRow, doc: &mut Doc) {
    let Some(of_type) = &r.of_type else {
        return;
    };
    push_heading(doc, format!("type {}", r.resource_type));
    for setting in &of_type.view.settings {
        doc.push(vec![
            span(Role::Dim, format!("  {}  ", setting.name)),
            span(Role::Plain, clean(&setting.value)),
            span(Role::Dim, format!("  {}", setting.layer)),
        ]);
    }
}

/// Renders an output of the state.
pub fn state_output(o: &OutputRow) -> Doc {
    let mut doc = Doc::new();
    let text = unquote(&o.value).filter(|t| !o.sensitive && t.contains('\n'));
    match text {
        Some(text) => push_text(&mut doc, Role::Plain, "  ", &text),
        None => doc.push([vec![span(Role::Plain, "  ")], output_value(o)].concat()),
    }
    doc
}

/// Returns the value of an output of the state in one line.
pub fn output_value(o: &OutputRow) -> Line {
    if o.sensitive {
        line(Role::Dim, "(sensitive)")
    } else {
        line(Role::Plain, &o.value)
    }
}

/// Appends names and values in two columns.
fn push_attributes(doc: &mut Doc, all: &[&(String, String)]) {
    let names = all.iter().map(|(n, _)| width(n));
    let name = names.max().unwrap_or(0).min(24);
    for (n, v) in all {
        // Escaped before it is measured, because escapes make a name longer.
        let n = clean(n);
        let gap = " ".repeat(name.saturating_sub(width(&n)));
        doc.push(vec![
            span(Role::Dim, format!("  {n}{gap}  ")),
            span(Role::Plain, v),
        ]);
    }
}

/// Appends where and as whom to connect to an object, if its attributes tell.
fn push_connection(state: &State, r: &StateRow, doc: &mut Doc) {
    let found = connection_details(&r.attributes);
    if found.is_empty() {
        return;
    }
    push_heading(doc, "connection");
    if let Some(l) = doc.last_mut()
        && found.iter().any(|(_, text)| text == MASK)
    {
        let key = state.options.keys.first("reveal");
        l.push(span(Role::Dim, format!("  {key} shows a sensitive value")));
    }
    push_attributes(doc, &found);
}

/// Appends what is wrong with an object.
fn push_conditions(r: &StateRow, doc: &mut Doc) {
    if r.tainted {
        doc.push(line(Role::Bad, "tainted: it will be replaced"));
    }
    if let Some(key) = &r.deposed {
        doc.push(line(
            Role::Warn,
            format!("deposed ({key}): an old object that a replacement left behind"),
        ));
    }
    match r.drift {
        Some(DriftKind::Gone) => doc.push(line(
            Role::Bad,
            "deleted: the last stage did not find the object",
        )),
        Some(_) => doc.push(line(
            Role::Warn,
            "drift: the real object differs from the state",
        )),
        None => {}
    }
}

/// Lists resources with the number of their objects. The heading has the number of all these
/// objects, which is that of the column.
fn push_resources(state: &State, doc: &mut Doc, heading: &str, all: &[String], objects: usize) {
    push_heading(doc, heading);
    if let Some(l) = doc.last_mut() {
        l.push(span(
            Role::Dim,
            match all.len() {
                0 => "  nothing".to_owned(),
                _ => format!("  {}, directly or through others", count(objects, "object")),
            },
        ));
    }
    let rows = state.loaded.state_rows.as_deref().unwrap_or_default();
    doc.extend(all.iter().map(|resource| {
        let of_it = rows.iter().filter(|r| is_of_resource(r, resource)).count();
        let mut l = line(Role::Plain, format!("  {resource}"));
        if of_it > 1 {
            l.push(span(Role::Dim, format!("  ×{of_it}")));
        }
        l
    }));
}

/// Returns true for an object of a resource, whose address has the keys of the enclosing module
/// instances that count.
fn is_of_resource(r: &StateRow, resource: &str) -> bool {
    // Parsed only if the name is the same, because a state can have many objects.
    resource.ends_with(&r.name)
        && r.address
            .parse::<AbsInstance>()
            .is_ok_and(|a| resource.parse().is_ok_and(|of: Target| of.contains(&a)))
}

/// Returns the address of a provider from its configuration `provider["ADDRESS"].ALIAS`.
fn address_of(provider: &str) -> &str {
    let address = provider.split('"').nth(1);
    address.unwrap_or(provider)
}

/// Returns the name of a provider with the alias of its configuration.
pub fn short_provider(provider: &str) -> String {
    let address = address_of(provider);
    let name = address.rsplit('/').next().unwrap_or(address);
    match provider.rsplit_once("\"].") {
        Some((_, alias)) => format!("{name}.{alias}"),
        None => name.to_owned(),
    }
}

/// Maximum number of values of an object in its row.
const VALUES: usize = 2;
/// Longest of these values in cells.
const LONGEST: usize = 40;

/// Returns the name, the id and further attributes of an object in one line, without redacted and
/// long values.
pub fn telling_values(r: &StateRow) -> Line {
    // The columns of the type tell more than a choice by names.
    let columns = r.of_type.iter().flat_map(|of_type| of_type.columns.iter());
    let mut shown = Line::new();
    for (name, value) in columns.filter(|(_, value)| !value.is_empty()) {
        let gap = if shown.is_empty() { "" } else { "  " };
        shown.push(span(Role::Dim, format!("{gap}{} ", clean(name))));
        shown.push(span(Role::Plain, clean(value)));
    }
    if !shown.is_empty() {
        return shown;
    }
    let shown = r.attributes.iter().filter(|(_, v)| !v.contains(MASK));
    let values = shown.filter_map(|(name, v)| {
        let rank = Rank::of(name, v, false);
        Some((rank, name.as_str(), short_value(v, LONGEST)?))
    });
    parts(&note(values, VALUES))
}

/// Renders a complete log line.
pub fn log_line(state: &State, e: &LogEntry) -> Doc {
    let mut doc = Doc::new();
    push_pair(&mut doc, "time", clock_ms(e.line.at, state.utc_offset));
    push_pair(&mut doc, "source", &e.line.plugin.0);
    push_pair(&mut doc, "level", e.line.level.label());
    push_pair(&mut doc, "stream", stream_label(e.line.stream));
    if let Some(m) = &e.line.module {
        push_pair(&mut doc, "module", m);
    }
    doc.push(Line::new());
    push_text(&mut doc, level_role(e.line.level), "", &e.line.text);
    doc
}

/// Name of a log line's source stream.
pub fn stream_label(s: LogStream) -> &'static str {
    match s {
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::Stdio => "stdio",
        LogStream::Engine => "engine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_is_named_with_its_alias() {
        for (provider, short) in [
            ("provider[\"registry.opentofu.org/hashicorp/aws\"]", "aws"),
            (
                "provider[\"registry.opentofu.org/hashicorp/aws\"].west",
                "aws.west",
            ),
            ("module.a.provider[\"example.com/acme/web\"].x", "web.x"),
            ("registry.terraform.io/hashicorp/aws", "aws"),
        ] {
            assert_eq!(short_provider(provider), short);
        }
    }
}
