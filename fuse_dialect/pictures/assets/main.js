"use strict";
// Ties picture, panels, search and replay together.
(() => {
  const $ = (id) => document.getElementById(id);
  const M = fusionModel, scene = JSON.parse($("data").textContent);
  const MOST_OPEN = 30, MOST_OPENED = 6000, MOST_HITS = 500;
  let block = null, tree = null, texts = null, timer = 0;

  const picture = new FusionPicture($("graph"), $("map"), {
    click: (box) => { if (box.children.length) picture.toggle(box); choose(box, false); },
    choose: (box) => choose(box, true),
    leave: () => leave(),
  });

  function label(box) {
    if (box.type === "root") { box.label = box.detail = ""; return; }
    if (box.type === "section") {
      const last = M.lastKernel(box), result = last < 0 ? -1 : M.resultOf(block, block.kernels[last]);
      box.label = M.cut(box.name || "kernels", 60);
      box.detail = [box.note, M.counted(box.kernels, "kernel"), M.counted(box.ops, "op")].filter(Boolean).join(", ")
        + (result < 0 ? "" : ` → ${M.cut(M.shapeText(block.nodes[result][M.TYPES]), 30)}`);
    } else if (box.type === "kernel") {
      const kernel = block.kernels[box.kernel], result = M.resultOf(block, kernel);
      box.label = M.kernelLabel(block, kernel, 34);
      box.detail = result < 0 ? M.counted(kernel.nodes.length, "op")
        : `${ownName(result)}  ${M.cut(M.shapeText(block.nodes[result][M.TYPES]), 30)}`;
      box.differs = differs(box.kernel);
    } else {
      const data = block.nodes[box.node], unit = block.units[box.node];
      box.label = M.cut(M.shortName(data[M.OP]), 30) + (unit ? ` @ ${unit}` : "");
      box.detail = `${ownName(box.node)}  ${M.cut(M.shapeText(data[M.TYPES]), 30)}`.trim();
      box.differs = box.parent.type !== "kernel" && differs(box.kernel);
      box.isAnchor = box.parent.type === "kernel" && block.kernels[box.kernel].lead === box.node;
    }
  }

  /** Whether the plan beside this one has no such kernel. */
  function differs(kernel) { return Boolean(block.alone && block.alone.includes(kernel)); }

  /** The name of a value without the modules that it comes from, which exporters put in front. */
  function ownName(node) {
    const data = block.nodes[node], value = data[M.VALUE] || data[M.SOURCE] || "", source = data[M.SOURCE] || "";
    const path = "%" + source.slice(0, source.lastIndexOf("/") + 1).replace(/^[^A-Za-z0-9]+/, "").replace(/[^A-Za-z0-9]+/g, "_");
    return shortValue(path.length > 1 && value.startsWith(path) ? `%…${value.slice(path.length)}` : value, 26);
  }

  /** The end of a long name, which tells it from others. */
  function shortValue(name, most) { return name.length > most ? `${name[0] === "%" ? "%" : ""}…${name.slice(2 - most)}` : name; }

  function show(place) {
    block = scene.blocks[place];
    tree = M.boxTree(block);
    tree.boxes.forEach(label);
    texts = M.searchTexts(block);
    M.openFirst(block, tree, MOST_OPEN);
    const before = block.kernels.reduce((sum, kernel) => sum + kernel.before, 0);
    const after = block.kernels.reduce((sum, kernel) => sum + kernel.after, 0);
    $("summary").textContent = `${block.name === scene.title ? "" : `${block.name}: `}${M.counted(tree.boxOfNode.size, "op")} in ${M.counted(block.kernels.length, "kernel")} by ${scene.pass}. `
      + `Kernels read and write ${M.formatBytes(after)}; without fusion it would be ${M.formatBytes(before)}`
      + (before > after ? `: ${M.formatBytes(before - after)} less written and read again between kernels.` : ".");
    document.title = [...new Set([scene.title, block.name])].join(", ");
    $("search").value = "";
    $("found").textContent = "";
    picture.replay = null;
    drawLegend();
    picture.show(scene, block, tree);
    fusionPanels.table(scene, block, $("table"), (kernel) => choose(tree.boxOfKernel.get(kernel), true));
    $("replay").hidden = !block.merges.length;
    $("step").max = block.merges.length;
    $("step").value = block.merges.length;
    describeStep(block.merges.length);
    leave();
  }

  /** The colours that there are, and what lines mean. */
  function drawLegend() {
    const there = new Set(block.kernels.map((kernel) => kernel.work));
    tree.boxOfNode.forEach((_, node) => there.add(block.nodes[node][M.WORK]));
    const item = (text, name, color) => {
      const made = fusionPanels.node("li", name ? { class: name } : {}, text);
      if (color) made.style.background = `var(--${color})`;
      return made;
    };
    $("legend").replaceChildren(...scene.work.filter((_, place) => there.has(place)).map((name) => item(name, "", name)),
      item("◆ anchor"), item("value between kernels", "line"), ...(block.costly && block.costly.length ? [item("expensive one", "line costly")] : []),
      ...(block.alone ? [item("here alone", "differs")] : []));
  }

  /** Choose nothing, and show what there is to see before. */
  function leave() {
    picture.chosen = null;
    picture.redraw();
    $("story").replaceChildren(...fusionPanels.overview(scene, block, (code) => { $("search").value = code; nextHit(false); },
      (node) => choose(tree.boxOfNode.get(node), true)));
  }

  function choose(box, moves) {
    picture.choose(box, moves);
    const inside = box.type === "node" ? fusionPanels.opStory(scene, block, box.node)
      : box.type === "kernel" ? fusionPanels.kernelStory(scene, block, box.kernel, (node) => choose(tree.boxOfNode.get(node), true))
        : fusionPanels.sectionStory(box);
    $("story").replaceChildren(...inside);
    $("story").scrollTop = 0;
    if ($("story").hidden) openTab("story");
  }

  function openTab(name) {
    if (name === "ir" && !$("before")) fusionPanels.sides(scene, $("ir"));
    for (const each of ["story", "table", "ir"]) {
      $(each).hidden = each !== name;
      $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
      $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    }
    document.body.classList.toggle("text", name === "ir");
    picture.redraw();
  }

  function search() {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    picture.hits.clear();
    const hits = [];
    if (words.length) {
      texts.forEach((text, number) => {
        if (hits.length < MOST_HITS && tree.boxOfNode.has(number) && words.every((word) => text.includes(word))) hits.push(number);
      });
    }
    mark(hits);
    $("found").textContent = words.length ? `${hits.length}${hits.length === MOST_HITS ? "+" : ""} found` : "";
    picture.redraw();
    return hits;
  }

  /** Mark what was found, or the closed boxes that hide it. */
  function mark(hits) {
    picture.hits.clear();
    hits.forEach((number) => picture.hits.add(fusionLayout.visible(tree.boxOfNode.get(number)).id));
  }

  let lastFound = -1;
  function nextHit(back) {
    const hits = search();
    if (!hits.length) return;
    const at = hits.indexOf(lastFound);
    lastFound = hits[(at + (back ? hits.length - 1 : 1) + hits.length) % hits.length];
    choose(tree.boxOfNode.get(lastFound), true);
    mark(hits);
    $("found").textContent = `${hits.indexOf(lastFound) + 1} of ${hits.length}`;
  }

  function describeStep(step) {
    const total = block.merges.length;
    if (!step) { $("step-text").textContent = `0 of ${total}: every op is alone`; return; }
    const [source, sink, absorbed, phase, rule] = block.merges[step - 1];
    const name = (node) => block.nodes[node][M.VALUE] || M.shortName(block.nodes[node][M.OP]);
    const others = absorbed.length > 1 ? `, and ${absorbed.length - 1} between` : "";
    $("step-text").textContent = `${step} of ${total}: ${name(source)} into ${name(sink)}${others}`
      + (rule < 0 ? "" : ` by ${scene.rules[rule]}, phase ${phase}`);
  }

  /** Show the groups after so many merges. */
  function replayTo(step) {
    const roots = M.groupsAfter(block, step), sizes = new Map();
    roots.forEach((root) => sizes.set(root, (sizes.get(root) || 0) + 1));
    const [source, sink, absorbed] = step ? block.merges[step - 1] : [-1, -1, []];
    const isEnd = step === block.merges.length;
    const isFused = (node) => sizes.get(roots[node]) > 1;
    picture.replay = isEnd && !timer ? null : {
      apart: new Set(roots.map((_, node) => node).filter((node) => !isFused(node) && tree.boxOfNode.has(node))),
      merging: new Set([source, sink, ...absorbed]),
      whole: new Set(block.kernels.map((_, kernel) => kernel).filter((kernel) =>
        new Set(block.kernels[kernel].nodes.map((node) => roots[node])).size === 1)),
    };
    describeStep(step);
    if (source >= 0) {
      const box = tree.boxOfNode.get(source);
      if (box) { picture.choose(box, true); picture.chosen = null; }
    }
    picture.redraw();
  }

  function play() {
    clearInterval(timer);
    if (timer) { timer = 0; $("play").textContent = "Play"; return; }
    if (Number($("step").value) >= block.merges.length) $("step").value = 0;
    $("play").textContent = "Stop";
    timer = setInterval(() => {
      const step = Number($("step").value) + 1;
      $("step").value = step;
      if (step >= block.merges.length) { clearInterval(timer); timer = 0; $("play").textContent = "Play"; }
      replayTo(step);
    }, 500);
  }

  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(dark));
    $("theme").textContent = dark ? "Light" : "Dark";
    if (tree) picture.redraw();
  }

  $("title").textContent = scene.title;
  scene.blocks.forEach((each, place) => $("blocks").append(fusionPanels.node("option", { value: place }, `${each.name} (${each.kernels.length})`)));
  $("block-choice").hidden = scene.blocks.length < 2;
  $("blocks").addEventListener("change", () => show(Number($("blocks").value)));
  $("search").addEventListener("input", search);
  $("search").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); nextHit(event.shiftKey); } });
  $("expand").addEventListener("click", () => { picture.setAll(true, MOST_OPENED); picture.start(); });
  $("collapse").addEventListener("click", () => { picture.setAll(false); picture.start(); });
  $("show-reasons").addEventListener("change", (event) => { picture.showReasons = event.target.checked; picture.redraw(); });
  $("show-dominators").addEventListener("change", (event) => { picture.showDominators = event.target.checked; picture.redraw(); });
  $("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
  $("zoom-in").addEventListener("click", () => picture.zoom(1.25));
  $("zoom-out").addEventListener("click", () => picture.zoom(0.8));
  $("zoom-width").addEventListener("click", () => picture.fitWidth());
  $("zoom-all").addEventListener("click", () => picture.fitAll());
  $("step").addEventListener("input", () => replayTo(Number($("step").value)));
  $("play").addEventListener("click", play);
  const tabs = ["story", "table", "ir"];
  tabs.forEach((name, place) => {
    $(`tab-${name}`).addEventListener("click", () => openTab(name));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[event.key];
      if (step) { const next = tabs[(place + step) % tabs.length]; openTab(next); $(`tab-${next}`).focus(); }
    });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement === $("search")) { $("search").blur(); return; }
    if (event.defaultPrevented || M.ownsKey(document.activeElement, event.key)) return;
    if (event.key === "/" && !event.ctrlKey && !event.metaKey) { event.preventDefault(); $("search").focus(); return; }
    picture.key(event);
  });
  setTheme(window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches);
  if (scene.blocks.length) {
    const largest = scene.blocks.reduce((best, each, place) => (each.kernels.length > scene.blocks[best].kernels.length ? place : best), 0);
    $("blocks").value = largest;
    show(largest);
    openTab("story");
  }
  window.fusionPage = { scene, picture, show, choose, search, replayTo, get block() { return block; }, get tree() { return tree; } };
})();
