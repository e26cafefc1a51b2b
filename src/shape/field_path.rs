//! [`FieldPath`]: the path of a field in a proto. Errors contain such a path, so that the wrong
//! value can be found even in a large message with many nested ones.

use std::fmt;

/// The path of a value in a shape, written with the names of the proto, such as
/// `tuple_shapes[1].layout.minor_to_major[2]`.
///
/// ```
/// let error = "(f32[2], f32[2]{0:T(0)})".parse::<stridec::shape::Shape>().unwrap_err();
/// let field = stridec::Error::from(error).field().unwrap();
/// assert_eq!(field.to_string(), "layout.tiles[0].dimensions[0]");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Segment>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    Field(&'static str),
    Index(usize),
}

/// The maximum number of segments that are printed. In a longer path, the middle is replaced by
/// `…`.
const MAX_PRINTED: usize = 24;

impl FieldPath {
    /// Returns the path of the field `name` in the outermost message.
    pub(crate) fn new(name: &'static str) -> Self {
        Self::default().field(name)
    }

    /// Returns the path of the field `name` in the message at this path.
    pub(crate) fn field(mut self, name: &'static str) -> Self {
        self.0.push(Segment::Field(name));
        self
    }

    /// Returns the path of entry `index` in the list at this path.
    pub(crate) fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// Returns the path that consists of the field names in `names`, which are separated by dots,
    /// as in `layout.tiles`.
    pub(crate) fn of(names: &'static str) -> Self {
        names.split('.').fold(Self::default(), Self::field)
    }

    /// Returns true if this is the path of the outermost message itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the first field of the path if `names` pairs it with a new name, which may be a
    /// dotted path.
    pub(crate) fn renamed(self, names: &[(&str, &'static str)]) -> Self {
        let Some(Segment::Field(first)) = self.0.first().copied() else { return self };
        match names.iter().find(|(from, _)| *from == first) {
            Some((_, to)) => Self(self.0[1..].to_vec()).below(&Self::of(to)),
            None => self,
        }
    }

    /// Prepends `outer`, the path at which this path's message is nested.
    pub(crate) fn below(mut self, outer: &Self) -> Self {
        self.0.splice(0..0, outer.0.iter().copied());
        self
    }

    /// Returns the path without its last segment, or `None` if nothing would remain.
    pub(crate) fn parent(mut self) -> Option<Self> {
        self.0.pop()?;
        (!self.0.is_empty()).then_some(self)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elided = MAX_PRINTED / 2..self.0.len().saturating_sub(MAX_PRINTED / 2);
        for (position, segment) in self.0.iter().enumerate() {
            if elided.contains(&position) {
                if position == elided.start {
                    f.write_str("…")?;
                }
                continue;
            }
            match segment {
                Segment::Field(name) if position == 0 => f.write_str(name)?,
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_path_stays_short() {
        let deep = (0..60).fold(FieldPath::new("layout"), |path, _| {
            path.below(&FieldPath::new("tuple_shapes").index(7))
        });
        let text = deep.to_string();
        assert!(text.starts_with("tuple_shapes[7].tuple_shapes[7]"), "{text}");
        assert!(text.ends_with("[7].layout") && text.contains('…'), "{text}");
        assert!(text.len() < 250, "{} bytes", text.len());
    }

    #[test]
    fn the_parent_of_an_entry_is_its_list() {
        let path = FieldPath::new("layout").field("minor_to_major").index(2);
        let list = path.parent();
        assert_eq!(list, Some(FieldPath::new("layout").field("minor_to_major")));
        assert_eq!(FieldPath::new("layout").parent(), None);
    }
}
