// The frame of the dashboard: who is logged in, which page is shown, and when it is asked for anew.

import { h, render } from "./dom.js";
import { del, get, useCsrf, whenLoggedOut } from "./api.js";
import { onEvent, onLiveState, start, stop } from "./live.js";
import { errorBox, link, note } from "./parts.js";
import { keyboard } from "./keyboard.js";
import { loginPage } from "./pages/login.js";
import { fleetPage } from "./pages/fleet.js";
import { minionPage, minionsPage } from "./pages/minions.js";
import { runPage, runsPage } from "./pages/runs.js";
import { rolloutPage, rolloutsPage } from "./pages/rollouts.js";
import { revisionPage, revisionsPage } from "./pages/revisions.js";
import { pullPage, pullsPage } from "./pages/pulls.js";
import { pendingPage } from "./pages/pending.js";
import { eventsPage } from "./pages/events.js";
import { reactionPage, reactionsPage } from "./pages/reactions.js";
import { jobPage, jobsPage } from "./pages/jobs.js";
import { keysPage } from "./pages/keys.js";
import { auditPage } from "./pages/audit.js";
import { searchPage } from "./pages/search.js";

const NAV = [
  ["/", "Fleet", "f"],
  ["/minions", "Minions", "m"],
  ["/rollouts", "Rollouts", "o"],
  ["/revisions", "Revisions", "v"],
  ["/diff", "Pending", "d"],
  ["/pulls", "Pull requests", "p"],
  ["/runs", "Runs", "r"],
  ["/jobs", "Jobs", "j"],
  ["/events", "Events", "e"],
  ["/reactions", "Reactions", "x"],
  ["/keys", "Keys", "k"],
  ["/audit", "Audit", "a"],
];

/**
 * Path -> page. A page has `title(params)`, `load(params, signal)`, `view(data, ctx)`, and `live(event, params)`: whether
 * an event may change what it shows. `open(ctx)`, where there is one, returns what ends it.
 */
const ROUTES = [
  [/^\/$/, fleetPage],
  [/^\/minions$/, minionsPage],
  [/^\/minions\/([^/]+)(?:\/([a-z]+))?$/, minionPage],
  [/^\/rollouts$/, rolloutsPage],
  [/^\/rollouts\/([^/]+)$/, rolloutPage],
  [/^\/revisions$/, revisionsPage],
  [/^\/revisions\/([^/]+)$/, revisionPage],
  [/^\/diff$/, pendingPage],
  [/^\/pulls$/, pullsPage],
  [/^\/pulls\/([^/]+)\/(.+)\/(\d+)$/, pullPage],
  [/^\/runs$/, runsPage],
  [/^\/runs\/([^/]+)$/, runPage],
  [/^\/jobs$/, jobsPage],
  [/^\/jobs\/([^/]+)$/, jobPage],
  [/^\/events$/, eventsPage],
  [/^\/reactions$/, reactionsPage],
  [/^\/reactions\/([^/]+)$/, reactionPage],
  [/^\/keys$/, keysPage],
  [/^\/audit$/, auditPage],
  [/^\/search$/, searchPage],
];

const REFRESH_MS = 1500;
const root = document.getElementById("app");
const app = {
  session: null,
  live: "off",
  theme: localStorage.getItem("saltern-theme") || "auto",
  page: null,
  help: false,
};

class Page {
  constructor(definition, params) {
    this.definition = definition;
    this.params = params;
    this.state = {};
    this.data = undefined;
    this.error = null;
    this.loading = false;
    this.asked = new AbortController();
    this.timer = 0;
    this.ended = false;
    this.stops = [];
  }

  get session() {
    return app.session;
  }

  /** Keep something of the page itself, and show it. */
  set(changes) {
    Object.assign(this.state, changes);
    draw();
  }

  /** Go to this page with other parameters. */
  go(changes) {
    navigate(this.href(changes));
  }

  href(changes) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) query.delete(name);
      else query.set(name, String(value));
    }
    if (!("offset" in changes)) query.delete("offset");
    const text = query.toString();
    return location.pathname + (text ? `?${text}` : "");
  }

  async load() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.loading) {
      this.again = true;
      return;
    }
    this.loading = true;
    this.again = false;
    draw();
    try {
      this.data = await this.definition.load(this.params, this.asked.signal, this);
      this.error = null;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.error = error;
      if (!error.status) this.soon(5000);
    } finally {
      this.loading = false;
    }
    this.loadedAt = Date.now();
    if (!this.ended) draw();
    if (this.again) this.soon(REFRESH_MS);
  }

  /** Ask anew in a moment; many reasons within it are one. */
  soon(ms = REFRESH_MS) {
    if (!this.timer && !this.ended) this.timer = setTimeout(() => this.load(), ms);
  }

  hears(event) {
    this.definition.onEvent?.(event, this);
    if (event.tag === "saltern/dashboard/shown" || this.definition.live?.(event, this.params)) this.soon();
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
    this.asked.abort();
    for (const each of this.stops) each();
  }
}

export function navigate(href, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"]({}, "", href);
  route();
}

function route() {
  if (!app.session) return;
  const before = app.page;
  let found = null;
  for (const [pattern, definition] of ROUTES) {
    const match = pattern.exec(location.pathname);
    if (match) {
      let parts;
      try {
        parts = match.slice(1).map((each) => (each === undefined ? "" : decodeURIComponent(each)));
      } catch {
        break;
      }
      found = [definition, { parts, query: Object.fromEntries(new URLSearchParams(location.search)) }];
      break;
    }
  }
  const [definition, params] = found ?? [lostPage, { parts: [], query: {} }];
  const page = new Page(definition, params);
  const same = before?.definition === definition && JSON.stringify(before.params.parts) === JSON.stringify(params.parts);
  if (same) {
    // The same page with other filters: what was shown stays until the answer is there.
    page.data = before.data;
    page.state = before.state;
  }
  before?.end();
  app.page = page;
  app.menu = false;
  const stopped = definition.open?.(page);
  if (stopped) page.stops.push(stopped);
  page.load().then(() => {
    if (!same && !page.ended) document.querySelector("h1")?.focus({ preventScroll: true });
  });
  if (!same) window.scrollTo(0, 0);
}

const lostPage = {
  title: () => "Not found",
  load: async () => ({}),
  view: () => [h("h1", { tabindex: "-1" }, "Not found"), note("warn", h("p", {}, "There is no page at this address."), link("/", "To the fleet"))],
};

function draw() {
  document.documentElement.dataset.theme = app.theme;
  if (app.session === null) {
    document.title = "Log in · Saltern";
    render(root, loginPage(login, draw));
    return;
  }
  const page = app.page;
  if (!page) return;
  document.title = `${page.definition.title(page.params)} · Saltern`;
  render(root, [
    h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), document.getElementById("main").focus()) }, "To the content"),
    top(),
    nav(),
    h("main", { id: "main", tabindex: "-1", "aria-busy": String(page.loading) }, ...content(page)),
    h("div", { id: "messages", role: "status", "aria-live": "polite" }),
    app.help ? helpBox() : null,
  ]);
}

function content(page) {
  const shown = [];
  if (page.error) shown.push(h("div", { key: "error" }, errorBox(page.error)));
  if (page.data !== undefined) {
    try {
      shown.push(h("div", { key: "page", class: "page" }, page.definition.view(page.data, page)));
    } catch (error) {
      shown.push(h("div", { key: "broken" }, errorBox(error)));
    }
  } else if (!page.error) {
    shown.push(h("div", { key: "skeleton", class: "skeleton", "aria-hidden": "true" }, h("i", {}), h("i", {}), h("i", {})));
  }
  return shown;
}

const LIVE = {
  live: ["ok", "Live", "Events come as they happen."],
  waiting: ["warn", "Connecting", "The stream of events is not there; this page asks again."],
  off: ["off", "Not live", "No events are read."],
};

function top() {
  const [kind, text, title] = LIVE[app.live];
  return h(
    "header",
    { class: "top" },
    h("a", { class: "brand", href: "/" }, h("span", { class: "mark", "aria-hidden": "true" }), "Saltern"),
    h(
      "form",
      {
        class: "search",
        role: "search",
        onsubmit: (event) => {
          event.preventDefault();
          const text = event.target.elements.q.value.trim();
          if (text) navigate(`/search?q=${encodeURIComponent(text)}`);
        },
      },
      h("input", {
        type: "search",
        name: "q",
        id: "search",
        "aria-label": "Search minions, revisions, runs and jobs",
        placeholder: "Search  ( / )",
        maxlength: "200",
        autocomplete: "off",
      }),
    ),
    h("span", { class: `live ${kind}`, title, role: "status" }, h("i", { "aria-hidden": "true" }), text),
    h(
      "label",
      { class: "theme" },
      h("span", { class: "sr" }, "Colours"),
      h(
        "select",
        {
          value: app.theme,
          onchange: (event) => {
            app.theme = event.target.value;
            localStorage.setItem("saltern-theme", app.theme);
            draw();
          },
        },
        ...["auto", "light", "dark"].map((each) => h("option", { value: each, selected: each === app.theme }, each)),
      ),
    ),
    h(
      "span",
      { class: "who", title: `Roles: ${app.session.roles.join(", ") || "none"}` },
      app.session.user,
      h("small", {}, app.session.roles.at(-1) ?? "no role"),
    ),
    h("button", { type: "button", onclick: logout }, "Log out"),
  );
}

function nav() {
  const here = location.pathname;
  return h(
    "nav",
    { class: "rail", "aria-label": "Pages" },
    ...NAV.filter(([href]) => href !== "/audit" || app.session.roles.includes("admin")).map(([href, text, key]) =>
      h(
        "a",
        {
          href,
          "aria-current": here === href || (href !== "/" && here.startsWith(`${href}/`)) ? "page" : undefined,
          title: `g then ${key}`,
        },
        text,
      ),
    ),
  );
}

function helpBox() {
  const close = () => {
    app.help = false;
    draw();
  };
  const keys = [
    ["/", "Search"],
    ["g then a letter", "Go to a page; the letter stands at its link"],
    ["r", "Ask for this page anew"],
    ["?", "This list"],
    ["Esc", "Close"],
  ];
  return h(
    "dialog",
    {
      ref: (el) => setTimeout(() => el.isConnected && !el.open && el.showModal()),
      "aria-labelledby": "help-title",
      oncancel: (event) => (event.preventDefault(), close()),
    },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", { class: "facts" }, ...keys.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("dl", { class: "facts" }, ...NAV.flatMap(([, text, key]) => [h("dt", {}, h("kbd", {}, `g ${key}`)), h("dd", {}, text)])),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: close }, "Close")),
  );
}

async function login(answer) {
  useCsrf(answer.csrf);
  app.session = answer.session;
  start();
  route();
}

async function logout() {
  try {
    await del("/session");
  } catch {
    // It is over anyway.
  }
  forget();
}

function forget() {
  stop();
  app.page?.end();
  app.page = null;
  app.session = null;
  draw();
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const target = new URL(anchor.href, location.href);
  if (target.origin !== location.origin || anchor.target || anchor.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  if (target.href === location.href) app.page?.load();
  else navigate(target.pathname + target.search);
});
window.addEventListener("popstate", route);
whenLoggedOut(forget);
onEvent((event) => app.page?.hears(event));
onLiveState((state) => {
  app.live = state;
  if (app.session) draw();
});
keyboard({
  help: () => ((app.help = !app.help), draw()),
  reload: () => app.page?.load(),
  go: (key) => {
    const found = NAV.find(([, , each]) => each === key);
    if (found) navigate(found[0]);
  },
  active: () => app.session !== null,
});
setInterval(() => app.session && !document.hidden && draw(), 15_000); // times are told from now

document.documentElement.dataset.theme = app.theme;
get("/session").then(login, () => draw());
