//! Cases for keys of single screens.

use super::stage::stage;
use super::state::state;
use super::{KeyCase, after, cursor, story, tab};
use crate::app::msg::{Answer, Effect, TracingMove};
use crate::app::state::Context;
use crate::app::state::Context::*;
use crate::ui::tests::{Console, fixture};
use model::*;

/// Returns the cases.
pub(super) fn stories() -> Vec<KeyCase> {
    [
        start(),
        plugins(),
        calls_and_deploy(),
        stage(),
        history(),
        state(),
        logs(),
        groups(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn start() -> Vec<KeyCase> {
    const S: &[Context] = &[Start];
    vec![
        story("start-open", S, |c, b| {
            assert!(b.cursor.as_ref().unwrap().1.contains("deploy #31"));
            assert_eq!(tab(c), "4 Deploy");
        }),
        story("plugins-load", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadPlugins])
        }),
        after(
            "stage-diagnostics",
            S,
            |c| c.event(super::stage::warning()),
            |c, _| c.shows("a deprecated argument"),
        ),
        story("stage", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
            assert_eq!(tab(c), "3 Stage");
        }),
        story("refresh-only", S, |c, _| {
            let effects = c.take_effects();
            let [Effect::Stage(request)] = &effects[..] else {
                panic!("{effects:?}")
            };
            assert_eq!(request.mode, StageMode::RefreshOnly);
        }),
        after(
            "retry",
            S,
            |c| {
                c.answer(Answer::Last(Box::new(fixture::record())));
                c.take_effects();
            },
            |c, _| {
                let effects = c.take_effects();
                assert!(matches!(&effects[..], [Effect::Stage(r)] if r.rest_of == Some(31)));
            },
        ),
    ]
}

fn plugins() -> Vec<KeyCase> {
    const P: &[Context] = &[Plugins];
    const S: &[Context] = &[Schema];
    vec![
        after(
            "plugin-restart",
            P,
            |c| c.press("G"),
            |c, _| {
                assert_eq!(
                    c.take_effects(),
                    [command("hashicorp/random", PluginCommand::Restart)]
                );
                c.press("g R");
                assert_eq!(
                    c.take_effects(),
                    [command("acme/legacy", PluginCommand::Start)]
                );
            },
        ),
        after(
            "plugin-stop",
            P,
            |c| c.press("G"),
            |c, _| {
                assert_eq!(
                    c.take_effects(),
                    [command("hashicorp/random", PluginCommand::Stop)]
                )
            },
        ),
        story("plugin-enable", P, |c, _| {
            assert_eq!(
                c.take_effects(),
                [command("acme/legacy", PluginCommand::Disable)]
            );
            let (plugin, state) = (fixture::id("acme/legacy"), PluginState::Disabled);
            c.event(EventKind::Plugin(PluginEvent::State { plugin, state }));
            assert!(c.line("acme/legacy ").contains("○ disabled"));
            c.press("E");
            assert_eq!(
                c.take_effects(),
                [command("acme/legacy", PluginCommand::Enable)]
            );
        }),
        after(
            "plugin-logs",
            P,
            |c| c.press("G"),
            |c, _| {
                assert_eq!(tab(c), "7 Logs");
                c.shows("nothing to do");
                c.hides("configured for eu-central-1");
            },
        ),
        story("plugins-load", P, |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadPlugins])
        }),
        story("plugins-installed", P, |c, _| {
            assert_eq!(c.take_effects(), [Effect::FindInstalled])
        }),
        story("pane-next", P, |c, _| {
            c.shows("[schema]");
            c.hides("[launches]");
        }),
        story("pane-previous", P, |c, _| c.shows("[about]")),
        story("pane-next", S, |c, _| c.shows("[calls]")),
        story("pane-previous", S, |c, _| c.shows("[launches]")),
        after(
            "unfold",
            S,
            |c| c.press("j"),
            |c, b| {
                assert!(!b.frame.contains("cidr"));
                c.shows("▾ aws_vpc");
                c.shows("cidr");
            },
        ),
    ]
}

fn command(plugin: &str, what: PluginCommand) -> Effect {
    Effect::Plugin(fixture::id(plugin), what)
}

fn calls_and_deploy() -> Vec<KeyCase> {
    vec![
        after(
            "blocker",
            &[Calls],
            |c| c.press("j"),
            |c, b| {
                assert!(b.cursor.as_ref().unwrap().1.contains("aws_eip.old"));
                assert!(cursor(c).unwrap().1.contains("aws_db"));
            },
        ),
        story("cancel", &[Calls, Deploy], |c, _| {
            c.shows("Cancel deploy #");
            c.shows("are not attempted");
            c.shows("ApplyResourceChange aws_db_instance.main");
        }),
        after(
            "cancel",
            &[Stage],
            |c| {
                c.event(EventKind::StageStarted(StageStarted {
                    stage: 13,
                    mode: StageMode::Normal,
                    resources: 7,
                }))
            },
            |c, _| c.shows("staging changes nothing"),
        ),
        story("operations", &[Deploy, Replay], |c, b| {
            assert!(b.frame.contains("aws_db_instance.main"));
            c.shows("filter: state:");
            assert_eq!(c.state.list().filter, "state:failed,unknown");
            c.hides("aws_db_instance.main");
            c.shows("aws_iam_role.app");
            c.press("v");
            c.shows("filter: state:");
            assert_eq!(c.state.list().filter, "state:waiting,not-attempted");
            c.shows("aws_instance.web");
            c.press("v");
            c.shows("filter: state:");
            assert_eq!(c.state.list().filter, "state:done");
            c.shows("aws_s3_bucket.logs");
            c.press("v");
            c.hides("filter: ");
        }),
        after(
            "why",
            &[Deploy, Replay],
            |c| {
                c.press("/");
                c.type_text("aws_instance");
                c.press("enter");
            },
            |c, _| {
                c.shows("╭─ Reason ─");
                c.shows("aws_instance.web  ");
            },
        ),
        story("duration", &[Deploy], |c, _| {
            c.shows("duration: the deploy has not ended");
        }),
        story("duration", &[Replay], |c, _| {
            c.shows("╭─ What took long ─");
            c.shows("for 5 operations, at most ");
        }),
        story("operation-logs", &[Deploy, Replay], |c, _| {
            assert_eq!(tab(c), "7 Logs");
            c.shows("configured for eu-central-1");
            c.hides("nothing to do");
        }),
        after("stage", &[Deploy], ended, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
            assert_eq!(tab(c), "3 Stage");
        }),
        after("retry", &[Deploy], ended, |c, _| {
            assert_eq!(
                c.take_effects(),
                [Effect::Stage(StageRequest {
                    rest_of: Some(31),
                    ..StageRequest::default()
                })]
            );
            assert_eq!(tab(c), "3 Stage");
            c.shows("of deploy #31");
        }),
        after(
            "retry",
            &[Stage],
            |c| {
                fixture::deploying().into_iter().for_each(|e| c.event(e));
                ended(c);
            },
            |c, _| {
                let effects = c.take_effects();
                assert!(matches!(&effects[..], [Effect::Stage(r)] if r.rest_of == Some(31)));
            },
        ),
        after(
            "stage-diagnostics",
            &[Deploy],
            |c| {
                let mut event = super::stage::warning();
                if let EventKind::Diagnostic(d) = &mut event {
                    d.severity = Severity::Error;
                }
                c.event(event);
                // The row of its operation shows an error.
                c.hides(" d errors");
                c.hides(" d warnings");
                c.event(super::stage::warning());
                c.shows(" d errors");
            },
            |c, _| {
                c.shows("╭─ Errors and warnings ─");
                c.shows("a deprecated argument");
            },
        ),
        story("retry", &[Replay], |c, _| {
            assert_eq!(
                c.take_effects(),
                [Effect::Stage(StageRequest {
                    rest_of: Some(31),
                    ..StageRequest::default()
                })]
            );
            c.shows("staging 2 resources of deploy #31");
        }),
    ]
}

fn ended(c: &mut Console) {
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.take_effects();
}

fn history() -> Vec<KeyCase> {
    vec![
        story("replay", &[History], |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadRecord(31)]);
            c.answer(Answer::Record(Box::new(fixture::record())));
            c.shows("event 5 of 5");
        }),
        after(
            "replay-forward",
            &[Replay],
            |c| c.press("{"),
            |c, b| {
                assert!(b.frame.contains("event 0 of 5"), "{}", b.frame);
                c.shows("event 1 of 5");
                c.shows("aws_s3_bucket.logs");
            },
        ),
        story("replay-back", &[Replay], |c, b| {
            assert!(b.frame.contains("event 5 of 5"));
            c.shows("event 4 of 5");
        }),
        after(
            "replay-end",
            &[Replay],
            |c| c.press("{"),
            |c, _| {
                c.shows("event 5 of 5");
                assert!(c.line("aws_instance.web").contains("not attempted"));
            },
        ),
        story("replay-begin", &[Replay], |c, _| {
            c.shows("event 0 of 5");
            c.hides("aws_instance.web");
        }),
        story("replay-failure", &[Replay], |c, _| {
            c.shows("event 3 of 5");
            assert!(c.line("aws_iam_role.app").contains("update failed"));
        }),
        story("replay-play", &[Replay], |c, b| {
            assert!(b.frame.contains("event 5 of 5"));
            c.shows("playing at 1× · 14:02:11");
            c.press("space");
            c.hides("playing");
        }),
        story("replay-faster", &[Replay], |c, _| {
            c.shows("replay plays at 4 times the speed of the deploy");
        }),
        after(
            "replay-slower",
            &[Replay],
            |c| c.press("+ +"),
            |c, _| c.shows("replay plays at 4 times the speed of the deploy"),
        ),
        story("failures", &[History], |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadFailures]);
            c.shows("FAILURE");
        }),
        story("failures", &[Failures], |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadHistory]);
            c.shows("OUTCOME");
        }),
        story("compare", &[History], |c, _| {
            c.shows("deploy #31 is marked: = on another one compares both");
            c.press("j =");
            assert_eq!(
                c.take_effects().last(),
                Some(&Effect::CompareDeploys(30, 31))
            );
            c.answer(Answer::Comparison(Box::new(fixture::comparison())));
            c.shows("Deploys #30 and #31");
            c.shows("~ main.tf");
            c.shows("aws_eip.old  no operation            → ✓ destroy  1.2 s");
        }),
        story("go-back", &[History], |c, _| {
            assert_eq!(c.take_effects(), [Effect::CompareConfiguration(31)]);
            let files = fixture::comparison().files;
            c.answer(Answer::ConfigurationDifference(31, files));
            c.shows("Stage the configuration of deploy #31?");
            c.shows("1 configuration file differs from those on disk:");
            c.shows("~ main.tf");
            c.press("y");
            let request = StageRequest {
                configuration_of: Some(31),
                ..StageRequest::default()
            };
            assert_eq!(c.take_effects(), [Effect::Stage(request)]);
            assert_eq!(tab(c), "3 Stage");
            c.event(EventKind::Staged(
                StageSummary {
                    configuration_of: Some(31),
                    ..fixture::summary()
                }
                .into(),
            ));
            c.shows("stage #12 · configuration of deploy #31");
            c.shows("would destroy aws_instance.web, aws_eip.old");
        }),
        story("export", &[History, Replay], |c, _| {
            assert_eq!(c.take_effects(), [Effect::Export(31)]);
            c.answer(Answer::Done("written to flightdeck-deploy-31.json".into()));
            c.shows("written to flightdeck-deploy-31.json");
        }),
        story("history-reload", &[History, Failures], |c, _| {
            assert_eq!(
                c.take_effects(),
                [Effect::LoadHistory, Effect::LoadFailures]
            );
            c.answer(Answer::History(vec![]));
            c.answer(Answer::Failures(vec![]));
            c.shows(
                "was made in this workspace yet.|No failures recorded."
                    .split('|')
                    .nth(usize::from(c.state.filters.failures))
                    .unwrap(),
            );
        }),
    ]
}

fn groups() -> Vec<KeyCase> {
    const G: &[Context] = &[Groups];
    vec![
        story("stage", G, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
            assert_eq!(tab(c), "3 Stage");
        }),
        story("apply", G, |c, _| c.shows("Apply stage #12?")),
        // No object of the fixture's state belongs to the group.
        story("group-logs", G, |c, _| {
            c.shows("the plugin of this group is not known yet");
        }),
        story("group-pause", G, |c, _| {
            let pause = Effect::RequestRollout("web".into(), RolloutVerb::Pause, None);
            assert_eq!(c.take_effects(), [pause]);
            c.press("G p");
            let resume = Effect::RequestRollout("workers".into(), RolloutVerb::Resume, None);
            assert_eq!(c.take_effects(), [resume]);
        }),
        story("group-abort", G, |c, _| {
            c.shows("Abort the rollout of group web?");
            assert_eq!(c.take_effects(), []);
            c.press("y");
            let abort = Effect::RequestRollout("web".into(), RolloutVerb::Abort, None);
            assert_eq!(c.take_effects(), [abort]);
        }),
        after(
            "group-skip",
            G,
            |c| c.press("j j j"),
            |c, _| {
                c.shows("Skip member c of group web?");
                c.press("y");
                let skip =
                    Effect::RequestRollout("web".into(), RolloutVerb::Skip, Some("c".into()));
                assert_eq!(c.take_effects(), [skip]);
            },
        ),
        after(
            "group-retry",
            G,
            |c| c.press("G k"),
            |c, _| {
                c.shows("Retry member blue of group workers?");
                c.press("y");
                let blue = Some("blue".into());
                let retry = Effect::RequestRollout("workers".into(), RolloutVerb::Retry, blue);
                assert_eq!(c.take_effects(), [retry]);
            },
        ),
        story("group-scale", G, |c, _| {
            c.shows("Scale group web");
            c.press("x enter");
            c.shows("the size of a group is a whole number");
            c.press("backspace 5 enter");
            assert_eq!(c.take_effects(), [Effect::ScaleGroup("web".into(), 5)]);
        }),
        story("group-free", G, |c, _| {
            c.shows("Free group web?");
            assert_eq!(c.take_effects(), []);
            c.press("y");
            assert_eq!(c.take_effects(), [Effect::FreeGroup("web".into())]);
        }),
        story("group-rollback", G, |c, _| {
            c.shows("Roll back the specification of group web?");
            c.press("y");
            assert_eq!(c.take_effects(), [Effect::RollBackGroup("web".into())]);
            c.answer(Answer::GroupChanged("group web: no change".into()));
            assert_eq!(c.take_effects(), [Effect::LoadGroups]);
        }),
        story("groups-reload", G, |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadGroups]);
            c.answer(Answer::Groups(vec![]));
            c.shows("No groups. Declare one in a file");
        }),
    ]
}

fn logs() -> Vec<KeyCase> {
    const L: &[Context] = &[Logs];
    const T: &[Context] = &[Tracing];
    vec![
        story("follow", L, |c, b| {
            assert!(b.frame.contains("· following"));
            c.shows("· not following");
            assert!(cursor(c).is_some());
            c.press("space");
            c.shows("· following");
        }),
        story("problem-next", L, |c, _| {
            c.shows("· not following");
            let (_, line) = cursor(c).unwrap();
            assert!(line.contains("warn") || line.contains("error"), "{line}");
        }),
        story("problem-previous", L, |c, _| {
            let (_, line) = cursor(c).unwrap();
            assert!(line.contains("warn") || line.contains("error"), "{line}");
        }),
        story("level", L, |c, b| {
            assert!(b.frame.contains("trace and up"));
            c.shows("debug and up");
            c.press("v v");
            c.shows("warn and up");
            c.hides("nothing to do");
        }),
        story("source", L, |c, _| {
            c.shows("· hashicorp/aws");
            c.hides("nothing to do");
        }),
        after(
            "wrap",
            L,
            |c| {
                c.event(fixture::log(
                    "hashicorp/aws",
                    LogLevel::Info,
                    &format!("{}tail", "long ".repeat(60)),
                ))
            },
            |c, b| {
                assert!(!b.frame.contains("tail"));
                c.shows("tail");
            },
        ),
        story("times", L, |c, b| {
            assert!(b.frame.contains(":06.000"), "{}", b.frame);
            c.hides(":06.000");
        }),
        after(
            "mark",
            L,
            |c| c.press("g"),
            |c, b| {
                assert!(!b.frame.contains("▌"));
                assert!(c.line("configured for eu-central-1").starts_with('▌'));
                c.press("m");
                c.hides("▌");
            },
        ),
        after(
            "save",
            L,
            |c| c.press("g m"),
            |c, _| {
                let effects = c.take_effects();
                let [
                    Effect::Save {
                        stem,
                        extension,
                        text,
                    },
                ] = effects.as_slice()
                else {
                    panic!("{effects:?}")
                };
                assert_eq!((stem.as_str(), *extension), ("flightdeck-log", "txt"));
                assert!(
                    text.contains("configured for eu-central-1") && !text.contains("rate limit"),
                    "{text}"
                );
            },
        ),
        story("engine-log", L, |c, _| {
            c.shows("the engine's own log");
            c.hides("following");
        }),
        story("engine-log", T, |c, _| c.shows("· following")),
        story("tracing-targets", T, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Targets)])
        }),
        story("tracing-focus", T, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Focus)])
        }),
        story("tracing-more", T, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::More)])
        }),
        story("tracing-less", T, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Less)])
        }),
        story("tracing-follow", T, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Follow)])
        }),
    ]
}
