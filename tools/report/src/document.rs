//! The contents of a report, independent of the medium.

/// The media on which something is shown: one, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media(u8);

impl Media {
    /// No medium.
    pub const NOWHERE: Self = Self(0);
    /// Text on a terminal.
    pub const TERMINAL: Self = Self(1);
    /// A page in a browser.
    pub const PAGE: Self = Self(2);
    /// A Markdown file to be kept: without values that differ from run to run.
    pub const MARKDOWN: Self = Self(4);
    /// Terminal and page: the media for the user after a run.
    pub const SCREENS: Self = Self(3);
    /// All media.
    pub const ALL: Self = Self(7);

    pub(crate) fn has(self, medium: Self) -> bool {
        self.0 & medium.0 != 0
    }
}

/// The results of a command.
///
/// In paragraphs, lists and facts, text between backticks is code, and text between pairs of
/// asterisks is bold.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Title of the browser's window.
    pub title: String,
    /// The heading at the top of a page.
    pub heading: String,
    pub(crate) facts: Vec<(Media, String, String)>,
    /// Whether a page has a key for the colours of bars.
    pub has_key: bool,
    /// The conclusions: first on a page, and last on a terminal.
    pub summary: Vec<Block>,
    /// All other blocks.
    pub blocks: Vec<Block>,
    /// How to read the page.
    pub reading: String,
}

/// A part of a document.
#[derive(Debug, Clone)]
pub enum Block {
    /// A heading of a section (2) or a part of one (3, 4), and a name by which tables link to it.
    Heading(u8, String, Option<String>),
    /// Sentences. A terminal breaks them into lines.
    Paragraph(String),
    /// A paragraph in a less prominent style.
    Note(String),
    /// List items. A terminal breaks them into lines.
    List(Vec<String>),
    /// Lines as they are: code, or a picture of characters.
    Code(String),
    /// A table.
    Table(Table),
    /// Pictures, which only a page has.
    Figures(Vec<String>),
    /// Lines of a source; those that are left out are `None`.
    Listing(Vec<Option<ListingLine>>),
    /// Blocks that a page shows when the reader unfolds them, or at once if `true`.
    Folded(String, bool, Vec<Block>),
    /// Blocks that are shown only on some media.
    On(Media, Vec<Block>),
}

/// A line of a source.
#[derive(Debug, Clone, Default)]
pub struct ListingLine {
    /// Its number, from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
    /// The text before it on a terminal.
    pub margin: String,
    /// Whether the line is marked.
    pub is_marked: bool,
    /// The remarks below it on a page.
    pub remarks: Vec<Remark>,
}

/// A remark on a line of a source.
#[derive(Debug, Clone)]
pub struct Remark {
    /// Its class in the style sheet.
    pub class: String,
    /// The subject.
    pub about: String,
    /// The text, perhaps empty.
    pub text: String,
}

/// Rows under names.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) columns: Vec<(Media, String)>,
    /// Its rows.
    pub rows: Vec<Row>,
    pub(crate) is_text: bool,
}

/// A row of a table.
#[derive(Debug, Clone)]
pub struct Row {
    /// A value for each column.
    pub cells: Vec<String>,
    /// Whether the row has a less prominent style.
    pub is_quiet: bool,
}

impl Document {
    /// An empty document.
    pub fn new(title: &str, heading: &str) -> Self {
        Self { title: title.into(), heading: heading.into(), ..Self::default() }
    }

    /// Adds a fact of the run; on a terminal it is in the first lines, without its name.
    pub fn fact(&mut self, on: Media, name: &str, value: impl Into<String>) {
        self.facts.push((on, name.into(), value.into()));
    }

    /// Adds a block.
    pub fn add(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Adds a heading of a section.
    pub fn section(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::heading(2, text));
    }
}

impl Block {
    /// A heading of that level.
    pub fn heading(level: u8, text: impl Into<String>) -> Self {
        Self::Heading(level, text.into(), None)
    }
}

impl Table {
    /// An empty table, whose first column is text and whose other columns are numbers.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of(names.into_iter().map(|name| (Media::ALL, name.into())))
    }

    /// An empty table whose columns are shown on these media.
    pub fn of(columns: impl IntoIterator<Item = (Media, String)>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), is_text: false }
    }

    /// The same with all columns text.
    #[must_use]
    pub fn of_text(self) -> Self {
        Self { is_text: true, ..self }
    }

    /// The same with `rows`.
    #[must_use]
    pub fn with<R: IntoIterator<Item = String>>(
        mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row { cells: cells.into_iter().collect(), is_quiet: false });
    }

    /// The names of the columns that are shown on `medium`.
    pub(crate) fn names(&self, medium: Media) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(move |column| column.0.has(medium)).map(|column| &*column.1)
    }

    pub(crate) fn values<'a>(
        &'a self,
        row: &'a Row,
        medium: Media,
    ) -> impl Iterator<Item = &'a str> {
        let cells = self.columns.iter().zip(&row.cells);
        cells.filter(move |(column, _)| column.0.has(medium)).map(|(_, cell)| cell.as_str())
    }
}
