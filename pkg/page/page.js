
(function () {
  "use strict";
  var form = document.querySelector(".search"), input = document.getElementById("q"), output = form.querySelector("output");
  var none = document.querySelector(".none"), rows = null, opened = [];
  form.hidden = false;
  form.addEventListener("submit", function (e) { e.preventDefault(); });

  // rows are found when somebody searches first: a large page opens faster.
  function index() {
    rows = Array.prototype.map.call(document.querySelectorAll("[data-row]"), function (e) {
      return { e: e, text: e.textContent.toLowerCase(), inner: e.tagName !== "DETAILS" };
    });
  }
  function search() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), found = 0, details = [];
    if (!rows) { index(); }
    opened.forEach(function (d) { d.open = false; });
    opened = [];
    rows.forEach(function (r) {
      var hit = words.every(function (w) { return r.text.indexOf(w) >= 0; });
      r.e.hidden = !hit;
      if (hit && r.inner) { found++; }
      if (hit && !r.inner) { details.push(r.e); }
    });
    document.querySelectorAll("main section, main .scroll, main .messages, main .map").forEach(function (b) {
      b.hidden = words.length > 0 && (b.classList.contains("map") || b.classList.contains("source") || b.querySelector("[data-row]") !== null && !b.querySelector("[data-row]:not([hidden])"));
    });
    document.querySelectorAll("main section").forEach(function (s) {
      s.hidden = words.length > 0 && !s.querySelector("[data-row]:not([hidden])");
    });
    // Of a package that is found by its name, all rows stay.
    details.forEach(function (d) {
      if (!words.length || d.querySelector("tr[data-row]:not([hidden])")) { return; }
      d.querySelectorAll("[data-row],.scroll").forEach(function (e) { e.hidden = false; });
    });
    if (words.length && details.length <= 3) {
      details.forEach(function (d) { if (!d.open) { d.open = true; opened.push(d); } });
    }
    output.textContent = words.length ? (found || details.length) + " found" : "";
    none.hidden = !words.length || found + details.length > 0;
  }
  var timer;
  input.addEventListener("input", function () { clearTimeout(timer); timer = setTimeout(search, 120); });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== input && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); input.focus(); input.select(); }
    if (e.key === "Escape" && document.activeElement === input && input.value) { input.value = ""; search(); }
  });

  function reveal(id) {
    var e = document.getElementById(id);
    if (!e) { return; }
    if (e.closest("[hidden]")) { input.value = ""; search(); }
    if (e.tagName === "DETAILS") { e.open = true; }
    e.scrollIntoView();
  }
  window.addEventListener("hashchange", function () { reveal(location.hash.slice(1)); });
  if (location.hash) { reveal(location.hash.slice(1)); }
  document.querySelectorAll(".map [data-link]").forEach(function (g) {
    g.addEventListener("click", function () { location.hash = g.getAttribute("data-link"); });
  });

  // The first click on a heading makes its column sorted.
  var words = new Intl.Collator("en", { numeric: true });
  document.querySelectorAll("thead th").forEach(function (th) {
    var b = document.createElement("button");
    b.type = "button";
    b.textContent = th.textContent;
    th.textContent = "";
    th.appendChild(b);
  });
  document.addEventListener("click", function (e) {
    var b = e.target.closest("thead button");
    if (!b) { return; }
    var th = b.parentNode, at = th.cellIndex, number = th.classList.contains("n"), body = th.closest("table").tBodies[0];
    var down = th.hasAttribute("aria-sort") ? th.getAttribute("aria-sort") === "ascending" : number;
    th.parentNode.querySelectorAll("[aria-sort]").forEach(function (o) { o.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    Array.prototype.map.call(body.rows, function (r) {
      var c = r.cells[at];
      return { r: r, v: !c ? "" : number ? Number(c.getAttribute("data-v") || 0) : c.textContent };
    }).sort(function (x, y) {
      return (down ? -1 : 1) * (number ? x.v - y.v : words.compare(x.v, y.v));
    }).forEach(function (x) { body.appendChild(x.r); });
  });
})();
