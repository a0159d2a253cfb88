//! String functions without patterns.

use cty::{Type, Value};
use unicode_segmentation::UnicodeSegmentation;

use super::chars;
use crate::diag::Message;
use crate::functions::call::{CallError, Function, Param, int_argument, items, text};

fn text_param(name: &str) -> Param {
    Param::new(name, Type::String)
}

/// Creates a function from one string to another.
fn simple(convert: fn(&str) -> String) -> Function {
    Function::new(
        vec![text_param("str").dynamic()],
        Type::String,
        move |a, _, _| Ok(convert(text(a, 0)?).into()),
    )
    .not_null()
}

/// Creates a function of two strings.
fn pair(second: &str, result: Type, run: fn(&str, &str) -> Value) -> Function {
    Function::new(
        vec![text_param("str"), text_param(second)],
        result,
        move |a, _, _| Ok(run(text(a, 0)?, text(a, 1)?)),
    )
    .not_null()
}

pub(in crate::functions) fn upper() -> Function {
    simple(|s| s.chars().map(chars::upper).collect())
}

pub(in crate::functions) fn lower() -> Function {
    simple(|s| s.chars().map(chars::lower).collect())
}

pub(in crate::functions) fn title() -> Function {
    simple(chars::titled)
}

pub(in crate::functions) fn strrev() -> Function {
    simple(|s| s.graphemes(true).rev().collect())
}

pub(in crate::functions) fn chomp() -> Function {
    simple(|s| s.trim_end_matches(['\r', '\n']).to_owned())
}

pub(in crate::functions) fn trimspace() -> Function {
    simple(|s| s.trim_matches(chars::space).to_owned())
}

pub(in crate::functions) fn trim() -> Function {
    pair("cutset", Type::String, |s, cut| {
        s.trim_matches(|c| cut.contains(c)).into()
    })
}

pub(in crate::functions) fn trimprefix() -> Function {
    pair("prefix", Type::String, |s, prefix| {
        s.strip_prefix(prefix).unwrap_or(s).into()
    })
}

pub(in crate::functions) fn trimsuffix() -> Function {
    pair("suffix", Type::String, |s, suffix| {
        s.strip_suffix(suffix).unwrap_or(s).into()
    })
}

pub(in crate::functions) fn endswith() -> Function {
    pair("suffix", Type::Bool, |s, suffix| s.ends_with(suffix).into())
}

pub(in crate::functions) fn strcontains() -> Function {
    let params = vec![text_param("str"), text_param("substr")];
    Function::new(params, Type::Bool, |a, _, _| {
        Ok(text(a, 0)?.contains(text(a, 1)?).into())
    })
}

pub(in crate::functions) fn startswith() -> Function {
    let params = vec![text_param("str").unknown(), text_param("prefix")];
    Function::new(params, Type::Bool, |a, _, _| {
        let prefix = text(a, 1)?;
        if a[0].is_known() {
            return Ok(text(a, 0)?.starts_with(prefix).into());
        }
        let range = a[0].range();
        let known = range.string_prefix();
        Ok(if known.starts_with(prefix) {
            Value::bool(true)
        // The known prefix is long enough to differ from the searched one.
        } else if !known.is_empty() && known.len() >= prefix.len() {
            Value::bool(false)
        } else {
            Value::unknown(Type::Bool)
        })
    })
    .not_null()
}

/// Number of grapheme clusters.
pub(in crate::functions) fn length(text: &str) -> usize {
    text.graphemes(true).count()
}

pub(in crate::functions) fn substr() -> Function {
    let params = vec![
        text_param("str").dynamic(),
        Param::new("offset", Type::Number).dynamic(),
        Param::new("length", Type::Number).dynamic(),
    ];
    Function::new(params, Type::String, |a, _, _| {
        let (text, mut offset, count) = (text(a, 0)?, int_argument(a, 1)?, int_argument(a, 2)?);
        if offset < 0 {
            // A negative offset counts from the end.
            offset += length(text) as i64;
        } else if count == 0 {
            return Ok("".into());
        }
        let rest = text.graphemes(true).skip(offset.max(0) as usize);
        // A count of zero after a negative offset selects everything, as do negative counts.
        let part: String = if count <= 0 {
            rest.collect()
        } else {
            rest.take(count as usize).collect()
        };
        Ok(part.into())
    })
    .not_null()
}

pub(in crate::functions) fn join() -> Function {
    Function::new(
        vec![text_param("separator")],
        Type::String,
        |args, _, host| {
            let separator = text(args, 0)?;
            let lists = &args[1..];
            if lists.is_empty() {
                return Err(CallError::call("at least one list is required"));
            }
            // An unknown element makes the whole text unknown.
            if lists.iter().any(|l| !l.is_wholly_known()) {
                return Ok(Value::unknown(Type::String));
            }
            let mut parts = Vec::new();
            for (at, list) in lists.iter().enumerate() {
                for (index, item) in items(list).iter().enumerate() {
                    let Some(part) = item.as_str() else {
                        let place = if lists.len() > 1 {
                            format!("element {index} of list {}", at + 1)
                        } else {
                            format!("element {index}")
                        };
                        return Err(CallError::arg(
                            at + 1,
                            Message::plain(format!(
                                "{place} is null; cannot concatenate null values"
                            )),
                        ));
                    };
                    parts.push(part);
                }
            }
            // A short list with a long separator can still make a huge text.
            let between = separator.len().saturating_mul(parts.len());
            host.check_memory(
                parts
                    .iter()
                    .fold(between, |sum, part| sum.saturating_add(part.len())),
            )?;
            Ok(parts.join(separator).into())
        },
    )
    .more(Param::new("lists", Type::list(Type::String)))
    .not_null()
}

pub(in crate::functions) fn split() -> Function {
    Function::new(
        vec![text_param("separator"), text_param("str")],
        Type::list(Type::String),
        |a, _, _| {
            let (separator, text) = (text(a, 0)?, text(a, 1)?);
            let parts: Vec<Value> = if separator.is_empty() {
                // Without a separator, Go splits after each code point.
                text.chars().map(|c| c.to_string().into()).collect()
            } else {
                text.split(separator).map(Value::from).collect()
            };
            Ok(Value::list(Type::String, parts))
        },
    )
    .not_null()
}

/// Maximum size of an `indent` result in bytes, to bound memory.
const INDENTED: usize = 256 << 20;

pub(in crate::functions) fn indent() -> Function {
    Function::new(
        vec![Param::new("spaces", Type::Number), text_param("str")],
        Type::String,
        |a, _, _| {
            let (spaces, text) = (int_argument(a, 0)?, text(a, 1)?);
            let spaces = usize::try_from(spaces)
                .map_err(|_| CallError::arg(0, "the number of spaces must not be negative"))?;
            let lines = text.matches('\n').count();
            if spaces.saturating_mul(lines.max(1)) > INDENTED {
                return Err(CallError::arg(0, "the number of spaces is too large"));
            }
            Ok(text
                .replace('\n', &format!("\n{}", " ".repeat(spaces)))
                .into())
        },
    )
    .not_null()
}

pub(in crate::functions) fn sort() -> Function {
    let list = Type::list(Type::String);
    Function::new(
        vec![Param::new("list", list.clone()).unknown()],
        list,
        |a, ty, _| {
            let list = &a[0];
            if !list.is_wholly_known() {
                // Sorting keeps the number of elements, so known bounds stay.
                let range = list.range();
                let mut builder = Value::unknown(ty.clone())
                    .refine()
                    .length_min(range.length_min());
                if let Some(max) = range.length_max() {
                    builder = builder.length_max(max);
                }
                return Ok(builder.finish());
            }
            let mut words = Vec::new();
            for (at, item) in items(list).iter().enumerate() {
                let Some(word) = item.as_str() else {
                    return Err(CallError::call(Message::plain(format!(
                        "given list element {at} is null; a null string cannot be sorted"
                    ))));
                };
                words.push(word);
            }
            // By bytes, as in Go; for UTF-8 this is the order of code points.
            words.sort_unstable();
            Ok(Value::list(
                Type::String,
                words.into_iter().map(Value::from).collect(),
            ))
        },
    )
    .not_null()
}
