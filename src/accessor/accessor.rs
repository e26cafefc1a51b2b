//! [`Accessor`]: functions that access a layout or a program's result, and the buffers that they
//! use.

use super::AccessorError;
#[cfg(feature = "backends")]
use crate::{
    backend::{BackendError, Language, translate_functions},
    wgsl::Binding,
};
use crate::{
    hlo::Module,
    nest::{CopyNest, build},
    notation::Tensor,
    program::{BufferId, Program},
    schedule::check_words,
    stride::StrideDescriptor,
    wgsl::{self, AccessorFunctions, ReadBuffer},
    window::Window,
};

/// The greatest size of a constant, in bytes, that is written into the text of the functions. With
/// a greater limit, the text would become unreadable and the shader slow to compile.
const MAX_CONSTANT_BYTES: usize = 4096;

/// The functions that an accessor of a layout offers to its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The functions `offset` and `bits`. The buffer may be declared as `read` or as `read_write`.
    Read,
    /// The functions `offset`, `bits` and `store`. The buffer must be declared as `read_write`.
    ReadWrite,
}

/// WGSL functions that find the elements of an array in memory. The [module](super) lists them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Accessor {
    name: String,
    wgsl: String,
    buffers: Vec<AccessorBuffer>,
    element_bits: u32,
}

/// A storage buffer that the functions use. The caller declares it as `array<u32>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AccessorBuffer {
    /// The name of the variable.
    pub name: String,
    /// The least number of bytes that the caller must bind: the size of the array in memory,
    /// rounded up to whole words.
    pub size_in_bytes: u64,
    /// The index of the last word that is accessed for coordinates inside the array. If it is
    /// `None`, no word is accessed and the buffer need not be declared.
    pub last_word: Option<u64>,
    /// True if the functions write the buffer.
    pub writable: bool,
}

impl Accessor {
    /// Writes the functions for a layout. They access a buffer that the caller declares as `name`.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not an identifier, if the number of elements or words of the
    /// array exceeds 32 bits, or if stores are requested but impossible: the elements are not whole
    /// words, or the layout cannot be a destination.
    pub fn of_layout(name: &str, layout: &Tensor, access: Access) -> Result<Self, AccessorError> {
        check_name(name)?;
        let descriptor = layout.descriptor();
        let (bits, extents) = (descriptor.element_bits(), descriptor.sizes());
        let stores = access == Access::ReadWrite;
        if stores && !bits.is_multiple_of(32) {
            return Err(AccessorError::StoreWidth { bits });
        }
        let title = format!("{name}: {layout}, elements of {bits} bits");
        if extents.contains(&0) {
            let functions = wgsl::of_nothing(name, extents.len(), bits, stores, true);
            let wgsl = format!("{}\n{functions}", wgsl::comment(&[title, NO_ELEMENTS.into()]));
            return Self::checked(name, wgsl, Vec::new(), bits);
        }
        let strided = |error| AccessorError::Stride { error: Box::new(error) };
        let dense = dense(descriptor).map_err(strided)?;
        let identity = Window::identity(extents);
        let refused = |error| AccessorError::Nest { error: Box::new(error) };
        let nest = build(descriptor, &dense, &identity).map_err(refused)?;
        if stores && nest.dst_bits() < bits {
            return Err(AccessorError::StorePrefix { bytes: descriptor.prefix_bytes() });
        }
        if stores {
            build(&dense, descriptor, &identity)
                .map_err(|error| AccessorError::StoreLayout { error: Box::new(error) })?;
        }
        let bytes = descriptor.image_bytes();
        let functions = AccessorFunctions {
            name,
            nest: &nest,
            extents,
            parts: bits / nest.dst_bits(),
            sources: vec![ReadBuffer { name: name.to_owned(), words: bytes.div_ceil(4) }],
        };
        let buffers = buffers(&functions, stores)?;
        let mut header = vec![title];
        header.extend(buffers.iter().map(|buffer| described(buffer, "")));
        header.push(coordinates(extents));
        let prefix = descriptor.prefix_bytes() * 8 / u64::from(nest.dst_bits());
        let wgsl = format!("{}\n{}", wgsl::comment(&header), functions.of_layout(prefix, stores));
        Self::checked(name, wgsl, buffers, bits)
    }

    /// Writes the function `bits` for one array of a module's result. It computes an element from
    /// the parameters of the module, which the caller declares as buffers `p0`, `p1` and so on.
    /// Each array in a tuple has a number of its own.
    ///
    /// `result` is the number of the array in the module's result. The array is not stored, so its
    /// layout has no effect except for the width of its elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not an identifier, if the module has no such result, if an
    /// instruction does more than move data, or if the result needs a scratch buffer, a large
    /// constant or numbers of more than 32 bits.
    pub fn of_result(name: &str, module: &Module, result: usize) -> Result<Self, AccessorError> {
        check_name(name)?;
        let results = Program::result_count(module);
        if result >= results {
            return Err(AccessorError::Result { given: result, results });
        }
        let program = Program::lower_dense(module, result)?;
        let array = &program.results()[0];
        let (bits, extents) = (array.descriptor().element_bits(), array.descriptor().sizes());
        let [step] = program.steps() else {
            let shapes = program.scratch().iter().map(|of| of.shape().without_layout().to_string());
            let shapes = shapes.collect::<Vec<_>>().join(", ");
            return Err(AccessorError::Scratch { result, shapes });
        };
        let shape = array.shape().without_layout();
        let title = format!(
            "{name}: {shape}, result {result} of {}, elements of {bits} bits",
            program.name()
        );
        if extents.contains(&0) {
            let functions = wgsl::of_nothing(name, extents.len(), bits, false, false);
            let wgsl = format!("{}\n{functions}", wgsl::comment(&[title, NO_ELEMENTS.into()]));
            return Self::checked(name, wgsl, Vec::new(), bits);
        }
        let nest = step.nest();
        let source = |&source: &BufferId| ReadBuffer {
            name: match source {
                BufferId::Constant(number) => format!("{name}_c{number}"),
                BufferId::Parameter(number) => format!("p{number}"),
                BufferId::Scratch(_) | BufferId::Result(_) => unreachable!("the only step"),
            },
            words: program.bytes_of(source).div_ceil(4),
        };
        let functions = AccessorFunctions {
            name,
            nest,
            extents,
            parts: bits / nest.dst_bits(),
            sources: step.sources().iter().map(source).collect(),
        };
        let all = buffers(&functions, false)?;
        let mut header = vec![title];
        let (mut buffers, mut constants) = (Vec::<AccessorBuffer>::new(), String::new());
        for (&value, buffer) in step.sources().iter().zip(all) {
            if let Some(known) = buffers.iter_mut().find(|known| known.name == buffer.name) {
                // The cases of a nest and its lookups may both read this buffer, so the later last
                // word counts.
                known.last_word = known.last_word.max(buffer.last_word);
            } else if let BufferId::Constant(number) = value {
                let bytes = &program.constants()[number];
                let declared = format!("const {}:", buffer.name);
                if bytes.len() > MAX_CONSTANT_BYTES {
                    let (given, limit) = (bytes.len(), MAX_CONSTANT_BYTES);
                    return Err(AccessorError::Constant { result, given, limit });
                }
                if !constants.contains(&declared) {
                    constants.push_str(&wgsl::constant(&buffer.name, bytes));
                }
            } else {
                buffers.push(buffer);
            }
        }
        buffers.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        for buffer in &buffers {
            let number = buffer.name[1..].parse().map_or(0, |number: usize| number);
            header.push(described(buffer, &program.parameters()[number].shape().to_string()));
        }
        header.push(coordinates(extents));
        let wgsl = format!("{}\n{constants}{}", wgsl::comment(&header), functions.of_result());
        Self::checked(name, wgsl, buffers, bits)
    }

    /// Returns an accessor with these functions, or an error if naga rejects them.
    fn checked(
        name: &str,
        wgsl: String,
        buffers: Vec<AccessorBuffer>,
        element_bits: u32,
    ) -> Result<Self, AccessorError> {
        let accessor = Self { name: name.to_owned(), wgsl, buffers, element_bits };
        wgsl::validate(&accessor.declared())
            .map_err(|error| AccessorError::Wgsl { name: name.to_owned(), error })?;
        Ok(accessor)
    }

    /// Returns the functions as WGSL text. The caller adds the declarations of the buffers.
    #[must_use]
    pub fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// Returns the functions as WGSL text, with declarations of the buffers before them. The
    /// buffers are bindings 0, 1 and so on of group 0, in the order of [`buffers`](Self::buffers).
    #[must_use]
    pub fn declared(&self) -> String {
        let declaration = |(number, buffer): (usize, &AccessorBuffer)| {
            let access = if buffer.writable { "read_write" } else { "read" };
            let name = &buffer.name;
            format!("@group(0) @binding({number}) var<storage, {access}> {name}: array<u32>;\n")
        };
        let declarations: String = self.buffers.iter().enumerate().map(declaration).collect();
        format!("{declarations}\n{}", self.wgsl)
    }

    /// Translates the functions to another language, as text or as SPIR-V words in little-endian
    /// order. The translation declares the buffers.
    ///
    /// Buffers have the numbers of [`declared`](Self::declared). MSL has no buffers outside a
    /// kernel's arguments, so each function takes its buffers as additional arguments. SPIR-V is a
    /// library: it has the capability `Linkage` and exports every function under its name. Only the
    /// SPIR-V clamps indices to the buffers.
    ///
    /// # Errors
    ///
    /// Returns an error for GLSL, in which naga writes only whole shaders.
    #[cfg(feature = "backends")]
    pub fn translate(&self, language: Language) -> Result<Vec<u8>, BackendError> {
        let binding = |(number, buffer): (u32, &AccessorBuffer)| Binding {
            group: 0,
            binding: number,
            writable: buffer.writable,
            size_in_bytes: buffer.size_in_bytes,
        };
        let bindings: Vec<Binding> = (0..).zip(&self.buffers).map(binding).collect();
        translate_functions(&self.wgsl, &self.declared(), &bindings, language)
    }

    /// Returns the common start of the names of all functions.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the buffers that the functions use. An array without elements has none.
    #[must_use]
    pub fn buffers(&self) -> &[AccessorBuffer] {
        &self.buffers
    }

    /// Returns the number of bits that the function `bits` returns.
    #[must_use]
    pub fn element_bits(&self) -> u32 {
        self.element_bits
    }
}

/// The comment of an accessor for an array without elements.
const NO_ELEMENTS: &str = "The array has no elements, so that no coordinates are inside it.";

/// Returns an error if the names of functions cannot begin with `name`.
fn check_name(name: &str) -> Result<(), AccessorError> {
    let is_letter = |letter: char| letter.is_ascii_alphabetic();
    let is_rest = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.starts_with(is_letter) || !name.chars().all(is_rest) {
        return Err(AccessorError::Name { given: name.to_owned() });
    }
    Ok(())
}

/// Returns a dense, row-major array with the same elements. The functions do the work of a copy
/// into this array.
fn dense(descriptor: &StrideDescriptor) -> Result<StrideDescriptor, crate::stride::StrideError> {
    let sizes = descriptor.sizes();
    let mut strides = vec![1_i64; sizes.len()];
    for dimension in (1..sizes.len()).rev() {
        let extent = i64::try_from(sizes[dimension]).unwrap_or(i64::MAX);
        strides[dimension - 1] = strides[dimension].saturating_mul(extent);
    }
    let bits = descriptor.element_bits().into();
    StrideDescriptor::strided(descriptor.element_type(), bits, sizes, &strides, 0)
}

/// Checks that every access of the functions lies inside its buffer. Returns the buffers, in the
/// order of the nest's sources.
fn buffers(
    functions: &AccessorFunctions,
    stores: bool,
) -> Result<Vec<AccessorBuffer>, AccessorError> {
    let nest: &CopyNest = functions.nest;
    check_words(nest).map_err(|error| AccessorError::Number { error: Box::new(error) })?;
    for ReadBuffer { name, words } in &functions.sources {
        let (given, limit) = (*words, u64::from(u32::MAX));
        if given > limit {
            return Err(AccessorError::Words { name: name.clone(), given, limit });
        }
    }
    let last_words = functions.last_words();
    let last_words = last_words.expect("lowering knows the last unit of each source");
    let buffer = |(of, last_word): (&ReadBuffer, Option<u64>)| AccessorBuffer {
        name: of.name.clone(),
        size_in_bytes: of.words * 4,
        last_word,
        writable: stores,
    };
    Ok(functions.sources.iter().zip(last_words).map(buffer).collect())
}

/// Returns a line about a buffer for the comment at the head of the text. The line tells the caller
/// the declaration and the size that the buffer needs.
fn described(buffer: &AccessorBuffer, array: &str) -> String {
    let AccessorBuffer { name, size_in_bytes, last_word, writable } = buffer;
    let array = if array.is_empty() { String::new() } else { format!(" ({array})") };
    let access = if *writable { "read_write" } else { "read" };
    let accessed = if *writable { "read and written" } else { "read" };
    let last = last_word.unwrap_or(0);
    format!(
        "{name}{array}: declare var<storage, {access}> {name}: array<u32>, and bind at least {size_in_bytes} bytes; words up to {last} of {} are {accessed}",
        size_in_bytes / 4
    )
}

/// Returns the line about valid coordinates for the comment at the head of the text.
fn coordinates(extents: &[u64]) -> String {
    let bounds: Vec<String> =
        extents.iter().enumerate().map(|(of, extent)| format!("d{of} < {extent}")).collect();
    if bounds.is_empty() {
        return "The array has one element.".to_owned();
    }
    format!(
        "Coordinates: {}. Others are not checked: they give another element, padding, or a word past the buffer.",
        bounds.join(", ")
    )
}
