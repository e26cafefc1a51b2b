//! Checks the output of the back ends with tools of other projects, `spirv-val` and
//! `glslangValidator`.

use std::{fs, path::Path, process::Command};

use stridec::{
    Kernel,
    backend::{Language, translate},
    nest,
    schedule::{Target, schedule},
    wgsl,
};

use super::support::{
    random::{self, Random},
    scope::cases,
};

/// Returns random kernels of every strategy, without kernels that dispatch nothing.
fn kernels() -> Vec<Kernel> {
    let mut random = Random(3);
    let mut kernels = vec![];
    let header = [("nest", "(12: 1 → 64)".to_owned())];
    for _ in 0..cases(20).max(20) {
        let operation = random::operation(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        for target in [Target::webgpu(), Target::webgpu_cpu()] {
            let kernel = wgsl::emit(&schedule(nest.clone(), &target).unwrap(), &target, &header);
            if !kernel.dispatches.is_empty() {
                kernels.push(kernel);
            }
        }
    }
    let strategies: std::collections::BTreeSet<_> =
        kernels.iter().map(|kernel| kernel.strategy.name()).collect();
    assert!(strategies.len() > 2, "{strategies:?}");
    kernels
}

/// Runs `tool` on every kernel in `language`. If the tool is not installed, prints that the check
/// is skipped.
fn check(language: Language, tool: &str, package: &str, arguments: &[&str]) {
    if Command::new(tool).arg("--version").output().is_err() {
        let required = std::env::var("STRIDEC_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
        assert!(!required, "STRIDEC_REQUIRE_TOOLS=1, but there is no {tool}");
        // The test harness captures `eprintln!`, but people must see that a test was skipped.
        let line = format!("SKIPPED: no {tool} to check {language} (Debian: {package})\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        return;
    }
    let folder = tempfile(language);
    for (number, kernel) in kernels().iter().enumerate() {
        let shader = translate(kernel, language).unwrap();
        let file = folder.join(format!("{number}.{}", language.extension()));
        fs::write(&file, &shader.code).unwrap();
        let output = Command::new(tool).args(arguments).arg(&file).output().unwrap();
        let says = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}:\n{says}\n{}", file.display(), kernel.wgsl);
    }
}

fn tempfile(language: Language) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(language.name());
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn spirv_passes_spirv_val() {
    let arguments = ["--target-env", "vulkan1.1"];
    check(Language::Spirv, "spirv-val", "spirv-tools", &arguments);
}

#[test]
fn glsl_passes_glslang() {
    check(Language::Glsl, "glslangValidator", "glslang-tools", &["-S", "comp"]);
}

#[test]
fn hlsl_passes_glslang() {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hlsl.spv");
    let output = output.to_str().unwrap();
    let arguments = ["-D", "-V", "-S", "comp", "-e", "main", "-o", output];
    check(Language::Hlsl, "glslangValidator", "glslang-tools", &arguments);
}

#[test]
fn every_kernel_has_msl() {
    for kernel in kernels() {
        let shader = translate(&kernel, Language::Msl).unwrap();
        assert!(shader.text().unwrap().contains(&format!("void {}(", shader.entry_point)));
    }
}
