"use strict";
// The picture: SVG of what is in view, and as much detail as can be read at this scale.
class FusionPicture {
  static MOST_BOXES = 1200;
  static LEAST_SIZE = 5;
  static READABLE = 0.8;

  constructor(svg, map, callbacks) {
    this.svg = svg;
    this.map = map;
    this.callbacks = callbacks;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.chosen = null;
    this.hits = new Set();
    this.showReasons = false;
    this.showDominators = false;
    this.replay = null;
    this.elements = new Map();
    this.layer = this.element("g", {});
    svg.append(this.arrowHead(), this.layer);
    this.listen();
  }

  element(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  arrowHead() {
    const definitions = this.element("defs", {});
    const marker = this.element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6,
      orient: "auto-start-reverse" });
    marker.append(this.element("path", { d: "M0 0 L8 4 L0 8 z" }));
    definitions.append(marker);
    return definitions;
  }

  /** Show a block: its data and its tree of boxes. */
  show(scene, block, tree) {
    Object.assign(this, { scene, block, tree, chosen: null, costly: new Set(block.costly) });
    this.hits.clear();
    this.relayout();
    this.start();
  }

  relayout() {
    fusionLayout.layout(this.tree.root, dagre);
    this.redraw();
  }

  size() {
    const rect = this.svg.getBoundingClientRect();
    return [rect.width || 800, rect.height || 600];
  }

  start() { this.fitWidth(); }

  /** The upper end of the picture, as wide as the view, but never so small that it cannot be read. */
  fitWidth(top = null) {
    const [width] = this.size(), root = this.tree.root;
    this.fits = "width";
    this.scale = Math.min(1, Math.max(FusionPicture.READABLE, width / (root.width + 24)));
    this.left = root.width / 2 - width / this.scale / 2;
    this.top = top === null ? -10 / this.scale : top;
    // Too wide to be read as a whole: begin at a box, not between two.
    if (root.width * this.scale > width && root.children.length) {
      const first = root.children.reduce((best, box) => (box.y < best.y ? box : best));
      this.left = Math.min(root.width - width / this.scale + 12, Math.max(-12, first.x + first.width / 2 - width / this.scale / 2));
    }
    this.redraw();
  }

  /** All of the picture, however small. */
  fitAll() {
    const [width, height] = this.size(), root = this.tree.root;
    this.fits = "all";
    this.scale = Math.min(1.2, width / (root.width + 40), height / (root.height + 40));
    this.left = root.width / 2 - width / this.scale / 2;
    this.top = root.height / 2 - height / this.scale / 2;
    this.redraw();
  }

  zoom(factor, x, y) {
    const [width, height] = this.size();
    const atX = x === undefined ? width / 2 : x, atY = y === undefined ? height / 2 : y;
    const scale = Math.min(3, Math.max(0.004, this.scale * factor));
    this.fits = "";
    this.left += atX / this.scale - atX / scale;
    this.top += atY / this.scale - atY / scale;
    this.scale = scale;
    this.stayNear();
    this.moved();
  }

  pan(x, y) {
    if (x) this.fits = "";
    this.left += x / this.scale;
    this.top += y / this.scale;
    this.stayNear();
    this.moved();
  }

  /** Keep some of the picture in view. */
  stayNear() {
    const [width, height] = this.size(), wide = width / this.scale, high = height / this.scale, root = this.tree.root;
    this.left = Math.min(root.width - wide * 0.15, Math.max(wide * 0.15 - wide, this.left));
    this.top = Math.min(root.height - high * 0.15, Math.max(high * 0.15 - high, this.top));
  }

  /** Move what is drawn; draw anew when the view leaves it, or the scale differs much. */
  moved() {
    this.layer.setAttribute("transform", `scale(${this.scale}) translate(${-this.left} ${-this.top})`);
    const [width, height] = this.size(), seen = this.seen;
    const inside = seen && this.left >= seen.left && this.top >= seen.top && this.left + width / this.scale <= seen.right
      && this.top + height / this.scale <= seen.bottom;
    const ratio = seen ? this.scale / seen.scale : 0;
    if (!inside || ratio > 1.3 || ratio < 0.77) this.redraw();
    this.drawMap();
  }

  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(); });
  }

  draw() {
    const [width, height] = this.size(), wide = width / this.scale, high = height / this.scale;
    this.seen = { left: this.left - wide * 0.6, top: this.top - high * 0.6, right: this.left + wide * 1.6,
      bottom: this.top + high * 1.6, scale: this.scale };
    const kept = document.activeElement && document.activeElement.closest && document.activeElement.closest(".box");
    const focused = kept ? Number(kept.dataset.box) : -1;
    this.elements.clear();
    const shapes = [], edges = [], labels = [];
    const queue = [[this.tree.root, 0, 0]];
    let count = 0;
    for (let place = 0; place < queue.length && count < FusionPicture.MOST_BOXES; place++) {
      const [parent, x, y] = queue[place];
      this.drawEdges(parent, x, y, edges, labels);
      for (const box of parent.children) {
        const boxX = x + box.x, boxY = y + box.y;
        if (boxX > this.seen.right || boxX + box.width < this.seen.left || boxY > this.seen.bottom
          || boxY + box.height < this.seen.top) continue;
        if (count++ >= FusionPicture.MOST_BOXES) break;
        shapes.push(this.drawBox(box, boxX, boxY));
        const opens = box.open && box.children.length && box.height * this.scale > 28;
        if (opens) queue.push([box, boxX, boxY]);
      }
    }
    if (this.showDominators) this.drawDominators(edges);
    this.drawNear(edges);
    this.layer.replaceChildren(...shapes, ...edges, ...labels);
    this.layer.setAttribute("transform", `scale(${this.scale}) translate(${-this.left} ${-this.top})`);
    if (focused >= 0 && this.elements.has(focused)) this.elements.get(focused).focus({ preventScroll: true });
    this.drawMap();
    this.drawn = (this.drawn || 0) + 1;
  }

  drawBox(box, x, y) {
    const names = ["box", box.type === "node" ? "op" : box.type];
    if (box.isAnchor) names.push("anchor");
    if (box.isAgain) names.push("again");
    if (box.differs) names.push("differs");
    if (this.chosen === box) names.push("chosen");
    if (this.hits.has(box.id)) names.push("hit");
    if (this.replay && box.type === "node") {
      if (this.replay.apart.has(box.node)) names.push("apart");
      if (this.replay.merging.has(box.node)) names.push("merging");
    }
    // A closed kernel is pale until its last merge.
    if (this.replay && box.type === "kernel" && !this.replay.whole.has(box.kernel)) names.push(box.open ? "unfinished" : "apart");
    const group = this.element("g", { class: names.join(" "), transform: `translate(${x} ${y})`, role: "button",
      tabindex: this.chosen === box || (!this.chosen && !this.elements.size) ? 0 : -1, "aria-label": this.describe(box) });
    if (box.children.length) group.setAttribute("aria-expanded", String(box.open));
    group.dataset.box = box.id;
    // Of a box that is much larger than the view, what is in view: a browser is slow with lines of great length.
    const from = Math.max(0, this.seen.top - 60 - y), to = Math.min(box.height, this.seen.bottom + 60 - y);
    const rect = this.element("rect", { y: from, width: box.width, height: Math.max(1, to - from), rx: box.type === "section" ? 4 : 8 });
    const work = this.workOf(box);
    if (work) rect.style.fill = `var(--${work})`;
    group.append(rect);
    const size = 12 * this.scale;
    if (size >= FusionPicture.LEAST_SIZE) {
      const mark = box.children.length ? (box.open ? "▾ " : "▸ ") : "";
      group.append(this.element("text", { x: 10, y: 18 }, mark + box.label + (box.isAnchor ? " ◆" : "")));
      if (!(box.open && box.children.length)) group.append(this.element("text", { x: 10, y: 33, class: "small" }, box.detail));
    } else if (box.open && box.children.length) {
      // Its head, as large as it is: what is inside stands below.
      const text = this.element("text", { x: 10, y: 21 }, fusionModel.cut(box.label, Math.floor(box.width / 14)));
      text.style.fontSize = "22px";
      group.append(text);
    } else if (box.height * this.scale > 14 && box.width * this.scale > 40) {
      // Too far away for its own size: the name as large as fits.
      const font = Math.min(11 / this.scale, box.height * 0.5, (box.width * 1.5) / Math.max(4, box.label.length));
      const text = this.element("text", { x: box.width / 2, y: box.height / 2, "text-anchor": "middle" }, box.label);
      text.style.fontSize = `${font}px`;
      group.append(text);
    }
    this.elements.set(box.id, group);
    return group;
  }

  /** What an op or a closed kernel is for; empty for what holds others. */
  workOf(box) {
    const place = box.type === "node" ? this.block.nodes[box.node][fusionModel.WORK]
      : box.type === "kernel" && !box.open ? this.block.kernels[box.kernel].work : undefined;
    return this.scene.work[place] || (box.type === "node" ? "other" : "");
  }

  describe(box) {
    const what = box.type === "section" ? "section" : box.type === "kernel" ? "kernel" : "op";
    const code = box.type === "node" && this.block.refusals[box.node] ? `, not fused: ${this.block.refusals[box.node]}` : "";
    const marks = `${box.isAnchor ? ", anchor" : ""}${box.isAgain ? ", computed again" : ""}${box.differs ? ", here alone" : ""}`;
    const work = this.workOf(box);
    return `${what} ${box.label}, ${box.detail}${work ? `, ${work}` : ""}${marks}${code}`;
  }

  drawEdges(parent, x, y, edges, labels) {
    if (!parent.routes) return;
    const fine = 12 * this.scale >= FusionPicture.LEAST_SIZE;
    parent.edges.forEach((edge, place) => {
      const points = parent.routes[place];
      const ys = [points[0][1] + y, points[points.length - 1][1] + y];
      if (Math.max(...ys) < this.seen.top || Math.min(...ys) > this.seen.bottom) return;
      const code = this.refusalOf(edge), isCostly = code && edge.pairs.some(([source]) => this.costly.has(source));
      const d = curve(points, x, y), touches = this.chosen && (edge.from === this.chosen || edge.to === this.chosen);
      const path = this.element("path", { class: `edge${isCostly ? " costly" : ""}${touches ? " near" : ""}`, d });
      if (fine) path.setAttribute("marker-end", "url(#arrow)");
      edges.push(path);
      if (code && fine) {
        // A wide line that nobody sees says why to whoever points at it.
        const wide = this.element("path", { class: "edge-hit", d });
        wide.append(this.element("title", {}, this.tellEdge(edge, code, isCostly)));
        edges.push(wide);
      }
      if (code && (this.showReasons || touches) && fine) {
        const [px, py] = points.length > 1 ? between(points[0], points[1]) : points[0];
        labels.push(this.element("text", { class: `edge-label${isCostly ? " costly" : ""}`, x: px + x + 5, y: py + y + 4 }, code));
      }
    });
  }

  /** What an edge between kernels is, in words. */
  tellEdge(edge, code, isCostly) {
    const sources = [...new Set(edge.pairs.map(([source]) => source))];
    const bytes = sources.reduce((sum, node) => sum + (Number(this.block.nodes[node][fusionModel.BYTES]) || 0), 0);
    const names = sources.slice(0, 3).map((node) => this.block.nodes[node][fusionModel.VALUE]).join(", ") + (sources.length > 3 ? ", …" : "");
    return `${names}: ${fusionModel.formatBytes(bytes)} written and read again${isCostly ? ", three times the mean or more" : ""}; not fused: ${code}`;
  }

  /** The code of an edge whose ends were to fuse along it, and did not. */
  refusalOf(edge) {
    let code = "", count = 0;
    // A value that several ops read is refused once; on hardware each reader is.
    const end = this.block.refusedAt === "reader" ? 1 : 0;
    const pairs = [...new Map(edge.pairs.map((pair) => [`${pair[end]} ${pair[2]}`, pair])).values()];
    for (const pair of pairs) {
      const refusal = fusionModel.refusalBetween(this.block, pair);
      if (refusal && refusal !== "value-escapes") {
        if (!code) code = refusal;
        if (code !== refusal) code = "refused";
        count++;
      }
    }
    return count > 1 ? `${count} x ${code}` : code;
  }

  center(node) {
    const box = this.tree.boxOfNode.get(node);
    if (!box) return null;
    const shown = fusionLayout.visible(box), [x, y] = fusionLayout.corner(shown);
    return { box: shown, x: x + shown.width / 2, top: y, bottom: y + shown.height, right: x + shown.width };
  }

  /** Dashed lines to post-dominators: of the chosen op, or of all that are in view. */
  drawDominators(edges) {
    let left = 400;
    this.block.ipdom.forEach((sink, node) => {
      if (sink < 0 || left <= 0) return;
      const from = this.center(node), to = this.center(this.drawnSink(sink));
      if (!from || !to || from.box === to.box || !this.elements.has(from.box.id)) return;
      left--;
      const bend = 30 + Math.min(60, Math.abs(to.top - from.bottom) / 6);
      edges.push(this.element("path", { class: "edge dominator", "marker-end": "url(#arrow)",
        d: `M${from.right} ${from.bottom - 12} C${from.right + bend} ${from.bottom} ${to.right + bend} ${to.top} ${to.right} ${to.top + 12}` }));
    });
  }

  /** A sink that has no box, an operand tuple, stands for its reader. */
  drawnSink(sink) {
    let node = sink;
    for (let steps = 0; steps < 4 && !this.tree.boxOfNode.has(node) && this.block.ipdom[node] >= 0; steps++) node = this.block.ipdom[node];
    return node;
  }

  /** The edges of the chosen op, wherever they lead. */
  drawNear(edges) {
    if (!this.chosen || this.chosen.type !== "node") return;
    const node = this.chosen.node;
    for (const [source, reader] of this.block.edges) {
      if (source !== node && reader !== node) continue;
      const from = this.center(source), to = this.center(reader);
      if (!from || !to || from.box === to.box || from.box.parent === to.box.parent) continue;
      const half = (to.top - from.bottom) / 2, bend = 24 + Math.min(90, Math.abs(half) / 3);
      // What stands in a line is passed on the right.
      const isInLine = Math.abs(from.x - to.x) < 60 && half > 40;
      edges.push(this.element("path", { class: "edge near", "marker-end": "url(#arrow)", d: isInLine
        ? `M${from.right} ${from.bottom - 10} C${from.right + bend} ${from.bottom + 20} ${to.right + bend} ${to.top - 20} ${to.right} ${to.top + 10}`
        : `M${from.x} ${from.bottom} C${from.x} ${from.bottom + half} ${to.x} ${to.top - half} ${to.x} ${to.top}` }));
    }
  }

  /** The whole picture beside it, small, and where the view is. */
  drawMap() {
    if (this.mapPending) return;
    this.mapPending = requestAnimationFrame(() => {
      this.mapPending = 0;
      const { map } = this, root = this.tree.root, context = map.getContext("2d");
      const scale = Math.min(map.width / root.width, map.height / root.height), style = getComputedStyle(document.documentElement);
      const color = (name) => style.getPropertyValue(`--${name}`);
      context.clearRect(0, 0, map.width, map.height);
      const shift = (map.width - root.width * scale) / 2;
      for (const box of root.children) {
        context.fillStyle = color(this.mapColor(box));
        context.fillRect(shift + box.x * scale, box.y * scale, Math.max(1.5, box.width * scale), Math.max(1.5, box.height * scale));
      }
      const [width, height] = this.size();
      context.strokeStyle = color("accent");
      context.lineWidth = 2;
      const x = Math.max(1, shift + this.left * scale), y = Math.max(1, this.top * scale);
      const right = Math.min(map.width - 1, shift + (this.left + width / this.scale) * scale);
      const bottom = Math.min(map.height - 1, (this.top + height / this.scale) * scale);
      context.strokeRect(x, y, Math.max(3, right - x), Math.max(3, bottom - y));
    });
  }

  mapColor(box) {
    if (box.type === "section") return "edge";
    return box.type === "kernel" ? this.scene.work[this.block.kernels[box.kernel].work] : this.workOf(box);
  }

  /** Open all boxes around a box, choose it, and bring it into view. */
  choose(box, moves = true) {
    let changed = false;
    for (let each = box.parent; each && each.parent; each = each.parent) {
      if (!each.open) { each.open = true; fusionLayout.invalidate(each); changed = true; }
    }
    this.chosen = box;
    if (changed) fusionLayout.layout(this.tree.root, dagre);
    if (moves) this.reveal(box);
    this.redraw();
  }

  /** What fits the view fits it when that has another size. */
  resized() {
    if (this.fits === "all") this.fitAll();
    else if (this.fits === "width") this.fitWidth(this.top);
    else this.redraw();
  }

  reveal(box) {
    const [width, height] = this.size(), [x, y] = fusionLayout.corner(box);
    if (this.scale < 0.5) this.scale = FusionPicture.READABLE;
    const isInside = x >= this.left && x + box.width <= this.left + width / this.scale && y >= this.top
      && y + Math.min(box.height, 60) <= this.top + height / this.scale;
    if (isInside) return;
    this.fits = "";
    this.left = x + box.width / 2 - width / this.scale / 2;
    this.top = y + Math.min(box.height, height / this.scale) / 2 - height / this.scale / 2;
    this.redraw();
  }

  toggle(box) {
    if (!box.children.length) return;
    box.open = !box.open;
    fusionLayout.invalidate(box);
    const [, before] = fusionLayout.corner(box);
    fusionLayout.layout(this.tree.root, dagre);
    this.top += fusionLayout.corner(box)[1] - before;
    this.redraw();
  }

  setAll(open, most = Infinity) {
    let opened = 0;
    for (const box of this.tree.boxes) {
      if (!box.parent || !box.children.length) continue;
      const wanted = open && opened < most;
      if (wanted) opened += box.children.length;
      if (box.open !== wanted) { box.open = wanted; fusionLayout.invalidate(box); }
    }
    this.relayout();
  }

  listen() {
    const { svg } = this;
    let drag = null;
    svg.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, moved: false, box: this.boxAt(event.target) };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const x = event.clientX - drag.x, y = event.clientY - drag.y;
      if (!drag.moved && Math.abs(x) + Math.abs(y) < 4) return;
      Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
      this.pan(-x, -y);
    });
    svg.addEventListener("pointerup", () => {
      if (drag && !drag.moved && drag.box) this.callbacks.click(drag.box);
      drag = null;
    });
    svg.addEventListener("pointercancel", () => { drag = null; });
    svg.addEventListener("dblclick", (event) => { const box = this.boxAt(event.target); if (box && box.type === "node") this.zoom(1.5); });
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const rect = svg.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 240), event.clientX - rect.left, event.clientY - rect.top);
      else this.pan(event.deltaX, event.deltaY);
    }, { passive: false });
    this.map.addEventListener("pointerdown", (event) => {
      const root = this.tree.root, rect = this.map.getBoundingClientRect();
      const scale = Math.min(this.map.width / root.width, this.map.height / root.height), [, height] = this.size();
      this.top = (event.clientY - rect.top) / scale - height / this.scale / 2;
      this.moved();
    });
    new ResizeObserver(() => { if (this.tree) this.resized(); }).observe(svg);
  }

  boxAt(target) {
    const group = target.closest && target.closest(".box");
    return group ? this.tree.boxes[Number(group.dataset.box)] : null;
  }

  /** Arrow keys go along edges, Home and End to the ends, Enter opens, Escape goes out. Whether the key meant anything. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.tree || !this.tree.root.children.length) return false;
    const known = this.boxAt(document.activeElement) || this.chosen, first = this.tree.root.children[0];
    const box = known || first;
    const go = (next) => { if (next) { this.callbacks.choose(next); this.focusSoon(next); } };
    // Nothing is chosen yet: any arrow begins at the first box.
    const step = (next) => go(known ? next() : first);
    const open = () => { if (box.children.length) this.toggle(box); this.callbacks.choose(box); this.focusSoon(box); };
    const siblings = box.parent.children, place = siblings.indexOf(box);
    const actions = {
      ArrowDown: () => step(() => (box.parent.edges.find((edge) => edge.from === box) || {}).to || siblings[place + 1]),
      ArrowUp: () => step(() => (box.parent.edges.find((edge) => edge.to === box) || {}).from || siblings[place - 1]),
      ArrowRight: () => step(() => siblings[place + 1]),
      ArrowLeft: () => step(() => siblings[place - 1]),
      Home: () => go(siblings[0]),
      End: () => go(siblings[siblings.length - 1]),
      Enter: open,
      " ": open,
      ">": () => { if (box.children.length) { if (!box.open) this.toggle(box); go(box.children[0]); } },
      Escape: () => { if (known && box.parent.parent) go(box.parent); else this.callbacks.leave(); },
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8),
      "0": () => this.fitAll(), a: () => this.fitAll(), f: () => this.fitWidth(), w: () => this.fitWidth(),
    };
    const action = actions[event.key];
    if (!action) return false;
    event.preventDefault();
    action();
    return true;
  }

  focusSoon(box) {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const element = this.elements.get(box.id);
      if (element) element.focus({ preventScroll: true });
    }));
  }
}

function between(one, other) {
  return [(one[0] + other[0]) / 2, (one[1] + other[1]) / 2];
}

/** A smooth line through the points. */
function curve(points, x, y) {
  const at = (point) => `${(point[0] + x).toFixed(1)} ${(point[1] + y).toFixed(1)}`;
  let path = `M${at(points[0])}`;
  for (let place = 1; place < points.length - 1; place++) path += ` Q${at(points[place])} ${at(between(points[place], points[place + 1]))}`;
  return `${path} L${at(points[points.length - 1])}`;
}
