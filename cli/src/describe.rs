//! `stridec describe`: prints the lowered form of a shape.

use prost::Message;
use stridec::{
    Error, Tensor,
    notation::{Array, Form, NotationError, read},
    proto::xla,
    shape::{ElementType, Shape, to_json, to_textproto},
};

use super::{
    args::{DescribeArgs, DescribeFormat},
    describe_json::{describe_json, leaves_json},
    describe_sharding::Sharded,
    describe_text::describe_text,
    errors::{Exit, Failure},
    output::{Output, print},
    shape_arg::tensor,
};

pub(super) fn describe(args: &DescribeArgs) -> Result<(), Failure> {
    if let Some(array) = digits_alone(&args.shape) {
        return match args.format {
            DescribeFormat::Text => print(&describe_text(&array)),
            DescribeFormat::Json => print(&format!("{:#}\n", describe_json(&array))),
            _ => Err(Error::from(NotationError::Digits).into()),
        };
    }
    let tensor = tensor(&args.shape)?;
    if let Some(sharding) = &args.sharding {
        let sharded = Sharded::new(&tensor, sharding, args.devices)?;
        return match args.format {
            DescribeFormat::Text => print(&sharded.text()),
            DescribeFormat::Json => print(&format!("{:#}\n", sharded.json(&tensor)?)),
            _ => Err(Failure::invalid("--format: expected text or json with --sharding")),
        };
    }
    match args.format {
        DescribeFormat::Text => print(&text(&tensor)?),
        DescribeFormat::Json => print(&format!("{:#}\n", json(&tensor)?)),
        DescribeFormat::Pb => {
            let mut output = Output::open("-".as_ref())?;
            output.write(&proto(&tensor)?.encode_to_vec())?;
            output.finish()
        }
        DescribeFormat::Textproto => print(&to_textproto(&proto(&tensor)?).map_err(Error::from)?),
        DescribeFormat::JsonProto => print(&to_json(&proto(&tensor)?).map_err(Error::from)?),
    }
}

/// The array of an argument that is neither an XLA shape nor strides.
fn digits_alone(argument: &str) -> Option<Array> {
    read(argument).ok().filter(|array| matches!(array.form(), Form::Digits))
}

/// Returns the proto of a shape, with default layouts written out, which is what XLA does.
fn proto(tensor: &Tensor) -> Result<xla::Shape, Failure> {
    match tensor {
        Tensor::Shape(shape) => Ok(xla::Shape::from(&shape.clone().with_default_layouts())),
        _ => Err(Failure::new(
            Exit::Unsupported,
            format!("{tensor}: an xla.Shape has no strides; use --format text or --format json"),
        )),
    }
}

fn text(tensor: &Tensor) -> Result<String, Failure> {
    let Some(leaves) = leaves(tensor) else {
        return Ok(describe_text(&Array::try_from(tensor.clone())?));
    };
    let leaves: Vec<String> = leaves.iter().map(|(path, shape)| leaf_text(path, shape)).collect();
    Ok(format!("{tensor}\n{}", leaves.concat()))
}

fn leaf_text(path: &str, shape: &Shape) -> String {
    let leaf = Tensor::Shape(shape.clone());
    let text = match Array::try_from(leaf.clone()) {
        Ok(array) => describe_text(&array),
        Err(error) => format!("{leaf}\n  {error}\n"),
    };
    format!("\n#{path} {text}")
}

fn json(tensor: &Tensor) -> Result<serde_json::Value, Failure> {
    match leaves(tensor) {
        None => Ok(describe_json(&Array::try_from(tensor.clone())?)),
        Some(leaves) => Ok(leaves_json(tensor, &leaves)),
    }
}

/// Returns the leaves of a tuple, each with its path, or `None` for other shapes.
fn leaves(tensor: &Tensor) -> Option<Vec<(String, &Shape)>> {
    match tensor {
        Tensor::Shape(shape) if shape.element_type() == ElementType::Tuple => {
            let mut leaves = Vec::new();
            collect(shape, "", &mut leaves);
            Some(leaves)
        }
        _ => None,
    }
}

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
