//! `mpirun`, in a folder of its own for each test.

use std::{
    fs,
    ops::Deref,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::folder::Folder;

/// The time limit for a run, even on a busy machine. A rank that waits for ever takes much longer.
const LIMIT: Duration = Duration::from_secs(60);

/// One run at a time: ranks that wait for each other keep the processors busy.
static ONE: Mutex<()> = Mutex::new(());

pub(crate) struct Launcher {
    folder: Folder,
    mpirun: String,
    program: PathBuf,
    _one: MutexGuard<'static, ()>,
}

pub(crate) struct Ran {
    pub(crate) success: bool,
    pub(crate) stderr: String,
}

impl Deref for Launcher {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Launcher {
    /// Returns `None` if there is no MPI, and prints that the test is skipped.
    pub(crate) fn find() -> Option<Self> {
        let mpirun = std::env::var("STRIDEC_MPIRUN").unwrap_or_else(|_| "mpirun".into());
        if Command::new(&mpirun).arg("--version").stdout(Stdio::null()).status().is_err() {
            let required = std::env::var_os("STRIDEC_REQUIRE_MPI").is_some();
            assert!(!required, "STRIDEC_REQUIRE_MPI is set, and there is no {mpirun}");
            eprintln!("skipped: there is no {mpirun}");
            return None;
        }
        let program = std::env::var_os("STRIDEC_MPI_PROGRAM")
            .map_or_else(|| env!("CARGO_BIN_EXE_stridec").into(), PathBuf::from);
        let program = fs::canonicalize(program).unwrap();
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self { folder: Folder::new(), mpirun, program, _one: one })
    }

    /// Starts ranks, each with its own arguments after `stridec reshard run`. `before` is empty, or
    /// a command that starts the rank.
    pub(crate) fn start(&self, groups: &[(usize, &[&str], &[&str])]) -> Child {
        let mut command = Command::new(&self.mpirun);
        if !self.mpirun.contains("mpich") {
            command.arg("--oversubscribe");
        }
        for (number, (ranks, before, args)) in groups.iter().enumerate() {
            if number > 0 {
                command.arg(":");
            }
            command.arg("-n").arg(ranks.to_string()).args(*before).arg(&self.program);
            command.args(["reshard", "run"]).args(*args);
        }
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.current_dir(self.path("")).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits for the end, which must come soon.
    pub(crate) fn finish(child: Child) -> Ran {
        Self::finish_in(child, LIMIT)
    }

    /// Waits at most this time for the end.
    pub(crate) fn finish_in(mut child: Child, limit: Duration) -> Ran {
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > limit {
                child.kill().unwrap();
                panic!("the ranks still run after {limit:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{stderr}");
        Ran { success: output.status.success(), stderr }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Self::finish(self.start(&[(4, &[], args)]))
    }
}
