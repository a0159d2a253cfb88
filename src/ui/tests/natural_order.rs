//! Tests of the order of outputs and drift: natural, as that of resources.

use super::Console;
use crate::app::msg::Answer;
use model::*;

#[test]
fn outputs_of_the_state_are_in_natural_order() {
    let mut c = Console::new(120, 40);
    c.answer(Answer::State(vec![]));
    let output = |name: &str| OutputRow {
        name: name.into(),
        value: "1".into(),
        sensitive: false,
    };
    c.answer(Answer::Outputs(vec![output("ip_10"), output("ip_2")]));
    c.press("6");
    let frame = c.frame();
    let at = |name: &str| {
        frame
            .find(name)
            .unwrap_or_else(|| panic!("{name}\n{frame}"))
    };
    assert!(at("output ip_2") < at("output ip_10"), "{frame}");
    c.press("G");
    assert_eq!(
        c.state.output().map(|o| &*o.name),
        Some("ip_10"),
        "the row is its output"
    );
}
