//! Conversions between types of the domain and of the contract that differ only in their paths.

/// Converts an enum into one whose variants have the same names.
macro_rules! same_variants {
    ($from:ty => $to:ty { $($variant:ident),* }) => {
        impl From<$from> for $to {
            fn from(from: $from) -> Self {
                match from {
                    $(<$from>::$variant => Self::$variant,)*
                }
            }
        }
    };
}

/// Converts a record into one whose fields have the same names, and types that can be converted.
macro_rules! same_fields {
    ($from:ty => $to:ty { $($field:ident),* }) => {
        impl From<$from> for $to {
            fn from(from: $from) -> Self {
                Self {
                    $($field: from.$field.into(),)*
                }
            }
        }
    };
}

pub(crate) use {same_fields, same_variants};
