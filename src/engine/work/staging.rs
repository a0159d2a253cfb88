//! Working out stages, and finding them again.

use super::*;

impl Work {
    /// Works out a stage.
    pub async fn stage(&self, request: StageRequest) -> Result<Arc<StageSummary>, EngineError> {
        let _turn = self.turn.lock().await;
        self.lock().await?;
        let switches = self.begin();
        let result = self.stage_locked(request, &switches).await;
        self.end();
        self.unlock().await;
        if let Err(error) = &result {
            let errors = error
                .diagnostics()
                .iter()
                .filter(|d| d.severity == Severity::Error)
                .count();
            self.bus.emit(EventKind::StageFailed {
                stage: None,
                errors: u32::try_from(errors).unwrap_or(u32::MAX),
                text: error.to_string(),
            });
        }
        result
    }

    pub(super) async fn stage_locked(
        &self,
        request: StageRequest,
        switches: &Switches,
    ) -> Result<Arc<StageSummary>, EngineError> {
        if let Some(name) = &request.name {
            stage_name(name)?;
        }
        let request = self.resolved(request).await?;
        let store = self.memory.store();
        let id = store.next_stage_id().await?;
        self.bus.emit(EventKind::StageStarted(StageStarted {
            stage: id,
            mode: request.mode,
            resources: 0,
        }));
        // Whoever holds the lock for long is told with each stage.
        self.say_unknown().await?;
        let state = self.memory.state().read().await?;
        let loaded = Arc::new(self.read(&request).await?);
        self.learn(&loaded, &state);
        let (root, schemas, sought) = self.providers(&loaded, &state, switches).await?;
        self.tell(tell_all(
            loaded.value_errors.iter(),
            &loaded.sources,
            self.pool.secrets(),
        ))?;
        let (last, bus) = (std::sync::atomic::AtomicI64::new(0), self.bus.clone());
        let progress = move |done: u32, total: u32, now: &str| {
            let at = now_ms();
            let before = last.load(std::sync::atomic::Ordering::Relaxed);
            if at - before >= PROGRESS_EVERY_MS || done == total {
                last.store(at, std::sync::atomic::Ordering::Relaxed);
                bus.emit(EventKind::StageProgress {
                    stage: id,
                    done,
                    total,
                    now: now.to_owned(),
                });
            }
        };
        let name = request.name.clone();
        let found = (root.clone(), schemas.clone(), sought.digest);
        let order = Order {
            id,
            state,
            progress: Arc::new(progress),
            ..self.order(request, &loaded, found, switches)
        };
        let (stage, diags) = staged_anew(order).await;
        if switches.stop.is_cancelled() {
            // What fails then fails because of that; what is left open is worth knowing.
            let warnings = diags.iter().filter(|d| !d.is_error());
            self.tell(tell_all(warnings, &loaded.sources, self.pool.secrets()))?;
            return Err(EngineError::Cancelled);
        }
        self.tell(tell_all(diags.iter(), &loaded.sources, self.pool.secrets()))?;
        let Some(stage) = stage else {
            return Err(EngineError::Refused("nothing could be staged".to_owned()));
        };
        let show = || show::shown(&stage, self.pool.secrets());
        let (record, summary) = keep::record(&stage, show, loaded.snapshot.clone(), name)?;
        let summary = Arc::new(summary);
        store.put_stage(record).await?;
        *lock(&self.newest) = Some(Arc::new(Staged {
            stage: Arc::new(stage),
            loaded,
            root,
            schemas,
        }));
        self.bus.emit(EventKind::Staged(summary.clone()));
        Ok(summary)
    }

    /// What is wrong with the configuration whatever its variables are and whatever is in the
    /// state; told as it is found.
    pub async fn validate(&self, request: StageRequest) -> Result<(), EngineError> {
        let _turn = self.turn.lock().await;
        let switches = self.begin();
        let result = self.validate_now(request, &switches).await;
        self.end();
        result
    }

    async fn validate_now(
        &self,
        request: StageRequest,
        switches: &Switches,
    ) -> Result<(), EngineError> {
        let loaded = self.read_with(&request, true).await?;
        let (root, schemas, sought) = self.providers(&loaded, &State::default(), switches).await?;
        let order = self.order(request, &loaded, (root, schemas, sought.digest), switches);
        let diags = validated(&order).await;
        if switches.stop.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        self.tell(tell_all(diags.iter(), &loaded.sources, self.pool.secrets()))
    }

    /// What is to be worked out, from what was read and found; on no state, and with nobody to tell
    /// how far it is.
    fn order(
        &self,
        request: StageRequest,
        loaded: &Loaded,
        (root, schemas, plugins): (
            Arc<lang::config::Module>,
            HashMap<Arc<str>, Arc<ProviderSchema>>,
            String,
        ),
        switches: &Switches,
    ) -> Order {
        Order {
            id: 0,
            request,
            root,
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            schemas,
            state: State::default(),
            given: loaded.given.clone(),
            digests: Digests {
                config: loaded.config_digest.clone(),
                variables: loaded.variables_digest.clone(),
                plugins,
            },
            providers: Arc::new(Pooled {
                pool: self.pool.clone(),
            }),
            cancel: switches.stop.clone(),
            kill: switches.kill.clone(),
            parallelism: self.settings.parallelism,
            progress: Arc::new(|_, _, _| {}),
        }
    }

    /// The providers that a configuration and a state use: found, launched, their schemas fetched.
    pub(super) async fn providers(
        &self,
        loaded: &Loaded,
        state: &State,
        switches: &Switches,
    ) -> Result<
        (
            Arc<lang::config::Module>,
            HashMap<Arc<str>, Arc<ProviderSchema>>,
            Sought,
        ),
        EngineError,
    > {
        let sought = self.seek(loaded, state).await?;
        let mut used = load::used(&loaded.root);
        used.extend(load::used_by_calls(&loaded.root, &loaded.snapshot));
        used.extend(
            state
                .objects
                .iter()
                .filter_map(|o| Some(ConfigKey::parse(&o.provider)?.address)),
        );
        let missing: Vec<Diagnostic> = used
            .iter()
            .filter_map(|address| {
                let why = sought.missing.get(address)?;
                let untrusted = sought.untrusted.iter().any(|p| p.why() == *why);
                let summary = if untrusted {
                    "A plugin that comes with the workspace needs a yes"
                } else {
                    "Provider not found"
                };
                let mut d = lang::diag::Diagnostic::error(summary, why.clone());
                d.subject = load::place_of(&loaded.root, address);
                Some(tell(&d, &loaded.sources, self.pool.secrets()))
            })
            .collect();
        if let Some(first) = missing.first() {
            // A plugin that is not there has not registered either.
            let error = EngineError::from(PluginTrouble::Missing(first.detail.clone()));
            missing.iter().for_each(|d| self.diagnose(d.clone()));
            return Err(error);
        }
        let root = load::pin(&loaded.root, &sought.found);
        let wanted: BTreeSet<Arc<str>> = used
            .iter()
            .map(|a| sought.found.get(a).unwrap_or(a).clone())
            .chain([Arc::from(BUILTIN_PROVIDER)])
            .collect();
        let ctx = CallContext::general(&switches.stop);
        let (schemas, bad) = source::schemas(&self.pool, &wanted, &ctx).await;
        self.refuse(bad, &loaded.root, &loaded.sources)?;
        Ok((root, schemas, sought))
    }

    pub(super) fn refuse(
        &self,
        bad: BTreeMap<Arc<str>, ProviderError>,
        root: &lang::config::Module,
        sources: &lang::source::SourceMap,
    ) -> Result<(), EngineError> {
        let mut first = None;
        for (address, error) in bad {
            let mut d = lang::diag::Diagnostic::error(
                "A required plugin did not register",
                error.to_string(),
            );
            d.subject = load::place_of(root, &address);
            self.diagnose(tell(&d, sources, self.pool.secrets()));
            first.get_or_insert(error);
        }
        match first {
            None => Ok(()),
            Some(error @ ProviderError::Cancelled { .. }) => {
                tracing::debug!(%error, "staging was cancelled");
                Err(EngineError::Cancelled)
            }
            Some(error) => Err(error.into()),
        }
    }

    /// A stage worked out before; the newest where none is named.
    pub async fn staged(&self, stage: Option<StageId>) -> Result<Arc<StageSummary>, EngineError> {
        let store = self.memory.store();
        let known = lock(&self.newest)
            .as_ref()
            .filter(|s| stage.is_none_or(|id| id == s.stage.id))
            .cloned();
        if let Some(staged) = known {
            let mut summary = show::shown(&staged.stage, self.pool.secrets());
            summary.left = store
                .stage(staged.stage.id)
                .await?
                .map(|r| r.left)
                .unwrap_or_default();
            return Ok(summary.into());
        }
        let record = match stage {
            Some(id) => store.stage(id).await?,
            None => store.latest_stage().await?,
        };
        let record = record.ok_or_else(|| match stage {
            Some(id) => EngineError::NotFound(format!(
                "there is no stage #{id}; `flightdeck stage` works one out"
            )),
            None => EngineError::NotFound(
                "nothing has been staged yet; `flightdeck stage` works out the changes".to_owned(),
            ),
        })?;
        let read = serde_json::from_str(&record.summary);
        let mut summary: StageSummary = read.map_err(EngineError::unreadable(record.id))?;
        summary.left = record.left;
        Ok(summary.into())
    }

    /// The whole stage: the newest one as it is, an older one from the record; refused where it
    /// does not fit any more.
    pub(super) async fn whole(&self, id: StageId, fresh: bool) -> Result<Arc<Staged>, EngineError> {
        let known = lock(&self.newest)
            .as_ref()
            .filter(|s| s.stage.id == id)
            .cloned();
        let staged = match known {
            Some(staged) => staged,
            None => self.restore(id).await?,
        };
        if fresh {
            self.still_fits(&staged).await?;
        }
        Ok(staged)
    }

    pub(super) async fn restore(&self, id: StageId) -> Result<Arc<Staged>, EngineError> {
        let store = self.memory.store();
        let record = store.stage(id).await?.ok_or_else(|| {
            EngineError::NotFound(format!(
                "there is no stage #{id}; `flightdeck stage` works one out"
            ))
        })?;
        let request = keep::asked(&record)?.request;
        let loaded = Arc::new(self.read(&request).await?);
        if loaded.config_digest != record.config_digest {
            return Err(EngineError::Stale {
                stage: id,
                what: moved(&record.snapshot, &loaded.snapshot),
            });
        }
        let state = self.memory.state().read().await?;
        let (root, schemas, _) = self.providers(&loaded, &state, &self.current()).await?;
        let stage = keep::restore(&record, |address, resource| {
            let schemas = schemas.get(address)?;
            crate::engine::stage::nodes::schema_of(schemas, resource).cloned()
        })?;
        Ok(Arc::new(Staged {
            stage: Arc::new(stage),
            loaded,
            root,
            schemas,
        }))
    }

    /// Whether what the stage was made from is still what is there.
    pub(super) async fn still_fits(&self, staged: &Staged) -> Result<(), EngineError> {
        let id = staged.stage.id;
        let stale = |what: String| EngineError::Stale { stage: id, what };
        let now = self.read(&staged.stage.request).await?;
        if now.config_digest != staged.stage.digests.config {
            return Err(stale(moved(&staged.loaded.snapshot, &now.snapshot)));
        }
        let dir = now.dir.clone();
        let seen = staged.stage.sights.clone();
        let moved_on = tokio::task::spawn_blocking(move || sights::moved_on(&seen, &dir)).await;
        let moved_on = moved_on.map_err(EngineError::task("files could not be looked at"))?;
        if !moved_on.is_empty() {
            return Err(stale(format!(
                "changed since it was staged: {}",
                some(&moved_on)
            )));
        }
        if now.variables_digest != staged.stage.digests.variables {
            return Err(stale(
                "values of variables are not the same any more".to_owned(),
            ));
        }
        let state = self.memory.state().read().await?;
        if state.serial != staged.stage.state_serial {
            return Err(stale(format!(
                "the state has changed since (serial {} then, {} now)",
                staged.stage.state_serial, state.serial
            )));
        }
        let sought = self.seek(&now, &state).await?;
        if sought.digest != staged.stage.digests.plugins {
            return Err(stale(
                "plugins are not the same executables any more".to_owned(),
            ));
        }
        Ok(())
    }

    /// Terraform's plan representation of a stage.
    pub async fn plan_json(&self, id: StageId) -> Result<serde_json::Value, EngineError> {
        let staged = self.whole(id, false).await?;
        let state = self.memory.state().read().await?;
        Ok(plan_json::plan_json(&staged.stage, &state))
    }

    /// Changes what a stage's deploy would apply.
    pub async fn select(&self, id: StageId, how: Select) -> Result<Selection, EngineError> {
        let staged = self.whole(id, false).await?;
        let store = self.memory.store();
        let left: BTreeSet<String> = store
            .stage(id)
            .await?
            .map(|r| r.left.into_iter().collect())
            .unwrap_or_default();
        let selection = select::select(&select::references(&staged.stage), &left, &how)?;
        store.set_left(id, selection.left.clone()).await?;
        self.bus.emit(EventKind::Selected {
            stage: id,
            taken: selection.taken.clone(),
            left: selection.left.clone(),
        });
        Ok(selection)
    }
}

/// Names, at most so many that they can be read.
fn some(names: &[String]) -> String {
    const NAMED: usize = 8;
    let more = names.len().saturating_sub(NAMED);
    let named = names[..names.len() - more].join(", ");
    if more == 0 {
        named
    } else {
        format!("{named}, and {more} more")
    }
}

/// Which files are not as they were.
pub(super) fn moved(then: &[(String, String)], now: &[(String, String)]) -> String {
    let a: BTreeMap<&str, &str> = then.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let b: BTreeMap<&str, &str> = now.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let names: BTreeSet<&str> = a
        .keys()
        .chain(b.keys())
        .copied()
        .filter(|n| a.get(n) != b.get(n))
        .collect();
    format!(
        "the configuration has changed since ({})",
        names.into_iter().collect::<Vec<_>>().join(", ")
    )
}
