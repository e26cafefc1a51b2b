//! `stridec diff`: compares two snapshots stage by stage, or the memory of two modules.
//!
//! A snapshot is a text with all stages of a compilation, as `stridec compile --emit stages` prints
//! it.

use std::{fmt::Write as _, path::Path, time::Duration};

use similar::{ChangeTag, TextDiff};
use stridec::hlo::{DefaultTiles, MemoryReport};

use super::{
    args::DiffArgs,
    errors::{Failure, input_name, printable},
    module_file::{Contents, ModuleFile},
    output::print,
};

/// The names of all stages, in order. `operation` and `program` are the titles of snapshots, and
/// `text` is the WGSL of a kernel.
const ORDER: [&str; 10] = [
    "operation",
    "source",
    "destination",
    "window",
    "program",
    "buffers",
    "nest",
    "schedule",
    "kernel",
    "text",
];

/// The number of stages in [`ORDER`] that describe an operation or a whole program. The stages
/// after these describe a single kernel.
const WHOLE: usize = 6;

/// The stages that every snapshot of an operation must contain.
const STAGES: [&str; 5] = ["source", "destination", "nest", "schedule", "kernel"];

/// The time limit for finding the shortest difference between two texts of a stage.
const DEADLINE: Duration = Duration::from_secs(1);

/// Prints the difference between two inputs. If there is one and `--exit-code` is given, returns
/// exit code 1.
pub(super) fn diff(args: &DiffArgs) -> Result<u8, Failure> {
    let difference = match (read(&args.old)?, read(&args.new)?) {
        (DiffInput::Snapshot(old), DiffInput::Snapshot(new)) => {
            check((&args.old, &old), (&args.new, &new))?;
            compare(&old, &new)
        }
        (DiffInput::Module(old), DiffInput::Module(new)) => old.difference(&new),
        _ => {
            let reason = "expected two snapshots or two modules, got one of each";
            return Err(Failure::invalid(reason));
        }
    };
    print(&printable(difference.as_deref().unwrap_or("no difference\n")))?;
    let fails = args.exit_code && difference.is_some();
    Ok(u8::from(fails))
}

/// One of the two inputs that are compared.
enum DiffInput {
    /// A text with stages.
    Snapshot(String),
    /// The memory of a module.
    Module(MemoryReport),
}

/// Reads an input. Treats any text except a module as a snapshot, which is checked later.
fn read(path: &Path) -> Result<DiffInput, Failure> {
    // Also accept `@FILE`, because other commands name files in this way.
    let named = path.to_str().and_then(|path| path.strip_prefix('@')).map(Path::new);
    let path = named.filter(|_| !path.exists()).unwrap_or(path);
    let file = ModuleFile::read(path)?;
    // Recognise a snapshot first, because `contents` may mistake some of its characters for binary
    // data.
    if let Some(text) = file.utf8().filter(|text| text.contains("\n== ")) {
        return Ok(DiffInput::Snapshot(text.replace("\r\n", "\n")));
    }
    match file.contents()? {
        Contents::Text(text) if !is_module(text) => {
            Ok(DiffInput::Snapshot(text.replace("\r\n", "\n")))
        }
        _ => file.memory(DefaultTiles::None).map(DiffInput::Module),
    }
}

/// Returns true if a text is HLO or StableHLO. In these, a line begins with one of the words below,
/// and in a snapshot none does.
fn is_module(text: &str) -> bool {
    let starts = [
        "HloModule ",
        "ENTRY ",
        "module @",
        "module {",
        "module attributes ",
        "\"builtin.module\"",
    ];
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// Returns an error unless both texts are stages of an operation, or both are stages of a program.
fn check(old: (&Path, &str), new: (&Path, &str)) -> Result<(), Failure> {
    let mut are_programs = Vec::new();
    for (path, text) in [old, new] {
        let stages = stages(text);
        let has = |name: &str| stages.iter().any(|stage| stage.name == name);
        are_programs.push(has("buffers"));
        if !has("buffers")
            && let Some(missing) = STAGES.into_iter().find(|name| !has(name))
        {
            return Err(Failure::invalid(format!(
                "no stage `== {missing}`; expected a snapshot, or the output of `compile --emit stages`"
            ))
            .about(input_name(path)));
        }
    }
    if are_programs[0] != are_programs[1] {
        let reason = "expected the stages of two operations or of two programs, got one of each";
        return Err(Failure::invalid(reason));
    }
    Ok(())
}

/// One stage of a snapshot, with its text.
struct Stage<'a> {
    /// The buffer that the kernel of this stage writes, such as `result 0`. It is empty for an
    /// operation.
    buffer: &'a str,
    name: &'a str,
    text: String,
}

impl Stage<'_> {
    /// Returns the heading under which changes of the stage are printed, such as `nest`, or `nest
    /// of result 0` in a program.
    fn title(&self) -> String {
        match self.buffer {
            "" => self.name.to_owned(),
            buffer => format!("{} of {buffer}", self.name),
        }
    }
}

/// Returns the position of a stage in [`ORDER`], to sort stages. An unknown stage is sorted like
/// the last one.
fn rank(name: &str) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len() - 1)
}

/// Splits a snapshot into its stages. The first stage is the operation or the program. Each line
/// `== name` begins another stage, and the WGSL of each kernel is a separate stage.
fn stages(text: &str) -> Vec<Stage<'_>> {
    // A snapshot of the tests begins with a header of the crate insta, which is skipped because it
    // does not describe the kernel.
    let text = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(text, |(_, content)| content);
    let (title, sections) = text.split_once("\n== ").unwrap_or((text, ""));
    let is_program = sections.starts_with("buffers\n");
    let name = if is_program { "program" } else { "operation" };
    let mut stages = vec![Stage { buffer: "", name, text: title.trim().to_owned() }];
    let mut buffer = "";
    for part in sections.split("\n== ").filter(|part| !part.is_empty()) {
        let (heading, body) = part.split_once('\n').unwrap_or((part, ""));
        let mut name = heading.split([':', ' ']).next().unwrap_or(heading);
        if let Some((written, _)) = heading.split_once(": its nest") {
            (buffer, name) = (written, "nest");
        }
        let mut push =
            |name, text: &str| stages.push(Stage { buffer, name, text: text.trim().to_owned() });
        match (name, body.split_once("\n\n")) {
            ("kernel", Some((facts, text))) => {
                // Skip the comments at the top of the WGSL, because they repeat earlier stages.
                // Keep the proof, which no earlier stage contains.
                let code = text.find("\n@").map_or(text, |at| &text[at + 1..]);
                let header = &text[..text.len() - code.len()];
                let proof = header.find("// proof").map_or("", |at| &header[at..]);
                push("kernel", &format!("{}\n{}", facts.trim(), proof.trim()));
                push("text", code);
            }
            // Keep the heading of the schedule, because it names the target.
            ("schedule", _) => push(name, part),
            _ => push(name, body),
        }
    }
    stages
}

/// Returns a sentence that explains the change to the user, judged by the first stage that changed.
fn meaning(changed: &[&Stage<'_>], is_program: bool) -> &'static str {
    let (whole, kernels): (Vec<usize>, Vec<usize>) =
        changed.iter().map(|stage| rank(stage.name)).partition(|&rank| rank < WHOLE);
    match kernels.into_iter().min().map(|first| ORDER[first]) {
        None if is_program => "Another name or other buffers, with the same kernels.",
        None => "Another operation, with the same kernel.",
        Some(_) if !whole.is_empty() && is_program => "Another program, and so other kernels.",
        Some(_) if !whole.is_empty() => "Another operation, and so another kernel.",
        Some("nest") if is_program => "Other loops between the same buffers.",
        Some("nest") => "The same operation, lowered to other loops.",
        Some("schedule") => "The same loops, scheduled in another way.",
        Some("kernel") => "The same schedule, with other bindings, dispatches or bounds.",
        Some(_) => "The same work, written in another way.",
    }
}

/// Compares two snapshots. Returns a summary and the changed lines of each stage, or `None` if
/// nothing changed.
fn compare(old: &str, new: &str) -> Option<String> {
    let (old, new) = (stages(old), stages(new));
    let find = |stages: &[Stage<'_>], of: &Stage<'_>| {
        let same = |stage: &&Stage<'_>| (stage.buffer, stage.name) == (of.buffer, of.name);
        stages.iter().find(same).map(|stage| stage.text.clone())
    };
    let mut all: Vec<&Stage<'_>> = old.iter().collect();
    all.extend(new.iter().filter(|stage| find(&old, stage).is_none()));
    let mut buffers: Vec<&str> = Vec::new();
    for stage in &all {
        if !buffers.contains(&stage.buffer) {
            buffers.push(stage.buffer);
        }
    }
    // Sort stages by kernel, and for each kernel in the order of compilation.
    let buffer = |stage: &Stage<'_>| buffers.iter().position(|known| *known == stage.buffer);
    all.sort_by_key(|stage| (buffer(stage), rank(stage.name)));
    let is_program = all.iter().any(|stage| stage.name == "buffers");
    let (same, changed): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|stage| find(&old, stage) == find(&new, stage));
    if changed.is_empty() {
        return None;
    }
    let titles = |stages: &[&Stage<'_>]| {
        stages.iter().map(|stage| stage.title()).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("changed: {}\n", titles(&changed));
    if !same.is_empty() {
        let _ = writeln!(text, "the same: {}", titles(&same));
    }
    let _ = writeln!(text, "{}", meaning(&changed, is_program));
    for stage in changed {
        let _ = writeln!(text, "\n== {}", stage.title());
        let side = |stages| find(stages, stage).unwrap_or_default();
        let (old, new) = (side(&old), side(&new));
        // If the time limit is reached, the rest of the text is treated as different. The result is
        // still correct, but may not be the shortest.
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
    use stridec::{Operation, Target, hlo::Module, program::compile_module};

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
        // The comments at the top are left out, except for the proof.
        assert!(!shown.contains("// nest") && shown.contains("\n+ // proof "), "{shown}");
    }

    #[test]
    fn equal_stages_are_listed_as_the_same() {
        let plain = snapshot("f32[64,96]{0,1}", &Target::webgpu());
        let tiled = snapshot("f32[64,96]{0,1:T(1,1)}", &Target::webgpu());
        let shown = compare(&plain, &tiled).unwrap();
        let expected = "changed: operation, destination\nthe same: source, nest, schedule, kernel, text\n\
                        Another operation, with the same kernel.\n";
        assert!(shown.starts_with(expected), "{shown}");
    }

    fn program(text: &str) -> String {
        let module = Module::parse(text).unwrap();
        compile_module(&module, &Target::webgpu()).unwrap().stages(&Target::webgpu()).unwrap()
    }

    #[test]
    fn programs_are_compared_kernel_by_kernel() {
        let text = |second: &str| {
            program(&format!(
                "HloModule two
                 ENTRY main {{
                   x = f32[2,3] parameter(0)
                   turned = f32[3,2] transpose(x), dimensions={{1,0}}
                   other = {second}
                   ROOT both = (f32[3,2], f32[2,3]) tuple(turned, other)
                 }}"
            ))
        };
        let mirrored = text("f32[2,3] reverse(x), dimensions={1}");
        assert_eq!(compare(&mirrored, &mirrored), None);
        let shown = compare(&mirrored, &text("f32[2,3] reverse(x), dimensions={0}")).unwrap();
        let expected = "changed: nest of result 1, text of result 1\n\
                        the same: program, buffers, nest of result 0, schedule of result 0, kernel of result 0, \
                        text of result 0, schedule of result 1, kernel of result 1\n\
                        Other loops between the same buffers.\n\n== nest of result 1\n";
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.contains("\n== text of result 1\n"), "{shown}");
        let renamed = mirrored.replacen("two", "three", 1);
        let shown = compare(&mirrored, &renamed).unwrap();
        assert!(
            shown.contains("\nAnother name or other buffers, with the same kernels.\n"),
            "{shown}"
        );
        assert!(shown.ends_with("\n== program\n- two\n+ three\n"), "{shown}");
    }

    #[test]
    fn a_kernel_on_one_side_alone_is_shown_whole() {
        let one = program("HloModule m ENTRY e { ROOT x = u8[4] parameter(0) }");
        let two = program(
            "HloModule m ENTRY e { x = u8[4] parameter(0) ROOT y = (u8[4], u8[4]) tuple(x, x) }",
        );
        let shown = compare(&one, &two).unwrap();
        let expected = "changed: buffers, nest of result 1, schedule of result 1, kernel of result 1, text of result 1\n";
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.contains("\n+ result 1, u8[4]\n"), "{shown}");
    }

    #[test]
    fn an_operation_and_a_program_are_refused() {
        let (old, new) = (Path::new("old"), Path::new("new"));
        let operation = snapshot("f32[64,96]{0,1}", &Target::webgpu());
        let program = program("HloModule m ENTRY e { ROOT x = u8[4] parameter(0) }");
        assert!(check((old, &operation), (new, &operation)).is_ok());
        assert!(check((old, &program), (new, &program)).is_ok());
        assert!(check((old, &operation), (new, &program)).is_err());
        assert!(check((old, &program), (new, "no stages")).is_err());
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
