//! Lower bound of a run: a minimal client that makes only the calls that the protocol requires,
//! without configuration language, state, store and events. The rest is the cost of plugin, sockets
//! and TLS. Uses the same number of concurrent calls as flightdeck.

use std::error::Error;
use std::time::Duration;

use cty::schema::Schema;
use cty::{Type, Value};
use proto::tfplugin6::DynamicValue;
use proto::{Bytes, tfplugin6 as pb};

use super::minimal_client::Bare;
use crate::shape::Kind;

pub(super) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Object of the minimal client: bytes passed from response to request.
#[derive(Clone, Default)]
pub(super) struct Item {
    pub(super) config: Bytes,
    pub(super) proposed: Bytes,
    pub(super) state: Bytes,
    pub(super) private: Bytes,
    /// State file form of the object, for the upgrade call.
    pub(super) json: Bytes,
}

/// Objects of one resource type.
pub(super) struct Group<'k> {
    pub(super) kind: &'k Kind,
    pub(super) schema: Schema,
    ty: Type,
    pub(super) null: Bytes,
    pub(super) items: Vec<Item>,
}

/// Objects after a deploy, for the following phases.
pub struct Left(Vec<Vec<Item>>);

/// Arguments of the measured phases.
pub struct Floor<'k> {
    pub plugin: &'k crate::workspace::Plugin,
    pub first: &'k Kind,
    pub second: &'k Kind,
    pub n: usize,
}

impl Floor<'_> {
    /// Plans everything from an empty state.
    pub async fn stage(&self) -> Outcome<Duration> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.groups(&bare)?;
        bare.plan_new(&mut groups[0], true).await?;
        bare.plan_new(&mut groups[1], true).await?;
        bare.close().await
    }

    /// Plans everything, then plans again with the values known by then, and creates it.
    pub async fn deploy(&self) -> Outcome<(Duration, Left)> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.groups(&bare)?;
        bare.plan_new(&mut groups[0], true).await?;
        bare.plan_new(&mut groups[1], true).await?;
        bare.create(&mut groups[0], false).await?;
        let ids = groups[0].ids()?;
        groups[1].configure(|i| self.second.config(i, Some(&ids[i])))?;
        // Configurations that had unknown values are validated again.
        bare.create(&mut groups[1], true).await?;
        for group in &mut groups {
            group.keep()?;
        }
        let left = Left(groups.into_iter().map(|g| g.items).collect());
        Ok((bare.close().await?, left))
    }

    /// Reads and plans everything, without changes.
    pub async fn unchanged(&self, left: &Left) -> Outcome<Duration> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.there(&bare, left)?;
        for group in &mut groups {
            bare.look(group).await?;
            bare.plan_there(group).await?;
        }
        bare.close().await
    }

    /// Reads everything, then destroys it in reverse order.
    pub async fn destroy(&self, left: &Left) -> Outcome<Duration> {
        let mut bare = Bare::launch(self.plugin).await?;
        let mut groups = self.there(&bare, left)?;
        for group in &mut groups {
            bare.look(group).await?;
            // Hosts plan a destroy only with providers that support it.
            if bare.schema.capabilities.plan_destroy {
                bare.plan_destroy(group).await?;
            }
        }
        for group in groups.iter_mut().rev() {
            bare.destroy(group).await?;
        }
        bare.close().await
    }

    fn groups(&self, bare: &Bare) -> Outcome<Vec<Group<'_>>> {
        let mut first = Group::new(self.first, bare, self.n)?;
        let mut second = Group::new(self.second, bare, self.n)?;
        first.configure(|i| self.first.config(i, None))?;
        second.configure(|i| self.second.config(i, None))?;
        Ok(vec![first, second])
    }

    fn there(&self, bare: &Bare, left: &Left) -> Outcome<Vec<Group<'_>>> {
        let mut groups = self.groups(bare)?;
        for (group, items) in groups.iter_mut().zip(&left.0) {
            group.items.clone_from(items);
        }
        Ok(groups)
    }
}

impl<'k> Group<'k> {
    pub(super) fn new(kind: &'k Kind, bare: &Bare, n: usize) -> Outcome<Self> {
        let schema = bare
            .schema
            .resources
            .get(kind.type_name)
            .ok_or_else(|| format!("the plugin has no {}", kind.type_name))?
            .clone();
        let ty = schema.block.implied_type().clone();
        let null = cty::msgpack::encode(&Value::null(ty.clone()), &ty)?.into();
        Ok(Self {
            kind,
            schema,
            ty,
            null,
            items: vec![Item::default(); n],
        })
    }

    /// Writes the configured and the proposed objects of all items.
    fn configure(
        &mut self,
        arguments: impl Fn(usize) -> Vec<(&'static str, Value)>,
    ) -> Outcome<()> {
        let empty = self.schema.block.empty_value();
        let null = Value::null(self.ty.clone());
        for (i, item) in self.items.iter_mut().enumerate() {
            let mut attributes: Vec<(String, Value)> = self
                .ty
                .as_object()
                .into_iter()
                .flat_map(|o| o.attributes.keys())
                .map(|name| {
                    (
                        name.to_string(),
                        empty.get_attr(name).unwrap_or_else(Value::dynamic),
                    )
                })
                .collect();
            // The other attributes keep the value of an empty configuration.
            for (name, value) in arguments(i) {
                attributes
                    .iter_mut()
                    .filter(|(n, _)| n == name)
                    .for_each(|(_, v)| *v = value.clone());
            }
            let config = Value::object(attributes);
            let proposed = cty::plan::proposed_new(&self.schema.block, &null, &config);
            item.config = cty::msgpack::encode(&config, &self.ty)?.into();
            item.proposed = cty::msgpack::encode(&proposed, &self.ty)?.into();
        }
        Ok(())
    }

    fn value(&self, item: &Item) -> Outcome<Value> {
        Ok(cty::msgpack::decode(&item.state, &self.ty)?)
    }

    fn ids(&self) -> Outcome<Vec<Value>> {
        self.items
            .iter()
            .map(|i| self.value(i)?.get_attr("id").ok_or_else(|| "no id".into()))
            .collect()
    }

    fn keep(&mut self) -> Outcome<()> {
        for i in 0..self.items.len() {
            let value = self.value(&self.items[i])?;
            let item = &mut self.items[i];
            item.json = cty::json::encode(&value, &self.ty)?.into_bytes().into();
            // Without changes, the proposed value is the state.
            item.proposed = item.state.clone();
        }
        Ok(())
    }
}

pub(super) fn value(msgpack: &Bytes) -> Option<DynamicValue> {
    Some(DynamicValue {
        msgpack: msgpack.clone(),
        json: Bytes::new(),
    })
}

pub(super) fn bytes(value: Option<DynamicValue>) -> Bytes {
    value.map(|v| v.msgpack).unwrap_or_default()
}

pub(super) fn good(diagnostics: &[pb::Diagnostic]) -> Outcome<()> {
    // 2 is a warning.
    match diagnostics.iter().find(|d| d.severity != 2) {
        Some(d) => Err(format!("{}: {}", d.summary, d.detail).into()),
        None => Ok(()),
    }
}
