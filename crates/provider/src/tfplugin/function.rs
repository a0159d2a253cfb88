//! Calls of provider functions, whose arguments each have a type of their own.

use super::adapter::TfProvider;
use super::convert::{Side, diagnostics};
use super::schema;
use crate::*;
use calls::{CallContext, Method, ProviderError};
use cty::{Type, Value};
use proto::tfplugin6 as pb;

const METHOD: Method = Method::CallFunction;

impl TfProvider {
    /// Calls a function. Errors reported by the function are part of the answer.
    pub(super) async fn function(
        &self,
        name: &str,
        arguments: Vec<Value>,
        ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        let schema = self.schema(ctx).await?;
        let signature = match schema.functions.get(name) {
            Some(signature) => signature,
            // Functions may exist only after the configuration.
            None => self
                .fetch_functions()
                .await?
                .signatures
                .get(name)
                .ok_or_else(|| self.no_such("function", name))?,
        };
        let request = pb::call_function::Request {
            name: name.to_owned(),
            arguments: self.arguments(name, signature, &arguments)?,
        };
        let answer: pb::call_function::Response = self.wire.call(METHOD, request).await?;
        if let Some(error) = answer.error {
            let argument = error
                .function_argument
                .and_then(|n| usize::try_from(n).ok());
            return Ok(FunctionResponse {
                result: Err(FunctionError {
                    text: error.text,
                    argument,
                }),
            });
        }
        let result = self.codec(&signature.returns).decode(answer.result)?;
        let result = result.ok_or_else(|| {
            let what = format!("function {name:?} returned neither a result nor an error");
            self.undecodable(METHOD, what)
        })?;
        Ok(FunctionResponse { result: Ok(result) })
    }

    /// Fetches the functions of the configured provider, once. A provider that does not implement
    /// the method has only those of its schema.
    pub(super) async fn fetch_functions(&self) -> Result<&FunctionsResponse, ProviderError> {
        let ask = || async {
            let request = pb::get_functions::Request {};
            let answer: pb::get_functions::Response =
                match self.wire.call(Method::Functions, request).await {
                    // Older providers do not have this method.
                    Err(ProviderError::Unsupported { .. }) => {
                        return Ok(FunctionsResponse::default());
                    }
                    answer => answer?,
                };
            let signatures = schema::signatures(&answer.functions);
            Ok(FunctionsResponse {
                signatures: signatures
                    .map_err(|e| self.undecodable(Method::Functions, e.to_string()))?,
                diagnostics: diagnostics(answer.diagnostics),
            })
        };
        self.configured_functions.get_or_try_init(ask).await
    }

    fn arguments(
        &self,
        name: &str,
        signature: &FunctionSignature,
        arguments: &[Value],
    ) -> Result<Vec<pb::DynamicValue>, ProviderError> {
        let mut encoded = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = signature
                .parameters
                .get(index)
                .or(signature.variadic.as_ref());
            let parameter = parameter.ok_or_else(|| ProviderError::Unencodable {
                plugin: self.info.plugin.clone(),
                method: METHOD,
                what: format!(
                    "function {name:?} takes {} arguments, but {} were given",
                    signature.parameters.len(),
                    arguments.len()
                ),
            })?;
            encoded.extend(self.codec(&parameter.ty).encode(argument)?);
        }
        Ok(encoded)
    }

    fn codec(&self, ty: &Type) -> Side<'_> {
        Side {
            plugin: &self.info.plugin,
            method: METHOD,
            ty: ty.clone(),
            identity: None,
            meta: None,
        }
    }
}
