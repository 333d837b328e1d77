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

  const curves = document.querySelector("svg.survival");
  const link = document.querySelector("a[download='survival.svg']");
  if (curves && link) {
    link.after(" ", button("PNG", "Save the plot as a picture", () => {
      const picture = new Image();
      picture.addEventListener("load", () => {
        const sheet = document.createElement("canvas"), { width, height } = curves.viewBox.baseVal;
        [sheet.width, sheet.height] = [3 * width, 3 * height];
        const context = sheet.getContext("2d");
        context.fillStyle = "#fff";
        context.fillRect(0, 0, sheet.width, sheet.height);
        context.drawImage(picture, 0, 0, sheet.width, sheet.height);
        sheet.toBlob((made) => save("survival.png", made));
      });
      picture.src = link.href;
    }));
  }
})();
