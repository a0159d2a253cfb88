//! Fuzz targets: functions over bytes that panic where the program breaks a promise. The same
//! bodies run under libFuzzer (`fuzz_targets/`, by hand) and over seeds and mutations of them in
//! `cargo test` (`tests/smoke.rs`). Owns nothing.

pub mod feed;
pub mod mutate;
pub mod targets;

/// A target's name and body.
pub type Target = (&'static str, fn(&[u8]));

/// All targets that this build has.
pub const TARGETS: &[Target] = &[
    ("handshake", targets::handshake::run),
    ("msgpack", targets::msgpack::run),
    ("json", targets::json::run),
    ("tf", targets::tf::run),
    ("tf_json", targets::tf_json::run),
    ("plan_rules", targets::plan_rules::run),
    #[cfg(feature = "engine")]
    ("log_line", targets::log_line::run),
    #[cfg(feature = "engine")]
    ("state", targets::state::run),
    #[cfg(feature = "engine")]
    ("plan_answer", targets::plan_answer::run),
];
