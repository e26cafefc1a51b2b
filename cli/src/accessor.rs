//! `stridec compile accessor`: prints WGSL functions for the elements of a layout or of a program's
//! result.

use stridec::{
    Error,
    accessor::{Access, Accessor},
    shape::Shape,
};

use super::{
    args::{AccessArg, CompileArgs, Emit},
    errors::Failure,
    program,
    shape_arg::any_tensor,
};

/// The prefix of the functions' names in the accessor of a layout, if `--name` is not given.
const LAYOUT_NAME: &str = "tensor";
/// The prefix of the functions' names in the accessor of a program's result, if `--name` is not
/// given.
const RESULT_NAME: &str = "result";

/// Prints the functions of an accessor. An accessor is WGSL code without an entry point. A user's
/// own kernel calls it to find an element by its index.
///
/// Returns a failure if a flag is given that applies only to kernels.
pub(super) fn compile(args: &CompileArgs) -> Result<(), Failure> {
    let op = &args.op;
    if let Some(flag) = op.flags.given() {
        return Err(Failure::invalid(format!("{flag}: an accessor takes no such flag")));
    }
    let others = [
        ("--target", args.target.is_some()),
        ("--limit", !args.limits.is_empty()),
        ("--json", args.json.is_some()),
    ];
    if let Some((flag, _)) = others.into_iter().find(|&(_, given)| given) {
        return Err(Failure::invalid(format!(
            "{flag}: an accessor has no target; the kernel that calls it has"
        )));
    }
    if matches!(args.emit, Emit::Stages | Emit::Json | Emit::Pb) {
        return Err(Failure::invalid(
            "--emit: expected wgsl, spirv, msl, hlsl or glsl for an accessor, which is text alone",
        ));
    }
    let accessor = match op.module.as_deref() {
        None => {
            return Err(Failure::invalid(
                "accessor: missing; expected SHAPE, or `hlo @FILE` for the result of a program",
            ));
        }
        Some("hlo") => result(args)?,
        Some(shape) => layout(args, shape)?,
    };
    let bytes = match args.emit.language() {
        Some(language) => accessor.translate(language).map_err(Error::from)?,
        None => accessor.wgsl().as_bytes().to_vec(),
    };
    program::write(args.file.as_deref().unwrap_or("-".as_ref()), &bytes)
}

/// Returns the accessor of a layout. If `--access` is not given, the accessor can also store
/// elements, provided that the layout allows it.
fn layout(args: &CompileArgs, shape: &str) -> Result<Accessor, Failure> {
    if let Some(module) = &args.accessor_module {
        return Err(super::op::unexpected(module));
    }
    if args.output.is_some() {
        return Err(Failure::invalid("--output: a layout has no results; -o names the file"));
    }
    let tensor = any_tensor(shape)?;
    let name = args.name.as_deref().unwrap_or(LAYOUT_NAME);
    let of = |access| Accessor::of_layout(name, &tensor, access);
    let accessor = match args.access {
        Some(AccessArg::Read) => of(Access::Read),
        Some(AccessArg::ReadWrite) => of(Access::ReadWrite),
        None => match of(Access::ReadWrite) {
            Err(error) if error.is_store() => of(Access::Read),
            accessor => accessor,
        },
    };
    Ok(accessor.map_err(Error::from)?)
}

/// Returns the accessor of a program's result. `--output` selects the result, and may be omitted if
/// there is only one result.
fn result(args: &CompileArgs) -> Result<Accessor, Failure> {
    if args.access == Some(AccessArg::ReadWrite) {
        return Err(Failure::invalid("--access: the result of a program can only be read"));
    }
    let (op, file) = (&args.op, args.accessor_module.as_deref());
    let module = program::module(None, file, op.layouts, &op.flags)?;
    let number = match (&args.output, arrays(module.result())) {
        (Some(given), results) => program::result(given, results)?,
        (None, 1) => 0,
        (None, results) => {
            return Err(Failure::invalid(format!(
                "--output: missing; expected the number of one of the {results} results"
            )));
        }
    };
    let name = args.name.as_deref().unwrap_or(RESULT_NAME);
    Ok(Accessor::of_result(name, &module, number).map_err(Error::from)?)
}

/// Returns the number of arrays in a shape, including those in nested tuples. A shape that is not a
/// tuple is one array.
fn arrays(shape: &Shape) -> usize {
    if shape.is_array() { 1 } else { shape.tuple_shapes().iter().map(arrays).sum() }
}

/// Returns a failure if a flag is given that applies only to accessors. All other operations must
/// call this function.
pub(super) fn refuse_flags(args: &CompileArgs) -> Result<(), Failure> {
    let flags = [("--name", args.name.is_some()), ("--access", args.access.is_some())];
    if let Some((flag, _)) = flags.into_iter().find(|&(_, given)| given) {
        return Err(Failure::invalid(format!("{flag}: only `compile accessor` takes this flag")));
    }
    match &args.accessor_module {
        Some(module) => Err(super::op::unexpected(module)),
        None => Ok(()),
    }
}
