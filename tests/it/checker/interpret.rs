//! Runs a kernel from naga's IR of its text, one invocation after another, and records its
//! accesses.
//!
//! The interpreter knows the statements and expressions that kernels use, and panics at any other,
//! so that a new one is added here deliberately.

use std::collections::BTreeMap;

use naga::{
    AddressSpace, Arena, AtomicFunction, Block, BuiltIn, Expression, Function, GlobalVariable,
    Handle, Literal, Module, ScalarKind, Statement, StorageAccess, Type, TypeInner, VectorSize,
};

use super::{
    arithmetic,
    value::{Fault, Kind, Scalar, Value},
    watch::{Access, Watch},
};

/// A storage buffer, with the accesses of the kernel to it.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) words: Vec<u32>,
    /// The number of writes to each word.
    pub(crate) writes: Vec<u8>,
    pub(crate) last_read: Option<usize>,
}

impl Buffer {
    pub(crate) fn new(words: Vec<u32>) -> Self {
        Self { writes: vec![0; words.len()], words, last_read: None }
    }

    /// Returns true if no word of a range has been written.
    fn is_unwritten(&self, first: usize, count: usize) -> bool {
        self.writes[first..first + count].iter().all(|times| *times == 0)
    }
}

/// The indices of an invocation in its dispatch.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) group: [u32; 3],
    pub(crate) local: [u32; 3],
    pub(crate) size: [u32; 3],
    pub(crate) groups: [u32; 3],
}

/// Runs the invocations of one entry point on its buffers.
pub(crate) struct Interpreter<'a, W = ()> {
    module: &'a Module,
    entry: &'a Function,
    /// The sources, and after them the destination.
    pub(crate) buffers: Vec<Buffer>,
    /// The index of the buffer of each global variable in storage.
    buffer_of: BTreeMap<Handle<GlobalVariable>, usize>,
    /// The values of the uniform and of the invocation's private variables.
    globals: BTreeMap<Handle<GlobalVariable>, Value>,
    /// The contents of the uniform.
    pub(crate) uniform: [u32; 4],
    /// The number of loop iterations of the current invocation.
    pub(crate) trips: u32,
    /// True if the kernel may read words of the destination that no invocation has written.
    pub(crate) keeps: bool,
    /// True inside a function that computes a lookup, whose numbers wrap around.
    wraps: bool,
    /// The number of words that the current invocation has written.
    pub(crate) stored: u32,
    pub(crate) watch: W,
}

/// The target of a pointer.
#[derive(Clone, Copy, Debug)]
enum Pointer {
    Buffer(usize),
    /// An item of a buffer: an array of elements of `element` words.
    Item {
        buffer: usize,
        first: usize,
        count: usize,
        element: usize,
    },
    Words {
        buffer: usize,
        first: usize,
        count: usize,
    },
    Global {
        global: Handle<GlobalVariable>,
    },
    GlobalComponent {
        global: Handle<GlobalVariable>,
        component: usize,
    },
    Local {
        index: usize,
    },
    Component {
        index: usize,
        component: usize,
    },
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Empty,
    Value(Value),
    Pointer(Pointer),
}

/// The reason why a block ended.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Value>),
}

/// A call of a function, with its expressions and local variables.
struct Frame<'a> {
    function: &'a Function,
    arguments: Vec<Value>,
    slots: Vec<Slot>,
    locals: Vec<Value>,
}

impl<'a, W: Watch> Interpreter<'a, W> {
    /// Returns an interpreter for the entry point `entry`. `buffers` are the module's bindings of
    /// group 0, the destination last.
    pub(crate) fn new(
        module: &'a Module,
        entry: &'a Function,
        buffers: impl Into<Vec<Buffer>>,
        watch: W,
    ) -> Self {
        let buffers = buffers.into();
        let (mut buffer_of, mut globals) = (BTreeMap::new(), BTreeMap::new());
        for (handle, global) in module.global_variables.iter() {
            let access = match global.space {
                AddressSpace::Storage { access } => access,
                AddressSpace::Uniform | AddressSpace::Private => {
                    assert!(global.init.is_none());
                    globals.insert(handle, zero(&module.types[global.ty].inner));
                    continue;
                }
                other => panic!("no kernel has the global {other:?}"),
            };
            let place = global.binding.expect("a storage buffer is bound");
            assert_eq!(place.group, 0);
            let buffer = usize::try_from(place.binding).unwrap();
            let written = if buffer + 1 == buffers.len() {
                StorageAccess::STORE
            } else {
                StorageAccess::empty()
            };
            assert_eq!(access, StorageAccess::LOAD | written);
            assert!(buffer_of.insert(handle, buffer).is_none());
        }
        let (trips, keeps, wraps, stored) = (0, false, false, 0);
        let uniform = [0; 4];
        Self {
            module,
            entry,
            buffers,
            buffer_of,
            globals,
            uniform,
            trips,
            keeps,
            wraps,
            stored,
            watch,
        }
    }

    /// Runs one invocation.
    pub(crate) fn invoke(&mut self, place: &Place) -> Result<(), Fault> {
        (self.trips, self.stored) = (0, 0);
        for (&handle, value) in &mut self.globals {
            let global = &self.module.global_variables[handle];
            *value = match global.space {
                AddressSpace::Uniform => Value::vector(&self.uniform.map(Scalar::uint)),
                _ => zero(&self.module.types[global.ty].inner),
            };
        }
        let arguments = self
            .entry
            .arguments
            .iter()
            .map(|argument| match argument.binding {
                Some(naga::Binding::BuiltIn(of)) => built_in(of, place),
                ref other => panic!("no kernel has the argument {other:?}"),
            })
            .collect();
        self.call(self.entry, arguments).map(drop)
    }

    fn call(
        &mut self,
        function: &'a Function,
        arguments: Vec<Value>,
    ) -> Result<Option<Value>, Fault> {
        let slots = vec![Slot::Empty; function.expressions.len()];
        let mut frame = Frame { function, arguments, slots, locals: Vec::new() };
        for (_, variable) in function.local_variables.iter() {
            let value = match variable.init {
                Some(init) => self.value(&mut frame, init)?,
                None => zero(&self.module.types[variable.ty].inner),
            };
            frame.locals.push(value);
        }
        match self.block(&mut frame, &function.body)? {
            Flow::Next => Ok(None),
            Flow::Return(value) => Ok(value),
            Flow::Break | Flow::Continue => panic!("a jump without a loop"),
        }
    }

    fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) -> Result<Flow, Fault> {
        for statement in block {
            let flow = match statement {
                Statement::Emit(range) => {
                    for handle in range.clone() {
                        self.watch.expression(handle.index());
                        frame.slots[handle.index()] = self.evaluate(frame, handle)?;
                    }
                    Flow::Next
                }
                Statement::Block(inner) => self.block(frame, inner)?,
                Statement::If { condition, accept, reject } => {
                    let holds = self.value(frame, *condition)?.scalar().truth();
                    self.watch.branch();
                    self.block(frame, if holds { accept } else { reject })?
                }
                Statement::Loop { body, continuing, break_if: None } => {
                    self.repeat(frame, body, continuing)?
                }
                Statement::Break => Flow::Break,
                Statement::Continue => Flow::Continue,
                Statement::Return { value } => {
                    let value = value.map(|value| self.value(frame, value)).transpose()?;
                    Flow::Return(value)
                }
                Statement::Store { pointer: at, value } => {
                    let pointer = self.pointer(frame, *at)?;
                    let value = self.value(frame, *value)?;
                    self.tell(frame, *at, pointer);
                    self.store(frame, pointer, value);
                    Flow::Next
                }
                Statement::Call { function, arguments, result } => {
                    let given: Result<Vec<Value>, Fault> =
                        arguments.iter().map(|&given| self.value(frame, given)).collect();
                    let function = &self.module.functions[*function];
                    let name = function.name.as_deref().unwrap_or_default();
                    // Functions of lookups and of conversions compute with integers that wrap
                    // around, not with offsets.
                    let wraps = name.starts_with("lookup")
                        || name.ends_with("_64")
                        || is_of_conversion(name);
                    let outer = std::mem::replace(&mut self.wraps, wraps);
                    self.watch.call(std::ptr::from_ref(statement).addr());
                    let returned = self.call(function, given?)?;
                    self.watch.end_of_call();
                    self.wraps = outer;
                    if let (Some(result), Some(value)) = (result, returned) {
                        frame.slots[result.index()] = Slot::Value(value);
                    }
                    Flow::Next
                }
                Statement::Atomic { pointer: at, fun: AtomicFunction::Max, value, .. } => {
                    let pointer = self.pointer(frame, *at)?;
                    let value = self.value(frame, *value)?;
                    self.tell(frame, *at, pointer);
                    self.raise(pointer, value);
                    Flow::Next
                }
                other => panic!("no kernel has the statement {other:?}"),
            };
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn repeat(
        &mut self,
        frame: &mut Frame<'a>,
        body: &'a Block,
        continuing: &'a Block,
    ) -> Result<Flow, Fault> {
        loop {
            match self.block(frame, body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
            self.trips += 1;
            if self.trips > 65_535 {
                return Err("a loop passes 65535 trips".to_owned());
            }
            self.block(frame, continuing)?;
        }
    }

    fn store(&mut self, frame: &mut Frame<'a>, pointer: Pointer, value: Value) {
        match pointer {
            Pointer::Local { index } => frame.locals[index] = value,
            Pointer::Component { index, component } => {
                frame.locals[index].parts_mut()[component] = value.scalar();
            }
            Pointer::Words { buffer, first, count } => {
                assert_eq!(value.parts().len(), count);
                let buffer = &mut self.buffers[buffer];
                for (at, part) in (first..).zip(value.parts()) {
                    assert!(part.kind == Kind::Uint && !part.is_wrapped(), "{part:?} is stored");
                    buffer.words[at] = part.bits;
                    buffer.writes[at] = buffer.writes[at].saturating_add(1);
                    self.stored += 1;
                }
            }
            Pointer::Global { global } => {
                let space = self.module.global_variables[global].space;
                assert_eq!(space, AddressSpace::Private, "the uniform is stored");
                self.globals.insert(global, value);
            }
            other => panic!("{other:?} is stored"),
        }
    }

    /// Stores the greater of a word and a value. Repeated stores of this kind count as one write.
    fn raise(&mut self, pointer: Pointer, value: Value) {
        let Pointer::Words { buffer, first, count: 1 } = pointer else {
            panic!("{pointer:?} is no atomic word")
        };
        let part = value.scalar();
        assert!(part.kind == Kind::Uint && !part.is_wrapped(), "{part:?} is stored");
        let buffer = &mut self.buffers[buffer];
        buffer.words[first] = buffer.words[first].max(part.bits);
        buffer.writes[first] = 1;
        self.stored += 1;
    }

    fn load(&mut self, frame: &Frame<'a>, pointer: Pointer) -> Result<Value, Fault> {
        Ok(match pointer {
            Pointer::Local { index } => frame.locals[index],
            Pointer::Component { index, component } => {
                Value::Scalar(frame.locals[index].parts()[component])
            }
            Pointer::Words { buffer, first, count }
                if buffer + 1 == self.buffers.len()
                    && !(self.keeps && self.buffers[buffer].is_unwritten(first, count)) =>
            {
                return Err(format!("word {first} of the destination is read"));
            }
            Pointer::Words { buffer, first, count } => {
                let buffer = &mut self.buffers[buffer];
                buffer.last_read = buffer.last_read.max(Some(first + count - 1));
                let mut parts = [Scalar::uint(0); 4];
                for (part, &word) in parts.iter_mut().zip(&buffer.words[first..first + count]) {
                    *part = Scalar::uint(word);
                }
                Value::from_parts(&parts[..count])
            }
            Pointer::Global { global } => self.globals[&global],
            Pointer::GlobalComponent { global, component } => {
                Value::Scalar(self.globals[&global].parts()[component])
            }
            other => panic!("{other:?} is loaded"),
        })
    }

    /// Reports the access of a load or a store to a buffer. `at` is the load or the pointer.
    fn tell(&mut self, frame: &Frame<'a>, at: Handle<Expression>, pointer: Pointer) {
        if let Pointer::Words { buffer, first, count } = pointer {
            let site = std::ptr::from_ref(frame.function).addr() + at.index();
            self.watch.access(Access { site, buffer, first_word: first, words: count });
        }
    }

    /// Returns the value of an expression. If no statement has evaluated it, as for a constant or
    /// an argument, it is evaluated now.
    fn value(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Result<Value, Fault> {
        match self.slot(frame, of)? {
            Slot::Value(value) => Ok(value),
            other => panic!("{other:?} is no value"),
        }
    }

    fn pointer(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Result<Pointer, Fault> {
        match self.slot(frame, of)? {
            Slot::Pointer(pointer) => Ok(pointer),
            other => panic!("{other:?} is no pointer"),
        }
    }

    fn slot(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Result<Slot, Fault> {
        if let Slot::Empty = frame.slots[of.index()] {
            frame.slots[of.index()] = self.evaluate(frame, of)?;
        }
        Ok(frame.slots[of.index()])
    }

    #[allow(clippy::too_many_lines)] // an arm for each expression that kernels have
    fn evaluate(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Result<Slot, Fault> {
        let function = frame.function;
        let value = match function.expressions[of] {
            Expression::FunctionArgument(number) => {
                frame.arguments[usize::try_from(number).unwrap()]
            }
            Expression::GlobalVariable(global) => {
                return Ok(Slot::Pointer(match self.buffer_of.get(&global) {
                    Some(&buffer) => Pointer::Buffer(buffer),
                    None => Pointer::Global { global },
                }));
            }
            Expression::ArrayLength(of) => {
                let Pointer::Buffer(buffer) = self.pointer(frame, of)? else {
                    panic!("the length of a part")
                };
                let (words, _) = self.words_of_element(frame.function, of);
                let length = self.buffers[buffer].words.len() / words;
                Value::Scalar(Scalar::uint(u32::try_from(length).unwrap()))
            }
            Expression::LocalVariable(local) => {
                return Ok(Slot::Pointer(Pointer::Local { index: local.index() }));
            }
            Expression::Access { base, index } => {
                let index = self.value(frame, index)?.scalar().natural("an index")?;
                return self.access(frame, base, index);
            }
            Expression::AccessIndex { base, index } => return self.access(frame, base, index),
            Expression::Load { pointer: at } => {
                let pointer = self.pointer(frame, at)?;
                self.tell(frame, of, pointer);
                self.load(frame, pointer)?
            }
            Expression::Compose { ref components, .. } => {
                let mut parts = Vec::with_capacity(4);
                for &component in components {
                    parts.extend_from_slice(self.value(frame, component)?.parts());
                }
                Value::vector(&parts)
            }
            Expression::Splat { size, value } => {
                let value = self.value(frame, value)?.scalar();
                Value::vector(&[value; 4][..usize::from(size as u8)])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, vector)?;
                let parts = pattern.map(|part| vector.parts().get(part.index() as usize).copied());
                let parts: Vec<Scalar> = parts.into_iter().flatten().collect();
                Value::vector(&parts[..usize::from(size as u8)])
            }
            Expression::Unary { op, expr } => {
                self.value(frame, expr)?.map(|of| arithmetic::unary(op, of))?
            }
            Expression::Binary { op, left, right } => {
                let (left, right) = (self.value(frame, left)?, self.value(frame, right)?);
                let wraps = self.wraps;
                left.zip(right, |left, right| arithmetic::binary(op, left, right, wraps))?
            }
            Expression::Select { condition, accept, reject } => {
                match self.value(frame, condition)? {
                    Value::Scalar(holds) if holds.truth() => self.value(frame, accept)?,
                    Value::Scalar(_) => self.value(frame, reject)?,
                    holds @ Value::Vector(..) => {
                        let accept = self.value(frame, accept)?;
                        let mut chosen = self.value(frame, reject)?;
                        for (n, part) in chosen.parts_mut().iter_mut().enumerate() {
                            if holds.parts()[n].truth() {
                                *part = accept.parts()[n];
                            }
                        }
                        chosen
                    }
                }
            }
            Expression::Math { fun, arg, arg1: None, .. } => {
                self.value(frame, arg)?.map(|of| arithmetic::math(fun, &[of]))?
            }
            Expression::Math { fun, arg, arg1: Some(second), arg2: None, arg3: None } => {
                let (first, second) = (self.value(frame, arg)?, self.value(frame, second)?);
                first.zip(second, |a, b| arithmetic::math(fun, &[a, b]))?
            }
            Expression::Math { fun, arg, arg1: Some(low), arg2: Some(high), arg3: None } => {
                let args = [arg, low, high].map(|arg| self.value(frame, arg));
                let [arg, low, high] = args.map(|arg| arg.map(Value::scalar));
                Value::Scalar(arithmetic::math(fun, &[arg?, low?, high?])?)
            }
            Expression::Math {
                fun,
                arg,
                arg1: Some(bits),
                arg2: Some(from),
                arg3: Some(count),
            } => {
                let (into, bits) = (self.value(frame, arg)?, self.value(frame, bits)?);
                let (from, count) = (self.value(frame, from)?, self.value(frame, count)?);
                let (from, count) = (from.scalar(), count.scalar());
                into.zip(bits, |into, bits| arithmetic::math(fun, &[into, bits, from, count]))?
            }
            Expression::As { expr, kind, convert: None } => {
                let kind = kind_of(kind);
                self.value(frame, expr)?.map(|of| Ok(Scalar { kind, ..of }))?
            }
            Expression::As { expr, kind, convert: Some(4) } => {
                let kind = kind_of(kind);
                self.value(frame, expr)?.map(|of| arithmetic::convert(of, kind))?
            }
            ref constant => self.constant(&function.expressions, constant),
        };
        Ok(Slot::Value(value))
    }

    fn constant(&self, expressions: &Arena<Expression>, of: &Expression) -> Value {
        let globals = &self.module.global_expressions;
        match *of {
            Expression::Literal(Literal::U32(bits)) => Value::Scalar(Scalar::uint(bits)),
            Expression::Literal(Literal::I32(n)) => {
                Value::Scalar(Scalar::of(Kind::Sint, n.cast_unsigned()))
            }
            Expression::Literal(Literal::Bool(value)) => Value::Scalar(Scalar::bool(value)),
            Expression::ZeroValue(ty) => zero(&self.module.types[ty].inner),
            Expression::Constant(constant) => {
                self.constant(globals, &globals[self.module.constants[constant].init])
            }
            Expression::Compose { ref components, .. } => {
                let parts: Vec<Scalar> = components
                    .iter()
                    .flat_map(|&part| {
                        self.constant(expressions, &expressions[part]).parts().to_vec()
                    })
                    .collect();
                Value::vector(&parts)
            }
            Expression::Splat { size, value } => {
                let value = self.constant(expressions, &expressions[value]).scalar();
                Value::vector(&[value; 4][..usize::from(size as u8)])
            }
            ref other => panic!("no kernel has the expression {other:?}"),
        }
    }

    fn access(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: u32,
    ) -> Result<Slot, Fault> {
        let at = usize::try_from(index).unwrap();
        Ok(match self.slot(frame, base)? {
            Slot::Value(value) => {
                let part = value.parts().get(at).ok_or_else(|| format!("component {at}"))?;
                Slot::Value(Value::Scalar(*part))
            }
            Slot::Pointer(Pointer::Local { index }) => {
                Slot::Pointer(Pointer::Component { index, component: at })
            }
            Slot::Pointer(Pointer::Buffer(buffer)) => {
                let (count, element) = self.words_of_element(frame.function, base);
                let length = self.buffers[buffer].words.len() / count;
                if at >= length {
                    return Err(format!("element {at} of binding {buffer}, which has {length}"));
                }
                let first = at * count;
                Slot::Pointer(match element {
                    Some(element) => Pointer::Item { buffer, first, count, element },
                    None => Pointer::Words { buffer, first, count },
                })
            }
            Slot::Pointer(Pointer::Item { buffer, first, count, element }) => {
                if at >= count / element {
                    return Err(format!("element {at} of an item of {count} words"));
                }
                let first = first + at * element;
                Slot::Pointer(Pointer::Words { buffer, first, count: element })
            }
            Slot::Pointer(Pointer::Global { global }) => {
                Slot::Pointer(Pointer::GlobalComponent { global, component: at })
            }
            Slot::Pointer(Pointer::Words { buffer, first, count }) => {
                if at >= count {
                    return Err(format!("component {at} of {count} words of binding {buffer}"));
                }
                Slot::Pointer(Pointer::Words { buffer, first: first + at, count: 1 })
            }
            other => panic!("{other:?} has no parts"),
        })
    }

    /// Returns the number of words of an element in the runtime-sized array to which `base` points.
    /// If the element is an item, which is an array itself, also returns the number of words of its
    /// elements.
    fn words_of_element(
        &self,
        function: &Function,
        base: Handle<Expression>,
    ) -> (usize, Option<usize>) {
        let Expression::GlobalVariable(global) = function.expressions[base] else {
            panic!("a buffer is named directly")
        };
        let inner = |ty: Handle<Type>| &self.module.types[ty].inner;
        let words_of = |ty: Handle<Type>| match inner(ty) {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) if scalar.width == 4 => 1,
            TypeInner::Vector { size: VectorSize::Bi, scalar } if scalar.width == 4 => 2,
            TypeInner::Vector { size: VectorSize::Quad, scalar } if scalar.width == 4 => 4,
            other => panic!("no kernel has a buffer of {other:?}"),
        };
        let bytes = |stride: u32| usize::try_from(stride).unwrap();
        match *inner(self.module.global_variables[global].ty) {
            TypeInner::Array { base, size: naga::ArraySize::Dynamic, stride } => {
                let stride = bytes(stride);
                if let TypeInner::Array { base, size, stride: step } = *inner(base) {
                    let naga::ArraySize::Constant(count) = size else { panic!("{size:?}") };
                    let (element, count) = (words_of(base), bytes(count.get()));
                    assert_eq!((bytes(step), stride), (element * 4, element * 4 * count));
                    return (element * count, Some(element));
                }
                assert_eq!(stride, words_of(base) * 4);
                (words_of(base), None)
            }
            ref other => panic!("no kernel has the buffer {other:?}"),
        }
    }
}

/// Returns true for the functions that convert units, such as `f32_to_bf16`, and those that they
/// call.
fn is_of_conversion(name: &str) -> bool {
    let helpers = ["rounded", "shifted_left", "shifted_right", "negated"];
    name.contains("_to_")
        || name.ends_with("_magnitude")
        || name.ends_with("_of")
        || helpers.contains(&name)
}

fn kind_of(kind: ScalarKind) -> Kind {
    match kind {
        ScalarKind::Uint => Kind::Uint,
        ScalarKind::Sint => Kind::Sint,
        ScalarKind::Bool => Kind::Bool,
        ScalarKind::Float => Kind::Float,
        other => panic!("no kernel computes with {other:?}"),
    }
}

fn zero(ty: &TypeInner) -> Value {
    match ty {
        TypeInner::Scalar(scalar) => Value::Scalar(Scalar::of(kind_of(scalar.kind), 0)),
        TypeInner::Vector { size, scalar } => {
            let zero = Scalar::of(kind_of(scalar.kind), 0);
            Value::vector(&[zero; 4][..usize::from(*size as u8)])
        }
        other => panic!("no kernel has a zero of {other:?}"),
    }
}

fn built_in(of: BuiltIn, place: &Place) -> Value {
    let Place { group, local, size, groups } = *place;
    let three = |of: [u32; 3]| Value::vector(&of.map(Scalar::uint));
    match of {
        BuiltIn::GlobalInvocationId => three([0, 1, 2].map(|n| group[n] * size[n] + local[n])),
        BuiltIn::LocalInvocationId => three(local),
        BuiltIn::WorkGroupId => three(group),
        BuiltIn::NumWorkGroups => three(groups),
        BuiltIn::LocalInvocationIndex => {
            let index = local[0] + size[0] * (local[1] + size[1] * local[2]);
            Value::Scalar(Scalar::uint(index))
        }
        other => panic!("no kernel asks for {other:?}"),
    }
}
