// The dot nearest to the pointer tells its sample. Without this script, dots keep their titles.
const svg = document.querySelector(".map svg");
const tip = document.querySelector(".tip");
const picture = tip.querySelector(".tile");
const dots = [...svg.querySelectorAll(".dots circle")].map((dot, i) => {
  const title = dot.querySelector("title");
  title.remove();
  return { dot, i, x: dot.cx.baseVal.value, y: dot.cy.baseVal.value, text: title.textContent };
});
const REACH = 14;
let shown = null;

function show(found) {
  if (shown) shown.dot.classList.remove("shown");
  shown = found;
  tip.hidden = !found;
  if (!found) return;
  found.dot.classList.add("shown");
  tip.querySelector("span").textContent = found.text;
  if (picture) {
    const columns = getComputedStyle(picture).getPropertyValue("--columns");
    picture.style.setProperty("--x", found.i % columns);
    picture.style.setProperty("--y", Math.floor(found.i / columns));
  }
  const view = svg.viewBox.baseVal;
  tip.style.left = `${(100 * found.x) / view.width}%`;
  tip.style.top = `${(100 * found.y) / view.height}%`;
  tip.classList.toggle("leftwards", found.x > view.width / 2);
}

function find(event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const near = (best, dot) => {
    const distance = Math.hypot(dot.x - at.x, dot.y - at.y);
    return distance < best.distance ? { dot, distance } : best;
  };
  show(dots.reduce(near, { dot: null, distance: REACH }).dot);
}

svg.addEventListener("pointermove", find);
svg.addEventListener("pointerdown", find); // a tap does not move
svg.addEventListener("pointerleave", () => show(null));
