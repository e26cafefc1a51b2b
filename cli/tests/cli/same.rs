//! Equal arguments and bytes give equal output, in every process and with any number of
//! threads.

use crate::sandbox::Sandbox;

#[test]
fn every_process_gives_the_same_bytes() {
    let sandbox = Sandbox::new();
    let (from, to) = ("bf16[40,300]{1,0}", "bf16[40,300]{1,0:T(8,128)(2,1)}");
    let compile = ["compile", "relayout", "--from", from, "--to", to, "--emit"];
    let mut commands: Vec<Vec<&str>> =
        ["wgsl", "spirv", "msl", "hlsl", "glsl", "stages", "json", "pb"]
            .iter()
            .map(|&emit| [&compile[..], &[emit]].concat())
            .collect();
    for format in ["text", "json", "pb", "textproto", "json-proto"] {
        commands.push(vec!["describe", to, "--format", format]);
    }
    for format in [&[][..], &["--svg", "-"], &["--html", "-"]] {
        commands.push([&["explain", "relayout", "--from", from, "--to", to], format].concat());
    }
    for command in commands {
        let first = sandbox.stridec(&command);
        assert_eq!(first.code, 0, "{command:?}: {}", first.stderr);
        assert!(!first.stdout.is_empty(), "{command:?}");
        for _ in 0..3 {
            assert_eq!(sandbox.stridec(&command).stdout, first.stdout, "{command:?}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", (0..251).cycle().take(300 * 701 * 4).collect::<Vec<u8>>());
    for to in
        ["f32[300,701]{0,1}", "f32[300,701]{1,0:T(8,128)}", "f32[300,701]{0,1:PAD(301,704,one)}"]
    {
        let args =
            ["run", "relayout", "--from", "f32[300,701]", "--to", to, "-i", "in.bin", "-o", "-"];
        let outputs: Vec<Vec<u8>> = ["1", "2", "3", "16"]
            .iter()
            .map(|threads| {
                let mut command = sandbox.command(&[&args[..], &["--device", "host"]].concat());
                let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
                assert!(output.status.success() && !output.stdout.is_empty());
                output.stdout
            })
            .collect();
        assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]), "{to}");
    }
}

/// Requests that are answered in parallel are answered in order, each as if it were alone.
#[test]
fn a_stream_of_requests_gives_the_same_bytes() {
    use prost::Message;
    use stridec::{Tensor, proto::stridec as proto, service::respond};
    let tensor = |text: String| Some((&text.parse::<Tensor>().unwrap()).try_into().unwrap());
    let (mut stream, mut expected) = (vec![], vec![]);
    for n in 1..200_u32 {
        let relayout = proto::Relayout {
            source: tensor(format!("f32[{n},9]")),
            destination: tensor(format!("f32[{n},9]{{0,1}}")),
        };
        let operation = Some(proto::compile_request::Operation::Relayout(relayout));
        let request = proto::CompileRequest { operation, ..Default::default() }.encode_to_vec();
        let answer = respond(&request);
        for (bytes, stream) in [(request, &mut stream), (answer, &mut expected)] {
            prost::encode_length_delimiter(bytes.len(), stream).unwrap();
            stream.extend(bytes);
        }
    }
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        let ran = sandbox.stridec_with_input(&["serve"], &stream);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout == expected);
    }
}
