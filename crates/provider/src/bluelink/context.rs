//! Context sent with every call: provider configuration, host, session and tagging. Pure.

use super::host_requests::CALL;
use super::schema::VARIABLES;
use calls::{CallContext, ProviderDiagnostic};
use cty::{Path, Value};
use proto::bluelink::schema::ScalarValue;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::{
    ConfigDefinition, ConfigFieldDefinition, ProviderContext, ScalarType, TaggingConfig,
};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};

/// Prefix of tags on objects of providers that support tagging.
const TAGS: &str = "flightdeck:";

/// Data of one process for the context of its calls.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) config: ConfigDefinition,
    pub(super) plugin_id: String,
    pub(super) plugin_version: String,
    /// Random id of this process. Plugins cache clients by session id, so each configuration has
    /// its own derived id.
    pub(super) session: uuid::Uuid,
}

impl Caller {
    /// Returns the context of a call.
    pub(super) fn context(&self, ctx: &CallContext) -> ProviderContext {
        let config = ctx.configuration.as_deref();
        let variables = self.variables(config);
        let session = uuid::Uuid::new_v5(&self.session, &digest(&variables));
        let version = env!("CARGO_PKG_VERSION");
        let said = [
            ("hostApp", "flightdeck".to_owned()),
            ("engineVersion", version.to_owned()),
            ("providerPluginProtocolVersion", "1.0".to_owned()),
            ("bluelink.sessionId", session.to_string()),
        ];
        // Plugins return it with their requests, which identifies the call.
        let call = ctx.dialect_call.map(|number| (CALL, number.to_string()));
        let text = |text: String| ScalarValue {
            value: Some(Scalar::StringValue(text)),
        };
        ProviderContext {
            provider_config_variables: variables,
            context_variables: said
                .into_iter()
                .chain(call)
                .map(|(name, value)| (name.to_owned(), text(value)))
                .collect(),
            tagging_config: Some(TaggingConfig {
                prefix: TAGS.to_owned(),
                deploy_engine_version: version.to_owned(),
                provider_plugin_id: self.plugin_id.clone(),
                provider_plugin_version: self.plugin_version.clone(),
                enabled: true,
            }),
        }
    }

    fn variables(&self, config: Option<&Value>) -> HashMap<String, ScalarValue> {
        let mut all = HashMap::new();
        for (name, field) in &self.config.fields {
            let said = config.and_then(|config| given_value(config, name));
            let said = said.and_then(|value| scalar(&value, field.r#type()));
            if let Some(value) = said.or_else(|| field.default_value.clone()) {
                all.insert(name.clone(), value);
            }
        }
        for (name, value) in config.into_iter().flat_map(extra_values) {
            let kind = self
                // Values without a definition are sent as strings.
                .template(&name)
                .map_or(ScalarType::String, |f| f.r#type());
            if let Some(value) = scalar(&value, kind) {
                all.insert(name, value);
            }
        }
        all
    }

    /// Returns the definition of a value whose name is templated, such as `<service>Endpoint`.
    fn template(&self, name: &str) -> Option<&ConfigFieldDefinition> {
        let known = self.config.fields.get(name);
        known.or_else(|| {
            let mut templates = self.config.fields.iter();
            let (_, field) = templates.find(|(template, _)| matches_template(template, name))?;
            Some(field)
        })
    }

    /// Returns the diagnostics of a configuration that its schema cannot express.
    pub(super) fn check(&self, config: &Value) -> Vec<ProviderDiagnostic> {
        let mut wrong = Vec::new();
        for (name, field) in self.config.fields.iter().collect::<BTreeMap<_, _>>() {
            let Some(said) = given_value(config, name).and_then(|v| scalar(&v, field.r#type()))
            else {
                continue;
            };
            if !field.allowed_values.is_empty() && !field.allowed_values.contains(&said) {
                let text = format!(
                    "{name} must be one of the {} values allowed by the plugin",
                    field.allowed_values.len()
                );
                let at = Path::root().attr(name.as_str());
                wrong
                    .push(ProviderDiagnostic::error("Invalid provider configuration", text).at(at));
            }
        }
        let known =
            |name: &String| self.config.allow_additional_fields || self.template(name).is_some();
        for (name, _) in extra_values(config)
            .into_iter()
            .filter(|(name, _)| !known(name))
        {
            let text = format!("the plugin has no setting named {name}");
            let at = Path::root().attr(VARIABLES);
            wrong.push(ProviderDiagnostic::error("Invalid provider configuration", text).at(at));
        }
        wrong
    }
}

fn given_value(config: &Value, name: &str) -> Option<Value> {
    let known = config.is_known() && !config.is_null();
    let value = known.then(|| config.get_attr(name)).flatten()?;
    (value.is_known() && !value.is_null()).then_some(value)
}

/// Returns the configured values without an attribute of their own.
fn extra_values(config: &Value) -> Vec<(String, Value)> {
    let Some(all) = given_value(config, VARIABLES) else {
        return Vec::new();
    };
    let members = all.as_map().into_iter().flat_map(|members| members.iter());
    let known = members.filter(|(_, value)| value.is_known() && !value.is_null());
    known
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect()
}

/// Returns true if a template with `<…>` placeholders matches a name.
pub(super) fn matches_template(template: &str, name: &str) -> bool {
    let Some((begin, rest)) = template.split_once('<') else {
        return false;
    };
    let end = rest.split_once('>').map_or("", |(_, end)| end);
    let long = name.len() > begin.len() + end.split('<').next().unwrap_or_default().len();
    long && name.starts_with(begin) && (end.contains('<') || name.ends_with(end))
}

pub(super) fn scalar(value: &Value, kind: ScalarType) -> Option<ScalarValue> {
    let value = cty::convert(value, &super::schema::scalar(kind)).ok()?;
    let scalar = match kind {
        ScalarType::String => Scalar::StringValue(value.as_str()?.to_owned()),
        ScalarType::Integer => Scalar::IntValue(value.as_number()?.to_i64()?),
        ScalarType::Float => Scalar::FloatValue(value.as_number()?.to_f64().0),
        ScalarType::Boolean => Scalar::BoolValue(value.as_bool()?),
    };
    Some(ScalarValue {
        value: Some(scalar),
    })
}

/// Returns a digest that is equal for equal variables and does not reveal them.
fn digest(variables: &HashMap<String, ScalarValue>) -> [u8; 32] {
    let mut digest = Sha256::new();
    // Sorted, because the order of a hash map differs between runs.
    for (name, value) in variables.iter().collect::<BTreeMap<_, _>>() {
        digest.update(format!("{name}={value:?}\n"));
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_template_matches_a_non_empty_placeholder() {
        assert!(
            matches_template("endpoints.<service>", "endpoints.s3")
                && matches_template("<service>Endpoint", "s3Endpoint")
        );
        assert!(
            !matches_template("endpoints.<service>", "endpoints.")
                && !matches_template("region", "region")
        );
    }

    #[test]
    fn session_id_depends_on_the_provider_configuration() {
        let caller = Caller {
            config: ConfigDefinition {
                fields: [("region".to_owned(), ConfigFieldDefinition::default())].into(),
                allow_additional_fields: false,
            },
            plugin_id: "bluelink/fake".into(),
            plugin_version: "1.0.0".into(),
            session: uuid::Uuid::nil(),
        };
        let session = |region: &str| {
            let config = Value::object([("region", Value::string(region))]);
            let ctx = CallContext {
                configuration: Some(config.into()),
                ..CallContext::default()
            };
            let context = caller.context(&ctx);
            assert!(context.provider_config_variables.contains_key("region"));
            context.context_variables["bluelink.sessionId"].clone()
        };
        assert_eq!(session("north"), session("north"));
        assert_ne!(session("north"), session("south"));
    }
}
