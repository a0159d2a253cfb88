//! Process that was not launched as a plugin. It registers at the port of a launched plugin, claims
//! that plugin's process over both kinds of sockets, and makes the calls of a plugin.

use crate::{PORTS, registration};
use proto::bluelink::pluginservicev1::service_client::ServiceClient;
use proto::bluelink::pluginservicev1::*;
use proto::bluelink::sharedtypesv1::{
    DestroyResourceRequest, FunctionCallRequest, FunctionDefinitionRequest,
};
use std::process::ExitCode;
use tonic::transport::Channel;
use tonic::{Code, Status};

pub async fn run(whose: &str) -> ExitCode {
    let port = std::env::var(PORTS[0]).unwrap();
    for address in ["127.0.0.1", "[::ffff:127.0.0.1]"] {
        let service = ServiceClient::connect(format!("http://{address}:{port}"));
        let request = PluginRegistrationRequest {
            instance_id: whose.to_owned(),
            ..registration("", 1, String::new())
        };
        let mut service = service.await.unwrap();
        let reply = service.register(request).await.unwrap().into_inner();
        eprintln!("the foreigner at {address} is answered {}", reply.success);
        for (call, code) in all_calls(&mut service).await {
            eprintln!("the foreigner at {address} calls {call} and is answered {code:?}");
        }
    }
    ExitCode::SUCCESS
}

async fn all_calls(service: &mut ServiceClient<Channel>) -> Vec<(&'static str, Code)> {
    macro_rules! code {
        ($call:ident, $request:expr) => {{
            let answer: Result<_, Status> = service.$call($request).await;
            let code = answer.map_or_else(|status| status.code(), |_| Code::Ok);
            (stringify!($call), code)
        }};
    }
    vec![
        code!(deregister, PluginDeregistrationRequest::default()),
        code!(call_function, FunctionCallRequest::default()),
        code!(
            get_function_definition,
            FunctionDefinitionRequest::default()
        ),
        code!(has_function, HasFunctionRequest::default()),
        code!(list_functions, ()),
        code!(deploy_resource, DeployResourceServiceRequest::default()),
        code!(destroy_resource, DestroyResourceRequest::default()),
        code!(
            lookup_resource_in_state,
            LookupResourceInStateRequest::default()
        ),
        code!(acquire_resource_lock, AcquireResourceLockRequest::default()),
    ]
}
