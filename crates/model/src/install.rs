//! Missing modules and providers, and the progress of their installation.

use super::{Diagnostic, UnixMs};
use serde::{Deserialize, Serialize};

/// Missing modules and providers of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Module calls, joined by dots, in the order of the configuration.
    pub modules: Vec<String>,
    /// Providers in short form; empty while a module is missing, because its needs are unknown.
    pub providers: Vec<String>,
    /// Reason that the backend differs from the initialized one, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
}

impl Absent {
    /// Returns true if nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of missing parts.
    pub fn len(&self) -> usize {
        self.modules.len() + self.providers.len() + usize::from(self.backend.is_some())
    }
}

/// Handling of states in the previous backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StateMigration {
    /// Undecided: the installation ends if there are any.
    #[default]
    Ask,
    /// Copy them to the new backend.
    Copy,
    /// Leave them; the states of the new backend count.
    Leave,
}

/// Step of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InstallStep {
    /// A module's package is being fetched.
    ModuleFetching {
        /// Calls of the module, joined by dots.
        module: String,
        source: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// A module was installed.
    ModuleInstalled {
        module: String,
        dir: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// A provider's version is being resolved.
    ProviderSought {
        provider: String,
        constraints: String,
        /// Version in the lock file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        locked: Option<String>,
    },
    /// A provider's package is being fetched.
    ProviderFetching {
        provider: String,
        version: String,
        from: String,
    },
    /// A provider was installed.
    ProviderInstalled {
        provider: String,
        version: String,
        from: String,
        /// Key that signed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
    /// The hashes of a provider's package for a platform were added.
    ProviderHashed {
        provider: String,
        version: String,
        platform: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
    /// A provider's package for a platform was added to the mirror.
    ProviderMirrored {
        provider: String,
        version: String,
        platform: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed_by: Option<String>,
    },
    /// A provider was already installed, as the lock file requires.
    ProviderReused { provider: String, version: String },
    /// The lock file was written.
    Locked { file: String },
    /// Progress of a download.
    Bytes {
        /// Module or provider being fetched.
        what: String,
        /// Bytes received.
        done: u64,
        /// Total bytes, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
    },
}

impl InstallStep {
    /// Returns the download that ends with this step.
    pub fn ended_download(&self) -> Option<&str> {
        match self {
            Self::ModuleInstalled { module, .. } => Some(module),
            Self::ProviderInstalled { provider, .. }
            | Self::ProviderHashed { provider, .. }
            | Self::ProviderMirrored { provider, .. } => Some(provider),
            _ => None,
        }
    }

    /// Returns the step as a line of text.
    pub fn text(&self) -> String {
        let with = |version: &Option<String>| {
            version
                .as_ref()
                .map_or(String::new(), |version| format!(" {version}"))
        };
        let signed = |by: &Option<String>| {
            by.as_ref()
                .map_or(String::new(), |key| format!(", signed by {key}"))
        };
        match self {
            Self::ModuleFetching {
                module,
                source,
                version,
            } => format!("module {module}: fetching {source}{}", with(version)),
            Self::ModuleInstalled {
                module,
                dir,
                version,
            } => format!("module {module}{}: installed in {dir}", with(version)),
            Self::ProviderSought {
                provider,
                constraints,
                locked,
            } => match locked {
                Some(version) => format!("provider {provider}: {version} from the lock file"),
                None => format!("provider {provider}: resolving {constraints}"),
            },
            Self::ProviderFetching {
                provider,
                version,
                from,
            } => format!("provider {provider} {version}: fetching from {from}"),
            Self::ProviderInstalled {
                provider,
                version,
                signed_by,
                ..
            } => format!(
                "provider {provider} {version}: installed{}",
                signed(signed_by)
            ),
            Self::ProviderHashed {
                provider,
                version,
                platform,
                signed_by,
            } => format!(
                "provider {provider} {version}: hashes for {platform} added{}",
                signed(signed_by)
            ),
            Self::ProviderMirrored {
                provider,
                version,
                platform,
                signed_by,
            } => format!(
                "provider {provider} {version}: mirrored for {platform}{}",
                signed(signed_by)
            ),
            Self::ProviderReused { provider, version } => {
                format!("provider {provider} {version}: already installed")
            }
            Self::Locked { file } => {
                format!("{file} written; commit it to install the same versions elsewhere")
            }
            Self::Bytes { what, done, total } => bar(what, *done, *total),
        }
    }
}

/// Width of a progress bar.
const BAR: u64 = 12;

/// Renders the progress of a download: `aws ▕████████░░░░▏ 460.0 MB of 690.0 MB`
pub fn bar(what: &str, done: u64, total: Option<u64>) -> String {
    // Servers may omit the length.
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{what} {}", size(done));
    };
    // A server may send more than it has announced.
    let full = (done.min(total) * BAR / total) as usize;
    let drawn: String = "█".repeat(full) + &"░".repeat(BAR as usize - full);
    format!("{what} ▕{drawn}▏ {} of {}", size(done), size(total))
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "kB", "MB", "GB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// Events of one installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallEvent {
    Began,
    Step(InstallStep),
    Ended(InstallEnd),
}

/// Result of an installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallEnd {
    Done {
        /// Number of modules, including local ones.
        modules: usize,
        /// Number of providers, without builtin ones.
        providers: usize,
        /// Changes of the backend, and warnings, as text.
        told: Vec<String>,
    },
    Failed {
        text: String,
        diagnostics: Vec<Diagnostic>,
    },
    /// The previous backend has states; the operator must decide whether to copy them.
    Asks { from: String, to: String },
    /// Stopped by an operator; completed parts stay.
    Stopped,
}

/// View of an installation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Installing {
    pub began: UnixMs,
    /// Steps in order, without download progress.
    pub steps: Vec<InstallStep>,
    /// Running downloads: name, received and total bytes.
    pub downloads: Vec<(String, u64, Option<u64>)>,
    pub end: Option<InstallEnd>,
}

impl Installing {
    /// Limit of stored steps; later ones are dropped.
    const KEPT: usize = 2_000;

    /// Folds an event that was emitted at a time.
    pub fn apply(&mut self, at: UnixMs, event: &InstallEvent) {
        match event {
            InstallEvent::Began => {
                *self = Self {
                    began: at,
                    ..Self::default()
                }
            }
            InstallEvent::Step(InstallStep::Bytes { what, done, total }) => {
                let now = (what.clone(), *done, *total);
                match self.downloads.iter_mut().find(|(other, ..)| other == what) {
                    // Updated in place, so that the list keeps its order.
                    Some(download) => *download = now,
                    None => self.downloads.push(now),
                }
            }
            InstallEvent::Step(step) => {
                // A download has no end of its own: it ends with the step that uses it.
                if let Some(over) = step.ended_download() {
                    self.downloads.retain(|(what, ..)| what != over);
                }
                if self.steps.len() < Self::KEPT {
                    self.steps.push(step.clone());
                }
            }
            // After a failure downloads end without a step of their own.
            InstallEvent::Ended(end) => {
                self.downloads.clear();
                self.end = Some(end.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_bar_shows_received_and_total_size() {
        assert_eq!(bar("aws", 0, None), "aws 0 B");
        assert_eq!(
            bar("aws", 345_000_000, Some(690_000_000)),
            "aws ▕██████░░░░░░▏ 345.0 MB of 690.0 MB"
        );
        assert_eq!(bar("x", 10, Some(5)), "x ▕████████████▏ 10 B of 5 B");
    }

    #[test]
    fn download_is_removed_when_its_provider_is_installed() {
        let mut now = Installing::default();
        let bytes = |done| InstallStep::Bytes {
            what: "a/b".into(),
            done,
            total: Some(9),
        };
        now.apply(5, &InstallEvent::Began);
        now.apply(6, &InstallEvent::Step(bytes(1)));
        now.apply(7, &InstallEvent::Step(bytes(4)));
        assert_eq!(now.downloads, [("a/b".to_owned(), 4, Some(9))]);
        let there = InstallStep::ProviderInstalled {
            provider: "a/b".into(),
            version: "1.0.0".into(),
            from: "x".into(),
            signed_by: None,
        };
        now.apply(8, &InstallEvent::Step(there.clone()));
        assert_eq!((now.began, now.downloads.len()), (5, 0));
        assert_eq!(now.steps, [there]);
    }
}
