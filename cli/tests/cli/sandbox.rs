//! A folder of its own for each test, and the program run in it.

use std::{
    io::Write,
    ops::Deref,
    process::{Command, Stdio},
};

use crate::folder::Folder;

pub(crate) struct Sandbox {
    folder: Folder,
}

/// The results of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        assert_eq!(self.code, 0, "{}", self.stderr);
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Checks the exit code, that stdout is empty, and that stderr has this text and no panic.
    pub(crate) fn fails(&self, code: i32, says: &str) {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(self.stdout.is_empty());
        assert!(self.stderr.contains(says), "{says:?} is not in {:?}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

impl Deref for Sandbox {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: Folder::new() }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stridec"));
        command.args(args).current_dir(self.path("")).env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn stridec(&self, args: &[&str]) -> Ran {
        self.stridec_with_input(args, b"")
    }

    pub(crate) fn stridec_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A program that refuses its arguments does not read.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// A relayout on the host.
    pub(crate) fn relayout(&self, from: &str, to: &str, input: &str, output: &str) -> Ran {
        let args = ["run", "relayout", "--from", from, "--to", to];
        self.stridec(&[&args[..], &["-i", input, "-o", output, "--device", "host"]].concat())
    }
}

/// The bytes of numbers in memory.
pub(crate) fn f32s(numbers: impl IntoIterator<Item = u8>) -> Vec<u8> {
    numbers.into_iter().flat_map(|number| f32::from(number).to_le_bytes()).collect()
}
