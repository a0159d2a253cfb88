//! State of the frame: size, appearance, popups, prompts and messages.

use super::Screen;
use crate::app::doc::Doc;
use crate::app::entry::Entry;
use crate::app::list::{Row, RowKey};
use crate::app::msg::Effect;
use model::{StageId, UnixMs};

/// Severity of a message in the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Good,
    Bad,
}

/// Message in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub at: UnixMs,
    pub weight: Weight,
    pub text: String,
}

/// Action after a confirmation, in addition to its effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    Nothing,
    Goto(Screen),
    /// Quit as soon as the running deploy has ended.
    QuitWhenDone,
    Quit,
    /// Show the progress of the installation.
    Installing,
    /// Return to the doctor's findings.
    Doctor,
    /// Create a workspace and switch to it.
    CreateWorkspace(String),
}

/// Confirmation. "No" is preselected.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub body: Doc,
    pub yes: bool,
    /// Text that must be typed, and the input so far.
    pub typed: Option<(String, Entry)>,
    pub effects: Vec<Effect>,
    pub after: After,
    /// Stage to confirm: the popup closes if the stage or its selection changes.
    pub stage: Option<StageId>,
    pub scroll: usize,
}

/// Popup over the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Popup {
    Help {
        scroll: usize,
    },
    Palette {
        entry: Entry,
        selected: usize,
        /// The cursor was moved since the last typed letter.
        chosen: bool,
    },
    Confirm(Box<Confirm>),
    Ladder {
        selected: usize,
    },
    Demo {
        selected: usize,
    },
    Message {
        title: String,
        doc: Doc,
        scroll: usize,
    },
    /// Unknown outcomes and their settlement; `refused` if an apply was refused because of them.
    Unknown {
        selected: usize,
        refused: bool,
    },
    /// Workspaces of the directory. Typed text filters them, or names a new one.
    Workspaces {
        entry: Entry,
        selected: usize,
    },
    /// Progress and result of an installation.
    Installing {
        scroll: usize,
    },
    /// Findings of the doctor with their remedies.
    Doctor {
        selected: usize,
    },
    /// Input of the id to import an object with.
    Import {
        address: String,
        entry: Entry,
    },
}

impl Popup {
    /// Preferred width in cells.
    pub fn width(&self) -> u16 {
        match self {
            Self::Help { .. } => 84,
            Self::Palette { .. } => 92,
            Self::Confirm(_) => 72,
            Self::Ladder { .. } => 84,
            Self::Demo { .. } => 100,
            Self::Message { .. } => 96,
            Self::Unknown { .. } => 104,
            Self::Import { .. } => 84,
            Self::Workspaces { .. } => 72,
            Self::Installing { .. } => 100,
            Self::Doctor { .. } => 104,
        }
    }
}

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
}

/// Fault of the demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub key: char,
    /// Id in the effect.
    pub id: String,
    pub doc: String,
}

/// Colour themes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeName {
    #[default]
    Dark,
    Light,
    Contrast,
}

/// Appearance, set at the start and changed by keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appearance {
    pub theme: ThemeName,
    pub color: bool,
    pub ascii: bool,
}

impl Default for Appearance {
    fn default() -> Self {
        Self {
            theme: ThemeName::Dark,
            color: true,
            ascii: false,
        }
    }
}

/// State of the frame: size, appearance, popups, and rows of the current list.
#[derive(Debug, Clone)]
pub struct Frame {
    pub size: (u16, u16),
    pub appearance: Appearance,
    /// Rows of the current context, in order; see [`refresh_lists`](crate::app::refresh_lists).
    pub rows: Vec<Row>,
    /// A message came after the rows were built.
    pub outdated: bool,
    /// Number of leading rows that do not scroll.
    pub pinned: usize,
    pub popup: Option<Popup>,
    pub prompt: Option<Prompt>,
    pub toast: Option<Toast>,
    /// Share of the list beside its detail, in percent.
    pub split: u16,
    pub dragging: bool,
    pub mouse: bool,
    /// Permanent lines on the screen, such as the keys of the demo's faults.
    pub notes: Vec<String>,
}
