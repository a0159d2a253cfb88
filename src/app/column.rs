//! Columns of a table: titles, widths, and the order in which a narrow table leaves them out.

/// Width of a column.
#[derive(Debug, Clone, Copy)]
pub enum Width {
    Fix(u16),
    /// Minimum width, and the weight of its share of the spare width.
    Flex(u16, u16),
    /// Minimum width, and up to the width of the longest key of all rows before `Flex` columns get
    /// a share.
    Key(u16),
}

/// A column. If the table is too narrow, columns with the highest `drop` are left out first; 0 is
/// never left out.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub title: &'static str,
    pub width: Width,
    pub drop: u8,
    pub right: bool,
}

/// Creates a column of text.
pub const fn column(title: &'static str, width: Width, drop: u8) -> Column {
    Column {
        title,
        width,
        drop,
        right: false,
    }
}

/// Creates a right-aligned column of numbers.
pub const fn number(title: &'static str, width: u16, drop: u8) -> Column {
    Column {
        title,
        width: Width::Fix(width),
        drop,
        right: true,
    }
}
