//! Plugins that do not come up, or come up in spite of what they do: the verdict, the record of
//! each attempt, the words.

use crate::bench::{Bench, GOOD, each, says};
use serde_json::Value;

/// One misbehaviour before a plugin can be called.
struct Row {
    fake: &'static str,
    /// What lies in the plugin's place, with its mode; the fake program where nothing is said.
    file: Option<(&'static [u8], u32)>,
    env: &'static [(&'static str, &'static str)],
    verdict: &'static str,
    /// Whether another launch is tried: then all attempts end alike.
    retried: bool,
    /// How far it gets, as the record says it.
    phases: &'static [&'static str],
    /// How the process ends by itself.
    code: Option<i64>,
    signal: Option<i64>,
    /// What the verdict says: what and why, and what to do.
    words: &'static [&'static str],
    /// Most memory that flightdeck may take, in MB.
    memory: u64,
}

const EXEC: &[&str] = &["exec"];
const SAID: &[&str] = &["exec", "first_output"];
const SHOOK: &[&str] = &["exec", "first_output", "handshake"];
const CONNECTED: &[&str] = &["exec", "first_output", "handshake", "connected"];
const ALL: &[&str] = &["exec", "first_output", "handshake", "connected", "schema"];

/// A debug build of flightdeck with two plugins takes some 45 MB, most of it its own program.
const SMALL: u64 = 100;
const OTHER_RELEASE: &str = "this is an error of the plugin: take another release of it";
const NO_PLUGIN: &str = "is it a plugin? install the provider's package again";

const ROW: Row = Row {
    fake: "",
    file: None,
    env: &[],
    verdict: "exited",
    retried: true,
    phases: EXEC,
    code: None,
    signal: None,
    words: &[],
    memory: SMALL,
};

/// A file that is no program: nothing is started.
const FILE: Row = Row {
    verdict: "not_executable",
    retried: false,
    phases: &[],
    ..ROW
};
/// A first line that is no handshake.
const LINE: Row = Row {
    verdict: "unrecognised_line",
    phases: SAID,
    ..ROW
};
/// A handshake that another launch cannot change.
const WRONG: Row = Row {
    retried: false,
    phases: SAID,
    ..ROW
};
/// The head of a program for a machine with another processor, of little and of big endian.
const FOREIGN: &[u8] = b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x16\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// A flood takes its time on a machine that has much else to do, and it is not its end that is
/// looked at.
const PATIENT: &[(&str, &str)] = &[("FLIGHTDECK_LAUNCH_DEADLINE_MS", "600000")];
const SHORT_CONNECT: &[(&str, &str)] = &[("FLIGHTDECK_CONNECT_DEADLINE_MS", "15000")];

const FAILING: &[Row] = &[
    // The file.
    Row {
        fake: "not-marked",
        file: Some((b"#!/bin/sh\n", 0o644)),
        words: &["cannot be executed", "run `chmod +x` on it"],
        ..FILE
    },
    Row {
        fake: "empty",
        file: Some((b"", 0o755)),
        words: &["it is empty; install the package again"],
        ..FILE
    },
    Row {
        fake: "text",
        file: Some((b"hello\n", 0o755)),
        words: &["neither a program nor a script"],
        ..FILE
    },
    Row {
        fake: "no-interpreter",
        file: Some((b"#!/nonexistent/python\n", 0o755)),
        words: &[
            "the interpreter or loader that it names, or its working directory, does not exist on this system",
        ],
        ..FILE
    },
    Row {
        fake: "other-machine",
        file: Some((FOREIGN, 0o755)),
        verdict: "wrong_architecture",
        words: &[
            "is built for linux s390x, this machine is linux",
            "install the package for this system",
        ],
        ..FILE
    },
    Row {
        fake: "other-system",
        file: Some((b"MZ\x90\0\x03\0\0\0", 0o755)),
        verdict: "wrong_architecture",
        words: &[
            "is built for windows",
            "install the package for this system",
        ],
        ..FILE
    },
    Row {
        fake: "cut-off",
        file: Some((
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0",
            0o755,
        )),
        words: &["it is cut off; install the package again"],
        ..FILE
    },
    // Ends before the handshake.
    Row {
        fake: "exit-0",
        code: Some(0),
        words: &[
            "ended before its handshake: exit code 0; it said nothing",
            NO_PLUGIN,
        ],
        ..ROW
    },
    Row {
        fake: "exit-1-mute",
        code: Some(1),
        words: &["exit code 1; it said nothing", NO_PLUGIN],
        ..ROW
    },
    Row {
        fake: "exit-1",
        code: Some(1),
        phases: SAID,
        words: &[
            "exit code 1; its last words: /etc/acme.conf cannot be read: permission denied (`flightdeck logs` has all of them)",
        ],
        ..ROW
    },
    Row {
        fake: "panics",
        code: Some(2),
        phases: SAID,
        words: &["exit code 2; its last words: panic: runtime error: invalid memory address"],
        ..ROW
    },
    Row {
        fake: "dies-of-segv",
        signal: Some(11),
        words: &["killed by SIGSEGV (11)", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "dies-of-abrt",
        signal: Some(6),
        words: &["killed by SIGABRT (6)", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "dies-of-kill",
        signal: Some(9),
        words: &["killed by SIGKILL (9)", "memory"],
        ..ROW
    },
    Row {
        fake: "flood-and-exit",
        env: PATIENT,
        code: Some(1),
        phases: SAID,
        words: &["exit code 1; its last words: the very last line"],
        ..ROW
    },
    Row {
        fake: "grandchild",
        code: Some(1),
        phases: SAID,
        words: &["its last words: left a child behind"],
        ..ROW
    },
    Row {
        fake: "vanishes",
        code: Some(7),
        phases: SHOOK,
        words: &[
            "after its handshake and before it could be called: exit code 7; its last words: nothing to serve",
        ],
        ..ROW
    },
    // Says nothing, or something else.
    Row {
        fake: "silent",
        env: &[("FLIGHTDECK_LAUNCH_DEADLINE_MS", "15000")],
        verdict: "timed_out",
        phases: SAID,
        words: &[
            "no handshake within 15 s; its last words: warming up; raise FLIGHTDECK_LAUNCH_DEADLINE_MS if it needs longer",
        ],
        ..ROW
    },
    Row {
        fake: "closes-stdout",
        phases: EXEC,
        words: &["closed its standard output without a handshake", NO_PLUGIN],
        ..LINE
    },
    Row {
        fake: "usage",
        code: Some(1),
        words: &[
            "is not a handshake",
            "This binary is a plugin. It is not meant to be executed directly.",
            NO_PLUGIN,
        ],
        ..LINE
    },
    Row {
        fake: "garbage",
        words: &[
            "is not a handshake (it has 1 of the 4 to 7 fields",
            "acme 4.2: reading /etc/acme.conf",
            NO_PLUGIN,
        ],
        ..LINE
    },
    Row {
        fake: "garbage-bytes",
        words: &[
            "is not text and cannot be a handshake",
            "\\u{1b}[2J",
            NO_PLUGIN,
        ],
        ..LINE
    },
    Row {
        fake: "empty-line",
        words: &["the first line of output is empty", NO_PLUGIN],
        ..LINE
    },
    Row {
        fake: "endless-line",
        words: &["longer than 16384 bytes", "xxxx", NO_PLUGIN],
        ..LINE
    },
    Row {
        fake: "two-fields",
        words: &["it has 2 of the 4 to 7 fields", "1|6", NO_PLUGIN],
        ..LINE
    },
    Row {
        fake: "other-network",
        words: &["the network `quic` is unknown", OTHER_RELEASE],
        ..LINE
    },
    Row {
        fake: "long-path",
        words: &[
            "has 121 bytes and the system takes at most 107",
            OTHER_RELEASE,
        ],
        ..LINE
    },
    // A handshake that is none of ours.
    Row {
        fake: "core-version-2",
        verdict: "core_version",
        words: &[
            "handshake version 2 and only version 1 is known",
            "a newer or older release of the provider is needed",
        ],
        ..WRONG
    },
    Row {
        fake: "protocol-4",
        verdict: "protocol_version",
        words: &[
            "protocol 4; supported are 5 and 6",
            "take a release of the provider that speaks one of them",
        ],
        ..WRONG
    },
    Row {
        fake: "protocol-7",
        verdict: "protocol_version",
        words: &[
            "protocol 7; supported are 5 and 6",
            "take a release of the provider that speaks one of them",
        ],
        ..WRONG
    },
    Row {
        fake: "net-rpc",
        verdict: "net_rpc",
        words: &["net/rpc", "take a newer release of the provider"],
        ..WRONG
    },
    Row {
        fake: "net-rpc-tcp",
        verdict: "net_rpc",
        words: &["net/rpc", "take a newer release of the provider"],
        ..WRONG
    },
    Row {
        fake: "net-rpc-old",
        verdict: "net_rpc",
        words: &["net/rpc", "take a newer release of the provider"],
        ..WRONG
    },
    // Where nobody answers.
    Row {
        fake: "socket-missing",
        verdict: "connect",
        phases: SHOOK,
        words: &[
            "no connection to the plugin at /nonexistent/fake.sock: No such file",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "port-closed",
        verdict: "connect",
        phases: SHOOK,
        words: &[
            "no connection to the plugin at 127.0.0.1:",
            "Connection refused",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "deaf",
        env: SHORT_CONNECT,
        verdict: "connect",
        phases: SHOOK,
        words: &["no answer within 15 s; raise FLIGHTDECK_CONNECT_DEADLINE_MS"],
        ..ROW
    },
    Row {
        fake: "mute",
        env: SHORT_CONNECT,
        verdict: "connect",
        phases: SHOOK,
        words: &["no answer within 15 s; raise FLIGHTDECK_CONNECT_DEADLINE_MS"],
        ..ROW
    },
    // Certificates and what is behind them.
    Row {
        fake: "certificate-not-base64",
        verdict: "certificate",
        phases: SAID,
        words: &["is not base64 without padding", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "certificate-not-der",
        verdict: "certificate",
        phases: SHOOK,
        words: &["certificate cannot be read", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "certificate-of-another",
        verdict: "certificate",
        phases: SHOOK,
        words: &[
            "showed a certificate that is not the one it announced",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "tcp-without-certificate",
        verdict: "certificate",
        phases: SHOOK,
        words: &[
            "announced no certificate, and its tcp port is open",
            "TF_DISABLE_PLUGIN_TLS=1",
        ],
        ..ROW
    },
    Row {
        fake: "certificate-missing",
        verdict: "connect",
        phases: SHOOK,
        words: &["the plugin hung up", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "plain-behind-certificate",
        verdict: "tls",
        phases: SHOOK,
        words: &[
            "no encrypted connection",
            "the tls handshake failed",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "refuses-the-host",
        verdict: "tls",
        phases: SHOOK,
        words: &["no encrypted connection", "hung up", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "without-alpn",
        verdict: "tls",
        phases: SHOOK,
        words: &["does not speak http/2 over tls", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "other-alpn",
        verdict: "tls",
        phases: SHOOK,
        words: &["does not speak http/2 over tls", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "hangs-up",
        verdict: "tls",
        phases: SHOOK,
        words: &["no encrypted connection", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "speaks-http-1",
        verdict: "tls",
        phases: SHOOK,
        words: &["the plugin hung up", OTHER_RELEASE],
        ..ROW
    },
    // The schema.
    Row {
        fake: "schema-never",
        env: &[("FLIGHTDECK_SCHEMA_DEADLINE_MS", "15000")],
        verdict: "schema",
        phases: CONNECTED,
        words: &[
            "did not give its schema: no answer within 15 s; raise FLIGHTDECK_SCHEMA_DEADLINE_MS",
        ],
        ..ROW
    },
    Row {
        fake: "schema-nonsense",
        verdict: "schema",
        phases: CONNECTED,
        words: &["failed to decode Protobuf message", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "schema-not-text",
        verdict: "schema",
        phases: CONNECTED,
        words: &["not UTF-8", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "schema-error",
        verdict: "schema",
        phases: CONNECTED,
        words: &[
            "fake_thing: id is both required and computed",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "schema-unknown",
        verdict: "schema",
        phases: CONNECTED,
        words: &["unknown method GetProviderSchema", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "schema-too-large",
        verdict: "schema",
        phases: CONNECTED,
        words: &["larger than the 256 MiB that are taken", OTHER_RELEASE],
        ..ROW
    },
];

/// What the record of a plugin says of its launches.
fn attempts(plugin: &Value) -> &[Value] {
    plugin["attempts"].as_array().map_or(&[], Vec::as_slice)
}

fn phases(attempt: &Value) -> Vec<&str> {
    attempt["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect()
}

fn plugin<'a>(result: &'a Value, id: &str) -> &'a Value {
    let all = result["plugins"]
        .as_array()
        .unwrap_or_else(|| panic!("{result}"));
    all.iter()
        .find(|p| p["id"] == id)
        .unwrap_or_else(|| panic!("no {id} in {result}"))
}

/// The neighbour came up at once and answered.
fn good(result: &Value) {
    let good = plugin(result, GOOD);
    assert_eq!(good["state"]["state"], "ready", "{good}");
    assert_eq!(attempts(good).len(), 1, "{good}");
    assert!(
        good["schema"]["resources"].as_u64() > Some(0),
        "{}",
        good["schema"]
    );
}

fn fails(row: &Row) {
    let bench = match row.file {
        Some((content, mode)) => Bench::of_file(row.fake, content, mode),
        None => Bench::new(row.fake),
    };
    let seen = bench.run(&["plugins", "--json"], row.env).expect(3);
    let result = seen.result();
    assert_eq!(
        (&result["outcome"], &result["exit_code"]),
        (&"error".into(), &3.into())
    );
    good(&result);
    let fake = plugin(&result, &bench.address());
    let (state, count) = if row.retried {
        ("gave_up", 2)
    } else {
        ("incompatible", 1)
    };
    assert_eq!(fake["state"]["state"], state, "{fake}");
    assert_eq!(attempts(fake).len(), count, "{fake}");
    for (attempt, number) in attempts(fake).iter().zip(1..) {
        let verdict = &attempt["verdict"];
        assert_eq!(verdict["kind"], row.verdict, "{attempt}");
        says(verdict["text"].as_str().unwrap(), row.words);
        assert_eq!(verdict["retryable"], row.retried, "{attempt}");
        assert_eq!(phases(attempt), row.phases, "{attempt}");
        assert_eq!(
            (attempt["exit_code"].as_i64(), attempt["signal"].as_i64()),
            (row.code, row.signal),
            "{attempt}"
        );
        assert_eq!(
            (attempt["number"].as_i64(), attempt["limit"].as_i64()),
            (Some(number), Some(2)),
            "{attempt}"
        );
        assert_eq!(attempt["pid"].is_null(), row.phases.is_empty(), "{attempt}");
        assert!(attempt["took_ms"].is_u64(), "{attempt}");
    }
    assert_eq!(
        bench.count("launches"),
        if row.file.is_none() { count } else { 0 }
    );
    // What the operator reads: which plugin, after how many launches, and the same words.
    let told = seen
        .diagnostics()
        .into_iter()
        .find(|d| d.contains(&bench.address()))
        .unwrap_or_default();
    says(&told, row.words);
    says(
        &told,
        &[if row.retried {
            "was given up after 2 launches"
        } else {
            "cannot be used"
        }],
    );
    assert!(seen.peak_mb < row.memory, "{} MB", seen.peak_mb);
}

#[test]
fn a_plugin_that_does_not_come_up_says_why_and_harms_nobody() {
    each(FAILING, |row| row.fake, fails);
}

#[test]
fn people_read_the_same_words() {
    let rows: Vec<&Row> = FAILING
        .iter()
        .filter(|r| ["exit-1", "protocol-7", "garbage-bytes", "other-machine"].contains(&r.fake))
        .collect();
    assert_eq!(rows.len(), 4);
    each(
        &rows,
        |row| row.fake,
        |row| {
            let bench = match row.file {
                Some((content, mode)) => Bench::of_file(row.fake, content, mode),
                None => Bench::new(row.fake),
            };
            let seen = bench.run(&["plugins"], row.env).expect(3);
            says(&seen.stdout, row.words);
            let (state, launch) = if row.retried {
                ("gave up", "launch 2 of 2")
            } else {
                ("incompatible", "launch 1 of 2")
            };
            says(
                &seen.stdout,
                &[
                    &format!("{}  {state}", bench.address()),
                    launch,
                    "bundled/lab  ready",
                ],
            );
            says(&seen.stderr, row.words);
            says(&seen.stderr, &[&bench.address()]);
            assert!(
                !seen.stdout.contains('\x1b') && !seen.stderr.contains('\x1b'),
                "what a plugin says must not steer a terminal: {seen:#?}"
            );
        },
    );
}

/// Plugins that are odd and serve: with the memory that flightdeck may take, and the longest grace.
const SERVING: &[(&str, u64)] = &[
    ("good", SMALL),
    ("tcp", SMALL),
    ("without-tls", SMALL),
    ("stdout-closed-later", SMALL),
    ("stubborn", SMALL),
    ("floods", SMALL),
    ("floods-by-stream", SMALL),
    ("schema-without-provider", SMALL),
    // 70 MB on the wire: as they came, and as they are kept.
    ("schema-large", 450),
];

#[test]
fn a_plugin_that_is_odd_and_serves_is_served() {
    each(
        SERVING,
        |row| row.0,
        |&(fake, memory)| {
            let bench = Bench::new(fake);
            let seen = bench
                .run(
                    &["plugins", "--json"],
                    &[("FLIGHTDECK_STOP_GRACE_MS", "500"), PATIENT[0]],
                )
                .expect(0);
            let result = seen.result();
            good(&result);
            let fake = plugin(&result, &bench.address());
            assert_eq!(fake["state"]["state"], "ready", "{fake}");
            assert_eq!(attempts(fake).len(), 1, "{fake}");
            assert_eq!(attempts(fake)[0]["verdict"]["kind"], "ready", "{fake}");
            assert_eq!(phases(&attempts(fake)[0]), ALL);
            assert!(
                fake["schema"]["resources"].as_u64() > Some(0),
                "{}",
                fake["schema"]
            );
            assert!(seen.peak_mb < memory, "{} MB", seen.peak_mb);
        },
    );
}

/// What the verdict tells to do is heeded.
#[test]
fn a_tcp_port_without_a_certificate_is_taken_where_encryption_is_switched_off() {
    let bench = Bench::new("tcp-without-certificate");
    let seen = bench
        .run(&["plugins", "--json"], &[("TF_DISABLE_PLUGIN_TLS", "1")])
        .expect(0);
    assert_eq!(
        plugin(&seen.result(), &bench.address())["state"]["state"],
        "ready"
    );
}

#[test]
fn the_fifth_launch_is_the_last_one_that_is_tried() {
    each(
        &["fifth", "never"],
        |name| name,
        |fake| {
            let bench = Bench::new(fake);
            let comes_up = *fake == "fifth";
            let seen = bench
                .run(
                    &["plugins", "--json"],
                    &[("FLIGHTDECK_LAUNCH_ATTEMPTS", "5")],
                )
                .expect(if comes_up { 0 } else { 3 });
            let result = seen.result();
            good(&result);
            let fake = plugin(&result, &bench.address());
            let verdicts: Vec<&str> = attempts(fake)
                .iter()
                .map(|a| a["verdict"]["kind"].as_str().unwrap())
                .collect();
            assert_eq!(
                verdicts,
                [
                    "exited",
                    "exited",
                    "exited",
                    "exited",
                    if comes_up { "ready" } else { "exited" }
                ]
            );
            assert_eq!(bench.count("launches"), 5);
            if !comes_up {
                says(
                    &seen.diagnostics().concat(),
                    &["was given up after 5 launches", "permission denied"],
                );
            }
        },
    );
}

#[test]
fn a_schema_with_types_that_are_none_is_of_no_use_and_says_so() {
    let bench = Bench::new("schema-of-no-type");
    let words = [
        "answered GetProviderSchema with something that cannot be read",
        "fake_broken.size",
        "this is an error of the plugin",
    ];
    let seen = bench.run(&["plugins", "--json"], &[]).expect(3);
    good(&seen.result());
    assert!(plugin(&seen.result(), &bench.address())["schema"].is_null());
    says(&seen.diagnostics().concat(), &words);
    let seen = bench.run(&["plugins"], &[]).expect(3);
    says(&seen.stdout, &words);
    says(&seen.stdout, &["ready, but of no use"]);
}

#[test]
fn a_child_that_has_left_the_group_holds_nobody_up() {
    let bench = Bench::new("grandchild-away");
    let seen = bench.start(&["plugins", "--json"], &[]).end().expect(3);
    let result = seen.result();
    good(&result);
    let fake = plugin(&result, &bench.address());
    for attempt in attempts(fake) {
        says(
            attempt["verdict"]["text"].as_str().unwrap(),
            &["exit code 1; its last words: left a daemon behind"],
        );
        assert_eq!(phases(attempt), SAID);
    }
    // Two launches left two of them. Whoever leaves on purpose is on his own, as gpg-agent and the
    // like want it.
    let left = bench.alive();
    assert_eq!(left.len(), 2, "{left:?}");
    for daemon in left {
        let pid: i32 = daemon.split(':').next().unwrap().parse().unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
}

#[test]
fn all_that_did_not_register_are_named() {
    let bench = Bench::new("exit-1");
    let second = Bench::new("protocol-7");
    let both = std::fs::read_to_string(bench.folder().join("rc")).unwrap();
    let line = format!("    \"{}\" = {:?}\n", second.address(), second.folder());
    std::fs::write(
        bench.folder().join("rc"),
        both.replace("dev_overrides {\n", &format!("dev_overrides {{\n{line}")),
    )
    .unwrap();
    bench.add("module \"m\" {\n  source = \"./m\"\n}\n");
    bench.module(&format!(
        "terraform {{\n  required_providers {{\n    other = {{ source = \"{}\" }}\n  }}\n}}\nresource \"other_thing\" \"y\" {{\n  name = \"y\"\n}}\n",
        second.address()
    ));
    let seen = bench.run(&["plugins", "--json"], &[]).expect(3);
    says(
        &seen.diagnostics().concat(),
        &[
            &bench.address(),
            &second.address(),
            "permission denied",
            "protocol 7",
        ],
    );
    good(&seen.result());
}
