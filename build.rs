//! Compiles `proto/` with protox, so that a fresh machine needs no protoc.

use std::{env, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_files(["stridec.proto", "hlo.proto"])?;
    let descriptors = PathBuf::from(env::var("OUT_DIR")?).join("descriptors.bin");
    fs::write(descriptors, compiler.encode_file_descriptor_set())?;
    let mut config = prost_build::Config::new();
    config.enable_type_names().boxed(".xla.OpSharding.named_sharding");
    config.compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
