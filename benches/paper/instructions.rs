//! [`Instructions`]: the instructions that a GPU's compiler generates for a kernel.
//!
//! Operators are counted as in the output of NVIDIA's compiler for the processor whose caches are
//! modelled. The rules were read from its machine code (`sm_90`, CUDA 12.9), for the everyday
//! kernels as CUDA C and for the examples of the tests:
//!
//! - Functions are inlined. Common subexpressions are computed once, and unused expressions are
//!   dropped.
//! - Sums are computed in any order. A product, or a shift by a constant, that is only added to
//!   something is a part of the addition (`IMAD`, `LEA`, `LEA.HI`). An addition takes three
//!   operands (`IADD3`). `|` is counted in the same way: it includes shifts and masks (`LOP3`), but
//!   a masked shift and a variable shift are instructions of their own.
//! - A word that is assembled from two words at a constant bit is one funnel shift (`SHF`). At a
//!   variable bit it is not.
//! - The minimum of a sum of two terms and a bound is one instruction (`VIADDMNMX`).
//! - Masks and shifts of bytes become permutations (`PRMT`) only if a product of one instruction
//!   would do as well. `insertBits` of whole bytes always is one.
//! - An address is one multiply-add, which its access counts. A constant in the index is added to
//!   the start of the buffer, which is the same for all invocations.
//! - A division by a constant is the upper half of a product and a shift; some divisors need
//!   another shift or two corrections. By a power of two it is a shift. A remainder takes one
//!   instruction after the division.
//!
//! If the compiler can show that an index does not wrap around, accesses at constant distances
//! share the computation of an address. Otherwise it takes two instructions for each access. The
//! count of one for each access is between these. Moves between registers are not counted.

use std::collections::HashMap;

use naga::{
    BinaryOperator as Op, Block, Expression, Function, Handle, Literal, LocalVariable,
    MathFunction, Module, Statement, TypeInner, UnaryOperator,
};

use super::fuse::{Id, Kind, Node, Use, counted};

/// The number of instructions of every expression of a kernel, in the entry point and in each call
/// of a function.
#[derive(Debug)]
pub struct Instructions {
    calls: Vec<Call>,
}

/// A call of a function: the instructions of its expressions, and the calls inside it, by their
/// statements.
#[derive(Debug, Default)]
struct Call {
    instructions: Vec<u64>,
    inner: HashMap<usize, usize>,
}

impl Instructions {
    /// Returns the instructions of a module with this entry point.
    pub fn new(module: &Module, entry: &Function) -> Self {
        let mut walk =
            Walk { module, nodes: vec![], known: HashMap::new(), scope: vec![], calls: vec![] };
        let arguments =
            entry.arguments.iter().map(|_| (0..3).map(|_| walk.opaque()).collect()).collect();
        walk.call(entry, arguments);
        let Walk { nodes, mut calls, .. } = walk;
        for (node, instructions) in nodes.iter().zip(counted(&nodes)) {
            if let Some((call, expression)) = node.home {
                calls[call].instructions[expression] += instructions;
            }
        }
        Self { calls }
    }

    /// Returns the number of instructions of an expression in a call. The entry point is call 0.
    pub fn of(&self, call: usize, expression: usize) -> u64 {
        self.calls[call].instructions[expression]
    }

    /// Returns the call that a statement in a call makes.
    pub fn inner(&self, call: usize, statement: usize) -> usize {
        self.calls[call].inner[&statement]
    }
}

/// The scalars of a value.
type Ids = Vec<Id>;

/// Walks the statements of a kernel once, and gives every scalar a number. Equal scalars have the
/// same number.
struct Walk<'a> {
    module: &'a Module,
    nodes: Vec<Node>,
    /// The scalars that are known to be computed before the next statement.
    known: HashMap<(Kind, Ids), Id>,
    /// The values that became known, the latest last.
    scope: Vec<(Kind, Ids)>,
    calls: Vec<Call>,
}

/// A call that is being walked.
struct Frame<'a> {
    function: &'a Function,
    call: usize,
    arguments: Vec<Ids>,
    values: Vec<Option<Ids>>,
    locals: HashMap<Handle<LocalVariable>, Ids>,
    /// The value of the last `return`, and the number of `return` statements.
    returned: (Ids, usize),
}

impl<'a> Walk<'a> {
    fn opaque(&mut self) -> Id {
        self.nodes.push(Node { kind: Kind::Opaque, of: vec![], home: None, uses: vec![] });
        self.nodes.len() - 1
    }

    fn constant(&mut self, bits: u32) -> Id {
        self.node(Kind::Constant(bits), vec![], None)
    }

    fn node(&mut self, kind: Kind, of: Ids, home: Option<(usize, usize)>) -> Id {
        let key = (kind, of);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.nodes.len();
        for &operand in &key.1 {
            self.nodes[operand].uses.push(Use::Node(id));
        }
        self.nodes.push(Node { kind, of: key.1.clone(), home, uses: vec![] });
        self.scope.push(key.clone());
        self.known.insert(key, id);
        id
    }

    fn call(&mut self, function: &'a Function, arguments: Vec<Ids>) -> (usize, Ids) {
        let call = self.calls.len();
        let count = function.expressions.len();
        self.calls.push(Call { instructions: vec![0; count], inner: HashMap::new() });
        let (locals, returned) = (HashMap::new(), (vec![], 0));
        let values = vec![None; count];
        let mut frame = Frame { function, call, arguments, values, locals, returned };
        for (variable, of) in function.local_variables.iter() {
            let value = of.init.map_or_else(Vec::new, |init| self.value(&mut frame, init));
            frame.locals.insert(variable, value);
        }
        self.block(&mut frame, &function.body);
        let (value, returns) = frame.returned;
        // If there are several return statements, the result is unknown.
        let value = if returns > 1 { value.iter().map(|_| self.opaque()).collect() } else { value };
        (call, value)
    }

    /// Walks a block that may not run. The values that it computes are not known after it, and
    /// neither are the variables that it assigns.
    fn branch(&mut self, frame: &mut Frame<'a>, block: &'a Block) {
        let (depth, locals) = (self.scope.len(), frame.locals.clone());
        self.block(frame, block);
        for key in self.scope.drain(depth..) {
            self.known.remove(&key);
        }
        for (variable, value) in &locals {
            if frame.locals[variable] != *value {
                let other = frame.locals[variable].iter().map(|_| self.opaque()).collect();
                frame.locals.insert(*variable, other);
            }
        }
    }

    fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) {
        for statement in block {
            match statement {
                Statement::Emit(range) => {
                    range.clone().for_each(|handle| drop(self.value(frame, handle)));
                }
                Statement::Block(inner) => self.block(frame, inner),
                Statement::If { condition, accept, reject } => {
                    self.root(frame, *condition);
                    self.branch(frame, accept);
                    self.branch(frame, reject);
                }
                Statement::Loop { body, continuing, .. } => {
                    // A variable has another value in each iteration.
                    for (variable, of) in frame.function.local_variables.iter() {
                        let scalars = scalars(&self.module.types[of.ty].inner);
                        let each = (0..scalars).map(|_| self.opaque()).collect();
                        frame.locals.insert(variable, each);
                    }
                    self.branch(frame, body);
                    self.branch(frame, continuing);
                }
                Statement::Return { value } => {
                    let value = value.map_or_else(Vec::new, |value| self.value(frame, value));
                    frame.returned = (value, frame.returned.1 + 1);
                }
                Statement::Store { pointer, value } => {
                    let value = self.root(frame, *value);
                    match frame.function.expressions[*pointer] {
                        Expression::LocalVariable(variable) => {
                            frame.locals.insert(variable, value);
                        }
                        _ => drop(self.value(frame, *pointer)),
                    }
                }
                Statement::Call { function, arguments, result } => {
                    let arguments = arguments.iter().map(|&of| self.value(frame, of)).collect();
                    let (inner, value) = self.call(&self.module.functions[*function], arguments);
                    let place = std::ptr::from_ref(statement).addr();
                    self.calls[frame.call].inner.insert(place, inner);
                    if let Some(result) = result {
                        frame.values[result.index()] = Some(value);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns a value that is used by a statement.
    fn root(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Ids {
        let value = self.value(frame, of);
        for &id in &value {
            self.nodes[id].uses.push(Use::Statement);
        }
        value
    }

    /// Returns the scalars of an expression. The scalars of a pointer are the indices that it
    /// consists of.
    fn value(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Ids {
        if let Some(value) = &frame.values[of.index()] {
            return value.clone();
        }
        let value = self.evaluate(frame, of);
        frame.values[of.index()] = Some(value.clone());
        value
    }

    fn evaluate(&mut self, frame: &mut Frame<'a>, of: Handle<Expression>) -> Ids {
        let home = Some((frame.call, of.index()));
        match frame.function.expressions[of] {
            Expression::FunctionArgument(number) => frame.arguments[number as usize].clone(),
            Expression::Literal(Literal::U32(bits)) => vec![self.constant(bits)],
            Expression::Literal(Literal::I32(bits)) => vec![self.constant(bits.cast_unsigned())],
            Expression::Access { base, index } => {
                let index = self.value(frame, index);
                let is_inner = !self.value(frame, base).is_empty();
                for &id in &index {
                    self.nodes[id].uses.push(Use::Address);
                }
                // Selecting a component of the element at a variable index takes another addition.
                if is_inner { vec![self.node(Kind::Other(0), index, home)] } else { index }
            }
            Expression::AccessIndex { base, index } => {
                let base = self.value(frame, base);
                base.get(index as usize).map_or(vec![], |&of| vec![of])
            }
            Expression::Load { pointer } => match frame.function.expressions[pointer] {
                Expression::LocalVariable(variable) => frame.locals[&variable].clone(),
                _ => (0..self.loaded(frame.function, pointer)).map(|_| self.opaque()).collect(),
            },
            Expression::Compose { ref components, .. } => {
                components.iter().flat_map(|&part| self.value(frame, part)).collect()
            }
            Expression::Splat { size, value } => {
                let value = self.value(frame, value)[0];
                vec![value; usize::from(size as u8)]
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, vector);
                let of = pattern[..usize::from(size as u8)].iter();
                of.map(|part| vector[part.index() as usize]).collect()
            }
            Expression::Unary { op, expr } => {
                let value = self.value(frame, expr);
                let kind = match op {
                    UnaryOperator::LogicalNot => Kind::Free(0),
                    _ => Kind::Other(2),
                };
                value.into_iter().map(|id| self.node(kind, vec![id], home)).collect()
            }
            Expression::As { expr, .. } => {
                let value = self.value(frame, expr);
                value.into_iter().map(|id| self.node(Kind::Free(1), vec![id], home)).collect()
            }
            Expression::Binary { op, left, right } => {
                let sides = [self.value(frame, left), self.value(frame, right)];
                self.binary(op, &sides, home)
            }
            Expression::Select { condition, accept, reject } => {
                let condition = self.value(frame, condition);
                let sides = [self.value(frame, accept), self.value(frame, reject)];
                (0..sides[0].len())
                    .map(|n| {
                        let of = vec![condition[n % condition.len()], sides[0][n], sides[1][n]];
                        self.node(Kind::Other(1), of, home)
                    })
                    .collect()
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let kind = match fun {
                    MathFunction::Min => Kind::Min,
                    _ => Kind::Other(3 + fun as u32),
                };
                let given = [Some(arg), arg1, arg2, arg3].into_iter().flatten();
                let given: Vec<Ids> = given.map(|arg| self.value(frame, arg)).collect();
                (0..given[0].len())
                    .map(|n| {
                        let of = given.iter().map(|arg| arg[n % arg.len()]).collect();
                        self.node(kind, of, home)
                    })
                    .collect()
            }
            _ => vec![],
        }
    }

    /// Returns the number of scalars of an element of a buffer, or of a component of the element.
    fn loaded(&self, function: &Function, pointer: Handle<Expression>) -> usize {
        let (Expression::Access { base, .. } | Expression::AccessIndex { base, .. }) =
            function.expressions[pointer]
        else {
            return 1;
        };
        let Expression::GlobalVariable(global) = function.expressions[base] else { return 1 };
        match self.module.types[self.module.global_variables[global].ty].inner {
            TypeInner::Array { base, .. } => scalars(&self.module.types[base].inner),
            _ => 1,
        }
    }

    /// Adds an operator for each component. A scalar is repeated for the components of a vector.
    fn binary(&mut self, op: Op, sides: &[Ids; 2], home: Option<(usize, usize)>) -> Ids {
        let count = sides[0].len().max(sides[1].len());
        (0..count)
            .map(|n| {
                let [left, right] = [0, 1].map(|side: usize| sides[side][n % sides[side].len()]);
                self.operator(op, left, right, home)
            })
            .collect()
    }

    /// Adds an operator. Operations with powers of two become shifts and masks, and a remainder is
    /// computed from its division.
    fn operator(&mut self, op: Op, left: Id, right: Id, home: Option<(usize, usize)>) -> Id {
        let constant = match self.nodes[right].kind {
            Kind::Constant(bits) => bits,
            _ => 0,
        };
        match op {
            Op::Multiply if constant.is_power_of_two() => {
                let by = self.constant(constant.trailing_zeros());
                self.operator(Op::ShiftLeft, left, by, home)
            }
            Op::Divide if constant.is_power_of_two() => {
                let by = self.constant(constant.trailing_zeros());
                self.operator(Op::ShiftRight, left, by, home)
            }
            Op::Modulo if constant.is_power_of_two() => {
                let mask = self.constant(constant - 1);
                self.operator(Op::And, left, mask, home)
            }
            Op::Modulo => {
                let quotient = self.operator(Op::Divide, left, right, home);
                let whole = self.operator(Op::Multiply, quotient, right, home);
                self.operator(Op::Subtract, left, whole, home)
            }
            Op::ShiftLeft | Op::ShiftRight if constant == 0 && self.is_constant(right) => left,
            // Two shifts by constants become one.
            Op::ShiftRight if constant > 0 && self.nodes[left].kind == Kind::Binary(op) => {
                let [of, by] = self.nodes[left].of[..] else { unreachable!("two operands") };
                match self.nodes[by].kind {
                    Kind::Constant(first) if first + constant < 32 => {
                        let by = self.constant(first + constant);
                        self.node(Kind::Binary(op), vec![of, by], home)
                    }
                    _ => self.node(Kind::Binary(op), vec![left, right], home),
                }
            }
            _ => self.node(Kind::Binary(op), vec![left, right], home),
        }
    }

    fn is_constant(&self, id: Id) -> bool {
        matches!(self.nodes[id].kind, Kind::Constant(_))
    }
}

/// Returns the number of scalars of a variable.
fn scalars(of: &TypeInner) -> usize {
    match of {
        TypeInner::Vector { size, .. } => usize::from(*size as u8),
        _ => 1,
    }
}
