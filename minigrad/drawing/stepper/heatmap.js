// Arrays: few numbers as a table on coloured ground, many as colours alone; each number can be read one by one.

const WIDEST_TABLE = 8;
const MOST_IN_TABLE = 96;

/** An array of the page under a caption, with its scale and a line that reads out the number pointed at.
 *  `pointed` is called with the place of that number, -1 for none. */
function arrayFigure(caption, array, pointed = () => {}) {
  const numbers = numbersOf(array);
  const readout = element("output", { class: "readout" });
  const figure = element("figure", { class: "array" }, element("figcaption", {}, ...caption), readout);
  if (numbers.length === 0) {
    readout.textContent = "empty";
    return figure;
  }
  const isExact = array.tile.join() === "1,1";
  const fits = array.grid[1] <= WIDEST_TABLE && numbers.length <= MOST_IN_TABLE;
  const cells = isExact && fits ? new NumberTable(array, numbers) : new ColourMap(array, numbers);
  makeReadable(cells, readout, array, numbers, pointed);
  if (isExact) figure.cells = cells;
  readout.before(cells.element);
  if (numbers.length > 1) readout.before(scaleOf(array, numbers));
  return figure;
}

/** The numbers of an array, or of its tiles, as float64: exactly those that Python had. */
function numbersOf(array) {
  return new Float64Array(Uint8Array.from(atob(array.numbers), (byte) => byte.charCodeAt(0)).buffer);
}

/** How many rows make one matrix of an array with more axes, which are shown one under the other; 0 for all. */
function matrixHeight({ shape, tile }) {
  return shape.length > 2 && tile[0] === 1 ? shape.at(-2) : 0;
}

/** The class and colour of NaN and inf; the inf of a mask was given, and is no fault. */
function notFinite(isSpoiled) {
  return isSpoiled ? "not-finite" : "given-inf";
}

class NumberTable {
  constructor(array, numbers) {
    const [rows, columns] = array.grid;
    const height = matrixHeight(array);
    this.cells = Array.from(numbers, (value) => this.cell(value, array));
    const labels = labelsOf(array);
    const lines = Array.from({ length: rows }, (_, row) => {
      const isFirst = height > 0 && row > 0 && row % height === 0;
      const head = labels.rows ? [element("th", { scope: "row" }, labels.rows[row % labels.rows.length])] : [];
      const cells = [...head, ...this.cells.slice(row * columns, (row + 1) * columns)];
      return element("tr", isFirst ? { class: "next-matrix" } : {}, ...cells);
    });
    const { exponent } = styleFor(array.bound);
    const power = exponent === 0 ? [] : [element("caption", {}, typeset(`each × 1e${exponent}`))];
    const heads = labels.columns ? [element("tr", {}, element("td", {}), ...labels.columns.map(columnHead))] : [];
    this.element = element("table", { class: "numbers" }, ...power, element("tbody", {}, ...heads, ...lines));
  }

  cell(value, { bound, isSpoiled }) {
    const cell = element("td", {}, shortNumber(value, bound));
    if (!Number.isFinite(value)) cell.className = notFinite(isSpoiled);
    else cell.style.setProperty("--strength", bound ? value / bound : 0);
    return cell;
  }

  placeAt(event) {
    return this.cells.indexOf(event.target);
  }

  mark(place) {
    this.cells.forEach((cell, i) => cell.classList.toggle("cursor", i === place));
  }

  light(places) {
    const lit = new Set(places);
    this.cells.forEach((cell, i) => cell.classList.toggle("read", lit.has(i)));
  }
}

function columnHead(label) {
  return element("th", { scope: "col" }, label);
}

/** The tokens beside the rows of an array with one row for each of them, and above the columns of attention weights. */
function labelsOf({ shape, tile }) {
  const tokens = DATA.labels;
  const isOf = (length) => tokens.length > 0 && length === tokens.length && tile.join() === "1,1";
  const rows = shape.length > 1 && isOf(shape.at(-2)) ? tokens : null;
  return { rows, columns: rows && isOf(shape.at(-1)) ? tokens : null };
}

class ColourMap {
  constructor(array, numbers) {
    [this.rows, this.columns] = array.grid;
    this.canvas = element("canvas", { width: this.columns, height: this.rows });
    const side = Math.max(5, Math.min(14, Math.floor(420 / Math.max(this.columns, this.rows))));
    this.canvas.style.width = `${side * this.columns}px`;
    this.canvas.style.height = `${side * this.rows}px`;
    this.cursor = element("span", { class: "cursor", hidden: "" });
    const lines = this.linesBetweenMatrices(matrixHeight(array));
    this.element = element("div", { class: "colours" }, this.canvas, ...lines, this.cursor);
    this.paint(numbers, array);
  }

  linesBetweenMatrices(height) {
    const count = height > 0 ? this.rows / height - 1 : 0;
    return Array.from({ length: count }, (_, i) => {
      const line = element("span", { class: "next-matrix" });
      line.style.top = `${(100 * (i + 1) * height) / this.rows}%`;
      return line;
    });
  }

  paint(numbers, { bound, isSpoiled }) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`);
    const [zero, negative, positive] = ["zero", "negative", "positive"].map(colour);
    const most = Number(colour("most"));
    const paper = this.canvas.getContext("2d");
    paper.fillStyle = zero;
    paper.fillRect(0, 0, this.columns, this.rows);
    numbers.forEach((value, i) => {
      const isFinite = Number.isFinite(value);
      paper.globalAlpha = isFinite ? (bound ? (most * Math.abs(value)) / bound : 0) : 1;
      paper.fillStyle = isFinite ? (value < 0 ? negative : positive) : colour(notFinite(isSpoiled));
      paper.fillRect(i % this.columns, Math.floor(i / this.columns), 1, 1);
    });
  }

  placeAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - area.left) / area.width) * this.columns);
    const row = Math.floor(((event.clientY - area.top) / area.height) * this.rows);
    const isInside = column >= 0 && column < this.columns && row >= 0 && row < this.rows;
    return isInside ? row * this.columns + column : -1;
  }

  mark(place) {
    this.cursor.hidden = place < 0;
    this.frame(this.cursor, place);
  }

  light(places) {
    this.element.querySelectorAll(".read").forEach((frame) => frame.remove());
    const frames = places.map(() => element("span", { class: "read" }));
    frames.forEach((frame, i) => this.frame(frame, places[i]));
    this.element.append(...frames);
  }

  /** Put a frame around one cell. */
  frame({ style }, place) {
    style.left = `${(100 * (place % this.columns)) / this.columns}%`;
    style.top = `${(100 * Math.floor(place / this.columns)) / this.rows}%`;
    style.width = `${100 / this.columns}%`;
    style.height = `${100 / this.rows}%`;
  }
}

/** Let a mouse or the arrow keys go from number to number. */
function makeReadable(cells, readout, array, numbers, pointed) {
  const [rows, columns] = array.grid;
  const atRest = restingText(array);
  let place = -1;

  function point(to) {
    place = to;
    cells.mark(place);
    pointed(place);
    readout.textContent = place < 0 ? atRest : `${placeText(array, place)} ${numbers[place]}`;
  }

  function onKey(event) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // elsewhere these keys go from step to step
    const to = place < 0 ? 0 : place + moves[event.key];
    if (to >= 0 && to < rows * columns) point(to);
  }

  const label = `array of shape ${shapeText(array.shape)}: ${array.facts.join(", ")}. Arrow keys read its numbers.`;
  filled(cells.element, { tabindex: "0", role: "group", "aria-label": label }, []);
  readout.textContent = atRest;
  cells.element.addEventListener("pointermove", (event) => point(cells.placeAt(event)));
  cells.element.addEventListener("pointerdown", (event) => point(cells.placeAt(event)));
  cells.element.addEventListener("pointerleave", () => point(-1));
  cells.element.addEventListener("focus", () => place < 0 && point(0));
  cells.element.addEventListener("blur", () => point(-1));
  cells.element.addEventListener("keydown", onKey);
}

function restingText(array) {
  const tile = array.tile.join(" × ");
  const coarse = tile === "1 × 1" ? "" : `each cell: the number farthest from 0 of ${tile} numbers; `;
  return coarse + array.facts.join(", ");
}

/** The index of a cell as Python writes it; for a tile, its rows and columns. */
function placeText(array, place) {
  const { shape, grid: [, columns], tile: [height, width] } = array;
  let row = Math.floor(place / columns);
  const column = place % columns;
  if (height * width > 1) return `${span("row", row, height)}, ${span("column", column, width)}:`;
  if (shape.length === 0) return "";
  const index = [column];
  for (const length of shape.slice(0, -1).reverse()) {
    index.unshift(row % length);
    row = Math.floor(row / length);
  }
  const { rows, columns: above } = labelsOf(array);
  const tokens = rows ? ` ${rows[index.at(-2)]}${above ? ` to ${above[index.at(-1)]}` : ""}` : "";
  return `[${index.join(", ")}]${tokens} =`;
}

function span(word, place, length) {
  return length === 1 ? `${word} ${place}` : `${word}s from ${place * length}`;
}

function shapeText(shape) {
  return shape.length === 0 ? "scalar" : shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

/** The colours of an array and what they stand for: the same distance from 0 on either side. */
function scaleOf({ bound }, numbers) {
  if (bound === 0) return element("p", { class: "scale" }, withoutScale(numbers));
  const { exponent } = styleFor(bound);
  const end = exponent === 0 ? shortNumber(bound, bound) : typeset(bound.toExponential(2));
  return element("p", { class: "scale" }, `−${end}`, element("span", { class: "ramp" }), end);
}

/** What an array is in which there is nothing to colour. */
function withoutScale(numbers) {
  if (numbers.every(Number.isNaN)) return "all NaN";
  return numbers.every(Number.isFinite) ? "all 0" : "0, NaN or inf";
}

/** How the numbers of an array are written: a common power of ten where they are tiny or huge, and the decimals. */
function styleFor(bound) {
  const before = bound > 0 ? Math.floor(Math.log10(bound)) : 0; // digits before the point, less one
  const exponent = before < -3 || before > 5 ? Math.max(before, -300) : 0;
  return { exponent, decimals: Math.max(3 - before + exponent, 0) };
}

/** A number as in a cell: four digits of the largest of its array, without the common power; an exact zero is `0`. */
function shortNumber(value, bound) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const { exponent, decimals } = styleFor(bound);
  const isWhole = Number.isInteger(value) && exponent === 0;
  return typeset(value === 0 ? "0" : isWhole ? String(value) : (value / 10 ** exponent).toFixed(decimals));
}

function typeset(number) {
  return number.replace(/-/g, "−");
}
