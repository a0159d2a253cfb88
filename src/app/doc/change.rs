//! Details of a change: attributes before and after, its reason, and dependent changes.

use similar::{ChangeTag, TextDiff};

use super::{
    Doc, Line, Role, action_role, action_sign, clean, line, push_heading, push_text, span, width,
};
use model::{
    Action, AttributeChange, ChangeView, DriftKind, DriftView, OutputView, StageMode, Unknown,
};

/// Size limit of a line diff, in bytes. Longer texts are shown as one value.
const MAX_DIFF: usize = 200_000;

/// Renders the diff of a change and its unknown outcome, if any. `whole` includes unchanged
/// attributes and all lines of long texts.
pub fn change(c: &ChangeView, left: Option<&Unknown>, whole: bool) -> Doc {
    let mut doc = head(c, left);
    doc.push(Line::new());
    push_attributes(&mut doc, c, whole);
    push_commands(&mut doc, c);
    if !c.needs.is_empty() {
        push_heading(&mut doc, "needs");
        for n in &c.needs {
            doc.push(line(Role::Plain, format!("  {n}")));
        }
    }
    doc
}

/// Renders the address, the action and the reasons of a change.
fn head(c: &ChangeView, left: Option<&Unknown>) -> Doc {
    let mut doc = Doc::new();
    let mut head = action_sign(c.action);
    head.push(span(Role::Strong, format!(" {}", c.address)));
    head.push(span(
        action_role(c.action),
        format!("  {}", c.action.label()),
    ));
    doc.push(head);
    if let Some(previous) = &c.previous_address {
        doc.push(line(Role::Dim, format!("moved from {previous}")));
    }
    if !c.why.is_empty() {
        push_text(&mut doc, Role::Dim, "", &c.why);
    }
    if let Some(u) = left {
        push_text(&mut doc, Role::Bad, "? ", &u.detail);
    }
    if c.drifted {
        doc.push(line(
            Role::Warn,
            "drift: the real object differs from the state",
        ));
    }
    doc
}

/// Renders the attributes: changed ones first, then the unchanged ones or their number.
fn push_attributes(doc: &mut Doc, c: &ChangeView, whole: bool) {
    let (changed, same): (Vec<_>, Vec<_>) = c.attributes.iter().partition(|a| a.changed);
    // Only visible names count for the width of the column.
    let hidden = if whole { &[][..] } else { &same[..] };
    let shown = changed.iter().chain(&same[hidden.len()..]);
    let name = shown
        .map(|a| width(&a.path))
        .max()
        .unwrap_or(0)
        // A long path must not push all values to the right.
        .min(24);
    for a in &changed {
        attribute(doc, a, c.action, name, whole);
    }
    for a in &same[hidden.len()..] {
        let value = value(a.after.as_deref().or(a.before.as_deref()), a, false);
        doc.push(vec![
            span(Role::Dim, format!("    {} ", pad(&a.path, name))),
            span(Role::Dim, value),
        ]);
    }
    if !hidden.is_empty() {
        let hidden = crate::app::format::count(hidden.len(), "attribute");
        doc.push(line(Role::Dim, format!("    {hidden} unchanged")));
    }
}

/// Renders the commands that the change runs.
fn push_commands(doc: &mut Doc, c: &ChangeView) {
    let mut lead = String::new();
    for command in &c.commands {
        // Commands of one machine follow each other, and share a heading.
        if command.kind_and_machine() != lead {
            lead = command.kind_and_machine();
            push_heading(doc, &lead);
        }
        push_text(doc, Role::Warn, "  ", &command.text());
    }
}

/// Renders an output before and after.
pub fn output(o: &OutputView) -> Doc {
    let mut head = action_sign(o.action);
    head.push(span(Role::Strong, format!(" output {}", o.name)));
    head.push(span(
        action_role(o.action),
        format!("  {}", o.action.label()),
    ));
    let mut doc = vec![head, Line::new()];
    let hidden = |text: &Option<String>| {
        if o.sensitive {
            "(sensitive)".to_owned()
        } else {
            text.clone().unwrap_or("null".to_owned())
        }
    };
    for (sign, role, text) in [
        ("-", Role::Destroy, &o.before),
        ("+", Role::Create, &o.after),
    ] {
        if text.is_some() {
            push_text(&mut doc, role, &format!("  {sign} "), &hidden(text));
        }
    }
    doc
}

/// Renders the drift of an object, from the recorded to the actual state, and the ways to handle
/// it.
pub fn drift(d: &DriftView, mode: StageMode) -> Doc {
    let role = drift_role(d.what);
    let mut doc = vec![vec![
        span(role, "! "),
        span(Role::Strong, &d.address),
        span(role, format!("  {}", d.what.label())),
    ]];
    if let Some(previous) = &d.previous_address {
        doc.push(line(Role::Dim, format!("moved from {previous}")));
    }
    let what = match d.what {
        DriftKind::Changed => "It was changed outside of flightdeck.",
        DriftKind::Gone => "It no longer exists.",
        DriftKind::Moved => "The object itself is unchanged.",
    };
    let then = match mode {
        StageMode::RefreshOnly => format!("Applying this stage accepts the drift: {}. A normal stage plans a repair instead.", d.what.refresh_effect()),
        StageMode::Normal => "Applying this stage repairs the drift where the configuration requires it. To accept the drift, apply a refresh-only stage.".to_owned(),
        StageMode::Destroy => "Applying this stage uses the real object.".to_owned(),
    };
    doc.push(line(Role::Plain, what));
    push_text(&mut doc, Role::Dim, "", &then);
    doc.push(Line::new());
    let shown: Vec<_> = d
        .attributes
        .iter()
        .filter(|a| a.changed && d.what != DriftKind::Moved)
        .collect();
    let name = shown
        .iter()
        .map(|a| width(&a.path))
        .max()
        .unwrap_or(0)
        .min(24);
    for a in shown {
        attribute(&mut doc, a, Action::Update, name, true);
    }
    doc
}

/// Role of a kind of drift.
pub fn drift_role(what: DriftKind) -> Role {
    match what {
        DriftKind::Gone => Role::Bad,
        DriftKind::Changed => Role::Warn,
        DriftKind::Moved => Role::Dim,
    }
}

fn pad(text: &str, cells: usize) -> String {
    let text = clean(text);
    format!("{text}{}", " ".repeat(cells.saturating_sub(width(&text))))
}

fn value(text: Option<&str>, a: &AttributeChange, after: bool) -> String {
    if a.sensitive {
        return "(sensitive)".to_owned();
    }
    if after && a.unknown {
        return "(known after apply)".to_owned();
    }
    text.unwrap_or("null").to_owned()
}

fn attribute(doc: &mut Doc, a: &AttributeChange, action: Action, name: usize, whole: bool) {
    let (sign, role) = match (&a.before, &a.after, a.unknown) {
        (None, _, _) => ("+", Role::Create),
        (_, None, false) => ("-", Role::Destroy),
        // A destroyed object loses all values, changed or not.
        _ if action == Action::Destroy => ("-", Role::Destroy),
        _ => ("~", Role::Update),
    };
    let mut l = vec![span(role, format!("  {sign} {} ", pad(&a.path, name)))];
    let (before, after) = (
        value(a.before.as_deref(), a, false),
        value(a.after.as_deref(), a, true),
    );
    // Rendered values contain line breaks as such or as escapes of a quoted string.
    let long = !a.sensitive
        && !a.unknown
        && (before.contains("\\n")
            || after.contains("\\n")
            || before.contains('\n')
            || after.contains('\n'));
    match sign {
        "~" if long && before.len() + after.len() < MAX_DIFF => {
            let lines = lines_of(&before, &after);
            l.push(span(
                Role::Update,
                format!(
                    "{} changed",
                    crate::app::format::count(
                        lines.iter().filter(|s| s[0].role != Role::Dim).count(),
                        "line"
                    )
                ),
            ));
            mark_forces_replacement(&mut l, a);
            doc.push(l);
            // The pane shows the beginning; the zoomed detail shows all.
            let shown = if whole { lines.len() } else { 8 };
            let more = lines.len().saturating_sub(shown);
            doc.extend(lines.into_iter().take(shown).map(|mut s| {
                s.insert(0, span(Role::Plain, "      "));
                s
            }));
            if more > 0 {
                doc.push(line(
                    Role::Dim,
                    format!(
                        "      … {} more (enter)",
                        crate::app::format::count(more, "line")
                    ),
                ));
            }
            return;
        }
        "~" => {
            l.push(span(Role::Destroy, before));
            l.push(span(Role::Dim, " → "));
            l.push(span(
                if a.unknown { Role::Dim } else { Role::Create },
                after,
            ));
        }
        "+" => l.push(span(
            if a.unknown { Role::Dim } else { Role::Create },
            after,
        )),
        _ => l.push(span(Role::Destroy, before)),
    }
    mark_forces_replacement(&mut l, a);
    doc.push(l);
}

fn mark_forces_replacement(l: &mut Line, a: &AttributeChange) {
    if a.forces_replacement {
        l.push(span(Role::Bad, "  forces replacement"));
    }
}

/// Returns the content of a rendered string. JSON is pretty-printed, so that the diff follows its
/// structure.
fn unfold(text: &str) -> String {
    let inner = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned());
    match serde_json::from_str::<serde_json::Value>(&inner) {
        Ok(v) if v.is_object() || v.is_array() => serde_json::to_string_pretty(&v).unwrap_or(inner),
        _ => inner,
    }
}

fn lines_of(before: &str, after: &str) -> Doc {
    let (before, after) = (unfold(before), unfold(after));
    let diff = TextDiff::from_lines(&before, &after);
    let mut doc = Doc::new();
    // Two lines of context show the place of a change in a long text.
    for group in diff.grouped_ops(2) {
        for op in group {
            for c in diff.iter_changes(&op) {
                let (sign, role) = match c.tag() {
                    ChangeTag::Delete => (" - ", Role::Destroy),
                    ChangeTag::Insert => (" + ", Role::Create),
                    ChangeTag::Equal => ("   ", Role::Dim),
                };
                doc.push(vec![
                    span(role, sign),
                    span(role, c.value().trim_end_matches('\n')),
                ]);
            }
        }
    }
    doc
}

/// Explains a change: its reason, attributes that force replacement, dependencies and dependents.
pub fn explain(c: &ChangeView, all: &[ChangeView]) -> Doc {
    let mut doc = Doc::new();
    let mut head = action_sign(c.action);
    head.push(span(Role::Strong, format!(" {}", c.address)));
    doc.push(head);
    doc.push(Line::new());
    push_text(
        &mut doc,
        Role::Plain,
        "",
        if c.why.is_empty() {
            "no reason was recorded"
        } else {
            &c.why
        },
    );
    if let Some(reason) = &c.action_reason {
        doc.push(line(Role::Dim, reason.replace('_', " ")));
    }
    let forcing: Vec<_> = c
        .attributes
        .iter()
        .filter(|a| a.forces_replacement)
        .collect();
    if !forcing.is_empty() {
        push_heading(&mut doc, "forces replacement");
        for a in forcing {
            doc.push(vec![
                span(Role::Plain, format!("  {}  ", a.path)),
                span(Role::Destroy, value(a.before.as_deref(), a, false)),
                span(Role::Dim, " → "),
                span(Role::Create, value(a.after.as_deref(), a, true)),
            ]);
        }
    }
    push_heading(&mut doc, "needs");
    list_or_none(&mut doc, c.needs.iter().map(String::as_str));
    push_heading(&mut doc, "needed by");
    // A change stores only its own dependencies, so all changes are searched for its dependents.
    list_or_none(
        &mut doc,
        all.iter()
            .filter(|o| o.needs.contains(&c.address))
            .map(|o| o.address.as_str()),
    );
    doc
}

fn list_or_none<'a>(doc: &mut Doc, items: impl Iterator<Item = &'a str>) {
    let before = doc.len();
    for i in items {
        doc.push(line(Role::Plain, format!("  {i}")));
    }
    if doc.len() == before {
        doc.push(line(Role::Dim, "  none in this stage"));
    }
}
