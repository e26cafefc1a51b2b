//! Maps files into memory, so that a tensor of many GiB need not be read as a whole.
#![allow(unsafe_code)]

use std::{fs::File, io};

use memmap2::{Mmap, MmapMut};

/// Maps a whole file for reading.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read, as bytes, for which every value is valid. If another process
    // writes to the file in the meantime, the copy may have its new bytes, and if another process
    // shortens the file, this process ends with SIGBUS. Every tool that maps its input behaves in
    // this way. No decision is based on reading the same bytes twice: sizes come from the length of
    // the map, and the header of a `.npy` file is copied before it is used.
    unsafe { Mmap::map(file) }
}

/// Maps a whole file for writing. Only this process may have access to the file.
pub(super) fn map_to_write(file: &File) -> io::Result<MmapMut> {
    // SAFETY: the file is temporary, and no other process knows of it. Its blocks are allocated, so
    // no write meets a full disk. Every value of its bytes is valid.
    unsafe { MmapMut::map_mut(file) }
}
