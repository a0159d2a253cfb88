//! Functions that build lists.

use cty::{Marks, Type, Value};

use crate::diag::Message;
use crate::functions::call::{CallError, Function, Host, Param, int_argument, items};

pub(super) fn any(name: &str) -> Param {
    Param::new(name, Type::Dynamic)
}

fn list_of_any() -> Type {
    Type::list(Type::Dynamic)
}

pub(super) fn element_of(ty: &Type) -> Type {
    ty.element_type().cloned().unwrap_or(Type::Dynamic)
}

/// Creates a list or tuple of type `ty`.
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
    // Lists with a common element type stay a list; all others become a tuple.
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
                // The elements of an unknown list are not counted yet, so the tuple type is open.
                None => return Ok(Type::Dynamic),
            },
            other => {
                let reason = Message::plain(format!(
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
            // An unknown element may be a list, so not even the length is known.
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
        // A set with unknown elements may have fewer elements once they are known.
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
                Message::plain(format!(
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
        // The length of a tuple is part of its type.
        Type::Tuple(types) => Some(types.len()),
        _ => args[0].len(),
    };
    let bound = |index: usize, word: &str| -> Result<Option<usize>, CallError> {
        if !args[index].is_known() {
            return Ok(None);
        }
        let value = int_argument(args, index).map_err(|e| {
            CallError::arg(index, Message::plain(format!("invalid {word} index: {e}")))
        })?;
        let value = usize::try_from(value).map_err(|_| {
            CallError::arg(
                index,
                Message::plain(format!("{word} index must not be less than zero")),
            )
        })?;
        if length.is_some_and(|l| value > l) {
            return Err(CallError::arg(
                index,
                Message::plain(format!(
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
            let size = int_argument(&[size], 0)
                .map_err(|e| CallError::call(Message::plain(format!("invalid size: {e}"))))?;
            let size = usize::try_from(size)
                .map_err(|_| CallError::call("the size argument must be positive"))?;
            let inner = element_of(list.ty());
            let all = items(&list);
            // Size 0 means one chunk with all elements.
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
        |args, ty, host| {
            if !args[0].is_wholly_known() {
                return Ok(Value::unknown(ty.clone()));
            }
            let mut kept: Vec<Value> = Vec::new();
            for item in items(&args[0]) {
                // Each element is compared with the kept ones, so the work grows with their number.
                host.consume_steps(kept.len() as u64 / 2)?;
                if !kept.iter().any(|k| k.equals(item).as_bool() == Some(true)) {
                    kept.push(item.clone());
                }
            }
            sequence(ty, kept)
        },
    )
    .not_null()
}
