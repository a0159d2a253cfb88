//! Measures the language of comments, user-visible strings and Markdown pages, and checks it
//! against limits.
//!
//! Also checks that links between Markdown pages lead to existing files and headings.
//!
//! The limits are about twice the worst figures of nextest, jj and tokio-console. They are a
//! thermometer: only a reader can tell if a sentence is clear.

mod links;

use color_eyre::eyre::{Context, bail};
use regex::Regex;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Options {
    /// Directory to measure
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Fail if a figure is past its limit
    #[arg(long)]
    check: bool,
    /// List this many places that raise a figure
    #[arg(long, default_value_t = 0)]
    list: usize,
}

/// Directories without prose of this project.
const SKIPPED: [&str; 3] = ["target", "node_modules", ".git"];
/// A string with fewer words is a name or a format, not a sentence.
const SENTENCE: usize = 4;

/// Patterns of the measurement.
struct Patterns {
    word: Regex,
    string: Regex,
    trailing: Regex,
    start: Regex,
    /// Banned phrases; true if a following " to" makes one harmless.
    banned: Vec<(Regex, bool)>,
}

impl Patterns {
    fn new() -> color_eyre::Result<Self> {
        let banned = include_str!("prose/banned.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let (phrase, before_to) = match line.strip_suffix(" !to") {
                    Some(phrase) => (phrase, true),
                    None => (line, false),
                };
                Ok((Regex::new(&format!("(?i){phrase}"))?, before_to))
            })
            .collect::<Result<_, regex::Error>>()?;
        Ok(Self {
            word: Regex::new("[A-Za-z][A-Za-z'’]*")?,
            string: Regex::new(r#""((?:[^"\\]|\\.)*)""#)?,
            trailing: Regex::new(r"\s//\s(.+)$")?,
            start: Regex::new(
                r"(?i)^(what|whether|who|whose|whom|how|where|which|whatever|whoever|wherever|that)\b",
            )?,
            banned,
        })
    }

    fn words<'t>(&self, text: &'t str) -> Vec<&'t str> {
        self.word
            .find_iter(text)
            .map(|found| found.as_str())
            .collect()
    }

    fn is_banned(&self, text: &str) -> bool {
        // The text after a match is checked here, because the regex crate has no lookahead.
        self.banned.iter().any(|(phrase, before_to)| {
            phrase
                .find_iter(text)
                .any(|found| !(*before_to && text[found.end()..].starts_with(" to")))
        })
    }
}

/// Words of one kind of text, and the counted ones among them.
#[derive(Default)]
struct Share {
    all: usize,
    counted: usize,
}

impl Share {
    fn add(&mut self, words: &[&str], counted: &[&str]) -> usize {
        let hits = words
            .iter()
            .filter(|word| counted.contains(&word.to_ascii_lowercase().as_str()))
            .count();
        self.all += words.len();
        self.counted += hits;
        hits
    }

    fn per(&self, base: f64) -> f64 {
        match self.all {
            0 => 0.0,
            // Counts of words are far below 2^52.
            #[expect(clippy::cast_precision_loss, reason = "counts of words of one project")]
            all => self.counted as f64 * base / all as f64,
        }
    }
}

#[derive(Default)]
struct Figures {
    /// Doc comments, and those that start with a question word.
    doc_starts: Share,
    what_in_comments: Share,
    what_in_strings: Share,
    what_in_docs: Share,
    you_in_docs: Share,
    /// Lines inside function bodies, and comment lines among them.
    comments_inside: Share,
    banned: usize,
    broken_links: usize,
    /// Places that raise a figure: rank, place, text.
    places: Vec<(u8, String, String)>,
}

enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Figures {
    fn rows(&self) -> [(&'static str, f64, Limit); 8] {
        use Limit::{AtLeast, AtMost};
        #[expect(clippy::cast_precision_loss, reason = "a count of phrases")]
        let banned = self.banned as f64;
        #[expect(clippy::cast_precision_loss, reason = "a count of links")]
        let broken_links = self.broken_links as f64;
        [
            (
                "doc comments that start with a question word, %",
                self.doc_starts.per(100.0),
                AtMost(6.0),
            ),
            (
                "\"what\" per 1,000 words of comments",
                self.what_in_comments.per(1_000.0),
                AtMost(2.0),
            ),
            (
                "\"what\" per 1,000 words of strings",
                self.what_in_strings.per(1_000.0),
                AtMost(2.0),
            ),
            (
                "\"what\" per 1,000 words of Markdown",
                self.what_in_docs.per(1_000.0),
                AtMost(2.0),
            ),
            (
                "\"you\" per 1,000 words of Markdown",
                self.you_in_docs.per(1_000.0),
                AtLeast(4.0),
            ),
            (
                "comment lines inside functions, %",
                self.comments_inside.per(100.0),
                AtLeast(3.0),
            ),
            ("banned phrases", banned, AtMost(5.0)),
            ("broken links in Markdown", broken_links, AtMost(0.0)),
        ]
    }

    /// Adds one Rust file.
    fn rust(&mut self, name: &str, text: &str, patterns: &Patterns) {
        let is_test = name.contains("test");
        let mut doc: Option<(usize, String)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let trimmed = line.trim();
            if let Some(text) = trimmed
                .strip_prefix("///")
                .or_else(|| trimmed.strip_prefix("//!"))
            {
                let (_, doc) = doc.get_or_insert_with(|| (number, String::new()));
                if !doc.is_empty() {
                    doc.push(' ');
                }
                doc.push_str(text.trim());
                continue;
            }
            // A doc comment ends at the first line of another kind.
            if let Some((start, text)) = doc.take() {
                self.doc(&format!("{name}:{start}"), &text, patterns);
            }
            let place = format!("{name}:{number}");
            if let Some(comment) = trimmed.strip_prefix("//") {
                self.comment(&place, comment.trim(), patterns);
                // Indented lines are taken for function bodies; the measure need not be exact.
                if line.starts_with("    ") && !is_test {
                    self.comments_inside.counted += 1;
                }
                continue;
            }
            if line.starts_with("    ") && !trimmed.is_empty() && !is_test {
                self.comments_inside.all += 1;
            }
            if !is_test {
                for found in patterns.string.captures_iter(trimmed) {
                    self.string(&place, &found[1], patterns);
                }
            }
            // A string may contain slashes too, as in a URL.
            if let Some(found) = patterns.trailing.captures(trimmed)
                && !trimmed.contains('"')
            {
                self.comment(&place, &found[1], patterns);
            }
        }
        if let Some((start, text)) = doc {
            self.doc(&format!("{name}:{start}"), &text, patterns);
        }
    }

    fn doc(&mut self, place: &str, text: &str, patterns: &Patterns) {
        self.doc_starts.all += 1;
        if patterns.start.is_match(text) {
            self.doc_starts.counted += 1;
            self.places.push((3, place.to_owned(), text.to_owned()));
        }
        self.comment(place, text, patterns);
    }

    fn comment(&mut self, place: &str, text: &str, patterns: &Patterns) {
        let words = patterns.words(text);
        let hits = self.what_in_comments.add(&words, &["what"]);
        let is_banned = patterns.is_banned(text);
        self.banned += usize::from(is_banned);
        if is_banned || hits > 0 {
            let rank = if is_banned { 2 } else { 4 };
            self.places.push((rank, place.to_owned(), text.to_owned()));
        }
    }

    fn string(&mut self, place: &str, text: &str, patterns: &Patterns) {
        let words = patterns.words(text);
        if words.len() < SENTENCE {
            return;
        }
        let hits = self.what_in_strings.add(&words, &["what"]);
        let is_banned = patterns.is_banned(text);
        self.banned += usize::from(is_banned);
        if is_banned || hits > 0 {
            self.places.push((1, place.to_owned(), text.to_owned()));
        }
    }

    /// Adds one Markdown page; code blocks are not prose.
    fn markdown(&mut self, name: &str, text: &str, patterns: &Patterns) {
        let mut in_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with("```") {
                in_code = !in_code;
                continue;
            }
            if in_code {
                continue;
            }
            let words = patterns.words(line);
            let hits = self.what_in_docs.add(&words, &["what"]);
            self.you_in_docs
                .add(&words, &["you", "your", "yours", "yourself"]);
            let is_banned = patterns.is_banned(line);
            self.banned += usize::from(is_banned);
            if is_banned || hits > 0 {
                let rank = u8::from(!is_banned) * 2;
                self.places
                    .push((rank, format!("{name}:{number}"), line.trim().to_owned()));
            }
        }
    }
}

pub fn run(options: &Options) -> color_eyre::Result<()> {
    let patterns = Patterns::new()?;
    let mut figures = Figures::default();
    let mut pages = BTreeMap::new();
    for path in files(&options.dir)? {
        let text =
            std::fs::read(&path).wrap_err_with(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&text);
        let name = path.strip_prefix(&options.dir).unwrap_or(&path);
        let name = name.to_string_lossy();
        match path.extension().and_then(|e| e.to_str()) {
            Some("rs") => figures.rust(&name, &text, &patterns),
            // Pages below fuzz/ are seeds.
            Some("md") if !name.starts_with("fuzz") => {
                figures.markdown(&name, &text, &patterns);
                pages.insert(path.clone(), text.into_owned());
            }
            _ => {}
        }
    }
    for (place, target) in links::broken(&pages) {
        figures.broken_links += 1;
        figures
            .places
            .push((0, place, format!("broken link to {target}")));
    }
    let past = report(&figures);
    // By rank: banned phrases in pages first, then strings, comments and starts of doc comments.
    figures.places.sort();
    for (_, place, text) in figures.places.iter().take(options.list) {
        println!("{place}: {}", text.chars().take(160).collect::<String>());
    }
    if options.check && past > 0 {
        bail!("{past} figures are past their limits; use --list 50 to list places that raise them");
    }
    Ok(())
}

/// Prints the figures and returns the number past their limits.
fn report(figures: &Figures) -> usize {
    let mut past = 0;
    let mut table = String::new();
    for (name, value, limit) in figures.rows() {
        // Compared as shown, with one decimal.
        let value = (value * 10.0).round() / 10.0;
        let (is_met, limit) = match limit {
            Limit::AtMost(limit) => (value <= limit, format!("at most {limit}")),
            Limit::AtLeast(limit) => (value >= limit, format!("at least {limit}")),
        };
        past += usize::from(!is_met);
        let mark = if is_met { ' ' } else { '!' };
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{mark} {name:50} {value:>8.1}   {limit}");
    }
    print!("{table}");
    past
}

/// The Rust files and Markdown pages below `dir`, in order.
fn files(dir: &Path) -> color_eyre::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let entries =
            std::fs::read_dir(&dir).wrap_err_with(|| format!("cannot list {}", dir.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if entry.file_type()?.is_dir() {
                if !SKIPPED.iter().any(|skipped| name == *skipped) {
                    open.push(entry.path());
                }
            } else if matches!(
                entry.path().extension().and_then(|e| e.to_str()),
                Some("rs" | "md")
            ) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
