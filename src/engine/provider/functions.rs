//! Providers' functions as functions of the language. Expressions are evaluated without waiting and
//! providers are asked with waiting: the thread of the evaluation waits here for the answer. Owns
//! handles to providers.

use super::builtin::ADDRESS;
use super::{FunctionParameter, FunctionSignature, Provider};
use crate::engine::calls::CallContext;
use cty::{Type, Value};
use futures_util::FutureExt as _;
use lang::functions::{CallError, Function, Host, Look, Param};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

/// The providers whose functions expressions may call, by address. Cheap to clone.
#[derive(Clone, Default)]
pub struct Functions {
    providers: Arc<HashMap<Arc<str>, Arc<dyn Provider>>>,
    cancel: CancellationToken,
}

impl Functions {
    /// Functions of these providers; calls end with `cancel`.
    pub fn new(providers: HashMap<Arc<str>, Arc<dyn Provider>>, cancel: CancellationToken) -> Self {
        Self {
            providers: Arc::new(providers),
            cancel,
        }
    }

    /// One function of the provider with this address.
    pub fn find(&self, address: &str, name: &str) -> Option<Arc<Function>> {
        if address == ADDRESS {
            return lang::functions::of_builtin_provider(name);
        }
        let provider = self.providers.get(address)?.clone();
        let schema = provider.known_schema()?;
        let signature = schema.functions.get(name)?.clone();
        Some(Arc::new(function(
            provider,
            name.to_owned(),
            signature,
            self.cancel.clone(),
        )))
    }
}

/// Stands for a function that a provider may have once it is configured: takes anything, and what
/// it answers is not known.
pub fn unregistered() -> Arc<Function> {
    let any = Param::new("arguments", Type::Dynamic)
        .null()
        .unknown()
        .dynamic();
    let nothing_known = |_: &[Value], _: &_, _: Host<'_>| Ok(Value::dynamic());
    Arc::new(Function::new(Vec::new(), Type::Dynamic, nothing_known).more(any))
}

fn param(p: &FunctionParameter) -> Param {
    let mut param = Param::new(&p.name, p.ty.clone());
    if p.allow_null {
        param = param.null();
    }
    if p.allow_unknown {
        param.unknown().dynamic()
    } else {
        param
    }
}

fn function(
    provider: Arc<dyn Provider>,
    name: String,
    signature: FunctionSignature,
    cancel: CancellationToken,
) -> Function {
    let params = signature.parameters.iter().map(param).collect();
    let returns = signature.returns.clone();
    let variadic = signature.variadic.as_ref().map(param);
    let asked = format!("{}::{name}", provider.info().address);
    let run = move |arguments: &[Value], host: Host<'_>| {
        let unknown_inside = |(index, argument): (usize, &Value)| {
            let parameter = signature
                .parameters
                .get(index)
                .or(signature.variadic.as_ref());
            !argument.is_wholly_known() && !parameter.is_some_and(|p| p.allow_unknown)
        };
        if arguments.iter().enumerate().any(unknown_inside) {
            return Ok(Value::unknown(signature.returns.clone()));
        }
        let ctx = CallContext::general(&cancel);
        let answer = wait(provider.call_function(&name, arguments.to_vec(), &ctx))?
            .map_err(|e| CallError::call(e.to_string()))?;
        let result = answer.result.map_err(|e| match e.argument {
            Some(index) => CallError::arg(index, e.text),
            None => CallError::call(e.text),
        })?;
        // Such functions are to answer alike as often as they are asked; whether they do shows when
        // a stage is deployed.
        if let (Some(arguments), Some(answer)) =
            (digest(arguments), digest(std::slice::from_ref(&result)))
        {
            host.found(Look::Answer(format!("{asked} {arguments}")), answer)?;
        }
        Ok(result)
    };
    let function = Function::new(params, returns, move |arguments, _, host| {
        run(arguments, host)
    });
    match variadic {
        Some(more) => function.more(more),
        None => function,
    }
}

/// Equal for equal values; none for what is not wholly known.
fn digest(values: &[Value]) -> Option<String> {
    let mut digest = Sha256::new();
    for value in values {
        let value = value.clone().unmark_deep().0;
        if !value.is_wholly_known() {
            return None;
        }
        digest.update(cty::msgpack::encode(&value, &Type::Dynamic).ok()?);
    }
    Some(
        digest
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect(),
    )
}

/// Waits on this thread. The runtime's other threads take over what this one would have done.
fn wait<T>(future: impl Future<Output = T>) -> Result<T, CallError> {
    let mut future = std::pin::pin!(future);
    if let Some(ready) = future.as_mut().now_or_never() {
        return Ok(ready);
    }
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() != RuntimeFlavor::CurrentThread => {
            Ok(tokio::task::block_in_place(|| handle.block_on(future)))
        }
        _ => Err(CallError::call(
            "the functions of plugins cannot be called here",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_providers_functions_are_those_of_the_language() {
        let functions = Functions::default();
        assert!(functions.find(ADDRESS, "encode_expr").is_some());
        assert!(
            functions.find(ADDRESS, "nothing").is_none()
                && functions.find("other", "encode_expr").is_none()
        );
    }
}
