//! `flightdeck plugin docs`: the documentation of a provider, from its live schema.

use super::choice;
use crate::cli::commands::files::refuse_links_below_workspace;
use crate::cli::escape::{safe_lines, safe_path};
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::options::PluginDocsArgs;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use conform::{Page, documentation};
use fsroot::RootedPath;
use model::settings::Access;
use serde_json::json;
use std::path::Path;

/// Mode of the written pages.
const MODE: u32 = 0o644;

pub(super) async fn run(args: PluginDocsArgs, out: &mut Output) -> CommandResult {
    let settings = settings("plugin docs", Access::ReadOnly, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let documented = async {
        match choice::chosen(&engine, &args.plugin).await? {
            Ok(plugin) => Ok(Ok((engine.documented(&plugin).await?, plugin))),
            Err(error) => Ok(Err(error)),
        }
    };
    let found = session.wait(out, &mut progress, documented).await;
    session.finish(out).await;
    out.flush_diagnostics();
    let (schema, plugin) = found??;
    let pages = documentation(choice::last_name(&plugin), &schema);
    if let Some(directory) = &args.out {
        refuse_links_below_workspace(directory)?;
        let written = write(&pages, directory)?;
        let directory = safe_path(directory);
        if out.json {
            let pages = pages.iter().map(|page| &page.path).collect::<Vec<_>>();
            let result = json!({ "plugin": plugin, "directory": directory, "pages": pages, "changed": written });
            out.result("plugin", fields(result));
        } else {
            out.line(&format!(
                "{} pages in {directory}, {written} of them new or changed",
                pages.len()
            ));
        }
    } else if out.json {
        let pages = pages
            .iter()
            .map(|page| json!({ "path": page.path, "text": page.text }));
        let result = json!({ "plugin": plugin, "pages": pages.collect::<Vec<_>>() });
        out.result("plugin", fields(result));
    } else {
        let texts: Vec<&str> = pages.iter().map(|page| page.text.as_str()).collect();
        out.line(safe_lines(&texts.join("\n")).trim_end());
    }
    Ok(OK)
}

/// Writes the pages that differ from the files in the directory. Returns their number.
fn write(pages: &[Page], directory: &Path) -> Result<usize, CliError> {
    let mut written = 0;
    for page in pages {
        // Paths contain names from the plugin, and must not leave the directory through links.
        let place = RootedPath::new(directory, &page.path);
        if place.read().is_ok_and(|old| old == page.text.as_bytes()) {
            continue;
        }
        let saved = place
            .create_parents()
            .and_then(|()| place.replace(page.text.as_bytes(), MODE));
        saved.map_err(|e| {
            CliError::io(format!(
                "cannot write {}: {e}; {written} of {} pages were written",
                safe_path(&place.path()),
                pages.len()
            ))
        })?;
        written += 1;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_pages_are_written_and_none_through_a_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let page = |path: &str, text: &str| Page {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let target = dir.path().join("docs");
        let mut pages = vec![page("index.md", "a"), page("resources/x.md", "b")];
        assert_eq!(write(&pages, &target).expect("written"), 2);
        assert_eq!(write(&pages, &target).expect("written"), 0);
        pages[1].text = "c".to_owned();
        assert_eq!(write(&pages, &target).expect("written"), 1);
        let text = std::fs::read_to_string(target.join("resources/x.md"));
        assert_eq!(text.expect("a page"), "c");
        // A link in the directory leads elsewhere.
        std::os::unix::fs::symlink("/", target.join("functions")).expect("a link");
        pages.push(page("functions/tmp.md", "d"));
        let error = write(&pages, &target).expect_err("refused").to_string();
        assert!(error.contains("functions/tmp.md"), "{error}");
    }
}
