//! Draws terminal cells as pictures, with glyphs of the bundled font. Lines and blocks are drawn as
//! shapes so that neighbours meet.

use crate::pty::parser;
use color_eyre::Result;
use color_eyre::eyre::{ContextCompat, WrapErr, eyre};
use fontdue::{Font, FontSettings};
use std::collections::HashMap;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Cells of 10 × 20 pixels, because the font's advance at this size is ten.
const PX: f32 = 16.6;
const WIDTH: usize = 10;
const HEIGHT: usize = 20;
const BASELINE: i32 = 15;
/// Margin around the screen.
const MARGIN: usize = 12;

pub type Rgb = [u8; 3];
const GROUND: Rgb = [22, 24, 29];
pub const TEXT: Rgb = [214, 218, 226];

/// The sixteen named terminal colours.
const NAMED: [Rgb; 16] = [
    [40, 42, 50],
    [224, 108, 117],
    [152, 195, 121],
    [229, 192, 123],
    [97, 175, 239],
    [198, 120, 221],
    [86, 182, 194],
    [200, 204, 212],
    [92, 99, 112],
    [240, 128, 137],
    [172, 215, 141],
    [245, 212, 143],
    [130, 196, 250],
    [218, 150, 238],
    [110, 205, 216],
    [245, 247, 250],
];

/// Draws screens.
pub struct Painter {
    regular: Font,
    bold: Font,
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize, ground: Rgb) -> Self {
        Self {
            width,
            height,
            pixels: ground
                .iter()
                .copied()
                .cycle()
                .take(width * height * 3)
                .collect(),
        }
    }

    fn blend(&mut self, x: i32, y: i32, color: Rgb, alpha: u8) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        // Glyphs may extend past the edge of the picture.
        if x >= self.width || y >= self.height {
            return;
        }
        let at = (y * self.width + x) * 3;
        for (i, c) in color.iter().enumerate() {
            let old = u32::from(self.pixels[at + i]);
            let new = (u32::from(*c) * u32::from(alpha) + old * (255 - u32::from(alpha))) / 255;
            self.pixels[at + i] = u8::try_from(new).unwrap_or(255);
        }
    }

    fn rect(&mut self, x: usize, y: usize, width: usize, height: usize, color: Rgb, alpha: u8) {
        for row in y..y + height {
            for column in x..x + width {
                self.blend(column as i32, row as i32, color, alpha);
            }
        }
    }
}

fn color(c: vt100::Color, default: Rgb) -> Rgb {
    match c {
        vt100::Color::Default => default,
        vt100::Color::Rgb(r, g, b) => [r, g, b],
        vt100::Color::Idx(i @ 0..16) => NAMED[usize::from(i)],
        // Colour cube and greys of the 256-colour palette of xterm.
        vt100::Color::Idx(i @ 16..232) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let i = i - 16;
            [level(i / 36), level(i / 6 % 6), level(i % 6)]
        }
        vt100::Color::Idx(i) => [8 + 10 * (i - 232); 3],
    }
}

fn mixed(a: Rgb, b: Rgb) -> Rgb {
    [0, 1, 2].map(|i| u8::try_from((u16::from(a[i]) + u16::from(b[i])) / 2).unwrap_or(0))
}

/// Colours of a cell's text and background.
pub fn colors(cell: &vt100::Cell) -> (Rgb, Rgb) {
    let (mut fg, mut bg) = (color(cell.fgcolor(), TEXT), color(cell.bgcolor(), GROUND));
    if cell.inverse() {
        std::mem::swap(&mut fg, &mut bg);
    }
    // After the swap, because dim text fades into the background that is visible.
    if cell.dim() {
        fg = mixed(fg, bg);
    }
    (fg, bg)
}

/// Background of a screen for its margin: the most frequent one of its left edge, which no popup
/// covers.
pub fn background(screen: &vt100::Screen) -> Rgb {
    let rows = screen.size().0.get();
    let edge: Vec<Rgb> = (0..rows)
        .filter_map(|row| Some(colors(screen.cell(row, 0)?).1))
        .collect();
    let count = |color: &Rgb| edge.iter().filter(|c| *c == color).count();
    edge.iter().copied().max_by_key(count).unwrap_or(GROUND)
}

/// Reads the bundled font.
pub fn bundled_font() -> Result<Vec<u8>> {
    read_font("DejaVuSansMono.ttf")
}

fn read_font(name: &str) -> Result<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets/fonts")
        .join(name);
    fs::read(&path).wrap_err_with(|| format!("cannot read {}", path.display()))
}

impl Painter {
    /// Loads the bundled font.
    pub fn new() -> Result<Self> {
        let load = |name: &str| -> Result<Font> {
            Font::from_bytes(
                read_font(name)?,
                FontSettings {
                    scale: PX,
                    ..FontSettings::default()
                },
            )
            .map_err(|e| eyre!("{name}: {e}"))
        };
        Ok(Self {
            regular: load("DejaVuSansMono.ttf")?,
            bold: load("DejaVuSansMono-Bold.ttf")?,
        })
    }

    /// Writes a screen as a PNG.
    pub fn write(&self, screen: &vt100::Screen, path: &Path) -> Result<()> {
        let (rows, columns) = screen.size();
        let (rows, columns) = (usize::from(rows.get()), usize::from(columns.get()));
        let mut canvas = Canvas::new(
            columns * WIDTH + 2 * MARGIN,
            rows * HEIGHT + 2 * MARGIN,
            background(screen),
        );
        for row in 0..rows {
            for column in 0..columns {
                if let Some(cell) = screen.cell(u16::try_from(row)?, u16::try_from(column)?) {
                    self.cell(
                        &mut canvas,
                        cell,
                        MARGIN + column * WIDTH,
                        MARGIN + row * HEIGHT,
                    );
                }
            }
        }
        if !screen.hide_cursor() {
            let (row, column) = screen.cursor_position();
            canvas.rect(
                MARGIN + usize::from(column) * WIDTH,
                MARGIN + usize::from(row) * HEIGHT + HEIGHT - 3,
                WIDTH,
                2,
                TEXT,
                255,
            );
        }
        let file = BufWriter::new(
            fs::File::create(path).wrap_err_with(|| format!("cannot write {}", path.display()))?,
        );
        let mut encoder = png::Encoder::new(
            file,
            u32::try_from(canvas.width)?,
            u32::try_from(canvas.height)?,
        );
        let (palette, indexes) = indexed(&canvas.pixels);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(palette);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        encoder.write_header()?.write_image_data(&indexes)?;
        Ok(())
    }

    fn cell(&self, canvas: &mut Canvas, cell: &vt100::Cell, x: usize, y: usize) {
        let (fg, bg) = colors(cell);
        // The first cell of a wide character draws both backgrounds.
        let width = if cell.is_wide() { 2 * WIDTH } else { WIDTH };
        if !cell.is_wide_continuation() {
            canvas.rect(x, y, width, HEIGHT, bg, 255);
        }
        if cell.underline() {
            canvas.rect(x, y + HEIGHT - 3, width, 1, fg, 255);
        }
        for c in cell.contents().chars().filter(|c| *c != ' ') {
            if !drawn(canvas, c, x, y, fg) {
                self.glyph(canvas, c, cell.bold(), x, y, fg);
            }
        }
    }

    fn glyph(&self, canvas: &mut Canvas, c: char, bold: bool, x: usize, y: usize, fg: Rgb) {
        let font = if bold && self.bold.has_glyph(c) {
            &self.bold
        } else {
            &self.regular
        };
        if !font.has_glyph(c) {
            eprintln!("the font has no glyph for {c:?}");
        }
        let (m, bitmap) = font.rasterize(c, PX);
        let top = i32::try_from(y).unwrap_or(0) + BASELINE
            - m.ymin
            - i32::try_from(m.height).unwrap_or(0);
        for (i, alpha) in bitmap.iter().enumerate() {
            // Sixteen levels look the same and make the file a third smaller.
            let alpha = alpha / 17 * 17;
            let (gx, gy) = (i % m.width, i / m.width);
            canvas.blend(
                i32::try_from(x + gx).unwrap_or(0) + m.xmin,
                top + i32::try_from(gy).unwrap_or(0),
                fg,
                alpha,
            );
        }
    }
}

/// Reduces RGB pixels to a palette of the 256 most frequent colours, which halves the size of a
/// picture. Rare shades at the edges of glyphs become the nearest colour of the palette.
fn indexed(pixels: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let colors = || pixels.chunks_exact(3).map(|c| [c[0], c[1], c[2]]);
    let mut counts: HashMap<Rgb, usize> = HashMap::new();
    for color in colors() {
        *counts.entry(color).or_default() += 1;
    }
    let mut palette: Vec<Rgb> = counts.keys().copied().collect();
    palette.sort_by_key(|color| (std::cmp::Reverse(counts[color]), *color));
    palette.truncate(256);
    let distance =
        |a: &Rgb, b: &Rgb| -> u32 { (0..3).map(|i| u32::from(a[i].abs_diff(b[i])).pow(2)).sum() };
    let nearest = |color: &Rgb| {
        let all = (0_u8..=255).zip(&palette);
        all.min_by_key(|(_, other)| distance(color, other))
            .map_or(0, |(i, _)| i)
    };
    let index: HashMap<Rgb, u8> = counts.keys().map(|c| (*c, nearest(c))).collect();
    let indexes = colors().map(|color| index[&color]).collect();
    (palette.concat(), indexes)
}

/// Draws lines and blocks so that they meet those of the next cell. Returns false for other
/// characters.
fn drawn(canvas: &mut Canvas, c: char, x: usize, y: usize, fg: Rgb) -> bool {
    let (cx, cy) = (x + WIDTH / 2, y + HEIGHT / 2);
    // Directions of a line (left, right, up, down) and its thickness.
    let line: Option<([bool; 4], usize)> = match c {
        '─' => Some(([true, true, false, false], 1)),
        '━' => Some(([true, true, false, false], 3)),
        '│' => Some(([false, false, true, true], 1)),
        '┃' => Some(([false, false, true, true], 3)),
        '┌' | '╭' => Some(([false, true, false, true], 1)),
        '┐' | '╮' => Some(([true, false, false, true], 1)),
        '└' | '╰' => Some(([false, true, true, false], 1)),
        '┘' | '╯' => Some(([true, false, true, false], 1)),
        '├' => Some(([false, true, true, true], 1)),
        '┤' => Some(([true, false, true, true], 1)),
        '┬' => Some(([true, true, false, true], 1)),
        '┴' => Some(([true, true, true, false], 1)),
        '┼' => Some(([true; 4], 1)),
        _ => None,
    };
    if let Some(([left, right, up, down], thick)) = line {
        let half = thick / 2;
        if left {
            canvas.rect(x, cy - half, WIDTH / 2 + 1, thick, fg, 255);
        }
        if right {
            canvas.rect(cx, cy - half, WIDTH - WIDTH / 2, thick, fg, 255);
        }
        if up {
            canvas.rect(cx - half, y, thick, HEIGHT / 2 + 1, fg, 255);
        }
        if down {
            canvas.rect(cx - half, cy, thick, HEIGHT - HEIGHT / 2, fg, 255);
        }
        return true;
    }
    match c {
        '▁'..='█' => {
            let eighths = c as usize - '▁' as usize + 1;
            let height = HEIGHT * eighths / 8;
            canvas.rect(x, y + HEIGHT - height, WIDTH, height, fg, 255);
        }
        '░' => {
            // Diagonal lines, which differ from a block in any colour.
            for (dx, dy) in (0..WIDTH).flat_map(|dx| (0..HEIGHT).map(move |dy| (dx, dy))) {
                if (x + dx + y + dy) % 6 < 2 {
                    canvas.rect(x + dx, y + dy, 1, 1, fg, 150);
                }
            }
        }
        '▌' => canvas.rect(x, y, WIDTH / 2, HEIGHT, fg, 255),
        '▕' => canvas.rect(x + WIDTH - 2, y + 2, 1, HEIGHT - 4, fg, 255),
        '▏' => canvas.rect(x + 1, y + 2, 1, HEIGHT - 4, fg, 255),
        _ => return false,
    }
    true
}

/// Draws frames that tests wrote: a line `columns rows`, then the bytes for the terminal.
pub fn render(frames: &[PathBuf], out: &Path) -> Result<()> {
    let painter = Painter::new()?;
    fs::create_dir_all(out)?;
    for path in frames {
        let bytes = fs::read(path).wrap_err_with(|| format!("cannot read {}", path.display()))?;
        let end = bytes
            .iter()
            .position(|b| *b == b'\n')
            .wrap_err("the frame does not start with its size")?;
        let head = std::str::from_utf8(&bytes[..end])?;
        let (columns, rows) = head
            .split_once(' ')
            .wrap_err("the frame does not start with its size")?;
        let mut terminal = parser(columns.parse()?, rows.parse()?)?;
        terminal.process(&bytes[end + 1..]);
        // A frame does not have the position of the cursor.
        terminal.process(b"\x1b[?25l");
        let name = path
            .file_stem()
            .wrap_err("the frame has no file name")?
            .to_string_lossy()
            .into_owned();
        let to = out.join(format!("{name}.png"));
        painter.write(terminal.screen(), &to)?;
        println!("{}", to.display());
    }
    Ok(())
}
