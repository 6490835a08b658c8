// What pages are made of: badges, tables, pagers, differences, dialogs and messages.

import { h, render } from "./dom.js";
import { ApiError } from "./api.js";
import { ago, count, inline, stateTitle } from "./format.js";

const SYNC = {
  Synced: ["ok", "✓"],
  OutOfSync: ["warn", "≠"],
  Progressing: ["busy", "↻"],
  Paused: ["off", "‖"],
  Shadow: ["off", "◐"],
  Held: ["off", "◆"],
  Unknown: ["off", "?"],
};
const HEALTH = {
  Healthy: ["ok", "✓"],
  Progressing: ["busy", "↻"],
  Drifted: ["warn", "△"],
  Degraded: ["warn", "!"],
  Failed: ["bad", "✕"],
  Unreachable: ["bad", "⌀"],
};
const OUTCOME = {
  ok: ["ok", "✓"],
  changed: ["done", "●"],
  pending: ["busy", "○"],
  failed: ["bad", "✕"],
  error: ["bad", "✕"],
  "compile error": ["bad", "✕"],
  "timed out": ["bad", "⌛"],
  unreachable: ["bad", "⌀"],
  cancelled: ["off", "–"],
  refused: ["off", "–"],
};
const PHASE = {
  Pending: ["warn", "?"],
  Completed: ["ok", "✓"],
  Progressing: ["busy", "↻"],
  Waiting: ["warn", "…"],
  Confirming: ["warn", "?"],
  Paused: ["off", "‖"],
  Failed: ["bad", "✕"],
  Aborted: ["bad", "–"],
  RolledBack: ["warn", "↶"],
  Superseded: ["off", "»"],
};
const KEY = { accepted: ["ok", "✓"], pending: ["warn", "?"], rejected: ["bad", "✕"] };

/** A word with a sign before it: what it says is not told by its colour alone. */
export function badge(kind, sign, text, title) {
  return h("span", { class: `badge ${kind}`, title }, h("span", { class: "sign", "aria-hidden": "true" }, sign), text);
}

function named(table) {
  return (name, title) => {
    const [kind, sign] = table[name] ?? ["busy", "•"];
    return badge(kind, sign, name || "—", title);
  };
}

export const syncBadge = named(SYNC);
export const healthBadge = named(HEALTH);
export const outcomeBadge = named(OUTCOME);
export const phaseBadge = named(PHASE);
export const keyBadge = named(KEY);
export const HEALTHS = Object.keys(HEALTH);
export const SYNCS = Object.keys(SYNC);

/** What became of a revision. */
export function revisionBadge(one) {
  if (one.error) return badge("bad", "✕", "refused", one.error);
  if (one.quarantined) return badge("warn", "↶", "taken back");
  if (one.compile_error) return badge("bad", "✕", one.live ? "live, does not compile for all" : "did not compile for all", one.compile_error);
  return one.live ? badge("ok", "✓", "live") : badge("off", "»", "superseded");
}

/** What a run is at: its outcome, or how far it is. */
export function runBadge(run) {
  if (run.outcome) return outcomeBadge(run.outcome);
  return badge(run.state === "superseded" ? "off" : "busy", run.state === "superseded" ? "»" : "↻", run.state);
}

/** A link to a page here. */
export function link(href, ...text) {
  return h("a", { href }, ...text);
}

export function minionLink(minion) {
  return minion ? link(`/minions/${encodeURIComponent(minion)}`, minion) : h("span", { class: "faint" }, "—");
}

/** The head of a page. */
export function heading(title, { about = "", actions = [], badges = [] } = {}) {
  return h(
    "header",
    { class: "page-head" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), badges.length ? h("p", { class: "badges" }, ...badges) : null),
    about ? h("p", { class: "about" }, about) : null,
    actions.length ? h("div", { class: "actions" }, ...actions) : null,
  );
}

export function section(title, ...content) {
  return h("section", { "aria-label": title }, h("h2", {}, title), ...content);
}

/** `columns`: [name, class]; `rows`: lists of cells, or {key, cells}. */
export function table(caption, columns, rows, empty = "Nothing here.") {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  return h(
    "div",
    { class: "table", role: "region", "aria-label": caption, tabindex: "0" },
    h(
      "table",
      {},
      h("caption", { class: "sr" }, caption),
      h("thead", {}, h("tr", {}, ...columns.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
      h(
        "tbody",
        {},
        ...rows.map((row) => {
          const cells = Array.isArray(row) ? row : row.cells;
          return h(
            "tr",
            { key: row.key, class: row.class },
            ...cells.map((cell, place) =>
              cells.length === 1 && columns.length > 1
                ? h("td", { colspan: String(columns.length) }, cell)
                : place === 0
                ? h("th", { scope: "row", class: columns[0][1] }, cell)
                : h("td", { class: columns[place]?.[1], "data-column": columns[place]?.[0] }, cell),
            ),
          );
        }),
      ),
    ),
  );
}

/** Names with their values. */
export function facts(entries) {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h(
    "dl",
    { class: "facts" },
    ...shown.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

/** Which part of a list is shown, and the way to the others. */
export function pager({ offset, limit, total, to }) {
  if (total <= limit && !offset) return h("p", { class: "pager" }, `${count(total)} in all`);
  const last = Math.min(offset + limit, total);
  return h(
    "nav",
    { class: "pager", "aria-label": "Pages" },
    offset > 0 ? h("a", { href: to(Math.max(0, offset - limit)), rel: "prev" }, "← Previous") : h("span", {}),
    h("span", {}, `${count(offset + 1)}–${count(last)} of ${count(total)}`),
    last < total ? h("a", { href: to(offset + limit), rel: "next" }, "Next →") : h("span", {}),
  );
}

/** Views of one thing, as links. */
export function tabs(label, entries, current) {
  return h(
    "nav",
    { class: "tabs", "aria-label": label },
    ...entries.map(([id, text, href]) => h("a", { href, "aria-current": id === current ? "page" : undefined }, text)),
  );
}

export function button(text, onclick, { kind = "", disabled = false, title = "" } = {}) {
  return h("button", { type: "button", class: kind, onclick, disabled, title: title || undefined }, text);
}

/** A button that is there for who may; for others it says what is needed. */
export function act(session, role, text, onclick, options = {}) {
  const may = session.roles.includes(role);
  return button(text, onclick, {
    ...options,
    disabled: !may || options.disabled,
    title: may ? options.title : `needs the role ${role}`,
  });
}

export function pre(text, kind = "") {
  return h("pre", { class: kind, tabindex: "0" }, text);
}

const MOST_LINES = 2000;

/** A text in the form of `diff -u`. */
export function diff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    const kind = line.startsWith("+++") || line.startsWith("---") ? "file" : { "+": "add", "-": "del", "@": "hunk" }[line[0]];
    return h("span", { class: kind ?? "same" }, line, "\n");
  });
  const rest = lines.length - shown.length;
  return h(
    "pre",
    { class: "diff", tabindex: "0", "aria-label": "Difference" },
    ...shown,
    rest > 0 ? h("span", { class: "hunk" }, `… ${count(rest)} more lines\n`) : null,
  );
}

/** The changes that a state made or would make, in the shape of Salt: {diff: text, …} or {name: {old, new}}. */
export function changes(value) {
  if (value === null || value === undefined || (typeof value === "object" && !Object.keys(value).length)) return null;
  if (typeof value === "string") return diff(value);
  if (typeof value !== "object") return pre(inline(value));
  return h(
    "div",
    { class: "changes" },
    ...Object.entries(value).map(([name, each]) => {
      if (name === "diff" && typeof each === "string") return diff(each);
      if (each && typeof each === "object" && ("old" in each || "new" in each)) {
        return h("p", {}, h("b", {}, name), " ", h("del", {}, inline(each.old)), " → ", h("ins", {}, inline(each.new)));
      }
      if (typeof each === "string" && each.includes("\n")) return h("div", {}, h("b", {}, name), diff(each));
      return h("p", {}, h("b", {}, name), " ", inline(each));
    }),
  );
}

export function problems(texts, kind = "bad") {
  return texts.length ? h("div", { class: `note ${kind}` }, ...texts.map((text) => pre(text))) : null;
}

export function note(kind, ...content) {
  return h("div", { class: `note ${kind}` }, ...content);
}

/** What led to what, oldest first. */
export function steps(list) {
  return h(
    "ol",
    { class: "steps" },
    ...list.map((step) =>
      h(
        "li",
        { key: step.id || undefined },
        h("span", { class: "when" }, ago(step.time)),
        h("span", { class: "step" }, step.step ?? step.tag),
        h("span", {}, step.text ?? inline(step.data)),
        step.details?.length ? h("ul", {}, ...step.details.map((each) => h("li", {}, h("code", {}, each)))) : null,
      ),
    ),
  );
}

/** A part of a bar: [kind, number, name]. */
export function bar(parts, label) {
  const total = parts.reduce((sum, [, number]) => sum + number, 0) || 1;
  return h(
    "div",
    { class: "bar", role: "img", "aria-label": `${label}: ${parts.map(([, n, name]) => `${n} ${name}`).join(", ")}` },
    ...parts.filter(([, number]) => number).map(([kind, number, name]) =>
      h("span", { class: kind, title: `${count(number)} ${name}`, style: { "flex-grow": String(number / total) } }),
    ),
  );
}

/** One select of a filter form. */
export function select(label, value, options, onchange) {
  return h(
    "label",
    { class: "field" },
    h("span", {}, label),
    h(
      "select",
      { onchange: (event) => onchange(event.target.value), value },
      ...options.map(([id, text]) => h("option", { value: id, selected: id === value }, text)),
    ),
  );
}

export function errorBox(error) {
  const known = error instanceof ApiError;
  return h(
    "div",
    { class: "note bad", role: "alert" },
    h("p", {}, h("b", {}, known ? error.message : "This page has failed to show what it got.")),
    known && error.hint ? h("p", {}, error.hint) : null,
    known ? null : pre(String(error.stack || error)),
    ...(known ? error.problems.map((text) => pre(text)) : []),
  );
}

// --- messages and dialogs ---

let messages = [];
let number = 0;

/** Say something for some seconds; screen readers read it out. */
export function say(kind, text) {
  const id = ++number;
  messages = [...messages.slice(-4), { id, kind, text }];
  showMessages();
  setTimeout(() => {
    messages = messages.filter((each) => each.id !== id);
    showMessages();
  }, kind === "bad" ? 15_000 : 6000);
}

function showMessages() {
  const root = document.getElementById("messages");
  if (root) render(root, messages.map(({ id, kind, text }) => h("p", { key: id, class: `message ${kind}` }, text)));
}

/**
 * Ask before something happens. Resolves to the text that was typed (empty without a field), or null for no.
 * `field`: {label, value, needed}.
 */
export function ask({ title, text = "", yes = "Do it", kind = "primary", field = null }) {
  return new Promise((resolve) => {
    const root = document.createElement("dialog");
    root.setAttribute("aria-labelledby", "dialog-title");
    document.body.append(root);
    let typed = field?.value ?? "";
    const end = (value) => {
      root.close();
      root.remove();
      resolve(value);
    };
    root.oncancel = (event) => {
      event.preventDefault();
      end(null);
    };
    const show = () =>
      render(
        root,
        h(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              if (!field?.needed || typed.trim()) end(typed.trim());
            },
          },
          h("h2", { id: "dialog-title" }, title),
          text ? h("div", {}, ...[text].flat().map((each) => (typeof each === "string" ? h("p", {}, each) : each))) : null,
          field
            ? h(
                "label",
                { class: "field wide" },
                h("span", {}, field.label),
                h("input", { type: "text", value: typed, maxlength: "500", oninput: (event) => ((typed = event.target.value), show()) }),
              )
            : null,
          h(
            "div",
            { class: "actions" },
            h("button", { type: "button", onclick: () => end(null) }, "Cancel"),
            h("button", { type: "submit", class: kind, disabled: Boolean(field?.needed && !typed.trim()) }, yes),
          ),
        ),
      );
    show();
    root.showModal();
  });
}

/** Do something that the controller is asked for, and say what came of it. True when it was done. */
export async function attempt(doing, done) {
  try {
    const answer = await doing();
    say("ok", typeof done === "function" ? done(answer) : done);
    return true;
  } catch (error) {
    say("bad", error.hint ? `${error.message} (${error.hint})` : error.message);
    return false;
  }
}

export { stateTitle };
