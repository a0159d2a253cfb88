//! Values of variables: conversion to the declared type, with defaults of optional attributes. Pure.

use cty::Value;
use lang::config::Variable;

/// The value as the variable's type has it.
///
/// # Errors
/// Why it does not fit, in words; sensitive values are not in them.
pub fn convert(variable: &Variable, value: &Value) -> Result<Value, String> {
    variable.ty.convert(value).map_err(|e| e.to_string())
}
