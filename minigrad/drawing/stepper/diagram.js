// The graph as a picture: Graphviz said where things stand, the rest is done here.

const LARGEST_SCALE = 1.35;
const SMALLEST_TEXT = 8; // in the picture's own units

/** Below this scale the text is too small, and the frame scrolls instead; on a phone it has 11 px. */
function smallestScale() {
  return matchMedia("(max-width: 800px)").matches ? 11 / SMALLEST_TEXT : 0.95;
}

class Diagram {
  /** `choose(node)` is called with a node that was chosen, `open(box)` and `close(box)` with a box. */
  constructor(frame, hint, { choose, open, close }) {
    this.frame = frame;
    this.hint = hint;
    this.act = { choose, open, close };
    this.place = 0;
    frame.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Draw one picture of `DATA.pictures`. */
  show(picture) {
    const [width, height] = picture.size;
    this.picture = picture;
    this.itemOf = new Map(Object.keys(DATA.nodes).map((node) => [node, this.visibleItem(node)]));
    this.contents = new Map(Object.keys(picture.items).map((item) => [item, []]));
    for (const [node, item] of this.itemOf) this.contents.get(item).push(node);

    this.boxes = new Map(Object.entries(picture.open).map(([id, area]) => [id, this.drawBox(id, area)]));
    this.arrows = picture.arrows.map((arrow) => this.drawArrow(arrow));
    this.items = new Map(Object.entries(picture.items).map(([id, area]) => [id, this.drawItem(id, area)]));
    this.drawing = svgElement(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Computation graph" },
      ...this.boxes.values(),
      ...this.arrows.map(({ group }) => group),
      ...this.items.values(),
    );
    this.drawing.style.minWidth = `${smallestScale() * width}px`;
    this.drawing.style.maxWidth = `${Math.max(LARGEST_SCALE, smallestScale()) * width}px`;
    this.frame.replaceChildren(this.drawing);
    this.stops = [...this.boxes.keys(), ...this.items.keys()].sort((a, b) => this.top(a) - this.top(b));
    this.rove(this.stops[0]);
  }

  /** The node itself, or the closed box that hides it. */
  visibleItem(node) {
    return node in this.picture.items ? node : this.visibleBox(DATA.nodes[node].box);
  }

  /** The box itself, or the one around it that is in the picture. */
  visibleBox(box) {
    const { items, open } = this.picture;
    let visible = box;
    while (!(visible in items || visible in open)) visible = DATA.boxes[visible].parent;
    return visible;
  }

  top(id) {
    const { items, open } = this.picture;
    return id in items ? items[id][1] - items[id][3] / 2 : open[id][1];
  }

  drawBox(id, [left, top, width, height]) {
    const { title } = DATA.boxes[id];
    const group = svgElement(
      "g",
      { class: "box", role: "button", "aria-label": `${title}: close this box`, "aria-expanded": "true" },
      svgElement("rect", { x: left, y: top, width, height, rx: 6 }),
      svgElement("text", { x: left + 8, y: top + 15 }, title),
    );
    this.listen(group, id, () => this.act.close(id));
    return group;
  }

  drawItem(id, [x, y, width, height]) {
    const isBox = id in DATA.boxes;
    const { title } = isBox ? DATA.boxes[id] : DATA.nodes[id];
    const details = isBox ? this.picture.closed[id] : DATA.nodes[id].details;
    const kind = isBox ? "closed" : DATA.nodes[id].kind;
    const ending = isBox ? "" : endingOf(DATA.nodes[id]);
    const label = [title, ...details, ...(isBox ? ["open this box"] : [])].join(", ");
    const group = svgElement(
      "g",
      { class: `item ${kind} ${ending}`, role: "button", "aria-label": label, "data-id": id },
      svgElement("rect", {
        x: x - width / 2,
        y: y - height / 2,
        width,
        height,
        rx: ["input", "residual", "closed"].includes(kind) ? 7 : 1,
      }),
      ...this.drawLines(x, y, title, details),
    );
    if (isBox) group.setAttribute("aria-expanded", "false");
    this.listen(group, id, () => (isBox ? this.act.open(id) : this.act.choose(id)));
    return group;
  }

  drawLines(x, y, title, details) {
    const top = y - (13 + 11 * details.length) / 2;
    return [
      svgElement("text", { class: "name", x, y: top + 10 }, title),
      ...details.map((line, i) => svgElement("text", { x, y: top + 21 + 11 * i }, line)),
    ];
  }

  /** A curve with a head at either end; which one is seen depends on the way that the pass goes. */
  drawArrow({ edges, curve }) {
    const points = [];
    for (let i = 0; i < curve.length; i += 2) points.push([curve[i], curve[i + 1]]);
    const [start, ...rest] = points;
    const target = this.itemOf.get(DATA.edges[edges[0]].target);
    const way = target === DATA.edges[edges[0]].target ? DATA.edges[edges[0]].way : null;
    const path = `M${start} C${rest.slice(0, -1).join(" ")} L${rest.at(-1)}`;
    const group = svgElement(
      "g",
      { class: `arrow ${way ?? ""}` },
      svgElement("path", { class: "halo", d: path }),
      svgElement("path", { class: "shaft", d: path }),
      svgElement("path", { class: "head at-end", d: head(rest.at(-1), rest.at(-2)) }),
      svgElement("path", { class: "head at-start", d: head(start, points[1]) }),
    );
    if (way) {
      const [x, y] = points[Math.floor(points.length / 2)];
      group.append(svgElement("text", { x: x + 4, y }, way));
    }
    return { edges, group };
  }

  listen(group, id, act) {
    group.setAttribute("tabindex", "-1");
    group.addEventListener("click", () => {
      this.rove(id);
      act();
    });
    group.addEventListener("pointerenter", () => this.showHint(id, group));
    group.addEventListener("pointerleave", () => this.hideHint());
    group.addEventListener("focus", () => group.matches(":focus-visible") && this.showHint(id, group));
    group.addEventListener("blur", () => this.hideHint());
  }

  elementOf(id) {
    return this.items.get(id) ?? this.boxes.get(id);
  }

  /** Make one item the stop of the Tab key; the arrow keys go on from there. */
  rove(id) {
    this.elementOf(this.stop)?.setAttribute("tabindex", "-1");
    this.stop = id;
    this.elementOf(id).setAttribute("tabindex", "0");
  }

  onKey(event) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      event.target.dispatchEvent(new MouseEvent("click"));
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const to = this.stops.indexOf(this.stop) + (event.key === "ArrowDown" ? 1 : -1);
      if (to >= 0 && to < this.stops.length) this.focus(this.stops[to]);
    } else if (event.key === "Escape") {
      this.hideHint();
    }
  }

  focus(id) {
    this.rove(id);
    this.elementOf(id).focus({ preventScroll: true });
    this.scrollTo(id);
  }

  /** Light what step `place` does, and mark what was done before. */
  update(place) {
    const { phase, node } = STEPS[place];
    this.place = place;
    this.drawing.setAttribute("class", phase);
    for (const [id, element] of this.items) {
      const nodes = this.contents.get(id);
      element.classList.toggle("current", nodes.includes(node));
      const stepped = nodes.filter((inner) => STEP_OF[phase].has(inner)); // a constant has no step back
      element.classList.toggle("done", stepped.length > 0 && stepped.every((inner) => isDone(inner, place)));
      element.classList.toggle("spoiled", nodes.some((inner) => isSpoiled(inner, place)));
    }
    for (const { edges, group } of this.arrows) this.updateArrow(group, edges, place);
    const item = this.itemOf.get(node);
    if (!this.frame.contains(document.activeElement)) this.rove(item);
    this.scrollTo(item);
  }

  updateArrow(group, edges, place) {
    const { phase, node } = STEPS[place];
    const carries = (edge) => phase === "forward" || DATA.edges[edge].strength !== null;
    const carrying = edges.filter(carries);
    const done = carrying.filter((edge) => isDone(DATA.edges[edge].target, place));
    const strength = Math.max(0, ...done.map((edge) => DATA.edges[edge].strength ?? 0));
    group.classList.toggle("lit", carrying.some((edge) => DATA.edges[edge].target === node));
    group.classList.toggle("filled", done.length > 0);
    group.classList.toggle("bare", phase === "backward" && carrying.length === 0);
    group.style.setProperty("--strength", phase === "backward" ? strength : 0);
  }

  /** Bring an item into the frame, if it is not there: the page itself stays where it is. */
  scrollTo(id) {
    const { items, open, size } = this.picture;
    const [x, y] = id in items ? items[id] : [open[id][0] + open[id][2] / 2, open[id][1]];
    const scale = this.drawing.clientWidth / size[0];
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.frame;
    const isSeen =
      Math.abs(x * scale - scrollLeft - clientWidth / 2) < clientWidth / 2 - 60 &&
      Math.abs(y * scale - scrollTop - clientHeight / 2) < clientHeight / 2 - 60;
    if (!isSeen) this.frame.scrollTo(x * scale - clientWidth / 2, y * scale - clientHeight / 2);
  }

  showHint(id, group) {
    const lines = id in DATA.nodes ? nodeHint(id, this.place) : boxHint(id, id in this.picture.open);
    this.hint.replaceChildren(...lines);
    this.hint.hidden = false;
    const at = group.getBoundingClientRect();
    const { width, height } = this.hint.getBoundingClientRect();
    const left = Math.min(Math.max(at.left, 8), innerWidth - width - 8);
    const top = at.bottom + height + 12 < innerHeight ? at.bottom + 4 : at.top - height - 4;
    this.hint.style.left = `${left}px`;
    this.hint.style.top = `${Math.max(top, 8)}px`;
  }

  hideHint() {
    this.hint.hidden = true;
  }
}

/** A triangle with its tip at `tip`, pointing away from `from`. */
function head([x, y], [fromX, fromY]) {
  const length = Math.hypot(x - fromX, y - fromY) || 1;
  const [alongX, alongY] = [(7 * (x - fromX)) / length, (7 * (y - fromY)) / length];
  const [acrossX, acrossY] = [-0.45 * alongY, 0.45 * alongX];
  const [baseX, baseY] = [x - alongX, y - alongY];
  return `M${x},${y} L${baseX + acrossX},${baseY + acrossY} L${baseX - acrossX},${baseY - acrossY} Z`;
}

/** Whether a gradient ends here because it is not required, or because the graph was cut. */
function endingOf({ requiresGrad, cut }) {
  if (cut !== null) return "cut";
  return requiresGrad ? "" : "unwanted";
}

/** The hint of a node: its numbers in short, and its gradient as far as it is known. */
function nodeHint(id, place) {
  const { path, shape, dtype, value } = DATA.nodes[id];
  return [
    element("strong", {}, path),
    element("span", {}, `${shape} ${dtype}`),
    element("span", {}, `value: ${DATA.arrays[value].facts.join(", ")}`),
    element("span", {}, gradientText(id, place)),
  ];
}

function boxHint(id, isOpen) {
  const { path, picture } = DATA.boxes[id];
  const what = isOpen ? "choose it to close it" : picture === null ? "too large to open" : "choose it to open it";
  return [element("strong", {}, path), element("span", {}, what)];
}

function gradientText(node, place) {
  const { requiresGrad, cut } = DATA.nodes[node];
  if (cut !== null) return `cut off by ${cut}`;
  if (!requiresGrad) return "requires no gradient";
  const { array, arrived, of } = gradientSoFar(node, place);
  if (array === null) return STEP_OF.backward.has(node) ? "no gradient yet" : "no gradient reaches it";
  const facts = DATA.arrays[array].facts.join(", ");
  return arrived < of ? `gradient after ${arrived} of ${of} consumers: ${facts}` : `gradient: ${facts}`;
}
