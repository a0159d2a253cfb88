//! Version constraints of the language: `~> 5.1, >= 5.1.3, != 5.2.0`. Versions are semantic
//! versions.

use semver::Version;
use std::fmt;
use thiserror::Error;

/// List of conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constraints {
    terms: Vec<Term>,
}

/// Error of a text that is not a version constraint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConstraintError {
    #[error(
        "`{0}` is not a version constraint: expected an operator (=, !=, >, >=, <, <=, ~>) and a version"
    )]
    Term(String),
    #[error("the version constraint contains `{0}`, which is not a version")]
    Version(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    operator: Operator,
    version: Version,
    /// First version past the range of `~>`.
    below: Option<Version>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Greater,
    AtLeast,
    Less,
    AtMost,
    Pessimistic,
}

impl Constraints {
    /// Returns constraints that allow every release.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Parses conditions separated by commas. An empty text is no condition.
    ///
    /// # Errors
    /// One of the conditions is invalid.
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        let mut terms = Vec::new();
        if !text.trim().is_empty() {
            for term in text.split(',') {
                terms.push(Term::parse(term.trim())?);
            }
        }
        Ok(Self { terms })
    }

    /// Adds all conditions of another list.
    pub fn extend(&mut self, other: Self) {
        for term in other.terms {
            if !self.terms.contains(&term) {
                self.terms.push(term);
            }
        }
    }

    /// Returns true if there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true if a version is allowed. A prerelease is allowed only if a condition with `=`
    /// names it.
    #[must_use]
    pub fn allow(&self, version: &Version) -> bool {
        let named = || {
            self.terms
                .iter()
                .any(|t| t.operator == Operator::Equal && same_precedence(&t.version, version))
        };
        self.terms.iter().all(|t| t.allows(version)) && (version.pre.is_empty() || named())
    }
}

/// Compares without build metadata, which does not affect precedence.
fn same_precedence(a: &Version, b: &Version) -> bool {
    a.cmp_precedence(b).is_eq()
}

impl Term {
    fn parse(text: &str) -> Result<Self, ConstraintError> {
        let digits = text
            .find(|c: char| c.is_ascii_alphanumeric())
            .ok_or_else(|| ConstraintError::Term(text.to_owned()))?;
        let operator = match text[..digits].trim() {
            "" | "=" => Operator::Equal,
            "!=" => Operator::Unequal,
            ">" => Operator::Greater,
            ">=" => Operator::AtLeast,
            "<" => Operator::Less,
            "<=" => Operator::AtMost,
            "~>" => Operator::Pessimistic,
            _ => return Err(ConstraintError::Term(text.to_owned())),
        };
        let number = text[digits..].trim();
        let (version, segments) =
            partial(number).ok_or_else(|| ConstraintError::Version(number.to_owned()))?;
        // The last written part may increase: `~> 1.2.3` is below 1.3.0, `~> 1.2` below 2.0.0.
        let below = (operator == Operator::Pessimistic).then(|| match segments {
            3 => Version::new(version.major, version.minor + 1, 0),
            _ => Version::new(version.major + 1, 0, 0),
        });
        Ok(Self {
            operator,
            version,
            below,
            text: text.to_owned(),
        })
    }

    fn allows(&self, version: &Version) -> bool {
        let order = version.cmp_precedence(&self.version);
        match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::Unequal => order.is_ne(),
            Operator::Greater => order.is_gt(),
            Operator::AtLeast => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::Pessimistic => {
                order.is_ge() && self.below.as_ref().is_some_and(|below| version < below)
            }
        }
    }
}

/// Parses a version whose trailing parts may be missing, and counts its parts.
fn partial(text: &str) -> Option<(Version, usize)> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let core_end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(core_end);
    let segments = core.split('.').count();
    // The semver crate requires three parts.
    let whole = match segments {
        1 => format!("{core}.0.0{rest}"),
        2 => format!("{core}.0{rest}"),
        _ => text.to_owned(),
    };
    Some((Version::parse(&whole).ok()?, segments))
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("any version");
        }
        let texts: Vec<&str> = self.terms.iter().map(|t| t.text.as_str()).collect();
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed<'v>(constraint: &str, versions: &[&'v str]) -> Vec<&'v str> {
        let constraints = Constraints::parse(constraint).expect(constraint);
        versions
            .iter()
            .copied()
            .filter(|v| constraints.allow(&Version::parse(v).expect(v)))
            .collect()
    }

    const ALL: [&str; 9] = [
        "0.9.0",
        "1.0.0",
        "1.1.0-beta1",
        "1.1.0",
        "1.1.5",
        "1.2.0",
        "1.10.0",
        "2.0.0-rc1",
        "2.0.0",
    ];

    #[test]
    fn version_operators_select_the_expected_versions() {
        assert_eq!(
            allowed("", &ALL),
            [
                "0.9.0", "1.0.0", "1.1.0", "1.1.5", "1.2.0", "1.10.0", "2.0.0"
            ]
        );
        assert_eq!(allowed("1.1", &ALL), ["1.1.0"]);
        assert_eq!(allowed("= 1.1.5", &ALL), ["1.1.5"]);
        assert_eq!(allowed("!=1.0.0, <1.2", &ALL), ["0.9.0", "1.1.0", "1.1.5"]);
        assert_eq!(allowed("> 1.1.5", &ALL), ["1.2.0", "1.10.0", "2.0.0"]);
        assert_eq!(allowed("<= 1.0.0", &ALL), ["0.9.0", "1.0.0"]);
        assert_eq!(allowed("~> 1.1.0", &ALL), ["1.1.0", "1.1.5"]);
        assert_eq!(
            allowed("~> 1.1", &ALL),
            ["1.1.0", "1.1.5", "1.2.0", "1.10.0"]
        );
        assert_eq!(
            allowed("~> 1", &ALL),
            ["1.0.0", "1.1.0", "1.1.5", "1.2.0", "1.10.0"]
        );
        assert_eq!(
            allowed(">= 1.1.0, != 1.1.5, < 2.0.0", &ALL),
            ["1.1.0", "1.2.0", "1.10.0"]
        );
    }

    #[test]
    fn prerelease_is_allowed_only_when_named() {
        assert_eq!(allowed("1.1.0-beta1", &ALL), ["1.1.0-beta1"]);
        assert_eq!(allowed(">= 1.1.0-beta1, < 1.2.0", &ALL), ["1.1.0", "1.1.5"]);
        assert_eq!(allowed("~> 2.0.0-rc1", &ALL), ["2.0.0"]);
    }

    #[test]
    fn malformed_constraints_are_rejected() {
        for wrong in [
            ">=",
            "=> 1.0",
            "~> x",
            "1.0.0,",
            "1.2.3.4",
            ">= 1.0 < 2.0",
            "latest",
        ] {
            assert!(Constraints::parse(wrong).is_err(), "{wrong}");
        }
    }
}
