//! `lane` without a command: shapes, never times.

use std::fs;

use crate::common::{assert_refused, command, output, printed, stderr, stdout};

/// Most lines of a run, with what goes to stderr.
const LINES: usize = 40;
/// Most characters of a line.
const WIDTH: usize = 80;

/// What the run with `args` says on stdout and stderr, and its report.
#[track_caller]
fn run(args: &str) -> (String, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Few enough for a debug build on a busy machine; and at this limit no round is far or mixed.
    let args = format!("--items 500 --far-above 1e12 {args}");
    let output = command(&args).current_dir(directory.path()).output().expect("lane starts");
    let said = stderr(&output) + &stdout(&output);
    assert!(output.status.success(), "{said}");
    let report = fs::read_to_string(directory.path().join("corelane-report.html"));
    (said, report.expect("the report was written"))
}

#[track_caller]
fn assert_fits(said: &str) {
    assert!(said.lines().count() <= LINES, "{} lines:\n{said}", said.lines().count());
    let too_long = said.lines().find(|line| line.chars().count() > WIDTH);
    assert_eq!(too_long, None);
    assert!(!said.contains(['\x1b', '\r', '…']) && !said.contains(" left: "), "{said}");
}

#[test]
fn a_run_fits_a_screen_and_its_report_begins_with_the_same_sentences() {
    let (said, report) = run("--rounds 5");
    assert_fits(&said);
    // Peers have versions. Which peers are among the fastest is not certain.
    let is_peer = |line: &str| line.contains('█') && line.contains(" 0.");
    assert!(said.matches('█').count() > 10 && said.lines().any(is_peer), "{said}");
    let sentences = ["For items one by one take `", "For items in groups take `"];
    for sentence in sentences.into_iter().chain(["For questions and answers take `"]) {
        assert!(said.contains(sentence), "no {sentence} in:\n{said}");
    }
    assert!(said.contains("let (mut tx, mut rx) = corelane::"), "{said}");
    assert!(said.contains("with the best peer"), "{said}");
    let conclusion = report.find("For items one by one take <code>").expect("the same sentence");
    assert!(report.find("<h2>").is_some_and(|section| conclusion < section));
    assert!(report.contains("takes the least time in") && report.contains("<svg"));
}

#[test]
fn a_run_of_one_round_ranks_nothing_and_recommends_the_default() {
    let (said, _) = run("--rounds 1");
    assert_fits(&said);
    assert!(!said.contains('█') && said.contains("a rank needs 5 rounds"), "{said}");
    assert_eq!(said.matches("take `spsc::queue` (linering)").count(), 3, "{said}");
}

#[test]
fn all_tables_are_printed_on_request() {
    let (said, _) = run("--rounds 1 --no-peers --all");
    assert!(said.contains("items of 64 bytes, handles in a field"), "{said}");
    assert!(said.contains("× floor: of a line_stream"), "columns are explained: {said}");
    let last = said.trim_end().lines().rev().take(9).collect::<String>();
    assert!(last.contains("For questions and answers"), "the conclusion is last: {last}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_what_it_has() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut lane = command("--items 500");
    let lane = lane.current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = lane.spawn().expect("lane starts");
    std::thread::sleep(Duration::from_secs(1));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill can be started").success());
    let output = child.wait_with_output().expect("lane ends");
    assert_eq!(output.status.code(), Some(130));
    let said = stdout(&output);
    assert!(said.contains("Interrupted") && said.contains("take `"), "{said}{}", stderr(&output));
    assert_fits(&(stderr(&output) + &said));
}

#[test]
fn wrong_input_gets_one_line() {
    assert_refused("--rounds 0", &["--rounds", "choose 1 or more"]);
    assert_refused("--duration 5", &["--duration", "unit"]);
    assert_refused("--foo", &["--foo", "`lane --help` has all"]);
    assert_refused("--all bench spsc", &["bench", "--all"]);
    assert_refused("ben", &["ben", "`lane` takes one of list, bench, "]);
    let refusal = stderr(&output("ben"));
    assert!(!["ipc-peer", "compute"].iter().any(|inner| refusal.contains(inner)), "{refusal}");
    assert_refused("list lineringg", &["lineringg", "nearest are linering"]);
    assert_refused("list --markdown lq", &["--markdown", "cannot be used with"]);
}

#[test]
fn the_list_begins_with_what_to_try_first_and_cuts_nothing() {
    let list = printed("list");
    let heads = ["Try first\n", "\nFor special needs\n", "\nTo compare and to learn: "];
    let places = heads.map(|head| list.find(head).expect(head));
    assert!(places.is_sorted(), "{places:?}");
    let place = |id: &str| list.find(&format!("\n {id} ")).expect(id);
    assert!(place("linering") < place("leased") && place("leased") < places[1]);
    assert!(places[1] < place("scq") && place("scq") < places[2] && places[2] < place("lq"));
    for text in [list, printed("list --long")] {
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!text.contains('…'), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("far more threads than cores"), "the end of an advice");
    }
}

#[test]
fn queues_are_listed_by_name() {
    let long = printed("list linering rtrb --long");
    assert!(long.contains("chunks are") && long.contains("rtrb 0."), "{long}");
    assert!(!long.contains("bqueue") && !long.contains("ringbuf"), "{long}");
    assert_eq!(printed("list linering rtrb"), long);
    let json: serde_json::Value =
        serde_json::from_str(&printed("list lamport --json")).expect("it is JSON");
    assert_eq!(json.as_array().expect("a list").len(), 3);
}
