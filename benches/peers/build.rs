//! Compiles `src/estimate.cpp`, which makes plans with HPTT in estimate mode. The crate `hptt`
//! offers only measured plans.
//!
//! The crate has no `links` key, so Cargo passes no paths to this script. The headers of the crate
//! are found next to its manifest. `--filter-platform` restricts the metadata to crates that this
//! build has fetched.

use std::{env, error::Error, path::PathBuf, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    let metadata = Command::new(env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", &env::var("TARGET")?])
        .output()?;
    if !metadata.status.success() {
        return Err(String::from_utf8_lossy(&metadata.stderr).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)?;
    let manifest = metadata["packages"]
        .as_array()
        .and_then(|packages| packages.iter().find(|package| package["name"] == "hptt"))
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or("no package hptt")?;
    let include = PathBuf::from(manifest).with_file_name("vendor/hptt/include");
    println!("cargo:rerun-if-changed=src/estimate.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++11")
        .flag("-fopenmp")
        .include(include)
        .warnings(false)
        .file("src/estimate.cpp")
        .compile("hptt_estimate");
    Ok(())
}
