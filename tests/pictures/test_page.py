"""The page in headless Chromium: what people see and do. Skipped where Chromium is not installed."""

import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest
from headless_browser import Browser, NoBrowserError, open_browser
from named_networks import bert, mobilenet
from pictures_models import EXAMPLES, LIGHT, chain, repeated, write_page

import fuse_dialect as fd
from fuse_dialect.fusion.core.plan import plan_of_nodes
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.pictures.page import page_of
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.pictures.side_by_side import side_by_side

ENTER, ESCAPE, DOWN, UP, RIGHT, TAB = "\ue007", "\ue00c", "\ue015", "\ue013", "\ue014", "\ue004"
_FRAMES = """
const done = arguments[arguments.length - 1], picture = fusionPage.picture, start = performance.now();
let count = 0;
const step = () => {
  if (count++ === 60) { done(60000 / (performance.now() - start)); return; }
  picture.pan(2, 12);
  if (count % 4 === 0) picture.zoom(count % 8 ? 1.05 : 0.95);
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""
_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then((found) => done(found.violations.map((each) => each.help)));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        with open_browser() as opened:
            opened.resize(1400, 900)
            yield opened
    except NoBrowserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(fd.read(EXAMPLES / "tiny_cnn.onnx"), tmp_path_factory.mktemp("page") / "tiny.html")


@pytest.fixture
def page(browser: Browser, tiny: Path) -> Browser:
    """The page of a small model, just opened."""
    browser.requests()
    browser.console()
    browser.open(tiny)
    browser.settle()
    return browser


def _saved(model: onnx.ModelProto, folder: Path) -> Path:
    """The page of a network."""
    onnx.save(model, folder / "network.onnx")
    return write_page(fd.read(folder / "network.onnx"), folder / "network.html")


def _text(page: Browser, selector: str) -> str:
    return page.run("return document.querySelector(arguments[0]).textContent", selector)


def test_page_asks_for_nothing_and_complains_of_nothing(page, tiny):
    page.settle()
    # The browser's own start page may still load its pictures; neither scheme leaves the machine.
    local = ("chrome", "data:")
    assert [url for url in page.requests() if not url.startswith(local)] == [tiny.resolve().as_uri()]
    assert page.console() == []


def test_policy_of_the_page_blocks_requests_and_scripts_of_others(page):
    page.run("const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)")
    page.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    page.run("document.body.insertAdjacentHTML('beforeend', '<b onclick=\"window.ran = 1\">x</b>')")
    page.run("document.body.lastChild.click()")
    assert page.run("return window.ran === undefined")
    assert len([line for line in page.console() if "Content Security Policy" in line]) >= 3


def test_click_on_an_op_tells_its_story(page):
    page.run("window.scrollTo(0, 0)")
    page.click('.box[aria-label^="op conv2d, %stem"]')
    page.settle()
    story = _text(page, "#story")
    plan = fd.plan_fusion(fd.read(EXAMPLES / "tiny_cnn.onnx"))
    assert plan.explain("%stem") in story
    assert "not fused: edge-kind" in story
    assert "%stem = fuse.conv2d %image, %stem_w" in story


def test_search_finds_ops_by_source_and_chooses_the_next(page):
    page.type("#search", "inner_relu")
    assert _text(page, "#found") == "1 found"
    page.press(ENTER)
    page.settle()
    assert _text(page, "#story h2") == "%inner_relu = fuse.relu"
    assert page.run("return document.querySelectorAll('.box.chosen').length") == 1


def test_table_is_sorted_by_bytes_saved_and_by_what_is_clicked(page):
    page.click("#tab-table")
    kernels = page.run("return fusionPage.block.kernels")
    saved: dict[str, int] = {}
    for kernel in kernels:
        saved[kernel["name"]] = saved.get(kernel["name"], 0) + kernel["before"] - kernel["after"]
    rows = page.run("return [...document.querySelectorAll('#table tbody tr')].map((row) => Number(row.dataset.kernel))")
    assert [saved[kernels[row]["name"]] for row in rows] == sorted(saved.values(), reverse=True)
    page.click("#table th:first-child button")
    names = page.run(
        "return [...document.querySelectorAll('#table tbody td:first-child')].map((cell) => cell.textContent)"
    )
    assert names == sorted(names)


def test_replay_ends_in_the_plan_of_the_pass(page):
    steps = page.run(
        "return [0, fusionPage.block.merges.length].map((step) => {"
        " fusionPage.replayTo(step); return document.getElementById('step-text').textContent; })"
    )
    assert steps == ["0 of 5: every op is alone", "5 of 5: %0 into %logits by complex-epilogue, phase 0"]
    groups = page.run("return fusionModel.groupsAfter(fusionPage.block, fusionPage.block.merges.length)")
    kernels = page.run("return fusionPage.block.kernels.map((kernel) => kernel.nodes)")
    assert all(len({groups[node] for node in nodes}) == 1 for nodes in kernels)
    assert len({groups[nodes[0]] for nodes in kernels}) == len(kernels)
    page.run("fusionPage.replayTo(0)")
    page.settle()
    ops = page.run("return document.querySelectorAll('.box.op').length")
    assert page.run("return document.querySelectorAll('.box.op.apart').length") == ops > 0
    kernels = page.run("return document.querySelectorAll('.box.kernel').length")
    assert page.run("return document.querySelectorAll('.box.kernel.unfinished').length") == kernels > 0
    page.run("fusionPage.replayTo(fusionPage.block.merges.length)")
    page.settle()
    assert page.run("return document.querySelectorAll('.box.apart, .box.unfinished').length") == 0


def test_keyboard_reaches_everything(page):
    page.run("document.querySelector('.box').focus()")
    page.press(DOWN)
    page.settle()
    page.settle()
    focused = "return document.activeElement.getAttribute('aria-label')"
    assert page.run(focused).startswith("kernel batch_norm + relu")
    expanded = "return document.activeElement.getAttribute('aria-expanded')"
    was = page.run(expanded)
    page.press(ENTER)
    page.settle()
    page.settle()
    assert {was, page.run(expanded)} == {"true", "false"}
    page.press(">")
    page.settle()
    page.settle()
    assert page.run(focused).startswith("op batch_norm")
    page.press(ESCAPE)
    page.settle()
    page.settle()
    assert page.run(focused).startswith("kernel batch_norm + relu")
    reached = set()
    page.run("document.activeElement.blur(); document.body.focus()")
    for _ in range(40):
        page.press(TAB)
        reached.add(page.run("return document.activeElement.id || document.activeElement.getAttribute('class')"))
    controls = page.run(
        "return [...document.querySelectorAll('button, input, select')].filter((each) =>"
        " each.offsetParent && each.tabIndex >= 0).map((each) => each.id || '')"
    )
    assert {each for each in controls if each} <= reached
    assert any(each and each.startswith("box") for each in reached)


def test_every_control_has_a_name_for_screen_readers(page):
    nameless = page.run(
        "return [...document.querySelectorAll('button, input, select, [role=button], [role=tab], [role=tabpanel]')]"
        ".filter((each) => !(each.getAttribute('aria-label') || each.getAttribute('aria-labelledby') ||"
        " each.textContent.trim() || (each.labels && each.labels.length))).map((each) => each.outerHTML.slice(0, 80))"
    )
    assert nameless == []


def test_text_is_readable_in_both_themes(page):
    contrast = """
      const parse = (text) => {
        const context = document.createElement('canvas').getContext('2d');
        context.fillStyle = text;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const light = (text) => parse(text).map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const style = getComputedStyle(document.documentElement);
      const of = (name) => light(style.getPropertyValue('--' + name).trim());
      const ratio = (a, b) => (Math.max(of(a), of(b)) + 0.05) / (Math.min(of(a), of(b)) + 0.05);
      const pairs = [...fusionPage.scene.work, 'paper', 'panel', 'kernel', 'section'].map((kind) => ['ink', kind]);
      pairs.push(['soft', 'kernel'], ['soft', 'section'], ['refused', 'kernel'], ['refused', 'section']);
      pairs.push(['soft', 'paper'], ['soft', 'panel'], ['refused', 'paper'], ['refused', 'panel'], ['accent', 'panel']);
      return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter(([, , each]) => each < 4.5);
    """
    assert page.run(contrast) == []
    page.click("#theme")
    assert page.run("return document.documentElement.dataset.theme") == "dark"
    assert page.run(contrast) == []


@pytest.mark.parametrize("width", [1400, 800])
def test_axe_core_finds_nothing_to_complain_of(page, width):
    package = find_spec("axe_core_python")
    if package is None or package.origin is None:
        pytest.skip("needs axe-core-python")
    page.resize(width, 900)
    page.run(Path(package.origin).with_name("axe.min.js").read_text("utf-8"))
    try:
        for tab in ("story", "table", "ir"):
            page.click(f"#tab-{tab}")
            page.click("#theme")
            page.settle()
            assert page.run_async(_AXE) == []
    finally:
        page.resize(1400, 900)


def test_narrow_page_does_not_scroll_sideways(page):
    page.resize(800, 900)
    page.settle()
    try:
        assert page.run("return document.documentElement.scrollWidth") <= 800
        assert page.run("return document.querySelectorAll('.box').length") > 0
    finally:
        page.resize(1400, 900)


def test_before_and_after_are_shown(page):
    page.click("#tab-ir")
    assert "fuse.conv2d" in _text(page, "#before")
    assert "func.call @fused_conv2d" in _text(page, "#after")


def test_edges_are_neutral_but_for_expensive_values(browser, tmp_path):
    browser.open(_saved(bert(4, length=64), tmp_path))
    browser.settle()
    assert browser.run("return document.querySelectorAll('.edge-label').length") == 0
    red, neutral = browser.run(
        "return ['.edge.costly', '.edge:not(.costly)'].map((each) => document.querySelectorAll(each).length)"
    )
    # The scores of attention before and after softmax, of the layer that stands for all.
    assert (red, neutral > 10) == (2, True)
    assert "written and read again; not fused: " in _text(browser, ".edge-hit title")
    browser.click("#show-reasons")
    browser.settle()
    assert browser.run("return document.querySelectorAll('.edge-label').length") > 10


def test_reasons_of_a_chosen_op_stand_at_its_edges(page):
    page.run(
        "fusionPage.choose(fusionPage.tree.boxOfNode.get(fusionPage.block.nodes.findIndex((n) => n[3] === '%stem')))"
    )
    page.settle()
    assert _text(page, ".edge-label") == "edge-kind"


def test_closed_kernels_have_the_colour_of_their_anchor_and_the_shape_of_their_result(page):
    page.click("#collapse")
    page.settle()
    fill = "return getComputedStyle(document.querySelector('.box.kernel[aria-label*=dense] > rect')).fill"
    legend = (
        "return getComputedStyle([...document.querySelectorAll('#legend li')]"
        ".find((each) => each.textContent === arguments[0])).backgroundColor"
    )
    assert page.run(fill) == page.run(legend, "product")
    assert _text(page, ".box.kernel[aria-label*=dense] text.small").split() == ["%logits", "1x10xf32"]
    works = page.run("return [...document.querySelectorAll('#legend li')].map((each) => each.textContent)")
    assert {"product", "convolution", "reduction", "elementwise", "move"} < set(works)
    assert "other" not in works


def test_each_primitive_is_in_the_table_once_and_leads_to_all_its_calls(browser, tmp_path):
    browser.open(_saved(bert(4), tmp_path))
    browser.settle()
    browser.click("#tab-table")
    names = browser.run("return [...document.querySelectorAll('#table tbody button')].map((each) => each.textContent)")
    kernels = browser.run("return fusionPage.block.kernels.map((kernel) => kernel.name)")
    assert sorted(names) == sorted(set(kernels))
    calls = browser.run(
        "return [...document.querySelectorAll('#table tbody td:nth-child(2)')].map((e) => +e.textContent)"
    )
    assert calls == [kernels.count(name) for name in names]
    row = calls.index(4)
    chosen = [
        browser.run(
            "document.querySelectorAll('#table tbody button')[arguments[0]].click();"
            " return fusionPage.picture.chosen.kernel",
            row,
        )
        for _ in range(5)
    ]
    assert chosen == [number for number, name in enumerate(kernels) if name == names[row]] + chosen[:1]
    shares = browser.run(
        "return [...document.querySelectorAll('#table tbody td:nth-child(5)')].map((e) => e.textContent)"
    )
    assert sum(float(share.split()[0]) for share in shares) == pytest.approx(100, abs=0.5 * len(shares))


@pytest.mark.parametrize("width", [1400, 800])
def test_nothing_lies_on_the_graph(page, width):
    page.resize(width, 900)
    page.settle()
    try:
        graph, *others = page.run(
            "return ['#graph', '#map', '#legend', '.zoom']"
            ".map((each) => document.querySelector(each).getBoundingClientRect())"
        )
        for other in others:
            assert other["right"] <= graph["left"] or other["bottom"] <= graph["top"]
    finally:
        page.resize(1400, 900)


def test_narrow_page_gives_half_of_itself_to_the_story(page):
    page.resize(800, 900)
    page.settle()
    try:
        stage, story = page.run(
            "return ['.stage', 'aside'].map((each) => document.querySelector(each).getBoundingClientRect().height)"
        )
        assert story == pytest.approx(stage, abs=2)
        assert story > 300
    finally:
        page.resize(1400, 900)


@pytest.mark.parametrize("width", [1400, 800])
def test_graph_stays_beside_the_texts(page, width):
    page.resize(width, 900)
    try:
        page.click("#tab-ir")
        page.settle()
        sizes = page.run(
            "return ['#graph', '#before', '#after'].map((each) => document.querySelector(each).getBoundingClientRect())"
        )
        assert all(each["width"] > 250 and each["height"] > 150 for each in sizes)
    finally:
        page.resize(1400, 900)


def test_a_wide_plan_is_readable_and_all_of_it_is_in_view_when_asked_for(browser, tmp_path):
    path = tmp_path / "wide.html"
    places = range(1, 40)
    inputs = ", ".join(f"%x{place}: tensor<4x{place}xf32>" for place in places)
    ops = "\n".join(f"  %v{place} = fuse.softmax %x{place} : tensor<4x{place}xf32>" for place in places)
    results = ", ".join(f"%v{place}" for place in places)
    types = ", ".join(f"tensor<4x{place}xf32>" for place in places)
    text = f"func.func @main({inputs}) -> ({types}) {{\n{ops}\n  return {results} : {types}\n}}"
    write_page(fd.parse(text), path)
    browser.open(path)
    browser.settle()
    assert browser.run("return fusionPage.picture.scale") >= 0.8
    seen = "const p = fusionPage.picture; return p.size()[0] / p.scale / p.tree.root.width"
    assert browser.run(seen) < 1
    browser.click("#zoom-all")
    assert browser.run(seen) >= 1
    browser.click("#zoom-width")
    assert browser.run("return fusionPage.picture.scale") >= 0.8


def test_keys_work_before_anything_has_focus(page):
    scale = "return fusionPage.picture.scale"
    was = page.run(scale)
    page.press("-")
    assert page.run(scale) < was
    page.press("f")
    assert page.run(scale) == was
    page.press(DOWN)
    page.settle()
    page.settle()
    assert page.run("return fusionPage.picture.chosen === fusionPage.tree.root.children[0]")
    page.press("/")
    page.press("f", "-")
    assert page.run("return [document.activeElement.id, document.getElementById('search').value]") == ["search", "f-"]
    page.press(ESCAPE)
    page.press("+")
    assert page.run(scale) > was


def test_keys_of_controls_are_theirs(page):
    page.click("#tab-story")
    page.press(RIGHT)
    assert page.run("return [document.activeElement.id, fusionPage.picture.chosen]") == ["tab-table", None]
    page.run("document.getElementById('theme').focus()")
    theme = "return document.documentElement.dataset.theme"
    was = page.run(theme)
    page.press(ENTER)
    assert page.run(theme) != was
    assert page.run("return fusionPage.picture.chosen") is None


def test_page_says_what_is_saved_in_plain_words(page):
    summary = _text(page, "#summary")
    assert "less written and read again between kernels" in summary
    assert "apart" not in summary


def test_layers_of_a_deep_network_are_folded_and_open(browser, tmp_path):
    path = _saved(mobilenet(102), tmp_path)
    assert path.stat().st_size < 3_000_000
    browser.open(path)
    browser.settle()
    labels = browser.run("return fusionPage.tree.boxes.filter((box) => box.type === 'section').map((box) => box.label)")
    assert labels[0] == "features"
    assert {"26 x features", "features.1", "features.2 … features.26"} < set(labels)
    assert browser.run("return document.querySelectorAll('.box').length") < 60
    more = "fusionPage.tree.boxes.find((box) => box.label === 'features.2 … features.26')"
    browser.run(f"fusionPage.picture.toggle({more})")
    browser.settle()
    assert browser.run(f"return {more}.children.map((box) => box.label)[24]") == "features.26"
    assert browser.console() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet50", "5000", "50000"])
def test_page_opens_with_few_boxes_and_moves(browser, tmp_path, name):
    module = fd.read(LIGHT / "light_resnet50.onnx") if name == "resnet50" else fd.parse(chain(50))
    scene = scene_of(module, FuseOpsPass())
    if name != "resnet50":
        scene = repeated(scene, int(name) // 500)
    path = tmp_path / f"{name}.html"
    path.write_text(page_of(scene), "utf-8")
    browser.open(path)
    browser.settle()
    # How long it takes is the machine's affair: what makes it take long is how much is laid out and drawn.
    boxes = browser.run("return document.querySelectorAll('.box').length")
    assert 0 < boxes <= 1200
    open_boxes = "return fusionPage.tree.boxes.filter((box) => box.routes).map((box) => box.children.length)"
    assert max(browser.run(open_boxes)) <= 120
    assert browser.run_async(_FRAMES) > 1
    browser.click("#expand")
    browser.settle()
    assert 0 < browser.run("return document.querySelectorAll('.box').length") <= 1200
    assert browser.console() == []


def _hostile(seed: int) -> str:
    chance = random.Random(seed)
    parts = (
        "</script><script>window.ran=1</script>",
        "<img src=x onerror=window.ran=1>",
        "'\"><svg onload=window.ran=1>",
        "javascript:window.ran=1",
        "${window.ran=1}",
        "{{constructor.constructor('window.ran=1')()}}",
        "<!--<script>",
        "]]>",
        "&lt;b&gt;",
        "\u2028\u2029\u202e",
        "\\u003cscript\\u003e",
        "@DATA@ @SCRIPTS@ @POLICY@",
        "\U0001f9a9",
        "a" * 200,
    )
    return "".join(chance.choice(parts) for _ in range(chance.randint(1, 3))) + str(seed)


def test_hostile_strings_are_shown_and_never_run(browser, tmp_path):
    """2,000 strings as names of ops, sources and files, in attributes, symbols and the title."""
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr, UnknownLoc, UnregisteredOp

    lines = ["func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {"]
    last = "%x"
    for number in range(680):
        lines.append(f"  %v{number} = fuse.{'exp' if number % 3 else 'softmax'} {last} : tensor<4xf32>")
        last = f"%v{number}"
    module = fd.parse("\n".join([*lines, f"  return {last} : tensor<4xf32>", "}"]))
    strings: list[str] = []

    def hostile() -> str:
        strings.append(_hostile(len(strings)))
        return strings[-1]

    places: dict[int, str] = {}
    for number, op in enumerate(op for op in module.walk() if op.name.startswith("fuse.")):
        op.attributes["note"] = StringAttr(hostile())
        if number % 2:
            op.location = NameLoc(StringAttr(hostile()), UnknownLoc())
        else:
            op.location = FileLineColLoc(StringAttr(hostile()), IntAttr(1), IntAttr(1))
        places[id(op)] = hostile()
    function = module.body.block.first_op
    assert function is not None
    function.properties["sym_name"] = StringAttr(hostile())
    last_op = function.regions[0].block.last_op
    for _ in range(40):
        strange = UnregisteredOp.with_name(hostile()).create(operands=[last_op.operands[0]])
        function.regions[0].block.insert_op_before(strange, last_op)
    title = hostile()
    options = SceneOptions(title, lambda op: places.get(id(op), ""))
    path = tmp_path / "hostile.html"
    path.write_text(page_of(scene_of(module, FuseOpsPass(), options)), "utf-8", "surrogatepass")
    assert len(strings) > 2000
    browser.console()
    browser.open(path)
    browser.settle()
    browser.click("#expand")
    browser.run("document.getElementById('tab-table').click(); document.getElementById('tab-ir').click()")
    shown = browser.run(
        "return fusionPage.tree.boxes.filter((box) => box.type === 'node').map((box) => {"
        " fusionPage.choose(box, false); return document.getElementById('story').textContent; }).join('\\n')"
    )
    browser.settle()
    assert browser.run("return window.ran === undefined && !document.querySelector('img, b, script[src]')")
    assert browser.console() == []
    assert _text(browser, "#title") == title
    escaped = {text: text.replace("\\", "\\5C").replace('"', "\\22") for text in strings}
    missing = [text for text in strings[:-1] if not any(form in shown for form in (text, escaped[text], _mlir(text)))]
    assert missing == []


def _mlir(text: str) -> str:
    """The text as MLIR spells it in an attribute."""
    from xdsl.dialects.builtin import StringAttr

    return str(StringAttr(text))[1:-1]


def test_accelerator_shows_the_units_of_a_kernel(browser, tmp_path):
    path = tmp_path / "hardware.html"
    path.write_text(page_of(scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsHwPass())), "utf-8")
    browser.open(path)
    browser.settle()
    units = browser.run("return fusionPage.scene.accelerator.units.length")
    assert browser.run("return document.querySelectorAll('#story .accelerator .unit').length") == units > 0
    kernel = browser.run("return fusionPage.block.kernels.findIndex((kernel) => kernel.anchor >= 0)")
    browser.run("fusionPage.choose(fusionPage.tree.boxOfKernel.get(arguments[0]), true)", kernel)
    used = browser.run(
        "return new Set(fusionPage.block.kernels[arguments[0]].nodes.map((node) => fusionPage.block.units[node])"
        ".filter(Boolean)).size",
        kernel,
    )
    assert browser.run("return document.querySelectorAll('#story .accelerator .unit.busy').length") == used > 0
    assert "ipa runs conv2d" in browser.run(
        "return document.querySelector('#story .accelerator').getAttribute('aria-label')"
    )
    assert browser.console() == []


def test_plans_side_by_side_run_in_their_frames_and_ask_for_nothing(browser, tmp_path):
    scenes = [scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsPass(fusion_limit=limit)) for limit in (None, 2)]
    path = tmp_path / "both.html"
    path.write_text(side_by_side("<b>two</b>", scenes), "utf-8")
    browser.requests()
    browser.console()
    browser.open(path)
    for frame in (0, 1):
        browser.enter_frame(frame)
        browser.settle()
        browser.run("fusionPage.picture.fitAll()")
        browser.settle()
        browser.settle()
        alone = browser.run("return fusionPage.block.alone.length")
        assert browser.run("return document.querySelectorAll('.box.differs').length") == alone > 0
        browser.enter_frame(None)
    assert _text(browser, "h1") == "<b>two</b>"
    local = ("chrome", "data:", "about:", path.resolve().as_uri())
    assert [url for url in browser.requests() if not url.startswith(local)] == []
    assert browser.console() == []


def test_what_a_kernel_computes_again_is_marked(browser, tmp_path):
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
      %e = fuse.exp %x : tensor<4xf32>
      %a = fuse.tanh %e : tensor<4xf32>
      %s = fuse.sum %e, axes = [0] : (tensor<4xf32>)
      return %a, %s : tensor<4xf32>, tensor<f32>
    }"""

    def both(graph, options):
        exp, tanh, total = (node for node, role in enumerate(graph.roles) if role is NodeRole.OPERATOR)
        return plan_of_nodes(graph, [{exp, tanh}, {exp, total}])

    path = tmp_path / "again.html"
    path.write_text(page_of(scene_of(fd.parse(text), FuseOpsPass().using(strategy=both))), "utf-8")
    browser.open(path)
    browser.settle()
    assert browser.run("return document.querySelectorAll('.box.again').length") == 1
    assert browser.run("return document.querySelectorAll('.edge.costly, .edge-hit').length") == 0
    assert "3 ops in 2 kernels" in _text(browser, "#summary")
    browser.run("fusionPage.choose(fusionPage.tree.boxOfKernel.get(1), true)")
    assert "computes again%e" in _text(browser, "#story dl")
    browser.run("fusionPage.choose(fusionPage.tree.boxesOfNode.get(fusionPage.block.kernels[0].nodes[0])[1], true)")
    assert "computed again in" in _text(browser, "#story dl")
