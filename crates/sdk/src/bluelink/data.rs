//! Data sources. A Bluelink host has filters and fields: settable attributes are filters, and all
//! attributes are fields. Values other than scalars and lists of scalars are JSON text.

use std::collections::HashMap;
use std::sync::Arc;

use cty::{Type, Value};
use proto::bluelink::providerserverv1::{
    DataSourceFilterFieldSchema, DataSourceFilterFields, DataSourceSpecDefinition,
    DataSourceSpecSchema, DataSourceSpecSchemaType as Kind, ResolvedDataSource,
    ResolvedDataSourceFilter, ResolvedDataSourceFilterSearch,
};
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::string_or_substitution::Value as Part;
use proto::bluelink::schema::{
    DataSource as Written, DataSourceFilter, MappingNode, ScalarValue, StringOrSubstitutions,
};
use proto::bluelink::sharedtypesv1::Diagnostic as Told;

use super::resource::convert_diagnostics;
use super::value::{DecodeError, decode, decode_scalar, encode};
use crate::diagnostics::{Diagnostic, Failure};
use crate::provider::{Context, DataSource};
use crate::schema::{Attr, Schema};
use crate::service::Entry;
use crate::{check, codec};

/// The only supported operator: the field equals the searched value.
const EQUALS: &str = "=";

/// Returns the fields that can be read.
pub(super) fn definition(schema: &Schema) -> DataSourceSpecDefinition {
    let attrs = schema.block.attributes.iter().map(|attr| {
        let field = DataSourceSpecSchema {
            description: attr.description.clone(),
            nullable: true,
            sensitive: attr.sensitive,
            ..field(&attr.ty())
        };
        (attr.name.clone(), field)
    });
    let blocks = schema.block.blocks.iter();
    let blocks = blocks.map(|nested| (nested.name.clone(), field(&nested.ty())));
    DataSourceSpecDefinition {
        fields: attrs.chain(blocks).collect(),
    }
}

fn field(ty: &Type) -> DataSourceSpecSchema {
    let items = match (shape(ty), ty.element_type()) {
        (Shape::Several, Some(of)) => Some(Box::new(field(of))),
        _ => None,
    };
    let kind = match ty {
        _ if items.is_some() => Kind::DataSourceSpecArray,
        Type::Number => Kind::DataSourceSpecFloat,
        Type::Bool => Kind::DataSourceSpecBoolean,
        _ => Kind::DataSourceSpecString,
    };
    DataSourceSpecSchema {
        r#type: kind.into(),
        items,
        ..DataSourceSpecSchema::default()
    }
}

/// Representation of a value on the wire.
#[derive(PartialEq)]
enum Shape {
    One,
    Several,
    Json,
}

fn shape(ty: &Type) -> Shape {
    match ty {
        Type::String | Type::Number | Type::Bool => Shape::One,
        Type::List(of) | Type::Set(of) if of.is_primitive() => Shape::Several,
        _ => Shape::Json,
    }
}

/// Returns the fields that can be filtered by.
pub(super) fn filters(schema: &Schema) -> DataSourceFilterFields {
    let field = |ty: &Type, description: &str| DataSourceFilterFieldSchema {
        r#type: match ty {
            Type::Number => "float",
            Type::Bool => "boolean",
            _ => "string",
        }
        .to_owned(),
        description: description.to_owned(),
        supported_operators: vec![EQUALS.to_owned()],
        conflicts_with: Vec::new(),
    };
    let attrs = schema
        .block
        .attributes
        .iter()
        .filter(|attr| is_settable(attr));
    let attrs = attrs.map(|attr| (attr.name.clone(), field(&attr.ty(), &attr.description)));
    let blocks = schema.block.blocks.iter();
    let blocks = blocks.map(|nested| {
        let about = &nested.block.description;
        (nested.name.clone(), field(&nested.ty(), about))
    });
    DataSourceFilterFields {
        filter_fields: attrs.chain(blocks).collect(),
    }
}

fn is_settable(attr: &Attr) -> bool {
    attr.required || attr.optional
}

/// Reads a data source with the requested filters.
pub(super) async fn fetch(
    entry: Arc<Entry<dyn DataSource>>,
    cx: Context,
    question: ResolvedDataSource,
) -> Result<HashMap<String, MappingNode>, Failure> {
    let config = config(&entry.schema, &question.filter)?;
    let mut said = check::check_attributes(&entry.schema, &config);
    said.extend(entry.item.validate(&cx, &config).await);
    if said.has_errors() {
        return Err(said.into());
    }
    let found = entry.item.read(&cx, config).await?;
    encode_answer(&found, &entry.ty)
}

/// Validates a data source as configured. A data source with unknown filters is not validated.
pub(super) async fn validate(
    entry: Arc<Entry<dyn DataSource>>,
    cx: Context,
    written: Written,
) -> Result<Vec<Told>, Failure> {
    let ty = entry.schema.implied_type();
    let filters = written
        .filter
        .into_iter()
        .map(|filter| known_filter(filter, &ty));
    // The host validates before it resolves substitutions; a partial configuration would lack
    // required filters.
    let Some(filters) = filters.collect::<Option<Vec<_>>>() else {
        return Ok(Vec::new());
    };
    let config = config(&entry.schema, &filters)?;
    let mut said = check::check_attributes(&entry.schema, &config);
    said.extend(entry.item.validate(&cx, &config).await);
    Ok(convert_diagnostics(&said))
}

/// Converts a filter to values of its field's type; `None` if a value is still a substitution.
fn known_filter(filter: DataSourceFilter, ty: &Type) -> Option<ResolvedDataSourceFilter> {
    let name = filter.field.as_ref().map(decode_scalar);
    let field = name.as_ref().and_then(Value::as_str);
    let field = field.and_then(|name| ty.attribute(name));
    // A filter on a list searches for its elements.
    let of = field.map(|ty| ty.element_type().unwrap_or(ty));
    let values = filter.search.unwrap_or_default().values.into_iter();
    let value = |text: StringOrSubstitutions| {
        let parts = text.values.into_iter().map(|part| match part.value? {
            Part::StringValue(text) => Some(text),
            Part::SubstitutionValue(_) => None,
        });
        Some(scalar(parts.collect::<Option<String>>()?, of))
    };
    Some(ResolvedDataSourceFilter {
        field: filter.field,
        operator: filter.operator,
        search: Some(ResolvedDataSourceFilterSearch {
            values: values.map(value).collect::<Option<_>>()?,
        }),
    })
}

fn scalar(text: String, ty: Option<&Type>) -> MappingNode {
    // Unresolved filters are text, while resolved ones have the type of their field.
    let value = match ty {
        Some(Type::Number) => text.parse().ok().map(Scalar::FloatValue),
        Some(Type::Bool) => text.parse().ok().map(Scalar::BoolValue),
        _ => None,
    };
    let value = Some(value.unwrap_or(Scalar::StringValue(text)));
    MappingNode {
        scalar: Some(ScalarValue { value }),
        ..MappingNode::default()
    }
}

/// Converts the filters to a configuration.
fn config(schema: &Schema, filters: &[ResolvedDataSourceFilter]) -> Result<Value, Failure> {
    let ty = schema.implied_type();
    let mut said: HashMap<String, Value> = HashMap::new();
    for filter in filters {
        let name = filter.field.as_ref().map(decode_scalar);
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        let at = |summary: String, why: String| Diagnostic::error(summary, why).at_attr(name);
        let known = ty.attribute(name).ok_or_else(|| {
            at(
                format!("{name} is not a filter field of the data source"),
                "use one of its arguments".to_owned(),
            )
        })?;
        // Other operators search for several objects; a data source here reads one.
        if filter.operator != EQUALS {
            let why = format!("use {EQUALS}, not {:?}", filter.operator);
            return Err(at(format!("{name} does not support this operator"), why).into());
        }
        let values = filter.search.as_ref().map(|search| &search.values[..]);
        let value = searched(values.unwrap_or_default(), known).map_err(|why| {
            at(
                format!("the value of the filter {name} is not valid"),
                why.to_string(),
            )
        })?;
        said.insert(name.to_owned(), value);
    }
    // The host does not know which filters are required.
    for attr in schema.block.attributes.iter().filter(|attr| attr.required) {
        if !said.contains_key(&attr.name) {
            let summary = format!("{} must be set", attr.name);
            let why = format!(
                "add a filter by the field {} with the operator {EQUALS} to the data source",
                attr.name
            );
            return Err(Diagnostic::error(summary, why).at_attr(&attr.name).into());
        }
    }
    let types = ty.as_object().map(|object| object.attributes.iter());
    let members = types.into_iter().flatten().map(|(name, ty)| {
        let value = said.remove(&**name);
        (
            name.clone(),
            value.unwrap_or_else(|| Value::null(ty.clone())),
        )
    });
    Ok(schema
        .block
        .with_empty_blocks(Value::object_from_map(members)))
}

fn searched(values: &[MappingNode], ty: &Type) -> Result<Value, DecodeError> {
    let one = || match values {
        [one] => Ok(one),
        all => Err(DecodeError::NotOne(all.len())),
    };
    match shape(ty) {
        Shape::One => decode(Some(one()?), ty),
        Shape::Several => {
            // Several search values of a list attribute are its elements.
            let all = MappingNode {
                items: values.to_vec(),
                ..MappingNode::default()
            };
            decode(Some(&all), ty)
        }
        Shape::Json => {
            let text = decode(Some(one()?), &Type::String)?;
            let text = text.as_str().unwrap_or_default();
            let json = serde_json::from_str(text)?;
            let read = codec::from_state_json(json, ty);
            read.map_err(|failure| {
                let said = failure.diagnostics.0.into_iter();
                DecodeError::Json(said.map(|one| one.detail).collect())
            })
        }
    }
}

fn encode_answer(found: &Value, ty: &Type) -> Result<HashMap<String, MappingNode>, Failure> {
    let types = ty.as_object().map(|object| object.attributes.iter());
    let mut all = HashMap::new();
    for (name, ty) in types.into_iter().flatten() {
        // Null values are omitted: the wire cannot distinguish them from empty ones.
        let Some(value) = found.get_attr(name).filter(Value::is_given) else {
            continue;
        };
        let node = match shape(ty) {
            Shape::Json => {
                let text = codec::to_json(&value, ty)?.to_string();
                encode(&Value::string(text), &Type::String, None)
            }
            _ => encode(&value, ty, None),
        };
        all.extend(node.map(|node| (name.to_string(), node)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::bluelink::providerserverv1::ResolvedDataSourceFilterSearch;

    fn filter(field: &str, operator: &str, values: &[&str]) -> ResolvedDataSourceFilter {
        let node = |text: &&str| encode(&Value::string(*text), &Type::String, None).unwrap();
        ResolvedDataSourceFilter {
            field: node(&field).scalar,
            operator: operator.to_owned(),
            search: Some(ResolvedDataSourceFilterSearch {
                values: values.iter().map(node).collect(),
            }),
        }
    }

    fn schema() -> Schema {
        Schema::new()
            .attr(Attr::string("family").required())
            .attr(Attr::list("names"))
            .attr(Attr::strings("tags"))
            .attr(Attr::string("id").computed())
    }

    #[test]
    fn data_source_filters_are_decoded_as_configuration() {
        let filters = [
            filter("family", EQUALS, &["debian"]),
            filter("names", EQUALS, &["a", "b"]),
            filter("tags", EQUALS, &["{\"k\": \"v\"}"]),
        ];
        let config = config(&schema(), &filters).unwrap();
        assert_eq!(config.get_attr("family"), Some("debian".into()));
        assert_eq!(config.get_attr("names").unwrap().len(), Some(2));
        let tags = config.get_attr("tags").unwrap();
        assert_eq!(tags.index_str("k"), Some("v".into()));
        let told = encode_answer(&config, &schema().implied_type()).unwrap();
        let tags = decode(told.get("tags"), &Type::String).unwrap();
        assert_eq!(tags.as_str(), Some("{\"k\":\"v\"}"));
        assert!(!told.contains_key("id"), "null attributes are omitted");
        let kinds = definition(&schema()).fields;
        assert_eq!(kinds["names"].r#type(), Kind::DataSourceSpecArray);
        assert_eq!(kinds["tags"].r#type(), Kind::DataSourceSpecString);
        let fields = super::filters(&schema()).filter_fields;
        assert!(fields.contains_key("family") && !fields.contains_key("id"));
    }

    #[test]
    fn unsupported_filters_are_rejected_with_the_field() {
        for (filters, words) in [
            (vec![], "family must be set"),
            (
                vec![filter("colour", EQUALS, &["red"])],
                "colour is not a filter field of the data source",
            ),
            (
                vec![filter("family", "!=", &["x"])],
                "family does not support this operator",
            ),
            (
                vec![filter("family", EQUALS, &["x", "y"])],
                "the value of the filter family is not valid",
            ),
        ] {
            let said = config(&schema(), &filters).unwrap_err().diagnostics;
            assert_eq!(said.0[0].summary, words);
            assert!(said.0[0].attribute.is_some());
        }
    }
}
