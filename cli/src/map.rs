//! Files mapped into memory, so that a tensor of many GiB is not read into memory as a whole.
#![allow(unsafe_code)]

use std::{fs::File, io};

use memmap2::{Mmap, MmapMut};

/// Maps a whole file for reading.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read, as bytes, of which any value is valid. Another process that
    // writes the file meanwhile may change what is copied, and one that shortens it ends this
    // process with SIGBUS: both are the behaviour of every tool that maps its input, and neither
    // breaks an invariant, for nothing is decided twice on the same bytes: sizes come from the
    // map's length, the header of a .npy file is copied out before use.
    unsafe { Mmap::map(file) }
}

/// Maps a whole file of this process for writing.
pub(super) fn map_to_write(file: &File) -> io::Result<MmapMut> {
    // SAFETY: the file is a temporary one that nobody else was told of, and its blocks are
    // allocated, so that no write meets a full disk. Its bytes may be anything.
    unsafe { MmapMut::map_mut(file) }
}
