//! Ephemeral resource `lab_session`: a token during a run. A log in the directory of the lab file
//! has one line for each open, renewal and close: `opened NAME`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cty::{Number, Value};
use sdk::schema::{Attr, Schema};
use sdk::{Context, Diagnostics, EphemeralResource, Failure, Object, Opened, Renewed, async_trait};
use serde::{Deserialize, Serialize};

use super::LabError;
use super::provider::{Configured, settings};

/// Returns the path of the session log beside a lab's file.
pub fn sessions(file: &Path) -> PathBuf {
    file.with_extension("sessions")
}

/// Ephemeral resource `lab_session`.
pub(super) struct Session {
    configured: Configured,
}

/// Private data of an open session.
#[derive(Serialize, Deserialize)]
struct SessionState {
    name: String,
    renew_ms: Option<u64>,
    fails: Option<String>,
}

impl SessionState {
    fn read(private: &[u8]) -> Result<SessionState, Failure> {
        serde_json::from_slice(private)
            .map_err(|error| Failure::new("the session is not valid", error.to_string()))
    }

    fn private(&self) -> Result<Vec<u8>, Failure> {
        serde_json::to_vec(self)
            .map_err(|error| Failure::new("the session cannot be stored", error.to_string()))
    }

    fn renew_at(&self) -> Option<SystemTime> {
        SystemTime::now().checked_add(Duration::from_millis(self.renew_ms?))
    }
}

impl Session {
    pub(super) fn new(configured: Configured) -> Session {
        Session { configured }
    }

    /// Appends a line to the log, or fails if the configuration requests it.
    fn log(&self, done: &str, call: &str, kept: &SessionState) -> Result<(), Failure> {
        // Lets tests see how a host handles a failure of each call.
        if kept.fails.as_deref() == Some(call) {
            return Err(Failure::new(
                format!("the session cannot be {done}"),
                format!("{} is configured to fail in this call", kept.name),
            ));
        }
        let path = sessions(settings(&self.configured)?.file.path());
        // A single short append, so that lines of concurrent processes never mix.
        let write = || {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)?
                .write_all(format!("{done} {}\n", kept.name).as_bytes())
        };
        write().map_err(|source| {
            LabError::Io {
                doing: "write",
                path: path.clone(),
                source,
            }
            .into()
        })
    }
}

#[async_trait]
impl EphemeralResource for Session {
    fn name(&self) -> &str {
        "lab_session"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .describe("A session, open while a run needs it and never stored.")
            .attr(Attr::string("name").required())
            .attr(
                Attr::number("renew_ms")
                    .describe("Lifetime without renewal, in milliseconds; default: unlimited."),
            )
            .attr(
                Attr::string("fails")
                    .one_of(&["open", "renew", "close"])
                    .describe("The call that fails; default: none."),
            )
            .attr(Attr::string("token").computed().sensitive())
    }

    async fn open(&self, _: &Context, config: Value) -> Result<Opened, Failure> {
        let wrong = |problem| Failure::new("the configuration cannot be read", problem);
        let mut object = Object::of(&config).map_err(wrong)?;
        let text = |name: &str| object.text(name).map(str::to_owned);
        let kept = SessionState {
            name: text("name").unwrap_or_default(),
            renew_ms: object.get("renew_ms").as_number().and_then(Number::to_u64),
            fails: text("fails"),
        };
        self.log("opened", "open", &kept)?;
        object.set("token", format!("token-of-{}", kept.name));
        let value = object.into_value().map_err(wrong)?;
        Ok(Opened {
            value,
            private: kept.private()?,
            renew_at: kept.renew_at(),
        })
    }

    async fn renew(&self, _: &Context, private: Vec<u8>) -> Result<Renewed, Failure> {
        let kept = SessionState::read(&private)?;
        self.log("renewed", "renew", &kept)?;
        Ok(Renewed {
            private,
            renew_at: kept.renew_at(),
        })
    }

    async fn close(&self, _: &Context, private: Vec<u8>) -> Result<Diagnostics, Failure> {
        self.log("closed", "close", &SessionState::read(&private)?)?;
        Ok(Diagnostics::new())
    }
}
