"use strict";
// What the page knows: boxes within boxes, the edges between them, and the groups after each merge. No drawing here.
const fusionModel = (() => {
  const ROLE = 0, KIND = 1, OP = 2, VALUE = 3, TYPES = 4, START = 5, END = 6, PLACE = 7, SOURCE = 8, BYTES = 9, FLOPS = 10, WORK = 11;

  function shortName(op) {
    return op.slice(op.indexOf(".") + 1) || op;
  }

  function cut(text, most) {
    return text.length > most ? text.slice(0, most - 1) + "…" : text;
  }

  /** "1 kernel", "2 kernels" */
  function counted(count, what) {
    return `${count} ${what}${count === 1 ? "" : "s"}`;
  }

  /** "conv2d + relu + 3 more" */
  function kernelLabel(block, kernel, most) {
    const names = kernel.nodes.map((node) => shortName(block.nodes[node][OP]));
    let label = names[0] || kernel.name, shown = 1;
    while (shown < names.length && label.length + names[shown].length + 3 <= most) label += " + " + names[shown++];
    return cut(label, most) + (shown < names.length ? ` + ${names.length - shown} more` : "");
  }

  /** "1x64x56x56xf32" of "tensor<1x64x56x56xf32>" */
  function shapeText(types) {
    return (types || "").replace(/\btensor<([^<>]*)>/g, "$1");
  }

  /** The largest of the values that a kernel stores, as a node; -1 if it stores none. */
  function resultOf(block, kernel) {
    return kernel.stores.reduce((best, node) =>
      best < 0 || (block.nodes[node][BYTES] || 0) > (block.nodes[best][BYTES] || 0) ? node : best, -1);
  }

  /** The last kernel in a box; -1 if it ends in an op that is in none. */
  function lastKernel(box) {
    while (box.children.length && box.type === "section") box = box.children[box.children.length - 1];
    return box.kernel === undefined ? -1 : box.kernel;
  }

  /** Kernels that are one primitive together, in order of their first: each has `kernels`, their numbers. */
  function primitives(block) {
    const found = new Map();
    block.kernels.forEach((kernel, number) => {
      const known = found.get(kernel.name);
      if (known) known.kernels.push(number); else found.set(kernel.name, { name: kernel.name, kernels: [number] });
    });
    return [...found.values()];
  }

  function formatBytes(bytes) {
    if (typeof bytes !== "number") return String(bytes);
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0, value = bytes;
    while (Math.abs(value) >= 1000 && unit < units.length - 1) { value /= 1000; unit++; }
    return `${unit ? value.toPrecision(3) : value} ${units[unit]}`;
  }

  function formatCount(count) {
    if (typeof count !== "number") return String(count);
    const units = ["", " k", " M", " G", " T"];
    let unit = 0, value = count;
    while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit++; }
    return `${unit ? value.toPrecision(3) : value}${units[unit]}`;
  }

  function formatSeconds(seconds) {
    return seconds < 1e-3 ? `${(seconds * 1e6).toPrecision(3)} µs` : `${(seconds * 1e3).toPrecision(3)} ms`;
  }

  /** The tree of boxes of a block. A box is a section, a kernel, or a node; a kernel of one node is drawn as that. */
  function boxTree(block) {
    const root = { id: 0, type: "root", parent: null, depth: 0, children: [], open: true, starts: true };
    const boxes = [root];
    const boxesOfNode = new Map(), boxOfNode = new Map(), boxOfKernel = new Map();
    const add = (parent, box) => {
      box.id = boxes.length;
      box.parent = parent;
      box.depth = parent.depth + 1;
      box.children = [];
      box.open = false;
      boxes.push(box);
      parent.children.push(box);
      return box;
    };
    const addNode = (parent, node, kernel) => {
      const box = add(parent, { type: "node", node, kernel });
      // A node that several kernels compute stands in each; the one that stores its value is the one that is meant.
      if (!boxesOfNode.has(node)) boxesOfNode.set(node, []);
      boxesOfNode.get(node).push(box);
      if (!boxOfNode.has(node) || (kernel >= 0 && block.kernels[kernel].stores.includes(node))) boxOfNode.set(node, box);
      return box;
    };
    const pending = block.boxes.map((entry) => [root, entry]).reverse();
    while (pending.length) {
      const [parent, entry] = pending.pop();
      if (typeof entry === "object") {
        const section = add(parent, { type: "section", name: entry.name, note: entry.note, starts: entry.open });
        for (let place = entry.boxes.length - 1; place >= 0; place--) pending.push([section, entry.boxes[place]]);
      } else if (entry < 0) {
        addNode(parent, -1 - entry, -1);
      } else {
        const nodes = block.kernels[entry].nodes;
        if (nodes.length === 1) {
          boxOfKernel.set(entry, addNode(parent, nodes[0], entry));
        } else {
          const box = add(parent, { type: "kernel", kernel: entry });
          boxOfKernel.set(entry, box);
          nodes.forEach((node) => addNode(box, node, entry));
        }
      }
    }
    for (let place = boxes.length - 1; place >= 0; place--) countInside(boxes[place]);
    for (const box of boxes) box.isAgain = box.type === "node" && boxOfNode.get(box.node) !== box;
    joinEdges(block, boxes, boxOfNode, boxesOfNode);
    return { root, boxes, boxOfNode, boxesOfNode, boxOfKernel };
  }

  function countInside(box) {
    box.ops = box.type === "node" ? 1 : box.children.reduce((sum, child) => sum + child.ops, 0);
    box.kernels = box.type === "kernel" || (box.type === "node" && box.kernel >= 0 && box.parent.type !== "kernel") ? 1
      : box.children.reduce((sum, child) => sum + child.kernels, 0);
  }

  /** Give each box the edges between its children: an edge of the graph belongs to the least box that holds both ends. */
  function joinEdges(block, boxes, boxOfNode, boxesOfNode) {
    const joined = boxes.map(() => new Map());
    const ends = block.edges.flatMap(([source, reader, kind]) => (boxesOfNode.get(reader) || []).map((to) => {
      // From the copy in the same kernel, or else from where the value is stored.
      const own = to.kernel >= 0 && (boxesOfNode.get(source) || []).find((box) => box.kernel === to.kernel);
      return [own || boxOfNode.get(source), to, source, reader, kind, Boolean(own)];
    }));
    for (let [from, to, source, reader, kind, isInside] of ends) {
      if (!from) continue;
      while (from.parent !== to.parent) {
        if (from.depth >= to.depth) from = from.parent; else to = to.parent;
      }
      if (from === to) continue;
      const edges = joined[from.parent.id], key = from.id * boxes.length + to.id;
      const known = edges.get(key);
      if (known) { known.pairs.push([source, reader, isInside]); known.kind = Math.max(known.kind, kind); }
      else edges.set(key, { from, to, kind, pairs: [[source, reader, isInside]] });
    }
    boxes.forEach((box) => { box.edges = [...joined[box.id].values()]; });
  }

  /** Why two ops are apart: the producer did not fuse into its readers, or on hardware the reader into its producers. */
  function refusalBetween(block, [source, reader, isInside]) {
    if (isInside) return "";
    return block.refusals[block.refusedAt === "reader" ? reader : source] || "";
  }

  /** Open what is to be seen first: all of a small block; else layers that stand for others, and sections while few
   *  boxes are in view. */
  function openFirst(block, tree, most) {
    if (block.kernels.length <= most) { tree.boxes.forEach((box) => { box.open = true; }); return; }
    let shown = tree.root.children.length;
    const pending = [...tree.root.children];
    for (let place = 0; place < pending.length; place++) {
      const box = pending[place];
      if (box.type !== "section" || box.note || !(box.starts || shown + box.children.length <= most)) continue;
      box.open = true;
      shown += box.children.length;
      pending.push(...box.children);
    }
  }

  /** Whether a key belongs to what has the focus, and not to the picture. */
  function ownsKey(element, key) {
    if (!element || !element.closest) return false;
    if (element.closest("input, select, textarea, [contenteditable]")) return true;
    const moves = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", " "];
    if (element.closest("[role=tabpanel], pre, .wide") && !element.closest("button") && moves.includes(key)) return true;
    if (element.closest("[role=tab]") && ["ArrowLeft", "ArrowRight"].includes(key)) return true;
    return Boolean(element.closest("button, a")) && (key === "Enter" || key === " ");
  }

  /** For each node the root of its group after the first `count` merges. */
  function groupsAfter(block, count) {
    const parent = block.nodes.map((_, node) => node);
    const find = (node) => {
      while (parent[node] !== node) { parent[node] = parent[parent[node]]; node = parent[node]; }
      return node;
    };
    for (let place = 0; place < count; place++) {
      const [, sink, absorbed] = block.merges[place];
      for (const root of absorbed) parent[find(root)] = find(sink);
    }
    return parent.map((_, node) => find(node));
  }

  /** What people may search for of each node, in lower case. */
  function searchTexts(block) {
    return block.nodes.map((node, number) =>
      [node[OP], node[VALUE], node[SOURCE], node[PLACE], block.refusals[number]].filter(Boolean).join(" ").toLowerCase());
  }

  return { ROLE, KIND, OP, VALUE, TYPES, START, END, PLACE, SOURCE, BYTES, FLOPS, WORK,
    shapeText, resultOf, lastKernel, primitives, openFirst, ownsKey, shortName, cut, counted, kernelLabel, formatBytes, formatCount, formatSeconds, boxTree, refusalBetween, groupsAfter, searchTexts };
})();
if (typeof module !== "undefined") module.exports = fusionModel;
