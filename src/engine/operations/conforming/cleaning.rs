//! Destruction of the objects that an earlier check of a provider recorded and did not destroy.

use super::super::command::Operations;
use super::{ConformRequest, Process};
use crate::conformance::{self, Records};
use crate::error::EngineError;
use calls::CallContext;
use conform::Leftover;

/// Failed start or configuration of a provider whose objects shall be destroyed.
#[derive(Debug, thiserror::Error)]
#[error("cannot clean up: {0}; the records of the objects are kept")]
struct CleanError(String);

impl Operations {
    /// Destroys recorded objects. Returns those that remain, or may remain.
    pub async fn clean_conform(
        &self,
        request: &ConformRequest,
        records: &Records,
    ) -> Result<Vec<Leftover>, EngineError> {
        let command = self.begin().await;
        let mut run = self.run(request, records, command.stop.clone());
        let process = Process::new(&self.pool, &self.bus, request);
        let failed = |why: String| EngineError::refused(CleanError(why));
        let Some(plain) = self.started(&mut run, &process).await else {
            let checks = run.report.checks.iter();
            let why = checks.map(|check| check.evidence.clone()).next();
            return Err(failed(why.unwrap_or_default()));
        };
        run.schemas = plain.schema(&CallContext::general(&run.stop)).await?;
        let config = run.provider_config().map_err(failed)?;
        let provider = self.configured(&run, &*plain, config).await;
        let provider = provider.map_err(|(_, why)| failed(why))?;
        let mut left = Vec::new();
        // In reverse, because a later object may depend on an earlier one.
        for object in records.run().objects.into_iter().rev() {
            let Some(schema) = run.schemas.resources.get(&object.type_name) else {
                left.push(Leftover {
                    id: object.id().map(str::to_owned),
                    type_name: object.type_name,
                    why: "the provider has no such type any more".to_owned(),
                });
                continue;
            };
            let result = match object.config(schema) {
                Ok(config) => {
                    run.secrets.register_by_schema(&schema.block, &config);
                    let subject = run.subject(&*provider, &object.type_name, config, true);
                    conformance::destroy_recorded(subject, &object).await
                }
                Err(why) => Err(why),
            };
            left.extend(result.err().map(|why| Leftover {
                id: object.id().map(str::to_owned),
                type_name: object.type_name.clone(),
                why: run.secrets.redact(&why).into_owned(),
            }));
        }
        Ok(left)
    }
}
