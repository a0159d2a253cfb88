//! Provider configuration. A Bluelink host sends it with each call as flat scalars. A provider has
//! one configuration at a time: a call with a different one waits until the running calls have
//! ended.

use std::collections::HashMap;
use std::sync::Arc;

use cty::{Type, Value};
use proto::bluelink::schema::ScalarValue;
use proto::bluelink::sharedtypesv1::{
    ConfigDefinition, ConfigFieldDefinition, ProviderContext, ScalarType,
};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use super::value::{DecodeError, decode_scalar, encode};
use crate::diagnostics::Failure;
use crate::provider::{Context, Provider};
use crate::schema::{Attr, AttrType, Schema};
use crate::service::Entry;
use crate::{check, codec};

/// Returns the configuration fields for the host. Only scalars exist; other types are sent as JSON
/// text.
pub(super) fn definition(schema: &Schema) -> ConfigDefinition {
    let attrs = schema
        .block
        .attributes
        .iter()
        .filter(|attr| is_settable(attr));
    let attrs = attrs.map(|attr| (attr.name.clone(), field(attr)));
    let blocks = schema.block.blocks.iter().map(|nested| {
        let field = ConfigFieldDefinition {
            r#type: ScalarType::String.into(),
            description: in_json(&nested.block.description),
            required: nested.min > 0,
            ..ConfigFieldDefinition::default()
        };
        (nested.name.clone(), field)
    });
    ConfigDefinition {
        fields: attrs.chain(blocks).collect(),
        allow_additional_fields: false,
    }
}

fn is_settable(attr: &Attr) -> bool {
    attr.required || attr.optional
}

fn field(attr: &Attr) -> ConfigFieldDefinition {
    let kind = kind(attr);
    // The message has room for scalar defaults only.
    let default = attr.default.as_ref().filter(|_| kind.is_some());
    let default = default.and_then(|value| encode(value, &attr.ty(), None)?.scalar);
    ConfigFieldDefinition {
        r#type: kind.unwrap_or(ScalarType::String).into(),
        description: match kind {
            Some(_) => attr.description.clone(),
            None => in_json(&attr.description),
        },
        default_value: default,
        secret: attr.sensitive,
        required: attr.required,
        ..ConfigFieldDefinition::default()
    }
}

fn in_json(description: &str) -> String {
    format!("{description} Written as JSON.")
        .trim_start()
        .to_owned()
}

/// Returns the scalar type of an attribute; `None` if it is not a scalar.
fn kind(attr: &Attr) -> Option<ScalarType> {
    match attr.ty {
        AttrType::Plain(Type::String) => Some(ScalarType::String),
        AttrType::Plain(Type::Number) => Some(ScalarType::Float),
        AttrType::Plain(Type::Bool) => Some(ScalarType::Boolean),
        _ => None,
    }
}

/// Converts the configuration from a host to a value of the schema's type.
fn decode(schema: &Schema, said: &HashMap<String, ScalarValue>) -> Result<Value, Failure> {
    let ty = schema.implied_type();
    let types = ty.as_object().map(|object| object.attributes.iter());
    let one = |(name, ty): (&Arc<str>, &Type)| {
        // Variables without an attribute in the schema are ignored.
        let value = said.get(&**name).map(decode_scalar).filter(Value::is_given);
        let value = match value {
            None => Value::null(ty.clone()),
            Some(value) => read(&value, ty).map_err(|why| {
                let summary = format!("the configuration's {name} cannot be read");
                Failure::new(summary, why.to_string())
            })?,
        };
        Ok((name.clone(), value))
    };
    let members = types.into_iter().flatten().map(one);
    let config = Value::object_from_map(members.collect::<Result<Vec<_>, Failure>>()?);
    Ok(schema.block.with_empty_blocks(config))
}

fn read(value: &Value, ty: &Type) -> Result<Value, DecodeError> {
    // Only values of other types than scalars arrive as JSON text.
    match value.as_str().filter(|_| !ty.is_primitive()) {
        None => Ok(value.convert(ty)?),
        Some(text) => {
            let json = serde_json::from_str(text)?;
            codec::from_state_json(json, ty).map_err(|failure| {
                let said = failure.diagnostics.0.into_iter();
                let said = said.map(|one| format!("{}: {}", one.summary, one.detail));
                DecodeError::Json(said.collect())
            })
        }
    }
}

/// Current configuration of the provider.
#[derive(Clone, Default)]
pub(super) struct Configured(Arc<RwLock<Option<Value>>>);

/// Read guard that keeps the configuration unchanged while a call runs.
pub(super) type ConfigGuard = OwnedRwLockReadGuard<Option<Value>>;

impl Configured {
    /// Configures the provider as the host requests, and returns a guard for that configuration.
    ///
    /// # Errors
    /// The diagnostics of a rejected configuration.
    pub(super) async fn configured_turn(
        &self,
        provider: &Entry<dyn Provider>,
        cx: &Context,
        context: Option<ProviderContext>,
    ) -> Result<ConfigGuard, Failure> {
        let said = context.unwrap_or_default().provider_config_variables;
        let config = decode(&provider.schema, &said)?;
        // The usual case: calls with the current configuration run concurrently under read locks.
        let held = self.0.clone().read_owned().await;
        if held.as_ref() == Some(&config) {
            return Ok(held);
        }
        drop(held);
        // The write lock waits until all calls with the former configuration have ended.
        let mut held = self.0.clone().write_owned().await;
        // Another call may have set the same configuration while this one waited.
        if held.as_ref() != Some(&config) {
            // A failed attempt leaves the provider in an unknown state, so the former configuration
            // is invalid.
            *held = None;
            let mut said = check::check_attributes(&provider.schema, &config);
            said.extend(provider.item.validate(cx, &config).await);
            if !said.has_errors() {
                said.extend(provider.item.configure(cx, &config).await);
            }
            said.log_warnings();
            if said.has_errors() {
                return Err(said.into());
            }
            *held = Some(config);
        }
        // Downgraded without a gap, so that no other call can change the configuration in between.
        Ok(held.downgrade())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Block, Nested, Nesting};
    use proto::bluelink::schema::scalar_value::Value as Scalar;

    #[test]
    fn nested_configuration_is_flattened_to_scalars_and_json() {
        let fault = Block::new()
            .attr(Attr::string("kind").required())
            .attr(Attr::number("times"));
        let schema = Schema::new()
            .attr(Attr::string("token").required().sensitive())
            .attr(Attr::number("ms"))
            .attr(Attr::strings("tags"))
            .block(Nested::new("fault", Nesting::List, fault));
        let said = definition(&schema);
        let kind = |name: &str| said.fields[name].r#type();
        assert!(said.fields["token"].secret && said.fields["token"].required);
        assert_eq!(kind("ms"), ScalarType::Float);
        assert_eq!(
            (kind("tags"), kind("fault")),
            (ScalarType::String, ScalarType::String)
        );
        let text = |text: &str| ScalarValue {
            value: Some(Scalar::StringValue(text.to_owned())),
        };
        let variables = HashMap::from([
            ("token".to_owned(), text("hush")),
            ("ms".to_owned(), text("12")),
            ("fault".to_owned(), text("[{\"kind\": \"hang\"}]")),
            ("unheard_of".to_owned(), text("x")),
        ]);
        let config = decode(&schema, &variables).unwrap();
        assert_eq!(config.get_attr("ms"), Some(Value::int(12)));
        let fault = config.get_attr("fault").unwrap().index_int(0).unwrap();
        assert_eq!(fault.get_attr("kind"), Some(Value::string("hang")));
        assert!(fault.get_attr("times").unwrap().is_null());
        let wrong = HashMap::from([("fault".to_owned(), text("many"))]);
        let why = decode(&schema, &wrong).unwrap_err().diagnostics;
        assert!(why.0[0].detail.starts_with("not valid JSON"), "{why:?}");
    }
}
