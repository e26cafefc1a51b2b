"""Names, drawings, and what a notebook shows."""

import errno
import xml.dom.minidom

import pytest
import stridec

THINGS = {
    "shape": lambda: stridec.Shape("bf16[16,256]{1,0:T(8,128)(2,1)}"),
    "operation": lambda: stridec.Operation.relayout("f32[8,64,112,112]", "NHWC"),
    "program": lambda: stridec.Program("ENTRY main { x = s32[2,3] parameter(0) ROOT y = s32[3,2] transpose(x), dimensions={1,0} }"),
    "memory": lambda: stridec.memory("f32[1024,3]{1,0:T(8,128)}"),
    "difference": lambda: stridec.diff("ENTRY main { ROOT x = f32[64,3]{1,0} parameter(0) }", "ENTRY main { ROOT x = f32[64,3]{0,1} parameter(0) }"),
    "kernel": lambda: stridec.compile("f32[8]", "{0}"),
    "target": lambda: stridec.Target(),
}
PICTURES = {name: thing for name, thing in THINGS.items() if name not in ["kernel", "target"]}


@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_names_have_one_line(thing):
    name = repr(thing())
    assert "\n" not in name and len(name) < 200 and ("stridec." in name or name.startswith("Shape("))


@pytest.mark.parametrize("thing", PICTURES.values(), ids=PICTURES)
def test_pictures_are_saved(thing, tmp_path):
    thing = thing()
    for end in ["svg", "html", "txt"]:
        path = tmp_path / f"x.{end}"
        thing.save(path)
        thing.save(str(path))
        assert path.stat().st_size > 20
    assert xml.dom.minidom.parse(str(tmp_path / "x.svg")).documentElement.tagName == "svg"
    for wrong in ["x.png", "x", 3, None]:
        with pytest.raises(stridec.InvalidInput, match="path: expected"):
            thing.save(wrong)
    with pytest.raises(FileNotFoundError, match="none.*x.svg") as raised:
        thing.save(tmp_path / "none" / "x.svg")
    assert raised.value.filename == tmp_path / "none" / "x.svg" and raised.value.errno == errno.ENOENT


def test_a_page_without_a_kernel_says_why(tmp_path):
    operation = stridec.Operation.relayout("f32[64,1048576]", "{0,1}")
    program = stridec.Program("ENTRY e { x = f32[64,1048576] parameter(0) ROOT y = f32[1048576,64] transpose(x), dimensions={1,0} }")
    for thing in [operation, program]:
        with pytest.raises(stridec.Unsupported, match="expected .*134217728.*; the page has the kernel, and .svg and .txt need none"):
            thing.save(tmp_path / "x.html")
        thing.save(tmp_path / "x.svg")
        assert "<svg" in thing._repr_html_()


def test_drawings_are_as_wide_as_they_are_told():
    # The drawing of a large layout uses the width, and leaves out what does not fit.
    things = [stridec.Shape("f32[64,512]"), THINGS["operation"](), stridec.Program("ENTRY e { x = s32[64,512] parameter(0) ROOT y = s32[512,64] transpose(x), dimensions={1,0} }")]
    for thing in things:
        widths = [max(map(len, thing.draw(columns).splitlines())) for columns in [100, 200]]
        assert 80 < widths[0] <= 100 < 180 < widths[1] <= 200, (thing, widths)
    with pytest.raises(stridec.Unsupported):
        stridec.Shape("token[]").save("x.svg")


def test_a_notebook_gets_at_most_300_kb():
    lines = ["  p0 = f32[64,64] parameter(0)"]
    lines += [f"  p{n + 1} = f32[64,64] transpose(p{n}), dimensions={{1,0}}" for n in range(200)]
    results = ", ".join(f"p{n}" for n in range(1, 201))
    lines.append(f"  ROOT r = ({', '.join(['f32[64,64]'] * 200)}) tuple({results})")
    for text in ["ENTRY main {\n" + "\n".join(lines) + "\n}", "ENTRY main {\n" + "\n".join(lines[:-2] + ["  ROOT " + lines[-2].strip()]) + "\n}"]:
        program = stridec.Program(text)
        bundle = program._repr_mimebundle_()
        assert sum(map(len, bundle.values())) < 300_000 and "text/html" in bundle
        assert "save(" in bundle["text/html"] or "srcdoc" in bundle["text/html"]


def test_a_large_difference_is_cut_for_a_notebook():
    old, new = ["ENTRY main {\n" + "\n".join(f"  p{n} = f32[64,{n + 1}]{layout} parameter({n})" for n in range(6000)) + "\n  ROOT r = f32[64,1]{1,0} copy(p0)\n}" for layout in ["{1,0}", "{0,1}"]]
    difference = stridec.diff(old, new)
    assert len(str(difference)) > 300_000
    bundle = difference._repr_mimebundle_()
    assert sum(map(len, bundle.values())) < 300_000 and "lines; save(" in bundle["text/html"]
    assert len(difference._repr_html_()) < 300_000
