//! Provider in this process for unit tests. Its objects follow simple rules, so that a table can
//! predict each answer; `remote` has what a read finds instead of the recorded object.
//!
//! | type | rules |
//! |---|---|
//! | `lab_thing` | `zone`, and `token = "rotate"`, force a replacement |
//! | `lab_other` | the same; takes over objects that move from `lab_thing` |
//! | `lab_legacy` | the same, on a legacy SDK: plans names in lower case |
//! | data `lab_data` | `value` is computed from `name` |
//! | ephemeral `lab_lease` | `result` is computed from `name` |
//! | `link` | links a `lab_thing` to a `lab_thing`; its `id` has the ids of both |
//!
//! The `id` of a resource is computed, `note` unless configured, `secret` is sensitive, and `token`
//! write-only.
//!
//! The name `invalid` fails validation, `refused` fails a plan, `broken` is planned as another
//! name, `none` is planned as no object, `warned` is planned with a warning; a name that begins
//! with `crash` ends the call.

use super::single_provider::{link_id, text, unknown, with};
use async_trait::async_trait;
use calls::{CallContext, Checked, Method, ProviderDiagnostic, ProviderError};
use cty::schema::{Attribute, Block, NestedBlock, Nesting, Schema};
use cty::{Path, Type, Value};
use model::mutex::lock;
use model::{PluginId, Severity, full_address};
use provider::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Version of the schema of resources. Version 0 had the name as `title`.
pub const VERSION: i64 = 1;

/// Returns the address of the provider.
pub fn address() -> Arc<str> {
    full_address("lab").into()
}

/// Provider, and the source of it for a walk: all configurations share it.
pub struct Lab {
    info: ProviderInfo,
    schema: Arc<ProviderSchema>,
    /// Attributes that a read finds changed, by the object's id; null if the object is gone.
    remote: HashMap<String, serde_json::Value>,
    /// Calls about resource instances: method and address.
    calls: Mutex<Vec<String>>,
}

impl Lab {
    pub fn new(remote: HashMap<String, serde_json::Value>) -> Self {
        let (id, address) = (PluginId("test/lab".into()), address().to_string());
        Self {
            info: ProviderInfo {
                plugin: id,
                address,
                dialect: "tfplugin6",
            },
            schema: Arc::new(schema()),
            remote,
            calls: Mutex::default(),
        }
    }

    /// Requires a plan call for each destroy.
    pub fn planning_destroys(mut self) -> Self {
        Arc::make_mut(&mut self.schema).capabilities.plan_destroy = true;
        self
    }

    pub fn schemas(&self) -> Arc<ProviderSchema> {
        self.schema.clone()
    }

    /// Returns the calls so far, sorted, because instances are planned in parallel.
    pub fn calls(&self) -> Vec<String> {
        let mut all = lock(&self.calls).clone();
        all.sort();
        all
    }

    fn record(&self, method: &str, ctx: &CallContext) {
        let subject = ctx.resource.as_deref().unwrap_or("-");
        lock(&self.calls).push(format!("{method} {subject}"));
    }

    /// Returns the object as a read finds it.
    fn found(&self, current: Value) -> Value {
        match text(&current, "id").and_then(|id| self.remote.get(&id)) {
            None => current,
            Some(serde_json::Value::Object(changed)) => {
                let ty = current.ty().clone();
                let mut json = cty::json::to_json_value(&current).expect("encode");
                for (name, value) in changed {
                    json[name] = value.clone();
                }
                cty::json::decode_value(&json, &ty).expect("decode")
            }
            Some(_) => Value::null(current.ty().clone()),
        }
    }

    fn crash(&self, name: &Option<String>, method: Method) -> Result<(), ProviderError> {
        match name.as_deref().is_some_and(|n| n.starts_with("crash")) {
            false => Ok(()),
            true => Err(ProviderError::Unavailable {
                plugin: self.info.plugin.clone(),
                method,
                why: "closed".into(),
            }),
        }
    }
}

fn schema() -> ProviderSchema {
    let strings = Type::map(Type::String);
    let rule = Block {
        attributes: [("port".into(), Attribute::required(Type::Number))].into(),
        ..Block::default()
    };
    let optional = || Attribute::optional(Type::String);
    let computed = || Attribute::computed(Type::String);
    let attributes = [
        ("id".into(), computed()),
        ("name".into(), optional()),
        ("size".into(), Attribute::optional(Type::Number)),
        ("zone".into(), optional()),
        ("note".into(), Attribute::optional_computed(Type::String)),
        ("secret".into(), optional().sensitive()),
        ("tags".into(), Attribute::optional(strings)),
        (
            "token".into(),
            Attribute {
                write_only: true,
                ..optional()
            },
        ),
    ];
    let thing = Block {
        attributes: attributes.into(),
        blocks: [("rule".into(), NestedBlock::new(Nesting::List, rule))].into(),
        ..Block::default()
    };
    let named = |result: &str| Block {
        attributes: [
            ("name".into(), Attribute::required(Type::String)),
            (result.into(), computed()),
        ]
        .into(),
        ..Block::default()
    };
    let region = Block {
        attributes: [("region".into(), optional())].into(),
        ..Block::default()
    };
    let thing = || Schema::new(VERSION, thing.clone());
    let end = || Attribute::required(Type::String);
    let link = Block {
        attributes: [
            ("from".into(), end()),
            ("to".into(), end()),
            ("id".into(), computed()),
        ]
        .into(),
        ..Block::default()
    };
    let one = |name: &str, schema| (name.to_owned(), schema);
    ProviderSchema {
        provider: Schema::new(0, region),
        resources: [
            one("lab_thing", thing()),
            one("lab_other", thing()),
            one("lab_legacy", thing()),
            one(LINK, Schema::new(0, link)),
        ]
        .into(),
        data_sources: [one("lab_data", Schema::new(0, named("value")))].into(),
        ephemeral: [one("lab_lease", Schema::new(0, named("result")))].into(),
        links: LinkTypes::Pairs([(["lab_thing"; 2].map(str::to_owned), None)].into()),
        ..ProviderSchema::default()
    }
}

fn checked(config: &Value) -> Checked {
    let invalid = text(config, "name").is_some_and(|name| name == "invalid");
    let fault = || ProviderDiagnostic {
        path: Some(Path::root().attr("name")),
        ..ProviderDiagnostic::error("Invalid name", "It is not allowed.")
    };
    Checked {
        diagnostics: invalid.then(fault).into_iter().collect(),
    }
}

/// Plans the attributes that the provider decides.
fn planned(request: &PlanRequest) -> Value {
    let mut planned = request.proposed.clone();
    // The token is only sent, never planned.
    planned = with(&planned, &[("token", Value::null(Type::String))]);
    let note = request.config.get_attr("note").expect("note");
    if request.prior.is_null() {
        planned = with(&planned, &[("id", unknown())]);
        if note.is_known() && note.is_null() {
            planned = with(&planned, &[("note", unknown())]);
        }
    }
    let name = text(&request.proposed, "name");
    match (name.as_deref(), &*request.type_name) {
        (Some("broken"), _) => with(&planned, &[("name", Value::string("other"))]),
        (Some(name), "lab_legacy") => {
            with(&planned, &[("name", Value::string(name.to_lowercase()))])
        }
        _ => planned,
    }
}

/// Plans a link: the ids of its ends make its own.
fn planned_link(request: &PlanRequest, ctx: &CallContext) -> Value {
    let id = match request.prior.is_null() {
        true => None,
        false => link_id(ctx),
    };
    with(
        &request.proposed,
        &[("id", id.map_or_else(unknown, Value::string))],
    )
}

#[async_trait]
impl Provider for Lab {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        Some(self.schema.clone())
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        Ok(self.schema.clone())
    }

    async fn validate_provider(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn configure(&self, config: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        let wrong = text(&config, "region").is_some_and(|region| region == "nowhere");
        let fault = || ProviderDiagnostic::error("Invalid region", "There is no such region.");
        Ok(Checked {
            diagnostics: wrong.then(fault).into_iter().collect(),
        })
    }

    async fn validate_resource(
        &self,
        _: &str,
        config: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Ok(checked(&config))
    }

    async fn validate_data(
        &self,
        _: &str,
        config: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Ok(checked(&config))
    }

    async fn upgrade(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        self.record("upgrade", ctx);
        let schema = &self.schema.resources[request.type_name.as_str()];
        let mut json: serde_json::Value = serde_json::from_slice(&request.raw_json).expect("JSON");
        if request.version < schema.version {
            let title = json.as_object_mut().and_then(|all| all.remove("title"));
            json["name"] = title.unwrap_or_default();
        }
        let (state, diagnostics) = match cty::json::decode_value(&json, schema.implied_type()) {
            Ok(state) => (state, Vec::new()),
            Err(error) => (
                Value::null(schema.implied_type().clone()),
                vec![ProviderDiagnostic::error(
                    "Invalid state",
                    error.to_string(),
                )],
            ),
        };
        Ok(UpgradeResponse { state, diagnostics })
    }

    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        self.record("read", ctx);
        self.crash(&text(&request.current, "name"), Method::Read)?;
        Ok(ReadResponse {
            state: self.found(request.current),
            private: request.private,
            identity: request.identity,
            diagnostics: Vec::new(),
        })
    }

    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let destroy = request.proposed.is_null();
        self.record(if destroy { "plan-destroy" } else { "plan" }, ctx);
        let subject = if destroy {
            &request.prior
        } else {
            &request.proposed
        };
        let name = text(subject, "name");
        let mut diagnostics = match name.as_deref() {
            Some("refused") => vec![ProviderDiagnostic::error("Refused", "Not possible.")],
            Some("warned") => vec![ProviderDiagnostic {
                severity: Severity::Warning,
                ..ProviderDiagnostic::error("Deprecated", "Use another name.")
            }],
            _ => Vec::new(),
        };
        diagnostics.iter_mut().for_each(|d| d.path = None);
        let planned = match (destroy, name.as_deref()) {
            (true, Some("kept")) => request.prior.clone(),
            (true, _) | (_, Some("none")) => Value::null(request.proposed.ty().clone()),
            _ if request.type_name == LINK => planned_link(&request, ctx),
            _ => planned(&request),
        };
        let rotates = !destroy && text(&request.config, "token").is_some_and(|t| t == "rotate");
        let forcing = match request.type_name == LINK {
            true => vec!["id"],
            false => ["zone"]
                .into_iter()
                .chain(rotates.then_some("token"))
                .collect(),
        };
        Ok(PlanResponse {
            planned,
            // Always named: only a changed attribute may force a replacement.
            requires_replace: forcing
                .into_iter()
                .map(|name| Path::root().attr(name))
                .collect(),
            private: request.prior_private,
            identity: request.prior_identity,
            legacy: request.type_name == "lab_legacy",
            diagnostics,
        })
    }

    async fn apply(
        &self,
        _: ApplyRequest,
        _: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        unreachable!("a plan applies nothing")
    }

    async fn import(
        &self,
        request: ImportRequest,
        ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        self.record("import", ctx);
        let empty = self.schema.resources[request.type_name.as_str()].empty_value();
        let object = with(empty, &[("id", Value::string(&request.id))]);
        let imported = Imported {
            type_name: match &*request.id {
                "mistyped" => "lab_other".to_owned(),
                _ => request.type_name,
            },
            state: with(&object, &[("name", Value::string(&request.id))]),
            private: Bytes::new(),
            identity: None,
        };
        Ok(ImportResponse {
            imported: match &*request.id {
                "several" => vec![imported.clone(), imported],
                _ => vec![imported],
            },
            diagnostics: Vec::new(),
        })
    }

    async fn move_state(
        &self,
        request: MoveRequest,
        ctx: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        self.record("move", ctx);
        let ty = self.schema.resources[request.target_type.as_str()].implied_type();
        let null = Value::null(ty.clone());
        let (state, diagnostics) = match (&*request.source_type, &*request.target_type) {
            ("lab_thing", "lab_other") => (
                cty::json::decode(&request.raw_json, ty).expect("the same type"),
                Vec::new(),
            ),
            ("lab_thing", _) => (null, Vec::new()),
            _ => {
                let fault = ProviderDiagnostic::error("Unknown source type", request.source_type);
                (null, vec![fault])
            }
        };
        Ok(MoveResponse {
            state,
            private: request.source_private,
            identity: None,
            diagnostics,
        })
    }

    async fn read_data(
        &self,
        _: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        self.record("read-data", ctx);
        let name = text(&config, "name");
        self.crash(&name, Method::ReadData)?;
        let name = name.unwrap_or_default();
        let diagnostics = match &*name {
            "missing" => vec![ProviderDiagnostic::error("Not found", "No such data.")],
            _ => Vec::new(),
        };
        Ok(DataResponse {
            state: with(&config, &[("value", Value::string(format!("data:{name}")))]),
            diagnostics,
        })
    }

    async fn validate_ephemeral(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        Ok(Checked::default())
    }

    async fn open_ephemeral(
        &self,
        _: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        self.record("open", ctx);
        let name = text(&config, "name").unwrap_or_default();
        Ok(OpenResponse {
            result: with(
                &config,
                &[("result", Value::string(format!("lease of {name}")))],
            ),
            private: None,
            renew_at: None,
            diagnostics: Vec::new(),
        })
    }

    async fn close_ephemeral(
        &self,
        _: &str,
        _: Option<Bytes>,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.record("close", ctx);
        Ok(Checked::default())
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        Ok(())
    }
}
