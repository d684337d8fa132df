"use strict";
// Where boxes stand. dagre lays out the children of one box at a time, so its time grows with the boxes that are open.
const fusionLayout = (() => {
  const HEAD = 26, PAD = 12, CHAR = 6.9;

  /** Sizes of a box that is closed. */
  function closedSize(box) {
    const marks = (box.children.length ? 2 : 0) + (box.isAnchor ? 2 : 0);
    const longest = Math.max((box.label.length + marks) * CHAR, box.detail.length * 6.1);
    return { width: Math.max(96, Math.round(longest + 22)), height: 42 };
  }

  /** Place everything in `root` that is open. Boxes get `x`, `y` (of the corner, within their parent), `width`, `height`;
   *  boxes that are open get `routes`, the points of their edges. */
  function layout(root, dagre) {
    const opened = [];
    const pending = [root];
    while (pending.length) {
      const box = pending.pop();
      opened.push(box);
      box.children.forEach((child) => { if (child.open && child.children.length) pending.push(child); });
    }
    for (let place = opened.length - 1; place >= 0; place--) {
      if (!opened[place].routes || opened[place].stale) layOut(opened[place], dagre);
    }
  }

  /** What the box and all around it need anew. */
  function invalidate(box) {
    for (let each = box; each; each = each.parent) each.stale = true;
  }

  function layOut(box, dagre) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, ranker: "tight-tree", marginx: 0, marginy: 0 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const child of box.children) {
      if (!child.open || !child.children.length) Object.assign(child, closedSize(child));
      graph.setNode(String(child.id), { width: child.width, height: child.height });
    }
    for (const edge of box.edges) graph.setEdge(String(edge.from.id), String(edge.to.id));
    dagre.layout(graph);
    const size = graph.graph(), top = box.type === "root" ? PAD : HEAD + PAD;
    for (const child of box.children) {
      const placed = graph.node(String(child.id));
      child.x = placed.x - child.width / 2 + PAD;
      child.y = placed.y - child.height / 2 + top;
    }
    box.routes = box.edges.map((edge) => graph.edge(String(edge.from.id), String(edge.to.id)).points
      .map((point) => [point.x + PAD, point.y + top]));
    box.width = Math.max((size.width || 0) + 2 * PAD, box.label.length * CHAR + 60);
    const shift = (box.width - (size.width || 0) - 2 * PAD) / 2;
    if (shift > 0) {
      for (const child of box.children) child.x += shift;
      for (const route of box.routes) for (const point of route) point[0] += shift;
    }
    box.height = (size.height || 0) + top + PAD;
    box.stale = false;
  }

  /** Corner of a box in the picture. */
  function corner(box) {
    let x = 0, y = 0;
    for (let each = box; each.parent; each = each.parent) { x += each.x; y += each.y; }
    return [x, y];
  }

  /** The box itself, or the closed box that hides it. */
  function visible(box) {
    let shown = box;
    for (let each = box.parent; each; each = each.parent) if (!each.open) shown = each;
    return shown;
  }

  return { layout, invalidate, corner, visible, HEAD };
})();
if (typeof module !== "undefined") module.exports = fusionLayout;
