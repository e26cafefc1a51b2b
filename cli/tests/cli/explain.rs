//! `stridec explain`.

use crate::sandbox::Sandbox;

#[test]
fn layouts_and_operations_are_drawn() {
    let sandbox = Sandbox::new();
    let layout = sandbox.stridec(&["explain", "f32[2,3]{0,1:PAD(3,5,zero)}"]).text().to_owned();
    assert!(layout.contains("9 of 15 places are padding"), "{layout}");
    assert!(!layout.contains('\u{1b}'), "no colour in a pipe");
    let slice =
        "explain slice --from f32[1,1,4,4] --offsets 0,0,0,1 --sizes 1,1,4,3 --strides 1,1,-2,2";
    let slice = sandbox.stridec(&slice.split(' ').collect::<Vec<_>>()).text().to_owned();
    assert!(slice.contains("place 13 (0,0,3,1) goes to 0 (0,0,0,0)"), "{slice}");
}

#[test]
fn documents_go_to_stdout_too() {
    let sandbox = Sandbox::new();
    let relayout = ["explain", "relayout", "--from", "f32[2,3]", "--to", "f32[2,3]{0,1}"];
    let svg = sandbox.stridec(&[&relayout[..], &["--svg", "-"]].concat()).text().to_owned();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"), "{svg}");
    let html = sandbox.stridec(&[&relayout[..], &["--html", "-"]].concat()).text().to_owned();
    assert!(html.contains("fn main(") && html.contains("id=\"run\""), "{html}");
    let html = sandbox.stridec(&["explain", "f32[2,3]", "--html", "-"]).text().to_owned();
    assert!(!html.contains("id=\"run\""), "a layout has no kernel");
}

#[test]
fn the_hosts_plan_is_printed() {
    let sandbox = Sandbox::new();
    let padded =
        ["explain", "relayout", "--from", "u8[9,40,3]", "--to", "{2,1,0:PAD(9,40,4,zero)}"];
    let plan = sandbox.stridec(&[&padded[..], &["--plan"]].concat()).text().to_owned();
    assert!(plan.starts_with("a share:\n"), "{plan}");
    let identity = ["explain", "relayout", "--from", "u8[3]", "--to", "{0}", "--plan", "2"];
    assert_eq!(sandbox.stridec(&identity).text(), "a share:\n  runs of 3 bytes\n");
    let module = "HloModule m\n\nENTRY e {\n  p = u8[3] parameter(0)\n  \
                  ROOT r = u8[2,3] broadcast(p), dimensions={1}\n}\n";
    sandbox.write("m.txt", module);
    let program = sandbox.stridec(&["explain", "hlo", "@m.txt", "--plan"]);
    assert!(program.text().starts_with("result 0:\na share:\n"), "{}", program.text());
    let shape = sandbox.stridec(&["explain", "u8[3]", "--plan"]);
    shape.fails(2, "--plan: only `relayout`, `slice` and `hlo` take this flag");
}

/// A reshard, as text and in files, with the flags of `reshard plan`.
#[test]
fn reshards_are_drawn() {
    let sandbox = Sandbox::new();
    let rows = ["explain", "reshard", "--shape", "f32[8,6]", "--from", "{devices=[4,1]<=[4]}"];
    let rows = [&rows[..], &["--to", "{devices=[1,3]<=[3]}", "--to-layout", "{0,1}"]].concat();
    let text = sandbox.stridec(&rows).text().to_owned();
    assert!(text.contains("AFTER {devices=[1,3]<=[3]}, shards of {0,1}"), "{text}");
    assert!(text.contains("9 messages of 144B in all"), "{text}");
    let svg = sandbox.stridec(&[&rows[..], &["--svg", "-"]].concat()).text().to_owned();
    assert!(svg.contains("<title>3 sends 16B to 2</title>"), "{svg}");
    assert_eq!(sandbox.stridec(&[&rows[..], &["--html", "page.html"]].concat()).text(), "");
    assert!(sandbox.read("page.html").starts_with(b"<!DOCTYPE html>"));
    sandbox.stridec(&rows[..4]).fails(2, "--from");
    let manual = ["{manual}", "--devices", "4"];
    sandbox.stridec(&[&rows[..5], &manual, &rows[6..8]].concat()).fails(3, "manual");
    sandbox.stridec(&[&rows[..], &["--from-layout", "{"]].concat()).fails(2, "--from-layout");
}

#[test]
fn what_is_missing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.stridec(&["explain"]).fails(2, "SHAPE");
    sandbox.stridec(&["explain", "f99[2]"]).fails(2, "^^^");
    sandbox.stridec(&["explain", "relayout", "--from", "f32[2]"]).fails(2, "--to");
    sandbox.stridec(&["explain", "token[]"]).fails(3, "token");
    sandbox.stridec(&["explain", "f32[2]", "--to", "f32[2]"]).fails(2, "--to: a shape alone");
}

#[test]
fn operations_are_given_as_to_compile() {
    let sandbox = Sandbox::new();
    let request = r#"{"relayout": {
        "source": {"shape": {"element_type": "F32", "dimensions": [2, 3, 4, 5]}},
        "destination": {"shape": {"element_type": "F32", "dimensions": [2, 3, 4, 5],
            "layout": {"minor_to_major": [1, 3, 2, 0]}}}}}"#;
    sandbox.write("request.json", request.as_bytes());
    let drawn = sandbox.stridec(&["explain", "--op", "@request.json"]).text().to_owned();
    let to = ["explain", "relayout", "--from", "f32[2,3,4,5]", "--to", "NHWC"];
    assert_eq!(sandbox.stridec(&to).text(), drawn);
    assert!(drawn.contains("f32[2,3,4,5]{1,3,2,0}"), "{drawn}");
}
