//! Reads one `type` or `provider` block. A wrong argument makes the whole block invalid.

use std::collections::BTreeMap;
use std::time::Duration;

use group::declared::{MODES, SHORTEST_INTERVAL};
use group::policy::{Amount, parse_duration};
use lang::body::{Block, Body, BodySchema, Content};
use lang::config::constant_value;
use lang::diag::Diagnostics;
use lang::source::{SourceMap, Span};
use lang::syntax::{Attribute, Expr, ExprKind};
use model::{FailureClass, Readiness};

use crate::evaluate::{READY, SELF, STATUS};
use crate::settings::{Given, Layer, Limits, Origin, TypeSettings};

const OPERATIONS: [&str; 4] = ["create", "read", "update", "delete"];
const STATES: [(&str, Readiness); 4] = [
    ("Creating", Readiness::Creating),
    ("Available", Readiness::Available),
    ("Unavailable", Readiness::Unavailable),
    ("Deleting", Readiness::Deleting),
];
const CLASSES: [(&str, FailureClass); 4] = [
    ("transient", FailureClass::Transient),
    ("bad_input", FailureClass::BadInput),
    ("denied", FailureClass::Denied),
    ("unexpected", FailureClass::Unexpected),
];

/// A `type` or `provider` block.
#[derive(Clone, Debug)]
pub(crate) struct Overlay {
    pub(crate) settings: TypeSettings,
    /// It hides all lower layers, except for their redactions.
    pub(crate) replace: bool,
    /// Layer and place of its header.
    pub(crate) origin: Origin,
}

impl Overlay {
    fn new(settings: TypeSettings, replace: bool, layer: Layer, block: &Block) -> Self {
        let span = block.def_span;
        Self {
            settings,
            replace,
            origin: Origin { layer, span },
        }
    }
}

/// Reads a `type` block.
pub(crate) fn read_type(
    block: &Block,
    layer: Layer,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Overlay {
    let schema = BodySchema::new()
        .optional(&["replace", "name", "docs", STATUS, READY])
        .optional(&["states", "columns", "redact", "errors"])
        .block("wait", &[])
        .block("timeouts", &[])
        .block("usual", &[])
        .block("reconcile", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let mut reader = Reader {
        layer,
        sources,
        diags,
    };
    let [wait, timeouts, usual, reconcile] =
        ["wait", "timeouts", "usual", "reconcile"].map(|name| reader.block(&content, name));
    let mut settings = TypeSettings {
        name: reader.constant(&content, "name", text),
        docs: reader.constant(&content, "docs", text),
        status: reader.expression(&content, STATUS),
        ready: reader.expression(&content, READY),
        states: reader.constant(&content, "states", |v| map(v, |v| one_of(v, &STATES))),
        columns: reader.columns(&content),
        redact: reader.redactions(&content).into_iter().collect(),
        errors: reader.constant(&content, "errors", |v| map(v, |v| one_of(v, &CLASSES))),
        timeouts: reader.limits(timeouts, "timeouts"),
        usual: reader.limits(usual, "usual"),
        ..TypeSettings::default()
    };
    if let Some(wait) = reader.arguments(wait, &["enabled", "interval", "timeout"]) {
        settings.wait = reader.constant(&wait, "enabled", flag);
        settings.wait_interval = reader.constant(&wait, "interval", interval);
        settings.wait_timeout = reader.constant(&wait, "timeout", duration);
    }
    reader.reconcile(reconcile, &mut settings);
    let replace = reader.constant(&content, "replace", flag);
    let replace = replace.is_some_and(|replace| replace.value);
    Overlay::new(settings, replace, layer, block)
}

/// Reads a `provider` block: the reconcile policy of its objects.
pub(crate) fn read_provider(
    block: &Block,
    layer: Layer,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Overlay {
    let schema = BodySchema::new().block("reconcile", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let mut reader = Reader {
        layer,
        sources,
        diags,
    };
    let mut settings = TypeSettings::default();
    let reconcile = reader.block(&content, "reconcile");
    if reconcile.is_none() {
        let detail =
            "A provider block sets the reconcile policy of objects. Add a reconcile block.";
        let summary = "Missing reconcile block";
        reader.diags.error(block.def_span, summary, detail);
    }
    reader.reconcile(reconcile, &mut settings);
    Overlay::new(settings, false, layer, block)
}

struct Reader<'a> {
    layer: Layer,
    sources: &'a SourceMap,
    diags: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn given<T>(&self, attribute: &Attribute, value: T) -> Given<T> {
        let span = attribute.expr.span;
        let words: Vec<String> = self
            .sources
            .snippet(span)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        Given {
            value,
            text: words.join(" ").into(),
            origin: Origin {
                layer: self.layer,
                span,
            },
        }
    }

    /// A value without references and calls.
    fn constant<T>(
        &mut self,
        content: &Content,
        name: &str,
        read: impl FnOnce(&cty::Value) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let attribute = content.attribute(name)?;
        let value = constant_value(&attribute.expr, self.sources);
        let read = match value {
            Some(value) => read(&value),
            None => Err("use a constant, without references and function calls".to_owned()),
        };
        match read {
            Ok(value) => Some(self.given(attribute, value)),
            Err(problem) => {
                self.wrong(attribute.expr.span, name, &problem);
                None
            }
        }
    }

    fn expression(&mut self, content: &Content, name: &str) -> Option<Given<Expr>> {
        let attribute = content.attribute(name)?;
        self.check_names(&attribute.expr);
        Some(self.given(attribute, (*attribute.expr).clone()))
    }

    fn check_names(&mut self, expr: &Expr) {
        for traversal in expr.traversals() {
            if ![SELF, STATUS, READY].contains(&&*traversal.root) {
                let detail = format!(
                    "{traversal} cannot be used here. Use self (the attributes of the object), \
                    status and ready."
                );
                self.diags
                    .error(traversal.span(), "Invalid reference in a type", detail);
            }
        }
    }

    fn columns(&mut self, content: &Content) -> Option<Given<Vec<(String, Expr)>>> {
        let attribute = content.attribute("columns")?;
        let ExprKind::Object(items) = &attribute.expr.kind else {
            let problem =
                "use an object of column names and expressions, such as { ENGINE = self.engine }";
            self.wrong(attribute.expr.span, "columns", problem);
            return None;
        };
        let mut columns = Vec::new();
        for item in items {
            self.check_names(&item.value);
            match key(&item.key, self.sources) {
                Some(name) => columns.push((name, item.value.clone())),
                None => self.wrong(item.key.span, "columns", "use a constant as a name"),
            }
        }
        Some(self.given(attribute, columns))
    }

    fn redactions(&mut self, content: &Content) -> Option<Given<Vec<Expr>>> {
        let attribute = content.attribute("redact")?;
        let items = match &attribute.expr.kind {
            ExprKind::Tuple(items) => items.clone(),
            _ => Vec::new(),
        };
        let is_path = |e: &Expr| matches!(&e.kind, ExprKind::Traversal(t) if &*t.root == SELF && !t.steps.is_empty());
        if items.is_empty() || !items.iter().all(is_path) {
            let problem = "use a list of attributes, such as [self.user_data]";
            self.wrong(attribute.expr.span, "redact", problem);
            return None;
        }
        Some(self.given(attribute, items))
    }

    /// The body of the only block of a type.
    fn block(&mut self, content: &Content, name: &str) -> Option<Body> {
        let mut blocks = content.blocks_of(name);
        let first = blocks.next();
        for block in blocks {
            let detail =
                format!("A \"{name}\" block was already given; there can be only one here.");
            let summary = format!("Duplicate {name} block");
            self.diags.error(block.def_span, summary, detail);
        }
        first.map(|block| block.body.clone())
    }

    fn arguments(&mut self, body: Option<Body>, names: &[&str]) -> Option<Content> {
        let (content, found) = body?.content(&BodySchema::new().optional(names));
        self.diags.append(found);
        Some(content)
    }

    fn reconcile(&mut self, body: Option<Body>, settings: &mut TypeSettings) {
        let names = ["mode", "every", "jitter", "allow_replace"];
        if let Some(content) = self.arguments(body, &names) {
            if content.attributes.is_empty() {
                let problem = "give at least one of mode, every, jitter, allow_replace";
                self.wrong(content.missing, "reconcile", problem);
            }
            settings.mode = self.constant(&content, "mode", |v| one_of(v, &MODES));
            settings.every = self.constant(&content, "every", interval);
            settings.jitter = self.constant(&content, "jitter", percent);
            settings.allow_replace = self.constant(&content, "allow_replace", flag);
        }
    }

    fn limits(&mut self, body: Option<Body>, name: &str) -> Limits {
        let Some(content) = self.arguments(body, &OPERATIONS) else {
            return Limits::new();
        };
        if content.attributes.is_empty() {
            let problem = "give at least one of create, read, update, delete";
            self.wrong(content.missing, name, problem);
        }
        let limit = |operation| Some((operation, self.constant(&content, operation, interval)?));
        OPERATIONS.into_iter().filter_map(limit).collect()
    }

    fn wrong(&mut self, at: Span, name: &str, problem: &str) {
        let summary = format!("Invalid value of \"{name}\"");
        let detail = format!("{}.", problem.trim_end_matches('.'));
        self.diags.error(at, summary, detail);
    }
}

/// Name of a column: a bare word or a constant text.
fn key(expr: &Expr, sources: &SourceMap) -> Option<String> {
    match &expr.kind {
        ExprKind::Traversal(word) if word.steps.is_empty() => Some(word.root.to_string()),
        _ => constant_value(expr, sources)?.as_str().map(str::to_owned),
    }
}

fn text(value: &cty::Value) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
        .ok_or_else(|| "use a string that is not empty".to_owned())
}

fn flag(value: &cty::Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| "use true or false".to_owned())
}

fn duration(value: &cty::Value) -> Result<Duration, String> {
    let number = value.as_number().map(ToString::to_string);
    let text = value.as_str().map(str::to_owned).or(number);
    parse_duration(&text.ok_or("give a duration such as \"30s\"")?)
}

/// A duration of at least one second.
fn interval(value: &cty::Value) -> Result<Duration, String> {
    let found = duration(value)?;
    match found < SHORTEST_INTERVAL {
        true => Err("use 1 second or more, for example \"30s\"".to_owned()),
        false => Ok(found),
    }
}

fn percent(value: &cty::Value) -> Result<u32, String> {
    match value.as_str().and_then(Amount::parse) {
        Some(Amount::Percent(percent @ 0..=100)) => Ok(percent),
        _ => Err("give a percentage from \"0%\" to \"100%\"".to_owned()),
    }
}

fn one_of<T: Copy>(value: &cty::Value, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        format!("use one of {}", all.join(", "))
    })
}

/// A map from texts to values that are not empty.
fn map<T>(
    value: &cty::Value,
    read: impl Fn(&cty::Value) -> Result<T, String>,
) -> Result<BTreeMap<String, T>, String> {
    if !(value.ty().is_object() || value.ty().is_map()) || value.is_null() {
        return Err("give an object such as { key = \"value\" }".to_owned());
    }
    let entry = |(key, value): (cty::Value, &cty::Value)| {
        let key = key.as_str().unwrap_or_default().to_owned();
        let read = read(value).map_err(|problem| format!("{key}: {problem}"))?;
        Ok((key, read))
    };
    value.elements().map(entry).collect()
}
