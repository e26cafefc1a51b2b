//! The paths in the documents exist, and their examples print the results that are shown.

use std::{fs, path::Path};

use stridec::{Operation, Tensor};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Returns true in the repository, and false in the published package, which does not have `cli/`,
/// `fuzz/` and `benches/peers/`.
fn is_repository() -> bool {
    root().join("fuzz").is_dir()
}

/// Returns the paths that a document names in backticks, in links, or as files of a command.
fn paths(text: &str) -> Vec<String> {
    const FOLDERS: [&str; 12] = [
        "src",
        "cli",
        "tests",
        "proto",
        "snapshots",
        "benches",
        "examples",
        "include",
        "fuzz",
        ".ci",
        ".github",
        "docs",
    ];
    text.split(|letter: char| letter.is_whitespace() || "`()[]'\"<>|,;:@…".contains(letter))
        .map(|word| word.trim_end_matches('.').trim_start_matches("./"))
        .filter(|word| {
            let folder = word.split_once('/').is_some_and(|(first, _)| FOLDERS.contains(&first));
            let file = ["md", "sh", "rs", "toml"].iter().any(|ending| {
                word.rsplit_once('.')
                    .is_some_and(|(stem, after)| !stem.is_empty() && after == *ending)
            });
            (folder || file || word.starts_with("LICENSE")) && !word.contains("//")
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_path_exists() {
    if !is_repository() {
        return;
    }
    for (document, least) in [
        ("README.md", 10),
        ("ARCHITECTURE.md", 30),
        ("CONTRIBUTING.md", 15),
        ("SECURITY.md", 1),
        ("docs/command_line.md", 3),
        ("docs/embedding.md", 6),
        ("docs/protos.md", 4),
        ("docs/compilers.md", 5),
        ("docs/stability.md", 3),
        ("docs/testing.md", 15),
    ] {
        let paths = paths(&read(document));
        assert!(paths.len() >= least, "{document}: {paths:?}");
        for path in paths {
            let found = root().join(&path).exists() || root().join("docs").join(&path).exists();
            assert!(found, "{document} names {path}");
        }
    }
}

#[test]
fn every_room_and_test_is_named() {
    let text = read("ARCHITECTURE.md");
    let mut folders = vec![
        ("src", &["lib.rs"][..]),
        ("tests", &["data", "it", "support"]),
        ("tests/it", &["main.rs"]),
    ];
    if is_repository() {
        folders.push(("cli/tests", &[]));
    }
    for (folder, ignored) in folders {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let named = text.contains(&format!("`{folder}/{name}"));
            assert!(named || ignored.contains(&name.as_str()), "{folder}/{name} is not named");
        }
    }
}

#[test]
fn the_architecture_stays_short() {
    assert!(read("ARCHITECTURE.md").lines().count() <= 240);
}

#[test]
fn the_number_of_snapshots_is_as_said() {
    let count = fs::read_dir(root().join("snapshots"))
        .unwrap()
        .filter(|entry| {
            let path = entry.as_ref().unwrap().path();
            path.extension().is_some_and(|ending| ending == "snap")
        })
        .count();
    assert_eq!(count, 27);
    assert!(
        read("README.md").contains("twenty-seven")
            && read("ARCHITECTURE.md").contains("twenty-seven")
    );
}

/// The README's example prints the line that the README shows.
#[test]
fn the_example_of_the_readme() {
    let text = read("README.md");
    let command = text.lines().find(|line| line.contains("run relayout --from")).unwrap();
    let shapes: Vec<Tensor> =
        command.split('\'').skip(1).step_by(2).map(|shape| shape.parse().unwrap()).collect();
    let [from, to] = &shapes[..] else { panic!("{command}") };
    let image = fs::read(root().join("examples/data/planes.txt")).unwrap();
    let operation = Operation::relayout(from.clone(), to.clone()).unwrap();
    let mut out = vec![0; image.len()];
    operation.run_on_host(&image, &mut out).unwrap();
    let shown = |bytes: &[u8]| text.lines().any(|line| line.as_bytes() == bytes);
    assert!(shown(&image) && shown(&out));
}
