//! Table of plugins that fail to start: the fault of each, and the verdict.

/// One fault before a plugin can be called.
pub(super) struct Row {
    pub(super) fake: &'static str,
    /// Contents and mode of the file in the plugin's place; by default the fake executable.
    pub(super) file: Option<(&'static [u8], u32)>,
    pub(super) env: &'static [(&'static str, &'static str)],
    pub(super) verdict: &'static str,
    /// True if another launch is tried; all attempts then end alike.
    pub(super) retried: bool,
    /// Recorded phases of the launch attempt.
    pub(super) phases: &'static [&'static str],
    /// Exit code of the process, if it exits by itself.
    pub(super) code: Option<i64>,
    pub(super) signal: Option<i64>,
    /// Parts of the verdict: the failure, its reason and the remedy.
    pub(super) words: &'static [&'static str],
    /// Limit for flightdeck's memory in MB, without the pages of its executable.
    pub(super) memory: u64,
}

const EXEC: &[&str] = &["exec"];

pub(super) const SAID: &[&str] = &["exec", "first_output"];

const SHOOK: &[&str] = &["exec", "first_output", "handshake"];

const CONNECTED: &[&str] = &["exec", "first_output", "handshake", "connected"];

pub(super) const ALL: &[&str] = &["exec", "first_output", "handshake", "connected", "schema"];

/// flightdeck with two plugins uses about 15 MB beside the pages of its executable.
pub(super) const SMALL: u64 = 50;

const OTHER_RELEASE: &str = "this is a bug in the plugin: install another release of it";

const NO_PLUGIN: &str = "the file may not be a plugin; install the provider's package again";

const OTHER_PROGRAM: &[&str] = &[
    "the file is not a Terraform provider: it refused the magic cookie, so it belongs to another program",
    "install the provider's package again; if a script starts it, make the script pass on its environment",
];

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

/// The file is not a program: no process is started.
const FILE: Row = Row {
    verdict: "not_executable",
    retried: false,
    phases: &[],
    ..ROW
};

/// The first line is not a handshake.
const LINE: Row = Row {
    verdict: "unrecognised_line",
    phases: SAID,
    ..ROW
};

/// The handshake is invalid, and another launch cannot help.
const WRONG: Row = Row {
    retried: false,
    phases: SAID,
    ..ROW
};

/// Start of an ELF file for the IBM S/390, a big-endian architecture that is not supported.
const FOREIGN: &[u8] = b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x16\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// A flood of output is slow on a busy machine, and its duration is not part of the test.
pub(super) const PATIENT: &[(&str, &str)] = &[("FLIGHTDECK_LAUNCH_DEADLINE_MS", "600000")];

const SHORT_CONNECT: &[(&str, &str)] = &[("FLIGHTDECK_CONNECT_DEADLINE_MS", "15000")];

pub(super) const FAILING: &[Row] = &[
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
        words: &["neither a binary executable nor a script"],
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
            "is built for linux s390x, but this machine is linux",
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
        words: &["it is truncated; install the package again"],
        ..FILE
    },
    // Exits before the handshake.
    Row {
        fake: "exit-0",
        code: Some(0),
        words: &[
            "ended before its handshake: exit code 0; no output",
            NO_PLUGIN,
        ],
        ..ROW
    },
    Row {
        fake: "exit-1-mute",
        code: Some(1),
        words: &["exit code 1; no output", NO_PLUGIN],
        ..ROW
    },
    Row {
        fake: "exit-1",
        code: Some(1),
        phases: SAID,
        words: &[
            "exit code 1; last output: /etc/acme.conf cannot be read: permission denied (run `flightdeck logs` for all lines)",
        ],
        ..ROW
    },
    Row {
        fake: "other-program",
        verdict: "other_program",
        retried: false,
        code: Some(1),
        phases: SAID,
        words: OTHER_PROGRAM,
        ..ROW
    },
    Row {
        fake: "other-program-after-a-line",
        verdict: "other_program",
        retried: false,
        code: Some(1),
        phases: SAID,
        words: OTHER_PROGRAM,
        ..ROW
    },
    Row {
        fake: "other-program-in-a-script",
        file: Some((
            b"#!/bin/sh\necho 'Please do not execute plugins directly. Packer will execute these for you.' >&2\nexit 255\n",
            0o755,
        )),
        verdict: "other_program",
        retried: false,
        code: Some(255),
        phases: SAID,
        words: OTHER_PROGRAM,
        ..ROW
    },
    Row {
        fake: "panics",
        code: Some(2),
        phases: SAID,
        words: &["exit code 2; last output: panic: runtime error: invalid memory address"],
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
        words: &["exit code 1; last output: the very last line"],
        ..ROW
    },
    Row {
        fake: "grandchild",
        code: Some(1),
        phases: SAID,
        words: &["last output: left a child behind"],
        ..ROW
    },
    Row {
        fake: "vanishes",
        code: Some(7),
        phases: SHOOK,
        words: &[
            "after its handshake, before its first call: exit code 7; last output: nothing to serve",
        ],
        ..ROW
    },
    // Prints nothing, or something else.
    Row {
        fake: "silent",
        env: &[("FLIGHTDECK_LAUNCH_DEADLINE_MS", "15000")],
        verdict: "timed_out",
        phases: SAID,
        words: &[
            "the plugin did not complete its handshake within 15 s; last output: warming up; raise FLIGHTDECK_LAUNCH_DEADLINE_MS if the plugin needs longer",
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
            "has 121 bytes, but the system's limit is 107",
            OTHER_RELEASE,
        ],
        ..LINE
    },
    // Prints an invalid handshake.
    Row {
        fake: "core-version-2",
        verdict: "core_version",
        words: &[
            "handshake version 2, but only version 1 is supported",
            "install a newer or older release of the provider",
        ],
        ..WRONG
    },
    Row {
        fake: "protocol-4",
        verdict: "protocol_version",
        words: &[
            "protocol version 4, but flightdeck supports only 5 and 6",
            "install a release of the provider that supports one of them",
        ],
        ..WRONG
    },
    Row {
        fake: "protocol-7",
        verdict: "protocol_version",
        words: &[
            "protocol version 7, but flightdeck supports only 5 and 6",
            "install a release of the provider that supports one of them",
        ],
        ..WRONG
    },
    Row {
        fake: "net-rpc",
        verdict: "net_rpc",
        words: &["net/rpc", "install a newer release of the provider"],
        ..WRONG
    },
    Row {
        fake: "net-rpc-tcp",
        verdict: "net_rpc",
        words: &["net/rpc", "install a newer release of the provider"],
        ..WRONG
    },
    Row {
        fake: "net-rpc-old",
        verdict: "net_rpc",
        words: &["net/rpc", "install a newer release of the provider"],
        ..WRONG
    },
    // Does not answer at its address.
    Row {
        fake: "socket-missing",
        verdict: "connect",
        phases: SHOOK,
        words: &[
            "cannot connect to the plugin at /nonexistent/fake.sock: No such file",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "port-closed",
        verdict: "connect",
        phases: SHOOK,
        words: &[
            "cannot connect to the plugin at 127.0.0.1:",
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
    // Certificates and protocol errors.
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
            "presented a certificate other than the one that it announced",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "tcp-without-certificate",
        verdict: "certificate",
        phases: SHOOK,
        words: &[
            "announced no certificate, so every user of this machine can connect",
            "TF_DISABLE_PLUGIN_TLS=1",
        ],
        ..ROW
    },
    Row {
        fake: "certificate-missing",
        verdict: "connect",
        phases: SHOOK,
        words: &["the plugin closed the connection", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "plain-behind-certificate",
        verdict: "tls",
        phases: SHOOK,
        words: &[
            "failed to open an encrypted connection",
            "the TLS handshake failed",
            OTHER_RELEASE,
        ],
        ..ROW
    },
    Row {
        fake: "refuses-the-host",
        verdict: "tls",
        phases: SHOOK,
        words: &["failed to open an encrypted connection", "closed the connection", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "without-alpn",
        verdict: "tls",
        phases: SHOOK,
        words: &["does not support HTTP/2 over TLS", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "other-alpn",
        verdict: "tls",
        phases: SHOOK,
        words: &["does not support HTTP/2 over TLS", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "hangs-up",
        verdict: "tls",
        phases: SHOOK,
        words: &["failed to open an encrypted connection", OTHER_RELEASE],
        ..ROW
    },
    Row {
        fake: "speaks-http-1",
        verdict: "tls",
        phases: SHOOK,
        words: &["the plugin closed the connection", OTHER_RELEASE],
        ..ROW
    },
    // The schema.
    Row {
        fake: "schema-never",
        env: &[("FLIGHTDECK_SCHEMA_DEADLINE_MS", "15000")],
        verdict: "schema",
        phases: CONNECTED,
        words: &[
            "failed to read the plugin's schema: no answer within 15 s; raise FLIGHTDECK_SCHEMA_DEADLINE_MS",
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
        verdict: "not_a_provider",
        retried: false,
        phases: CONNECTED,
        words: &[
            "the plugin is not a Terraform provider",
            "the request for its schema returned Unimplemented: unknown method GetProviderSchema",
            "install the provider's package again",
        ],
        ..ROW
    },
    Row {
        fake: "provisioner",
        verdict: "not_a_provider",
        retried: false,
        phases: CONNECTED,
        words: &[
            "the plugin is not a Terraform provider",
            "the request for its schema returned Unimplemented: unknown service tfplugin6.Provider",
            "install the provider's package again",
        ],
        ..ROW
    },
    Row {
        fake: "schema-too-large",
        verdict: "schema",
        phases: CONNECTED,
        words: &["exceeds the limit of 256 MiB", OTHER_RELEASE],
        ..ROW
    },
];
