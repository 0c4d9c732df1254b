//! Tests of what is serialized.
