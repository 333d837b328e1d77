// Tables, labels and pictures of the page as files.
(() => {
  "use strict";
  function save(name, content, type) {
    const link = document.createElement("a");
    link.download = name;
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function cell(text) { // a name that a spreadsheet would run stands behind an apostrophe, as in labels.csv
    const plain = text.replace(/\s+/g, " ").trim();
    const number = plain.replace("−", "-").replace(/,(?=\d{3})/g, "");
    const safe = /^[-+]?[\d.]+(e[-−+]?\d+)?$/i.test(number) ? number.replace("−", "-") : /^[=+@'-]/.test(plain) ? `'${plain}` : plain;
    return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }
  const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";

  function button(text, title, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "save";
    made.textContent = text;
    made.title = title;
    made.addEventListener("click", act);
    return made;
  }

  for (const [number, table] of document.querySelectorAll("section table").entries()) {
    const section = table.closest("section").id;
    table.caption?.append(" ", button("CSV", "Save this table", () => {
      const rows = [...table.rows].map((row) => [...row.cells].map((one) => one.textContent));
      save(`${section}-${number}.csv`, csv(rows), "text/csv");
    }));
  }

  const canvas = document.querySelector("canvas");
  const tools = document.querySelector(".map .zoom");
  if (canvas && tools) {
    tools.append(button("PNG", "Save the map as it is shown", () => canvas.toBlob((picture) => save("map.png", picture))));
    tools.append(button("labels", "Save cluster and confidence of the samples of the map", () => {
      const data = JSON.parse(document.getElementById("map-data").textContent);
      const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const [cluster, position] = [data.cluster, data.position].map((text) => new Uint32Array(bytes(text).buffer));
      const confidence = bytes(data.confidence);
      const rows = Array.from(cluster, (c, i) => [String(data.names ? data.names[i] : position[i]), String(c), (confidence[i] / 255).toFixed(2)]);
      save("labels.csv", csv([["sample", "cluster", "confidence"], ...rows]), "text/csv");
    }));
  }

  // A part of the page as an SVG of rectangles, shapes and texts, as it is laid out now.
  const brush = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  function paint(color) { // any color of CSS as #rrggbb and an opacity
    if (!known.has(color)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = color;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
      known.set(color, a ? [`#${[r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("")}`, +(a / 255).toFixed(3)] : null);
    }
    return known.get(color);
  }
  function pictured(root) {
    const frame = root.getBoundingClientRect(), holder = document.createElement("div");
    holder.innerHTML = "<svg></svg>";
    const sheet = holder.firstChild, SVG = sheet.namespaceURI;
    const put = (kind, attributes, text) => {
      const part = document.createElementNS(SVG, kind);
      for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
      if (text !== undefined) part.textContent = text;
      sheet.append(part);
    };
    const box = (x, y, width, height, color, rx = 0) => {
      const found = width > 0 && height > 0 && paint(color);
      if (found) put("rect", { x: x - frame.x, y: y - frame.y, width, height, rx, fill: found[0], "fill-opacity": found[1] });
    };
    function write(node) { // one text for each line
      const range = document.createRange(), lines = [];
      for (const word of node.data.matchAll(/\S+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const at = range.getBoundingClientRect(), last = lines.at(-1);
        if (!at.width) continue;
        if (last && Math.abs(last.at.y - at.y) < 2) last.text += ` ${word[0]}`;
        else lines.push({ text: word[0], at });
      }
      const style = getComputedStyle(node.parentElement), [fill] = paint(style.color) ?? ["#000"];
      for (const { text, at } of lines) {
        put("text", { x: at.x - frame.x, y: at.y - frame.y + 0.78 * at.height, fill, "font-size": parseFloat(style.fontSize), "font-weight": style.fontWeight, "font-family": "system-ui, sans-serif" }, text);
      }
    }
    function shapes(drawing) {
      const at = drawing.getBoundingClientRect(), copy = drawing.cloneNode(true);
      const originals = drawing.querySelectorAll("path, polyline");
      copy.querySelectorAll("path, polyline").forEach((shape, i) => {
        const style = getComputedStyle(originals[i]);
        for (const name of ["fill", "stroke"]) shape.setAttribute(name, style[name] === "none" ? "none" : paint(style[name])?.[0] ?? "none");
        for (const name of ["stroke-width", "stroke-linecap", "vector-effect"]) shape.setAttribute(name, style.getPropertyValue(name));
      });
      const given = { x: at.x - frame.x, y: at.y - frame.y, width: at.width, height: at.height, overflow: "visible" };
      for (const [name, value] of Object.entries(given)) copy.setAttribute(name, value);
      sheet.append(copy);
    }
    (function visit(element) {
      if (element.matches(".save, [hidden]")) return;
      const style = getComputedStyle(element), at = element.getBoundingClientRect();
      if (style.display === "none") return;
      if (element instanceof SVGElement) { shapes(element); return; }
      box(at.x, at.y, at.width, at.height, style.backgroundColor, parseFloat(style.borderRadius) || 0);
      const [top, right, bottom, left] = ["Top", "Right", "Bottom", "Left"].map((side) => [parseFloat(style[`border${side}Width`]), style[`border${side}Color`]]);
      box(at.x, at.y, at.width, top[0], top[1]);
      box(at.right - right[0], at.y, right[0], at.height, right[1]);
      box(at.x, at.bottom - bottom[0], at.width, bottom[0], bottom[1]);
      box(at.x, at.y, left[0], at.height, left[1]);
      for (const node of element.childNodes) {
        if (node instanceof Element) visit(node);
        else if (node instanceof Text) write(node);
      }
    })(root);
    const sizes = { viewBox: `0 0 ${frame.width} ${frame.height}`, width: frame.width, height: frame.height };
    for (const [name, value] of Object.entries(sizes)) sheet.setAttribute(name, value);
    return new XMLSerializer().serializeToString(sheet);
  }

  function savePng(name, svg, width, height, paper) {
    const picture = new Image();
    picture.addEventListener("load", () => {
      const sheet = document.createElement("canvas");
      [sheet.width, sheet.height] = [3 * width, 3 * height];
      const context = sheet.getContext("2d");
      context.fillStyle = paper ?? getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
      context.fillRect(0, 0, sheet.width, sheet.height);
      context.drawImage(picture, 0, 0, sheet.width, sheet.height);
      sheet.toBlob((made) => save(name, made));
    });
    picture.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  }

  // plots that the page draws as tables and boxes
  for (const [number, plot] of document.querySelectorAll(".bars, .heat, .boxes, .silhouettes, .cross, .shares, .axes").entries()) {
    const name = `${plot.closest("section").id}-plot-${number}`;
    const place = plot.caption ?? document.createElement("p");
    if (!plot.caption) {
      place.className = "note";
      plot.after(place);
    }
    place.append(" ", button("SVG", "Save this plot as SVG", () => save(`${name}.svg`, pictured(plot), "image/svg+xml")));
    place.append(" ", button("PNG", "Save this plot as a picture", () => savePng(`${name}.png`, pictured(plot), plot.offsetWidth, plot.offsetHeight)));
  }

  // plots that are SVG in the page
  for (const name of ["survival", "dendrogram"]) {
    const link = document.querySelector(`a[download='${name}.svg']`);
    const box = document.querySelector(`svg.${name}`)?.viewBox.baseVal;
    link?.after(" ", button("PNG", "Save the plot as a picture", () => {
      const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (letter) => letter.charCodeAt(0));
      savePng(`${name}.png`, new TextDecoder().decode(bytes), box.width, box.height, "#fff");
    }));
  }
})();
