// The two passes: which step belongs to which node, and what has arrived where after a step.

const DATA = JSON.parse(document.getElementById("data").textContent);
const STEPS = DATA.steps;

const STEP_OF = { forward: new Map(), backward: new Map() };
STEPS.forEach(({ phase, node }, place) => STEP_OF[phase].set(node, place));

const INPUTS = new Map(Object.keys(DATA.nodes).map((node) => [node, []])); // edges into each node, in the op's order
const CONSUMERS = new Map(Object.keys(DATA.nodes).map((node) => [node, []])); // edges out of each node, to the ops that read it
for (const [id, edge] of Object.entries(DATA.edges)) {
  INPUTS.get(edge.target).push(id);
  CONSUMERS.get(edge.source).push(id);
}

/** Whether a node is done after step `place`: its value is there, or in the backward pass its whole gradient. */
function isDone(node, place) {
  const step = STEP_OF[STEPS[place].phase].get(node);
  return step !== undefined && step <= place;
}

/** Whether what a node has after step `place` is spoiled by a NaN or inf: its value, or going back its gradient. */
function isSpoiled(node, place) {
  const { phase } = STEPS[place];
  if (!isDone(node, place)) return false;
  const array = phase === "forward" ? DATA.nodes[node].value : STEPS[STEP_OF.backward.get(node)].gradient;
  return DATA.arrays[array].isSpoiled;
}

/** What an edge has delivered back after step `place`, and the sum at its source by then; null if nothing yet. */
function delivery(edge, place) {
  const { target } = DATA.edges[edge];
  const step = STEP_OF.backward.get(target);
  if (step === undefined || step > place) return null;
  const input = INPUTS.get(target).indexOf(edge);
  const { delivered, soFar } = STEPS[step];
  return delivered[input] === null ? null : { step, input, gradient: delivered[input], soFar: soFar[input] };
}

/** The edges that will have delivered to a node when the backward pass is over. */
function deliverers(node) {
  return CONSUMERS.get(node).filter((edge) => delivery(edge, STEPS.length - 1));
}

/** The gradient of a node after step `place`: `{array, arrived, of}`, with `array` null as long as nothing arrived. */
function gradientSoFar(node, place) {
  const own = STEP_OF.backward.get(node);
  const all = deliverers(node);
  const arrived = all.map((edge) => delivery(edge, place)).filter(Boolean);
  arrived.sort((one, other) => one.step - other.step || one.input - other.input);
  const isWhole = own !== undefined && own <= place;
  const array = isWhole ? STEPS[own].gradient : (arrived.at(-1)?.soFar ?? null);
  return { array, arrived: arrived.length, of: all.length };
}
