//! Shortens addresses of resources in the middle, by module, so that rows stay distinguishable.

use super::text::{truncate_end, width};
use std::collections::HashMap;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of parts that are left out one by one; further modules are left out together.
const MAX_PARTS: usize = 7;

/// Shortens the addresses of one list, each to its number of cells. Leaves out modules and resource
/// types in the middle before it cuts a name; `…` marks the place. Different addresses stay
/// different as long as the width has space for the difference.
pub fn shorten_addresses(all: &[(&str, usize)]) -> Vec<String> {
    let forms: Vec<Vec<String>> = all
        .iter()
        .map(|(address, cells)| forms(address, *cells))
        .collect();
    let mut chosen = vec![0; all.len()];
    // Each round takes the next form of equal texts, and no address has more forms.
    for _ in 0..1 << MAX_PARTS {
        let equal = equal_texts(all, &forms, &chosen);
        let next: Vec<usize> = equal
            .into_iter()
            .flatten()
            .filter(|i| chosen[*i] + 1 < forms[*i].len())
            .collect();
        if next.is_empty() {
            break;
        }
        next.into_iter().for_each(|i| chosen[i] += 1);
    }
    let mut out: Vec<String> = (0..all.len())
        .map(|i| forms[i][chosen[i]].clone())
        .collect();
    for group in equal_texts(all, &forms, &chosen) {
        let common = common_prefix(group.iter().map(|i| all[*i].0));
        for i in group {
            out[i] = from_difference(all[i].0, common, all[i].1);
        }
    }
    out
}

/// Returns the address relative to its module.
pub fn without_modules(address: &str) -> &str {
    let (mut rest, mut quoted, mut escaped) = (address, false, false);
    let mut is_module = address.starts_with("module.");
    for (at, c) in address.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '.' if !quoted => {
                let after = &address[at + 1..];
                // The dot after the keyword belongs to the module, the next one ends it.
                let ended = is_module && rest.len() - after.len() > "module.".len();
                if ended {
                    rest = after;
                    is_module = rest.starts_with("module.");
                }
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    rest
}

/// Shortens one address to `cells`.
pub fn shorten_address(address: &str, cells: usize) -> String {
    forms(address, cells).swap_remove(0)
}

/// Returns the groups of different addresses whose chosen forms are equal.
fn equal_texts(all: &[(&str, usize)], forms: &[Vec<String>], chosen: &[usize]) -> Vec<Vec<usize>> {
    let mut by_text: HashMap<&str, Vec<usize>> = HashMap::new();
    for i in 0..all.len() {
        by_text.entry(&forms[i][chosen[i]]).or_default().push(i);
    }
    let mut groups: Vec<Vec<usize>> = by_text
        .into_values()
        .filter(|group| group.iter().any(|i| all[*i].0 != all[group[0]].0))
        .collect();
    groups.sort_unstable();
    groups
}

/// Returns the forms of an address that fit, the most informative first; never empty.
fn forms(address: &str, cells: usize) -> Vec<String> {
    if width(address) <= cells {
        return vec![address.to_owned()];
    }
    let (parts, modules) = parts(address);
    let last = parts.len() - 1;
    let mut masks: Vec<u32> = (0..1 << last).rev().collect();
    masks.sort_by_key(|mask| std::cmp::Reverse(value(*mask, modules, last)));
    let mut forms: Vec<String> = masks
        .into_iter()
        .map(|mask| without(&parts, mask, cells))
        .filter(|text| width(text) <= cells)
        .collect();
    if forms.is_empty() {
        forms.push(cut_middle(&parts[last], cells));
    }
    forms
}

/// Value of the parts that a mask keeps. The outermost module says most, then the resource type,
/// then the inner modules from the last one on.
fn value(mask: u32, modules: usize, last: usize) -> u32 {
    (0..last)
        .filter(|i| mask & 1 << i != 0)
        .map(|i| match i {
            0 if modules > 0 => 400,
            _ if i >= modules => 300,
            _ => 20 + u32::try_from(i).unwrap_or(0),
        })
        .sum()
}

/// Joins the last part with those of the mask. `…` stands for parts in between. The last words of
/// the resource type stay if there is space for them.
fn without(parts: &[String], mask: u32, cells: usize) -> String {
    let last = parts.len() - 1;
    let mut text = String::new();
    let mut left_out = false;
    for (i, part) in parts.iter().enumerate() {
        if i < last && mask & 1 << i == 0 {
            left_out = true;
            continue;
        }
        if left_out {
            text.push('…');
            if i == last {
                let used = width(&text) + width(part) + 1;
                text.extend(last_words(&parts[i - 1], cells.saturating_sub(used)));
            }
        } else if i > 0 {
            text.push('.');
        }
        left_out = false;
        text.push_str(part);
    }
    text
}

/// Returns the last words of a resource type that fit, with the dot after them.
fn last_words(kind: &str, cells: usize) -> Option<String> {
    let words = kind.match_indices('_').map(|(at, _)| &kind[at + 1..]);
    let mut fitting = words.filter(|rest| !rest.is_empty() && width(rest) <= cells);
    fitting.next().map(|rest| format!("{rest}."))
}

/// Splits an address into its modules without the keyword, its type and its name. Returns the
/// number of modules, too. Keys belong to the part that they follow.
fn parts(address: &str) -> (Vec<String>, usize) {
    let mut words = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for c in address.chars() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            '.' if !quoted && depth == 0 => {
                words.push(String::new());
                continue;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let mut modules: usize = 0;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        match (word.as_str(), words.peek().is_some()) {
            ("module", true) => {
                parts.extend(words.next());
                modules += 1;
            }
            ("data", true) => parts.extend(words.next().map(|kind| format!("data.{kind}"))),
            _ => parts.push(word),
        }
    }
    // Inner modules are joined, so that the number of forms stays small.
    while parts.len() > MAX_PARTS {
        let inner = parts.remove(2);
        parts[1] = format!("{}.{inner}", parts[1]);
        modules = modules.saturating_sub(1);
    }
    (parts, modules)
}

/// Cuts the middle of a text; the end gets more cells, because it has the key.
fn cut_middle(text: &str, cells: usize) -> String {
    let room = cells.saturating_sub(1);
    let head = take(text.graphemes(true), room / 3);
    let tail = take(text.graphemes(true).rev(), room - head.1);
    let all: Vec<&str> = text.graphemes(true).collect();
    if cells == 0 {
        return String::new();
    }
    let end = all.len().saturating_sub(tail.0);
    format!(
        "{}…{}",
        all[..head.0].concat(),
        all[end.max(head.0)..].concat()
    )
}

/// Counts the leading graphemes that fit, and their cells.
fn take<'a>(all: impl Iterator<Item = &'a str>, cells: usize) -> (usize, usize) {
    let mut taken = (0, 0);
    for g in all {
        if taken.1 + width(g) > cells {
            break;
        }
        taken = (taken.0 + 1, taken.1 + width(g));
    }
    taken
}

/// Number of graphemes that all texts begin with.
fn common_prefix<'a>(mut all: impl Iterator<Item = &'a str>) -> usize {
    let Some(first) = all.next() else { return 0 };
    let first: Vec<&str> = first.graphemes(true).collect();
    all.map(|other| {
        let pairs = first.iter().zip(other.graphemes(true));
        pairs.take_while(|(a, b)| **a == *b).count()
    })
    .min()
    .unwrap_or(0)
}

/// Returns a text from its difference on. The name follows if there is space for both.
fn from_difference(address: &str, common: usize, cells: usize) -> String {
    let rest: String = address.graphemes(true).skip(common).collect();
    let (parts, _) = parts(address);
    let name = parts.last().map_or("", String::as_str);
    let room = cells.saturating_sub(width(name) + 1);
    if room >= 4 && width(&rest) > width(name) {
        let difference = rest.strip_suffix(name).unwrap_or(&rest);
        let difference = truncate_end(difference, room);
        // A cut difference ends with the mark already.
        return format!("…{difference}{name}");
    }
    // The end may tell rows apart as well, such as an index.
    let room = cells.saturating_sub(1);
    if width(&rest) <= room || room < 8 {
        return format!("…{}", truncate_end(&rest, room));
    }
    let tail = take(rest.graphemes(true).rev(), room / 4);
    let head = truncate_end(&rest, room - tail.1);
    let all: Vec<&str> = rest.graphemes(true).collect();
    format!("…{head}{}", all[all.len() - tail.0..].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEEP: &str = r#"module.svc["orders"].module.net.lab_server.server[2]"#;

    #[test]
    fn address_without_modules_keeps_type_name_and_key() {
        for (address, expected) in [
            (DEEP, "lab_server.server[2]"),
            (r#"module.a["x.module.y"].t.n["a.b"]"#, r#"t.n["a.b"]"#),
            (r#"module.a["say \"hi.\""].data.t.n"#, "data.t.n"),
            ("lab_thing.module.x", "lab_thing.module.x"),
            ("module.a", "module.a"),
            ("t.n", "t.n"),
        ] {
            assert_eq!(without_modules(address), expected);
        }
    }

    #[test]
    fn address_is_shortened_in_the_middle_by_module() {
        for (cells, expected) in [
            (52, DEEP),
            (51, r#"svc["orders"].net.lab_server.server[2]"#),
            (37, r#"svc["orders"]…lab_server.server[2]"#),
            (33, r#"svc["orders"].net…server[2]"#),
            (26, r#"svc["orders"]…server[2]"#),
            (23, r#"svc["orders"]…server[2]"#),
            (22, "…lab_server.server[2]"),
            (20, "…net…server[2]"),
            (13, "…server[2]"),
            (8, "se…er[2]"),
            (1, "…"),
            (0, ""),
        ] {
            let text = shorten_address(DEEP, cells);
            assert_eq!(text, expected, "{cells}");
            assert!(width(&text) <= cells, "{cells}: {text}");
        }
    }

    #[test]
    fn words_of_the_type_stay_if_they_fit() {
        for (cells, expected) in [
            (19, "…db_instance.main"),
            (16, "…instance.main"),
            (13, "…main"),
        ] {
            assert_eq!(shorten_address("aws_db_instance.main", cells), expected);
        }
    }

    #[test]
    fn dots_in_keys_do_not_split_an_address() {
        let address = r#"module.dns["a.example.com"].data.aws_zone.this["x\".y"]"#;
        assert_eq!(
            shorten_address(address, 50),
            r#"dns["a.example.com"].data.aws_zone.this["x\".y"]"#
        );
        assert_eq!(
            shorten_address(address, 40),
            r#"dns["a.example.com"]…zone.this["x\".y"]"#
        );
    }

    /// Each pair differs in another part: a module, its key, the type, the name, the index.
    #[test]
    fn addresses_that_differ_stay_different_when_shortened() {
        for (a, b, least) in [
            (
                "module.a.module.x.aws_vpc.main",
                "module.a.module.y.aws_vpc.main",
                9,
            ),
            (
                r#"module.platform["eu-central-1"].module.network.aws_subnet.private[0]"#,
                r#"module.platform["eu-central-2"].module.network.aws_subnet.private[0]"#,
                17,
            ),
            (
                "module.service.aws_iam_role_policy.application",
                "module.service.aws_iam_role_policy_attachment.application",
                24,
            ),
            (
                "aws_security_group_rule.allow_ingress_https",
                "aws_security_group_rule.allow_ingress_httpd",
                24,
            ),
            (
                r#"module.m.aws_instance.web["node-000001"]"#,
                r#"module.m.aws_instance.web["node-000002"]"#,
                10,
            ),
            (
                "module.m.漢字漢字.server[10]",
                "module.m.漢字漢字.server[11]",
                8,
            ),
        ] {
            for cells in least..80 {
                let short = shorten_addresses(&[(a, cells), (b, cells)]);
                assert_ne!(short[0], short[1], "{cells}: {a}");
                assert!(
                    short.iter().all(|s| width(s) <= cells),
                    "{cells}: {short:?}"
                );
            }
        }
    }

    #[test]
    fn equal_addresses_and_names_without_modules_are_accepted() {
        let short = shorten_addresses(&[(DEEP, 24), (DEEP, 24), ("", 0), ("漢字漢字漢字", 7)]);
        assert_eq!(short[0], short[1]);
        assert_eq!(short[2..], ["", "漢…漢字"]);
    }
}
