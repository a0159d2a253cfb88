//! Time limits of operations: at the limit, the call is asked to stop, and abandoned if it does
//! not.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::diagnostics::Failure;
use crate::provider::Context;
use crate::schema::Operation;
use crate::service::Outcome;

/// Time that a call gets to end after its limit, so that it can return a partial object.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a call with a time limit; without one, as it is.
pub(crate) async fn within_limit<T>(
    cx: &Context,
    operation: Operation,
    limit: Option<Duration>,
    call: impl AsyncFnOnce(Context) -> Outcome<T>,
) -> Outcome<T> {
    let Some(limit) = limit else {
        return call(cx.clone()).await;
    };
    let deadline = Instant::now() + limit;
    let limited = Context {
        stop: cx.stop.child_token(),
        deadline: Some(deadline),
        ..cx.clone()
    };
    let stop = limited.stop.clone();
    let overtime = async {
        sleep_until(deadline).await;
        stop.cancel();
        sleep(GRACE).await;
    };
    let why = format!(
        "the {} took longer than its limit of {limit:?}; set a longer one in the block `timeouts`",
        operation.name()
    );
    tokio::select! {
        biased; // a finished call has priority over its deadline
        ended = call(limited) => ended.map_err(|mut failure| {
            if Instant::now() >= deadline {
                failure.diagnostics.error("the time limit has passed", why);
            }
            failure
        }),
        () = overtime => Err(Failure::new("the time limit has passed", why)),
    }
}
