//! The classes `stridec.MemoryReport` and `stridec.Difference`, and the functions `memory` and
//! `diff` that return them.

use std::fmt::Write as _;

use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyString},
};
use stridec::{
    hlo::{DefaultTiles, InstructionMemory, MemoryReport as Measured, cheapest_order},
    xla::human_readable_num_bytes as num_bytes,
};

use crate::{
    errors::invalid,
    layout::default_tiles,
    module::Given,
    numbers,
    picture::{self, Drawn},
    shape::{Described, Shape},
};

/// The number of buffers in a table.
const TOP: usize = 20;

/// The memory of a module's buffers, and the part of it that is padding. `str` is a table of the
/// buffers with the most padding.
///
/// >>> import stridec
/// >>> report = stridec.memory("f32[1024,3]{1,0:T(8,128)}")
/// >>> report.total_bytes, report.total_padding_bytes
/// (524288, 512000)
/// >>> report.instructions[0]["cheapest"]
/// 'f32[1024,3]{0,1:T(8,128)}'
#[pyclass(frozen, module = "stridec", eq)]
#[derive(PartialEq)]
pub(crate) struct MemoryReport {
    measured: Measured,
}

/// Returns the number of rows of a table.
fn top(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    numbers::number(given, "top")
}

#[pymethods]
impl MemoryReport {
    /// The size of all buffers, in bytes.
    #[getter]
    fn total_bytes(&self) -> u64 {
        self.measured.total_bytes
    }

    /// The number of bytes in all buffers that hold no element.
    #[getter]
    fn total_padding_bytes(&self) -> u64 {
        self.measured.total_padding_bytes
    }

    /// The size of the parameters, in bytes.
    #[getter]
    fn parameters_bytes(&self) -> u64 {
        self.measured.parameters_bytes
    }

    /// The size of the results, in bytes.
    #[getter]
    fn results_bytes(&self) -> u64 {
        self.measured.results_bytes
    }

    /// The size of the buffers that are neither parameters nor results, in bytes.
    #[getter]
    fn temporaries_bytes(&self) -> u64 {
        self.measured.temporaries_bytes
    }

    /// All instructions as dictionaries, the one with the most padding first. The orders of a
    /// single shape that `memory` gives tiles are the exception: the one with the fewest bytes
    /// comes first. The keys are `name`, `computation`, `opcode`, `shape`, `bytes`,
    /// `unpadded_bytes`, `has_buffer` and `cheapest`. For the first twenty, `cheapest` is a shape
    /// that takes fewer bytes, or None.
    #[getter]
    fn instructions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let instructions = self.measured.instructions.iter().enumerate();
        instructions.map(|(number, it)| instruction(py, it, number < TOP)).collect()
    }

    /// Returns the table of the `top` buffers with the most padding, and the totals.
    #[pyo3(signature = (top=20))]
    fn table(&self, #[pyo3(from_py_with = top)] top: usize) -> String {
        self.measured.table(top)
    }

    fn __str__(&self) -> String {
        self.measured.table(TOP)
    }

    fn __repr__(&self) -> String {
        let (all, padding) = (self.measured.total_bytes, self.measured.total_padding_bytes);
        let (all, padding) = (num_bytes(all), num_bytes(padding));
        format!("<stridec.MemoryReport: {all}, of it {padding} padding>")
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(py, path, self)
    }

    /// Returns the table for a notebook.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        self.html(py)
    }

    /// Returns bars for the buffers, which show elements and padding in two colours, as an SVG
    /// document.
    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        self.svg(py).ok()
    }

    /// Returns the table as text and for a notebook, and the bars as SVG.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _ = (include, exclude);
        picture::bundle(py, self)
    }
}

impl Drawn for MemoryReport {
    fn name(&self, _py: Python<'_>) -> String {
        self.__repr__()
    }

    fn svg(&self, _py: Python<'_>) -> PyResult<String> {
        Ok(bars(&self.measured))
    }

    fn page(&self, _py: Python<'_>) -> PyResult<String> {
        let report = &self.measured;
        let mut html = "<table><tr><th>bytes</th><th>unpadded</th><th>factor</th><th>shape</th>\
                        <th>instruction</th><th>cheaper</th></tr>"
            .to_owned();
        for it in report.instructions.iter().filter(|it| it.has_buffer).take(TOP) {
            let Some(memory) = it.memory else { continue };
            let (bytes, unpadded) = (num_bytes(memory.bytes), num_bytes(memory.unpadded_bytes));
            let cheaper = cheapest_order(&it.shape).map(|(shape, _)| shape.to_string());
            let cheaper = picture::escaped(&cheaper.unwrap_or_default());
            let (shape, name) =
                (picture::escaped(&it.shape.to_string()), picture::escaped(&it.name));
            let _ = write!(
                html,
                "<tr><td>{bytes}</td><td>{unpadded}</td><td>{:.1}x</td><td><code>{shape}</code></td>\
                 <td>{name}</td><td><code>{cheaper}</code></td></tr>",
                memory.expansion()
            );
        }
        let (all, padding) = (num_bytes(report.total_bytes), num_bytes(report.total_padding_bytes));
        let _ = write!(html, "</table><p>{all} in all, of it {padding} padding</p>");
        Ok(html)
    }

    fn text(&self, _py: Python<'_>, _columns: usize) -> PyResult<String> {
        Ok(self.__str__())
    }

    fn html(&self, py: Python<'_>) -> Option<String> {
        self.page(py).ok().map(|page| picture::first_lines([page]))
    }
}

fn instruction<'py>(
    py: Python<'py>,
    it: &InstructionMemory,
    is_worst: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &*it.name)?;
    dict.set_item("computation", &*it.computation)?;
    dict.set_item("opcode", &*it.opcode)?;
    dict.set_item("shape", it.shape.to_string())?;
    dict.set_item("bytes", it.memory.map(|memory| memory.bytes))?;
    dict.set_item("unpadded_bytes", it.memory.map(|memory| memory.unpadded_bytes))?;
    dict.set_item("has_buffer", it.has_buffer)?;
    let cheapest = if is_worst { cheapest_order(&it.shape) } else { None };
    dict.set_item("cheapest", cheapest.map(|(shape, _)| shape.to_string()))?;
    Ok(dict)
}

fn bars(report: &Measured) -> String {
    const WIDTH: f64 = 300.0;
    let shown: Vec<_> = report
        .instructions
        .iter()
        .filter(|it| it.has_buffer)
        .filter_map(|it| Some((it, it.memory?)))
        .take(TOP)
        .collect();
    let most = shown.iter().map(|(_, memory)| memory.bytes).max().unwrap_or(0).max(1);
    #[allow(clippy::cast_precision_loss)] // pixels need no 53 bits
    let pixels = |bytes: u64| WIDTH * bytes as f64 / most as f64;
    let height = 20 * shown.len() + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"{height}\" font-family=\"monospace\" font-size=\"12\">\
         <title>Bytes of each buffer: elements, then padding</title>"
    );
    for (row, (it, memory)) in shown.iter().enumerate() {
        let (top, data) = (20 * row + 5, pixels(memory.unpadded_bytes.min(memory.bytes)));
        let (padding, text) = (pixels(memory.padding_bytes()), top + 12);
        let label =
            picture::escaped(&format!("{} {} {}", num_bytes(memory.bytes), it.shape, it.name));
        let _ = write!(
            svg,
            "<rect x=\"5\" y=\"{top}\" width=\"{data:.1}\" height=\"15\" fill=\"#4477aa\"/>\
             <rect x=\"{:.1}\" y=\"{top}\" width=\"{padding:.1}\" height=\"15\" fill=\"#ccbb44\"/>\
             <text x=\"315\" y=\"{text}\" fill=\"currentColor\">{label}</text>",
            5.0 + data
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The changes between two modules. It is true if there are any. `str` lists them.
#[pyclass(frozen, module = "stridec", eq)]
#[derive(PartialEq)]
pub(crate) struct Difference {
    text: Option<String>,
}

#[pymethods]
impl Difference {
    fn __bool__(&self) -> bool {
        self.text.is_some()
    }

    fn __str__(&self) -> &str {
        self.text.as_deref().unwrap_or("no difference\n")
    }

    fn __repr__(&self) -> String {
        let first = self.__str__().lines().next().unwrap_or_default();
        format!("<stridec.Difference: {first}>")
    }

    /// Saves the changes to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(py, path, self)
    }

    /// Returns the text with colours, for a notebook.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        self.html(py)
    }

    /// Returns the text as an SVG document.
    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        self.svg(py).ok()
    }

    /// Returns the differences as text, for a notebook and as SVG.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _ = (include, exclude);
        picture::bundle(py, self)
    }
}

impl Difference {
    /// Returns the lines of the text as HTML with colours.
    fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.__str__().lines().map(|line| {
            let text = picture::escaped(line);
            match colour(line) {
                Some(colour) => format!("<span style=\"color:{colour}\">{text}</span>\n"),
                None => format!("{text}\n"),
            }
        })
    }
}

impl Drawn for Difference {
    fn name(&self, _py: Python<'_>) -> String {
        self.__repr__()
    }

    fn svg(&self, _py: Python<'_>) -> PyResult<String> {
        let lines: Vec<&str> = self.__str__().lines().collect();
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        // A letter of this font size is at most 8 pixels wide.
        let (width, height) = (8 * longest + 10, 18 * lines.len() + 10);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"monospace\" \
             font-size=\"12\"><title>What changed between two modules</title>"
        );
        for (row, line) in lines.iter().enumerate() {
            let (y, fill) = (18 * row + 18, colour(line).unwrap_or("currentColor"));
            let text = picture::escaped(line);
            let _ = write!(
                svg,
                "<text x=\"5\" y=\"{y}\" fill=\"{fill}\" xml:space=\"preserve\">{text}</text>"
            );
        }
        svg.push_str("</svg>");
        Ok(svg)
    }

    fn page(&self, _py: Python<'_>) -> PyResult<String> {
        Ok(format!("<pre>{}</pre>", self.lines().collect::<String>()))
    }

    fn text(&self, _py: Python<'_>, _columns: usize) -> PyResult<String> {
        Ok(self.__str__().to_owned())
    }

    fn html(&self, _py: Python<'_>) -> Option<String> {
        Some(format!("<pre>{}</pre>", picture::first_lines(self.lines())))
    }
}

/// Returns the colour of a line of a difference: green for an addition, red for a removal, and
/// `None` for any other line.
fn colour(line: &str) -> Option<&'static str> {
    match line.chars().next() {
        Some('-') => Some("#cc3311"),
        Some('+') => Some("#228833"),
        _ => None,
    }
}

/// Returns true for an array and for another object with a type and extents, such as JAX's
/// `ShapeDtypeStruct`.
fn is_array(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr(intern!(given.py(), "dtype"))?
        && given.hasattr(intern!(given.py(), "shape"))?)
}

/// Measures the memory of a module's buffers. `module` is a serialized module, HLO or StableHLO
/// text, a function that JAX lowered or compiled, XLA's out-of-memory report, or a single shape or
/// array.
///
/// >>> import stridec
/// >>> print(stridec.memory("f32[128,6]{1,0:T(8,128)}"))
///     bytes   unpadded   factor  shape
///     64.0K       3.0K    21.3x  f32[128,6]{1,0:T(8,128)}
///                               60.0K less as f32[128,6]{0,1:T(8,128)}
/// ...
///
/// With `tiles="tpu"`, shapes without tiles get the tiles of a TPU. A single shape is then listed
/// in every order of its dimensions, the cheapest order first.
///
/// >>> print(stridec.memory("f32[128,6]", tiles="tpu"))
///     bytes   unpadded   factor  shape
///      4.0K       3.0K     1.3x  f32[128,6]{0,1:T(8,128)}
///     64.0K       3.0K    21.3x  f32[128,6]{1,0:T(8,128)}
/// <BLANKLINE>
#[pyfunction]
#[pyo3(signature = (module, /, *, tiles = None))]
pub(crate) fn memory(
    py: Python<'_>,
    module: &Bound<'_, PyAny>,
    tiles: Option<&Bound<'_, PyAny>>,
) -> PyResult<MemoryReport> {
    let default = default_tiles(tiles)?;
    let shape = match module.cast::<Shape>() {
        Ok(shape) => Some(shape.get().described.clone()),
        Err(_) => match module.cast::<PyString>() {
            Ok(text) => Described::parse(&text.to_string_lossy()).ok(),
            Err(_) if is_array(module)? => Some(Shape::from_object(module, "module")?),
            Err(_) => None,
        },
    };
    let measured = match shape {
        Some(described) => match described.xla() {
            Some(shape) if default != DefaultTiles::None => Measured::of_orders(shape, default),
            Some(shape) => Measured::of_shape(shape),
            None => return Err(invalid("module", "an XLA shape", described)),
        },
        None => {
            let shapes =
                "a shape, such as \"f32[2,3]\" or Shape((2, 3), dtype=\"f32\"), an array, ";
            Given::of(module, "module", shapes)?.memory(py, default)?
        }
    };
    Ok(MemoryReport { measured })
}

/// Compares the layouts, the copies and the sizes of two modules.
///
/// >>> import stridec
/// >>> old = "ENTRY main { ROOT x = f32[64,3]{1,0} parameter(0) }"
/// >>> new = "ENTRY main { ROOT x = f32[64,3]{1,0:T(8,128)} parameter(0) }"
/// >>> print(stridec.diff(old, new))
/// changed: layouts, bytes
/// ...
/// >>> bool(stridec.diff(old, old))
/// False
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(crate) fn diff(
    py: Python<'_>,
    old: &Bound<'_, PyAny>,
    new: &Bound<'_, PyAny>,
) -> PyResult<Difference> {
    let report =
        |given: &Bound<'_, PyAny>, name| Given::of(given, name, "")?.memory(py, DefaultTiles::None);
    let (old, new) = (report(old, "old")?, report(new, "new")?);
    Ok(Difference { text: old.difference(&new) })
}
