// The map of the samples. Points are blended into one image directly: fast enough for 100 000.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const root = document.querySelector(".map");
  const canvas = root.querySelector("canvas");
  const tip = root.querySelector(".tip");
  const control = (name) => root.querySelector(`.controls [name="${name}"]`);
  const SPAN = 65534, NOWHERE = 65535, CELLS = 128, REACH = 10, MOST_ZOOM = 200, MOST_PINS = 60, MOST_NAMES = 40, UNKNOWN = 266, SEQUENTIAL = 267;
  const RAMP = [[112, 66, 162], [66, 106, 178], [33, 145, 140], [94, 190, 98], [240, 212, 50]]; // numbers, as viridis, but seen on dark pages

  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const n = data.n_drawn;
  const cluster = new Uint32Array(bytes(data.cluster).buffer);
  const confidence = bytes(data.confidence);
  const position = new Uint32Array(bytes(data.position).buffer);
  const layouts = data.layouts.map(({ name, xy }) => ({ name, xy: new Uint16Array(bytes(xy).buffer) }));
  const present = data.present.map(({ view, flags }) => ({ view, flags: bytes(flags) }));
  const nameOf = (i) => (data.names ? data.names[i] : `sample ${position[i]}`);

  let xy, grid, pins; // of the layout that is shown
  let zoom = 1, centerX = 0.5, centerY = 0.5, width = 0, height = 0, density = 1;
  let marked = -1, frame = 0;
  const chosen = new Set();
  const isShown = new Uint8Array(n);
  let shown = new Uint32Array(0);

  // colors: a palette and an index into it for each sample
  const COLORINGS = {
    cluster: { text: "cluster", index: (i) => cluster[i] % 10 },
    confidence: { text: "confidence", index: (i) => 10 + confidence[i], key: "Orange: low confidence, blue: high." },
  };
  present.forEach(({ view, flags }, v) => {
    COLORINGS[`view ${v}`] = {
      text: `has ${view}`, index: (i) => (flags[i] ? 0 : 6), key: `Blue: has the view ${view}, orange: lacks it.`,
    };
  });
  const classes = data.classes;
  const code = classes && new Uint32Array(bytes(classes.codes).buffer);
  const classOf = (i) => classes.names[code[i]] ?? "not known";
  if (classes) {
    const paint = (c) => (c < classes.names.length ? c % 10 : UNKNOWN);
    COLORINGS.classes = { text: `known ${classes.name}`, key: `Known ${classes.name}: `, index: (i) => paint(code[i]), names: [...classes.names] };
    if (code.includes(classes.names.length)) COLORINGS.classes.names.push("not known");
  }
  // columns of the metadata and features; their codes are unpacked when they are first shown
  const NOT_KNOWN = 255;
  for (const [number, item] of (data.colorings ? data.colorings.items : []).entries()) {
    const unpacked = () => (item.unpacked ??= bytes(item.codes));
    const value = (code) => item.low + (code / 254) * (item.high - item.low);
    const told = (code) => (code === NOT_KNOWN ? "not known" : item.names ? item.names[code] : short(value(code)));
    COLORINGS[`item ${number}`] = {
      text: item.name,
      label: `${item.name} (${item.group})`,
      group: item.group,
      index: (i) => paintItem(item, unpacked()[i]),
      key: `${item.name}: `,
      get names() { return item.names && [...item.names, ...(unpacked().includes(NOT_KNOWN) ? ["not known"] : [])]; },
      ends: item.names ? undefined : [short(item.low), short(item.high)],
      tell: (i) => `${item.name}: ${told(unpacked()[i])}`,
    };
  }
  function paintItem(item, code) {
    if (code === NOT_KNOWN) return UNKNOWN;
    return item.names ? code % 10 : SEQUENTIAL + code;
  }
  function short(number) { return Number(number.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }); }
  let palette = [];
  let paper = [255, 255, 255];

  function readColors() {
    const style = getComputedStyle(document.documentElement);
    const context = canvas.getContext("2d");
    const parse = (name) => {
      context.fillStyle = style.getPropertyValue(name).trim();
      const text = context.fillStyle; // always as #rrggbb
      return [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
    };
    paper = parse("--card");
    palette = Array.from({ length: 10 }, (_, c) => parse(`--color-${c}`));
    const [low, high] = [palette[6], palette[0]];
    for (let t = 0; t < 256; t++) palette.push(low.map((part, j) => part + ((high[j] - part) * t) / 255));
    palette.push(parse("--line")); // at UNKNOWN
    for (let t = 0; t < 255; t++) { // from SEQUENTIAL on
      const at = (t / 254) * (RAMP.length - 1), step = Math.min(Math.floor(at), RAMP.length - 2);
      palette.push(RAMP[step].map((part, j) => part + (RAMP[step + 1][j] - part) * (at - step)));
    }
  }

  function fillSelect(select, entries) {
    for (const [value, text] of entries) select.append(new Option(text, value));
  }

  function chip(name, c) { // a class or category in its color
    const mark = document.createElement("span");
    mark.className = "chip";
    mark.style.setProperty("--color", name === "not known" ? "var(--line)" : `var(--color-${c % 10})`);
    mark.textContent = name;
    return mark;
  }

  // places
  function chooseLayout(index) {
    xy = layouts[index].xy;
    buildGrid();
    placePins();
    filter();
  }

  function buildGrid() { // samples sorted by cell, so that finding the one under the pointer is fast
    const cell = new Uint32Array(n);
    const start = new Uint32Array(CELLS * CELLS + 2);
    for (let i = 0; i < n; i++) {
      const isPlaced = xy[2 * i] !== NOWHERE;
      cell[i] = isPlaced ? Math.floor((xy[2 * i + 1] * CELLS) / NOWHERE) * CELLS + Math.floor((xy[2 * i] * CELLS) / NOWHERE) : CELLS * CELLS;
      start[cell[i] + 1]++;
    }
    for (let c = 1; c < start.length; c++) start[c] += start[c - 1];
    const next = start.slice();
    const order = new Uint32Array(n);
    for (let i = 0; i < n; i++) order[next[cell[i]]++] = i;
    grid = { start, order };
  }

  function placePins() { // in the middle of each cluster
    const members = new Map();
    for (let i = 0; i < n; i++) {
      if (xy[2 * i] === NOWHERE) continue;
      const found = members.get(cluster[i]);
      if (!found) members.set(cluster[i], [i]);
      else if (found.length < 999) found.push(i);
    }
    const median = (found, axis) => found.map((i) => xy[2 * i + axis]).sort((a, b) => a - b)[found.length >> 1] / SPAN;
    pins = [...members].map(([c, found]) => ({ c, x: median(found, 0), y: median(found, 1) }));
  }

  function filter() {
    const low = (control("low").value / 100) * 255, high = (control("high").value / 100) * 255;
    let count = 0;
    shown = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      isShown[i] = xy[2 * i] !== NOWHERE && confidence[i] >= low - 0.5 && confidence[i] <= high + 0.5 && (chosen.size === 0 || chosen.has(cluster[i])) ? 1 : 0;
      if (isShown[i]) shown[count++] = i;
    }
    shown = shown.subarray(0, count);
    root.querySelector("[role=status]").textContent = `${count.toLocaleString("en")} of ${n.toLocaleString("en")} samples shown`;
    root.querySelector("output").textContent = `${control("low").value / 100} to ${control("high").value / 100}`;
    if (marked >= 0 && !isShown[marked]) mark(-1);
    redraw();
  }

  // drawing
  const side = () => (Math.min(width, height) - 24) * zoom; // pixels of the page from 0 to SPAN
  const atX = (x) => (x - centerX) * side() + width / 2;
  const atY = (y) => (y - centerY) * side() + height / 2;

  function disc() { // pixels of one dot and the coverage of each
    const radius = (n > 30000 ? 1.3 : n > 5000 ? 2 : 3) * density * Math.min(2.5, Math.sqrt(Math.sqrt(zoom)));
    const reach = Math.ceil(radius), parts = [];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
        if (cover > 0) parts.push(dx, dy, 0.85 * cover);
      }
    }
    return parts;
  }

  function draw() {
    frame = 0;
    const columns = canvas.width, rows = canvas.height;
    if (!columns || !rows) return;
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const pixels = image.data;
    new Uint32Array(pixels.buffer).fill((255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0]);
    const coloring = COLORINGS[control("color").value].index;
    const parts = disc(), scale = (side() * density) / SPAN;
    const left = atX(0) * density, top = atY(0) * density;
    for (let s = 0; s < shown.length; s++) {
      const i = shown[s];
      const x = Math.round(left + xy[2 * i] * scale), y = Math.round(top + xy[2 * i + 1] * scale);
      if (x < -20 || y < -20 || x > columns + 20 || y > rows + 20) continue;
      const color = palette[coloring(i)];
      for (let p = 0; p < parts.length; p += 3) {
        const column = x + parts[p], row = y + parts[p + 1], cover = parts[p + 2];
        if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
        const at = 4 * (row * columns + column);
        pixels[at] += (color[0] - pixels[at]) * cover;
        pixels[at + 1] += (color[1] - pixels[at + 1]) * cover;
        pixels[at + 2] += (color[2] - pixels[at + 2]) * cover;
      }
    }
    context.putImageData(image, 0, 0);
    context.setTransform(density, 0, 0, density, 0, 0);
    if (pins.length <= MOST_PINS) drawPins(context);
    if (marked >= 0) drawMark(context);
  }

  function drawPins(context) {
    const style = getComputedStyle(canvas);
    context.font = `700 ${pins.length > 20 ? 11 : 14}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = pins.length > 20 ? 2 : 4;
    context.strokeStyle = `rgb(${paper})`;
    context.fillStyle = style.color;
    for (const { c, x, y } of pins) {
      if (chosen.size && !chosen.has(c)) continue;
      context.strokeText(c, atX(x), atY(y));
      context.fillText(c, atX(x), atY(y));
    }
  }

  function drawMark(context) {
    context.lineWidth = 2.5;
    context.strokeStyle = getComputedStyle(canvas).color;
    context.beginPath();
    context.arc(atX(xy[2 * marked] / SPAN), atY(xy[2 * marked + 1] / SPAN), 7, 0, 2 * Math.PI);
    context.stroke();
  }

  function redraw() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function resize() {
    const box = canvas.getBoundingClientRect();
    if (!box.width) return;
    density = Math.min(window.devicePixelRatio || 1, 2);
    width = box.width;
    height = box.height;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    draw();
  }

  // the sample under the pointer
  function nearest(x, y) {
    const dataX = (x - width / 2) / side() + centerX, dataY = (y - height / 2) / side() + centerY;
    const reach = REACH / side();
    const cell = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(value * CELLS)));
    let best = -1, least = (reach * SPAN) ** 2;
    for (let row = cell(dataY - reach); row <= cell(dataY + reach); row++) {
      const first = grid.start[row * CELLS + cell(dataX - reach)], last = grid.start[row * CELLS + cell(dataX + reach) + 1];
      for (let s = first; s < last; s++) {
        const i = grid.order[s];
        const distance = (xy[2 * i] - dataX * SPAN) ** 2 + (xy[2 * i + 1] - dataY * SPAN) ** 2;
        if (isShown[i] && distance < least) [best, least] = [i, distance];
      }
    }
    return best;
  }

  function mark(i) {
    if (i === marked) return;
    marked = i;
    tip.hidden = i < 0;
    redraw();
    if (i < 0) return;
    const lines = [nameOf(i), `cluster ${cluster[i]}, confidence ${(confidence[i] / 255).toFixed(2)}`];
    if (classes) lines.push(`${classes.name}: ${classOf(i)}`);
    const coloring = COLORINGS[control("color").value];
    if (coloring.tell) lines.push(coloring.tell(i));
    const lacks = present.filter(({ flags }) => !flags[i]).map(({ view }) => view);
    if (lacks.length) lines.push(`lacks ${lacks.join(", ")}`);
    tip.textContent = lines.join("\n");
    const x = atX(xy[2 * i] / SPAN);
    tip.style.left = `${x}px`;
    tip.style.top = `${Math.min(Math.max(atY(xy[2 * i + 1] / SPAN), 30), height - 30)}px`;
    tip.classList.toggle("leftwards", x > width / 2);
  }

  function zoomBy(factor, x = width / 2, y = height / 2) {
    const before = side();
    const after = Math.min(Math.max(zoom * factor, 1), MOST_ZOOM);
    const dataX = (x - width / 2) / before + centerX, dataY = (y - height / 2) / before + centerY;
    zoom = after;
    centerX = dataX - (x - width / 2) / side();
    centerY = dataY - (y - height / 2) / side();
    moved();
  }

  function moved() {
    if (zoom === 1) centerX = centerY = 0.5;
    centerX = Math.min(Math.max(centerX, 0), 1);
    centerY = Math.min(Math.max(centerY, 0), 1);
    canvas.style.touchAction = zoom > 1 ? "none" : "pan-y pinch-zoom"; // the page must still scroll
    mark(-1);
    redraw();
  }

  function pan(dx, dy) {
    centerX -= dx / side();
    centerY -= dy / side();
    moved();
  }

  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX, y: event.clientY };
    if (zoom > 1) canvas.setPointerCapture(event.pointerId);
    mark(nearest(event.offsetX, event.offsetY));
  });
  canvas.addEventListener("pointercancel", () => { grip = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (grip && event.buttons && zoom > 1) {
      pan(event.clientX - grip.x, event.clientY - grip.y);
      grip = { x: event.clientX, y: event.clientY };
    } else mark(nearest(event.offsetX, event.offsetY));
  });
  canvas.addEventListener("pointerup", () => { grip = null; });
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") mark(-1); // a finger leaves after each tap
  });
  canvas.addEventListener("dblclick", (event) => zoomBy(2, event.offsetX, event.offsetY));
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // the wheel scrolls the page
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  const KEYS = {
    "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), 0: () => zoomBy(0),
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  const entries = Object.entries(COLORINGS);
  fillSelect(control("color"), entries.filter(([, { group }]) => !group).map(([value, { text }]) => [value, text]));
  const columns = entries.filter(([, { group }]) => group === "metadata");
  if (columns.length) {
    const part = document.createElement("optgroup");
    part.label = "metadata";
    fillSelect(part, columns.map(([value, { text }]) => [value, text]));
    control("color").append(part);
  }
  fillSelect(control("layout"), layouts.map(({ name }, index) => [index, name]));
  control("color").addEventListener("change", showKey);

  function showKey() {
    const key = root.querySelector(".key"), { key: text = "", names = [], ends } = COLORINGS[control("color").value];
    key.replaceChildren(text, ...names.slice(0, MOST_NAMES).map(chip), names.length > MOST_NAMES ? "…" : "");
    if (ends) {
      const ramp = document.createElement("span");
      ramp.className = "ramp";
      ramp.style.background = `linear-gradient(90deg, ${RAMP.map((color) => `rgb(${color})`)})`;
      key.append(ends[0], ramp, ends[1]);
    }
    key.hidden = !key.textContent;
    redraw();
  }

  const search = control("coloring");
  if (search) {
    const list = document.createElement("datalist");
    list.id = "colorings";
    list.append(...entries.filter(([, { label }]) => label).map(([, { label }]) => new Option(label, label)));
    search.after(list);
    search.setAttribute("list", list.id);
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      if (!wanted) return;
      const named = entries.filter(([, { label }]) => label);
      const test = (match) => named.find(([, { text, label }]) => match(text.toLowerCase()) || match(label.toLowerCase()));
      const found = test((name) => name === wanted) ?? test((name) => name.startsWith(wanted)) ?? test((name) => name.includes(wanted));
      if (found) chooseColor(found[0]);
    });
  }

  function chooseColor(value) { // a feature that is not in the list gets its place there
    const select = control("color");
    if (![...select.options].some((option) => option.value === value)) {
      select.querySelector(".found")?.remove();
      const option = new Option(COLORINGS[value].label, value);
      option.className = "found";
      select.append(option);
    }
    select.value = value;
    showKey();
  }
  control("layout").addEventListener("change", (event) => chooseLayout(event.target.value));
  control("low").addEventListener("input", filter);
  control("high").addEventListener("input", filter);
  control("find").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const test = data.names ? (i) => data.names[i].toLowerCase().startsWith(wanted) : (i) => String(position[i]) === wanted;
    mark(wanted ? shown.find(test) ?? -1 : -1);
  });
  control("in").addEventListener("click", () => zoomBy(1.5));
  control("out").addEventListener("click", () => zoomBy(1 / 1.5));
  control("reset").addEventListener("click", () => zoomBy(0));
  for (const button of root.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const c = Number(button.value);
      if (!chosen.delete(c)) chosen.add(c);
      button.setAttribute("aria-pressed", chosen.has(c));
      filter();
    });
  }
  const recolor = () => { readColors(); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  addEventListener("beforeprint", recolor);
  new ResizeObserver(resize).observe(canvas);
  readColors();
  chooseLayout(0);
  resize();
})();
