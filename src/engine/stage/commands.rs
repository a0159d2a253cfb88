//! Shows commands and copies of provisioners before they run. Expressions are evaluated part by
//! part with the planned object as `self`, so that an unknown or sensitive part hides only itself.

use super::diff;
use super::scope::ModuleScope;
use cty::{Mark, Type, Value};
use lang::body::BodySchema;
use lang::config::{Provisioner, ProvisionerKind};
use lang::syntax::Expr;
use lang::syntax::ast::ExprKind;
use model::secrets::Secrets;
use model::{ChangeView, CommandView};

/// Redacts secrets in a command.
pub(super) fn redact(view: &mut CommandView, secrets: &Secrets) {
    let parts = [
        Some(&mut view.command),
        view.interpreter.as_mut(),
        view.working_dir.as_mut(),
        view.host.as_mut(),
    ];
    let texts = parts.into_iter().flatten();
    texts
        .chain(&mut view.environment)
        .for_each(|text| secrets.redact_in_place(text));
}

/// Redacts addresses of servers in a command.
fn without_credentials(mut view: CommandView) -> CommandView {
    let CommandView {
        command,
        interpreter,
        environment,
        working_dir,
        host,
        ..
    } = &mut view;
    let parts = [
        Some(command),
        interpreter.as_mut(),
        working_dir.as_mut(),
        host.as_mut(),
    ];
    let texts = parts.into_iter().flatten().chain(environment);
    texts.for_each(|text| *text = fetch::redacted(text));
    view
}

/// Limit of commands listed in a confirmation; further ones are counted, and the stage shows them.
const MAX_LISTED: usize = 8;

/// Summarizes the commands that these changes would run, for a confirmation: a count, and one line
/// for each of the first. `None` if there are none.
pub fn summarize<'c>(
    changes: impl Iterator<Item = &'c ChangeView>,
) -> Option<(String, Vec<String>)> {
    let all: Vec<(&ChangeView, &CommandView)> = changes
        .flat_map(|c| c.commands.iter().map(move |command| (c, command)))
        .collect();
    if all.is_empty() {
        return None;
    }
    let line = |c: &ChangeView, command: &CommandView| match &command.host {
        None => format!("{}: {}", c.address, command.line()),
        Some(_) => format!(
            "{} {}: {}",
            c.address,
            command.kind_and_machine(),
            command.line()
        ),
    };
    let mut lines: Vec<String> = all
        .iter()
        .take(MAX_LISTED)
        .map(|(c, command)| line(c, command))
        .collect();
    if all.len() > MAX_LISTED {
        lines.push(format!("and {} more", all.len() - MAX_LISTED));
    }
    Some((count_text(all.iter().map(|(_, command)| *command)), lines))
}

/// Counts local commands, remote commands and copies.
fn count_text<'c>(all: impl Iterator<Item = &'c CommandView>) -> String {
    let mut counts = [0; 3];
    for command in all {
        counts[if command.copies {
            2
        } else {
            usize::from(command.host.is_some())
        }] += 1;
    }
    let words = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let [here, elsewhere, copies] = counts;
    let runs = match (here, elsewhere) {
        (0, 0) => None,
        (here, 0) => Some(format!("runs {} on this machine", words(here, "command"))),
        (0, elsewhere) => Some(format!(
            "runs {} on other machines",
            words(elsewhere, "command")
        )),
        (here, elsewhere) => Some(format!(
            "runs {} on this machine and {elsewhere} on others",
            words(here, "command")
        )),
    };
    let copies = (copies > 0).then(|| {
        format!(
            "makes {} to other machines",
            if copies == 1 {
                "1 copy".to_owned()
            } else {
                format!("{copies} copies")
            }
        )
    });
    runs.into_iter()
        .chain(copies)
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Returns the command of a provisioner without credentials; `None` for an unknown kind.
pub(super) fn of(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> Option<CommandView> {
    view(scope, provisioner).map(without_credentials)
}

fn view(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> Option<CommandView> {
    let names = [
        "command",
        "interpreter",
        "working_dir",
        "environment",
        "inline",
        "script",
        "scripts",
        "source",
        "content",
        "destination",
    ];
    let (content, ..) = provisioner
        .body
        .partial_content(&BodySchema::new().optional(&names));
    let text = |name: &str| content.attribute(name).map(|a| text(scope, &a.expr));
    // Provisioners treat empty values like absent ones.
    let given = |text: &String| !matches!(text.as_str(), "" | "[]" | "null");
    let unknown = || diff::UNKNOWN.to_owned();
    let view = CommandView {
        command: unknown(),
        interpreter: None,
        environment: Vec::new(),
        working_dir: None,
        on_destroy: provisioner.on_destroy,
        host: None,
        copies: false,
    };
    match &provisioner.kind {
        ProvisionerKind::LocalExec => Some(CommandView {
            command: text("command").unwrap_or_else(unknown),
            interpreter: text("interpreter").filter(given),
            working_dir: text("working_dir").filter(given),
            environment: content
                .attribute("environment")
                .map(|a| environment(scope, &a.expr))
                .unwrap_or_default(),
            ..view
        }),
        ProvisionerKind::RemoteExec => {
            let inline = content
                .attribute("inline")
                .map(|a| lines(scope, &a.expr))
                .filter(given);
            let script = || {
                text("script")
                    .filter(given)
                    .map(|path| format!("the script {path}"))
            };
            let scripts = || {
                text("scripts")
                    .filter(given)
                    .map(|paths| format!("the scripts {paths}"))
            };
            let command = inline
                .or_else(script)
                .or_else(scripts)
                .unwrap_or_else(unknown);
            Some(CommandView {
                command,
                host: Some(host(scope, provisioner)),
                ..view
            })
        }
        ProvisionerKind::File => {
            let source = text("source")
                .filter(given)
                .unwrap_or_else(|| "inline content".to_owned());
            let command = format!(
                "{source} as {}",
                text("destination").unwrap_or_else(unknown)
            );
            Some(CommandView {
                command,
                host: Some(host(scope, provisioner)),
                copies: true,
                ..view
            })
        }
        ProvisionerKind::Other(_) => None,
    }
}

/// Returns user and host as far as they are known and not sensitive.
fn host(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> String {
    // Credentials are never evaluated for display.
    let schema = BodySchema::new().optional(&["user", "host"]);
    let Some((content, ..)) = provisioner
        .connection
        .as_ref()
        .map(|body| body.partial_content(&schema))
    else {
        return "another machine".to_owned();
    };
    let part = |name: &str| content.attribute(name).map(|a| text(scope, &a.expr));
    let host = part("host").map_or_else(
        || "another machine".to_owned(),
        |host| {
            if host == diff::UNKNOWN {
                format!("a host {host}")
            } else {
                host
            }
        },
    );
    part("user").map_or_else(|| host.clone(), |user| format!("{user}@{host}"))
}

/// Renders a list of strings, one per line.
fn lines(scope: &ModuleScope<'_>, expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Tuple(items) => items
            .iter()
            .map(|item| text(scope, item))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => text(scope, expr),
    }
}

/// Renders an expression, or its placeholder if unknown or sensitive; templates part by part.
fn text(scope: &ModuleScope<'_>, expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Template { parts, .. } => parts.iter().map(|part| text(scope, part)).collect(),
        ExprKind::TemplateWrap(inner) => text(scope, inner),
        _ => {
            let (value, diags) = lang::eval::evaluate(expr, scope);
            match diags.has_errors() {
                // An expression that fails now may succeed during the deploy, which reports its
                // errors.
                true => diff::UNKNOWN.to_owned(),
                false => shown(value),
            }
        }
    }
}

/// Renders a value, or its placeholder if it is unknown or sensitive.
fn shown(value: Value) -> String {
    let secret = |m: Mark| value.contains_mark(&m);
    if secret(Mark::Sensitive) || secret(Mark::Ephemeral) {
        return diff::SENSITIVE.to_owned();
    }
    if !value.is_wholly_known() {
        return diff::UNKNOWN.to_owned();
    }
    let plain = value.unmark_deep().0;
    let as_text = cty::convert(&plain, &Type::String).ok();
    let as_text = as_text.filter(|v| !v.is_null());
    as_text
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_else(|| diff::render(&plain))
}

/// Renders a map of environment variables as `NAME=value`, in the spelling of a shell.
fn environment(scope: &ModuleScope<'_>, expr: &Expr) -> Vec<String> {
    let (value, diags) = lang::eval::evaluate(expr, scope);
    if diags.has_errors() || !value.is_known() {
        return vec![format!("{}=", diff::UNKNOWN)];
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._:/@%+,=-".contains(c);
    let one = |(name, value): (Value, &Value)| {
        let placeholder = [diff::UNKNOWN, diff::SENSITIVE];
        let name = shown(name);
        // Before the quotes, whose escapes would end an address.
        match fetch::redacted(&shown(value.clone())) {
            text if placeholder.contains(&text.as_str()) || text.chars().all(is_plain) => {
                format!("{name}={text}")
            }
            // One line, so that a value cannot look like a command.
            text => format!("{name}={text:?}"),
        }
    };
    value.elements().map(one).collect()
}
