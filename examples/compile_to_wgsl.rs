//! Compiles a relayout and prints the shader, its bindings and its dispatches, for a runtime.
//!
//! `cargo run --no-default-features --example compile_to_wgsl`

use stridec::{Operation, Target, shape::Shape};

fn main() -> Result<(), stridec::Error> {
    // Parses XLA's notation. `Shape::decode` reads a serialized xla.Shape, and `Shape::try_from`
    // takes the message.
    let source: Shape = "f32[8,64,112,112]{3,2,1,0}".parse()?;
    let destination: Shape = "f32[8,64,112,112]{1,3,2,0}".parse()?;
    let operation = Operation::relayout(source.try_into()?, destination.try_into()?)?;

    // No device is needed. A target is a set of limits. Every implementation of WebGPU has the
    // limits of this one.
    let kernel = operation.compile(&Target::webgpu())?;
    println!("{}", kernel.wgsl);
    for binding in &kernel.bindings {
        let access = if binding.writable { "written" } else { "read" };
        println!("binding {}: {access}, {} bytes", binding.binding, binding.size_in_bytes);
    }
    for dispatch in &kernel.dispatches {
        println!("dispatch {:?} workgroups of {:?}", dispatch.workgroups, kernel.workgroup_size);
    }
    Ok(())
}
