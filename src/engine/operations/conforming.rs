//! Checks of a provider against the protocol's rules: launches it, checks its process and its
//! types, and destroys everything that the checks created.

mod cleaning;
mod functions;
mod process;

use super::command::{Command, Operations};
use crate::conformance::{self, Checked, Records, Subject};
use crate::error::EngineError;
use crate::stage::managed::Prior;
use calls::{Answer as _, CallContext};
use conform::{Check, Given, GivenError, Leftover, Report, Status, TypeReport, starter_value};
use cty::Value;
use cty::schema::{Block, Schema};
use model::secrets::Secrets;
use model::{ConfigKey, EventKind, PluginId, now_ms};
use process::{LogNoise, Process};
use provider::{LINK, Provider, ProviderSchema};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum number of types of a run that names none.
const MAX_TYPES: usize = 30;
/// Maximum number of listed reports.
const MAX_REPORTS: u32 = 100;
/// Deadline for the destruction of what an interrupted run has created.
const CLEAN_UP: Duration = Duration::from_secs(300);

/// Request to check a provider.
#[derive(Debug, Clone)]
pub struct ConformRequest {
    pub plugin: PluginId,
    /// Resource types to check. If empty: those of `given`, otherwise all.
    pub types: Vec<String>,
    /// Configurations of the operator; starters are used for other types.
    pub given: Option<Given>,
    /// Prefix of the texts in starters.
    pub prefix: String,
    /// True to create objects; false to stop after planning.
    pub creates: bool,
    /// Deadline of each call.
    pub call_deadline: Duration,
    /// Deadline of the run.
    pub deadline: Duration,
    /// Longest start that passes.
    pub start_limit: Duration,
    /// Largest memory of the process that passes, in MiB.
    pub memory_limit_mib: u64,
}

/// Error of a request to check a provider.
#[derive(Debug, thiserror::Error)]
enum ConformError {
    #[error(
        "{plugin} has no resource type {name:?}; `flightdeck plugins --installed --launch {plugin}` lists its types"
    )]
    NoType { plugin: PluginId, name: String },
    #[error(
        "{plugin} has {count} resource types; name those to check with --type, or give configurations with --config"
    )]
    ManyTypes { plugin: PluginId, count: usize },
}

/// Object that still exists.
struct Remaining {
    type_name: String,
    config: Value,
    object: Prior,
    record: Option<u64>,
}

/// A running check of a provider.
struct Run<'r> {
    request: &'r ConformRequest,
    secrets: &'r Secrets,
    schemas: Arc<ProviderSchema>,
    stop: CancellationToken,
    ends: Instant,
    report: Report,
    /// Objects that still exist.
    objects: Vec<Remaining>,
    records: &'r Records,
    /// Type with the slowest create, whose objects can be destroyed, and the duration.
    slowest: Option<(Duration, String)>,
}

impl Operations {
    /// Checks a provider. A failed check is part of the report.
    pub async fn conform(
        &self,
        request: &ConformRequest,
        records: &Records,
    ) -> Result<Report, EngineError> {
        let mut command = self.begin().await;
        let began = Instant::now();
        // Listens before the launch, so that lines of the start count, too.
        let noise = LogNoise::listen(&self.bus, &request.plugin);
        let mut run = self.run(request, records, command.stop.clone());
        let process = Process::new(&self.pool, &self.bus, request);
        let mut cancelled = None;
        if let Some(provider) = self.started(&mut run, &process).await {
            run.schemas = provider.schema(&CallContext::general(&run.stop)).await?;
            let types = run.types()?;
            self.check_types(&mut run, types, &*provider).await;
            let functions = match run.end_reason() {
                Some(why) => Check::new("functions", Status::Skipped, why),
                None => functions::check(&*provider, &run.schemas, &run.context()).await,
            };
            run.report.checks.push(functions);
            // An interruption may have sent this request already.
            if !run.stop.is_cancelled() {
                cancelled = run.cancellable(&process);
                if cancelled.is_none() {
                    run.report.checks.push(process.cancel(&*provider).await);
                }
            }
        }
        // Objects are destroyed first, because the next checks end the process.
        self.clean_up(&mut run, &mut command).await;
        let checks = process.end(&noise).await;
        run.report.checks.extend(checks);
        if let Some(type_name) = cancelled {
            self.cancel_create(&mut run, &type_name).await;
            self.clean_up(&mut run, &mut command).await;
        }
        let mut report = run.report;
        report.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        process.describe(&mut report);
        // Redacted at the end, because the evidence of any check may contain a secret.
        self.redact(&mut report);
        if let Some(why) = records.failure() {
            let text = format!("{why}; `plugin conform --clean` may know an earlier object");
            self.bus.emit(EventKind::Notice { text });
        }
        if let Err(error) = self.keep(&report).await {
            // The report itself must not be lost.
            let text = format!("cannot store the report: {error}; --history will not list it");
            self.bus.emit(EventKind::Notice { text });
        }
        Ok(report)
    }

    fn run<'r>(
        &'r self,
        request: &'r ConformRequest,
        records: &'r Records,
        stop: CancellationToken,
    ) -> Run<'r> {
        Run {
            request,
            secrets: self.pool.secrets(),
            schemas: Arc::default(),
            stop,
            ends: Instant::now() + request.deadline,
            report: Report {
                plugin: request.plugin.to_string(),
                began: now_ms(),
                creates: request.creates,
                ..Report::default()
            },
            objects: Vec::new(),
            records,
            slowest: None,
        }
    }

    /// Stores a report, if this engine may write.
    async fn keep(&self, report: &Report) -> Result<(), EngineError> {
        if !self.settings.access.can_write() {
            return Ok(());
        }
        let text = serde_json::to_string(report).map_err(EngineError::refused)?;
        Ok(self.memory.store().put_conform_report(text).await?)
    }

    /// Returns the stored reports, newest first.
    pub async fn conform_reports(&self) -> Result<Vec<Report>, EngineError> {
        let texts = self.memory.store().conform_reports(MAX_REPORTS).await?;
        let reports = texts.iter().map(|text| serde_json::from_str(text));
        reports
            .collect::<Result<_, _>>()
            .map_err(EngineError::refused)
    }

    /// Launches the provider; records the checks of its start.
    async fn started(&self, run: &mut Run<'_>, process: &Process<'_>) -> Option<Arc<dyn Provider>> {
        let ctx = CallContext::general(&run.stop);
        match self.provider(&run.request.plugin, &ctx).await {
            Ok(provider) => {
                run.report.checks.extend(process.started());
                Some(provider)
            }
            Err(error) => {
                run.report
                    .checks
                    .extend(process.not_started(&error.to_string()));
                None
            }
        }
    }

    async fn check_types(&self, run: &mut Run<'_>, types: Vec<String>, plain: &dyn Provider) {
        let configured = match run.provider_config() {
            Ok(config) => self.configured(run, plain, config).await,
            Err(why) => Err((Status::Skipped, why)),
        };
        let provider = match configured {
            Ok(provider) => {
                let check = Check::new("configure", Status::Pass, "the configuration is accepted");
                run.report.checks.push(check);
                provider
            }
            Err((status, why)) => {
                let check = Check::new("configure", status, &why);
                run.report.checks.push(check);
                // Without a single check of a type, the run must not count as passed.
                run.report.stopped = Some(format!("the provider is not configured: {why}"));
                let skipped = types.iter();
                let skipped = skipped.map(|name| conformance::skipped(name, "not configured"));
                run.report.types = skipped.collect();
                return;
            }
        };
        for name in types {
            run.check_type(&name, &*provider).await;
        }
    }

    /// Returns the configured provider, or the failure of its configuration.
    async fn configured(
        &self,
        run: &Run<'_>,
        plain: &dyn Provider,
        config: Value,
    ) -> Result<Arc<dyn Provider>, (Status, String)> {
        let failed = |why: String| (Status::Fail, why);
        let ctx = run.context();
        // The protocol validates a configuration before a provider is configured with it.
        let answer = plain.validate_provider(config.clone(), &ctx).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        if let Some(error) = answer.first_error() {
            return Err(failed(format!("{}: {}", error.summary, error.detail)));
        }
        let address = plain.info().address.clone();
        let key = ConfigKey::of_root(address.as_str()).to_string();
        let found = self.pool.configured(&address, &key, &config, &ctx).await;
        let (provider, is_done) = found.map_err(|error| failed(error.to_string()))?;
        // The pool may have configured this process already.
        if is_done {
            return Ok(provider);
        }
        let answer = provider.configure(config, &ctx).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        match answer.first_error() {
            Some(error) => Err(failed(format!("{}: {}", error.summary, error.detail))),
            None => Ok(provider),
        }
    }

    /// Asks a new process to stop while it creates an object, because a provider that was asked may
    /// refuse every later call.
    async fn cancel_create(&self, run: &mut Run<'_>, type_name: &str) {
        match self.restarted(run).await {
            Ok(provider) => run.check_cancel(type_name, &*provider).await,
            Err((check, why)) => run.not_restarted(check, &why),
        }
    }

    /// Destroys the remaining objects with a new process, because the old one may have been asked
    /// to stop its work.
    async fn clean_up(&self, run: &mut Run<'_>, command: &mut Command<'_>) {
        if run.stop.is_cancelled() {
            run.report.stopped = Some("interrupted".to_owned());
        } else if Instant::now() >= run.ends {
            run.report.stopped = Some("the deadline of the run has passed".to_owned());
        }
        let objects = std::mem::take(&mut run.objects);
        if objects.is_empty() {
            return;
        }
        (run.stop, run.ends) = (command.begin_clean_up(), Instant::now() + CLEAN_UP);
        let provider = self.restarted(run).await;
        // In reverse, because a later object may depend on an earlier one.
        for remaining in objects.into_iter().rev() {
            let Remaining {
                type_name,
                config,
                object,
                record,
            } = remaining;
            let result = match &provider {
                Ok(_) if Instant::now() >= run.ends => {
                    Err("the time for destroying the remaining objects has passed".to_owned())
                }
                Ok(provider) => {
                    let mut left = run.report.leftovers.iter();
                    let is_doubtful = left.any(|left| left.type_name == type_name);
                    let subject = run.subject(&**provider, &type_name, config, false);
                    conformance::clean_up(subject, &object, is_doubtful).await
                }
                Err((_, why)) => Err(why.clone()),
            };
            if let (Ok(()), Some(record)) = (&result, record) {
                run.records.remove(record);
            }
            let left = result.err().map(|why| Leftover {
                id: conformance::id_of(&object.value),
                type_name,
                why,
            });
            run.report.leftovers.extend(left);
        }
    }

    /// Launches and configures the provider anew.
    ///
    /// # Errors
    /// The check that fails, and the reason.
    async fn restarted(&self, run: &Run<'_>) -> Result<Arc<dyn Provider>, (&'static str, String)> {
        let not_started = |why: String| ("start", why);
        let not_configured = |why: String| ("configure", why);
        let plugin = self.pool.plugins().get(&run.request.plugin);
        let gone = || not_started("the plugin is no longer registered".to_owned());
        let started = plugin.ok_or_else(gone)?.restart().await;
        started.map_err(|error| not_started(error.to_string()))?;
        let ctx = run.context();
        let plain = self.provider(&run.request.plugin, &ctx).await;
        let plain = plain.map_err(|error| not_started(error.to_string()))?;
        // The new process has no configuration yet.
        let config = run.provider_config().map_err(not_configured)?;
        let configured = self.configured(run, &*plain, config).await;
        configured.map_err(|(_, why)| not_configured(why))
    }

    fn redact(&self, report: &mut Report) {
        let redact = |text: &mut String| {
            *text = fetch::redacted(&self.pool.secrets().redact(text));
        };
        let types = report.types.iter_mut().flat_map(|of| &mut of.checks);
        for check in report.checks.iter_mut().chain(types) {
            redact(&mut check.evidence);
        }
        for left in &mut report.leftovers {
            left.id.iter_mut().for_each(redact);
            redact(&mut left.why);
        }
        report.stopped.iter_mut().for_each(redact);
    }
}

impl Run<'_> {
    /// Returns the types to check.
    fn types(&self) -> Result<Vec<String>, EngineError> {
        let plugin = self.request.plugin.clone();
        let given = self.request.given.iter().flat_map(Given::types);
        let named: Vec<String> = match self.request.types.is_empty() {
            false => self.request.types.clone(),
            true => given.map(str::to_owned).collect(),
        };
        let is_known = |name: &&String| self.schemas.resources.get(name).is_some();
        if let Some(name) = named.iter().find(|name| !is_known(name)) {
            let name = name.clone();
            return Err(EngineError::refused(ConformError::NoType { plugin, name }));
        }
        for name in &named {
            // A mistake in the operator's file says nothing about the provider.
            let schema = self.schemas.resources.get(name);
            let given = schema.map(|schema| self.given(name, schema)).transpose();
            given.map_err(EngineError::refused)?;
        }
        if !named.is_empty() {
            return Ok(named);
        }
        let all = self.schemas.resources.iter();
        let all: Vec<String> = all
            .map(|(name, _)| name.clone())
            .filter(|name| name != LINK)
            .collect();
        // Very many types would take long, and could create many objects by mistake.
        match all.len() {
            count if count > MAX_TYPES => Err(EngineError::refused(ConformError::ManyTypes {
                plugin,
                count,
            })),
            _ => Ok(all),
        }
    }

    /// Returns the configuration of the provider, or the reason for its absence.
    fn provider_config(&self) -> Result<Value, String> {
        let block = &self.schemas.provider.block;
        let given = self.request.given.as_ref();
        let given = given.map(|given| given.provider(block)).transpose();
        if let Some(config) = given.map_err(|error| error.to_string())?.flatten() {
            self.secrets.register_by_schema(block, &config);
            return Ok(config);
        }
        let required = required_arguments(block);
        match required.is_empty() {
            true => Ok(block.empty_value()),
            false => Err(format!(
                "it needs {}; give a provider block with --config",
                required.join(", ")
            )),
        }
    }

    /// Returns the reason that no further check may begin, if there is one.
    fn end_reason(&self) -> Option<&'static str> {
        conformance::end_reason(&self.stop, self.ends)
    }

    fn context(&self) -> CallContext {
        CallContext {
            deadline: Some(self.request.call_deadline),
            ..CallContext::general(&self.stop)
        }
    }

    async fn check_type(&mut self, name: &str, provider: &dyn Provider) {
        if let Some(why) = self.end_reason() {
            let report = conformance::skipped(name, why);
            return self.report.types.push(report);
        }
        let Some(schema) = self.schemas.resources.get(name) else {
            return;
        };
        let (config, is_given) = match self.config_of(name, schema) {
            Ok(found) => found,
            Err(error) => {
                let report = conformance::skipped(name, &format!("no configuration: {error}"));
                return self.report.types.push(report);
            }
        };
        let subject = self.subject(provider, name, config.clone(), is_given);
        if let Some(checked) = conformance::check(subject).await {
            let is_slower = |took: &Duration| match &self.slowest {
                Some((most, _)) => took > most,
                None => true,
            };
            let took = checked.created_in.filter(|_| checked.object.is_none());
            if let Some(took) = took.filter(is_slower) {
                self.slowest = Some((took, name.to_owned()));
            }
            let report = self.keep(checked, config);
            self.report.types.push(report);
        }
    }

    /// Checks a request to stop during a create.
    async fn check_cancel(&mut self, name: &str, provider: &dyn Provider) {
        let schema = self.schemas.resources.get(name);
        // The checks of the type have used this configuration already.
        let Some(Ok((config, is_given))) = schema.map(|of| self.config_of(name, of)) else {
            return;
        };
        let subject = self.subject(provider, name, config.clone(), is_given);
        if let Some(checked) = conformance::cancel(subject).await {
            let report = self.keep(checked, config);
            self.report.checks.extend(report.checks);
        }
    }

    /// Records that the start or the configuration of a later launch failed, which the first one
    /// cannot show.
    fn not_restarted(&mut self, check: &str, why: &str) {
        let skip = |why| Check::new("cancel", Status::Skipped, why);
        if self.stop.is_cancelled() {
            return self.report.checks.push(skip("the run was interrupted"));
        }
        let why = format!("it passed at the first launch, but not at a later one: {why}");
        let checks = &mut self.report.checks;
        checks.retain(|made| made.id != check);
        checks.push(Check::new(check, Status::Fail, why));
        checks.push(skip("the provider is not ready at a later launch"));
    }

    /// Records the remaining object and the leftovers of a type; returns its report.
    fn keep(&mut self, checked: Checked, config: Value) -> TypeReport {
        let type_name = &checked.report.type_name;
        let object = checked.object.map(|object| Remaining {
            type_name: type_name.clone(),
            config,
            object,
            record: checked.record,
        });
        self.objects.extend(object);
        self.report.leftovers.extend(checked.leftovers);
        checked.report
    }

    /// Returns the type for the check of a request to stop during a create, if it may be made.
    fn cancellable(&self, process: &Process<'_>) -> Option<String> {
        // Remaining objects are destroyed first, with another end of the run.
        let is_last = self.objects.is_empty() && Instant::now() < self.ends;
        let (_, name) = self.slowest.as_ref()?;
        (is_last && !process.registers()).then(|| name.clone())
    }

    /// Returns the configuration of a type; true if it is the operator's, and not the starter.
    fn config_of(&self, name: &str, schema: &Schema) -> Result<(Value, bool), GivenError> {
        match self.given(name, schema)? {
            Some(config) => {
                // Providers repeat values in their errors.
                self.secrets.register_by_schema(&schema.block, &config);
                Ok((config, true))
            }
            None => Ok((starter_value(&schema.block, &self.request.prefix)?, false)),
        }
    }

    /// Returns the operator's configuration of a type.
    fn given(&self, name: &str, schema: &Schema) -> Result<Option<Value>, GivenError> {
        let given = self.request.given.as_ref();
        let given = given.map(|given| given.resource(name, &schema.block));
        Ok(given.transpose()?.flatten())
    }

    fn subject<'s>(
        &'s self,
        provider: &'s dyn Provider,
        type_name: &'s str,
        config: Value,
        is_given: bool,
    ) -> Subject<'s> {
        Subject {
            provider,
            schemas: &self.schemas,
            type_name,
            config,
            is_given,
            prefix: &self.request.prefix,
            creates: self.request.creates,
            call_deadline: self.request.call_deadline,
            ends: self.ends,
            stop: &self.stop,
            records: self.records,
        }
    }
}

/// Returns the arguments and blocks that a configuration must have.
fn required_arguments(block: &Block) -> Vec<&str> {
    let arguments = block.attributes.iter().filter(|(_, a)| a.required);
    let blocks = block.blocks.iter().filter(|(_, b)| b.min_items > 0);
    let names = arguments.map(|(name, _)| &**name);
    names.chain(blocks.map(|(name, _)| &**name)).collect()
}
