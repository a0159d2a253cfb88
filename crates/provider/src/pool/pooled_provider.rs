//! Provider handle that stays valid when its process is launched again: each call goes to the
//! current launch, through the slots of its lane. Calls interrupted by a crash fail; later calls go
//! to the new process.

use super::launched::Lease;
use super::process::PooledProcess;
use crate::*;
use async_trait::async_trait;
use calls::{Answer, Attempts, CallContext, Checked, Method, ProviderError};
use cty::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Provider handle that the pool returns.
pub(super) struct PooledProvider {
    process: Arc<PooledProcess>,
    info: ProviderInfo,
    configured: Configured,
}

/// Source of the provider configuration for calls through a handle.
enum Configured {
    /// The calls need no configuration.
    No,
    /// The process must have been configured.
    Process,
    /// The configuration is sent with each call.
    Call(Arc<Value>),
}

impl PooledProvider {
    pub(super) fn unconfigured(process: Arc<PooledProcess>) -> Self {
        let info = ProviderInfo {
            plugin: process.id().clone(),
            address: process.address().to_owned(),
            dialect: process.running_dialect(),
        };
        Self {
            process,
            info,
            configured: Configured::No,
        }
    }

    /// Creates a handle for calls to a configured process.
    pub(super) fn configured(process: Arc<PooledProcess>) -> Self {
        Self {
            configured: Configured::Process,
            ..Self::unconfigured(process)
        }
    }

    /// Creates a handle for calls that carry their configuration.
    pub(super) fn with(process: Arc<PooledProcess>, config: Value) -> Self {
        Self {
            configured: Configured::Call(Arc::new(config)),
            ..Self::unconfigured(process)
        }
    }

    /// Records the values of an answer that the schema marks as sensitive, for redaction.
    fn register_sensitive(&self, method: Method, type_name: &str, value: Option<&Value>) {
        let schema = self.process.known_schema();
        if let (Some(schema), Some(value)) = (
            schema
                .as_ref()
                .and_then(|s| s.schema_for_call(method, type_name)),
            value,
        ) && schema.block.contains_sensitive()
        {
            self.process
                .lane()
                .secrets()
                .register_by_schema(&schema.block, value);
        }
    }

    async fn current(&self, ctx: &CallContext) -> Result<Lease, ProviderError> {
        self.lease_process(&self.process, ctx).await
    }

    /// Returns the process whose slot the current call holds, held until the call is over.
    async fn seated(&self, ctx: &CallContext) -> Result<Lease, ProviderError> {
        let hold = match self.process.current_replica() {
            Some(mate) => self.lease_process(&mate, ctx).await?,
            None => self.lease_process(&self.process, ctx).await?,
        };
        Ok(hold.count_call())
    }

    async fn lease_process(
        &self,
        process: &PooledProcess,
        ctx: &CallContext,
    ) -> Result<Lease, ProviderError> {
        match self.configured {
            Configured::Process => process.current_configured(ctx).await,
            Configured::No | Configured::Call(_) => process.current(ctx).await,
        }
    }

    /// Returns the call's context, with the configuration if calls carry it.
    fn context<'c>(&self, ctx: &'c CallContext) -> Cow<'c, CallContext> {
        match &self.configured {
            Configured::Call(config) => Cow::Owned(CallContext {
                configuration: Some(config.clone()),
                ..ctx.clone()
            }),
            Configured::No | Configured::Process => Cow::Borrowed(ctx),
        }
    }
}

macro_rules! pass {
    ($self:ident, $method:ident, $ctx:ident, |$inner:ident| $call:expr) => {
        pass!($self, run, $method, $ctx, |$inner| $call)
    };
    // Variant for ephemeral resources: only the process that opened one knows it.
    ($self:ident, $run:ident, $method:ident, $ctx:ident, |$inner:ident| $call:expr) => {{
        let context = $self.context($ctx);
        let $ctx = context.as_ref();
        // Checked twice: a launch must not count against the method's deadline, and the process may
        // be replaced while the call waits for its slot.
        $self.current($ctx).await?;
        let call = async {
            // The slot may belong to another process of the configuration.
            let $inner = $self.seated($ctx).await?;
            $call.await
        };
        $self.process.lane().$run(Method::$method, $ctx, call).await
    }};
}

/// As `pass`, and repeats calls that failed temporarily.
macro_rules! again {
    ($self:ident, $method:ident, $ctx:ident, |$inner:ident| $call:expr) => {{
        let context = $self.context($ctx);
        let $ctx = context.as_ref();
        let is_transient =
            |error: &ProviderError| $self.process.dialect().is_transient(Method::$method, error);
        let mut attempts = Attempts::at($self.process.lane(), Method::$method, $ctx);
        // Bounded by the settings of attempts.
        loop {
            // Outside the deadline, as in `pass`.
            $self.current($ctx).await?;
            let call = async {
                let $inner = $self.seated($ctx).await?;
                $call.await
            };
            if let Some(result) = attempts.next(is_transient, call).await {
                break result;
            }
        }
    }};
}

#[async_trait]
impl Provider for PooledProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        self.process.known_schema()
    }

    async fn schema(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        // The schema is fetched when the adapter is created.
        self.process.current(ctx).await?.schema(ctx).await
    }

    async fn documented(&self, ctx: &CallContext) -> Result<Arc<ProviderSchema>, ProviderError> {
        pass!(self, Schema, ctx, |inner| inner.documented(ctx))
    }

    async fn validate_provider(
        &self,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        again!(self, ValidateProvider, ctx, |inner| inner
            .validate_provider(config.clone(), ctx))
    }

    async fn configure(&self, config: Value, ctx: &CallContext) -> Result<Checked, ProviderError> {
        if matches!(self.configured, Configured::Call(_)) {
            // The configuration is sent with each call, so no process needs it now.
            return Ok(Checked::default());
        }
        self.process.current(ctx).await?;
        let call = async {
            let inner = self.process.current(ctx).await?;
            let answer = inner.configure(config.clone(), ctx).await?;
            // A rejected configuration must not be sent again after a relaunch.
            if answer.first_error().is_none() {
                self.process.set_configuration(&inner, config);
            }
            Ok(answer)
        };
        self.process
            .lane()
            .run_on_own_process(Method::Configure, ctx, call)
            .await
    }

    async fn validate_resource(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        again!(self, ValidateResource, ctx, |inner| inner
            .validate_resource(type_name, config.clone(), ctx))
    }

    async fn validate_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        again!(self, ValidateData, ctx, |inner| inner.validate_data(
            type_name,
            config.clone(),
            ctx
        ))
    }

    async fn upgrade(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<UpgradeResponse, ProviderError> {
        let kind = request.type_name.clone();
        let answer = again!(self, Upgrade, ctx, |inner| inner
            .upgrade(request.clone(), ctx))?;
        self.register_sensitive(Method::Upgrade, &kind, Some(&answer.state));
        Ok(answer)
    }

    async fn upgrade_identity(
        &self,
        request: UpgradeRequest,
        ctx: &CallContext,
    ) -> Result<IdentityResponse, ProviderError> {
        again!(self, UpgradeIdentity, ctx, |inner| inner
            .upgrade_identity(request.clone(), ctx))
    }

    async fn read(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let kind = request.type_name.clone();
        let answer = again!(self, Read, ctx, |inner| inner.read(request.clone(), ctx))?;
        self.register_sensitive(Method::Read, &kind, Some(&answer.state));
        Ok(answer)
    }

    async fn plan(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let kind = request.type_name.clone();
        let answer = again!(self, Plan, ctx, |inner| inner.plan(request.clone(), ctx))?;
        self.register_sensitive(Method::Plan, &kind, Some(&answer.planned));
        Ok(answer)
    }

    async fn apply(
        &self,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let kind = request.type_name.clone();
        let mut answer = pass!(self, Apply, ctx, |inner| inner.apply(request, ctx))?;
        // The error text may contain sensitive values that the same call created.
        self.register_sensitive(Method::Apply, &kind, answer.new_state.as_ref());
        answer.hide(self.process.lane().secrets());
        Ok(answer)
    }

    async fn import(
        &self,
        request: ImportRequest,
        ctx: &CallContext,
    ) -> Result<ImportResponse, ProviderError> {
        let answer = again!(self, Import, ctx, |inner| inner
            .import(request.clone(), ctx))?;
        answer.imported.iter().for_each(|one| {
            self.register_sensitive(Method::Import, &one.type_name, Some(&one.state))
        });
        Ok(answer)
    }

    async fn move_state(
        &self,
        request: MoveRequest,
        ctx: &CallContext,
    ) -> Result<MoveResponse, ProviderError> {
        again!(self, Move, ctx, |inner| inner
            .move_state(request.clone(), ctx))
    }

    async fn read_data(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<DataResponse, ProviderError> {
        let answer = again!(self, ReadData, ctx, |inner| inner.read_data(
            type_name,
            config.clone(),
            ctx
        ))?;
        self.register_sensitive(Method::ReadData, type_name, Some(&answer.state));
        Ok(answer)
    }

    async fn functions(&self, ctx: &CallContext) -> Result<FunctionsResponse, ProviderError> {
        again!(self, Functions, ctx, |inner| inner.functions(ctx))
    }

    async fn call_function(
        &self,
        name: &str,
        arguments: Vec<Value>,
        ctx: &CallContext,
    ) -> Result<FunctionResponse, ProviderError> {
        again!(self, CallFunction, ctx, |inner| inner.call_function(
            name,
            arguments.clone(),
            ctx
        ))
    }

    async fn validate_ephemeral(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        again!(self, ValidateEphemeral, ctx, |inner| inner
            .validate_ephemeral(type_name, config.clone(), ctx))
    }

    async fn open_ephemeral(
        &self,
        type_name: &str,
        config: Value,
        ctx: &CallContext,
    ) -> Result<OpenResponse, ProviderError> {
        let asked = config.clone();
        let answer = pass!(
            self,
            run_on_own_process,
            OpenEphemeral,
            ctx,
            |inner| async {
                let answer = inner.open_ephemeral(type_name, config, ctx).await?;
                // Only a successfully opened resource keeps the process from being replaced.
                if answer.first_error().is_none() {
                    inner.count_opened();
                }
                Ok(answer)
            }
        )?;
        // Redact everything new in the result, whatever the schema says. Values passed in from the
        // configuration are only as secret as they are there.
        let given =
            |name: &str, value: &Value| asked.get_attr(name).is_some_and(|a| a.raw_equals(value));
        let new = answer
            .result
            .as_map()
            .into_iter()
            .flatten()
            .filter(|(name, value)| !given(name, value));
        new.for_each(|(_, value)| {
            self.process
                .lane()
                .secrets()
                .register(&value.clone().mark(cty::Mark::Ephemeral))
        });
        self.register_sensitive(Method::OpenEphemeral, type_name, Some(&answer.result));
        Ok(answer)
    }

    async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Option<Bytes>,
        ctx: &CallContext,
    ) -> Result<RenewResponse, ProviderError> {
        pass!(self, run_on_own_process, RenewEphemeral, ctx, |inner| inner
            .renew_ephemeral(type_name, private, ctx))
    }

    async fn close_ephemeral(
        &self,
        type_name: &str,
        private: Option<Bytes>,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        pass!(
            self,
            run_on_own_process,
            CloseEphemeral,
            ctx,
            |inner| async {
                // Counted even if the call fails, because it is not repeated.
                inner.count_closed();
                inner.close_ephemeral(type_name, private, ctx).await
            }
        )
    }

    async fn stop(&self, ctx: &CallContext) -> Result<(), ProviderError> {
        self.process.ask_to_stop(ctx).await
    }
}
