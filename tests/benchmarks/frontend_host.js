/**
 * What the benchmark of the front end does inside a page: a widget's own bundle on the state of its exported page, and
 * two peers on the same tokens and values. Each has `render()` and `set(name, value)`; marks in the trace say when.
 */
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const task = (ms) => new Promise((done) => setTimeout(done, ms));

  function bytes(packed) {
    const text = atob(packed);
    const made = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) made[i] = text.charCodeAt(i);
    return new DataView(made.buffer);
  }

  function revive(value) {
    if (Array.isArray(value)) return value.map(revive);
    if (typeof value !== "object" || value === null) return value;
    if (typeof value.$buffer === "string") return bytes(value.$buffer);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
  }

  function modelOf(state) {
    const values = { ...state };
    const listeners = new Map();
    return {
      get: (name) => values[name],
      set(name, value) {
        if (values[name] === value) return;
        values[name] = value;
        for (const heard of [...(listeners.get(`change:${name}`) ?? [])]) heard();
      },
      on(event, heard) {
        listeners.set(event, (listeners.get(event) ?? new Set()).add(heard));
      },
      off(event, heard) {
        if (heard) listeners.get(event)?.delete(heard);
        else listeners.delete(event);
      },
      save_changes() {},
      send() {},
    };
  }

  /** The rollout's tokens and, by signal and teacher, their values: all that a peer takes. */
  function plain({ texts, rows }) {
    const row = (shown) => rows.find((r) => r.signal === shown.signal && r.teacher === shown.teacher);
    return { texts, of: (shown) => row(shown).values, limit: (shown) => row(shown).limit, first: rows[0] };
  }

  async function widget(state, el) {
    const url = URL.createObjectURL(new Blob([read("opd-bundle")], { type: "text/javascript" }));
    const { default: made } = await import(url);
    const definition = typeof made === "function" ? await made() : made;
    const model = modelOf(state);
    const { signal } = new AbortController();
    await definition.initialize?.({ model, signal, experimental: {} });
    return {
      render: () => definition.render({ model, el, signal, host: {}, experimental: {} }),
      set: (name, value) => model.set(name, value),
      settled: () => true,
    };
  }

  /** One span a token; a switch gives every span its colour inline. */
  function spans(state, el) {
    const data = plain(state);
    const shown = { signal: data.first.signal, teacher: data.first.teacher };
    const made = [];
    const colour = (value, limit) => {
      const share = Math.max(-1, Math.min(1, value / limit));
      return share < 0 ? `rgba(230,110,0,${-share})` : `rgba(0,110,230,${share})`;
    };
    const paint = () => {
      const values = data.of(shown);
      const limit = data.limit(shown);
      for (let i = 0; i < made.length; i++) made[i].style.backgroundColor = colour(values[i], limit);
    };
    return {
      render() {
        const box = document.createElement("div");
        box.style.whiteSpace = "pre-wrap";
        for (const text of data.texts) {
          const span = document.createElement("span");
          span.textContent = text;
          made.push(span);
        }
        paint();
        box.append(...made);
        el.append(box);
      },
      set(name, value) {
        shown[name] = value;
        paint();
      },
      settled: () => true,
    };
  }

  /** CircuitsVis has no switch: its element is rendered anew, from a list of numbers as its Python side writes it. */
  function circuitsvis(state, el) {
    const data = plain(state);
    const shown = { signal: data.first.signal, teacher: data.first.teacher };
    let box = null;
    const render = () => {
      box?.remove();
      box = document.createElement("div");
      box.id = `circuits-vis-${crypto.randomUUID()}`;
      el.append(box);
      const values = data.of(shown);
      CircuitsVis.render(box.id, CircuitsVis.ColoredTokens, { tokens: data.texts, values });
    };
    return {
      render,
      set(name, value) {
        shown[name] = value;
        render();
      },
      // React draws later, in one go
      settled: () => box.childElementCount > 0,
    };
  }

  const kinds = { widget, spans, circuitsvis };
  let subject = null;

  async function painted() {
    do await frame();
    while (!subject.settled());
    await frame();
    await task(0);
  }

  const frames = [];
  let counting = false;

  window.bench = {
    async load(kind) {
      const el = document.getElementById("opd-mount");
      subject = await kinds[kind](revive(read("opd-state").state), el);
      // the text of the page would stand in its memory beside the data
      for (const id of ["opd-state", "opd-bundle"]) document.getElementById(id)?.remove();
      await frame();
    },
    async first() {
      performance.mark("bench:first");
      await subject.render();
      await painted();
      performance.mark("bench:first:end");
    },
    /** Sets each [name, value, label] in turn; the work until painted lies between two marks, and `later` ms after. */
    async switches(list, later) {
      for (const [name, value, label] of list) {
        await task(0);
        performance.mark(`bench:${label}`);
        subject.set(name, value);
        await painted();
        performance.mark(`bench:${label}:end`);
        if (later === 0) continue;
        await task(later);
        performance.mark(`bench:${label}:later`);
      }
    },
    count() {
      frames.length = 0;
      counting = true;
      const next = (now) => {
        if (!counting) return;
        performance.mark("bench:frame");
        frames.push(now);
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    },
    counted() {
      counting = false;
      return [...frames];
    },
  };
})();
