//! The code of the book page `docs/provider-in-an-afternoon.md`: its test, and a comparison of the
//! page with the example and with this file.

use crate::notes_provider::provider;

const PAGE: &str = include_str!("../../../../docs/provider-in-an-afternoon.md");

#[cfg(test)]
mod tests {
    use sdk::testing::TestProvider;
    use serde_json::json;

    use super::provider;

    #[test]
    fn provider_has_no_mistakes() {
        assert_eq!(sdk::internal_validate(&provider()), []);
    }

    #[tokio::test]
    async fn note_is_created_updated_and_destroyed() -> sdk::Result<()> {
        let folder = tempfile::tempdir()?;
        let test = TestProvider::in_process(provider())?;
        let directory = folder.path().display().to_string();
        test.configure(json!({"directory": directory})).await?;

        let first = json!({"book": directory, "title": "today", "text": "rain"});
        let note = test.apply("notes_note", None, first).await?.done()?;
        assert_eq!(note.attr("id"), format!("{directory}/today"));

        let second = json!({"book": directory, "title": "today", "text": "sun"});
        let note = test
            .apply("notes_note", Some(&note), second)
            .await?
            .done()?;
        assert_eq!(test.read(&note).await?, Some(note.clone()));
        test.destroy(&note).await?;
        assert_eq!(test.read(&note).await?, None);
        Ok(())
    }
}

/// Code blocks of the page with this information string.
fn blocks(info: &str) -> Vec<&'static str> {
    let opening = format!("```{info}\n");
    let after = PAGE.split(&*opening).skip(1);
    after
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

#[test]
fn page_shows_the_code_that_the_tests_compile_and_run() {
    let example = include_str!("../../examples/notes.rs");
    let code: Vec<&str> = example.split_inclusive('\n').collect();
    let code = code.iter().skip_while(|line| line.starts_with("//!"));
    let code: String = code.skip(1).copied().collect();
    assert_eq!(blocks("rust").join("\n"), code);
    let tests = blocks("rust test");
    assert!(include_str!("afternoon.rs").contains(tests[0]) && tests.len() == 1);
}
