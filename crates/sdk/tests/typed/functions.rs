//! Tests of functions with any number of arguments.

use sdk::testing::TestProvider;
use sdk::{FunctionError, Provider as _, TypedProvider, Variadic};
use serde_json::json;

fn provider() -> TypedProvider<()> {
    let join = |separator: String, texts: Variadic<String>| Ok(texts.0.join(&separator));
    let sum = |numbers: Variadic<Option<i64>>| -> Result<i64, FunctionError> {
        Ok(numbers.0.into_iter().flatten().sum())
    };
    TypedProvider::new("text", |_, _: ()| async { Ok(()) })
        .function("join", "Joins texts.", ["separator", "texts"], join)
        .function("sum", "Adds numbers.", ["numbers"], sum)
}

#[tokio::test]
async fn variadic_argument_takes_all_further_arguments() {
    assert_eq!(sdk::internal_validate(&provider()), []);
    let test = TestProvider::over_protocol(provider()).await.unwrap();
    for (name, arguments, result) in [
        ("join", vec![json!("-")], json!("")),
        ("join", vec![json!("-"), json!("a")], json!("a")),
        (
            "join",
            vec![json!("-"), json!("a"), json!("b")],
            json!("a-b"),
        ),
        ("sum", vec![], json!(0)),
        ("sum", vec![json!(1), json!(null), json!(2)], json!(3)),
    ] {
        let found = test.call_function(name, &arguments).await.unwrap();
        assert_eq!(
            found.to_string(),
            result.to_string(),
            "{name} {arguments:?}"
        );
    }
    for (name, arguments, argument, text) in [
        ("join", vec![], None, "0 arguments were given"),
        (
            "join",
            vec![json!("-"), json!("a"), json!(null)],
            Some(2),
            "texts must not be null",
        ),
        (
            "sum",
            vec![json!(1), json!(1.5)],
            Some(1),
            "1.5 is not a whole number",
        ),
    ] {
        let refused = test.call_function(name, &arguments).await.unwrap_err();
        assert_eq!(refused.argument, argument, "{refused}");
        assert!(refused.text.starts_with(text), "{refused}");
    }
}

#[test]
fn variadic_parameter_has_the_name_of_the_last_argument() {
    let join = provider().functions()[0].signature();
    assert_eq!(join.parameters.len(), 1);
    assert_eq!(join.variadic.unwrap().name, "texts");
}
