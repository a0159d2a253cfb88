//! Parses test files (`*.tftest.hcl` and similar) for validation, because their errors make a
//! configuration invalid. Tests are never run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::call::passed_providers;
use super::constant;
use super::model::{ProviderConfig, ProviderRef};
use super::providers::{provider, version};
use super::shared_blocks::{BAD_NAME, condition, list, reference};
use super::test_override::{
    Override, is_key, mock_provider, override_block, report_duplicates, with_overrides,
};
use crate::addr::{Reference, Subject};
use crate::body::{Block, Body, BodySchema, Content};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::{Expr, Traversal, is_identifier};

/// Parsed parts of a test file.
#[derive(Default)]
pub(super) struct TestFile {
    /// File name, relative to the root directory.
    pub(super) name: String,
    pub(super) runs: Vec<Run>,
    pub(super) providers: Vec<ProviderConfig>,
    overrides: Vec<Override>,
}

/// A `run` block.
pub(super) struct Run {
    pub(super) name: Arc<str>,
    pub(super) module: Option<RunModule>,
    pub(super) variables: BTreeMap<Arc<str>, Expr>,
    pub(super) providers: Vec<(ProviderRef, ProviderRef)>,
    expected: Vec<Traversal>,
    overrides: Vec<Override>,
}

/// Returns true if a source is a path.
pub(super) fn is_local(source: &str) -> bool {
    source.starts_with("./") || source.starts_with("../")
}

/// Module under test instead of the root.
pub(super) struct RunModule {
    pub(super) source: String,
    pub(super) span: Span,
}

impl TestFile {
    /// Parses a file's body.
    pub(super) fn read(name: String, body: &Body, diags: &mut Diagnostics) -> TestFile {
        let mut file = TestFile {
            name,
            ..TestFile::default()
        };
        let schema = BodySchema::new()
            .block("run", &["name"])
            .block("provider", &["name"])
            .block("variables", &[])
            .block("mock_provider", &["name"]);
        let (content, found) = body.content(&with_overrides(schema));
        diags.append(found);
        let mut variables = Once::new("variables", "test file");
        let mut mocked = Vec::new();
        for block in &content.blocks {
            match &*block.type_name {
                "run" => file.runs.extend(run(block, diags)),
                "variables" => {
                    if variables.is_first(block, diags) {
                        diags.append(block.body.just_attributes().1);
                    }
                }
                "provider" => file.providers.extend(provider(block, diags)),
                "mock_provider" => mock_provider(block, &mut mocked, diags),
                _ => file.overrides.extend(override_block(block, diags)),
            }
        }
        file
    }

    /// Reports errors in a parsed file.
    pub(super) fn check(&self, diags: &mut Diagnostics) {
        report_duplicates(&self.overrides, diags);
        for run in &self.runs {
            run.expected.iter().for_each(|t| expected(t, diags));
            report_duplicates(&run.overrides, diags);
        }
    }
}

/// Tracks a block type that may occur once.
struct Once {
    kind: &'static str,
    within: &'static str,
    seen: bool,
}

impl Once {
    fn new(kind: &'static str, within: &'static str) -> Once {
        Once {
            kind,
            within,
            seen: false,
        }
    }

    fn is_first(&mut self, block: &Block, diags: &mut Diagnostics) -> bool {
        if self.seen {
            diags.error(
                block.def_span,
                format!("Multiple \"{}\" blocks", self.kind),
                format!("This {} already has a {} block.", self.within, self.kind),
            );
        }
        !std::mem::replace(&mut self.seen, true)
    }
}

fn failed(diags: &Diagnostics, mark: usize) -> bool {
    diags.0[mark..].iter().any(Diagnostic::is_error)
}

fn run(block: &Block, diags: &mut Diagnostics) -> Option<Run> {
    let mark = diags.len();
    let schema = BodySchema::new()
        .optional(&["command", "providers", "expect_failures"])
        .block("plan_options", &[])
        .block("assert", &[])
        .block("variables", &[])
        .block("module", &[]);
    let (content, found) = block.body.content(&with_overrides(schema));
    diags.append(found);
    let label = &block.labels[0];
    if !is_identifier(&label.text) {
        diags.error(label.span, "Invalid run block name", BAD_NAME);
    }
    let mut run = Run {
        name: label.text.clone(),
        module: None,
        variables: BTreeMap::new(),
        providers: Vec::new(),
        expected: Vec::new(),
        overrides: Vec::new(),
    };
    let mut options = Once::new("plan_options", "run block");
    let mut variables = Once::new("variables", "run block");
    let mut module = Once::new("module", "run block");
    for inner in &content.blocks {
        match &*inner.type_name {
            "assert" => {
                // Tests are never run, so an assertion is read for its errors only.
                condition(inner, false, diags);
            }
            "plan_options" => {
                if options.is_first(inner, diags) {
                    plan_options(inner, diags);
                }
            }
            "variables" => {
                if variables.is_first(inner, diags) {
                    let (attributes, found) = inner.body.just_attributes();
                    diags.append(found);
                    let given = attributes.into_iter().map(|(n, a)| (n, (*a.expr).clone()));
                    run.variables.extend(given);
                }
            }
            "module" => {
                // A second module block is an error, but its source is still checked.
                module.is_first(inner, diags);
                run.module = run_module(inner, diags);
            }
            _ => run.overrides.extend(override_block(inner, diags)),
        }
    }
    keyword(&content, "command", ["apply", "plan"], diags);
    if let Some(a) = content.attribute("providers") {
        run.providers = passed_providers(a, diags);
    }
    run.expected = references(&content, "expect_failures", diags);
    // A run with errors takes no part in later checks.
    (!failed(diags, mark)).then_some(run)
}

fn plan_options(block: &Block, diags: &mut Diagnostics) {
    let schema = BodySchema::new().optional(&["mode", "refresh", "replace", "target"]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let mode = keyword(&content, "mode", ["normal", "refresh-only"], diags);
    let refresh = content.attribute("refresh");
    if refresh.is_some_and(|a| constant::flag(a, diags) == Some(false))
        && mode.as_deref() == Some("refresh-only")
    {
        let detail = "With mode = refresh-only, \"refresh\" cannot be false.";
        let span = refresh.map_or(block.def_span, |a| a.span);
        diags.error(span, "Incompatible plan options", detail);
    }
    references(&content, "replace", diags);
    references(&content, "target", diags);
}

/// Argument with one of two keywords, unquoted.
fn keyword(
    content: &Content,
    name: &str,
    words: [&str; 2],
    diags: &mut Diagnostics,
) -> Option<Arc<str>> {
    let attribute = content.attribute(name)?;
    let word = attribute.expr.as_keyword();
    if !word.as_deref().is_some_and(|word| words.contains(&word)) {
        let [one, other] = words;
        diags.error(
            attribute.expr.span,
            format!("Invalid \"{name}\" keyword"),
            format!("The \"{name}\" argument must be {one} or {other}, without quotes."),
        );
    }
    word
}

/// Argument with a list of references.
fn references(content: &Content, name: &str, diags: &mut Diagnostics) -> Vec<Traversal> {
    let Some(attribute) = content.attribute(name) else {
        return Vec::new();
    };
    list(&attribute.expr, diags)
        .iter()
        .filter_map(|item| reference(item, diags))
        .collect()
}

fn run_module(block: &Block, diags: &mut Diagnostics) -> Option<RunModule> {
    let (content, found) = block
        .body
        .content(&BodySchema::new().optional(&["source", "version"]));
    diags.append(found);
    if let Some(a) = content.attribute("version") {
        version(&a.expr, a.json.as_deref(), a.expr.span, diags);
    }
    let Some(attribute) = content.attribute("source") else {
        let detail = "A run of another module needs the \"source\" of that module.";
        let summary = "Missing \"source\" attribute for module block";
        diags.error(block.def_span, summary, detail);
        return None;
    };
    let source = constant::text(attribute, diags)?;
    let is_path = is_local(&source);
    // A registry address has three parts, or four with a host.
    let elsewhere = source.contains(':') || source.split('/').count() > 2;
    let wrong = match content.attribute("version") {
        Some(_) if is_path => Some("a module with a local path cannot have a version"),
        _ if !is_path && !elsewhere => {
            Some("it is not a module address; a path starts with \"./\" or \"../\"")
        }
        _ => None,
    };
    if let Some(why) = wrong {
        let detail = format!("The source {source:?} cannot be used: {why}.");
        diags.error(attribute.span, "Invalid module source address", detail);
        return None;
    }
    Some(RunModule {
        source,
        span: attribute.span,
    })
}

/// Rejects references to objects without conditions, which cannot fail.
fn expected(traversal: &Traversal, diags: &mut Diagnostics) {
    const SUMMARY: &str = "Invalid expect_failures reference";
    // References to `output` and `check` exist only in tests.
    if let "output" | "check" = &*traversal.root {
        if traversal.steps.first().is_none_or(is_key) {
            let detail = format!("\"{}\" must be followed by a name.", traversal.root);
            diags.error(traversal.root_span, "Invalid reference", detail);
        }
        return;
    }
    match Reference::parse(traversal) {
        Err(error) => diags.push(error),
        Ok(found) => match found.subject {
            Subject::Variable(_) | Subject::Resource { .. } => {}
            _ => {
                let detail = "Only objects with conditions can be expected to fail: variables, \
                    outputs, checks, resources and data sources.";
                diags.error(found.span, SUMMARY, detail);
            }
        },
    }
}
