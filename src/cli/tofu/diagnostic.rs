//! Diagnostics in OpenTofu's JSON format: with the source lines and the header of the enclosing
//! block.

use lang::source::SourceMap;
use lang::syntax::{NativeBody, parse_file};
use model::{Diagnostic, Severity, Snippet, SourceRange};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Cache of parsed configuration files.
#[derive(Debug, Default)]
pub(super) struct Shown {
    files: HashMap<String, Option<Arc<NativeBody>>>,
}

impl Shown {
    /// Returns the JSON object of a diagnostic. Missing parts are left out.
    pub(super) fn json(&mut self, d: &Diagnostic) -> Value {
        let severity = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut all = json!({
            "severity": severity,
            "summary": d.summary,
            "detail": d.detail,
        });
        if let Some(address) = &d.address {
            all["address"] = json!(address);
        }
        if let Some(range) = &d.range {
            // An empty range is extended by one character, so that it marks something.
            let empty = u32::from(range.start.byte == range.end.byte);
            let mut end = range.end;
            end.byte += empty;
            end.column += empty;
            all["range"] = json!({ "filename": range.filename, "start": range.start, "end": end });
            if let Some(snippet) = &d.snippet {
                all["snippet"] = self.snippet(range, snippet, empty);
            }
        }
        all
    }

    fn snippet(&mut self, range: &SourceRange, snippet: &Snippet, empty: u32) -> Value {
        let (line, text, (start, end)) = match &snippet.whole {
            Some(whole) => (whole.line, &whole.text, whole.mark),
            None => (snippet.line, &snippet.text, snippet.mark),
        };
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        json!({
            "context": self.block(range),
            "code": text,
            "start_line": line,
            "highlight_start_offset": start.min(length),
            "highlight_end_offset": (end + empty).min(length),
            "values": [],
        })
    }

    /// Returns the header of the block that contains a range: `resource "a" "b"`.
    fn block(&mut self, range: &SourceRange) -> Option<String> {
        let body = self.file(&range.filename)?;
        // Starts one byte earlier, because OpenTofu does not count the first character of a header.
        let at = range.start.byte.checked_sub(1)?;
        let mut blocks = body.blocks.iter();
        let block = blocks.find(|b| b.type_span.start <= at && at < b.close.end.max(b.open.end))?;
        let labels = block.labels.iter();
        let labels = labels.map(|label| format!(" {}", json!(&*label.text)));
        Some(labels.fold(block.type_name.to_string(), |all, label| all + &label))
    }

    fn file(&mut self, name: &str) -> Option<Arc<NativeBody>> {
        let read = || {
            let native = name.ends_with(".tf") || name.ends_with(".tofu");
            let text = fsroot::read_regular(std::path::Path::new(name));
            // JSON configuration has no blocks with a header to show.
            let text = String::from_utf8(text.ok().filter(|_| native)?).ok()?;
            let file = SourceMap::new().add(name, &*text);
            Some(Arc::new(parse_file(&text, file).0))
        };
        let known = self.files.entry(name.to_owned()).or_insert_with(read);
        known.clone()
    }
}
