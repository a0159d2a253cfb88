//! Hooks of a group: drain commands and health probes, evaluated for one member.

use super::RunningRollout;
use super::hook_trust::HookNames;
use crate::deploy::run::deploying::Deploying;
use crate::stage::groups::Target;
use crate::stage::scope::ModuleScope;
use cty::Value;
use lang::addr::ModuleInstance;
use lang::config::GroupHook;
use lang::eval::{self, Bindings};
use lang::syntax::Expr;
use shell::{Probe, Prober};
use std::time::Duration;
use trust::commands::CommandError;

/// Health of a member as its hook defines it.
enum Check {
    Probe(Probe),
    /// Result of an expression.
    Ready(bool),
}

impl Deploying {
    /// Runs the drain of a member on its object before the change.
    pub(super) async fn run_drain(
        &self,
        running: &RunningRollout,
        member: usize,
    ) -> Result<(), String> {
        let member = running.group.target(member);
        let declared = &running.group.declared;
        let (Some(hook), Some(policy)) = (&declared.drain, &declared.policy.drain) else {
            return Ok(());
        };
        let Some(expr) = hook.expressions.get("command") else {
            return Ok(());
        };
        let change = &self.selection.stage.changes[member.change];
        let value = change.before.value.clone();
        let words = self.evaluate_words(running, &member, hook, expr, value)?;
        let prober = self.prober(running).await?;
        self.check_trust(running, &member, hook, expr, &words)
            .await?;
        prober
            .run(&words, policy.timeout, &self.scheduler.stops().commands)
            .await
            .map_err(|reason| self.recorder.secrets().redact(&reason).into_owned())
    }

    /// Checks the health of a member once.
    pub(super) async fn is_healthy(
        &self,
        running: &RunningRollout,
        member: &Target,
        limit: Duration,
    ) -> Result<(), String> {
        let probe = match self.health_check(running, member)? {
            Check::Ready(true) => return Ok(()),
            Check::Ready(false) => return Err("its ready expression is false".to_owned()),
            Check::Probe(probe) => probe,
        };
        let prober = self.prober(running).await?;
        if let (Some(hook), Probe::Command(words)) = (&running.group.declared.health, &probe)
            && let Some(expr) = hook.expressions.get("command")
        {
            self.check_trust(running, member, hook, expr, words).await?;
        }
        prober
            .probe(&probe, limit, &self.scheduler.stops().commands)
            .await
            .map_err(|reason| fetch::redacted(&self.recorder.secrets().redact(&reason)))
    }

    /// Returns the runner of hooks for one hook that starts now. The loop looks at its lock lease
    /// only every few seconds, so a former leader is refused here.
    async fn prober(&self, running: &RunningRollout) -> Result<&Prober, String> {
        if let Err(error) = running.recorded.store().check_fencing_token().await {
            let reason = error.to_string();
            drop(self.store_failure(error));
            return Err(reason);
        }
        let prober = self.rollouts.prober.as_ref();
        prober.ok_or_else(|| "hooks cannot run in this deploy".to_owned())
    }

    /// Checks that the operator trusts a command that starts now: its files may have changed since
    /// the deploy began.
    async fn check_trust(
        &self,
        running: &RunningRollout,
        member: &Target,
        hook: &GroupHook,
        expr: &Expr,
        words: &[String],
    ) -> Result<(), String> {
        let Some(trust) = &self.rollouts.trust else {
            return Ok(());
        };
        let names = HookNames {
            hook,
            group: &running.group,
            key: &member.key,
        };
        let checked = tokio::task::block_in_place(|| trust.check_start(&names, expr, words));
        checked.map_err(|error| {
            let text = error.to_string();
            if let CommandError::Untrusted { .. } = error {
                // The first one is enough: each decision covers all commands of the workspace.
                let _first = self.rollouts.untrusted.set(error);
            }
            self.recorder.secrets().redact(&text).into_owned()
        })
    }

    fn health_check(&self, running: &RunningRollout, member: &Target) -> Result<Check, String> {
        let Some(hook) = &running.group.declared.health else {
            return Ok(Check::Ready(true));
        };
        let Some((name, expr)) = hook.expressions.first_key_value() else {
            return Ok(Check::Ready(true));
        };
        let change = &self.selection.stage.changes[member.change];
        let address = &change.address;
        let schemas = self.walk.context.schemas.get(&change.provider.address);
        let schema = schemas.and_then(|s| s.resources.get(address.resource.kind.as_ref()));
        let value = schema.and_then(|schema| self.objects.value(address, schema));
        let value = value.ok_or("the member has no object")?;
        let text = |value: &Value| {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| format!("\"{name}\" is no text"))
        };
        Ok(match &**name {
            "ready" => {
                let ready = self.evaluate(running, member, hook, expr, value)?;
                let ready = ready.as_bool();
                Check::Ready(ready.ok_or("\"ready\" is neither true nor false")?)
            }
            "command" => {
                let words = self.evaluate_words(running, member, hook, expr, value)?;
                Check::Probe(Probe::Command(words))
            }
            "tcp" => {
                let address = self.evaluate(running, member, hook, expr, value)?;
                Check::Probe(Probe::Tcp(text(&address)?))
            }
            _ => {
                let url = self.evaluate(running, member, hook, expr, value)?;
                Check::Probe(Probe::Http(text(&url)?))
            }
        })
    }

    fn evaluate_words(
        &self,
        running: &RunningRollout,
        member: &Target,
        hook: &GroupHook,
        expr: &Expr,
        value: Value,
    ) -> Result<Vec<String>, String> {
        let words = self.evaluate(running, member, hook, expr, value)?;
        let text = |(_, element): (Value, &Value)| match element.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => {
                let number = element.as_number().map(ToString::to_string);
                number.ok_or_else(|| "\"command\" is no list of texts".to_owned())
            }
        };
        words.elements().map(text).collect()
    }

    /// Evaluates an expression for a member. The result is known and without marks; sensitive
    /// values are registered for redaction.
    fn evaluate(
        &self,
        running: &RunningRollout,
        member: &Target,
        hook: &GroupHook,
        expr: &Expr,
        value: Value,
    ) -> Result<Value, String> {
        let names = HookNames {
            hook,
            group: &running.group,
            key: &member.key,
        };
        let values = names.values(value);
        let Some(root) = self.walk.module(&Default::default()) else {
            return Err("the root module is missing".to_owned());
        };
        let module = ModuleInstance::root();
        let scope = ModuleScope::new(&self.walk.context, root, &module);
        let (value, diags) = eval::evaluate(expr, &Bindings::isolated(&scope, values));
        if let Some(error) = diags.errors().next() {
            return Err(format!("{}: {}", error.summary, error.message().as_str()));
        }
        if value.contains_marked() {
            self.recorder.secrets().register(&value);
        }
        let (value, _) = value.unmark_deep();
        match value.is_wholly_known() {
            true => Ok(value),
            false => Err("its value is not known yet".to_owned()),
        }
    }
}
