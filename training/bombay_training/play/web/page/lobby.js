// The settings of a new game. They begin as those of the game under way.

import { button, byId, element } from "./dom.js";
import { change, store } from "./store.js";

const options = (words, chosen) =>
  Object.entries(words).map(([value, shown]) => element("option", { value, selected: value === chosen }, shown));

// A field with its name beside it.
function labelled(words, field) {
  field.id = `lobby-${words.toLowerCase().replaceAll(" ", "-")}`;
  return element("div", { class: "field" }, element("label", { for: field.id }, words), field);
}

export function openLobby() {
  const { settings, players, choices, boards } = store.state.lobby;
  const count = element("select", { onchange: () => seatPlayers() }, ...players.map((number) =>
    element("option", { selected: number === settings.seats.length }, number)));
  const seats = Array.from({ length: Math.max(...players) }, (_, seat) =>
    element("select", {}, ...options(choices, settings.seats[seat] ?? settings.seats.at(-1))));
  const rows = seats.map((field, seat) => labelled(`Seat ${seat}`, field));
  const seatPlayers = () => rows.forEach((row, seat) => (row.hidden = seat >= count.value));
  const seed = (value) => element("input", { inputmode: "numeric", autocomplete: "off", placeholder: "random", value });
  const board = element("select", { onchange: () => showBoard() }, ...options(boards, settings.board));
  const [boardSeed, dealSeed] = [seed(settings.board_seed), seed("")];
  const boardRow = labelled("Seed of the board", boardSeed);
  const showBoard = () => (boardRow.hidden = board.value !== "random");
  const screened = element("input", { type: "checkbox", checked: settings.screened });
  const refused = element("p", { role: "alert", class: "refused" });
  const begin = async (event) => {
    event.preventDefault();
    const begun = await change("new", {
      seats: seats.slice(0, count.value).map((field) => field.value), screened: screened.checked,
      board: board.value, board_seed: boardSeed.value, seed: dealSeed.value,
    }, (message) => (refused.textContent = message ?? ""));
    if (!begun) return;
    byId("lobby").close();
    byId("headline").focus();
  };
  byId("lobby").replaceChildren(element("form", { onsubmit: begin },
    element("h2", { id: "lobby-title" }, "New game"), element("p", {}, store.state.over ? "" : "The current game ends."),
    labelled("Players", count), ...rows,
    element("label", { class: "check" }, screened, "Screened: opponents' rupees and tokens are hidden"),
    labelled("Board", board), boardRow, labelled("Seed of the deal", dealSeed), refused,
    element("div", { class: "buttons" }, element("button", { class: "main", "data-key": "begin" }, "Begin"),
      button("cancel", "Cancel", "", () => byId("lobby").close()))));
  seatPlayers();
  showBoard();
  byId("lobby").showModal();
  byId("lobby").querySelector("[data-key=begin]").focus();
}
