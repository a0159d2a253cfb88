//! Check of a provider's functions: each is called twice with the same arguments.

use crate::conformance::shown;
use calls::CallContext;
use conform::{Check, Status};
use cty::{Type, Value};
use provider::{FunctionSignature, Provider, ProviderSchema};

/// Maximum number of called functions.
const MAX_FUNCTIONS: usize = 50;

pub(super) async fn check(
    provider: &dyn Provider,
    schemas: &ProviderSchema,
    ctx: &CallContext,
) -> Check {
    let result = |status, text: String| Check::new("functions", status, text);
    let (mut called, mut others) = (0, 0);
    for (name, signature) in schemas.functions.iter().take(MAX_FUNCTIONS) {
        let Some(arguments) = arguments(signature) else {
            others += 1;
            continue;
        };
        let mut results = Vec::new();
        for _ in 0..2 {
            let answer = provider.call_function(name, arguments.clone(), ctx).await;
            match answer.map(|answer| answer.result) {
                Ok(Ok(value)) => results.push(value),
                // The sample arguments may be invalid.
                Ok(Err(_)) => {}
                // Invalid arguments have an answer of their own, so that a failed call is a defect.
                Err(error) => return result(Status::Fail, format!("{name}: {error}")),
            }
        }
        match results.as_slice() {
            [a, b] if a.raw_equals(b) => called += 1,
            [a, b] => {
                let text = format!(
                    "{name}: two calls with the same arguments returned {} and {}",
                    shown(a),
                    shown(b)
                );
                return result(Status::Fail, text);
            }
            [] => others += 1,
            _ => {
                let text = format!("{name}: an error at only one of two equal calls");
                return result(Status::Fail, text);
            }
        }
    }
    match called {
        0 if schemas.functions.is_empty() => {
            result(Status::Skipped, "the provider has no functions".to_owned())
        }
        0 => result(
            Status::Skipped,
            "no function accepts the sample arguments".to_owned(),
        ),
        called => result(
            Status::Pass,
            format!("{called} functions called twice, {others} not called"),
        ),
    }
}

/// Returns sample arguments; `None` if a parameter has no obvious one.
fn arguments(signature: &FunctionSignature) -> Option<Vec<Value>> {
    // A variadic parameter may be left out, so that it needs no sample.
    let parameters = signature.parameters.iter();
    parameters.map(|parameter| sample(&parameter.ty)).collect()
}

fn sample(ty: &Type) -> Option<Value> {
    match ty {
        Type::String => Some(Value::string("a")),
        Type::Number => Some(Value::int(1)),
        Type::Bool => Some(Value::bool(true)),
        Type::List(element) => Some(Value::list((**element).clone(), vec![sample(element)?])),
        _ => None,
    }
}
