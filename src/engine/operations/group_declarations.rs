//! Groups of the configuration: the expression that decides the size of one, and the text of its
//! block.

use super::command::Operations;
use super::group_files::{failed, read_text, remove};
use crate::error::{EngineError, NotFound};
use lang::addr::ModulePath;
use lang::config::Module;
use lang::source::{SourceMap, Span};
use lang::syntax::{Expr, ExprKind, StepKind, parse_file};
use model::*;
use std::io;
use std::ops::Range;
use workspace::load::Loaded;

/// File for values that no other file assigns.
const DEFAULT_FILE: &str = "terraform.tfvars";

/// Reasons why a declaration cannot be changed.
#[derive(Debug, thiserror::Error)]
enum DeclarationError {
    #[error(
        "the size of group {group:?} is no variable: {argument} = {expression} in {place} decides it; change that expression"
    )]
    NoVariable {
        group: String,
        argument: &'static str,
        expression: String,
        place: String,
    },
    #[error(
        "the size of group {group:?} is decided by var.{variable} through {argument} = {expression} in {place}, which is no plain number; change the value of the variable"
    )]
    NoNumber {
        group: String,
        argument: &'static str,
        variable: String,
        expression: String,
        place: String,
    },
    #[error(
        "{instance} of group {group:?} has neither count nor for_each, so it has one instance; add count"
    )]
    Single { group: String, instance: String },
    #[error("{file} assigns the variable in JSON; change it there")]
    Json { file: String },
    #[error("the block of group {0:?} is not in {1} any more; run the command again")]
    NoBlock(String, String),
}

impl From<DeclarationError> for EngineError {
    fn from(error: DeclarationError) -> Self {
        Self::refused(error)
    }
}

/// Text of a file, and a place in it.
struct Place {
    file: String,
    text: String,
    range: Range<usize>,
}

impl Operations {
    /// Expression that decides the size of a group of the configuration.
    pub async fn group_size(&self, name: &str) -> Result<GroupSize, EngineError> {
        let loaded = self.read_with(&StageRequest::default(), true).await?;
        let group = loaded.root.groups.get(name);
        let group = group.ok_or_else(|| NotFound::Group(name.to_owned()))?;
        let instance = &group.instance.address;
        let single = || DeclarationError::Single {
            group: name.to_owned(),
            instance: instance.to_string(),
        };
        let module = loaded.root.descendant(&instance.module.0);
        let resource = module.and_then(|module| module.resources.get(&instance.resource));
        let resource = resource.ok_or_else(single)?;
        let mut repeated = repeated_calls(&loaded.root, &instance.module);
        let own = repetition(&resource.count, &resource.for_each);
        let own = own.map(|(argument, expr)| (instance.module.clone(), argument, expr));
        // Without repetition of its own, the resource has a member for each instance of its module.
        let decides = own.or_else(|| repeated.pop());
        let (module, argument, expr) = decides.ok_or_else(single)?;
        // A variable of a child module has its value from a call.
        let variable = variable(expr).filter(|_| module.is_root() && repeated.is_empty());
        let assigned = variable.as_deref().and_then(|v| self.assignment(v));
        let others = repeated.iter().map(|(_, argument, expr)| {
            let (text, place) = (text_of(&loaded, expr.span), place_of(&loaded, expr.span));
            format!("{argument} = {text} in {place}")
        });
        Ok(GroupSize {
            group: name.to_owned(),
            instance: instance.to_string(),
            argument: argument.to_owned(),
            expression: text_of(&loaded, expr.span),
            place: place_of(&loaded, expr.span),
            multiplied_by: others.collect(),
            variable,
            assigned: assigned.map(|place| place.file),
        })
    }

    /// Assigns the variable that decides the size of a group, and returns the file.
    pub async fn write_group_size(&self, name: &str, size: u32) -> Result<String, EngineError> {
        let decides = self.group_size(name).await?;
        let group = name.to_owned();
        let (expression, place) = (decides.expression, decides.place);
        let Some(variable) = decides.variable else {
            let argument = argument(&decides.argument);
            return Err(DeclarationError::NoVariable {
                group,
                argument,
                expression,
                place,
            }
            .into());
        };
        if decides.argument != "count" || expression != format!("var.{variable}") {
            let argument = argument(&decides.argument);
            return Err(DeclarationError::NoNumber {
                group,
                argument,
                variable,
                expression,
                place,
            }
            .into());
        }
        let (file, text) = match self.assignment(&variable) {
            Some(place) if place.file.ends_with(".json") => {
                return Err(DeclarationError::Json { file: place.file }.into());
            }
            Some(mut place) => {
                place.text.replace_range(place.range, &size.to_string());
                (place.file, place.text)
            }
            None => {
                let mut text = match self.declaration(DEFAULT_FILE).read() {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                    // A link, for example: its target is not ours to change.
                    Err(error) => return Err(failed("read", DEFAULT_FILE, error).into()),
                    Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                };
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&format!("{variable} = {size}\n"));
                (DEFAULT_FILE.to_owned(), text)
            }
        };
        self.write_declaration(&file, &text)?;
        Ok(file)
    }

    /// The file that assigns a root variable and is read last, with the place of the value.
    fn assignment(&self, variable: &str) -> Option<Place> {
        let mut names = vec![DEFAULT_FILE.to_owned(), format!("{DEFAULT_FILE}.json")];
        let entries = std::fs::read_dir(&self.settings.workspace).ok()?.flatten();
        let found = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_auto = |n: &String| n.ends_with(".auto.tfvars") || n.ends_with(".auto.tfvars.json");
        let mut auto: Vec<String> = found.filter(is_auto).collect();
        auto.sort();
        names.extend(auto);
        names.into_iter().rev().find_map(|file| {
            let text = read_text(&self.declaration(&file))?;
            if file.ends_with(".json") {
                let values: serde_json::Value = serde_json::from_str(&text).ok()?;
                values.get(variable)?;
                let range = 0..0;
                return Some(Place { file, text, range });
            }
            let (body, _) = parse_file(&text, SourceMap::new().add(file.clone(), text.as_str()));
            let range = range(body.attributes.get(variable)?.expr.span);
            Some(Place { file, text, range })
        })
    }

    /// Block of a group of the configuration; `None` for a committed group.
    pub async fn group_block(&self, name: &str) -> Result<Option<GroupBlock>, EngineError> {
        if self.committed_group(name).await.is_ok() {
            return Ok(None);
        }
        let place = self.block(name).await?;
        let text = place.text[place.range].trim_end().to_owned();
        let file = place.file;
        Ok(Some(GroupBlock { file, text }))
    }

    /// Removes the block of a group from its file. The resources stay.
    pub(super) async fn remove_group_block(&self, name: &str) -> Result<(), EngineError> {
        let mut place = self.block(name).await?;
        place.text.replace_range(place.range, "");
        match place.text.trim().is_empty() {
            true => remove(&self.declaration(&place.file))?,
            false => self.write_declaration(&place.file, &place.text)?,
        }
        Ok(())
    }

    async fn block(&self, name: &str) -> Result<Place, EngineError> {
        let loaded = self.read_with(&StageRequest::default(), true).await?;
        let group = loaded.root.groups.get(name);
        let group = group.ok_or_else(|| NotFound::Group(name.to_owned()))?;
        let file = loaded.sources.name(group.span.file);
        let gone = || DeclarationError::NoBlock(name.to_owned(), file.clone());
        let text = read_text(&self.declaration(&file)).ok_or_else(gone)?;
        let (body, _) = parse_file(&text, SourceMap::new().add(file.clone(), text.as_str()));
        let is_it = |block: &&lang::syntax::NativeBlock| {
            &*block.type_name == "group" && block.labels.iter().any(|label| &*label.text == name)
        };
        let block = body.blocks.iter().find(is_it).ok_or_else(gone)?;
        let mut range = range(block.type_span.to(block.close));
        // The rest of the last line.
        let rest = &text[range.end..];
        range.end += rest.find('\n').map_or(rest.len(), |end| end + 1);
        Ok(Place { file, text, range })
    }
}

fn argument(name: &str) -> &'static str {
    match name {
        "count" => "count",
        _ => "for_each",
    }
}

/// Returns the calls with `count` or `for_each` on the way to a module, the outermost first: the
/// calling module, the argument, and its expression.
fn repeated_calls<'c>(
    root: &'c Module,
    path: &ModulePath,
) -> Vec<(ModulePath, &'static str, &'c Expr)> {
    let call = |depth: usize| {
        let calling = ModulePath(path.0[..depth].to_vec());
        let call = root.descendant(&calling.0)?.calls.get(&path.0[depth])?;
        let (argument, expr) = repetition(&call.count, &call.for_each)?;
        Some((calling, argument, expr))
    };
    (0..path.0.len()).filter_map(call).collect()
}

fn repetition<'c>(
    count: &'c Option<Expr>,
    for_each: &'c Option<Expr>,
) -> Option<(&'static str, &'c Expr)> {
    let count = count.as_ref().map(|expr| ("count", expr));
    count.or(for_each.as_ref().map(|expr| ("for_each", expr)))
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// The only variable that an expression refers to.
fn variable(expr: &Expr) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    expr.walk(&mut |inner| {
        let ExprKind::Traversal(traversal) = &inner.kind else {
            return;
        };
        let attribute = traversal.steps.first().map(|step| &step.kind);
        if let (true, Some(StepKind::Attr(name))) = (&*traversal.root == "var", attribute) {
            names.push(name.to_string());
        }
    });
    names.sort();
    names.dedup();
    match &names[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn text_of(loaded: &Loaded, span: Span) -> String {
    let source = loaded.sources.get(span.file);
    let text = source
        .as_ref()
        .and_then(|source| source.text.get(range(span)));
    text.unwrap_or_default().to_owned()
}

fn place_of(loaded: &Loaded, span: Span) -> String {
    let line = loaded.sources.get(span.file);
    let line = line.map_or(0, |source| source.position(span.start).line);
    format!("{}:{line}", loaded.sources.name(span.file))
}
