//! A box with more bytes than MPI before version 4 can count in a message.

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

use crate::launcher::Launcher;

/// An array of doubles that is no square, of 2^31 bytes and more.
const ROWS: u64 = 8_192;
const COLUMNS: u64 = 32_771;
const BYTES: u64 = ROWS * COLUMNS * 8;

/// Bytes that are not 0: the first, some around 2^31, and the last.
fn marks() -> Vec<(u64, u8)> {
    let places = [0, 1, (1 << 30) + 7, (1 << 31) - 1, 1 << 31, (1 << 31) + 12_345, BYTES - 1];
    places.into_iter().zip(1..).collect()
}

/// Checks that a file has these bytes and is 0 elsewhere.
fn holds(file: &File, mut expected: Vec<(u64, u8)>) {
    expected.sort_unstable();
    assert_eq!(file.metadata().unwrap().len(), BYTES);
    let mut found = Vec::new();
    let mut part = vec![0; 1 << 22];
    let zeros = part.clone();
    let mut start = 0;
    while start < BYTES {
        let length = usize::try_from((BYTES - start).min(1 << 22)).unwrap();
        file.read_exact_at(&mut part[..length], start).unwrap();
        if part[..length] != zeros[..length] {
            let bytes = part[..length].iter().zip(start..);
            found.extend(bytes.filter(|(byte, _)| **byte != 0).map(|(byte, place)| (place, *byte)));
        }
        start += length as u64;
    }
    assert_eq!(found, expected);
}

/// From rank 0 to rank 1, in place on both sides, and packed. Takes 5 GB of memory and of the disk,
/// so it only runs with `STRIDEC_LARGE=1`.
#[test]
fn a_box_past_2_to_the_31_bytes() {
    if std::env::var_os("STRIDEC_LARGE").is_none() {
        eprintln!("skipped: STRIDEC_LARGE is not set");
        return;
    }
    let Some(launcher) = Launcher::find() else { return };
    let input = File::create(launcher.path("x.bin")).unwrap();
    input.set_len(BYTES).unwrap();
    for (place, byte) in marks() {
        input.write_all_at(&[byte], place).unwrap();
    }
    let shape = format!("f64[{ROWS},{COLUMNS}]");
    let args = ["--shape", &shape, "--from", "{maximal device=0}", "--to", "{maximal device=1}"];
    let args = [&args[..], &["--devices", "2", "-i", "x.bin", "-o", "y.bin"]].concat();
    let transposed = |byte: u64| {
        let place = byte / 8;
        (place % COLUMNS * ROWS + place / COLUMNS) * 8 + byte % 8
    };
    let columns = marks().into_iter().map(|(place, byte)| (transposed(place), byte)).collect();
    for (layout, expected) in [("{1,0}", marks()), ("{0,1}", columns)] {
        let args = [&args[..], &["--to-layout", layout]].concat();
        // Files of this size take long on some disks.
        let child = launcher.start(&[(2, &[], &args)]);
        let ran = Launcher::finish_in(child, Duration::from_mins(10));
        assert!(ran.success, "{}", ran.stderr);
        holds(&File::open(launcher.path("y.bin")).unwrap(), expected);
    }
}
