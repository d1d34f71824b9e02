//! A document as one file that any browser shows without a network.

use std::collections::BTreeSet;

use crate::{Block, Document, ListingLine, Media, Table};

const STYLE: &str = include_str!("style.css");

const KEY: &str = "<p class=\"key\"><span class=\"ours\">corelane</span><span class=\"peer\">peers</span>\
                   <span class=\"floor\">floor</span></p>";

impl Document {
    /// The whole page.
    pub fn to_html(&self) -> String {
        let ids: BTreeSet<_> = self.blocks.iter().filter_map(id).collect();
        let mut facts = String::new();
        for (_, name, value) in self.facts.iter().filter(|fact| fact.0.has(Media::PAGE)) {
            facts.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), rich(value)));
        }
        let part =
            |blocks: &[Block]| blocks.iter().map(|block| html(block, &ids)).collect::<String>();
        let summary = match part(&self.summary) {
            summary if summary.is_empty() => summary,
            summary => format!("<section class=\"advice\">\n{summary}</section>\n"),
        };
        let reading = match self.reading.as_str() {
            "" => String::new(),
            words => {
                let words = rich(words);
                format!(
                    "<section class=\"reading\"><h2>How to read this</h2><p>{words}</p></section>\n"
                )
            }
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>{STYLE}</style></head>\n<body>\n\
             <header><h1>{}</h1><dl>\n{facts}</dl>{}</header>\n{summary}{}{reading}</body></html>\n",
            escaped(&self.title),
            escaped(&self.heading),
            if self.has_key { KEY } else { "" },
            part(&self.blocks),
        )
    }
}

fn id(block: &Block) -> Option<&str> {
    match block {
        Block::Heading(_, _, id) => id.as_deref(),
        Block::On(_, blocks) => blocks.iter().find_map(id),
        _ => None,
    }
}

fn html(block: &Block, ids: &BTreeSet<&str>) -> String {
    let all = |blocks: &[Block]| blocks.iter().map(|block| html(block, ids)).collect::<String>();
    match block {
        Block::Heading(level, text, id) => {
            let id = id.as_ref().map(|id| format!(" id=\"{}\"", escaped(id))).unwrap_or_default();
            format!("<h{level}{id}>{}</h{level}>\n", escaped(text))
        }
        Block::Paragraph(text) => {
            text.lines().map(|line| format!("<p>{}</p>\n", rich(line))).collect()
        }
        Block::Note(text) => format!("<p class=\"legend\">{}</p>\n", rich(text)),
        Block::List(points) => {
            let points = points.iter().map(|point| format!("<li>{}</li>", rich(point)));
            format!("<ul>{}</ul>\n", points.collect::<String>())
        }
        Block::Code(text) => format!("<pre><code>{}</code></pre>\n", escaped(text)),
        Block::Table(table) => self::table(table, ids),
        Block::Figures(pictures) => match &pictures[..] {
            [picture] => format!("<div class=\"chart\">{picture}</div>\n"),
            pictures => {
                let pictures = pictures.iter().map(|picture| format!("<div>{picture}</div>"));
                format!("<div class=\"maps\">{}</div>\n", pictures.collect::<String>())
            }
        },
        Block::Listing(lines) => {
            let lines: String = lines.iter().map(|line| listing_line(line.as_ref())).collect();
            format!("<div class=\"source\">{lines}</div>\n")
        }
        Block::Folded(title, is_open, blocks) => {
            let (open, title) = (if *is_open { " open" } else { "" }, escaped(title));
            format!("<details{open}><summary>{title}</summary>\n{}</details>\n", all(blocks))
        }
        Block::On(media, blocks) if media.has(Media::PAGE) => all(blocks),
        Block::On(..) => String::new(),
    }
}

fn table(table: &Table, ids: &BTreeSet<&str>) -> String {
    let names = table.names(Media::PAGE).map(|name| format!("<th>{}</th>", escaped(name)));
    let cell = |value: &str| match ids.contains(value) {
        true => format!("<td><a href=\"#{0}\">{0}</a></td>", escaped(value)),
        false => format!("<td>{}</td>", escaped(value)),
    };
    let rows = table.rows.iter().map(|row| {
        let class = if row.is_quiet { " class=\"peer\"" } else { "" };
        let cells: String = table.values(row, Media::PAGE).map(cell).collect();
        format!("<tr{class}>{cells}</tr>\n")
    });
    let class = if table.is_text { " class=\"text\"" } else { "" };
    format!(
        "<table{class}><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table>\n",
        names.collect::<String>(),
        rows.collect::<String>()
    )
}

fn listing_line(line: Option<&ListingLine>) -> String {
    let Some(line) = line else { return "<div class=\"gap\">⋯</div>\n".into() };
    let marked = if line.is_marked { " marked" } else { "" };
    let mut html = format!(
        "<div class=\"line{marked}\"><span class=\"number\">{}</span><code>{}</code></div>\n",
        line.number,
        escaped(&line.text)
    );
    for remark in &line.remarks {
        let text =
            if remark.text.is_empty() { String::new() } else { format!(": {}", remark.text) };
        let (class, about, text) = (&remark.class, escaped(&remark.about), escaped(&text));
        html.push_str(&format!("<div class=\"{class}\"><b>{about}</b>{text}</div>\n"));
    }
    html
}

fn rich(text: &str) -> String {
    let bold = marked(&escaped(text), "**", "b");
    marked(&bold, "`", "code")
}

/// Turns text between two marks into an element. A mark without a partner stays.
fn marked(text: &str, mark: &str, element: &str) -> String {
    let parts: Vec<_> = text.split(mark).collect();
    let mut html = String::new();
    for (number, part) in parts.iter().enumerate() {
        html.push_str(&match (number % 2 == 1, number + 1 < parts.len()) {
            (true, true) => format!("<{element}>{part}</{element}>"),
            (true, false) => format!("{mark}{part}"),
            (false, _) => (*part).to_owned(),
        });
    }
    html
}

pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup_but_for_code_and_bold_words() {
        assert_eq!(rich("`a<b>` and **c**"), "<code>a&lt;b&gt;</code> and <b>c</b>");
        assert_eq!(rich("one ` alone"), "one ` alone");
    }

    #[test]
    fn cells_link_to_the_section_of_that_name() {
        let mut document = Document::new("title", "heading");
        document.add(Block::Table(Table::new(["queue"]).with([["lq".to_owned()]])));
        document.add(Block::Heading(2, "lq: 100 %".into(), Some("lq".into())));
        let html = document.to_html();
        assert!(html.contains("<a href=\"#lq\">lq</a>") && html.contains("<h2 id=\"lq\">"));
    }
}
