//! Parses `.netrc` files like curl and `git`: `machine`, `default`, `login`, `password`, `account`,
//! `macdef`, comments.

use std::path::PathBuf;
use std::sync::Arc;

/// Credentials by host.
#[derive(Clone, Default)]
pub struct Netrc {
    machines: Vec<Machine>,
    /// Credentials for all other hosts.
    default: Option<Machine>,
}

#[derive(Clone, Default)]
struct Machine {
    host: String,
    login: String,
    password: String,
}

/// Errors of reading a netrc file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NetrcError {
    #[error("{}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: Arc<std::io::Error>,
    },
    #[error("{}: {source}", path.display())]
    Wrong { path: PathBuf, source: LineError },
}

/// Error in a line of a netrc file. Does not quote text that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("line {line}: `default` must be the last entry")]
    AfterDefault { line: usize },
    #[error("line {line}: {word:?} must follow a `machine` or `default` entry")]
    NoMachine { line: usize, word: String },
    #[error("line {line}: expected a keyword, such as `machine`, `login` or `password`")]
    NoKeyword { line: usize },
}

impl std::fmt::Debug for Netrc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Credentials must not reach a log.
        write!(f, "Netrc({} machines)", self.machines.len())
    }
}

impl Netrc {
    /// Reads the user's file: from `NETRC`, else from the home directory; empty without a file.
    ///
    /// # Errors
    /// The file cannot be read or parsed; the error names it.
    pub fn read_user_file(
        named: Option<PathBuf>,
        home: Option<PathBuf>,
    ) -> Result<Self, NetrcError> {
        let Some(path) = named.or_else(|| Some(home?.join(".netrc"))) else {
            return Ok(Self::default());
        };
        if !path.is_file() {
            return Ok(Self::default());
        }
        match fsroot::read_text(&path) {
            Ok(text) => Self::parse(&text).map_err(|source| NetrcError::Wrong { path, source }),
            Err(source) => Err(NetrcError::Unreadable {
                path,
                source: Arc::new(source),
            }),
        }
    }

    /// Parses the text of a netrc file.
    ///
    /// # Errors
    /// An unexpected word, with its line.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let mut out = Self::default();
        let mut words = Words { text, line: 1 };
        let mut at: Option<Machine> = None;
        let mut is_default = false;
        while let Some((word, line)) = words.next(true) {
            match word {
                "machine" | "default" => {
                    if is_default {
                        return Err(LineError::AfterDefault { line });
                    }
                    out.machines.extend(at.take());
                    is_default = word == "default";
                    let host = match is_default {
                        true => String::new(),
                        false => words.value(),
                    };
                    at = Some(Machine {
                        host,
                        ..Machine::default()
                    });
                }
                "login" | "password" | "account" => {
                    let Some(machine) = &mut at else {
                        let word = word.to_owned();
                        return Err(LineError::NoMachine { line, word });
                    };
                    let value = words.value();
                    match word {
                        "login" => machine.login = value,
                        "password" => machine.password = value,
                        _ => {}
                    }
                }
                "macdef" => words.skip_macro(),
                // The word may be a secret, so the error does not quote it.
                _ => return Err(LineError::NoKeyword { line }),
            }
        }
        match is_default {
            true => out.default = at,
            false => out.machines.extend(at),
        }
        Ok(out)
    }

    /// Login and password for a host, which includes its port if given.
    pub(crate) fn find(&self, host: &str) -> Option<(&str, &str)> {
        let named = self.machines.iter().find(|m| m.host == host);
        let machine = named.or(self.default.as_ref())?;
        Some((&machine.login, &machine.password))
    }
}

/// Remaining text, and the line of the next word.
struct Words<'t> {
    text: &'t str,
    line: usize,
}

impl<'t> Words<'t> {
    /// Next word. Comments count only where a keyword is expected, because a password may begin
    /// with `#`.
    fn next(&mut self, keyword: bool) -> Option<(&'t str, usize)> {
        loop {
            let rest = self.text.trim_start();
            self.line += lines(&self.text[..self.text.len() - rest.len()]);
            if keyword && rest.starts_with('#') {
                let end = rest.find('\n').unwrap_or(rest.len());
                self.text = &rest[end..];
                continue;
            }
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            self.text = &rest[end..];
            return (end > 0).then_some((&rest[..end], self.line));
        }
    }

    fn value(&mut self) -> String {
        self.next(false)
            .map_or_else(String::new, |(w, _)| w.to_owned())
    }

    /// Skips a macro, which ends with an empty line.
    fn skip_macro(&mut self) {
        let end = self.text.find("\n\n").unwrap_or(self.text.len());
        self.line += lines(&self.text[..end]);
        self.text = &self.text[end..];
    }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netrc_finds_a_machine_by_host_or_uses_the_default() {
        let text = "# mine\nmachine a.example login me password p#1\nmachine b.example:8443\n  login you\n  account x\n  password two\nmacdef init\n  cd /\n  machine none\n\ndefault login any password thing\n";
        let netrc = Netrc::parse(text).unwrap();
        assert_eq!(netrc.find("a.example"), Some(("me", "p#1")));
        assert_eq!(netrc.find("b.example:8443"), Some(("you", "two")));
        assert_eq!(netrc.find("none"), Some(("any", "thing")));
        let alone = Netrc::parse("machine a.example login me password p").unwrap();
        assert_eq!(alone.find("b.example"), None);
        assert_eq!(alone.find("a.example:80"), None);
    }

    #[test]
    fn netrc_errors_name_the_line_without_the_content() {
        for (text, line) in [
            ("machine a\nsecret\n", "line 2"),
            ("login me\n", "line 1"),
            ("default login a\n\nmachine b\n", "line 3"),
        ] {
            let why = Netrc::parse(text).unwrap_err().to_string();
            assert!(why.contains(line) && !why.contains("secret"), "{why}");
        }
        assert!(!format!("{:?}", Netrc::parse("machine a password x").unwrap()).contains('x'));
    }
}
