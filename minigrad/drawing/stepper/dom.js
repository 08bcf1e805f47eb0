"use strict";

// Elements are made one by one, and text is set as text: nothing in this page is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A formula from its tree, `["msup", ["mi", "x"], ["mn", "2"]]`. */
function mathElement([tag, ...children]) {
  const made = document.createElementNS(MATHML, tag);
  made.append(...children.map((child) => (typeof child === "string" ? child : mathElement(child))));
  return made;
}
