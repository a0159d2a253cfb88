//! Calls provider functions. Arguments and results are JSON in a `BytesValue` inside an `Any`.

use super::adapter::BluelinkProvider;
use super::decode_error::DecodeError;
use super::wire::Fault;
use crate::{FunctionError, FunctionResponse};
use calls::{CallContext, Method, ProviderError};
use cty::Value;
use prost::Message as _;
use prost_types::Any;
use proto::bluelink::sharedtypesv1::*;

pub(super) const CALL: &str = "/providerserverv1.Provider/CallFunction";
const BYTES: &str = "type.googleapis.com/google.protobuf.BytesValue";

/// Encodes JSON for the protocol.
fn encode_any(json: &serde_json::Value) -> Any {
    Any {
        type_url: BYTES.to_owned(),
        value: json.to_string().into_bytes().encode_to_vec(),
    }
}

/// Decodes the bytes of the JSON in an `Any`.
fn decode_any(any: &Any) -> Result<Vec<u8>, DecodeError> {
    Ok(Vec::<u8>::decode(&*any.value)?)
}

fn error_response(argument: Option<usize>, text: impl Into<String>) -> FunctionResponse {
    FunctionResponse {
        result: Err(FunctionError {
            text: text.into(),
            argument,
        }),
    }
}

impl BluelinkProvider {
    /// Calls a function. An error reported by the function is part of the response.
    pub(super) async fn function(
        &self,
        name: &str,
        arguments: Vec<Value>,
        ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        let method = Method::CallFunction;
        let callable = self.functions.get(name);
        let callable = callable.ok_or_else(|| ProviderError::NoSuchType {
            plugin: self.info.plugin.clone(),
            kind: "function",
            name: name.to_owned(),
        })?;
        // The signature's variadic parameter accepts any number, so the limit is checked here.
        if let Some(most) = callable.most().filter(|most| arguments.len() > *most) {
            let text = format!("too many arguments: the function takes at most {most}");
            return Ok(error_response(Some(most), text));
        }
        let mut all = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let fits = match callable.parameter_type(index) {
                Some(wanted) => argument.convert(wanted),
                None => Ok(argument.clone()),
            };
            let json = match fits {
                Ok(value) => cty::json::to_json_value(&value).map_err(|e| e.to_string()),
                Err(error) => return Ok(error_response(Some(index), error.to_string())),
            };
            all.push(json.map_err(|what| self.wire.undecodable(method, what))?);
        }
        let request = FunctionCallRequest {
            function_name: name.to_owned(),
            host_id: self.wire.host_id.clone(),
            args: Some(FunctionCallArgs {
                args: Some(encode_any(&serde_json::Value::Array(all))),
            }),
            call_context: Some(called(name)),
        };
        let asked = self.item::<FunctionCallResponse>((method, CALL), (ctx, None), request);
        let result = match asked.await {
            Ok(result) => result,
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => {
                return Ok(error_response(
                    None,
                    said.diagnostic("could not evaluate the function").summary,
                ));
            }
        };
        // The field is always present; a name in it means that the result is a function.
        if let Some(function) = result.function_info.filter(|f| !f.function_name.is_empty()) {
            let name = function.function_name;
            let text = format!(
                "the function returned another function, {name}, but configurations cannot use functions as values"
            );
            return Ok(error_response(None, text));
        }
        let read = || -> Result<Value, DecodeError> {
            let json = decode_any(&result.response_data.unwrap_or_default())?;
            let value = cty::json::decode_implied(&json)?;
            let returns = &callable.signature.returns;
            Ok(value.convert(returns)?)
        };
        let value = read().map_err(|what| self.wire.undecodable(method, what))?;
        Ok(FunctionResponse { result: Ok(value) })
    }
}

/// Returns the call context of a first call: a chain of one call, without a source file.
fn called(name: &str) -> FunctionCallContext {
    let place = SourcePosition { line: 1, column: 1 };
    let place = SourceMeta {
        start_position: Some(place),
        end_position: Some(place),
    };
    FunctionCallContext {
        params: Some(BlueprintParams {}),
        call_stack: vec![FunctionCall {
            file_path: String::new(),
            function_name: name.to_owned(),
            location: Some(place),
        }],
        current_location: Some(place),
    }
}
