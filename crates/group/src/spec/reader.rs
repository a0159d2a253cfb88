//! Typed access to JSON with diagnostics at the place of a mistake.

use std::collections::BTreeMap;

use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use lang::syntax::json::{Node, NodeKind, Property};
use serde_json::{Map, Value};

/// Reader of one JSON text.
pub(super) struct Reader<'t> {
    text: &'t str,
    pub(super) diags: Diagnostics,
}

/// Properties of an object with known names, by these names.
pub(super) struct Fields<'n> {
    found: BTreeMap<&'static str, &'n Property>,
    /// Opening brace, for errors about missing properties.
    pub(super) span: Span,
}

impl<'n> Fields<'n> {
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        self.found.get(name).map(|property| &*property.value)
    }
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, diags: Diagnostics) -> Self {
        Reader { text, diags }
    }

    pub(super) fn error(&mut self, span: Span, summary: &str, detail: impl Into<String>) {
        let detail = lang::diag::Message::plain(detail);
        self.diags.push(Diagnostic::error(summary, detail).at(span));
    }

    pub(super) fn warning(&mut self, span: Span, summary: &str, detail: impl Into<String>) {
        let detail = lang::diag::Message::plain(detail);
        self.diags
            .push(Diagnostic::warning(summary, detail).at(span));
    }

    fn wrong_type(&mut self, node: &Node, subject: &str, expected: &str) {
        let found = match node.kind {
            NodeKind::Object(_) => "an object",
            NodeKind::Array(_) => "a list",
            NodeKind::Text(_) => "a text",
            NodeKind::Number(_) => "a number",
            NodeKind::Bool(_) => "true or false",
            NodeKind::Null => "null",
            // The parser has reported it.
            NodeKind::Invalid => return,
        };
        let detail = format!("{subject} is {found}; write {expected}.");
        self.error(node.start_span(), "Invalid group specification", detail);
    }

    /// Properties of an object; a name that occurs twice is an error.
    pub(super) fn object<'n>(&mut self, node: &'n Node, subject: &str) -> Option<&'n [Property]> {
        let NodeKind::Object(properties) = &node.kind else {
            self.wrong_type(node, subject, "an object");
            return None;
        };
        for (at, property) in properties.iter().enumerate() {
            if properties[..at]
                .iter()
                .any(|earlier| earlier.name == property.name)
            {
                let detail = format!("{subject} has {:?} twice; remove one.", property.name);
                self.error(property.name_span, "Duplicate property", detail);
            }
        }
        Some(properties)
    }

    /// Properties with known names, in any case as Go reads them; unknown ones are warnings.
    pub(super) fn fields<'n>(
        &mut self,
        node: &'n Node,
        subject: &str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let properties = self.object(node, subject)?;
        let mut found = BTreeMap::new();
        for property in properties {
            match known
                .iter()
                .find(|name| name.eq_ignore_ascii_case(&property.name))
            {
                Some(name) => {
                    found.insert(*name, property);
                }
                None => {
                    let name = &property.name;
                    let detail = format!(
                        "flightdeck does not know {name:?} in {subject}, and ignores it. Known: {}.",
                        known.join(", ")
                    );
                    self.warning(property.name_span, "Unknown property", detail);
                }
            }
        }
        let span = node.start_span();
        Some(Fields { found, span })
    }

    pub(super) fn text<'n>(&mut self, node: &'n Node, subject: &str) -> Option<&'n str> {
        match &node.kind {
            NodeKind::Text(text) => Some(text),
            _ => {
                self.wrong_type(node, subject, "a text");
                None
            }
        }
    }

    pub(super) fn flag(&mut self, node: &Node, subject: &str) -> Option<bool> {
        let NodeKind::Bool(flag) = node.kind else {
            self.wrong_type(node, subject, "true or false");
            return None;
        };
        Some(flag)
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, node: &Node, subject: &str) -> Option<Vec<String>> {
        let NodeKind::Array(items) = &node.kind else {
            self.wrong_type(node, subject, "a list of texts");
            return None;
        };
        let item = format!("an item of {subject}");
        let texts = items
            .iter()
            .map(|node| self.text(node, &item).map(str::to_owned));
        texts.collect()
    }

    pub(super) fn count(&mut self, node: &Node, subject: &str) -> Option<u32> {
        let written = self.written(node.span);
        match (&node.kind, written.parse()) {
            (NodeKind::Number(_), Ok(count)) => Some(count),
            (NodeKind::Number(_), Err(_)) => {
                let detail = format!("{subject} is {written}; write a whole number of 0 or more.");
                self.error(node.span, "Invalid group specification", detail);
                None
            }
            _ => {
                self.wrong_type(node, subject, "a whole number");
                None
            }
        }
    }

    fn written(&self, span: Span) -> &'t str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// The value as plain JSON, with numbers as written.
    pub(super) fn json(&self, node: &Node) -> Value {
        match &node.kind {
            NodeKind::Object(properties) => {
                let fields = properties.iter();
                let field = |p: &Property| (p.name.to_string(), self.json(&p.value));
                Value::Object(fields.map(field).collect::<Map<_, _>>())
            }
            NodeKind::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            NodeKind::Text(text) => Value::String(text.to_string()),
            NodeKind::Number(_) => self
                .written(node.span)
                .parse()
                .map_or(Value::Null, Value::Number),
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Null | NodeKind::Invalid => Value::Null,
        }
    }
}
