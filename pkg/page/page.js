
(function () {
  "use strict";
  var form = document.querySelector(".search"), input = document.getElementById("q"), output = form.querySelector("output");
  var none = document.querySelector(".none"), rows = null, opened = [];
  form.hidden = false;
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  function each(list, f) { Array.prototype.forEach.call(list, f); }

  // Headings of columns become buttons that sort.
  function sortable(within) {
    each(within.querySelectorAll("thead th"), function (th) {
      var b = document.createElement("button");
      b.type = "button";
      b.textContent = th.textContent;
      th.textContent = "";
      th.appendChild(b);
    });
  }
  sortable(document);

  // fill gives an item its content, which is in a text until it is opened.
  function fill(details) {
    var text = details.querySelector("noscript"), body;
    if (!text) { return; }
    body = document.createElement("div");
    body.className = "body";
    body.innerHTML = text.textContent;
    text.replaceWith(body);
    sortable(body);
  }
  document.addEventListener("toggle", function (e) {
    if (e.target.open && e.target.tagName === "DETAILS") { fill(e.target); }
  }, true);

  // The text of all rows is collected by the first search: a large page opens faster.
  function index() {
    rows = [];
    each(document.querySelectorAll("[data-row]"), function (e) {
      if (e.parentNode.closest("details")) { return; }
      var item = e.tagName === "DETAILS", text = e.querySelector("noscript");
      text = text ? e.querySelector("summary").textContent + " " + text.textContent.replace(/<[^>]*>/g, " ") : e.textContent;
      rows.push({ e: e, item: item, text: text.toLowerCase() });
    });
  }
  function search() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), found = 0, items = [];
    function hits(text) { return words.every(function (w) { return text.indexOf(w) >= 0; }); }
    if (!rows) { index(); }
    opened.forEach(function (d) { d.open = false; });
    opened = [];
    rows.forEach(function (r) {
      var hit = hits(r.text);
      r.e.hidden = !hit;
      if (hit) { found++; }
      if (hit && r.item) { items.push(r.e); }
    });
    items.forEach(function (d) {
      if (words.length && items.length <= 3 && !d.open) { fill(d); d.open = true; opened.push(d); }
      var inner = d.querySelectorAll("[data-row]"), some = false;
      each(inner, function (e) { e.hidden = !hits(e.textContent.toLowerCase()); some = some || !e.hidden; });
      if (!some) { each(inner, function (e) { e.hidden = false; }); }
    });
    function empty(e) { return !e.querySelector("[data-row]:not([hidden])"); }
    each(document.querySelectorAll("main section, main section > .scroll, main .body > .scroll, main .messages, main .map"), function (e) {
      e.hidden = words.length > 0 && !e.querySelector(".drawing") && empty(e);
    });
    output.textContent = words.length ? found + " found" : "";
    none.hidden = !words.length || found > 0;
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
    if (e.tagName === "DETAILS") { fill(e); e.open = true; }
    e.scrollIntoView();
  }
  window.addEventListener("hashchange", function () { reveal(location.hash.slice(1)); });
  if (location.hash) { reveal(location.hash.slice(1)); }
  document.addEventListener("click", function (e) {
    var tile = e.target.closest(".map [data-link]"), link = e.target.closest("a[href^='#']");
    if (tile) { location.hash = tile.getAttribute("data-link"); }
    if (link && link.hash === location.hash) { reveal(link.hash.slice(1)); }
  });

  // The first click on a heading shows the largest numbers and the first names.
  var words = new Intl.Collator("en", { numeric: true });
  document.addEventListener("click", function (e) {
    var b = e.target.closest("thead button");
    if (!b) { return; }
    var th = b.parentNode, at = th.cellIndex, number = th.classList.contains("n"), body = th.closest("table").tBodies[0];
    var down = th.hasAttribute("aria-sort") ? th.getAttribute("aria-sort") === "ascending" : number;
    each(th.parentNode.querySelectorAll("[aria-sort]"), function (o) { o.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    Array.prototype.map.call(body.rows, function (r) {
      var c = r.cells[at];
      return { r: r, v: number ? Number(c.getAttribute("data-v") || 0) : c.textContent };
    }).sort(function (x, y) {
      return (down ? -1 : 1) * (number ? x.v - y.v : words.compare(x.v, y.v));
    }).forEach(function (x) { body.appendChild(x.r); });
  });
})();
