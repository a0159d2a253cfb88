//! Splits an address into the parts that the tree of modules groups by, without copying it.

use model::natural_cmp;
use std::cmp::Ordering;

/// Maximum number of parts; the rest of a longer address is its last part.
const MAX_PARTS: usize = 64;

/// Kinds of parts, in the order of a list: resources of a module come before its modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Resource,
    /// Instance key of a module or resource.
    Key,
    Module,
}

/// Address with the ends of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path<'a> {
    pub address: &'a str,
    ends: Vec<(Kind, usize)>,
}

impl<'a> Path<'a> {
    /// Splits an address in Terraform's notation. Another text is one part.
    pub fn new(address: &'a str) -> Self {
        let mut ends = Vec::with_capacity(4);
        let mut at = 0;
        while ends.len() < MAX_PARTS && address[at..].starts_with("module.") {
            let name = at + "module.".len();
            let end = address[name..]
                .find(['.', '['])
                .map_or(address.len(), |n| name + n);
            let key = key_end(address, end);
            // A module address, or a text that only begins like one, has no resource.
            if address.as_bytes().get(key) != Some(&b'.') {
                break;
            }
            ends.push((Kind::Module, end));
            if key > end {
                ends.push((Kind::Key, key));
            }
            at = key + 1;
        }
        let end = address[at..].find('[').map_or(address.len(), |n| at + n);
        ends.push((Kind::Resource, end));
        if end < address.len() {
            ends.push((Kind::Key, address.len()));
        }
        Self { address, ends }
    }

    /// Number of parts; at least one.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a part with its separator.
    pub fn part(&self, n: usize) -> (Kind, &'a str) {
        let (kind, end) = self.ends[n];
        (kind, &self.address[self.end_of(n)..end])
    }

    /// Returns the address of the first `n` parts.
    pub fn prefix(&self, n: usize) -> &'a str {
        &self.address[..self.end_of(n)]
    }

    /// Start of the address relative to the first `n` parts.
    pub fn name_start(&self, n: usize) -> usize {
        let at = self.end_of(n);
        at + usize::from(self.address[at..].starts_with('.'))
    }

    /// Number of leading parts that both paths have.
    pub fn common(&self, other: &Self) -> usize {
        (0..self.len().min(other.len()))
            .take_while(|n| self.part(*n) == other.part(*n))
            .count()
    }

    fn end_of(&self, n: usize) -> usize {
        n.checked_sub(1).map_or(0, |last| self.ends[last].1)
    }
}

impl Ord for Path<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        for n in 0..self.len().min(other.len()) {
            let (a, b) = (self.part(n), other.part(n));
            let order = a.0.cmp(&b.0).then_with(|| natural_cmp(a.1, b.1));
            if order != Ordering::Equal {
                return order;
            }
        }
        self.len().cmp(&other.len())
    }
}

impl PartialOrd for Path<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// End of an instance key that starts at `from`; `from` without a key. Brackets and dots within
/// quotes belong to the key.
fn key_end(address: &str, from: usize) -> usize {
    let Some(inner) = address[from..].strip_prefix('[') else {
        return from;
    };
    let Some(quoted) = inner.strip_prefix('"') else {
        return inner.find(']').map_or(from, |n| from + 1 + n + 1);
    };
    let mut escaped = false;
    for (n, c) in quoted.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' if quoted[n + 1..].starts_with(']') => return from + 2 + n + 2,
            '"' => return from,
            _ => {}
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang::addr::AbsInstance;

    fn parts(address: &str) -> Vec<&str> {
        let path = Path::new(address);
        (0..path.len()).map(|n| path.part(n).1).collect()
    }

    #[test]
    fn addresses_are_split_at_dots_and_brackets_outside_of_quotes() {
        let cases: &[(&str, &[&str])] = &[
            ("a.b", &["a.b"]),
            ("a.b[0]", &["a.b", "[0]"]),
            (r#"data.a.b["x.y"]"#, &["data.a.b", r#"["x.y"]"#]),
            (
                r#"module.svc["orders"].module.db.lab_server.this[2]"#,
                &[
                    "module.svc",
                    r#"["orders"]"#,
                    ".module.db",
                    ".lab_server.this",
                    "[2]",
                ],
            ),
            (
                r#"module.m["x.y]\"].z"].a.b["k[1]"]"#,
                &["module.m", r#"["x.y]\"].z"]"#, ".a.b", r#"["k[1]"]"#],
            ),
            (
                r#"module.m["a\\"].a.b"#,
                &["module.m", r#"["a\\"]"#, ".a.b"],
            ),
            ("module.m", &["module.m"]),
            ("module.m[", &["module.m", "["]),
            ("", &[""]),
            ("output x", &["output x"]),
        ];
        for (address, expected) in cases {
            assert_eq!(parts(address), *expected, "{address}");
            // No text is lost.
            assert_eq!(parts(address).concat(), *address);
        }
    }

    #[test]
    fn module_prefix_is_the_one_of_the_address_parser() {
        for address in [
            "a.b[0]",
            r#"module.m["x.y]"].module.n[3].data.a.b["q\"]"]"#,
            r#"module.m["$${x}\n"].a.b-c"#,
            "module.a.module.b.ephemeral.c.d",
        ] {
            let parsed: AbsInstance = address.parse().unwrap();
            let path = Path::new(address);
            let modules = (0..path.len())
                .find(|n| path.part(*n).0 == Kind::Resource)
                .unwrap();
            assert_eq!(path.prefix(modules), parsed.module.to_string(), "{address}");
        }
    }

    #[test]
    fn paths_are_in_natural_order_and_resources_come_before_modules() {
        let mut all = [
            "module.a.x.y",
            "z.z",
            "module.a[10].x.y",
            "p.p[10]",
            "p.p[2]",
            "module.a[2].x.y",
            "p.p",
        ];
        all.sort_by_key(|a| Path::new(a));
        assert_eq!(
            all,
            [
                "p.p",
                "p.p[2]",
                "p.p[10]",
                "z.z",
                "module.a.x.y",
                "module.a[2].x.y",
                "module.a[10].x.y",
            ]
        );
    }
}
