//! Type constraints of variables: parsing, and conversion of values with defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cty::{ConvertError, Mark, Path, Type, Value};

use super::constant;
use super::model::{Defaults, TypeConstraint, Variable};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::json::NodeKind;
use crate::syntax::{Attribute, Call, Expr, ExprKind, TemplateOrigin};

const SUMMARY: &str = "Invalid type specification";

impl TypeConstraint {
    /// Any type.
    pub fn any() -> TypeConstraint {
        TypeConstraint {
            ty: Type::Dynamic,
            defaults: None,
        }
    }

    /// Converts a value to this type, after filling absent and null optional attributes with
    /// defaults at any depth.
    pub fn convert(&self, value: &Value) -> Result<Value, ConvertError> {
        match &self.defaults {
            Some(defaults) => defaults.apply(value).convert(&self.ty),
            None => value.convert(&self.ty),
        }
    }

    /// Type of converted values.
    pub fn value_type(&self) -> Type {
        self.ty.without_optional()
    }

    /// Returns true if text from the command line is used literally instead of being parsed as an
    /// expression.
    pub fn takes_literal_text(&self, typed: bool) -> bool {
        !typed || self.ty.is_primitive()
    }
}

impl Variable {
    /// Converts a value to the variable's type. Errors do not quote sensitive or ephemeral values.
    pub fn convert(&self, value: &Value) -> Result<Value, ConvertError> {
        let hidden = || {
            // Converting the marked value gives the error without the value.
            let marked = self.ty.convert(&value.clone().mark(Mark::Sensitive));
            marked.err().unwrap_or_else(|| ConvertError {
                path: Path::root(),
                message: "a different value is required".to_owned(),
            })
        };
        self.ty.convert(value).map_err(|error| {
            if self.sensitive || self.ephemeral {
                hidden()
            } else {
                error
            }
        })
    }
}

/// Reads the `type` argument of a variable.
pub(crate) fn of_attribute(attribute: &Attribute, diags: &mut Diagnostics) -> TypeConstraint {
    let Some(node) = &attribute.json else {
        return of_variable(&attribute.expr, diags);
    };
    let NodeKind::Text(text) = &node.kind else {
        diags.error(
            node.span,
            SUMMARY,
            "In JSON, a type must be a string that contains a type expression.",
        );
        return TypeConstraint::any();
    };
    let (expr, found) =
        crate::syntax::parse_expression_at(text, node.span.file, node.span.start + 1);
    if found.has_errors() {
        // One error about the string replaces those of its parser.
        diags.error(
            node.span,
            SUMMARY,
            "The string is not a valid type expression.",
        );
        return TypeConstraint::any();
    }
    of_variable(&expr, diags)
}

fn of_variable(expr: &Expr, diags: &mut Diagnostics) -> TypeConstraint {
    if let ExprKind::Template {
        origin: TemplateOrigin::Quoted | TemplateOrigin::Heredoc,
        ..
    } = &expr.kind
    {
        let detail = match expr.literal_text().as_deref() {
            Some("string") => "A type must not be in quotes. Remove the quotes around \"string\".",
            Some("list") => "A type must not be in quotes. Write list(string) instead.",
            Some("map") => "A type must not be in quotes. Write map(string) instead.",
            _ => {
                "To provide a full type expression, remove the surrounding quotes and give the type expression directly."
            }
        };
        diags.error(expr.span, "Invalid quoted type constraints", detail);
        return TypeConstraint::any();
    }
    // Bare `list` and `map` are a legacy short form.
    match expr.as_keyword().as_deref() {
        Some("list") => {
            return TypeConstraint {
                ty: Type::list(Type::Dynamic),
                defaults: None,
            };
        }
        Some("map") => {
            return TypeConstraint {
                ty: Type::map(Type::Dynamic),
                defaults: None,
            };
        }
        _ => {}
    }
    let mark = diags.len();
    let (ty, defaults) = of_expr(expr, diags);
    if diags.0[mark..].iter().any(Diagnostic::is_error) {
        // Any value fits a type with errors, to avoid follow-up errors.
        return TypeConstraint::any();
    }
    TypeConstraint {
        ty,
        defaults: defaults.map(Arc::new),
    }
}

type Read = (Type, Option<Defaults>);

fn failed() -> Read {
    (Type::Dynamic, None)
}

/// Parses a type expression: keywords and constructors, including `any` and `optional`.
pub(crate) fn of_expr(expr: &Expr, diags: &mut Diagnostics) -> Read {
    if let Some(word) = expr.as_keyword() {
        let detail = match &*word {
            "bool" => return (Type::Bool, None),
            "string" => return (Type::String, None),
            "number" => return (Type::Number, None),
            "any" => return (Type::Dynamic, None),
            "list" | "set" | "map" | "object" | "tuple" => wants_argument(&word),
            _ => format!("The keyword \"{word}\" is not a valid type specification."),
        };
        diags.error(expr.span, SUMMARY, detail);
        return failed();
    }
    let Some(call) = expr.static_call() else {
        let detail = "A type is either a primitive type keyword (bool, number, string) or a type constructor call, like list(string).";
        diags.error(expr.span, SUMMARY, detail);
        return failed();
    };
    match &*call.name {
        name @ ("bool" | "string" | "number" | "any") => {
            diags.error(
                arguments_span(call),
                SUMMARY,
                format!("The type keyword \"{name}\" does not expect arguments."),
            );
            failed()
        }
        "list" | "set" | "map" | "object" | "tuple" => match &call.args[..] {
            [argument] => constructor(&call.name, argument, diags),
            args => {
                let span = match args {
                    [] => arguments_span(call),
                    // The error covers all surplus arguments.
                    [_, rest @ ..] => rest.iter().fold(rest[0].span, |span, e| span.to(e.span)),
                };
                diags.push(
                    Diagnostic::error(SUMMARY, wants_argument(&call.name))
                        .at(span)
                        .within(arguments_span(call)),
                );
                failed()
            }
        },
        // In an object type, `object` handles the modifier before the type gets here.
        "optional" => {
            diags.error(
                call.name_span,
                SUMMARY,
                "\"optional\" is valid only as a modifier for attributes of object types.",
            );
            failed()
        }
        name => {
            diags.error(
                expr.span,
                SUMMARY,
                format!("Keyword \"{name}\" is not a valid type constructor."),
            );
            failed()
        }
    }
}

fn wants_argument(name: &str) -> String {
    match name {
        "object" => "The object type constructor requires one argument: attribute names and their types as a map.".to_owned(),
        "tuple" => "The tuple type constructor requires one argument: the element types as a list.".to_owned(),
        _ => format!("The {name} type constructor requires one argument: the element type."),
    }
}

fn arguments_span(call: &Call) -> Span {
    call.open.to(call.close)
}

fn constructor(name: &str, argument: &Expr, diags: &mut Diagnostics) -> Read {
    match name {
        "object" => object(argument, diags),
        "tuple" => {
            let Some(items) = argument.static_list() else {
                diags.error(
                    argument.span,
                    SUMMARY,
                    "The tuple type constructor requires a list of element types.",
                );
                return failed();
            };
            let mut types = Vec::with_capacity(items.len());
            let mut children = BTreeMap::new();
            for (index, item) in items.iter().enumerate() {
                let (ty, defaults) = of_expr(item, diags);
                types.push(ty);
                children.extend(defaults.map(|d| (Arc::from(index.to_string()), d)));
            }
            (Type::tuple(types), structured(BTreeMap::new(), children))
        }
        _ => {
            let (element, defaults) = of_expr(argument, diags);
            let ty = match name {
                "list" => Type::list(element),
                "set" => Type::set(element),
                _ => Type::map(element),
            };
            (
                ty,
                defaults.map(|d| Defaults {
                    values: BTreeMap::new(),
                    children: BTreeMap::from([(Arc::from(""), d)]),
                }),
            )
        }
    }
}

fn structured(
    values: BTreeMap<Arc<str>, Value>,
    children: BTreeMap<Arc<str>, Defaults>,
) -> Option<Defaults> {
    (!values.is_empty() || !children.is_empty()).then_some(Defaults { values, children })
}

pub(super) fn object(argument: &Expr, diags: &mut Diagnostics) -> Read {
    let Some(items) = argument.static_map() else {
        let detail =
            "The object type constructor requires a map of attribute names and their types.";
        diags.error(argument.span, SUMMARY, detail);
        return failed();
    };
    let mut types: BTreeMap<Arc<str>, Type> = BTreeMap::new();
    let mut optional: BTreeSet<Arc<str>> = BTreeSet::new();
    let (mut values, mut children) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in items {
        let Some(name) = key.as_keyword() else {
            diags.error(
                key.span,
                SUMMARY,
                "Keys in an object type must be attribute names.",
            );
            continue;
        };
        if types.contains_key(&name) {
            diags.error(
                key.span,
                SUMMARY,
                "Attribute names in an object type must be unique.",
            );
            continue;
        }
        let mut type_expr = value;
        let mut default = None;
        if let Some(call) = value.static_call().filter(|c| &*c.name == "optional") {
            let Some(first) = call.args.first() else {
                diags.error(
                    arguments_span(call),
                    SUMMARY,
                    "The optional modifier requires the attribute type as its argument.",
                );
                continue;
            };
            type_expr = first;
            match &call.args[1..] {
                [] => {
                    optional.insert(name.clone());
                }
                [expr] => {
                    if let Some(value) = constant::of_expr(expr, diags) {
                        optional.insert(name.clone());
                        default = Some((value, expr.span));
                    }
                }
                _ => {
                    let detail = "The optional modifier expects at most two arguments: the attribute type and a default value.";
                    diags.error(arguments_span(call), SUMMARY, detail);
                }
            }
        }
        let (ty, defaults) = of_expr(type_expr, diags);
        if let Some((value, span)) = default {
            // Converted now, so that an unsuitable default is reported at the declaration.
            match value.convert(&ty) {
                Ok(value) => {
                    values.insert(name.clone(), value);
                }
                Err(error) => diags.error(
                    span,
                    "Invalid default value for optional attribute",
                    format!("This default value is not compatible with the attribute's type constraint: {error}."),
                ),
            }
        }
        children.extend(defaults.map(|d| (name.clone(), d)));
        types.insert(name, ty);
    }
    (
        Type::object_with_optional(types, optional),
        structured(values, children),
    )
}
