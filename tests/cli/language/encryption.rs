//! `encryption` blocks: evaluated from variables and locals before the stage, and refused like in
//! OpenTofu. With encryption a warning says that flightdeck's store is not encrypted.

use super::{Case, Verdict::*, assert_verdicts};
use crate::support::Workspace;

#[test]
fn encryption_block_is_checked_as_far_as_it_is_used() {
    assert_verdicts(&[
        Case {
            name: "nothing in it",
            files: &[("main.tf", "terraform {\n  encryption {\n  }\n}\n")],
            verdict: Staged(&[]),
        },
        Case {
            name: "a key and a method that nothing uses",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n  }\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "a key provider that is not declared",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "a method that is not declared",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
        Case {
            name: "a key provider twice",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "a method twice",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "two blocks",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n  }\n}\nterraform {\n  encryption {\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 12)]),
        },
        Case {
            name: "an argument that is none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    foo = 1\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "a block that is none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    foo {\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
        Case {
            name: "no method",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 9)]),
        },
        Case {
            name: "an argument of state that is none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n      foo = 1\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "a key provider of no known type",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"nope\" \"k\" {\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.nope.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "a method of no known type",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    method \"nope\" \"m\" {\n    }\n    state {\n      method = method.nope.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "a method without keys",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 6)]),
        },
        Case {
            name: "an argument of a method that is none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      foo = 1\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
        Case {
            name: "an argument of a key provider that is none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      foo = 1\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "a short passphrase",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"short\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "few iterations",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      iterations = 1000\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "a hash function that is none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      hash_function = \"md5\"\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "a key that is too long for its method",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      key_length = 20\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "an undeclared variable",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = var.p\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "a resource",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n}\nterraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = terraform_data.a.id\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 6)]),
        },
        Case {
            name: "a resource in a key provider that nothing uses",
            files: &[(
                "main.tf",
                "resource \"terraform_data\" \"a\" {\n}\nterraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = terraform_data.a.id\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n  }\n}\n",
            )],
            verdict: Staged(&[("terraform_data.a", "create", "")]),
        },
        Case {
            name: "nothing encrypted",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    method \"unencrypted\" \"u\" {\n    }\n    state {\n      method = method.unencrypted.u\n    }\n  }\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "enforced, and nothing encrypted",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    method \"unencrypted\" \"u\" {\n    }\n    state {\n      method = method.unencrypted.u\n      enforced = true\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "a fallback that is not declared",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n      fallback {\n        method = method.unencrypted.u\n      }\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 12)]),
        },
        Case {
            name: "half a name of a method",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 10)]),
        },
        Case {
            name: "a method in quotes",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = \"method.aes_gcm.m\"\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 10)]),
        },
        Case {
            name: "a key that rests on itself",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      chain = key_provider.pbkdf2.k\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 4)]),
        },
        Case {
            name: "a passphrase and a chain",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      chain = key_provider.pbkdf2.k2\n      passphrase = \"sixteen letters!\"\n    }\n    key_provider \"pbkdf2\" \"k2\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "neither passphrase nor chain",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      \n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "keys that are none",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = \"x\"\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 7)]),
        },
        Case {
            name: "for states of others, of which none is read",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    remote_state_data_sources {\n      default {\n        method = method.aes_gcm.m\n      }\n    }\n  }\n}\n",
            )],
            verdict: Staged(&[]),
        },
        Case {
            name: "a state of others twice",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    remote_state_data_sources {\n      remote_state_data_source \"a\" {\n        method = method.aes_gcm.m\n      }\n      remote_state_data_source \"a\" {\n        method = method.aes_gcm.m\n      }\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 2)]),
        },
        Case {
            name: "two states",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 12)]),
        },
        Case {
            name: "in a module that is called",
            files: &[
                (
                    "m/main.tf",
                    "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
                ),
                ("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
            ],
            verdict: Staged(&[]),
        },
        Case {
            name: "a name with a blank",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k k\" {\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("", 0)]),
        },
        Case {
            name: "enforced by no bool",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n      enforced = \"nope\"\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 11)]),
        },
        Case {
            name: "a key provider without a name",
            files: &[(
                "main.tf",
                "terraform {\n  encryption {\n    key_provider \"pbkdf2\" {\n    }\n  }\n}\n",
            )],
            verdict: Refused(&[("main.tf", 3)]),
        },
    ]);
}

/// Valid configurations with encryption, each with the line of the warning.
const DUE: [(&str, u64); 7] = [
    (
        "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
        9,
    ),
    (
        "variable \"p\" {\n  default = \"sixteen letters!\"\n  sensitive = true\n}\nterraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = var.p\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
        13,
    ),
    (
        "locals {\n  p = \"sixteen letters!\"\n}\nterraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = local.p\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
        12,
    ),
    (
        "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    method \"unencrypted\" \"u\" {\n    }\n    state {\n      method = method.aes_gcm.m\n      fallback {\n        method = method.unencrypted.u\n      }\n    }\n  }\n}\n",
        11,
    ),
    (
        "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    key_provider \"pbkdf2\" \"c\" {\n      chain = key_provider.pbkdf2.k\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.c\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
        12,
    ),
    (
        "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    plan {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
        9,
    ),
    (
        "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = join(\"\", [\"sixteen \", \"letters!\"])\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
        9,
    ),
];

#[test]
fn encryption_of_the_state_is_valid_and_warns_about_the_plain_store() {
    for (text, line) in DUE {
        let workspace = Workspace::new(&[("main.tf", text)]);
        let valid = workspace.run(&["validate", "--json"]);
        assert_eq!(valid.code, Some(0), "{text}: {valid:#?}");
        let run = workspace.run(&["stage", "--json"]);
        assert_eq!(run.code, Some(0), "{text}: {run:#?}");
        let said = run.diagnostics();
        let of_the_record = said
            .iter()
            .find(|d| d["summary"] == "The store is not encrypted")
            .unwrap_or_else(|| panic!("{text}: {run:#?}"));
        assert_eq!(of_the_record["severity"], "warning");
        assert_eq!(
            of_the_record["range"]["start"]["line"], line,
            "{text}: {run:#?}"
        );
    }
}

#[test]
fn tf_encryption_is_parsed_like_a_block() {
    for (text, words) in [
        ("state {}", "Write a method as method.TYPE.NAME"),
        ("state {", "TF_ENCRYPTION"),
        ("{\"state\": {\"methd\": 1}}", "methd"),
        ("backend {}", "backend"),
    ] {
        let workspace = Workspace::new(&[("main.tf", "")]);
        let run = workspace
            .command(&["stage", "--json"])
            .env("TF_ENCRYPTION", text)
            .output()
            .unwrap();
        let told = String::from_utf8(run.stdout).unwrap();
        assert_eq!(run.status.code(), Some(1), "{text}: {told}");
        assert!(told.contains(words), "{text}: {told}");
    }
}
