// The page: one number says which step is shown, and everything follows from it.

const PAUSE = 1200; // milliseconds between steps while playing
const HAS_ADDRESS = location.protocol !== "about:"; // in the frame of a notebook a page has none of its own
const by = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.place = 0;
    this.timer = null;
    const choose = (node) => this.goToNode(node);
    this.outline = new Outline(by("outline"), choose);
    this.diagram = new Diagram(by("picture"), by("hint"), {
      choose,
      open: (box) => this.openBox(box),
      close: (box) => this.closeBox(box),
    });
    document.title = by("title").textContent = DATA.title;
    by("slider").max = STEPS.length;
    by("names").append(...Object.values(DATA.nodes).map(({ path }) => element("option", { value: path })));
    this.offerLevels();
    this.listen();
    this.showPicture(DATA.pictures.length ? this.bestLevel() : null);
    this.goToHash();
  }

  listen() {
    const actions = {
      first: () => this.go(0),
      previous: () => this.go(this.neighbour(-1)),
      play: () => this.play(this.timer === null),
      next: () => this.go(this.neighbour(1)),
      last: () => this.go(STEPS.length - 1),
      turn: () => this.turn(),
    };
    for (const [id, act] of Object.entries(actions)) by(id).addEventListener("click", act);
    by("slider").addEventListener("input", () => this.go(by("slider").valueAsNumber - 1));
    by("level").addEventListener("change", () => this.showLevel(by("level").value));
    by("jump").addEventListener("change", () => this.jump(by("jump").value));
    document.addEventListener("click", (event) => this.follow(event));
    addEventListener("hashchange", () => this.goToHash());
    addEventListener("keydown", (event) => this.onKey(event, actions));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.go(this.place));
  }

  onKey(event, actions) {
    const { target } = event;
    const key = ["T", "N"].includes(event.key) ? event.key.toLowerCase() : event.key;
    const isTyping = target.closest("#jump") !== null;
    const isPressing = key === " " && target.closest("button, summary, a, select") !== null;
    const isChoosing = ["Home", "End", "t", "n"].includes(key) && target.closest("select") !== null;
    if (isTyping || isPressing || isChoosing || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = { ArrowRight: "next", ArrowLeft: "previous", Home: "first", End: "last", " ": "play", t: "turn" };
    if (key === "/") by("jump").focus();
    else if (key === "n") this.goToSpoiled();
    else if (key in keys) actions[keys[key]]();
    else return;
    event.preventDefault();
  }

  /** Show step `place`, counted from 0; a number outside is taken as the nearest inside. */
  go(place) {
    this.place = Math.min(Math.max(place, 0), STEPS.length - 1);
    const { phase, node } = STEPS[this.place];
    const spoiled = isSpoiled(node, this.place) ? ", which has a NaN or inf" : "";
    const text = `Step ${this.place + 1} of ${STEPS.length}, ${phase}: ${DATA.nodes[node].path}${spoiled}`;
    if (HAS_ADDRESS) history.replaceState(null, "", `#step=${this.place + 1}`);
    document.body.className = phase;
    by("slider").value = this.place + 1;
    by("slider").setAttribute("aria-valuetext", text);
    by("status").textContent = text;
    by("previous").disabled = by("first").disabled = this.place === 0;
    by("next").disabled = by("last").disabled = this.place === STEPS.length - 1;
    by("turn").disabled = !STEP_OF[otherPhase(phase)].has(node);
    by("panel").replaceChildren(...panelOf(this.place));
    by("panel").scrollTop = 0;
    this.seen.update(this.place);
    if (this.place === STEPS.length - 1) this.play(false);
  }

  goToHash() {
    this.go(stepIn(location.hash) ?? 0);
  }

  /** A link to a step is followed here: in a notebook it would lead to the page around this one. */
  follow(event) {
    const place = stepIn(event.target.closest("a")?.getAttribute("href") ?? "");
    if (place === null) return;
    event.preventDefault();
    this.go(place);
  }

  /** The next step, or the one before; those of parameters are passed over if they are not wanted. */
  neighbour(way) {
    const isPassed = ({ node }) => !by("parameters").checked && DATA.nodes[node].kind === "parameter";
    let place = this.place + way;
    while (place in STEPS && isPassed(STEPS[place])) place += way;
    return place in STEPS ? place : this.place;
  }

  /** The step of a node in the pass that is shown; a node that no gradient reaches has a forward step alone. */
  goToNode(node) {
    const { phase } = STEPS[this.place];
    this.go(STEP_OF[phase].get(node) ?? STEP_OF.forward.get(node));
  }

  goToSpoiled() {
    const place = STEPS.findIndex(({ node }, place) => place > this.place && isSpoiled(node, place));
    if (place > 0) this.go(place);
    else by("status").textContent = "No NaN, or inf that an op made, after this step";
  }

  turn() {
    const { phase, node } = STEPS[this.place];
    const place = STEP_OF[otherPhase(phase)].get(node);
    if (place !== undefined) this.go(place);
  }

  /** Go to the node of this name, or else to the first whose name has this text in it. */
  jump(text) {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return;
    const paths = Object.entries(DATA.nodes).map(([id, { path }]) => [id, path.toLowerCase()]);
    const found = paths.find(([, path]) => path === wanted) ?? paths.find(([, path]) => path.includes(wanted));
    if (found === undefined) {
      by("status").textContent = `No node is called ${text}`;
      return;
    }
    by("jump").value = "";
    by("jump").blur(); // from here on the arrow keys step again
    this.goToNode(found[0]);
  }

  play(isPlaying) {
    clearInterval(this.timer);
    this.timer = isPlaying ? setInterval(() => this.go(this.neighbour(1)), PAUSE) : null;
    by("play").textContent = isPlaying ? "Pause" : "Play";
    by("play").setAttribute("aria-pressed", isPlaying);
  }

  offerLevels() {
    const names = DATA.pictures.slice(0, DATA.levels).map(({ items, closed }, level) => {
      const count = Object.keys(items).length;
      const name = Object.keys(closed).length === 0 ? `all ${count} nodes` : `${count} nodes`;
      return element("option", { value: level }, name);
    });
    const oneBox = element("option", { value: "box", hidden: "" }, "one box open");
    by("level").append(...names, oneBox, element("option", { value: "list" }, "as a list"));
  }

  /** The most open picture whose text can be read in the width that is there. */
  bestLevel() {
    const fits = ({ size }) => smallestScale() * size[0] <= by("picture").clientWidth;
    return Math.max(0, DATA.pictures.slice(0, DATA.levels).findLastIndex(fits));
  }

  showLevel(value) {
    this.showPicture(value === "list" ? null : Number(value));
  }

  openBox(box) {
    const { picture } = DATA.boxes[box];
    if (picture === null) return; // too large to be drawn
    this.showPicture(picture);
    this.diagram.focus(box);
  }

  closeBox(box) {
    const { parent } = DATA.boxes[box];
    this.showPicture(DATA.boxes[parent]?.picture ?? 0);
    this.diagram.focus(this.diagram.visibleBox(box));
  }

  /** Show a picture by its place; null shows the list. */
  showPicture(place) {
    by("picture").hidden = place === null;
    by("outline").hidden = place !== null;
    by("level").value = place === null ? "list" : place < DATA.levels ? place : "box";
    this.seen = place === null ? this.outline : this.diagram;
    if (place !== null) this.diagram.show(DATA.pictures[place]);
    this.seen.update(this.place);
  }
}

/** The step that a fragment such as `#step=3` names, counted from 0; null if it names none. */
function stepIn(fragment) {
  const match = /^#step=(\d+)$/.exec(fragment);
  return match ? Number(match[1]) - 1 : null;
}

function otherPhase(phase) {
  return phase === "forward" ? "backward" : "forward";
}

new Page();
