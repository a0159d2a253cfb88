//! Check of a provider's names, schemas and state upgraders for mistakes of the author. Runs at
//! startup, and in a test of the provider.

use crate::function::{Parameter, Signature};
use crate::provider::{Provider, Resource};
use crate::schema::{Attr, AttrType, Block, Nested, Nesting, Schema};

/// Mistake in a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// Type name, or the provider.
    pub subject: String,
    /// Names of blocks and attributes down to the invalid one; empty for the type itself.
    pub path: Vec<String>,
    /// Problem.
    pub flaw: SchemaFlaw,
}

/// Problem of a part of a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFlaw {
    /// Two parts have this name.
    #[error("is declared twice")]
    Twice,
    /// The name has other characters, or begins with a digit.
    #[error(
        "use lower-case letters, digits and underscores in a name, and do not begin with a digit"
    )]
    Name,
    /// Hosts use the name themselves.
    #[error("the name is reserved for the configuration language")]
    Reserved,
    /// An object's `id` is configured.
    #[error("the attribute id must be computed, because hosts store an id of theirs in it")]
    Id,
    /// The attribute is required, and has a flag that excludes this.
    #[error("a required attribute cannot be optional or computed, nor have a default")]
    RequiredAndMore,
    /// The attribute is neither required, optional nor computed.
    #[error("an attribute must be required, optional or computed")]
    NobodySays,
    /// The default has another type than the attribute.
    #[error("the default is {found}, not {wanted}")]
    Default {
        /// Type of the attribute.
        wanted: String,
        /// Type of the default.
        found: String,
    },
    /// The attribute is stable, and not computed.
    #[error("only a computed attribute can be stable")]
    Stable,
    /// The attribute is write-only and computed.
    #[error("a write-only attribute cannot be computed")]
    ComputedWriteOnly,
    /// The type cannot be updated, but a change of the attribute would be an update.
    #[error("objects of this type cannot be updated, so the attribute must be `replaces`")]
    NoUpdate,
    /// An update could change the identity.
    #[error("identity cannot change: it must be `replaces`, and `stable` if it is computed")]
    IdentityChanges,
    /// The attribute cannot be a part of the identity.
    #[error("only a stored string, number, bool or list of these can be part of the identity")]
    Identity,
    /// The objects of a collection must have one type.
    #[error("a collection of objects cannot have attributes of the type \"any\"")]
    DynamicObjects,
    /// Repeated blocks must have one type.
    #[error("a repeated block cannot have attributes of the type \"any\"")]
    DynamicBlocks,
    /// The attribute is nested as a group, which only blocks can be.
    #[error("nesting mode \"group\" is valid only for blocks")]
    Group,
    /// No number of blocks meets the limits.
    #[error("the minimum number of blocks ({min}) is greater than the maximum ({max})")]
    Limits {
        /// Least number.
        min: i64,
        /// Greatest number.
        max: i64,
    },
    /// The default time limit is not a duration.
    #[error("the time limit {0:?} is not a positive duration, such as 20m")]
    TimeLimit(String),
    /// The upgraders of older states have a gap.
    #[error("no upgrader takes states of version {0}; upgraders must lead to the schema's version")]
    UpgraderMissing(i64),
    /// An upgrader takes states that are not older than the schema.
    #[error("an upgrader takes states of version {0}, which is not older than the schema's")]
    UpgraderBeyond(i64),
    /// The type name does not begin with the provider's name.
    #[error("type names must begin with {0}_, so that a host can find their provider")]
    Nobodys(String),
}

impl std::error::Error for SchemaError {}

impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            subject: of,
            path,
            flaw,
        } = self;
        let path = path.join(".");
        match (flaw, path.is_empty()) {
            // The message of this flaw is a predicate, so no colon separates it from the name.
            (SchemaFlaw::Twice, true) => write!(f, "{of} {flaw}"),
            (SchemaFlaw::Twice, false) => write!(f, "{of}: {path} {flaw}"),
            (_, true) => write!(f, "{of}: {flaw}"),
            (_, false) => write!(f, "{of}: {path}: {flaw}"),
        }
    }
}

/// Returns the mistakes of a provider that hosts refuse or misunderstand: names, flags of
/// attributes, defaults, attributes of types without an update, time limits, and state upgraders.
/// Call it in a test of the provider. A provider with mistakes does not start.
///
/// A type without a read or a delete needs no check, because it does not compile.
pub fn internal_validate(provider: &dyn Provider) -> Vec<SchemaError> {
    let mut check = Check::default();
    check.name("the provider", provider.name());
    // Hosts read `alias` and `version` of a provider block themselves.
    check.schema("the provider", &provider.schema(), &["alias", "version"]);
    let resources = provider.resources();
    check.type_names(provider.name(), resources.iter().map(|item| item.name()));
    for item in &resources {
        check.resource(&**item);
    }
    let data = provider.data_sources();
    check.type_names(provider.name(), data.iter().map(|item| item.name()));
    for item in &data {
        check.schema(item.name(), &item.schema(), &RESERVED[..5]);
    }
    let ephemeral = provider.ephemeral_resources();
    check.type_names(provider.name(), ephemeral.iter().map(|item| item.name()));
    for item in &ephemeral {
        check.schema(item.name(), &item.schema(), &RESERVED[..5]);
    }
    let functions = provider.functions();
    // Names of functions have no prefix, because expressions name the provider as well.
    check.twice(functions.iter().map(|item| item.name()));
    for item in &functions {
        check.function(item.name(), &item.signature());
    }
    check.found
}

/// Arguments of every resource; data sources and ephemeral resources have the first five.
const RESERVED: [&str; 7] = [
    "count",
    "for_each",
    "depends_on",
    "lifecycle",
    "provider",
    "provisioner",
    "connection",
];

#[derive(Default)]
struct Check {
    found: Vec<SchemaError>,
}

/// Place of an attribute or a block.
struct Place<'a> {
    subject: &'a str,
    path: Vec<String>,
    /// Attributes that can be configured must require replacement.
    replaced: bool,
}

impl<'a> Place<'a> {
    fn of(subject: &'a str) -> Place<'a> {
        Place {
            subject,
            path: Vec::new(),
            replaced: false,
        }
    }

    fn inside(&self, name: &str) -> Place<'a> {
        Place {
            path: [&self.path[..], &[name.to_owned()]].concat(),
            ..*self
        }
    }
}

impl Check {
    fn add(&mut self, place: &Place<'_>, flaw: SchemaFlaw) {
        self.found.push(SchemaError {
            subject: place.subject.to_owned(),
            path: place.path.clone(),
            flaw,
        });
    }

    fn name(&mut self, subject: &str, name: &str) {
        if !is_name(name) {
            self.add(&Place::of(subject), SchemaFlaw::Name);
        }
    }

    fn type_names<'n>(&mut self, provider: &str, names: impl Iterator<Item = &'n str> + Clone) {
        self.twice(names.clone());
        for name in names {
            self.name(name, name);
            let own = name.strip_prefix(provider);
            // Without the underscore, `laboratory` would pass as a type of `lab`.
            let own = own.and_then(|rest| rest.strip_prefix('_'));
            if own.is_none_or(str::is_empty) {
                let flaw = SchemaFlaw::Nobodys(provider.to_owned());
                self.add(&Place::of(name), flaw);
            }
        }
    }

    fn twice<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in repeated(names) {
            self.add(&Place::of(name), SchemaFlaw::Twice);
        }
    }

    fn resource(&mut self, item: &dyn Resource) {
        let (name, schema) = (item.name(), item.schema());
        self.reserved(name, &schema, &RESERVED);
        let place = Place {
            // Without an update, a change of a configured attribute could not be applied.
            replaced: !item.supports_update(),
            ..Place::of(name)
        };
        self.block(&place, &schema.block);
        let id = schema
            .block
            .attributes
            .iter()
            .find(|attr| attr.name == "id");
        if id.is_some_and(|id| !id.computed) {
            self.add(&place.inside("id"), SchemaFlaw::Id);
        }
        self.time_limits(&place, &schema);
        let mut versions: Vec<i64> = item.upgraders().iter().map(|one| one.from).collect();
        // Sorted, because the search for duplicates compares neighbours.
        versions.sort_unstable();
        for twice in versions.windows(2).filter(|pair| pair[0] == pair[1]) {
            self.add(
                &place.inside(&format!("upgrader of version {}", twice[0])),
                SchemaFlaw::Twice,
            );
        }
        for beyond in versions.iter().filter(|from| **from >= schema.version) {
            self.add(&place, SchemaFlaw::UpgraderBeyond(*beyond));
        }
        // Without upgraders, the type refuses states of all older versions.
        let first = versions
            .first()
            .copied()
            .unwrap_or(schema.version.min(1) - 1);
        let missing = (first.max(0)..schema.version).find(|step| !versions.contains(step));
        if let Some(missing) = missing {
            self.add(&place, SchemaFlaw::UpgraderMissing(missing));
        }
    }

    fn schema(&mut self, subject: &str, schema: &Schema, reserved: &[&str]) {
        self.reserved(subject, schema, reserved);
        self.block(&Place::of(subject), &schema.block);
    }

    fn reserved(&mut self, subject: &str, schema: &Schema, reserved: &[&str]) {
        let place = Place::of(subject);
        for name in names(&schema.block).filter(|name| reserved.contains(name)) {
            self.add(&place.inside(name), SchemaFlaw::Reserved);
        }
    }

    fn time_limits(&mut self, place: &Place<'_>, schema: &Schema) {
        let invalid = schema.timeouts.as_ref().and_then(|limits| limits.invalid());
        if let Some(limit) = invalid {
            let flaw = SchemaFlaw::TimeLimit(limit.to_owned());
            self.add(&place.inside("timeouts"), flaw);
        }
    }

    fn function(&mut self, name: &str, signature: &Signature) {
        self.name(name, name);
        let parameters = signature.parameters.iter().chain(&signature.variadic);
        let parameters: Vec<&Parameter> = parameters.collect();
        let place = Place::of(name);
        // Errors name the parameter, and a second one of that name would make them ambiguous.
        for twice in repeated(parameters.iter().map(|one| one.name.as_str())) {
            self.add(&place.inside(twice), SchemaFlaw::Twice);
        }
        for parameter in parameters.iter().filter(|one| !is_name(&one.name)) {
            self.add(&place.inside(&parameter.name), SchemaFlaw::Name);
        }
    }

    fn block(&mut self, place: &Place<'_>, block: &Block) {
        // Attributes and blocks share one namespace in the object type.
        for twice in repeated(names(block)) {
            self.add(&place.inside(twice), SchemaFlaw::Twice);
        }
        for attr in &block.attributes {
            self.attribute(&place.inside(&attr.name), attr);
        }
        for nested in &block.blocks {
            self.nested(&place.inside(&nested.name), nested);
        }
    }

    fn attribute(&mut self, place: &Place<'_>, attr: &Attr) {
        if !is_name(&attr.name) {
            self.add(place, SchemaFlaw::Name);
        }
        // A default replaces a missing argument, but a required one is never missing.
        if attr.required && (attr.optional || attr.computed || attr.default.is_some()) {
            self.add(place, SchemaFlaw::RequiredAndMore);
        }
        if !attr.required && !attr.optional && !attr.computed {
            self.add(place, SchemaFlaw::NobodySays);
        }
        // Write-only values reach neither plan nor state, so a provider could not return one.
        if attr.write_only && attr.computed {
            self.add(place, SchemaFlaw::ComputedWriteOnly);
        }
        if attr.stable && !attr.computed {
            self.add(place, SchemaFlaw::Stable);
        }
        if let Some(default) = attr
            .default
            .as_ref()
            .filter(|d| !d.ty().conforms_to(&attr.ty()))
        {
            let (wanted, found) = (attr.ty().friendly_name(), default.ty().friendly_name());
            self.add(place, SchemaFlaw::Default { wanted, found });
        }
        if attr.identity && (attr.write_only || !can_identify(&attr.ty())) {
            self.add(place, SchemaFlaw::Identity);
        }
        let configured = attr.required || attr.optional;
        // With a default, a plan never leaves the value to the provider.
        let chosen = attr.computed && attr.default.is_none();
        if attr.identity && (configured && !attr.replaces || chosen && !attr.stable) {
            self.add(place, SchemaFlaw::IdentityChanges);
        }
        // Write-only values are not stored, so a change of one alone plans no update.
        if place.replaced && configured && !attr.replaces && !attr.write_only {
            self.add(place, SchemaFlaw::NoUpdate);
        }
        if let AttrType::Nested(nesting, attributes) = &attr.ty {
            self.nested_attributes(place, attr, *nesting, attributes);
        }
    }

    fn nested_attributes(
        &mut self,
        place: &Place<'_>,
        attr: &Attr,
        nesting: Nesting,
        attributes: &[Attr],
    ) {
        if nesting == Nesting::Group {
            self.add(place, SchemaFlaw::Group);
        }
        // All elements of a collection have one type, which an attribute of any type would break.
        if nesting != Nesting::Single && attr.ty().has_dynamic() {
            self.add(place, SchemaFlaw::DynamicObjects);
        }
        for twice in repeated(attributes.iter().map(|attr| attr.name.as_str())) {
            self.add(&place.inside(twice), SchemaFlaw::Twice);
        }
        for inner in attributes {
            let place = Place {
                // A change inside changes the attribute itself.
                replaced: place.replaced && !attr.replaces,
                ..place.inside(&inner.name)
            };
            self.attribute(&place, inner);
        }
    }

    fn nested(&mut self, place: &Place<'_>, nested: &Nested) {
        if !is_name(&nested.name) {
            self.add(place, SchemaFlaw::Name);
        }
        let single = matches!(nested.nesting, Nesting::Single | Nesting::Group);
        // A single block is no element of a collection, so its attributes can have any type.
        if !single && nested.ty().has_dynamic() {
            self.add(place, SchemaFlaw::DynamicBlocks);
        }
        // A maximum of zero sets no limit.
        if !single && nested.max > 0 && nested.min > nested.max {
            let (min, max) = (nested.min, nested.max);
            self.add(place, SchemaFlaw::Limits { min, max });
        }
        let place = Place {
            // A change of time limits changes no object.
            replaced: place.replaced && nested.name != "timeouts",
            path: place.path.clone(),
            ..*place
        };
        self.block(&place, &nested.block);
    }
}

fn names(block: &Block) -> impl Iterator<Item = &str> {
    let attributes = block.attributes.iter().map(|attr| attr.name.as_str());
    attributes.chain(block.blocks.iter().map(|nested| nested.name.as_str()))
}

/// Returns names that occur more than once, each of them once.
fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let pairs = names.windows(2).filter(|pair| pair[0] == pair[1]);
    let mut twice: Vec<&str> = pairs.map(|pair| pair[0]).collect();
    // A name that occurs three times forms two pairs.
    twice.dedup();
    twice
}

fn is_name(name: &str) -> bool {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    // All characters of an empty name are valid, so it has a check of its own.
    name.chars().all(valid) && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn can_identify(ty: &cty::Type) -> bool {
    match ty {
        cty::Type::List(element) => element.is_primitive(),
        ty => ty.is_primitive(),
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
