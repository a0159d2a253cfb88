//! Generated clients and servers of the plugin protocols, in a separate crate so that other changes
//! do not recompile it. `bytes` fields are `bytes::Bytes`.
#![allow(missing_docs, clippy::all, rustdoc::all)]

pub use prost::bytes::Bytes;

/// Provider protocol, major version 5.
pub mod tfplugin5 {
    tonic::include_proto!("tfplugin5");
}

/// Provider protocol, major version 6.
pub mod tfplugin6 {
    tonic::include_proto!("tfplugin6");
}

/// Services of every plugin process: shutdown, standard streams, broker.
pub mod plugin {
    tonic::include_proto!("plugin");
}

/// Standard gRPC health service.
pub mod health {
    tonic::include_proto!("grpc.health.v1");
}

/// Bluelink plugins (formerly Celerity): services of a provider, a transformer and their host. The
/// module names are the package names, which are part of the call paths.
pub mod bluelink {
    pub mod schema {
        tonic::include_proto!("schema");
    }

    pub mod sharedtypesv1 {
        tonic::include_proto!("sharedtypesv1");
    }

    pub mod pluginservicev1 {
        tonic::include_proto!("pluginservicev1");
    }

    pub mod providerserverv1 {
        tonic::include_proto!("providerserverv1");
    }

    pub mod transformerserverv1 {
        tonic::include_proto!("transformerserverv1");
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    #[test]
    fn null_an_empty_list_and_an_empty_map_are_the_same_bytes_in_bluelink() {
        use crate::bluelink::schema::MappingNode;
        let node = MappingNode {
            items: Vec::new(),
            fields: Default::default(),
            ..Default::default()
        };
        assert_eq!(node.encode_to_vec(), Vec::<u8>::new());
        // Positions (fields 5 and 6) are not declared here: they are skipped, not refused.
        let placed = MappingNode::decode(&[(5 << 3) | 2, 0][..]).expect("skipped");
        assert_eq!(placed, node);
    }

    #[test]
    fn numbers_of_bluelinks_fields_are_those_of_the_wire() {
        use crate::bluelink::providerserverv1::GetResourceExternalStateRequest;
        use crate::bluelink::sharedtypesv1::{ResourceDefinitionsSchema, ResourceState};
        let asked = GetResourceExternalStateRequest {
            resource_name: "n".into(),
            ..Default::default()
        };
        assert_eq!(asked.encode_to_vec(), [(9 << 3) | 2, 1, b'n']);
        let state = ResourceState {
            spec_data: Some(Default::default()),
            ..Default::default()
        };
        assert_eq!(state.encode_to_vec(), [(11 << 3) | 2, 0]);
        let schema = ResourceDefinitionsSchema {
            computed_when_omitted: true,
            ..Default::default()
        };
        assert_eq!(schema.encode_to_vec(), [0xd0, 0x01, 1]);
        use crate::bluelink::transformerserverv1::{
            TransformNameInfo, TransformNameResponse, TransformerRequest, transform_name_response,
        };
        let host_id = "h".into();
        assert_eq!(
            TransformerRequest { host_id }.encode_to_vec(),
            [(1 << 3) | 2, 1, b'h']
        );
        let info = TransformNameInfo {
            transform_name: "t".into(),
        };
        let named = TransformNameResponse {
            response: Some(transform_name_response::Response::NameInfo(info)),
        };
        assert_eq!(
            named.encode_to_vec(),
            [(1 << 3) | 2, 3, (1 << 3) | 2, 1, b't']
        );
    }

    #[test]
    fn unknown_fields_and_numbers_are_those_of_the_wire() {
        // `write_only` is field 10 in protocol 5 and 11 in protocol 6, which is easily confused.
        let five = crate::tfplugin5::schema::Attribute {
            write_only: true,
            ..Default::default()
        };
        let six = crate::tfplugin6::schema::Attribute {
            write_only: true,
            ..Default::default()
        };
        assert_eq!(five.encode_to_vec(), [10 << 3, 1]);
        assert_eq!(six.encode_to_vec(), [11 << 3, 1]);
        // Field 10 of a protocol 6 schema response (state stores) is not declared here: it is
        // skipped, not refused.
        let reply =
            crate::tfplugin6::get_provider_schema::Response::decode(&[(10 << 3) | 2, 0][..])
                .expect("skipped");
        assert_eq!(reply, Default::default());
    }
}
