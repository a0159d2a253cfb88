//! Evaluation of expressions for the console and the command line.

use super::command::Operations;
use super::reading::nodes;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::provider_resolution::Pooled;
use crate::stage::evaluate::{evaluate, evaluated, type_argument, written_type};
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::moves;
use crate::stage::prior::PriorState;
use crate::stage::scope::Phase;
use crate::stage::walk::Walk;
use cty::Value;
use lang::diag::Diagnostics;
use lang::literal::format_value;
use model::secrets::Secrets;
use model::*;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Snapshot of configuration, variables and state, in which expressions are evaluated.
pub struct Evaluator {
    walk: Arc<Walk>,
    secrets: Secrets,
}

impl Evaluator {
    /// Evaluates an expression and formats its value in the language's syntax. Hides sensitive
    /// values.
    ///
    /// # Errors
    /// The expression's diagnostics.
    pub fn evaluate(&self, text: &str) -> Result<String, Vec<Diagnostic>> {
        // `type(…)` prints a type instead of a value.
        let inner = type_argument(text);
        let (value, diags) = evaluated(&self.walk, inner.as_deref().unwrap_or(text));
        if diags.has_errors() {
            return Err(convert_all(
                diags.iter(),
                &self.walk.context.sources,
                &self.secrets,
            ));
        }
        Ok(match inner {
            Some(_) => written_type(&value),
            None => format_value(&value, 0),
        })
    }

    /// Names that can start an expression.
    pub fn names(&self) -> Vec<String> {
        let root = &self.walk.context.root;
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

impl Operations {
    /// Creates an evaluator. Emits the configuration's diagnostics; values that depend on an error
    /// are unknown.
    pub async fn evaluator(&self, request: StageRequest) -> Result<Evaluator, EngineError> {
        let command = self.begin().await;
        self.evaluator_now(request, &command.stop).await
    }

    async fn evaluator_now(
        &self,
        request: StageRequest,
        stop: &CancellationToken,
    ) -> Result<Evaluator, EngineError> {
        // Without configuration files, functions still work: destroy mode accepts an empty
        // directory.
        let loaded = match lang::config::is_config_dir(&self.settings.workspace) {
            true => self.read_with(&request, true).await?,
            false => {
                let mode = StageMode::Destroy;
                self.read(&StageRequest { mode, ..request }).await?
            }
        };
        let state = self.state().await?;
        self.register_sensitive(&loaded, &state);
        let (root, schemas, sought) = self.providers(&loaded, &state, &self.current()).await?;
        let secrets = self.pool.secrets().clone();
        let tell = |diags: &Diagnostics| {
            for d in convert_all(diags.iter(), &loaded.sources, &secrets) {
                self.diagnose(d);
            }
        };
        tell(&loaded.value_errors);
        let mut prior = PriorState::new(&state);
        prior.translate(&sought.resolved);
        let (Ok(moved) | Err(moved)) = moves::apply(&root, &mut prior);
        tell(&moved);
        let nodes = nodes(&root, &schemas, &prior);
        // The evaluator outlives this run, so it is not bound to its switches.
        let cancel = CancellationToken::new();
        let around = self.around(
            &loaded,
            &root,
            &schemas,
            // Phase of an apply: nothing is planned, missing values are unknown, and the clock may
            // be read.
            Phase::Apply,
            now_ms(),
            &cancel,
            ExternalInputs::default(),
        );
        let mut given = loaded.given.clone();
        // The evaluator does not prompt for values; missing ones are unknown.
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
        let said = evaluate(&walk, &Arc::new(prior)).await;
        tell(&said);
        Ok(Evaluator { walk, secrets })
    }
}
