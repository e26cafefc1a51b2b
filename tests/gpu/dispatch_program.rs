//! `Gpu::dispatch_program`: programs on buffers of the device.

use stridec::{
    Target,
    gpu::{Buffer, GpuError},
    hlo::Module,
    program::{Program, compile_module},
};

use super::support::gpu::gpu;

/// Returns a program that concatenates nine parameters, more than a kernel can bind, and transposes
/// the last one.
fn program() -> Program {
    let parameters: Vec<String> =
        (0..9).map(|n| format!("p{n} = u8[3,{}] parameter({n})\n", n + 1)).collect();
    let names: Vec<String> = (0..9).map(|n| format!("p{n}")).collect();
    let text = format!(
        "ENTRY main {{\n{}
           all = u8[3,45] concatenate({}), dimensions={{1}}
           turned = u8[9,3] transpose(p8), dimensions={{1,0}}
           ROOT both = (u8[3,45], u8[9,3]) tuple(all, turned)
         }}",
        parameters.concat(),
        names.join(", ")
    );
    compile_module(&Module::parse(&text).unwrap(), &Target::webgpu()).unwrap()
}

#[test]
fn programs_run_on_buffers_of_the_device() {
    let Some(gpu) = gpu("programs_run_on_buffers") else { return };
    let program = program();
    assert!(!program.scratch().is_empty(), "images are packed before");
    let images: Vec<Vec<u8>> =
        (0..9_u8).map(|n| (0..3 * (n + 1)).map(|at| n * 28 + at).collect()).collect();
    let images: Vec<&[u8]> = images.iter().map(|image| &image[..]).collect();
    let expected = program.run_on_host(&images).unwrap();
    let parameters: Vec<Buffer> = images.iter().map(|image| gpu.upload(image).unwrap()).collect();
    let parameters: Vec<&Buffer> = parameters.iter().collect();
    let results = [gpu.allocate(3 * 45).unwrap(), gpu.allocate(27).unwrap()];
    for _ in 0..2 {
        gpu.dispatch_program(&program, &parameters, &[&results[0], &results[1]]).unwrap();
        for (result, expected) in results.iter().zip(&expected) {
            let mut bytes = vec![0; expected.len()];
            gpu.download(result, &mut bytes).unwrap();
            assert_eq!(&bytes, expected);
        }
    }

    let run = |parameters: &[&Buffer], results: &[&Buffer]| {
        gpu.dispatch_program(&program, parameters, results).unwrap_err()
    };
    let [all, turned] = &results;
    let (given, expected) = ([8, 2], [9, 2]);
    assert_eq!(run(&parameters[1..], &[all, turned]), GpuError::BufferCount { given, expected });
    let (given, expected) = ([9, 1], [9, 2]);
    assert_eq!(run(&parameters, &[all]), GpuError::BufferCount { given, expected });
    let small = run(&parameters, &[turned, all]);
    assert!(matches!(small, GpuError::BufferTooSmall { .. }), "{small}");
    for results in [[all, all], [parameters[8], turned]] {
        let same = run(&parameters, &results);
        assert!(matches!(same, GpuError::SameBuffer { .. }), "{same}");
    }
}
