"use strict";
// Beside the picture: the story of what is chosen, the table of kernels, IR before and after. Text only, never markup.
const fusionPanels = (() => {
  const M = fusionModel;

  function node(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "onclick") made.addEventListener("click", value); else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function badge(text, kind) {
    const made = node("span", { class: kind === "refused" ? "badge refused" : "badge" }, text);
    if (kind && kind !== "refused") made.style.background = `var(--${kind})`;
    return made;
  }

  function fields(pairs) {
    return node("dl", {}, ...pairs.filter(([, value]) => value !== "" && value !== undefined && value !== null)
      .flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value)]));
  }

  function opStory(scene, block, number) {
    const data = block.nodes[number], kind = scene.kinds[data[M.KIND]];
    const holding = block.kernels.filter((each) => each.nodes.includes(number));
    const kernel = holding.find((each) => each.stores.includes(number)) || holding[0];
    const again = holding.filter((each) => each !== kernel).map((each) => each.name).join(", ");
    const refusal = block.refusals[number];
    return [
      node("h2", {}, `${data[M.VALUE]} = ${data[M.OP]}`.replace(/^ = /, "")),
      node("p", {}, badge(scene.work[data[M.WORK]] || "other", scene.work[data[M.WORK]] || "other"), " ", badge(kind), " ", refusal ? badge(`not fused: ${refusal}`, (block.costly || []).includes(number) ? "refused" : "") : badge("fused"), " ",
        block.units[number] ? badge(`unit ${block.units[number]}`) : null),
      fields([["from", data[M.SOURCE]], ["at", data[M.PLACE]], ["gives", data[M.TYPES]], ["size", data[M.BYTES] ? M.formatBytes(data[M.BYTES]) : ""],
        ["arithmetic", data[M.FLOPS] ? `${M.formatCount(data[M.FLOPS])} flop` : ""], ["kernel", kernel ? kernel.name : "none: it stays in place"], ["computed again in", again]]),
      ...accelerator(scene, block, block.units[number] ? [number] : []),
      node("h3", {}, "Story"),
      node("pre", { class: "tree" }, block.stories[number] || ""),
      node("h3", {}, "IR"),
      node("pre", {}, scene.before.slice(data[M.START], data[M.END])),
    ];
  }

  function kernelStory(scene, block, number, choose) {
    const kernel = block.kernels[number];
    const saved = kernel.before - kernel.after, twins = M.primitives(block).find((each) => each.kernels.includes(number)).kernels;
    const work = scene.work[kernel.work] || "other";
    return [
      node("h2", {}, kernel.name),
      node("p", {}, badge(work, work)),
      fields([
        ["ops", String(kernel.nodes.length)],
        ["arguments", `${kernel.arguments}, results ${kernel.results}`],
        ["stores", kernel.stores.map((each) => `${block.nodes[each][M.VALUE]} ${M.shapeText(block.nodes[each][M.TYPES])}`).join("; ")],
        ["computes again", kernel.nodes.filter((each) => !kernel.stores.includes(each)
          && block.kernels.some((other) => other !== kernel && other.nodes.includes(each))).map((each) => block.nodes[each][M.VALUE]).join("; ")],
        ["reads and writes", M.formatBytes(kernel.after) + (saved > 0 ? `, ${M.formatBytes(saved)} (${Math.round((100 * saved) / kernel.before)} %) less than its ops one by one` : "")],
        ["same code", twins.length > 1 ? `${twins.length} kernels call it, this is number ${twins.indexOf(number) + 1}` : ""],
        ["open sizes", kernel.open ? `${kernel.open} values are not counted` : ""],
        ["arithmetic", typeof kernel.flops === "number" ? `${M.formatCount(kernel.flops)} flop, ${(kernel.flops / Math.max(1, kernel.after)).toPrecision(3)} for each byte` : String(kernel.flops)],
        ["time", kernel.seconds === undefined ? "" : M.formatSeconds(kernel.seconds)],
        ["cycles", kernel.cycles === undefined ? "" : `${M.formatCount(Math.round(kernel.cycles))} of the accelerator`],
        ["at best", kernel.roofline === undefined ? "" : `${M.formatSeconds(kernel.roofline)} by the limits of the machine`],
        ["anchor", kernel.lead < 0 ? "none" : `${block.nodes[kernel.lead][M.VALUE]} = ${block.nodes[kernel.lead][M.OP]}`.replace(/^ = /, "")],
      ]),
      ...accelerator(scene, block, kernel.nodes),
      node("h3", {}, "Ops"),
      node("ul", {}, ...kernel.nodes.map((each) => node("li", {}, node("button", { type: "button", onclick: () => choose(each) },
        `${block.nodes[each][M.VALUE]} = ${block.nodes[each][M.OP]}`), block.units[each] ? ` on ${block.units[each]}` : ""))),
    ];
  }

  function sectionStory(box) {
    return [node("h2", {}, box.label), node("p", {}, `${M.counted(box.kernels, "kernel")}, ${M.counted(box.ops, "op")}. Click or press Enter to open or close it.`)];
  }

  /** The units of the accelerator and its wires; those that run some of the ops are filled, and say which. */
  function accelerator(scene, block, nodes) {
    const hardware = scene.accelerator;
    if (!hardware) return [];
    const graph = new dagre.graphlib.Graph(), svg = "http://www.w3.org/2000/svg";
    const make = (name, attributes, text) => {
      const made = document.createElementNS(svg, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text !== undefined) made.textContent = text;
      return made;
    };
    const running = new Map(hardware.units.map(([name]) => [name, []]));
    nodes.forEach((each) => { if (running.has(block.units[each])) running.get(block.units[each]).push(M.shortName(block.nodes[each][M.OP])); });
    graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 16, marginx: 4, marginy: 4 });
    graph.setDefaultEdgeLabel(() => ({}));
    hardware.units.forEach(([name, kind, capacity], place) => {
      const ops = M.cut(running.get(name).join(", "), 24), label = capacity > 1 ? `${name} x${capacity}` : name;
      graph.setNode(String(place), { label, ops, kind, width: Math.max(label.length, ops.length, 5) * 7 + 14, height: ops ? 36 : 24 });
    });
    const number = new Map(hardware.units.map(([name], place) => [name, String(place)]));
    hardware.links.forEach(([from, to]) => graph.setEdge(number.get(from), number.get(to)));
    dagre.layout(graph);
    // Wires may lead beside all units, where the size of the graph ends.
    const across = graph.edges().flatMap((edge) => graph.edge(edge).points.map((point) => point.x));
    const left = Math.min(0, ...across.map((x) => x - 2)), height = graph.graph().height;
    const width = Math.max(graph.graph().width, ...across.map((x) => x + 2)) - left;
    const drawn = make("svg", { class: "accelerator", viewBox: `${left} 0 ${width} ${height}`, role: "img",
      "aria-label": `Units of ${hardware.name}: ` + hardware.units.map(([name]) => running.get(name).length ? `${name} runs ${running.get(name).join(", ")}` : name).join("; ") });
    drawn.style.width = `${width}px`;
    graph.edges().forEach((edge) => drawn.append(make("polyline", { class: "wire", points: graph.edge(edge).points.map((point) => `${point.x},${point.y}`).join(" ") })));
    graph.nodes().forEach((each) => {
      const { x, y, width: wide, height: high, label, ops } = graph.node(each);
      drawn.append(make("rect", { class: ops ? "unit busy" : "unit", x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 4 }),
        make("text", { x, y: y - high / 2 + 16, "text-anchor": "middle" }, label));
      if (ops) drawn.append(make("text", { class: "small", x, y: y + high / 2 - 6, "text-anchor": "middle" }, ops));
    });
    return [node("h3", {}, `Accelerator ${hardware.name}`), node("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Accelerator" }, drawn)];
  }

  /** The values that are drawn red, the largest first. */
  function costly(block, choose) {
    if (!block.costly || !block.costly.length) return [];
    const kernelOf = new Map(block.kernels.flatMap((kernel) => kernel.stores.map((each) => [each, kernel])));
    const groups = new Map();
    for (const each of block.costly) {
      // Equal kernels store equal values: layers that repeat are one row.
      const kernel = kernelOf.get(each), key = kernel ? `${kernel.name} ${kernel.stores.indexOf(each)} ${block.refusals[each]}` : each;
      if (groups.has(key)) groups.get(key).push(each); else groups.set(key, [each]);
    }
    const total = (nodes) => nodes.reduce((sum, each) => sum + block.nodes[each][M.BYTES], 0);
    const order = [...groups.values()].sort((one, other) => total(other) - total(one) || one[0] - other[0]);
    const rows = order.slice(0, MOST_COSTLY).map((nodes) => node("tr", {},
      node("td", {}, nodes.length > 1 ? `${nodes.length} x ` : "", node("button", { type: "button", onclick: () => choose(nodes[0]) }, block.nodes[nodes[0]][M.VALUE])),
      node("td", {}, M.formatBytes(block.nodes[nodes[0]][M.BYTES])), node("td", {}, block.refusals[nodes[0]] || "by its readers")));
    return [
      node("h3", {}, "Expensive values"),
      node("p", { class: "hint" }, "Drawn red: at least three times as large as the mean value that crosses memory between kernels, and not fused."
        + (order.length > rows.length ? ` The first ${rows.length} of ${order.length}.` : "")),
      node("table", {}, node("thead", {}, node("tr", {}, ...["value", "size", "reason"].map((each) => node("th", { scope: "col" }, each)))), node("tbody", {}, ...rows)),
    ];
  }

  /** What there is to see before anything is chosen: why ops were not fused, and how to find out more. */
  function overview(scene, block, find, choose) {
    const counts = new Map();
    for (const code of Object.values(block.refusals)) counts.set(code, (counts.get(code) || 0) + 1);
    const rows = [...counts].sort((one, other) => other[1] - one[1]).map(([code, count]) => node("tr", {},
      node("td", {}, node("button", { type: "button", onclick: () => find(code) }, code)), node("td", {}, String(count))));
    return [
      node("h2", {}, "Why was it not fused?"),
      node("p", { class: "hint" }, "Click an op, or search for its name, its source or a code: its story says what it is, what was tried on it, and what would have to change."),
      rows.length ? node("table", {}, node("thead", {}, node("tr", {}, node("th", { scope: "col" }, "reason"), node("th", { scope: "col" }, "ops"))), node("tbody", {}, ...rows)) : node("p", {}, "Everything was fused."),
      ...costly(block, choose),
      ...accelerator(scene, block, []),
      node("h3", {}, "Keys"),
      fields([["arrows", "along edges"], ["Enter", "open or close a box"], [">", "into a box"], ["Escape", "out of it"], ["+  −", "zoom"], ["f  0", "fit the width, all in view"], ["/", "search; Enter: the next"],
        ["drag, wheel", "move"], ["Ctrl + wheel", "zoom"]]),
    ];
  }

  const MOST_ROWS = 2000, MOST_COSTLY = 12;

  /** A row for each primitive, with what all of its calls come to. */
  function tableRows(block) {
    const sum = (kernels, get) => kernels.reduce((total, each) => total + (Number(get(block.kernels[each])) || 0), 0);
    const isCounted = block.kernels.every((kernel) => typeof kernel.flops === "number");
    return M.primitives(block).map(({ name, kernels }) => {
      const kernel = block.kernels[kernels[0]], result = M.resultOf(block, kernel);
      return { name, kernels, ops: kernel.nodes.length, work: kernel.work,
        shape: result < 0 ? "" : M.shapeText(block.nodes[result][M.TYPES]),
        moved: sum(kernels, (each) => each.after), saved: sum(kernels, (each) => each.before - each.after),
        flops: isCounted ? sum(kernels, (each) => each.flops) : kernel.flops, seconds: sum(kernels, (each) => each.seconds) };
    });
  }

  const percent = (part, whole) => (whole > 0 && typeof part === "number" ? `${((100 * part) / whole).toFixed(part * 10 < whole ? 1 : 0)} %` : "-");

  const COLUMNS = [
    ["kernel", (row) => row.name, null],
    ["calls", (row) => row.kernels.length, (value) => String(value)],
    ["result", (row) => row.shape, (value) => value],
    ["saved", (row) => row.saved, (value) => M.formatBytes(value)],
    ["bytes", (row) => row.moved, (value, all) => percent(value, all.moved)],
    ["flop", (row) => row.flops, (value, all) => percent(value, all.flops)],
  ];

  /** The table of kernels, each primitive once; a click on a head sorts by it, another on a name goes to the next call. */
  function table(scene, block, panel, choose) {
    const columns = scene.hasTimes ? [COLUMNS[0], ["time", (row) => row.seconds, (value, all) => value ? `${M.formatSeconds(value)}, ${percent(value, all.seconds)}` : "-"], ...COLUMNS.slice(1)] : COLUMNS;
    const data = tableRows(block), all = {}, next = new Map();
    for (const key of ["moved", "saved", "flops", "seconds"]) all[key] = data.reduce((sum, row) => sum + (Number(row[key]) || 0), 0);
    let by = scene.hasTimes ? 1 : 3, down = true;
    const visit = (row) => {
      const place = next.get(row.name) || 0;
      next.set(row.name, (place + 1) % row.kernels.length);
      choose(row.kernels[place]);
    };
    const name = (row) => {
      const swatch = node("span", { class: "swatch", role: "img", "aria-label": scene.work[row.work] || "other", title: scene.work[row.work] || "other" });
      swatch.style.background = `var(--${scene.work[row.work] || "other"})`;
      return node("td", {}, node("div", { class: "named" }, swatch, node("button", { type: "button", onclick: () => visit(row) }, ...row.name.split(/(?<=_)/).flatMap((part) => [part, node("wbr")]))));
    };
    const draw = (focus) => {
      const value = columns[by][1];
      const order = data.map((_, place) => place).sort((one, other) => {
        const a = value(data[one]), b = value(data[other]);
        const less = typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : Number(String(a) > String(b));
        return (down ? -less : less) || one - other;
      });
      const heads = columns.map(([title], place) => node("th", { scope: "col", "aria-sort": place === by ? (down ? "descending" : "ascending") : "none" },
        node("button", { type: "button", onclick: () => { down = place === by ? !down : columns[place][0] !== "kernel"; by = place; draw(true); } }, title + (place === by ? (down ? " ↓" : " ↑") : ""))));
      const rows = order.slice(0, MOST_ROWS).map((place) => node("tr", { "data-kernel": data[place].kernels[0] },
        ...columns.map(([, get, show]) => (show ? node("td", {}, show(get(data[place]), all)) : name(data[place])))));
      panel.replaceChildren(
        node("p", { class: "soft" }, `${M.counted(block.kernels.length, "kernel")}, of which ${data.length} differ. Shares are parts of ${M.formatBytes(all.moved)} that kernels read and write`
          + (all.flops ? `, and of ${M.formatCount(all.flops)} flop.` : ".") + (order.length > MOST_ROWS ? ` The first ${MOST_ROWS} are shown.` : "")),
        node("table", {}, node("thead", {}, node("tr", {}, ...heads)), node("tbody", {}, ...rows)));
      if (focus) panel.querySelectorAll("th button")[by].focus();
    };
    draw(false);
  }

  function sides(scene, panel) {
    panel.replaceChildren(node("div", { class: "sides" },
      node("div", {}, node("h2", {}, "Before"), node("pre", { tabindex: 0, id: "before", "aria-label": "IR before" }, scene.before)),
      node("div", {}, node("h2", {}, `After ${scene.pass}`), node("pre", { tabindex: 0, id: "after", "aria-label": "IR after" }, scene.after))));
  }

  return { overview, opStory, kernelStory, sectionStory, table, sides, node };
})();
