// What every position tells beside the picture: seats, markets, signs, the board in words, the account at the end.

import { byId, element, show, table } from "./dom.js";
import { who } from "./store.js";

export function renderSeats(next) {
  const columns = ["rupees", "Clients", "Cities", "palaces", "bales"];
  if ("to win" in next.seats[0]) columns.unshift("to win");
  const rows = next.seats.map((has) => ({
    mover: has.seat === next.mover,
    cells: [`${has.seat} ${has.name}, at\u00a0${has.at}`, ...columns.map((column) => has[column] ?? "hidden")],
  }));
  byId("seats").replaceChildren(table("What each seat has", ["seat", ...columns], rows));
  const sums = ["in hand", "award for empire", "award for fame", "total"];
  const ends = (next.standing ?? []).map((has, seat) =>
    ({ mover: seat === next.mover, cells: [`${seat} ${next.seats[seat].name}`, ...sums.map((sum) => has[sum])] }));
  show("standing", ...(ends.length
    ? [element("h3", {}, "If the game ended now"), table("If the game ended now", ["seat", ...sums], ends)] : []));
}

// What the markets and the bag hold: a sign for each colour, with its number.
export function renderMarkets(markets) {
  const cells = markets.map(({ name, price, bales }) => element("div", {},
    element("strong", {}, name), price ? element("small", {}, price) : "",
    element("span", {}, ...bales.map(([colour, count]) =>
      element("span", { class: `bale ${colour}`, title: `${count} ${colour}` }, `${colour[0].toUpperCase()} ${count}`)),
    bales.length ? "" : "empty")));
  show("markets", ...cells);
}

export function renderLegend(legend) {
  if (!byId("legend").hidden) return;
  byId("legend").hidden = false;
  byId("signs").replaceChildren(...legend.map(({ icon, words }) => {
    const drawn = document.importNode(new DOMParser().parseFromString(icon, "image/svg+xml").documentElement, true);
    drawn.setAttribute("aria-hidden", "true");
    return element("li", {}, drawn, words);
  }));
}

// The board for those who do not see it.
export function renderWords(board) {
  byId("words").hidden = false;
  byId("told").replaceChildren(element("p", {}, board.turn), ...board.tables.flatMap(({ title, columns, rows }) =>
    [element("h3", {}, title), element("div", { class: "wide" }, table(title, columns, rows.map((cells) => ({ cells }))))]));
}

export function renderAccount(account) {
  if (!account) return show("account");
  const seats = account.rows.map((row, seat) => `${who(seat)}${row.wins ? `: ${row.wins}` : ""}`);
  const rows = account.columns.map((column) => ({
    mover: ["in hand", "final"].includes(column),
    cells: [column, ...account.rows.map((row) => String(row[column]).replace("-", "−"))],
  }));
  const title = "The account of every rupee";
  show("account", element("strong", {}, title),
    element("div", { class: "wide", tabindex: 0, role: "group", "aria-label": title }, table(title, ["", ...seats], rows)));
}
