//! Draws terminal screens as SVG: still pictures, and recordings as animations. The text stays
//! text, in a subset of the bundled font that the file contains, so that a picture looks the
//! same everywhere.

use crate::picture::{Rgb, TEXT, background, colors};
use allsorts::binary::read::ReadScope;
use allsorts::font_data::FontData;
use allsorts::subset::{CmapTarget, SubsetProfile, subset};
use base64::Engine as _;
use color_eyre::Result;
use color_eyre::eyre::{WrapErr, eyre};
use fontdue::Font;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

/// Cells of 10 × 19 units: at this size the font's advance is ten, and its lines and blocks meet
/// those of the next row.
const SIZE: f32 = 16.6;
const WIDTH: usize = 10;
const HEIGHT: usize = 19;
const BASELINE: usize = 15;
const MARGIN: usize = 12;

/// Screen at a time of a recording.
pub struct Frame {
    pub at: Duration,
    pub screen: vt100::Screen,
}

/// Cells of one row that look the same and stand beside each other.
struct Run {
    column: usize,
    cells: usize,
    text: String,
    fg: Rgb,
    bg: Rgb,
    bold: bool,
    underline: bool,
}

/// Renders a screen.
pub fn still(screen: &vt100::Screen, font: &[u8]) -> Result<String> {
    let mut used = BTreeSet::new();
    let mut body = String::new();
    let (rows, columns) = size(screen);
    for row in 0..rows {
        let drawn = draw_row(screen, row, &mut used)?;
        if !drawn.is_empty() {
            let y = MARGIN + row * HEIGHT;
            writeln!(
                body,
                r#"<g transform="translate({MARGIN} {y})">{drawn}</g>"#
            )?;
        }
    }
    wrap(columns, rows, background(screen), &used, font, "", &body)
}

/// Renders a recording as an endless animation that shows each frame until the next one, and the
/// last one for `rest`.
pub fn animation(frames: &[Frame], rest: Duration, font: &[u8]) -> Result<String> {
    let last = frames
        .last()
        .ok_or_else(|| eyre!("the recording is empty"))?;
    let (rows, columns) = size(&last.screen);
    let mut used = BTreeSet::new();
    // Most rows are the same in many frames, so each distinct row is drawn once.
    let mut known: HashMap<String, usize> = HashMap::new();
    let (mut rows_once, mut strip, mut keys) = (String::new(), String::new(), String::new());
    let total = (last.at + rest).as_secs_f64();
    let width = columns * WIDTH + 2 * MARGIN;
    for (i, frame) in frames.iter().enumerate() {
        let left = i * width;
        write!(strip, r#"<g transform="translate({left} 0)">"#)?;
        for row in 0..rows {
            let drawn = draw_row(&frame.screen, row, &mut used)?;
            if drawn.is_empty() {
                continue;
            }
            let next = known.len();
            let id = *known.entry(drawn).or_insert_with_key(|drawn| {
                // Writing to a string does not fail.
                writeln!(rows_once, r#"<g id="r{next}">{drawn}</g>"#).unwrap_or_default();
                next
            });
            let y = MARGIN + row * HEIGHT;
            write!(strip, r##"<use href="#r{id}" x="{MARGIN}" y="{y}"/>"##)?;
        }
        strip.push_str("</g>\n");
        let percent = frame.at.as_secs_f64() / total * 100.0;
        writeln!(keys, "{percent:.3}%{{transform:translateX(-{left}px)}}")?;
    }
    let style =
        format!("@keyframes play{{{keys}}}#strip{{animation:play {total:.2}s step-end infinite}}");
    let body = format!("<defs>{rows_once}</defs><g id=\"strip\">{strip}</g>");
    wrap(
        columns,
        rows,
        background(&last.screen),
        &used,
        font,
        &style,
        &body,
    )
}

fn size(screen: &vt100::Screen) -> (usize, usize) {
    let (rows, columns) = screen.size();
    (rows.get().into(), columns.get().into())
}

/// Draws the runs of a row, at the top left of the picture.
fn draw_row(screen: &vt100::Screen, row: usize, used: &mut BTreeSet<char>) -> Result<String> {
    let ground = background(screen);
    let mut out = String::new();
    for run in runs(screen, row)? {
        let (x, width) = (run.column * WIDTH, run.cells * WIDTH);
        if run.bg != ground {
            write!(
                out,
                r#"<rect x="{x}" width="{width}" height="{HEIGHT}" fill="{}"/>"#,
                hex(run.bg)
            )?;
        }
        if run.underline {
            write!(
                out,
                r#"<rect x="{x}" y="{}" width="{width}" height="1" fill="{}"/>"#,
                HEIGHT - 3,
                hex(run.fg)
            )?;
        }
        let text = run.text.trim_end();
        if text.trim().is_empty() {
            continue;
        }
        used.extend(text.chars());
        // The given length keeps the columns in place, whatever font the viewer uses.
        let cells = run.cells - (run.text.chars().count() - text.chars().count());
        let bold = if run.bold { r#" class="b""# } else { "" };
        write!(
            out,
            r#"<text{bold} x="{x}" y="{BASELINE}" textLength="{}" fill="{}">{}</text>"#,
            cells * WIDTH,
            hex(run.fg),
            escape(text)
        )?;
    }
    Ok(out)
}

fn runs(screen: &vt100::Screen, row: usize) -> Result<Vec<Run>> {
    let (_, columns) = size(screen);
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(u16::try_from(row)?, u16::try_from(column)?) else {
            continue;
        };
        if cell.is_wide_continuation() {
            if let Some(run) = runs.last_mut() {
                run.cells += 1;
            }
            continue;
        }
        let (fg, bg) = colors(cell);
        let text = match cell.contents() {
            "" => " ",
            text => text,
        };
        match runs.last_mut() {
            Some(run)
                if (run.bg, run.bold, run.underline) == (bg, cell.bold(), cell.underline())
                    && (run.fg == fg || text == " ") =>
            {
                run.cells += 1;
                run.text.push_str(text);
            }
            _ => runs.push(Run {
                column,
                cells: 1,
                text: text.to_owned(),
                fg,
                bg,
                bold: cell.bold(),
                underline: cell.underline(),
            }),
        }
    }
    Ok(runs)
}

/// Adds the frame of the picture and the glyphs that it uses.
fn wrap(
    columns: usize,
    rows: usize,
    ground: Rgb,
    used: &BTreeSet<char>,
    font: &[u8],
    style: &str,
    body: &str,
) -> Result<String> {
    let (width, height) = (columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN);
    let glyphs = base64::engine::general_purpose::STANDARD.encode(glyphs(font, used)?);
    Ok(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<style>@font-face{{font-family:shot;src:url(data:font/ttf;base64,{glyphs})}}text{{font:{SIZE}px shot,monospace;white-space:pre;fill:{}}}.b{{font-weight:bold}}{style}</style>
<rect width="100%" height="100%" rx="8" fill="{}"/>
{body}</svg>
"#,
        hex(TEXT),
        hex(ground)
    ))
}

/// Returns the font with the glyphs of these characters only.
fn glyphs(font: &[u8], used: &BTreeSet<char>) -> Result<Vec<u8>> {
    let map = Font::from_bytes(font, fontdue::FontSettings::default())
        .map_err(|e| eyre!("cannot read the font: {e}"))?;
    // Glyph 0, for missing characters, is required; the list is sorted and has no duplicates.
    let ids: BTreeSet<u16> = std::iter::once(0)
        .chain(used.iter().map(|c| map.lookup_glyph_index(*c)))
        .collect();
    let ids: Vec<u16> = ids.into_iter().collect();
    let data = ReadScope::new(font)
        .read::<FontData<'_>>()
        .wrap_err("cannot read the font")?;
    let provider = data
        .table_provider(0)
        .wrap_err("cannot read the tables of the font")?;
    subset(
        &provider,
        &ids,
        &SubsetProfile::Minimal,
        CmapTarget::Unicode,
    )
    .wrap_err("cannot reduce the font")
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::bundled_font;

    fn screen(bytes: &str) -> vt100::Screen {
        let mut parser = crate::pty::parser(20, 3).expect("a size");
        parser.process(bytes.as_bytes());
        parser.screen().clone()
    }

    #[test]
    fn picture_has_the_text_with_its_colours_and_a_small_font() {
        let font = bundled_font().expect("the font");
        let picture = still(&screen("a <b>\r\n\x1b[1;38;2;1;2;3mbold"), &font).expect("drawn");
        assert!(picture.contains(">a &lt;b&gt;</text>"), "{picture}");
        assert!(
            picture.contains(
                r##"<text class="b" x="0" y="15" textLength="40" fill="#010203">bold</text>"##
            ),
            "{picture}"
        );
        assert!(picture.len() < font.len() / 10, "{}", picture.len());
    }

    #[test]
    fn animation_draws_a_row_once_and_shows_each_frame_in_its_time() {
        let font = bundled_font().expect("the font");
        let frame = |at, text| Frame {
            at: Duration::from_secs(at),
            screen: screen(text),
        };
        let frames = [frame(0, "same\r\none"), frame(1, "same\r\ntwo")];
        let picture = animation(&frames, Duration::from_secs(3), &font).expect("drawn");
        assert_eq!(picture.matches(">same</text>").count(), 1);
        assert!(picture.contains("25.000%{transform:translateX(-224px)}"));
        assert!(picture.contains("animation:play 4.00s step-end infinite"));
    }
}
