//! Timestamps (RFC 3339) and the date formats of `formatdate`. Pure arithmetic on the proleptic
//! Gregorian calendar, without a clock.

use super::calendar::{DAYS, MONTHS, civil_from_days, days_from_civil, days_in};

/// Point in time with its original offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub(crate) nanos: i128,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

struct Parts {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    weekday: usize,
}

/// Reasons why a text is not a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid RFC3339 timestamp: {0}")]
pub(crate) struct NoTimestamp(#[source] Fault);

/// Unexpected text in a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("only ASCII characters are allowed")]
    OddSigns,
    #[error("end of string before {0}")]
    EndBefore(&'static str),
    #[error("cannot use {piece:?} as {what}")]
    InvalidPiece { piece: String, what: &'static str },
    #[error("missing required time introducer 'T'")]
    NoIntroducer,
    #[error("found \"{found}\" where \"{want}\" is expected")]
    Found { found: char, want: char },
    #[error("end of string where \"{0}\" is expected")]
    EndAt(char),
}

/// Errors in a date format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("invalid date format verb {0:?}")]
    NoVerb(String),
    /// Valid numbers of repetitions of its letter.
    #[error("invalid date format verb {verb:?}: {hint}")]
    Verb { verb: String, hint: String },
    #[error("unterminated literal '")]
    Unterminated,
}

fn number(
    text: &str,
    from: usize,
    to: usize,
    what: &'static str,
    low: u32,
    high: u32,
) -> Result<u32, Fault> {
    let piece = text.get(from..to).ok_or(Fault::EndBefore(what))?;
    if !piece.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid_piece(piece, what));
    }
    let value: u32 = piece.parse().map_err(|_| invalid_piece(piece, what))?;
    if value < low || value > high {
        return Err(invalid_piece(piece, what));
    }
    Ok(value)
}

/// Name of a timestamp's last part, for errors.
const OFFSET: &str = "UTC offset";

fn invalid_piece(piece: &str, what: &'static str) -> Fault {
    Fault::InvalidPiece {
        piece: piece.to_owned(),
        what,
    }
}

fn expect(text: &str, at: usize, want: char) -> Result<(), Fault> {
    match text[at.min(text.len())..].chars().next() {
        Some(c) if c == want => Ok(()),
        // The reference has a message of its own for a missing T.
        Some(_) if want == 'T' => Err(Fault::NoIntroducer),
        Some(found) => Err(Fault::Found { found, want }),
        None => Err(Fault::EndAt(want)),
    }
}

impl Moment {
    /// Parses RFC 3339 strictly.
    ///
    /// # Errors
    /// Names the unexpected text and the expected part.
    pub(crate) fn parse(text: &str) -> Result<Moment, NoTimestamp> {
        Self::parse_inner(text).map_err(NoTimestamp)
    }

    fn parse_inner(text: &str) -> Result<Moment, Fault> {
        // Offsets below are byte positions, which must not split a character.
        if !text.is_ascii() {
            return Err(Fault::OddSigns);
        }
        let year = i64::from(number(text, 0, 4, "year", 0, 9999)?);
        expect(text, 4, '-')?;
        let month = number(text, 5, 7, "month", 1, 12)?;
        expect(text, 7, '-')?;
        let day = number(text, 8, 10, "day of month", 1, days_in(year, month))?;
        expect(text, 10, 'T')?;
        let hour = number(text, 11, 13, "hour", 0, 23)?;
        expect(text, 13, ':')?;
        let minute = number(text, 14, 16, "minute", 0, 59)?;
        expect(text, 16, ':')?;
        let second = number(text, 17, 19, "second", 0, 59)?;
        let mut rest = &text[19..];
        let mut nanos = 0i128;
        if let Some(fraction) = rest.strip_prefix('.') {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if count == 0 {
                return Err(invalid_piece(".", OFFSET));
            }
            // Digits beyond nanoseconds are cut off.
            for (at, digit) in fraction.bytes().take(count.min(9)).enumerate() {
                nanos += i128::from(digit - b'0') * 10i128.pow(8 - at as u32);
            }
            rest = &fraction[count..];
        }
        let offset = Self::parse_offset(rest)?;
        let days = days_from_civil(year, month, day);
        let seconds = i128::from(days) * 86_400 + i128::from(hour * 3600 + minute * 60 + second)
            - i128::from(offset);
        Ok(Moment {
            nanos: seconds * 1_000_000_000 + nanos,
            offset,
        })
    }

    fn parse_offset(rest: &str) -> Result<i32, Fault> {
        if rest == "Z" {
            return Ok(0);
        }
        if rest.is_empty() {
            return Err(Fault::EndBefore(OFFSET));
        }
        let bad = || invalid_piece(rest, OFFSET);
        // RFC 3339 requires hours, colon and minutes.
        if rest.len() != 6 || rest.as_bytes()[3] != b':' {
            return Err(bad());
        }
        let hours = number(rest, 1, 3, OFFSET, 0, 23).map_err(|_| bad())? as i32;
        let minutes = number(rest, 4, 6, OFFSET, 0, 59).map_err(|_| bad())? as i32;
        match rest.as_bytes()[0] {
            b'+' => Ok((hours * 60 + minutes) * 60),
            b'-' => Ok(-(hours * 60 + minutes) * 60),
            _ => Err(bad()),
        }
    }

    fn parts(&self) -> Parts {
        // Rounds down, also before 1970.
        let local = self.nanos.div_euclid(1_000_000_000) + i128::from(self.offset);
        let days = local.div_euclid(86_400) as i64;
        let second_of_day = local.rem_euclid(86_400) as u32;
        let (year, month, day) = civil_from_days(days);
        Parts {
            year,
            month,
            day,
            hour: second_of_day / 3600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
            // 1970-01-01 was a Thursday.
            weekday: (days + 4).rem_euclid(7) as usize,
        }
    }

    fn zone(&self, colon: bool) -> String {
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        format!(
            "{sign}{:02}{}{:02}",
            minutes / 60,
            if colon { ":" } else { "" },
            minutes % 60
        )
    }

    /// RFC 3339 text to the second.
    pub(crate) fn rfc3339(&self) -> String {
        let p = self.parts();
        let zone = if self.offset == 0 {
            "Z".to_owned()
        } else {
            self.zone(true)
        };
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{zone}",
            p.year, p.month, p.day, p.hour, p.minute, p.second
        )
    }

    /// Formats by a `formatdate` pattern: runs of one letter are verbs, text in single quotes is
    /// literal.
    ///
    /// # Errors
    /// Names the unknown verb.
    pub(crate) fn format(&self, pattern: &str) -> Result<String, PatternError> {
        let parts = self.parts();
        let mut out = String::new();
        let chars: Vec<char> = pattern.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            let c = chars[at];
            if c == '\'' {
                at = literal(&chars, at, &mut out)?;
            } else if c.is_ascii_alphabetic() {
                let run = chars[at..].iter().take_while(|&&next| next == c).count();
                self.verb(&parts, c, run, &mut out)?;
                at += run;
            } else {
                out.push(c);
                at += 1;
            }
        }
        Ok(out)
    }

    fn verb(
        &self,
        p: &Parts,
        letter: char,
        run: usize,
        out: &mut String,
    ) -> Result<(), PatternError> {
        let token: String = std::iter::repeat_n(letter, run).collect();
        let bad = |hint: &str| {
            Err(PatternError::Verb {
                verb: token.clone(),
                hint: hint.to_owned(),
            })
        };
        let plain_or_two = |out: &mut String, value: u32, hint: &str| match run {
            1 => {
                out.push_str(&value.to_string());
                Ok(())
            }
            2 => {
                out.push_str(&format!("{value:02}"));
                Ok(())
            }
            _ => bad(hint),
        };
        match letter {
            'Y' => match run {
                2 => out.push_str(&format!("{:02}", p.year.rem_euclid(100))),
                4 => out.push_str(&format!("{:04}", p.year)),
                _ => return bad("year must either be \"YY\" or \"YYYY\""),
            },
            'M' => match run {
                1 => out.push_str(&p.month.to_string()),
                2 => out.push_str(&format!("{:02}", p.month)),
                3 => out.push_str(&MONTHS[p.month as usize - 1][..3]),
                4 => out.push_str(MONTHS[p.month as usize - 1]),
                _ => return bad("month must be \"M\", \"MM\", \"MMM\", or \"MMMM\""),
            },
            'D' => plain_or_two(out, p.day, "day of month must either be \"D\" or \"DD\"")?,
            'E' => match run {
                3 => out.push_str(&DAYS[p.weekday][..3]),
                4 => out.push_str(DAYS[p.weekday]),
                _ => return bad("day of week must either be \"EEE\" or \"EEEE\""),
            },
            'h' => plain_or_two(out, p.hour, "24-hour must either be \"h\" or \"hh\"")?,
            // Hours 0 and 12 are both written as 12.
            'H' => plain_or_two(
                out,
                (p.hour + 11) % 12 + 1,
                "12-hour must either be \"H\" or \"HH\"",
            )?,
            'A' | 'a' => {
                if run != 2 {
                    return bad(&format!("must be \"{letter}{letter}\""));
                }
                let half = if p.hour < 12 { "AM" } else { "PM" };
                out.push_str(&if letter == 'a' {
                    half.to_lowercase()
                } else {
                    half.to_owned()
                });
            }
            'm' => plain_or_two(out, p.minute, "minute must either be \"m\" or \"mm\"")?,
            's' => plain_or_two(out, p.second, "second must either be \"s\" or \"ss\"")?,
            'Z' => match run {
                1 => out.push_str(&if self.offset == 0 {
                    "Z".to_owned()
                } else {
                    self.zone(true)
                }),
                3 => out.push_str(&if self.offset == 0 {
                    "UTC".to_owned()
                } else {
                    self.zone(false)
                }),
                4 => out.push_str(&self.zone(false)),
                5 => out.push_str(&self.zone(true)),
                _ => return bad("timezone must be Z, ZZZZ, or ZZZZZ"),
            },
            _ => return Err(PatternError::NoVerb(token)),
        }
        Ok(())
    }
}

/// Copies a quoted literal that starts at `from`; returns the position after it.
fn literal(chars: &[char], from: usize, out: &mut String) -> Result<usize, PatternError> {
    // Two quotes outside of a literal stand for one quote.
    if chars.get(from + 1) == Some(&'\'') {
        out.push('\'');
        return Ok(from + 2);
    }
    let mut at = from + 1;
    while at < chars.len() {
        if chars[at] == '\'' {
            // A doubled quote inside a literal stands for one quote.
            if chars.get(at + 1) != Some(&'\'') {
                return Ok(at + 1);
            }
            at += 1;
        }
        out.push(chars[at]);
        at += 1;
    }
    Err(PatternError::Unterminated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_round_trip_and_malformed_ones_are_rejected() {
        for text in [
            "2017-11-22T00:00:00Z",
            "2000-02-29T23:59:59+05:30",
            "0001-01-01T00:00:00-07:00",
            "9999-12-31T12:00:00Z",
        ] {
            assert_eq!(Moment::parse(text).unwrap().rfc3339(), text);
        }
        for text in [
            "2017-02-29T00:00:00Z",
            "2017-01-01",
            "2017-01-01 00:00:00Z",
            "2017-01-01T00:00Z",
            "é",
        ] {
            assert!(Moment::parse(text).is_err(), "{text}");
        }
    }
}
