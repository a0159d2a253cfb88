//! Detail of a row of the Stage screen, kept until the row or its contents change: comparing two
//! documents takes longer than drawing a frame.

use super::{Context, State};
use crate::app::doc::{Doc, Extent, wrap};
use crate::app::{layout, rows};
use model::{StageSummary, Unknown};
use std::sync::Arc;

/// Everything that the detail of a row depends on.
#[derive(Debug, Clone)]
struct Source {
    stage: Arc<StageSummary>,
    row: usize,
    unknown: Option<Unknown>,
    extent: Extent,
    cells: usize,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        // A stage never changes: another one has another allocation.
        Arc::ptr_eq(&self.stage, &other.stage)
            && self.row == other.row
            && self.unknown == other.unknown
            && self.extent == other.extent
            && self.cells == other.cells
    }
}

/// Wrapped detail of a row.
#[derive(Debug, Clone)]
pub struct KeptDetail {
    source: Source,
    doc: Arc<Doc>,
}

impl State {
    /// Extent of the detail on the Stage screen.
    pub fn extent(&self) -> Extent {
        Extent {
            all: self.filters.all_attributes,
            zoomed: self.list().zoom,
            short: self.frame.size.1 < 30,
        }
    }

    /// Detail of the row under the cursor, wrapped to `cells`.
    pub fn wrapped_detail(&self, cells: usize) -> Arc<Doc> {
        let kept = self.frame.kept_detail.as_ref();
        match kept.filter(|kept| self.detail_source(cells).as_ref() == Some(&kept.source)) {
            Some(kept) => kept.doc.clone(),
            None => Arc::new(wrap(&self.detail(), cells)),
        }
    }

    /// Computes the detail if the kept one belongs to something else.
    pub(in crate::app) fn keep_detail(&mut self) {
        let (cells, lines) = layout::detail_size(self);
        let source = self.detail_source(cells).filter(|_| lines > 0);
        if source.as_ref() == self.frame.kept_detail.as_ref().map(|kept| &kept.source) {
            return;
        }
        self.frame.kept_detail = source.map(|source| KeptDetail {
            source,
            doc: Arc::new(wrap(&rows::detail(self), cells)),
        });
    }

    /// Source of the detail; `None` on screens whose details change with time.
    fn detail_source(&self, cells: usize) -> Option<Source> {
        if self.context() != Context::Stage {
            return None;
        }
        let row = self
            .selected()
            .filter(|r| !r.heading && r.node().is_none())?;
        let unknown = self.change().and_then(|c| self.unknown_of(&c.address));
        Some(Source {
            stage: self.view.stage.clone()?,
            row: row.index,
            unknown: unknown.cloned(),
            extent: self.extent(),
            cells,
        })
    }
}
