//! Layout of the screen, computed from the state alone. Input (page size, mouse) and drawing use
//! the same values and cannot disagree.

use super::list::Pane;
use super::screens::DetailPlace;
use super::state::{Context, Popup, State};
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

/// Returns true if list and detail are side by side.
pub fn is_side_by_side(state: &State) -> bool {
    state.frame.size.0 >= 100 && state.context().of().detail_place == DetailPlace::Beside
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
    if of.has_charts && h >= 16 {
        a.charts = top(&mut rest, if roomy { 2 } else { 1 });
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
        // A short list leaves its unused rows to the detail.
        let few = u16::try_from(state.frame.rows.len())
            .unwrap_or(u16::MAX)
            .saturating_add(2)
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

/// Computes the area of a popup with a number of lines.
pub fn popup(state: &State, popup: &Popup, lines: usize) -> Rect {
    let (w, h) = state.frame.size;
    let width = popup.width().min(w.saturating_sub(4)).max(20.min(w));
    let height = u16::try_from(lines + 2)
        .unwrap_or(u16::MAX)
        .min(h.saturating_sub(2))
        .max(3.min(h));
    rect(
        (w.saturating_sub(width)) / 2,
        (h.saturating_sub(height)) / 3 + 1,
        width,
        height.min(h.saturating_sub(1)),
    )
}

/// Part of the screen at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    Tab(u16),
    Row(usize),
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
    if inside(a.tabs, x, y) {
        return Hit::Tab(x);
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
        return Hit::Row(if line < pinned {
            line
        } else {
            state.list().offset + line
        });
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
    let label = |i: usize, s: Screen| format!(" {} {} ", i + 1, s.label());
    let labels = Screen::ALL.iter().enumerate();
    // A blank column after each label, and one at each end of the line.
    let needed: usize = labels.map(|(i, s)| label(i, *s).len() + 1).sum();
    let wide = usize::from(state.frame.size.0) >= needed + 2;
    let mut x = 1;
    let mut out = Vec::new();
    for (i, s) in Screen::ALL.iter().copied().enumerate() {
        let label = if wide || s == state.screen {
            label(i, s)
        } else {
            format!(" {} ", i + 1)
        };
        let w = u16::try_from(label.len()).unwrap_or(0);
        out.push((s, x, label));
        x += w + u16::from(wide);
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
