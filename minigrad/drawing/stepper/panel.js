// What one step does, in full: the rule, the arrays that come in and go out, and the code.

function panelOf(place) {
  const { phase, node } = STEPS[place];
  const arrays = phase === "forward" ? forwardArrays(node) : backwardArrays(place);
  return [titleOf(place), ruleOf(node), ...arrays, ...sourceOf(node)];
}

function titleOf(place) {
  const { phase, node } = STEPS[place];
  const { path, shape, dtype, place: where } = DATA.nodes[node];
  const facts = [`${shape} ${dtype}`, ...(where ? [`made at ${where}`] : [])].join(" · ");
  return element(
    "div",
    { class: "heading" },
    element("span", { class: `phase ${phase}` }, phase),
    element("h2", {}, path),
    element("p", { class: "quiet" }, facts),
  );
}

function ruleOf(node) {
  const { rule } = DATA.nodes[node];
  if (rule === null) return element("p", {}, leafText(DATA.nodes[node]));
  return element("div", { class: "rule" }, ...DATA.rules[rule].formulas.map(mathElement));
}

function leafText({ kind, requiresGrad, cut }) {
  if (cut !== null) return `Cut off by ${cut}: no gradient goes back through it.`;
  const what = { parameter: "A parameter", input: "An input", constant: "A constant" }[kind];
  if (!requiresGrad) return `${what} that requires no gradient: requires_grad is False.`;
  return `${what}: no op made it, so the backward pass ends here.`;
}

function forwardArrays(node) {
  const inputs = INPUTS.get(node).map((edge) => {
    const { source, way } = DATA.edges[edge];
    return arrayFigure([nodeLink(source, "forward"), ...wayMark(way)], DATA.arrays[DATA.nodes[source].value]);
  });
  const output = arrayFigure(["value"], DATA.arrays[DATA.nodes[node].value]);
  if (inputs.length === 0) return [group("It is", output)];
  return [group("It reads", ...inputs), group("It makes", output)];
}

function backwardArrays(place) {
  const { node, gradient } = STEPS[place];
  const incoming = group(incomingText(node), arrayFigure([gradientName(node)], DATA.arrays[gradient]));
  const edges = INPUTS.get(node);
  return edges.length === 0 ? [incoming] : [incoming, group("It delivers", ...edges.map((edge) => given(edge, place)))];
}

function incomingText(node) {
  const { length } = deliverers(node);
  if (length === 0) return "Comes in: the gradient that the pass starts with";
  return length === 1 ? "Comes in, from its one consumer" : `Comes in: the sum of what ${length} arrows delivered`;
}

/** What a step gives to one of its inputs, and what that input has by then. */
function given(edge, place) {
  const { source, way } = DATA.edges[edge];
  const caption = ["to ", nodeLink(source, "backward"), ...wayMark(way)];
  const own = delivery(edge, place);
  if (own === null) {
    const why = DATA.nodes[source].requiresGrad ? "the rule gives it none" : "it requires no gradient";
    return element("figure", { class: "array" }, element("figcaption", {}, ...caption), `nothing: ${why}`);
  }
  const all = deliverers(source);
  const arrived = all.filter((other) => isBeforeOrAt(delivery(other, place), own)).length;
  if (all.length > 1 && arrived === 1) caption.push(`, the first of ${all.length} arrows`);
  const delivered = arrayFigure(caption, DATA.arrays[own.gradient]);
  if (arrived === 1) return delivered;
  const sum = arrayFigure([sumText(arrived, all.length)], DATA.arrays[own.soFar]);
  return element("div", { class: "pair" }, delivered, sum);
}

function sumText(arrived, of) {
  return arrived === of ? `its whole gradient: the sum of ${of} arrows` : `so far: the sum of ${arrived} of ${of} arrows`;
}

function isBeforeOrAt(one, other) {
  return one !== null && (one.step < other.step || (one.step === other.step && one.input <= other.input));
}

function gradientName(node) {
  return `gradient of ${DATA.nodes[node].title}`;
}

function group(heading, ...figures) {
  return element("section", { class: "arrays" }, element("h3", {}, heading), element("div", {}, ...figures));
}

/** The name of a node as a link to its step; in the backward pass a node without a gradient has none. */
function nodeLink(node, phase) {
  const step = STEP_OF[phase].get(node) ?? STEP_OF.forward.get(node);
  return element("a", { href: `#step=${step + 1}`, class: "node" }, DATA.nodes[node].path);
}

function wayMark(way) {
  return way ? [" ", element("span", { class: `way ${way}` }, way)] : [];
}

function sourceOf(node) {
  const { rule } = DATA.nodes[node];
  if (rule === null) return [];
  const { name, source, notes } = DATA.rules[rule];
  const text = source ?? "Source not available: the class was not defined in a file.";
  return [
    element("h3", {}, `${name}.backward`),
    element("pre", { tabindex: "0", "aria-label": "Source code" }, element("code", {}, text)),
    ...notes.map((note) => element("p", { class: "quiet" }, note)),
  ];
}
