/// Why a request is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A field that a request needs.
    #[error("{field}: missing; accepted is {accepted}")]
    Missing {
        /// The field's path.
        field: &'static str,
        /// What it takes.
        accepted: &'static str,
    },
    /// A type number that names no type.
    #[error("{field}: {given} is no element type; accepted are the numbers of xla.PrimitiveType")]
    ElementType {
        /// The field's path.
        field: &'static str,
        /// The number.
        given: i32,
    },
}

impl RequestError {
    /// The path of the field that the error is about.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Missing { field, .. } | Self::ElementType { field, .. } => field,
        }
    }
}
