// What is live on the page: charts, figures and parts that changed. The page is complete
// without this file. No text is made here: words come from the page's data attributes,
// values go in as text, never as markup.
"use strict";
(() => {
  const body = document.body, words = body.dataset;
  const each = (sel, f, root = document) => root.querySelectorAll(sel).forEach(f);
  const fill = (text, ...args) => { let n = 0; return text.replace(/%[sd]/g, () => args[n++]); };

  // Times that count on.
  const lasting = (ms) => {
    const s = Math.max(0, ms / 1000);
    if (s < 120) return fill(words.tS, Math.floor(s));
    if (s < 7200) return fill(words.tMin, Math.floor(s / 60));
    if (s < 172800) return fill(words.tH, Math.floor(s / 3600));
    return fill(words.tDays, Math.floor(s / 86400));
  };
  const count = () => each("time[data-ago]", (t) => {
    const d = Date.now() - Date.parse(t.dateTime);
    const text = d < 0 ? fill(words.tIn, lasting(-d)) : fill(words.tAgo, lasting(d));
    if (t.textContent !== text) t.textContent = text;
  });

  // Commands are copied whole.
  const copyable = (root) => each("button[data-copy]", (b) => { b.hidden = false; }, root);
  const copied = (button, text) => {
    const before = button.dataset.before ?? (button.dataset.before = button.textContent);
    button.textContent = text;
    announce(text);
    setTimeout(() => { button.textContent = before; }, 2500);
  };
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button[data-copy]");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      copied(button, words.tCopied);
    } catch { // no right, or no secure context: the text is selected for the person
      getSelection().selectAllChildren(code);
      copied(button, words.tNocopy);
    }
  });

  // News for who listens to the page. An old message goes, so that the region stays short.
  const news = document.getElementById("news");
  const announce = (text) => {
    const p = document.createElement("p");
    p.textContent = text;
    news.append(p);
    while (news.children.length > 5) news.firstChild.remove();
  };

  // Charts: the same rules as chart.go.
  const W = 240, H = 40, SPAN = 3600e3, STEP = 10e3;
  const series = new Map();
  const figure = (v) => v === null || v === undefined || Number.isNaN(v) ? "–"
    : Math.abs(v) < 10 && !Number.isInteger(v) ? v.toFixed(1) : v.toFixed(0);

  const draw = (svg) => {
    const s = series.get(svg.dataset.gpu);
    if (!s) return;
    const d = svg.dataset, scale = Number(d.scale), grow = d.grow === "true";
    const values = s.values[d.measure];
    const base = grow ? (values.find((v) => v !== null) ?? 0) * scale : 0;
    let lo = Infinity, hi = -Infinity;
    for (const v of values) if (v !== null) { lo = Math.min(lo, v * scale - base); hi = Math.max(hi, v * scale - base); }
    if (hi === -Infinity) { svg.querySelector(".line").setAttribute("d", ""); return; }
    const top = Math.max(Number(d.top), hi), begin = Date.now() - SPAN;
    let path = "", before = 0, pen = false;
    values.forEach((v, i) => {
      const at = s.at[i];
      if (v === null || at < begin) { pen = false; return; }
      if (pen && at - before > 3 * STEP) pen = false;
      const x = (at - begin) / SPAN * W, y = H - 1 - (v * scale - base) / top * (H - 2);
      path += (pen ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1) + (pen ? "" : "h0.1");
      before = at; pen = true;
    });
    svg.querySelector(".line").setAttribute("d", grow && hi <= 0 ? "" : path); // nothing happened: the base line alone
    const says = grow ? fill(words.tMore, figure(hi)) : fill(words.tAlt, figure(lo), figure(hi), d.unit);
    svg.setAttribute("aria-label", d.label + ": " + says);
  };

  const nameOf = (g) => (g.serial && !g.uuid) ? g.serial : g.uuid || g.pci || (g.index !== undefined ? String(g.index) : "");
  const state = (row, g) => each(".state[data-state]", (el) => {
    if (el.dataset.state === g.state) return;
    el.dataset.state = g.state;
    if (row.matches("tr")) row.className = "s-" + g.state;
    el.querySelector(".w").textContent = words["s" + g.state[0].toUpperCase() + g.state.slice(1)] ?? g.state;
    refresh(); // shape and titles come with the page
  }, row);

  const add = (g, at) => {
    const s = series.get(nameOf(g));
    if (!s) return;
    const step = at - at % STEP, last = s.at.length - 1;
    const fresh = last < 0 || step > s.at[last];
    if (fresh) s.at.push(step);
    for (const m in s.values) {
      const v = g[m] ?? null, col = s.values[m];
      if (fresh) col.push(v);
      else if (v !== null) col[last] = m === "utilization_percent" ? v : Math.max(col[last] ?? v, v);
    }
    while (s.at.length && s.at[0] < at - SPAN - STEP) { s.at.shift(); for (const m in s.values) s.values[m].shift(); }
  };

  const readings = (data) => {
    const at = Date.parse(data.at);
    each("#read time", (t) => { t.dateTime = data.at; });
    for (const g of data.gpus) {
      add(g, at);
      each(`[data-row="${CSS.escape(nameOf(g))}"]`, (row) => {
        state(row, g);
        each("[data-value]", (el) => {
          const chart = row.querySelector(`svg[data-measure="${el.dataset.value}"]`);
          const v = g[el.dataset.value];
          const text = figure(v === undefined ? null : v * Number(chart?.dataset.scale ?? 1));
          if (el.textContent !== text) el.textContent = text;
        }, row);
        each("svg.chart", draw, row);
      });
    }
    count();
  };

  const loadSeries = async () => {
    if (!document.querySelector("svg.chart")) return;
    const r = await fetch("/api/v1/series");
    if (!r.ok) return;
    for (const s of (await r.json()).series) series.set(s.name, { at: s.at_ms, values: s.values });
    each("svg.chart", draw);
  };

  // Parts that changed are taken from the page itself. What a person is in the middle of
  // (a form, a selection) is left alone.
  const html = window.trustedTypes?.createPolicy("gpumedic", { createHTML: (s) => s });
  let waiting = 0, due = 0;
  const refresh = () => {
    if (waiting) return;
    waiting = setTimeout(async () => {
      waiting = 0; due = Date.now();
      const r = await fetch(location.href.split("#")[0].replace(/[?&]done=[^&]*/, ""), { headers: { "Accept-Language": words.lang } });
      if (!r.ok) return;
      const text = await r.text();
      const fresh = new DOMParser().parseFromString(html ? html.createHTML(text) : text, "text/html");
      each("[data-part]", (old) => {
        const now = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
        if (!now || now.innerHTML === old.innerHTML) return;
        const focus = old.contains(document.activeElement) ? document.activeElement : null;
        if (focus?.matches("input, select, textarea") || old.contains(getSelection().anchorNode) && !getSelection().isCollapsed) return;
        const nodes = [...now.childNodes].map((n) => document.importNode(n, true));
        const again = focus && focus.getAttribute("href");
        old.replaceChildren(...nodes);
        copyable(old);
        if (again) old.querySelector(`a[href="${CSS.escape(again)}"]`)?.focus();
        each("svg.chart", draw, old);
      });
      count();
    }, Math.max(300, 2000 - (Date.now() - due)));
  };

  // Events. A browser comes back by itself; the page says when it cannot.
  const live = document.getElementById("live");
  const tell = (st, text) => {
    if (live.dataset.state === st) return;
    live.dataset.state = st;
    live.textContent = text;
  };
  const follow = () => {
    if (words.live !== "true") return;
    tell("connecting", words.tConnecting);
    let lost = 0;
    const source = new EventSource("/api/v1/events");
    source.addEventListener("open", () => {
      clearTimeout(lost); lost = 0;
      const again = live.dataset.state === "lost";
      tell("live", words.tLive);
      if (again) { loadSeries(); refresh(); }
    });
    source.addEventListener("error", () => {
      if (!lost) lost = setTimeout(() => tell("lost", words.tLost), 4000);
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { source.close(); follow(); }, 10000);
    });
    source.addEventListener("gpus", (e) => readings(JSON.parse(e.data)));
    source.addEventListener("sources", () => refresh());
    source.addEventListener("change", (e) => {
      const c = JSON.parse(e.data);
      announce((c.incident_id ? fill(words.tIncident, c.incident_id) + " · " : "") + c.says + (c.what ? ": " + c.what : ""));
      refresh();
    });
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (e) => { if (e.persisted) follow(); }, { once: true });
  };

  copyable(document);
  setInterval(count, 1000);
  loadSeries();
  follow();
})();
