//! Addresses of modules, resources and their instances in Terraform's notation. Plain data,
//! converted from and to text.

mod natural;
mod parse;
mod reference;
mod traversal;

pub use natural::natural_cmp;
pub use parse::{AddrError, AddrFault};
pub use reference::{Reference, Subject};

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Instance key of a repeated resource or module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum InstanceKey {
    /// Not repeated.
    #[default]
    None,
    /// Of `count`.
    Int(u64),
    /// Of `for_each`.
    Str(Arc<str>),
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceKey::None => Ok(()),
            InstanceKey::Int(n) => write!(f, "[{n}]"),
            InstanceKey::Str(s) => write!(f, "[{}]", quote(s)),
        }
    }
}

/// Quotes a text as an address does.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // `${` and `%{` would begin a template in a quoted string.
            '$' | '%' if chars.peek() == Some(&'{') => {
                out.push(c);
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the text that [`quote`] has quoted, or `None` if this is not a quoted text.
pub fn unquote(quoted: &str) -> Option<String> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => return None,
            '\\' => out.push(match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                c @ ('"' | '\\') => c,
                _ => return None,
            }),
            '$' | '%' => {
                let mut signs = 1;
                while chars.next_if_eq(&c).is_some() {
                    signs += 1;
                }
                // Only the sign directly before a brace is doubled.
                if signs > 1 && chars.peek() == Some(&'{') {
                    signs -= 1;
                }
                out.extend(std::iter::repeat_n(c, signs));
            }
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Module in the tree of calls, without instance keys; empty for the root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ModulePath(pub Vec<Arc<str>>);

impl ModulePath {
    /// The root module.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns true for the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// A module called from this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(name.into());
        ModulePath(steps)
    }

    /// The calling module and the name of the call; `None` for the root.
    pub fn parent(&self) -> Option<(ModulePath, &Arc<str>)> {
        let (last, before) = self.0.split_last()?;
        Some((ModulePath(before.to_vec()), last))
    }

    /// Returns true if this is `prefix` or a module inside it.
    pub fn starts_with(&self, prefix: &ModulePath) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Returns the depth of the innermost module that encloses both; 0 is the root.
    pub fn shared_depth(&self, other: &ModulePath) -> usize {
        let both = self.0.iter().zip(&other.0);
        both.take_while(|(a, b)| a == b).count()
    }
}

impl fmt::Display for ModulePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            write!(f, "{}module.{step}", if i == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

/// One instance of a module; empty for the root. Shorter paths come first, as Terraform lists them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ModuleInstance(pub Vec<(Arc<str>, InstanceKey)>);

impl PartialOrd for ModuleInstance {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ModuleInstance {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0
            .len()
            .cmp(&other.0.len())
            .then_with(|| self.0.cmp(&other.0))
    }
}

impl ModuleInstance {
    /// The root module.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns true for the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// An instance of a module called from this one.
    #[must_use]
    pub fn child(&self, name: &str, key: InstanceKey) -> Self {
        let mut steps = self.0.clone();
        steps.push((name.into(), key));
        ModuleInstance(steps)
    }

    /// The calling module's instance; `None` for the root.
    pub fn parent(&self) -> Option<ModuleInstance> {
        let (_, before) = self.0.split_last()?;
        Some(ModuleInstance(before.to_vec()))
    }

    /// The module without instance keys.
    pub fn path(&self) -> ModulePath {
        ModulePath(self.0.iter().map(|(name, _)| name.clone()).collect())
    }

    /// Returns true if this is `prefix` or a module instance inside it.
    pub fn starts_with(&self, prefix: &ModuleInstance) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Returns the innermost instance that encloses this one and instances of another module. The
    /// objects of both depend on each other within it, because names are relative to a module.
    #[must_use]
    pub fn shared_with(&self, other: &ModulePath) -> ModuleInstance {
        let both = self.0.iter().zip(&other.0);
        let depth = both.take_while(|((own, _), other)| own == *other).count();
        ModuleInstance(self.0[..depth].to_vec())
    }

    /// The same, outside of the modules whose instances depend on each other.
    #[must_use]
    pub fn shared_outside(
        &self,
        other: &ModulePath,
        connected: &BTreeSet<ModulePath>,
    ) -> ModuleInstance {
        let mut shared = self.shared_with(other);
        if !connected.is_empty() {
            let path = shared.path();
            let around = connected.iter().filter(|module| path.starts_with(module));
            if let Some(length) = around.map(|module| module.0.len()).min() {
                shared.0.truncate(length - 1);
            }
        }
        shared
    }

    /// Returns this instance and those that enclose it, the root last.
    pub fn enclosing(&self) -> impl Iterator<Item = ModuleInstance> + '_ {
        let depths = (0..=self.0.len()).rev();
        depths.map(|depth| ModuleInstance(self.0[..depth].to_vec()))
    }
}

impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, key)) in self.0.iter().enumerate() {
            write!(f, "{}module.{name}{key}", if i == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

/// Kinds of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// `data`.
    Data,
    /// `resource`.
    Managed,
    /// `ephemeral`.
    Ephemeral,
}

/// A resource within its module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    /// Managed, data or ephemeral.
    pub mode: Mode,
    /// The type's name.
    pub kind: Arc<str>,
    /// The resource's own name.
    pub name: Arc<str>,
}

impl Resource {
    /// A managed resource.
    pub fn managed(kind: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Resource {
            mode: Mode::Managed,
            kind: kind.into(),
            name: name.into(),
        }
    }

    /// Local name of the provider implied by the type: the part before the first underscore.
    pub fn implied_provider(&self) -> &str {
        self.kind.split('_').next().unwrap_or(&self.kind)
    }

    /// A data source.
    pub fn data(kind: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Resource {
            mode: Mode::Data,
            kind: kind.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            Mode::Managed => write!(f, "{}.{}", self.kind, self.name),
            Mode::Data => write!(f, "data.{}.{}", self.kind, self.name),
            Mode::Ephemeral => write!(f, "ephemeral.{}.{}", self.kind, self.name),
        }
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    module: &impl fmt::Display,
    root: bool,
    rest: &impl fmt::Display,
) -> fmt::Result {
    if root {
        write!(f, "{rest}")
    } else {
        write!(f, "{module}.{rest}")
    }
}

/// Resource as declared: the resource of a module, without instance keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigResource {
    /// The module.
    pub module: ModulePath,
    /// The resource in it.
    pub resource: Resource,
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, &self.module, self.module.is_root(), &self.resource)
    }
}

impl ConfigResource {
    /// Returns the resource in all module instances within one: the modules further inside have no
    /// keys.
    #[must_use]
    pub fn within(&self, instance: &ModuleInstance) -> AbsResource {
        let mut module = instance.clone();
        let inner = self.module.0.iter().skip(module.0.len());
        let inner = inner.map(|name| (name.clone(), InstanceKey::None));
        module.0.extend(inner);
        AbsResource {
            module,
            resource: self.resource.clone(),
        }
    }
}

/// Resource of a module instance, without its own instance key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbsResource {
    /// The module instance.
    pub module: ModuleInstance,
    /// The resource in it.
    pub resource: Resource,
}

impl AbsResource {
    /// One instance of it.
    pub fn instance(&self, key: InstanceKey) -> AbsInstance {
        AbsInstance {
            module: self.module.clone(),
            resource: self.resource.clone(),
            key,
        }
    }

    /// Without instance keys.
    pub fn config(&self) -> ConfigResource {
        ConfigResource {
            module: self.module.path(),
            resource: self.resource.clone(),
        }
    }
}

impl fmt::Display for AbsResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, &self.module, self.module.is_root(), &self.resource)
    }
}

/// One resource instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbsInstance {
    /// The module instance.
    pub module: ModuleInstance,
    /// The resource in it.
    pub resource: Resource,
    /// The resource's own instance key.
    pub key: InstanceKey,
}

impl AbsInstance {
    /// Returns the resource, without the instance key.
    pub fn abs(&self) -> AbsResource {
        AbsResource {
            module: self.module.clone(),
            resource: self.resource.clone(),
        }
    }

    /// Without instance keys.
    pub fn config(&self) -> ConfigResource {
        ConfigResource {
            module: self.module.path(),
            resource: self.resource.clone(),
        }
    }
}

impl fmt::Display for AbsInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(
            f,
            &self.module,
            self.module.is_root(),
            &format_args!("{}{}", self.resource, self.key),
        )
    }
}

/// Object that `--target`, `--exclude`, `moved` and similar addresses point at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// Everything in a module (all instances where a step has no key).
    Module(ModuleInstance),
    /// All instances of a resource; module steps without key mean all instances of that module.
    Resource(AbsResource),
    /// One instance.
    Instance(AbsInstance),
}

impl Target {
    /// The module part.
    pub fn module(&self) -> &ModuleInstance {
        match self {
            Target::Module(m) => m,
            Target::Resource(r) => &r.module,
            Target::Instance(i) => &i.module,
        }
    }

    /// Returns true if the instance lies in the target.
    pub fn contains(&self, instance: &AbsInstance) -> bool {
        // A resource lies in exactly this module, and a module target includes modules below it.
        let inside = |prefix: &ModuleInstance, exact: bool| {
            (!exact || instance.module.0.len() == prefix.0.len())
                && encloses(prefix, &instance.module)
        };
        match self {
            Target::Module(m) => inside(m, false),
            Target::Resource(r) => inside(&r.module, true) && r.resource == instance.resource,
            Target::Instance(i) => {
                inside(&i.module, true) && i.resource == instance.resource && i.key == instance.key
            }
        }
    }

    /// Returns true if the target is a module that encloses this instance, or the instance itself.
    pub fn contains_module(&self, instance: &ModuleInstance) -> bool {
        matches!(self, Target::Module(module) if encloses(module, instance))
    }

    /// Returns true if an instance of the declared resource may lie in the target.
    pub fn may_contain(&self, resource: &ConfigResource) -> bool {
        match self {
            // Keys do not matter, because a declared resource has no instances yet.
            Target::Module(m) => resource.module.starts_with(&m.path()),
            Target::Resource(r) => {
                resource.module == r.module.path() && resource.resource == r.resource
            }
            Target::Instance(i) => {
                resource.module == i.module.path() && resource.resource == i.resource
            }
        }
    }
}

/// Returns true if a module instance is `outer` or inside of it. Steps of `outer` without a key
/// mean all instances.
fn encloses(outer: &ModuleInstance, instance: &ModuleInstance) -> bool {
    let mut steps = outer.0.iter().zip(&instance.0);
    instance.0.len() >= outer.0.len()
        && steps.all(|(a, b)| a.0 == b.0 && (a.1 == InstanceKey::None || a.1 == b.1))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Module(m) => m.fmt(f),
            Target::Resource(r) => r.fmt(f),
            Target::Instance(i) => i.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_unquoted_to_the_same_text() {
        for text in [
            "",
            "plain",
            "a\"b\\c",
            "x\r\n\ty",
            "${a} %{b}",
            "$${a}",
            "$$a",
            "$",
            "%%{",
            "\\n",
        ] {
            assert_eq!(
                unquote(&quote(text)).as_deref(),
                Some(text),
                "{}",
                quote(text)
            );
        }
        for other in ["", "\"", "a", "\"a\"b\"", "\"\\x\"", "\"\\"] {
            assert_eq!(unquote(other), None, "{other}");
        }
    }
}
