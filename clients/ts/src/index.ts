// @beckon/client: what a person's device needs to work with a Beckon server.

export { compareBytes, equalBytes } from "./bytes.js";
