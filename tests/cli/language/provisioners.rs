//! Provisioners on other machines and their connections, before any connection.

use super::{Case, Verdict::*, assert_verdicts};
use crate::support::Workspace;

#[test]
fn provisioners_that_opentofu_accepts_are_accepted() {
    assert_verdicts(ACCEPTED);
}

#[test]
fn provisioners_that_opentofu_refuses_are_refused() {
    assert_verdicts(REFUSED);
}

/// OpenTofu supports WinRM with a deprecation warning; flightdeck does not support it.
#[test]
fn winrm_is_refused_with_a_remedy() {
    let w = Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  connection {\n    host = \"h\"\n    type = \"winrm\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
    )]);
    let run = w.run(&["stage", "--json"]).expect(1);
    let all = run.diagnostics();
    assert_eq!(
        (all.len(), &all[0]["range"]["start"]["line"]),
        (1, &4.into()),
        "{all:?}"
    );
    let detail = all[0]["detail"].as_str().unwrap();
    assert!(
        detail.contains("\"winrm\" are not supported") && detail.contains("target_platform"),
        "{detail}"
    );
}

/// OpenTofu requires the host in the resource's own block, even if the provisioner's block has it.
#[test]
fn connection_host_may_be_in_the_provisioner_only() {
    assert_verdicts(&[Case {
        name: "a host in the provisioner alone",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  connection {\n    user = \"u\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    connection {\n      host = \"h\"\n    }\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    }]);
}

/// If each instance refers to all, that is a cycle, as in OpenTofu. References to one instance make
/// the others wait for it.
#[test]
fn provisioner_waits_for_referenced_instances_of_its_own_resource() {
    const CIRCLE: &str = "resource \"terraform_data\" \"a\" {\n  count = 3\n  provisioner \"local-exec\" {\n    command = \"echo ${terraform_data.a[count.index].id}\"\n  }\n}\n";
    let w = Workspace::new(&[("main.tf", CIRCLE)]);
    w.run(&["validate"]).expect(0);
    let run = w.run(&["stage", "--json"]).expect(1);
    let all = run.diagnostics();
    let (summary, detail) = (&all[0]["summary"], all[0]["detail"].as_str().unwrap());
    assert!(
        all.len() == 1
            && summary
                .as_str()
                .unwrap()
                .starts_with("Cycle: terraform_data.a["),
        "{all:?}"
    );
    assert!(detail.contains("Use self"), "{detail}");
    // All instances refer to one of them, which takes a second.
    let named = CIRCLE.replace(
        "echo ${terraform_data.a[count.index].id}",
        "[ ${count.index} = 1 ] && sleep 1; echo ${terraform_data.a[1].id} >> seen.txt",
    );
    w.write("main.tf", &named);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let seen = std::fs::read_to_string(w.path().join("seen.txt")).unwrap();
    let ids: std::collections::BTreeSet<&str> = seen.lines().collect();
    assert_eq!((seen.lines().count(), ids.len()), (3, 1), "{seen}");
    // A single instance has nothing to wait for.
    let one = CIRCLE.replace("count = 3", "count = 1");
    Workspace::new(&[("main.tf", &one)])
        .run(&["deploy", "--auto-approve"])
        .expect(0);
}

const ACCEPTED: &[Case] = &[
    Case {
        name: "a script that is null beside another",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    script = null\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "an empty list of lines",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = []\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "lines that are a set",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = toset([\"true\"])\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a source that is not there",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    source = \"none\"\n    destination = \"/c\"\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "an empty content",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = \"\"\n    destination = \"/c\"\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "no connection",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a host of null",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = null\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a host in the resource alone",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    connection {\n      user = \"u\"\n    }\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a connection without a host that nobody uses",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    user = \"u\"\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a port as a text",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    port = \"22\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a port out of range",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    port = 70000\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "another type of connection",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    type = \"foo\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "another platform",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    target_platform = \"foo\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "a timeout that is none",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    timeout = \"soon\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "arguments of winrm with ssh",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    https = true\n    insecure = true\n    use_ntlm = true\n    cacert = \"c\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "all arguments of a bastion and a proxy",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    bastion_host = \"b\"\n    bastion_port = 1\n    bastion_user = \"u\"\n    bastion_password = \"p\"\n    bastion_private_key = \"k\"\n    bastion_certificate = \"c\"\n    bastion_host_key = \"k\"\n    proxy_scheme = \"http\"\n    proxy_host = \"p\"\n    proxy_port = 1\n    proxy_user_name = \"u\"\n    proxy_user_password = \"p\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "an attribute of self",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = self.output\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "another resource",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"b\" {\n}\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = terraform_data.b.id\n  }\n  provisioner \"remote-exec\" {\n    inline = [terraform_data.b.id]\n  }\n}\n",
        )],
        verdict: Staged(&[
            ("terraform_data.a", "create", ""),
            ("terraform_data.b", "create", ""),
        ]),
    },
    Case {
        name: "an ephemeral value in both",
        files: &[(
            "main.tf",
            "variable \"e\" {\n  ephemeral = true\n  default = \"x\"\n}\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = var.e\n    password = var.e\n  }\n  provisioner \"remote-exec\" {\n    inline = [var.e]\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
    Case {
        name: "an ephemeral value that is copied",
        files: &[(
            "main.tf",
            "variable \"e\" {\n  ephemeral = true\n  default = \"x\"\n}\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = var.e\n    destination = \"/c\"\n  }\n}\n",
        )],
        verdict: Staged(&[("terraform_data.a", "create", "")]),
    },
];

const REFUSED: &[Case] = &[
    Case {
        name: "both inline and script",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    script = \"x\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "a script that is not known beside another",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    script = self.id\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "nothing to run",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "lines that are no list",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = \"true\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 7)]),
    },
    Case {
        name: "an argument of another kind",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    command = \"x\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 8)]),
    },
    Case {
        name: "both source and content",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    source = \"a\"\n    content = \"b\"\n    destination = \"/c\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "nothing to copy",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    destination = \"/c\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "no destination",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = \"b\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "an empty destination",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = \"b\"\n    destination = \"\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "a null destination",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = \"b\"\n    destination = null\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "a content that is an object",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = {}\n    destination = \"/c\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 7)]),
    },
    Case {
        name: "a connection without a host",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    user = \"u\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 3)]),
    },
    Case {
        name: "a connection without a host and local-exec",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    user = \"u\"\n  }\n  provisioner \"local-exec\" {\n    command = \"true\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 3)]),
    },
    Case {
        name: "an unknown argument of a connection",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    hots = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 5)]),
    },
    Case {
        name: "an unknown argument of the resource's, shared by two",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    hots = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 5)]),
    },
    Case {
        name: "a block in a connection",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    bastion {\n    }\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 5)]),
    },
    Case {
        name: "two connections",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "two connections of a provisioner",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    connection {\n      host = \"u\"\n    }\n    connection {\n      host = \"u\"\n    }\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 11)]),
    },
    Case {
        name: "a port that is no number",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    port = \"ssh\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 5)]),
    },
    Case {
        name: "an agent that is no bool",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    agent = \"maybe\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 5)]),
    },
    Case {
        name: "a key that is a list",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n    private_key = []\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 5)]),
    },
    Case {
        name: "an attribute of self that is not there",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = self.nope\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 4)]),
    },
    Case {
        name: "another resource that is not there",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = terraform_data.b.id\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 4)]),
    },
    Case {
        name: "another resource before a destruction",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"b\" {\n}\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = terraform_data.b.id\n  }\n  provisioner \"remote-exec\" {\n    inline = [\"true\"]\n    when = destroy\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "another resource in a copy before a destruction",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"b\" {\n}\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"file\" {\n    content = terraform_data.b.id\n    destination = \"/c\"\n    when = destroy\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 9)]),
    },
    Case {
        name: "each value before a destruction",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  for_each = { a = \"b\" }\n  connection {\n    host = \"h\"\n  }\n  provisioner \"remote-exec\" {\n    inline = [each.value]\n    when = destroy\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 7)]),
    },
    Case {
        name: "a kind that there is not",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"nope\" {\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "a kind that there was",
        files: &[(
            "main.tf",
            "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  connection {\n    host = \"h\"\n  }\n  provisioner \"chef\" {\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 6)]),
    },
    Case {
        name: "a connection in a data source",
        files: &[(
            "main.tf",
            "data \"terraform_remote_state\" \"a\" {\n  backend = \"local\"\n  connection {\n    host = \"h\"\n  }\n}\n",
        )],
        verdict: Refused(&[("main.tf", 3)]),
    },
];
