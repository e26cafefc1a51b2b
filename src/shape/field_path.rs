//! The path of a field of a proto, for errors.

use std::fmt;

/// Where in a shape a value stands, as its proto names it: `tuple_shapes[1].layout.minor_to_major[2]`.
///
/// ```
/// use stridec::shape::FieldPath;
/// let path = FieldPath::new("layout").field("tiles").index(0).field("dimensions").index(1);
/// assert_eq!(path.to_string(), "layout.tiles[0].dimensions[1]");
/// assert_eq!(path.within("tuple_shapes", 2).to_string(), "tuple_shapes[2].layout.tiles[0].dimensions[1]");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Segment>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    Field(&'static str),
    Index(usize),
}

/// More segments than this are printed with their middle left out.
const MAX_PRINTED: usize = 24;

impl FieldPath {
    /// The field `name` of the outermost message.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self::default().field(name)
    }

    /// The field `name` of the message at this path.
    #[must_use]
    pub fn field(mut self, name: &'static str) -> Self {
        self.0.push(Segment::Field(name));
        self
    }

    /// Entry `index` of the list at this path.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// The same path, seen from the message that holds this one as entry `index` of its list `name`.
    #[must_use]
    pub fn within(mut self, name: &'static str, index: usize) -> Self {
        self.0.splice(0..0, [Segment::Field(name), Segment::Index(index)]);
        self
    }

    /// The path of the field that a text such as `layout.tiles` names.
    pub(crate) fn of(names: &'static str) -> Self {
        names.split('.').fold(Self::default(), Self::field)
    }

    /// Whether this is the outermost message itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same path with other names for its first field: those beside it, where `names` has it.
    pub(crate) fn renamed(self, names: &[(&str, &'static str)]) -> Self {
        let Some(Segment::Field(first)) = self.0.first().copied() else { return self };
        match names.iter().find(|(from, _)| *from == first) {
            Some((_, to)) => Self(self.0[1..].to_vec()).below(&Self::of(to)),
            None => self,
        }
    }

    /// The same path, seen from the message that holds this one at `outer`.
    pub(crate) fn below(mut self, outer: &Self) -> Self {
        self.0.splice(0..0, outer.0.iter().copied());
        self
    }

    /// The path without its last segment; `None` where nothing is left.
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
        let deep = (0..60).fold(FieldPath::new("layout"), |path, _| path.within("tuple_shapes", 7));
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
