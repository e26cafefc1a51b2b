//! Modules in the forms that callers have: bytes, HLO or StableHLO text, or a function that JAX
//! lowered or compiled.

use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString, PyType},
};
use stridec::hlo::{DefaultTiles, MemoryReport, Module};

use crate::{
    errors::{at, invalid, with_advice},
    numbers::{counted, shown},
};

/// A module, and the function of JAX that it was made from.
pub(crate) struct Given {
    source: Source,
    /// The name of the argument.
    argument: String,
    pub(crate) call: Option<Call>,
    declared: Declared,
}

/// The layouts that a module declares for its parameters and results.
enum Declared {
    /// Those that are in the source.
    Own,
    /// Row-major ones, because JAX lowered the function without layouts. XLA still infers layouts
    /// when it converts a lowered function to HLO: a transpose is a result in another order. The
    /// StableHLO text of this `jax.stages.Lowered` has no layouts.
    RowMajor(Py<PyAny>),
    /// Those of this StableHLO text. JAX's `Format` is an attribute there, which the conversion to
    /// HLO drops.
    Text(String),
}

enum Source {
    /// A serialized `xla.HloModuleProto` or `xla.HloProto`.
    Proto(Vec<u8>),
    /// HLO text, StableHLO text, or XLA's out-of-memory report.
    Text(String),
}

/// The trees of a JAX function's arguments and results.
pub(crate) struct Call {
    arguments: Py<PyAny>,
    results: Py<PyAny>,
    /// The numbers of the flat arguments that are parameters of the module, or `None` if all are.
    kept: Option<Vec<usize>>,
}

impl Given {
    /// Returns the module that an argument contains. `jax.stages.Lowered`, `jax.stages.Compiled`
    /// and `jax.export.Exported` are recognized by their methods. `others` are the other values
    /// that the argument may have, for messages.
    pub(crate) fn of(given: &Bound<'_, PyAny>, argument: &str, others: &str) -> PyResult<Self> {
        let py = given.py();
        if let Ok(text) = given.cast::<PyString>() {
            if is_path(&text.to_string_lossy()) {
                let expected = "a module, as text or bytes: open(path, \"rb\").read()";
                return Err(invalid(argument, expected, format!("the path {}", shown(given))));
            }
            let source = Source::Text(text.to_string_lossy().into_owned());
            let (argument, declared) = (argument.to_owned(), Declared::Own);
            return Ok(Self { source, argument, call: None, declared });
        }
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(Self {
                source: Source::Proto(bytes.as_bytes().to_vec()),
                argument: argument.to_owned(),
                call: None,
                declared: Declared::Own,
            });
        }
        // `jax.stages.Traced` has the arguments already.
        if given.hasattr(intern!(py, "jaxpr"))?
            && let Some(method) = given.getattr_opt(intern!(py, "lower"))?
        {
            let lowered = method.call0()?;
            if lowered.hasattr(intern!(py, "jaxpr"))? && lowered.hasattr(intern!(py, "lower"))? {
                let expected = "a function that `lower()` lowers";
                return Err(invalid(argument, expected, shown(given)));
            }
            return Self::of(&lowered, argument, others);
        }
        if let Some(method) = given.getattr_opt(intern!(py, "mlir_module"))? {
            let source = Source::Text(method.call0()?.extract()?);
            let (argument, declared) = (argument.to_owned(), Declared::Own);
            return Ok(Self { source, argument, call: Call::of(given)?, declared });
        }
        let mut declared = Declared::Own;
        let module = if let Some(method) = given.getattr_opt(intern!(py, "compiler_ir"))? {
            let arguments = PyDict::new(py);
            arguments.set_item(intern!(py, "dialect"), "hlo")?;
            declared = Declared::by_jax(given)?;
            method.call((), Some(&arguments))?
        } else if let Some(method) = given.getattr_opt(intern!(py, "runtime_executable"))? {
            method.call0()?.call_method0(intern!(py, "hlo_modules"))?.get_item(0)?
        } else {
            given.clone()
        };
        let Some(method) = module.getattr_opt(intern!(py, "as_serialized_hlo_module_proto"))?
        else {
            let is_function = given.is_callable() && !given.is_instance_of::<PyType>();
            let expected = if is_function || given.hasattr(intern!(py, "eqns"))? {
                LOWER
            } else {
                "a serialized HloModuleProto, HLO or StableHLO text, jax.stages.Lowered or Compiled, or \
                 jax.export.Exported"
            };
            return Err(invalid(argument, &format!("{others}{expected}"), shown(given)));
        };
        let bytes: Vec<u8> = method.call0()?.cast::<PyBytes>()?.as_bytes().to_vec();
        Ok(Self {
            source: Source::Proto(bytes),
            argument: argument.to_owned(),
            call: Call::of(given)?,
            declared,
        })
    }

    pub(crate) fn module(&self, py: Python<'_>) -> PyResult<Module> {
        py.detach(|| match (&self.source, &self.declared) {
            (_, Declared::Text(text)) | (Source::Text(text), _) => Module::parse(text),
            (Source::Proto(bytes), Declared::Own) => Module::decode(bytes),
            (Source::Proto(bytes), Declared::RowMajor(_)) => {
                Ok(Module::decode(bytes)?.with_default_layouts())
            }
        })
        .map_err(|error| at(&self.argument, error))
    }

    pub(crate) fn memory(&self, py: Python<'_>, tiles: DefaultTiles) -> PyResult<MemoryReport> {
        let text = match &self.declared {
            Declared::RowMajor(lowered) => {
                Some(lowered.bind(py).call_method0(intern!(py, "as_text"))?.extract::<String>()?)
            }
            _ => None,
        };
        py.detach(|| match (&self.source, &self.declared, &text) {
            (_, Declared::Text(text), _) | (_, _, Some(text)) | (Source::Text(text), _, _) => {
                MemoryReport::of_text_tiled(text, tiles)
            }
            (Source::Proto(bytes), _, _) => MemoryReport::of_proto_tiled(bytes, tiles),
        })
        .map_err(|error| at(&self.argument, error))
    }
}

/// The expected argument in a message about a function that is not lowered.
pub(crate) const LOWER: &str =
    "a function that is lowered for its arguments, as in jax.jit(f).lower(x)";

impl Declared {
    /// Returns the layouts that JAX declares for a `jax.stages.Lowered`.
    fn by_jax(lowered: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = lowered.py();
        // The text without its constants is short.
        let options = PyDict::new(py);
        options.set_item(intern!(py, "large_elements_limit"), 1)?;
        let short = lowered
            .call_method1(intern!(py, "compiler_ir"), ("stablehlo",))?
            .getattr(intern!(py, "operation"))?
            .call_method(intern!(py, "get_asm"), (), Some(&options))?;
        if !short.extract::<String>()?.contains("mhlo.layout_mode = \"{") {
            return Ok(Self::RowMajor(lowered.clone().unbind()));
        }
        let text = lowered.call_method0(intern!(py, "as_text"))?;
        Ok(Self::Text(text.extract()?))
    }
}

/// Returns true if a text is the path of a file that may contain a module.
fn is_path(text: &str) -> bool {
    let ends = [".pb", ".pbtxt", ".txt", ".hlo", ".mlir"];
    !text.contains(['\n', '{', '(', '[']) && ends.iter().any(|end| text.ends_with(end))
}

impl Call {
    fn of(given: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = given.py();
        let tree = |name| Ok::<_, PyErr>(given.getattr_opt(name)?.map(Bound::unbind));
        let (Some(arguments), Some(results)) =
            (tree(intern!(py, "in_tree"))?, tree(intern!(py, "out_tree"))?)
        else {
            return Ok(None);
        };
        Ok(Some(Self { arguments, results, kept: kept(given) }))
    }

    /// Returns the trees and the numbers of the kept arguments, for a pickle.
    #[allow(clippy::type_complexity)] // they are arguments of `restored`
    pub(crate) fn saved(&self, py: Python<'_>) -> (Py<PyAny>, Py<PyAny>, Option<Vec<usize>>) {
        (self.arguments.clone_ref(py), self.results.clone_ref(py), self.kept.clone())
    }

    /// Returns what [`saved`](Self::saved) saved.
    pub(crate) fn restored(
        (arguments, results, kept): (Py<PyAny>, Py<PyAny>, Option<Vec<usize>>),
    ) -> Self {
        Self { arguments, results, kept }
    }

    /// Returns the place of each result in the tree of results, such as "cache.0". The name of a
    /// tree that is a single array is empty.
    pub(crate) fn result_names(&self, py: Python<'_>, count: usize) -> PyResult<Vec<String>> {
        let numbers = PyList::new(py, 0..count)?;
        let tree = self.results.bind(py).call_method1(intern!(py, "unflatten"), (numbers,))?;
        places(&tree)
    }

    /// Returns the place of each parameter of the module in the arguments, such as "args.0.cache"
    /// or, for an argument that is passed by name, "x.0".
    pub(crate) fn parameter_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let tree = self.arguments.bind(py);
        let count: usize = tree.getattr(intern!(py, "num_leaves"))?.extract()?;
        let tree = tree.call_method1(intern!(py, "unflatten"), (PyList::new(py, 0..count)?,))?;
        let positional = places(&tree.get_item(0)?)?;
        let positional = positional.into_iter().map(|place| format!("args.{place}"));
        let all: Vec<String> = positional.chain(places(&tree.get_item(1)?)?).collect();
        let Some(kept) = &self.kept else { return Ok(all) };
        Ok(kept.iter().filter_map(|&number| all.get(number).cloned()).collect())
    }

    /// Returns the flat arguments of a call that are parameters of the module. `arguments` is the
    /// pair of positional and named arguments.
    pub(crate) fn flatten<'py>(
        &self,
        py: Python<'py>,
        arguments: Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let tree = self.arguments.bind(py);
        let Ok(leaves) = tree.call_method1(intern!(py, "flatten_up_to"), (&arguments,)) else {
            let other = || invalid("arguments", &shown_tree(tree), "another tree");
            return Err(mismatch(tree, &arguments).ok().flatten().unwrap_or_else(other));
        };
        self.parameters(py, leaves.try_iter()?.collect::<PyResult<_>>()?)
    }

    /// Returns those of the flat arguments of a function that are parameters of the module. Returns
    /// `arguments` unchanged if they are not as many as the function has.
    pub(crate) fn parameters<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(kept) = &self.kept else { return Ok(arguments) };
        let count: usize = self.arguments.bind(py).getattr(intern!(py, "num_leaves"))?.extract()?;
        if arguments.len() != count {
            return Ok(arguments);
        }
        Ok(kept.iter().filter_map(|&number| arguments.get(number).cloned()).collect())
    }

    /// Returns the results in the tree that the function returns.
    pub(crate) fn unflatten<'py>(
        &self,
        py: Python<'py>,
        results: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.results.bind(py).call_method1(intern!(py, "unflatten"), (results,))
    }
}

/// Returns the place of each leaf of a tree, such as "cache.0".
fn places(tree: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = tree.py();
    // JAX is imported already, because trees of calls are its objects.
    let utilities = py.import("jax.tree_util")?;
    let leaves = utilities.call_method1("tree_flatten_with_path", (tree,))?.get_item(0)?;
    let options = PyDict::new(py);
    options.set_item("simple", true)?;
    options.set_item("separator", ".")?;
    let name = |leaf: PyResult<Bound<'_, PyAny>>| {
        let name = utilities.call_method("keystr", (leaf?.get_item(0)?,), Some(&options))?;
        name.extract::<String>()
    };
    leaves.try_iter()?.map(name).collect()
}

/// The end of a message about an argument `device` of a call.
pub(crate) const DEVICE_ADVICE: &str = "; `device=` is an argument of `Program` and of `run`";

/// Returns the exception for arguments that are not in the tree of a function, or `None` if no
/// argument is found to differ. `arguments` is the pair of positional and named arguments.
fn mismatch(tree: &Bound<'_, PyAny>, arguments: &Bound<'_, PyAny>) -> PyResult<Option<PyErr>> {
    let parts = tree.call_method0("children")?;
    let positional = parts.get_item(0)?.call_method0("children")?;
    let (named, values) = (parts.get_item(1)?, arguments.get_item(1)?);
    let names: Vec<String> = named.call_method0("node_data")?.get_item(1)?.extract()?;
    let mut given: Vec<String> =
        values.try_iter()?.map(|name| name?.extract()).collect::<PyResult<_>>()?;
    given.sort_unstable();
    let count = arguments.get_item(0)?.len()?;
    if count != positional.len()? || names != given {
        let expected = call(positional.len()?, &names);
        let error = invalid("arguments", &expected, call(count, &given));
        let is_device = given.iter().any(|name| name == "device") && names != given;
        return Ok(Some(if is_device { with_advice(error, DEVICE_ADVICE) } else { error }));
    }
    let differs = |tree: PyResult<Bound<'_, PyAny>>, value: Bound<'_, PyAny>, name: String| {
        let tree = tree?;
        let fits = tree.call_method1("flatten_up_to", (&value,)).is_ok();
        Ok::<_, PyErr>((!fits).then(|| invalid(&name, &shown_tree(&tree), shown(&value))))
    };
    for (number, tree) in positional.try_iter()?.enumerate() {
        let value = arguments.get_item(0)?.get_item(number)?;
        if let Some(error) = differs(tree, value, format!("arguments[{number}]"))? {
            return Ok(Some(error));
        }
    }
    for (name, tree) in names.iter().zip(named.call_method0("children")?.try_iter()?) {
        if let Some(error) = differs(tree, values.get_item(name)?, format!("arguments[{name:?}]"))?
        {
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// Returns a tree of arguments as text. A star is an array.
fn shown_tree(tree: &Bound<'_, PyAny>) -> String {
    let text = tree.to_string();
    let inside = text.strip_prefix("PyTreeDef(").and_then(|text| text.strip_suffix(')'));
    format!("the tree {}", inside.unwrap_or(&text))
}

/// Returns a description of the arguments of a call.
fn call(positional: usize, names: &[String]) -> String {
    let positional = counted(positional, "positional argument");
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => positional,
        [name] => format!("{positional} and keyword {name}"),
        names => format!("{positional} and keywords {}", names.join(", ")),
    }
}

/// Returns the numbers of the arguments that JAX kept. JAX drops the arguments that a function does
/// not use, and records the others in attributes. Most of these attributes are private and may
/// change. Returns `None` if no such attribute is found; the module must then have every argument.
fn kept(given: &Bound<'_, PyAny>) -> Option<Vec<usize>> {
    let found = given
        .getattr("_lowering")
        .and_then(|lowering| lowering.getattr("compile_args")?.get_item("kept_var_idx"))
        .or_else(|_| given.getattr("_executable")?.getattr("_kept_var_idx"))
        .or_else(|_| given.getattr("module_kept_var_idx"))
        .ok()?;
    let mut kept: Vec<usize> =
        found.try_iter().ok()?.map(|number| number?.extract()).collect::<PyResult<_>>().ok()?;
    kept.sort_unstable();
    Some(kept)
}
