//! Commands that repairs of the reconcile loop can run: provisioners of the resources of a run.
//! Trust in `enforce` is for these commands, so that one which a later version adds does not run.

use super::command::Staged;
use crate::memory_limit;
use cty::{Type, Value};
use lang::addr::AbsInstance;
use lang::config::{Module, ModuleCall, Provisioner, ProvisionerKind};
use lang::diag::{Diagnostic, Diagnostics};
use lang::eval::{self, Scope};
use lang::syntax::ast::{Expr, ExprKind, StepKind, Traversal};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
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
    /// True if the program itself depends on an object, so that it cannot be trusted in advance.
    pub(super) is_open: bool,
}

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
        depth: Cell::new(0),
    };
    collect(&names, &targets, staged, &mut found);
    found
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
    let source = sources.snippet(provisioner.body.span());
    let one_line: Vec<&str> = source.split_whitespace().collect();
    let bodies = [provisioner.connection.as_ref(), connection];
    let connections = bodies.into_iter().flatten();
    let connections: String = connections
        .map(|body| sources.snippet(body.span()))
        .collect();
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
    let is_open = provisioner.kind == ProvisionerKind::LocalExec && !varies_in_data_only(&words);
    for name in [
        "working_dir",
        "environment",
        "inline",
        "script",
        "scripts",
        "source",
        "content",
    ] {
        words.extend(of(name));
    }
    words.push(Word::fixed(connections));
    EnforcedCommand {
        text: format!("{kind} of {address}: {}", one_line.join(" ")),
        words,
        is_open,
    }
}

/// Names of a module whose values are known without any object: variables, locals and paths.
struct Names<'a> {
    module: &'a Module,
    caller: Option<(&'a Names<'a>, &'a ModuleCall)>,
    /// Values of root variables.
    given: &'a HashMap<Arc<str>, (Value, Option<lang::source::Span>)>,
    dir: &'a Path,
    depth: Cell<u32>,
}

impl Names<'_> {
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
                _ => return None,
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

fn part(value: &Value) -> Part {
    let is_known = value.is_wholly_known() && !value.is_null();
    let text = is_known
        .then(|| cty::convert(value, &Type::String).ok())
        .flatten();
    let text = text.as_ref().and_then(Value::as_str).map(str::to_owned);
    text.map_or(Part::Open(None), Part::Fixed)
}
