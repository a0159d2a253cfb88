//! Creates, updates and removes links in three phases: the resource at `from`, the resource at
//! `to`, the intermediary resources. Results of completed phases are kept after a failure, so that
//! the next deploy continues from there.

use super::annotations::of_sides;
use super::keep::Kept;
use super::kinds::LinkKind;
use super::phases::Undone;
use super::record::{PARTS, Record, object};
use super::sides::Side;
use crate::engine::calls::{CallContext, ProviderDiagnostic, ProviderError};
use crate::engine::provider::bluelink::adapter::BluelinkProvider;
use crate::engine::provider::bluelink::deploy;
use crate::engine::provider::bluelink::wire::Fault;
use crate::engine::provider::{ApplyRequest, ApplyResponse, Bytes};
use cty::Value;
use proto::bluelink::providerserverv1::LinkUpdateType;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::LinkChanges;

/// Actions of the phases, for texts.
const WORDS: [&str; 3] = [
    "link the resource at `from`",
    "link the resource at `to`",
    "set up the intermediary resources",
];

/// Actions of the phases of a destroy, for texts.
const DESTROY_WORDS: [&str; 3] = [
    "unlink the resource at `from`",
    "unlink the resource at `to`",
    "remove the intermediary resources",
];

/// Returns the actions of the phases of an update type.
pub(super) fn words(update: LinkUpdateType) -> &'static [&'static str; 3] {
    match update {
        LinkUpdateType::Destroy => &DESTROY_WORDS,
        LinkUpdateType::Create | LinkUpdateType::Update => &WORDS,
    }
}

/// Link during a deploy.
pub(super) struct Doing<'a> {
    pub(super) provider: &'a BluelinkProvider,
    pub(super) kind: &'a LinkKind,
    pub(super) sides: [Side; 2],
    pub(super) annotations: [MappingNode; 2],
    pub(super) kept: Kept,
    /// Current record.
    pub(super) record: Record,
    pub(super) changes: LinkChanges,
    pub(super) update: LinkUpdateType,
    pub(super) ctx: &'a CallContext,
}

/// Reason why a link is not completed.
enum Stopped {
    Said(ProviderDiagnostic),
    Call(ProviderError),
}

/// Builds the response. `legacy` because the plugin may return more data than it staged.
fn answer(
    new_state: Option<Value>,
    private: Bytes,
    wrong: Vec<ProviderDiagnostic>,
) -> ApplyResponse {
    ApplyResponse {
        legacy: true,
        ..deploy::answer(new_state, private, wrong)
    }
}

impl BluelinkProvider {
    /// Creates, updates or removes a link.
    pub(in super::super) async fn apply_link(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let update = match (request.prior.is_null(), request.planned.is_null()) {
            (_, true) => LinkUpdateType::Destroy,
            (true, _) => LinkUpdateType::Create,
            _ => LinkUpdateType::Update,
        };
        let mut kept = Kept::of(&request.private);
        let (kind, sides) = match self.sides(ctx, (&request.prior, &kept)) {
            Ok(found) => found,
            Err(wrong) => return Ok(answer(Some(request.prior), request.private, vec![wrong])),
        };
        let changes = kept.take_staged();
        if update == LinkUpdateType::Create {
            // A replacement starts without the data of the link that it replaces.
            kept = kept.anew();
        }
        // A destroy has no configuration, so the annotations come from the state.
        let said = match request.config.is_null() {
            true => &request.prior,
            false => &request.config,
        };
        let doing = Doing {
            provider: self,
            kind,
            annotations: of_sides(kind, said),
            record: Record::of(&request.prior),
            sides,
            kept,
            changes,
            update,
            ctx,
        };
        doing.all(&request).await
    }
}

impl Doing<'_> {
    async fn all(mut self, request: &ApplyRequest) -> Result<ApplyResponse, ProviderError> {
        for phase in 0..PARTS.len() {
            match self.one(phase).await {
                Ok(()) => {}
                // Nothing is done yet, or the outcome is unknown: the engine handles both as errors
                // of the call.
                Err(Stopped::Call(error)) if phase == 0 || error.may_have_acted() => {
                    return Err(error);
                }
                // Earlier phases succeeded, so their results must reach the state.
                Err(Stopped::Call(error)) => {
                    let wrong = ProviderDiagnostic::error(error.to_string(), "");
                    return Ok(self.stopped(phase, wrong.of_class(Some(error.class())), request));
                }
                Err(Stopped::Said(wrong)) => return Ok(self.stopped(phase, wrong, request)),
            }
        }
        if self.update == LinkUpdateType::Destroy {
            let gone = Value::null(request.prior.ty().clone());
            return Ok(answer(Some(gone), Bytes::new(), Vec::new()));
        }
        self.record.unfinished.clear();
        // Later plans compare the observed intermediaries with these.
        self.kept.leave(&self.record);
        Ok(self.told(request, Vec::new()))
    }

    /// Runs one phase and stores its result.
    async fn one(&mut self, phase: usize) -> Result<(), Stopped> {
        // Between two phases nothing is running, so a cancel leaves no unknown outcome.
        if phase > 0 && self.ctx.cancel.is_cancelled() {
            let detail = "The deploy was cancelled between two phases of the link.";
            let wrong = ProviderDiagnostic::error("cancelled before the link was complete", detail);
            return Err(Stopped::Said(wrong));
        }
        let given = match self.phase(phase).await {
            Ok(given) => given,
            Err(Undone::Said(said)) => {
                let doing = format!("could not {}", words(self.update)[phase]);
                return Err(Stopped::Said(said.diagnostic(&doing)));
            }
            Err(Undone::Fault(Fault::Call(error))) => return Err(Stopped::Call(error)),
            Err(Undone::Fault(Fault::Said(said))) => {
                return Err(Stopped::Said(
                    said.diagnostic("could not complete the call"),
                ));
            }
        };
        if self.update == LinkUpdateType::Destroy {
            return Ok(());
        }
        // Mappings of an earlier deploy are replaced as a whole, not merged.
        if phase == 0 {
            self.kept.mappings.clear();
            self.kept.told(&self.sides);
        }
        self.record.parts[phase] = given.data;
        self.kept.mappings.extend(given.mappings);
        if let Some(made) = given.made {
            self.record.made = made;
        }
        Ok(())
    }

    /// Returns the response after a failed phase: results of the completed phases, and the
    /// remaining phases.
    fn stopped(
        mut self,
        phase: usize,
        mut wrong: ProviderDiagnostic,
        request: &ApplyRequest,
    ) -> ApplyResponse {
        // Nothing exists, so there is no object to keep.
        if phase == 0 && self.update == LinkUpdateType::Create {
            return answer(None, request.private.clone(), vec![wrong]);
        }
        if phase > 0 {
            let done = words(self.update)[..phase].join(", ");
            wrong.detail += &format!(". Completed before: {done}.");
        }
        let left = match self.update {
            // A destroyed link that is needed again must be created in all phases.
            LinkUpdateType::Destroy => &PARTS[..],
            _ => &PARTS[phase..],
        };
        self.record.unfinished = left.iter().map(ToString::to_string).collect();
        self.told(request, vec![wrong])
    }

    fn told(mut self, request: &ApplyRequest, wrong: Vec<ProviderDiagnostic>) -> ApplyResponse {
        let changed = self
            .changes
            .modified_fields
            .iter()
            .chain(&self.changes.new_fields);
        let hidden = changed.filter(|field| field.sensitive);
        let hidden: Vec<String> = hidden.map(|field| field.field_path.clone()).collect();
        self.kept.sensitive.extend(hidden);
        let hidden = self
            .provider
            .sensitive_in(&self.sides, &self.kept.mappings, &self.record);
        self.kept.sensitive.extend(hidden);
        let said = match request.config.is_null() {
            true => &request.prior,
            false => &request.config,
        };
        let ids = [self.sides[0].id(), self.sides[1].id()];
        let state = object(said, ids, self.record.attributes(&self.kept.sensitive));
        answer(Some(state), self.kept.bytes(), wrong)
    }
}
