//! Defines [`zeroed`], which allocates memory for the image of a destination.

use super::HostError;

/// Returns memory that is all zeros. Unlike `vec![0; bytes]`, it does not abort the process if
/// there is not enough.
///
/// ```
/// use stridec::host::{HostError, zeroed};
/// assert_eq!(zeroed(3)?, [0; 3]);
/// assert!(zeroed(usize::MAX).is_err());
/// # Ok::<(), HostError>(())
/// ```
///
/// # Errors
///
/// Returns [`HostError::Memory`] if there is not enough memory.
pub fn zeroed(bytes: usize) -> Result<Vec<u8>, HostError> {
    let mut image = Vec::new();
    image.try_reserve_exact(bytes).map_err(|_| HostError::Memory { bytes })?;
    image.resize(bytes, 0);
    Ok(image)
}
