//! Type system of the language and the provider protocols: types, values with unknowns and marks,
//! conversion, msgpack and JSON encodings, and the schema model. Compatible with go-cty.
//!
//! A [`Type`] constrains a [`Value`] (immutable, cheap to clone); a [`Path`] addresses a part of
//! it. [`schema`] models provider schemas; [`plan`] has the rules for planned values.

mod access;
mod codec;
pub mod convert;
mod debug;
mod equals;
pub mod json;
mod marked;
mod marks;
mod members;
pub mod msgpack;
mod number;
mod number_ops;
mod number_round;
mod number_text;
mod ops;
mod path;
mod path_json;
pub mod plan;
mod refine;
mod refine_builder;
pub mod schema;
mod set_order;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod transform;
mod types;
mod types_json;
mod value;
mod value_constructors;

pub use access::Elements;
pub use codec::{CodecError, decode_dynamic_value};
pub use convert::{ConvertError, can_convert, can_convert_safely, convert, unify, unify_unsafe};
pub use marks::{Mark, Marks};
pub use members::Members;
pub use number::{MAX_PRECISION, Number, NumberError};
pub use path::{Path, PathError, PathStep, StepError};
pub use path_json::PathJsonError;
pub use refine::{Range, Refinement, RefinementError};
pub use refine_builder::RefinementBuilder;
pub use text::{normal as normalize, quote, safe_prefix};
pub use types::{ObjectType, Type};
pub use types_json::{MAX_DEPTH, TypeJsonError};
pub use value::{InconsistentTypes, Value};
