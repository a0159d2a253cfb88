//! Environment variables that plugins do not inherit, because the configuration reads them as
//! secrets. Names are added when a configuration is read, and hold for the life of the process.

use model::mutex::lock;
use std::collections::BTreeSet;
use std::sync::Mutex;

static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Variables without which programs do not run; they are no secrets.
const NEEDED: [&str; 12] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "TERM", "TZ",
    "PWD",
];

/// Withholds variables from plugins that start from now on.
pub fn withhold(names: impl IntoIterator<Item = String>) {
    let names = names.into_iter();
    lock(&NAMES).extend(names.filter(|name| !NEEDED.contains(&name.as_str())));
}

/// Variables of flightdeck itself that are secrets.
const OWN: [&str; 2] = ["FLIGHTDECK_PLAN_KEY", "FLIGHTDECK_STORE_KEY"];

pub(crate) fn names() -> Vec<String> {
    let own = OWN.iter().map(|name| (*name).to_owned());
    lock(&NAMES).iter().cloned().chain(own).collect()
}
