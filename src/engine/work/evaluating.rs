//! Expressions that somebody asks for, over the configuration, its variables and the state.

use super::reading::nodes;
use super::verb::Work;
use crate::engine::error::EngineError;
use crate::engine::secrets::Secrets;
use crate::engine::source::Pooled;
use crate::engine::stage::evaluate::{asks_for_type, evaluated, work_out, written_type};
use crate::engine::stage::moves;
use crate::engine::stage::prior::PriorState;
use crate::engine::stage::scope::Phase;
use crate::engine::stage::sights::Sights;
use crate::engine::stage::walk::Walk;
use crate::engine::told::tell_all;
use crate::engine::words::*;
use cty::Value;
use lang::diag::Diagnostics;
use lang::written::written;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What expressions are worked out over: the configuration, its variables and the state, as they
/// were when it was made.
pub struct Evaluator {
    walk: Arc<Walk>,
    secrets: Secrets,
}

impl Evaluator {
    /// The value of an expression in the language's own words. What is sensitive is not shown.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn evaluate(&self, text: &str) -> Result<String, Vec<Diagnostic>> {
        let inner = asks_for_type(text);
        let (value, diags) = evaluated(&self.walk, inner.as_deref().unwrap_or(text));
        if diags.has_errors() {
            return Err(tell_all(
                diags.iter(),
                &self.walk.around.sources,
                &self.secrets,
            ));
        }
        Ok(match inner {
            Some(_) => written_type(&value),
            None => written(&value, 0),
        })
    }

    /// Names that an expression may begin with.
    pub fn names(&self) -> Vec<String> {
        let root = &self.walk.around.root;
        let variables = root.variables.keys().map(|n| format!("var.{n}"));
        let locals = root.locals.keys().map(|n| format!("local.{n}"));
        let calls = root.calls.keys().map(|n| format!("module.{n}"));
        let resources = root.resources.keys().map(ToString::to_string);
        let functions = lang::functions::names().map(|n| format!("{n}("));
        variables
            .chain(locals)
            .chain(calls)
            .chain(resources)
            .chain(functions)
            .collect()
    }
}

impl Work {
    /// What expressions can be worked out over. What is wrong with the configuration is told, and
    /// what rests on it is unknown.
    pub async fn evaluator(&self, request: StageRequest) -> Result<Evaluator, EngineError> {
        let _turn = self.turn.lock().await;
        let switches = self.begin();
        let made = self.evaluator_now(request, &switches.stop).await;
        self.end();
        made
    }

    async fn evaluator_now(
        &self,
        request: StageRequest,
        stop: &CancellationToken,
    ) -> Result<Evaluator, EngineError> {
        // Where nothing is declared, functions can be asked for all the same; so little is needed
        // to destroy, too.
        let loaded = match lang::config::is_config_dir(&self.settings.workspace) {
            true => self.read_with(&request, true).await?,
            false => {
                let mode = StageMode::Destroy;
                self.read(&StageRequest { mode, ..request }).await?
            }
        };
        let state = self.state().await?;
        self.learn(&loaded, &state);
        let (root, schemas, sought) = self.providers(&loaded, &state, &self.current()).await?;
        let secrets = self.pool.secrets().clone();
        let tell = |diags: &Diagnostics| {
            for d in tell_all(diags.iter(), &loaded.sources, &secrets) {
                self.diagnose(d);
            }
        };
        tell(&loaded.value_errors);
        let mut prior = PriorState::new(&state);
        prior.translate(&sought.found);
        let (Ok(moved) | Err(moved)) = moves::apply(&root, &mut prior);
        tell(&moved);
        let nodes = nodes(&root, &schemas, &prior);
        // It is asked long after it was made.
        let cancel = CancellationToken::new();
        let around = self.around(
            &loaded,
            &root,
            &schemas,
            // Nothing is foreseen: what is not there is unknown, and the clock may be read.
            Phase::Apply,
            now_ms(),
            &cancel,
            Sights::default(),
        );
        let mut given = loaded.given.clone();
        for (name, variable) in &root.variables {
            if variable.default.is_none() && !given.contains_key(name) {
                let unknown = Value::unknown(variable.ty.ty.clone());
                given.insert(name.clone(), (unknown, None));
            }
        }
        let pooled = Arc::new(Pooled {
            pool: self.pool.clone(),
        });
        let walk = Arc::new(Walk::new(around, nodes, pooled, stop.clone(), given));
        let said = work_out(&walk, &Arc::new(prior)).await;
        tell(&said);
        Ok(Evaluator { walk, secrets })
    }
}
