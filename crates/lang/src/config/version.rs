//! Versions and version constraints in Terraform's notation: `>= 1.2.0, != 1.3.1`, `~> 5.0`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// OpenTofu version of the supported language; `required_version` in `.tofu` files is checked
/// against it.
pub const LANGUAGE_VERSION: &str = "1.12.6";

/// Version: three numbers, optionally a prerelease and build metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// Major, minor, patch, and further numbers if written.
    pub segments: Vec<u64>,
    /// Number of written components.
    written: usize,
    /// After `-`; empty for a release.
    pub prerelease: String,
    /// Text after `+`; the last criterion of comparisons.
    pub metadata: String,
}

/// Reasons why a text is not a version or constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a version or version constraint")]
pub struct VersionError(pub String);

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
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
        // Missing numbers count as zero, and `written` keeps the precision for `~>`.
        segments.resize(written.max(3), 0);
        Ok(Version {
            segments,
            written,
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
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
        let longest = self.segments.len().max(other.segments.len());
        for i in 0..longest {
            let order = self
                .segments
                .get(i)
                .unwrap_or(&0)
                .cmp(other.segments.get(i).unwrap_or(&0));
            if order != Ordering::Equal {
                return order;
            }
        }
        match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            // A release comes after its prereleases.
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(&self.prerelease, &other.prerelease),
        }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Pessimistic,
}

/// Conditions on a version, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionConstraint {
    parts: Vec<(Operator, Version)>,
}

impl FromStr for VersionConstraint {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const OPERATORS: [(&str, Operator); 7] = [
            (">=", Operator::GreaterOrEqual),
            ("<=", Operator::LessOrEqual),
            ("!=", Operator::NotEqual),
            ("~>", Operator::Pessimistic),
            (">", Operator::Greater),
            ("<", Operator::Less),
            ("=", Operator::Equal),
        ];
        let mut parts = Vec::new();
        for part in text.split(',') {
            let part = part.trim();
            // A version without an operator must match exactly.
            let (operator, rest) = OPERATORS
                .iter()
                .find_map(|(symbol, operator)| {
                    part.strip_prefix(symbol).map(|rest| (*operator, rest))
                })
                .unwrap_or((Operator::Equal, part));
            parts.push((
                operator,
                rest.parse().map_err(|_| VersionError(text.to_owned()))?,
            ));
        }
        Ok(VersionConstraint { parts })
    }
}

impl VersionConstraint {
    /// Returns true if the constraint allows a version. A prerelease needs a constraint that names
    /// a prerelease of the same numbers.
    pub fn allows(&self, version: &Version) -> bool {
        self.parts
            .iter()
            .all(|(operator, want)| satisfies(*operator, version, want))
    }

    /// Returns the conjunction of both constraints.
    #[must_use]
    pub fn and(mut self, other: &VersionConstraint) -> VersionConstraint {
        self.parts.extend(other.parts.iter().cloned());
        self
    }
}

fn satisfies(operator: Operator, version: &Version, want: &Version) -> bool {
    let same_numbers = version.segments == want.segments;
    let prerelease_fits = match (version.prerelease.is_empty(), want.prerelease.is_empty()) {
        (true, _) => true,
        // A constraint on releases never selects a prerelease.
        (false, true) => false,
        (false, false) => same_numbers,
    };
    match operator {
        Operator::Equal => version.cmp(want) == Ordering::Equal,
        Operator::NotEqual => version.cmp(want) != Ordering::Equal,
        Operator::Greater => prerelease_fits && version > want,
        Operator::GreaterOrEqual => prerelease_fits && version >= want,
        Operator::Less => prerelease_fits && version < want,
        Operator::LessOrEqual => prerelease_fits && version <= want,
        Operator::Pessimistic => {
            // `~> 1.2.3` fixes two numbers, `~> 1.2` and `~> 1` one.
            let fixed = want.written.saturating_sub(1).max(1);
            prerelease_fits
                && version >= want
                && (0..fixed).all(|i| version.segments.get(i) == want.segments.get(i))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_constraints_match_expected_versions() {
        for (constraint, version, want) in [
            (">= 1.2.0", "1.2.0", true),
            ("> 1.2", "1.2.0", false),
            ("~> 1.2", "1.9.9", true),
            ("~> 1.2", "2.0.0", false),
            ("~> 1.2.3", "1.2.9", true),
            ("~> 1.2.3", "1.3.0", false),
            ("~> 1.2.3", "1.2.2", false),
            ("~> 1", "1.9.0", true),
            ("~> 1", "2.0.0", false),
            ("1.2.3", "1.2.3", true),
            ("= 1.2", "1.2.0", true),
            ("!= 1.12.6", "1.12.6", false),
            (">= 1.0.0, < 1.5.0", "1.12.6", false),
            (">= 1.0.0", "1.1.0-beta1", false),
            (">= 1.1.0-alpha", "1.1.0-beta1", true),
            ("1.1.0-beta1", "1.1.0-beta1", true),
            ("<= 3", "2.99.0", true),
        ] {
            let constraint: VersionConstraint = constraint.parse().unwrap();
            assert_eq!(
                constraint.allows(&version.parse().unwrap()),
                want,
                "{constraint:?} {version}"
            );
        }
    }

    #[test]
    fn malformed_version_constraints_are_rejected() {
        for text in ["", "x", ">= ", "1..2", "=> 1", "1.2,", "~>"] {
            assert!(text.parse::<VersionConstraint>().is_err(), "{text}");
        }
    }

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
                pair[0].parse::<Version>().unwrap() < pair[1].parse::<Version>().unwrap(),
                "{pair:?}"
            );
        }
    }
}
