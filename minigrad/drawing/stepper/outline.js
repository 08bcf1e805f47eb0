// The graph as an indented list: the same boxes, the same nodes. It stands in where no program could lay a picture out.

class Outline {
  constructor(frame, choose) {
    this.frame = frame;
    this.lists = new Map([[null, element("ul", {})]]);
    this.buttons = new Map();
    for (const [id, node] of Object.entries(DATA.nodes)) {
      const button = element("button", { class: node.kind, "data-id": id }, node.title);
      button.addEventListener("click", () => choose(id));
      const reads = INPUTS.get(id).map((edge) => this.sourceText(edge));
      const text = reads.length ? `${node.details.join(" ")} ← ${reads.join(", ")}` : node.details.join(" ");
      this.buttons.set(id, button);
      this.listOf(node.box).append(element("li", {}, button, " ", element("span", {}, text)));
    }
    if (DATA.noPicture !== null) frame.append(element("p", { class: "quiet" }, `No picture: ${DATA.noPicture}`));
    frame.append(this.lists.get(null));
  }

  sourceText(edge) {
    const { source, way } = DATA.edges[edge];
    return way ? `${DATA.nodes[source].title} (${way})` : DATA.nodes[source].title;
  }

  listOf(box) {
    if (!this.lists.has(box)) {
      const { title, parent } = DATA.boxes[box];
      const list = element("ul", {});
      const details = element("details", { open: "" }, element("summary", {}, title), list);
      this.listOf(parent).append(element("li", {}, details));
      this.lists.set(box, list);
    }
    return this.lists.get(box);
  }

  update(place) {
    for (const [id, button] of this.buttons) {
      button.classList.toggle("done", isDone(id, place));
      if (id === STEPS[place].node) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
    this.scrollTo(this.buttons.get(STEPS[place].node));
  }

  scrollTo(button) {
    const at = button.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    const isSeen = at.top > frame.top && at.bottom < frame.bottom;
    if (!isSeen) this.frame.scrollBy(0, at.top - frame.top - frame.height / 2);
  }
}
