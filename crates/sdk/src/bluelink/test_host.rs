//! Bluelink host of the testing kit: plans by the schema, and makes the calls of a host in this
//! process. Values pass through the messages of the protocol.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cty::Value;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::{
    Changes, DiagnosticLevel, ProviderContext, ResolvedResource, ResourceInfo, ResourceState,
};
use serde_json::Value as Json;

use super::host::Host;
use super::node::id_field;
use super::resource::{self, Kind};
use super::server::Server;
use super::value::{decode, encode, is_null_node, scalar};
use crate::codec;
use crate::diagnostics::{Diagnostics, Failure};
use crate::provider::{Context, Planning};
use crate::schema::model;
use crate::service::{Outcome, Service};
use crate::validate::SchemaError;

/// Number of polls until an object must be stable, and the pause between them.
const POLLS: (usize, Duration) = (600, Duration::from_millis(100));

/// Host of one provider.
pub(crate) struct TestHost {
    server: Server,
    context: Mutex<ProviderContext>,
}

impl TestHost {
    /// # Errors
    /// A type name does not begin with the provider's name.
    pub(crate) fn new(service: Service) -> Result<TestHost, SchemaError> {
        // The calls below do not pass through the check of the host.
        let (_, unknown) = Host::unknown();
        Ok(TestHost {
            server: Server::new(service, unknown)?,
            context: Mutex::default(),
        })
    }

    /// Sets the configuration that later calls carry. Lists, maps and blocks are JSON.
    pub(crate) fn configure(&self, config: &Value) -> Outcome<()> {
        let mut variables = std::collections::HashMap::new();
        for (name, value) in config.as_map().into_iter().flat_map(|all| all.to_map()) {
            let Some(node) = encode(&value, value.ty(), None) else {
                continue;
            };
            let text = || codec::to_json(&value, value.ty()).map(|json| json.to_string());
            let node = match node.scalar {
                Some(_) => node,
                None => scalar(Scalar::StringValue(text()?)),
            };
            variables.extend(node.scalar.map(|scalar| (name.to_string(), scalar)));
        }
        let mut context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        context.provider_config_variables = variables;
        Ok(())
    }

    /// Makes a call with the configuration.
    async fn call<T: Send + 'static, F>(
        &self,
        call: impl FnOnce(Context) -> F + Send + 'static,
    ) -> Outcome<T>
    where
        F: Future<Output = Outcome<T>> + Send + 'static,
    {
        let context = {
            let held = self.context.lock();
            held.unwrap_or_else(PoisonError::into_inner).clone()
        };
        self.server.configured(Some(context), call).await
    }

    /// Validates a configuration.
    pub(crate) async fn validate(&self, name: &str, config: &Value) -> Outcome<()> {
        let kind = self.server.kind_of(name)?;
        let spec = encode(config, &kind.entry.ty, None).unwrap_or_default();
        // Validation does not configure the provider.
        let call = |cx| resource::validate(kind, cx, spec);
        let diagnostics = self.server.service.run(call).await?;
        let mut errors = Diagnostics::new();
        for one in diagnostics
            .into_iter()
            .filter(|one| one.level() == DiagnosticLevel::Error)
        {
            errors.error(one.message, "");
        }
        match errors.has_errors() {
            true => Err(errors.into()),
            false => Ok(()),
        }
    }

    /// Creates, updates or replaces an object, and waits until it is stable.
    pub(crate) async fn deploy(
        &self,
        name: &str,
        prior: Option<&Value>,
        config: Value,
    ) -> Outcome<Value> {
        let kind = self.server.kind_of(name)?;
        let (schema, ty) = (&kind.entry.schema, &kind.entry.ty);
        let before = prior.cloned().unwrap_or_else(|| Value::null(ty.clone()));
        let planning = Planning {
            schema,
            proposed: model::of(schema).proposed_new(&before, &config),
            prior: before.clone(),
            config,
            private: Vec::new(),
        };
        let planned = planning.by_default();
        if planned.value == before {
            return Ok(before);
        }
        // A host sees a replacement only at an attribute that had a value.
        let had_value = |path: &cty::Path| path.apply(&before).is_ok_and(|value| value.is_given());
        let spec = schema.block.without_computed(&planned.value);
        let mut spec = encode(&spec, ty, None).unwrap_or_default();
        let changes = Changes {
            applied_resource_info: Some(ResourceInfo {
                current_resource_state: prior.map(|prior| ResourceState {
                    spec_data: encode(prior, ty, None),
                    ..ResourceState::default()
                }),
                resource_with_resolved_subs: Some(ResolvedResource {
                    spec: Some(spec.clone()),
                    ..ResolvedResource::default()
                }),
                ..ResourceInfo::default()
            }),
            must_recreate: prior.is_some() && planned.replace.iter().any(had_value),
            ..Changes::default()
        };
        let deployed = kind.clone();
        let computed = self
            .call(|cx| resource::deploy(deployed, cx, changes))
            .await?;
        for (path, value) in computed {
            let place = place(&mut spec, &path).ok_or_else(|| {
                Failure::new("the computed value has no place in the spec", path.clone())
            })?;
            *place = value;
        }
        self.wait_until_stable(&kind, &spec).await?;
        object(&kind, &spec)
    }

    async fn wait_until_stable(&self, kind: &Arc<Kind>, spec: &MappingNode) -> Outcome<()> {
        for _ in 0..POLLS.0 {
            let (kind, spec) = (kind.clone(), Some(spec.clone()));
            if self.call(|cx| resource::stable(kind, cx, spec)).await? {
                return Ok(());
            }
            tokio::time::sleep(POLLS.1).await;
        }
        Err(Failure::new("the object did not become stable", ""))
    }

    /// Reads an object; `None` if it does not exist.
    pub(crate) async fn read(&self, name: &str, state: &Value) -> Outcome<Option<Value>> {
        let kind = self.server.kind_of(name)?;
        let (asked, spec) = (kind.clone(), encode(state, &kind.entry.ty, None));
        let found = self
            .call(|cx| resource::read_object(asked, cx, spec))
            .await?;
        match is_null_node(&found) {
            true => Ok(None),
            false => object(&kind, &found).map(Some),
        }
    }

    /// Imports an object by its id; `None` if it does not exist.
    pub(crate) async fn import(&self, name: &str, id: &str) -> Outcome<Option<Value>> {
        let kind = self.server.kind_of(name)?;
        let schema = &kind.entry.schema;
        let only_id = crate::provider::import_by(schema, id_field(schema), id)?;
        self.read(name, &only_id.value).await
    }

    /// Destroys an object.
    pub(crate) async fn destroy(&self, name: &str, state: &Value) -> Outcome<()> {
        let kind = self.server.kind_of(name)?;
        let spec = encode(state, &kind.entry.ty, None);
        self.call(|cx| resource::destroy(kind, cx, spec)).await
    }
}

fn object(kind: &Kind, spec: &MappingNode) -> Outcome<Value> {
    let value = decode(Some(spec), &kind.entry.ty).map_err(Failure::of)?;
    Ok(kind.entry.schema.block.with_empty_blocks(value))
}

/// Finds the place of a computed value: `spec.id`, `spec.subnet[0].id`, `spec["odd.name"]`.
fn place<'n>(mut node: &'n mut MappingNode, path: &str) -> Option<&'n mut MappingNode> {
    let mut rest = path.strip_prefix("spec")?;
    while !rest.is_empty() {
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            node = node.fields.entry(named[..end].to_owned()).or_default();
            rest = &named[end..];
            continue;
        }
        let inside = rest.strip_prefix('[')?;
        let mut keys = serde_json::Deserializer::from_str(inside).into_iter::<Json>();
        let key = keys.next()?.ok()?;
        rest = inside[keys.byte_offset()..].strip_prefix(']')?;
        node = match key {
            Json::String(name) => node.fields.entry(name).or_default(),
            index => node.items.get_mut(usize::try_from(index.as_u64()?).ok()?)?,
        };
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Type;

    #[test]
    fn computed_values_are_placed_by_the_paths_of_the_host() {
        let object = |name: &str, value| Value::object([(name, value)]);
        let list = Value::list(
            object("a", Value::string("")).ty().clone(),
            vec![object("a", Value::string("x"))],
        );
        let spec = object("list", list);
        let mut spec = encode(&spec, spec.ty(), None).unwrap();
        for path in ["spec.id", "spec.list[0].b", "spec[\"odd.]\"].c"] {
            *place(&mut spec, path).unwrap() = scalar(Scalar::StringValue(path.to_owned()));
        }
        let text = |name: &str| (name.to_owned(), Type::String);
        let inner = Type::object([text("a"), text("b")]);
        let ty = Type::object([
            text("id"),
            ("list".to_owned(), Type::list(inner)),
            ("odd.]".to_owned(), Type::object([text("c")])),
        ]);
        let found = codec::to_json(&decode(Some(&spec), &ty).unwrap(), &ty).unwrap();
        let wanted = serde_json::json!({
            "id": "spec.id", "list": [{"a": "x", "b": "spec.list[0].b"}],
            "odd.]": {"c": "spec[\"odd.]\"].c"},
        });
        assert_eq!(found, wanted);
        for path in ["id", "spec.list[1]", "spec[", "spec[0"] {
            assert!(place(&mut spec, path).is_none(), "{path}");
        }
    }
}
