//! Time limits of operations: the block `timeouts` of a resource type, with defaults of the author.

use std::time::Duration;

use cty::Value;

use super::attr::Attr;
use super::block::{Block, Nested, Nesting, Schema};

/// Name of the block, as in other providers.
const BLOCK: &str = "timeouts";

/// Operation with a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Create of an object.
    Create,
    /// Read of an object.
    Read,
    /// Update in place.
    Update,
    /// Delete of an object.
    Delete,
}

impl Operation {
    /// Returns the name of the operation, which is also its attribute in the block `timeouts`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Read => "read",
            Operation::Update => "update",
            Operation::Delete => "delete",
        }
    }
}

/// Default time limits of operations, as text such as `20m` or `1h 30m`. Operators can set the
/// limits of these operations; other operations have no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeouts(Vec<(Operation, String)>);

impl Timeouts {
    /// Creates an empty list of limits.
    pub fn new() -> Timeouts {
        Timeouts::default()
    }

    /// Sets the limit of creates.
    #[must_use]
    pub fn create(self, limit: &str) -> Timeouts {
        self.with(Operation::Create, limit)
    }

    /// Sets the limit of reads.
    #[must_use]
    pub fn read(self, limit: &str) -> Timeouts {
        self.with(Operation::Read, limit)
    }

    /// Sets the limit of updates.
    #[must_use]
    pub fn update(self, limit: &str) -> Timeouts {
        self.with(Operation::Update, limit)
    }

    /// Sets the limit of deletes.
    #[must_use]
    pub fn delete(self, limit: &str) -> Timeouts {
        self.with(Operation::Delete, limit)
    }

    fn with(mut self, operation: Operation, limit: &str) -> Timeouts {
        self.0.retain(|(other, _)| *other != operation);
        self.0.push((operation, limit.to_owned()));
        self
    }

    pub(super) fn block(&self) -> Nested {
        let attr = |(operation, limit): &(Operation, String)| {
            let name = operation.name();
            let about =
                format!("Time limit of a {name}, such as `30s` or `2h`. Default: `{limit}`.");
            let attr = Attr::string(name).describe(&about);
            attr.check(|value| parse(value.as_str().unwrap_or_default()).map(drop))
        };
        let block = Block {
            attributes: self.0.iter().map(attr).collect(),
            ..Block::new().describe("Time limits of operations.")
        };
        Nested::new(BLOCK, Nesting::Single, block)
    }

    /// Returns the first default that is not a duration.
    pub(crate) fn invalid(&self) -> Option<&str> {
        let limits = self.0.iter().map(|(_, limit)| limit.as_str());
        limits.into_iter().find(|limit| parse(limit).is_err())
    }
}

impl Schema {
    /// Returns the time limit of an operation: that of the object's `timeouts`, or the default.
    pub(crate) fn time_limit(&self, operation: Operation, object: &Value) -> Option<Duration> {
        let limits = &self.timeouts.as_ref()?.0;
        let (_, default) = limits.iter().find(|(other, _)| *other == operation)?;
        let set = object.get_attr(BLOCK);
        let set = set.and_then(|block| block.get_attr(operation.name()));
        let set = set.as_ref().and_then(Value::as_str);
        parse(set.unwrap_or(default)).ok()
    }

    /// Copies the block `timeouts`, which typed resources do not have, from another value.
    pub(crate) fn with_timeouts_of(&self, object: Value, from: &Value) -> Value {
        let (Some(_), Some(members)) = (&self.timeouts, object.as_map()) else {
            return object;
        };
        let mut members = members.to_map();
        let ty = self.implied_type();
        let none = || Value::null(ty.attribute(BLOCK).cloned().unwrap_or(cty::Type::Dynamic));
        members.insert(BLOCK.into(), from.get_attr(BLOCK).unwrap_or_else(none));
        Value::object_from_map(members)
    }
}

fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a positive duration, such as 30s, 10m or 2h");
    let parsed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    let limit = Duration::try_from(parsed).map_err(|_| wrong())?;
    if limit.is_zero() {
        return Err(wrong());
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limit_is_that_of_the_object_or_the_default() {
        let schema = Schema::new().timeouts(Timeouts::new().create("1h30m").delete("10s"));
        let limit = |operation, object: &Value| {
            let limit = schema.time_limit(operation, object);
            limit.map(|limit| limit.as_secs())
        };
        let unset = Value::object([(BLOCK, Value::null(cty::Type::Dynamic))]);
        let given = Value::object([("create", Value::string("30s"))]);
        let set = Value::object([(BLOCK, given)]);
        assert_eq!(limit(Operation::Create, &unset), Some(5400));
        assert_eq!(limit(Operation::Create, &set), Some(30));
        assert_eq!(limit(Operation::Delete, &set), Some(10));
        assert_eq!(limit(Operation::Update, &set), None);
        assert!(parse("soon").is_err() && parse("-1s").is_err() && parse("0s").is_err());
    }
}
