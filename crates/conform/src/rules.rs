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

/// All rules in the order of their checks. `update` stands for the checks `update:ARGUMENT`.
pub const RULES: &[Rule] = &[
    process(
        "start",
        "the plugin completes its handshake at the first launch, and at later ones",
        PROCESS,
    ),
    process("schema", "the schemas are complete and valid", PROTOCOL),
    process(
        "configure",
        "the provider accepts its configuration",
        PROTOCOL,
    ),
    of_type("validate", "validation accepts the configuration", PROTOCOL),
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
        "arguments that are null in the configuration stay null, unless the provider may choose them",
        LIFECYCLE,
    ),
    of_type(
        "private-state",
        "a read returns private data of the object",
        PROTOCOL,
    ),
    of_type(
        "identity",
        "an object has a known identity that stays the same",
        PROTOCOL,
    ),
    of_type("read", "a read of the new object returns it", LIFECYCLE),
    of_type(
        "no-op-plan",
        "a plan without a change of the configuration has no changes",
        LIFECYCLE,
    ),
    of_type(
        "import",
        "an import by the `id` of the object, or by its identity, returns the object",
        PROTOCOL,
    ),
    of_type(
        "update",
        "another value of the argument is updated as planned; a later plan has no changes",
        LIFECYCLE,
    ),
    of_type(
        "replace",
        "the object can be destroyed and created anew with its configuration",
        LIFECYCLE,
    ),
    of_type("destroy", "a destroy leaves no object", LIFECYCLE),
    of_type(
        "read-after-destroy",
        "a read of the destroyed object returns null",
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
        "the provider answers a request to stop its work, and a create in progress ends within the deadline of calls",
        PROTOCOL,
    ),
    process(
        "shutdown",
        "the process ends by itself within its grace period",
        PROCESS,
    ),
    process(
        "stdout",
        "nothing but the handshake on standard output, and at most 4000 log lines",
        PROCESS,
    ),
    process(
        "start-time",
        "the plugin is ready within 15 s, or the limit of `--start-limit`",
        PROCESS,
    ),
    process(
        "memory",
        "the peak memory of the process is at most 2 GiB, or the limit of `--memory-limit`",
        PROCESS,
    ),
];

/// Returns the rule of a check, such as `update:name`.
#[must_use]
pub fn rule(check: &str) -> Option<&'static Rule> {
    let id = check.split(':').next().unwrap_or(check);
    RULES.iter().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_has_each_rule_in_the_same_words() {
        let page = include_str!("../../../docs/conform.md");
        for rule in RULES {
            let id = match rule.id {
                "update" => "update:ARGUMENT",
                id => id,
            };
            // The page may add cases of some protocols.
            let row = format!("| `{id}` | {}", rule.text);
            assert!(page.contains(&row), "{row}");
        }
    }
}
