//! Words of a command with parts that change from run to run. A decision can leave such a part open
//! if it is only data, and never if it can choose a program.

use crate::executed::base_name;

/// Programs that run a script or another program from their arguments, and words of a shell before
/// a command.
const RUNNERS: [&str; 131] = [
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
    "for",
    "case",
    "select",
    "read",
    "taskset",
    "setpriv",
    "setarch",
    "script",
    "prlimit",
    "numactl",
    "cgexec",
    "firejail",
    "proot",
    "fakeroot",
    "run-parts",
    "start-stop-daemon",
    "gdb",
    "valgrind",
    "ltrace",
    "perf",
    "socat",
    "nc",
    "xvfb-run",
    "dbus-run-session",
    "gosu",
    "git",
    "tar",
    "split",
    "tmux",
    "screen",
    "sqlite3",
    "psql",
    "mysql",
    "vim",
    "vi",
    "ed",
    "ex",
    "emacs",
    "less",
    "man",
    "rsync",
    "crontab",
    "at",
    "batch",
    "m4",
    "java",
    "go",
    "cargo",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "scp",
    "sftp",
    "ansible",
    "ansible-playbook",
    "terraform",
    "tofu",
    "ld.so",
    "rlwrap",
    "expect",
    "lxc-attach",
    "entr",
];
/// Words of a shell after which a command follows.
const KEYWORDS: [&str; 9] = [
    "if", "then", "elif", "else", "do", "while", "until", "!", "{",
];
/// Programs that run the command behind their name.
const PREFIXES: [&str; 6] = ["nohup", "setsid", "exec", "command", "time", "source"];
/// Programs that run a script: the first argument, unless it is an option.
const INTERPRETERS: [&str; 12] = [
    "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "tclsh",
    "fish",
];
/// Options of Python without a value.
const PYTHON_FLAGS: [&str; 9] = ["-u", "-B", "-E", "-s", "-S", "-O", "-I", "-b", "-q"];
/// Options of ssh with a value.
const SSH_VALUES: &str = "BbcDEeFIiJLlmOopQRSWw";
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
        self.with_unknown("$_")
    }

    /// The word for a person, with a note in place of each part that is not known.
    pub fn shown(&self) -> String {
        self.with_unknown("(known later)")
    }

    /// The word of this run, with a text in place of parts that are not known.
    fn with_unknown(&self, instead: &str) -> String {
        let text = |part: &Part| match part {
            Part::Fixed(text) | Part::Open(Some(text)) => text.clone(),
            Part::Open(None) => instead.to_owned(),
        };
        self.0.iter().map(text).collect()
    }

    pub(crate) fn fixed_text(&self) -> Option<String> {
        let is_fixed = self.0.iter().all(|part| matches!(part, Part::Fixed(_)));
        is_fixed.then(|| self.value()).flatten()
    }

    /// The value of a short option, such as `-K` of curl, could name a file that is executed.
    fn is_value_of_flag(&self) -> bool {
        let Some(Part::Fixed(flag)) = self.0.first() else {
            return false;
        };
        flag.starts_with('-') && !flag.starts_with("--") && !flag.contains('=')
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
    if words.iter().all(|word| word.fixed_text().is_some()) {
        return true;
    }
    let Some((program, rest)) = words.split_first() else {
        return true;
    };
    let Some(program) = program.fixed_text() else {
        return false;
    };
    if in_shell && (KEYWORDS.contains(&program.as_str()) || is_assignment(&program)) {
        return is_data_only(rest, true);
    }
    match runner(&program) {
        None => are_data(rest, in_shell),
        Some("ssh") => is_data_of_ssh(rest),
        Some("timeout") => is_data_behind(rest, in_shell, |text| {
            text.starts_with(|c: char| c.is_ascii_digit())
        }),
        Some("env") => is_data_behind(rest, in_shell, |text| text == "-i" || is_assignment(text)),
        Some(name) if PREFIXES.contains(&name) => is_data_only(rest, in_shell),
        Some(name) if SHELLS.contains(&name) => is_data_of_shell(rest, in_shell),
        Some(name) if INTERPRETERS.contains(&name) => {
            let flags = match name {
                "python" | "pypy" => &PYTHON_FLAGS[..],
                _ => &[],
            };
            let is_flag = |word: &&Word| word.fixed_text().is_some_and(|w| flags.contains(&&*w));
            let before = rest.iter().take_while(is_flag).count();
            is_script_with_data(&rest[before..], in_shell)
        }
        Some(_) => false,
    }
}

/// Checks arguments of a program that runs none of them, as far as is known.
fn are_data(words: &[Word], in_shell: bool) -> bool {
    for (at, word) in words.iter().enumerate() {
        match word.fixed_text() {
            Some(text) if runner(&text).is_some() => {
                return is_data_only(&words[at..], in_shell);
            }
            Some(text) if RUNNING_OPTIONS.contains(&text.as_str()) => {
                return is_data_only(&words[at + 1..], in_shell);
            }
            Some(_) => {}
            None if word.can_be_option() || word.is_value_of_flag() => return false,
            None if in_shell && !has_safe_characters(word) => return false,
            None => {}
        }
    }
    true
}

/// Checks a command behind fixed words of which it is known what they are.
fn is_data_behind(words: &[Word], in_shell: bool, is_known: impl Fn(&str) -> bool) -> bool {
    let known = |word: &&Word| word.fixed_text().is_some_and(|text| is_known(&text));
    let before = words.iter().take_while(known).count();
    let starts = words.get(before).and_then(Word::fixed_text);
    // An option may have a value, which would be taken for the command.
    starts.is_some_and(|text| !text.starts_with('-')) && is_data_only(&words[before..], in_shell)
}

/// Checks a script with its arguments.
fn is_script_with_data(words: &[Word], in_shell: bool) -> bool {
    let script = words.first().and_then(Word::fixed_text);
    script.is_some_and(|script| !script.starts_with('-')) && are_data(&words[1..], in_shell)
}

/// Checks the arguments of a shell: its options, then a script or, after `-c`, a text.
fn is_data_of_shell(words: &[Word], in_shell: bool) -> bool {
    let (mut at, mut takes_text) = (0, false);
    while let Some(option) = words.get(at).and_then(Word::fixed_text)
        && option.starts_with(['-', '+'])
    {
        // Long options differ between shells, so their values are not known.
        if option.starts_with("--") {
            return false;
        }
        takes_text |= option.contains('c');
        // `-o pipefail` has a value, also at the end of a cluster.
        at += 1 + usize::from(option.contains(['o', 'O']));
    }
    let rest = words.get(at..).unwrap_or_default();
    match rest.split_first() {
        Some((text, arguments)) if takes_text => {
            is_safe_shell_text(text) && are_data(arguments, in_shell)
        }
        _ => is_script_with_data(rest, in_shell),
    }
}

/// Checks the arguments of ssh: the host is data, and a remote shell gets the rest.
fn is_data_of_ssh(words: &[Word]) -> bool {
    let mut at = 0;
    while let Some(option) = words.get(at).and_then(Word::fixed_text)
        && option.starts_with('-')
    {
        let has_value = option.len() == 2 && option.ends_with(|c| SSH_VALUES.contains(c));
        at += 1 + usize::from(has_value);
        // The value may name a program, such as that of ProxyCommand.
        if has_value && words.get(at - 1).is_some_and(|v| v.fixed_text().is_none()) {
            return false;
        }
    }
    let Some((host, remote)) = words.get(at..).and_then(<[Word]>::split_first) else {
        return false;
    };
    if host.fixed_text().is_none() && (host.can_be_option() || !has_safe_characters(host)) {
        return false;
    }
    let separated = |word: &Word| {
        [Part::Fixed(" ".to_owned())]
            .into_iter()
            .chain(word.0.clone())
    };
    is_safe_shell_text(&Word(remote.iter().flat_map(separated).collect()))
}

fn is_assignment(text: &str) -> bool {
    let name = text.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns true if no open part of a shell text can be a command, or end a word.
fn is_safe_shell_text(text: &Word) -> bool {
    if text.fixed_text().is_some() {
        return true;
    }
    let commands = commands_of(text);
    has_safe_characters(text)
        && !commands.iter().any(|words| reads_its_script(words))
        && commands.iter().all(|words| is_data_only(words, true))
}

/// Returns true for an interpreter that gets its script from standard input, such as `| sh`.
fn reads_its_script(words: &[Word]) -> bool {
    let mut texts = words
        .iter()
        .map(|word| word.fixed_text().unwrap_or_default());
    let program = texts.next().unwrap_or_default();
    let name = runner(&program).unwrap_or_default();
    match name {
        "xargs" | "parallel" => true,
        _ if SHELLS.contains(&name) || INTERPRETERS.contains(&name) => {
            texts.all(|text| text.starts_with('-'))
        }
        _ => false,
    }
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

/// Name of a program that runs others, also `python` for `/usr/bin/python3.12`.
pub(crate) fn runner(program: &str) -> Option<&str> {
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let name = base_name(program);
    let without = name.trim_end_matches(is_version);
    let name = if program == "." { "source" } else { name };
    [name, without]
        .into_iter()
        .find(|name| RUNNERS.contains(name))
}

/// Returns true for a shell, whose texts have a known syntax.
pub(crate) fn is_shell(program: &str) -> bool {
    runner(program).is_some_and(|name| SHELLS.contains(&name))
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
            ("curl|-sK@evil#|http://x", false),
            ("ssh|@10.0.0.1|true", true),
            (
                "ssh|-o|StrictHostKeyChecking=no|root@@10.0.0.1#|drain.sh|--now",
                true,
            ),
            ("ssh|host|drain @10.0.0.1", true),
            ("bash|-ceu|echo @10.0.0.1", true),
            ("bash|-euo|pipefail|-c|echo @10.0.0.1", true),
            ("nohup|./drain.sh|@x", true),
            ("sh|-c|if true; then ./drain.sh @x#; fi", true),
            ("ssh|@-oProxyCommand=evil|true", false),
            ("ssh|-o|@ProxyCommand=evil#|host", false),
            ("ssh|host|@evil", false),
            ("ssh|host|drain @a;evil", false),
            ("bash|-euo|pipefail|-c|echo @x; evil", false),
            ("bash|-o|pipefail|-c|@x", false),
            ("timeout|-s|KILL|10|@x", false),
            ("env|-u|FOO|@x", false),
            ("env|-C|/tmp|@x", false),
            ("xargs|-a|f|-I|{}|@x", false),
            ("sudo|-u|user|@x", false),
            ("taskset|1|@x", false),
            ("script|-qc|@x", false),
            ("sed|-n|-e|p|-e|@x|f", false),
            ("sh|-c|echo @x# ;sh", false),
            ("sh|-c|echo @x# ;sh -s", false),
            ("sh|-c|echo @x# ;xargs rm", false),
            ("sh|-c|for c in @x#; do $c; done", false),
            ("perl|-e|1|@x", false),
            ("bash|--rcfile|@x|-i", false),
            ("git|-c|alias.x=!@y#|x", false),
            ("tar|--checkpoint-action=exec=@x", false),
            ("sqlite3|:memory:|.shell @x", false),
        ] {
            assert_eq!(varies_in_data_only(&words(text)), expected, "{text}");
        }
    }
}
