//! Tests of the reader of StableHLO text.
