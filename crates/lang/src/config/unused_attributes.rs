//! Warns about attributes in a variable's value that its type does not have: they have no effect
//! and are usually misspelt.

use std::sync::Arc;

use cty::Type;

use crate::body::{Attribute, suggest};
use crate::diag::Diagnostics;
use crate::syntax::ast::ObjectItem;
use crate::syntax::{Expr, ExprKind};

/// Warns about attributes in a variable's value that its type does not have. JSON is skipped, as in
/// OpenTofu.
pub(super) fn warn(variable: &str, attribute: &Attribute, ty: &Type, diags: &mut Diagnostics) {
    if attribute.json.is_none() {
        Search { variable, diags }.value(&attribute.expr, ty, "");
    }
}

struct Search<'a> {
    variable: &'a str,
    diags: &'a mut Diagnostics,
}

impl Search<'_> {
    /// `at` is the path to the value, as an expression after the variable.
    fn value(&mut self, expr: &Expr, ty: &Type, at: &str) {
        match (ty, &expr.kind) {
            (Type::Object(object), ExprKind::Object(items)) => {
                for item in items {
                    let Some(name) = key(item) else { continue };
                    match object.attributes.get(&*name) {
                        Some(ty) => self.value(&item.value, ty, &format!("{at}.{name}")),
                        None => {
                            let hint = suggest(&name, object.attributes.keys().cloned().collect());
                            let detail = format!(
                                "The type of var.{}{at} has no attribute \"{name}\", so this \
                                value is ignored.{hint}",
                                self.variable
                            );
                            self.diags.warning(
                                item.key.span,
                                "Object attribute is ignored",
                                detail,
                            );
                        }
                    }
                }
            }
            (Type::Map(inner), ExprKind::Object(items)) => {
                for (item, name) in items.iter().filter_map(|item| Some((item, key(item)?))) {
                    self.value(&item.value, inner, &format!("{at}[\"{name}\"]"));
                }
            }
            (Type::Map(inner), ExprKind::For(each)) if each.key.is_some() => {
                self.value(&each.value, inner, &format!("{at}[…]"))
            }
            (Type::List(inner) | Type::Set(inner), ExprKind::Tuple(items)) => {
                for (i, item) in items.iter().enumerate() {
                    self.value(item, inner, &format!("{at}[{i}]"));
                }
            }
            (Type::List(inner) | Type::Set(inner), ExprKind::For(each)) if each.key.is_none() => {
                self.value(&each.value, inner, &format!("{at}[…]"));
            }
            (Type::Tuple(types), ExprKind::Tuple(items)) if types.len() == items.len() => {
                for (i, (item, ty)) in items.iter().zip(types.iter()).enumerate() {
                    self.value(item, ty, &format!("{at}[{i}]"));
                }
            }
            // The content of other expressions is not known before evaluation.
            _ => {}
        }
    }
}

/// Key of an item, if it is a literal.
fn key(item: &ObjectItem) -> Option<Arc<str>> {
    fn plain_name(expr: &Expr) -> Option<Arc<str>> {
        match &expr.kind {
            ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => plain_name(inner),
            ExprKind::Literal(value) => cty::convert::convert(value, &Type::String)
                .ok()?
                .as_str()
                .map(Arc::from),
            _ => expr.literal_text().map(Arc::from),
        }
    }
    item.name.clone().or_else(|| plain_name(&item.key))
}
