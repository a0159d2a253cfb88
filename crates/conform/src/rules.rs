//! The checks by id, with the rule of the protocol that each stands for.

/// Rule that a check stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Id of the check.
    pub id: &'static str,
    /// The rule, as a sentence about the plugin.
    pub text: &'static str,
    /// Document or call of the protocol that has the rule.
    pub source: &'static str,
    /// True for a check of each resource type, otherwise of the process.
    pub of_type: bool,
}

const LIFECYCLE: &str = "Terraform: resource instance change lifecycle";
const PROTOCOL: &str = "Terraform: plugin protocol";
const PROCESS: &str = "go-plugin: handshake and server";

const fn process(id: &'static str, text: &'static str, source: &'static str) -> Rule {
    Rule {
        id,
        text,
        source,
        of_type: false,
    }
}

const fn of_type(id: &'static str, text: &'static str, source: &'static str) -> Rule {
    Rule {
        id,
        text,
        source,
        of_type: true,
    }
}

/// All rules in the order of their checks. `update` stands for the checks `update:ATTRIBUTE`.
pub const RULES: &[Rule] = &[
    process(
        "start",
        "the plugin starts and completes its handshake",
        PROCESS,
    ),
    process("schema", "the schemas are complete and valid", PROTOCOL),
    process(
        "configure",
        "the provider accepts its configuration",
        PROTOCOL,
    ),
    of_type(
        "validate",
        "validation accepts a valid configuration",
        PROTOCOL,
    ),
    of_type(
        "plan-create",
        "the plan of a new object agrees with its configuration",
        LIFECYCLE,
    ),
    of_type("create", "the created object is as planned", LIFECYCLE),
    of_type(
        "unknowns",
        "an applied object has no unknown values",
        LIFECYCLE,
    ),
    of_type(
        "nulls",
        "arguments that are null in the configuration stay null",
        LIFECYCLE,
    ),
    of_type(
        "private-state",
        "a read returns private data of the object",
        PROTOCOL,
    ),
    of_type(
        "identity",
        "an object has a known identity that never changes",
        PROTOCOL,
    ),
    of_type(
        "read",
        "a read of an unchanged object returns it",
        LIFECYCLE,
    ),
    of_type(
        "no-op-plan",
        "a plan without a change of the configuration has no changes",
        LIFECYCLE,
    ),
    of_type(
        "import",
        "an imported object is the one with the id",
        PROTOCOL,
    ),
    of_type(
        "update",
        "the updated object is as planned, and a later plan has no changes",
        LIFECYCLE,
    ),
    of_type(
        "replace",
        "an object can be destroyed and created anew",
        LIFECYCLE,
    ),
    of_type("destroy", "a destroy leaves no object", LIFECYCLE),
    of_type(
        "read-after-destroy",
        "a read of a destroyed object returns null",
        LIFECYCLE,
    ),
    of_type(
        "destroy-again",
        "a destroy of an absent object succeeds",
        LIFECYCLE,
    ),
    process(
        "functions",
        "a function returns the same result for the same arguments",
        PROTOCOL,
    ),
    process(
        "cancel",
        "a request to stop is answered, and work in progress ends",
        PROTOCOL,
    ),
    process(
        "shutdown",
        "the process ends by itself when it is asked to",
        PROCESS,
    ),
    process(
        "stdout",
        "the plugin writes only its handshake to standard output, and few log lines",
        PROCESS,
    ),
    process("start-time", "the plugin is ready in time", PROCESS),
    process("memory", "the process stays within its memory", PROCESS),
];

/// Returns the rule of a check, such as `update:name`.
#[must_use]
pub fn rule(check: &str) -> Option<&'static Rule> {
    let id = check.split(':').next().unwrap_or(check);
    RULES.iter().find(|rule| rule.id == id)
}
