//! Guarantees for embedders that hold at compile time.

use std::hash::Hash;

use stridec::{
    Error, Kernel, Operation, Target, Tensor,
    nest::CopyNest,
    proto,
    schedule::Schedule,
    shape::{Shape, StridedShape},
    stride::StrideDescriptor,
    window::Window,
};

fn shared_between_threads<T: Send + Sync + 'static>() {}

#[test]
fn everything_is_shared_between_threads() {
    shared_between_threads::<Error>();
    shared_between_threads::<Kernel>();
    shared_between_threads::<Operation>();
    shared_between_threads::<Target>();
    shared_between_threads::<Tensor>();
    shared_between_threads::<CopyNest>();
    shared_between_threads::<Schedule>();
    shared_between_threads::<Shape>();
    shared_between_threads::<StridedShape>();
    shared_between_threads::<StrideDescriptor>();
    shared_between_threads::<Window>();
    #[cfg(feature = "gpu")]
    shared_between_threads::<(stridec::gpu::Gpu, stridec::gpu::Recording)>();
    #[cfg(feature = "backends")]
    shared_between_threads::<stridec::backend::Translated>();
}

fn a_key_of_a_map<T: Clone + Eq + Hash>() {}

/// These types can be keys of a cache of kernels.
#[test]
fn operations_and_targets_are_keys() {
    a_key_of_a_map::<Operation>();
    a_key_of_a_map::<Target>();
    a_key_of_a_map::<Tensor>();
    a_key_of_a_map::<Kernel>();
    a_key_of_a_map::<stridec::wgsl::KernelKey>();
}

#[test]
fn protos_convert_both_ways() {
    let shape: Shape = "bf16[4,8]{1,0:T(8,128)(2,1)}".parse().unwrap();
    assert_eq!(Shape::try_from(proto::xla::Shape::from(&shape)), Ok(shape.clone()));
    let tensor = Tensor::try_from(shape).unwrap();
    let back = Tensor::try_from(&proto::stridec::Tensor::try_from(&tensor).unwrap()).unwrap();
    assert_eq!(back, tensor);
    let request = proto::stridec::CompileRequest::default();
    assert!(Operation::try_from(&request).is_err());
    assert_eq!(Target::try_from(&proto::stridec::Target::default()), Ok(Target::webgpu()));
    let mut target = Target::lavapipe();
    (target.max_storage_buffers_per_shader_stage, target.read_write_sources) = (4, true);
    assert_eq!(Target::try_from(&proto::stridec::Target::from(&target)), Ok(target));
}

/// Answering one request enters these spans in this order.
#[cfg(feature = "tracing")]
#[test]
fn each_stage_has_a_span() {
    use std::sync::{Arc, Mutex};

    use prost::Message;
    use tracing::{
        Event, Metadata, Subscriber,
        span::{Attributes, Id, Record},
    };

    struct Names(Arc<Mutex<Vec<&'static str>>>);

    impl Subscriber for Names {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "stridec"
        }
        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut names = self.0.lock().unwrap();
            names.push(span.metadata().name());
            Id::from_u64(names.len() as u64)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    let tensor = |text: &str| Some((&text.parse::<Tensor>().unwrap()).try_into().unwrap());
    let operation =
        proto::stridec::compile_request::Operation::Relayout(proto::stridec::Relayout {
            source: tensor("f32[2,3]"),
            destination: tensor("f32[2,3]{0,1}"),
        });
    let request =
        proto::stridec::CompileRequest { operation: Some(operation), ..Default::default() };
    let names = Arc::new(Mutex::new(vec![]));
    // If there is one subscriber, a span that another thread enters first is registered with the
    // subscriber of that thread, which has none, and is disabled everywhere. So there are two.
    let _second = tracing::Dispatch::new(Names(Arc::default()));
    tracing::subscriber::with_default(Names(Arc::clone(&names)), || {
        let _ = stridec::service::respond(&request.encode_to_vec());
        let operation = Operation::try_from(&request).unwrap();
        operation.run_on_host(&[0; 24], &mut [0; 24]).unwrap();
    });
    assert_eq!(*names.lock().unwrap(), ["decode", "lower", "emit", "validate", "lower", "run"]);
}
