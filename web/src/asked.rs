//! The questions of the page. A question consists of texts that the reader typed, each under the
//! name of a field.

use serde_json::Value;
use stridec::{Error, Operation, Target, Tensor, hlo::Module, notation::ordered, window::Slice};

use crate::fault::{Fault, Field};

/// One question of the page.
pub(crate) struct Asked<'a> {
    fields: Value,
    module: &'a [u8],
}

impl<'a> Asked<'a> {
    /// Reads a question: a line of JSON, and after it the bytes of a module.
    pub(crate) fn read(input: &'a [u8]) -> Result<Self, Fault> {
        let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
        let (line, module) = input.split_at(end);
        let fields =
            serde_json::from_slice(line).map_err(|error| Fault::new(Field::None, error))?;
        Ok(Self { fields, module: module.get(1..).unwrap_or_default() })
    }

    /// Returns the text of a field, or an empty text if the question has no such field.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap_or_default()
    }

    /// Returns the whole number in a field, or `None` if the question has no such field.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.fields[name].as_i64()
    }

    pub(crate) fn target(&self) -> Result<Target, Fault> {
        let mut target = match self.text("target") {
            "" => Target::webgpu(),
            name => Target::preset(name).map_err(|error| Fault::new(Field::Target, error))?,
        };
        // A device may bind more than the target says.
        let most = self.number("maxStorageBufferBindingSize");
        if let Some(most) = most.and_then(|most| u64::try_from(most).ok()) {
            target.max_storage_buffer_binding_size = most;
        }
        Ok(target)
    }

    /// Returns the layout in a field, or a fault if it does not parse.
    pub(crate) fn tensor(&self, field: Field) -> Result<Tensor, Fault> {
        let text = self.text(field.name());
        text.parse().map_err(|error| match error {
            Error::Parse(error) => Fault::notation(field, text, &error),
            error => Fault::error(field, &error),
        })
    }

    /// Returns the layout in the field `to`: a whole one, or only an order such as `{1,3,2,0}` or
    /// `NHWC`. An order is completed by the element type of `source` and by `sizes`.
    pub(crate) fn destination(&self, source: &Tensor, sizes: &[u64]) -> Result<Tensor, Fault> {
        let text = self.text(Field::To.name());
        match ordered(text, source.descriptor(), sizes) {
            Some(tensor) => tensor.map_err(|error| Fault::notation(Field::To, text, &error)),
            None => self.tensor(Field::To),
        }
    }

    /// Returns the layout of the field `to` of a relayout or a slice, if it can be read.
    #[cfg(not(any(feature = "languages", feature = "package")))]
    pub(crate) fn completed(&self) -> Option<Tensor> {
        let source = self.tensor(Field::From).ok()?;
        let sizes = match self.text("kind") {
            "slice" => self.slice().ok()?.max_copied_elements(),
            _ => source.descriptor().sizes().to_vec(),
        };
        self.destination(&source, &sizes).ok()
    }

    /// Returns true if the question is about a slice. A question for a kernel is, if it has sizes.
    fn is_slice(&self) -> bool {
        let kind = self.text("kind");
        kind == "slice" || (kind == "kernel" && !self.text("sizes").is_empty())
    }

    fn slice(&self) -> Result<Slice, Fault> {
        Ok(Slice::new(
            self.numbers::<u64>(Field::Offsets)?,
            self.numbers::<u64>(Field::Sizes)?,
            self.numbers::<i64>(Field::Strides)?,
        ))
    }

    /// Returns the relayout or the slice that the question describes.
    pub(crate) fn operation(&self) -> Result<Operation, Fault> {
        let source = self.tensor(Field::From)?;
        let operation = if self.is_slice() {
            let slice = self.slice()?;
            let destination = match self.text(Field::To.name()).trim() {
                "" => None,
                // Whoever gives only an order means the extents of the result.
                _ => Some(self.destination(&source, &slice.max_copied_elements())?),
            };
            Operation::slice(source, &slice, destination)
        } else {
            let destination = self.destination(&source, source.descriptor().sizes())?;
            Operation::relayout(source, destination)
        };
        operation.map_err(|error| Fault::operation(&error))
    }

    /// Returns the numbers in a field, which are separated by commas. An empty field has no
    /// numbers.
    pub(crate) fn numbers<T: std::str::FromStr>(&self, field: Field) -> Result<Vec<T>, Fault> {
        let text = self.text(field.name());
        let mut start = 0;
        let mut numbers = vec![];
        for part in text.split(',').filter(|_| !text.trim().is_empty()) {
            let number = part.trim().parse().map_err(|_| {
                let place = start..start + part.len();
                Fault::new(field, expected(field, part.trim())).at(text, place)
            })?;
            numbers.push(number);
            start += part.len() + 1;
        }
        Ok(numbers)
    }

    /// Returns the bytes of the module.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.module
    }

    /// Returns the module as text, or `None` for a serialized message. Such a message has bytes
    /// that no text has.
    pub(crate) fn module_text(&self) -> Option<&'a str> {
        let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
        let is_text = self.module.iter().all(is_text);
        std::str::from_utf8(self.module).ok().filter(|_| is_text)
    }

    /// Returns the module, from text or from a serialized message.
    pub(crate) fn module(&self) -> Result<Module, Fault> {
        match self.module_text() {
            Some(text) => Module::parse(text).map_err(|error| Fault::hlo(text, &error)),
            None => Module::decode(self.bytes()).map_err(|error| Fault::new(Field::Module, error)),
        }
    }
}

/// Returns the expectation that `part` of a list of numbers does not meet.
fn expected(field: Field, part: &str) -> String {
    match part.parse::<i128>() {
        Ok(number) if number < 0 => {
            let why = match field {
                Field::Offsets => "; offsets count from the first index",
                Field::Sizes => {
                    "; a size is a number of indices, and only a stride may be negative"
                }
                _ => "",
            };
            format!("expected an integer of at least 0, got {number}{why}")
        }
        Ok(number) => format!("expected an integer below 2^63, got {number}"),
        Err(_) if part.is_empty() => "expected an integer, got none".to_owned(),
        Err(_) => format!("expected integers with commas between them, got `{part}`"),
    }
}
