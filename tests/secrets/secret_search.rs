//! Search for secrets in every encoding, in files, tables and on the screen.

use crate::pty;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;

use super::secret_workspace::{SECRETS, SecretWorkspace};

/// Encodings of a text: line by line, escaped for JSON once and twice, quoted like Rust and Go,
/// URL-encoded, in hexadecimal digits, and in base64 at every offset.
pub(super) fn encodings(text: &str) -> BTreeSet<String> {
    let escaped = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let mut out: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    out.insert(escaped(text));
    out.insert(escaped(&escaped(text)));
    let debug = format!("{text:?}");
    out.insert(debug[1..debug.len() - 1].to_owned());
    // Go's `%+q`, and URL encoding with digits of either case and blanks of either kind.
    let units = |c: char| {
        c.encode_utf16(&mut [0; 2])
            .iter()
            .map(|u| format!("\\u{u:04x}"))
            .collect::<String>()
    };
    out.insert(
        escaped(text)
            .chars()
            .map(|c| {
                if c.is_ascii() {
                    c.to_string()
                } else {
                    units(c)
                }
            })
            .collect(),
    );
    let kept = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let address: String = text
        .bytes()
        .map(|b| {
            if kept(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect();
    let lower: String = text
        .bytes()
        .map(|b| {
            if kept(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02x}")
            }
        })
        .collect();
    out.extend([address.replace("%20", "+"), address, lower]);
    out.insert(hex::encode(text));
    out.insert(hex::encode_upper(text));
    for before in 0..3 {
        let bytes = [&vec![b'-'; before], text.as_bytes()].concat();
        for engine in [
            base64::engine::general_purpose::STANDARD_NO_PAD,
            base64::engine::general_purpose::URL_SAFE_NO_PAD,
        ] {
            // Neighbouring bytes change the characters at both ends.
            let encoded = engine.encode(&bytes);
            out.insert(encoded[(before * 8).div_ceil(6)..bytes.len() * 8 / 6].to_owned());
        }
    }
    out
}

type Needles = [(&'static str, Vec<String>)];

pub(super) fn needles() -> Vec<(&'static str, Vec<String>)> {
    SECRETS
        .iter()
        .map(|(name, text)| (*name, encodings(text).into_iter().collect()))
        .collect()
}

/// Names of the secrets in a byte string, each with its surrounding text. Invalid UTF-8 is part of
/// no secret.
pub(super) fn find_secrets(haystack: &[u8], needles: &Needles) -> Vec<String> {
    let text = String::from_utf8_lossy(haystack);
    let around = |at: usize, len: usize| {
        text[text.floor_char_boundary(at.saturating_sub(120))
            ..text.ceil_char_boundary((at + len + 60).min(text.len()))]
            .to_owned()
    };
    let found = |(name, forms): &(&'static str, Vec<String>)| {
        forms.iter().find_map(|form| {
            Some(format!(
                "{name}: …{}…",
                around(text.find(form.as_str())?, form.len())
            ))
        })
    };
    needles.iter().filter_map(found).collect()
}

/// Every file below a directory.
pub(super) fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            t if t.is_dir() => out.extend(files(&path)),
            t if t.is_file() => out.push(path),
            _ => {}
        }
    }
    out
}

/// Every text and blob of the store by table and column, except those that may contain secrets.
pub(super) fn columns(db: &Path) -> Vec<(String, Vec<u8>)> {
    const MAY: [&str; 4] = ["state_resource", "state_output", "stage", "config_snapshot"];
    let conn =
        rusqlite::Connection::open_with_flags(db, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap();
    let mut tables = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .unwrap();
    let tables: Vec<String> = tables
        .query_map([], |r| r.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(
        MAY.iter().all(|m| tables.iter().any(|t| t == m)),
        "{tables:?}"
    );
    let mut out = Vec::new();
    for table in tables.iter().filter(|t| !MAY.contains(&t.as_str())) {
        let mut query = conn.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let names: Vec<String> = query.column_names().map(str::to_owned).collect();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (n, name) in names.iter().enumerate() {
                let bytes = match row.get_ref(n).unwrap() {
                    rusqlite::types::ValueRef::Text(t) => t.to_vec(),
                    rusqlite::types::ValueRef::Blob(t) => decompress(t).unwrap_or(t.to_vec()),
                    rusqlite::types::ValueRef::Integer(i) => i.to_string().into_bytes(),
                    _ => continue,
                };
                out.push((format!("{table}.{name}"), bytes));
            }
        }
    }
    out
}

/// Stages from the store, decompressed.
pub(super) fn stages(db: &Path) -> Vec<Vec<u8>> {
    let conn =
        rusqlite::Connection::open_with_flags(db, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap();
    let kept = "SELECT packed_summary FROM stage UNION ALL SELECT packed_detail FROM stage WHERE packed_detail IS NOT NULL";
    let mut kept = conn.prepare(kept).unwrap();
    let kept = kept.query_map([], |r| r.get::<_, Vec<u8>>(0)).unwrap();
    kept.map(|deflated| decompress(&deflated.unwrap()).unwrap())
        .collect()
}

/// Decompresses bytes.
fn decompress(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    let read = flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut whole);
    read.ok().map(|_| whole)
}

/// Text of the console's screens, with details opened.
pub(super) fn console(world: &SecretWorkspace) -> Vec<(String, String)> {
    const SOON: Duration = Duration::from_secs(300);
    let base = world.command(&[]);
    let mut command = portable_pty::CommandBuilder::new(base.get_program());
    command.cwd(world.w.path());
    for (name, value) in base.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        }
    }
    // The store is the user's own only with the key in this directory.
    let state = world.w.state_dir();
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let mut c = pty::Pty::start_with(command, 160, 50, &variables).unwrap();
    let mut frames = Vec::new();
    let mut see = |c: &pty::Pty, name: &str| frames.push((name.to_owned(), c.text()));
    // Keys, and a text on the screen that follows.
    let steps = [
        ("plugins", "1", "ready"),
        ("stage", "3s", "lab_database.a"),
        ("stage, detail", "/lab_database\r", "(sensitive)"),
        ("history", "5", "succeeded"),
        ("failures", "v", "CLASS"),
        ("state", "6", "lab_database.a"),
        ("state, detail", "/lab_thing.a\r", "visible-value"),
        ("logs", "7", ""),
    ];
    for (name, keys, shows) in steps {
        let before = c.text();
        c.keys(keys).unwrap();
        c.wait_until(|now| now != before && now.contains(shows), SOON)
            .unwrap_or_else(|e| panic!("{name}: {e:#}"));
        see(&c, name);
    }
    c.keys("q").unwrap();
    let (code, screen) = c.end(SOON).unwrap();
    frames.push(("after the end".to_owned(), screen.contents()));
    assert_eq!(code, 0, "{frames:#?}");
    frames
}
