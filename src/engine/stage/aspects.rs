//! Aspects of the drift of an object, from the schema of its type. Pure.

use super::change::{Change, Drift};
use cty::Value;
use cty::schema::{Attribute, Block, Nesting, Schema};
use lang::addr::AbsInstance;
use model::{Action, DriftAspect, StageMode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names of attributes and blocks with metadata.
const METADATA: [&str; 5] = ["tags", "tags_all", "labels", "annotations", "metadata"];

/// Returns the aspects of the differences between the recorded object and the one read, sorted.
/// None for an object that does not exist any more.
pub fn aspects(schema: &Schema, before: &Value, after: &Value) -> Vec<DriftAspect> {
    let plain = |value: &Value| value.clone().unmark_deep().0;
    let mut found = Found::default();
    found.block(&schema.block, &plain(before), &plain(after), false);
    found.aspects.into_iter().collect()
}

/// Corrects the aspects of objects that a plan does not change: an attribute that is both optional
/// and computed, or ignored, may differ without an update.
pub fn corrected(mut drift: Vec<Drift>, changes: &[Change], mode: StageMode) -> Vec<Drift> {
    if mode != StageMode::Normal {
        return drift;
    }
    let kept = changes.iter().filter(|c| c.action() == Action::NoOp);
    let kept: BTreeSet<&AbsInstance> = kept.map(|c| &c.address).collect();
    for drift in &mut drift {
        let is_kept = drift.deposed.is_none() && kept.contains(&drift.address);
        if is_kept && drift.aspects.contains(&DriftAspect::UpdateNeeded) {
            let of_plan = |aspect| match aspect {
                DriftAspect::UpdateNeeded => DriftAspect::StatusChanged,
                other => other,
            };
            let corrected: BTreeSet<_> = drift.aspects.iter().copied().map(of_plan).collect();
            drift.aspects = corrected.into_iter().collect();
        }
    }
    drift
}

#[derive(Default)]
struct Found {
    aspects: BTreeSet<DriftAspect>,
}

impl Found {
    /// `metadata` is true inside of an attribute or block with metadata.
    fn block(&mut self, block: &Block, before: &Value, after: &Value, metadata: bool) {
        if before.is_null() || after.is_null() {
            return;
        }
        self.attributes(&block.attributes, before, after, metadata);
        for (name, nested) in &block.blocks {
            let (Some(before), Some(after)) = (before.get_attr(name), after.get_attr(name)) else {
                continue;
            };
            let metadata = metadata || is_metadata(name);
            match pairs(nested.nesting, &before, &after) {
                Some(pairs) => pairs
                    .iter()
                    .for_each(|(before, after)| self.block(&nested.block, before, after, metadata)),
                // Only the configuration adds and removes blocks.
                None => self.configured(metadata),
            }
        }
    }

    fn attributes(
        &mut self,
        attributes: &BTreeMap<Arc<str>, Attribute>,
        before: &Value,
        after: &Value,
        metadata: bool,
    ) {
        for (name, attribute) in attributes {
            let (Some(before), Some(after)) = (before.get_attr(name), after.get_attr(name)) else {
                continue;
            };
            if !before.raw_equals(&after) {
                let metadata = metadata || is_metadata(name);
                self.attribute(attribute, &before, &after, metadata);
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute, before: &Value, after: &Value, metadata: bool) {
        let settable = attribute.optional || attribute.required;
        if settable && attribute.computed && before.is_null() {
            self.aspects.insert(DriftAspect::LateInitialised);
            return;
        }
        if attribute.computed && !settable {
            self.aspects.insert(DriftAspect::StatusChanged);
            return;
        }
        let nested = attribute.nested.as_ref();
        let pairs = nested.and_then(|nested| Some((nested, pairs(nested.nesting, before, after)?)));
        let Some((nested, pairs)) = pairs else {
            return self.configured(metadata);
        };
        for (before, after) in pairs {
            match before.is_null() || after.is_null() {
                true => self.configured(metadata),
                false => self.attributes(&nested.attributes, &before, &after, metadata),
            }
        }
    }

    /// A part that the configuration sets has changed.
    fn configured(&mut self, metadata: bool) {
        self.aspects.insert(match metadata {
            true => DriftAspect::MetadataChanged,
            false => DriftAspect::UpdateNeeded,
        });
    }
}

fn is_metadata(name: &str) -> bool {
    METADATA.contains(&name)
}

/// Pairs the objects of a nested block or attribute; `None` if one side has others.
fn pairs(nesting: Nesting, before: &Value, after: &Value) -> Option<Vec<(Value, Value)>> {
    if before.raw_equals(after) {
        return Some(Vec::new());
    }
    match nesting {
        Nesting::Single | Nesting::Group => {
            let one_sided = before.is_null() != after.is_null();
            (!one_sided).then(|| vec![(before.clone(), after.clone())])
        }
        Nesting::Map if keys(before) != keys(after) => None,
        _ => {
            let same_number = before.children().count() == after.children().count();
            let all = || before.children().cloned().zip(after.children().cloned());
            same_number.then(|| all().collect())
        }
    }
}

fn keys(map: &Value) -> Vec<Arc<str>> {
    let members = map.as_map().into_iter().flat_map(|members| members.iter());
    members.map(|(name, _)| Arc::from(&**name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use DriftAspect::{LateInitialised, MetadataChanged, StatusChanged, UpdateNeeded};
    use cty::Type;
    use cty::schema::{NestedBlock, NestedObject};

    fn schema() -> Schema {
        let text = || Type::String;
        let tags = || Type::map(Type::String);
        let inner = Block {
            attributes: [
                ("size".into(), Attribute::optional(text())),
                ("state".into(), Attribute::computed(text())),
            ]
            .into(),
            ..Block::default()
        };
        let metadata = Block {
            attributes: [
                ("annotations".into(), Attribute::optional(tags())),
                ("name".into(), Attribute::optional(text())),
                ("generation".into(), Attribute::computed(text())),
            ]
            .into(),
            ..Block::default()
        };
        let listeners = Attribute {
            nested: Some(NestedObject {
                attributes: inner.attributes.clone(),
                nesting: Nesting::Map,
            }),
            ..Attribute::optional(Type::Dynamic)
        };
        let block = Block {
            attributes: [
                ("name".into(), Attribute::required(text())),
                ("class".into(), Attribute::optional(text())),
                ("zone".into(), Attribute::optional_computed(text())),
                ("status".into(), Attribute::computed(text())),
                ("secret".into(), Attribute::optional(text()).sensitive()),
                ("tags".into(), Attribute::optional(tags())),
                ("tags_all".into(), Attribute::optional_computed(tags())),
                ("labels".into(), Attribute::computed(tags())),
                ("listeners".into(), listeners),
            ]
            .into(),
            blocks: [
                ("disk".into(), NestedBlock::new(Nesting::List, inner)),
                ("metadata".into(), NestedBlock::new(Nesting::List, metadata)),
            ]
            .into(),
            ..Block::default()
        };
        Schema::new(0, block)
    }

    fn object(json: &str) -> Value {
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let schema = schema();
        let mut all = serde_json::Map::new();
        for name in schema.block.attributes.keys() {
            all.insert(name.to_string(), serde_json::Value::Null);
        }
        for name in schema.block.blocks.keys() {
            all.insert(name.to_string(), serde_json::json!([]));
        }
        all.extend(json.as_object().unwrap().clone());
        cty::json::decode_value(&all.into(), schema.implied_type()).unwrap()
    }

    #[test]
    fn s1_10_drift_has_the_aspects_of_its_attributes() {
        for (before, after, expected) in [
            (r#"{"name":"a"}"#, r#"{"name":"a"}"#, &[][..]),
            // Set by the provider after the create.
            (r#"{}"#, r#"{"zone":"z1"}"#, &[LateInitialised]),
            (r#"{}"#, r#"{"tags_all":{"a":"b"}}"#, &[LateInitialised]),
            (r#"{"zone":"z1"}"#, r#"{"zone":"z2"}"#, &[UpdateNeeded]),
            (r#"{"zone":"z1"}"#, r#"{}"#, &[UpdateNeeded]),
            (r#"{"status":"a"}"#, r#"{"status":"b"}"#, &[StatusChanged]),
            (r#"{}"#, r#"{"status":"b"}"#, &[StatusChanged]),
            (
                r#"{"labels":{}}"#,
                r#"{"labels":{"a":"b"}}"#,
                &[StatusChanged],
            ),
            (
                r#"{"tags":{"a":"1"}}"#,
                r#"{"tags":{"a":"2"}}"#,
                &[MetadataChanged],
            ),
            (r#"{}"#, r#"{"tags":{"a":"2"}}"#, &[MetadataChanged]),
            (
                r#"{"tags_all":{}}"#,
                r#"{"tags_all":{"a":"2"}}"#,
                &[MetadataChanged],
            ),
            (r#"{"name":"a"}"#, r#"{"name":"b"}"#, &[UpdateNeeded]),
            (r#"{"secret":"a"}"#, r#"{"secret":"b"}"#, &[UpdateNeeded]),
            (r#"{}"#, r#"{"class":"x"}"#, &[UpdateNeeded]),
            // Parts of blocks and nested attributes.
            (
                r#"{"disk":[{"size":"1","state":"a"}]}"#,
                r#"{"disk":[{"size":"1","state":"b"}]}"#,
                &[StatusChanged],
            ),
            (
                r#"{"disk":[{"size":"1","state":"a"}]}"#,
                r#"{"disk":[{"size":"2","state":"a"}]}"#,
                &[UpdateNeeded],
            ),
            (
                r#"{}"#,
                r#"{"disk":[{"size":"1","state":"a"}]}"#,
                &[UpdateNeeded],
            ),
            (
                r#"{"listeners":{"a":{"size":"1","state":"x"}}}"#,
                r#"{"listeners":{"a":{"size":"1","state":"y"}}}"#,
                &[StatusChanged],
            ),
            (
                r#"{"listeners":{"a":{"size":"1","state":"x"}}}"#,
                r#"{"listeners":{"b":{"size":"1","state":"x"}}}"#,
                &[UpdateNeeded],
            ),
            (
                r#"{"metadata":[{"annotations":{},"name":"n","generation":"1"}]}"#,
                r#"{"metadata":[{"annotations":{"a":"b"},"name":"n","generation":"2"}]}"#,
                &[StatusChanged, MetadataChanged],
            ),
            (
                r#"{"name":"a","status":"x","tags":{"a":"1"}}"#,
                r#"{"name":"b","status":"y","tags":{},"zone":"z"}"#,
                &[
                    LateInitialised,
                    StatusChanged,
                    MetadataChanged,
                    UpdateNeeded,
                ],
            ),
        ] {
            let found = aspects(&schema(), &object(before), &object(after));
            assert_eq!(found, expected, "{before} -> {after}");
        }
    }

    #[test]
    fn s1_10_missing_object_has_no_aspects() {
        let gone = Value::null(schema().implied_type().clone());
        assert_eq!(aspects(&schema(), &object(r#"{"name":"a"}"#), &gone), []);
    }

    #[test]
    fn s1_10_sensitivity_is_no_difference() {
        let plain = object(r#"{"name":"a"}"#);
        let marked = plain.clone().mark(cty::Mark::Sensitive);
        assert_eq!(aspects(&schema(), &plain, &marked), []);
    }
}
