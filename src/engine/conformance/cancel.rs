//! Check of a request to stop that reaches the provider while it creates an object.

use super::steps::{Outcome, Unplanned};
use super::{Checked, Subject, TypeRun};
use calls::{CallContext, ProviderError};
use model::duration;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Time between the start of the create and the request.
const HEAD_START: Duration = Duration::from_millis(100);

/// Answer to a request to stop.
struct Answered {
    sent: Instant,
    answer: Result<(), ProviderError>,
    took: Duration,
}

/// Creates an object and asks the provider to stop meanwhile. The process must be one of its own,
/// because it may refuse all later calls. Returns `None` if the provider has no such type.
pub async fn cancel(subject: Subject<'_>) -> Option<Checked> {
    let mut run = TypeRun::new(subject)?;
    run.cancel().await;
    Some(run.into_checked())
}

impl TypeRun<'_> {
    async fn cancel(&mut self) {
        let config = self.config.clone();
        let planned = self.plan(None, &config, None).await;
        // The start of this process and the plan take time, in which the run may have ended.
        if self.is_over() {
            let why = self.reason.clone();
            return self.skip("cancel", why);
        }
        let planned = match planned {
            Ok(planned) => planned,
            Err(Unplanned::Refused(why) | Unplanned::Broken(why)) => {
                let why = format!("another object cannot be planned: {why}");
                return self.skip("cancel", why);
            }
        };
        if let Err(why) = self.record_create(&planned) {
            return self.skip("cancel", why);
        }
        let began = Instant::now();
        let create = async {
            let outcome = self.apply(None, &planned, &config).await;
            (outcome, Instant::now())
        };
        let ((outcome, ended), answered) = tokio::join!(create, self.ask_to_stop());
        self.keep_created(&outcome);
        if matches!(answered.answer, Err(ProviderError::Unsupported { .. })) {
            return self.skip("cancel", "the provider has no such request");
        }
        if let (Some(why), Ok(())) = (
            outcome.failed_alone(ended < answered.sent),
            &answered.answer,
        ) {
            return self.skip("cancel", format!("the create failed by itself: {why}"));
        }
        let result = cancelled(&outcome, began, ended, &answered);
        let of_type = |text| format!("{}: {text}", self.subject.type_name);
        let result = result.map(of_type).map_err(of_type);
        self.result("cancel", result);
    }

    async fn ask_to_stop(&self) -> Answered {
        sleep(HEAD_START).await;
        // An interruption of the run must not drop the request.
        let ctx = CallContext {
            deadline: Some(self.subject.call_deadline),
            ..CallContext::default()
        };
        let sent = Instant::now();
        let answer = self.subject.provider.stop(&ctx).await;
        let took = sent.elapsed();
        Answered { sent, answer, took }
    }
}

impl Outcome {
    /// Returns the failure of a create that the request to stop cannot have caused: it was before
    /// the request, or the call did not reach the provider.
    fn failed_alone(&self, is_before: bool) -> Option<&str> {
        let why = self.failure.as_deref()?;
        let is_sent = self.applied.is_some() || self.is_unknown;
        (!is_sent || (is_before && self.is_refused())).then_some(why)
    }
}

/// Judges a create and the request to stop during it.
fn cancelled(
    outcome: &Outcome,
    began: Instant,
    ended: Instant,
    answered: &Answered,
) -> Result<String, String> {
    let text = |time: Duration| duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let took = text(answered.took);
    if let Err(error) = &answered.answer {
        return Err(error.to_string());
    }
    let end = match &outcome.failure {
        Some(why) if outcome.is_unknown => {
            return Err(format!("the create did not end with an answer: {why}"));
        }
        Some(why) if outcome.applied.is_some() && !outcome.is_refused() => {
            return Err(format!("the answer of the create breaks a rule: {why}"));
        }
        Some(why) => format!("with an error: {why}"),
        None => "with an object".to_owned(),
    };
    Ok(match ended < answered.sent {
        // A create that is this fast leaves nothing to stop.
        true => format!(
            "answered in {took}; the create had ended before, after {}",
            text(ended - began)
        ),
        false => format!(
            "answered in {took}; the create ended {} after the request, {end}",
            text(ended - answered.sent)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(failure: Option<&str>, is_unknown: bool) -> Outcome {
        Outcome {
            applied: None,
            received: None,
            is_legacy: false,
            failure: failure.map(str::to_owned),
            is_unknown,
        }
    }

    #[test]
    fn create_must_end_with_an_answer_after_the_request() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        for (outcome, ended, expected) in [
            (
                outcome(None, false),
                at(40),
                Ok("answered in 3 ms; the create had ended before, after 40 ms"),
            ),
            (
                outcome(None, false),
                at(350),
                Ok("answered in 3 ms; the create ended 250 ms after the request, with an object"),
            ),
            (
                outcome(Some("cancelled"), false),
                at(105),
                Ok(
                    "answered in 3 ms; the create ended 5 ms after the request, with an error: cancelled",
                ),
            ),
            (
                outcome(Some("no answer"), true),
                at(9_000),
                Err("the create did not end with an answer: no answer"),
            ),
        ] {
            let answered = Answered {
                sent: at(100),
                answer: Ok(()),
                took: Duration::from_millis(3),
            };
            let result = cancelled(&outcome, began, ended, &answered);
            let result = result.as_deref().map_err(String::as_str);
            assert_eq!(result, expected);
        }
    }
}
