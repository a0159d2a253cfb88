//! `format` and `formatlist`.

use cty::{Type, Value};

use super::verbs::Verb;
use crate::functions::call::{CallError, Function, Param, text};

fn more() -> Param {
    Param::new("args", Type::Dynamic).null().unknown().dynamic()
}

/// Formats values; all arguments must be used.
fn write(format: &str, args: &[Value]) -> Result<String, CallError> {
    let mut out = String::with_capacity(format.len());
    let (mut at, mut next, mut highest) = (0, 1, 0);
    while let Some(found) = format[at..].find('%') {
        let percent = at + found;
        out.push_str(&format[at..percent]);
        if format.as_bytes().get(percent + 1) == Some(&b'%') {
            out.push('%');
            at = percent + 2;
            continue;
        }
        let (verb, behind) = Verb::read(format, percent, next)?;
        highest = highest.max(verb.argument);
        let Some(arg) = args.get(verb.argument - 1) else {
            return Err(CallError::call(format!(
                "not enough arguments for {:?} at {}: need index {} but have {} total",
                verb.raw,
                verb.offset,
                verb.argument,
                args.len()
            )));
        };
        out.push_str(&verb.write(arg)?);
        next = verb.argument + 1;
        at = behind;
    }
    out.push_str(&format[at..]);
    if highest < args.len() {
        let reason = match highest {
            0 => "too many arguments; no verbs in format string".to_owned(),
            used => format!("too many arguments; only {used} used by format string"),
        };
        return Err(CallError::arg(highest + 1, reason));
    }
    Ok(out)
}

pub(in crate::functions) fn format() -> Function {
    Function::new(
        vec![Param::new("format", Type::String)],
        Type::String,
        |args, _, _| {
            let format = text(args, 0)?;
            if args[1..].iter().any(|a| !a.is_wholly_known()) {
                let unknown = Value::unknown(Type::String);
                // The text before the first verb is known in any case.
                return Ok(match format.find('%') {
                    Some(at) if at > 0 => unknown.refine().string_prefix(&format[..at]).finish(),
                    _ => unknown,
                });
            }
            Ok(write(format, &args[1..])?.into())
        },
    )
    .more(more())
    .not_null()
}

pub(in crate::functions) fn formatlist() -> Function {
    Function::new(vec![Param::new("format", Type::String)], Type::list(Type::String), |args, ty, _| {
        let format = text(args, 0)?;
        let args = &args[1..];
        let mut count = None;
        let mut unknown = false;
        for (index, arg) in args.iter().enumerate() {
            if !spread(arg) {
                // A value of unknown type may become a list.
                unknown |= arg.is_dynamic_unknown();
                continue;
            }
            let length = match arg.ty() {
                Type::Tuple(types) => types.len(),
                _ => match arg.length().and_then(|l| l.as_number().and_then(cty::Number::to_usize)) {
                    Some(length) if arg.is_known() => length,
                    _ => {
                        unknown = true;
                        continue;
                    }
                },
            };
            match count {
                None => count = Some((length, index)),
                Some((first, chooser)) if first != length => {
                    return Err(CallError::arg(
                        index + 1,
                        format!(
                            "argument {} has length {length}, which is inconsistent with argument {} of length {first}",
                            index + 1,
                            chooser + 1
                        ),
                    ));
                }
                Some(_) => {}
            }
            unknown |= !arg.is_known();
        }
        if unknown {
            return Ok(Value::unknown(ty.clone()));
        }
        let rounds = count.map_or(1, |(length, _)| length);
        let mut results = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let row: Vec<Value> = args
                .iter()
                .map(|a| if spread(a) { a.children().nth(round).cloned().unwrap_or_else(Value::dynamic) } else { a.clone() })
                .collect();
            if row.iter().any(|v| !v.is_wholly_known()) {
                // Only this line is unknown; the others can still be formatted.
                results.push(Value::unknown(Type::String).refine_not_null());
                continue;
            }
            let line = write(format, &row).map_err(|e| CallError::call(format!("error on format iteration {round}: {e}")))?;
            results.push(line.into());
        }
        Ok(Value::list(Type::String, results))
    })
    .more(more())
    .not_null()
}

/// Returns true if `formatlist` iterates over the argument.
fn spread(arg: &Value) -> bool {
    (arg.ty().is_list() || arg.ty().is_set() || arg.ty().is_tuple()) && !arg.is_null()
}
