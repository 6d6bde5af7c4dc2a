// The log: newest first, each line with its whole record behind it.
import { element, exactOf } from "/page/api.js";

const keep = 300;
const list = document.getElementById("log");
const of = document.getElementById("log-of");
const requests = document.getElementById("log-requests");
const isRequest = (line) => line.source === "apns" || line.source === "fcm";

const sources = { apns: "Apple", fcm: "Google", phone: "screen", app: "app" };

export function startLog() {
  for (const input of [of, requests]) {
    input.addEventListener("change", () => {
      for (const row of list.children) row.hidden = !wanted(row.line);
    });
  }
}

function wanted(line) {
  return (!of.value || line.phone === of.value) && (!requests.checked || isRequest(line));
}

export function logClear() {
  list.replaceChildren();
}

export function logLine(line) {
  if (line.phone && ![...of.options].some((o) => o.value === line.phone)) {
    of.append(element("option", { value: line.phone }, line.phone));
  }
  const row = element("li", { class: line.what },
    element("details", {},
      element("summary", {},
        element("time", { dateTime: line.time }, exactOf(line.time)), " ",
        element("b", {}, line.phone || "–"), " ",
        element("span", { class: "source" }, sources[line.source]), " ",
        element("span", { class: "what" }, line.what), " ",
        line.why ? element("span", { class: "why" }, line.why) : null)));
  row.line = line;
  row.hidden = !wanted(line);
  row.firstChild.addEventListener("toggle", (e) => { // thousands of records need no elements
    if (e.target.children.length > 1) return;
    e.target.append(element("pre", { tabIndex: 0 }, JSON.stringify(line.record, null, 2)));
  });
  list.prepend(row);
  while (list.children.length > keep) list.lastChild.remove();
}
