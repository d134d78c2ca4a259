// The rules of the running game: in short, and by section.

import { button, byId, element, marked, show } from "./dom.js";

let lessons = null; // of the server: the rules in words, and the steps of the tutorial

export const keepLessons = (sent) => (lessons = sent ?? lessons);

// Lines of a section; those that begin with a dash are a list.
function paragraphs(lines) {
  const made = [];
  for (const line of lines) {
    if (!line.startsWith("- ")) made.push(element("p", {}, ...marked(line)));
    else {
      if (made.at(-1)?.tagName !== "UL") made.push(element("ul"));
      made.at(-1).append(element("li", {}, ...marked(line.slice(2))));
    }
  }
  return made;
}

// `begin` starts the tutorial again.
export function openRules(begin) {
  const dialog = byId("rules");
  const again = button("tutorial", "Start the tutorial again", "", () => {
    dialog.close();
    begin();
  });
  show("rules",
    element("div", { class: "top" }, element("h2", { id: "rules-title" }, "The rules in short"),
      button("close rules", "Close", "", () => dialog.close())),
    element("ul", {}, ...lessons.short.map((line) => element("li", {}, ...marked(line)))),
    again,
    element("h3", {}, "All rules"),
    ...lessons.sections.map(({ title, lines }) =>
      element("details", {}, element("summary", {}, title), ...paragraphs(lines))));
  dialog.showModal();
}

byId("rules").addEventListener("click", (event) => {
  if (event.target === byId("rules")) byId("rules").close(); // beside it
});
