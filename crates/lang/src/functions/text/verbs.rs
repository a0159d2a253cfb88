//! Verbs of `format`: parsing them and formatting one value.

use cty::{Number, Type, Value};

use super::{digits, plain};
use crate::functions::encode::json;

/// One `%…` verb of a format.
#[derive(Debug, Default, Clone)]
pub(super) struct Verb {
    /// Verb as written.
    pub(super) raw: String,
    /// Byte offset of the `%`.
    pub(super) offset: usize,
    /// Position of the argument, from 1.
    pub(super) argument: usize,
    letter: char,
    zero: bool,
    sharp: bool,
    plus: bool,
    minus: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Maximum width and precision, to bound memory.
const MAX_WIDTH: usize = 1 << 20;

impl Verb {
    /// Parses the verb at the `%` at `offset`; returns the position after it.
    pub(super) fn read(format: &str, offset: usize, next: usize) -> Result<(Verb, usize), String> {
        let bytes = format.as_bytes();
        let mut verb = Verb {
            offset,
            argument: next,
            ..Verb::default()
        };
        let mut at = offset + 1;
        while let Some(flag) = bytes.get(at) {
            match flag {
                b'0' => verb.zero = true,
                b'#' => verb.sharp = true,
                b'-' => verb.minus = true,
                b'+' => verb.plus = true,
                b' ' => verb.space = true,
                _ => break,
            }
            at += 1;
        }
        let number = |at: &mut usize| -> Result<Option<usize>, String> {
            let count = bytes[*at..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
            let text = &format[*at..*at + count];
            *at += count;
            if count == 0 {
                return Ok(None);
            }
            text.parse()
                .ok()
                .filter(|n| *n <= MAX_WIDTH)
                .map(Some)
                .ok_or_else(|| format!("the number {text} is too large in a format verb"))
        };
        verb.width = number(&mut at)?;
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            // A dot without a number means precision 0.
            verb.precision = Some(number(&mut at)?.unwrap_or(0));
        }
        if bytes.get(at) == Some(&b'[')
            && bytes.get(at + 1).is_some_and(|b| (b'1'..=b'9').contains(b))
        {
            at += 1;
            verb.argument = number(&mut at)?.unwrap_or(0);
            if bytes.get(at) == Some(&b']') {
                at += 1;
            } else {
                return Err(unrecognised(format, at));
            }
        }
        match bytes.get(at) {
            Some(letter) if letter.is_ascii_alphabetic() => verb.letter = *letter as char,
            _ => return Err(unrecognised(format, at)),
        }
        verb.raw = format[offset..=at].to_owned();
        Ok((verb, at + 1))
    }

    /// Formats `value` with this verb.
    pub(super) fn write(&self, value: &Value) -> Result<String, String> {
        let unsupported = |why: &str| {
            format!(
                "unsupported value for {:?} at {}: {why}",
                self.raw, self.offset
            )
        };
        if self.letter != 'v' && value.is_null() {
            return Err(unsupported("null value cannot be formatted"));
        }
        let convert = |ty: Type| cty::convert(value, &ty).map_err(|e| unsupported(&e.to_string()));
        match self.letter {
            'v' => self.format_plain(value).map_err(|e| unsupported(&e)),
            't' => Ok(convert(Type::Bool)?
                .as_bool()
                .unwrap_or_default()
                .to_string()),
            'b' | 'd' | 'o' | 'x' | 'X' => {
                let value = convert(Type::Number)?;
                let (negative, magnitude) = value
                    .as_number()
                    .and_then(Number::to_big)
                    .ok_or_else(|| unsupported("an integer is required"))?;
                Ok(self.format_integer(negative, &magnitude))
            }
            'e' | 'E' | 'f' | 'g' | 'G' => {
                let value = convert(Type::Number)?;
                Ok(value
                    .as_number()
                    .map(|n| self.fraction(n))
                    .unwrap_or_default())
            }
            's' => {
                Ok(self.padded(self.truncate(convert(Type::String)?.as_str().unwrap_or_default())))
            }
            'q' => {
                let text = convert(Type::String)?;
                let quoted = json::encode(&self.truncate(text.as_str().unwrap_or_default()).into())
                    .map_err(|e| unsupported(&e))?;
                Ok(self.padded(quoted))
            }
            letter => Err(format!(
                "unsupported format verb '{letter}' in {:?} at offset {}",
                self.raw, self.offset
            )),
        }
    }

    fn format_plain(&self, value: &Value) -> Result<String, String> {
        if !self.sharp {
            if let Some(text) = value.as_str() {
                return Ok(self.padded(text.to_owned()));
            }
            if let Some(number) = value.as_number() {
                // Positive infinity has a sign, as in Go.
                let sign = match (number.is_negative(), number.is_infinite()) {
                    (true, _) => "-",
                    (false, true) => "+",
                    (false, false) => "",
                };
                return Ok(self.padded(format!("{sign}{}", magnitude(number, 'g', None))));
            }
        }
        Ok(self.padded(json::encode(value)?))
    }

    /// Truncates a text to the precision.
    fn truncate(&self, text: &str) -> String {
        use unicode_segmentation::UnicodeSegmentation;
        match self.precision {
            // As in the reference, precision 0 does not truncate.
            Some(count) if count > 0 => text.graphemes(true).take(count).collect(),
            _ => text.to_owned(),
        }
    }

    fn padded(&self, text: String) -> String {
        // The width counts grapheme clusters.
        let missing = self.width.unwrap_or(0).saturating_sub(plain::length(&text));
        let pad = (if self.zero { "0" } else { " " }).repeat(missing);
        if self.minus { text + &pad } else { pad + &text }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    fn format_integer(&self, negative: bool, magnitude: &dashu_int::UBig) -> String {
        let (base, prefix) = match self.letter {
            'b' => (2, "0b"),
            'o' => (8, "0"),
            'x' => (16, "0x"),
            'X' => (16, "0X"),
            _ => (10, ""),
        };
        let mut text = magnitude.in_radix(base).to_string();
        if self.letter == 'X' {
            text = text.to_uppercase();
        }
        let prefix = if self.sharp { prefix } else { "" };
        // As in Go, precision 0 prints nothing for zero.
        if self.precision == Some(0) && text == "0" {
            return String::new();
        }
        let mut zeros = self.precision.unwrap_or(0).saturating_sub(text.len());
        let sign = self.sign(negative);
        let missing = self
            .width
            .unwrap_or(0)
            .saturating_sub(sign.len() + prefix.len() + zeros + text.len());
        let (mut left, mut right) = (0, 0);
        if self.minus {
            right = missing;
        } else if self.zero && self.precision.is_none() {
            // With a precision, the number of digits is set, and the flag has no effect.
            zeros += missing;
        } else {
            left = missing;
        }
        format!(
            "{}{sign}{prefix}{}{text}{}",
            " ".repeat(left),
            "0".repeat(zeros),
            " ".repeat(right)
        )
    }

    fn fraction(&self, number: &Number) -> String {
        let text = magnitude(number, self.letter, self.precision);
        let sign = if number.is_infinite() && !number.is_negative() && !self.space {
            "+"
        } else {
            self.sign(number.is_negative())
        };
        let missing = self
            .width
            .unwrap_or(0)
            .saturating_sub(sign.len() + text.len());
        if self.minus {
            format!("{sign}{text}{}", " ".repeat(missing))
        } else if self.zero && !number.is_infinite() {
            format!("{sign}{}{text}", "0".repeat(missing))
        } else {
            format!("{}{sign}{text}", " ".repeat(missing))
        }
    }
}

fn magnitude(number: &Number, letter: char, precision: Option<usize>) -> String {
    match number.to_parts() {
        None => "Inf".to_owned(),
        Some((_, mantissa, exponent)) => {
            let exact = digits::Exact {
                mantissa,
                exponent: exponent as isize,
            };
            digits::magnitude(&exact, letter, precision, &number.to_text())
        }
    }
}

fn unrecognised(format: &str, at: usize) -> String {
    match format.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c) => format!("unrecognized format character '{c}' at offset {at}"),
        None => "unexpected end of format string".to_owned(),
    }
}
