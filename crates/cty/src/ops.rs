//! Operators of the language on values. Unknown operands give unknown results, refined by the
//! bounds of the operands; the result has the marks of all operands. Callers convert the operands
//! first: they have the right type and are not null.

use std::cmp::Ordering;

use crate::value::Data;
use crate::{Marks, Number, NumberError, Type, Value};

type Binary = fn(&Number, &Number) -> Result<Number, NumberError>;

impl Value {
    /// Adds two numbers.
    pub fn add(&self, other: &Value) -> Result<Value, NumberError> {
        arithmetic(self, other, Number::add, true)
    }

    /// Subtracts two numbers.
    pub fn sub(&self, other: &Value) -> Result<Value, NumberError> {
        arithmetic(self, other, Number::sub, true)
    }

    /// Multiplies two numbers.
    pub fn mul(&self, other: &Value) -> Result<Value, NumberError> {
        // Zero times an unknown number is zero.
        let zero = |v: &Value| v.as_number().is_some_and(Number::is_zero);
        if (!self.is_known() && zero(other)) || (!other.is_known() && zero(self)) {
            return Ok(Value::zero().with_marks(&marks_of(self, other)));
        }
        arithmetic(self, other, Number::mul, true)
    }

    /// Divides two numbers; infinite if the divisor is zero.
    pub fn div(&self, other: &Value) -> Result<Value, NumberError> {
        arithmetic(self, other, Number::div, false)
    }

    /// Returns the remainder of a division; see [`Number::modulo`].
    pub fn modulo(&self, other: &Value) -> Result<Value, NumberError> {
        arithmetic(self, other, Number::modulo, false)
    }

    /// Negates the number.
    pub fn neg(&self) -> Value {
        let result = match &self.data {
            Data::Number(n) => Value::number(n.neg()),
            _ => Value::unknown(Type::Number).refine_not_null(),
        };
        result.with_marks(&self.marks)
    }

    /// Returns the number without its sign.
    pub fn abs(&self) -> Value {
        let result = match &self.data {
            Data::Number(n) => Value::number(n.abs()),
            _ => Value::unknown(Type::Number)
                .refine()
                .not_null()
                .number_min(Number::zero(), true)
                .finish(),
        };
        result.with_marks(&self.marks)
    }

    /// Logical not.
    pub fn not(&self) -> Value {
        let result = match self.data {
            Data::Bool(b) => Value::bool(!b),
            _ => Value::unknown_bool(),
        };
        result.with_marks(&self.marks)
    }

    /// Logical and; false decides even if the other operand is unknown.
    pub fn and(&self, other: &Value) -> Value {
        let result = match (self.as_bool(), other.as_bool()) {
            (Some(false), _) | (_, Some(false)) => Value::bool(false),
            (Some(true), Some(true)) => Value::bool(true),
            _ => Value::unknown_bool(),
        };
        result.with_marks(&marks_of(self, other))
    }

    /// Logical or; true decides even if the other operand is unknown.
    pub fn or(&self, other: &Value) -> Value {
        let result = match (self.as_bool(), other.as_bool()) {
            (Some(true), _) | (_, Some(true)) => Value::bool(true),
            (Some(false), Some(false)) => Value::bool(false),
            _ => Value::unknown_bool(),
        };
        result.with_marks(&marks_of(self, other))
    }

    /// Compares two numbers with `<`; bounds of unknown numbers can decide.
    pub fn less_than(&self, other: &Value) -> Value {
        order(self, other, Ordering::Less)
    }

    /// Compares two numbers with `>`; bounds of unknown numbers can decide.
    pub fn greater_than(&self, other: &Value) -> Value {
        order(self, other, Ordering::Greater)
    }

    /// Compares two numbers with `<=`.
    pub fn at_most(&self, other: &Value) -> Value {
        self.less_than(other).or(&self.equals(other))
    }

    /// Compares two numbers with `>=`.
    pub fn at_least(&self, other: &Value) -> Value {
        self.greater_than(other).or(&self.equals(other))
    }
}

fn marks_of(a: &Value, b: &Value) -> Marks {
    a.marks.union(&b.marks)
}

fn arithmetic(a: &Value, b: &Value, op: Binary, monotone: bool) -> Result<Value, NumberError> {
    let result = match (&a.data, &b.data) {
        (Data::Number(x), Data::Number(y)) => Value::number(op(x, y)?),
        _ => {
            let unknown = Value::unknown(Type::Number).refine().not_null();
            // The corners bound the result only of operations that are monotone in each operand.
            let range = if monotone {
                bounds(a, b, op)
            } else {
                (None, None)
            };
            let unknown = match range.0 {
                Some(min) => unknown.number_min(min, true),
                None => unknown,
            };
            match range.1 {
                Some(max) => unknown.number_max(max, true).finish(),
                None => unknown.finish(),
            }
        }
    };
    Ok(result.with_marks(&marks_of(a, b)))
}

/// Interval arithmetic over the four corners; all bounds are treated as inclusive.
fn bounds(a: &Value, b: &Value, op: Binary) -> (Option<Number>, Option<Number>) {
    let ends = |v: &Value| {
        let range = v.range();
        let min = range
            .number_min()
            .map_or_else(Number::negative_infinity, |(n, _)| n.clone());
        let max = range
            .number_max()
            .map_or_else(Number::infinity, |(n, _)| n.clone());
        [min, max]
    };
    let (a, b) = (ends(a), ends(b));
    let mut corners = Vec::with_capacity(4);
    for x in &a {
        for y in &b {
            match op(x, y) {
                Ok(n) => corners.push(n),
                // An undefined corner, such as infinity minus infinity, leaves the result without
                // bounds.
                Err(_) => return (None, None),
            }
        }
    }
    let min = corners.iter().fold(Number::infinity(), |m, n| m.min(n));
    let max = corners
        .iter()
        .fold(Number::negative_infinity(), |m, n| m.max(n));
    (
        Some(min).filter(|n| !n.is_infinite()),
        Some(max).filter(|n| !n.is_infinite()),
    )
}

fn order(a: &Value, b: &Value, wanted: Ordering) -> Value {
    let result = match (&a.data, &b.data) {
        (Data::Number(x), Data::Number(y)) => Value::bool(x.compare(y) == wanted),
        _ => {
            let (ra, rb) = (a.range(), b.range());
            let below = |hi: Option<&(Number, bool)>, lo: Option<&(Number, bool)>| match (hi, lo) {
                (Some((max, _)), Some((min, _))) => max.compare(min) == Ordering::Less,
                _ => false,
            };
            if below(ra.number_max(), rb.number_min()) {
                Value::bool(wanted == Ordering::Less)
            } else if below(rb.number_max(), ra.number_min()) {
                Value::bool(wanted == Ordering::Greater)
            } else {
                Value::unknown_bool()
            }
        }
    };
    result.with_marks(&marks_of(a, b))
}
