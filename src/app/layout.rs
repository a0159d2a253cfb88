//! Layout of the screen, computed from the state alone. Input (page size, mouse) and drawing use
//! the same values and cannot disagree.

mod footer;

pub use footer::{FooterKey, footer_keys};

use super::column::{Column, Placed, place};
use super::doc::{Line, Role, cells_of, title_bar};
use super::format::{clock, count};
use super::list::Pane;
use super::popups::{Page, Part};
use super::screens::{Body, DetailPlace};
use super::state::{Context, Incident, Popup, Screen, State};
use super::text::width;
use ratatui::layout::Rect;

/// Minimum size; smaller screens show one line that reports it.
pub const MIN_SIZE: (u16, u16) = (40, 12);

/// Areas of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    pub tabs: Rect,
    /// Line below the tabs.
    pub rule: Rect,
    pub note: Rect,
    /// Title line of the screen.
    pub title: Rect,
    /// Bar below the title, if the screen has one.
    pub bar: Rect,
    /// Charts above the list, if the screen has them.
    pub charts: Rect,
    pub columns: Rect,
    pub list: Rect,
    /// Border between list and detail: a column, or a row with the title of the detail.
    pub border: Rect,
    pub detail: Rect,
    pub foot_rule: Rect,
    /// Line of the message, on the rule above the footer if there is one.
    pub message: Rect,
    pub footer: Rect,
}

fn rect(x: u16, y: u16, width: u16, height: u16) -> Rect {
    Rect {
        x,
        y,
        width,
        height,
    }
}

/// Cuts rows off the top.
pub fn top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let taken = Rect {
        height: rows,
        ..*area
    };
    area.y += rows;
    area.height -= rows;
    taken
}

/// Cuts rows off the bottom.
pub fn cut_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    rect(area.x, area.y + area.height, area.width, rows)
}

/// Returns true if the screen is smaller than [`MIN_SIZE`].
pub fn too_small(state: &State) -> bool {
    state.frame.size.0 < MIN_SIZE.0 || state.frame.size.1 < MIN_SIZE.1
}

/// Width from which list and detail have space side by side.
const SIDE_BY_SIDE: u16 = 140;

/// Returns true if list and detail are side by side.
pub fn is_side_by_side(state: &State) -> bool {
    state.frame.size.0 >= SIDE_BY_SIDE && state.context().of().detail_place == DetailPlace::Beside
}

/// Computes the areas of the screen.
pub fn areas(state: &State) -> Areas {
    let (w, h) = state.frame.size;
    let mut a = Areas::default();
    if too_small(state) {
        return a;
    }
    let mut rest = rect(0, 0, w, h);
    // On small screens, rules and notes would take lines from the list.
    let roomy = h >= 20;
    a.header = top(&mut rest, 1);
    a.tabs = top(&mut rest, 1);
    a.rule = top(&mut rest, u16::from(roomy));
    a.footer = cut_bottom(&mut rest, 1);
    a.foot_rule = cut_bottom(&mut rest, u16::from(roomy));
    // Without a rule, a message takes a line of the list, but never that of the keys.
    a.message = match state.frame.toast.is_some() {
        true if roomy => a.foot_rule,
        true => cut_bottom(&mut rest, 1),
        false => Rect::default(),
    };
    if !state.frame.notes.is_empty() && roomy {
        a.note = cut_bottom(
            &mut rest,
            u16::try_from(super::doc::notes(state).len())
                .unwrap_or(1)
                .min(3),
        );
    }
    let of = state.context().of();
    if state.list().zoom && of.has_detail() {
        a.title = top(&mut rest, 1);
        a.detail = inset(rest);
        return a;
    }
    a.title = top(&mut rest, 1);
    if of.has_charts {
        a.charts = charts(&mut rest, h);
    }
    if roomy && !title_bar(state, w).is_empty() {
        a.bar = top(&mut rest, 1);
    }
    // On a smaller screen, neither pane would be usable.
    let room_for_detail = of.has_panes() && w >= 60 && h >= 20;
    if room_for_detail && is_side_by_side(state) {
        let right = (u32::from(rest.width) * u32::from(100 - state.frame.split) / 100) as u16;
        // Both panes keep a usable width, whatever the split is.
        let right = right.clamp(20, rest.width.saturating_sub(30).max(20));
        a.detail = rect(
            rest.x + rest.width - right + 1,
            rest.y,
            right - 1,
            rest.height,
        );
        a.border = rect(rest.x + rest.width - right, rest.y, 1, rest.height);
        rest.width -= right;
        a.detail = inset(a.detail);
    } else if room_for_detail {
        let below = (u32::from(rest.height) * u32::from(100 - state.frame.split) / 100) as u16;
        // A short list leaves its unused rows to the detail, except for a blank one.
        let few = u16::try_from(state.frame.rows.len())
            .unwrap_or(u16::MAX)
            .saturating_add(2 + u16::from(h >= 32))
            .max(5);
        let below = below.max(rest.height.saturating_sub(few));
        // The list keeps its headings and some rows.
        let most = rest.height.saturating_sub(5);
        a.detail = inset(cut_bottom(&mut rest, below.clamp(4, most.max(4))));
        a.border = cut_bottom(&mut rest, 1);
    }
    if of.has_headings() {
        a.columns = top(&mut rest, 1);
    }
    a.list = rest;
    a
}

/// Cuts the charts off the top, on a screen with `h` lines.
fn charts(rest: &mut Rect, h: u16) -> Rect {
    let rows = match h {
        ..16 => 0,
        16..20 => 1,
        20..32 => 2,
        32..38 => 3,
        _ => 4,
    };
    let charts = top(rest, rows);
    // A blank line separates high charts from the list.
    top(rest, u16::from(rows > 2));
    charts
}

fn inset(area: Rect) -> Rect {
    rect(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    )
}

/// Number of visible rows of the list.
pub fn list_height(state: &State) -> usize {
    areas(state).list.height as usize
}

/// First line below a popup. It never covers the last line, nor a message where there is space for
/// both.
fn popup_bottom(state: &State) -> u16 {
    let message = state.frame.toast.is_some() && state.frame.size.1 >= 20;
    state.frame.size.1.saturating_sub(1 + u16::from(message))
}

/// Maximum number of lines within the border of a popup.
pub fn popup_lines(state: &State) -> usize {
    usize::from(popup_bottom(state)).saturating_sub(3)
}

/// Computes the area of a popup with a number of lines.
pub fn popup(state: &State, popup: &Popup, lines: usize) -> Rect {
    let (w, h) = state.frame.size;
    // Narrow strips of the screen beside the popup would show cut words.
    let width = match popup.width() {
        width if width.saturating_add(4) > w => w,
        width => width,
    };
    let bottom = popup_bottom(state);
    let height = u16::try_from(lines + 2)
        .unwrap_or(u16::MAX)
        .min(bottom.saturating_sub(1))
        .max(3.min(h));
    rect(
        (w.saturating_sub(width)) / 2,
        ((h.saturating_sub(height)) / 3 + 1).min(bottom.saturating_sub(height)),
        width,
        height.min(h.saturating_sub(1)),
    )
}

/// Part of the screen at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    Tab(Screen),
    /// Part of the header, badge or key in the footer, which stand for a command.
    Command(&'static str),
    /// Title of a column.
    Heading(&'static str),
    Row {
        index: usize,
        column: Option<usize>,
    },
    Detail,
    Border,
    Nothing,
}

fn inside(area: Rect, x: u16, y: u16) -> bool {
    (area.left()..area.right()).contains(&x) && (area.top()..area.bottom()).contains(&y)
}

/// Returns the part of the screen below the mouse.
pub fn hit(state: &State, x: u16, y: u16) -> Hit {
    let a = areas(state);
    if inside(a.header, x, y) {
        return header_command(state, a.header, x).map_or(Hit::Nothing, Hit::Command);
    }
    if inside(a.tabs, x, y) {
        return match (tab_at(state, x), incident_badge(state, a.tabs)) {
            (Some(screen), _) => Hit::Tab(screen),
            (None, Some((left, _))) if x >= left => Hit::Command("incidents"),
            _ => Hit::Nothing,
        };
    }
    if inside(a.footer, x, y) {
        let keys = footer_keys(state, a.footer.width);
        let key = keys.iter().find(|k| (k.x..k.x + k.cells()).contains(&x));
        return key.map_or(Hit::Nothing, |k| Hit::Command(k.command.name));
    }
    if inside(a.columns, x, y) {
        let column = column_at(state, a.columns, x);
        return column.map_or(Hit::Nothing, |(_, c)| Hit::Heading(c.title));
    }
    if inside(a.border, x, y) {
        return Hit::Border;
    }
    if inside(a.detail, x, y) {
        return Hit::Detail;
    }
    if inside(a.list, x, y) {
        let line = usize::from(y - a.list.y);
        let pinned = pinned(state, a.list.height as usize);
        let index = if line < pinned {
            line
        } else {
            state.list().offset + line
        };
        let column = column_at(state, a.list, x).map(|(at, _)| at);
        return Hit::Row { index, column };
    }
    Hit::Nothing
}

/// Number of rows at the top that do not scroll, such as running operations; at most half the
/// height.
pub fn pinned(state: &State, height: usize) -> usize {
    state.frame.pinned.min(height / 2)
}

/// Size of the detail in cells and lines.
pub fn detail_size(state: &State) -> (usize, usize) {
    let d = areas(state).detail;
    (d.width as usize, d.height as usize)
}

/// Returns true if the detail has a border with its title above it.
pub fn has_detail_title(state: &State) -> bool {
    let border = areas(state).border;
    border.height == 1 && border.width > 1
}

/// Returns true if the detail has the focus.
pub fn detail_has_keys(state: &State) -> bool {
    let list = state.list();
    let a = areas(state);
    a.detail.height > 0
        && (list.zoom || list.focus == Pane::Detail)
        && state.context() != Context::Schema
}

/// Returns the tabs: screen, first column, label. On narrow screens only the current tab has its
/// name.
pub fn tabs(state: &State) -> Vec<(super::state::Screen, u16, String)> {
    use super::state::Screen;
    let all = || Screen::ALL.iter().enumerate();
    let named = |blank: &str| -> Vec<String> {
        all()
            .map(|(i, s)| format!(" {i} {}{blank}", s.label()))
            .collect()
    };
    let needed = |labels: &[String]| labels.iter().map(String::len).sum::<usize>();
    let width = usize::from(state.frame.size.0);
    let (wide, tight) = (named(" "), named(""));
    // A blank column after each label, and one at each end of the line.
    let (labels, gap) = if needed(&wide) + wide.len() + 2 <= width {
        (wide, 1)
    } else if needed(&tight) <= width {
        // Without a blank at both sides, one blank separates them.
        let trimmed = |l: String| l.trim_start().to_owned();
        (tight.into_iter().map(trimmed).collect(), 1)
    } else {
        let short = |(i, s): (usize, &Screen)| match *s == state.screen {
            true => format!(" {i} {} ", s.label()),
            false => format!(" {i} "),
        };
        (all().map(short).collect(), 0)
    };
    let mut x = 1;
    let mut out = Vec::new();
    for (s, label) in Screen::ALL.iter().copied().zip(labels) {
        let w = u16::try_from(label.len()).unwrap_or(0);
        out.push((s, x, label));
        x += w + gap;
    }
    out
}

/// Returns the tab at a column.
pub fn tab_at(state: &State, x: u16) -> Option<super::state::Screen> {
    tabs(state)
        .into_iter()
        .find(|(_, at, label)| (*at..*at + u16::try_from(label.len()).unwrap_or(0)).contains(&x))
        .map(|(s, _, _)| s)
}

/// Places the columns of the list, each from the first cell of a row on.
pub fn placed_columns(state: &State, columns: &[Column], area: Rect) -> Vec<Placed> {
    place(
        columns,
        &state.list().contents,
        area.width.saturating_sub(2),
    )
}

/// Returns the column of the list at a cell, with its index.
fn column_at(state: &State, area: Rect, x: u16) -> Option<(usize, &'static Column)> {
    let Body::Table { columns, .. } = &state.context().of().body else {
        return None;
    };
    // Rows begin after a blank cell.
    let x = x.checked_sub(area.x + 1)?;
    let placed = placed_columns(state, columns, area);
    let (at, ..) = placed
        .into_iter()
        .find(|(_, left, w)| (*left..left + w).contains(&x))?;
    Some((at, &columns[at]))
}

fn cells_u16(line: &Line) -> u16 {
    u16::try_from(cells_of(line)).unwrap_or(u16::MAX)
}

/// Cells of the header, without the clock at its right end.
pub fn header_cells(state: &State, area: Rect) -> u16 {
    let time = width(&clock(state.now, state.utc_offset));
    area.width
        .saturating_sub(u16::try_from(time).unwrap_or(0) + 2)
}

/// Returns the command of the part of the header at a column.
fn header_command(state: &State, area: Rect, x: u16) -> Option<&'static str> {
    let mut end = area.x;
    let parts = super::doc::header(state, usize::from(header_cells(state, area)));
    let part = parts.into_iter().find(|(line, _)| {
        end += cells_u16(line);
        x < end
    });
    part.and_then(|(_, command)| command)
}

/// Places the badge of the incidents at the right of the tabs, which have precedence over it;
/// `None` if nothing uses the plugins.
pub fn incident_badge(state: &State, area: Rect) -> Option<(u16, Line)> {
    let all = state.new_incidents();
    let tabs = tabs(state).into_iter().next_back()?;
    let end = tabs.1 + u16::try_from(tabs.2.len()).unwrap_or(0);
    let room = area.width.saturating_sub(end);
    let crashes = all.iter().filter(|i| i.is_crash).count();
    let n = all.len();
    // A launch that failed may have been repeated since.
    let is_down = |i: &Incident| {
        let plugin = state.view.plugins.get(&i.plugin);
        plugin.is_some_and(|p| p.state.is_failed())
    };
    // The header counts plugins that nothing uses.
    if !all.iter().any(|i| state.is_urgent(i)) {
        return None;
    }
    let what = match (crashes, n) {
        (0, 1) if all.iter().all(is_down) => "1 plugin gave up".to_owned(),
        (0, _) if all.iter().all(is_down) => format!("{n} plugins gave up"),
        (1, 1) => "1 plugin crash".to_owned(),
        _ if crashes == n => format!("{n} plugin crashes"),
        _ => count(n, "plugin failure"),
    };
    let badge = |text: String| super::doc::badge(state, "incidents", Role::Bad, text);
    let mut tight = badge(n.to_string());
    tight.iter_mut().for_each(|s| s.text.retain(|c| c != ' '));
    let mut forms = [badge(format!("✗ {what} ")), badge(format!("✗{n}")), tight].into_iter();
    // A blank separates it from the tabs.
    let badge = forms.find(|badge| room > cells_u16(badge))?;
    Some((area.right() - cells_u16(&badge), badge))
}

/// Page of the open popup, and its area.
pub fn popup_page(state: &State) -> Option<(Page, Rect)> {
    let popup = state.frame.popup.as_ref()?;
    // The width does not depend on the number of lines, which are wrapped to it.
    let cells = usize::from(self::popup(state, popup, 1).width).saturating_sub(4);
    let page = popup.page(state, cells);
    let area = self::popup(state, popup, page.lines());
    Some((page, area))
}

/// Places the parts of a page within the area of its popup.
pub fn popup_parts(page: &Page, area: Rect) -> Vec<(&Part, Rect)> {
    let mut rest = rect(
        area.x + 2,
        area.y + 1,
        area.width.saturating_sub(4),
        area.height.saturating_sub(2),
    );
    let height = |p: &Part| u16::try_from(p.lines()).unwrap_or(u16::MAX);
    let mut out = Vec::new();
    for part in &page.above {
        out.push((part, top(&mut rest, height(part))));
    }
    // From the bottom up, so that the last lines, which have the keys, are always visible.
    for part in page.below.iter().rev() {
        out.push((part, cut_bottom(&mut rest, height(part))));
    }
    out.push((&page.body, rest));
    out
}

/// Part of an open popup at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PopupHit {
    Outside,
    /// Row of its list.
    Row(usize),
    /// One of its answers.
    Choice(usize),
    Nothing,
}

/// Returns the part of the open popup below the mouse; `None` without a popup.
pub fn popup_hit(state: &State, x: u16, y: u16) -> Option<PopupHit> {
    let (page, area) = popup_page(state)?;
    if !inside(area, x, y) {
        return Some(PopupHit::Outside);
    }
    let parts = popup_parts(&page, area);
    let Some((part, area)) = parts.into_iter().find(|(_, area)| inside(*area, x, y)) else {
        return Some(PopupHit::Nothing);
    };
    Some(match part {
        Part::List(list) => {
            let lines = list.visible(area.height.into());
            let line = lines.get(usize::from(y - area.y));
            line.map_or(PopupHit::Nothing, |(row, _)| PopupHit::Row(*row))
        }
        Part::Choices(choices) => choices
            .at(usize::from(x - area.x))
            .map_or(PopupHit::Nothing, PopupHit::Choice),
        _ => PopupHit::Nothing,
    })
}

/// Selected row or answer of the open popup.
pub fn popup_mark(state: &State) -> Option<usize> {
    let (page, _) = popup_page(state)?;
    let parts = page.above.iter().chain([&page.body]).chain(&page.below);
    parts.into_iter().find_map(|part| match part {
        Part::List(list) => Some(list.selected),
        Part::Choices(choices) => Some(choices.selected),
        _ => None,
    })
}
