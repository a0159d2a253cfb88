//! Text of the dependency lock file, byte for byte as OpenTofu writes it.

use semver::Version;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Lock file entry of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    pub host: String,
    pub namespace: String,
    pub name: String,
    pub version: Version,
    /// Constraints in canonical form; see [`constraints`].
    pub constraints: String,
    pub hashes: BTreeSet<String>,
}

/// The whole file.
#[must_use]
pub fn lock_text(providers: &[Locked]) -> String {
    let mut sorted: Vec<&Locked> = providers.iter().collect();
    sorted.sort_by_key(|p| (&p.host, &p.namespace, &p.name));
    let mut out = String::from(
        "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n",
    );
    for provider in sorted {
        let Locked {
            host,
            namespace,
            name,
            version,
            constraints,
            hashes,
        } = provider;
        // Writing to a `String` cannot fail.
        let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
        line(format!("\nprovider \"{host}/{namespace}/{name}\" {{"));
        match constraints.is_empty() {
            true => line(format!("  version = \"{version}\"")),
            false => {
                line(format!("  version     = \"{version}\""));
                line(format!("  constraints = \"{constraints}\""));
            }
        }
        if !hashes.is_empty() {
            line("  hashes = [".to_owned());
            for hash in hashes {
                line(format!("    \"{hash}\","));
            }
            line("  ]".to_owned());
        }
        line("}".to_owned());
    }
    out
}

/// Constraint operator. The order sorts constraints on equal versions in canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Operator {
    Greater,
    AtLeast,
    Equal,
    /// `~>` with three numbers.
    Patch,
    /// `~>` with fewer.
    Minor,
    AtMost,
    Less,
    Unequal,
}

/// Canonical form of all constraints on one provider; each text has one or more. `None` if one is
/// invalid.
#[must_use]
pub fn constraints<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<String> {
    let mut all: Vec<(Version, Operator)> = Vec::new();
    for text in texts {
        for term in text
            .split(',')
            .map(str::trim)
            .filter(|term| !term.is_empty())
        {
            let found = condition(term)?;
            if !all.contains(&found) {
                all.push(found);
            }
        }
    }
    // By version, then by operator, as OpenTofu sorts them.
    all.sort();
    let spelled = all.iter().map(|(version, operator)| {
        let sign = match operator {
            Operator::Greater => "> ",
            Operator::AtLeast => ">= ",
            Operator::Equal => "",
            Operator::Patch | Operator::Minor => "~> ",
            Operator::AtMost => "<= ",
            Operator::Less => "< ",
            Operator::Unequal => "!= ",
        };
        let whole = version.to_string();
        match operator {
            Operator::Minor => {
                // A third number would narrow the constraint to patch versions.
                let numbers = format!("{}.{}.{}", version.major, version.minor, version.patch);
                let rest = &whole[numbers.len()..];
                format!("{sign}{}.{}{rest}", version.major, version.minor)
            }
            _ => format!("{sign}{whole}"),
        }
    });
    Some(spelled.collect::<Vec<_>>().join(", "))
}

fn condition(term: &str) -> Option<(Version, Operator)> {
    let begin = term.find(|c: char| c.is_ascii_alphanumeric())?;
    let (sign, number) = (term[..begin].trim(), term[begin..].trim());
    let number = number.strip_prefix('v').unwrap_or(number);
    let end = number.find(['-', '+']).unwrap_or(number.len());
    let (core, rest) = number.split_at(end);
    // Missing numbers are zero, but how many there are decides the meaning of `~>`.
    let parts = core.split('.').count();
    let whole = match parts {
        1 => format!("{core}.0.0{rest}"),
        2 => format!("{core}.0{rest}"),
        _ => number.to_owned(),
    };
    let operator = match (sign, parts) {
        ("" | "=", _) => Operator::Equal,
        ("!=", _) => Operator::Unequal,
        (">", _) => Operator::Greater,
        (">=", _) => Operator::AtLeast,
        ("<", _) => Operator::Less,
        ("<=", _) => Operator::AtMost,
        ("~>", 3) => Operator::Patch,
        ("~>", _) => Operator::Minor,
        _ => return None,
    };
    Some((Version::parse(&whole).ok()?, operator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_constraints_are_normalized() {
        let form = |texts: &[&str]| constraints(texts.iter().copied());
        for (texts, expected) in [
            (
                &["~> 3.1, !=3.2", ">= 2", "= 3.9.0", ">=2.0,>= 3"][..],
                ">= 2.0.0, >= 3.0.0, ~> 3.1, != 3.2.0, 3.9.0",
            ),
            (&["~> 2"], "~> 2.0"),
            (&["~> 2.1.0", "~> 2.1"], "~> 2.1.0, ~> 2.1"),
            (&["1.0.0-beta1", "v1.0"], "1.0.0-beta1, 1.0.0"),
            (&[""], ""),
        ] {
            assert_eq!(form(texts).as_deref(), Some(expected), "{texts:?}");
        }
        assert_eq!(form(&["latest"]), None);
    }

    #[test]
    fn lock_file_text_matches_the_tofu_format() {
        let locked = |host: &str, constraints: &str, hashes: &[&str]| Locked {
            host: host.to_owned(),
            namespace: "acme".to_owned(),
            name: "lab".to_owned(),
            version: Version::new(1, 2, 0),
            constraints: constraints.to_owned(),
            hashes: hashes.iter().map(|h| (*h).to_owned()).collect(),
        };
        let text = lock_text(&[
            locked("b.example", "~> 1.0", &["zh:00", "h1:x="]),
            locked("a.example", "", &[]),
        ]);
        assert_eq!(
            text,
            "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n\nprovider \"a.example/acme/lab\" {\n  version = \"1.2.0\"\n}\n\nprovider \"b.example/acme/lab\" {\n  version     = \"1.2.0\"\n  constraints = \"~> 1.0\"\n  hashes = [\n    \"h1:x=\",\n    \"zh:00\",\n  ]\n}\n"
        );
    }
}
