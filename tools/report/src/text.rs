//! A document on a terminal.

use std::fmt::Write;

use crate::{Block, Document, Media, Table};

/// Most characters of a line of a paragraph.
const WIDTH: usize = 100;

impl Document {
    /// Text for a terminal: the facts, the blocks and the summary.
    pub fn to_text(&self) -> String {
        let mut text = Text::default();
        let facts = self.facts.iter().filter(|fact| fact.0.has(Media::TERMINAL));
        facts.for_each(|(_, _, value)| text.line(value));
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
                    self.is_titled = matches!(block, Block::Heading(..));
                    self.block(block);
                }
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(_, text, _) => self.line(text),
            Block::Paragraph(text) | Block::Note(text) => self.paragraph(text),
            Block::List(points) => {
                points.iter().for_each(|point| self.line(&format!("  {}", plain(point))));
            }
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
            let mut line = String::new();
            for word in plain(text).split(' ') {
                if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                    self.line(&std::mem::take(&mut line));
                }
                let gap = if line.is_empty() { "" } else { " " };
                write!(line, "{gap}{word}").expect("writing to a string");
            }
            self.line(&line);
        }
    }

    fn table(&mut self, table: &Table) {
        let names = table.names(Media::TERMINAL).collect();
        let rows = table.rows.iter().map(|row| table.values(row, Media::TERMINAL).collect());
        let rows: Vec<Vec<&str>> = std::iter::once(names).chain(rows).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
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
        let text = document.to_text();
        let begin = "here\n\ntimes\n queue     ns\n lq      9.50\n bqueue  10.5\n\nLong word word";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH) && !text.contains("not here"));
    }
}
