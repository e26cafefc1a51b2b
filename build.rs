//! Compiles `proto/` with protox, so that a fresh machine needs no protoc.

use std::{env, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_files(["stridec.proto", "hlo.proto"])?;
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;

    // The public messages. `xla_data.proto` comes with `stridec.proto`, which imports it.
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_files(["stridec.proto"])?;
    let mut config = prost_build::Config::new();
    config.enable_type_names().boxed(".xla.OpSharding.named_sharding");
    config.compile_fds(compiler.file_descriptor_set())?;

    // Those of HLO modules, which only the crate uses. They share the package of `xla_data.proto`
    // and refer to its messages.
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_files(["hlo.proto"])?;
    let files = compiler.file_descriptor_set();
    let mut config = prost_build::Config::new();
    config.enable_type_names().out_dir(out.join("hlo"));
    for file in files.file.iter().filter(|file| file.name() == "xla_data.proto") {
        let messages = file.message_type.iter().filter_map(|message| message.name.as_deref());
        for name in messages.chain(file.enum_type.iter().filter_map(|found| found.name.as_deref()))
        {
            config.extern_path(format!(".xla.{name}"), format!("crate::proto::xla::{name}"));
        }
    }
    fs::create_dir_all(out.join("hlo"))?;
    config.compile_fds(files)?;
    Ok(())
}
