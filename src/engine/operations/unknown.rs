//! Unknown outcomes: reported when a command takes the workspace lock, settled by reading the
//! object back, and a reason to refuse a second creation.

use super::command::{Operations, Switches};
use super::lock::UNLOCKING;
use crate::error::EngineError;
use crate::stage::change::Stage;
use lang::addr::{AbsInstance, Mode};
use lang::config::ProvisionerKind;
use model::*;
use provider::LINK;
use std::collections::{BTreeSet, HashMap};
use store::records::{SharedDeploy, State, UnknownOutcome};

impl Operations {
    /// Reports each unknown outcome of earlier runs, with its remedy.
    pub(super) async fn report_unknown(&self) -> Result<(), EngineError> {
        for unknown in self.memory.store().unknown_outcomes().await? {
            self.diagnose(warning(&unknown));
        }
        self.list_unknown().await
    }

    /// Records the unknown outcomes that deploys from other checkouts have left beside the state.
    pub(super) async fn receive_outcomes(&self, operation: &str) {
        match self.memory.state().receive_outcomes().await {
            Ok(deploys) => {
                for SharedDeploy { who, host, .. } in deploys {
                    let text = format!(
                        "recorded the unknown outcomes that a deploy by {who} on {host} left beside the state"
                    );
                    self.bus.emit(EventKind::Notice { text });
                }
            }
            // A plan changes nothing, and the text may be forbidden to its credentials.
            Err(error) if operation == state::PLAN => {
                tracing::warn!(%error, "cannot read the unknown outcomes beside the state");
            }
            Err(error) => self.diagnose(not_shared(&error.to_string())),
        }
    }

    /// Stores the unknown outcomes beside the state. Waits only briefly once the operator has asked
    /// to stop: the output and the store have them, too.
    pub(super) async fn share_outcomes(&self, switches: &Switches) {
        let limit = async {
            switches.stop.cancelled().await;
            tokio::time::sleep(UNLOCKING).await;
        };
        let shared = tokio::select! { biased;
            shared = self.memory.state().share_outcomes() => shared.map_err(|e| e.to_string()),
            () = limit => Err("the backend did not answer in time".to_owned()),
        };
        if let Err(why) = shared {
            self.diagnose(not_shared(&why));
        }
    }

    /// Emits the list of unknown outcomes if it changed.
    pub async fn list_unknown(&self) -> Result<(), EngineError> {
        let outcomes: Vec<Unknown> = self
            .memory
            .store()
            .unknown_outcomes()
            .await?
            .iter()
            .map(unknown_view)
            .collect();
        if self.bus.with_view(|view| view.unknown != outcomes) {
            self.bus.emit(EventKind::UnknownOutcomes { outcomes });
        }
        Ok(())
    }

    /// Settles unknown outcomes of objects that the stage has read since.
    pub(super) async fn settle_read_outcomes(
        &self,
        stage: &Stage,
        state: &State,
    ) -> Result<(), EngineError> {
        let settled = self.read_outcomes(stage, state).await?;
        if !settled.is_empty() {
            let settled = settled.into_iter().map(|unknown| unknown.id).collect();
            self.memory
                .store()
                .settle_unknown(settled, &format!("read back for stage #{}", stage.id))
                .await?;
        }
        Ok(())
    }

    /// Returns the unknown outcomes that a deploy of the stage settles, for its summary.
    pub(super) async fn outcomes_to_settle(
        &self,
        stage: &Stage,
    ) -> Result<Option<StateEditView>, EngineError> {
        let store = self.memory.store();
        if store.unknown_outcomes().await?.is_empty() {
            return Ok(None);
        }
        let settled = self.read_outcomes(stage, &store.state().await?).await?;
        let addresses: Vec<String> = settled.into_iter().map(|unknown| unknown.address).collect();
        Ok((!addresses.is_empty()).then_some(StateEditView {
            what: StateEditKind::Settled,
            addresses,
        }))
    }

    /// Returns the unknown outcomes of objects that the stage has read since. Creations stay,
    /// because there is no object to read.
    async fn read_outcomes(
        &self,
        stage: &Stage,
        state: &State,
    ) -> Result<Vec<UnknownOutcome>, EngineError> {
        // Without a refresh, nothing was read.
        if stage.request.no_refresh {
            return Ok(Vec::new());
        }
        // Only an unlimited refresh has read every object.
        let limited = !stage.request.target.is_empty() || !stage.request.exclude.is_empty();
        let all_read = stage.request.mode == StageMode::RefreshOnly && !limited;
        let store = self.memory.store();
        let mut settled = Vec::new();
        for unknown in store.unknown_outcomes().await? {
            let is_it = |address: &AbsInstance| address.to_string() == unknown.address;
            let deposed = (!unknown.deposed.is_empty()).then_some(&unknown.deposed);
            // An outcome may name the address before a move.
            let was_it = |now: &AbsInstance, before: &Option<AbsInstance>| {
                is_it(now) || before.as_ref().is_some_and(is_it)
            };
            let changes = stage
                .changes
                .iter()
                .filter(|c| was_it(&c.address, &c.previous));
            let read = changes
                .into_iter()
                .any(|c| c.deposed.as_ref() == deposed && !c.before.value.is_null())
                || stage.drift.iter().any(|d| was_it(&d.address, &d.previous))
                || (all_read
                    && state
                        .objects
                        .iter()
                        .any(|o| o.address == unknown.address && o.deposed == unknown.deposed));
            // A read cannot settle an operation that began after it.
            let can_be_read = !unknown.is_creation()
                && !unknown.is_provisioner()
                && unknown.requested_call().is_none();
            if read && can_be_read && unknown.at < stage.at {
                settled.push(unknown);
            }
        }
        Ok(settled)
    }

    /// Refuses a deploy that might create an object twice, and a stage that was planned before an
    /// operation with an unknown outcome.
    pub(super) async fn refuse_double_creation(
        &self,
        stage: &Stage,
        taken: &BTreeSet<usize>,
    ) -> Result<(), EngineError> {
        let unknown = self.memory.store().unknown_outcomes().await?;
        if unknown.is_empty() {
            return Ok(());
        }
        let mut by_address: HashMap<&str, Vec<&UnknownOutcome>> = HashMap::new();
        for outcome in &unknown {
            by_address
                .entry(&outcome.address)
                .or_default()
                .push(outcome);
        }
        let mut refused = Vec::new();
        for change in taken.iter().map(|&i| &stage.changes[i]) {
            let address = change.address.to_string();
            for outcome in by_address.get(address.as_str()).into_iter().flatten() {
                let again = match outcome.requested_call() {
                    // The plugin would repeat its request.
                    Some(deed) => deed.is_creation() && may_repeat_requests(change.action()),
                    // An import does not create anything.
                    None => {
                        outcome.is_creation()
                            && change.action() == Action::Create
                            && change.importing().is_none()
                    }
                };
                if again {
                    refused.push(Diagnostic {
                        severity: Severity::Error,
                        summary: "Object may already exist".to_owned(),
                        ..warning(outcome)
                    });
                } else if outcome.at >= stage.at
                    && change.address.resource.mode == Mode::Managed
                    && !outcome.is_creation()
                    && outcome.requested_call().is_none()
                {
                    let what =
                        format!("{} of {address} now has an unknown outcome", outcome.text());
                    return Err(EngineError::Stale {
                        stage: stage.id,
                        what,
                    });
                }
            }
        }
        if refused.is_empty() {
            Ok(())
        } else {
            Err(EngineError::Diagnostics(refused))
        }
    }
}

/// Warning that other checkouts do not see the unknown outcomes of this one, or this one theirs.
fn not_shared(why: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        summary: "Unknown outcomes not exchanged".to_owned(),
        detail: format!(
            "{why}. Deploys from other checkouts do not see the unknown outcomes of this one, and the other way round. Allow this account to read, write and delete the object beside the state (docs/state.md)"
        ),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}

/// Returns true if the action may make the plugin create objects through other plugins.
fn may_repeat_requests(action: Action) -> bool {
    use Action::{Create, Replace, ReplaceCreateFirst, Update};
    matches!(action, Create | Update | Replace | ReplaceCreateFirst)
}

fn unknown_view(unknown: &UnknownOutcome) -> Unknown {
    Unknown {
        intent: unknown.id,
        deploy: unknown.deploy,
        address: unknown.address.clone(),
        deposed: (!unknown.deposed.is_empty()).then(|| unknown.deposed.clone()),
        step: unknown.step.clone(),
        begun_at: unknown.at,
        creation: unknown.is_creation(),
        provisioner: unknown.is_provisioner(),
        destroy_time: unknown.is_destroy_provisioner(),
        kind: unknown.text_of("type"),
        provider: unknown.text_of("provider"),
        id: unknown.object_id(),
        values: unknown.values(),
        detail: warning(unknown).detail,
    }
}

/// Warning about an unknown outcome.
pub(crate) fn warning(unknown: &UnknownOutcome) -> Diagnostic {
    let (address, object) = (
        &unknown.address,
        if unknown.deposed.is_empty() {
            ""
        } else {
            "the deposed object of "
        },
    );
    let name = quoted(&match unknown.deposed.as_str() {
        "" => address.clone(),
        deposed => format!("{address} (deposed {deposed})"),
    });
    let begun = format!(
        "The {} of {object}{address} in deploy #{} has no recorded outcome",
        unknown.step, unknown.deploy
    );
    let detail = if let Some(deed) = unknown.requested_call() {
        side_effect_text(unknown, deed)
    } else if unknown.is_creation() && is_link(address) {
        link(&begun, &name)
    } else if unknown.is_creation() {
        let (id, under) = match unknown.object_id() {
            Some(id) => (quoted(&id), ""),
            None => ("ID".to_owned(), " under its id there"),
        };
        format!(
            "{begun}: the object may or may not exist. A deploy does not create it again before you import the object or discard the record. Look for the object in the target system. If it exists, run `flightdeck state import {name} {id}` to import \
             it{under}; if not, run `flightdeck state forget {name}` to discard the record."
        )
    } else if unknown.is_provisioner() {
        let elsewhere = "the connection was lost before the command ended: the command may have continued on the remote host, and may still run";
        let ended = match &unknown.step {
            OperationStep::Provisioner {
                kind: ProvisionerKind::LocalExec,
                ..
            } => "the command ended with flightdeck",
            _ => elsewhere,
        };
        let next = if unknown.is_destroy_provisioner() {
            format!(
                "The next destroy of the object runs this provisioner again and records its outcome. If the provisioner has already done its work, run \
                 `flightdeck state untaint {name}`: the next destroy then does not run the provisioner."
            )
        } else {
            format!(
                "An object whose provisioners did not all run is tainted: the next deploy replaces the object and runs the provisioners again, which settles the unknown outcome. To keep the object as it is, run `flightdeck state untaint {name}`; to \
                 remove it from the state, run `flightdeck state forget {name}`."
            )
        };
        format!("{begun}: {ended}. The effects of the command until then remain. {next}")
    } else {
        format!(
            "{begun}: it may or may not have taken effect. The next stage reads the object, and the deploy of that stage settles the unknown outcome. To remove the object from the state instead, run `flightdeck state forget {name}`."
        )
    };
    Diagnostic {
        severity: Severity::Warning,
        summary: "Unknown outcome".to_owned(),
        detail,
        address: Some(address.clone()),
        range: None,
        snippet: None,
        further: None,
        intent: Some(unknown.id),
    }
}

/// Text about a side effect with an unknown outcome.
fn side_effect_text(unknown: &UnknownOutcome, deed: &SideEffect) -> String {
    let detail: serde_json::Value = serde_json::from_str(&unknown.detail).unwrap_or_default();
    let asked_by = detail["asked_by"].as_str().unwrap_or("its plugin");
    let id = unknown
        .object_id()
        .map_or_else(String::new, |id| format!(" (id {id})"));
    let name = quoted(&requested_call_name(&unknown.address, unknown.id));
    let again = match deed.is_creation() {
        true => " A deploy does not repeat the operation before you discard the record.",
        false => "",
    };
    if deed.is_of_link() {
        return format!(
            "Deploy #{} was applying {}: the {deed} by {asked_by} has no recorded outcome, so it may or may not have \
             taken effect.{again} Check the target system for its effects, then run `flightdeck state forget {name}` to discard \
             the record.",
            unknown.deploy, unknown.address
        );
    }
    format!(
        "For {} in deploy #{}, {asked_by} requested the {deed}{id}, which has no recorded outcome: it may or may not \
         have taken effect. No state contains the object, so flightdeck cannot read it.{again} Look for the object in the target system and correct it there, then run `flightdeck state forget {name}` to discard the record.",
        unknown.address, unknown.deploy
    )
}

/// Quotes a word for a shell, if needed.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Advice for a link that may have been created.
fn link(begun: &str, name: &str) -> String {
    format!(
        "{begun}: the link may exist, completely or in part, or not at all. A deploy does not create it again before you discard the record. Run `flightdeck state forget {name}` to discard the record; the next deploy then creates the \
         link, and its plugin finds existing parts."
    )
}

/// Returns true for a link between two resources. Links cannot be imported.
fn is_link(address: &str) -> bool {
    let parsed = address.parse::<AbsInstance>();
    parsed.is_ok_and(|address| *address.resource.kind == *LINK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(step: &str, address: &str, detail: &str) -> UnknownOutcome {
        UnknownOutcome {
            id: 1,
            deploy: 3,
            address: address.to_owned(),
            deposed: String::new(),
            step: step.parse().expect("a step"),
            at: 0,
            detail: detail.to_owned(),
        }
    }

    #[test]
    fn unknown_outcome_warning_names_the_commands_that_settle_it() {
        let made = warning(&outcome("create", "lab_thing.a[\"x y\"]", "{}"));
        assert!(
            made.detail
                .contains("`flightdeck state import 'lab_thing.a[\"x y\"]' ID`"),
            "{}",
            made.detail
        );
        assert!(
            made.detail
                .contains("`flightdeck state forget 'lab_thing.a[\"x y\"]'`"),
            "{}",
            made.detail
        );
        let known = warning(&outcome("create", "lab_thing.a", "{\"id\":\"thing-1\"}"));
        assert!(
            known
                .detail
                .contains("`flightdeck state import lab_thing.a thing-1`"),
            "{}",
            known.detail
        );
        let changed = warning(&outcome("update", "lab_thing.a", "{}"));
        assert!(
            changed.detail.contains("reads the object") && !changed.detail.contains("state import"),
            "{}",
            changed.detail
        );
    }

    #[test]
    fn shell_words_are_quoted_when_necessary() {
        for (word, quotes) in [
            ("a.b", "a.b"),
            ("a.b[0]", "'a.b[0]'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), quotes);
        }
    }
}
