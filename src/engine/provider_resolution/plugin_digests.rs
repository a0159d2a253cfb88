//! Digests of a stage's plugins, and the first difference from the plugins found later.

use plugin::find::Found;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Replaces the digest of a process started by others.
const ATTACHED: &str = "attached";
/// Replaces the digest of unreadable files. It never counts as equal, not even to itself.
const UNREADABLE: &str = "unreadable";

/// Version and digest of each plugin, by full address. Paths are not included, so that a stage is
/// valid wherever the same plugins are installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PluginDigests(BTreeMap<String, (Option<String>, String)>);

impl PluginDigests {
    pub(super) fn add(&mut self, found: &Found, digest: Option<String>) {
        // A reattached process has no file to read.
        let without = match found.executable() {
            Some(_) => UNREADABLE,
            None => ATTACHED,
        };
        let digest = digest.unwrap_or_else(|| without.to_owned());
        let version = found.version.as_ref().map(ToString::to_string);
        self.0.insert(found.address.to_string(), (version, digest));
    }

    /// Returns the text to record with a stage.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::json!(self.0).to_string()
    }

    /// Returns the first difference from the recorded plugins; `None` if they are the same.
    #[must_use]
    pub fn difference(&self, recorded: &str) -> Option<String> {
        // Older versions recorded a plain digest, which is no JSON object.
        let Ok(Self(then)) = serde_json::from_str(recorded) else {
            return Some(
                "the stage is from an older version of flightdeck, which did not record the contents of plugins"
                    .to_owned(),
            );
        };
        for (address, (version, digest)) in &self.0 {
            let Some((version_then, digest_then)) = then.get(address) else {
                return Some(format!(
                    "the plugin {address} was not used when the stage was made"
                ));
            };
            if version != version_then {
                let [now, then] = [version, version_then].map(|v| v.as_deref().unwrap_or("none"));
                return Some(format!(
                    "the plugin {address} has version {now}; the stage was made with version {then}"
                ));
            }
            // Checked before the comparison, because two unreadable files are not known to be
            // equal.
            if [digest, digest_then].contains(&&UNREADABLE.to_owned()) {
                return Some(format!(
                    "cannot read the files of the plugin {address}, so they cannot be compared with those of the stage"
                ));
            }
            if digest != digest_then {
                return Some(format!(
                    "the files of the plugin {address} have changed since the stage was made"
                ));
            }
        }
        let gone = then.keys().find(|address| !self.0.contains_key(*address))?;
        Some(format!(
            "the plugin {gone}, with which the stage was made, is not used here: it is not installed or not trusted, or the configuration no longer needs it. `flightdeck plan` says which"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(all: &[(&str, Option<&str>, &str)]) -> PluginDigests {
        let owned = all.iter().map(|(address, version, digest)| {
            let version = version.map(str::to_owned);
            ((*address).to_owned(), (version, (*digest).to_owned()))
        });
        PluginDigests(owned.collect())
    }

    #[test]
    fn first_difference_from_the_recorded_plugins_is_named() {
        let then = digests(&[("a.b/c/d", Some("1.0.0"), "h1:x"), ("e", None, "sha256:y")]);
        let recorded = then.text();
        assert_eq!(then.difference(&recorded), None);
        let d = "a.b/c/d";
        for (now, expected) in [
            (
                &[(d, Some("1.0.0"), "h1:z"), ("e", None, "sha256:y")][..],
                "a.b/c/d have changed since the stage was made",
            ),
            (
                &[(d, Some("2.0.0"), "h1:x"), ("e", None, "sha256:y")],
                "a.b/c/d has version 2.0.0; the stage was made with version 1.0.0",
            ),
            (&[(d, Some("1.0.0"), "h1:x")], "e, with which"),
            (
                &[
                    (d, Some("1.0.0"), "h1:x"),
                    ("e", None, "sha256:y"),
                    ("f", None, "z"),
                ],
                "f was not used",
            ),
            (
                &[(d, Some("1.0.0"), UNREADABLE), ("e", None, "sha256:y")],
                "cannot read the files of the plugin a.b/c/d",
            ),
            (
                &[(d, Some("1.0.0"), "h1:x"), ("e", None, ATTACHED)],
                "e have changed",
            ),
        ] {
            let difference = digests(now).difference(&recorded).expect(expected);
            assert!(difference.contains(expected), "{difference}");
        }
    }

    #[test]
    fn unreadable_plugin_always_differs() {
        let unreadable = digests(&[("e", None, UNREADABLE)]);
        assert!(unreadable.difference(&unreadable.text()).is_some());
        let attached = digests(&[("e", None, ATTACHED)]);
        assert_eq!(attached.difference(&attached.text()), None);
    }

    #[test]
    fn record_of_an_older_version_is_rejected() {
        let none = PluginDigests::default();
        for old in ["9f86d081884c7d659a2feaa0c55ad015", ""] {
            let why = none.difference(old).expect("refused");
            assert!(why.contains("an older version of flightdeck"), "{why}");
        }
        assert_eq!(none.difference(&none.text()), None);
    }
}
