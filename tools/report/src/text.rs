//! A document on a terminal.

use std::fmt::Write;

use crate::{Block, Document, Media, Table};

/// Most characters of a line of text. Tables of numbers are as wide as they must be.
const WIDTH: usize = 80;
/// Fewest characters of a column that is broken into lines.
const NARROW: usize = 20;

impl Document {
    /// Text for a terminal: the facts, the blocks and the summary.
    pub fn to_text(&self) -> String {
        let mut text = Text::default();
        let facts = self.facts.iter().filter(|fact| fact.0.has(Media::TERMINAL));
        facts.for_each(|(_, _, value)| text.paragraph(value));
        text.blocks(&self.blocks);
        text.blocks(&self.summary);
        text.text
    }
}

/// The text to be printed.
#[derive(Default)]
struct Text {
    text: String,
    /// Whether the last line is a title, below which a block comes without a gap.
    is_titled: bool,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::On(media, blocks) if media.has(Media::TERMINAL) => self.blocks(blocks),
                Block::Folded(_, _, blocks) => self.blocks(blocks),
                Block::On(..) | Block::Figures(_) => {}
                _ => {
                    if !self.is_titled && !self.text.is_empty() {
                        self.text.push('\n');
                    }
                    self.is_titled = is_title(block);
                    self.block(block);
                }
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(_, text, _) => self.line(text),
            Block::Paragraph(text) | Block::Note(text) => self.paragraph(text),
            Block::List(points) => points.iter().for_each(|point| self.point(point)),
            Block::Code(text) => text.lines().for_each(|line| self.line(&format!("  {line}"))),
            Block::Table(table) => self.table(table),
            Block::Listing(lines) => {
                let width = lines.iter().flatten().map(|line| line.margin.chars().count()).max();
                for line in lines {
                    self.line(&match line {
                        Some(line) => format!("{} {:>5} {}", line.margin, line.number, line.text),
                        None => format!("{:1$}⋯", "", width.unwrap_or(0) + 5),
                    });
                }
            }
            Block::On(..) | Block::Folded(..) | Block::Figures(_) => {}
        }
    }

    fn paragraph(&mut self, text: &str) {
        for text in text.lines() {
            wrapped(&plain(text), WIDTH).iter().for_each(|line| self.line(line));
        }
    }

    fn point(&mut self, text: &str) {
        for (number, line) in wrapped(&plain(text), WIDTH - 4).iter().enumerate() {
            self.line(&format!("{}{line}", if number == 0 { "  " } else { "    " }));
        }
    }

    fn table(&mut self, table: &Table) {
        let names = table.names(Media::TERMINAL).map(str::to_owned).collect();
        let cells = |row| table.values(row, Media::TERMINAL).map(str::to_owned).collect();
        let mut rows: Vec<Vec<String>> = vec![names];
        rows.extend(table.rows.iter().map(cells));
        let before = widths(&rows);
        if table.is_text {
            let others: usize = before.iter().rev().skip(1).map(|width| width + 2).sum();
            let room = WIDTH.saturating_sub(others + 1).max(NARROW);
            rows = rows.into_iter().flat_map(|row| broken(row, room)).collect();
        }
        let widths = widths(&rows);
        for row in rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())) {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                match table.is_text || column == 0 {
                    true => write!(line, " {cell:<width$} "),
                    false => write!(line, " {cell:>width$} "),
                }
                .expect("writing to a string");
            }
            self.line(&line);
        }
    }
}

/// Whether no gap follows a block.
fn is_title(block: &Block) -> bool {
    match block {
        Block::Heading(..) => true,
        Block::Paragraph(text) => text.ends_with(':'),
        _ => false,
    }
}

/// The width of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..rows[0].len()).map(width).collect()
}

/// A row whose last cell takes as many rows as it needs.
fn broken(mut row: Vec<String>, room: usize) -> Vec<Vec<String>> {
    let others = row.len().saturating_sub(1);
    let last = row.pop().unwrap_or_default();
    let mut rows = Vec::new();
    for line in wrapped(&last, room) {
        let first = std::mem::replace(&mut row, vec![String::new(); others]);
        rows.push(first.into_iter().chain([line]).collect());
    }
    rows
}

/// Lines of at most `width` characters, or one word. There is at least one line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}

fn plain(text: &str) -> String {
    text.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_paragraphs_are_broken() {
        let mut document = Document::new("", "");
        document.fact(Media::SCREENS, "Machine", "here");
        document.fact(Media::PAGE, "Date", "today");
        document.section("times");
        let rows = [["lq", "9.50"], ["bqueue", "10.5"]].map(|row| row.map(String::from));
        document.add(Block::Table(Table::new(["queue", "ns"]).with(rows)));
        document.add(Block::On(Media::PAGE, vec![Block::Note("not here".into())]));
        document.add(Block::Paragraph(format!("**Long** {}", "word ".repeat(30).trim_end())));
        document.add(Block::Code("let x = 1;".into()));
        let texts = Table::new(["queue", "use it"]).of_text();
        let texts = texts.with([["lq".to_owned(), "when ".repeat(20).trim_end().to_owned()]]);
        document.add(Block::Table(texts));
        document.add(Block::List(vec!["point ".repeat(20).trim_end().to_owned()]));
        let text = document.to_text();
        let begin = "here\n\ntimes\n queue     ns\n lq      9.50\n bqueue  10.5\n\nLong word word";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH) && !text.contains("not here"));
        let end = "\n\n  let x = 1;\n\n queue  use it\n lq     when when";
        assert!(text.contains(end) && text.contains("\n        when when"), "{text}");
        assert!(text.contains("\n  point") && text.contains("\n    point"), "{text}");
    }
}
