//! One attribute before and after: a row, and further lines for a long text.

use super::grouped::Grouped;
use super::text;
use crate::app::doc::{Doc, Line, Role, clean, line, span, width};
use crate::app::format::count;
use model::secrets::MASK;
use model::{Action, AttributeChange, hidden_text};

/// Number of lines of a long text in the pane.
const LINES: usize = 8;

/// Extent of the detail of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Includes unchanged attributes, values and lines.
    pub all: bool,
    /// Includes all lines of long texts. The pane shows their beginning.
    pub zoomed: bool,
    /// Leaves out the lines of new long texts, because the pane has few.
    pub short: bool,
}

/// Sign of one side of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Same,
    Added,
    Removed,
    Changed,
}

impl Sign {
    fn of(a: &AttributeChange, action: Action) -> Self {
        match (&a.before, &a.after, a.unknown) {
            _ if !a.changed => Self::Same,
            (None, _, _) => Self::Added,
            (_, None, false) => Self::Removed,
            // A destroyed object loses all values, changed or not.
            _ if action == Action::Destroy => Self::Removed,
            _ => Self::Changed,
        }
    }

    fn text(self) -> (&'static str, Role) {
        match self {
            Self::Same => (" ", Role::Dim),
            Self::Added => ("+", Role::Create),
            Self::Removed => ("-", Role::Destroy),
            Self::Changed => ("~", Role::Update),
        }
    }
}

/// Returns the width of the column of names. A long path must not push all values to the right.
pub(super) fn name_width<'a>(rows: impl IntoIterator<Item = &'a Grouped<'a>>) -> usize {
    let widths = rows.into_iter().map(|row| width(&row.path));
    widths.max().unwrap_or(0).min(32)
}

fn pad(text: &str, cells: usize) -> String {
    let text = clean(text);
    format!("{text}{}", " ".repeat(cells.saturating_sub(width(&text))))
}

/// Returns the text of one side of an attribute.
pub(super) fn value(text: Option<&str>, a: &AttributeChange, after: bool) -> String {
    if a.sensitive {
        return hidden_text(text).to_owned();
    }
    if after && a.unknown {
        return "(known after apply)".to_owned();
    }
    text.unwrap_or("null").to_owned()
}

/// Appends an attribute with its long text, if it has one.
pub(super) fn push(doc: &mut Doc, row: &Grouped, action: Action, name: usize, extent: Extent) {
    let a = row.attribute;
    let sign = Sign::of(a, action);
    let (symbol, role) = sign.text();
    // The sign has the colour; a new object would be a wall of it.
    let name_role = match sign {
        Sign::Added if action == Action::Create => Role::Plain,
        _ => role,
    };
    let mut l = vec![
        span(role, format!("  {symbol} ")),
        span(name_role, format!("{} ", pad(&row.path, name))),
    ];
    let long = text::long(a, sign, extent);
    match &long {
        Some(long) => l.push(span(name_role, &long.summary)),
        None if name_role == Role::Plain && !a.unknown => {
            let role = if a.sensitive { Role::Dim } else { Role::Plain };
            l.push(span(role, value(a.after.as_deref(), a, true)));
        }
        None => l.extend(values(a, sign)),
    }
    if row.times > 1 {
        l.push(span(Role::Strong, format!("  ×{}", row.times)));
    }
    if a.forces_replacement {
        l.push(span(Role::Bad, "  forces replacement"));
    }
    let all = long.as_ref().map_or(0, |long| long.lines.len());
    let shown = match extent {
        Extent { zoomed: true, .. } | Extent { all: true, .. } => all,
        Extent { short: true, .. } if sign == Sign::Added => 0,
        _ if all <= LINES + 1 => all,
        _ => LINES,
    };
    if shown == 0 && all > 0 {
        l.push(span(Role::Dim, " (enter)"));
    }
    doc.push(l);
    let Some(long) = long.filter(|_| shown > 0) else {
        return;
    };
    for mut l in long.lines.into_iter().take(shown) {
        l.insert(0, span(Role::Plain, "    "));
        doc.push(l);
    }
    if all > shown {
        let more = count(all - shown, "more line");
        doc.push(line(Role::Dim, format!("    … {more} (enter)")));
    }
}

/// Returns the values of an attribute in one line.
fn values(a: &AttributeChange, sign: Sign) -> Line {
    let (before, after) = (
        value(a.before.as_deref(), a, false),
        value(a.after.as_deref(), a, true),
    );
    let role = |role| if a.unknown { Role::Dim } else { role };
    match sign {
        Sign::Same => vec![span(
            Role::Dim,
            if a.after.is_some() { after } else { before },
        )],
        Sign::Added => vec![span(role(Role::Create), after)],
        Sign::Removed => vec![span(Role::Destroy, before)],
        // The redacted texts are equal, the values are not.
        Sign::Changed if before == after && before != MASK && before.contains(MASK) => vec![
            span(Role::Plain, before),
            span(Role::Dim, "  differs in redacted text"),
        ],
        Sign::Changed => {
            let arrow = span(Role::Dim, " → ");
            if !a.sensitive
                && !a.unknown
                && let Some((mut l, after)) = text::changed_words(&before, &after)
            {
                l.push(arrow);
                l.extend(after);
                return l;
            }
            vec![
                span(Role::Destroy, before),
                arrow,
                span(role(Role::Create), after),
            ]
        }
    }
}

/// Returns true if an attribute has a long text on one side.
pub(super) fn is_long(a: &AttributeChange) -> bool {
    text::long(a, Sign::of(a, Action::Update), Extent::default()).is_some()
}

/// Returns the lines of a changed attribute with a long text, for output without a screen: the
/// summary of the change, and the lines below it. `None` if the values fit into one line.
pub fn long_attribute(a: &AttributeChange, action: Action) -> Option<(String, Doc)> {
    let extent = Extent {
        zoomed: true,
        ..Extent::default()
    };
    let long = text::long(a, Sign::of(a, action), extent)?;
    Some((long.summary, long.lines))
}
