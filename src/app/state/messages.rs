//! Messages to the operator: the one on the screen, and the last ones for the list.

use super::State;
use model::UnixMs;
use std::collections::VecDeque;

/// Display time of a message, in milliseconds.
const DISPLAY_MS: UnixMs = 5_000;
/// Maximum number of messages in the list.
const LISTED: usize = 200;

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Good,
    Bad,
}

/// Message to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub at: UnixMs,
    pub weight: Weight,
    pub text: String,
}

impl State {
    /// Shows a message.
    pub fn show_message(&mut self, text: impl Into<String>) {
        self.show_and_list(Weight::Good, text.into());
    }

    /// Shows a failure.
    pub fn show_error(&mut self, text: impl Into<String>) {
        self.show_and_list(Weight::Bad, text.into());
    }

    /// Shows a message about a key without effect, which the list does not need.
    pub fn show_hint(&mut self, text: impl Into<String>) {
        self.frame.toast = Some(Toast {
            at: self.now,
            weight: Weight::Good,
            text: text.into(),
        });
    }

    /// Adds a failure to the list only.
    pub fn list_error(&mut self, text: impl Into<String>) {
        self.list_message(Weight::Bad, text.into());
    }

    /// Shows a message of a severity.
    pub fn show_and_list(&mut self, weight: Weight, text: String) {
        self.list_message(weight, text);
        self.frame.toast = self.frame.messages.back().cloned();
    }

    /// Adds a message to the list only.
    pub fn list_message(&mut self, weight: Weight, text: String) {
        let message = Toast {
            at: self.now,
            weight,
            text,
        };
        if self.frame.messages.len() == LISTED {
            self.frame.messages.pop_front();
        }
        self.frame.messages.push_back(message);
    }

    /// Removes the message of an earlier action. A failure stays for its time.
    pub(in crate::app) fn end_message(&mut self) {
        self.frame.toast.take_if(|t| t.weight == Weight::Good);
    }

    /// Removes the message whose display time is over.
    pub(in crate::app) fn expire_message(&mut self) {
        let now = self.now;
        self.frame.toast.take_if(|t| now - t.at >= DISPLAY_MS);
    }
}

/// Messages of the console, oldest first; bounded.
pub type Messages = VecDeque<Toast>;
