//! `secret` blocks of `.flightdeck.hcl` files: references to values of root variables. OpenTofu has
//! no such blocks.

use std::fmt;
use std::sync::Arc;

use crate::source::Span;

/// A `secret` block: the reference to the value of a root variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretReference {
    /// The variable.
    pub variable: Arc<str>,
    /// The reference as written, such as `env:DB_PASSWORD`.
    pub from: Arc<str>,
    /// Source of the value.
    pub source: SecretSource,
    /// The `from` argument.
    pub span: Span,
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret {} from {}", self.variable, self.from)
    }
}

/// Source of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:NAME`: an environment variable.
    Environment(String),
    /// `file:PATH`: a file, relative to the root module.
    File(String),
    /// `command:WORDS`: the output of a program. The first word is its name.
    Command(Vec<String>),
    /// `generate:N`: random text of this many characters, generated once.
    Generate(usize),
}
