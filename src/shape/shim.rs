use super::*;
impl ElementType {
    /// x
    pub fn padding_bits(self, v: PaddingValue) -> Result<u128, ShapeError> {
        Ok(match v {
            PaddingValue::One => 1,
            PaddingValue::Highest => 1,
            _ => 0,
        })
    }
}
impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
