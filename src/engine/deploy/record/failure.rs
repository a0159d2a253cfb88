//! Failures of operations, with the last output lines of the plugin, and fingerprints that group
//! similar failures.

use super::DeployRecorder;
use model::*;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Limit of a plugin's last lines in a failure.
const MAX_LINES: usize = 100;

/// Time limit to read output that the plugin has already written.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

impl DeployRecorder {
    /// Records a failed operation. `gone`: its address has no object now.
    pub async fn record_failure(&self, id: &str, mut failure: Failure, unknown: bool, gone: bool) {
        if let Some(plugin) = failure
            .plugin
            .as_ref()
            .and_then(|p| self.pool.plugins().get(p))
        {
            // The line with the reason may have been written right before the answer.
            plugin.wait_until_logged(OUTPUT_TIMEOUT).await;
            let incident = failure
                .incident
                .as_deref()
                .and_then(|id| plugin.incident_named(id));
            let lines =
                incident.map_or_else(|| plugin.last_lines(MAX_LINES), |i| i.last_lines.clone());
            // Earlier lines concern other operations.
            let began = self.began_at(id).unwrap_or(0);
            (failure.last_lines, failure.last_lines_at) = lines
                .into_iter()
                .filter(|l| l.at >= began)
                .map(|l| (l.text, l.at))
                .unzip();
        }
        self.secrets().redact_in_place(&mut failure.summary);
        self.secrets().redact_in_place(&mut failure.detail);
        // A lost reason must not stop the deploy: recovery depends on intents and outcomes only.
        if let Err(error) = self.store.put_failure(self.deploy, failure.clone()).await {
            self.bus.emit(EventKind::Notice {
                text: format!("failed to record a failure reason: {error}"),
            });
        }
        self.change(id, |o| {
            o.step = OperationProgress::Failed(o.action);
            o.state = match o.missing_half() {
                // Comes first: an unknown outcome has to be settled before anything else.
                _ if unknown => OperationState::Unknown,
                Some(missing) if o.action == Action::Replace && gone => {
                    o.step = missing;
                    OperationState::HalfReplaced
                }
                _ => OperationState::Failed,
            };
            o.took_ms = o.began.map(|b| u64::try_from(now_ms() - b).unwrap_or(0));
            o.failure = Some(Box::new(failure));
        });
        self.store_changes().await;
    }
}

/// Returns a fingerprint that is equal for failures that differ only in names, numbers and ids:
/// digits and quoted parts are ignored.
pub fn fingerprint(class: FailureClass, kind: &str, summary: &str, detail: &str) -> String {
    let alike = |text: &str| {
        let mut quoted = false;
        let mut alike = text.to_owned();
        alike.retain(|c| match c {
            '"' | '\'' | '`' => {
                quoted = !quoted;
                false
            }
            c => !quoted && !c.is_ascii_digit(),
        });
        alike
    };
    let text = format!(
        "{} {kind} {}\n{}",
        class.label(),
        alike(summary),
        alike(detail.lines().next().unwrap_or(""))
    );
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(&digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_differ_only_in_names_and_numbers_have_one_fingerprint() {
        let of = |summary: &str| fingerprint(FailureClass::Denied, "aws_vpc", summary, "no");
        let first = of("creating VPC \"main\" failed after 30 s");
        for (same, summary) in [
            (true, "creating VPC \"other\" failed after 7 s"),
            (true, "creating VPC 'main' failed after 30 s"),
            (true, "creating VPC `x 1` failed after  s"),
            (false, "updating VPC \"main\" failed after 30 s"),
            (false, "creating VPC main failed after 30 s"),
        ] {
            assert_eq!(of(summary) == first, same, "{summary}");
        }
        let parts = |class, kind, detail| fingerprint(class, kind, "failed", detail);
        let first = parts(FailureClass::Denied, "aws_vpc", "no\nrequest id 1");
        for (same, class, kind, detail) in [
            (
                true,
                FailureClass::Denied,
                "aws_vpc",
                "no\nother lines do not count",
            ),
            (false, FailureClass::Denied, "aws_vpc", "never"),
            (false, FailureClass::Denied, "aws_subnet", "no"),
            (false, FailureClass::BadInput, "aws_vpc", "no"),
        ] {
            assert_eq!(parts(class, kind, detail) == first, same, "{kind} {detail}");
        }
    }
}
