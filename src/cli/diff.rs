//! `stridec diff`: what changed between two snapshots, stage by stage.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Read},
    path::Path,
    time::Duration,
};

use similar::{ChangeTag, TextDiff};

use super::{
    args::DiffArgs,
    errors::{Failure, printable},
    output::print,
};

/// How long the shortest difference of a stage is looked for.
const DEADLINE: Duration = Duration::from_secs(1);

pub(super) fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    print(&printable(&compare(&old, &new)))
}

fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    text.map_err(|error| Failure::unreadable(path, &error))
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

/// What a change means whose first changed stage is this one.
fn meaning(first: &str) -> &'static str {
    match first {
        "operation" | "source" | "destination" | "window" => {
            "Another operation: the stages behind it change with it."
        }
        "nest" => "The same operation, lowered to other loops.",
        "schedule" => "The same loops, scheduled in another way.",
        "kernel" => "The same schedule, with other bindings, dispatches or bounds.",
        _ => "The same work, written in another way.",
    }
}

/// A summary line, then the lines of each stage that changed.
fn compare(old: &str, new: &str) -> String {
    let (old, new) = (stages(old), stages(new));
    let find = |stages: &[Stage<'_>], name: &str| {
        stages.iter().find(|stage| stage.0 == name).map_or(String::new(), |stage| stage.1.clone())
    };
    let mut names: Vec<&str> = new.iter().map(|stage| stage.0).collect();
    names.extend(old.iter().map(|stage| stage.0).filter(|name| find(&new, name).is_empty()));
    names.dedup();
    let (same, changed): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| find(&old, name) == find(&new, name));
    let Some(first) = changed.first() else { return "no difference\n".to_owned() };
    let mut text = format!("changed: {}\n", changed.join(", "));
    if !same.is_empty() {
        let _ = writeln!(text, "the same: {}", same.join(", "));
    }
    let _ = writeln!(text, "{}", meaning(first));
    for name in changed {
        let _ = writeln!(text, "\n== {name}");
        let (old, new) = (find(&old, name), find(&new, name));
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
    text
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
        assert_eq!(compare(&gpu, &format!("---\nsource: x\n---\n{gpu}")), "no difference\n");
        let other = snapshot("f32[64,96]{0,1:PAD(64,100,zero)}", &Target::webgpu());
        let shown = compare(&gpu, &other);
        assert!(shown.starts_with("changed: operation, destination, nest"), "{shown}");
        assert!(shown.contains("\nthe same: source"), "{shown}");
        assert!(shown.contains("\n- d1: 96 places, stride 64\n"), "{shown}");
        assert!(!shown.contains("== source"), "{shown}");
        assert!(shown.contains("\nAnother operation: "), "{shown}");
        // The header of the text says nothing new; its proof does.
        assert!(!shown.contains("// nest") && shown.contains("\n+ // proof "), "{shown}");
    }

    #[test]
    fn another_target_changes_schedule_and_text_alone() {
        let gpu = snapshot("f32[64,96]{0,1}", &Target::webgpu());
        let cpu = snapshot("f32[64,96]{0,1}", &Target::webgpu_cpu());
        let shown = compare(&gpu, &cpu);
        assert!(shown.contains("\n- schedule for webgpu\n+ schedule for webgpu-cpu\n"), "{shown}");
        assert!(shown.contains("the same: operation, source, destination, nest"), "{shown}");
        assert!(shown.contains("\nThe same loops, scheduled in another way.\n"), "{shown}");
    }
}
