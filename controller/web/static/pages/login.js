// Logging in: a user with a password, or a token.

import { h } from "../dom.js";
import { post } from "../api.js";

const state = { how: "password", error: null, busy: false };

export function loginPage(login, draw) {
  const submit = async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target));
    state.busy = true;
    state.error = null;
    draw();
    try {
      const asked = state.how === "token" ? { token: fields.token.trim() } : { method: fields.method, user: fields.user, password: fields.password };
      await login(await post("/session", asked));
    } catch (error) {
      state.error = error;
    } finally {
      state.busy = false;
    }
    draw();
  };
  const choice = (how, text) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name: "how", value: how, checked: state.how === how, onchange: () => ((state.how = how), draw()) }),
      " ",
      text,
    );
  return h(
    "main",
    { class: "login", key: "login" },
    h("span", { class: "mark", "aria-hidden": "true" }),
    h("h1", {}, "Saltern"),
    h(
      "form",
      { onsubmit: submit },
      h("fieldset", { class: "choice" }, h("legend", { class: "sr" }, "How to log in"), choice("password", "User and password"), choice("token", "Token")),
      state.how === "token"
        ? h(
            "label",
            { class: "field wide", key: "token" },
            h("span", {}, "Token"),
            h("input", { type: "password", name: "token", required: true, autocomplete: "off", spellcheck: "false" }),
            h("small", {}, "Made by ", h("code", {}, "saltern token create"), ", or of the issuer of this controller."),
          )
        : [
            h("label", { class: "field wide", key: "user" }, h("span", {}, "User"), h("input", { type: "text", name: "user", required: true, autocomplete: "username", spellcheck: "false" })),
            h("label", { class: "field wide", key: "password" }, h("span", {}, "Password"), h("input", { type: "password", name: "password", required: true, autocomplete: "current-password" })),
            h("input", { type: "hidden", name: "method", value: "pam", key: "method" }),
          ],
      state.error
        ? h("div", { class: "note bad", role: "alert" }, h("p", {}, state.error.message), state.error.hint ? h("p", {}, state.error.hint) : null)
        : null,
      h("div", { class: "actions" }, h("button", { type: "submit", class: "primary", disabled: state.busy }, state.busy ? "One moment …" : "Log in")),
    ),
  );
}
