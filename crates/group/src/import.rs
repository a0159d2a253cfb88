//! Import of existing resources into a group: each becomes a resource of one member. All or
//! nothing; a second import of the same resources does nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::scope::FileSet;
use crate::spec::{GroupSpec, NewMember};

/// A resource to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRequest {
    /// Resource type.
    pub kind: String,
    /// Id in the provider.
    pub id: String,
    /// Name in the specification; needed if several resources have the type.
    pub name: Option<String>,
    /// Arguments of the specification that the declaration leaves out.
    pub exclude: Vec<String>,
}

/// A resource in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// Resource type.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Id in the provider.
    pub id: String,
}

/// Import of one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// Resource type.
    pub kind: String,
    /// Name in the workspace.
    pub name: String,
    /// Id in the provider.
    pub id: String,
    /// File of its declaration.
    pub set: FileSet,
    /// Arguments of the specification.
    pub arguments: Map<String, Value>,
    /// Arguments that the declaration leaves out.
    pub exclude: Vec<String>,
    /// True if the state has it already.
    pub managed: bool,
}

/// Reasons why resources cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Two requests mean the same resource.
    #[error("{resource} is requested twice, as {first} and {second}: remove one of them")]
    Twice {
        /// Resource of the specification.
        resource: String,
        /// First id.
        first: String,
        /// Second id.
        second: String,
    },
    /// Several resources of the specification have the type.
    #[error("{kind} {id} could be {candidates}: name the resource of the specification")]
    Ambiguous {
        /// Resource type.
        kind: String,
        /// Id.
        id: String,
        /// Candidates.
        candidates: String,
    },
    /// No resource of the specification has the type or the name.
    #[error("{kind} {id} matches no resource of the specification; it declares {declared}")]
    NoMatch {
        /// Resource type, with the name if one was given.
        kind: String,
        /// Id.
        id: String,
        /// Declared resources.
        declared: String,
    },
}

/// Maps requests to the resources of a member, before anything is imported. An instance that is
/// already managed keeps its number.
///
/// # Errors
/// A request matches no resource or several ones, or two requests match the same.
pub fn plan(
    spec: &GroupSpec,
    member: &NewMember<'_>,
    requests: &[ImportRequest],
    managed: &[Managed],
) -> Result<Vec<Import>, ImportError> {
    let in_state = |kind: &str, id: &str| {
        managed
            .iter()
            .find(|resource| resource.kind == kind && resource.id == id)
    };
    let mut matched = Vec::new();
    for request in requests {
        let at = matching(spec, request)?;
        if let Some((_, first)) = matched.iter().find(|(other, _)| *other == at) {
            let first: &&ImportRequest = first;
            return Err(ImportError::Twice {
                resource: format!("{}.{}", request.kind, spec.resources[at].name),
                first: first.id.clone(),
                second: request.id.clone(),
            });
        }
        matched.push((at, request));
    }
    let number = matched.iter().find_map(|(at, request)| {
        let is_instance = std::ptr::eq(&spec.resources[*at], spec.instance());
        let resource = in_state(&request.kind, &request.id).filter(|_| is_instance)?;
        match FileSet::parse(&resource.name) {
            Some(FileSet::Instance(number)) => Some(number),
            _ => None,
        }
    });
    let member = NewMember {
        number: number.unwrap_or(member.number),
        ..member.clone()
    };
    let import = |(at, request): (usize, &ImportRequest)| {
        let rendered = spec.render_resource(at, &member);
        Import {
            kind: request.kind.clone(),
            name: rendered.name,
            id: request.id.clone(),
            set: rendered.set,
            arguments: rendered.body,
            exclude: request.exclude.clone(),
            managed: in_state(&request.kind, &request.id).is_some(),
        }
    };
    Ok(matched.into_iter().map(import).collect())
}

fn matching(spec: &GroupSpec, request: &ImportRequest) -> Result<usize, ImportError> {
    let text = |at: &usize| format!("{}.{}", spec.resources[*at].kind, spec.resources[*at].name);
    let list = |all: &[usize]| all.iter().map(text).collect::<Vec<_>>().join(", ");
    let of_kind = |at: &usize| spec.resources[*at].kind == request.kind;
    let named = |at: &usize| {
        request
            .name
            .as_ref()
            .is_none_or(|name| spec.resources[*at].name == *name)
    };
    let all: Vec<usize> = (0..spec.resources.len()).collect();
    let found: Vec<usize> = all
        .iter()
        .copied()
        .filter(|at| of_kind(at) && named(at))
        .collect();
    match found[..] {
        [only] => Ok(only),
        [] => Err(ImportError::NoMatch {
            kind: match &request.name {
                Some(name) => format!("{}.{name}", request.kind),
                None => request.kind.clone(),
            },
            id: request.id.clone(),
            declared: list(&all),
        }),
        _ => Err(ImportError::Ambiguous {
            kind: request.kind.clone(),
            id: request.id.clone(),
            candidates: list(&found),
        }),
    }
}

/// Returns true if all resources are managed and declared, so that an import does nothing.
pub fn is_done(imports: &[Import], files: &BTreeSet<FileSet>) -> bool {
    imports
        .iter()
        .all(|import| import.managed && files.contains(&import.set))
}

/// Imports to undo, in this order, when the one at `failed` fails: those before it that the state
/// did not have.
pub fn undo(imports: &[Import], failed: usize) -> Vec<&Import> {
    let done = imports.iter().take(failed).filter(|import| !import.managed);
    done.rev().collect()
}

/// Adds the declarations of imports to the texts of files, by name. `body` returns the arguments.
pub fn documents(
    imports: &[Import],
    existing: &BTreeMap<String, String>,
    body: impl Fn(&Import) -> Map<String, Value>,
) -> BTreeMap<String, String> {
    let mut documents: BTreeMap<String, Value> = BTreeMap::new();
    for import in imports {
        let file = import.set.file();
        let document = documents.entry(file).or_insert_with_key(|file| {
            let text = existing.get(file).map_or("{}", String::as_str);
            serde_json::from_str(text).unwrap_or_default()
        });
        document["resource"][&import.kind][&import.name] = Value::Object(body(import));
    }
    let texts = documents.into_iter();
    texts
        .map(|(file, json)| (file, format!("{json:#}\n")))
        .collect()
}

impl Import {
    /// Arguments of the declaration: those of the specification with the imported values, so that
    /// the next plan changes nothing. Imported tags stay.
    pub fn declared(&self, imported: &Map<String, Value>) -> Map<String, Value> {
        let known = self
            .arguments
            .iter()
            .filter(|(name, _)| !self.exclude.contains(name));
        let mut declared: Map<String, Value> = known
            .map(|(name, value)| (name.clone(), imported.get(name).unwrap_or(value).clone()))
            .collect();
        if let (Some(tags), None) = (imported.get("tags"), declared.get("tags")) {
            declared.insert("tags".to_owned(), tags.clone());
        }
        declared
    }
}

#[cfg(test)]
mod tests {
    use lang::source::SourceMap;
    use serde_json::json;

    use super::*;
    use crate::MemberKey;

    fn spec() -> GroupSpec {
        let text = json!({"ID": "g", "Properties": {
            "Allocation": {"LogicalIDs": ["mgr1"]},
            "Instance": {"Properties": {"resource": {
                "aws_instance": {"host": {"ami": "ami-1", "user_data": "x"}},
                "block": {"a": {"@scope": "@dedicated"}, "b": {"@scope": "@dedicated"}},
                "nfs": {"shared": {"@scope": "all", "gb": 1}},
            }}},
        }});
        let text = text.to_string();
        let file = SourceMap::new().add("group.json", text.as_str());
        crate::spec::parse(&text, file).0.unwrap()
    }

    fn planned(requests: &[&str], managed: &[&str]) -> Result<Vec<Import>, ImportError> {
        let requests: Vec<ImportRequest> = requests.iter().map(|text| request(text)).collect();
        let managed: Vec<Managed> = managed
            .iter()
            .map(|text| {
                let request = request(text);
                let name = request.name.unwrap();
                Managed {
                    kind: request.kind,
                    name,
                    id: request.id,
                }
            })
            .collect();
        let attached = BTreeMap::from([("default".to_owned(), "mgr1".to_owned())]);
        let key = MemberKey::name("mgr1");
        let member = NewMember {
            key: &key,
            number: 9,
            attached: &attached,
        };
        plan(&spec(), &member, &requests, &managed)
    }

    /// Parses `TYPE[.NAME]=ID`.
    fn request(text: &str) -> ImportRequest {
        let (kind, id) = text.split_once('=').unwrap();
        let (kind, name) = kind
            .split_once('.')
            .map_or((kind, None), |(k, n)| (k, Some(n)));
        ImportRequest {
            kind: kind.to_owned(),
            id: id.to_owned(),
            name: name.map(str::to_owned),
            exclude: Vec::new(),
        }
    }

    /// S3-08. Rows named after InfraKit's DetermineImportInfo*.
    #[test]
    #[rustfmt::skip]
    fn requests_are_matched_to_resources_of_the_member() {
        let cases: Vec<(&str, &[&str], Result<&str, &str>)> = vec![
            (
                "Success",
                &["aws_instance=i-1", "block.b=v-1", "nfs=n-1"],
                Ok(
                    "instance-9: aws_instance.instance-9; default_dedicated_mgr1: block.default-mgr1-b; all_global: nfs.all-shared",
                ),
            ),
            (
                "WithImportNameAmbiguousResType",
                &["block.a=v-1"],
                Ok("default_dedicated_mgr1: block.default-mgr1-a"),
            ),
            (
                "TypeDuplicate",
                &["nfs=n-1", "nfs=n-2"],
                Err("nfs.shared is requested twice, as n-1 and n-2"),
            ),
            ("NameDuplicate", &["block.a=v-1", "block.a=v-2"], Err("block.a is requested twice")),
            (
                "NoImportNameAmbiguousResType",
                &["block=v-1"],
                Err("block v-1 could be block.a, block.b"),
            ),
            ("NoResourceWithName", &["block.z=v-1"], Err("block.z v-1 matches no resource")),
            ("NoResourceWithoutName", &["disk=d-1"], Err("disk d-1 matches no resource")),
        ];
        for (name, requests, expected) in cases {
            let text = |imports: Vec<Import>| {
                let one = |i: &Import| format!("{}: {}.{}", i.set, i.kind, i.name);
                imports.iter().map(one).collect::<Vec<_>>().join("; ")
            };
            match (
                planned(requests, &[]).map(text).map_err(|e| e.to_string()),
                expected,
            ) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{name}: {found}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }

    /// S3-08. InfraKit: ImportAlreadyExists, ImportTfImportError (rollback).
    #[test]
    fn import_is_all_or_nothing_and_not_repeated() {
        let requests = ["nfs=n-1", "aws_instance=i-1", "block.a=v-1"];
        let managed = [
            "nfs.all-shared=n-1",
            "aws_instance.instance-4=i-1",
            "block.x=v-1",
        ];
        let imports = planned(&requests, &managed).unwrap();
        // The instance keeps the number of its first import.
        assert_eq!(imports[1].name, "instance-4");
        let mut files: BTreeSet<FileSet> =
            imports.iter().map(|import| import.set.clone()).collect();
        assert!(is_done(&imports, &files));
        files.remove(&FileSet::Instance(4));
        assert!(!is_done(&imports, &files));
        let imports = planned(&requests, &["nfs.all-shared=n-1"]).unwrap();
        let undone = |failed| {
            undo(&imports, failed)
                .iter()
                .map(|i| i.id.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(undone(3), ["v-1", "i-1"]);
        assert_eq!(undone(2), ["i-1"]);
        assert!(undone(1).is_empty());
    }

    /// InfraKit: DetermineFinalPropsForImport.
    #[test]
    fn declaration_has_the_imported_values() {
        let mut import = planned(&["aws_instance=i-1"], &[]).unwrap().remove(0);
        let imported = json!({"ami": "ami-2", "arn": "x", "tags": {"a": "b"}});
        let imported = imported.as_object().unwrap();
        let declared = |import: &Import| Value::Object(import.declared(imported));
        assert_eq!(declared(&import)["ami"], "ami-2");
        assert_eq!(declared(&import)["user_data"], "x");
        assert_eq!(declared(&import)["tags"], json!({"a": "b"}));
        assert_eq!(
            declared(&import).get("arn"),
            None,
            "arguments of the specification alone"
        );
        import.exclude.push("user_data".to_owned());
        assert_eq!(declared(&import).get("user_data"), None);
    }
}
