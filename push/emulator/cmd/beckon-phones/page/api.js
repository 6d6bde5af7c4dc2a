// Calls to the control address, and the one way in which text gets into the page.
// What is shown comes from agents and servers, so it enters as text and in no
// other way.

// element makes an element with properties and children; a string is text.
export function element(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined) continue;
    if (name === "class") e.className = value;
    else if (name in e && !name.startsWith("aria")) e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// say puts a line into the region that screen readers follow.
export function say(text) {
  document.getElementById("live").textContent = text;
}

export async function call(method, path, body) {
  const res = await fetch(path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
  });
  const out = await res.json();
  if (!res.ok) throw new Error(out.error);
  return out;
}

export const phonePath = (name, verb) => `/phones/${encodeURIComponent(name)}/${verb}`;

// button calls press and is off meanwhile.
export function button(label, press, props = {}) {
  const b = element("button", { type: "button", ...props }, label);
  b.addEventListener("click", async () => {
    b.disabled = true;
    try {
      await press();
    } finally {
      b.disabled = false;
    }
  });
  return b;
}

export const isAndroid = (phone) => phone.vendor === "fcm";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const exact = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hour12: false });
export const hourOf = (time) => clock.format(time);
export const exactOf = (time) => exact.format(new Date(time));

// ago says when something appeared, as lock screens do.
export function ago(time) {
  const minutes = Math.floor((Date.now() - new Date(time)) / 60000);
  if (!time || minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  return hourOf(new Date(time));
}
