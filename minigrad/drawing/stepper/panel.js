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
  const { node, gradient, parts, saved, madeOf } = STEPS[place];
  const whole = arrayFigure([gradientName(node)], DATA.arrays[gradient]);
  const groups = [group(incomingText(node), ...parts.map(partFigure), whole), ...meetingOf(place)];
  const edges = INPUTS.get(node);
  if (edges.length === 0) return groups;
  const used = saved.map(([name, array]) => arrayFigure([element("i", {}, name)], DATA.arrays[array]));
  const delivered = edges.map((edge, i) => given(edge, place, (entry) => light(madeOf[i], [whole, ...used], entry)));
  if (used.length > 0) groups.push(group("The rule uses", ...used));
  return [...groups, group("It delivers", ...delivered)];
}

/** What one consumer delivered, or all of a branch together, and how much of the sum it is. */
function partFigure({ edge, way, gradient, share, norm }) {
  const from = edge === null ? ["the branch in all"] : ["from ", nodeLink(DATA.edges[edge].target, "backward")];
  const part = share === null ? "" : `: ${percent(share)} of the sum, norm ${norm}`;
  return arrayFigure([...from, ...wayMark(way), part], DATA.arrays[gradient]);
}

/** At a residual: where its skip and its branch come together again. */
function meetingOf(place) {
  const { meets } = STEPS[place];
  if (meets === null) return [];
  const { node, skip, branch, norm } = meets;
  const told = (way, { share, norm }) => [...wayMark(way), ` norm ${norm}${share === null ? "" : `, ${percent(share)}`}`];
  const sum = ` of their sum, norm ${norm}.`;
  return [element("p", { class: "meets" }, "Both ways meet again at ", nodeLink(node, "backward"), ":", ...told("skip", skip), " and", ...told("branch", branch), sum)];
}

function percent(share) {
  return typeset(`${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)}%`);
}

/** Light the entries of `figures` that entry `entry` of a delivered gradient was made of; none for -1. */
function light(madeOf, figures, entry) {
  figures.forEach((figure) => figure.cells?.light([]));
  for (const [source, pattern] of madeOf) figures[source + 1].cells.light(DATA.patterns[pattern][entry] ?? []);
}

function incomingText(node) {
  const { length } = deliverers(node);
  if (length === 0) return "Comes in: the gradient that the pass starts with";
  return length === 1 ? "Comes in, from its one consumer" : `Comes in: the sum of what ${length} arrows delivered`;
}

/** What a step gives to one of its inputs, and what that input has by then. */
function given(edge, place, pointed) {
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
  const delivered = arrayFigure(caption, DATA.arrays[own.gradient], pointed);
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
