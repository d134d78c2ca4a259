// Elements of the page: found, made, shown.

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function button(key, words, effect, onclick, more = {}) {
  const small = effect ? element("small", {}, ...marked(effect)) : null;
  return element("button", { type: "button", "data-key": key, onclick, ...more }, words, small);
}

export function show(id, ...children) {
  const shown = children.filter((child) => child !== null);
  byId(id).replaceChildren(...shown);
  byId(id).hidden = shown.length === 0;
}

// A text in which `code` and **bold** words are marked so.
export const marked = (text) => text.split(/(`[^`]*`|\*\*[^*]*\*\*)/).map((part) =>
  part.startsWith("`") ? element("code", {}, part.slice(1, -1))
    : part.startsWith("**") ? element("strong", {}, part.slice(2, -2)) : part);

export function table(caption, columns, rows) {
  const head = element("tr", {}, ...columns.map((words) => element("th", { scope: "col" }, words)));
  const body = rows.map(({ cells, mover }) =>
    element("tr", { class: mover ? "mover" : null }, ...cells.map((cell, column) =>
      element(column ? "td" : "th", { scope: column ? null : "row" }, String(cell)))));
  return element("table", { "aria-label": caption }, element("thead", {}, head), element("tbody", {}, ...body));
}

export function svgElement(tag, attributes, parent) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}
