//! Version constraints of the language: `~> 5.1, >= 5.1.3, != 5.2.0`. OpenTofu reads them by two
//! sets of rules: one for providers, one for modules and `required_version`. They differ in the
//! texts they accept and in the prereleases they allow.

use crate::version::{Version, VersionError};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// List of conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionConstraint {
    terms: Vec<Term>,
}

/// Error of a text that is not a version constraint of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConstraintError {
    #[error(
        "`{0}` is not a version constraint: expected an operator (=, !=, >, >=, <, <=, ~>) and a version"
    )]
    Term(String),
    #[error("the version constraint contains `{0}`, which is not a version")]
    Version(String),
}

/// Operator. The order sorts conditions on equal versions in canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Operator {
    Greater,
    AtLeast,
    Equal,
    Pessimistic,
    AtMost,
    Less,
    Unequal,
}

/// Longer signs first, because some begin with a shorter one.
const OPERATORS: [(&str, Operator); 7] = [
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("!=", Operator::Unequal),
    ("~>", Operator::Pessimistic),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
];

#[derive(Debug, Clone)]
struct Term {
    operator: Operator,
    version: Version,
    /// Number of written numbers, which decides the meaning of `~>`.
    written: usize,
    text: String,
}

/// Terms are equal by their meaning.
impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        (self.operator, &self.version, self.written)
            == (other.operator, &other.version, other.written)
    }
}

impl Eq for Term {}

/// Parses a constraint on a module or on the language.
impl FromStr for VersionConstraint {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let terms = text.split(',').map(str::trim).map(|term| {
            let (operator, number) = split_operator(term);
            Term::new(operator, number, term).map_err(|_| VersionError(text.to_owned()))
        });
        Ok(VersionConstraint {
            terms: terms.collect::<Result<_, _>>()?,
        })
    }
}

/// A version without an operator must match exactly.
fn split_operator(term: &str) -> (Operator, &str) {
    let mut operators = OPERATORS.iter();
    let found = operators.find_map(|(sign, operator)| Some((*operator, term.strip_prefix(sign)?)));
    found.unwrap_or((Operator::Equal, term))
}

impl VersionConstraint {
    /// Returns constraints that allow every release.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Parses a constraint on a provider. An empty text is no condition.
    ///
    /// # Errors
    /// One of the conditions is invalid.
    pub fn of_provider(text: &str) -> Result<Self, ConstraintError> {
        let mut terms = Vec::new();
        if !text.trim().is_empty() {
            for term in text.split(',') {
                terms.push(Term::of_provider(term.trim())?);
            }
        }
        Ok(Self { terms })
    }

    /// Parses all constraints on a provider, from all modules.
    ///
    /// # Errors
    /// One of the conditions is invalid.
    pub fn all_of_provider<'t>(
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, ConstraintError> {
        let mut all = Self::any();
        for text in texts {
            all.extend(Self::of_provider(text)?);
        }
        Ok(all)
    }

    /// Adds all conditions of another list, without repetitions.
    pub fn extend(&mut self, other: Self) {
        for term in other.terms {
            if !self.terms.iter().any(|known| known.text == term.text) {
                self.terms.push(term);
            }
        }
    }

    /// Returns true if there is no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true if the constraint allows a version of a module or of the language. A prerelease
    /// needs a constraint that names a prerelease of the same numbers.
    #[must_use]
    pub fn allows(&self, version: &Version) -> bool {
        self.terms.iter().all(|term| term.allows(version))
    }

    /// Returns true if the constraint allows a provider's package. A prerelease is allowed only if
    /// a condition with `=` names it.
    #[must_use]
    pub fn allows_package(&self, version: &Version) -> bool {
        let names = |term: &Term| {
            term.operator == Operator::Equal && term.version.cmp_precedence(version).is_eq()
        };
        self.terms.iter().all(|term| term.allows_package(version))
            && (version.prerelease.is_empty() || self.terms.iter().any(names))
    }

    /// Returns the canonical form, as the lock file has it: sorted by version, then by operator.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut terms: Vec<&Term> = self.terms.iter().collect();
        terms.sort_by_key(|term| (&term.version, term.operator, term.fixed() == 1));
        let mut texts: Vec<String> = terms.into_iter().map(Term::canonical).collect();
        texts.dedup();
        texts.join(", ")
    }
}

impl Term {
    fn new(operator: Operator, number: &str, text: &str) -> Result<Self, VersionError> {
        let (version, written) = Version::parse_counted(number)?;
        Ok(Self {
            operator,
            version,
            written,
            text: text.to_owned(),
        })
    }

    fn of_provider(text: &str) -> Result<Self, ConstraintError> {
        let begin = text
            .find(|c: char| c.is_ascii_alphanumeric())
            .ok_or_else(|| ConstraintError::Term(text.to_owned()))?;
        let (sign, number) = (text[..begin].trim(), text[begin..].trim());
        let known = OPERATORS.iter().find(|(known, _)| *known == sign);
        let operator = match known {
            Some((_, operator)) => *operator,
            None if sign.is_empty() => Operator::Equal,
            None => return Err(ConstraintError::Term(text.to_owned())),
        };
        let (whole, written) = complete(number);
        let version = Version::of_package(&whole);
        Ok(Self {
            operator,
            version: version.map_err(|_| ConstraintError::Version(number.to_owned()))?,
            written,
            text: text.to_owned(),
        })
    }

    /// Number of leading numbers that `~>` fixes: two for `~> 1.2.3`, one for `~> 1.2` and `~> 1`.
    fn fixed(&self) -> usize {
        self.written.saturating_sub(1).max(1)
    }

    /// First version past the range of `~>`: 1.3.0 for `~> 1.2.3`, 2.0.0 for `~> 1.2`.
    fn end(&self) -> Version {
        let mut end = Version::new(0, 0, 0);
        end.segments = self.version.segments.clone();
        end.segments.truncate(self.fixed());
        if let Some(last) = end.segments.last_mut() {
            *last = last.saturating_add(1);
        }
        end.segments.resize(3, 0);
        end
    }

    fn allows(&self, version: &Version) -> bool {
        let same_numbers = version.segments == self.version.segments;
        let is_release = (
            version.prerelease.is_empty(),
            self.version.prerelease.is_empty(),
        );
        let prerelease_fits = match is_release {
            (true, _) => true,
            // A constraint on releases never selects a prerelease.
            (false, true) => false,
            (false, false) => same_numbers,
        };
        match self.operator {
            Operator::Equal => version.cmp(&self.version).is_eq(),
            Operator::Unequal => version.cmp(&self.version).is_ne(),
            Operator::Pessimistic => {
                let fixed = ..self.fixed();
                prerelease_fits
                    && version >= &self.version
                    && version.segments.get(fixed) == self.version.segments.get(fixed)
            }
            operator => prerelease_fits && operator.accepts(version.cmp(&self.version)),
        }
    }

    fn allows_package(&self, version: &Version) -> bool {
        self.operator.accepts(version.cmp_precedence(&self.version))
            && (self.operator != Operator::Pessimistic || *version < self.end())
    }

    fn canonical(&self) -> String {
        let sign = match self.operator {
            Operator::Greater => "> ",
            Operator::AtLeast => ">= ",
            Operator::Equal => "",
            Operator::Pessimistic => "~> ",
            Operator::AtMost => "<= ",
            Operator::Less => "< ",
            Operator::Unequal => "!= ",
        };
        let mut version = self.version.clone();
        // A third number would narrow the constraint to patch versions.
        if self.operator == Operator::Pessimistic && self.fixed() == 1 {
            version.segments.truncate(2);
        }
        format!("{sign}{version}")
    }
}

/// Completes a version whose trailing numbers may be missing, and counts the written ones.
fn complete(number: &str) -> (String, usize) {
    let number = number.strip_prefix('v').unwrap_or(number);
    let end = number.find(['-', '+']).unwrap_or(number.len());
    let (core, rest) = number.split_at(end);
    let written = core.split('.').count();
    let missing = ".0".repeat(3_usize.saturating_sub(written));
    (format!("{core}{missing}{rest}"), written)
}

impl Operator {
    /// Returns true if a version may compare to that of the condition in this way.
    fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Greater => order.is_gt(),
            Self::AtLeast | Self::Pessimistic => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
        }
    }
}

impl fmt::Display for VersionConstraint {
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
        let constraints = VersionConstraint::of_provider(constraint).expect(constraint);
        versions
            .iter()
            .copied()
            .filter(|v| constraints.allows_package(&Version::of_package(v).expect(v)))
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
            assert!(VersionConstraint::of_provider(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn canonical_form_is_sorted_and_complete() {
        for (texts, expected) in [
            (
                &["~> 3.1, !=3.2", ">= 2", "= 3.9.0", ">=2.0,>= 3"][..],
                ">= 2.0.0, >= 3.0.0, ~> 3.1, != 3.2.0, 3.9.0",
            ),
            (&["~> 2"], "~> 2.0"),
            (&["~> 2.1.0", "~> 2.1"], "~> 2.1.0, ~> 2.1"),
            (&["1.0.0-beta1", "v1.0"], "1.0.0-beta1, 1.0.0"),
            (&["~> 1.2-rc1"], "~> 1.2-rc1"),
            (&[""], ""),
        ] {
            let all = VersionConstraint::all_of_provider(texts.iter().copied()).expect("valid");
            assert_eq!(all.canonical(), expected, "{texts:?}");
        }
    }

    #[test]
    fn constraints_of_the_language_match_expected_versions() {
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
            let constraint: VersionConstraint = constraint.parse().expect(constraint);
            assert_eq!(
                constraint.allows(&version.parse().expect(version)),
                want,
                "{constraint:?} {version}"
            );
        }
    }

    #[test]
    fn malformed_constraints_of_the_language_are_rejected() {
        for text in ["", "x", ">= ", "1..2", "=> 1", "1.2,", "~>"] {
            assert!(text.parse::<VersionConstraint>().is_err(), "{text}");
        }
    }
}
