//! Groups of flags that several commands share, and shared reasons why flags are not supported.

use super::table::{Flag, Support};

pub(super) const fn same_flag(name: &'static str, example: &'static str) -> Flag {
    let here = Support::Same;
    Flag {
        name,
        example,
        support: here,
    }
}

pub(super) const fn differing_flag(
    name: &'static str,
    example: &'static str,
    how: &'static str,
) -> Flag {
    let here = Support::Differs(how);
    Flag {
        name,
        example,
        support: here,
    }
}

pub(super) const fn refused_flag(
    name: &'static str,
    example: &'static str,
    why: &'static str,
) -> Flag {
    let here = Support::Refused(why);
    Flag {
        name,
        example,
        support: here,
    }
}

pub(super) const VARIABLES: &[Flag] = &[same_flag("var", "x=1"), same_flag("var-file", "x.tfvars")];
pub(super) const LOCK: &[Flag] = &[
    differing_flag(
        "lock",
        "false",
        "`false` skips the backend's lock on the state, with a warning; flightdeck always takes its own lock on the workspace",
    ),
    same_flag("lock-timeout", "30s"),
];
pub(super) const NO_LOCK: &[Flag] = &[
    differing_flag("lock", "false", "no effect: nothing is locked"),
    differing_flag("lock-timeout", "30s", "no effect: nothing is locked"),
];
pub(super) const STATE_FILES: &[Flag] = &[
    differing_flag("state", "other.tfstate", OTHER_STATE),
    differing_flag(
        "state-out",
        "out.tfstate",
        "as for `-state`; each run reads the state from the file of `-state` and writes it to this file",
    ),
    differing_flag(
        "backup",
        "old.tfstate",
        "no effect if the backend does not store the state in a local file",
    ),
];
pub(super) const STATE: &[Flag] = &[differing_flag("state", "other.tfstate", OTHER_STATE)];
pub(super) const OTHER_STATE: &str = "the file has its own history; it is refused if the backend does not store the state in a local file; an encrypted file is decrypted as the configuration says";
pub(super) const STATE_OF_ALL: &[Flag] = &[differing_flag(
    "state",
    "other.tfstate",
    "with every backend; an encrypted file is decrypted as the configuration says",
)];
pub(super) const HAND_BACKUP: &[Flag] = &[differing_flag(
    "backup",
    "old.tfstate",
    "the default is `FILE.backup`, without a time in its name",
)];
pub(super) const JSON: &[Flag] = &[
    differing_flag("json", "", JSON_LINES),
    differing_flag("json-into", "out.jsonl", JSON_LINES),
];
pub(super) const JSON_LINES: &str = "flightdeck's own lines; OpenTofu's with `FLIGHTDECK_FORMAT=tofu` if the command has `--format`";
pub(super) const DOCUMENT_INTO: &[Flag] = &[refused_flag(
    "json-into",
    "out.json",
    "`-json` writes one document to stdout; redirect it into the file",
)];
pub(super) const INPUT: &[Flag] = &[same_flag("input", "false")];
pub(super) const REMOTE_VERSION: &[Flag] = &[differing_flag(
    "ignore-remote-version",
    "",
    "no effect: no supported backend runs another program",
)];
pub(super) const SHOW_SENSITIVE: &[Flag] = &[same_flag("show-sensitive", "")];
pub(super) const TEST_DIRECTORY: &[Flag] = &[refused_flag(
    "test-directory",
    "tests",
    "test files are read from `tests` and from the directory itself only",
)];
pub(super) const TARGETS: &[Flag] = &[
    same_flag("target", "a.b"),
    same_flag("target-file", "targets"),
    same_flag("exclude", "a.b"),
    same_flag("exclude-file", "excludes"),
];
pub(super) const PLANNING: &[Flag] = &[
    same_flag("parallelism", "5"),
    same_flag("refresh", "false"),
    same_flag("destroy", ""),
    same_flag("refresh-only", ""),
    same_flag("replace", "a.b"),
];
pub(super) const FORGETTING: &[Flag] = &[differing_flag(
    "suppress-forget-errors",
    "",
    "no effect: a destroy that leaves objects behind is not an error in flightdeck",
)];

pub(super) const CONSOLE_JSON: &str =
    "values are written as expressions; `jsonencode(…)` writes JSON";
pub(super) const ALWAYS_READS: &str =
    "this command reads every object and changes none; use the flag with `plan` or `apply`";
pub(super) const TWO_STATES: &str = "moves between two states are not supported; use `removed` and `import` blocks, or edit the output of `state pull` and push it";
pub(super) const MARKING: &[&[Flag]] = &[
    VARIABLES,
    LOCK,
    STATE_FILES,
    REMOTE_VERSION,
    &[same_flag("allow-missing", "")],
    JSON,
];
