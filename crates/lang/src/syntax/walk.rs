//! Static queries on expressions: their references, and their interpretation as keyword, reference,
//! list, map or call without evaluation.

use std::sync::Arc;

use super::ast::{Call, Expr, ExprKind, Lookup, Step, StepKind, TemplateOrigin, Traversal};

impl Expr {
    /// References to names that the expression does not bind itself (by `for`), in source order.
    pub fn traversals(&self) -> Vec<&Traversal> {
        let mut out = Vec::new();
        collect(self, &mut Vec::new(), &mut |t, _, _| out.push(t));
        out
    }

    /// References, each with the key looked up directly in it.
    pub fn lookups(&self) -> Vec<Lookup> {
        let mut out = Vec::new();
        collect(self, &mut Vec::new(), &mut |t, key, then| {
            out.push(Lookup {
                traversal: t.clone(),
                key: key.cloned(),
                trailing_steps: then.to_vec(),
            });
        });
        out
    }

    /// Returns true if the expression refers to one of these names.
    pub fn mentions(&self, names: &[impl AsRef<str>]) -> bool {
        !names.is_empty()
            && self
                .traversals()
                .iter()
                .any(|t| names.iter().any(|n| n.as_ref() == &*t.root))
    }

    /// Calls `visit` for the expression and every expression in it, in source order.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        for_each_child(self, &mut |child| child.walk(visit));
    }

    /// The names of all functions called, with the span of the name.
    pub fn calls(&self) -> Vec<&Call> {
        let mut out = Vec::new();
        self.walk(&mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                out.push(call);
            }
        });
        out
    }

    /// Expression as a reference: a traversal, or constant steps on one. JSON strings are parsed as
    /// references. `None` for other expressions; see [`Expr::quoted_traversal`] for quoted ones.
    pub fn as_static_traversal(&self) -> Option<Traversal> {
        match &self.kind {
            ExprKind::Traversal(t) => Some(t.clone()),
            ExprKind::RelativeTraversal { source, steps } => {
                let mut base = source.as_static_traversal()?;
                base.steps.extend(steps.iter().cloned());
                Some(base)
            }
            // `null`, `true` and `false` are literals to the parser, but words in static contexts.
            ExprKind::Literal(_) => {
                let root = self.as_keyword()?;
                Some(Traversal {
                    root,
                    root_span: self.span,
                    steps: Vec::new(),
                })
            }
            ExprKind::Template {
                origin: TemplateOrigin::Json,
                ..
            } => super::parse_traversal_text(&self.literal_text()?, self.span),
            _ => None,
        }
    }

    /// A quoted string (old style: `"aws_instance.a"`, or `"${aws_instance.a}"`) read as a
    /// reference.
    pub fn quoted_traversal(&self) -> Option<Traversal> {
        match &self.kind {
            ExprKind::TemplateWrap(inner) => inner.as_static_traversal(),
            ExprKind::Template { .. } => {
                super::parse_traversal_text(&self.literal_text()?, self.span)
            }
            _ => None,
        }
    }

    /// A single bare word, `true`, `false` and `null` included, or a JSON string holding one.
    pub fn as_keyword(&self) -> Option<Arc<str>> {
        match &self.kind {
            ExprKind::Traversal(t) if t.steps.is_empty() => Some(t.root.clone()),
            ExprKind::Literal(v) if v.is_null() => Some("null".into()),
            ExprKind::Literal(v) => v
                .as_bool()
                .map(|b| if b { "true".into() } else { "false".into() }),
            ExprKind::Template {
                origin: TemplateOrigin::Json,
                ..
            } => {
                let text = self.literal_text()?;
                super::is_identifier(&text).then(|| text.into())
            }
            _ => None,
        }
    }

    /// A single bare word of the native syntax.
    pub(crate) fn bare_word(&self) -> Option<Arc<str>> {
        match &self.kind {
            // A JSON string is a template even if it holds one word only.
            ExprKind::Template { .. } => None,
            _ => self.as_keyword(),
        }
    }

    /// The text of a template without any interpolation.
    pub fn literal_text(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Template { parts, .. } => {
                let mut text = String::new();
                for part in parts {
                    match &part.kind {
                        ExprKind::Literal(v) => text.push_str(v.as_str()?),
                        _ => return None,
                    }
                }
                Some(text)
            }
            _ => None,
        }
    }

    /// The elements of `[a, b]` without evaluating them.
    pub fn static_list(&self) -> Option<&[Expr]> {
        match &self.kind {
            ExprKind::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Keys and values of `{a = b}`, unevaluated. A bare word is a traversal of one name.
    pub fn static_map(&self) -> Option<Vec<(&Expr, &Expr)>> {
        match &self.kind {
            ExprKind::Object(items) => Some(items.iter().map(|i| (&i.key, &i.value)).collect()),
            _ => None,
        }
    }

    /// Function call with unevaluated arguments. JSON strings are not parsed here: the JSON front
    /// end already did where a type or call is expected.
    pub fn static_call(&self) -> Option<&Call> {
        match &self.kind {
            ExprKind::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// Formats a traversal in the language's notation.
impl std::fmt::Display for Traversal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.root)?;
        for step in &self.steps {
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            StepKind::Attr(name) => write!(f, ".{name}"),
            StepKind::Index(key) => match key.as_str() {
                Some(text) => write!(f, "[{}]", crate::addr::quote(text)),
                None => match key.as_number() {
                    Some(number) => write!(f, "[{number}]"),
                    None => f.write_str("[...]"),
                },
            },
        }
    }
}

fn for_each_child<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Traversal(_)
        | ExprKind::SplatItem
        | ExprKind::Error
        | ExprKind::Faulty(_) => {}
        ExprKind::Template { parts, .. } => parts.iter().for_each(visit),
        ExprKind::TemplateWrap(e) | ExprKind::TemplateJoin(e) | ExprKind::Parens(e) => visit(e),
        ExprKind::RelativeTraversal { source, .. } => visit(source),
        ExprKind::Index { source, key, .. } => {
            visit(source);
            visit(key);
        }
        ExprKind::Splat(splat) => {
            visit(&splat.source);
            visit(&splat.each);
        }
        ExprKind::Call(call) => call.args.iter().for_each(visit),
        ExprKind::Unary { operand, .. } => visit(operand),
        ExprKind::Binary { first, rest } => {
            visit(first);
            rest.iter().for_each(|(_, _, e)| visit(e));
        }
        ExprKind::Conditional { cond, then, other } => {
            visit(cond);
            visit(then);
            visit(other);
        }
        ExprKind::For(f) => {
            visit(&f.collection);
            f.key.iter().for_each(&mut *visit);
            visit(&f.value);
            f.cond.iter().for_each(visit);
        }
        ExprKind::Tuple(items) => items.iter().for_each(visit),
        ExprKind::Object(items) => {
            for item in items {
                // A bare word is a literal key, not a reference.
                if item.name.is_none() {
                    visit(&item.key);
                }
                visit(&item.value);
            }
        }
    }
}

type Found<'a, 'f> = &'f mut dyn FnMut(&'a Traversal, Option<&'a Expr>, &'a [Step]);

fn collect<'a>(expr: &'a Expr, bound: &mut Vec<&'a str>, found: Found<'a, '_>) {
    // `a.b[each.key].c`: constant steps after an index expression.
    let (looked_up, then): (&Expr, &[Step]) = match &expr.kind {
        ExprKind::RelativeTraversal { source, steps } => (source, steps),
        _ => (expr, &[]),
    };
    if let ExprKind::Index { source, key, .. } = &looked_up.kind
        && let ExprKind::Traversal(t) = &source.kind
    {
        // A name bound by `for` hides a reference of the same name.
        if !bound.contains(&&*t.root) {
            // A key that depends on a bound name has no value outside of its loop.
            found(t, Some(&**key).filter(|key| !key.mentions(bound)), then);
        }
        return collect(key, bound, found);
    }
    match &expr.kind {
        ExprKind::Traversal(t) => {
            if !bound.contains(&&*t.root) {
                found(t, None, &[]);
            }
        }
        ExprKind::For(f) => {
            // The collection is evaluated outside of the loop, where its names are not bound yet.
            collect(&f.collection, bound, found);
            let depth = bound.len();
            bound.extend(f.key_var.as_deref());
            bound.push(&f.value_var);
            for inner in f.key.iter().chain([&f.value]).chain(&f.cond) {
                collect(inner, bound, found);
            }
            bound.truncate(depth);
        }
        _ => for_each_child(expr, &mut |child| collect(child, bound, found)),
    }
}
