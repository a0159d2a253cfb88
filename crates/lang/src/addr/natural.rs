//! Natural order of addresses and keys.

use std::cmp::Ordering;

/// Compares in natural order: runs of digits by their number, so that `p[2]` precedes `p[10]`.
pub fn natural_cmp(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (x, y) = (next_run(&mut rest_a), next_run(&mut rest_b));
        if x.is_empty() || y.is_empty() {
            // Equal except for leading zeros: the order must still be total.
            return x.len().cmp(&y.len()).then_with(|| a.cmp(b));
        }
        let is_number = |run: &str| run.starts_with(|c: char| c.is_ascii_digit());
        let order = if is_number(x) && is_number(y) {
            let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
            // By length first: numbers in names may exceed every integer type.
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            x.cmp(y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Cuts the leading run of digits, or one other character, off a text.
fn next_run<'t>(text: &mut &'t str) -> &'t str {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let end = match digits {
        0 => text.chars().next().map_or(0, char::len_utf8),
        n => n,
    };
    let (run, rest) = text.split_at(end);
    *text = rest;
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_order_compares_runs_of_digits_by_their_number() {
        for (less, more) in [
            ("p[2]", "p[10]"),
            ("a.p[9].x", "a.p[10].b"),
            ("web-1", "web-1a"),
            ("web", "web-1"),
            ("v1.9.0", "v1.10.0"),
            ("a1", "ab"),
            ("p[007]", "p[8]"),
            // Equal numbers still have one order.
            ("p[01]", "p[1]"),
            ("n18446744073709551615", "n99999999999999999999999"),
            ("", "a"),
            ("ä[2]", "ä[10]"),
        ] {
            assert_eq!(natural_cmp(less, more), Ordering::Less, "{less} {more}");
            assert_eq!(natural_cmp(more, less), Ordering::Greater, "{less} {more}");
            assert_eq!(natural_cmp(less, less), Ordering::Equal, "{less}");
        }
    }
}
