//! Tests of messages, of keys without a command, and of the search for keys and commands.

use super::{Console, fixture};
use crate::app::command::matching;
use crate::app::key::Input;
use crate::app::msg::{Effect, Msg};
use crate::app::state::Context;
use model::*;

/// Last line of the frame.
fn footer(c: &mut Console) -> String {
    c.frame().lines().last().unwrap().to_owned()
}

#[test]
fn message_never_replaces_the_keys_and_ends_after_five_seconds() {
    for (width, height) in [(120, 40), (80, 24), (40, 12)] {
        let mut c = Console::staged(width, height);
        c.press("3");
        c.tick(6_000);
        let keys = footer(&mut c);
        assert!(
            keys.contains("space select") && keys.contains("? help"),
            "{keys}"
        );
        c.state
            .show_error("the lock of the state is held by another process, wait for its-end");
        assert_eq!(footer(&mut c), keys, "{width}x{height}");
        c.shows("✗ the lock of the state");
        c.tick(4_999);
        c.shows("the lock of the state");
        c.tick(1);
        c.hides("the lock of the state");
        assert_eq!(footer(&mut c), keys);
    }
}

#[test]
fn new_message_replaces_the_former_one_and_the_list_keeps_both() {
    let mut c = Console::staged(80, 24);
    let long = format!("{}its-end", "a long reason, ".repeat(8));
    c.state.show_error(format!("the write failed: {long}"));
    c.shows("(:messages)");
    c.hides("its-end");
    c.state.show_message("written to plan.txt");
    c.hides("the write failed");
    c.tick(60_000);
    c.press(":");
    c.type_text("messages");
    c.press("enter");
    c.shows("╭─ Messages ─");
    c.shows("✗ the write failed");
    c.shows("its-end");
    let frame = c.frame();
    let at = |text: &str| frame.find(text).unwrap();
    assert!(
        at("written to plan.txt") < at("the write failed"),
        "newest first: {frame}"
    );
}

#[test]
fn list_of_messages_is_bounded() {
    let mut c = Console::staged(80, 24);
    for i in 0..1_000 {
        c.state.show_message(format!("message {i}"));
    }
    assert_eq!(c.state.frame.messages.len(), 200);
    assert_eq!(c.state.frame.messages.back().unwrap().text, "message 999");
}

#[test]
fn key_without_a_command_says_so_on_each_screen() {
    for &context in Context::ALL {
        let keys = crate::app::keymap::KeyMap::default();
        let unbound = ["f9", "J", "ctrl-y", "alt-x"];
        let mut c = Console::staged(120, 40);
        c.press(match context {
            Context::Tracing => "7 e",
            Context::Failures => "5 v",
            _ => "3",
        });
        for key in unbound {
            assert!(
                keys.command(key.parse().unwrap(), context).is_none(),
                "{key}"
            );
            c.press(key);
            c.shows(&format!(
                "`{key}`: no command on this screen; ? lists the keys"
            ));
        }
        // Such keys are no entry of the list of messages.
        let listed = c.state.frame.messages.iter().any(|m| m.text.contains("f9"));
        assert!(!listed);
    }
}

#[test]
fn palette_ranks_names_before_descriptions() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    c.frame();
    let names =
        |typed: &str| -> Vec<&str> { matching(&c.state, typed).iter().map(|c| c.name).collect() };
    // The exact name, names that begin with the text, names with it, and descriptions.
    let stage = names("stage");
    assert_eq!(stage[0], "stage");
    assert!(
        stage[1..3].iter().all(|name| name.starts_with("stage-")),
        "{stage:?}"
    );
    let position = |all: &[&str], name| all.iter().position(|n| *n == name);
    assert!(position(&stage, "screen-stage").is_some());
    // Its description has the word, but others have it in their names.
    assert_eq!(position(&stage, "retry"), None);
    assert_eq!(names("appl")[0], "apply");
    assert_eq!(names("destroy")[..2], ["stage-destroy", "only-destroys"]);
    // Letters in order match a name.
    assert_eq!(names("rfo")[0], "refresh-only");
    // Words of a description match in any order, but letters of it do not.
    assert!(names("objects compare").contains(&"refresh-only"));
    assert_eq!(names("zqx"), [""; 0]);
}

#[test]
fn help_is_complete_beside_a_message() {
    let mut c = Console::staged(120, 40);
    c.press("3 ?");
    c.hides("more ↓");
    c.press("esc");
    c.state.show_message("undone: 2 changes selected again");
    c.press("?");
    c.shows("undone: 2 changes selected again");
    c.hides("more ↓");
    c.shows("esc close");
}

#[test]
fn help_searches_the_keys_of_all_screens() {
    let mut c = Console::staged(120, 40);
    c.press("3 ?");
    c.shows("/ search the keys of all screens");
    c.shows("select or deselect change, module or range");
    c.hides("show how this deploy went");
    c.press("/");
    c.type_text("deploy went");
    c.shows("/ deploy went");
    c.shows("History");
    c.shows("show how this deploy went");
    c.hides("select or deselect change");
    // Letters that move the cursor elsewhere are part of the text.
    c.type_text("jk");
    c.shows("no key or description has this text");
    c.press("backspace backspace enter q");
    c.hides("╭─ Keys ─");
    // Without a search, it shows no keys of other screens, and names the signs at its end.
    c.press("? G");
    c.shows("× forget");
    c.hides("The engine's own log");
    c.press("esc");
    assert_eq!(c.take_effects(), [] as [Effect; 0]);
}

#[test]
fn event_messages_are_listed() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Plugin(PluginEvent::Crash {
        plugin: fixture::id("hashicorp/random"),
        incident: "i-7".into(),
        code: Some(2),
        signal: None,
        text: "panic: nil map".into(),
        trace: vec![],
    }));
    let last = c.state.frame.messages.back().unwrap();
    assert!(last.text.contains("panic: nil map"), "{}", last.text);
}

#[test]
fn end_of_a_deploy_notifies_only_without_the_focus_and_if_wanted() {
    let notified = |focused: bool, wanted: bool| {
        let mut c = Console::deploying(120, 40);
        if !wanted {
            c.press(":");
            c.type_text("notifications");
            c.press("enter");
            c.shows("notifications off");
        }
        c.send(Msg::Input(Input::Focus(focused)));
        c.take_effects();
        let end = fixture::finished(DeployOutcome::Failed);
        c.event(EventKind::DeployFinished(end));
        let effects = c.take_effects().into_iter();
        let texts = effects.filter_map(|e| match e {
            Effect::Notify(text) => Some(text),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    };
    let text = "shop-prod: deploy #31 failed: 3 done, 1 failed, 1 not attempted";
    assert_eq!(notified(false, true), [text]);
    assert!(notified(true, true).is_empty());
    assert!(notified(false, false).is_empty());
}

#[test]
fn plugin_that_gives_up_notifies_without_the_focus() {
    let mut c = Console::staged(120, 40);
    c.send(Msg::Input(Input::Focus(false)));
    c.take_effects();
    c.event(EventKind::Plugin(PluginEvent::State {
        plugin: fixture::id("acme/legacy"),
        state: PluginState::GaveUp {
            why: "exit\x1b]0;title\x07 code 2".into(),
        },
    }));
    let effects = c.take_effects();
    let text = effects.iter().find_map(|e| match e {
        Effect::Notify(text) => Some(text),
        _ => None,
    });
    let text = text.expect("a notification");
    assert!(text.starts_with("shop-prod: acme/legacy gave up"), "{text}");
    assert!(!text.contains(char::is_control), "{text:?}");
}
