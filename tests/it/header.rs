//! `include/stridec.h` declares the functions of `src/capi.rs`.
//!
//! `STRIDEC_WRITE_HEADER=1 cargo test -p stridec --no-default-features --test it header` writes the
//! header.

use std::{fs, path::Path};

use cbindgen::{Builder, Config};

#[test]
fn the_header_is_that_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config::from_file(root.join("cbindgen.toml")).unwrap();
    let source = root.join("src/capi.rs");
    let bindings = Builder::new().with_config(config).with_src(source).generate().unwrap();
    let mut written = vec![];
    bindings.write(&mut written);
    let written = String::from_utf8(written).unwrap();
    let header = root.join("include/stridec.h");
    if std::env::var_os("STRIDEC_WRITE_HEADER").is_some() {
        fs::write(&header, &written).unwrap();
    }
    assert_eq!(fs::read_to_string(header).unwrap(), written);
}
