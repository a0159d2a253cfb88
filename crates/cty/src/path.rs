//! Paths: where inside a value something is.

use std::fmt;
use std::sync::Arc;

use crate::{Number, Type, Value};

/// One step into a value.
#[derive(Clone, PartialEq)]
pub enum PathStep {
    /// An attribute of an object.
    Attr(Arc<str>),
    /// An element by number (list, tuple), by key (map) or, in a set, the element itself.
    Index(Value),
}

/// Steps from a value to something inside it. Prints as in a configuration: `.tags["Name"]`,
/// `.rule[0].port`.
#[derive(Clone, PartialEq, Default)]
pub struct Path(Vec<PathStep>);

/// Why a path does not lead anywhere.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{at:?}: {problem}")]
pub struct PathError {
    /// The path up to and including the step that failed.
    pub at: Path,
    /// What is wrong with that step.
    pub problem: StepError,
}

/// Why a step does not lead anywhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// An attribute of null.
    #[error("cannot access attributes on a null value")]
    AttrOfNull,
    /// An element of null.
    #[error("cannot index a null value")]
    IndexOfNull,
    /// The object has no attribute of this name.
    #[error("object has no attribute {0:?}")]
    NoAttr(String),
    /// An attribute of what is no object.
    #[error("not an object")]
    NoObject,
    /// The collection has no such element.
    #[error("value does not have given index key")]
    NoElement,
    /// The set has no such element.
    #[error("set does not have the given element")]
    NotInSet,
    /// An element of what has none.
    #[error("not a collection")]
    NoCollection,
}

impl Path {
    /// The path of the value itself.
    pub fn root() -> Path {
        Path(Vec::new())
    }

    /// From steps.
    pub fn new(steps: Vec<PathStep>) -> Path {
        Path(steps)
    }

    /// This path with one attribute more.
    pub fn attr(&self, name: impl Into<Arc<str>>) -> Path {
        self.with(PathStep::Attr(name.into()))
    }

    /// This path with one key more.
    pub fn index(&self, key: Value) -> Path {
        self.with(PathStep::Index(key))
    }

    /// This path with one element number more.
    pub fn index_int(&self, i: usize) -> Path {
        self.index(Value::number(Number::from(i as u64)))
    }

    /// This path with one map key more.
    pub fn index_str(&self, key: &str) -> Path {
        self.index(Value::string(key))
    }

    /// This path with one step more.
    pub fn with(&self, step: PathStep) -> Path {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Path(steps)
    }

    /// Adds a step in place.
    pub fn push(&mut self, step: PathStep) {
        self.0.push(step);
    }

    /// Removes the last step in place.
    pub fn pop(&mut self) -> Option<PathStep> {
        self.0.pop()
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// How many steps.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this path begins with all of `prefix`.
    pub fn starts_with(&self, prefix: &Path) -> bool {
        self.0.len() >= prefix.0.len() && self.0[..prefix.0.len()] == prefix.0[..]
    }

    /// Both paths, one after the other.
    pub fn join(&self, more: &Path) -> Path {
        Path(self.0.iter().chain(more.0.iter()).cloned().collect())
    }

    /// The value to which this path leads. Marks of the containers on the way come along; steps
    /// into unknown values give unknown values of the right type.
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
    /// One step into `value`; the error says what is in the way.
    pub fn apply(&self, value: &Value) -> Result<Value, StepError> {
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
