//! Converts the schemas of both protocols to the model. They are the only messages that differ on
//! the wire (attributes have other field numbers, and nest only in protocol 6), so a macro covers
//! both generated modules.

use super::convert::diagnostic;
use super::lifecycle::SchemaReply;
use crate::*;
use cty::Type;
use cty::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting, Schema, TextKind};
use prost::Message as _;
use proto::tfplugin6;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Converts a schema; the error has the location. Identities are not part of this reply.
pub fn provider_schema(reply: &SchemaReply) -> Result<ProviderSchema, SchemaError> {
    match reply {
        SchemaReply::V5(reply) => five::provider_schema(reply),
        SchemaReply::V6(reply) => six::provider_schema(reply),
    }
}

/// Converts functions from the messages of protocol 6; those of protocol 5 are identical on the
/// wire.
pub(super) fn signatures(
    functions: &HashMap<String, tfplugin6::Function>,
) -> Result<Signatures, SchemaError> {
    six::signatures(functions)
}

/// Parses a type in its JSON form.
fn ty(json: &[u8], at: &str) -> Result<Type, SchemaError> {
    Type::from_json(json).map_err(|source| SchemaError::Type {
        at: at.to_owned(),
        source,
    })
}

fn text_kind(kind: i32) -> TextKind {
    if kind == 1 {
        TextKind::Markdown
    } else {
        TextKind::Plain
    }
}

fn count(n: i64) -> u64 {
    // Negative limits have no meaning.
    u64::try_from(n).unwrap_or(0)
}

/// Converts a nesting mode: 1 to 5 in both protocols, for blocks and attributes (which have no
/// groups).
fn nesting(number: i32, at: &str) -> Result<Nesting, SchemaError> {
    match number {
        1 => Ok(Nesting::Single),
        2 => Ok(Nesting::List),
        3 => Ok(Nesting::Set),
        4 => Ok(Nesting::Map),
        5 => Ok(Nesting::Group),
        mode => Err(SchemaError::Nesting {
            at: at.to_owned(),
            mode,
        }),
    }
}

/// Converts identity schemas, and skips those with invalid types.
pub(super) fn identities(
    reply: &tfplugin6::get_resource_identity_schemas::Response,
) -> BTreeMap<String, IdentitySchema> {
    let one = |name: &String, schema: &tfplugin6::ResourceIdentitySchema| {
        let attributes = schema
            .identity_attributes
            .iter()
            .map(|a| Some((a.name.as_str(), ty(&a.r#type, &a.name).ok()?)));
        // Identities are optional, so an invalid one is skipped rather than an error.
        let attributes = attributes.collect::<Option<Vec<_>>>()?;
        let names =
            |wanted: fn(&tfplugin6::resource_identity_schema::IdentityAttribute) -> bool| {
                schema
                    .identity_attributes
                    .iter()
                    .filter(|a| wanted(a))
                    .map(|a| a.name.clone())
                    .collect()
            };
        let identity = IdentitySchema {
            version: schema.version,
            ty: Type::object(attributes),
            required_for_import: names(|a| a.required_for_import),
            optional_for_import: names(|a| a.optional_for_import),
        };
        Some((name.clone(), identity))
    };
    reply
        .identity_schemas
        .iter()
        .filter_map(|(name, schema)| one(name, schema))
        .collect()
}

macro_rules! dialect {
    ($module:ident, $pb:ident, |$attribute:ident, $at:ident| $nested:expr) => {
        mod $module {
            use super::*;
            use proto::$pb as pb;

            pub(super) fn provider_schema(
                reply: &pb::get_provider_schema::Undecoded,
            ) -> Result<ProviderSchema, SchemaError> {
                let all = |kind: &str, schemas: &HashMap<String, Bytes>| {
                    Schemas::undecoded(
                        kind,
                        schemas
                            .iter()
                            .map(|(name, raw)| (name.clone(), raw.clone())),
                        read,
                    )
                };
                let capabilities = reply.server_capabilities.as_ref();
                Ok(ProviderSchema {
                    provider: reply
                        .provider
                        .as_ref()
                        .map(|s| schema(s, "provider"))
                        .transpose()?
                        .unwrap_or_default(),
                    provider_meta: reply
                        .provider_meta
                        .as_ref()
                        .map(|s| schema(s, "provider_meta"))
                        .transpose()?,
                    resources: all("resource", &reply.resource_schemas)?,
                    data_sources: all("data source", &reply.data_source_schemas)?,
                    ephemeral: all("ephemeral resource", &reply.ephemeral_resource_schemas)?,
                    functions: signatures(&reply.functions)?,
                    identities: BTreeMap::new(),
                    links: LinkTypes::Unspoken,
                    resource_texts: TypeTexts::new(),
                    data_texts: TypeTexts::new(),
                    capabilities: capabilities.map_or_else(Capabilities::default, |c| {
                        Capabilities {
                            plan_destroy: c.plan_destroy,
                            get_schema_optional: c.get_provider_schema_optional,
                            move_resource_state: c.move_resource_state,
                            generate_resource_config: c.generate_resource_config,
                        }
                    }),
                    diagnostics: reply
                        .diagnostics
                        .iter()
                        .map(|d| diagnostic(d.severity, d.summary.clone(), d.detail.clone(), None))
                        .collect(),
                })
            }

            fn read(raw: &Bytes, at: &str) -> Result<Schema, SchemaError> {
                let decoded =
                    pb::Schema::decode(raw.clone()).map_err(|source| SchemaError::Undecodable {
                        at: at.to_owned(),
                        source,
                    })?;
                schema(&decoded, at)
            }

            fn schema(schema: &pb::Schema, at: &str) -> Result<Schema, SchemaError> {
                // The block is optional on the wire.
                let empty = pb::schema::Block::default();
                Ok(Schema::new(
                    schema.version,
                    block(schema.block.as_ref().unwrap_or(&empty), at)?,
                ))
            }

            fn block(block: &pb::schema::Block, at: &str) -> Result<Block, SchemaError> {
                Ok(Block {
                    attributes: attributes(&block.attributes, at)?,
                    blocks: block
                        .block_types
                        .iter()
                        .map(|b| Ok((b.type_name.as_str().into(), nested_block(b, at)?)))
                        .collect::<Result<_, SchemaError>>()?,
                    description: block.description.clone(),
                    description_kind: text_kind(block.description_kind),
                    deprecated: block.deprecated,
                    deprecation_message: block.deprecation_message.clone(),
                })
            }

            fn nested_block(
                nested: &pb::schema::NestedBlock,
                at: &str,
            ) -> Result<NestedBlock, SchemaError> {
                let at = format!("{at}.{}", nested.type_name);
                let empty = pb::schema::Block::default();
                Ok(NestedBlock {
                    block: block(nested.block.as_ref().unwrap_or(&empty), &at)?,
                    nesting: nesting(nested.nesting, &at)?,
                    min_items: count(nested.min_items),
                    max_items: count(nested.max_items),
                })
            }

            pub(super) fn attributes(
                all: &[pb::schema::Attribute],
                at: &str,
            ) -> Result<BTreeMap<Arc<str>, Attribute>, SchemaError> {
                all.iter()
                    .map(|a| {
                        Ok((
                            a.name.as_str().into(),
                            attribute(a, &format!("{at}.{}", a.name))?,
                        ))
                    })
                    .collect()
            }

            fn attribute(
                $attribute: &pb::schema::Attribute,
                $at: &str,
            ) -> Result<Attribute, SchemaError> {
                let nested: Option<NestedObject> = $nested;
                Ok(Attribute {
                    ty: match &nested {
                        // Nested attributes have no type of their own on the wire.
                        Some(nested) => nested.implied_type(),
                        None => ty(&$attribute.r#type, $at)?,
                    },
                    nested,
                    required: $attribute.required,
                    optional: $attribute.optional,
                    computed: $attribute.computed,
                    sensitive: $attribute.sensitive,
                    write_only: $attribute.write_only,
                    deprecated: $attribute.deprecated,
                    deprecation_message: $attribute.deprecation_message.clone(),
                    description: $attribute.description.clone(),
                    description_kind: text_kind($attribute.description_kind),
                })
            }

            pub(super) fn signatures(
                functions: &HashMap<String, pb::Function>,
            ) -> Result<Signatures, SchemaError> {
                functions
                    .iter()
                    .map(|(name, f)| Ok((name.clone(), function(f, name)?)))
                    .collect()
            }

            fn function(
                function: &pb::Function,
                name: &str,
            ) -> Result<FunctionSignature, SchemaError> {
                let parameter = |p: &pb::function::Parameter| {
                    Ok::<_, SchemaError>(FunctionParameter {
                        name: p.name.clone(),
                        ty: ty(
                            &p.r#type,
                            &format!("parameter {} of function {name}", p.name),
                        )?,
                        allow_null: p.allow_null_value,
                        allow_unknown: p.allow_unknown_values,
                        description: p.description.clone(),
                    })
                };
                let returns = function
                    .r#return
                    .as_ref()
                    .ok_or_else(|| SchemaError::NoResult(name.to_owned()))?;
                Ok(FunctionSignature {
                    parameters: function
                        .parameters
                        .iter()
                        .map(parameter)
                        .collect::<Result<_, _>>()?,
                    variadic: function
                        .variadic_parameter
                        .as_ref()
                        .map(parameter)
                        .transpose()?,
                    returns: ty(&returns.r#type, &format!("the result of function {name}"))?,
                    summary: function.summary.clone(),
                    description: function.description.clone(),
                    deprecation: function.deprecation_message.clone(),
                })
            }
        }
    };
}

dialect!(five, tfplugin5, |attribute, at| None);
dialect!(
    six,
    tfplugin6,
    |attribute, at| match &attribute.nested_type {
        None => None,
        Some(object) => Some(NestedObject {
            attributes: attributes(&object.attributes, at)?,
            nesting: nesting(object.nesting, at)?
        }),
    }
);

#[cfg(test)]
mod tests;
