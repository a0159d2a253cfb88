//! CSV (RFC 4180) as strict as Go's `encoding/csv`: bare quotes are errors, empty lines are
//! skipped.

/// Errors in a line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("CSV parse error on line {line}: {fault}")]
pub(crate) struct RowError {
    line: usize,
    fault: RowFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum RowFault {
    #[error("wrong number of fields")]
    Fields,
    #[error("bare \" in non-quoted-field")]
    BareQuote,
    #[error("extraneous or missing \" in quoted-field")]
    Quote,
}

/// Splits text into rows of fields.
///
/// # Errors
/// Names the line of the first error.
pub(crate) fn rows(text: &str) -> Result<Vec<Vec<String>>, RowError> {
    let mut out = Vec::new();
    let mut lines = Lines {
        rest: text,
        number: 0,
    };
    let mut want = None;
    while let Some(line) = lines.next() {
        if line == "\n" || line.is_empty() {
            continue;
        }
        let start = lines.number;
        let row = record(line, &mut lines)?;
        // The first row sets the number of fields.
        if *want.get_or_insert(row.len()) != row.len() {
            return Err(RowError {
                line: start,
                fault: RowFault::Fields,
            });
        }
        out.push(row);
    }
    Ok(out)
}

struct Lines<'a> {
    rest: &'a str,
    number: usize,
}

impl Lines<'_> {
    /// Error in the line read last.
    fn fault(&self, fault: RowFault) -> RowError {
        let line = self.number;
        RowError { line, fault }
    }

    /// Returns the next line with its `\n` (a `\r` before it is dropped), or the rest of the text.
    fn next(&mut self) -> Option<String> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = match self.rest.find('\n') {
            Some(at) => self.rest.split_at(at + 1),
            None => (self.rest, ""),
        };
        self.rest = rest;
        Some(match line.strip_suffix("\r\n") {
            Some(body) => format!("{body}\n"),
            None if rest.is_empty() => line.strip_suffix('\r').unwrap_or(line).to_owned(),
            None => line.to_owned(),
        })
    }
}

fn record(first: String, lines: &mut Lines<'_>) -> Result<Vec<String>, RowError> {
    let mut row = Vec::new();
    let mut line = first;
    loop {
        let Some(quoted) = line.strip_prefix('"') else {
            let body = line.strip_suffix('\n').unwrap_or(&line);
            let (field, rest) = match body.split_once(',') {
                Some((field, rest)) => (field, Some(rest.to_owned())),
                None => (body, None),
            };
            if field.contains('"') {
                return Err(lines.fault(RowFault::BareQuote));
            }
            row.push(field.to_owned());
            match rest {
                Some(rest) => line = rest,
                None => return Ok(row),
            }
            continue;
        };
        let mut field = String::new();
        let mut rest = quoted.to_owned();
        let behind = loop {
            match rest.split_once('"') {
                Some((before, after)) => {
                    field.push_str(before);
                    match after.chars().next() {
                        // Inside quotes, a doubled quote stands for one quote.
                        Some('"') => {
                            field.push('"');
                            rest = after[1..].to_owned();
                        }
                        Some(',') => break Some(after[1..].to_owned()),
                        None | Some('\n') => break None,
                        Some(_) => return Err(lines.fault(RowFault::Quote)),
                    }
                }
                None => {
                    field.push_str(&rest);
                    // A quoted field may contain line breaks.
                    let next = lines.next();
                    rest = next.ok_or_else(|| lines.fault(RowFault::Quote))?;
                }
            }
        };
        row.push(field);
        match behind {
            Some(rest) => line = rest,
            None => return Ok(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quoted_fields_may_contain_commas_quotes_and_newlines() {
        assert_eq!(
            rows("k,v\r\n\"a,\"\"b\",\"x\ny\"\n\n").unwrap(),
            [["k", "v"], ["a,\"b", "x\ny"]]
        );
        assert_eq!(rows("a,\n,b").unwrap(), [["a", ""], ["", "b"]]);
    }

    #[test]
    fn malformed_csv_is_rejected() {
        for text in ["a\n\"x", "a\nx\"y", "a,b\n1", "a\n\"x\"y"] {
            assert!(rows(text).is_err(), "{text}");
        }
    }
}
