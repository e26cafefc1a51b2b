//! `stridec describe`: prints the lowered form of a shape.

use prost::Message;
use serde_json::{Value, json};
use stridec::{
    Error, Tensor,
    notation::{NotationError, TensorForm, description, read},
    proto::xla,
    shape::{ElementType, Shape, to_json, to_textproto},
};

use super::{
    args::{DescribeArgs, DescribeFormat},
    describe_sharding::Sharded,
    describe_text::describe_text,
    errors::{Exit, Failure},
    output::{Output, print},
    shape_arg::ShapeArg,
};

/// Runs `stridec describe`: reads the shape, and prints it in the format of `--format`.
pub(super) fn describe(args: &DescribeArgs) -> Result<(), Failure> {
    if let Some(tensor) = digits_alone(&args.shape) {
        return match args.format {
            DescribeFormat::Text => print(&describe_text(&tensor)),
            DescribeFormat::Json => print(&format!("{:#}\n", description(&tensor))),
            _ => Err(Error::from(NotationError::Digits).into()),
        };
    }
    let shape = ShapeArg::read(&args.shape)?;
    if let Some(sharding) = &args.sharding {
        let sharded = Sharded::new(&shape, sharding, args.devices)?;
        return match args.format {
            DescribeFormat::Text => print(&sharded.text()),
            DescribeFormat::Json => match &shape {
                ShapeArg::Tensor(tensor) => print(&format!("{:#}\n", sharded.json(tensor))),
                ShapeArg::Abstract(_, error) => Err(error.clone().into()),
            },
            _ => Err(Failure::invalid("--format: expected text or json with --sharding")),
        };
    }
    match args.format {
        DescribeFormat::Text => print(&text(&shape)?),
        DescribeFormat::Json => print(&format!("{:#}\n", shape_json(&shape)?)),
        DescribeFormat::Pb => {
            let mut output = Output::open("-".as_ref())?;
            output.write(&proto(&shape)?.encode_to_vec())?;
            output.finish()
        }
        DescribeFormat::Textproto => print(&to_textproto(&proto(&shape)?).map_err(Error::from)?),
        DescribeFormat::JsonProto => print(&to_json(&proto(&shape)?).map_err(Error::from)?),
    }
}

/// Parses a layout that can be described although no operation accepts it, because a dimension has
/// several strides that no XLA layout can express. Returns `None` for any other argument.
fn digits_alone(argument: &str) -> Option<Tensor> {
    read(argument).ok().filter(|tensor| *tensor.form() == TensorForm::Digits)
}

/// Returns a shape as an `xla.Shape`, in which default layouts are explicit, as in XLA. Returns a
/// failure for a shape with strides, because the message cannot express them.
fn proto(shape: &ShapeArg) -> Result<xla::Shape, Failure> {
    match shape.xla() {
        Some(shape) => Ok(xla::Shape::from(&shape.clone().with_default_layouts())),
        None => Err(Failure::new(
            Exit::Unsupported,
            format!("{shape}: an xla.Shape has no strides; use --format text or --format json"),
        )),
    }
}

/// Describes a shape as text. For a tuple, describes every array inside.
fn text(shape: &ShapeArg) -> Result<String, Failure> {
    match shape {
        ShapeArg::Tensor(tensor) => Ok(describe_text(tensor)),
        ShapeArg::Abstract(shape, error) => {
            let leaves = leaves(shape).ok_or_else(|| Failure::from(error.clone()))?;
            let leaves = leaves.iter().map(|(path, shape)| leaf_text(path, shape));
            Ok(format!("{shape}\n{}", leaves.collect::<String>()))
        }
    }
}

/// Describes one array of a tuple. `path` is its position in the tuple, such as `1,0`. If the array
/// has no memory, the text gives the reason instead.
fn leaf_text(path: &str, shape: &Shape) -> String {
    let text = match Tensor::try_from(shape.clone()) {
        Ok(tensor) => describe_text(&tensor),
        Err(error) => format!("{shape}\n  {error}\n"),
    };
    format!("\n#{path} {text}")
}

/// Describes a shape as JSON.
fn shape_json(shape: &ShapeArg) -> Result<Value, Failure> {
    match shape {
        ShapeArg::Tensor(tensor) => Ok(description(tensor)),
        ShapeArg::Abstract(shape, error) => match leaves(shape) {
            Some(leaves) => Ok(leaves_json(shape, &leaves)),
            None => Err(error.clone().into()),
        },
    }
}

/// Returns the lowered form of each array in a tuple. The field `path` is the position of the
/// array, such as `1,0`. If an array has no memory, the field `unsupported` gives the reason.
fn leaves_json(tuple: &Shape, leaves: &[(String, &Shape)]) -> Value {
    let leaf = |(path, shape): &(String, &Shape)| {
        let mut value = match Tensor::try_from((*shape).clone()) {
            Ok(tensor) => description(&tensor),
            Err(error) => json!({
                "shape": shape.to_string(),
                "element_type": shape.element_type().name(),
                "unsupported": error.to_string(),
            }),
        };
        value["path"] = json!(path);
        value
    };
    json!({
        "shape": tuple.to_string(),
        "element_type": "tuple",
        "leaves": leaves.iter().map(leaf).collect::<Vec<_>>(),
    })
}

/// Returns all arrays in a tuple, each with its path, such as `1,0`. Returns `None` if the shape is
/// not a tuple.
fn leaves(shape: &Shape) -> Option<Vec<(String, &Shape)>> {
    (shape.element_type() == ElementType::Tuple).then(|| {
        let mut leaves = Vec::new();
        collect(shape, "", &mut leaves);
        leaves
    })
}

/// Appends the arrays in `shape` to `leaves`. `path` is the path of `shape` itself, to which the
/// numbers of its parts are added.
fn collect<'a>(shape: &'a Shape, path: &str, leaves: &mut Vec<(String, &'a Shape)>) {
    if shape.element_type() != ElementType::Tuple {
        leaves.push((path.to_owned(), shape));
        return;
    }
    for (number, part) in shape.tuple_shapes().iter().enumerate() {
        let comma = if path.is_empty() { "" } else { "," };
        collect(part, &format!("{path}{comma}{number}"), leaves);
    }
}
