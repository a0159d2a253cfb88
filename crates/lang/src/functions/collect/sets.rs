//! Set functions. Elements are first converted to one type.

use cty::{Type, Value};

use crate::functions::call::{CallError, Function, Host, Param, items};

type Operation = fn(&Value, &Value, Type) -> Value;

fn set(name: &str) -> Param {
    Param::new(name, Type::set(Type::Dynamic)).dynamic()
}

pub(in crate::functions) fn union() -> Function {
    many(true, |a, b, element| {
        Value::set(element, items(a).iter().chain(items(b)).cloned().collect())
    })
}

pub(in crate::functions) fn intersection() -> Function {
    many(false, |a, b, element| {
        Value::set(
            element,
            items(a).iter().filter(|v| holds(b, v)).cloned().collect(),
        )
    })
}

pub(in crate::functions) fn subtract() -> Function {
    let run = operation(false, |a, b, element| {
        Value::set(
            element,
            items(a).iter().filter(|v| !holds(b, v)).cloned().collect(),
        )
    });
    Function::typed(vec![set("a"), set("b")], result_type, run).not_null()
}

fn many(unknowns: bool, op: Operation) -> Function {
    Function::typed(vec![set("first_set")], result_type, operation(unknowns, op))
        .more(set("other_sets"))
        .not_null()
}

fn holds(set: &Value, element: &Value) -> bool {
    set.has_element(element).as_bool() == Some(true)
}

fn result_type(args: &[Value], _: Host<'_>) -> Result<Type, CallError> {
    let mut types = Vec::new();
    for arg in args {
        // An argument of unknown type leaves the type of the result open.
        let Some(element) = arg.ty().element_type() else {
            return Ok(Type::Dynamic);
        };
        // An empty set without an element type fits all others.
        if !(arg.is_empty() && element.is_dynamic()) {
            types.push(element.clone());
        }
    }
    if types.is_empty() {
        return Ok(Type::set(Type::Dynamic));
    }
    cty::unify_unsafe(&types)
        .map(|u| Type::set(u.ty))
        .ok_or_else(|| CallError::call("given sets must all have compatible element types"))
}

fn operation(
    unknowns: bool,
    op: Operation,
) -> impl Fn(&[Value], &Type, Host<'_>) -> Result<Value, CallError> + Send + Sync + 'static {
    move |args, ty, _| {
        if args.iter().any(|a| a.ty().is_dynamic()) {
            return Ok(Value::unknown(ty.clone()));
        }
        let element = ty.element_type().cloned().unwrap_or(Type::Dynamic);
        let mut result: Option<Value> = None;
        for (index, arg) in args.iter().enumerate() {
            let arg = cty::convert(arg, ty).map_err(|e| CallError::arg(index, e.to_string()))?;
            // An unknown element may equal another one, so the result is unknown.
            if !unknowns && !arg.is_wholly_known() {
                return Ok(Value::unknown(ty.clone()));
            }
            result = Some(match result {
                None => arg,
                Some(before) => op(&before, &arg, element.clone()),
            });
        }
        Ok(result.unwrap_or_else(|| Value::unknown(ty.clone())))
    }
}
