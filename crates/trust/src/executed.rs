//! Files that a command executes: its program, arguments that are files, `#!` interpreters, and
//! files that the text of a shell command names. What these files load themselves is not found.

use crate::shell_text::{fragments, programs_that_read};
use crate::words::{is_shell, runner};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Limit of the search through interpreters and shell texts.
const MAX_DEPTH: u32 = 6;
/// Limit of the directories of one command in which its other arguments are tried.
const MAX_DIRS: usize = 16;
/// Limit of the entries of a directory whose files a program runs.
const MAX_ENTRIES: usize = 64;
/// Limit of the places in a short option where a value may begin.
const MAX_FLAGS: usize = 8;
/// Limit of the files of one command.
const MAX_FILES: usize = 512;
/// Bytes of a `#!` line that are read.
const MAX_FIRST_LINE: usize = 512;

/// Directories of the system, whose programs no workspace changes.
const SYSTEM: [&str; 12] = [
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/opt", "/nix", "/etc", "/snap", "/proc",
    "/dev",
];

/// Files that a program reads without being told, by its name.
const IMPLIED: [(&str, &[&str]); 9] = [
    ("git", &[".gitconfig", ".git/config"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("npm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("pnpm", &["package.json"]),
];

/// Endings that interpreters add to the name of a module or script.
const ENDINGS: [&str; 12] = [
    ".pm",
    ".py",
    "/__main__.py",
    "/__init__.py",
    ".js",
    ".mjs",
    ".cjs",
    "/index.js",
    ".sh",
    ".rb",
    ".pl",
    ".lua",
];

/// A file that a command executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecutedFile {
    /// As the command names it.
    pub(crate) name: String,
    /// Without links.
    pub(crate) path: PathBuf,
    /// Digest of its content; `None` if it cannot be read.
    pub(crate) content: Option<[u8; 32]>,
}

/// Search for the files of one command.
pub(crate) struct Search<'a> {
    /// Directory in which the command runs.
    dir: &'a Path,
    /// Directories of the workspace.
    roots: &'a [PathBuf],
    /// Directories of `PATH`.
    path: &'a [PathBuf],
    found: BTreeMap<PathBuf, ExecutedFile>,
    /// Names already tried.
    tried: std::collections::BTreeSet<String>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(dir: &'a Path, roots: &'a [PathBuf], path: &'a [PathBuf]) -> Self {
        Self {
            dir,
            roots,
            path,
            found: BTreeMap::new(),
            tried: Default::default(),
        }
    }

    /// Files of a command, ordered by path.
    pub(crate) fn files_of(mut self, words: &[&str]) -> Vec<ExecutedFile> {
        self.command(words, 0);
        self.found.into_values().collect()
    }

    fn command(&mut self, words: &[&str], depth: u32) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        if depth > MAX_DEPTH {
            return;
        }
        self.program(program, depth);
        let dirs = self.dirs_of(arguments);
        for word in words {
            self.implied(base_name(word), &dirs, depth);
        }
        if let [option, text] = arguments
            && is_shell(program)
            && option.strip_prefix('-').is_some_and(is_text_option)
            && let Some(programs) = programs_that_read(text)
        {
            for program in programs {
                self.program(&program, depth);
            }
            return;
        }
        let is_runner = runner(program).is_some();
        let script = arguments.iter().position(|word| !word.starts_with('-'));
        for (at, word) in arguments.iter().enumerate() {
            self.argument(word, is_runner || Some(at) == script, &dirs, depth);
        }
    }

    /// Directories that words name, also as the value of an option or of a variable: `env -C DIR`,
    /// `make --directory=DIR` and `PATH=DIR:/bin` find programs and files there.
    fn dirs_of(&self, words: &[&str]) -> Vec<String> {
        let named = words.iter().flat_map(|word| candidates(word));
        let is_dir = |word: &&str| !word.is_empty() && self.dir.join(word).is_dir();
        let dirs = named.filter(is_dir).map(str::to_owned);
        dirs.take(MAX_DIRS).collect()
    }

    /// Covers the files that a program reads without being told, in its directory and in others.
    fn implied(&mut self, name: &str, dirs: &[String], depth: u32) {
        for (_, files) in IMPLIED.iter().filter(|(of, _)| *of == name) {
            for file in *files {
                self.file(file, false, depth);
                for dir in dirs {
                    self.file(&format!("{dir}/{file}"), false, depth);
                }
            }
        }
        if name == "run-parts" {
            for dir in dirs {
                let entries = std::fs::read_dir(self.dir.join(dir));
                for entry in entries.into_iter().flatten().flatten().take(MAX_ENTRIES) {
                    let name = entry.file_name();
                    self.file(&format!("{dir}/{}", name.to_string_lossy()), true, depth);
                }
            }
        }
    }

    fn program(&mut self, program: &str, depth: u32) {
        if program.contains('/') {
            self.file(program, true, depth);
            return;
        }
        let dirs = self.path.iter().map(|dir| self.dir.join(dir));
        let Some(dir) = dirs.into_iter().find(|dir| dir.join(program).is_file()) else {
            return;
        };
        // The user has chosen `PATH`, so other programs of it are the user's own.
        let file = dir.join(program);
        if self.is_below_roots(&file) {
            self.cover(program, &file, depth);
        }
    }

    /// Tries the ways in which an argument can name a file.
    fn argument(&mut self, word: &str, is_script: bool, dirs: &[String], depth: u32) {
        if depth > MAX_DEPTH || word.is_empty() || !self.tried.insert(word.to_owned()) {
            return;
        }
        for name in candidates(word) {
            self.file(name, is_script && name == word, depth);
            for dir in dirs.iter().filter(|_| !name.starts_with('/')) {
                self.file(&format!("{dir}/{name}"), is_script, depth);
            }
        }
        let names = fragments(word);
        if names.len() == 1 && names[0] == word {
            return;
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.shell_text(&names, dirs, depth + 1);
    }

    /// A shell text can run any of its words, and change to any directory that it names.
    fn shell_text(&mut self, names: &[&str], around: &[String], depth: u32) {
        let mut dirs = self.dirs_of(names);
        dirs.extend(around.iter().cloned());
        dirs.truncate(MAX_DIRS);
        for name in names {
            self.argument(name, true, &dirs, depth);
            self.implied(base_name(name), &dirs, depth);
            if !name.contains('/') {
                self.program(name, depth);
            }
        }
    }

    /// Covers a file if it belongs to the workspace: below it, or named by a relative path. The
    /// script of an interpreter is also covered elsewhere, unless it belongs to the system.
    fn file(&mut self, name: &str, is_script: bool, depth: u32) {
        if name.is_empty() || name.contains('\0') {
            return;
        }
        let file = self.dir.join(name);
        let is_covered = Path::new(name).is_relative()
            || self.is_below_roots(&file)
            || (is_script && !is_of_system(&file));
        if !is_covered {
            return;
        }
        if file.is_file() {
            self.cover(name, &file, depth);
            return;
        }
        let modules = name.replace('.', "/");
        for ending in ENDINGS {
            for name in [name, modules.as_str()] {
                let name = format!("{name}{ending}");
                let file = self.dir.join(&name);
                if file.is_file() {
                    self.cover(&name, &file, depth);
                }
            }
        }
    }

    fn cover(&mut self, name: &str, file: &Path, depth: u32) {
        // The path as named is a key, too: two links to one file can be turned independently.
        if self.found.len() >= MAX_FILES || self.found.contains_key(file) {
            return;
        }
        let content = fsroot::read_regular(file).ok();
        let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let covered = ExecutedFile {
            name: name.to_owned(),
            path,
            content: content
                .as_deref()
                .map(|content| Sha256::digest(content).into()),
        };
        self.found.insert(file.to_owned(), covered);
        if let Some(line) = content.as_deref().and_then(interpreter_line) {
            let words: Vec<&str> = line.split_whitespace().collect();
            self.command(&words, depth + 1);
        }
    }

    fn is_below_roots(&self, file: &Path) -> bool {
        let real = file.canonicalize().ok();
        let lexical = normalised(file);
        let below = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        below(&lexical) || real.is_some_and(|real| below(&real))
    }
}

/// Parts of a word that can name a file or directory: the word, and the values in `@FILE`,
/// `--option=FILE`, `A=DIR:DIR`, `alias.x=!FILE`, and in a cluster of short options such as
/// `-sfFILE`.
fn candidates(word: &str) -> Vec<&str> {
    let mut all = vec![word];
    all.extend(word.strip_prefix('@'));
    let values = word.match_indices(['=', ':', ',', '!']);
    for (at, _) in values {
        let value = &word[at + 1..];
        all.push(value);
        // One entry of a list.
        all.extend(value.split([':', ',']).next());
    }
    if word.starts_with('-') && !word.starts_with("--") {
        let starts = word.char_indices().skip(2).take(MAX_FLAGS);
        all.extend(starts.map(|(at, _)| &word[at..]));
    }
    all
}

/// Interpreter and arguments in the `#!` line of a script.
fn interpreter_line(content: &[u8]) -> Option<String> {
    let rest = content.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?;
    let line = &line[..line.len().min(MAX_FIRST_LINE)];
    Some(String::from_utf8_lossy(line).into_owned())
}

/// `-c`, alone or in a cluster of options without values.
fn is_text_option(letters: &str) -> bool {
    letters.ends_with('c') && letters.chars().all(|c| "ceux".contains(c))
}

/// Name of a program without its directory.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_of_system(file: &Path) -> bool {
    let real = file.canonicalize();
    let real = real.as_deref().unwrap_or(file);
    SYSTEM.iter().any(|dir| real.starts_with(dir))
}

/// Removes `.` and `..` from a path without following links.
pub(crate) fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
