//! Functions of a provider from closures with typed arguments.

use std::marker::PhantomData;

use async_trait::async_trait;
use cty::Value;

use super::attribute::{AttributeType, Presence, value_type};
use crate::function::{Function, FunctionError, Parameter, Signature};
use crate::provider::Context;

/// Closure with typed arguments; `N` is their number. Implemented for closures with up to four
/// arguments.
pub trait TypedFunction<Arguments, const N: usize>: Send + Sync + 'static {
    /// Returns the parameters with these names.
    fn parameters(names: [&str; N]) -> Vec<Parameter>;

    /// Returns the type of the result.
    fn returns() -> cty::Type;

    /// Converts the arguments, calls the closure, and converts the result.
    ///
    /// # Errors
    /// An argument does not fit, or the closure returned an error.
    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError>;
}

fn parameter<T: AttributeType>(name: &str) -> Parameter {
    Parameter {
        allow_null: matches!(T::PRESENCE, Presence::Optional),
        // Most types of arguments cannot hold unknown values, so the default excludes them.
        ..Parameter::new(name, value_type::<T>())
    }
}

fn argument<T: AttributeType>(arguments: &[Value], index: usize) -> Result<T, FunctionError> {
    let missing = || FunctionError::new("the argument is missing").at_argument(index);
    let value = arguments.get(index).ok_or_else(missing)?;
    T::from_value(value).map_err(|error| {
        // With an empty path, the message would begin with a colon.
        let text = match error.path.is_empty() {
            true => error.problem,
            false => error.to_string(),
        };
        FunctionError::new(text).at_argument(index)
    })
}

macro_rules! typed_function {
    ($count:literal: $($ty:ident $name:ident $index:literal),*) => {
        impl<F, R, $($ty),*> TypedFunction<(R, $($ty,)*), $count> for F
        where
            F: Fn($($ty),*) -> Result<R, FunctionError> + Send + Sync + 'static,
            R: AttributeType,
            $($ty: AttributeType,)*
        {
            fn parameters(names: [&str; $count]) -> Vec<Parameter> {
                let [$($name),*] = names;
                vec![$(parameter::<$ty>($name)),*]
            }

            fn returns() -> cty::Type {
                value_type::<R>()
            }

            fn call(&self, _arguments: &[Value]) -> Result<Value, FunctionError> {
                $(let $name: $ty = argument(_arguments, $index)?;)*
                self($($name),*).map(|result| result.to_value())
            }
        }
    };
}

typed_function!(0:);
typed_function!(1: A a 0);
typed_function!(2: A a 0, B b 1);
typed_function!(3: A a 0, B b 1, C c 2);
typed_function!(4: A a 0, B b 1, C c 2, D d 3);

/// Function of a provider from a closure; see [`super::TypedProvider::function`].
pub(super) struct Typed<F, A, const N: usize> {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) names: [&'static str; N],
    pub(super) call: F,
    pub(super) arguments: PhantomData<fn() -> A>,
}

#[async_trait]
impl<F, A, const N: usize> Function for Typed<F, A, N>
where
    F: TypedFunction<A, N>,
    A: 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> Signature {
        Signature {
            summary: self.summary.clone(),
            description: self.summary.clone(),
            deprecated: String::new(),
            parameters: F::parameters(self.names),
            variadic: None,
            returns: F::returns(),
        }
    }

    async fn call(&self, _: &Context, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        self.call.call(&arguments)
    }
}
