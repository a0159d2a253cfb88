//! Versions of modules, providers and the language.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Version: three numbers, optionally a prerelease and build metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// Major, minor, patch, and further numbers if written.
    pub segments: Vec<u64>,
    /// After `-`; empty for a release.
    pub prerelease: String,
    /// Text after `+`; the last criterion of comparisons.
    pub metadata: String,
}

/// Reasons why a text is not a version or constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a version or version constraint")]
pub struct VersionError(pub String);

/// Parses a version as modules and the language write it: numbers may be missing.
impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_counted(text).map(|(version, _)| version)
    }
}

impl Version {
    /// Creates a release.
    #[must_use]
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            segments: vec![major, minor, patch],
            prerelease: String::new(),
            metadata: String::new(),
        }
    }

    /// Parses the version of a provider's package, which is a complete semantic version.
    ///
    /// # Errors
    /// The text is not a semantic version.
    pub fn of_package(text: &str) -> Result<Self, semver::Error> {
        let semver::Version {
            major,
            minor,
            patch,
            pre,
            build,
        } = semver::Version::parse(text)?;
        Ok(Self {
            prerelease: pre.to_string(),
            metadata: build.to_string(),
            ..Self::new(major, minor, patch)
        })
    }

    /// Parses a version whose trailing numbers may be missing, and counts the written ones.
    pub(crate) fn parse_counted(text: &str) -> Result<(Self, usize), VersionError> {
        let error = || VersionError(text.to_owned());
        let body = text.trim();
        // Versions may be written like tags, as in `v1.2.0`.
        let body = body.strip_prefix('v').unwrap_or(body);
        let (body, metadata) = body.split_once('+').unwrap_or((body, ""));
        let (numbers, prerelease) = body.split_once('-').unwrap_or((body, ""));
        let mut segments = Vec::new();
        for part in numbers.split('.') {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(error());
            }
            segments.push(part.parse().map_err(|_| error())?);
        }
        let good = |s: &str| {
            s.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'~'))
        };
        if !good(prerelease) || !good(metadata) || segments.len() > 8 {
            return Err(error());
        }
        let written = segments.len();
        // Missing numbers count as zero.
        segments.resize(written.max(3), 0);
        let version = Version {
            segments,
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
        };
        Ok((version, written))
    }

    /// Compares without build metadata, which does not affect precedence.
    pub(crate) fn cmp_precedence(&self, other: &Self) -> Ordering {
        let longest = self.segments.len().max(other.segments.len());
        let number = |of: &Self, at: usize| of.segments.get(at).copied().unwrap_or(0);
        let numbers = (0..longest).map(|at| number(self, at).cmp(&number(other, at)));
        let by_numbers = numbers.fold(Ordering::Equal, Ordering::then);
        by_numbers.then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                // A release comes after its prereleases.
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_prereleases(&self.prerelease, &other.prerelease),
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.segments.iter().enumerate() {
            write!(f, "{}{segment}", if i == 0 { "" } else { "." })?;
        }
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp_precedence(other)
            .then_with(|| self.metadata.cmp(&other.metadata))
    }
}

fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(x), Some(y)) => match (x.parse::<u64>(), y.parse::<u64>()) {
                (Ok(x), Ok(y)) => x.cmp(&y),
                // Numeric parts precede alphanumeric ones, by semantic versioning.
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                _ => x.cmp(y),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_semver_precedence() {
        let sorted = [
            "0.9.0",
            "1.0.0-alpha",
            "1.0.0-alpha.2",
            "1.0.0-beta",
            "1.0.0",
            "1.0.1",
            "1.10.0",
        ];
        for pair in sorted.windows(2) {
            assert!(
                pair[0].parse::<Version>().expect("a version")
                    < pair[1].parse().expect("a version"),
                "{pair:?}"
            );
        }
    }
}
