//! Functions of a provider: the trait of an author, the signature, and the call.

use async_trait::async_trait;
use cty::{Type, Value};
use proto::tfplugin6 as pb;

use crate::codec;
use crate::diagnostics::{Failure, Severity};
use crate::provider::Context;
use crate::service::Outcome;

/// Function of a provider, for expressions such as `provider::lab::slug("a b")`. It must not have
/// side effects, and returns the same result for the same arguments.
#[async_trait]
pub trait Function: Send + Sync + 'static {
    /// Returns the name, without the provider's.
    fn name(&self) -> &str;

    /// Returns the signature. Called once.
    fn signature(&self) -> Signature;

    /// Calls the function. The SDK has checked the number of arguments, their types, and nulls and
    /// unknown values that the signature does not allow.
    async fn call(&self, cx: &Context, arguments: Vec<Value>) -> Result<Value, FunctionError>;
}

/// Signature of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Purpose in one line.
    pub summary: String,
    /// Description for users, in Markdown.
    pub description: String,
    /// Reason of the deprecation; empty if not deprecated.
    pub deprecated: String,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Parameter for any number of further arguments.
    pub variadic: Option<Parameter>,
    /// Type of the result.
    pub returns: Type,
}

/// Parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name, for errors and documentation.
    pub name: String,
    /// Type of the argument.
    pub ty: Type,
    /// Description for users, in Markdown.
    pub description: String,
    /// The argument can be null.
    pub allow_null: bool,
    /// The argument can be unknown or have unknown parts. Otherwise the host does not call the
    /// function, and its result is unknown.
    pub allow_unknown: bool,
}

impl Parameter {
    /// Creates a parameter for known arguments that are not null.
    pub fn new(name: &str, ty: Type) -> Parameter {
        Parameter {
            name: name.to_owned(),
            ty,
            description: String::new(),
            allow_null: false,
            allow_unknown: false,
        }
    }
}

/// Error of a function call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct FunctionError {
    /// Problem, as a sentence for the operator.
    pub text: String,
    /// Index of the argument that is not valid, counted from zero.
    pub argument: Option<usize>,
}

impl FunctionError {
    /// Creates an error of the whole call.
    pub fn new(text: impl Into<String>) -> FunctionError {
        FunctionError {
            text: text.into(),
            argument: None,
        }
    }

    /// Sets the argument that is not valid, counted from zero.
    #[must_use]
    pub fn at_argument(self, index: usize) -> FunctionError {
        FunctionError {
            argument: Some(index),
            ..self
        }
    }
}

impl From<FunctionError> for pb::FunctionError {
    fn from(error: FunctionError) -> pb::FunctionError {
        pb::FunctionError {
            text: error.text,
            function_argument: error.argument.and_then(|index| i64::try_from(index).ok()),
        }
    }
}

/// Returns the text of a failure that is not the function's own, such as a panic.
pub(crate) fn of_failure(failure: Failure) -> FunctionError {
    let errors = failure.diagnostics.0.iter();
    let mut errors = errors.filter(|one| one.severity == Severity::Error);
    // The protocol has one text for the error of a function, so only the first is reported.
    let text = errors.next().map(|one| match one.detail.is_empty() {
        true => one.summary.clone(),
        false => format!("{}: {}", one.summary, one.detail),
    });
    FunctionError::new(text.unwrap_or_else(|| "the function failed".to_owned()))
}

/// Function with its signature, which is read once.
pub(crate) struct Callable {
    pub(crate) item: std::sync::Arc<dyn Function>,
    pub(crate) signature: Signature,
}

impl Callable {
    fn parameter(&self, index: usize) -> Option<&Parameter> {
        let declared = self.signature.parameters.get(index);
        declared.or(self.signature.variadic.as_ref())
    }

    /// Returns the type of an argument; arguments without a parameter have any type.
    pub(crate) fn argument_type(&self, index: usize) -> &Type {
        self.parameter(index).map_or(&Type::Dynamic, |one| &one.ty)
    }

    /// Checks the arguments and calls the function.
    pub(crate) async fn call(
        &self,
        cx: &Context,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let declared = self.signature.parameters.len();
        let given = arguments.len();
        if given < declared || (given > declared && self.signature.variadic.is_none()) {
            let text = format!("{given} arguments were given, but the function takes {declared}");
            return Err(FunctionError::new(text));
        }
        for (index, argument) in arguments.iter().enumerate() {
            let wrong = |text: String| Err(FunctionError::new(text).at_argument(index));
            match self.parameter(index) {
                // Hosts check this too, but the author's code must be able to rely on it.
                Some(one) if argument.is_null() && !one.allow_null => {
                    return wrong(format!("{} must not be null", one.name));
                }
                Some(one) if !argument.is_wholly_known() && !one.allow_unknown => {
                    return wrong(format!("{} must be known", one.name));
                }
                _ => {}
            }
        }
        self.item.call(cx, arguments).await
    }

    /// Decodes the arguments, calls the function, and encodes the result.
    pub(crate) async fn answer(
        &self,
        cx: &Context,
        arguments: Vec<pb::DynamicValue>,
    ) -> Outcome<Result<pb::DynamicValue, FunctionError>> {
        let mut values = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.into_iter().enumerate() {
            match codec::decode(Some(argument), self.argument_type(index)) {
                Ok(value) => values.push(value),
                // A function error can name the argument, which a failure of the call cannot.
                Err(failure) => return Ok(Err(of_failure(failure).at_argument(index))),
            }
        }
        match self.call(cx, values).await {
            Ok(value) => codec::encode(&value, &self.signature.returns).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl From<&Signature> for pb::Function {
    fn from(from: &Signature) -> pb::Function {
        pb::Function {
            parameters: from.parameters.iter().map(Into::into).collect(),
            variadic_parameter: from.variadic.as_ref().map(Into::into),
            r#return: Some(pb::function::Return {
                r#type: from.returns.to_json().into_bytes().into(),
            }),
            summary: from.summary.clone(),
            description: from.description.clone(),
            description_kind: pb::StringKind::Markdown as i32,
            deprecation_message: from.deprecated.clone(),
        }
    }
}

impl From<&Parameter> for pb::function::Parameter {
    fn from(from: &Parameter) -> pb::function::Parameter {
        pb::function::Parameter {
            name: from.name.clone(),
            r#type: from.ty.to_json().into_bytes().into(),
            allow_null_value: from.allow_null,
            allow_unknown_values: from.allow_unknown,
            description: from.description.clone(),
            description_kind: pb::StringKind::Markdown as i32,
        }
    }
}
