//! Arguments that updates change one by one: those of the type, those inside nested attributes and
//! blocks of the configuration, and members of objects.

use super::protection::may_keep_object;
use conform::starter_value;
use cty::schema::{Attribute, Block, NestedBlock, Nesting};
use cty::{Path, PathStep, Type, Value};
use std::sync::Arc;

/// Step to an argument.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Argument, nested block or member of an object.
    Member(Arc<str>),
    /// First element of a list, map or set.
    First,
}

/// Argument with its place in a configuration.
#[derive(Debug, Clone)]
pub(super) struct Argument<'s> {
    /// Path as operators write it, such as `rule.port`. Elements have a key if there are several.
    pub(super) name: String,
    steps: Vec<Step>,
    pub(super) change: Change<'s>,
}

/// Change of an argument.
#[derive(Debug, Clone)]
pub(super) enum Change<'s> {
    /// Another value of this type.
    Vary(&'s Type),
    /// Another value that is sent to the provider and not part of the object.
    VaryWriteOnly(&'s Type),
    /// Value of an attribute or a block that the configuration lacks.
    Add(Absent<'s>),
    /// No change, for this reason.
    Nothing(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Absent<'s> {
    Attribute(&'s Attribute),
    Member(&'s Type),
    Block(&'s NestedBlock),
}

/// Returns the arguments of a configuration. Additions come last, because later changes build on
/// them, and the provider may refuse combinations with them.
pub(super) fn arguments<'s>(block: &'s Block, config: &Value) -> Vec<Argument<'s>> {
    let mut found = Vec::new();
    of_block(block, config, &Place::default(), &mut found);
    found.sort_by_key(|argument| matches!(argument.change, Change::Add(_)));
    found
}

/// Name and steps of a place in a configuration.
#[derive(Default)]
struct Place {
    name: String,
    steps: Vec<Step>,
}

impl Place {
    fn member(&self, name: &Arc<str>) -> Self {
        let path = match &*self.name {
            "" => name.to_string(),
            outer => format!("{outer}.{name}"),
        };
        self.extended(path, Step::Member(name.clone()))
    }

    fn first(&self, of: &Value) -> Self {
        let key = match of.elements().next() {
            // Elements of a set have no keys.
            Some((key, _)) if of.len() > Some(1) && !of.ty().is_set() => {
                Path::root().index(key).to_string()
            }
            _ => String::new(),
        };
        self.extended(format!("{}{key}", self.name), Step::First)
    }

    fn extended(&self, name: String, step: Step) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { name, steps }
    }

    fn changes<'s>(self, change: Change<'s>) -> Argument<'s> {
        Argument {
            name: self.name,
            steps: self.steps,
            change,
        }
    }
}

fn of_block<'s>(block: &'s Block, value: &Value, at: &Place, found: &mut Vec<Argument<'s>>) {
    for (name, attribute) in &block.attributes {
        of_attribute(attribute, value.get_attr(name), at.member(name), found);
    }
    for (name, nested) in block.blocks.iter().filter(|(_, b)| !b.block.deprecated) {
        let here = at.member(name);
        let inner = value.get_attr(name).unwrap_or_else(|| nested.empty_value());
        match (nested.nesting, inner.elements().next()) {
            (_, None) => found.push(here.changes(Change::Add(Absent::Block(nested)))),
            (Nesting::Single | Nesting::Group, _) => of_block(&nested.block, &inner, &here, found),
            (_, Some((_, first))) => of_block(&nested.block, first, &here.first(&inner), found),
        }
    }
}

fn of_attribute<'s>(
    attribute: &'s Attribute,
    value: Option<Value>,
    here: Place,
    found: &mut Vec<Argument<'s>>,
) {
    if !attribute.required && !attribute.optional {
        return;
    }
    if attribute.deprecated {
        return found.push(here.changes(Change::Nothing("the argument is deprecated")));
    }
    if matches!(here.steps.last(), Some(Step::Member(name)) if may_keep_object(name)) {
        let why = "the argument may keep the real object when it is destroyed";
        return found.push(here.changes(Change::Nothing(why)));
    }
    let value = value.unwrap_or_else(|| attribute.empty_value());
    let Some(nested) = &attribute.nested else {
        let absent = Absent::Attribute(attribute);
        return of_type(
            &attribute.ty,
            attribute.write_only,
            absent,
            &value,
            here,
            found,
        );
    };
    let (object, here) = match (nested.nesting, value.elements().next()) {
        (_, None) => return found.push(here.changes(Change::Add(Absent::Attribute(attribute)))),
        (Nesting::Single | Nesting::Group, _) => (value, here),
        (_, Some((_, first))) => (first.clone(), here.first(&value)),
    };
    for (name, attribute) in &nested.attributes {
        of_attribute(attribute, object.get_attr(name), here.member(name), found);
    }
}

/// Finds the parts of a value without a schema of its own that change by themselves.
fn of_type<'s>(
    ty: &'s Type,
    write_only: bool,
    absent: Absent<'s>,
    value: &Value,
    here: Place,
    found: &mut Vec<Argument<'s>>,
) {
    match (ty, value.elements().next()) {
        _ if !has_members(ty) => {
            let change = if write_only {
                Change::VaryWriteOnly
            } else {
                Change::Vary
            };
            found.push(here.changes(change(ty)));
        }
        (_, None) => found.push(here.changes(Change::Add(absent))),
        (Type::Object(object), _) => {
            for (name, ty) in &object.attributes {
                let member = value
                    .get_attr(name)
                    .unwrap_or_else(|| Value::null(ty.clone()));
                let here = here.member(name);
                of_type(ty, write_only, Absent::Member(ty), &member, here, found);
            }
        }
        (Type::List(element) | Type::Set(element) | Type::Map(element), Some((_, first))) => {
            let here = here.first(value);
            of_type(
                element,
                write_only,
                Absent::Member(element),
                first,
                here,
                found,
            );
        }
        _ => {}
    }
}

/// Returns true for an object, and for a collection of objects.
fn has_members(ty: &Type) -> bool {
    match ty {
        Type::Object(_) => true,
        Type::List(element) | Type::Set(element) | Type::Map(element) => has_members(element),
        _ => false,
    }
}

impl<'s> Argument<'s> {
    /// Returns the last name of the path.
    pub(super) fn last_name(&self) -> &str {
        let mut names = self.steps.iter().rev();
        let name = names.find_map(|step| match step {
            Step::Member(name) => Some(&**name),
            Step::First => None,
        });
        name.unwrap_or_default()
    }

    /// Returns the argument by which a provider notices another write-only value.
    pub(super) fn version<'a>(&self, all: &'a [Self]) -> Option<&'a Self> {
        let (_, outer) = self.steps.split_last()?;
        let name = self.last_name();
        all.iter().find(|other| {
            let is_beside = other.steps.split_last().is_some_and(|(_, of)| of == outer);
            let suffix = other.last_name().strip_prefix(name);
            is_beside && matches!(suffix, Some("_version" | "_revision"))
        })
    }

    /// Returns the value of the argument. An element of a larger set has none, because its place
    /// changes with its value.
    pub(super) fn of(&self, config: &Value) -> Option<Value> {
        self.value_in(config, false)
    }

    /// Returns the value of the argument in the first element, also of a larger set.
    pub(super) fn first_of(&self, config: &Value) -> Option<Value> {
        self.value_in(config, true)
    }

    fn value_in(&self, config: &Value, in_larger_sets: bool) -> Option<Value> {
        let mut value = config.clone();
        for step in &self.steps {
            let is_larger_set = value.ty().is_set() && value.len() != Some(1);
            value = match step {
                Step::Member(name) => value.get_attr(name)?,
                Step::First if is_larger_set && !in_larger_sets => return None,
                Step::First => {
                    let (_, first) = value.elements().next()?;
                    first.clone().with_marks(value.marks())
                }
            };
        }
        Some(value)
    }

    /// Returns the configuration with another value of the argument.
    pub(super) fn with(&self, config: &Value, new: Value) -> Option<Value> {
        replaced(config, &self.steps, new)
    }
}

fn replaced(value: &Value, steps: &[Step], new: Value) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(new);
    };
    let (step, inner) = match step {
        Step::Member(name) => (PathStep::Attr(name.clone()), value.get_attr(name)?),
        Step::First => {
            let (key, first) = value.elements().next()?;
            (PathStep::Index(key), first.clone())
        }
    };
    let inner = replaced(&inner, rest, new)?;
    let Type::Set(element) = value.ty() else {
        return value.with_at(&Path::new(vec![step]), inner);
    };
    // An element of a set has no path, so that the set is built anew.
    let others = value.elements().skip(1).map(|(_, other)| other.clone());
    let elements: Vec<Value> = std::iter::once(inner).chain(others).collect();
    Value::try_set((**element).clone(), elements).ok()
}

impl Absent<'_> {
    /// Returns the starter of an attribute or a block; `None` if it would be without any value.
    pub(super) fn starter(self, name: &str, prefix: &str) -> Option<Value> {
        let mut block = Block::default();
        match self {
            Self::Attribute(attribute) => {
                let mut attribute = attribute.clone();
                attribute.required = true;
                block.attributes.insert(name.into(), attribute);
            }
            Self::Member(ty) => {
                let attribute = Attribute::required(ty.clone());
                block.attributes.insert(name.into(), attribute);
            }
            Self::Block(nested) => {
                let mut nested = nested.clone();
                nested.min_items = nested.min_items.max(1);
                block.blocks.insert(name.into(), nested);
            }
        }
        let starter = starter_value(&block, prefix).ok()?.get_attr(name)?;
        let mut has_value = false;
        starter.walk(&mut |_, value| {
            let is_container = value.as_map().is_some() || value.as_slice().is_some();
            has_value |= !is_container && !value.is_null();
            true
        });
        has_value.then_some(starter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::schema::NestedObject;

    fn nested(nesting: Nesting) -> Attribute {
        let port = Attribute::required(Type::Number);
        let id = Attribute::computed(Type::String);
        let attributes = [("port".into(), port), ("id".into(), id)].into();
        let nested = Some(NestedObject {
            attributes,
            nesting,
        });
        Attribute {
            nested,
            ..Attribute::optional(Type::Dynamic)
        }
    }

    fn block_of(nesting: Nesting) -> NestedBlock {
        let host = Attribute::required(Type::String);
        let secret = Attribute {
            write_only: true,
            ..Attribute::optional(Type::String)
        };
        let version = Attribute::optional(Type::Number);
        let attributes = [
            ("host".into(), host),
            ("secret".into(), secret),
            ("secret_version".into(), version),
        ];
        let block = Block {
            attributes: attributes.into(),
            ..Block::default()
        };
        NestedBlock::new(nesting, block)
    }

    fn optional_only() -> NestedBlock {
        let attributes = [("create".into(), Attribute::optional(Type::String))];
        let block = Block {
            attributes: attributes.into(),
            ..Block::default()
        };
        NestedBlock::new(Nesting::Single, block)
    }

    fn schema() -> Block {
        let pair = Type::object([("a", Type::String), ("b", Type::list(Type::Number))]);
        let attributes = [
            ("name".into(), Attribute::required(Type::String)),
            ("id".into(), Attribute::computed(Type::String)),
            ("one".into(), nested(Nesting::Single)),
            ("many".into(), nested(Nesting::Set)),
            ("keyed".into(), nested(Nesting::Map)),
            ("pairs".into(), Attribute::optional(Type::map(pair))),
        ];
        let blocks = [
            ("list".into(), block_of(Nesting::List)),
            ("set".into(), block_of(Nesting::Set)),
            ("timeouts".into(), optional_only()),
        ];
        Block {
            attributes: attributes.into(),
            blocks: blocks.into(),
            ..Block::default()
        }
    }

    /// Returns a configuration with these values, and others empty.
    fn config(values: &[(&str, Value)]) -> Value {
        let empty = schema().empty_value();
        values.iter().fold(empty, |config, (name, value)| {
            let path = Path::root().attr(*name);
            config.with_at(&path, value.clone()).expect("an argument")
        })
    }

    fn host(name: &str) -> Value {
        Value::object([
            ("host", Value::string(name)),
            ("secret", Value::null(Type::String)),
            ("secret_version", Value::null(Type::Number)),
        ])
    }

    fn port(number: i64) -> Value {
        let id = Value::null(Type::String);
        Value::object([("port", Value::int(number)), ("id", id)])
    }

    fn names(config: &Value) -> Vec<String> {
        let schema = schema();
        let all = arguments(&schema, config);
        all.into_iter().map(|argument| argument.name).collect()
    }

    fn argument<'s>(schema: &'s Block, config: &Value, name: &str) -> Argument<'s> {
        let mut all = arguments(schema, config).into_iter();
        all.find(|argument| argument.name == name).expect(name)
    }

    #[test]
    fn absent_attributes_and_blocks_are_added_after_all_other_changes() {
        let all = [
            "name", "keyed", "many", "one", "pairs", "list", "set", "timeouts",
        ];
        assert_eq!(names(&config(&[])), all);
        let schema = schema();
        for argument in arguments(&schema, &config(&[])) {
            let is_added = matches!(argument.change, Change::Add(_));
            assert_eq!(is_added, argument.name != "name", "{argument:?}");
        }
    }

    #[test]
    fn arguments_that_may_keep_the_object_are_not_changed() {
        let attribute = Attribute::optional(Type::Bool);
        let schema = Block {
            attributes: [("skip_destroy".into(), attribute)].into(),
            ..Block::default()
        };
        let found = arguments(
            &schema,
            &Value::object([("skip_destroy", Value::bool(false))]),
        );
        assert!(matches!(found[0].change, Change::Nothing(_)), "{found:?}");
    }

    #[test]
    fn arguments_inside_of_nested_values_are_found_in_the_first_element() {
        let ty = host("a").ty().clone();
        let pair = Value::object([
            ("a", Value::string("x")),
            ("b", Value::list(Type::Number, vec![Value::int(1)])),
        ]);
        let config = config(&[
            ("one", port(1)),
            (
                "many",
                Value::set(port(1).ty().clone(), vec![port(1), port(2)]),
            ),
            (
                "pairs",
                Value::map(pair.ty().clone(), [("k", pair.clone())]),
            ),
            ("list", Value::list(ty.clone(), vec![host("a"), host("b")])),
            ("set", Value::set(ty, vec![host("a")])),
        ]);
        let expected = [
            "many.port",
            "name",
            "one.port",
            "pairs.a",
            "pairs.b",
            "list[0].host",
            "list[0].secret",
            "list[0].secret_version",
            "set.host",
            "set.secret",
            "set.secret_version",
            "keyed",
            "timeouts",
        ];
        assert_eq!(names(&config), expected);
    }

    #[test]
    fn new_value_takes_the_place_of_the_first_element_alone() {
        let ty = host("a").ty().clone();
        let schema = schema();
        for (name, path, before, after) in [
            (
                "list[0].host",
                "list",
                Value::list(ty.clone(), vec![host("a"), host("b")]),
                Value::list(ty.clone(), vec![host("c"), host("b")]),
            ),
            (
                "set.host",
                "set",
                Value::set(ty.clone(), vec![host("a"), host("b")]),
                Value::set(ty, vec![host("b"), host("c")]),
            ),
            ("one.port", "one", port(1), port(2)),
            (
                "keyed[\"x\"].port",
                "keyed",
                Value::map(port(1).ty().clone(), [("x", port(1)), ("y", port(1))]),
                Value::map(port(1).ty().clone(), [("x", port(2)), ("y", port(1))]),
            ),
        ] {
            let before = config(&[(path, before)]);
            let found = argument(&schema, &before, name);
            let new = match found.last_name() {
                "port" => Value::int(2),
                _ => Value::string("c"),
            };
            let changed = found.with(&before, new).expect("changed");
            assert!(changed.raw_equals(&config(&[(path, after)])), "{changed:?}");
        }
    }

    #[test]
    fn element_of_a_larger_set_has_no_value_to_follow() {
        let ty = port(1).ty().clone();
        let schema = schema();
        let one = config(&[("many", Value::set(ty.clone(), vec![port(1)]))]);
        let two = config(&[("many", Value::set(ty, vec![port(1), port(2)]))]);
        let found = argument(&schema, &one, "many.port");
        assert_eq!(found.of(&one), Some(Value::int(1)));
        assert_eq!(found.of(&two), None);
        assert_eq!(found.first_of(&two), Some(Value::int(1)));
    }

    #[test]
    fn write_only_argument_has_the_version_beside_it() {
        let ty = host("a").ty().clone();
        let list = Value::list(ty, vec![host("a")]);
        let (schema, config) = (schema(), config(&[("list", list)]));
        let all = arguments(&schema, &config);
        let found = argument(&schema, &config, "list.secret");
        assert!(matches!(found.change, Change::VaryWriteOnly(_)));
        let version = found.version(&all).map(|version| &*version.name);
        assert_eq!(version, Some("list.secret_version"));
        let host = argument(&schema, &config, "list.host");
        assert!(host.version(&all).is_none());
    }

    #[test]
    fn starter_of_an_absent_block_has_its_required_arguments() {
        let (schema, config) = (schema(), config(&[]));
        let starter = |name: &str| {
            let argument = argument(&schema, &config, name);
            let Change::Add(absent) = argument.change else {
                panic!("{argument:?}");
            };
            absent.starter(argument.last_name(), "conform-")
        };
        let ty = host("a").ty().clone();
        let list = Value::list(ty, vec![host("conform-host")]);
        assert_eq!(starter("list"), Some(list));
        assert_eq!(starter("one"), Some(port(1)));
        // A block without a value would be no change for many target systems.
        assert_eq!(starter("timeouts"), None);
    }
}
