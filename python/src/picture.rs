//! Drawings for notebooks and terminals.

use anstream::adapter::strip_str;
use pyo3::{prelude::*, types::PyDict};
use stridec::explain::{self, Picture};

/// The number of columns of a drawing in text.
const COLUMNS: usize = 80;

/// Returns the drawing as text without colours, which `repr` must not contain.
pub(crate) fn terminal(picture: &Picture<'_>) -> String {
    strip_str(&explain::terminal(picture, COLUMNS)).to_string()
}

/// Returns the drawing, or the name if there is none.
pub(crate) fn text(name: &str, drawing: Option<String>) -> String {
    drawing.map_or_else(|| name.to_owned(), |drawing| drawing.trim_end().to_owned())
}

/// Returns HTML that embeds a page in another one. Its scripts cannot access the notebook.
pub(crate) fn frame(page: &str) -> String {
    let page = escaped(page);
    format!(
        "<iframe sandbox=\"allow-scripts\" style=\"width:100%;height:640px;border:0\" srcdoc=\"{page}\"></iframe>"
    )
}

/// Escapes text for use in HTML, including attributes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns a dictionary with the available forms of a drawing, by media type.
pub(crate) fn bundle(
    py: Python<'_>,
    text: String,
    html: Option<String>,
    svg: Option<String>,
) -> PyResult<Bound<'_, PyDict>> {
    let bundle = PyDict::new(py);
    bundle.set_item("text/plain", text)?;
    for (kind, form) in [("text/html", html), ("image/svg+xml", svg)] {
        if let Some(form) = form {
            bundle.set_item(kind, form)?;
        }
    }
    Ok(bundle)
}
