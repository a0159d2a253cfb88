//! What a function is and how one is called: arguments are checked against parameters, marks are
//! taken off and given to the result, unknown and null arguments are answered before the function
//! itself sees them. Owns nothing.

use std::sync::Arc;

use cty::{Marks, Type, Value};

use super::files::{Finding, Look};
use crate::diag::Said;
use crate::eval::{Scope, Steps};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// One argument is to blame; its position counts from 0.
    #[error("{reason}")]
    Argument {
        /// Which argument.
        index: usize,
        /// What is wrong with it.
        reason: Said,
    },
    /// The call as a whole.
    #[error("{0}")]
    Call(Said),
}

impl CallError {
    /// Blames the argument at `index`.
    pub fn arg(index: usize, reason: impl Into<Said>) -> CallError {
        CallError::Argument {
            index,
            reason: reason.into(),
        }
    }

    /// Blames the call.
    pub fn call(reason: impl Into<Said>) -> CallError {
        CallError::Call(reason.into())
    }

    /// Blames the call for what went wrong within it.
    pub(crate) fn of(error: impl std::error::Error) -> CallError {
        CallError::call(error.to_string())
    }

    /// Without the arguments in it that must not be shown. Marks that the function never saw hide
    /// every quote; of those that it takes care of itself it may have made the words.
    pub(crate) fn hiding(self, function: &Function, args: &[Value]) -> CallError {
        let mut secret = args.iter().enumerate().filter(|(_, arg)| arg.hides());
        let any = secret.clone().next().is_some();
        let unseen = secret.any(|(index, _)| {
            function
                .param(index)
                .is_none_or(|param| !param.allow_marked)
        });
        let hide = |reason: Said| reason.hiding(unseen).hiding_unseen(any);
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

impl From<Said> for CallError {
    fn from(reason: Said) -> Self {
        CallError::call(reason)
    }
}

/// What a function may see of the place it is called from.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// The scope of the calling expression: folder for files, what time it is, other functions.
    pub scope: &'a dyn Scope,
    /// How many templates are rendered within each other here.
    pub depth: usize,
    /// Whether an argument must not be shown.
    pub secret: bool,
    /// What the calling expression may still do.
    pub steps: &'a Steps,
}

impl Host<'_> {
    /// Counts what a function does beyond looking at its arguments once, before it does it.
    pub(crate) fn take(&self, steps: u64) -> Result<(), CallError> {
        self.steps.take(steps);
        if self.steps.are_over() {
            return Err(CallError::call(Said::plain(self.steps.words())));
        }
        Ok(())
    }

    /// Whether there is memory for a value of so many bytes, before it is made.
    pub(crate) fn room(&self, bytes: usize) -> Result<(), CallError> {
        /// What is smaller is not worth a look.
        const SMALL: usize = 1 << 20;
        if bytes <= SMALL || u64::try_from(bytes).is_ok_and(|bytes| bytes <= self.scope.room()) {
            return Ok(());
        }
        Err(CallError::call(Said::plain(format!(
            "the result would take about {} MiB, more than the memory that is left",
            bytes >> 20
        ))))
    }

    /// Tells the scope what an answer rests on.
    ///
    /// # Errors
    /// Why there must be no answer.
    pub fn found(&self, look: Look, digest: String) -> Result<(), Said> {
        self.scope.found(Finding {
            look,
            digest,
            secret: self.secret,
        })
    }
}

/// A parameter, and which arguments the function wants to see itself.
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
    /// Marks are passed on; otherwise they are taken off and put on the result.
    pub allow_marked: bool,
}

impl Param {
    /// A parameter that wants plain known values.
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

    /// Accepts values whose type is not known.
    #[must_use]
    pub fn dynamic(mut self) -> Param {
        self.allow_dynamic = true;
        self
    }

    /// Accepts marked values and takes care of the marks itself.
    #[must_use]
    pub fn marked(mut self) -> Param {
        self.allow_marked = true;
        self
    }
}

type TypeOf = dyn Fn(&[Value], Host<'_>) -> Result<Type, CallError> + Send + Sync;
type Run = dyn Fn(&[Value], &Type, Host<'_>) -> Result<Value, CallError> + Send + Sync;

/// A function: parameters, the type of its result for given arguments, and what it does.
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
    /// A function whose result always has one type.
    pub fn new(
        params: Vec<Param>,
        result: Type,
        run: impl Fn(&[Value], &Type, Host<'_>) -> Result<Value, CallError> + Send + Sync + 'static,
    ) -> Function {
        Function::typed(params, move |_, _| Ok(result.clone()), run)
    }

    /// A function whose result type follows from its arguments (which may be unknown when the type
    /// is asked for).
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

    /// Equal arguments may give different results: unknown while planning.
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

    /// Calls the function. The arguments must be converted to the types of their parameters
    /// already.
    ///
    /// # Errors
    /// What is wrong with an argument or the call.
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
            if arg.contains_marked() && !param.allow_marked {
                let (plain, taken) = arg.clone().unmark_deep();
                marks.extend(&taken);
                bare.push(plain);
            } else {
                bare.push(arg.clone());
            }
        }
        if untyped {
            return Ok(Value::dynamic().with_marks(&marks));
        }
        let ty = (self.type_of)(&bare, host)?;
        let result = if unknown || (self.impure && host.scope.planning()) {
            Value::unknown(ty)
        } else {
            (self.run)(&bare, &ty, host)?
        };
        let result = result.with_marks(&marks);
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
            return Err(CallError::call(Said::plain(format!(
                "wrong number of arguments ({want} required; {given} given)"
            ))));
        }
        if given < want {
            return Err(CallError::call(Said::plain(format!(
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

/// An argument as a whole machine number.
pub(crate) fn whole(args: &[Value], index: usize) -> Result<i64, CallError> {
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
