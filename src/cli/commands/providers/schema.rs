//! `flightdeck providers schema`: provider schemas in OpenTofu's JSON format.

use crate::cli::exit::{CommandResult, OK};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::schema::nesting;
use crate::cli::session::{Session, settings};
use cty::Type;
use cty::schema::{Attribute, Block, Schema, TextKind};
use lang::config::is_config_dir;
use model::BUILTIN_PROVIDER;
use model::settings::Access;
use provider::{FunctionParameter, IdentitySchema, ProviderSchema, Schemas};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version of the format.
const FORMAT: &str = "1.0";

pub(super) async fn run(out: &mut Output) -> CommandResult {
    let settings = settings("providers schema", Access::ReadState, None)?;
    // As in OpenTofu, a directory without configuration is no error: it has no providers.
    if !is_config_dir(&settings.workspace) {
        write(Map::new(), out);
        return Ok(OK);
    }
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let request = out.flags.request();
    let question = async {
        let needed = engine.required_providers(request).await?;
        engine.load_plugins().await?;
        let builtin = needed.names(BUILTIN_PROVIDER);
        let (view, _) = engine.subscribe();
        let mut all = BTreeMap::new();
        for (id, plugin) in &view.plugins {
            // The built-in provider is always present, but listed only if it is required.
            if id.is_builtin() && !builtin {
                continue;
            }
            let schema = engine.schema(id).await?;
            let address = plugin
                .found
                .as_ref()
                .map_or_else(|| id.to_string(), |f| f.address.clone());
            all.insert(address, schema);
        }
        Ok(all)
    };
    let all = session.wait(out, &mut progress, question).await;
    session.finish(out).await;
    let all = all?;
    out.flush_diagnostics();
    let schemas = all
        .iter()
        .map(|(address, schema)| (address.clone(), provider(address, schema)))
        .collect();
    write(schemas, out);
    Ok(OK)
}

fn write(schemas: Map<String, Value>, out: &mut Output) {
    let mut document = Map::from_iter([("format_version".to_owned(), json!(FORMAT))]);
    // OpenTofu omits this member without providers, too.
    if !schemas.is_empty() {
        document.insert("provider_schemas".to_owned(), schemas.into());
    }
    let text = Value::from(document).to_string();
    out.write((statefile::compact(&text) + "\n").as_bytes());
}

/// JSON object with members in insertion order. [`Members::with`] leaves out empty values.
struct Members(Map<String, Value>);

impl Members {
    fn new() -> Self {
        Self(Map::new())
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let empty = match &value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(all) => all.is_empty(),
            Value::Object(all) => all.is_empty(),
            // OpenTofu omits limits of 0, which mean no limit.
            Value::Number(n) => n.as_u64() == Some(0),
            Value::Bool(true) => false,
        };
        if !empty {
            self.0.insert(name.to_owned(), value);
        }
        self
    }

    fn insert(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn done(self) -> Value {
        self.0.into()
    }
}

fn provider(address: &str, schema: &ProviderSchema) -> Value {
    let all = |schemas: &Schemas| -> Map<String, Value> {
        let schemas = schemas.iter();
        schemas
            .map(|(name, s)| (name.clone(), of_type(s)))
            .collect()
    };
    let mut functions: Map<String, Value> = schema
        .functions
        .iter()
        .map(|(name, f)| {
            let parameters: Vec<Value> = f.parameters.iter().map(parameter).collect();
            let function = Members::new()
                .insert("description", f.description.as_str())
                .insert("summary", f.summary.as_str())
                .insert("return_type", f.returns.to_json_value())
                .with("parameters", parameters)
                .with("variadic_parameter", f.variadic.as_ref().map(parameter));
            (name.clone(), function.done())
        })
        .collect();
    if address == BUILTIN_PROVIDER {
        // Functions of the language; the built-in provider does not serve them.
        functions.extend(language_functions());
    }
    let identities = schema.identities.iter();
    let identities: Map<String, Value> = identities
        .map(|(name, schema)| (name.clone(), identity(schema)))
        .collect();
    let own = match address == BUILTIN_PROVIDER {
        // The built-in provider has no configuration.
        true => json!({ "version": 0 }),
        false => of_type(&schema.provider),
    };
    Members::new()
        .insert("provider", own)
        .with("resource_schemas", all(&schema.resources))
        .with("data_source_schemas", all(&schema.data_sources))
        .with("ephemeral_resource_schemas", all(&schema.ephemeral))
        .with("functions", functions)
        .with("resource_identity_schemas", identities)
        .done()
}

/// Functions of the language in the built-in provider's namespace.
fn language_functions() -> impl Iterator<Item = (String, Value)> {
    let all = [
        (
            "decode_tfvars",
            "Parses the content of a .tfvars file as an object",
            ("content", "string", "Content of a .tfvars file"),
            "dynamic",
        ),
        (
            "encode_expr",
            "Encodes a value as an expression of the language",
            ("expr", "dynamic", "Value to encode"),
            "string",
        ),
        (
            "encode_tfvars",
            "Encodes an object as the content of a .tfvars file",
            (
                "input",
                "dynamic",
                "Object whose attribute names are variable names",
            ),
            "string",
        ),
    ];
    all.into_iter()
        .map(|(name, about, (parameter, ty, what), returns)| {
            let function = json!({
                "description": about,
                "summary": about,
                "return_type": returns,
                "parameters": [{ "name": parameter, "description": what, "type": ty }],
            });
            (name.to_owned(), function)
        })
}

fn parameter(p: &FunctionParameter) -> Value {
    Members::new()
        .insert("name", p.name.as_str())
        .insert("description", p.description.as_str())
        .insert("type", p.ty.to_json_value())
        .with("is_nullable", p.allow_null)
        .done()
}

fn identity(schema: &IdentitySchema) -> Value {
    let types = match &schema.ty {
        Type::Object(object) => Some(&object.attributes),
        _ => None,
    };
    let attributes: Map<String, Value> = types
        .into_iter()
        .flatten()
        .map(|(name, ty)| {
            let named = |names: &[String]| names.iter().any(|n| **n == **name);
            let attribute = Members::new()
                .insert("type", ty.to_json_value())
                .with("required_for_import", named(&schema.required_for_import))
                .with("optional_for_import", named(&schema.optional_for_import));
            (name.to_string(), attribute.done())
        })
        .collect();
    Members::new()
        .insert("version", schema.version)
        .with("attributes", attributes)
        .done()
}

fn of_type(schema: &Schema) -> Value {
    json!({ "version": schema.version, "block": block(&schema.block) })
}

fn block(b: &Block) -> Value {
    let nested: Map<String, Value> = b
        .blocks
        .iter()
        .map(|(name, n)| {
            let nested = Members::new()
                .insert("nesting_mode", nesting(n.nesting))
                .insert("block", block(&n.block))
                .with("min_items", n.min_items)
                .with("max_items", n.max_items);
            (name.to_string(), nested.done())
        })
        .collect();
    Members::new()
        .with("attributes", attributes(&b.attributes))
        .with("block_types", nested)
        .with("description", b.description.as_str())
        .insert("description_kind", kind(b.description_kind))
        .with("deprecated", b.deprecated)
        .with("deprecation_message", b.deprecation_message.as_str())
        .done()
}

fn attributes(all: &BTreeMap<Arc<str>, Attribute>) -> Map<String, Value> {
    all.iter()
        .map(|(name, a)| (name.to_string(), attribute(a)))
        .collect()
}

fn attribute(a: &Attribute) -> Value {
    let members = match &a.nested {
        Some(nested) => {
            let nested = Members::new()
                .with("attributes", attributes(&nested.attributes))
                .insert("nesting_mode", nesting(nested.nesting));
            Members::new().insert("nested_type", nested.done())
        }
        None => Members::new().insert("type", a.ty.to_json_value()),
    };
    members
        .with("description", a.description.as_str())
        .insert("description_kind", kind(a.description_kind))
        .with("deprecated", a.deprecated)
        .with("deprecation_message", a.deprecation_message.as_str())
        .with("required", a.required)
        .with("optional", a.optional)
        .with("computed", a.computed)
        .with("sensitive", a.sensitive)
        .with("write_only", a.write_only)
        .done()
}

fn kind(kind: TextKind) -> &'static str {
    match kind {
        TextKind::Plain => "plain",
        TextKind::Markdown => "markdown",
    }
}
