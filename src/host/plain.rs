//! Copies a nest position by position, as [`CopyNest::read`] defines it. This code is slow but
//! short, for builds in which size matters more than speed.

use super::bits::{Bits, load, store};
use crate::nest::{CopyNest, Gaps, PositionValue};

/// Fills the destination image from the images of the sources.
pub(super) fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) {
    let bits = Bits::of(nest);
    if nest.gaps() == Gaps::Fill {
        // Clear the destination, because the bits after the last unit belong to no place and must
        // be zero.
        destination.fill(0);
    }
    for unit in 0..nest.dst_units() {
        let value = match nest.read_from(unit + nest.dst_base().unsigned_abs(), Some(sources)) {
            PositionValue::Unit { source, unit } => {
                let value = load(sources[source], unit as usize, bits.src);
                nest.conversion().map_or_else(|| bits.resize(value), |of| of.unit(value, bits.dst))
            }
            PositionValue::Bits(value) => value,
            PositionValue::Kept => continue,
        };
        store(destination, unit as usize, bits.dst, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, hlo::Module, host, program::Program};

    fn check(name: &str, nest: &CopyNest) {
        let image = |bytes: u64| (0..bytes).map(|n| (n * 167 + n / 251) as u8).collect::<Vec<_>>();
        let sources: Vec<Vec<u8>> = nest.sources().iter().map(|of| image(of.bytes())).collect();
        let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
        let [mut plain, mut planned] = [0x5a, 0xa5].map(|n| vec![n; nest.dst_bytes() as usize]);
        fill(nest, &sources, &mut plain);
        host::run_sources(nest, &sources, &mut planned).unwrap();
        assert!(plain == planned, "{name}");
    }

    #[test]
    fn copies_are_equal_to_those_by_a_plan() {
        for (from, to) in [
            ("f32[30,41]", "f32[30,41]{0,1:T(8,128)}"),
            ("s4[33,5]{1,0:E(4)}", "s4[33,5]{0,1}"),
            ("u1[7,9,3]{2,1,0:E(1)}", "u1[7,9,3]{0,2,1:E(1)}"),
            ("s8[19]", "s8[19]{0:PAD(24,lowest)}"),
            ("c128[5,6]", "c128[5,6]{0,1:PAD(5,8,one)}"),
            ("bf16[13,7]{1,0:T(2,3)}", "bf16[13,7]{0,1:T(4)L(32)}"),
        ] {
            let [source, destination] = [from, to].map(|text| text.parse().unwrap());
            check(to, Operation::relayout(source, destination).unwrap().nest());
        }
    }

    #[test]
    fn indices_are_read_as_by_a_plan() {
        let module = "HloModule m

            ENTRY e {
              x = s16[9,4] parameter(0)
              at = s32[] parameter(1)
              to = s32[] parameter(2)
              y = s16[3,5] parameter(3)
              z = s16[3,2] slice(y), slice={[0:3], [1:3]}
              ROOT r = s16[9,4] dynamic-update-slice(x, z, at, to)
            }";
        let program = Program::lower(&Module::parse(module).unwrap()).unwrap();
        program.steps().iter().for_each(|step| check("update", step.nest()));
    }
}
