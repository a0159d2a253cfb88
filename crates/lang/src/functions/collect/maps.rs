//! Functions on maps and objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Mark, Marks, Type, Value};

use crate::diag::Message;
use crate::functions::call::{CallError, Function, Host, Param, items};

fn any(name: &str) -> Param {
    Param::new(name, Type::Dynamic)
}

/// Creates a map or object of type `ty`.
fn members(ty: &Type, values: BTreeMap<Arc<str>, Value>) -> Result<Value, CallError> {
    match ty {
        Type::Map(element) => {
            Value::try_map((**element).clone(), values).map_err(|e| CallError::call(e.to_string()))
        }
        _ => Ok(Value::object_from_map(values)),
    }
}

pub(in crate::functions) fn keys() -> Function {
    Function::typed(
        vec![any("inputMap").unknown().marked()],
        |args, _| match args[0].ty() {
            Type::Map(_) => Ok(Type::list(Type::String)),
            Type::Object(object) => Ok(Type::tuple(vec![Type::String; object.attributes.len()])),
            _ => Err(CallError::arg(0, "must have map or object type")),
        },
        |args, ty, _| {
            let (map, marks) = args[0].clone().unmark();
            let names = |names: &mut dyn Iterator<Item = &Arc<str>>| {
                names.map(|n| Value::string(&**n)).collect::<Vec<_>>()
            };
            let value = match (map.ty(), map.as_map()) {
                // The names are part of an object's type, so they are known even if the object is
                // not.
                (Type::Object(object), _) => Value::tuple(names(&mut object.attributes.keys())),
                (_, Some(known)) => Value::list(Type::String, names(&mut known.keys())),
                _ => Value::unknown(ty.clone()),
            };
            Ok(value.with_marks(&marks))
        },
    )
    .not_null()
}

pub(in crate::functions) fn values() -> Function {
    Function::typed(
        vec![any("mapping").marked()],
        |args, _| match args[0].ty() {
            Type::Map(element) => Ok(Type::list((**element).clone())),
            Type::Object(object) => Ok(Type::tuple(
                object.attributes.values().cloned().collect::<Vec<_>>(),
            )),
            _ => Err(CallError::call(
                "values() requires a map as the first argument",
            )),
        },
        |args, ty, _| {
            let (map, marks) = args[0].clone().unmark();
            let all: Vec<Value> = map.children().cloned().collect();
            let value = match ty {
                Type::List(element) => Value::list((**element).clone(), all),
                _ => Value::tuple(all),
            };
            Ok(value.with_marks(&marks))
        },
    )
    .not_null()
}

pub(in crate::functions) fn merge() -> Function {
    Function::typed(vec![], merge_type, |args, ty, _| {
        let mut merged = BTreeMap::new();
        let mut marks = Marks::none();
        for arg in args.iter().filter(|a| !a.is_null()) {
            marks.extend(arg.marks());
            merged.extend(
                arg.as_map()
                    .into_iter()
                    .flatten()
                    .map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        Ok(members(ty, merged)?.with_marks(&marks))
    })
    .more(any("maps").dynamic().null().marked())
    .not_null()
}

fn merge_type(args: &[Value], _: Host<'_>) -> Result<Type, CallError> {
    let mut attributes: BTreeMap<Arc<str>, Type> = BTreeMap::new();
    let mut first: Option<Type> = None;
    let (mut matching, mut settled) = (true, true);
    for arg in args {
        let mut ty = arg.ty().clone();
        match &ty {
            Type::Dynamic => return Ok(Type::Dynamic),
            // A null object adds no attributes.
            Type::Object(_) if arg.is_null() => ty = Type::empty_object(),
            Type::Object(object) => attributes.extend(
                object
                    .attributes
                    .iter()
                    .map(|(k, t)| (k.clone(), t.clone())),
            ),
            Type::Map(_) if arg.is_null() => {}
            Type::Map(element) => match arg.as_map() {
                Some(known) => {
                    attributes.extend(known.keys().map(|k| (k.clone(), (**element).clone())))
                }
                // The keys of an unknown map may add attributes.
                None => settled = false,
            },
            other => {
                return Err(CallError::call(Message::plain(format!(
                    "arguments must be maps or objects, got {:?}",
                    other.friendly_name()
                ))));
            }
        }
        match &first {
            None => first = Some(ty),
            Some(first) => matching &= *first == ty,
        }
    }
    match first {
        None => Ok(Type::empty_object()),
        // Arguments of one type keep it, so that maps stay a map.
        Some(first) if matching => Ok(first),
        Some(_) if !settled => Ok(Type::Dynamic),
        Some(_) => Ok(Type::object(attributes)),
    }
}

pub(in crate::functions) fn lookup() -> Function {
    Function::typed(
        vec![
            any("inputMap").marked(),
            Param::new("key", Type::String).marked(),
        ],
        lookup_type,
        |args, ty, _| {
            let (map, mut marks) = args[0].clone().unmark();
            let (key, key_marks) = args[1].clone().unmark();
            marks.extend(&key_marks);
            if !map.is_known() {
                return Ok(Value::unknown(ty.clone()).with_marks(&marks));
            }
            let name = key.as_str().unwrap_or_default();
            if let Some(found) = map.index_str(name) {
                return Ok(found.with_marks(&marks));
            }
            if let Some(default) = args.get(2) {
                let default = cty::convert(default, ty).map_err(|e| CallError::call(&e))?;
                return Ok(default.with_marks(&marks));
            }
            Err(CallError::call(quoting(name, &key_marks, |key| {
                format!("lookup failed to find key {key}")
            })))
        },
    )
    .more(any("default").unknown().dynamic().null().marked())
}

fn lookup_type(args: &[Value], _: Host<'_>) -> Result<Type, CallError> {
    if args.len() > 3 {
        return Err(CallError::call(Message::plain(format!(
            "lookup() takes two or three arguments, got {}",
            args.len()
        ))));
    }
    match args[0].ty() {
        Type::Object(object) => {
            // The type depends on the attribute that an unknown key selects.
            let Some(key) = args[1].as_str() else {
                return Ok(Type::Dynamic);
            };
            match (object.attributes.get(key), args.get(2)) {
                (Some(ty), _) => Ok(ty.clone()),
                (None, Some(default)) => Ok(default.ty().clone()),
                (None, None) => {
                    let reason = quoting(key, args[1].marks(), |key| {
                        format!("the given object has no attribute {key}")
                    });
                    Err(CallError::arg(0, reason))
                }
            }
        }
        Type::Map(element) => {
            if let Some(default) = args.get(2)
                && cty::convert(default, element).is_err()
            {
                return Err(CallError::arg(
                    2,
                    "the default value must have the same type as the map elements",
                ));
            }
            Ok((**element).clone())
        }
        _ => Err(CallError::arg(
            0,
            "lookup() requires a map as the first argument",
        )),
    }
}

/// Wraps a quoted text, which is hidden if it is sensitive.
pub(in crate::functions) fn quoting(
    text: &str,
    marks: &Marks,
    put: impl Fn(&str) -> String,
) -> Message {
    Message::either(put(&shown(text, marks)), put("(sensitive value)"))
}

fn shown(text: &str, marks: &Marks) -> String {
    match (
        marks.contains(&Mark::Ephemeral),
        marks.contains(&Mark::Sensitive),
    ) {
        (true, true) => "(ephemeral sensitive value)".to_owned(),
        (true, false) => "(ephemeral value)".to_owned(),
        (false, true) => "(sensitive value)".to_owned(),
        (false, false) => format!("{text:?}"),
    }
}

pub(in crate::functions) fn zipmap() -> Function {
    let params = vec![
        Param::new("keys", Type::list(Type::String)).marked(),
        any("values").marked(),
    ];
    Function::typed(params, zipmap_type, |args, ty, _| {
        let (keys, mut marks) = args[0].clone().unmark();
        let (values, value_marks) = args[1].clone().unmark();
        marks.extend(&value_marks);
        // An unknown key leaves open which members the result has.
        if !keys.is_wholly_known() {
            return Ok(Value::unknown(ty.clone()).with_marks(&marks));
        }
        check_lengths(items(&keys).len(), items(&values).len())?;
        let mut zipped = BTreeMap::new();
        for (index, (key, value)) in items(&keys).iter().zip(items(&values)).enumerate() {
            let (key, key_marks) = key.clone().unmark();
            marks.extend(&key_marks);
            zipped.insert(
                key.as_arc_str().ok_or_else(|| null_key(index))?,
                value.clone(),
            );
        }
        Ok(members(ty, zipped)?.with_marks(&marks))
    })
    .not_null()
}

fn check_lengths(keys: usize, values: usize) -> Result<(), CallError> {
    if keys == values {
        return Ok(());
    }
    Err(CallError::call(Message::plain(format!(
        "number of keys ({keys}) does not match number of values ({values})"
    ))))
}

fn null_key(index: usize) -> CallError {
    CallError::call(Message::plain(format!(
        "keys list has null value at index {index}"
    )))
}

fn zipmap_type(args: &[Value], _: Host<'_>) -> Result<Type, CallError> {
    match args[1].ty() {
        Type::List(element) => Ok(Type::map((**element).clone())),
        Type::Tuple(types) => {
            if !args[0].is_wholly_known() {
                return Ok(Type::Dynamic);
            }
            let keys = items(&args[0]);
            check_lengths(keys.len(), types.len())?;
            let mut attributes = Vec::with_capacity(types.len());
            for (index, (key, ty)) in keys.iter().zip(types.iter()).enumerate() {
                attributes.push((key.as_arc_str().ok_or_else(|| null_key(index))?, ty.clone()));
            }
            Ok(Type::object(attributes))
        }
        _ => Err(CallError::call(
            "values argument must be a list or tuple value",
        )),
    }
}

pub(in crate::functions) fn transpose() -> Function {
    let ty = Type::map(Type::list(Type::String));
    Function::new(vec![Param::new("values", ty.clone())], ty, |args, ty, _| {
        let map = &args[0];
        if !map.is_wholly_known() {
            return Ok(Value::unknown(ty.clone()));
        }
        let mut turned: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
        for (key, list) in map.as_map().into_iter().flatten() {
            if list.is_null() {
                return Err(CallError::arg(
                    0,
                    format!("cannot use null list for [{key:?}]"),
                ));
            }
            for (index, item) in items(list).iter().enumerate() {
                let name = item.as_arc_str().ok_or_else(|| {
                    CallError::arg(0, format!("cannot use null string for [{key:?}][{index}]"))
                })?;
                turned.entry(name).or_default().push(Value::string(&**key));
            }
        }
        let element = Type::list(Type::String);
        Ok(Value::map(
            element,
            turned
                .into_iter()
                .map(|(k, v)| (k, Value::list(Type::String, v))),
        ))
    })
    .not_null()
}
