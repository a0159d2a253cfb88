//! Data sources: request with filters, answer with fields. In a configuration the filter is a list
//! of objects and all fields are computed. Pure.

use super::convert::{decode, scalar as node_of};
use super::decode_error::DecodeError;
use super::schema::{ty, type_name};
use calls::ProviderDiagnostic;
use cty::schema::{Attribute, Block, NestedObject, Nesting, Schema};
use cty::{Path, Type, Value};
use model::Severity;
use proto::bluelink::providerserverv1::*;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::string_or_substitution::Value as Part;
use proto::bluelink::schema::substitution::Sub;
use proto::bluelink::schema::{
    DataSource, DataSourceFieldExport, DataSourceFilter, DataSourceFilterSearch, MappingNode,
    ScalarValue, StringOrSubstitution, StringOrSubstitutions, Substitution, SubstitutionValue,
};
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Name of the filter attribute. A field with this name is not available.
const FILTER: &str = "filter";

/// Type of data source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DataDefinition {
    /// Name in the protocol.
    pub(super) wire: String,
    fields: BTreeMap<String, DataSourceSpecSchema>,
    filters: BTreeMap<String, DataSourceFilterFieldSchema>,
}

impl DataDefinition {
    pub(super) fn of(
        wire: String,
        said: DataSourceSpecDefinition,
        filters: DataSourceFilterFields,
    ) -> Self {
        let mut fields: BTreeMap<_, _> = said.fields.into_iter().collect();
        fields.remove(FILTER);
        Self {
            wire,
            fields,
            filters: filters.filter_fields.into_iter().collect(),
        }
    }

    pub(super) fn name(&self) -> String {
        type_name(&self.wire)
    }

    pub(super) fn schema(&self) -> Schema {
        let names: Vec<&str> = self.filters.keys().map(String::as_str).collect();
        let filter = Attribute {
            nested: Some(NestedObject {
                attributes: [
                    (
                        "field",
                        Attribute::required(Type::String).describe(&names.join(", ")),
                    ),
                    ("operator", Attribute::required(Type::String)),
                    ("search", Attribute::required(Type::list(Type::String))),
                ]
                .map(|(name, attribute)| (name.into(), attribute))
                .into(),
                nesting: Nesting::List,
            }),
            ..Attribute::required(Type::Dynamic)
        };
        let field = |(name, field): (&String, &DataSourceSpecSchema)| {
            let attribute = Attribute {
                sensitive: field.sensitive,
                description: field.description.clone(),
                ..Attribute::computed(ty(&node(field)))
            };
            (name.as_str().into(), attribute)
        };
        let mut attributes: BTreeMap<Arc<str>, Attribute> = self.fields.iter().map(field).collect();
        attributes.insert(FILTER.into(), filter);
        Schema::new(
            0,
            Block {
                attributes,
                ..Block::default()
            },
        )
    }

    /// Returns the diagnostics of the filters; skips unknown values.
    pub(super) fn check(&self, config: &Value) -> Vec<ProviderDiagnostic> {
        let mut wrong = Vec::new();
        let mut fields: Vec<(usize, String)> = Vec::new();
        for (index, filter) in filters(config).into_iter().enumerate() {
            let at = Path::root().attr(FILTER).index_int(index);
            let Some(field) = text(&filter, "field") else {
                continue;
            };
            let Some(known) = self.filters.get(&field) else {
                let names: Vec<&str> = self.filters.keys().map(String::as_str).collect();
                let detail = format!(
                    "{field:?} is not a filter field. Filter fields: {}.",
                    names.join(", ")
                );
                wrong.push(problem(detail, at.attr("field")));
                continue;
            };
            let operators = &known.supported_operators;
            if let Some(operator) = text(&filter, "operator").filter(|o| !operators.contains(o)) {
                let detail = format!(
                    "{field} does not support the operator {operator:?}. Supported operators: {}.",
                    operators.join(", ")
                );
                wrong.push(problem(detail, at.attr("operator")));
            }
            let other = fields
                .iter()
                .find(|(_, other)| known.conflicts_with.contains(other));
            if let Some((_, other)) = other {
                let detail = format!("{field} and {other} cannot be used in filters together.");
                wrong.push(problem(detail, at.clone()));
            }
            fields.push((index, field));
        }
        wrong
    }

    /// Returns the data source as written in the configuration, with substitutions for unknown
    /// search values. `None` if anything else is unknown, because a blueprint cannot express it.
    pub(super) fn as_written(&self, config: &Value) -> Option<DataSource> {
        let all = config.get_attr(FILTER);
        let each = all.as_ref().filter(|all| all.is_known());
        let each = each.map(|all| all.as_slice().unwrap_or_default());
        let is_named = |filter: &Value| {
            let named = |name| filter.get_attr(name).is_none_or(|value| value.is_known());
            filter.is_known() && (filter.is_null() || (named("field") && named("operator")))
        };
        // Only search values may be unknown.
        if all.is_some() && !each.is_some_and(|each| each.iter().all(is_named)) {
            return None;
        }
        let filter = filters(config).into_iter().map(|filter| DataSourceFilter {
            field: text(&filter, "field").map(string),
            operator: text(&filter, "operator").unwrap_or_default(),
            search: Some(DataSourceFilterSearch {
                values: filter_values(&filter),
            }),
        });
        let export = |(name, field): (&String, &DataSourceSpecSchema)| {
            let export = DataSourceFieldExport {
                r#type: node(field).r#type,
            };
            (name.clone(), export)
        };
        Some(DataSource {
            r#type: self.wire.clone(),
            filter: filter.collect(),
            exports: self.fields.iter().map(export).collect(),
        })
    }

    /// Returns the request for all fields of the data source.
    pub(super) fn request(&self, config: &Value) -> ResolvedDataSource {
        let kind = |field: &DataSourceSpecSchema| node(field).r#type;
        let export = |(name, field): (&String, &DataSourceSpecSchema)| {
            let export = ResolvedDataSourceFieldExport {
                r#type: kind(field),
                alias_for: None,
            };
            (name.clone(), export)
        };
        let filter = filters(config).into_iter().map(|filter| {
            let field = text(&filter, "field").unwrap_or_default();
            let search = filter
                .get_attr("search")
                .filter(|v| v.is_known() && !v.is_null());
            let values = search
                .as_ref()
                .and_then(Value::as_slice)
                .unwrap_or_default();
            let values = values
                .iter()
                .filter_map(|v| Some(self.search(&field, v.as_str()?)));
            ResolvedDataSourceFilter {
                field: Some(ScalarValue {
                    value: Some(Scalar::StringValue(field.clone())),
                }),
                operator: text(&filter, "operator").unwrap_or_default(),
                search: Some(ResolvedDataSourceFilterSearch {
                    values: values.collect(),
                }),
            }
        });
        ResolvedDataSource {
            r#type: Some(DataSourceType {
                r#type: self.wire.clone(),
            }),
            filter: filter.collect(),
            exports: self.fields.iter().map(export).collect(),
        }
    }

    /// Search value in the type of its field.
    // Filters are lists of strings in the configuration; the protocol needs typed scalars.
    fn search(&self, field: &str, text: &str) -> MappingNode {
        let kind = self.filters.get(field).map(|f| f.r#type.as_str());
        let scalar = match kind {
            Some("integer") => text.parse().ok().map(Scalar::IntValue),
            Some("float") => text.parse().ok().map(Scalar::FloatValue),
            Some("boolean") => text.parse().ok().map(Scalar::BoolValue),
            _ => None,
        };
        node_of(scalar.unwrap_or_else(|| Scalar::StringValue(text.to_owned())))
    }

    /// Decodes an answer. Returns the object with its filter, and a warning for each field outside
    /// of the schema.
    ///
    /// # Errors
    /// A field has another kind than its schema.
    pub(super) fn object(
        &self,
        config: &Value,
        data: &HashMap<String, MappingNode>,
    ) -> Result<(Value, Vec<ProviderDiagnostic>), DecodeError> {
        let mut outside: Vec<&String> = data.keys().collect();
        outside.retain(|name| *name != FILTER && !self.fields.contains_key(*name));
        // Sorted, because the answer is a hash map and warnings must have a stable order.
        outside.sort();
        let warning = |name: &String| ProviderDiagnostic {
            severity: Severity::Warning,
            ..ProviderDiagnostic::error(
                format!(
                    "The plugin returned {name:?}, which is not in the schema of {}",
                    self.wire
                ),
                "The value is discarded. This is a bug in the plugin; report it to its authors.",
            )
        };
        let warnings = outside.into_iter().map(warning).collect();
        let field = |(name, field): (&String, &DataSourceSpecSchema)| {
            let node = node(field);
            let like = Value::null(ty(&node));
            Ok((name.clone(), decode(data.get(name), &node, &like, name)?))
        };
        let all = self.fields.iter().map(field);
        let mut all = all.collect::<Result<Vec<_>, DecodeError>>()?;
        let filter = config.get_attr(FILTER);
        all.extend(filter.map(|filter| (FILTER.to_owned(), filter)));
        Ok((Value::object(all), warnings))
    }
}

/// Returns the schema of a field in the form used for resources.
fn node(field: &DataSourceSpecSchema) -> Node {
    use DataSourceSpecSchemaType as Kind;
    let kind = match field.r#type() {
        Kind::DataSourceSpecString => "string",
        Kind::DataSourceSpecInteger => "integer",
        Kind::DataSourceSpecFloat => "float",
        Kind::DataSourceSpecBoolean => "boolean",
        Kind::DataSourceSpecArray => "array",
    };
    Node {
        r#type: kind.to_owned(),
        items: field.items.as_deref().map(|items| Box::new(node(items))),
        ..Node::default()
    }
}

fn filters(config: &Value) -> Vec<Value> {
    let known = config.is_known() && !config.is_null();
    let all = known.then(|| config.get_attr(FILTER)).flatten();
    let all = all.filter(|all| all.is_known() && !all.is_null());
    let all = all.as_ref().and_then(Value::as_slice).unwrap_or_default();
    all.iter()
        .filter(|f| f.is_known() && !f.is_null())
        .cloned()
        .collect()
}

fn string(text: String) -> ScalarValue {
    ScalarValue {
        value: Some(Scalar::StringValue(text)),
    }
}

/// Returns the search values of a filter; substitutions for unknown ones.
fn filter_values(filter: &Value) -> Vec<StringOrSubstitutions> {
    let part = |value| StringOrSubstitutions {
        values: vec![StringOrSubstitution { value: Some(value) }],
    };
    let unknown = || {
        part(Part::SubstitutionValue(Substitution {
            sub: Some(Sub::Value(SubstitutionValue {
                value_name: "unknown".to_owned(),
            })),
        }))
    };
    match filter.get_attr("search") {
        Some(all) if !all.is_known() => vec![unknown()],
        Some(all) if !all.is_null() => {
            let values = all.as_slice().unwrap_or_default().iter();
            let one = |value: &Value| match value.is_known() {
                true => value
                    .as_str()
                    .map(|t| part(Part::StringValue(t.to_owned()))),
                false => Some(unknown()),
            };
            values.filter_map(one).collect()
        }
        _ => Vec::new(),
    }
}

fn text(filter: &Value, name: &str) -> Option<String> {
    let value = filter
        .get_attr(name)
        .filter(|v| v.is_known() && !v.is_null())?;
    value.as_str().map(str::to_owned)
}

fn problem(detail: String, at: Path) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Invalid filter", detail).at(at)
}
