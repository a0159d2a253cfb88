//! Parses addresses from text. The parser is separate from the expression parser because address
//! syntax is a small subset.

use std::sync::Arc;

use super::{AbsInstance, AbsResource, InstanceKey, Mode, ModuleInstance, Resource, Target};
use std::str::FromStr;

/// Text that is not a valid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid address: {why}")]
pub struct AddrError {
    /// Parsed text.
    pub text: String,
    /// Reason for the failure.
    pub why: AddrFault,
}

/// Reasons why a text is not a valid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddrFault {
    /// A name or bracket is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A word that is not a valid name.
    #[error("{0:?} is not a valid name")]
    NoName(String),
    /// Text after the end of a valid part.
    #[error("unexpected {0:?}")]
    Unexpected(String),
    /// The text in brackets is neither an integer nor a quoted string.
    #[error("an instance key must be a whole number or a quoted string")]
    NoKey,
    /// A backslash before a character that is never escaped.
    #[error("an instance key has an unknown escape sequence")]
    Escape,
    /// A key after a keyword.
    #[error("{0:?} cannot have an instance key")]
    Keyed(String),
    /// A key after a resource type.
    #[error("a resource type cannot have an instance key; write the key after the resource name")]
    KeyedType,
    /// Text after the end of the address.
    #[error("unexpected text after the resource name")]
    Longer,
    /// A module address where a resource instance is expected.
    #[error("it names a module, not a resource instance")]
    Module,
    /// A resource address where a module is expected.
    #[error("it names a resource, not a module")]
    Resource,
}

fn missing(what: &'static str) -> AddrFault {
    AddrFault::Missing(what)
}

/// Name with an optional key.
type Part = (String, InstanceKey);

fn parts(text: &str) -> Result<Vec<Part>, AddrFault> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        // A quoted key may contain dots, so names end at a bracket too and keys are parsed apart.
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let name = &rest[..end];
        let mut chars = name.chars();
        let good = chars
            .next()
            .is_some_and(|c| unicode_ident::is_xid_start(c) || c == '_')
            && chars.all(|c| unicode_ident::is_xid_continue(c) || c == '-');
        if !good {
            return Err(if name.is_empty() {
                missing("a name")
            } else {
                AddrFault::NoName(name.to_owned())
            });
        }
        rest = &rest[end..];
        let mut key = InstanceKey::None;
        if let Some(inner) = rest.strip_prefix('[') {
            let (parsed, after) = self::key(inner)?;
            key = parsed;
            rest = after;
        }
        out.push((name.to_owned(), key));
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Ok(out),
            None => return Err(AddrFault::Unexpected(rest.to_owned())),
        }
    }
}

fn key(inner: &str) -> Result<(InstanceKey, &str), AddrFault> {
    let Some(quoted) = inner.strip_prefix('"') else {
        let end = inner.find(']').ok_or(missing("a closing bracket"))?;
        let number = inner[..end].trim().parse().map_err(|_| AddrFault::NoKey)?;
        return Ok((InstanceKey::Int(number), &inner[end + 1..]));
    };
    let mut out = String::new();
    let mut chars = quoted.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let after = quoted[at + 1..]
                    .strip_prefix(']')
                    .ok_or(missing("a closing bracket"))?;
                return Ok((InstanceKey::Str(out.into()), after));
            }
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(c @ ('"' | '\\')) => out.push(c),
                _ => return Err(AddrFault::Escape),
            },
            '$' | '%' => {
                out.push(c);
                // `$${` is the escape for `${`.
                if quoted[at + 1..].starts_with([c]) && quoted[at + 2..].starts_with('{') {
                    chars.next();
                }
            }
            _ => out.push(c),
        }
    }
    Err(missing("a closing quote"))
}

/// Splits off the leading `module.name[key]` steps.
fn module(parts: Vec<Part>) -> Result<(ModuleInstance, Vec<Part>), AddrFault> {
    let mut steps = Vec::new();
    let mut rest = parts.into_iter().peekable();
    while rest.peek().is_some_and(|p| p.0 == "module") {
        // A key belongs after the name of the module, not after the keyword.
        let (_, stray) = rest.next().unwrap_or_default();
        if stray != InstanceKey::None {
            return Err(AddrFault::Keyed("module".to_owned()));
        }
        let (name, key) = rest.next().ok_or(missing("the module name"))?;
        steps.push((Arc::from(name), key));
    }
    Ok((ModuleInstance(steps), rest.collect()))
}

fn target(text: &str) -> Result<Target, AddrFault> {
    let (module, rest) = module(parts(text)?)?;
    let mut rest = rest.into_iter();
    let Some(mut first) = rest.next() else {
        return Ok(Target::Module(module));
    };
    let mode = match first.0.as_str() {
        "data" => Mode::Data,
        "ephemeral" => Mode::Ephemeral,
        _ => Mode::Managed,
    };
    // `resource.` is an optional prefix of managed resources.
    if mode != Mode::Managed || first.0 == "resource" {
        if first.1 != InstanceKey::None {
            return Err(AddrFault::Keyed(first.0));
        }
        first = rest.next().ok_or(missing("a resource type"))?;
    }
    let (kind, stray) = first;
    if stray != InstanceKey::None {
        return Err(AddrFault::KeyedType);
    }
    let (name, key) = rest.next().ok_or(missing("the resource name"))?;
    if rest.next().is_some() {
        return Err(AddrFault::Longer);
    }
    let resource = Resource {
        mode,
        kind: kind.into(),
        name: name.into(),
    };
    Ok(match key {
        InstanceKey::None => Target::Resource(AbsResource { module, resource }),
        key => Target::Instance(AbsInstance {
            module,
            resource,
            key,
        }),
    })
}

impl FromStr for Target {
    type Err = AddrError;
    fn from_str(text: &str) -> Result<Self, AddrError> {
        target(text).map_err(|why| AddrError {
            text: text.to_owned(),
            why,
        })
    }
}

impl FromStr for AbsInstance {
    type Err = AddrError;
    fn from_str(text: &str) -> Result<Self, AddrError> {
        match text.parse()? {
            Target::Instance(i) => Ok(i),
            // Without a key, the address names the only instance of the resource.
            Target::Resource(r) => Ok(r.instance(InstanceKey::None)),
            Target::Module(_) => Err(AddrError {
                text: text.to_owned(),
                why: AddrFault::Module,
            }),
        }
    }
}

impl FromStr for ModuleInstance {
    type Err = AddrError;
    fn from_str(text: &str) -> Result<Self, AddrError> {
        if text.is_empty() {
            return Ok(ModuleInstance::root());
        }
        match text.parse()? {
            Target::Module(m) => Ok(m),
            _ => Err(AddrError {
                text: text.to_owned(),
                why: AddrFault::Resource,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_addresses_round_trip() {
        for text in [
            "a.b",
            "a.b[0]",
            "data.a.b[\"k\"]",
            "module.m.a.b",
            "module.m[0].module.n[\"x.y]\"].data.a.b-c[3]",
            "module.m",
            "module.m[\"a\\\"b\"]",
            "a.b[\"$${x}\"]",
            "a.b[\"\"]",
        ] {
            let target: Target = text.parse().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(target.to_string(), text);
        }
    }

    #[test]
    fn malformed_target_addresses_are_rejected() {
        for text in [
            "",
            "a",
            "a.",
            "a.b[",
            "a.b[x]",
            "a.b[\"x]",
            "module",
            "module.m.",
            "a.b.c",
            "0.b",
            "a[0].b",
            "data.a",
            "a.b[0]x",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn target_without_keys_contains_every_instance() {
        let one: AbsInstance = "module.m[1].a.b[\"k\"]".parse().unwrap();
        for (target, inside) in [
            ("module.m", true),
            ("module.m[1]", true),
            ("module.m[0]", false),
            ("module.m.a.b", true),
            ("a.b", false),
            ("module.m[1].a.b[\"k\"]", true),
            ("module.m[1].a.b[0]", false),
        ] {
            assert_eq!(
                target.parse::<Target>().unwrap().contains(&one),
                inside,
                "{target}"
            );
        }
    }
}
