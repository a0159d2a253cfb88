//! What the frame is made of besides what it shows: its looks and size, and what lies over it.

use super::Screen;
use crate::app::doc::Doc;
use crate::app::entry::Entry;
use crate::app::list::{Row, RowKey};
use crate::app::msg::Effect;
use crate::engine::words::{StageId, UnixMs};

/// How much weight a message in the footer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Good,
    Bad,
}

/// The last thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub at: UnixMs,
    pub weight: Weight,
    pub text: String,
}

/// What a confirmed question does besides its effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    Nothing,
    Goto(Screen),
    /// Leave as soon as what runs has ended.
    Leave,
    Quit,
    /// Show how the installation goes.
    Installing,
    /// Back to what is wrong.
    Doctor,
    /// Make a workspace, and go on there.
    Make(String),
}

/// A question, answered No unless said otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub body: Doc,
    pub yes: bool,
    /// Words that must be typed, and what was typed so far.
    pub typed: Option<(String, Entry)>,
    pub effects: Vec<Effect>,
    pub after: After,
    /// The stage that the question is about: it is withdrawn when the stage or its selection
    /// changes.
    pub stage: Option<StageId>,
    pub scroll: usize,
}

/// What lies over the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Popup {
    Help {
        scroll: usize,
    },
    Palette {
        entry: Entry,
        selected: usize,
        /// The selection was moved by hand since the last letter.
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
    /// What is unknown, and how it is settled; opened because an apply was refused for it, or not.
    Unknown {
        selected: usize,
        refused: bool,
    },
    /// The directory's workspaces to choose from; what is typed hides the others, or names a new
    /// one.
    Workspaces {
        entry: Entry,
        selected: usize,
    },
    /// How an installation goes, or went.
    Installing {
        scroll: usize,
    },
    /// What is wrong with machine and workspace, each with what to do.
    Doctor {
        selected: usize,
    },
    /// The id under which an object is taken into the state.
    Import {
        address: String,
        entry: Entry,
    },
}

impl Popup {
    /// The width it would like.
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

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    Find,
    Filter,
}

/// A line being typed in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub kind: PromptKind,
    pub entry: Entry,
    /// Where the cursor was, for `esc`.
    pub before: Option<RowKey>,
    pub text_before: String,
}

/// Something that can be broken on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub key: char,
    /// What the effect names.
    pub id: String,
    pub doc: String,
}

/// Colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeName {
    #[default]
    Dark,
    Light,
    Contrast,
}

/// How things look, decided once at the start and by keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    pub theme: ThemeName,
    pub color: bool,
    pub ascii: bool,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            theme: ThemeName::Dark,
            color: true,
            ascii: false,
        }
    }
}

/// What the frame is made of besides what it shows: its size and parts, what lies over it, and the
/// rows of its list.
#[derive(Debug, Clone)]
pub struct Frame {
    pub size: (u16, u16),
    pub looks: Looks,
    /// Rows of the current context, in order; see [`settle`](crate::app::settle).
    pub rows: Vec<Row>,
    /// How many of them never scroll away.
    pub pinned: usize,
    pub popup: Option<Popup>,
    pub prompt: Option<Prompt>,
    pub toast: Option<Toast>,
    /// Percent of the room that the list has beside its detail.
    pub split: u16,
    pub dragging: bool,
    pub mouse: bool,
    /// Lines that stay on the screen: which key breaks what.
    pub notes: Vec<String>,
}
