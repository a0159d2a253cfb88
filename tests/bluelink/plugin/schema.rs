//! Types of the fake provider, with one field for each property that a schema can express.

use crate::mapping_node::node;
use proto::bluelink::providerserverv1::{
    DataSourceFilterFieldSchema, DataSourceFilterFields, DataSourceSpecDefinition,
    DataSourceSpecSchema, DataSourceSpecSchemaType as Kind,
};
use proto::bluelink::schema::ScalarValue;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::{
    ConfigDefinition, ConfigFieldDefinition, ResourceDefinitionsSchema as Schema,
    ResourceSpecDefinition, ScalarType,
};
use serde_json::json;

/// A type that is stable at once, and one that becomes stable later.
pub const TYPES: [&str; 2] = ["fake/box", "fake/slow/thing"];

fn of(kind: &str) -> Schema {
    Schema {
        r#type: kind.to_owned(),
        ..Schema::default()
    }
}

fn object(required: &[&str], attributes: Vec<(&str, Schema)>) -> Schema {
    let attributes = attributes.into_iter();
    Schema {
        required: required.iter().map(ToString::to_string).collect(),
        attributes: attributes.map(|(n, s)| (n.to_owned(), s)).collect(),
        ..of("object")
    }
}

fn array(items: Schema) -> Schema {
    Schema {
        items: Some(Box::new(items)),
        ..of("array")
    }
}

fn map(values: Schema) -> Schema {
    Schema {
        map_values: Some(Box::new(values)),
        ..of("map")
    }
}

fn computed(kind: &str) -> Schema {
    Schema {
        computed: true,
        ..of(kind)
    }
}

fn int(n: i64) -> Option<ScalarValue> {
    Some(ScalarValue {
        value: Some(Scalar::IntValue(n)),
    })
}

pub fn definition(kind: &str) -> Option<ResourceSpecDefinition> {
    let schema = match kind {
        "fake/box" => of_box(),
        "fake/slow/thing" => of_slow(),
        _ => return None,
    };
    Some(ResourceSpecDefinition {
        schema: Some(schema),
        id_field: "id".to_owned(),
        ..ResourceSpecDefinition::default()
    })
}

fn of_box() -> Schema {
    let name = Schema {
        must_recreate: true,
        min_length: 1,
        pattern: "^[a-z0-9-]+$".to_owned(),
        ..of("string")
    };
    let size = Schema {
        default_value: Some(node(&json!(3))),
        minimum: int(1),
        maximum: int(100),
        ..of("integer")
    };
    let colour = Schema {
        allowed_values: ["red", "green"].map(|c| node(&json!(c))).to_vec(),
        ..of("string")
    };
    let weight = Schema {
        nullable: true,
        ..of("float")
    };
    let parts = Schema {
        sort_array_by_field: "name".to_owned(),
        ..array(object(
            &["name"],
            vec![("name", of("string")), ("weight", weight)],
        ))
    };
    let secret = Schema {
        sensitive: true,
        ..of("string")
    };
    let zone = Schema {
        computed_when_omitted: true,
        ..of("string")
    };
    let note = Schema {
        ignore_drift: true,
        ..of("string")
    };
    let health = Schema {
        track_drift: true,
        ..computed("string")
    };
    let placement = Schema {
        must_recreate: true,
        ..object(&[], vec![("rack", of("string")), ("row", of("integer"))])
    };
    let either = Schema {
        one_of: vec![of("string"), of("integer")],
        ..of("union")
    };
    object(
        &["name"],
        vec![
            ("id", computed("string")),
            ("name", name),
            ("size", size),
            ("colour", colour),
            ("labels", map(of("string"))),
            ("ports", array(of("integer"))),
            ("parts", parts),
            ("secret", secret),
            ("zone", zone),
            ("note", note),
            ("health", health),
            ("lastSeen", computed("string")),
            ("placement", placement),
            ("either", either),
        ],
    )
}

fn of_slow() -> Schema {
    object(
        &["name"],
        vec![
            ("id", computed("string")),
            ("name", of("string")),
            ("looks", of("integer")),
            ("endpoint", computed("string")),
        ],
    )
}

pub fn config() -> ConfigDefinition {
    let field = |secret, required| ConfigFieldDefinition {
        r#type: ScalarType::String.into(),
        secret,
        required,
        ..ConfigFieldDefinition::default()
    };
    let retries = ConfigFieldDefinition {
        r#type: ScalarType::Integer.into(),
        default_value: int(7),
        ..ConfigFieldDefinition::default()
    };
    let fields = [
        ("region", field(false, false)),
        ("token", field(true, false)),
        ("retries", retries),
        ("endpoints.<service>", field(false, false)),
    ];
    ConfigDefinition {
        fields: fields.map(|(name, f)| (name.to_owned(), f)).into(),
        allow_additional_fields: false,
    }
}

/// Schema of the data source of a box.
pub fn data() -> DataSourceSpecDefinition {
    let field = |kind: Kind| DataSourceSpecSchema {
        r#type: kind.into(),
        ..DataSourceSpecSchema::default()
    };
    let ports = DataSourceSpecSchema {
        items: Some(Box::new(field(Kind::DataSourceSpecInteger))),
        ..field(Kind::DataSourceSpecArray)
    };
    let fields = [
        ("id", field(Kind::DataSourceSpecString)),
        ("size", field(Kind::DataSourceSpecInteger)),
        ("ports", ports),
    ];
    DataSourceSpecDefinition {
        fields: fields.map(|(name, f)| (name.to_owned(), f)).into(),
    }
}

/// Filters that find boxes.
pub fn filters() -> DataSourceFilterFields {
    let name = DataSourceFilterFieldSchema {
        r#type: "string".to_owned(),
        supported_operators: vec!["=".to_owned(), "in".to_owned()],
        ..DataSourceFilterFieldSchema::default()
    };
    DataSourceFilterFields {
        filter_fields: [("name".to_owned(), name)].into(),
    }
}
