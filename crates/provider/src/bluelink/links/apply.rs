//! Creates, updates and removes links in three phases: the resource at `from`, the resource at
//! `to`, the intermediary resources. Results of completed phases are kept after a failure, so that
//! the next deploy continues from there.

use super::annotations::for_ends;
use super::ends::Side;
use super::kinds::LinkKind;
use super::phases::PhaseError;
use super::private_data::LinkPrivate;
use super::record::{PARTS, Record, object};
use crate::bluelink::adapter::BluelinkProvider;
use crate::bluelink::deploy;
use crate::bluelink::wire::Fault;
use crate::{ApplyRequest, ApplyResponse, Bytes};
use calls::{CallContext, ProviderDiagnostic, ProviderError};
use cty::Value;
use proto::bluelink::providerserverv1::LinkUpdateType;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::LinkChanges;

/// Actions of the phases, for texts.
const CREATE_PHASES: [&str; 3] = [
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
pub(super) fn phase_descriptions(update: LinkUpdateType) -> &'static [&'static str; 3] {
    match update {
        LinkUpdateType::Destroy => &DESTROY_WORDS,
        LinkUpdateType::Create | LinkUpdateType::Update => &CREATE_PHASES,
    }
}

/// Link during a deploy.
pub(super) struct LinkOperation<'a> {
    pub(super) provider: &'a BluelinkProvider,
    pub(super) kind: &'a LinkKind,
    pub(super) sides: [Side; 2],
    pub(super) annotations: [MappingNode; 2],
    pub(super) private: LinkPrivate,
    /// Current record.
    pub(super) record: Record,
    pub(super) changes: LinkChanges,
    pub(super) update: LinkUpdateType,
    pub(super) ctx: &'a CallContext,
}

/// Reason why a link is not completed.
enum Stopped {
    Reported(ProviderDiagnostic),
    Call(ProviderError),
}

/// Builds the response. `legacy` because the plugin may return more data than it staged.
fn apply_response(
    new_state: Option<Value>,
    private: Bytes,
    wrong: Vec<ProviderDiagnostic>,
) -> ApplyResponse {
    ApplyResponse {
        legacy: true,
        ..deploy::apply_response(new_state, private, wrong)
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
        let mut kept = LinkPrivate::decode(&request.private);
        let (kind, sides) = match self.sides(ctx, (&request.prior, &kept)) {
            Ok(found) => found,
            Err(wrong) => {
                return Ok(apply_response(
                    Some(request.prior),
                    request.private,
                    vec![wrong],
                ));
            }
        };
        let changes = kept.take_staged();
        if update == LinkUpdateType::Create {
            // A replacement starts without the data of the link that it replaces.
            kept = kept.without_objects();
        }
        // A destroy has no configuration, so the annotations come from the state.
        let said = match request.config.is_null() {
            true => &request.prior,
            false => &request.config,
        };
        let doing = LinkOperation {
            provider: self,
            kind,
            annotations: for_ends(kind, said),
            record: Record::from_object(&request.prior),
            sides,
            private: kept,
            changes,
            update,
            ctx,
        };
        doing.all(&request).await
    }
}

impl LinkOperation<'_> {
    async fn all(mut self, request: &ApplyRequest) -> Result<ApplyResponse, ProviderError> {
        for phase in 0..PARTS.len() {
            match self.run_phase(phase).await {
                Ok(()) => {}
                // Nothing is done yet, or the outcome is unknown: the engine handles both as errors
                // of the call.
                Err(Stopped::Call(error))
                    if phase == 0 || error.may_have_changed_infrastructure() =>
                {
                    return Err(error);
                }
                // Earlier phases succeeded, so their results must reach the state.
                Err(Stopped::Call(error)) => {
                    let wrong = ProviderDiagnostic::error(error.to_string(), "");
                    return Ok(self.partial_response(
                        phase,
                        wrong.of_class(Some(error.class())),
                        request,
                    ));
                }
                Err(Stopped::Reported(wrong)) => {
                    return Ok(self.partial_response(phase, wrong, request));
                }
            }
        }
        if self.update == LinkUpdateType::Destroy {
            let gone = Value::null(request.prior.ty().clone());
            return Ok(apply_response(Some(gone), Bytes::new(), Vec::new()));
        }
        self.record.unfinished.clear();
        // Later plans compare the observed intermediaries with these.
        self.private.set_left(&self.record);
        Ok(self.into_response(request, Vec::new()))
    }

    /// Runs one phase and stores its result.
    async fn run_phase(&mut self, phase: usize) -> Result<(), Stopped> {
        // Between two phases nothing is running, so a cancel leaves no unknown outcome.
        if phase > 0 && self.ctx.cancel.is_cancelled() {
            let detail = "The deploy was cancelled between two phases of the link.";
            let wrong = ProviderDiagnostic::error("cancelled before the link was complete", detail);
            return Err(Stopped::Reported(wrong));
        }
        let given = match self.phase(phase).await {
            Ok(given) => given,
            Err(PhaseError::Reported(said)) => {
                let doing = format!("could not {}", phase_descriptions(self.update)[phase]);
                return Err(Stopped::Reported(said.diagnostic(&doing)));
            }
            Err(PhaseError::Fault(Fault::Call(error))) => return Err(Stopped::Call(error)),
            Err(PhaseError::Fault(Fault::Reported(said))) => {
                return Err(Stopped::Reported(
                    said.diagnostic("could not complete the call"),
                ));
            }
        };
        if self.update == LinkUpdateType::Destroy {
            return Ok(());
        }
        // Mappings of an earlier deploy are replaced as a whole, not merged.
        if phase == 0 {
            self.private.mappings.clear();
            self.private.set_reported(&self.sides);
        }
        self.record.parts[phase] = given.data;
        self.private.mappings.extend(given.mappings);
        if let Some(made) = given.intermediaries {
            self.record.intermediaries = made;
        }
        Ok(())
    }

    /// Returns the response after a failed phase: results of the completed phases, and the
    /// remaining phases.
    fn partial_response(
        mut self,
        phase: usize,
        mut wrong: ProviderDiagnostic,
        request: &ApplyRequest,
    ) -> ApplyResponse {
        // Nothing exists, so there is no object to keep.
        if phase == 0 && self.update == LinkUpdateType::Create {
            return apply_response(None, request.private.clone(), vec![wrong]);
        }
        if phase > 0 {
            let done = phase_descriptions(self.update)[..phase].join(", ");
            wrong.detail += &format!(". Completed before: {done}.");
        }
        let left = match self.update {
            // A destroyed link that is needed again must be created in all phases.
            LinkUpdateType::Destroy => &PARTS[..],
            _ => &PARTS[phase..],
        };
        self.record.unfinished = left.iter().map(ToString::to_string).collect();
        self.into_response(request, vec![wrong])
    }

    fn into_response(
        mut self,
        request: &ApplyRequest,
        wrong: Vec<ProviderDiagnostic>,
    ) -> ApplyResponse {
        let changed = self
            .changes
            .modified_fields
            .iter()
            .chain(&self.changes.new_fields);
        let hidden = changed.filter(|field| field.sensitive);
        let hidden: Vec<String> = hidden.map(|field| field.field_path.clone()).collect();
        self.private.sensitive.extend(hidden);
        let hidden = self
            .provider
            .sensitive_in(&self.sides, &self.private.mappings, &self.record);
        self.private.sensitive.extend(hidden);
        let said = match request.config.is_null() {
            true => &request.prior,
            false => &request.config,
        };
        let ids = [self.sides[0].id(), self.sides[1].id()];
        let state = object(said, ids, self.record.attributes(&self.private.sensitive));
        apply_response(Some(state), self.private.bytes(), wrong)
    }
}
