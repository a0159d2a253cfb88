//! Case of invalid input: files, command and expected error.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::support::{Run, Workspace};

/// One invalid workspace and its expected errors.
pub(super) struct Case {
    name: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    /// Symbolic links: name and target.
    links: Vec<(&'static str, &'static str)>,
    folders: Vec<&'static str>,
    args: Vec<OsString>,
    pub(super) code: i32,
    /// File, line and column of one of the errors.
    at: Option<(&'static str, u64, u64)>,
    /// Text that one of the errors must contain, in lower case.
    says: &'static str,
    /// Maximum number of errors, because consequences of an error are not reported.
    errors: usize,
}

pub(super) fn case(name: &'static str, says: &'static str) -> Case {
    let (files, links, folders, args) = Default::default();
    Case {
        name,
        files,
        links,
        folders,
        args,
        code: 1,
        at: None,
        says,
        errors: 2,
    }
}

impl Case {
    pub(super) fn file(mut self, name: &'static str, text: impl AsRef<[u8]>) -> Self {
        self.files.push((name, text.as_ref().to_vec()));
        self
    }

    pub(super) fn main(self, text: impl AsRef<[u8]>) -> Self {
        self.file("main.tf", text)
    }

    pub(super) fn link(mut self, name: &'static str, to: &'static str) -> Self {
        self.links.push((name, to));
        self
    }

    pub(super) fn folder(mut self, name: &'static str) -> Self {
        self.folders.push(name);
        self
    }

    pub(super) fn args(mut self, args: &[&[u8]]) -> Self {
        self.args = args
            .iter()
            .map(|a| OsStr::from_bytes(a).to_owned())
            .collect();
        self
    }

    pub(super) fn at(mut self, file: &'static str, line: u64, column: u64) -> Self {
        self.at = Some((file, line, column));
        self
    }

    pub(super) fn code(self, code: i32) -> Self {
        Self { code, ..self }
    }

    /// Sets the maximum number of errors.
    pub(super) fn errors(self, errors: usize) -> Self {
        Self { errors, ..self }
    }
}

pub(super) const LAB: &str = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";

pub(super) const CYCLE: &str = "resource \"terraform_data\" \"a\" {\n  input = terraform_data.b.id\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n";

pub(super) const STATE: &str =
    r#"{"version":4,"serial":3,"lineage":"l","outputs":{},"resources":{"a":"b"}}"#;

pub(super) const UNQUALIFIED: &str = r#"{"version":4,"terraform_version":"0.12.28","serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"managed","type":"alpha_resource","name":"a","provider":"provider.alpha","instances":[{"schema_version":0,"attributes":{"id":"a"}}]}]}"#;

pub(super) const ONE: &str = "output \"o\" { value = 1 }\n";

pub(super) fn with_a(body: &str) -> String {
    format!("resource \"terraform_data\" \"a\" {{\n{body}}}\n")
}

fn check(case: &Case, run: &Run) -> Vec<String> {
    let mut wrong = Vec::new();
    if run.code != Some(case.code) {
        wrong.push(format!("exit code {:?} instead of {}", run.code, case.code));
    }
    let lines = run.diagnostics();
    let errors: Vec<_> = lines.iter().filter(|d| d["severity"] == "error").collect();
    let place = |d: &Value| {
        (
            d["range"]["filename"].clone(),
            d["range"]["start"]["line"].clone(),
            d["range"]["start"]["column"].clone(),
        )
    };
    if let Some((file, line, column)) = case.at
        && !errors
            .iter()
            .any(|d| place(d) == (file.into(), line.into(), column.into()))
    {
        wrong.push(format!("no error at {file}:{line}:{column}"));
    }
    // The number of suppressed errors is reported as a warning.
    let text = |d: &Value, key: &str| d[key].as_str().unwrap_or_default().to_lowercase();
    let said =
        |d: &Value| text(d, "summary").contains(case.says) || text(d, "detail").contains(case.says);
    if !lines.iter().any(said) {
        wrong.push(format!("nothing says {:?}", case.says));
    }
    if errors.len() > case.errors {
        wrong.push(format!(
            "{} errors instead of {} at most",
            errors.len(),
            case.errors
        ));
    }
    if let Some(d) = lines.iter().find(|d| d.to_string().len() > 20_000) {
        wrong.push(format!("{} bytes in one diagnostic", d.to_string().len()));
    }
    if !wrong.is_empty() {
        let errors: Vec<String> = errors
            .iter()
            .take(5)
            .map(|d| d.to_string().chars().take(400).collect())
            .collect();
        let stderr: String = run.stderr.chars().take(1_000).collect();
        wrong.push(format!("said: {errors:#?} {stderr}"));
    }
    wrong
}

impl Case {
    fn workspace(&self) -> Workspace {
        let w = Workspace::new(&[]);
        for (name, bytes) in &self.files {
            let path = w.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        self.folders
            .iter()
            .for_each(|name| std::fs::create_dir(w.path().join(name)).unwrap());
        self.links
            .iter()
            .for_each(|(name, to)| std::os::unix::fs::symlink(to, w.path().join(name)).unwrap());
        w
    }
}

pub(super) fn check_all(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let w = case.workspace();
        for command in [
            &["stage", "--json"][..],
            &["deploy", "--auto-approve", "--json"][..],
        ] {
            let args: Vec<&OsStr> = command
                .iter()
                .map(OsStr::new)
                .chain(case.args.iter().map(OsString::as_os_str))
                .collect();
            let run = w.run(&args);
            let outcome = run.result();
            if outcome["outcome"] != "error" || outcome["exit_code"] != case.code {
                wrong.push(format!(
                    "{}: {}: the result is {outcome}",
                    case.name, command[0]
                ));
            }
            wrong.extend(
                check(case, &run)
                    .into_iter()
                    .map(|text| format!("{}: {}: {text}", case.name, command[0])),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
