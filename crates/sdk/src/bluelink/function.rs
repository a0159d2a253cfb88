//! Functions. Arguments and results are JSON; the definition has the types that a Bluelink host
//! knows.

use std::collections::HashMap;

use cty::Type;
use prost::Message as _;
use prost_types::Any;
use proto::bluelink::sharedtypesv1::function_parameter::Parameter as Kind;
use proto::bluelink::sharedtypesv1::function_return::Return;
use proto::bluelink::sharedtypesv1::function_value_type_definition::ValueTypeDefinition as Shape;
use proto::bluelink::sharedtypesv1::*;

use super::error::BYTES;
use crate::codec;
use crate::diagnostics::Failure;
use crate::function::{Callable, FunctionError, Parameter};
use crate::provider::Context;

/// Returns the definition of a function.
pub(super) fn definition(of: &Callable) -> FunctionDefinition {
    let signature = &of.signature;
    let parameters = signature.parameters.iter().map(parameter);
    let variadic = signature.variadic.iter().map(variadic);
    FunctionDefinition {
        name: of.item.name().to_owned(),
        summary: signature.summary.clone(),
        description: signature.description.clone(),
        parameters: parameters
            .chain(variadic)
            .map(|kind| FunctionParameter {
                parameter: Some(kind),
            })
            .collect(),
        r#return: Some(Box::new(FunctionReturn {
            r#return: Some(returns(&signature.returns)),
        })),
        ..FunctionDefinition::default()
    }
}

fn parameter(from: &Parameter) -> Kind {
    let (name, description) = (from.name.clone(), from.description.clone());
    let allow_null_value = from.allow_null;
    match &from.ty {
        // The host has no type for sets.
        Type::List(of) | Type::Set(of) => Kind::ListParameter(FunctionListParameter {
            element_type: Some(shape(of)),
            name,
            description,
            allow_null_value,
            ..Default::default()
        }),
        Type::Map(of) => Kind::MapParameter(FunctionMapParameter {
            element_type: Some(shape(of)),
            name,
            description,
            allow_null_value,
            ..Default::default()
        }),
        ty @ Type::Object(_) => Kind::ObjectParameter(FunctionObjectParameter {
            object_value_type: Some(shape(ty)),
            name,
            description,
            allow_null_value,
            ..Default::default()
        }),
        ty @ (Type::String | Type::Number | Type::Bool) => {
            Kind::ScalarParameter(FunctionScalarParameter {
                r#type: Some(shape(ty)),
                name,
                description,
                allow_null_value,
                ..Default::default()
            })
        }
        // Tuples have no counterpart among the host's types.
        _ => Kind::AnyParameter(FunctionAnyParameter {
            name,
            description,
            allow_null_value,
            ..Default::default()
        }),
    }
}

fn variadic(from: &Parameter) -> Kind {
    Kind::VariadicParameter(FunctionVariadicParameter {
        label: from.name.clone(),
        r#type: Some(shape(&from.ty)),
        // Arguments of any type can differ from each other.
        single_type: from.ty != Type::Dynamic,
        description: from.description.clone(),
        allow_null_value: from.allow_null,
        ..Default::default()
    })
}

fn returns(ty: &Type) -> Return {
    match ty {
        Type::List(of) | Type::Set(of) => Return::ListReturn(
            FunctionListReturn {
                element_type: Some(shape(of).into()),
            }
            .into(),
        ),
        Type::Map(of) => Return::MapReturn(
            FunctionMapReturn {
                element_type: Some(shape(of).into()),
            }
            .into(),
        ),
        Type::Object(_) => Return::ObjectReturn(
            FunctionObjectReturn {
                object_value_type: Some(shape(ty).into()),
            }
            .into(),
        ),
        Type::String | Type::Number | Type::Bool => Return::ScalarReturn(
            FunctionScalarReturn {
                r#type: Some(shape(ty).into()),
            }
            .into(),
        ),
        _ => Return::AnyReturn(FunctionAnyReturn {
            r#type: FunctionValueType::Any.into(),
            ..Default::default()
        }),
    }
}

fn shape(ty: &Type) -> FunctionValueTypeDefinition {
    let scalar = |kind: FunctionValueType| {
        Shape::ScalarValueType(FunctionScalarValueTypeDefinition {
            r#type: kind.into(),
            ..Default::default()
        })
    };
    let shape = match ty {
        Type::String => scalar(FunctionValueType::String),
        // A number can have a fraction, so the host's integer type would be too narrow.
        Type::Number => scalar(FunctionValueType::Float64),
        Type::Bool => scalar(FunctionValueType::Bool),
        Type::List(of) | Type::Set(of) => Shape::ListValueType(
            FunctionListValueTypeDefinition {
                element_type: Some(self::shape(of).into()),
            }
            .into(),
        ),
        Type::Map(of) => Shape::MapValueType(
            FunctionMapValueTypeDefinition {
                element_type: Some(self::shape(of).into()),
            }
            .into(),
        ),
        Type::Object(of) => {
            let attribute = |ty: &Type| FunctionObjectAttributeType {
                r#type: Some(self::shape(ty)),
                // The rule of a parameter about nulls does not extend to attributes of an object.
                allow_null_value: true,
            };
            let attributes = of.attributes.iter();
            let attributes = attributes.map(|(name, ty)| (name.to_string(), attribute(ty)));
            Shape::ObjectValueType(FunctionObjectValueTypeDefinition {
                attribute_types: attributes.collect::<HashMap<_, _>>(),
            })
        }
        _ => Shape::AnyValueType(FunctionAnyValueTypeDefinition {
            r#type: FunctionValueType::Any.into(),
            ..Default::default()
        }),
    };
    FunctionValueTypeDefinition {
        value_type_definition: Some(shape),
    }
}

/// Calls a function with arguments in JSON.
pub(super) async fn call(
    function: &Callable,
    cx: &Context,
    arguments: Option<FunctionCallArgs>,
) -> Result<FunctionCallResult, Failure> {
    let json = arguments.and_then(|all| all.args).unwrap_or_default();
    let json: Vec<serde_json::Value> = serde_json::from_slice(&bytes(&json)?)?;
    let mut values = Vec::with_capacity(json.len());
    // JSON does not distinguish lists from sets, so each argument needs its declared type.
    for (index, argument) in json.iter().enumerate() {
        values.push(codec::from_json(argument, function.argument_type(index))?);
    }
    let result = function.call(cx, values).await.map_err(failure)?;
    let json = codec::to_json(&result, &function.signature.returns)?;
    Ok(FunctionCallResult {
        response_data: Some(Any {
            type_url: BYTES.to_owned(),
            value: json.to_string().into_bytes().encode_to_vec(),
        }),
        // Hosts expect the field, with an empty name for a result that is not a function.
        function_info: Some(FunctionRuntimeInfo::default()),
    })
}

fn bytes(any: &Any) -> Result<Vec<u8>, Failure> {
    // In prost, the message `BytesValue` is a `Vec<u8>`.
    Vec::<u8>::decode(&*any.value).map_err(Failure::of)
}

/// The response has no field for the argument, so the text names it, counted from one.
fn failure(error: FunctionError) -> Failure {
    match error.argument {
        Some(index) => Failure::new(format!("argument {}: {}", index + 1, error.text), ""),
        None => Failure::new(error.text, ""),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cty::Value;

    use super::*;
    use crate::function::{Function, Signature};

    struct Joined;

    #[async_trait::async_trait]
    impl Function for Joined {
        fn name(&self) -> &str {
            "joined"
        }

        fn signature(&self) -> Signature {
            Signature {
                summary: String::new(),
                description: String::new(),
                deprecated: String::new(),
                parameters: vec![Parameter::new("texts", Type::list(Type::String))],
                variadic: None,
                returns: Type::String,
            }
        }

        async fn call(&self, _: &Context, all: Vec<Value>) -> Result<Value, FunctionError> {
            let texts: Vec<&str> = all[0]
                .as_slice()
                .unwrap_or_default()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            match texts.is_empty() {
                true => Err(FunctionError::new("is empty").at_argument(0)),
                false => Ok(Value::string(texts.concat())),
            }
        }
    }

    #[tokio::test]
    async fn function_is_defined_and_called_with_json() {
        let function = Callable {
            signature: Joined.signature(),
            item: Arc::new(Joined),
        };
        let defined = definition(&function);
        let kind = defined.parameters[0].parameter.as_ref();
        assert!(matches!(kind, Some(Kind::ListParameter(list)) if list.name == "texts"));
        let ask = async |json: &str| {
            let args = FunctionCallArgs {
                args: Some(Any {
                    type_url: BYTES.to_owned(),
                    value: json.as_bytes().to_vec().encode_to_vec(),
                }),
            };
            let cx = Context::new(tokio_util::sync::CancellationToken::new());
            call(&function, &cx, Some(args)).await
        };
        let answer = ask(r#"[["a","b"]]"#).await.unwrap();
        let said = bytes(&answer.response_data.unwrap()).unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "\"ab\"");
        let error = ask("[[]]").await.unwrap_err();
        assert_eq!(error.diagnostics.0[0].summary, "argument 1: is empty");
        assert!(ask("[]").await.is_err() && ask("[null]").await.is_err());
    }
}
