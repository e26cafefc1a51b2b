//! Random copies through tables.

use stridec::{Operation, Tensor, request::Table, shape::ElementType};

use super::{
    conversions::{copied, layout, plain, random_sizes, types},
    random::Random,
};

/// A random relayout whose elements are looked up in a table.
pub struct TableRelayout {
    pub operation: Operation,
    /// The image of the source.
    pub image: Vec<u8>,
    /// The image of the destination.
    pub expected: Vec<u8>,
}

impl TableRelayout {
    /// Returns the sources of the operation's kernels.
    pub fn sources(&self) -> [&[u8]; 2] {
        [&self.image, self.operation.table().unwrap().bytes()]
    }
}

/// Returns a random relayout through a table, between random layouts of random types.
pub fn random_table_relayout(random: &mut Random) -> TableRelayout {
    let all = types();
    let narrow: Vec<_> = all.iter().copied().filter(|of| of.bits() <= Some(8)).collect();
    let (from, to) = (random.pick(&narrow), random.pick(&all));
    let sizes = random_sizes(random);
    let source = loop {
        let source = layout(from, &sizes, random);
        if source.descriptor().element_bits() <= 64 {
            break source;
        }
    };
    let destination = layout(to, &sizes, random);
    let dimension =
        random.one_in(2).then(|| usize::try_from(random.below(sizes.len() as u64)).unwrap());
    table_relayout(source, destination, dimension, random)
}

/// Returns a relayout through a random table, with a random image.
pub fn table_relayout(
    source: Tensor,
    destination: Tensor,
    dimension: Option<usize>,
    random: &mut Random,
) -> TableRelayout {
    let [from, to] = [&source, &destination].map(|of| of.descriptor().element_type());
    let sizes = source.descriptor().sizes().to_vec();
    let shape: Tensor = Table::shape(&source, to, dimension).unwrap().try_into().unwrap();
    let table = random.bytes(shape.descriptor().image_bytes());
    let image = random.bytes(source.descriptor().image_bytes());
    // The expected result is computed in three steps. The second step looks up each element
    // separately.
    let codes = copied(&Operation::relayout(source.clone(), plain(from, &sizes)).unwrap(), &image);
    let entries = usize::try_from(*shape.descriptor().sizes().last().unwrap()).unwrap();
    let width = usize::try_from(to.storage_bits().unwrap() / 8).unwrap();
    let extents: Vec<usize> = sizes.iter().map(|&size| usize::try_from(size).unwrap()).collect();
    let elements = codes.iter().enumerate().flat_map(|(number, &code)| {
        let code = if from == ElementType::Pred {
            usize::from(code != 0)
        } else {
            usize::from(code) & (entries - 1)
        };
        let first = dimension.map_or(0, |dimension| {
            let inner: usize = extents[dimension + 1..].iter().product();
            number / inner % extents[dimension] * entries
        });
        table[(first + code) * width..][..width].to_vec()
    });
    let elements: Vec<u8> = elements.collect();
    let placed = Operation::relayout(plain(to, &sizes), destination.clone()).unwrap();
    let expected = copied(&placed, &elements);
    let table = Table::new(table, dimension);
    let operation = Operation::relayout(source, destination).unwrap().with_table(table).unwrap();
    TableRelayout { operation, image, expected }
}
