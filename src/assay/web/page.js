"use strict";
/* All the script there is. Every page works without it; it adds keys, the theme's switch and what changes meanwhile. */
(() => {
  const root = document.documentElement;
  const remember = {
    get: () => { try { return localStorage.getItem("assay-theme") } catch { return null } },
    set: (theme) => { try { localStorage.setItem("assay-theme", theme) } catch { /* a file may not keep anything */ } },
  };
  const known = remember.get();
  if (known === "light" || known === "dark") root.dataset.theme = known;

  const isDark = () => getComputedStyle(root).colorScheme.startsWith("dark")
    || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const deeds = {
    theme: () => { root.dataset.theme = isDark() ? "light" : "dark"; remember.set(root.dataset.theme) },
    keys: () => document.getElementById("keys").showModal(),
    reload: () => location.reload(),
    fold: () => {
      const calls = [...document.querySelectorAll("details.call")];
      const open = !calls.every((one) => one.open);
      for (const one of calls) one.open = open;
    },
  };

  const isSeen = (one) => one.getClientRects().length > 0;
  const step = (by) => {
    const rows = [...document.querySelectorAll("[data-row]")].filter(isSeen).map((row) => row.matches("[tabindex]") ? row : row.querySelector("a[href]")).filter(Boolean);
    if (!rows.length) return;
    const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const search = () => {
    const field = [...document.querySelectorAll("[data-search]")].find(isSeen);
    if (field) { field.focus(); field.select() } else if (document.body.dataset.events) location.assign("/sessions#by-search");
  };
  const places = { o: "/", s: "/sessions", l: "/live", a: "/audit" };
  let isGoing = false;

  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    const key = event.key;
    if (isGoing) { isGoing = false; if (places[key] && document.body.dataset.events) location.assign(places[key]); return }
    const own = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    if (own) { event.preventDefault(); own.click(); return }
    if (key === "j") step(1);
    else if (key === "k") step(-1);
    else if (key === "e") deeds.fold();
    else if (key === "t") deeds.theme();
    else if (key === "g") isGoing = true;
    else if (key === "/") { event.preventDefault(); search() }
    else if (key === "?") deeds.keys();
  };

  const show = async () => {
    const reply = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!reply.ok) return;
    const found = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("main");
    const main = document.getElementById("main");
    if (found && !main.contains(document.activeElement)) main.replaceChildren(...found.childNodes);
  };
  const listen = () => {
    const how = document.body.dataset.events;
    if (!how || !window.EventSource) return;
    let last = null;
    const events = new EventSource("/api/v1/events");
    events.addEventListener("changed", (event) => {
      if (last !== null && last !== event.data) { if (how === "reload") show().catch(() => {}); else document.getElementById("news").hidden = false }
      last = event.data;
    });
    events.addEventListener("leaving", () => events.close());
    addEventListener("pagehide", () => events.close());
  };

  /* What takes long is asked for once the rest is there; without script it is a link. */
  const load = async (place) => {
    const reply = await fetch(place.dataset.load, { headers: { accept: "text/html" } });
    const card = place.closest("[id]");
    const found = reply.ok && new DOMParser().parseFromString(await reply.text(), "text/html").getElementById(card.id);
    if (!found) return;
    for (const one of found.querySelectorAll("[data-do]")) one.hidden = false;
    card.replaceWith(found);
    if (document.getElementById(location.hash.slice(1))) location.replace(location.hash);
  };

  /* A page that is not finished is shown anew until it is. */
  const again = () => {
    const one = document.querySelector("[data-again]");
    if (one) setTimeout(() => show().catch(() => {}).then(again), 1000 * one.dataset.again);
  };

  /* A list of one file: only the rows that hold every word. */
  const narrow = (form) => {
    const field = form.querySelector("input"), told = form.querySelector("[role=status]");
    const rows = [...form.parentElement.querySelectorAll("tr[data-row]")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, n) => { row.hidden = !words.every((word) => texts[n].includes(word)) });
      told.textContent = words.length ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
    form.hidden = false;
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-narrow]").forEach(narrow);
    for (const one of document.querySelectorAll("[data-load]")) load(one).catch(() => {});
    if (location.protocol.startsWith("http")) again();
    for (const one of document.querySelectorAll("[data-do]")) { if (!one.closest("#news")) one.hidden = false }
    document.addEventListener("click", (event) => {
      const one = event.target.closest("[data-do]");
      if (one && deeds[one.dataset.do]) deeds[one.dataset.do]();
    });
    document.addEventListener("keydown", press);
    if (location.hash.startsWith("#by-")) search();
    if (location.protocol.startsWith("http")) listen();
  });
})();
