//! Import of existing resources into a committed group, all or nothing.

use super::command::{Operations, Switches};
use crate::error::EngineError;
use group::commit::{self, Committed, CommittedMember, Directory};
use group::import::{self, Import, ImportRequest, Managed};
use group::scope::FileSet;
use group::spec::{GroupSpec, NewMember};
use lang::addr::AbsInstance;
use model::*;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Reasons why resources cannot be imported into a group.
#[derive(Debug, thiserror::Error)]
enum GroupImportError {
    #[error("no resource is the instance of the group; name it with its id, as {0}=ID")]
    NoInstance(String),
    #[error("failed to import {address}, so nothing is imported: {source}")]
    Undone {
        address: String,
        source: EngineError,
    },
}

impl From<GroupImportError> for EngineError {
    fn from(error: GroupImportError) -> Self {
        Self::refused(error)
    }
}

impl Operations {
    /// Imports existing resources as a member of the group that a specification describes, and
    /// commits the specification. The declarations have the imported values, so that the next
    /// stage does not change them.
    pub async fn import_group(&self, request: GroupImport) -> Result<GroupImportView, EngineError> {
        let asked = StageRequest::with_variables(request.variables.clone());
        let spec = self.parse_spec(&request.file, &request.spec).await?;
        let command = self.begin_on_state(&asked, "group import").await?;
        let result = self.import_member(&spec, request, &command).await;
        let reported = self.report_unknown().await;
        command.finish().await;
        // An error of the command is more important than one of the report.
        let view = result?;
        reported.map(|()| view)
    }

    async fn import_member(
        &self,
        spec: &GroupSpec,
        request: GroupImport,
        switches: &Switches,
    ) -> Result<GroupImportView, EngineError> {
        self.take_in_commits().await?;
        let (mut committed, directory) = self.present_group(spec).await?;
        let managed = self.managed().await?;
        let (member, imports) = plan_imports(spec, &request, (&committed, &directory), &managed)?;
        let mut view = GroupImportView {
            group: spec.id.clone(),
            member: member.key.to_string(),
            imported: Vec::new(),
            files: Vec::new(),
        };
        let sets = directory
            .files
            .keys()
            .filter_map(|file| FileSet::from_file(file));
        let sets: BTreeSet<FileSet> = sets.map(|(set, _)| set).collect();
        if import::is_done(&imports, &sets) {
            return Ok(view);
        }
        let given = |import: &Import| import.declared(&Map::new());
        let texts = import::documents(&imports, &directory.files, given);
        self.write_declarations(&texts, (&committed, &directory))?;
        if let Err(error) = self
            .import_all(&imports, &request.variables, switches)
            .await
        {
            self.restore_declarations(&texts, &directory)?;
            return Err(error);
        }
        let values = self.values_of(&imports).await?;
        let texts = import::documents(&imports, &directory.files, |import| {
            let values = values.get(&address(import));
            import.declared(values.unwrap_or(&Map::new()))
        });
        self.write_declarations(&texts, (&committed, &directory))?;
        committed.files.extend(texts.clone());
        committed.next = committed.next.max(member.number + 1);
        committed.members.retain(|other| other.key != member.key);
        committed.members.push(member.clone());
        let taken = Some(now_ms());
        self.store_commit(spec, request.spec, &committed, taken)
            .await?;
        let new = imports.iter().filter(|import| !import.managed);
        view.imported = new.map(address).collect();
        view.files = texts.into_keys().collect();
        Ok(view)
    }

    /// Imports resources; if one fails, forgets those before it.
    async fn import_all(
        &self,
        imports: &[Import],
        variables: &[VariableFlag],
        switches: &Switches,
    ) -> Result<(), EngineError> {
        for (at, import) in imports.iter().enumerate() {
            if import.managed {
                continue;
            }
            let object = ImportObject {
                address: address(import),
                id: import.id.clone(),
                variables: variables.to_vec(),
            };
            let Err(source) = self.import_locked(object, switches).await else {
                continue;
            };
            let undone: Vec<String> = import::undo(imports, at).into_iter().map(address).collect();
            if !undone.is_empty() {
                self.forget_locked(&undone, false).await?;
            }
            let address = address(import);
            return Err(GroupImportError::Undone { address, source }.into());
        }
        Ok(())
    }

    /// Attributes of objects, by address.
    async fn values_of(
        &self,
        imports: &[Import],
    ) -> Result<BTreeMap<String, Map<String, Value>>, EngineError> {
        let state = self.state().await?;
        let wanted: BTreeSet<String> = imports.iter().map(address).collect();
        let objects = state.objects.iter().filter(|o| wanted.contains(&o.address));
        let values = objects.filter_map(|object| {
            let values = serde_json::from_str(&object.attributes).ok()?;
            Some((object.address.clone(), values))
        });
        Ok(values.collect())
    }

    /// Managed resources of the root module.
    async fn managed(&self) -> Result<Vec<Managed>, EngineError> {
        let state = self.state().await?;
        let managed = state.objects.iter().filter_map(|object| {
            let address = object.address.parse::<AbsInstance>().ok()?;
            let values: Value = serde_json::from_str(&object.attributes).ok()?;
            let is_root = address.module.0.is_empty() && object.deposed.is_empty();
            is_root.then(|| Managed {
                kind: address.resource.kind.to_string(),
                name: address.resource.name.to_string(),
                id: values["id"].as_str().unwrap_or_default().to_owned(),
            })
        });
        Ok(managed.collect())
    }
}

/// The member that the resources of a request become, and the import of each of them.
fn plan_imports(
    spec: &GroupSpec,
    request: &GroupImport,
    (committed, directory): (&Committed, &Directory),
    managed: &[Managed],
) -> Result<(CommittedMember, Vec<Import>), EngineError> {
    let wanted: Vec<ImportRequest> = request.resources.iter().map(wanted).collect();
    let instance = &spec.instance().kind;
    let of_instance = wanted.iter().find(|wanted| wanted.kind == *instance);
    let number = of_instance.and_then(|wanted| number_of(wanted, managed));
    let choice = (request.member.as_deref(), number);
    let member = commit::member_to_import(spec, committed, directory, choice);
    let member = member.map_err(EngineError::refused)?;
    let new = NewMember {
        key: &member.key,
        number: member.number,
        attached: &member.attached,
    };
    let imports = import::plan(spec, &new, &wanted, managed).map_err(EngineError::refused)?;
    let is_instance = |import: &Import| {
        import.kind == *instance && import.set == FileSet::Instance(member.number)
    };
    if !imports.iter().any(is_instance) {
        return Err(GroupImportError::NoInstance(instance.clone()).into());
    }
    Ok((member, imports))
}

/// Number of a managed instance.
fn number_of(wanted: &ImportRequest, managed: &[Managed]) -> Option<u64> {
    let is_it = |m: &&Managed| m.kind == wanted.kind && m.id == wanted.id;
    match FileSet::parse(&managed.iter().find(is_it)?.name)? {
        FileSet::Instance(number) => Some(number),
        _ => None,
    }
}

fn address(import: &Import) -> String {
    format!("{}.{}", import.kind, import.name)
}

fn wanted(resource: &ImportedResource) -> ImportRequest {
    ImportRequest {
        kind: resource.kind.clone(),
        id: resource.id.clone(),
        name: resource.name.clone(),
        exclude: resource.exclude.clone(),
    }
}
