//! Methods of provider protocol 6: each decodes the request, runs the call, and encodes the
//! response.

use std::pin::Pin;
use std::sync::PoisonError;

use proto::tfplugin6 as pb;
use proto::tfplugin6::provider_server::Provider as Wire;
use tonic::{Request, Response, Status};

use super::service::{Service, capabilities};
use crate::calls::{
    apply, diagnostics_of, failure_diagnostics, import, moved, open, plan, read, read_data, renew,
    upgrade,
};
use crate::{check, codec, function, identity};

fn not_served(method: &str) -> Status {
    Status::unimplemented(format!("this provider does not serve {method}"))
}

type Answer<T> = Result<Response<T>, Status>;

type NoStream<T> = Pin<Box<dyn futures_util::Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Wire for Service {
    async fn get_metadata(
        &self,
        _: Request<pb::get_metadata::Request>,
    ) -> Answer<pb::get_metadata::Response> {
        let resource = |name: &String| pb::get_metadata::ResourceMetadata {
            type_name: name.clone(),
        };
        let data = |name: &String| pb::get_metadata::DataSourceMetadata {
            type_name: name.clone(),
        };
        let ephemeral = |name: &String| pb::get_metadata::EphemeralMetadata {
            type_name: name.clone(),
        };
        let function = |name: &String| pb::get_metadata::FunctionMetadata { name: name.clone() };
        Ok(Response::new(pb::get_metadata::Response {
            server_capabilities: Some(capabilities()),
            resources: self.resources.keys().map(resource).collect(),
            data_sources: self.data_sources.keys().map(data).collect(),
            ephemeral_resources: self.ephemeral.keys().map(ephemeral).collect(),
            functions: self.functions.keys().map(function).collect(),
            ..Default::default()
        }))
    }

    async fn get_provider_schema(
        &self,
        _: Request<pb::get_provider_schema::Request>,
    ) -> Answer<pb::get_provider_schema::Response> {
        Ok(Response::new(self.schema.clone()))
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<pb::get_resource_identity_schemas::Request>,
    ) -> Answer<pb::get_resource_identity_schemas::Response> {
        let with_identity = self
            .resources
            .iter()
            .filter(|(_, one)| one.identity.is_some());
        let schemas =
            with_identity.map(|(name, one)| (name.clone(), identity::schema(&one.schema)));
        Ok(Response::new(pb::get_resource_identity_schemas::Response {
            identity_schemas: schemas.collect(),
            ..Default::default()
        }))
    }

    async fn get_functions(
        &self,
        _: Request<pb::get_functions::Request>,
    ) -> Answer<pb::get_functions::Response> {
        Ok(Response::new(pb::get_functions::Response {
            functions: self.schema.functions.clone(),
            ..Default::default()
        }))
    }

    async fn validate_provider_config(
        &self,
        request: Request<pb::validate_provider_config::Request>,
    ) -> Answer<pb::validate_provider_config::Response> {
        let (request, entry) = (request.into_inner(), self.provider.clone());
        let outcome = self.answer(|cx| async move {
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::check_attributes(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(pb::validate_provider_config::Response {
            diagnostics: diagnostics_of(outcome.await),
        }))
    }

    async fn configure_provider(
        &self,
        request: Request<pb::configure_provider::Request>,
    ) -> Answer<pb::configure_provider::Response> {
        let (request, entry) = (request.into_inner(), self.provider.clone());
        let outcome = self.answer(|cx| async move {
            let config = codec::decode(request.config, &entry.ty)?;
            Ok(entry.item.configure(&cx, &config).await)
        });
        Ok(Response::new(pb::configure_provider::Response {
            diagnostics: diagnostics_of(outcome.await),
        }))
    }

    async fn validate_resource_config(
        &self,
        request: Request<pb::validate_resource_config::Request>,
    ) -> Answer<pb::validate_resource_config::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let outcome = self.answer(|cx| async move {
            let entry = entry?;
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::check_attributes(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(pb::validate_resource_config::Response {
            diagnostics: diagnostics_of(outcome.await),
        }))
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<pb::validate_data_resource_config::Request>,
    ) -> Answer<pb::validate_data_resource_config::Response> {
        let request = request.into_inner();
        let entry = self.data_source(&request.type_name);
        let outcome = self.answer(|cx| async move {
            let entry = entry?;
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::check_attributes(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(pb::validate_data_resource_config::Response {
            diagnostics: diagnostics_of(outcome.await),
        }))
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<pb::upgrade_resource_state::Request>,
    ) -> Answer<pb::upgrade_resource_state::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let answer = match self
            .run(|_| async move { upgrade(entry?, request).await })
            .await
        {
            Ok(state) => pb::upgrade_resource_state::Response {
                upgraded_state: Some(state),
                ..Default::default()
            },
            Err(failure) => pb::upgrade_resource_state::Response {
                diagnostics: failure_diagnostics(failure).into_wire(),
                ..Default::default()
            },
        };
        Ok(Response::new(answer))
    }

    async fn read_resource(
        &self,
        request: Request<pb::read_resource::Request>,
    ) -> Answer<pb::read_resource::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let (state, private) = (request.current_state.clone(), request.private.clone());
        let answer = self
            .answer(|cx| async move { read(entry?, cx, request).await })
            .await
            .unwrap_or_else(|failure| {
                // A failed read gives no information about the object, so the host keeps its state.
                pb::read_resource::Response {
                    new_state: state,
                    private,
                    diagnostics: failure_diagnostics(failure).into_wire(),
                    ..Default::default()
                }
            });
        Ok(Response::new(answer))
    }

    async fn plan_resource_change(
        &self,
        request: Request<pb::plan_resource_change::Request>,
    ) -> Answer<pb::plan_resource_change::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let (state, private) = (request.prior_state.clone(), request.prior_private.clone());
        let answer = self
            .answer(|cx| async move { plan(entry?, cx, request).await })
            .await
            .unwrap_or_else(|failure| {
                let diagnostics = failure_diagnostics(failure).into_wire();
                pb::plan_resource_change::Response {
                    // A failed plan returns the prior state: the host sees the error only.
                    planned_state: state,
                    planned_private: private,
                    diagnostics,
                    ..Default::default()
                }
            });
        Ok(Response::new(answer))
    }

    async fn apply_resource_change(
        &self,
        request: Request<pb::apply_resource_change::Request>,
    ) -> Answer<pb::apply_resource_change::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let (state, private) = (request.prior_state.clone(), request.planned_private.clone());
        let answer = self
            .answer(|cx| async move { apply(entry?, cx, request).await })
            // A call that failed before it reached the provider changed nothing.
            .await
            .unwrap_or_else(|failure| pb::apply_resource_change::Response {
                new_state: state,
                private,
                diagnostics: failure_diagnostics(failure).into_wire(),
                ..Default::default()
            });
        Ok(Response::new(answer))
    }

    async fn import_resource_state(
        &self,
        request: Request<pb::import_resource_state::Request>,
    ) -> Answer<pb::import_resource_state::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let answer = self
            .answer(|cx| async move { import(entry?, cx, request).await })
            .await
            .unwrap_or_else(|failure| pb::import_resource_state::Response {
                diagnostics: failure_diagnostics(failure).into_wire(),
                ..Default::default()
            });
        Ok(Response::new(answer))
    }

    async fn read_data_source(
        &self,
        request: Request<pb::read_data_source::Request>,
    ) -> Answer<pb::read_data_source::Response> {
        let request = request.into_inner();
        let entry = self.data_source(&request.type_name);
        let answer = self
            .answer(|cx| async move { read_data(entry?, cx, request).await })
            .await
            .unwrap_or_else(|failure| pb::read_data_source::Response {
                diagnostics: failure_diagnostics(failure).into_wire(),
                ..Default::default()
            });
        Ok(Response::new(answer))
    }

    /// Cancels every running call. Later calls get a new token and are not affected.
    async fn stop_provider(
        &self,
        _: Request<pb::stop_provider::Request>,
    ) -> Answer<pb::stop_provider::Response> {
        // The new token is set before the cancellation, so that no call can start with the old one.
        let running = {
            let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *stop, self.shutdown.child_token())
        };
        running.cancel();
        Ok(Response::new(pb::stop_provider::Response::default()))
    }

    type ListResourceStream = NoStream<pb::list_resource::Event>;
    type InvokeActionStream = NoStream<pb::invoke_action::Event>;

    async fn upgrade_resource_identity(
        &self,
        request: Request<pb::upgrade_resource_identity::Request>,
    ) -> Answer<pb::upgrade_resource_identity::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.type_name);
        let outcome = self
            .run(|_| async move { identity::upgrade(&*entry?, request) })
            .await;
        let mut answer = pb::upgrade_resource_identity::Response::default();
        match outcome {
            Ok(identity) => answer.upgraded_identity = Some(identity),
            Err(failure) => answer.diagnostics = failure_diagnostics(failure).into_wire(),
        }
        Ok(Response::new(answer))
    }

    async fn move_resource_state(
        &self,
        request: Request<pb::move_resource_state::Request>,
    ) -> Answer<pb::move_resource_state::Response> {
        let request = request.into_inner();
        let entry = self.resource(&request.target_type_name);
        let answer = self
            .run(|_| async move { moved(&*entry?, request) })
            .await
            .unwrap_or_else(|failure| pb::move_resource_state::Response {
                diagnostics: failure_diagnostics(failure).into_wire(),
                ..Default::default()
            });
        Ok(Response::new(answer))
    }

    async fn generate_resource_config(
        &self,
        _: Request<pb::generate_resource_config::Request>,
    ) -> Answer<pb::generate_resource_config::Response> {
        Err(not_served("GenerateResourceConfig"))
    }

    async fn validate_ephemeral_resource_config(
        &self,
        request: Request<pb::validate_ephemeral_resource_config::Request>,
    ) -> Answer<pb::validate_ephemeral_resource_config::Response> {
        let request = request.into_inner();
        let entry = self.ephemeral(&request.type_name);
        let outcome = self.answer(|cx| async move {
            let entry = entry?;
            let config = codec::decode(request.config, &entry.ty)?;
            let mut diagnostics = check::check_attributes(&entry.schema, &config);
            diagnostics.extend(entry.item.validate(&cx, &config).await);
            Ok(diagnostics)
        });
        Ok(Response::new(
            pb::validate_ephemeral_resource_config::Response {
                diagnostics: diagnostics_of(outcome.await),
            },
        ))
    }

    async fn open_ephemeral_resource(
        &self,
        request: Request<pb::open_ephemeral_resource::Request>,
    ) -> Answer<pb::open_ephemeral_resource::Response> {
        let request = request.into_inner();
        let entry = self.ephemeral(&request.type_name);
        Ok(Response::new(
            self.answer(|cx| async move { open(entry?, cx, request).await })
                .await
                .unwrap_or_else(|failure| pb::open_ephemeral_resource::Response {
                    diagnostics: failure_diagnostics(failure).into_wire(),
                    ..Default::default()
                }),
        ))
    }

    async fn renew_ephemeral_resource(
        &self,
        request: Request<pb::renew_ephemeral_resource::Request>,
    ) -> Answer<pb::renew_ephemeral_resource::Response> {
        let request = request.into_inner();
        let entry = self.ephemeral(&request.type_name);
        let private = request.private.clone();
        let answer = self
            .answer(|cx| async move { renew(entry?, cx, request).await })
            .await
            .unwrap_or_else(|failure| pb::renew_ephemeral_resource::Response {
                private,
                diagnostics: failure_diagnostics(failure).into_wire(),
                ..Default::default()
            });
        Ok(Response::new(answer))
    }

    async fn close_ephemeral_resource(
        &self,
        request: Request<pb::close_ephemeral_resource::Request>,
    ) -> Answer<pb::close_ephemeral_resource::Response> {
        let request = request.into_inner();
        let entry = self.ephemeral(&request.type_name);
        let outcome = self.answer(|cx| async move {
            entry?
                .item
                .close(&cx, request.private.unwrap_or_default().to_vec())
                .await
        });
        Ok(Response::new(pb::close_ephemeral_resource::Response {
            diagnostics: diagnostics_of(outcome.await),
        }))
    }

    async fn list_resource(
        &self,
        _: Request<pb::list_resource::Request>,
    ) -> Answer<Self::ListResourceStream> {
        Err(not_served("ListResource"))
    }

    async fn validate_list_resource_config(
        &self,
        _: Request<pb::validate_list_resource_config::Request>,
    ) -> Answer<pb::validate_list_resource_config::Response> {
        Err(not_served("ValidateListResourceConfig"))
    }

    async fn call_function(
        &self,
        request: Request<pb::call_function::Request>,
    ) -> Answer<pb::call_function::Response> {
        let request = request.into_inner();
        let function = self.function(&request.name);
        let outcome = self
            .run(|cx| async move { function?.answer(&cx, request.arguments).await })
            .await
            .unwrap_or_else(|failure| Err(function::of_failure(failure)));
        let mut answer = pb::call_function::Response::default();
        match outcome {
            Ok(result) => answer.result = Some(result),
            Err(error) => answer.error = Some(error.into()),
        }
        Ok(Response::new(answer))
    }

    async fn unlock_state(
        &self,
        _: Request<pb::unlock_state::Request>,
    ) -> Answer<pb::unlock_state::Response> {
        Err(not_served("UnlockState"))
    }

    async fn plan_action(
        &self,
        _: Request<pb::plan_action::Request>,
    ) -> Answer<pb::plan_action::Response> {
        Err(not_served("PlanAction"))
    }

    async fn invoke_action(
        &self,
        _: Request<pb::invoke_action::Request>,
    ) -> Answer<Self::InvokeActionStream> {
        Err(not_served("InvokeAction"))
    }

    async fn validate_action_config(
        &self,
        _: Request<pb::validate_action_config::Request>,
    ) -> Answer<pb::validate_action_config::Response> {
        Err(not_served("ValidateActionConfig"))
    }
}
