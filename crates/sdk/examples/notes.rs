//! Provider of notes: files in directories. The book page `docs/provider-in-an-afternoon.md`
//! explains it.

use std::collections::BTreeSet;
use std::fs;

use sdk::{Computed, Context, DataSource, FunctionError, Lifecycle, Lookup, Model, Resource};
use sdk::{Result, TypedProvider, Updatable, Update, async_trait};

/// Notes in a directory.
#[derive(Model)]
pub struct Config {
    /// Directory of the books. It must exist.
    directory: String,
}

/// Book: a directory of notes.
#[derive(Resource)]
#[resource(name = "notes_book")]
struct Book {
    /// Name of the directory.
    #[attr(replaces)]
    name: String,
    /// Path of the directory.
    #[attr(stable)]
    id: Computed<String>,
}

#[async_trait]
impl Lifecycle for Book {
    type Client = Config;
    async fn create(_: &Context, config: &Config, mut book: Book) -> Result<Book> {
        book.id.set(format!("{}/{}", config.directory, book.name));
        fs::create_dir(book.id.as_str())?;
        Ok(book)
    }
    async fn read(_: &Context, _: &Config, book: Book) -> Result<Option<Book>> {
        Ok(fs::exists(book.id.as_str())?.then_some(book))
    }
    async fn delete(_: &Context, _: &Config, book: Book) -> Result<()> {
        Ok(fs::remove_dir(book.id.as_str())?)
    }
}

/// Note: a file in a book.
#[derive(Clone, Resource)]
#[resource(name = "notes_note")]
struct Note {
    /// Path of the book.
    #[attr(replaces)]
    book: String,
    /// Title, which is the name of the file.
    #[attr(replaces)]
    title: String,
    /// Text of the note.
    #[attr(default = "")]
    text: String,
    /// Path of the file.
    #[attr(stable)]
    id: Computed<String>,
}

#[async_trait]
impl Lifecycle for Note {
    type Client = Config;
    async fn create(_: &Context, _: &Config, mut note: Note) -> Result<Note> {
        note.id.set(format!("{}/{}", note.book, note.title));
        fs::write(note.id.as_str(), &note.text)?;
        Ok(note)
    }
    async fn exists(_: &Context, _: &Config, note: &Note) -> Result<bool> {
        Ok(fs::exists(note.id.as_str())?)
    }
    async fn read(_: &Context, _: &Config, mut note: Note) -> Result<Option<Note>> {
        note.text = fs::read_to_string(note.id.as_str())?;
        Ok(Some(note))
    }
    async fn delete(_: &Context, _: &Config, note: Note) -> Result<()> {
        Ok(fs::remove_file(note.id.as_str())?)
    }
}

#[async_trait]
impl Updatable for Note {
    async fn update(_: &Context, _: &Config, change: &mut Update<Note>) -> Result<Note> {
        fs::write(change.planned.id.as_str(), &change.planned.text)?;
        Ok(change.planned.clone())
    }
}

/// Titles of the notes of a book.
#[derive(DataSource)]
#[data_source(name = "notes_titles")]
struct Titles {
    /// Path of the book.
    book: String,
    /// Titles.
    titles: Computed<BTreeSet<String>>,
}

#[async_trait]
impl Lookup for Titles {
    type Client = Config;
    async fn read(_: &Context, _: &Config, mut found: Titles) -> Result<Titles> {
        let entries = fs::read_dir(&found.book)?;
        let titles = entries.map(|entry| Ok(entry?.file_name().display().to_string()));
        found.titles.set(titles.collect::<Result<BTreeSet<_>>>()?);
        Ok(found)
    }
}

/// Converts a title to a file name.
fn slug(title: String) -> Result<String, FunctionError> {
    Ok(title.to_lowercase().replace(' ', "-"))
}

/// Returns the provider.
pub fn provider() -> TypedProvider<Config> {
    TypedProvider::new("notes", |_, config: Config| async { Ok(config) })
        .immutable_resource::<Book>()
        .resource::<Note>()
        .data_source::<Titles>()
        .function("slug", "Converts a title to a file name.", ["title"], slug)
}

fn main() -> std::process::ExitCode {
    sdk::main(provider())
}
