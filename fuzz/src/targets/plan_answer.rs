//! Choices of a schema, a configuration, an object and a provider's responses to its plan, as wire
//! bytes. The engine must plan or refuse with a message, and its plans can be displayed.

use calls::CallContext;
use cty::schema::{Block, Schema};
use cty::{Path, PathStep, Value, msgpack};
use engine::stage::ignore::Ignore;
use engine::stage::managed::{NoPlan, PlanQuestion, Planned, Prior, Reason, plan, plan_destroy};
use engine::stage::{diff, masks};
use model::{Action, Severity};
use prost::Message;
use proto::tfplugin6 as pb;
use provider::*;

use super::answers::Answers;
use crate::feed::Feed;

pub fn run(data: &[u8]) {
    let mut feed = Feed::new(data);
    let schema = Schema::new(0, feed.block(0));
    let config = feed.config(&schema.block, true);
    let stored = feed.stored(&schema.block);
    let flags = feed.byte();
    // The flags select prior state, ignored attributes and forced replacement.
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
    // A replacement plans twice, so there are two responses.
    let answers = [
        answer(&mut feed, &schema.block, &config, &stored),
        answer(&mut feed, &schema.block, &config, &stored),
    ];
    let provider = Answers::new(schema.clone(), answers);
    let ctx = CallContext::general(&Default::default());
    let question = PlanQuestion {
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

/// Polls a future once: the provider responds at once, so nothing waits.
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
    // A plan without changes must not hide any.
    if planned.action == Action::NoOp {
        assert_eq!(
            planned.before.clone().unmark_deep().0,
            planned.after.clone().unmark_deep().0
        );
    }
    // Each replacement needs a reason to display.
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
        // Sensitive values must not reach the display.
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
    // A plan stored with a stage must be readable again.
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

/// Returns the bytes of a response: arbitrary bytes, or a planned value of any kind with paths and
/// diagnostics.
pub(super) fn answer(
    feed: &mut Feed<'_>,
    block: &Block,
    config: &Value,
    stored: &Value,
) -> Vec<u8> {
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
