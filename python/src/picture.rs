//! Drawings for notebooks, terminals and files.

use std::path::PathBuf;

use anstream::adapter::strip_str;
use pyo3::{exceptions::PyOSError, prelude::*, types::PyDict};
use stridec::Error;

use crate::{
    errors::{invalid, raised, unsupported, with_advice},
    numbers::shown,
};

/// The number of columns of a drawing in text.
const COLUMNS: usize = 80;
/// The maximum size of an output in a notebook, in bytes.
const MOST_BYTES: usize = 300_000;
/// The maximum size of the text in an output beside its pictures, in bytes.
const MOST_TEXT_BYTES: usize = 10_000;

/// Returns a drawing without colours, which are for terminals only.
pub(crate) fn plain(drawing: &str) -> String {
    strip_str(drawing).to_string()
}

/// Returns HTML for a notebook: the drawing, and below it the page, which is closed at first. Its
/// scripts cannot access the notebook. A page or a drawing that is too large is left out.
fn notebook(svg: Option<String>, page: Option<String>) -> Option<String> {
    let svg = svg?;
    if svg.len() > MOST_BYTES / 2 {
        let size = svg.len().div_ceil(1000);
        return Some(format!(
            "<p>The picture has {size} kB. <code>save(\"picture.svg\")</code> and \
             <code>save(\"picture.html\")</code> write it to a file.</p>"
        ));
    }
    let page = page.map(|page| escaped(&page));
    let below = match page {
        Some(page) if svg.len() + page.len() < MOST_BYTES - MOST_TEXT_BYTES - 1000 => format!(
            "<details><summary>Explore</summary><iframe sandbox=\"allow-scripts\" \
             style=\"width:100%;height:640px;border:0\" srcdoc=\"{page}\"></iframe></details>"
        ),
        Some(page) => format!(
            "<p>The page to explore it has {} kB. <code>save(\"page.html\")</code> writes it to a \
             file.</p>",
            page.len().div_ceil(1000)
        ),
        None => String::new(),
    };
    Some(format!("<div style=\"overflow:auto\">{svg}{below}</div>"))
}

/// Escapes text for use in HTML, including attributes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An object with a picture.
pub(crate) trait Drawn {
    /// Returns the text that a notebook shows if it cannot show a picture.
    fn name(&self, py: Python<'_>) -> String;

    /// Returns the picture as an SVG document, or an error that says why there is none.
    fn svg(&self, py: Python<'_>) -> PyResult<String>;

    /// Returns the page to explore, or an error that says why there is none.
    fn page(&self, py: Python<'_>) -> PyResult<String>;

    /// Returns the picture as text.
    fn text(&self, py: Python<'_>, columns: usize) -> PyResult<String>;

    /// Returns HTML for a notebook, which is at most as large as an output may be.
    fn html(&self, py: Python<'_>) -> Option<String> {
        notebook(self.svg(py).ok(), self.page(py).ok())
    }
}

/// Returns the exception for an object without a picture.
pub(crate) fn nothing() -> PyErr {
    unsupported("self", "something with a picture", "nothing to draw")
}

/// Returns the exception for a page whose kernel cannot be compiled.
pub(crate) fn without_kernel(error: impl Into<Error>) -> PyErr {
    with_advice(raised(error), "; the page has the kernel, and .svg and .txt need none")
}

/// Returns a dictionary with the available forms of a drawing, by media type. The SVG document is
/// left out if all forms together would be too large, and a long text is cut.
pub(crate) fn bundle<'py>(py: Python<'py>, drawn: &impl Drawn) -> PyResult<Bound<'py, PyDict>> {
    let bundle = PyDict::new(py);
    let (mut text, html) = (drawn.name(py), drawn.html(py));
    if text.len() > MOST_TEXT_BYTES {
        let fits = |end: &usize| text.is_char_boundary(*end);
        let end = (0..=MOST_TEXT_BYTES - '…'.len_utf8()).rfind(fits).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    let size = html.as_ref().map_or(0, String::len) + text.len();
    let svg = drawn.svg(py).ok().filter(|svg| svg.len() + size <= MOST_BYTES);
    bundle.set_item("text/plain", text)?;
    for (kind, form) in [("text/html", html), ("image/svg+xml", svg)] {
        if let Some(form) = form {
            bundle.set_item(kind, form)?;
        }
    }
    Ok(bundle)
}

/// Returns HTML up to the end of the last line that fits into an output of a notebook, and a remark
/// about the rest.
pub(crate) fn first_lines(lines: impl IntoIterator<Item = String>) -> String {
    let (mut html, mut left_out) = (String::new(), 0);
    for line in lines {
        if left_out > 0 || html.len() + line.len() > MOST_BYTES / 2 {
            left_out += 1;
        } else {
            html.push_str(&line);
        }
    }
    if left_out > 0 {
        let remark = format!("… and {left_out} lines; save(\"page.html\") writes all\n");
        html.push_str(&escaped(&remark));
    }
    html
}

/// Saves a picture in the form that the name of the file ends in.
pub(crate) fn save(py: Python<'_>, path: &Bound<'_, PyAny>, drawn: &impl Drawn) -> PyResult<()> {
    let expected = "the path of a file that ends in .svg, .html or .txt";
    let refused = || invalid("path", expected, shown(path));
    let file: PathBuf = path.extract().map_err(|_| refused())?;
    let picture = match file.extension().and_then(|end| end.to_str()) {
        Some("svg") => drawn.svg(py)?,
        Some("html" | "htm") => drawn.page(py)?,
        Some("txt") => drawn.text(py, COLUMNS)?,
        _ => return Err(refused()),
    };
    std::fs::write(&file, picture).map_err(|error| with_path(&error, path))
}

/// Returns Python's exception for a file that cannot be written. Unlike `PyO3`'s own, it has the
/// path.
fn with_path(error: &std::io::Error, path: &Bound<'_, PyAny>) -> PyErr {
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else {
        return PyOSError::new_err(format!("{}: {text}", shown(path)));
    };
    let reason = text.split(" (os error").next().unwrap_or_default().to_owned();
    // On Windows, Python computes `errno` from the last argument.
    PyOSError::new_err((number, reason, path.clone().unbind(), number))
}
