//! The fake `answers`: a provider of `fake_thing` whose answers to some calls are chosen by the
//! test. The test writes them as a list into `answers.json` in `FAKE_PLUGIN_DIR`: `call` (`create`,
//! `update`, `delete` or `read`), optionally `name` (only objects of this name), `answer` (see
//! [`Answer::object`]), `error` (adds an error to the answer), optionally `unreadable_identity`.
//! Other calls are answered correctly. Objects of `answers-nested` have the nested block `rule`,
//! too.

use cty::{Type, Value};
use prost::Message;
use proto::{Bytes, tfplugin6 as pb};
use serde::Deserialize;
use tonic::Status;

use super::provider::{bad, encoded, error, with};

#[derive(Deserialize)]
struct Answer {
    call: String,
    name: Option<String>,
    answer: String,
    error: bool,
    /// Adds an identity that cannot be decoded.
    #[serde(default)]
    unreadable_identity: bool,
}

impl Answer {
    /// Answer that the test chose for this call, if any.
    fn chosen(call: &str, prior: &Value, planned: &Value) -> Result<Option<Self>, Status> {
        let Ok(text) = std::fs::read_to_string(crate::folder().join("answers.json")) else {
            return Ok(None);
        };
        let all: Vec<Self> = serde_json::from_str(&text).map_err(bad)?;
        let is_named = |object: &Value, name: &str| {
            let own = object.get_attr("name");
            own.is_some_and(|own| own.as_str() == Some(name))
        };
        Ok(all.into_iter().find(|one| {
            let named = one.name.as_deref();
            one.call == call && named.is_none_or(|n| is_named(prior, n) || is_named(planned, n))
        }))
    }

    /// Object of the answer; `None` if the answer has no object, which differs from null.
    fn object(&self, prior: &Value, planned: &Value) -> Option<Value> {
        let null = || Value::null(thing());
        let finished = || match planned.is_null() {
            true => null(),
            false => with(planned, "id", Value::string("made")),
        };
        match self.answer.as_str() {
            "none" => None,
            "null" => Some(null()),
            "prior" => Some(prior.clone()),
            "planned" => Some(finished()),
            "unknown" => Some(planned.clone()),
            "unreadable" => Some(Value::string("no object")),
            // Drops changes of nested blocks.
            "prior-rule" => {
                let rule = prior.get_attr("rule");
                Some(with(
                    &finished(),
                    "rule",
                    rule.unwrap_or_else(|| Value::null(rules())),
                ))
            }
            "half" => {
                let object = if planned.is_null() {
                    prior.clone()
                } else {
                    finished()
                };
                Some(with(&object, "name", Value::string("half")))
            }
            other => panic!("there is no answer {other:?}"),
        }
    }

    fn diagnostics(&self) -> Vec<pb::Diagnostic> {
        let refused = || error("the answer has an error", "the test asked for it");
        self.error.then(refused).into_iter().collect()
    }
}

/// Answers a call of the provider's service; `None` for calls that every fake answers alike.
pub(super) fn answer(method: &str, request: &Bytes) -> Result<Option<Bytes>, Status> {
    Ok(Some(match method {
        "GetProviderSchema" => schema(),
        "GetResourceIdentitySchemas" => identities(),
        "UpgradeResourceState" => upgrade(request.clone())?,
        "ReadResource" => read(request.clone())?,
        "PlanResourceChange" => plan(request.clone())?,
        "ApplyResourceChange" => apply(request.clone())?,
        _ => return Ok(None),
    }))
}

fn thing() -> Type {
    let mut attributes = vec![
        ("id", Type::String),
        ("name", Type::String),
        ("require_new", Type::String),
    ];
    if has_rules() {
        attributes.push(("rule", rules()));
    }
    Type::object(attributes)
}

/// Returns true for the fake whose objects have nested blocks.
fn has_rules() -> bool {
    crate::name().as_deref() == Some("answers-nested")
}

/// Type of the nested blocks.
fn rules() -> Type {
    Type::list(Type::object([("port", Type::String)]))
}

fn value(sent: Option<pb::DynamicValue>) -> Result<Value, Status> {
    match sent {
        Some(sent) => cty::msgpack::decode(&sent.msgpack, &thing()).map_err(bad),
        None => Ok(Value::null(thing())),
    }
}

fn sent(value: &Value) -> Result<pb::DynamicValue, Status> {
    // A value of a wrong type, which the test requested, is encoded with its own type.
    let ty = if value.is_null() {
        &thing()
    } else {
        value.ty()
    };
    let msgpack = cty::msgpack::encode(value, ty).map_err(bad)?;
    Ok(pb::DynamicValue {
        msgpack: msgpack.into(),
        json: Bytes::new(),
    })
}

fn schema() -> Bytes {
    let attribute = |name: &str, computed: bool| pb::schema::Attribute {
        name: name.to_owned(),
        r#type: Bytes::from_static(b"\"string\""),
        required: !computed,
        computed,
        ..Default::default()
    };
    let of = |attributes, block_types| pb::schema::Block {
        attributes,
        block_types,
        ..Default::default()
    };
    let schema = |block| pb::Schema {
        version: 0,
        block: Some(block),
    };
    let rule = pb::schema::NestedBlock {
        type_name: "rule".to_owned(),
        block: Some(of(vec![attribute("port", false)], Vec::new())),
        nesting: pb::schema::nested_block::NestingMode::List.into(),
        ..Default::default()
    };
    let attributes = vec![
        attribute("id", true),
        attribute("name", false),
        attribute("require_new", false),
    ];
    let rules = has_rules().then_some(rule);
    let thing = schema(of(attributes, rules.into_iter().collect()));
    encoded(&pb::get_provider_schema::Response {
        provider: Some(schema(of(Vec::new(), Vec::new()))),
        resource_schemas: [("fake_thing".to_owned(), thing)].into(),
        ..Default::default()
    })
}

fn identities() -> Bytes {
    let id = pb::resource_identity_schema::IdentityAttribute {
        name: "id".to_owned(),
        r#type: Bytes::from_static(b"\"string\""),
        required_for_import: true,
        ..Default::default()
    };
    let identity = pb::ResourceIdentitySchema {
        version: 0,
        identity_attributes: vec![id],
    };
    encoded(&pb::get_resource_identity_schemas::Response {
        identity_schemas: [("fake_thing".to_owned(), identity)].into(),
        ..Default::default()
    })
}

fn upgrade(request: Bytes) -> Result<Bytes, Status> {
    let request = pb::upgrade_resource_state::Request::decode(request).map_err(bad)?;
    let json = request.raw_state.map(|raw| raw.json).unwrap_or_default();
    let json = serde_json::from_slice(&json).map_err(bad)?;
    let state = cty::json::decode_value(&json, &thing()).map_err(bad)?;
    Ok(encoded(&pb::upgrade_resource_state::Response {
        upgraded_state: Some(sent(&state)?),
        diagnostics: Vec::new(),
    }))
}

fn read(request: Bytes) -> Result<Bytes, Status> {
    let request = pb::read_resource::Request::decode(request).map_err(bad)?;
    let current = value(request.current_state)?;
    let mut reply = pb::read_resource::Response {
        new_state: Some(sent(&current)?),
        private: request.private,
        ..Default::default()
    };
    if let Some(chosen) = Answer::chosen("read", &current, &current)? {
        let unknown = with(&current, "id", Value::unknown(Type::String));
        let object = match chosen.answer.as_str() {
            "unknown" => Some(unknown),
            _ => chosen.object(&current, &current),
        };
        reply.new_state = object.as_ref().map(sent).transpose()?;
        reply.diagnostics = chosen.diagnostics();
    }
    Ok(encoded(&reply))
}

fn plan(request: Bytes) -> Result<Bytes, Status> {
    let request = pb::plan_resource_change::Request::decode(request).map_err(bad)?;
    let (prior, mut planned) = (
        value(request.prior_state)?,
        value(request.proposed_new_state)?,
    );
    let mut reply = pb::plan_resource_change::Response {
        planned_private: Bytes::from_static(b"planned"),
        ..Default::default()
    };
    if !planned.is_null() && prior.is_null() {
        planned = with(&planned, "id", Value::unknown(Type::String));
    }
    let differs = |name: &str| {
        let texts = [&prior, &planned].map(|object| object.get_attr(name));
        texts[0] != texts[1]
    };
    if !planned.is_null() && !prior.is_null() && differs("require_new") {
        let name = pb::attribute_path::step::Selector::AttributeName("require_new".to_owned());
        let step = pb::attribute_path::Step {
            selector: Some(name),
        };
        reply.requires_replace = vec![pb::AttributePath { steps: vec![step] }];
    }
    reply.planned_state = Some(sent(&planned)?);
    Ok(encoded(&reply))
}

fn apply(request: Bytes) -> Result<Bytes, Status> {
    let request = pb::apply_resource_change::Request::decode(request).map_err(bad)?;
    let (prior, planned) = (value(request.prior_state)?, value(request.planned_state)?);
    let call = match (prior.is_null(), planned.is_null()) {
        (_, true) => "delete",
        (true, _) => "create",
        _ => "update",
    };
    let correct = Answer {
        call: String::new(),
        name: None,
        answer: "planned".to_owned(),
        error: false,
        unreadable_identity: false,
    };
    let chosen = Answer::chosen(call, &prior, &planned)?.unwrap_or(correct);
    let object = chosen.object(&prior, &planned);
    let unreadable = || pb::ResourceIdentityData {
        identity_data: Some(pb::DynamicValue {
            msgpack: Bytes::from_static(b"\xc1"),
            json: Bytes::new(),
        }),
    };
    Ok(encoded(&pb::apply_resource_change::Response {
        new_identity: chosen.unreadable_identity.then(unreadable),
        new_state: object.as_ref().map(sent).transpose()?,
        private: Bytes::from_static(b"answered"),
        diagnostics: chosen.diagnostics(),
        ..Default::default()
    }))
}
