//! Rendering of a member: its instance, dedicated and global documents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::instance::{ATTACH, init_path, merge_init, merge_tags, set_identity};
use super::variables::Values;
use super::{GroupSpec, SpecResource};
use crate::MemberKey;
use crate::scope::{FileSet, Scope};

/// Member to render.
#[derive(Clone, Debug)]
pub struct NewMember<'m> {
    /// Key of the member.
    pub key: &'m MemberKey,
    /// Number of the instance, unique in the directory (see
    /// [`next_instance`](crate::scope::next_instance)).
    pub number: u64,
    /// Key of the attached set for each dedicated scope (see
    /// [`Attachments::attach`](crate::attachment::Attachments::attach)).
    pub attached: &'m BTreeMap<String, String>,
}

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its set, which gives the name.
    pub set: FileSet,
    /// Content.
    pub json: Value,
}

impl Document {
    /// Text of the file.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.json)
    }
}

/// One rendered resource.
pub(crate) struct Rendered {
    pub(crate) set: FileSet,
    pub(crate) name: String,
    pub(crate) body: Map<String, Value>,
}

impl GroupSpec {
    /// Renders all documents of a member, in the order of their names. The scopes decide which of
    /// them an action writes (see [`Scope::effect`]).
    pub fn render(&self, member: &NewMember<'_>) -> Vec<Document> {
        let mut files: BTreeMap<FileSet, Map<String, Value>> = BTreeMap::new();
        let mut put = |kind: &str, rendered: Rendered| {
            let resources = files.entry(rendered.set).or_default();
            let names = resources
                .entry(kind)
                .or_insert_with(|| Value::Object(Map::new()));
            names[rendered.name] = Value::Object(rendered.body);
        };
        for (at, resource) in self
            .resources
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != self.instance)
        {
            put(&resource.kind, self.render_resource(at, member));
        }
        let own = FileSet::Instance(member.number);
        let (instance, comment) = self.render_instance(member);
        put(&self.instance().kind, instance);
        let documents = files.into_iter().map(|(set, resources)| {
            let mut json = json!({ "resource": resources });
            if let (true, Some(tags)) = (set == own, &comment) {
                json["//"] = json!({ "tags": tags });
            }
            Document { set, json }
        });
        documents.collect()
    }

    /// Renders a resource without tags and init script.
    pub(crate) fn render_resource(&self, at: usize, member: &NewMember<'_>) -> Rendered {
        let resource = &self.resources[at];
        let set = set_of(resource, member);
        let instance = FileSet::Instance(member.number).to_string();
        let name = match at == self.instance {
            true => instance.clone(),
            false => set.resource(&resource.name, member.logical_id()),
        };
        let mut body = member.values(&instance).fields(&resource.body);
        if at == self.instance {
            set_identity(&resource.kind, &mut body, &set, member.logical_id());
        }
        Rendered { set, name, body }
    }

    /// Renders the instance, and returns the tags that belong into a comment.
    fn render_instance(
        &self,
        member: &NewMember<'_>,
    ) -> (Rendered, Option<BTreeMap<String, String>>) {
        let mut rendered = self.render_resource(self.instance, member);
        let SpecResource { kind, body, .. } = self.instance();
        let values = member.values(&rendered.name);
        let tags: BTreeMap<String, String> = self
            .instance_tags(&rendered.name, member)
            .into_iter()
            .map(|(key, value)| (key, values.text(&value)))
            .collect();
        if let (Some(init), Some(path)) = (&self.init, init_path(kind, body)) {
            merge_init(&mut rendered.body, path, &values.text(init));
        }
        let exact = merge_tags(kind, &mut rendered.body, &tags);
        (rendered, (!exact).then_some(tags))
    }

    /// Tags of an instance: those of the flavor, and those by which the group finds it.
    fn instance_tags(&self, instance: &str, member: &NewMember<'_>) -> BTreeMap<String, String> {
        let mut tags = BTreeMap::from([("infrakit.instance.name".to_owned(), instance.to_owned())]);
        tags.extend(self.tags.clone());
        let mut add = |key: &str, value: &str| tags.insert(key.to_owned(), value.to_owned());
        add("infrakit.group", &self.id);
        add("infrakit.config.hash", self.hash.as_str());
        if let Some(id) = member.logical_id() {
            add("infrakit.logical_id", id);
        }
        let own = FileSet::Instance(member.number);
        let sets: BTreeSet<FileSet> = self
            .resources
            .iter()
            .map(|resource| set_of(resource, member))
            .collect();
        let attached: Vec<String> = sets
            .iter()
            .filter(|set| **set != own)
            .map(FileSet::to_string)
            .collect();
        if !attached.is_empty() {
            add(ATTACH, &attached.join(","));
        }
        tags
    }
}

impl NewMember<'_> {
    fn logical_id(&self) -> Option<&str> {
        match self.key {
            MemberKey::Name(name) => Some(name),
            MemberKey::Index(_) => None,
        }
    }

    fn values<'v>(&'v self, instance: &'v str) -> Values<'v> {
        Values {
            instance,
            logical_id: self.logical_id(),
            attached: self.attached,
        }
    }
}

fn set_of(resource: &SpecResource, member: &NewMember<'_>) -> FileSet {
    match &resource.scope {
        Scope::Default => FileSet::Instance(member.number),
        Scope::Dedicated(scope) => FileSet::Dedicated {
            scope: scope.clone(),
            key: member
                .attached
                .get(scope)
                .cloned()
                .unwrap_or_else(|| member.key.to_string()),
        },
        Scope::Global(scope) => FileSet::Global(scope.clone()),
    }
}
