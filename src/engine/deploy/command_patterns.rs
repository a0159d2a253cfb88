//! Commands that a repair of the reconcile loop may run: the patterns that were trusted, with the
//! values of objects as data.

use crate::stage::provision::LocalExec;
use lang::source::Span;
use std::collections::HashMap;
use trust::words::{Part, Word, varies_in_data_only};

/// Characters of a value that a shell takes as they are, as a class of a regular expression.
const DATA: &str = "([A-Za-z0-9._:/@%+,-]*)";

/// Words of trusted commands, by the source of their provisioner. The calls of a module give one
/// source several commands.
#[derive(Debug, Default)]
pub struct CommandPatterns(HashMap<Span, Vec<Vec<Word>>>);

impl CommandPatterns {
    pub fn add(&mut self, provisioner: Span, words: Vec<Word>) {
        self.0.entry(provisioner).or_default().push(words);
    }

    /// Returns true if the command is one of the trusted ones with other values as data.
    pub(crate) fn allow(&self, provisioner: Span, what: &LocalExec) -> bool {
        let mut given = what.interpreter.clone();
        if given.is_empty() {
            given = ["/bin/sh", "-c"].map(str::to_owned).into();
        }
        given.push(what.command.clone());
        let patterns = self.0.get(&provisioner).into_iter().flatten();
        patterns.into_iter().any(|words| is_of(words, &given))
    }
}

/// Returns true if the words are those of a pattern whose open parts are data.
fn is_of(pattern: &[Word], given: &[String]) -> bool {
    let pairs = pattern.iter().zip(given);
    let words: Option<Vec<Word>> = pairs.map(|(word, text)| with_values(word, text)).collect();
    pattern.len() == given.len() && words.is_some_and(|words| varies_in_data_only(&words))
}

/// Returns the word with the values that the open parts have in `text`, if all of them are data.
fn with_values(word: &Word, text: &str) -> Option<Word> {
    let mut pattern = String::from(r"\A");
    for part in &word.0 {
        match part {
            Part::Fixed(fixed) => pattern.push_str(&regex::escape(fixed)),
            Part::Open(_) => pattern.push_str(DATA),
        }
    }
    let found = regex::Regex::new(&(pattern + r"\z")).ok()?.captures(text)?;
    let mut values = found.iter().skip(1).flatten();
    let parts = word.0.iter().map(|part| match part {
        Part::Fixed(fixed) => Part::Fixed(fixed.clone()),
        Part::Open(_) => Part::Open(values.next().map(|value| value.as_str().to_owned())),
    });
    Some(Word(parts.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_an_object_is_data_or_the_command_is_refused() {
        let open = || Part::Open(None);
        let fixed = |text: &str| Part::Fixed(text.to_owned());
        let echo = Word(vec![fixed("echo '"), open(), fixed("' >> list")]);
        let script = Word(vec![fixed("sh x.sh "), open()]);
        let program = Word(vec![open(), fixed(" x")]);
        for (word, text, allowed) in [
            (&echo, "echo 'a-1' >> list", true),
            (&echo, "echo 'a'; evil; '' >> list", false),
            (&echo, "echo 'a\nevil' >> list", false),
            (&echo, "evil", false),
            (&script, "sh x.sh 10.0.0.1", true),
            (&script, "sh x.sh -c evil", false),
            (&script, "sh x.sh $(evil)", false),
            (&program, "evil x", false),
        ] {
            let words = [Word::fixed("/bin/sh"), Word::fixed("-c"), word.clone()];
            let given = ["/bin/sh", "-c", text].map(str::to_owned);
            assert_eq!(is_of(&words, &given), allowed, "{text}");
        }
    }
}
