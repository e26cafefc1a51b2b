//! The rules of ARCHITECTURE.md for modules, which are called rooms here: the rooms and crates that
//! the code of a room may name, and the files with `unsafe` code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Each room, with the rooms that its code may name. Every file of `src/` belongs to one room.
const ROOMS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("text", &[]),
    ("shape", &["proto", "text"]),
    ("sharding", &["proto", "shape", "text"]),
    ("reshard", &["proto", "shape", "sharding", "stride", "window", "nest", "host"]),
    ("mpi", &["reshard", "shape", "sharding"]),
    ("stride", &["shape"]),
    ("notation", &["shape", "stride", "text"]),
    ("window", &["shape"]),
    ("nest", &["shape", "stride", "window"]),
    ("xla", &["shape", "stride", "nest", "text"]),
    ("hlo", &["proto", "shape", "stride", "text"]),
    (
        "explain",
        &[
            "shape", "stride", "window", "nest", "schedule", "wgsl", "program", "sharding",
            "reshard", "request", "text",
        ],
    ),
    ("schedule", &["shape", "nest"]),
    ("wgsl", &["shape", "nest", "schedule"]),
    ("backend", &["wgsl"]),
    ("host", &["shape", "nest"]),
    ("program", &["shape", "stride", "nest", "schedule", "wgsl", "host", "hlo"]),
    (
        "accessor",
        &["hlo", "nest", "notation", "program", "schedule", "stride", "wgsl", "backend", "window"],
    ),
    ("gpu", &["shape", "nest", "schedule", "wgsl", "program"]),
    (
        "request",
        &[
            "error", "proto", "shape", "stride", "notation", "window", "nest", "schedule", "wgsl",
            "host",
        ],
    ),
    (
        "error",
        &[
            "shape", "sharding", "stride", "notation", "window", "nest", "schedule", "wgsl",
            "reshard", "hlo", "program", "host", "gpu", "backend", "accessor",
        ],
    ),
    (
        "service",
        &[
            "error", "proto", "shape", "nest", "schedule", "wgsl", "backend", "request", "hlo",
            "program",
        ],
    ),
    ("capi", &["proto", "service"]),
    ("run", &["error", "gpu", "host", "nest", "program", "request"]),
    ("guide", &[]),
    ("internals", &["nest", "hlo", "proto", "schedule", "shape"]),
    ("lib", &[]),
    ("trace", &[]),
    ("error_kind", &[]),
];

/// The rooms that may name the types of protos.
const PROTO_USERS: [&str; 8] =
    ["shape", "sharding", "reshard", "hlo", "request", "service", "capi", "internals"];

/// Each crate, with the only rooms that may name it.
const CRATES: [(&str, &[&str]); 8] = [
    ("wgpu", &["gpu"]),
    ("naga", &["wgsl", "backend"]),
    ("prost", &["shape", "sharding", "hlo", "service"]),
    ("prost_reflect", &["shape"]),
    ("mpi_sys", &["mpi"]),
    ("rayon", &["host", "mpi", "service"]),
    ("tracing", &["trace"]),
    ("wide", &["host"]),
];

/// The files that may allow `unsafe` code.
const UNSAFE: [&str; 18] = [
    "cli/src/map.rs",
    "src/capi.rs",
    "src/gpu/module.rs",
    "src/host/simd/joined.rs",
    "src/host/simd/lines.rs",
    "src/host/simd/loops.rs",
    "src/host/simd/narrow.rs",
    "src/host/simd/neon.rs",
    "src/host/simd/registers.rs",
    "src/host/simd/select.rs",
    "src/host/simd/transpose.rs",
    "src/host/simd/bit_blocks.rs",
    "src/host/simd/bit_lines.rs",
    "src/host/simd/packed.rs",
    "src/host/simd/x86.rs",
    "src/host/stream.rs",
    "src/mpi/pending.rs",
    "src/mpi/world.rs",
];

/// A source file: its path from the root of the repository, its room, and its code without comments
/// and tests.
struct Source {
    path: String,
    room: String,
    code: String,
}

/// Returns the source files of the library.
fn sources() -> Vec<Source> {
    let sources = sources_in("src");
    assert!(sources.len() > 50);
    sources
}

/// Returns the source files of the command line, or no files in the published package.
fn command_line() -> Vec<Source> {
    let is_there = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli").is_dir();
    if is_there { sources_in("cli/src") } else { Vec::new() }
}

/// Returns the source files in a folder of the repository.
fn sources_in(top: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    let mut folders = vec![root.join(top)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !is_test(&path) {
                let text = fs::read_to_string(&path).unwrap();
                let code: String = text
                    .lines()
                    .take_while(|line| line.trim() != "#[cfg(test)]")
                    .map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n")
                    .collect();
                let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                let room = path[top.len() + 1..].split(['/', '.']).next().unwrap().to_owned();
                sources.push(Source { path, room, code });
            }
        }
    }
    sources
}

/// Returns true if the file contains only the tests of its folder.
fn is_test(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "tests")
}

/// Returns the first names after `crate::`, including the names inside `use crate::{…}`.
fn rooms_named(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let Some(list) = after.strip_prefix('{') else {
            named.insert(name_at(after));
            continue;
        };
        let mut depth = 0;
        let mut at_name = true;
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => at_name = true,
                letter if at_name && !letter.is_whitespace() => {
                    named.insert(name_at(&list[at..]));
                    at_name = false;
                }
                _ => {}
            }
        }
    }
    named
}

fn name_at(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

#[test]
fn each_room_names_only_the_rooms_below_it() {
    let rooms: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    // Every room may use spans, which are empty without their feature, and the kinds of failure.
    let anywhere = |named: &str| ["trace", "error_kind"].contains(&named);
    for Source { path, room, code } in sources() {
        let allowed = rooms.get(room.as_str()).unwrap_or_else(|| panic!("{path}: no such room"));
        for named in rooms_named(&code).iter().filter(|named| rooms.contains_key(named.as_str())) {
            assert!(
                *named == room || anywhere(named) || allowed.contains(&named.as_str()),
                "{path} names `{named}`; the room `{room}` may name {allowed:?}"
            );
        }
    }
}

/// No room names itself through other rooms, so the rooms have an order in which they can be read.
#[test]
fn the_rooms_have_no_circle() {
    let mut left: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let is_lowest = |left: &BTreeMap<&str, &[&str]>, named: &[&str]| {
        named.iter().all(|named| !left.contains_key(named))
    };
    while let Some(lowest) =
        left.iter().find(|(_, named)| is_lowest(&left, named)).map(|(room, _)| *room)
    {
        left.remove(lowest);
    }
    assert!(left.is_empty(), "a circle among {:?}", left.keys());
}

/// Rules that the table of rooms must keep when it is changed.
#[test]
fn the_table_keeps_the_invariants() {
    let sees = |room: &str| ROOMS.iter().find(|(name, _)| *name == room).unwrap().1;
    for &(room, named) in ROOMS {
        let has = |name: &str| named.contains(&name);
        assert!(!has("proto") || PROTO_USERS.contains(&room), "{room} sees protos");
        assert!(!has("gpu") || ["error", "run"].contains(&room), "{room} needs a GPU to build");
        assert!(!has("xla"), "{room} names xla, whose functions are for users");
        assert!(!has("lib"), "{room}");
        assert!(
            !has("error") || ["request", "service", "run"].contains(&room),
            "{room} names the error of the whole crate; it has one of its own"
        );
    }
    assert!(!sees("host").contains(&"schedule") && !sees("host").contains(&"wgsl"));
    assert!(!sees("nest").contains(&"schedule"));
}

/// The command line uses only the public interface, like any other embedder.
#[test]
fn the_command_line_names_nothing_hidden() {
    for Source { path, code, .. } in command_line() {
        assert!(!code.contains("internals"), "{path} names `stridec::internals`");
    }
}

#[test]
fn each_crate_is_named_in_its_own_rooms() {
    for Source { path, room, code } in sources() {
        for (name, rooms) in CRATES {
            let in_word = |c: char| c.is_alphanumeric() || c == '_';
            let paths = [format!("{name}::"), format!("use {name}")];
            let names = paths.iter().any(|path| {
                code.match_indices(path.as_str()).any(|(at, _)| {
                    let ends = path.ends_with(':') || !code[at + path.len()..].starts_with(in_word);
                    ends && !code[..at].ends_with(in_word)
                })
            });
            assert!(!names || rooms.contains(&room.as_str()), "{path} names the crate {name}");
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_files() {
    for Source { path, code, .. } in sources().into_iter().chain(command_line()) {
        let allows = code.contains("allow(unsafe_code)") || code.contains("expect(unsafe_code)");
        assert!(!allows || UNSAFE.contains(&path.as_str()), "{path} allows unsafe code");
    }
}

#[test]
fn names_are_read_out_of_nested_lists() {
    let code = "use crate::{\n    nest::{Affine, Cell},\n    schedule::Block,\n};\nlet a = crate::host::run();";
    let named: Vec<String> = rooms_named(code).into_iter().collect();
    assert_eq!(named, ["host", "nest", "schedule"]);
}
