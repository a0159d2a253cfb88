//! Template functions. A template sees only the given variables, and all functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Type, Value};

use super::call::{CallError, Function, Host, Param, text};
use super::files;
use crate::diag::{Diagnostics, Message};
use crate::eval::{Bindings, Scope, render};
use crate::source::SourceMap;
use crate::syntax::{Expr, TemplateOrigin};

/// Maximum nesting of rendered templates.
const DEPTH: usize = 32;
/// Steps for parsing a template, in addition to its text.
const READ: u64 = 128;

/// Source of a template's text.
enum Origin {
    File(String),
    Text,
}

pub(super) fn templatefile() -> Function {
    let params = vec![
        Param::new("path", Type::String).marked(),
        Param::new("vars", Type::Dynamic),
    ];
    let load = |args: &[Value], host: Host<'_>| {
        let path = text(args, 0)?;
        let content = files::read_text(host, path, args[0].marks())?;
        Ok((content, Origin::File(path.to_owned())))
    };
    template(params, load)
}

pub(super) fn templatestring() -> Function {
    let params = vec![
        Param::new("data", Type::String).marked(),
        Param::new("vars", Type::Dynamic).marked(),
    ];
    template(params, |args, _| {
        Ok((text(args, 0)?.to_owned(), Origin::Text))
    })
}

fn template(
    params: Vec<Param>,
    load: fn(&[Value], Host<'_>) -> Result<(String, Origin), CallError>,
) -> Function {
    // The type is known only after rendering, and rendering twice would be wasteful.
    Function::typed(
        params,
        |_, _| Ok(Type::Dynamic),
        move |args, _, host| {
            // A template can render itself through `templatefile`.
            if host.depth >= DEPTH {
                return Err(CallError::call(Message::plain(format!(
                    "maximum recursion depth {DEPTH} reached: templates render each other endlessly"
                ))));
            }
            let (content, origin) = load(args, host)?;
            // Parsing is work too, and a loop may render a template many times.
            host.consume_steps(READ + content.len() as u64 / 4)?;
            let marks = args[0].marks().union(args[1].marks());
            // Errors would quote the text of a sensitive template.
            let opaque = |error: CallError| {
                if args[0].needs_redaction() {
                    CallError::from(error.to_string())
                } else {
                    error
                }
            };
            Ok(rendered(&content, &origin, &args[1], host)
                .map_err(opaque)?
                .with_marks(&marks))
        },
    )
}

fn rendered(
    content: &str,
    origin: &Origin,
    vars: &Value,
    host: Host<'_>,
) -> Result<Value, CallError> {
    // Errors are formatted here, so the text need not stay in the configuration's sources.
    let sources = SourceMap::new();
    let name = match origin {
        Origin::File(path) => path.as_str(),
        Origin::Text => "<template text>",
    };
    let file = sources.add(name, content);
    let (expr, diags) = crate::syntax::parse_template_at(content, file, 0, TemplateOrigin::Bare);
    if diags.has_errors() {
        return Err(CallError::call(error_message(&diags, &sources)));
    }
    let bindings = variables(vars)?;
    // Names are checked before evaluation, so that an error does not depend on the arm taken.
    check_references(&expr, &bindings, origin, &sources)?;
    let inner = Bindings::isolated(host.scope, bindings).with_sources(sources.clone());
    let scope: &dyn Scope = &inner;
    let (value, diags) = render(&expr, scope, host.depth + 1, host.steps);
    if diags.has_errors() {
        return Err(CallError::call(error_message(&diags, &sources)));
    }
    Ok(value)
}

fn variables(vars: &Value) -> Result<BTreeMap<Arc<str>, Value>, CallError> {
    if !vars.ty().is_map() && !vars.ty().is_object() {
        return Err(CallError::arg(1, "invalid vars value: must be a map"));
    }
    let members = vars.as_map().map(cty::Members::to_map).unwrap_or_default();
    if let Some(bad) = members
        .keys()
        .find(|name| !crate::syntax::is_identifier(name))
    {
        return Err(CallError::arg(
            1,
            format!(
                "invalid template variable name {bad:?}: must start with a letter, followed by zero or more letters, digits, and \
                 underscores"
            ),
        ));
    }
    Ok(members)
}

fn check_references(
    expr: &Expr,
    known: &BTreeMap<Arc<str>, Value>,
    origin: &Origin,
    sources: &SourceMap,
) -> Result<(), CallError> {
    for traversal in expr.traversals() {
        if known.contains_key(&traversal.root) {
            continue;
        }
        let mut name = format!("{:?}", &*traversal.root);
        if let (Origin::File(_), Some(range)) = (origin, sources.range(traversal.root_span)) {
            name.push_str(&format!(
                ", referenced at {}:{},{}",
                range.filename, range.start.line, range.start.column
            ));
        }
        return Err(CallError::arg(
            1,
            Message::plain(format!("vars map does not contain key {name}")),
        ));
    }
    Ok(())
}

/// First error as text, and the number of further ones.
fn error_message(diags: &Diagnostics, sources: &SourceMap) -> Message {
    let count = diags.errors().count();
    let Some(first) = diags.errors().next() else {
        return "no details".into();
    };
    let place = first
        .range(sources)
        .map(|r| format!("{}:{},{}: ", r.filename, r.start.line, r.start.column))
        .unwrap_or_default();
    let more = if count > 1 {
        format!(", and {} other diagnostic(s)", count - 1)
    } else {
        String::new()
    };
    first.message().wrap(|detail| {
        format!(
            "{place}{}; {}{more}",
            first.summary,
            detail.trim_end_matches('.')
        )
    })
}
