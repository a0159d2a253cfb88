//! Commands that repairs of the reconcile loop can run: provisioners of the resources of a run, and
//! the programs of local processes. Trust in `enforce` is for these commands, so that one which a
//! later version adds does not run.

use super::command::Staged;
use crate::deploy::command_patterns::CommandPatterns;
use crate::memory_limit;
use cty::{Type, Value};
use lang::addr::AbsInstance;
use lang::config::{Module, ModuleCall, Provisioner, ProvisionerKind, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use lang::eval::{self, Scope};
use lang::source::{SourceMap, Span};
use lang::syntax::ast::{Expr, ExprKind, StepKind, Traversal};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trust::words::{Part, Word, varies_in_data_only};

/// Depth of references from one local or variable to the next.
const MAX_DEPTH: u32 = 64;

/// A command that a repair can run.
pub(super) struct EnforcedCommand {
    /// For display: kind, resource and source.
    pub(super) text: String,
    /// Words, with open parts where they depend on objects.
    pub(super) words: Vec<Word>,
    /// Source and command of a `local-exec` provisioner.
    pub(super) local: Option<(Span, Vec<Word>)>,
    /// Directory in which it runs.
    pub(super) dir: PathBuf,
    /// True if a value of an object could choose what runs, so that it cannot be trusted in
    /// advance.
    pub(super) is_open: bool,
}

/// Arguments of provisioners that a decision covers beside the command.
const COVERED: [&str; 6] = [
    "working_dir",
    "inline",
    "script",
    "scripts",
    "source",
    "content",
];
/// Type of the bundled resource whose argument `command` is a program.
const PROCESS: &str = "local_process";
/// Maximum number of instances of a process whose commands are compared.
const MAX_INSTANCES: u64 = 1_000;

/// Commands of the provisioners that repairs of this stage can run.
pub(super) fn of_stage(staged: &Staged) -> Vec<EnforcedCommand> {
    let targets = staged.stage.request.target.iter();
    let parsed = targets.filter_map(|target| target.parse::<AbsInstance>().ok());
    let targets: BTreeSet<String> = parsed.map(|a| a.config().to_string()).collect();
    let mut found = Vec::new();
    let names = Names {
        module: &staged.root,
        caller: None,
        given: &staged.loaded.given,
        dir: &staged.root.dir,
        instance: None,
        depth: Cell::new(0),
    };
    collect(&names, &targets, staged, &mut found);
    found
}

/// Commands of `local-exec` provisioners, which each start is compared with.
pub(super) fn patterns(staged: &Staged) -> CommandPatterns {
    let mut patterns = CommandPatterns::default();
    for (span, words) in of_stage(staged).into_iter().filter_map(|c| c.local) {
        patterns.add(span, words);
    }
    patterns
}

fn collect(
    names: &Names<'_>,
    targets: &BTreeSet<String>,
    staged: &Staged,
    found: &mut Vec<EnforcedCommand>,
) {
    let module = names.module;
    for (name, resource) in &module.resources {
        let address = match module.path.0.is_empty() {
            true => name.to_string(),
            false => format!("{}.{name}", module.path),
        };
        if targets.contains(&address) {
            for provisioner in &resource.provisioners {
                let connection = resource.connection.as_ref();
                found.push(command(names, &address, provisioner, connection, staged));
            }
            if &*name.kind == PROCESS {
                processes(names, &address, resource, found);
            }
        }
    }
    // The destroy of an object that is no longer declared runs them.
    for removed in &module.removed {
        for provisioner in &removed.provisioners {
            let address = format!("the removed {}", removed.from);
            found.push(command(names, &address, provisioner, None, staged));
        }
    }
    for call in module.calls.values() {
        if let Some(module) = &call.module {
            let inner = Names {
                module,
                caller: Some((names, call)),
                given: names.given,
                dir: names.dir,
                instance: None,
                depth: Cell::new(0),
            };
            collect(&inner, targets, staged, found);
        }
    }
}

fn command(
    names: &Names<'_>,
    address: &str,
    provisioner: &Provisioner,
    connection: Option<&lang::body::Body>,
    staged: &Staged,
) -> EnforcedCommand {
    let kind = match &provisioner.kind {
        ProvisionerKind::LocalExec => "local-exec",
        ProvisionerKind::RemoteExec => "remote-exec",
        ProvisionerKind::File => "file",
        ProvisionerKind::Other(name) => name,
    };
    let sources = &staged.loaded.sources;
    let source = shown_source(sources, provisioner);
    let one_line: Vec<&str> = source.split_whitespace().collect();
    let connections = [provisioner.connection.as_ref(), connection].into_iter();
    let connections = connections
        .flatten()
        .map(|body| sources.snippet(body.span()));
    let connections: String = connections.collect();
    // Attributes in the order of execution: the interpreter runs the command.
    let (attributes, _) = provisioner.body.just_attributes();
    let of = |name: &str| -> Vec<Word> {
        let expr = attributes.get(name).map(|attribute| &attribute.expr);
        expr.map(|expr| names.words(expr)).unwrap_or_default()
    };
    let mut words = of("interpreter");
    if words.is_empty() {
        words = ["/bin/sh", "-c"].map(Word::fixed).into();
    }
    words.extend(of("command"));
    let environment = attributes.get("environment");
    let environment = environment.map(|attribute| names.environment(&attribute.expr));
    let variables = environment.unwrap_or_default();
    let expanded: Vec<Word> = words
        .iter()
        .map(|word| expanded(word, &variables))
        .collect();
    let dirs = of("working_dir");
    let is_local = provisioner.kind == ProvisionerKind::LocalExec;
    let local = is_local.then(|| (provisioner.body.span(), words.clone()));
    let is_open = match is_local {
        true => {
            !varies_in_data_only(&expanded)
                || variables.iter().any(Variable::chooses_program)
                || dirs.iter().any(is_open_word)
        }
        // They choose the script, what is copied, and where a remote shell finds it.
        false => ["inline", "script", "scripts", "source", "destination"]
            .into_iter()
            .flat_map(of)
            .any(|word| is_open_word(&word) || names.is_directory(&word)),
    };
    words.extend(variables.iter().map(Variable::word));
    words.extend(COVERED.into_iter().flat_map(of));
    words.push(Word::fixed(connections));
    EnforcedCommand {
        text: format!("{kind} of {address}: {}", one_line.join(" ")),
        words,
        local,
        dir: names.directory(&dirs),
        is_open,
    }
}

/// Adds the programs of the instances of a process.
fn processes(
    names: &Names<'_>,
    address: &str,
    resource: &Resource,
    found: &mut Vec<EnforcedCommand>,
) {
    let (attributes, _) = resource.body.just_attributes();
    for (key, instance) in names.instances(resource) {
        let names = Names {
            instance,
            depth: Cell::new(0),
            ..*names
        };
        let of = |name: &str| attributes.get(name).map(|attribute| &attribute.expr);
        let words = |name: &str| of(name).map(|e| names.words(e)).unwrap_or_default();
        let (mut command, dirs) = (words("command"), words("working_directory"));
        let environment = of("environment").map(|expr| names.environment(expr));
        let variables = environment.unwrap_or_default();
        // Nothing looks at the values again before the start, as for provisioners.
        let mut all = command.iter().chain(&dirs);
        let is_open = all.any(is_open_word)
            || variables
                .iter()
                .any(|variable| matches!(variable.value, Part::Open(_)));
        let shown: Vec<String> = command.iter().map(Word::shown).collect();
        command.extend(variables.iter().map(Variable::word));
        command.extend(dirs.iter().cloned());
        found.push(EnforcedCommand {
            text: format!(
                "process {address}{key}: {}",
                fetch::redacted(&shown.join(" "))
            ),
            words: command,
            local: None,
            dir: names.directory(&dirs),
            is_open,
        });
    }
}

fn is_open_word(word: &Word) -> bool {
    word.0.iter().any(|part| matches!(part, Part::Open(_)))
}

/// Source of a provisioner for a question, without the credentials of its connection and of
/// addresses. A decision covers both.
fn shown_source(sources: &SourceMap, provisioner: &Provisioner) -> String {
    let whole = provisioner.body.span();
    let mut text = sources.snippet(whole);
    let connection = provisioner.connection.as_ref();
    let attributes = connection.map(|body| body.just_attributes().0);
    let attributes = attributes.iter().flat_map(|all| all.iter());
    let secret = attributes.filter(|(name, _)| is_credential(name));
    let mut spans: Vec<Span> = secret.map(|(_, attribute)| attribute.expr.span).collect();
    // From the end, so that the positions before stay.
    spans.sort_by_key(|span| std::cmp::Reverse(span.start));
    for span in spans {
        let at = |byte: u32| byte.saturating_sub(whole.start) as usize;
        let range = at(span.start)..at(span.end);
        if text.get(range.clone()).is_some() {
            text.replace_range(range, "(sensitive value)");
        }
    }
    fetch::redacted(&text)
}

/// Returns true for an argument of a connection with a password or a key.
fn is_credential(name: &str) -> bool {
    name.ends_with("password") || name.ends_with("private_key") || name == "certificate"
}

/// Variable of a provisioner's environment.
struct Variable {
    /// `None` if the names depend on objects.
    name: Option<String>,
    value: Part,
}

impl Variable {
    fn word(&self) -> Word {
        let name = self.name.as_deref().unwrap_or_default();
        Word(vec![Part::Fixed(format!("{name}=")), self.value.clone()])
    }

    /// Returns true for a value that depends on objects, of a variable from which a program takes
    /// what it runs.
    fn chooses_program(&self) -> bool {
        let is_fixed = matches!(self.value, Part::Fixed(_));
        let names_program = |name: &String| {
            let name = name.to_ascii_uppercase();
            LOADING.iter().any(|part| name.starts_with(part))
                || LOADING_ENDS.iter().any(|end| name.ends_with(end))
        };
        !is_fixed && self.name.as_ref().is_none_or(names_program)
    }
}

/// Beginnings and ends of the names of variables from which programs take what they run.
const LOADING: [&str; 11] = [
    "BASH_", "ENV", "LD_", "PATH", "PYTHON", "PERL", "RUBY", "NODE_", "GIT_", "IFS", "PS",
];
const LOADING_ENDS: [&str; 4] = ["EDITOR", "PAGER", "SHELL", "OPTIONS"];

/// A word in which the variables of the environment whose values depend on objects are open parts.
fn expanded(word: &Word, environment: &[Variable]) -> Word {
    let open = environment
        .iter()
        .filter(|v| !matches!(v.value, Part::Fixed(_)));
    let names: Vec<&str> = open.filter_map(|v| v.name.as_deref()).collect();
    let parts = word.0.iter().flat_map(|part| match part {
        Part::Fixed(text) => split_at(text, &names),
        open => vec![open.clone()],
    });
    Word(parts.collect())
}

/// Splits a text at `$NAME` and `${NAME…}`.
fn split_at(text: &str, names: &[&str]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut fixed, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        let (before, found) = rest.split_at(at);
        fixed.push_str(before);
        let inner = found.trim_start_matches(['$', '{', '!', '#']);
        let length = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let name = &inner[..length.unwrap_or(inner.len())];
        let end = found.len() - inner.len() + name.len();
        match names.contains(&name) {
            true => {
                parts.push(Part::Fixed(std::mem::take(&mut fixed)));
                parts.push(Part::Open(None));
            }
            false => fixed.push_str(&found[..end]),
        }
        rest = &found[end..];
    }
    fixed.push_str(rest);
    parts.push(Part::Fixed(fixed));
    parts.retain(|part| !matches!(part, Part::Fixed(text) if text.is_empty()));
    parts
}

/// Names of a module whose values are known without any object: variables, locals and paths.
struct Names<'a> {
    module: &'a Module,
    caller: Option<(&'a Names<'a>, &'a ModuleCall)>,
    /// Values of root variables.
    given: &'a HashMap<Arc<str>, (Value, Option<lang::source::Span>)>,
    dir: &'a Path,
    /// Values of `count.index`, or of `each.key` and `each.value`, if they are known.
    instance: Option<Instance>,
    depth: Cell<u32>,
}

#[derive(Clone)]
enum Instance {
    Index(Value),
    Each(Value, Value),
}

impl Names<'_> {
    /// Known instances of a resource with their keys, as text; one without values if they depend on
    /// objects.
    fn instances(&self, resource: &Resource) -> Vec<(String, Option<Instance>)> {
        let unknown = vec![("[…]".to_owned(), None)];
        if let Some(count) = &resource.count {
            let count = self.value(count);
            let count = count.as_number().and_then(cty::Number::to_u64);
            return match count.filter(|count| *count <= MAX_INSTANCES) {
                Some(count) => (0..count)
                    .map(|n| {
                        let index = i64::try_from(n).unwrap_or_default();
                        (format!("[{n}]"), Some(Instance::Index(Value::int(index))))
                    })
                    .collect(),
                None => unknown,
            };
        }
        let Some(for_each) = &resource.for_each else {
            return vec![(String::new(), None)];
        };
        let all = self.value(for_each);
        if !all.is_wholly_known() || all.is_null() {
            return unknown;
        }
        let is_set = all.ty().is_set();
        all.elements()
            .map(|(key, value)| {
                let key = if is_set { value.clone() } else { key };
                let text = format!("[{}]", key_text(&key));
                (text, Some(Instance::Each(key, value.clone())))
            })
            .collect()
    }

    fn instance_value(&self, name: (&str, &str)) -> Option<Value> {
        match (self.instance.as_ref()?, name) {
            (Instance::Index(index), ("count", "index")) => Some(index.clone()),
            (Instance::Each(key, _), ("each", "key")) => Some(key.clone()),
            (Instance::Each(_, value), ("each", "value")) => Some(value.clone()),
            _ => None,
        }
    }

    /// Directory in which a command runs, from its argument.
    fn directory(&self, words: &[Word]) -> PathBuf {
        let named = words.first().and_then(Word::value).unwrap_or_default();
        self.dir.join(named)
    }

    fn is_directory(&self, word: &Word) -> bool {
        word.value()
            .is_some_and(|name| self.dir.join(name).is_dir())
    }

    /// Words of a text or of a list of texts.
    fn words(&self, expr: &Expr) -> Vec<Word> {
        match &expr.kind {
            ExprKind::Tuple(items) => items.iter().map(|item| Word(self.parts(item))).collect(),
            _ => {
                let value = self.value(expr);
                let is_text = value.as_str().is_some() || !value.is_known() || value.is_null();
                match is_text {
                    true => vec![Word(self.parts(expr))],
                    false => value.elements().map(|(_, v)| Word(vec![part(v)])).collect(),
                }
            }
        }
    }

    /// Variables of a map; one without a name if the map itself depends on objects.
    fn environment(&self, expr: &Expr) -> Vec<Variable> {
        let value = self.value(expr);
        if !value.is_known() || value.is_null() {
            return vec![Variable {
                name: None,
                value: Part::Open(None),
            }];
        }
        let variable = |(name, value): (Value, &Value)| Variable {
            name: name.as_str().map(str::to_owned),
            value: part(value),
        };
        value.elements().map(variable).collect()
    }

    fn parts(&self, expr: &Expr) -> Vec<Part> {
        match &expr.kind {
            ExprKind::Template { parts, .. } => parts.iter().flat_map(|p| self.parts(p)).collect(),
            ExprKind::TemplateWrap(inner) => self.parts(inner),
            _ => vec![part(&self.value(expr))],
        }
    }

    fn value(&self, expr: &Expr) -> Value {
        let (value, diags) = eval::evaluate(expr, self);
        match diags.has_errors() {
            true => Value::dynamic(),
            false => value.unmark_deep().0,
        }
    }

    fn variable(&self, name: &str) -> Value {
        let default = || {
            let variable = self.module.variables.get(name);
            variable
                .and_then(|v| v.default.clone())
                .unwrap_or_else(Value::dynamic)
        };
        match self.caller {
            None => self
                .given
                .get(name)
                .map_or_else(default, |(value, _)| value.clone()),
            Some((caller, call)) => match call.arguments.get(name) {
                Some(argument) => caller.nested(&argument.expr),
                None => default(),
            },
        }
    }

    /// Value of an expression that a name refers to.
    fn nested(&self, expr: &Expr) -> Value {
        if self.depth.get() >= MAX_DEPTH {
            return Value::dynamic();
        }
        self.depth.set(self.depth.get() + 1);
        let value = self.value(expr);
        self.depth.set(self.depth.get() - 1);
        value
    }
}

impl Scope for Names<'_> {
    fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
        let name = traversal.steps.first().and_then(|step| match &step.kind {
            StepKind::Attr(name) => Some(&**name),
            StepKind::Index(_) => None,
        });
        let known = name.and_then(|name| {
            Some(match (&*traversal.root, name) {
                ("var", name) => self.variable(name),
                ("local", name) => self.nested(&self.module.locals.get(name)?.expr),
                ("path", "module") => Value::string(&self.module.dir_text),
                ("path", "root") => Value::string("."),
                ("path", "cwd") => Value::string(self.dir.to_string_lossy()),
                ("terraform" | "tofu", "workspace") => self.module.workspace_value(),
                name => return self.instance_value(name),
            })
        });
        // Everything else depends on objects.
        Ok(known.map_or((Value::dynamic(), 0), |value| (value, 1)))
    }

    fn base_dir(&self) -> &Path {
        self.dir
    }

    fn planning(&self) -> bool {
        true
    }

    fn stop_reason(&self) -> Option<Diagnostic> {
        memory_limit::is_exceeded()
            .then(|| Diagnostic::error("Out of memory", "The memory limit was exceeded."))
    }

    fn max_value_size(&self) -> u64 {
        memory_limit::remaining()
    }
}

fn key_text(value: &Value) -> String {
    match part(value) {
        Part::Fixed(text) => format!("{text:?}"),
        Part::Open(_) => "…".to_owned(),
    }
}

fn part(value: &Value) -> Part {
    let is_known = value.is_wholly_known() && !value.is_null();
    let text = is_known
        .then(|| cty::convert(value, &Type::String).ok())
        .flatten();
    let text = text.as_ref().and_then(Value::as_str).map(str::to_owned);
    text.map_or(Part::Open(None), Part::Fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(text: &str, name: &str, value: Part) -> bool {
        let variable = Variable {
            name: Some(name.to_owned()),
            value,
        };
        let words = ["/bin/sh", "-c", text].map(Word::fixed);
        let variables = [variable];
        let words: Vec<Word> = words
            .iter()
            .map(|word| expanded(word, &variables))
            .collect();
        !varies_in_data_only(&words) || variables[0].chooses_program()
    }

    #[test]
    fn value_of_an_object_in_the_environment_is_data_only() {
        for (text, name, expected) in [
            ("curl http://$IP/ready", "IP", false),
            ("curl \"http://${IP}:80/ready\"", "IP", false),
            ("./drain.sh", "IP", false),
            ("eval \"$RUN\"", "RUN", true),
            ("$RUN now", "RUN", true),
            ("sh -c \"${RUN}\"", "RUN", true),
            ("true; ${RUN:-true}", "RUN", true),
            ("echo $RUNNER", "RUN", false),
            ("echo ok", "BASH_ENV", true),
            ("echo ok", "PATH", true),
        ] {
            assert_eq!(is_open(text, name, Part::Open(None)), expected, "{text}");
            let fixed = Part::Fixed("x".to_owned());
            assert!(!is_open(text, name, fixed), "{text}");
        }
    }
}
