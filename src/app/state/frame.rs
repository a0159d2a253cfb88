//! State of the frame: size, appearance, popups, prompts and messages.

use super::detail::KeptDetail;
use super::messages::{Messages, Toast};
use super::trail::Visit;
use crate::app::doc::Varying;
use crate::app::entry::Entry;
use crate::app::list::{Row, RowKey};
use crate::app::popups::Popup;
use crate::app::progress::Progress;
use crate::app::theme::{ColorDepth, Themes};
use crate::app::tree::Tree;
use model::StageId;
use std::sync::Arc;

/// Purpose of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    Find,
    Filter,
}

/// Text input in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub kind: PromptKind,
    pub entry: Entry,
    /// Row of the cursor before the prompt, restored by `esc`.
    pub row_before: Option<RowKey>,
    pub text_before: String,
    /// Reason why the list does not use the text.
    pub error: Option<String>,
    /// Number of steps back in the history, and the text before the first one.
    pub recalled: (usize, String),
}

/// Fault of the demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub key: char,
    /// Id in the effect.
    pub id: String,
    pub doc: String,
}

/// Capabilities of the terminal that decide about the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Appearance {
    pub depth: ColorDepth,
    pub ascii: bool,
}

/// State of the frame: size, appearance, popups, and rows of the current list.
#[derive(Debug, Clone)]
pub struct Frame {
    pub size: (u16, u16),
    pub appearance: Appearance,
    pub themes: Themes,
    /// Rows of the current context, in order; see [`refresh_lists`](crate::app::refresh_lists).
    pub rows: Vec<Row>,
    /// Tree that the rows are arranged in.
    pub tree: Option<Arc<Tree>>,
    /// Positions in the tree whose rows no filter hides, even below folded nodes.
    pub shown: Vec<bool>,
    /// Detail of the row under the cursor, if it may be large.
    pub kept_detail: Option<KeptDetail>,
    /// Progress of the shown deploy.
    pub progress: Progress,
    /// Reason that all of its operations share which have not begun.
    pub shared_reason: Option<String>,
    /// Cells of its time axis, if the list has space for one.
    pub axis_cells: Option<u16>,
    /// A message came after the rows were built.
    pub outdated: bool,
    /// Stage, and its attributes whose values differ between changes of the same type.
    pub varying: (Option<StageId>, Varying),
    /// Number of leading rows that do not scroll.
    pub pinned: usize,
    /// Numbers of rows with and without the filter.
    pub counts: (usize, usize),
    pub popup: Option<Popup>,
    /// Places that commands have left, the last one at the end.
    pub trail: Vec<Visit>,
    pub prompt: Option<Prompt>,
    /// Message on the screen.
    pub toast: Option<Toast>,
    /// Last messages, for their list.
    pub messages: Messages,
    /// Share of the list beside its detail, in percent.
    pub split: u16,
    pub dragging: bool,
    pub mouse: bool,
    /// The terminal has the focus; true if it does not report that.
    pub is_focused: bool,
    /// Notifies the operator of the end of a deploy while the terminal has no focus.
    pub notifies: bool,
    /// Lines on the screen until there is a stage: the first steps of the demo.
    pub notes: Vec<String>,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            // Replaced by the size of the terminal before the first frame.
            size: (80, 24),
            appearance: Appearance::default(),
            themes: Themes::default(),
            rows: Vec::new(),
            tree: None,
            shown: Vec::new(),
            kept_detail: None,
            progress: Progress::default(),
            shared_reason: None,
            axis_cells: None,
            outdated: true,
            varying: Default::default(),
            pinned: 0,
            counts: (0, 0),
            popup: None,
            trail: Vec::new(),
            prompt: None,
            toast: None,
            messages: Messages::new(),
            split: 60,
            dragging: false,
            mouse: true,
            is_focused: true,
            notifies: true,
            notes: Vec::new(),
        }
    }
}
