//! Commands of `local-exec` as they are named before anything runs: worked out with the planned object as `self`, piece by
//! piece, so that one unknown or sensitive part of a command leaves the rest of it to be read.

use super::diff;
use super::scope::ModuleScope;
use crate::engine::Secrets;
use crate::engine::event::ChangeView;
use cty::{Mark, Type};
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::syntax::Expr;
use lang::syntax::ast::ExprKind;
use serde::{Deserialize, Serialize};

/// A command that a provisioner would run on this machine. What is sensitive in it is masked, and what only the deploy can
/// tell says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandView {
    pub command: String,
    /// What it is handed to, where that is not `/bin/sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Where it runs, where that is not the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Whether it runs before an object is destroyed, and not after one was created.
    #[serde(default)]
    pub on_destroy: bool,
}

impl CommandView {
    /// When, what it is handed to, and where, around the command.
    pub fn text(&self) -> String {
        let when = if self.on_destroy { "before it is destroyed: " } else { "" };
        let interpreter = self.interpreter.as_ref().map_or_else(String::new, |i| format!("{i} "));
        let place = self.working_dir.as_ref().map_or_else(String::new, |d| format!("  (in {d})"));
        format!("{when}{interpreter}{}{place}", self.command.trim_end())
    }

    /// The same in one line; how many it has is said.
    pub fn line(&self) -> String {
        let text = self.text();
        let mut lines = text.lines().filter(|l| !l.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        match lines.count() {
            0 => first.to_owned(),
            more => format!("{first} … and {more} more lines"),
        }
    }

    pub(super) fn hide(&mut self, secrets: &Secrets) {
        let parts = [Some(&mut self.command), self.interpreter.as_mut(), self.working_dir.as_mut()];
        parts.into_iter().flatten().for_each(|text| secrets.hide_in(text));
    }
}

/// So many commands are named where a yes is asked for; the others are counted, and stand in the stage.
const NAMED: usize = 8;

/// What these changes would run on this machine, before a yes: how many commands, and the first of them, a line each.
/// Nothing where they run none.
pub fn asked_for<'c>(changes: impl Iterator<Item = &'c ChangeView>) -> Option<(String, Vec<String>)> {
    let all: Vec<(&ChangeView, &CommandView)> = changes.flat_map(|c| c.commands.iter().map(move |command| (c, command))).collect();
    let count = match all.len() {
        0 => return None,
        1 => "runs 1 command on this machine".to_owned(),
        n => format!("runs {n} commands on this machine"),
    };
    let mut lines: Vec<String> = all.iter().take(NAMED).map(|(c, command)| format!("{}: {}", c.address, command.line())).collect();
    if all.len() > NAMED {
        lines.push(format!("and {} more", all.len() - NAMED));
    }
    Some((count, lines))
}

/// What a provisioner would run; nothing where its kind runs nothing here.
pub(super) fn of(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> Option<CommandView> {
    if &*provisioner.kind != "local-exec" {
        return None;
    }
    let (content, ..) = provisioner.body.partial_content(&BodySchema::new().optional(&["command", "interpreter", "working_dir"]));
    let text = |name: &str| content.attribute(name).map(|a| text(scope, &a.expr));
    // An empty list of words, and no text, are as none.
    let given = |text: &String| !matches!(text.as_str(), "" | "[]" | "null");
    Some(CommandView {
        command: text("command").unwrap_or_else(|| diff::UNKNOWN.to_owned()),
        interpreter: text("interpreter").filter(given),
        working_dir: text("working_dir").filter(given),
        on_destroy: provisioner.on_destroy,
    })
}

/// A text as far as it may be shown and is known; templates part by part.
fn text(scope: &ModuleScope<'_>, expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Template { parts, .. } => parts.iter().map(|part| text(scope, part)).collect(),
        ExprKind::TemplateWrap(inner) => text(scope, inner),
        _ => {
            let (value, diags) = lang::eval::evaluate(expr, scope);
            let secret = |m: Mark| value.contains_mark(&m);
            match () {
                () if diags.has_errors() => diff::UNKNOWN.to_owned(),
                () if secret(Mark::Sensitive) || secret(Mark::Ephemeral) => diff::SENSITIVE.to_owned(),
                () if !value.is_wholly_known() => diff::UNKNOWN.to_owned(),
                () => {
                    let plain = value.unmark_deep().0;
                    let as_text = cty::convert(&plain, &Type::String).ok().filter(|v| !v.is_null());
                    as_text.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_else(|| diff::render(&plain))
                }
            }
        }
    }
}
