//! Every flag of every command of OpenTofu 1.12.6 (`internal/command/arguments` in its source),
//! with its meaning here or the reason of its refusal. `docs/compatibility.md` has the same table.

use super::groups::*;

/// Support of a flag in flightdeck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Support {
    /// As in OpenTofu.
    Same,
    /// Accepted, with this difference.
    Differs(&'static str),
    /// Not accepted, for this reason.
    Refused(&'static str),
}

/// A flag of a command.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Flag {
    pub(in crate::cli) name: &'static str,
    /// Value that it takes; empty for a switch.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the test of all flags reads it")
    )]
    pub(in crate::cli) example: &'static str,
    pub(in crate::cli) support: Support,
}

/// A command of OpenTofu's.
#[derive(Debug)]
pub(in crate::cli) struct ReferenceCommand {
    pub(in crate::cli) name: &'static str,
    /// flightdeck's commands that take its flags, as words.
    pub(in crate::cli) own_commands: &'static [&'static str],
    /// Required arguments of the command.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the test of all flags reads it")
    )]
    pub(in crate::cli) operands: &'static [&'static str],
    groups: &'static [&'static [Flag]],
}

impl ReferenceCommand {
    pub(in crate::cli) fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

/// Flags that every command takes.
pub(in crate::cli) const EVERYWHERE: &[Flag] = &[
    same_flag("no-color", ""),
    same_flag("compact-warnings", ""),
    differing_flag(
        "consolidate-warnings",
        "",
        "the default is to show each warning; OpenTofu consolidates warnings by default",
    ),
    same_flag("consolidate-errors", ""),
    same_flag("concise", ""),
    refused_flag(
        "deprecation",
        "module:local",
        "warnings about deprecated variables and outputs cannot be filtered by module",
    ),
    same_flag("chdir", "."),
];

const APPLYING: &[&[Flag]] = &[
    VARIABLES,
    LOCK,
    STATE_FILES,
    TARGETS,
    PLANNING,
    FORGETTING,
    &[same_flag("auto-approve", "")],
    SHOW_SENSITIVE,
    JSON,
    INPUT,
];

const fn verb(
    name: &'static str,
    ours: &'static [&'static str],
    operands: &'static [&'static str],
    groups: &'static [&'static [Flag]],
) -> ReferenceCommand {
    ReferenceCommand {
        name,
        own_commands: ours,
        operands,
        groups,
    }
}

/// All commands with their flags.
pub(in crate::cli) const VERBS: &[ReferenceCommand] = &[
    verb("apply", &["deploy"], &[], APPLYING),
    verb(
        "console",
        &["console"],
        &[],
        &[
            VARIABLES,
            NO_LOCK,
            STATE,
            INPUT,
            &[
                refused_flag("json", "", CONSOLE_JSON),
                refused_flag("json-into", "out.json", CONSOLE_JSON),
            ],
        ],
    ),
    verb(
        "destroy",
        &["destroy"],
        &[],
        &[
            VARIABLES,
            LOCK,
            STATE_FILES,
            TARGETS,
            &[
                same_flag("parallelism", "5"),
                same_flag("refresh", "false"),
                refused_flag(
                    "destroy",
                    "",
                    "this command always destroys; OpenTofu refuses it too",
                ),
                refused_flag(
                    "refresh-only",
                    "",
                    "this command always destroys; OpenTofu refuses it too",
                ),
                refused_flag(
                    "replace",
                    "a.b",
                    "a destroy replaces no objects; OpenTofu refuses it too",
                ),
            ],
            FORGETTING,
            &[same_flag("auto-approve", "")],
            SHOW_SENSITIVE,
            JSON,
            INPUT,
        ],
    ),
    verb(
        "fmt",
        &["fmt"],
        &[],
        &[&[
            same_flag("list", "false"),
            same_flag("write", "false"),
            same_flag("diff", ""),
            same_flag("check", ""),
            same_flag("recursive", ""),
        ]],
    ),
    verb(
        "force-unlock",
        &["force-unlock"],
        &["1"],
        &[VARIABLES, &[same_flag("force", "")], JSON],
    ),
    verb(
        "get",
        &["get"],
        &[],
        &[VARIABLES, &[same_flag("update", "")], TEST_DIRECTORY, JSON],
    ),
    verb(
        "graph",
        &["graph"],
        &[],
        &[
            VARIABLES,
            &[
                same_flag("type", "plan"),
                same_flag("plan", "p"),
                refused_flag(
                    "draw-cycles",
                    "",
                    "a cycle is an error that names its members",
                ),
                refused_flag("module-depth", "1", "the graph always has all modules"),
                refused_flag("verbose", "", "the graph has only one form"),
            ],
        ],
    ),
    verb(
        "import",
        &["import", "state import"],
        &["a.b", "1"],
        &[
            VARIABLES,
            LOCK,
            STATE_FILES,
            REMOTE_VERSION,
            &[
                differing_flag("parallelism", "5", "no effect: one object is imported"),
                refused_flag(
                    "config",
                    "dir",
                    "use `-chdir=DIR` to work in another directory",
                ),
            ],
            JSON,
            INPUT,
        ],
    ),
    verb(
        "init",
        &["init"],
        &[],
        &[
            VARIABLES,
            LOCK,
            REMOTE_VERSION,
            &[
                same_flag("backend", "false"),
                same_flag("cloud", "false"),
                same_flag("backend-config", "x=1"),
                same_flag("force-copy", ""),
                same_flag("reconfigure", ""),
                same_flag("migrate-state", ""),
                same_flag("upgrade", ""),
                same_flag("plugin-dir", "dir"),
                same_flag("lockfile", "readonly"),
                refused_flag(
                    "from-module",
                    "x",
                    "copy the module into the directory first, with `git clone` or `cp`",
                ),
                refused_flag(
                    "get",
                    "false",
                    "installed modules are not fetched again, and `init` needs the missing ones",
                ),
            ],
            TEST_DIRECTORY,
            JSON,
            INPUT,
        ],
    ),
    verb(
        "output",
        &["output"],
        &["x"],
        &[
            VARIABLES,
            STATE,
            SHOW_SENSITIVE,
            &[same_flag("raw", ""), same_flag("json", "")],
            DOCUMENT_INTO,
        ],
    ),
    verb(
        "plan",
        &["plan", "stage"],
        &[],
        &[
            VARIABLES,
            LOCK,
            STATE_FILES,
            TARGETS,
            PLANNING,
            &[
                same_flag("detailed-exitcode", ""),
                differing_flag("out", "p", "for `stage`, the name of the stage"),
                refused_flag(
                    "generate-config-out",
                    "x.tf",
                    "configuration is not generated; write the resource block for each `import` block",
                ),
            ],
            SHOW_SENSITIVE,
            JSON,
            INPUT,
        ],
    ),
    verb(
        "providers",
        &["providers"],
        &[],
        &[VARIABLES, TEST_DIRECTORY],
    ),
    verb(
        "providers lock",
        &["providers lock"],
        &[],
        &[
            VARIABLES,
            &[
                same_flag("platform", "linux_arm64"),
                same_flag("fs-mirror", "dir"),
                same_flag("net-mirror", "https://example.com/"),
            ],
            JSON,
        ],
    ),
    verb(
        "providers mirror",
        &["providers mirror"],
        &["dir"],
        &[VARIABLES, &[same_flag("platform", "linux_arm64")], JSON],
    ),
    verb(
        "providers schema",
        &["providers schema"],
        &["--json"],
        &[VARIABLES, &[same_flag("json", "")]],
    ),
    verb(
        "refresh",
        &["refresh"],
        &[],
        &[
            VARIABLES,
            LOCK,
            STATE_FILES,
            TARGETS,
            &[
                same_flag("parallelism", "5"),
                refused_flag("refresh", "false", ALWAYS_READS),
                refused_flag("destroy", "", ALWAYS_READS),
                refused_flag("refresh-only", "", ALWAYS_READS),
                refused_flag("replace", "a.b", ALWAYS_READS),
            ],
            JSON,
            INPUT,
        ],
    ),
    verb(
        "show",
        &["show"],
        &[],
        &[
            VARIABLES,
            SHOW_SENSITIVE,
            &[
                same_flag("state", ""),
                same_flag("plan", "p"),
                refused_flag(
                    "config",
                    "",
                    "run `plan -out=FILE` and `show -json FILE` for the configuration as JSON",
                ),
                refused_flag("module", "dir", "a single module cannot be shown"),
                same_flag("json", ""),
            ],
            DOCUMENT_INTO,
        ],
    ),
    verb(
        "state list",
        &["state list"],
        &[],
        &[VARIABLES, STATE_OF_ALL, &[same_flag("id", "x")], JSON],
    ),
    verb(
        "state mv",
        &["state mv"],
        &["a.b", "a.c"],
        &[
            VARIABLES,
            LOCK,
            REMOTE_VERSION,
            &[same_flag("dry-run", "")],
            STATE_OF_ALL,
            HAND_BACKUP,
            &[
                refused_flag("state-out", "out.tfstate", TWO_STATES),
                refused_flag("backup-out", "old.tfstate", TWO_STATES),
            ],
            JSON,
        ],
    ),
    verb("state pull", &["state pull"], &[], &[VARIABLES]),
    verb(
        "state push",
        &["state push"],
        &["-"],
        &[
            VARIABLES,
            LOCK,
            REMOTE_VERSION,
            &[same_flag("force", "")],
            JSON,
        ],
    ),
    verb(
        "state replace-provider",
        &["state replace-provider"],
        &["a/b", "a/c"],
        &[
            VARIABLES,
            LOCK,
            REMOTE_VERSION,
            &[same_flag("auto-approve", "")],
            STATE_OF_ALL,
            HAND_BACKUP,
            JSON,
        ],
    ),
    verb(
        "state rm",
        &["state forget"],
        &["a.b"],
        &[
            VARIABLES,
            LOCK,
            REMOTE_VERSION,
            &[same_flag("dry-run", "")],
            STATE_OF_ALL,
            HAND_BACKUP,
            JSON,
        ],
    ),
    verb(
        "state show",
        &["state show"],
        &["a.b"],
        &[VARIABLES, STATE_OF_ALL, SHOW_SENSITIVE, JSON],
    ),
    verb("taint", &["taint", "state taint"], &["a.b"], MARKING),
    verb("untaint", &["untaint", "state untaint"], &["a.b"], MARKING),
    verb(
        "validate",
        &["validate"],
        &[],
        &[
            VARIABLES,
            TEST_DIRECTORY,
            &[refused_flag(
                "no-tests",
                "",
                "test files are validated with the configuration",
            )],
            JSON,
        ],
    ),
    verb("version", &["version"], &[], &[&[same_flag("json", "")]]),
    verb(
        "workspace delete",
        &["workspace delete"],
        &["x"],
        &[VARIABLES, &[same_flag("force", "")], LOCK, JSON],
    ),
    verb(
        "workspace list",
        &["workspace list"],
        &[],
        &[
            VARIABLES,
            &[differing_flag("json", "", "one document with the names")],
            DOCUMENT_INTO,
        ],
    ),
    verb(
        "workspace new",
        &["workspace new"],
        &["x"],
        &[VARIABLES, &[same_flag("state", "old.tfstate")], LOCK, JSON],
    ),
    verb(
        "workspace select",
        &["workspace select"],
        &["x"],
        &[VARIABLES, &[same_flag("or-create", "")], JSON],
    ),
    verb("workspace show", &["workspace show"], &[], &[VARIABLES]),
];

/// Commands of flightdeck's own that take shared flags.
pub(in crate::cli) const OWN_COMMANDS: &[ReferenceCommand] = &[
    verb("reconcile", &["reconcile"], &[], &[VARIABLES, LOCK]),
    verb("state export", &["state export"], &[], &[VARIABLES, STATE]),
    verb(
        "state use",
        &["state use"],
        &["backend"],
        &[VARIABLES, LOCK, STATE_FILES],
    ),
];

/// Reason of the refusal of a flag of a command, given by its words; `None` for a flag that
/// OpenTofu does not have there either.
pub(in crate::cli) fn refusal(command: &str, flag: &str) -> Option<&'static str> {
    let of_command = VERBS
        .iter()
        .filter(|verb| verb.name == command || verb.own_commands.contains(&command))
        .flat_map(ReferenceCommand::flags);
    let mut all = EVERYWHERE.iter().chain(of_command);
    all.find_map(|known| match known.support {
        Support::Refused(why) if known.name == flag => Some(why),
        _ => None,
    })
}

/// Names of all flags.
pub(in crate::cli) fn reference_names() -> impl Iterator<Item = &'static str> {
    let all = VERBS.iter().flat_map(ReferenceCommand::flags);
    EVERYWHERE.iter().chain(all).map(|flag| flag.name)
}
