// The faults of the vendors: a form that scripts one, and the list of them.
import { button, call, element } from "/page/api.js";

const form = document.getElementById("fault-form");
const said = document.getElementById("fault-said");
const list = document.getElementById("faults");
const of = form.elements.namedItem("of");
const fault = form.elements.namedItem("fault");
let kinds = [];
let targets = "";
let shown = "";
let refresh = () => {};

export function startFaults(again) {
  refresh = again;
  of.addEventListener("change", fillFaults);
  fault.addEventListener("change", help);
  const { always, times } = form.elements;
  always.addEventListener("change", () => { times.disabled = always.checked; });
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const [what, name] = of.value.split(":");
    try {
      const out = await call("POST", "/faults", {
        [what]: name, fault: fault.value, nth: form.elements.nth.valueAsNumber,
        times: always.checked ? -1 : times.valueAsNumber,
      });
      said.textContent = `Fault ${out.id} waits for its request.`;
    } catch (err) {
      said.textContent = err.message;
    }
    refresh();
  });
}

// offer lets the form name the phones that there are.
export function offer(phones) {
  const now = phones.map((p) => `${p.name} ${p.vendor}`).join();
  if (now === targets) return;
  targets = now;
  of.replaceChildren(
    ...phones.map((p) => option(`phone:${p.name}`, p.name, p.vendor)),
    option("vendor:apns", "all of Apple", "apns"), option("vendor:fcm", "all of Google", "fcm"));
  fillFaults();
}

function option(value, label, vendor) {
  const o = element("option", { value }, label);
  o.dataset.vendor = vendor;
  return o;
}

function fillFaults() {
  const before = fault.value;
  const vendor = of.selectedOptions[0]?.dataset.vendor;
  const fit = kinds.filter((k) => k.vendors.includes(vendor) && (k.name !== "no-access" || of.value.startsWith("vendor:")));
  fault.replaceChildren(...fit.map((k) => element("option", { value: k.name }, k.name)));
  if (fit.some((k) => k.name === before)) fault.value = before;
  help();
}

function help() {
  document.getElementById("fault-help").textContent = kinds.find((k) => k.name === fault.value)?.help ?? "";
}

export function drawFaults(state) {
  if (!kinds.length) {
    kinds = state.kinds;
    fillFaults();
  }
  const now = JSON.stringify(state.faults);
  if (now === shown) return;
  shown = now;
  list.replaceChildren(...state.faults.map((f) => {
    const label = `${f.phone || (f.vendor === "fcm" ? "all of Google" : "all of Apple")}: ${f.fault || f.reason || f.status || f.answer}`;
    const first = f.nth || 1;
    const last = first + Math.max(f.times, 1) - 1;
    const span = f.times < 0 ? `requests from ${first} on` : first === last ? `request ${first}` : `requests ${first} to ${last}`;
    return element("li", { class: "fault" },
      element("span", {}, element("b", {}, label), element("span", { class: "quiet" }, ` ${span} · given ${f.given}`)),
      button("Take back", async () => { await call("DELETE", `/faults/${f.id}`); refresh(); }, { "aria-label": `Take back fault ${f.id}, ${label}` }));
  }));
}
