//! Resource type `local_process`: a process of this machine that continues when flightdeck ends.
//! Pid, start time and boot identify it, so that a reused pid is never taken for it. Every change
//! but that of a timeout replaces it.

mod lifecycle;

use std::time::Duration;

use cty::{Number, Type, Value};
use model::process::ProcessIdentity;
use sdk::schema::{Attr, Schema};
use sdk::{
    Change, Context, Diagnostics, Failure, Object, Planned, Planning, Resource, State, async_trait,
};

use self::lifecycle::Program;
use super::{blocking, state, undescribable};

/// Longest time for a start or an end, in seconds.
const LONGEST: i64 = 3_600;

/// Resource type `local_process`.
pub(super) struct LocalProcess;

fn schema() -> Schema {
    let argument = |attr: Attr, text: &str| attr.replaces().describe(text);
    let result = |attr: Attr, text: &str| attr.computed().stable().describe(text);
    let timeout = |name: &str, text: &str| {
        let attr = Attr::number(name).default(10_i64.into());
        attr.check(|value| whole(value, LONGEST)).describe(text)
    };
    Schema::new()
        .describe("A process of this machine, which continues when flightdeck ends.")
        .attr(
            argument(Attr::list("command").required(), "Program and arguments.").check(|value| {
                match value.as_slice().unwrap_or_default().first() {
                    None => Err("it must name a program".to_owned()),
                    Some(_) => Ok(()),
                }
            }),
        )
        .attr(argument(
            Attr::string("log_file").required(),
            "File for its output, which is appended; missing directories are created.",
        ))
        .attr(argument(
            Attr::strings("environment"),
            "Variables, besides PATH, HOME and other basic ones of flightdeck.",
        ))
        .attr(argument(
            Attr::string("working_directory"),
            "Its directory; by default that of the workspace.",
        ))
        .attr(
            argument(
                Attr::number("port"),
                "Port that must be free before the start. The process is created once it listens there.",
            )
            .check(|value| whole(value, i64::from(u16::MAX))),
        )
        .attr(timeout(
            "start_timeout",
            "Seconds until it must listen on its port.",
        ))
        .attr(timeout(
            "stop_timeout",
            "Seconds from SIGTERM to SIGKILL when it is destroyed.",
        ))
        .attr(result(Attr::string("id"), "Pid and start time."))
        .attr(result(Attr::number("pid"), "Its process id."))
        .attr(result(
            Attr::number("start_time"),
            "Time of its start, in clock ticks since the boot.",
        ))
        .attr(result(Attr::string("boot_id"), "Id of the boot."))
        .attr(result(
            Attr::string("url"),
            "Address of its port on this machine; null without a port.",
        ))
}

/// Checks a whole number from 1 to a maximum.
fn whole(value: &Value, max: i64) -> Result<(), String> {
    match value.as_number().and_then(Number::to_i64) {
        Some(number) if (1..=max).contains(&number) => Ok(()),
        _ => Err(format!("it must be a whole number from 1 to {max}")),
    }
}

/// Reads the identity from the state. One that no process can have belongs to no process.
fn identity(object: &Object) -> Option<ProcessIdentity> {
    Some(ProcessIdentity {
        pid: object.int("pid")?.try_into().ok()?,
        start_time: object.int("start_time")?.try_into().ok()?,
        boot_id: object.text("boot_id")?.to_owned(),
    })
}

fn set_identity(object: &mut Object, process: ProcessIdentity) {
    let start_time = i64::try_from(process.start_time).unwrap_or(i64::MAX);
    object.set("id", format!("{}-{start_time}", process.pid));
    object.set("pid", i64::from(process.pid));
    object.set("start_time", start_time);
    object.set("boot_id", process.boot_id);
}

fn seconds(object: &Object, name: &str) -> Duration {
    let number = object.int(name).unwrap_or_default();
    Duration::from_secs(number.try_into().unwrap_or_default())
}

fn program(object: &Object) -> Program {
    let environment = object.get("environment");
    let variables = environment
        .elements()
        .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.as_str()?.to_owned())));
    Program {
        command: object
            .texts("command")
            .into_iter()
            .map(str::to_owned)
            .collect(),
        log_file: object.text("log_file").unwrap_or_default().into(),
        environment: variables.collect(),
        working_directory: object.text("working_directory").map(Into::into),
        port: object.int("port").and_then(|port| port.try_into().ok()),
        start_timeout: seconds(object, "start_timeout"),
    }
}

/// Sets the URL of a known port.
fn set_url(object: &mut Object) {
    let port = object.get("port");
    if port.is_null() {
        object.clear("url");
    } else if let Some(port) = object.int("port") {
        object.set("url", format!("http://127.0.0.1:{port}"));
    }
}

#[async_trait]
impl Resource for LocalProcess {
    fn name(&self) -> &str {
        "local_process"
    }

    fn schema(&self) -> Schema {
        schema()
    }

    /// Plans as by default, but with the URL of a known port.
    async fn plan(&self, _: &Context, request: Planning<'_>) -> Result<Planned, Failure> {
        let mut planned = request.by_default();
        let mut object = Object::of(&planned.value).map_err(undescribable)?;
        set_url(&mut object);
        planned.value = object.into_value().map_err(undescribable)?;
        Ok(planned)
    }

    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let mut object = Object::of(&change.planned).map_err(undescribable)?;
        let process = lifecycle::start(program(&object), cx.stop()).await?;
        set_identity(&mut object, process);
        set_url(&mut object);
        state(object)
    }

    async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
        let object = Object::of(&state.value).map_err(undescribable)?;
        let is_running = identity(&object).is_some_and(|process| process.is_running());
        Ok(is_running.then_some(state))
    }

    /// Changes timeouts, which concern no running process.
    async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
        Ok(State::new(change.planned))
    }

    async fn delete(&self, cx: &Context, state: State) -> Result<Diagnostics, Failure> {
        let object = Object::of(&state.value).map_err(undescribable)?;
        if let Some(process) = identity(&object) {
            lifecycle::end(&process, seconds(&object, "stop_timeout"), cx.stop()).await?;
        }
        Ok(Diagnostics::new())
    }

    /// Imports by pid. Environment, port and directory of the process are not taken over, so a
    /// configuration that sets them replaces it.
    async fn import(&self, _: &Context, id: &str) -> Result<State, Failure> {
        let pid = id.to_owned();
        let found = blocking(move || lifecycle::find(&pid)).await?;
        let mut object = Object::of(&schema().empty_value()).map_err(undescribable)?;
        let words = found.command.into_iter().map(Value::string).collect();
        object.set("command", Value::list(Type::String, words));
        object.set("log_file", found.log_file);
        set_identity(&mut object, found.process);
        state(object)
    }
}
