//! Paths: addresses of parts inside a value.

use std::fmt;
use std::sync::Arc;

use crate::{Number, Type, Value};

/// Step into a value.
#[derive(Clone, PartialEq)]
pub enum PathStep {
    /// An attribute of an object.
    Attr(Arc<str>),
    /// Element by number (list, tuple) or key (map); in a set, the element itself.
    Index(Value),
}

/// Steps from a value to a part inside it. Printed in the syntax of a configuration:
/// `.tags["Name"]`, `.rule[0].port`.
#[derive(Clone, PartialEq, Default)]
pub struct Path(Vec<PathStep>);

/// Failure to follow a path.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{at:?}: {problem}")]
pub struct PathError {
    /// Path up to and including the step that failed.
    pub at: Path,
    /// Problem of that step.
    pub problem: StepError,
}

/// Failure to follow a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Attribute of a null value.
    #[error("cannot access attributes on a null value")]
    AttrOfNull,
    /// Element of a null value.
    #[error("cannot index a null value")]
    IndexOfNull,
    /// The object has no attribute of this name.
    #[error("object has no attribute {0:?}")]
    NoAttr(String),
    /// Attribute of a value that is not an object.
    #[error("not an object")]
    NoObject,
    /// The collection has no such element.
    #[error("value does not have given index key")]
    NoElement,
    /// The set has no such element.
    #[error("set does not have the given element")]
    NotInSet,
    /// Element of a value that has no elements.
    #[error("not a collection")]
    NoCollection,
}

impl Path {
    /// Returns the empty path, which addresses the value itself.
    pub fn root() -> Path {
        Path(Vec::new())
    }

    /// Creates a path from its steps.
    pub fn new(steps: Vec<PathStep>) -> Path {
        Path(steps)
    }

    /// Returns this path extended by an attribute.
    pub fn attr(&self, name: impl Into<Arc<str>>) -> Path {
        self.with(PathStep::Attr(name.into()))
    }

    /// Returns this path extended by an element key.
    pub fn index(&self, key: Value) -> Path {
        self.with(PathStep::Index(key))
    }

    /// Returns this path extended by an element number.
    pub fn index_int(&self, i: usize) -> Path {
        self.index(Value::number(Number::from(i as u64)))
    }

    /// Returns this path extended by a map key.
    pub fn index_str(&self, key: &str) -> Path {
        self.index(Value::string(key))
    }

    /// Returns this path extended by a step.
    pub fn with(&self, step: PathStep) -> Path {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Path(steps)
    }

    /// Appends a step in place.
    pub fn push(&mut self, step: PathStep) {
        self.0.push(step);
    }

    /// Removes the last step in place.
    pub fn pop(&mut self) -> Option<PathStep> {
        self.0.pop()
    }

    /// Returns the steps, outermost first.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the path addresses the value itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if this path begins with all steps of `prefix`.
    pub fn starts_with(&self, prefix: &Path) -> bool {
        self.0.len() >= prefix.0.len() && self.0[..prefix.0.len()] == prefix.0[..]
    }

    /// Concatenates two paths.
    pub fn join(&self, more: &Path) -> Path {
        Path(self.0.iter().chain(more.0.iter()).cloned().collect())
    }

    /// Returns the part that this path addresses. It carries the marks of the containers on the
    /// way; steps into unknown values give unknown values of the right type.
    pub fn apply(&self, value: &Value) -> Result<Value, PathError> {
        let mut at = value.clone();
        for (i, step) in self.0.iter().enumerate() {
            at = step.apply(&at).map_err(|problem| PathError {
                at: Path(self.0[..=i].to_vec()),
                problem,
            })?;
        }
        Ok(at)
    }
}

impl PathStep {
    /// Follows one step into `value`. The error names the reason if that is impossible.
    pub fn apply(&self, value: &Value) -> Result<Value, StepError> {
        // Null and unknown differ here: an unknown container gives unknown parts, null has none.
        if value.is_null() {
            return Err(match self {
                PathStep::Attr(_) => StepError::AttrOfNull,
                PathStep::Index(_) => StepError::IndexOfNull,
            });
        }
        match self {
            PathStep::Attr(name) => match value.ty() {
                Type::Object(_) | Type::Dynamic => value
                    .get_attr(name)
                    .ok_or_else(|| StepError::NoAttr(name.to_string())),
                _ => Err(StepError::NoObject),
            },
            PathStep::Index(key) => match value.ty() {
                Type::List(_) | Type::Map(_) | Type::Tuple(_) | Type::Dynamic => {
                    value.index(key).ok_or(StepError::NoElement)
                }
                Type::Set(element) => {
                    if !value.is_known() {
                        return Ok(Value::unknown((**element).clone()).with_marks(value.marks()));
                    }
                    // Elements of a set are addressed by their exact value, including unknown
                    // parts.
                    let found = value
                        .as_slice()
                        .and_then(|elements| elements.iter().find(|e| e.raw_equals(key)));
                    found
                        .map(|e| e.clone().with_marks(value.marks()))
                        .ok_or(StepError::NotInSet)
                }
                _ => Err(StepError::NoCollection),
            },
        }
    }
}

impl From<Vec<PathStep>> for Path {
    fn from(steps: Vec<PathStep>) -> Path {
        Path(steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                PathStep::Attr(name) => write!(f, ".{name}")?,
                PathStep::Index(key) => match (key.as_str(), key.as_number()) {
                    (Some(s), _) => write!(f, "[{s:?}]")?,
                    (_, Some(n)) => write!(f, "[{n}]")?,
                    // Other keys occur only in sets, whose elements are too large to print.
                    _ => f.write_str("[...]")?,
                },
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Path(vec![self.clone()]), f)
    }
}
