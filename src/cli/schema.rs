//! Provider schemas as text and as JSON.

use super::escape::safe;
use super::output::{Ink, Output};
use cty::schema::{Attribute, Block, Nesting, Schema};
use provider::{ProviderSchema, Schemas, TypeText, TypeTexts};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counts the types and functions of a schema.
pub(super) fn counts(schema: &ProviderSchema) -> Value {
    json!({
        "resources": schema.resources.len(),
        "data_sources": schema.data_sources.len(),
        "ephemeral": schema.ephemeral.len(),
        "functions": schema.functions.len(),
    })
}

/// Returns the complete schema as JSON.
pub(super) fn schema_json(schema: &ProviderSchema) -> Value {
    let all = |schemas: &Schemas, texts: &TypeTexts| {
        schemas
            .iter()
            .map(|(name, s)| (name.clone(), with_text(block_json(s), texts.get(name))))
            .collect::<Map<_, _>>()
    };
    let functions: Map<String, Value> = schema
        .functions
        .iter()
        .map(|(name, f)| {
            let parameters: Vec<Value> = f.parameters.iter().map(|p| json!({ "name": p.name, "type": p.ty.to_json_value() })).collect();
            let variadic = f.variadic.as_ref().map(|p| json!({ "name": p.name, "type": p.ty.to_json_value() }));
            let about =
                json!({ "parameters": parameters, "variadic": variadic, "returns": f.returns.to_json_value(), "summary": f.summary });
            (name.to_string(), about)
        })
        .collect();
    json!({
        "provider": block_json(&schema.provider),
        "resources": all(&schema.resources, &schema.resource_texts),
        "data_sources": all(&schema.data_sources, &schema.data_texts),
        "ephemeral": all(&schema.ephemeral, &TypeTexts::new()),
        "functions": functions,
    })
}

fn block_json(schema: &Schema) -> Value {
    json!({ "version": schema.version, "block": block(&schema.block) })
}

/// Adds the provider's texts about a type.
fn with_text(mut out: Value, text: Option<&TypeText>) -> Value {
    let Some(text) = text else { return out };
    let all = [
        ("label", &text.label),
        ("summary", &text.summary),
        ("description", &text.description),
    ];
    for (name, text) in all.into_iter().filter(|(_, text)| !text.is_empty()) {
        out[name] = text.as_str().into();
    }
    if !text.examples.is_empty() {
        out["examples"] = json!(text.examples);
    }
    out
}

fn block(b: &Block) -> Value {
    let mut out = Map::new();
    out.insert("attributes".into(), attributes(&b.attributes));
    let nested = b.blocks.iter().map(|(name, n)| {
        let about = json!({ "nesting": nesting(n.nesting), "min_items": n.min_items, "max_items": n.max_items, "block": block(&n.block) });
        (name.to_string(), about)
    });
    out.insert("blocks".into(), nested.collect::<Map<_, _>>().into());
    describe(&mut out, &b.description, b.deprecated);
    out.into()
}

fn attributes(all: &BTreeMap<Arc<str>, Attribute>) -> Value {
    all.iter()
        .map(|(name, a)| (name.to_string(), attribute(a)))
        .collect::<Map<_, _>>()
        .into()
}

fn attribute(a: &Attribute) -> Value {
    let mut out = Map::new();
    match &a.nested {
        Some(nested) => {
            let about = json!({ "nesting": nesting(nested.nesting), "attributes": attributes(&nested.attributes) });
            out.insert("nested".into(), about);
        }
        None => drop(out.insert("type".into(), a.ty.to_json_value())),
    }
    // False properties are left out, as in OpenTofu's schemas.
    for (is, word) in [
        (a.required, "required"),
        (a.optional, "optional"),
        (a.computed, "computed"),
        (a.sensitive, "sensitive"),
        (a.write_only, "write_only"),
    ] {
        if is {
            out.insert(word.into(), true.into());
        }
    }
    describe(&mut out, &a.description, a.deprecated);
    out.into()
}

fn describe(out: &mut Map<String, Value>, description: &str, deprecated: bool) {
    if !description.is_empty() {
        out.insert("description".into(), description.into());
    }
    if deprecated {
        out.insert("deprecated".into(), true.into());
    }
}

/// Returns the name of a nesting mode.
pub(super) fn nesting(n: Nesting) -> &'static str {
    match n {
        Nesting::Single => "single",
        Nesting::List => "list",
        Nesting::Set => "set",
        Nesting::Map => "map",
        Nesting::Group => "group",
    }
}

/// Returns the counts as one line.
pub(super) fn line(schema: &ProviderSchema) -> String {
    let named = [
        (schema.resources.len(), "resource type"),
        (schema.data_sources.len(), "data source"),
        (schema.ephemeral.len(), "ephemeral resource"),
        (schema.functions.len(), "function"),
    ];
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let said: Vec<String> = named
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}{}", plural(*n)))
        .collect();
    if said.is_empty() {
        "an empty schema".to_owned()
    } else {
        said.join(", ")
    }
}

/// Prints the provider's arguments, types and functions by name.
pub(super) fn show(out: &mut Output, schema: &ProviderSchema) {
    if !schema.provider.block.attributes.is_empty() || !schema.provider.block.blocks.is_empty() {
        heading(out, "provider arguments");
    }
    for (name, a) in &schema.provider.block.attributes {
        let need = if a.required { "required" } else { "optional" };
        let secret = if a.sensitive { ", sensitive" } else { "" };
        let ty = if a.nested.is_some() {
            "nested".to_owned()
        } else {
            a.ty.friendly_constraint_name()
        };
        out.line(&format!("      {} ({ty}, {need}{secret})", safe(name)));
    }
    for (name, n) in &schema.provider.block.blocks {
        out.line(&format!(
            "      {} ({} of blocks)",
            safe(name),
            nesting(n.nesting)
        ));
    }
    let none = TypeTexts::new();
    for (title, schemas, texts) in [
        ("resource types", &schema.resources, &schema.resource_texts),
        ("data sources", &schema.data_sources, &schema.data_texts),
        ("ephemeral resources", &schema.ephemeral, &none),
    ] {
        if !schemas.is_empty() {
            heading(out, title);
        }
        for (name, s) in schemas.iter() {
            show_type(out, name, &s.block);
            if let Some(text) = texts.get(name) {
                show_text(out, text);
            }
        }
    }
    if !schema.functions.is_empty() {
        heading(out, "functions");
    }
    for (name, f) in &schema.functions {
        let parameters: Vec<String> = f
            .parameters
            .iter()
            .map(|p| format!("{} {}", p.name, p.ty.friendly_constraint_name()))
            .collect();
        out.line(&format!(
            "      {}({}) → {}",
            safe(name),
            safe(&parameters.join(", ")),
            f.returns.friendly_constraint_name()
        ));
    }
}

/// Prints the line of a type with its required arguments.
fn show_type(out: &mut Output, name: &str, block: &Block) {
    let attributes = block.attributes.iter();
    // Only required ones: large types have hundreds of optional attributes.
    let required = attributes.filter(|(_, a)| a.required);
    let required: Vec<&str> = required.map(|(name, _)| &**name).collect();
    let needs = match required.is_empty() {
        true => String::new(),
        false => format!(", needs {}", required.join(", ")),
    };
    out.line(&format!(
        "      {} ({} attributes{})",
        safe(name),
        block.attributes.len(),
        safe(&needs)
    ));
}

/// Prints the provider's texts about a type below its line.
fn show_text(out: &mut Output, text: &TypeText) {
    let head = [&*text.label, &*text.summary];
    let head: Vec<&str> = head.into_iter().filter(|text| !text.is_empty()).collect();
    let head = head.join(": ");
    let examples = text.examples.iter().map(String::as_str);
    let titled = [("", head.as_str()), ("", text.description.as_str())].into_iter();
    for (title, text) in titled.chain(examples.map(|text| ("example:", text))) {
        let lines = text.lines().map(|line| match title {
            "" => line.to_owned(),
            _ => format!("  {line}"),
        });
        let title = (!title.is_empty()).then(|| title.to_owned());
        for line in title.into_iter().chain(lines) {
            let line = out.paint(Ink::Dim, &format!("        {}", safe(&line)));
            out.line(&line);
        }
    }
}

fn heading(out: &mut Output, text: &str) {
    let text = out.paint(Ink::Bold, &format!("    {text}"));
    out.line(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Type;

    #[test]
    fn json_schema_includes_attribute_properties() {
        let mut block = Block::default();
        block
            .attributes
            .insert("name".into(), Attribute::required(Type::String).sensitive());
        let schema = ProviderSchema {
            resources: [("x_y".to_owned(), Schema::new(2, block))].into(),
            ..ProviderSchema::default()
        };
        let json = schema_json(&schema);
        assert_eq!(json["resources"]["x_y"]["version"], 2);
        assert_eq!(
            json["resources"]["x_y"]["block"]["attributes"]["name"],
            json!({"type": "string", "required": true, "sensitive": true})
        );
        assert_eq!(counts(&schema)["resources"], 1);
        assert_eq!(line(&schema), "1 resource type");
    }
}
