//! Values of the interpreter: words, each with the number that it represents.

/// The description of a fault in a kernel.
pub(crate) type Fault = String;

/// A scalar: its 32 bits and their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) kind: Kind,
    pub(crate) bits: u32,
    /// The number that a `u32` represents: `bits` is this number modulo 2^32.
    ///
    /// A number outside the range of `u32` may be added, subtracted and multiplied. A negative
    /// number may also be compared with an extent, as guards do. Any other use is a fault.
    pub(crate) number: i128,
}

/// The types of a [`Scalar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Uint,
    Sint,
    Bool,
    /// The bits of an `f32`, which is only made of an integer and read as bits.
    Float,
}

impl Scalar {
    pub(crate) fn uint(bits: u32) -> Self {
        Self::of(Kind::Uint, bits)
    }

    pub(crate) fn of(kind: Kind, bits: u32) -> Self {
        Self { kind, bits, number: bits.into() }
    }

    pub(crate) fn bool(value: bool) -> Self {
        Self::of(Kind::Bool, value.into())
    }

    /// Returns true if the number is outside the range of `u32`.
    pub(crate) fn is_wrapped(self) -> bool {
        self.number != self.bits.into()
    }

    /// Returns the number if it is in the range of `u32`, and otherwise a fault.
    pub(crate) fn natural(self, use_of_it: &str) -> Result<u32, Fault> {
        assert_eq!(self.kind, Kind::Uint, "{use_of_it}: {self:?}");
        if self.is_wrapped() {
            return Err(format!("{use_of_it} of {}, which leaves u32", self.number));
        }
        Ok(self.bits)
    }

    pub(crate) fn truth(self) -> bool {
        assert_eq!(self.kind, Kind::Bool);
        self.bits != 0
    }
}

/// A scalar or a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Scalar(Scalar),
    Vector([Scalar; 4], usize),
}

impl Value {
    pub(crate) fn vector(parts: &[Scalar]) -> Self {
        assert!((2..=4).contains(&parts.len()));
        let mut all = [Scalar::uint(0); 4];
        all[..parts.len()].copy_from_slice(parts);
        Self::Vector(all, parts.len())
    }

    /// Returns a scalar for one part, and a vector for several parts.
    pub(crate) fn from_parts(parts: &[Scalar]) -> Self {
        match parts {
            [one] => Self::Scalar(*one),
            many => Self::vector(many),
        }
    }

    pub(crate) fn scalar(self) -> Scalar {
        match self {
            Self::Scalar(scalar) => scalar,
            Self::Vector(..) => panic!("{self:?} is no scalar"),
        }
    }

    pub(crate) fn parts(&self) -> &[Scalar] {
        match self {
            Self::Scalar(scalar) => std::slice::from_ref(scalar),
            Self::Vector(parts, length) => &parts[..*length],
        }
    }

    pub(crate) fn parts_mut(&mut self) -> &mut [Scalar] {
        match self {
            Self::Scalar(scalar) => std::slice::from_mut(scalar),
            Self::Vector(parts, length) => &mut parts[..*length],
        }
    }

    /// Applies `each` to every part.
    pub(crate) fn map(
        self,
        each: impl Fn(Scalar) -> Result<Scalar, Fault>,
    ) -> Result<Value, Fault> {
        let mut out = self;
        for part in out.parts_mut() {
            *part = each(*part)?;
        }
        Ok(out)
    }

    /// Applies `each` to the parts of both values. A scalar is repeated for the parts of a vector.
    pub(crate) fn zip(
        self,
        other: Value,
        each: impl Fn(Scalar, Scalar) -> Result<Scalar, Fault>,
    ) -> Result<Value, Fault> {
        let mut out = if self.parts().len() >= other.parts().len() { self } else { other };
        for (n, part) in out.parts_mut().iter_mut().enumerate() {
            let of = |value: &Value| match value {
                Value::Scalar(scalar) => *scalar,
                Value::Vector(parts, length) => parts[..*length][n],
            };
            *part = each(of(&self), of(&other))?;
        }
        Ok(out)
    }
}
