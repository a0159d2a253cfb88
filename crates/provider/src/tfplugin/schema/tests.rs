use super::*;
use proto::tfplugin5;

/// Decodes a reply as from the wire.
fn undecoded<A: prost::Message + Default>(reply: &impl prost::Message) -> Box<A> {
    Box::new(A::decode(reply.encode_to_vec().as_slice()).expect("the same bytes"))
}

fn json(text: &str) -> proto::Bytes {
    proto::Bytes::copy_from_slice(text.as_bytes())
}

#[test]
fn protocol_6_schema_is_converted_completely() {
    use tfplugin6::schema as pb;
    let leaf = pb::Attribute {
        name: "port".into(),
        r#type: json("\"number\""),
        required: true,
        ..Default::default()
    };
    let nested = pb::Attribute {
        name: "rules".into(),
        nested_type: Some(pb::Object {
            attributes: vec![leaf.clone()],
            nesting: 4,
            ..Default::default()
        }),
        optional: true,
        ..Default::default()
    };
    let secret = pb::Attribute {
        name: "secret".into(),
        r#type: json("\"string\""),
        optional: true,
        write_only: true,
        sensitive: true,
        deprecated: true,
        deprecation_message: "use token".into(),
        description: "**bold**".into(),
        description_kind: 1,
        ..Default::default()
    };
    let inner = pb::Block {
        attributes: vec![leaf],
        ..Default::default()
    };
    let blocks = (1..=5).map(|n| pb::NestedBlock {
        type_name: format!("b{n}"),
        block: Some(inner.clone()),
        nesting: n,
        min_items: 1,
        max_items: 2,
    });
    let block = pb::Block {
        attributes: vec![nested, secret],
        block_types: blocks.collect(),
        ..Default::default()
    };
    let reply = tfplugin6::get_provider_schema::Response {
        resource_schemas: [(
            "x_y".to_owned(),
            tfplugin6::Schema {
                version: 3,
                block: Some(block),
            },
        )]
        .into(),
        server_capabilities: Some(tfplugin6::ServerCapabilities {
            plan_destroy: true,
            get_provider_schema_optional: true,
            ..Default::default()
        }),
        ..Default::default()
    };
    let schema = provider_schema(&SchemaReply::V6(undecoded(&reply))).expect("converts");
    assert!(
        schema.capabilities.plan_destroy
            && schema.capabilities.get_schema_optional
            && !schema.capabilities.move_resource_state
    );
    let x = &schema.resources["x_y"];
    assert_eq!(x.version, 3);
    let secret = &x.block.attributes["secret"];
    assert!(
        secret.write_only
            && secret.sensitive
            && secret.deprecated
            && secret.optional
            && !secret.required
    );
    assert_eq!(
        (secret.deprecation_message.as_str(), secret.description_kind),
        ("use token", TextKind::Markdown)
    );
    let modes: Vec<_> = x
        .block
        .blocks
        .values()
        .map(|b| (b.nesting, b.min_items, b.max_items))
        .collect();
    assert_eq!(
        modes,
        [
            Nesting::Single,
            Nesting::List,
            Nesting::Set,
            Nesting::Map,
            Nesting::Group
        ]
        .map(|n| (n, 1, 2))
    );
    assert_eq!(
        x.implied_type().to_string(),
        "object({b1 = object({port = number}), b2 = list(object({port = number})), b3 = set(object({port = number})), \
         b4 = map(object({port = number})), b5 = object({port = number}), rules = map(object({port = number})), secret = string})"
    );
}

#[test]
fn invalid_schema_is_rejected_with_its_path() {
    use tfplugin5::schema as pb;
    let with = |block: pb::Block| {
        provider_schema(&SchemaReply::V5(undecoded(
            &tfplugin5::get_provider_schema::Response {
                resource_schemas: [(
                    "x".to_owned(),
                    tfplugin5::Schema {
                        version: 0,
                        block: Some(block),
                    },
                )]
                .into(),
                ..Default::default()
            },
        )))
    };
    let bad_type = pb::Attribute {
        name: "a".into(),
        r#type: json("[\"bag\",\"string\"]"),
        ..Default::default()
    };
    let error = with(pb::Block {
        attributes: vec![bad_type],
        ..Default::default()
    })
    .expect_err("refused");
    assert!(error.to_string().contains("resource x.a"), "{error}");
    let bad_mode = pb::NestedBlock {
        type_name: "b".into(),
        nesting: 9,
        ..Default::default()
    };
    let error = with(pb::Block {
        block_types: vec![bad_mode],
        ..Default::default()
    })
    .expect_err("refused");
    assert_eq!(
        error.to_string(),
        "resource x.b has the unknown nesting mode 9"
    );
}

#[test]
fn write_only_flag_is_read_in_protocol_5() {
    let attribute = tfplugin5::schema::Attribute {
        name: "a".into(),
        r#type: json("\"bool\""),
        write_only: true,
        ..Default::default()
    };
    let block = tfplugin5::schema::Block {
        attributes: vec![attribute],
        ..Default::default()
    };
    let reply = tfplugin5::get_provider_schema::Response {
        provider: Some(tfplugin5::Schema {
            version: 0,
            block: Some(block),
        }),
        ..Default::default()
    };
    let schema = provider_schema(&SchemaReply::V5(undecoded(&reply))).expect("converts");
    assert!(schema.provider.block.attributes["a"].write_only);
}
