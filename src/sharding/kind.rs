//! [`Sharding`]: the assignment of the parts of an array to devices.

use super::{
    MAX_LISTED_DEVICES, Placement, Region, ShardingError, TileBox,
    device_regions::DeviceRegions,
    error::rule,
    named::Named,
    tiling::{Cyclic, Ids, Tiling},
};
use crate::shape::{FieldPath, Shape};

/// A sharding of an array over devices, or of each array in a tuple.
///
/// A sharding is kept in XLA's canonical form: the devices that have copies of one tile are in
/// ascending order, subgroups (devices with copies, with summands, or with separate arrays) are
/// merged and ordered, and transpositions have the least number of axes. Therefore two shardings
/// that mean the same compare equal, if both are written by tiles or both by named axes.
/// [`Sharding::as_tiles`] and [`Sharding::as_list`] convert between forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sharding {
    pub(super) kind: ShardingKind,
    pub(super) group: Option<ShardGroup>,
}

/// The content of a sharding, in the form in which it was given, such as tiles or named axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ShardingKind {
    Replicated,
    Manual,
    Unreduced,
    Unknown,
    Maximal(u64),
    Tiles(Tiling),
    Cyclic(Cyclic),
    Named(Named),
    Regions(DeviceRegions),
    /// The sharding of each array in a tuple, in pre-order. Arrays in nested tuples are in the same
    /// list, so none of these shardings is itself a tuple.
    Tuple(Vec<Sharding>),
}

/// A mark that XLA's propagation uses to make all shardings of a group equal (`shard_as`) or
/// similar (`shard_like`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ShardGroup {
    pub(super) like: bool,
    pub(super) id: u64,
}

/// The reason why the shards on the devices are not parts of the array. A reshard refuses such
/// shards, because moving data is not enough to convert them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NotWhole {
    /// Every device has a separate array.
    Manual,
    /// Every device has a summand, and the array is the sum over the devices.
    Unreduced,
    /// The sharding has not been decided yet.
    Unknown,
}

impl NotWhole {
    /// Returns XLA's name for shards of this kind, such as `manual`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Unreduced => "unreduced",
            Self::Unknown => "unknown",
        }
    }

    /// Returns a text for error messages, which explains why such shards cannot be converted by
    /// moving data.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Manual => "every device has an array of its own",
            Self::Unreduced => "the devices hold summands, which takes an addition",
            Self::Unknown => "it is a placeholder for a sharding that is not decided yet",
        }
    }
}

impl From<ShardingKind> for Sharding {
    fn from(kind: ShardingKind) -> Self {
        Self { kind, group: None }
    }
}

impl Sharding {
    /// Returns the sharding that places the whole array on every device.
    #[must_use]
    pub fn replicated() -> Self {
        ShardingKind::Replicated.into()
    }

    /// Returns the sharding that places the whole array on a single device.
    #[must_use]
    pub fn maximal(device: u64) -> Self {
        ShardingKind::Maximal(device).into()
    }

    /// Creates a sharding from the box of the array on each device, for shards of other frameworks
    /// that XLA's notation cannot describe. Boxes may overlap.
    ///
    /// ```
    /// use stridec::sharding::{Sharding, TileBox};
    /// let rows = [(0, 3), (3, 5), (5, 7)]; // XLA would place 3, 3 and 1
    /// let boxes = rows.map(|rows| TileBox::new([rows, (0, 4)]).unwrap());
    /// let sharding = Sharding::boxes((0..).zip(boxes))?;
    /// let placement = sharding.place(&"f32[7,4]".parse()?, None)?;
    /// assert_eq!(placement.tile(1).unwrap().to_string(), "[3,5)×[0,4)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a device occurs twice, or if an index is in no box.
    pub fn boxes(boxes: impl IntoIterator<Item = (u64, TileBox)>) -> Result<Self, ShardingError> {
        Self::regions(boxes.into_iter().map(|(device, tile)| (device, Region::from(&tile))))
    }

    /// Creates a sharding from the part of the array on each device. A part has a list of ranges
    /// for each dimension, and contains every index with all coordinates in these ranges. A shard
    /// stores its elements without gaps between the ranges. Parts may overlap.
    ///
    /// ```
    /// use stridec::sharding::{Region, Sharding};
    /// // Rows of 4 query heads, 4 key heads and 4 value heads, each half on a device.
    /// let halves = [[(0, 2), (4, 6), (8, 10)], [(2, 4), (6, 8), (10, 12)]];
    /// let parts = (0..).zip(halves).map(|(device, rows)| {
    ///     (device, Region::from_ranges([rows.to_vec(), vec![(0, 64)]]).unwrap())
    /// });
    /// let fused = Sharding::regions(parts)?.place(&"f32[12,64]".parse()?, None)?;
    /// assert_eq!(fused.region(1).unwrap().to_string(), "[2,4)∪[6,8)∪[10,12)×[0,64)");
    /// assert_eq!(fused.tile_shape(), [6, 64]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a device occurs twice, if an index is in no part, or if the parts cut
    /// one another into more than 2^24 ranges.
    pub fn regions(
        regions: impl IntoIterator<Item = (u64, Region)>,
    ) -> Result<Self, ShardingError> {
        Ok(ShardingKind::Regions(DeviceRegions::new(regions)?).into())
    }

    /// Returns the block-cyclic sharding with the tiles and devices of `self`, as in `ScaLAPACK`.
    /// `blocks` contains the block size in each dimension. If a dimension has `t` tiles, its tile
    /// `i` consists of the blocks `i`, `i + t`, `i + 2t`, and so on.
    ///
    /// A shard stores its blocks without gaps, so it is equal to `ScaLAPACK`'s local array of
    /// `numroc` rows and columns. XLA has no notation for cyclic shardings, so they are printed as
    /// XLA's text with an additional `blocks=[…]`.
    ///
    /// ```
    /// use stridec::sharding::Sharding;
    /// // The devices are numbered column by column.
    /// let grid: Sharding = "{devices=[2,2]<=[2,2]T(1,0)}".parse()?;
    /// let cyclic = grid.cyclic([36, 36])?;
    /// assert_eq!(cyclic.to_string(), "{devices=[2,2]<=[2,2]T(1,0) blocks=[36,36]}");
    /// assert_eq!(cyclic.to_string().parse::<Sharding>()?, cyclic);
    /// let placement = cyclic.place(&"f64[100,100]".parse()?, None)?;
    /// assert_eq!(placement.region(1).unwrap().to_string(), "[36,72)×[0,36)∪[72,100)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if `self` is not a sharding by tiles, if a block size is 0 or more than
    /// 2^63-1, or if the number of block sizes differs from the number of dimensions.
    pub fn cyclic(&self, blocks: impl IntoIterator<Item = u64>) -> Result<Self, ShardingError> {
        let blocks: Vec<u64> = blocks.into_iter().collect();
        for (dimension, &block) in blocks.iter().enumerate() {
            if block == 0 || i64::try_from(block).is_err() {
                let path = FieldPath::new("blocks").index(dimension);
                return Err(rule(path, "1 to 2^63-1 indices", block));
            }
        }
        let tiles = self.as_tiles();
        match tiles.as_ref().map(|tiles| &tiles.kind) {
            // A replicated array has a single tile, which contains all blocks.
            Some(ShardingKind::Replicated) => Ok(self.clone()),
            Some(ShardingKind::Tiles(tiling)) if tiling.tiles.len() == blocks.len() => {
                let kind = ShardingKind::Cyclic(Cyclic { tiling: tiling.clone(), blocks });
                Ok(Self { kind, group: self.group })
            }
            Some(ShardingKind::Tiles(tiling)) => {
                let expected = format!("{} sizes, one for each dimension", tiling.tiles.len());
                Err(rule(FieldPath::new("blocks"), expected, blocks.len()))
            }
            _ => Err(rule(FieldPath::new("blocks"), "a sharding by tiles", self)),
        }
    }

    /// Returns the sharding of each array in a tuple, in pre-order, or `None` if `self` is the
    /// sharding of a single array.
    #[must_use]
    pub fn leaves(&self) -> Option<&[Sharding]> {
        match &self.kind {
            ShardingKind::Tuple(leaves) => Some(leaves),
            _ => None,
        }
    }

    /// Returns the reasons why the shards are not parts of the array. The list is empty if all
    /// shards are parts of the array.
    #[must_use]
    pub fn not_whole(&self) -> Vec<NotWhole> {
        match &self.kind {
            ShardingKind::Manual => vec![NotWhole::Manual],
            ShardingKind::Unreduced => vec![NotWhole::Unreduced],
            ShardingKind::Unknown => vec![NotWhole::Unknown],
            ShardingKind::Tiles(tiling) | ShardingKind::Cyclic(Cyclic { tiling, .. }) => {
                tiling.not_whole()
            }
            ShardingKind::Named(named) => named.not_whole(),
            _ => Vec::new(),
        }
    }

    /// Returns the number of devices, or `None` if it depends on the program. For example,
    /// `{replicated}` applies to any number of devices.
    #[must_use]
    pub fn devices(&self) -> Option<u64> {
        match &self.kind {
            ShardingKind::Tiles(tiling) | ShardingKind::Cyclic(Cyclic { tiling, .. }) => {
                Some(tiling.devices())
            }
            ShardingKind::Named(named) => named.devices(),
            ShardingKind::Regions(boxes) => Some(boxes.devices()),
            _ => None,
        }
    }

    /// Converts a sharding by named axes to one by tiles. Shardings by tiles or by a keyword, such
    /// as `replicated`, are returned unchanged. The devices are given as an iota if possible, else
    /// as a list. Returns `None` for tuples, for cyclic shardings, for shardings that list parts,
    /// and if more than 2^20 devices would have to be listed.
    ///
    /// ```
    /// use stridec::sharding::Sharding;
    /// let named: Sharding = "{mesh['a'=2,'b'=4], [{'b', 'a'}]}".parse()?;
    /// assert_eq!(named.as_tiles().unwrap().to_string(), "{devices=[8]<=[2,4]T(1,0)}");
    /// # Ok::<(), stridec::sharding::ShardingError>(())
    /// ```
    #[must_use]
    pub fn as_tiles(&self) -> Option<Self> {
        match &self.kind {
            ShardingKind::Regions(_) | ShardingKind::Cyclic(_) | ShardingKind::Tuple(_) => None,
            ShardingKind::Named(named) => named.tiles().ok().map(Self::from),
            _ => Some(self.clone()),
        }
    }

    /// Converts the sharding to one by tiles with an explicit list of devices instead of an iota.
    /// Returns `None` if the sharding has no tiles, or if it has more than 2^20 devices.
    ///
    /// ```
    /// use stridec::sharding::Sharding;
    /// let iota: Sharding = "{devices=[4]<=[2,2]T(1,0)}".parse()?;
    /// assert_eq!(iota.as_list().unwrap().to_string(), "{devices=[4]0,2,1,3}");
    /// # Ok::<(), stridec::sharding::ShardingError>(())
    /// ```
    #[must_use]
    pub fn as_list(&self) -> Option<Self> {
        let ShardingKind::Tiles(tiling) = self.as_tiles()?.kind else { return None };
        (tiling.devices() <= MAX_LISTED_DEVICES).then(|| {
            ShardingKind::Tiles(Tiling { ids: Ids::list(tiling.ids.all()), ..tiling }).into()
        })
    }

    /// Applies the sharding to an array of `shape`, which determines the indices on each device.
    /// `devices` is the number of devices in the program. It may be `None` if the sharding itself
    /// determines the number.
    ///
    /// A sharding with tiles has a placement even if the shards are not parts of the array (see
    /// [`Sharding::not_whole`]). A reshard refuses such a placement.
    ///
    /// # Errors
    ///
    /// Returns an error if the shape is not an array with fixed extents, if the rank does not
    /// match, if the number of devices is wrong or missing, or if the sharding is for a tuple or
    /// does not determine a placement.
    pub fn place(&self, shape: &Shape, devices: Option<u64>) -> Result<Placement, ShardingError> {
        Placement::new(self, shape, devices)
    }
}

/// Returns the path of a field of `xla.OpSharding`.
pub(super) fn field(name: &'static str) -> FieldPath {
    FieldPath::new(name)
}
