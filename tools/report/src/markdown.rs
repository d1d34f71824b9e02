//! A document as a file to be kept beside the sources.

use crate::{Block, Document, Media, Table};

impl Document {
    /// Markdown: the blocks that are shown there.
    pub fn to_markdown(&self) -> String {
        blocks(&self.blocks)
    }
}

fn blocks(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        let part = match block {
            Block::On(media, inner) if media.has(Media::MARKDOWN) => self::blocks(inner),
            Block::Folded(_, _, inner) => self::blocks(inner),
            Block::On(..) | Block::Figures(_) | Block::Listing(_) => continue,
            Block::Heading(level, heading, _) => {
                format!("{} {heading}\n", "#".repeat(usize::from(*level)))
            }
            Block::Paragraph(words) | Block::Note(words) => format!("{words}\n"),
            Block::List(points) => points.iter().map(|point| format!("- {point}\n")).collect(),
            Block::Code(text) => format!("```\n{text}\n```\n"),
            Block::Table(table) => self::table(table),
        };
        if !text.is_empty() && !part.is_empty() {
            text.push('\n');
        }
        text.push_str(&part);
    }
    text
}

fn table(table: &Table) -> String {
    // A bar would end the cell.
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<_> = cells.map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let align = if table.is_text { "---|" } else { "--:|" };
    let columns = table.names(Media::MARKDOWN).count();
    let mut text = line(&mut table.names(Media::MARKDOWN));
    text.push_str(&format!("|---|{}\n", align.repeat(columns.saturating_sub(1))));
    let rows = table.rows.iter().map(|row| line(&mut table.values(row, Media::MARKDOWN)));
    text.extend(rows);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_in_cells_are_escaped() {
        let mut document = Document::new("", "");
        document.add(Block::heading(1, "Table"));
        let columns = [(Media::ALL, "queue"), (Media::MARKDOWN, "line"), (Media::SCREENS, "time")];
        let table = Table::of(columns.map(|(on, name)| (on, name.to_owned())));
        let rows = [["lq", "`a | b`", "3 s"].map(String::from)];
        document.add(Block::Table(table.of_text().with(rows)));
        document.add(Block::Figures(Vec::new()));
        let text = "# Table\n\n| queue | line |\n|---|---|\n| lq | `a \\| b` |\n";
        assert_eq!(document.to_markdown(), text);
    }
}
