//! Any bytes as `main.tf`: parsed as a file, an expression and a template, loaded as a
//! configuration, evaluated, and formatted. Nothing panics, all source ranges lie in the text, and
//! every error of a configuration has one. Formatting keeps the meaning and is idempotent.

use lang::format::format;
use lang::source::{FileId, SourceMap};
use lang::syntax::{self, NativeBody, TemplateOrigin};

use super::config::{Text, expression, load, places};

pub fn run(data: &[u8]) {
    let lossy = String::from_utf8_lossy(data);
    let text: &str = &lossy;
    let whole = Text { text, exact: true };
    let sources = SourceMap::new();
    let file = sources.add("main.tf", text);
    let (body, diags) = syntax::parse_file(text, file);
    places(&diags, &sources, &whole);
    expressions(&body, &sources, &whole);
    let (expr, diags) = syntax::parse_expression_at(text, file, 0);
    places(&diags, &sources, &whole);
    expression(&expr, &sources, &whole);
    let (expr, diags) = syntax::parse_template_at(text, file, 0, TemplateOrigin::Bare);
    places(&diags, &sources, &whole);
    expression(&expr, &sources, &whole);
    load("main.tf", data);
    // The formatter takes text only, so lossy conversions are excluded.
    if std::str::from_utf8(data).is_ok() {
        laid_out(text);
    }
}

fn laid_out(text: &str) {
    let Ok(formatted) = format(text, FileId(0)) else {
        return;
    };
    assert_eq!(
        format(&formatted, FileId(0)).ok().as_ref(),
        Some(&formatted),
        "laid out twice: {text:?}"
    );
    let (before, after) = (tree(text), tree(&formatted));
    // The formatter unwraps templates that are a single interpolation, and updates the syntax of
    // variable types; these change the tree.
    if !before.contains("TemplateWrap") && !text.contains("variable") {
        assert_eq!(before, after, "another meaning: {text:?} {formatted:?}");
    }
}

/// Returns the syntax tree of a text as a string without source ranges.
fn tree(text: &str) -> String {
    let (body, diags) = syntax::parse_file(text, FileId(0));
    assert!(!diags.has_errors(), "{text:?} cannot be parsed: {diags:?}");
    without_places(&format!("{body:?}"))
}

fn expressions(body: &NativeBody, sources: &SourceMap, text: &Text<'_>) {
    for attribute in body.attributes.values() {
        expression(&attribute.expr, sources, text);
    }
    for block in &body.blocks {
        expressions(&block.body, sources, text);
    }
}

fn without_places(tree: &str) -> String {
    let mut pieces = tree.split("Span {");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        text + piece.split_once('}').map_or("", |(_, rest)| rest)
    })
}
