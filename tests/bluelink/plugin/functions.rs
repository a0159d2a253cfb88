//! Functions of the fake provider, which call functions of others through their host.

use crate::PORTS;
use crate::fault_files::file;
use crate::resource_calls::{Fake, bad_input, unexpected};
use proto::bluelink::pluginservicev1::HasFunctionRequest;
use proto::bluelink::pluginservicev1::has_function_response::Response as Has;
use proto::bluelink::pluginservicev1::service_client::ServiceClient;
use proto::bluelink::sharedtypesv1::function_call_response::Response as Said;
use proto::bluelink::sharedtypesv1::function_parameter::Parameter;
use proto::bluelink::sharedtypesv1::function_return::Return;
use proto::bluelink::sharedtypesv1::function_value_type_definition::ValueTypeDefinition as Kind;
use proto::bluelink::sharedtypesv1::*;
use serde_json::{Value, json};

/// Function names, deliberately unsorted.
const NAMES: [&str; 8] = [
    "shout", "double", "measure", "through", "endless", "mapper", "partly", "own",
];

/// All function names, or those in the file `functions`.
pub fn names() -> Vec<String> {
    match file("functions").exists() {
        true => std::fs::read_to_string(file("functions"))
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        false => NAMES.map(str::to_owned).to_vec(),
    }
}

fn scalar(kind: FunctionValueType) -> FunctionValueTypeDefinition {
    FunctionValueTypeDefinition {
        value_type_definition: Some(Kind::ScalarValueType(FunctionScalarValueTypeDefinition {
            r#type: kind.into(),
            ..FunctionScalarValueTypeDefinition::default()
        })),
    }
}

fn text(name: &str, optional: bool) -> Parameter {
    Parameter::ScalarParameter(FunctionScalarParameter {
        name: name.to_owned(),
        r#type: Some(scalar(FunctionValueType::String)),
        optional,
        ..FunctionScalarParameter::default()
    })
}

fn answers_text() -> Return {
    let text = FunctionScalarReturn {
        r#type: Some(scalar(FunctionValueType::String).into()),
    };
    Return::ScalarReturn(text.into())
}

/// Return type of `measure`.
fn measure_return_type() -> Return {
    let attribute = |kind, allow_null_value| FunctionObjectAttributeType {
        r#type: Some(scalar(kind)),
        allow_null_value,
    };
    let object = FunctionObjectValueTypeDefinition {
        attribute_types: [
            (
                "count".to_owned(),
                attribute(FunctionValueType::Int64, false),
            ),
            (
                "note".to_owned(),
                attribute(FunctionValueType::String, true),
            ),
        ]
        .into(),
    };
    let object = FunctionValueTypeDefinition {
        value_type_definition: Some(Kind::ObjectValueType(object)),
    };
    let object = FunctionObjectReturn {
        object_value_type: Some(object.into()),
    };
    Return::ObjectReturn(object.into())
}

pub fn definition(name: &str) -> Option<FunctionDefinition> {
    let any = FunctionVariadicParameter {
        label: "more".to_owned(),
        ..FunctionVariadicParameter::default()
    };
    let numbers = FunctionListParameter {
        name: "sizes".to_owned(),
        element_type: Some(scalar(FunctionValueType::Float64)),
        ..FunctionListParameter::default()
    };
    let (parameters, returns) = match name {
        "shout" => (
            vec![text("text", false), text("mark", true)],
            answers_text(),
        ),
        "double" | "endless" | "own" => (vec![text("text", false)], answers_text()),
        "measure" => {
            let all = vec![
                Parameter::ListParameter(numbers),
                Parameter::VariadicParameter(any),
            ];
            (all, measure_return_type())
        }
        "through" => (
            vec![text("function", false), text("text", false)],
            Return::AnyReturn(FunctionAnyReturn::default()),
        ),
        "mapper" => {
            let of = FunctionTypeParameter::default();
            (vec![Parameter::FunctionTypeParameter(of)], answers_text())
        }
        "partly" => (
            vec![text("text", false)],
            Return::AnyReturn(FunctionAnyReturn::default()),
        ),
        _ => return None,
    };
    Some(FunctionDefinition {
        name: name.to_owned(),
        summary: format!("what {name} does"),
        parameters: parameters
            .into_iter()
            .map(|p| FunctionParameter { parameter: Some(p) })
            .collect(),
        r#return: Some(Box::new(FunctionReturn {
            r#return: Some(returns),
        })),
        internal: name == "own",
        ..FunctionDefinition::default()
    })
}

/// Encodes JSON as the framework does: in the bytes of an `Any`.
fn encode_any(json: &Value) -> prost_types::Any {
    let bytes = json.to_string().into_bytes();
    prost_types::Any {
        type_url: "type.googleapis.com/google.protobuf.BytesValue".to_owned(),
        value: prost::Message::encode_to_vec(&bytes),
    }
}

fn decode_any(any: Option<prost_types::Any>) -> Value {
    let bytes: Vec<u8> = prost::Message::decode(&*any.unwrap_or_default().value).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

impl Fake {
    pub async fn function(
        &self,
        request: FunctionCallRequest,
    ) -> Result<FunctionCallResult, ErrorResponse> {
        let name = request.function_name;
        let args = decode_any(request.args.unwrap_or_default().args);
        let what = json!({"function": name, "args": args});
        self.begin_call("CallFunction", &request.host_id, what)
            .await?;
        let context = request.call_context.unwrap_or_default();
        let text = |at: usize| args[at].as_str().unwrap_or_default();
        let mut info = FunctionRuntimeInfo::default();
        let answer = match name.as_str() {
            "double" => json!(format!("{0}{0}", text(0))),
            "shout" if text(0).is_empty() => return Err(bad_input(&["there is nothing to shout"])),
            "shout" => {
                let twice = call_through_host(context, "double", json!([text(0)])).await?;
                let mark = args.get(1).and_then(Value::as_str).unwrap_or("!");
                json!(format!("{}{mark}", twice.as_str().unwrap().to_uppercase()))
            }
            "measure" => {
                let sizes = args[0].as_array().unwrap().len();
                json!({"count": sizes + args.as_array().unwrap().len() - 1, "note": null})
            }
            "through" => call_through_host(context, text(0), json!([text(1)])).await?,
            "endless" => call_through_host(context, "endless", json!([text(0)])).await?,
            "partly" => {
                info.function_name = "double".to_owned();
                Value::Null
            }
            other => return Err(unexpected(format!("no such function: {other}"))),
        };
        Ok(FunctionCallResult {
            response_data: Some(encode_any(&answer)),
            // The framework always sends it.
            function_info: Some(info),
        })
    }
}

/// Calls another function through the host.
pub async fn call_through_host(
    context: FunctionCallContext,
    function: &str,
    args: Value,
) -> Result<Value, ErrorResponse> {
    let port = std::env::var(PORTS[0]).unwrap();
    let service = ServiceClient::connect(format!("http://127.0.0.1:{port}"));
    let mut service = service.await.unwrap();
    let known = HasFunctionRequest {
        function_name: function.to_owned(),
    };
    let has = service.has_function(known).await.unwrap().into_inner();
    let has = matches!(has.response, Some(Has::FunctionCheckResult(r)) if r.has_function);
    let request = FunctionCallRequest {
        function_name: function.to_owned(),
        host_id: String::new(),
        args: Some(FunctionCallArgs {
            args: Some(encode_any(&args)),
        }),
        call_context: Some(context),
    };
    let answer = service.call_function(request).await.unwrap().into_inner();
    match answer.response {
        Some(Said::FunctionResult(result)) => {
            assert!(has, "it is called and was not there");
            Ok(decode_any(result.response_data))
        }
        Some(Said::ErrorResponse(error)) => Err(unexpected(format!(
            "the host says: {} (it has it: {has})",
            error.message
        ))),
        None => Err(unexpected("no answer")),
    }
}
