//! Configurations and proposed states, built from a schema as a host builds them.

use std::collections::HashMap;

use cty::{Type, Value};
use proto::tfplugin6 as pb;
use proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use proto::tfplugin6::schema::object::NestingMode as ObjectNesting;
use serde_json::Value as Json;

pub fn attr_type(attr: &pb::schema::Attribute) -> Type {
    match &attr.nested_type {
        None => Type::from_json(&attr.r#type).unwrap(),
        Some(object) => {
            let inner = Type::object(
                object
                    .attributes
                    .iter()
                    .map(|attr| (attr.name.clone(), attr_type(attr))),
            );
            match object.nesting() {
                ObjectNesting::List => Type::list(inner),
                ObjectNesting::Set => Type::set(inner),
                ObjectNesting::Map => Type::map(inner),
                _ => inner,
            }
        }
    }
}

pub fn type_of(block: &pb::schema::Block) -> Type {
    let attributes = block
        .attributes
        .iter()
        .map(|attr| (attr.name.clone(), attr_type(attr)));
    let blocks = block.block_types.iter().map(|nested| {
        let inner = type_of(nested.block.as_ref().unwrap());
        let ty = match nested.nesting() {
            BlockNesting::List => Type::list(inner),
            BlockNesting::Set => Type::set(inner),
            BlockNesting::Map => Type::map(inner),
            _ => inner,
        };
        (nested.type_name.clone(), ty)
    });
    Type::object(attributes.chain(blocks))
}

pub fn config(block: &pb::schema::Block, json: Json) -> Value {
    let Json::Object(mut given) = json else {
        panic!("a configuration is an object")
    };
    let mut members: HashMap<String, Value> = HashMap::new();
    for attr in &block.attributes {
        let ty = attr_type(attr);
        let value = match given.remove(&attr.name) {
            None => Value::null(ty),
            Some(json) => attribute(attr, json),
        };
        members.insert(attr.name.clone(), value);
    }
    for nested in &block.block_types {
        let inner = nested.block.as_ref().unwrap();
        let ty = type_of(inner);
        let value = match (given.remove(&nested.type_name), nested.nesting()) {
            (Some(json), BlockNesting::Single) => config(inner, json),
            (None, BlockNesting::Single) => Value::null(ty),
            (json, nesting) => {
                let Json::Array(elements) = json.unwrap_or_else(|| Json::Array(vec![])) else {
                    panic!("blocks are a list")
                };
                let elements = elements
                    .into_iter()
                    .map(|element| config(inner, element))
                    .collect();
                if nesting == BlockNesting::Set {
                    Value::set(ty, elements)
                } else {
                    Value::list(ty, elements)
                }
            }
        };
        members.insert(nested.type_name.clone(), value);
    }
    assert!(given.is_empty(), "not in the schema: {given:?}");
    Value::object(members)
}

pub(super) fn attribute(attr: &pb::schema::Attribute, json: Json) -> Value {
    let object = |inner: &pb::schema::Object, json: Json| {
        let block = pb::schema::Block {
            attributes: inner.attributes.clone(),
            ..Default::default()
        };
        config(&block, json)
    };
    match (&attr.nested_type, json) {
        (None, json) if attr_type(attr).is_dynamic() => {
            cty::json::decode_implied(json.to_string().as_bytes()).unwrap()
        }
        (None, json) => cty::json::decode(json.to_string().as_bytes(), &attr_type(attr)).unwrap(),
        (Some(inner), Json::Array(elements)) => {
            let ty = attr_type(attr).element_type().unwrap().clone();
            Value::list(
                ty,
                elements
                    .into_iter()
                    .map(|element| object(inner, element))
                    .collect(),
            )
        }
        (Some(inner), json) => object(inner, json),
    }
}

/// Combines configuration and prior value as far as these tests need it: computed attributes keep
/// their value, and blocks in a list are matched by index.
pub fn proposed(block: &pb::schema::Block, prior: &Value, config: &Value) -> Value {
    if prior.is_null() {
        return config.clone();
    }
    let mut members: HashMap<String, Value> = HashMap::new();
    for attr in &block.attributes {
        let (old, new) = (
            prior.get_attr(&attr.name).unwrap(),
            config.get_attr(&attr.name).unwrap(),
        );
        let single = attr
            .nested_type
            .as_ref()
            .filter(|inner| inner.nesting() == ObjectNesting::Single);
        let value = match single {
            Some(inner) if old.is_given() && new.is_given() => {
                let block = pb::schema::Block {
                    attributes: inner.attributes.clone(),
                    ..Default::default()
                };
                proposed(&block, &old, &new)
            }
            _ if attr.computed && new.is_null() => old,
            _ => new,
        };
        members.insert(attr.name.clone(), value);
    }
    for nested in &block.block_types {
        let inner = nested.block.as_ref().unwrap();
        let (old, new) = (
            prior.get_attr(&nested.type_name).unwrap(),
            config.get_attr(&nested.type_name).unwrap(),
        );
        let value = match nested.nesting() {
            BlockNesting::Single if new.is_given() => proposed(inner, &old, &new),
            BlockNesting::List => {
                let pair = |(number, element): (usize, &Value)| match old.index_int(number) {
                    Some(old) => proposed(inner, &old, element),
                    None => element.clone(),
                };
                Value::list(
                    type_of(inner),
                    new.as_slice()
                        .unwrap_or_default()
                        .iter()
                        .enumerate()
                        .map(pair)
                        .collect(),
                )
            }
            _ => new,
        };
        members.insert(nested.type_name.clone(), value);
    }
    Value::object(members)
}
