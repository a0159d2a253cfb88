//! Groups of flags that several commands share, and shared reasons why flags are not supported.

use super::table::{Flag, Here};

pub(super) const fn same(name: &'static str, example: &'static str) -> Flag {
    let here = Here::Same;
    Flag {
        name,
        example,
        here,
    }
}

pub(super) const fn differs(name: &'static str, example: &'static str, how: &'static str) -> Flag {
    let here = Here::Differs(how);
    Flag {
        name,
        example,
        here,
    }
}

pub(super) const fn refused(name: &'static str, example: &'static str, why: &'static str) -> Flag {
    let here = Here::Refused(why);
    Flag {
        name,
        example,
        here,
    }
}

pub(super) const VARIABLES: &[Flag] = &[same("var", "x=1"), same("var-file", "x.tfvars")];
pub(super) const LOCK: &[Flag] = &[
    differs(
        "lock",
        "false",
        "`false` skips the backend's lock on the state, with a warning; flightdeck always takes its own lock on the workspace",
    ),
    same("lock-timeout", "30s"),
];
pub(super) const NO_LOCK: &[Flag] = &[
    differs("lock", "false", "no effect: nothing is locked"),
    differs("lock-timeout", "30s", "no effect: nothing is locked"),
];
pub(super) const STATE_FILES: &[Flag] = &[
    differs("state", "other.tfstate", OTHER_STATE),
    differs(
        "state-out",
        "out.tfstate",
        "as for `-state`; each run reads the state from the file of `-state` and writes it to this file",
    ),
    differs(
        "backup",
        "old.tfstate",
        "no effect if the backend does not store the state in a local file",
    ),
];
pub(super) const STATE: &[Flag] = &[differs("state", "other.tfstate", OTHER_STATE)];
pub(super) const OTHER_STATE: &str = "the file has its own history; it is refused if the backend does not store the state in a local file; an encrypted file is decrypted as the configuration says";
pub(super) const STATE_OF_ALL: &[Flag] = &[differs(
    "state",
    "other.tfstate",
    "with every backend; an encrypted file is decrypted as the configuration says",
)];
pub(super) const HAND_BACKUP: &[Flag] = &[differs(
    "backup",
    "old.tfstate",
    "the default is `FILE.backup`, without a time in its name",
)];
pub(super) const JSON: &[Flag] = &[
    differs("json", "", JSON_LINES),
    differs("json-into", "out.jsonl", JSON_LINES),
];
pub(super) const JSON_LINES: &str = "flightdeck's own lines; OpenTofu's with `FLIGHTDECK_FORMAT=tofu` if the command has `--format`";
pub(super) const DOCUMENT_INTO: &[Flag] = &[refused(
    "json-into",
    "out.json",
    "`-json` writes one document to stdout; redirect it into the file",
)];
pub(super) const INPUT: &[Flag] = &[same("input", "false")];
pub(super) const REMOTE_VERSION: &[Flag] = &[differs(
    "ignore-remote-version",
    "",
    "no effect: no supported backend runs another program",
)];
pub(super) const SHOW_SENSITIVE: &[Flag] = &[same("show-sensitive", "")];
pub(super) const TEST_DIRECTORY: &[Flag] = &[refused(
    "test-directory",
    "tests",
    "test files are read from `tests` and from the directory itself only",
)];
pub(super) const TARGETS: &[Flag] = &[
    same("target", "a.b"),
    same("target-file", "targets"),
    same("exclude", "a.b"),
    same("exclude-file", "excludes"),
];
pub(super) const PLANNING: &[Flag] = &[
    same("parallelism", "5"),
    same("refresh", "false"),
    same("destroy", ""),
    same("refresh-only", ""),
    same("replace", "a.b"),
];
pub(super) const FORGETTING: &[Flag] = &[differs(
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
    &[same("allow-missing", "")],
    JSON,
];
