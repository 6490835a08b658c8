// Questions to the controller: /api/v1 of the same origin, with the cookie of the session.

const ROOT = "/api/v1";
let csrf = "";
let onLoggedOut = () => {};

/** What the controller said no to: its words, what to do about it, and the status of the answer. */
export class ApiError extends Error {
  constructor(status, view) {
    super(view.message || `the controller answers ${status}`);
    this.status = status;
    this.hint = view.hint || "";
    this.problems = view.problems || [];
  }
}

/** Who is told when the session is over. */
export function whenLoggedOut(callback) {
  onLoggedOut = callback;
}

/** The CSRF token that all changes show. */
export function useCsrf(token) {
  csrf = token;
}

export async function get(path, params = {}, signal = undefined) {
  return ask("GET", path + query(params), undefined, signal);
}

export async function post(path, body = {}) {
  return ask("POST", path, body);
}

export async function del(path) {
  return ask("DELETE", path);
}

/** Parameters of an address; those that are empty are left out. */
export function query(params) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) found.set(name, String(value));
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

async function ask(method, path, body = undefined, signal = undefined) {
  const headers = { accept: "application/json" };
  if (method !== "GET") headers["x-csrf-token"] = csrf;
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(ROOT + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "same-origin",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "The controller cannot be reached.", hint: "This page asks again by itself." });
  }
  if (!answer.ok) {
    let view = {};
    try {
      view = await answer.json();
    } catch {
      // A proxy has answered, with a page of its own.
    }
    if (answer.status === 401 && path !== "/session") onLoggedOut();
    throw new ApiError(answer.status, view);
  }
  const type = answer.headers.get("content-type") || "";
  return type.startsWith("application/jsonl") ? lines(await answer.text()) : answer.json();
}

function lines(text) {
  const found = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const last = found.at(-1);
  if (last?.t === "error") throw new ApiError(500, last);
  return found;
}
