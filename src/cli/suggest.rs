//! Suggestions for misspelled words.

/// Returns the nearest known word with an edit distance of at most two.
pub(super) fn nearest_word<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let scored = known
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate));
    scored
        // A word of one or two letters is within two edits of any other.
        .filter(|(d, c)| *d <= 2 && *d < c.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Edit distance of two words. A transposition of neighbours counts as one edit.
fn edit_distance(a: &str, b: &str) -> usize {
    // Cut, because an argument may be very long and the table is quadratic.
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest_word;

    #[test]
    fn nearest_suggests_typos_but_not_unrelated_words() {
        let known = ["stage", "deploy", "state", "man"];
        assert_eq!(nearest_word("stgae", known), Some("stage"));
        assert_eq!(nearest_word("delpoy", known), Some("deploy"));
        assert_eq!(nearest_word("kubernetes", known), None);
        assert_eq!(nearest_word("xy", known), None);
    }
}
