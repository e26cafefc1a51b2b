//! `stridec diff`: what changed between two snapshots, stage by stage, or between two modules.

use std::{fmt::Write as _, path::Path, process::ExitCode, time::Duration};

use similar::{ChangeTag, TextDiff};
use stridec::hlo::MemoryReport;

use super::{
    args::DiffArgs,
    errors::{Failure, input_name, printable},
    module_file::{Contents, ModuleFile},
    output::print,
};

/// All stages, in order; `text` is that of the kernel.
const ORDER: [&str; 8] =
    ["operation", "source", "destination", "window", "nest", "schedule", "kernel", "text"];

/// The stages that every operation has.
const STAGES: [&str; 5] = ["source", "destination", "nest", "schedule", "kernel"];

/// How long the shortest difference of a stage is looked for.
const DEADLINE: Duration = Duration::from_secs(1);

/// Prints the difference; returns whether it is to count as a failure.
pub(super) fn diff(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let difference = match (read(&args.old)?, read(&args.new)?) {
        (Side::Snapshot(old), Side::Snapshot(new)) => {
            check(&args.old, &old)?;
            check(&args.new, &new)?;
            compare(&old, &new)
        }
        (Side::Module(old), Side::Module(new)) => old.difference(&new),
        _ => {
            let reason = "expected two snapshots or two modules, got one of each";
            return Err(Failure::invalid(reason));
        }
    };
    print(&printable(difference.as_deref().unwrap_or("no difference\n")))?;
    let fails = args.exit_code && difference.is_some();
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One of the two that are compared.
enum Side {
    /// Stages as text.
    Snapshot(String),
    /// What a module takes.
    Module(MemoryReport),
}

fn read(path: &Path) -> Result<Side, Failure> {
    // Other commands take files with a sign before them.
    let named = path.to_str().and_then(|path| path.strip_prefix('@')).map(Path::new);
    let path = named.filter(|_| !path.exists()).unwrap_or(path);
    let file = ModuleFile::read(path)?;
    // What a snapshot shows may hold characters that text does not have.
    if let Some(text) = file.utf8().filter(|text| text.contains("\n== ")) {
        return Ok(Side::Snapshot(text.replace("\r\n", "\n")));
    }
    match file.contents()? {
        Contents::Text(text) if !is_module(text) => Ok(Side::Snapshot(text.replace("\r\n", "\n"))),
        _ => file.memory().map(Side::Module),
    }
}

/// Whether a text is HLO: no snapshot has these words at the start of a line.
fn is_module(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("HloModule ") || line.starts_with("ENTRY "))
}

/// Checks that a text has the stages of an operation.
fn check(path: &Path, text: &str) -> Result<(), Failure> {
    let stages = stages(text);
    match STAGES.into_iter().find(|name| !stages.iter().any(|(stage, _)| stage == name)) {
        None => Ok(()),
        Some(missing) => Err(Failure::invalid(format!(
            "no stage `== {missing}`; expected a snapshot, or the output of `compile --emit stages`"
        ))
        .about(input_name(path))),
    }
}

/// A stage's name and its text.
type Stage<'a> = (&'a str, String);

/// The stages of a snapshot: the operation, each `== name`, and the kernel's text by itself.
fn stages(text: &str) -> Vec<Stage<'_>> {
    // insta's own header says nothing of the kernel.
    let text = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(text, |(_, content)| content);
    let mut stages = vec![];
    for (number, part) in text.split("\n== ").enumerate() {
        if number == 0 {
            stages.push(("operation", part.trim().to_owned()));
            continue;
        }
        let (heading, body) = part.split_once('\n').unwrap_or((part, ""));
        let name = heading.split([':', ' ']).next().unwrap_or(heading);
        match (name, body.split_once("\n\n")) {
            ("kernel", Some((facts, text))) => {
                // The text's header repeats the stages before it; the proof stands nowhere else.
                let code = text.find("\n@").map_or(text, |at| &text[at + 1..]);
                let header = &text[..text.len() - code.len()];
                let proof = header.find("// proof").map_or("", |at| &header[at..]);
                stages.push(("kernel", format!("{}\n{}", facts.trim(), proof.trim())));
                stages.push(("text", code.trim().to_owned()));
            }
            // The target stands in the heading.
            ("schedule", _) => stages.push((name, part.trim().to_owned())),
            _ => stages.push((name, body.trim().to_owned())),
        }
    }
    stages
}

/// What a change means, by the first stage that changed and whether the ones after it did.
fn meaning(changed: &[&str]) -> &'static str {
    let operation = ["operation", "source", "destination", "window"];
    match changed.iter().find(|name| !operation.contains(*name)) {
        None => "Another operation, with the same kernel.",
        Some(_) if operation.contains(&changed[0]) => "Another operation, and so another kernel.",
        Some(&"nest") => "The same operation, lowered to other loops.",
        Some(&"schedule") => "The same loops, scheduled in another way.",
        Some(&"kernel") => "The same schedule, with other bindings, dispatches or bounds.",
        Some(_) => "The same work, written in another way.",
    }
}

/// A summary line, then the lines of each stage that changed; `None` where none did.
fn compare(old: &str, new: &str) -> Option<String> {
    let (old, new) = (stages(old), stages(new));
    let find = |stages: &[Stage<'_>], name: &str| {
        stages.iter().find(|stage| stage.0 == name).map(|stage| stage.1.clone())
    };
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in old.iter().chain(&new) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| ORDER.iter().position(|known| known == name));
    let (same, changed): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| find(&old, name) == find(&new, name));
    if changed.is_empty() {
        return None;
    }
    let mut text = format!("changed: {}\n", changed.join(", "));
    if !same.is_empty() {
        let _ = writeln!(text, "the same: {}", same.join(", "));
    }
    let _ = writeln!(text, "{}", meaning(&changed));
    for name in changed {
        let _ = writeln!(text, "\n== {name}");
        let side = |stages| find(stages, name).unwrap_or_default();
        let (old, new) = (side(&old), side(&new));
        // Past the deadline the rest is said to differ, which is true, if not the shortest.
        let diff = TextDiff::configure().timeout(DEADLINE).diff_lines(&old, &new);
        for (number, group) in diff.grouped_ops(2).iter().enumerate() {
            if number > 0 {
                text.push_str("  ...\n");
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                let _ = writeln!(text, "{sign} {}", change.value().trim_end_matches('\n'));
            }
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use stridec::{Operation, Target};

    use super::*;

    fn snapshot(to: &str, target: &Target) -> String {
        let (from, to) = ("f32[64,96]".parse().unwrap(), to.parse().unwrap());
        Operation::relayout(from, to).unwrap().stages(target).unwrap()
    }

    #[test]
    fn what_stays_is_not_shown() {
        let gpu = snapshot("f32[64,96]{0,1}", &Target::webgpu());
        assert_eq!(compare(&gpu, &format!("---\nsource: x\n---\n{gpu}")), None);
        let other = snapshot("f32[64,96]{0,1:PAD(64,100,zero)}", &Target::webgpu());
        let shown = compare(&gpu, &other).unwrap();
        assert!(shown.starts_with("changed: operation, destination, nest"), "{shown}");
        assert!(shown.contains("\nthe same: source"), "{shown}");
        assert!(shown.contains("\n- d1: 96 places, stride 64\n"), "{shown}");
        assert!(!shown.contains("== source"), "{shown}");
        assert!(shown.contains("\nAnother operation, and so another kernel.\n"), "{shown}");
        // The header of the text says nothing new; its proof does.
        assert!(!shown.contains("// nest") && shown.contains("\n+ // proof "), "{shown}");
    }

    #[test]
    fn stages_that_are_the_same_are_said_to_be() {
        let plain = snapshot("f32[64,96]{0,1}", &Target::webgpu());
        let tiled = snapshot("f32[64,96]{0,1:T(1,1)}", &Target::webgpu());
        let shown = compare(&plain, &tiled).unwrap();
        let expected = "changed: operation, destination\nthe same: source, nest, schedule, kernel, text\n\
                        Another operation, with the same kernel.\n";
        assert!(shown.starts_with(expected), "{shown}");
    }

    #[test]
    fn another_target_changes_schedule_and_text_alone() {
        let gpu = snapshot("f32[64,96]{0,1}", &Target::webgpu());
        let cpu = snapshot("f32[64,96]{0,1}", &Target::webgpu_cpu());
        let shown = compare(&gpu, &cpu).unwrap();
        assert!(shown.contains("\n- schedule for webgpu\n+ schedule for webgpu-cpu\n"), "{shown}");
        assert!(shown.contains("the same: operation, source, destination, nest"), "{shown}");
        assert!(shown.contains("\nThe same loops, scheduled in another way.\n"), "{shown}");
    }
}
