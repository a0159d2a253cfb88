//! Making lists out of lists.

use cty::{Marks, Type, Value};

use crate::diag::Said;
use crate::functions::call::{CallError, Function, Host, Param, items, whole};

fn any(name: &str) -> Param {
    Param::new(name, Type::Dynamic)
}

fn list_of_any() -> Type {
    Type::list(Type::Dynamic)
}

fn element_of(ty: &Type) -> Type {
    ty.element_type().cloned().unwrap_or(Type::Dynamic)
}

/// A list or tuple, as `ty` says.
fn sequence(ty: &Type, values: Vec<Value>) -> Result<Value, CallError> {
    match ty {
        Type::List(element) => {
            Value::try_list((**element).clone(), values).map_err(|e| CallError::call(e.to_string()))
        }
        _ => Ok(Value::tuple(values)),
    }
}

pub(in crate::functions) fn concat() -> Function {
    Function::typed(vec![], concat_type, |args, ty, _| {
        let mut marks = Marks::none();
        let mut values = Vec::new();
        for (index, arg) in args.iter().enumerate() {
            let arg = if ty.is_list() {
                cty::convert(arg, ty).map_err(|e| CallError::arg(index, e.to_string()))?
            } else {
                arg.clone()
            };
            let (arg, own) = arg.unmark();
            marks.extend(&own);
            values.extend_from_slice(items(&arg));
        }
        Ok(sequence(ty, values)?.with_marks(&marks))
    })
    .more(any("seqs").marked())
    .not_null()
}

fn concat_type(args: &[Value], _: Host<'_>) -> Result<Type, CallError> {
    if args.is_empty() {
        return Err(CallError::call("at least one argument is required"));
    }
    if args.iter().all(|a| a.ty().is_list()) {
        let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
        if let Some(unified) = cty::unify_unsafe(&types) {
            return Ok(unified.ty);
        }
    }
    let mut elements = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        match arg.ty() {
            Type::Tuple(types) => elements.extend(types.iter().cloned()),
            Type::List(element) => match arg.len() {
                Some(count) => elements.extend(std::iter::repeat_n((**element).clone(), count)),
                None => return Ok(Type::Dynamic),
            },
            other => {
                let reason = Said::plain(format!(
                    "all arguments must be lists or tuples; got {}",
                    other.friendly_name()
                ));
                return Err(CallError::arg(index, reason));
            }
        }
    }
    Ok(Type::tuple(elements))
}

pub(in crate::functions) fn flatten() -> Function {
    Function::typed(
        vec![any("list").marked()],
        |args, _| {
            let list = &args[0];
            if !list.is_wholly_known() {
                return Ok(Type::Dynamic);
            }
            if !(list.ty().is_list() || list.ty().is_set() || list.ty().is_tuple()) {
                return Err(CallError::call("can only flatten lists, sets and tuples"));
            }
            let mut flat = Flat::default();
            flat.add(list);
            Ok(if flat.unknown {
                Type::Dynamic
            } else {
                Type::tuple(
                    flat.values
                        .iter()
                        .map(|v| v.ty().clone())
                        .collect::<Vec<_>>(),
                )
            })
        },
        |args, ty, _| {
            let mut flat = Flat::default();
            flat.add(&args[0]);
            let value = if flat.unknown {
                Value::unknown(ty.clone())
            } else {
                Value::tuple(flat.values)
            };
            Ok(value.with_marks(&flat.marks))
        },
    )
    .not_null()
}

#[derive(Default)]
struct Flat {
    values: Vec<Value>,
    marks: Marks,
    unknown: bool,
}

impl Flat {
    fn add(&mut self, list: &Value) {
        self.marks.extend(list.marks());
        if !list.is_known()
            || list.ty().is_set() && !list.is_wholly_known() && list.len().is_some_and(|l| l > 1)
        {
            self.unknown = true;
            return;
        }
        for item in list.children() {
            self.unknown |= item.is_dynamic_unknown();
            let nested = item.ty().is_list() || item.ty().is_set() || item.ty().is_tuple();
            if nested && !item.is_null() {
                self.add(item)
            } else {
                self.values.push(item.clone())
            }
        }
    }
}

pub(in crate::functions) fn reverse() -> Function {
    Function::typed(
        vec![any("list").marked()],
        |args, _| match args[0].ty() {
            Type::Tuple(types) => Ok(Type::tuple(types.iter().rev().cloned().collect::<Vec<_>>())),
            Type::List(element) | Type::Set(element) => Ok(Type::list((**element).clone())),
            other => Err(CallError::arg(
                0,
                Said::plain(format!(
                    "can only reverse list or tuple values, not {}",
                    other.friendly_name()
                )),
            )),
        },
        |args, ty, _| {
            let (list, marks) = args[0].clone().unmark();
            Ok(sequence(ty, items(&list).iter().rev().cloned().collect())?.with_marks(&marks))
        },
    )
    .not_null()
}

pub(in crate::functions) fn slice() -> Function {
    let params = vec![
        any("list").marked(),
        Param::new("start_index", Type::Number),
        Param::new("end_index", Type::Number),
    ];
    Function::typed(
        params,
        |args, _| {
            let ty = args[0].ty();
            if ty.is_set() {
                return Err(CallError::arg(
                    0,
                    "cannot slice a set, because its elements do not have indices; explicitly convert to a list if the ordering of \
                     the result is not important",
                ));
            }
            if !ty.is_list() && !ty.is_tuple() {
                return Err(CallError::arg(0, "must be a list or tuple value"));
            }
            let (start, end) = slice_bounds(args)?;
            match (ty, start, end) {
                (Type::Tuple(types), Some(start), Some(end)) => Ok(Type::tuple(types[start..end].to_vec())),
                (Type::Tuple(_), _, _) => Ok(Type::Dynamic),
                _ => Ok(ty.clone()),
            }
        },
        |args, ty, _| {
            let (list, marks) = args[0].clone().unmark();
            let (start, end) = slice_bounds(args)?;
            let part = items(&list).get(start.unwrap_or(0)..end.unwrap_or(0)).unwrap_or_default();
            Ok(sequence(ty, part.to_vec())?.with_marks(&marks))
        },
    )
    .not_null()
}

fn slice_bounds(args: &[Value]) -> Result<(Option<usize>, Option<usize>), CallError> {
    let length = match args[0].ty() {
        Type::Tuple(types) => Some(types.len()),
        _ => args[0].len(),
    };
    let bound = |index: usize, word: &str| -> Result<Option<usize>, CallError> {
        if !args[index].is_known() {
            return Ok(None);
        }
        let value = whole(args, index).map_err(|e| {
            CallError::arg(index, Said::plain(format!("invalid {word} index: {e}")))
        })?;
        let value = usize::try_from(value).map_err(|_| {
            CallError::arg(
                index,
                Said::plain(format!("{word} index must not be less than zero")),
            )
        })?;
        if length.is_some_and(|l| value > l) {
            return Err(CallError::arg(
                index,
                Said::plain(format!(
                    "{word} index must not be greater than the length of the list"
                )),
            ));
        }
        Ok(Some(value))
    };
    let (start, end) = (bound(1, "start")?, bound(2, "end")?);
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        return Err(CallError::arg(
            1,
            "start index must not be greater than end index",
        ));
    }
    Ok((start, end))
}

pub(in crate::functions) fn chunklist() -> Function {
    let params = vec![
        Param::new("list", list_of_any()).marked(),
        Param::new("size", Type::Number).marked(),
    ];
    Function::typed(
        params,
        |args, _| Ok(Type::list(args[0].ty().clone())),
        |args, ty, _| {
            let (list, mut marks) = args[0].clone().unmark();
            let (size, size_marks) = args[1].clone().unmark();
            marks.extend(&size_marks);
            let size = whole(&[size], 0)
                .map_err(|e| CallError::call(Said::plain(format!("invalid size: {e}"))))?;
            let size = usize::try_from(size)
                .map_err(|_| CallError::call("the size argument must be positive"))?;
            let inner = element_of(list.ty());
            let all = items(&list);
            let size = if size == 0 { all.len().max(1) } else { size };
            let chunks = all
                .chunks(size)
                .map(|chunk| Value::list(inner.clone(), chunk.to_vec()))
                .collect();
            Ok(sequence(ty, chunks)?.with_marks(&marks))
        },
    )
    .not_null()
}

pub(in crate::functions) fn compact() -> Function {
    let list = Type::list(Type::String);
    Function::new(
        vec![Param::new("list", list.clone())],
        list,
        |args, ty, _| {
            if !args[0].is_wholly_known() {
                return Ok(Value::unknown(ty.clone()));
            }
            let kept = items(&args[0])
                .iter()
                .filter(|v| v.as_str().is_some_and(|s| !s.is_empty()))
                .cloned()
                .collect();
            Ok(Value::list(Type::String, kept))
        },
    )
    .not_null()
}

pub(in crate::functions) fn distinct() -> Function {
    Function::typed(
        vec![Param::new("list", list_of_any())],
        |args, _| Ok(args[0].ty().clone()),
        |args, ty, _| {
            if !args[0].is_wholly_known() {
                return Ok(Value::unknown(ty.clone()));
            }
            let mut kept: Vec<Value> = Vec::new();
            for item in items(&args[0]) {
                if !kept.iter().any(|k| k.equals(item).as_bool() == Some(true)) {
                    kept.push(item.clone());
                }
            }
            sequence(ty, kept)
        },
    )
    .not_null()
}

pub(in crate::functions) fn element() -> Function {
    Function::typed(
        vec![any("list").marked(), Param::new("index", Type::Number)],
        |args, _| match args[0].ty() {
            Type::List(element) => Ok((**element).clone()),
            Type::Tuple(types) => {
                if !args[1].is_known() {
                    return Ok(Type::Dynamic);
                }
                Ok(types[wrapped(&args[1], types.len())?].clone())
            }
            other => Err(CallError::call(Said::plain(format!(
                "cannot read elements from {}",
                other.friendly_name()
            )))),
        },
        |args, ty, _| {
            let (list, marks) = args[0].clone().unmark();
            let Some(all) = list.as_slice() else {
                return Ok(Value::unknown(ty.clone()));
            };
            let at = wrapped(&args[1], all.len())?;
            Ok(all[at].clone().with_marks(&marks))
        },
    )
}

/// An index that begins again behind the last element, backwards for negative numbers.
fn wrapped(index: &Value, length: usize) -> Result<usize, CallError> {
    let index = whole(std::slice::from_ref(index), 0)
        .map_err(|e| CallError::call(Said::plain(format!("invalid index: {e}"))))?;
    if length == 0 {
        return Err(CallError::call(
            "cannot use element function with an empty list",
        ));
    }
    Ok(index.rem_euclid(length as i64) as usize)
}

pub(in crate::functions) fn one() -> Function {
    const WRONG: &str = "must be a list, set, or tuple value with either zero or one elements";
    Function::typed(
        vec![any("list")],
        |args, _| match args[0].ty() {
            Type::List(element) | Type::Set(element) => Ok((**element).clone()),
            Type::Tuple(types) if types.is_empty() => Ok(Type::Dynamic),
            Type::Tuple(types) if types.len() == 1 => Ok(types[0].clone()),
            _ => Err(CallError::arg(0, WRONG)),
        },
        |args, ty, _| {
            let list = &args[0];
            let known = list.length().is_some_and(|l| l.is_known());
            if !known {
                return Ok(Value::unknown(ty.clone()));
            }
            match items(list) {
                [] => Ok(Value::null(ty.clone())),
                [single] => Ok(single.clone()),
                _ => Err(CallError::arg(0, WRONG)),
            }
        },
    )
}

pub(in crate::functions) fn coalescelist() -> Function {
    Function::typed(
        vec![],
        |args, _| {
            if args.is_empty() {
                return Err(CallError::call("at least one argument is required"));
            }
            for arg in args {
                if !arg.is_known() {
                    return Ok(Type::Dynamic);
                }
                if !arg.ty().is_list() && !arg.ty().is_tuple() {
                    return Err(CallError::call(
                        "coalescelist arguments must be lists or tuples",
                    ));
                }
            }
            let first = args[0].ty();
            Ok(if args.iter().all(|a| a.ty() == first) {
                first.clone()
            } else {
                Type::Dynamic
            })
        },
        |args, ty, _| {
            for arg in args {
                if !arg.is_known() {
                    return Ok(Value::unknown(ty.clone()));
                }
                if arg.len().is_some_and(|l| l > 0) {
                    return Ok(arg.clone());
                }
            }
            Err(CallError::call("no non-null arguments"))
        },
    )
    .more(any("vals").null().unknown().dynamic())
    .not_null()
}

pub(in crate::functions) fn coalesce() -> Function {
    Function::typed(
        vec![],
        |args, _| {
            let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
            cty::unify_unsafe(&types)
                .map(|u| u.ty)
                .ok_or_else(|| CallError::call("all arguments must have the same type"))
        },
        |args, ty, _| {
            for arg in args {
                let arg = cty::convert(arg, ty).map_err(|e| CallError::call(e.to_string()))?;
                if !arg.is_known() {
                    return Ok(Value::unknown(ty.clone()));
                }
                if arg.is_null() || arg.as_str() == Some("") {
                    continue;
                }
                return Ok(arg);
            }
            Err(CallError::call("no non-null, non-empty-string arguments"))
        },
    )
    .more(any("vals").null().unknown().dynamic())
    .not_null()
}

/// The most products that `setproduct` makes.
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
    host.room(
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

/// Sides of unknown length still bound the length of the product, as long as the numbers are small.
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
    if most == 0 {
        unknown.refine().not_null().length(0).finish()
    } else {
        unknown.refine().length_min(1).length_max(most).finish()
    }
}
