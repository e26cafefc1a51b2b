//! Relayouts between two element types, and through tables, on pictures, weights, activations and
//! indices.

use stridec::{Error, Operation, Tensor, request::Table};

/// A relayout that converts elements or looks them up.
struct Case {
    from: &'static str,
    to: &'static str,
    table: Lookup,
}

/// The tables of a case.
enum Lookup {
    /// The elements are converted without a table.
    None,
    /// One table for all elements.
    One,
    /// A table for each index along a dimension of the source.
    Each(usize),
}

const fn converted(from: &'static str, to: &'static str) -> Case {
    Case { from, to, table: Lookup::None }
}

const fn looked_up(from: &'static str, to: &'static str, table: Lookup) -> Case {
    Case { from, to, table }
}

const CASES: [Case; 19] = [
    converted("u8[2160,3840,3]", "f32[2160,3840,3]{1,0,2}"),
    converted("u8[2160,3840,3]", "f16[2160,3840,3]{1,0,2}"),
    converted("f32[3,1080,1920]", "u8[3,1080,1920]{0,2,1}"),
    converted("f32[8192,8192]", "bf16[8192,8192]{1,0:T(8,128)(2,1)}"),
    converted("bf16[4096,4096]", "f32[4096,4096]{0,1}"),
    converted("f16[32,64,112,112]", "f32[32,64,112,112]{1,3,2,0}"),
    converted("f32[32,64,112,112]", "f16[32,64,112,112]{1,3,2,0}"),
    converted("s64[8388608]", "s32[8388608]"),
    converted("s32[4096,2048]", "s64[4096,2048]{0,1}"),
    converted("s4[4096,4096]{1,0:E(4)}", "bf16[4096,4096]{0,1}"),
    converted("u4[4096,4096]{1,0:E(4)}", "s8[4096,4096]"),
    converted("f8e4m3fn[4096,4096]", "bf16[4096,4096]"),
    converted("f64[2048,2048]", "f32[2048,2048]{0,1}"),
    converted("f32[4096,4096]", "f8e4m3fn[4096,4096]{0,1}"),
    looked_up("u8[2160,3840,3]", "f32[2160,3840,3]{1,0,2}", Lookup::Each(2)),
    looked_up("u8[2160,3840,3]", "f16[2160,3840,3]{1,0,2}", Lookup::Each(2)),
    looked_up("u4[4096,4096]{1,0:E(4)}", "bf16[4096,4096]", Lookup::One),
    looked_up("u4[4096,4096]{1,0:E(4)}", "bf16[4096,4096]{0,1}", Lookup::One),
    looked_up("u8[2160,3840,3]", "u8[2160,3840,3]", Lookup::One),
];

/// An operation to time.
pub struct Conversion {
    pub name: String,
    pub operation: Operation,
}

/// Returns the cases whose names contain `only`.
pub fn conversions(only: &str) -> Result<Vec<Conversion>, Error> {
    let mut all = CASES.iter().map(conversion).collect::<Result<Vec<_>, Error>>()?;
    all.retain(|case| case.name.contains(only));
    Ok(all)
}

fn conversion(case: &Case) -> Result<Conversion, Error> {
    let (source, destination): (Tensor, Tensor) = (case.from.parse()?, case.to.parse()?);
    let (words, dimension) = match case.table {
        Lookup::None => {
            let name = format!("{} to {}", case.from, case.to);
            return Ok(Conversion { name, operation: Operation::relayout(source, destination)? });
        }
        Lookup::One => (" through a table".to_owned(), None),
        Lookup::Each(dimension) => (format!(" through tables of d{dimension}"), Some(dimension)),
    };
    let shape = Table::shape(&source, destination.descriptor().element_type(), dimension)?;
    let bytes = Tensor::try_from(shape)?.descriptor().image_bytes();
    let entries = (0..bytes).map(|byte| byte.wrapping_mul(151).to_le_bytes()[0]).collect();
    let operation =
        Operation::relayout(source, destination)?.with_table(Table::new(entries, dimension))?;
    Ok(Conversion { name: format!("{} to {}{words}", case.from, case.to), operation })
}
