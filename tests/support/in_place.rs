//! Random modules whose results are written to the buffers of parameters.
//!
//! The modules are updates at run-time starts, scatters with many indices, concatenations in which
//! some rows stay at their place, and pairs of results. In some pairs, a result reads a buffer that
//! the other result overwrites.

use std::collections::BTreeMap;

use stridec::{
    hlo::Module,
    program::{BufferId, HostParameter, Program},
};

use super::random::Random;

/// A module whose results have aliases, and the bytes of its parameters.
pub struct InPlaceCase {
    /// The module as HLO text, for messages.
    pub text: String,
    pub module: Module,
    pub images: Vec<Vec<u8>>,
}

/// The integer types of indices, each with its size in bytes.
const INDICES: [(&str, usize); 4] = [("s32", 4), ("s64", 8), ("u32", 4), ("u8", 1)];

impl InPlaceCase {
    pub fn new(random: &mut Random) -> Self {
        let (element, bytes) =
            random.pick(&[("u8", 1), ("u16", 2), ("f32", 4), ("f64", 8), ("c128", 16), ("s8", 1)]);
        let [rows, columns] = [random.below(90) + 2, random.below(9) + 2];
        let layout = random.pick(&["{1,0}", "{0,1}", "{1,0}", "{1,0:T(4,8)}"]);
        let whole = format!("{element}[{rows},{columns}]");
        let mut images = vec![random.bytes(rows * columns * bytes)];
        if layout.contains('T') {
            let places = rows.next_multiple_of(4) * columns.next_multiple_of(8);
            images[0] = random.bytes(places * bytes);
        }
        let (index, width) = random.pick(&INDICES);
        // Starts from three before the first row to two after the last row. In some modules, a few
        // starts also have other high bits, which a narrow type cuts off.
        let far = random.pick(&[0_i64, 0, 0, 1 << 32, 1 << 8, i64::MIN]);
        let number = |random: &mut Random| {
            let near = random.below(rows + 6).cast_signed() - 3;
            let given = if random.one_in(9) { near.wrapping_add(far) } else { near };
            given.to_le_bytes()[..width].to_vec()
        };
        let (body, aliases, more) = match random.below(7) {
            0 => {
                let [height, across] = [random.below(rows) + 1, random.below(columns) + 1];
                images.push(random.bytes(height * across * bytes));
                images.extend([number(random), number(random)]);
                let body = format!(
                    "y = {element}[{height},{across}] parameter(1)
                     at = {index}[] parameter(2)
                     to = {index}[] parameter(3)
                     ROOT r = {whole} dynamic-update-slice(x, y, at, to)"
                );
                let more = format!("{element}[{height},{across}], {index}[], {index}[]");
                (body, "{}: (0, {}, may-alias)", (more, false))
            }
            1 | 2 => {
                let count = random.below(60) + 1;
                let across = if random.one_in(3) { random.below(columns) + 1 } else { columns };
                images.push((0..count).flat_map(|_| number(random)).collect());
                images.push(random.bytes(count * across * bytes));
                let body = format!(
                    "at = {index}[{count},1] parameter(1)
                     y = {element}[{count},{across}] parameter(2)
                     ROOT r = {whole} scatter(x, at, y), update_window_dims={{1}},
                       inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}},
                       index_vector_dim=1, to_apply=replace"
                );
                let more = format!("{index}[{count},1], {element}[{count},{across}]");
                (body, "{}: (0, {}, may-alias)", (more, false))
            }
            3 => {
                // Windows of some rows and columns, which may overlap.
                let count = random.below(40) + 1;
                let height = random.below(rows.min(4)) + 1;
                // A window of whole rows is in range only if it starts at 0 in them.
                let is_whole = random.one_in(3);
                let across = if is_whole { columns } else { random.below(columns) + 1 };
                let column = |random: &mut Random| match is_whole && !random.one_in(4) {
                    true => vec![0; width],
                    false => number(random),
                };
                let pair = |random: &mut Random| [number(random), column(random)].concat();
                images.push((0..count).flat_map(|_| pair(random)).collect());
                images.push(random.bytes(count * height * across * bytes));
                let body = format!(
                    "at = {index}[{count},2] parameter(1)
                     y = {element}[{count},{height},{across}] parameter(2)
                     ROOT r = {whole} scatter(x, at, y), update_window_dims={{1,2}},
                       inserted_window_dims={{}}, scatter_dims_to_operand_dims={{0,1}},
                       index_vector_dim=1, to_apply=replace"
                );
                let more = format!("{index}[{count},2], {element}[{count},{height},{across}]");
                (body, "{}: (0, {}, may-alias)", (more, false))
            }
            4 => {
                // Each row has a window of its own, as in an update under `vmap`.
                let across = random.below(columns) + 1;
                images.push((0..rows).flat_map(|_| number(random)).collect());
                images.push(random.bytes(rows * across * bytes));
                let body = format!(
                    "at = {index}[{rows},1] parameter(1)
                     y = {element}[{rows},{across}] parameter(2)
                     ROOT r = {whole} scatter(x, at, y), update_window_dims={{1}},
                       inserted_window_dims={{}}, scatter_dims_to_operand_dims={{1}},
                       input_batching_dims={{0}}, scatter_indices_batching_dims={{0}},
                       index_vector_dim=1, to_apply=replace"
                );
                let more = format!("{index}[{rows},1], {element}[{rows},{across}]");
                (body, "{}: (0, {}, may-alias)", (more, false))
            }
            5 => {
                // A part of the rows stays, and others are new.
                let [first, kept] = [random.below(rows), random.below(rows) + 1];
                let (first, kept) = (first.min(rows - 1), kept.min(rows - first.min(rows - 1)));
                let last = rows - first - kept;
                images.extend([
                    random.bytes(first * columns * bytes),
                    random.bytes(last * columns * bytes),
                ]);
                let end = first + kept;
                let body = format!(
                    "a = {element}[{first},{columns}] parameter(1)
                     b = {element}[{last},{columns}] parameter(2)
                     k = {element}[{kept},{columns}] slice(x), slice={{[{first}:{end}], [0:{columns}]}}
                     ROOT r = {whole} concatenate(a, k, b), dimensions={{0}}"
                );
                let more = format!("{element}[{first},{columns}], {element}[{last},{columns}]");
                (body, "{}: (0, {}, may-alias)", (more, false))
            }
            _ => {
                // Rows of each of two parameters are written to the other one.
                let height = random.below(rows) + 1;
                images.push(random.bytes(images[0].len() as u64));
                images.push(number(random));
                let second = random.pick(&["y", "x", "both"]);
                let of_second = match second {
                    "y" => "s = W dynamic-update-slice(y, h, at, zero)",
                    "x" => "s = W reverse(x), dimensions={0}",
                    _ => "s = W copy(x)",
                };
                let body = format!(
                    "y = {whole} parameter(1)
                     at = {index}[] parameter(2)
                     zero = {index}[] constant(0)
                     g = {element}[{height},{columns}] slice(y), slice={{[0:{height}], [0:{columns}]}}
                     h = {element}[{height},{columns}] slice(x), slice={{[0:{height}], [0:{columns}]}}
                     r = {whole} dynamic-update-slice(x, g, at, zero)
                     {}
                     ROOT t = (W, W) tuple(r, s)",
                    of_second
                )
                .replace('W', &whole);
                let more = format!("{whole}{layout}, {index}[]");
                (body, "{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)", (more, true))
            }
        };
        let (more, is_pair) = more;
        let result = match is_pair {
            true => format!("({whole}{layout}, {whole}{layout})"),
            false => format!("{whole}{layout}"),
        };
        let text = format!(
            "HloModule m, input_output_alias={{ {aliases} }},
               entry_computation_layout={{({whole}{layout}, {more})->{result}}}
             replace {{ o = {element}[] parameter(0) ROOT n = {element}[] parameter(1) }}
             ENTRY e {{
               x = {whole} parameter(0)
               {body}
             }}"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        Self { text, module, images }
    }

    pub fn images(&self) -> Vec<&[u8]> {
        self.images.iter().map(Vec::as_slice).collect()
    }
}

/// Runs a program on the host in place. Returns the contents of all results, in their order.
///
/// A result without an alias has a buffer of its own, which is filled with 0xa5 before the run.
pub fn run_in_place(program: &Program, images: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut images = images.to_vec();
    let mut own: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for (number, result) in program.results().iter().enumerate() {
        if program.home(BufferId::Result(number)) == BufferId::Result(number) {
            own.insert(number, vec![0xa5; usize::try_from(result.bytes()).unwrap()]);
        }
    }
    let is_taken = |number: usize| program.aliases().iter().any(|of| of.parameter == number);
    let parameters: Vec<HostParameter> = images
        .iter_mut()
        .enumerate()
        .map(|(number, image)| match is_taken(number) {
            true => HostParameter::Donated(image),
            false => HostParameter::Read(image),
        })
        .collect();
    let mut results: Vec<&mut [u8]> = own.values_mut().map(Vec::as_mut_slice).collect();
    program.run_on_host_in_place(parameters, &mut results).unwrap();
    let buffer = |number: usize| match program.home(BufferId::Result(number)) {
        BufferId::Parameter(number) => images[number].clone(),
        _ => own[&number].clone(),
    };
    (0..program.results().len()).map(buffer).collect()
}
