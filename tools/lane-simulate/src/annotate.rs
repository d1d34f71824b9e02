//! A queue's source with the costs of each line.

use std::collections::BTreeSet;

use corelane_report::{Block, ListingLine, Media, Remark};
use include_dir::{Dir, include_dir};

use crate::outcome::{LineCosts, SideCosts, StreamCell};

/// Lines that are shown before and after a line with costs.
const AROUND: u32 = 2;

/// The sources of the library.
static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../library/corelane/src");
/// The end of the prefix of the compiler's names of these files. The rest is the same on all
/// machines.
const SOURCES_AT: &str = "corelane/src/";

/// The name here of the file that the compiler calls `path`; `path` itself for files outside of the
/// library.
pub(crate) fn source_name(path: &str) -> &str {
    path.rsplit_once(SOURCES_AT).map_or(path, |(_, file)| file)
}

fn source(file: &str) -> Option<&'static str> {
    SOURCES.get_file(file)?.contents_utf8()
}

/// The sources of a cell's queue: for a page, or for a terminal as well.
pub(crate) fn blocks(cell: &StreamCell, on_terminal: bool) -> Vec<Block> {
    let sides = [&cell.producer, &cell.consumer];
    let lines = || sides.into_iter().flat_map(|side| &side.lines);
    let files: BTreeSet<_> = lines().map(|line| line.file.as_str()).collect();
    let mut blocks = Vec::new();
    for file in files {
        let Some(text) = source(file) else { continue };
        let title = format!("  P misses stall   C misses stall   {file}");
        blocks.push(Block::On(Media::TERMINAL, vec![Block::heading(4, title)]));
        blocks.push(Block::On(Media::PAGE, vec![Block::Paragraph(format!("`{file}`"))]));
        blocks.push(Block::Listing(listing(sides, file, text)));
    }
    let [p, c] = sides.map(|side| side.costs.misses);
    let total = format!("{p:.2} misses per item of the producer, {c:.2} of the consumer");
    blocks.push(Block::On(Media::TERMINAL, vec![Block::Paragraph(total)]));
    let folded = Block::Folded(format!("{}, line by line", cell.queue), false, blocks);
    vec![Block::On(if on_terminal { Media::SCREENS } else { Media::PAGE }, vec![folded])]
}

/// The lines of `file` with costs, and the lines around them.
fn listing(sides: [&SideCosts; 2], file: &str, text: &str) -> Vec<Option<ListingLine>> {
    let here = sides.map(|side| side.lines.iter().filter(|line| line.file == file));
    let costly: BTreeSet<u32> = here.into_iter().flatten().map(|line| line.line).collect();
    let is_shown = |number: u32| {
        costly.range(number.saturating_sub(AROUND)..=number + AROUND).next().is_some()
    };
    let mut shown = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        if is_shown(number) {
            let is_it = |line: &&LineCosts| line.file == file && line.line == number;
            let costs = sides.map(|side| side.lines.iter().find(is_it));
            shown.push(Some(line(number, text, sides, costs)));
        } else if shown.last().is_some_and(Option::is_some) {
            shown.push(None);
        }
    }
    shown
}

fn line(
    number: u32,
    text: &str,
    sides: [&SideCosts; 2],
    costs: [Option<&LineCosts>; 2],
) -> ListingLine {
    let mut remarks = Vec::new();
    let mut columns = [0, 1].map(|_| " ".repeat(14));
    let all = ["producer", "consumer"].into_iter().zip(sides).zip(costs).zip(&mut columns);
    for (((name, side), line), column) in all {
        let Some(LineCosts { costs, .. }) = line else { continue };
        let stalls = 100.0 * costs.stall_ns / side.costs.stall_ns.max(f64::MIN_POSITIVE);
        *column = format!("{:8.2} {stalls:3.0} %", costs.misses);
        let text = format!(
            "{:.2} misses per item ({:.2} read, {:.2} write, {:.2} upgrade) in {:.2} accesses, {stalls:.0} % \
             of its stalls",
            costs.misses, costs.read_misses, costs.write_misses, costs.upgrades, costs.accesses
        );
        let class = if costs.misses >= 0.005 { "verdict needed" } else { "verdict" };
        remarks.push(Remark { class: class.into(), about: name.into(), text });
    }
    let is_marked = costs.iter().flatten().any(|line| line.costs.misses > 0.0);
    let margin = format!("  {}", columns.join("   "));
    ListingLine { number, text: text.to_owned(), margin, is_marked, remarks }
}
