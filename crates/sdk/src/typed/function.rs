//! Functions of a provider from closures with typed arguments.

use std::marker::PhantomData;

use async_trait::async_trait;
use cty::Value;

use super::attribute::{AttributeType, Presence, value_type};
use crate::function::{Function, FunctionError, Parameter, Signature};
use crate::provider::Context;

/// Last argument of a closure that takes any number of arguments of a type:
///
/// ```
/// # use sdk::{TypedProvider, Variadic};
/// # let provider = TypedProvider::new("notes", |_, _: ()| async { Ok(()) });
/// let join = |separator: String, texts: Variadic<String>| Ok(texts.0.join(&separator));
/// provider.function("join", "Joins texts.", ["separator", "texts"], join);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Variadic<T>(pub Vec<T>);

/// Last argument of a closure: the type of an attribute, or [`Variadic`].
pub trait LastArgument: Sized {
    /// Adds the parameter to those of a signature.
    fn declare(name: &str, signature: &mut Signature);

    /// Converts the arguments from this index on.
    ///
    /// # Errors
    /// An argument does not fit.
    fn read(arguments: &[Value], index: usize) -> Result<Self, FunctionError>;
}

impl<T: AttributeType> LastArgument for T {
    fn declare(name: &str, signature: &mut Signature) {
        signature.parameters.push(parameter::<T>(name));
    }

    fn read(arguments: &[Value], index: usize) -> Result<T, FunctionError> {
        argument(arguments, index)
    }
}

impl<T: AttributeType> LastArgument for Variadic<T> {
    fn declare(name: &str, signature: &mut Signature) {
        signature.variadic = Some(parameter::<T>(name));
    }

    fn read(arguments: &[Value], index: usize) -> Result<Variadic<T>, FunctionError> {
        let rest = index..arguments.len();
        rest.map(|at| argument(arguments, at))
            .collect::<Result<_, _>>()
            .map(Variadic)
    }
}

/// Closure with typed arguments; `N` is their number. Implemented for closures with up to four
/// arguments, of which the last can be [`Variadic`].
pub trait TypedFunction<Arguments, const N: usize>: Send + Sync + 'static {
    /// Adds the parameters with these names to a signature.
    fn declare(names: [&str; N], signature: &mut Signature);

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
    ($count:literal: $($ty:ident $name:ident $index:literal $argument:ident),*) => {
        impl<F, R, $($ty),*> TypedFunction<(R, $($ty,)*), $count> for F
        where
            F: Fn($($ty),*) -> Result<R, FunctionError> + Send + Sync + 'static,
            R: AttributeType,
            $($ty: $argument,)*
        {
            fn declare(names: [&str; $count], _signature: &mut Signature) {
                let [$($name),*] = names;
                $(<$ty as LastArgument>::declare($name, _signature);)*
            }

            fn returns() -> cty::Type {
                value_type::<R>()
            }

            fn call(&self, _arguments: &[Value]) -> Result<Value, FunctionError> {
                $(let $name = <$ty as LastArgument>::read(_arguments, $index)?;)*
                self($($name),*).map(|result| result.to_value())
            }
        }
    };
}

typed_function!(0:);
typed_function!(1: A a 0 LastArgument);
typed_function!(2: A a 0 AttributeType, B b 1 LastArgument);
typed_function!(3: A a 0 AttributeType, B b 1 AttributeType, C c 2 LastArgument);
typed_function!(
    4: A a 0 AttributeType, B b 1 AttributeType, C c 2 AttributeType, D d 3 LastArgument
);

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
        let mut signature = Signature {
            summary: self.summary.clone(),
            description: self.summary.clone(),
            deprecated: String::new(),
            parameters: Vec::new(),
            variadic: None,
            returns: F::returns(),
        };
        F::declare(self.names, &mut signature);
        signature
    }

    async fn call(&self, _: &Context, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        self.call.call(&arguments)
    }
}
