//! Any bytes as `main.tf`: parsed as a file, an expression and a template, loaded as a configuration, its expressions
//! evaluated. Nothing panics, all places lie in the text, every error of a configuration has one.

use lang::source::SourceMap;
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
}

fn expressions(body: &NativeBody, sources: &SourceMap, text: &Text<'_>) {
    for attribute in body.attributes.values() {
        expression(&attribute.expr, sources, text);
    }
    for block in &body.blocks {
        expressions(&block.body, sources, text);
    }
}
