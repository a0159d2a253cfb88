//! Words of a command with parts that change from run to run. A decision can leave such a part open
//! if it is only data, and never if it can choose a program.

use crate::executed::base_name;

/// Programs that run a script or another program from their arguments, and words of a shell before
/// a command.
const RUNNERS: [&str; 68] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "fish",
    "busybox",
    "pwsh",
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "env",
    "sudo",
    "doas",
    "su",
    "runuser",
    "nice",
    "ionice",
    "chrt",
    "timeout",
    "nohup",
    "setsid",
    "xargs",
    "parallel",
    "time",
    "stdbuf",
    "flock",
    "chroot",
    "unshare",
    "nsenter",
    "strace",
    "watch",
    "exec",
    "command",
    "eval",
    "find",
    "make",
    "ssh",
    "docker",
    "podman",
    "kubectl",
    "systemd-run",
    "unbuffer",
    "source",
    "trap",
    "builtin",
    "if",
    "then",
    "elif",
    "else",
    "while",
    "until",
    "do",
    "!",
    "{",
];
/// Shells, whose texts are checked word by word.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// Arguments after which a program runs another one.
const RUNNING_OPTIONS: [&str; 5] = ["-exec", "-execdir", "-ok", "-okdir", "--"];
/// Characters with a meaning at the beginning of a command in a shell text.
const COMMAND_ENDS: &str = ";|&()`\n";

/// Part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Fixed(String),
    /// Changes from run to run; `None` while it is not known.
    Open(Option<String>),
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word(pub Vec<Part>);

impl Word {
    /// A word that is the same in each run.
    pub fn fixed(text: impl Into<String>) -> Self {
        Self(vec![Part::Fixed(text.into())])
    }

    /// The word of this run, if it is known.
    pub fn value(&self) -> Option<String> {
        let text = |part: &Part| match part {
            Part::Fixed(text) => Some(text.clone()),
            Part::Open(value) => value.clone(),
        };
        self.0.iter().map(text).collect()
    }

    /// The word of this run, with a variable of a shell in place of parts that are not known.
    pub(crate) fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Fixed(text) | Part::Open(Some(text)) => text.clone(),
            Part::Open(None) => "$_".to_owned(),
        };
        self.0.iter().map(text).collect()
    }

    pub(crate) fn fixed_text(&self) -> Option<String> {
        let is_fixed = self.0.iter().all(|part| matches!(part, Part::Fixed(_)));
        is_fixed.then(|| self.value()).flatten()
    }

    /// An argument that looks like an option could name a program.
    fn can_be_option(&self) -> bool {
        match self.0.first() {
            Some(Part::Open(value)) => value.as_deref().is_some_and(|v| v.starts_with('-')),
            _ => false,
        }
    }
}

/// Returns true if the open parts of a command are data: neither its program, nor the script or the
/// program that it runs, nor an option.
pub fn varies_in_data_only(words: &[Word]) -> bool {
    is_data_only(words, false)
}

/// Checks the words of a command; `in_shell` if a shell splits them.
fn is_data_only(words: &[Word], in_shell: bool) -> bool {
    // Set while a program waits for its script: the name of the program.
    let mut pending = Some("");
    let mut takes_text = false;
    let fixed: Vec<Option<String>> = words.iter().map(Word::fixed_text).collect();
    for (word, text) in words.iter().zip(&fixed) {
        let Some(text) = text else {
            match pending {
                Some(shell) if takes_text && SHELLS.contains(&shell) => {
                    if !is_safe_shell_text(word) {
                        return false;
                    }
                    pending = None;
                }
                Some(_) => return false,
                None if word.can_be_option() => return false,
                None if in_shell && !has_safe_characters(word) => return false,
                None => {}
            }
            continue;
        };
        if let Some(name) = runner(text) {
            (pending, takes_text) = (Some(name), false);
        } else if RUNNING_OPTIONS.contains(&text.as_str()) {
            (pending, takes_text) = (Some(""), false);
        } else if pending.is_some() && is_before_script(text) {
            takes_text |= text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
        } else {
            pending = None;
        }
    }
    true
}

/// Returns true if no open part of a shell text can be a command, or end a word.
fn is_safe_shell_text(text: &Word) -> bool {
    if !has_safe_characters(text) {
        return false;
    }
    commands_of(text)
        .iter()
        .all(|words| is_data_only(words, true))
}

fn has_safe_characters(word: &Word) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "._:/@%+,-".contains(c);
    word.0.iter().all(|part| match part {
        Part::Open(Some(value)) => value.chars().all(is_safe),
        _ => true,
    })
}

/// Splits a shell text into its commands, and these into words.
fn commands_of(text: &Word) -> Vec<Vec<Word>> {
    let mut commands: Vec<Vec<Word>> = vec![vec![Word::default()]];
    for part in &text.0 {
        let Part::Fixed(fixed) = part else {
            if let Some(word) = commands.last_mut().and_then(|words| words.last_mut()) {
                word.0.push(part.clone());
            }
            continue;
        };
        for c in fixed.chars() {
            let Some(words) = commands.last_mut() else {
                continue;
            };
            match c {
                c if COMMAND_ENDS.contains(c) => commands.push(vec![Word::default()]),
                c if c.is_whitespace() => words.push(Word::default()),
                // Quotes do not end a word, and safe characters mean the same inside of them.
                '\'' | '"' | '\\' => {}
                c => match words.last_mut().and_then(|word| word.0.last_mut()) {
                    Some(Part::Fixed(last)) => last.push(c),
                    _ => {
                        if let Some(word) = words.last_mut() {
                            word.0.push(Part::Fixed(c.to_string()));
                        }
                    }
                },
            }
        }
    }
    for words in &mut commands {
        words.retain(|word| !word.0.is_empty());
    }
    commands
}

/// Options, assignments of `env` and durations of `timeout` precede the script.
fn is_before_script(text: &str) -> bool {
    text.starts_with('-')
        || text.starts_with(|c: char| c.is_ascii_digit())
        || (text.contains('=') && !text.contains('/'))
}

/// Name of a program that runs others, also `python` for `/usr/bin/python3.12`.
pub(crate) fn runner(program: &str) -> Option<&str> {
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let name = base_name(program);
    let without = name.trim_end_matches(is_version);
    let name = if program == "." { "source" } else { without };
    RUNNERS.contains(&name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a text: the part behind `@`, up to the next `#`, is open.
    fn words(text: &str) -> Vec<Word> {
        let word = |word: &str| {
            let mut parts = Vec::new();
            for (at, piece) in word.split('@').enumerate() {
                let (open, fixed) = match at {
                    0 => (None, piece),
                    _ => {
                        let (open, fixed) = piece.split_once('#').unwrap_or((piece, ""));
                        (Some(open), fixed)
                    }
                };
                parts.extend(open.map(|open| Part::Open(Some(open.to_owned()))));
                if !fixed.is_empty() {
                    parts.push(Part::Fixed(fixed.to_owned()));
                }
            }
            Word(parts)
        };
        text.split('|').map(word).collect()
    }

    #[test]
    fn only_data_may_vary() {
        for (text, expected) in [
            ("./drain.sh|@10.0.0.1", true),
            ("curl|http://@10.0.0.1#/ready", true),
            ("./drain.sh|--ip=@10.0.0.1", true),
            ("./drain.sh|@a; b", true),
            ("sh|./drain.sh|@10.0.0.1", true),
            ("python3.12|-u|./drain.py|@x", true),
            ("timeout|10|./drain.sh|@x", true),
            ("timeout|10|curl|@x", true),
            ("sh|-c|text|@x", true),
            ("sh|-c|drain @10.0.0.1# --now", true),
            ("sh|-c|drain '@10.0.0.1#' >> log; echo @b", true),
            ("sh|-c|test a = @b# && ./drain.sh @b", true),
            ("@x", false),
            ("./@x", false),
            ("./hooks/@x#.sh|now", false),
            ("sh|@x", false),
            ("sh|-c|@x", false),
            ("/bin/bash|-ec|@x", false),
            ("sh|-c|drain@x", false),
            ("sh|-c|drain @a;evil", false),
            ("sh|-c|drain @$(evil)", false),
            ("sh|-c|drain @-x", false),
            ("sh|-c|true; @x", false),
            ("sh|-c|A=1 @x", false),
            ("sh|-c|exec @x", false),
            ("sh|-c|. @x", false),
            ("sh|-c|if true; then @x#; fi", false),
            ("sh|-c|echo $(@x#)", false),
            ("sh|-c|sh -c '@x#'", false),
            ("python3|-c|print(@x#)", false),
            ("env|A=1|@x", false),
            ("env|-i|A=@x|./drain.sh", false),
            ("timeout|10|@x", false),
            ("timeout|10|sh|-c|@x", false),
            ("flock|/tmp/lock|sh|-c|@x", false),
            ("sudo|-u|root|sh|@x", false),
            ("find|.|-exec|@x", false),
            ("python3|@x", false),
            ("python3|-m|@x", false),
            ("./drain.sh|@--run=evil", false),
        ] {
            assert_eq!(varies_in_data_only(&words(text)), expected, "{text}");
        }
    }
}
