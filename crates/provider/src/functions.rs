//! Provider functions as functions of the language. Evaluation is synchronous but providers are
//! called asynchronously, so the evaluating thread blocks here until the answer. Owns handles to
//! providers.

use super::{FunctionParameter, FunctionSignature, Provider, Signatures};
use calls::CallContext;
use cty::{Type, Value};
use dependency::BUILTIN_PROVIDER;
use futures_util::FutureExt as _;
use lang::functions::{CallError, ExternalInput, Function, Host, Param};
use model::ConfigKey;
use model::mutex::lock;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

/// Providers whose functions expressions may call. Cheap to clone.
#[derive(Clone, Default)]
pub struct Functions {
    /// By address, without a configuration.
    unconfigured: Arc<HashMap<Arc<str>, Arc<dyn Provider>>>,
    configured: Arc<Mutex<HashMap<ConfigKey, Configured>>>,
    cancel: CancellationToken,
}

/// Configured provider, with the functions that it has in addition.
struct Configured {
    provider: Arc<dyn Provider>,
    signatures: Signatures,
}

impl Functions {
    /// Creates functions of these providers; their calls end with `cancel`.
    pub fn new(plain: HashMap<Arc<str>, Arc<dyn Provider>>, cancel: CancellationToken) -> Self {
        Self {
            unconfigured: Arc::new(plain),
            configured: Arc::default(),
            cancel,
        }
    }

    /// Registers a configured provider: its functions are called there from now on, including those
    /// in addition to its schema.
    pub fn configured(&self, key: ConfigKey, provider: Arc<dyn Provider>, signatures: Signatures) {
        let configured = Configured {
            provider,
            signatures,
        };
        lock(&self.configured).insert(key, configured);
    }

    /// Returns a function of a provider configuration if that is ready, else of the unconfigured
    /// provider.
    pub fn find(&self, key: &ConfigKey, name: &str) -> Option<Arc<Function>> {
        if *key.address == *BUILTIN_PROVIDER {
            return lang::functions::of_builtin_provider(name);
        }
        let configured = lock(&self.configured);
        let (provider, asked, signature) = match configured.get(key) {
            Some(Configured {
                provider,
                signatures,
            }) => {
                let schema = provider.known_schema();
                // A function of the schema takes precedence over one registered at configuration.
                let of_schema = schema.as_ref().and_then(|s| s.functions.get(name));
                let signature = of_schema.or_else(|| signatures.get(name))?.clone();
                (provider, format!("{key}::{name}"), signature)
            }
            None => {
                let provider = self.unconfigured.get(&key.address)?;
                let signature = provider.known_schema()?.functions.get(name)?.clone();
                (provider, format!("{}::{name}", key.address), signature)
            }
        };
        Some(Arc::new(function(Called {
            provider: provider.clone(),
            name: name.to_owned(),
            input_key: asked,
            signature,
            cancel: self.cancel.clone(),
        })))
    }
}

/// Function, with the provider to call.
struct Called {
    provider: Arc<dyn Provider>,
    name: String,
    /// Key under which its answers are recorded as external inputs.
    input_key: String,
    signature: FunctionSignature,
    cancel: CancellationToken,
}

/// Returns a placeholder for a function that a provider may have once configured: accepts any
/// arguments and returns an unknown value.
pub fn placeholder_function() -> Arc<Function> {
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

fn function(called: Called) -> Function {
    let signature = called.signature;
    let params = signature.parameters.iter().map(param).collect();
    let returns = signature.returns.clone();
    let variadic = signature.variadic.as_ref().map(param);
    let run = move |arguments: &[Value], host: Host<'_>| {
        let unknown_inside = |(index, argument): (usize, &Value)| {
            let parameter = signature
                .parameters
                .get(index)
                .or(signature.variadic.as_ref());
            !argument.is_wholly_known() && !parameter.is_some_and(|p| p.allow_unknown)
        };
        // Without a call: the function does not accept unknown values.
        if arguments.iter().enumerate().any(unknown_inside) {
            return Ok(Value::unknown(signature.returns.clone()));
        }
        let ctx = CallContext::general(&called.cancel);
        let answer = wait(
            called
                .provider
                .call_function(&called.name, arguments.to_vec(), &ctx),
        )?
        .map_err(|e| CallError::call(e.to_string()))?;
        let result = answer.result.map_err(|e| match e.argument {
            Some(index) => CallError::arg(index, e.text),
            None => CallError::call(e.text),
        })?;
        // Record the answer: provider functions should be pure, and a deploy checks that its
        // answers equal those of the stage.
        if let (Some(arguments), Some(answer)) =
            (digest(arguments), digest(std::slice::from_ref(&result)))
        {
            host.record_input(
                ExternalInput::Answer(format!("{} {arguments}", called.input_key)),
                answer,
            )?;
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

/// Returns a digest, equal for equal values; `None` if a value is not wholly known.
fn digest(values: &[Value]) -> Option<String> {
    let mut digest = Sha256::new();
    for value in values {
        // Marks are no part of the value.
        let value = value.clone().unmark_deep().0;
        if !value.is_wholly_known() {
            return None;
        }
        digest.update(cty::msgpack::encode(&value, &Type::Dynamic).ok()?);
    }
    Some(hex::encode(digest.finalize()))
}

/// Blocks this thread. The runtime moves its other tasks to other threads.
fn wait<T>(future: impl Future<Output = T>) -> Result<T, CallError> {
    let mut future = std::pin::pin!(future);
    // An answer that is ready needs no blocking, and no runtime.
    if let Some(ready) = future.as_mut().now_or_never() {
        return Ok(ready);
    }
    match Handle::try_current() {
        // `block_in_place` panics on a current-thread runtime.
        Ok(handle) if handle.runtime_flavor() != RuntimeFlavor::CurrentThread => {
            Ok(tokio::task::block_in_place(|| handle.block_on(future)))
        }
        _ => Err(CallError::call("plugin functions are not available here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtin_provider_functions_are_found_by_address() {
        let functions = Functions::default();
        assert!(
            functions
                .find(&ConfigKey::of_root(BUILTIN_PROVIDER), "encode_expr")
                .is_some()
        );
        assert!(
            functions
                .find(&ConfigKey::of_root(BUILTIN_PROVIDER), "nothing")
                .is_none()
                && functions
                    .find(&ConfigKey::of_root("other"), "encode_expr")
                    .is_none()
        );
    }
}
