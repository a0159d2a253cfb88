//! Choices of a schema, a configuration, an object and what a provider answers to its plan, as
//! bytes of the wire. The engine plans or refuses in words, and what it plans can be shown.

use flightdeck::engine::calls::{CallContext, Checked, Method, ProviderError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cty::schema::{Block, Schema};
use cty::{Path, PathStep, Value, msgpack};
use flightdeck::engine::provider::tfplugin::plan_answer;
use flightdeck::engine::provider::*;
use flightdeck::engine::stage::ignore::Ignore;
use flightdeck::engine::stage::managed::{
    NoPlan, Planned, Prior, Question, Reason, plan, plan_destroy,
};
use flightdeck::engine::stage::{diff, masks};
use flightdeck::engine::words::{Action, PluginId, Severity};
use prost::Message;
use proto::tfplugin6 as pb;

use crate::feed::Feed;

pub fn run(data: &[u8]) {
    let mut feed = Feed::new(data);
    let schema = Schema::new(0, feed.block(0));
    let config = feed.config(&schema.block, true);
    let stored = feed.stored(&schema.block);
    let flags = feed.byte();
    let prior = (flags & 3 != 0).then(|| Prior {
        value: schema
            .block
            .sensitive_paths(&stored)
            .into_iter()
            .fold(stored.clone(), mark),
        private: Bytes::copy_from_slice(feed.bytes()),
        tainted: flags & 3 == 3,
        identity: None,
    });
    let ignore = match flags >> 2 & 3 {
        0 => Ignore::All,
        1 => Ignore::Paths((0..feed.below(3)).map(|_| feed.path(&stored)).collect()),
        _ => Ignore::Nothing,
    };
    let force = [
        None,
        None,
        Some(Reason::ReplaceByRequest),
        Some(Reason::ReplaceByTriggers),
    ][usize::from(flags >> 4 & 3)];
    let answers = [
        answer(&mut feed, &schema.block, &config, &stored),
        answer(&mut feed, &schema.block, &config, &stored),
    ];
    let provider = Answers::new(schema.clone(), answers);
    let ctx = CallContext::general(&Default::default());
    let question = Question {
        type_name: "x",
        schema: &schema,
        config: config.clone(),
        prior: prior.as_ref(),
        ignore: &ignore,
        force,
        create_first: flags & 0x40 != 0,
    };
    let before = prior.as_ref().map(|p| p.value.clone());
    match wait(plan(&provider, question, &ctx)) {
        Ok(planned) => usable(&schema, before.as_ref(), &planned),
        Err(no) => in_words(no),
    }
    if let Some(prior) = &prior {
        match wait(plan_destroy(&provider, "x", &schema, prior, true, &ctx)) {
            Ok(planned) => assert_eq!(
                (planned.action, planned.after.is_null()),
                (Action::Destroy, true)
            ),
            Err(no) => in_words(no),
        }
    }
}

fn mark(value: Value, path: Path) -> Value {
    value.mark_with_paths(&[(path, cty::Marks::sensitive())])
}

/// Nothing in here ever waits: the provider answers at once.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => unreachable!("the provider answers at once"),
    }
}

fn usable(schema: &Schema, before: Option<&Value>, planned: &Planned) {
    let ty = schema.implied_type();
    assert!(planned.before.ty().conforms_to(ty), "{:?}", planned.before);
    assert!(planned.after.ty().conforms_to(ty), "{:?}", planned.after);
    assert!(!planned.after.is_null());
    assert_eq!(
        before.is_none(),
        planned.action == Action::Create,
        "{:?}",
        planned.action
    );
    if planned.action == Action::NoOp {
        assert_eq!(
            planned.before.clone().unmark_deep().0,
            planned.after.clone().unmark_deep().0
        );
    }
    let replaces = matches!(planned.action, Action::Replace | Action::ReplaceCreateFirst);
    assert!(replaces || planned.replace_paths.is_empty());
    assert!(!replaces || planned.reason.is_some());
    assert!(
        planned
            .warnings
            .iter()
            .all(|w| w.severity == Severity::Warning)
    );
    for row in diff::attributes(&planned.before, &planned.after, &planned.replace_paths) {
        assert!(!row.path.is_empty());
        let masked = |text: &Option<String>| {
            text.as_deref()
                .is_none_or(|t| t == diff::SENSITIVE || t == diff::UNKNOWN)
        };
        assert!(
            !row.sensitive || masked(&row.before) && masked(&row.after),
            "{row:?}"
        );
    }
    for value in [&planned.before, &planned.after] {
        diff::render(value);
        masks::known_json(value);
        masks::unknown(value);
        masks::sensitive(value);
    }
    // What is kept with a stage comes back.
    let plain = planned.after.clone().unmark_deep().0;
    let kept = msgpack::encode(&plain, ty).expect("a plan can be kept");
    let _ = msgpack::decode(&kept, ty).expect("what is kept can be read");
}

fn in_words(no: NoPlan) {
    match no {
        NoPlan::Call(error) => assert!(!error.to_string().is_empty()),
        NoPlan::Refused(all) => {
            assert!(all.iter().any(|d| d.severity == Severity::Error), "{all:?}")
        }
    }
}

/// The bytes of an answer: any bytes at all, or a planned value of any kind with paths and
/// diagnostics.
fn answer(feed: &mut Feed<'_>, block: &Block, config: &Value, stored: &Value) -> Vec<u8> {
    let ty = block.implied_type();
    let kind = feed.byte();
    let planned = match kind & 7 {
        0 => return feed.bytes().to_vec(),
        1 => Some(feed.value(&ty, true, 0)),
        2 => Some(config.clone()),
        3 => Some(stored.clone()),
        4 => Some(cty::plan::planned_unknown_object(block, config)),
        _ => Some(cty::plan::proposed_new(block, stored, config)),
    };
    let raw = kind & 0x18 == 0x18;
    let value = match planned {
        _ if raw => Some(pb::DynamicValue {
            msgpack: Bytes::copy_from_slice(feed.bytes()),
            json: Bytes::copy_from_slice(feed.bytes()),
        }),
        Some(value) => msgpack::encode(&value, &ty)
            .ok()
            .map(|bytes| pb::DynamicValue {
                msgpack: bytes.into(),
                json: Bytes::new(),
            }),
        None => None,
    };
    let paths = if kind & 0x60 == 0x60 {
        feed.below(4)
    } else {
        0
    };
    let response = pb::plan_resource_change::Response {
        planned_state: value,
        requires_replace: (0..paths).map(|_| wire_path(&feed.path(stored))).collect(),
        planned_private: Bytes::copy_from_slice(feed.bytes()),
        diagnostics: (0..if kind & 0x80 == 0 { 0 } else { feed.below(3) })
            .map(|_| pb::Diagnostic {
                severity: i32::from(feed.byte() & 3),
                summary: "s".to_owned(),
                detail: "d".to_owned(),
                attribute: Some(wire_path(&feed.path(config))),
            })
            .collect(),
        legacy_type_system: feed.byte() & 7 == 7,
        ..Default::default()
    };
    response.encode_to_vec()
}

fn wire_path(path: &Path) -> pb::AttributePath {
    use pb::attribute_path::{Step, step::Selector};
    let step = |step: &PathStep| {
        let selector = match step {
            PathStep::Attr(name) => Some(Selector::AttributeName(name.to_string())),
            PathStep::Index(key) => {
                match (key.as_str(), key.as_number().and_then(cty::Number::to_i64)) {
                    (Some(text), _) => Some(Selector::ElementKeyString(text.to_owned())),
                    (_, Some(n)) => Some(Selector::ElementKeyInt(n)),
                    _ => None,
                }
            }
        };
        Step { selector }
    };
    pb::AttributePath {
        steps: path.steps().iter().map(step).collect(),
    }
}

/// A provider that answers plans with these bytes, one after the other.
struct Answers {
    info: ProviderInfo,
    schema: Schema,
    answers: [Vec<u8>; 2],
    asked: AtomicUsize,
}

impl Answers {
    fn new(schema: Schema, answers: [Vec<u8>; 2]) -> Self {
        let info = ProviderInfo {
            plugin: PluginId("fuzz".to_owned()),
            address: "example.com/fuzz/fuzz".to_owned(),
            dialect: "tfplugin6",
        };
        Self {
            info,
            schema,
            answers,
            asked: AtomicUsize::new(0),
        }
    }

    fn no<T>(&self, method: Method) -> Result<T, ProviderError> {
        Err(ProviderError::Unsupported {
            plugin: self.info.plugin.clone(),
            method,
        })
    }
}

#[async_trait]
impl Provider for Answers {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        None
    }

    async fn plan(
        &self,
        request: PlanRequest,
        _: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        // What is asked can be sent.
        let ty = self.schema.implied_type();
        for value in [&request.prior, &request.proposed, &request.config] {
            msgpack::encode(value, ty).expect("what is asked can be sent");
        }
        let n = self.asked.fetch_add(1, Ordering::Relaxed).min(1);
        let answer = pb::plan_resource_change::Response::decode(self.answers[n].as_slice());
        let undecodable = |e: prost::DecodeError| ProviderError::Undecodable {
            plugin: self.info.plugin.clone(),
            method: Method::Plan,
            what: e.to_string(),
        };
        plan_answer(&self.info.plugin, ty, answer.map_err(undecodable)?)
    }

    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        self.no(Method::Schema)
    }

    async fn validate_provider(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateProvider)
    }

    async fn configure(&self, _: Value, _: &CallContext) -> Result<Checked, ProviderError> {
        self.no(Method::Configure)
    }

    async fn validate_resource(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateResource)
    }

    async fn validate_data(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateData)
    }

    async fn upgrade(
        &self,
        _: UpgradeRequest,
        _: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        self.no(Method::Upgrade)
    }

    async fn upgrade_identity(
        &self,
        _: UpgradeRequest,
        _: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        self.no(Method::UpgradeIdentity)
    }

    async fn read(&self, _: ReadRequest, _: &CallContext) -> Result<ReadResponse, ProviderError> {
        self.no(Method::Read)
    }

    async fn apply(
        &self,
        _: ApplyRequest,
        _: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        self.no(Method::Apply)
    }

    async fn import(
        &self,
        _: ImportRequest,
        _: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        self.no(Method::Import)
    }

    async fn move_state(
        &self,
        _: MoveRequest,
        _: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        self.no(Method::Move)
    }

    async fn read_data(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        self.no(Method::ReadData)
    }

    async fn call_function(
        &self,
        _: &str,
        _: Vec<Value>,
        _: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        self.no(Method::CallFunction)
    }

    async fn validate_ephemeral(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::ValidateEphemeral)
    }

    async fn open_ephemeral(
        &self,
        _: &str,
        _: Value,
        _: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        self.no(Method::OpenEphemeral)
    }

    async fn renew_ephemeral(
        &self,
        _: &str,
        _: Option<Bytes>,
        _: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        self.no(Method::RenewEphemeral)
    }

    async fn close_ephemeral(
        &self,
        _: &str,
        _: Option<Bytes>,
        _: &CallContext,
    ) -> Result<Checked, ProviderError> {
        self.no(Method::CloseEphemeral)
    }

    async fn stop(&self, _: &CallContext) -> Result<(), ProviderError> {
        self.no(Method::Stop)
    }
}
