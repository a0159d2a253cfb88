//! Tests of the example provider.

use sdk::testing::TestProvider;
use serde_json::json;

use crate::notes_provider::provider;

/// Life of two objects, a data source and a function.
async fn run(test: TestProvider) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display().to_string();
    test.configure(json!({"directory": root})).await.unwrap();

    let book = json!({"name": "diary"});
    let plan = test.plan("notes_book", None, book.clone()).await.unwrap();
    assert!(plan.is_unknown("id") && !plan.is_no_op());
    let book = test.apply("notes_book", None, book).await.unwrap();
    let book = book.done().unwrap();
    assert_eq!(book.attr("id"), format!("{root}/diary"));

    let config = json!({"book": book.attr("id"), "title": "monday"});
    let note = test.apply("notes_note", None, config).await.unwrap();
    let note = note.done().unwrap();
    assert_eq!(note.attr("text"), "", "the default");
    let file = folder.path().join("diary/monday");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");

    let config = json!({"book": book.attr("id"), "title": "monday", "text": "rain"});
    let plan = test.plan("notes_note", Some(&note), config.clone());
    let plan = plan.await.unwrap();
    assert_eq!(plan.attr("id"), note.attr("id"), "the id is stable");
    let note = test.apply("notes_note", Some(&note), config.clone()).await;
    let note = note.unwrap().done().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "rain");
    let same = test.plan("notes_note", Some(&note), config).await.unwrap();
    assert!(same.is_no_op());

    let titles = test.data("notes_titles", json!({"book": book.attr("id")}));
    assert_eq!(titles.await.unwrap()["titles"], json!(["monday"]));
    let slug = test.call_function("slug", &[json!("My Note")]).await;
    assert_eq!(slug.unwrap(), "my-note");
    let wrong = test
        .call_function("slug", &[json!(null)])
        .await
        .unwrap_err();
    assert_eq!(wrong.argument, Some(0));

    std::fs::write(&file, "sun").unwrap();
    let drifted = test.read(&note).await.unwrap().unwrap();
    assert_eq!(drifted.attr("text"), "sun");
    let moved = json!({"book": book.attr("id"), "title": "tuesday", "text": "rain"});
    let plan = test.plan("notes_note", Some(&note), moved.clone());
    assert_eq!(plan.await.unwrap().replace, ["title"]);
    let note = test.apply("notes_note", Some(&note), moved).await;
    let note = note.unwrap().done().unwrap();
    assert!(!file.exists());
    let gone = test.destroy(&note).await.unwrap();
    assert!(gone.object.is_none() && !gone.diagnostics.has_errors());
    assert_eq!(test.read(&note).await.unwrap(), None, "it does not exist");
    assert!(test.destroy(&book).await.unwrap().object.is_none());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn example_provider_works_in_process() {
    run(TestProvider::in_process(provider()).unwrap()).await;
}

#[tokio::test]
async fn example_provider_works_over_the_protocol() {
    run(TestProvider::over_protocol(provider()).await.unwrap()).await;
}

#[tokio::test]
async fn configuration_errors_name_the_argument() {
    let test = TestProvider::in_process(provider()).unwrap();
    let missing = test.configure(json!({})).await.unwrap_err();
    assert_eq!(missing.diagnostics.0[0].detail, "directory is required");
    let early = test.apply("notes_book", None, json!({"name": "a"})).await;
    let early = early.unwrap();
    assert_eq!(
        early.diagnostics.0[0].summary,
        "the provider is not configured"
    );
    let typo = test.plan("notes_book", None, json!({"nane": "a"})).await;
    let typo = typo.unwrap_err();
    assert_eq!(typo.diagnostics.0[0].detail, "there is no argument nane");
}

#[test]
fn example_provider_has_less_than_100_lines_of_code() {
    let text = include_str!("../../examples/notes.rs");
    let code = text.lines().map(str::trim);
    let code = code.filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(code.count() < 100);
}
