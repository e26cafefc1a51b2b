//! The page of a program: its results with the sources of their elements, the path of the element
//! under the pointer, and the kernels with a button that runs them.

use std::{collections::HashMap, fmt::Write as _};

use maud::{Markup, html};
use serde_json::{Value as Json, json};

use super::{
    grid::Grid,
    html::{Content, button, document, frame, source_line, text_and_dispatches},
    mosaic::comma,
    program::{ProgramPicture, ResultDrawing},
    sentences::count,
};
use crate::{
    program::{BufferId, Program, ProgramError},
    schedule::Target,
    wgsl::Kernel,
};

/// The scripts of the page. Later scripts may use earlier ones.
const SCRIPTS: [&str; 3] =
    [include_str!("page/run.js"), include_str!("page/program.js"), include_str!("page/start.js")];
/// The maximum total size of all buffers with which a page can run the program, in bytes. Above it,
/// the page has no button.
const MOST_BYTES: u64 = 1 << 26;
/// The maximum size of the constants in a page, in bytes.
const MOST_CONSTANTS: u64 = 1 << 18;
/// The maximum number of checksums in a page.
const MOST_SUMS: usize = 512;

impl ProgramPicture<'_> {
    /// Writes a single self-contained page. The page loads nothing, and its content security policy
    /// forbids loading.
    ///
    /// A button runs the kernels on random bytes in the reader's browser. It compares the results
    /// with those that the host computed when the page was made. If the page is opened with `#run`,
    /// the kernels run immediately.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn html(&self, target: &Target) -> Result<String, ProgramError> {
        Ok(document(&self.content(target)?, &self.below(target)?, &SCRIPTS))
    }

    /// Returns the content of the page that [`html`](Self::html) writes, up to and including the
    /// button. The script function `showProgram` makes the content interactive.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn content(&self, target: &Target) -> Result<Content, ProgramError> {
        let program = self.named_program().compiled(target)?;
        let steps = self.steps(&program);
        let mut text = WayTexts::default();
        let mut results = vec![];
        for &result in &self.results {
            let section = self.with_drawn(result, |drawn| {
                let number = text.results.len();
                let document = self.result_document(drawn, number == 0);
                text.result(drawn);
                html! {
                    p { (self.size(result)) }
                    (frame(&document, &format!("result {result}")))
                    @if drawn.element.is_some() {
                        div.wide.way {
                            table aria-live="polite" { caption {} tbody {} }
                            p.end {}
                        }
                    }
                }
            });
            results.push((result, section));
        }
        let run = run(&program, program.kernels(), &steps, &self.results)?;
        let body = html! {
            h1 { code { (program.name()) } }
            p.lead {
                "Each cell shows the source that its element comes from, by a letter and a colour, and the index there. \
                 Point at a cell, or move with the arrow keys, to see its way back through the instructions."
            }
            noscript { p { "The ways need JavaScript; the pictures do not." } }
            @for (number, (result, section)) in results.iter().enumerate() {
                section id=(format!("result-{number}")) aria-label=(self.title(*result)) {
                    h2 { code { (self.title(*result)) } }
                    @if let Some(section) = section { (section) }
                }
            }
            @if run.is_some() { (runs(program.name(), steps.len())) }
        };
        let data =
            json!({ "results": text.results, "instructions": text.instructions, "run": run });
        let data = data.to_string().replace('<', "\\u003c");
        Ok(Content { title: program.name().to_owned(), body: body.into_string(), data })
    }

    /// Returns the markup that follows [`content`](Self::content) on the page and shows the
    /// kernels.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn below(&self, target: &Target) -> Result<String, ProgramError> {
        let program = self.named_program().compiled(target)?;
        let below = html! {
            @for step in self.steps(&program) { (shown(&program, &program.kernels()[step], step)) }
            details { summary { "Every stage as text" } pre tabindex="0" { (program.stages(target)?) } }
        };
        Ok(below.into_string())
    }

    /// Returns the program with the names of the results.
    fn named_program(&self) -> Program {
        self.ways.program().clone().with_result_names(&self.names)
    }

    /// Returns the indices of the steps that compute the results, in the order in which they run.
    fn steps(&self, program: &Program) -> Vec<usize> {
        let mut steps: Vec<usize> =
            self.results.iter().flat_map(|&result| program.steps_of(result)).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

/// The paths of elements as text, which the scripts of the page show.
#[derive(Default)]
struct WayTexts {
    instructions: Vec<Json>,
    known: HashMap<String, usize>,
    results: Vec<Json>,
}

impl WayTexts {
    /// Adds the paths of all drawn cells of a result.
    fn result(&mut self, drawn: &ResultDrawing<'_>) {
        let cells = drawn.grids.iter().flat_map(Grid::drawn).map(|cell| cell.index);
        let mut ways = serde_json::Map::new();
        for index in cells.chain(drawn.element.clone()) {
            let Some(way) = drawn.mosaic.way(&index) else { continue };
            let steps = drawn.mosaic.rows(&way).into_iter().map(|row| {
                let next = self.instructions.len();
                let key = format!("{}\0{}", row.name, row.expression);
                let number = *self.known.entry(key).or_insert(next);
                if number == next {
                    let of = json!({ "name": row.name, "expression": row.expression });
                    self.instructions.push(of);
                }
                json!([number, row.index])
            });
            let steps: Json = steps.collect();
            ways.insert(comma(&index), json!({ "steps": steps, "end": drawn.mosaic.end(&way) }));
        }
        let element = drawn.element.as_ref().map(|index| comma(index));
        self.results.push(json!({ "ways": ways, "element": element }));
    }
}

fn runs(title: &str, kernels: usize) -> Markup {
    html! {
        h2 { "Run it here" }
        p {
            "Runs " (count(kernels as u64, "kernel")) " in your browser through WebGPU, on random bytes, and compares \
             every result with what the compiler computes on the CPU from the same bytes."
        }
        (button(title))
    }
}

fn shown(program: &Program, kernel: &Kernel, step: usize) -> Markup {
    let of = &program.steps()[step];
    let dispatches: Vec<[u32; 3]> = kernel.dispatches.iter().map(|of| of.workgroups).collect();
    let sources: Vec<String> = of.sources().iter().map(ToString::to_string).collect();
    html! {
        h2 { "The kernel of " (of.destination()) }
        p {
            (text_and_dispatches(&kernel.wgsl, kernel.workgroup_size, &dispatches)) " It reads "
            @if sources.is_empty() { "nothing" } @else { (sources.join(", ")) } "."
        }
        pre.wgsl tabindex="0" aria-label="WGSL" {
            @for line in kernel.wgsl.lines() { (source_line(line)) }
        }
    }
}

/// Returns the data with which the page runs the program: the buffers with their contents, the
/// kernels, and checksums of the results. Returns `None` if there are too many bytes for a page.
fn run(
    program: &Program,
    kernels: &[Kernel],
    steps: &[usize],
    results: &[usize],
) -> Result<Option<Json>, ProgramError> {
    let numbers = |count: usize, value: fn(usize) -> BufferId| (0..count).map(value);
    let values: Vec<BufferId> = numbers(program.parameters().len(), BufferId::Parameter)
        .chain(numbers(program.constants().len(), BufferId::Constant))
        .chain(numbers(program.scratch().len(), BufferId::Scratch))
        .chain(numbers(program.results().len(), BufferId::Result))
        .collect();
    let total = |of: &dyn Fn(&BufferId) -> bool| {
        values.iter().filter(|value| of(value)).map(|&value| program.bytes_of(value)).sum::<u64>()
    };
    if total(&|_| true) > MOST_BYTES
        || total(&|of| matches!(of, BufferId::Constant(_))) > MOST_CONSTANTS
    {
        return Ok(None);
    }
    let inputs: Vec<Vec<u8>> = program
        .parameters()
        .iter()
        .zip(0..)
        .map(|(buffer, seed)| sample(buffer.bytes(), seed))
        .collect();
    let borrowed: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let images = program.run_on_host(&borrowed)?;
    let words = images.iter().map(|image| image.len().div_ceil(4)).max().unwrap_or(0);
    let block = words.div_ceil(MOST_SUMS).max(64);
    let number = |value: &BufferId| values.iter().position(|of| of == value);
    let mut sizes: Vec<u64> =
        values.iter().map(|&value| program.bytes_of(value).next_multiple_of(4).max(4)).collect();
    let mut run = vec![];
    for &step in steps {
        let (of, kernel) = (&program.steps()[step], &kernels[step]);
        let of = of.sources().iter().copied().chain([of.destination()]);
        let buffers: Vec<usize> = of.filter_map(|value| number(&value)).collect();
        for (&buffer, binding) in buffers.iter().zip(&kernel.bindings) {
            sizes[buffer] = sizes[buffer].max(binding.size_in_bytes);
        }
        let dispatches: Vec<[u32; 3]> = kernel.dispatches.iter().map(|of| of.workgroups).collect();
        run.push(json!({
            "entryPoint": kernel.entry_point, "dispatches": dispatches, "buffers": buffers,
        }));
    }
    let buffers = values.iter().zip(&sizes).map(|(&value, size)| {
        let mut of = json!({ "bytes": program.bytes_of(value), "size": size });
        match value {
            BufferId::Parameter(number) => of["seed"] = json!(number),
            BufferId::Constant(number) => {
                let mut bytes = program.constants()[number].clone();
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                let mut digits = String::new();
                for byte in bytes {
                    let _ = write!(digits, "{byte:02x}");
                }
                of["hex"] = json!(digits);
            }
            BufferId::Result(number) if results.contains(&number) => {
                of["result"] = json!(number);
                of["sums"] = json!(sums(&images[number], block));
            }
            BufferId::Scratch(_) | BufferId::Result(_) => {}
        }
        of
    });
    let buffers: Json = buffers.collect();
    Ok(Some(json!({ "buffers": buffers, "kernels": run, "block": block })))
}

/// Returns the same bytes that the script function `sampleImage` computes from a seed.
fn sample(bytes: u64, seed: u32) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32.wrapping_add(seed);
    let words = (0..bytes.div_ceil(4)).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()
    });
    let mut image: Vec<u8> = words.collect();
    image.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
    image
}

/// Returns a checksum of each block of `block` words. The checksum is FNV-1a, which a page computes
/// fast enough.
fn sums(image: &[u8], block: usize) -> Vec<u32> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    };
    let sum = |bytes: &[u8]| {
        let words = bytes.chunks(4).map(word);
        words.fold(0x811c_9dc5_u32, |sum, word| (sum ^ word).wrapping_mul(0x0100_0193))
    };
    image.chunks(block * 4).map(sum).collect()
}
