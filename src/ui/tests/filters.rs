//! Tests of the filter: its query language, prompt, history and title.

use super::{Console, fixture};
use crate::app::msg::{Answer, Effect};
use crate::app::state::{Context, Screen};
use model::Select;

/// Console with rows in all lists.
fn full() -> Console {
    let mut c = Console::deploying(120, 40);
    c.answer(Answer::History(fixture::history()));
    c.answer(Answer::State(fixture::state_rows()));
    c.answer(Answer::Failures(fixture::failures()));
    c
}

fn filter(c: &mut Console, query: &str) {
    c.press("f");
    c.press("ctrl-u");
    c.type_text(query);
    c.press("enter");
}

/// Keys of the rows of the current list.
fn rows(c: &mut Console) -> Vec<String> {
    c.frame();
    let keys = c.state.frame.rows.iter().filter(|r| !r.heading);
    keys.filter_map(|r| r.key.text().map(str::to_owned))
        .collect()
}

#[test]
fn filter_terms_must_all_match_and_the_title_counts_the_rows() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    let all = rows(&mut c).len();
    for (query, expected) in [
        (
            "type:instance action:create,update",
            &["aws_db_instance.main"][..],
        ),
        ("instance !action:create", &["aws_instance.web"]),
        ("~iamapp", &["aws_iam_role.app"]),
        ("/eip|s3/ !bucket", &["aws_eip.old"]),
    ] {
        filter(&mut c, query);
        assert_eq!(rows(&mut c), expected, "{query}");
        c.shows(&format!("filter: {query}   1 of {all}"));
    }
    c.press("esc");
    assert_eq!(rows(&mut c).len(), all);
    c.hides("filter: ");
}

#[test]
fn unusable_filter_is_explained_in_the_prompt_and_the_list_stays() {
    let mut c = Console::staged(120, 40);
    c.press("3 f");
    c.shows("words !not ~fuzzy /regex/ action: module: provider: type:   ↑↓ earlier filters");
    c.type_text("eip /(");
    c.shows("invalid regular expression: unclosed group");
    assert_eq!(rows(&mut c), ["aws_eip.old"]);
    c.press("ctrl-u");
    c.type_text("eip action:cre");
    c.shows("no action \"cre\"; use create, update, replace, destroy");
    assert_eq!(c.state.list().filter, "eip action");
    // The prompt stays open until the text is usable.
    c.press("enter");
    assert!(c.state.frame.prompt.is_some());
    c.press("ctrl-w");
    c.type_text("arn:x");
    c.shows("no field \"arn\" here, only action, module, provider, type; quote");
    c.press("ctrl-w enter");
    assert!(c.state.frame.prompt.is_none());
    assert_eq!(rows(&mut c), ["aws_eip.old"]);
}

#[test]
fn earlier_filters_are_recalled_on_every_screen() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    for query in ["eip", "role", "eip"] {
        filter(&mut c, query);
    }
    assert_eq!(c.state.filters.history, ["role", "eip"]);
    c.press("1 f");
    c.type_text("aws");
    c.press("up");
    c.shows("filter: eip");
    c.press("up up");
    c.shows("filter: role");
    c.press("down down");
    c.shows("filter: aws");
    c.press("up up enter");
    assert_eq!(c.state.list().filter, "role");
    assert_eq!(c.state.filters.history, ["eip", "role"]);
    for i in 0..60 {
        filter(&mut c, &i.to_string());
    }
    assert_eq!(c.state.filters.history.len(), 50);
    assert_eq!(c.state.filters.history[49], "59");
}

#[test]
fn filter_keys_set_a_term_and_keep_the_others() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    filter(&mut c, "aws !s3");
    c.press("+");
    assert_eq!(c.state.list().filter, "aws !s3 action:create");
    c.press("~");
    assert_eq!(c.state.list().filter, "aws !s3 action:update");
    // Hidden changes are not selected or deselected.
    c.take_effects();
    c.press("I");
    assert_eq!(
        c.take_effects(),
        [Effect::Select(
            12,
            vec![Select::Leave("aws_iam_role.app".into())]
        )]
    );
    // A new stage may have other actions.
    c.press("s");
    assert_eq!(c.state.list().filter, "aws !s3");
}

/// Walks the fields of all lists, so that no value that a field allows matches nothing by a typing
/// error, and every row has one of them.
#[test]
fn each_row_has_one_of_the_values_that_its_field_allows() {
    let mut c = full();
    let mut checked = 0;
    for screen in Screen::ALL {
        c.state.screen = *screen;
        c.frame();
        let of = c.state.context().of();
        for field in of.fields.iter().filter(|f| !f.values.is_empty()) {
            for row in c.state.frame.rows.iter().filter(|r| !r.heading) {
                let value = (of.field)(&c.state, row, field.name);
                let is_other = c.state.context() == Context::Stage && value.is_empty();
                assert!(
                    is_other || field.values.contains(&value.as_str()),
                    "{screen:?} {}: {value:?}",
                    field.name
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn filter_of_the_state_matches_module_provider_type_and_state() {
    let mut c = full();
    c.press("6");
    for (query, expected) in [
        ("module:network", &["module.network.aws_vpc.main"][..]),
        (
            "module:\"root module\" provider:hashicorp type:instance",
            &["aws_instance.web"],
        ),
        ("state:tainted", &["aws_iam_role.app"]),
    ] {
        filter(&mut c, query);
        assert_eq!(rows(&mut c), expected, "{query}");
    }
    c.press("esc 4");
    filter(&mut c, "state:failed");
    assert_eq!(rows(&mut c), ["aws_iam_role.app"]);
}

#[test]
fn heading_of_the_sorted_column_shows_the_direction() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    c.hides("▲");
    c.press(",");
    c.shows("ACTION ▲");
    c.press(", .");
    c.shows("RESOURCE ▼");
    c.press(",");
    c.hides("RESOURCE ▼");
    // The largest number of dependents comes first.
    c.answer(Answer::State(fixture::state_rows()));
    c.press("6 , ,");
    c.shows("▼");
}

#[test]
fn search_counts_its_matches() {
    let mut c = Console::staged(120, 40);
    c.press("3 / a w s _ i enter");
    c.shows("find: aws_i  1 of 2");
    c.press("n");
    c.shows("find: aws_i  2 of 2");
    c.press("esc / z z z");
    c.shows("find: zzz  no match");
}

#[test]
fn search_begins_empty_and_repeats_the_last_one_without_a_text() {
    let mut c = Console::staged(120, 40);
    c.press("3 / a w s _ i enter");
    c.shows("find: aws_i  1 of 2");
    c.press("/ enter");
    c.shows("find: aws_i  2 of 2");
    c.press("/ z esc");
    c.shows("find: aws_i  2 of 2");
    c.press("/ z z z");
    c.shows("find: zzz  no match");
}
