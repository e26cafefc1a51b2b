//! Random copies through tables.

use stridec::{
    Operation, Tensor,
    request::Table,
    shape::{ElementType, Shape},
};

use super::{
    conversions::{layout, types},
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
    let rank = 1 + usize::try_from(random.below(4)).unwrap();
    let most = [400, 40, 14, 8][rank - 1];
    let sizes: Vec<u64> = (0..rank).map(|_| 1 + random.below(most)).collect();
    let source = loop {
        let source = layout(from, &sizes, random);
        if source.descriptor().element_bits() <= 64 {
            break source;
        }
    };
    let destination = layout(to, &sizes, random);
    let dimension = random.one_in(2).then(|| usize::try_from(random.below(rank as u64)).unwrap());
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
    let plain = |element_type| -> Tensor {
        Shape::new(element_type, sizes.iter().copied(), None).unwrap().try_into().unwrap()
    };
    let relayout = |from: Tensor, to: Tensor, image: &[u8]| {
        let operation = Operation::relayout(from, to).unwrap();
        let mut out = vec![0; usize::try_from(operation.nest().dst_bytes()).unwrap()];
        operation.run_on_host(image, &mut out).unwrap();
        out
    };
    let shape: Tensor = Table::shape(&source, to, dimension).unwrap().try_into().unwrap();
    let table = random.bytes(shape.descriptor().image_bytes());
    let image = random.bytes(source.descriptor().image_bytes());
    // The expected result is computed in three steps. The second step looks up each element
    // separately.
    let codes = relayout(source.clone(), plain(from), &image);
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
    let expected = relayout(plain(to), destination.clone(), &elements);
    let table = Table::new(table, dimension);
    let operation = Operation::relayout(source, destination).unwrap().with_table(table).unwrap();
    TableRelayout { operation, image, expected }
}
