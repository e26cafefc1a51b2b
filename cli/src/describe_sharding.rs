//! `stridec describe SHAPE --sharding SHARDING`: prints the box of each device, which is the region
//! of the array that the device holds.

use std::fmt::Write as _;

use serde_json::{Value, json};
use stridec::{
    Error, ErrorKind, Tensor,
    notation::description,
    reshard::MAX_DEVICES,
    shape::Shape,
    sharding::{NotWhole, Placement, Sharding},
};

use super::{
    errors::{Exit, Failure},
    reshard_plan::tiles,
    shape_arg::ShapeArg,
    sharding_arg,
};

/// An array and its sharding, ready to be printed.
pub(super) struct Sharded<'a> {
    shape: &'a Shape,
    sharding: Sharding,
    /// The boxes of the devices, or `None` if the sharding has no boxes.
    placement: Option<Placement>,
}

impl<'a> Sharded<'a> {
    /// Parses the sharding of the array, and applies it to the devices. `devices` is needed because
    /// some shardings do not determine the number of devices. Returns a failure if there are more
    /// than [`MAX_DEVICES`], because each device has a line in the output.
    pub(super) fn new(
        argument: &'a ShapeArg,
        sharding: &str,
        devices: Option<u64>,
    ) -> Result<Self, Failure> {
        let Some(shape) = argument.xla() else {
            return Err(Failure::invalid("--sharding: expected an XLA shape, got strides"));
        };
        let about = |failure: Failure| failure.about("--sharding");
        let sharding = sharding_arg::sharding(sharding).map_err(about)?;
        let placement = match sharding.place(shape, devices) {
            Ok(placement) => Some(placement),
            Err(error) if error.kind() == ErrorKind::Unsupported => None,
            Err(error) => return Err(about(Error::from(error).into())),
        };
        if placement.as_ref().is_some_and(|placement| placement.devices() > MAX_DEVICES) {
            let reason = format!("--sharding: at most {MAX_DEVICES} devices are listed");
            return Err(Failure::new(Exit::Unsupported, reason));
        }
        Ok(Self { shape, sharding, placement })
    }

    /// Returns the smallest extents into which every box fits, or the extents of the array if there
    /// are no boxes.
    fn tile_shape(&self) -> Vec<u64> {
        match &self.placement {
            Some(placement) => placement.tile_shape(),
            None => self.shape.dimensions().iter().filter_map(|size| size.bound()).collect(),
        }
    }

    /// Returns the sharding in every notation that can express it, beginning with the notation that
    /// the user chose.
    fn forms(&self) -> Vec<String> {
        let others = [self.sharding.as_tiles(), self.sharding.as_list()];
        let mut forms = vec![self.sharding.to_string()];
        for other in others.into_iter().flatten() {
            let text = other.to_string();
            if !forms.contains(&text) {
                forms.push(text);
            }
        }
        forms
    }

    /// Returns the description of the shape and the sharding as JSON. `devices` is null without
    /// boxes.
    pub(super) fn json(&self, tensor: &Tensor) -> Value {
        let mut value = description(tensor);
        value["sharding"] = json!(self.sharding.to_string());
        value["sharding_forms"] = json!(self.forms());
        value["not_whole"] = self.sharding.not_whole().into_iter().map(NotWhole::name).collect();
        value["tile_shape"] = json!(self.tile_shape());
        value["devices"] = self.placement.as_ref().map_or(Value::Null, tiles);
        value
    }

    /// Returns the description as text, with a line for each device.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{} {}\n", self.shape, self.forms().join("\n  or "));
        for kind in self.sharding.not_whole() {
            // Writing to a string succeeds.
            let _ = writeln!(text, "  {}: {}", kind.name(), kind.reason());
        }
        let _ = writeln!(text, "  tile {:?}", self.tile_shape());
        for (device, tile) in self.placement.iter().flat_map(Placement::regions) {
            let _ = writeln!(text, "  {device}: {tile}");
        }
        text
    }
}
