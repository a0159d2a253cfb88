//! The plugin protocols as generated code, clients and servers both, in a crate of its own so that
//! a change elsewhere never compiles it again. Owns no state. `bytes` fields are `bytes::Bytes`.
#![allow(missing_docs, clippy::all, rustdoc::all)]

pub use prost::bytes::Bytes;

/// The provider protocol, major version 5.
pub mod tfplugin5 {
    tonic::include_proto!("tfplugin5");
}

/// The provider protocol, major version 6.
pub mod tfplugin6 {
    tonic::include_proto!("tfplugin6");
}

/// The services of every plugin process: shutdown, standard streams, broker.
pub mod plugin {
    tonic::include_proto!("plugin");
}

/// The standard gRPC health service.
pub mod health {
    tonic::include_proto!("grpc.health.v1");
}

#[cfg(test)]
mod tests {
    use prost::Message;

    #[test]
    fn unknown_fields_and_numbers_are_those_of_the_wire() {
        // write_only is field 10 in protocol 5 and 11 in protocol 6: the classic way to mix them
        // up.
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
        // Field 10 of a protocol 6 schema reply (state stores) is one we leave out: skipped, not
        // refused.
        let reply =
            crate::tfplugin6::get_provider_schema::Response::decode(&[(10 << 3) | 2, 0][..])
                .expect("skipped");
        assert_eq!(reply, Default::default());
    }
}
