//! Drawings for notebooks, terminals and files.

use std::path::PathBuf;

use anstream::adapter::strip_str;
use pyo3::{prelude::*, types::PyDict};

use crate::{
    errors::{invalid, unsupported},
    numbers::shown,
};

/// The number of columns of a drawing in text.
pub(crate) const COLUMNS: usize = 80;
/// The maximum size of an output in a notebook, in bytes.
const MOST_BYTES: usize = 300_000;

/// A form in which a picture is saved.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Svg,
    Html,
    Text,
}

/// Returns a drawing without colours, which are for terminals only.
pub(crate) fn plain(drawing: &str) -> String {
    strip_str(drawing).to_string()
}

/// Returns HTML for a notebook: the drawing, and below it the page, which is closed at first. Its
/// scripts cannot access the notebook. A page or a drawing that is too large is left out.
pub(crate) fn notebook(svg: Option<String>, page: Option<String>) -> Option<String> {
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
        Some(page) if svg.len() + page.len() < MOST_BYTES - 1000 => format!(
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

/// Returns a dictionary with the available forms of a drawing, by media type. The SVG document is
/// left out if all forms together would be too large.
pub(crate) fn bundle(
    py: Python<'_>,
    text: String,
    html: Option<String>,
    svg: Option<String>,
) -> PyResult<Bound<'_, PyDict>> {
    let bundle = PyDict::new(py);
    let size = html.as_ref().map_or(0, String::len) + text.len();
    let svg = svg.filter(|svg| svg.len() + size <= MOST_BYTES);
    bundle.set_item("text/plain", text)?;
    for (kind, form) in [("text/html", html), ("image/svg+xml", svg)] {
        if let Some(form) = form {
            bundle.set_item(kind, form)?;
        }
    }
    Ok(bundle)
}

/// Saves a picture in the form that the name of the file ends in.
pub(crate) fn save(
    path: &Bound<'_, PyAny>,
    draw: impl FnOnce(Form) -> PyResult<Option<String>>,
) -> PyResult<()> {
    let expected = "the path of a file that ends in .svg, .html or .txt";
    let refused = || invalid("path", expected, shown(path));
    let file: PathBuf = path.extract().map_err(|_| refused())?;
    let form = match file.extension().and_then(|end| end.to_str()) {
        Some("svg") => Form::Svg,
        Some("html" | "htm") => Form::Html,
        Some("txt") => Form::Text,
        _ => return Err(refused()),
    };
    let none = || unsupported("self", "something with a picture", "nothing to draw");
    let picture = draw(form)?.ok_or_else(none)?;
    Ok(std::fs::write(file, picture)?)
}
