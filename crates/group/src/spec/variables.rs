//! Template variables of a specification: `{{ var "/self/logicalId" }}`, with double quotes or
//! backquotes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Text(&'t str),
    Variable(Variable<'t>),
}

/// A template variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable<'t> {
    /// `/self/instId`: the name of the instance.
    Instance,
    /// `/self/logicalId`: the key of a member with a name.
    LogicalId,
    /// `/self/dedicated/attachId`, or `/self/dedicated/SCOPE/attachId` with several scopes: the
    /// key of the dedicated set.
    Attach(Option<&'t str>),
}

impl<'t> Variable<'t> {
    fn parse(path: &'t str) -> Option<Variable<'t>> {
        match path {
            "/self/instId" => Some(Variable::Instance),
            "/self/logicalId" => Some(Variable::LogicalId),
            "/self/dedicated/attachId" => Some(Variable::Attach(None)),
            _ => {
                let scope = path.strip_prefix("/self/dedicated/")?;
                let scope = scope.strip_suffix("/attachId")?;
                Some(Variable::Attach(Some(scope)))
            }
        }
    }
}

/// Splits a text at its template expressions.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((expression, after)) = after.split_once("}}") else {
            return Err("a template expression begins with {{ and has no }}; add it".to_owned());
        };
        pieces.push(Piece::Text(before));
        pieces.push(piece(expression.trim())?);
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

fn piece(expression: &str) -> Result<Piece<'_>, String> {
    let (is_variable, argument) = match expression.strip_prefix("var") {
        Some(argument) => (true, argument.trim_start()),
        None => (false, expression),
    };
    let quoted = |quote| argument.strip_prefix(quote)?.strip_suffix(quote);
    let inner = quoted('"').or_else(|| quoted('`'));
    match inner.filter(|inner| !inner.contains(['"', '`'])) {
        // A literal text, such as {{ "{{" }}.
        Some(literal) if !is_variable => Ok(Piece::Text(literal)),
        Some(path) => Variable::parse(path).map(Piece::Variable).ok_or_else(|| {
            format!(
                "the template variable {path:?} is unknown; known are /self/instId, \
                 /self/logicalId and /self/dedicated/attachId"
            )
        }),
        None => Err(format!(
            "the template expression {expression:?} is not supported; use {{{{ var \"NAME\" }}}}, \
             and {{{{ \"{{{{\" }}}} for two braces"
        )),
    }
}

/// Values of the variables for one member.
pub(super) struct Values<'v> {
    pub(super) instance: &'v str,
    pub(super) logical_id: Option<&'v str>,
    pub(super) attached: &'v BTreeMap<String, String>,
}

impl Values<'_> {
    /// Replaces the variables of a text. Parsing has checked that each has a value.
    pub(super) fn text(&self, text: &str) -> String {
        let Ok(pieces) = pieces(text) else {
            return text.to_owned();
        };
        let value = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Variable(variable) => self.value(*variable).to_owned(),
        };
        pieces.iter().map(value).collect()
    }

    fn value(&self, variable: Variable<'_>) -> &str {
        match variable {
            Variable::Instance => self.instance,
            Variable::LogicalId => self.logical_id.unwrap_or_default(),
            Variable::Attach(Some(scope)) => self.attached.get(scope).map_or("", String::as_str),
            Variable::Attach(None) => self.attached.values().next().map_or("", String::as_str),
        }
    }

    /// Replaces the variables in all texts of a value.
    pub(super) fn value_of(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value_of(item)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            other => other.clone(),
        }
    }

    pub(super) fn fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let fields = fields.iter();
        fields
            .map(|(name, value)| (self.text(name), self.value_of(value)))
            .collect()
    }
}

/// Circumstances in which variables have values.
pub(super) struct Availability<'a> {
    /// True if members have names.
    pub(super) names: bool,
    /// Dedicated scopes of the specification.
    pub(super) scopes: BTreeSet<&'a str>,
}

impl Availability<'_> {
    /// Checks the variables of a text. `shared` is true for a global resource.
    pub(super) fn check(&self, text: &str, shared: bool) -> Result<(), String> {
        for piece in pieces(text)? {
            let Piece::Variable(variable) = piece else {
                continue;
            };
            if shared {
                return Err(
                    "a global resource is shared by all members, so that no variable of a \
                            member has a value; remove it, or make the resource dedicated"
                        .to_owned(),
                );
            }
            self.check_variable(variable)?;
        }
        Ok(())
    }

    fn check_variable(&self, variable: Variable<'_>) -> Result<(), String> {
        let scopes: Vec<&str> = self.scopes.iter().copied().collect();
        match variable {
            Variable::Instance => Ok(()),
            Variable::LogicalId if self.names => Ok(()),
            Variable::LogicalId => Err("/self/logicalId has a value only in a group with \
                                        LogicalIDs; use /self/dedicated/attachId"
                .to_owned()),
            Variable::Attach(Some(scope)) if self.scopes.contains(scope) => Ok(()),
            Variable::Attach(Some(scope)) => Err(format!(
                "no resource has the scope @dedicated-{scope}; declared are: {}",
                scopes.join(", ")
            )),
            Variable::Attach(None) if scopes.len() == 1 => Ok(()),
            Variable::Attach(None) if scopes.is_empty() => Err("/self/dedicated/attachId has no \
                value, because no resource has a dedicated scope; remove it, or set \"@scope\""
                .to_owned()),
            Variable::Attach(None) => Err(format!(
                "the group has several dedicated scopes ({}), each with a key of its own; write \
                 /self/dedicated/SCOPE/attachId",
                scopes.join(", ")
            )),
        }
    }
}
