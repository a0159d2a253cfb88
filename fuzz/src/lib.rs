//! Fuzz targets: functions over bytes that panic if the program violates a guarantee. They run
//! under libFuzzer (`fuzz_targets/`, started by hand), and with seeds and mutations in `cargo test`
//! (`tests/smoke.rs`).

pub mod feed;
pub mod mutate;
pub mod targets;

/// Name and function of a target.
pub type Target = (&'static str, fn(&[u8]));

/// All targets of this build.
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
