//! The function `setproduct`: cartesian product of collections.

use cty::{Marks, Type, Value};

use super::lists::{any, element_of};
use crate::functions::call::{CallError, Function, Host, items};

/// Maximum number of combinations.
const PRODUCTS: usize = 1 << 20;

pub(in crate::functions) fn setproduct() -> Function {
    Function::typed(vec![], product_type, product)
        .more(any("sets").marked().unknown())
        .not_null()
}

fn product_type(args: &[Value], _: Host<'_>) -> Result<Type, CallError> {
    if args.len() < 2 {
        return Err(CallError::call("at least two arguments are required"));
    }
    let mut elements = Vec::with_capacity(args.len());
    let mut ordered = true;
    for (index, arg) in args.iter().enumerate() {
        elements.push(match arg.ty() {
            Type::Set(element) => {
                // A set has no order, so the product has none either.
                ordered = false;
                (**element).clone()
            }
            Type::List(element) => (**element).clone(),
            Type::Tuple(types) if types.is_empty() => Type::Dynamic,
            Type::Tuple(types) => cty::unify_unsafe(types)
                .map(|u| u.ty)
                .ok_or_else(|| CallError::arg(index, "all elements must be of the same type"))?,
            _ => return Err(CallError::arg(index, "a set or a list is required")),
        });
    }
    let tuple = Type::tuple(elements);
    Ok(if ordered {
        Type::list(tuple)
    } else {
        Type::set(tuple)
    })
}

fn product(args: &[Value], ty: &Type, host: Host<'_>) -> Result<Value, CallError> {
    let mut marks = Marks::none();
    let mut sides = Vec::with_capacity(args.len());
    for arg in args {
        let (arg, own) = arg.clone().unmark();
        marks.extend(&own);
        sides.push(arg);
    }
    // A set with unknown elements can have an unknown length.
    let settled = |v: &Value| v.is_known() && v.length().is_some_and(|l| l.is_known());
    if !sides.iter().all(settled) {
        return Ok(unknown_product(&sides, ty).with_marks(&marks));
    }
    let element = element_of(ty);
    let types = element.tuple_elements().unwrap_or_default();
    let total = sides
        .iter()
        .try_fold(1usize, |n, s| n.checked_mul(s.len()?))
        .filter(|n| *n <= PRODUCTS);
    let total = total.ok_or_else(|| CallError::call("the product has too many elements"))?;
    // Checked before the product is built, because small sides can have a huge product.
    host.check_memory(
        total
            .saturating_mul(types.len() + 2)
            .saturating_mul(size_of::<Value>()),
    )?;
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for (side, ty) in sides.iter().zip(types) {
        let mut next = Vec::with_capacity(total);
        for row in &rows {
            for item in items(side) {
                let item = cty::convert(item, ty).map_err(|e| CallError::call(e.to_string()))?;
                let mut longer = row.clone();
                longer.push(item);
                next.push(longer);
            }
        }
        rows = next;
    }
    let tuples = rows.into_iter().map(Value::tuple).collect();
    let made = if ty.is_list() {
        Value::try_list(element, tuples)
    } else {
        Value::try_set(element, tuples)
    };
    Ok(made
        .map_err(|e| CallError::call(e.to_string()))?
        .with_marks(&marks))
}

/// Bounds the length of the product even if sides have an unknown length.
fn unknown_product(sides: &[Value], ty: &Type) -> Value {
    let unknown = Value::unknown(ty.clone());
    let mut most = 1usize;
    for side in sides {
        let longest = match side.ty() {
            Type::Tuple(types) => Some(types.len()),
            _ => side.range().length_max(),
        };
        match longest {
            Some(longest) if longest <= 1024 && most * longest <= 2048 => most *= longest,
            _ => return unknown,
        }
    }
    // One empty side makes the product empty.
    if most == 0 {
        unknown.refine().not_null().length(0).finish()
    } else {
        unknown.refine().length_min(1).length_max(most).finish()
    }
}
