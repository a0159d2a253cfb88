//! Trust in the commands of hooks. A decision covers the evaluated words and the files that they
//! execute. Checked for each member before a deploy, and again right before each start.

use crate::memory_limit;
use crate::stage::change::Change;
use crate::stage::groups::ChangedGroup;
use cty::{Type, Value};
use group::MemberKey;
use lang::config::GroupHook;
use lang::diag::{Diagnostic, Diagnostics};
use lang::eval::{self, Bindings, Scope};
use lang::source::SourceMap;
use lang::syntax::ast::{Expr, ExprKind, Traversal};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trust::commands::{CommandError, CommandTrust, NamedBy};
use trust::words::{Part, Word, varies_in_data_only};

/// Checks the hooks of a deploy.
#[derive(Clone)]
pub(crate) struct HookTrust {
    trust: CommandTrust,
    sources: SourceMap,
    dir: PathBuf,
}

/// Names that the expressions of a hook can use for a member.
pub(super) struct HookNames<'a> {
    pub(super) hook: &'a GroupHook,
    pub(super) group: &'a ChangedGroup,
    pub(super) key: &'a MemberKey,
}

impl HookNames<'_> {
    /// Values of the names, with this object as `self`.
    pub(super) fn values(&self, object: Value) -> BTreeMap<Arc<str>, Value> {
        let key = Value::string(self.key.to_string());
        let name = Value::string(&*self.group.declared.name);
        let size = Value::number(self.group.size as u64);
        let mut values: BTreeMap<Arc<str>, Value> = self.hook.names.clone();
        values.extend([
            (Arc::from("self"), object),
            (Arc::from("member"), Value::object([("key", key)])),
            (
                Arc::from("group"),
                Value::object([("name", name), ("size", size)]),
            ),
        ]);
        values
    }
}

impl HookTrust {
    /// Uses the decisions of this process' user.
    pub(crate) fn new(dir: &Path, sources: &SourceMap) -> Self {
        Self {
            trust: CommandTrust::new(dir, |name| std::env::var(name).ok()),
            sources: sources.clone(),
            dir: dir.to_owned(),
        }
    }

    /// Checks the hooks of a group before its deploy, as far as their words are known.
    ///
    /// # Errors
    /// The operator does not trust a command, or an address that a probe contacts.
    pub(crate) fn check_group(
        &self,
        group: &ChangedGroup,
        changes: &[Change],
    ) -> Result<(), CommandError> {
        let steps = group.rollout.steps().iter().zip(&group.changes);
        let members = steps.map(|(step, change)| (&step.member, *change));
        let unproven = group.unproven.iter().map(|t| (&t.key, t.change));
        let members: Vec<(&MemberKey, usize)> = members.chain(unproven).collect();
        let declared = &group.declared;
        for hook in declared.drain.iter().chain(&declared.health) {
            for (name, expr) in &hook.expressions {
                match &**name {
                    // An expression over the attributes has no effect outside.
                    "ready" => {}
                    "command" => {
                        for (key, change) in &members {
                            let names = HookNames { hook, group, key };
                            // The object of a health check does not exist yet.
                            let is_drain = declared
                                .drain
                                .as_ref()
                                .is_some_and(|d| std::ptr::eq(d, hook));
                            let before = is_drain.then(|| changes.get(*change)).flatten();
                            let before = before.map(|change| change.before.value.clone());
                            self.check_known(&names, expr, before)?;
                        }
                    }
                    _ => {
                        let text = self.pattern(hook, expr);
                        self.trust
                            .check(&text, NamedBy::Workspace(&self.file(expr)))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks a command before its deploy. One whose program depends on an object that does not
    /// exist yet is checked at its start only.
    fn check_known(
        &self,
        names: &HookNames<'_>,
        expr: &Expr,
        object: Option<Value>,
    ) -> Result<(), CommandError> {
        let open = self.open_words(names, expr);
        if let Some(words) = open.filter(|words| varies_in_data_only(words)) {
            return self.check_words(names.hook, expr, &words);
        }
        let object = object.filter(|object| !object.is_null());
        let words = object.and_then(|object| self.evaluate(names, expr, object, false));
        let words = words.and_then(|value| fixed_words(&value));
        match words {
            Some(words) => self.check_start(names, expr, &words),
            // At least the text must be trusted before anything changes.
            None => self.trust.check(
                &self.pattern(names.hook, expr),
                NamedBy::Workspace(&self.file(expr)),
            ),
        }
    }

    /// Checks a command that starts now.
    ///
    /// # Errors
    /// The operator does not trust it, or a file that it executes has changed.
    pub(super) fn check_start(
        &self,
        names: &HookNames<'_>,
        expr: &Expr,
        words: &[String],
    ) -> Result<(), CommandError> {
        let open = self.open_words(names, expr).unwrap_or_default();
        let with_values = (open.len() == words.len()).then(|| {
            open.iter()
                .zip(words)
                .map(|(open, word)| with_value(open, word))
        });
        let pattern: Option<Vec<Word>> = with_values.and_then(Iterator::collect);
        let pattern = pattern.filter(|words| varies_in_data_only(words));
        let fixed = || words.iter().map(Word::fixed).collect();
        self.check_words(names.hook, expr, &pattern.unwrap_or_else(fixed))
    }

    fn check_words(
        &self,
        hook: &GroupHook,
        expr: &Expr,
        words: &[Word],
    ) -> Result<(), CommandError> {
        let pattern = self.pattern(hook, expr);
        let file = self.file(expr);
        self.trust
            .check_words(words, &pattern, NamedBy::Workspace(&file), &self.dir)
    }

    fn file(&self, expr: &Expr) -> PathBuf {
        PathBuf::from(self.sources.name(expr.span.file))
    }

    /// Source of an expression, with the values of the variables and locals that it uses.
    fn pattern(&self, hook: &GroupHook, expr: &Expr) -> String {
        let mut text = self.sources.snippet(expr.span);
        if !hook.names.is_empty() {
            let values = format!("{:?}", hook.names);
            let values = workspace::load::digest(std::iter::once(values));
            text.push_str(&format!(" (values {values})"));
        }
        text
    }

    /// Words of a command in which the attributes of `self`, and the time, are open parts. `None`
    /// if the number of words depends on them.
    fn open_words(&self, names: &HookNames<'_>, expr: &Expr) -> Option<Vec<Word>> {
        let value = self.evaluate(names, expr, Value::dynamic(), true)?;
        if !value.is_known() || value.is_null() {
            return None;
        }
        let items = match &expr.kind {
            ExprKind::Tuple(items) => &items[..],
            _ => &[],
        };
        let values: Vec<Value> = value.elements().map(|(_, v)| v.clone()).collect();
        let word = |(at, value): (usize, &Value)| match items.get(at) {
            Some(item) if items.len() == values.len() => self.open_word(names, item, value),
            _ => Some(Word(parts_of(value))),
        };
        values.iter().enumerate().map(word).collect()
    }

    /// A word, part by part if its expression is a template.
    fn open_word(&self, names: &HookNames<'_>, expr: &Expr, value: &Value) -> Option<Word> {
        let parts = match &expr.kind {
            ExprKind::Template { parts, .. } if !value.is_wholly_known() => parts,
            _ => return Some(Word(parts_of(value))),
        };
        let mut all = Vec::new();
        for part in parts {
            let value = self.evaluate(names, part, Value::dynamic(), true)?;
            all.extend(parts_of(&value));
        }
        Some(Word(all))
    }

    /// Evaluates an expression without marks; `None` if that fails.
    fn evaluate(
        &self,
        names: &HookNames<'_>,
        expr: &Expr,
        object: Value,
        is_planning: bool,
    ) -> Option<Value> {
        let scope = PatternScope {
            dir: &self.dir,
            is_planning,
        };
        let values = names.values(object);
        let (value, diags) = eval::evaluate(expr, &Bindings::isolated(&scope, values));
        (!diags.has_errors()).then(|| value.unmark_deep().0)
    }
}

/// Scope of the patterns: files and functions only.
struct PatternScope<'a> {
    dir: &'a Path,
    is_planning: bool,
}

impl Scope for PatternScope<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let detail = format!("{} cannot be used here.", traversal.root);
        Err(Diagnostic::error("Invalid reference in a group", detail).into())
    }

    fn base_dir(&self) -> &Path {
        self.dir
    }

    fn planning(&self) -> bool {
        self.is_planning
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        memory_limit::is_exceeded()
            .then(|| Diagnostic::error("Out of memory", "The memory limit was exceeded."))
    }

    fn max_value_size(&self) -> u64 {
        memory_limit::remaining()
    }
}

/// Parts of a text that is perhaps unknown.
fn parts_of(value: &Value) -> Vec<Part> {
    if let Some(text) = known_text(value) {
        return vec![Part::Fixed(text)];
    }
    let prefix = value.range().string_prefix().to_owned();
    let prefix = (!prefix.is_empty()).then_some(Part::Fixed(prefix));
    prefix.into_iter().chain([Part::Open(None)]).collect()
}

fn known_text(value: &Value) -> Option<String> {
    if !value.is_wholly_known() || value.is_null() {
        return None;
    }
    let text = cty::convert(value, &Type::String).ok()?;
    text.as_str().map(str::to_owned)
}

fn fixed_words(value: &Value) -> Option<Vec<String>> {
    if !value.is_wholly_known() || value.is_null() {
        return None;
    }
    value.elements().map(|(_, word)| known_text(word)).collect()
}

/// Fills the open parts of a word from the word of this run. Each open part ends at the next fixed
/// one. `None` if the word does not fit.
fn with_value(open: &Word, word: &str) -> Option<Word> {
    let mut rest = word;
    let mut parts = Vec::new();
    let mut following = open.0.iter().peekable();
    while let Some(part) = following.next() {
        match part {
            Part::Fixed(text) => {
                rest = rest.strip_prefix(text.as_str())?;
                parts.push(part.clone());
            }
            Part::Open(_) => {
                let end = match following.peek() {
                    None => rest.len(),
                    // The last place, so that the value of this part is never taken as too short.
                    Some(Part::Fixed(text)) => rest.rfind(text.as_str())?,
                    Some(Part::Open(_)) => 0,
                };
                parts.push(Part::Open(Some(rest[..end].to_owned())));
                rest = &rest[end..];
            }
        }
    }
    rest.is_empty().then_some(Word(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_parts_get_the_values_of_a_run() {
        let fixed = |text: &str| Part::Fixed(text.to_owned());
        let open = |text: &str| Part::Open(Some(text.to_owned()));
        for (parts, word, expected) in [
            (vec![Part::Open(None)], "a b", Some(vec![open("a b")])),
            (
                vec![fixed("--ip="), Part::Open(None), fixed("!")],
                "--ip=1!2!",
                Some(vec![fixed("--ip="), open("1!2"), fixed("!")]),
            ),
            (
                vec![Part::Open(None), fixed("-"), Part::Open(None)],
                "a-b",
                Some(vec![open("a"), fixed("-"), open("b")]),
            ),
            (vec![fixed("x"), Part::Open(None)], "y", None),
            (vec![Part::Open(None), fixed("x")], "y", None),
        ] {
            assert_eq!(with_value(&Word(parts), word), expected.map(Word), "{word}");
        }
    }
}
