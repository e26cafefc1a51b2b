//! Buffers of parameters that results may reuse. They are read from text, protos and StableHLO, and
//! written back.

use stridec::{
    ErrorKind,
    hlo::{HloError, Module},
};

/// Returns the aliases and the donors of a module in the form that XLA prints.
fn given(module: &Module) -> Vec<String> {
    let aliases = module.aliases().iter().map(|alias| {
        let kind = if alias.must_alias { "must" } else { "may" };
        let (output, index) = (&alias.output_index, &alias.parameter_index);
        format!("{output:?}: {} {index:?} {kind}", alias.parameter_number)
    });
    let donors = module.donors().iter();
    let donors =
        donors.map(|donor| format!("{} {:?}", donor.parameter_number, donor.parameter_index));
    aliases.chain(donors).collect()
}

/// Returns a module with two parameters and this line of attributes.
fn module(attributes: &str) -> Result<Module, HloError> {
    Module::parse(&format!(
        "HloModule m, {attributes}
         ENTRY e {{
           p = (f32[2], s32[]) parameter(0)
           q = f32[2] parameter(1)
           x = f32[2] get-tuple-element(p), index=0
           ROOT t = (f32[2], f32[2]) tuple(q, x)
         }}"
    ))
}

#[test]
fn aliases_are_read_and_written() {
    for (attributes, expected) in [
        ("input_output_alias={ {0}: (1, {}, may-alias) }", &["[0]: 1 [] may"][..]),
        (
            "input_output_alias={ {1}: (0, {0}, must-alias), {0}: (1, {}) }",
            &["[1]: 0 [0] must", "[0]: 1 [] may"],
        ),
        ("buffer_donor={ (1, {}), (0, {1}) }", &["1 []", "0 [1]"]),
        (
            "input_output_alias={ {1}: (1, {}, may-alias) }, buffer_donor={ (0, {0}) }",
            &["[1]: 1 [] may", "0 [0]"],
        ),
        ("is_scheduled=true", &[]),
    ] {
        let module = module(attributes).unwrap();
        assert_eq!(given(&module), expected, "{attributes}");
        assert_eq!(Module::parse(&module.to_string()).unwrap(), module, "{module}");
        assert_eq!(Module::decode(&module.encode()).unwrap().aliases(), module.aliases());
        assert_eq!(Module::decode(&module.encode()).unwrap().donors(), module.donors());
        let plain = module.clone().with_default_layouts();
        assert_eq!(given(&plain), expected, "{attributes}");
    }
}

#[test]
fn parts_that_do_not_exist_are_refused() {
    for (attributes, expected) in [
        ("input_output_alias={ {2}: (1, {}) }", "input_output_alias.entries[0].output_shape_index"),
        ("input_output_alias={ {0,0}: (1, {}) }", "the path of an array of the result"),
        ("input_output_alias={ {}: (1, {}) }", "the path of an array of the result"),
        ("input_output_alias={ {0}: (2, {}) }", "a parameter and the path of an array in it"),
        ("input_output_alias={ {0}: (0, {}) }", "a parameter and the path of an array in it"),
        ("input_output_alias={ {0}: (1, {}), {1}: (1, {}) }", "entries[1].parameter_number: 1, {}"),
        (
            "input_output_alias={ {0}: (0, {1}) }",
            "parameter_number: s32[] of 4 bytes, at 0, {1} of the parameters, for f32[2] of 8 bytes, \
             at {0} of the result; expected parts of the same size",
        ),
        ("input_output_alias={ {0}: (1, {}) }, buffer_donor={ (1, {}) }", "that no alias gives"),
        ("input_output_alias={ {0}: (1, {0}) }", "got 1, {0}"),
        ("input_output_alias={ {0}: (-1, {}) }", "a parameter and the path of an array in it"),
        (
            "input_output_alias={ {0}: (1, {}), {0}: (0, {0}) }",
            "entries[1].output_shape_index: {0}; expected each part of the result once",
        ),
        ("buffer_donor={ (0, {2}) }", "buffer_donor.entries[0].parameter_number"),
    ] {
        let error = module(attributes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let shown = error.to_string();
        let words = expected.strip_prefix("got ").unwrap_or(expected);
        assert!(shown.contains(words), "{attributes}: {shown}");
    }
}

#[test]
fn donated_arguments_of_stablehlo_are_kept() {
    let module = |results: &str, returned: &str, attributes: [&str; 2]| {
        Module::parse(&format!(
            "module @jit_f {{
               func.func public @main(%arg0: tensor<2xf32> {{{}}}, %arg1: tensor<2xf32> {{{}}})
                   -> {results} {{
                 return {returned}
               }}
             }}",
            attributes[0], attributes[1],
        ))
    };
    let one = "tensor<2xf32>";
    let single =
        module(one, "%arg1 : tensor<2xf32>", ["", "tf.aliasing_output = 0 : i32"]).unwrap();
    assert_eq!(given(&single), ["[]: 1 [] may"]);
    let two = "(tensor<2xf32>, tensor<2xf32>)";
    let returned = "%arg1, %arg0 : tensor<2xf32>, tensor<2xf32>";
    let attributes = [
        "jax.buffer_donor = true",
        "mhlo.sharding = \"{replicated}\", tf.aliasing_output = 1 : i32",
    ];
    let both = module(two, returned, attributes).unwrap();
    assert_eq!(given(&both), ["[1]: 1 [] may", "0 []"]);
    assert_eq!(Module::parse(&both.to_string()).unwrap(), both);
    assert!(module(two, returned, ["tf.aliasing_output = 2 : i32", ""]).is_err());
    assert!(module(one, "%arg1 : tensor<2xf32>", ["tf.aliasing_output = 1 : i32", ""]).is_err());
}
