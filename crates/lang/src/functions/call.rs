//! Function model and calls: checks arguments against parameters, moves marks to the result, and
//! handles unknown and null arguments before the implementation runs. Keeps no state.

use std::sync::Arc;

use cty::{Marks, Type, Value};

use super::files::{ExternalInput, RecordedInput};
use crate::diag::Message;
use crate::eval::{Scope, Steps};

/// Error of a function call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Error of one argument; positions count from 0.
    #[error("{reason}")]
    Argument {
        /// Position of the argument.
        index: usize,
        /// Reason.
        reason: Message,
    },
    /// Error of the whole call.
    #[error("{0}")]
    Call(Message),
}

impl CallError {
    /// Error of the argument at `index`.
    pub fn arg(index: usize, reason: impl Into<Message>) -> CallError {
        CallError::Argument {
            index,
            reason: reason.into(),
        }
    }

    /// Error of the call.
    pub fn call(reason: impl Into<Message>) -> CallError {
        CallError::Call(reason.into())
    }

    /// Error of the whole call, from an inner error.
    pub(crate) fn from_error(error: impl std::error::Error) -> CallError {
        CallError::call(error.to_string())
    }

    /// Removes quotes of sensitive arguments. If the function never saw a mark, all quoting texts
    /// are hidden; functions that handle marks themselves may have redacted already.
    pub(crate) fn redacted(self, function: &Function, args: &[Value]) -> CallError {
        let mut secret = args
            .iter()
            .enumerate()
            .filter(|(_, arg)| arg.needs_redaction());
        let any = secret.clone().next().is_some();
        let unseen = secret.any(|(index, _)| {
            function
                .param(index)
                .is_none_or(|param| !param.allow_marked)
        });
        let hide = |reason: Message| reason.redacted_if(unseen).redacted_if_unset(any);
        match self {
            CallError::Argument { index, reason } => CallError::Argument {
                index,
                reason: hide(reason),
            },
            CallError::Call(reason) => CallError::Call(hide(reason)),
        }
    }
}

impl From<String> for CallError {
    fn from(reason: String) -> Self {
        CallError::call(reason)
    }
}

impl From<&'static str> for CallError {
    fn from(reason: &'static str) -> Self {
        CallError::call(reason)
    }
}

impl From<Message> for CallError {
    fn from(reason: Message) -> Self {
        CallError::call(reason)
    }
}

/// Context that a function gets from its call.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Scope of the calling expression: base directory, time, other functions.
    pub scope: &'a dyn Scope,
    /// Nesting depth of rendered templates.
    pub depth: usize,
    /// True if an argument is sensitive.
    pub secret: bool,
    /// Remaining steps of the calling expression.
    pub steps: &'a Steps,
}

impl Host<'_> {
    /// Counts work beyond reading the arguments once. Functions call it before that work.
    pub(crate) fn consume_steps(&self, steps: u64) -> Result<(), CallError> {
        self.steps.consume(steps);
        if self.steps.is_exhausted() {
            return Err(CallError::call(Message::plain(self.steps.limit_message())));
        }
        Ok(())
    }

    /// Checks that memory for a value of this size is available, before it is created.
    pub(crate) fn check_memory(&self, bytes: usize) -> Result<(), CallError> {
        /// Smaller values skip the check.
        const UNCHECKED_SIZE: usize = 1 << 20;
        if bytes <= UNCHECKED_SIZE
            || u64::try_from(bytes).is_ok_and(|bytes| bytes <= self.scope.max_value_size())
        {
            return Ok(());
        }
        Err(CallError::call(Message::plain(format!(
            "the result needs about {} MiB, which exceeds the remaining memory",
            bytes >> 20
        ))))
    }

    /// Reports an external input of the result to the scope.
    ///
    /// # Errors
    /// The scope rejects the input.
    pub fn record_input(&self, look: ExternalInput, digest: String) -> Result<(), Message> {
        self.scope.record_input(RecordedInput {
            input: look,
            digest,
            secret: self.secret,
        })
    }
}

/// Parameter, with flags for arguments that the function handles itself.
#[derive(Debug, Clone)]
pub struct Param {
    /// Name, for messages.
    pub name: Arc<str>,
    /// Arguments are converted to this type.
    pub ty: Type,
    /// Null is passed on; otherwise null is an error.
    pub allow_null: bool,
    /// Unknown values are passed on; otherwise one makes the result unknown.
    pub allow_unknown: bool,
    /// Values of dynamic type are passed on; otherwise one makes the result dynamic.
    pub allow_dynamic: bool,
    /// Marks are passed on; otherwise the call moves them to the result.
    pub allow_marked: bool,
}

impl Param {
    /// Parameter for known values without marks, not null.
    pub fn new(name: &str, ty: Type) -> Param {
        Param {
            name: name.into(),
            ty,
            allow_null: false,
            allow_unknown: false,
            allow_dynamic: false,
            allow_marked: false,
        }
    }

    /// Accepts null.
    #[must_use]
    pub fn null(mut self) -> Param {
        self.allow_null = true;
        self
    }

    /// Accepts unknown values.
    #[must_use]
    pub fn unknown(mut self) -> Param {
        self.allow_unknown = true;
        self
    }

    /// Accepts values of unknown type.
    #[must_use]
    pub fn dynamic(mut self) -> Param {
        self.allow_dynamic = true;
        self
    }

    /// Accepts marked values; the function handles the marks.
    #[must_use]
    pub fn marked(mut self) -> Param {
        self.allow_marked = true;
        self
    }
}

type TypeOf = dyn Fn(&[Value], Host<'_>) -> Result<Type, CallError> + Send + Sync;
type Run = dyn Fn(&[Value], &Type, Host<'_>) -> Result<Value, CallError> + Send + Sync;

/// Function: parameters, result type for given arguments, and implementation.
#[derive(Clone)]
pub struct Function {
    params: Vec<Param>,
    variadic: Option<Param>,
    type_of: Arc<TypeOf>,
    run: Arc<Run>,
    not_null: bool,
    impure: bool,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function")
            .field("params", &self.params)
            .field("variadic", &self.variadic)
            .finish_non_exhaustive()
    }
}

impl Function {
    /// Creates a function with a fixed result type.
    pub fn new(
        params: Vec<Param>,
        result: Type,
        run: impl Fn(&[Value], &Type, Host<'_>) -> Result<Value, CallError> + Send + Sync + 'static,
    ) -> Function {
        Function::typed(params, move |_, _| Ok(result.clone()), run)
    }

    /// Creates a function whose result type depends on its arguments, which may be unknown at that
    /// time.
    pub fn typed(
        params: Vec<Param>,
        type_of: impl Fn(&[Value], Host<'_>) -> Result<Type, CallError> + Send + Sync + 'static,
        run: impl Fn(&[Value], &Type, Host<'_>) -> Result<Value, CallError> + Send + Sync + 'static,
    ) -> Function {
        Function {
            params,
            variadic: None,
            type_of: Arc::new(type_of),
            run: Arc::new(run),
            not_null: false,
            impure: false,
        }
    }

    /// Any number of further arguments.
    #[must_use]
    pub fn more(mut self, param: Param) -> Function {
        self.variadic = Some(param);
        self
    }

    /// The result is never null, even while unknown.
    #[must_use]
    pub fn not_null(mut self) -> Function {
        self.not_null = true;
        self
    }

    /// Marks a function as impure: its result is unknown while planning.
    #[must_use]
    pub(crate) fn impure(mut self) -> Function {
        self.impure = true;
        self
    }

    /// The parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The parameter of all further arguments.
    pub fn variadic(&self) -> Option<&Param> {
        self.variadic.as_ref()
    }

    /// The parameter of the argument at `index`.
    pub fn param(&self, index: usize) -> Option<&Param> {
        self.params.get(index).or(self.variadic.as_ref())
    }

    /// Calls the function. The arguments must already have the types of their parameters.
    ///
    /// # Errors
    /// An argument or the call is invalid.
    pub fn call(&self, args: &[Value], host: Host<'_>) -> Result<Value, CallError> {
        self.count(args.len())?;
        let mut marks = Marks::none();
        let mut bare = Vec::with_capacity(args.len());
        let mut untyped = false;
        let mut unknown = false;
        for (index, arg) in args.iter().enumerate() {
            let Some(param) = self.param(index) else {
                continue;
            };
            if arg.is_null() && !param.allow_null {
                return Err(CallError::arg(index, "argument must not be null"));
            }
            untyped |= arg.ty().is_dynamic() && !param.allow_dynamic;
            unknown |= !arg.is_known() && !param.allow_unknown;
            // Nested marks count for the whole result, because the function may use any part.
            if arg.contains_marked() && !param.allow_marked {
                let (plain, taken) = arg.clone().unmark_deep();
                marks.extend(&taken);
                bare.push(plain);
            } else {
                bare.push(arg.clone());
            }
        }
        // Before `type_of`, which must not see arguments of unknown type.
        if untyped {
            return Ok(Value::dynamic().with_marks(&marks));
        }
        // Called for unknown arguments too: it checks them and gives the unknown result a type.
        let ty = (self.type_of)(&bare, host)?;
        // Impure results stay unknown while planning, or the apply would get other values.
        let result = if unknown || (self.impure && host.scope.planning()) {
            Value::unknown(ty)
        } else {
            (self.run)(&bare, &ty, host)?
        };
        let result = result.with_marks(&marks);
        // An unknown value of dynamic type cannot have refinements.
        let refinable = self.not_null && (result.is_known() || !result.ty().is_dynamic());
        Ok(if refinable && !result.is_known() {
            result.refine_not_null()
        } else {
            result
        })
    }

    fn count(&self, given: usize) -> Result<(), CallError> {
        let want = self.params.len();
        if self.variadic.is_none() && given != want {
            return Err(CallError::call(Message::plain(format!(
                "wrong number of arguments ({want} required; {given} given)"
            ))));
        }
        if given < want {
            return Err(CallError::call(Message::plain(format!(
                "wrong number of arguments (at least {want} required; {given} given)"
            ))));
        }
        Ok(())
    }
}

/// The text of an argument that is a known string.
pub(crate) fn text(args: &[Value], index: usize) -> Result<&str, CallError> {
    args.get(index)
        .and_then(Value::as_str)
        .ok_or_else(|| CallError::arg(index, "a string is required"))
}

/// The number of an argument that is a known number.
pub(crate) fn number(args: &[Value], index: usize) -> Result<&cty::Number, CallError> {
    args.get(index)
        .and_then(Value::as_number)
        .ok_or_else(|| CallError::arg(index, "a number is required"))
}

/// Argument as an `i64`.
pub(crate) fn int_argument(args: &[Value], index: usize) -> Result<i64, CallError> {
    let n = number(args, index)?;
    n.to_i64().ok_or_else(|| {
        CallError::call(if n.is_integer() {
            "value must be a whole number, in the range of 64 bits"
        } else {
            "value must be a whole number"
        })
    })
}

/// The elements of a known sequence.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_slice().unwrap_or(&[])
}
