//! Any bytes as `main.tf.json`: parsed, loaded as a configuration, and evaluated. Nothing panics,
//! all source ranges lie in the text, and every error has one.

use lang::body::Body;
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use lang::syntax;

use super::config::{Text, expression, load, places};

pub fn run(data: &[u8]) {
    let lossy = String::from_utf8_lossy(data);
    let text: &str = &lossy;
    let whole = Text { text, exact: false };
    let sources = SourceMap::new();
    let file = sources.add("main.tf.json", text);
    let (node, diags) = syntax::json::parse(text, file);
    places(&diags, &sources, &whole);
    let mut diags = Diagnostics::new();
    let expr = node.to_expr(&mut diags);
    places(&diags, &sources, &whole);
    expression(&expr, &sources, &whole);
    let (attributes, diags) = Body::json(node).just_attributes();
    places(&diags, &sources, &whole);
    for attribute in attributes.values() {
        expression(&attribute.expr, &sources, &whole);
    }
    load("main.tf.json", data);
}
