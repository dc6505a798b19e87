// Draws a figure's plot when it is first shown; its picture stays where that fails, and in print.
const narrowest = 560, labels = 90;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;

function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const width = Math.max(figure.clientWidth, narrowest) - labels;
  for (const panel of spec.vconcat) panel.width = width;
  const place = document.createElement("div");
  place.className = "plot";
  figure.prepend(place);
  return vegaEmbed(place, spec, { renderer: "svg", actions: false, tooltip: { theme: dark ? "dark" : "light" } })
    .then(() => figure.classList.add("drawn"))
    .catch(() => place.remove());
}

const shown = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((e) => e.isIntersecting)) {
    shown.unobserve(entry.target);
    draw(entry.target);
  }
});
for (const figure of document.querySelectorAll("figure.plotted")) shown.observe(figure);
