//! Padding between elements, along one dimension or several, and broadcasts.

use stridec::{hlo::Module, host, program::Program};

/// Returns `bytes` fixed bytes without zeros.
fn image(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 167 + n / 251 * 31).to_le_bytes()[0] | 1).collect()
}

/// Runs a module with one instruction on the host.
fn run(result: &str, parameters: &[(&str, &[u8])], instruction: &str) -> Vec<u8> {
    let lines = parameters.iter().enumerate();
    let lines =
        lines.map(|(number, (shape, _))| format!("p{number} = {shape} parameter({number})"));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let text = format!("HloModule m\n\nENTRY e {{\n{lines}\nROOT r = {result} {instruction}\n}}\n");
    let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
    let images: Vec<&[u8]> = parameters.iter().map(|&(_, image)| image).collect();
    program.run_on_host(&images).unwrap().concat()
}

fn list(values: &[usize]) -> String {
    values.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn elements_between_which_there_is_padding_are_where_xla_has_them() {
    // The extents, and the low, high and interior padding of each dimension. The sizes have whole
    // periods and remainders, blocks that fit into registers, and rows that do not.
    type Case = (&'static str, usize, &'static [usize], &'static [(usize, usize, usize)]);
    let cases: [Case; 10] = [
        ("u8", 1, &[301], &[(0, 0, 1)]),
        ("u16", 2, &[1000], &[(3, 1, 2)]),
        ("f32", 4, &[61, 35], &[(1, 1, 1), (2, 1, 1)]),
        ("f32", 4, &[12, 41, 3, 35], &[(1, 0, 0), (1, 1, 1), (0, 2, 0), (2, 1, 1)]),
        ("u8", 1, &[11, 51, 323, 3], &[(5, 2, 0), (0, 0, 1), (0, 2, 0), (5, 0, 0)]),
        ("u64", 8, &[57, 65], &[(0, 0, 3), (1, 1, 0)]),
        ("c128", 16, &[5, 31, 8, 11], &[(1, 5, 0), (5, 0, 1), (0, 2, 0), (0, 0, 2)]),
        ("bf16", 2, &[90, 2, 40], &[(2, 0, 5), (1, 0, 1), (0, 9, 0)]),
        ("s8", 1, &[700, 7], &[(0, 1, 1), (1, 0, 2)]),
        ("bf16", 2, &[40, 601], &[(5, 0, 1), (2, 2, 1)]),
    ];
    for (name, unit, extents, padding) in cases {
        let padded: Vec<usize> = extents
            .iter()
            .zip(padding)
            .map(|(&extent, &(low, high, interior))| low + high + extent + (extent - 1) * interior)
            .collect();
        let source = image(extents.iter().product::<usize>() * unit);
        let value = image(unit);
        let flags = padding.iter().map(|(low, high, interior)| format!("{low}_{high}_{interior}"));
        let found = run(
            &format!("{name}[{}]", list(&padded)),
            &[(&format!("{name}[{}]", list(extents)), &source), (&format!("{name}[]"), &value)],
            &format!("pad(p0, p1), padding={}", flags.collect::<Vec<_>>().join("x")),
        );
        let mut expected = value.repeat(padded.iter().product());
        for (number, element) in source.chunks_exact(unit).enumerate() {
            let (mut rest, mut stride, mut at) = (number, 1, 0);
            for axis in (0..extents.len()).rev() {
                let (low, _, interior) = padding[axis];
                at += (low + rest % extents[axis] * (1 + interior)) * stride;
                rest /= extents[axis];
                stride *= padded[axis];
            }
            expected[at * unit..][..unit].copy_from_slice(element);
        }
        assert!(found == expected, "{name}[{}]", list(extents));
    }
}

#[test]
fn small_sources_are_broadcast() {
    for (name, unit, extents, dimension) in [
        ("c128", 16, [1000, 3], 1),
        ("u8", 1, [3, 5000], 0),
        ("u16", 2, [70, 1], 1),
        ("f32", 4, [1, 900], 1),
    ] {
        let (source, count) = (image(extents[dimension] * unit), extents[0] * extents[1]);
        let found = run(
            &format!("{name}[{}]", list(&extents)),
            &[(&format!("{name}[{}]", extents[dimension]), &source)],
            &format!("broadcast(p0), dimensions={{{dimension}}}"),
        );
        let expected = (0..count).flat_map(|number| {
            let index = if dimension == 0 { number / extents[1] } else { number % extents[1] };
            &source[index * unit..][..unit]
        });
        assert!(found.iter().eq(expected), "{name}");
    }
    let scalar = image(8);
    let found = run("f64[40,77]", &[("f64[]", &scalar)], "broadcast(p0), dimensions={}");
    assert!(found == scalar.repeat(40 * 77));
}

/// The rows have an odd number of places, so that no period divides them. In the second program,
/// a period of two columns has all rows.
#[test]
fn long_rows_with_interior_padding_take_few_steps() {
    for text in [
        "HloModule m ENTRY e { p = bf16[96,1881] parameter(0)  z = bf16[] constant(0)
        ROOT r = bf16[196,3765] pad(p, z), padding=5_0_1x2_2_1 }",
        "HloModule m ENTRY e { p = s8[384,10716] parameter(0)  z = s8[] constant(0)
        ROOT r = s8[389,21433] pad(p, z), padding=5_0_0x0_2_1 }",
    ] {
        let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
        let plan = host::plan(program.steps()[0].nest(), 1);
        assert!(steps(&plan) < 40, "{plan}");
        assert!(!plan.contains("10715 times"), "column by column: {plan}");
    }
}

/// Returns the number of steps that a plan lists.
fn steps(plan: &str) -> usize {
    let times = |line: &str| {
        let times = line.rsplit_once('(').and_then(|(_, times)| times.strip_suffix(" times)"));
        times.map_or(1, |times| times.parse().unwrap())
    };
    plan.lines().map(times).sum()
}
