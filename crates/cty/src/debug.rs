//! `Debug` and `Display` of values, in the syntax of a configuration. Only `Debug` shows sensitive
//! values.

use std::fmt;

use crate::value::Data;
use crate::{Type, Value};

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, f, true)
    }
}

impl fmt::Display for Value {
    /// Prints like `Debug`, with sensitive values as `(sensitive)`, and without types and marks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, f, false)
    }
}

fn write(value: &Value, f: &mut fmt::Formatter<'_>, all: bool) -> fmt::Result {
    // `Display` reaches messages that users see; `all` is set by `Debug` only.
    if !all && value.marks.is_sensitive() {
        return f.write_str("(sensitive)");
    }
    match &value.data {
        Data::Null if value.ty.is_dynamic() => f.write_str("null")?,
        Data::Null if all => write!(f, "null({:?})", value.ty)?,
        Data::Null => f.write_str("null")?,
        Data::Unknown(refinement) => {
            write!(f, "unknown({:?}", value.ty)?;
            if let Some(r) = refinement {
                if r.not_null {
                    f.write_str(", not null")?;
                }
                if let Some(prefix) = &r.prefix {
                    write!(f, ", begins {prefix:?}")?;
                }
                if let Some((min, inclusive)) = &r.min {
                    write!(f, ", {} {min}", if *inclusive { ">=" } else { ">" })?;
                }
                if let Some((max, inclusive)) = &r.max {
                    write!(f, ", {} {max}", if *inclusive { "<=" } else { "<" })?;
                }
                if r.length_min > 0 {
                    write!(f, ", length >= {}", r.length_min)?;
                }
                if let Some(max) = r.length_max {
                    write!(f, ", length <= {max}")?;
                }
            }
            f.write_str(")")?;
        }
        Data::Bool(b) => write!(f, "{b}")?,
        Data::Number(n) => write!(f, "{n}")?,
        Data::String(s) => write!(f, "{s:?}")?,
        Data::Seq(elements) => {
            let name = match &value.ty {
                Type::Set(_) => "set",
                Type::List(_) => "list",
                _ => "",
            };
            // `Debug` names the kind, because test failures must tell a list from a set or tuple.
            let (open, close) = if all && !name.is_empty() {
                ("([", "])")
            } else {
                ("[", "]")
            };
            write!(f, "{}{open}", if all { name } else { "" })?;
            for (i, e) in elements.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                write(e, f, all)?;
            }
            f.write_str(close)?;
        }
        Data::Map(members) => {
            let map = all && value.ty.is_map();
            f.write_str(if map { "map({" } else { "{" })?;
            for (i, (k, e)) in members.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                if value.ty.is_object() {
                    write!(f, "{k} = ")?
                } else {
                    write!(f, "{k:?} = ")?
                }
                write(e, f, all)?;
            }
            f.write_str(if map { "})" } else { "}" })?;
        }
    }
    if all && !value.marks.is_empty() {
        write!(f, ".mark{:?}", value.marks)?;
    }
    Ok(())
}
