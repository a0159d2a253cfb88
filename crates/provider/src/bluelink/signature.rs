//! Converts functions of a provider to functions of the language, and rejects those that
//! configurations cannot call. Pure.

use crate::{FunctionParameter, FunctionSignature};
use cty::Type;
use proto::bluelink::sharedtypesv1::function_parameter::Parameter;
use proto::bluelink::sharedtypesv1::function_return::Return;
use proto::bluelink::sharedtypesv1::function_value_type_definition::ValueTypeDefinition;
use proto::bluelink::sharedtypesv1::{
    FunctionDefinition, FunctionParameter as Said, FunctionValueType,
    FunctionValueTypeDefinition as Kind,
};
use std::borrow::Borrow;

/// Declared parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    parameter: FunctionParameter,
    optional: bool,
    variadic: bool,
}

/// Function available in configurations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Callable {
    pub(super) signature: FunctionSignature,
    /// All parameters in order, including optional ones and the variadic one.
    declared: Vec<Declared>,
}

impl Callable {
    /// Returns the type of the argument at an index; `None` if there are too many arguments.
    pub(super) fn parameter_type(&self, index: usize) -> Option<&Type> {
        let last = self.declared.last().filter(|d| d.variadic);
        let declared = self.declared.get(index).or(last)?;
        Some(&declared.parameter.ty)
    }

    /// Returns the maximum number of arguments; `None` without a limit.
    pub(super) fn most(&self) -> Option<usize> {
        let any = self.declared.last().is_some_and(|d| d.variadic);
        (!any).then_some(self.declared.len())
    }
}

/// Converts a function.
///
/// # Errors
/// Configurations cannot call it, with the reason.
pub(super) fn callable(of: &FunctionDefinition) -> Result<Callable, &'static str> {
    if of.internal {
        return Err("it is internal to the plugin");
    }
    let all = of.parameters.iter().enumerate();
    let declared = all.map(|(index, said)| declared(index, said));
    let declared = declared.collect::<Result<Vec<_>, _>>()?;
    let needed = declared
        .iter()
        .take_while(|d| !d.optional && !d.variadic)
        .count();
    // Parameters from the first optional one on become the variadic parameter.
    let (first, rest) = declared.split_at(needed);
    if rest.iter().any(|d| !d.optional && !d.variadic) {
        return Err("an optional parameter precedes a required one");
    }
    let variadic = match rest {
        [] => None,
        [one] if one.variadic => Some(one.parameter.clone()),
        // The language has no optional parameters. A variadic one accepts them; the call checks
        // them.
        [one, ..] => Some(FunctionParameter {
            ty: Type::Dynamic,
            allow_null: true,
            ..one.parameter.clone()
        }),
    };
    let signature = FunctionSignature {
        parameters: first.iter().map(|d| d.parameter.clone()).collect(),
        variadic,
        returns: returns(of)?,
        summary: of.summary.clone(),
        description: of.description.clone(),
        deprecation: String::new(),
    };
    Ok(Callable {
        signature,
        declared,
    })
}

/// Common parts of all kinds of parameters: name, label, type, description, nullable, optional.
type Parts<'p> = (&'p str, &'p str, Type, &'p str, bool, bool);

fn parts(of: &Parameter) -> Result<Parts<'_>, &'static str> {
    macro_rules! parts {
        ($p:ident, $ty:expr) => {
            (
                $p.name.as_str(),
                $p.label.as_str(),
                $ty,
                $p.description.as_str(),
                $p.allow_null_value,
                $p.optional,
            )
        };
    }
    Ok(match of {
        Parameter::ScalarParameter(p) => parts!(p, ty(p.r#type.as_ref())?),
        Parameter::ListParameter(p) => parts!(p, Type::list(ty(p.element_type.as_ref())?)),
        Parameter::MapParameter(p) => parts!(p, Type::map(ty(p.element_type.as_ref())?)),
        Parameter::ObjectParameter(p) => parts!(p, ty(p.object_value_type.as_ref())?),
        Parameter::AnyParameter(p) => parts!(p, Type::Dynamic),
        Parameter::VariadicParameter(p) if p.named => return Err("its arguments are named"),
        Parameter::VariadicParameter(p) => {
            let ty = match p.single_type {
                true => ty(p.r#type.as_ref())?,
                false => Type::Dynamic,
            };
            let (label, about) = (p.label.as_str(), p.description.as_str());
            ("", label, ty, about, p.allow_null_value, false)
        }
        Parameter::FunctionTypeParameter(_) => {
            return Err("it takes a function as an argument");
        }
    })
}

fn declared(index: usize, said: &Said) -> Result<Declared, &'static str> {
    let parameter = said.parameter.as_ref();
    let parameter = parameter.ok_or("a parameter has an unknown kind")?;
    let (name, label, ty, about, allow_null, optional) = parts(parameter)?;
    // Providers may omit names, which the language needs for errors.
    let name = match (name.is_empty(), label.is_empty()) {
        (false, _) => name.to_owned(),
        (true, false) => label.to_owned(),
        (true, true) => format!("argument{}", index + 1),
    };
    Ok(Declared {
        parameter: FunctionParameter {
            name,
            ty,
            allow_null,
            allow_unknown: false,
            description: about.to_owned(),
        },
        optional,
        variadic: matches!(parameter, Parameter::VariadicParameter(_)),
    })
}

fn returns(of: &FunctionDefinition) -> Result<Type, &'static str> {
    let said = of.r#return.as_ref().and_then(|r| r.r#return.as_ref());
    let whole = match said {
        Some(Return::ScalarReturn(r)) => ty(r.r#type.as_ref())?,
        Some(Return::ListReturn(r)) => Type::list(ty(r.element_type.as_ref())?),
        Some(Return::MapReturn(r)) => Type::map(ty(r.element_type.as_ref())?),
        Some(Return::ObjectReturn(r)) => ty(r.object_value_type.as_ref())?,
        Some(Return::AnyReturn(_)) => Type::Dynamic,
        Some(Return::FunctionTypeReturn(_)) => {
            return Err("it returns a function");
        }
        None => return Err("it has no return type"),
    };
    // Results must be concrete: optional attributes exist only in type constraints.
    Ok(whole.without_optional())
}

/// Converts a type; dynamic if it is not declared.
fn ty(kind: Option<&impl Borrow<Kind>>) -> Result<Type, &'static str> {
    use FunctionValueType as T;
    let kind = kind.and_then(|k| k.borrow().value_type_definition.as_ref());
    let Some(kind) = kind else {
        return Ok(Type::Dynamic);
    };
    Ok(match kind {
        ValueTypeDefinition::ScalarValueType(scalar) => match scalar.r#type() {
            T::String => Type::String,
            T::Bool => Type::Bool,
            T::Int32 | T::Int64 | T::Uint32 | T::Uint64 | T::Float32 | T::Float64 => Type::Number,
            T::List | T::Map | T::Object | T::Function | T::Any => Type::Dynamic,
        },
        ValueTypeDefinition::ListValueType(list) => Type::list(ty(list.element_type.as_ref())?),
        ValueTypeDefinition::MapValueType(map) => Type::map(ty(map.element_type.as_ref())?),
        ValueTypeDefinition::ObjectValueType(object) => {
            let all = object.attribute_types.iter();
            let all = all.map(|(name, of)| ty(of.r#type.as_ref()).map(|ty| (name.as_str(), ty)));
            let all = all.collect::<Result<Vec<_>, _>>()?;
            let nullable = object.attribute_types.iter();
            let nullable = nullable.filter(|(_, of)| of.allow_null_value);
            Type::object_with_optional(all, nullable.map(|(name, _)| name))
        }
        ValueTypeDefinition::AnyValueType(_) => Type::Dynamic,
        ValueTypeDefinition::FunctionValueType(_) => {
            return Err("it uses function types");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::bluelink::sharedtypesv1::*;

    fn scalar(r#type: FunctionValueType) -> Option<Kind> {
        let scalar = FunctionScalarValueTypeDefinition {
            r#type: r#type.into(),
            ..FunctionScalarValueTypeDefinition::default()
        };
        Some(Kind {
            value_type_definition: Some(ValueTypeDefinition::ScalarValueType(scalar)),
        })
    }

    fn text(name: &str, optional: bool) -> Said {
        Said {
            parameter: Some(Parameter::ScalarParameter(FunctionScalarParameter {
                name: name.to_owned(),
                r#type: scalar(FunctionValueType::String),
                optional,
                ..FunctionScalarParameter::default()
            })),
        }
    }

    fn function(parameters: Vec<Said>) -> FunctionDefinition {
        let numbers = FunctionListReturn {
            element_type: scalar(FunctionValueType::Int64).map(Box::new),
        };
        FunctionDefinition {
            parameters,
            r#return: Some(Box::new(FunctionReturn {
                r#return: Some(Return::ListReturn(numbers.into())),
            })),
            ..FunctionDefinition::default()
        }
    }

    #[test]
    fn optional_parameters_become_a_variadic_parameter_checked_by_position() {
        let all = vec![text("a", false), text("b", true), text("c", true)];
        let found = callable(&function(all)).unwrap();
        assert_eq!(found.signature.parameters.len(), 1);
        assert_eq!(found.signature.returns, Type::list(Type::Number));
        let more = found.signature.variadic.as_ref().unwrap();
        assert_eq!((more.name.as_str(), &more.ty), ("b", &Type::Dynamic));
        assert_eq!(found.most(), Some(3));
        assert_eq!(found.parameter_type(2), Some(&Type::String));
        assert_eq!(found.parameter_type(3), None);
        let wrong = vec![text("a", true), text("b", false)];
        assert!(callable(&function(wrong)).is_err());
    }

    #[test]
    fn functions_with_function_parameters_and_internal_ones_are_not_callable() {
        let of = FunctionTypeParameter::default();
        let takes = Said {
            parameter: Some(Parameter::FunctionTypeParameter(of)),
        };
        assert!(callable(&function(vec![takes])).is_err());
        let own = FunctionDefinition {
            internal: true,
            ..function(Vec::new())
        };
        assert!(callable(&own).is_err());
        let nothing = FunctionDefinition {
            r#return: None,
            ..function(Vec::new())
        };
        assert!(callable(&nothing).is_err());
    }
}
