// Opens pages in headless Chromium, light and dark: axe-core finds no problem of accessibility, a person without a mouse
// reaches and opens everything, the page sends no request, works without its script, and opens in under a second.
//
//   node check.mjs [--shots FOLDER] PAGE.html...
//
// Screenshots are written to the folder, if one is given; those in testdata show how pages looked when they were last changed.
import { readFileSync, statSync, mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const args = process.argv.slice(2);
const shots = args[0] === "--shots" ? args.splice(0, 2)[1] : "";
const maxBytes = 8 << 20, maxMillis = Number(process.env.PAGECHECK_MILLIS || 1000);
const problems = [];
if (shots) mkdirSync(shots, { recursive: true });

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none"],
});

// open opens a page and watches that it sends no request and logs no error.
async function open(file, scheme, script = true) {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.setViewport({ width: 1280, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
  await page.setJavaScriptEnabled(script);
  const url = pathToFileURL(resolve(file)).href;
  page.on("request", r => { if (r.url().split("#")[0] !== url && !r.url().startsWith("data:")) problems.push(`${file}: requests ${r.url()}`); });
  page.on("console", m => { if (m.type() === "error") problems.push(`${file}: ${m.text()}`); });
  page.on("pageerror", e => problems.push(`${file}: ${e.message}`));
  // The processor time of the page: the time of the clock depends on what else the machine does.
  const client = await page.createCDPSession();
  await client.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await client.send("Performance.enable");
  await page.goto(url, { waitUntil: "load" });
  const { metrics } = await client.send("Performance.getMetrics");
  page.millis = 1000 * metrics.find(m => m.name === "ThreadTime").value;
  return page;
}

async function shot(page, file, what) {
  if (!shots) return;
  await page.setViewport({ width: 1280, height: 1500 });
  // What is out of sight is not rendered: two frames after the window grew, it is.
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.screenshot({ path: join(shots, basename(file, ".html") + "-" + what + ".png") });
}

// accessible runs all rules on the light page, and those about colors on the dark one: the rest is the same.
async function accessible(page, file, what) {
  await page.evaluate(axe + ";0");
  const options = { resultTypes: ["violations"], ...(what === "dark" ? { runOnly: ["color-contrast"] } : {}) };
  const found = await page.evaluate(o => axe.run(document, o), options);
  for (const v of found.violations) problems.push(`${file}, ${what}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | ")} (${v.nodes.length})`);
}

// keyboard walks through the page with Tab, Enter and / only.
async function keyboard(page, file) {
  const focus = () => page.evaluate(() => {
    const e = document.activeElement, s = getComputedStyle(e);
    return { name: e.tagName, class: e.className, id: e.id, outline: s.outlineStyle !== "none" && s.outlineWidth !== "0px", top: e.getBoundingClientRect().top };
  });
  const must = (ok, text) => ok || problems.push(`${file}, keyboard: ${text}`);
  await page.keyboard.press("Tab");
  let at = await focus();
  must(at.class === "skip" && at.outline, "the first stop is not the skip link with a visible focus");
  await page.keyboard.press("Enter");
  must(await page.evaluate(() => location.hash === "#main"), "the skip link leads nowhere");
  let summary = false;
  for (let i = 0; i < 60 && !summary; i++) {
    await page.keyboard.press("Tab");
    at = await focus();
    must(at.outline, `no visible focus on ${at.name} ${at.class}`);
    summary = at.name === "SUMMARY";
  }
  if (await page.$("details")) {
    await page.evaluate(() => document.querySelector("summary").focus());
    await page.keyboard.press("Enter");
    must(await page.evaluate(() => !document.activeElement.parentNode.open), "Enter does not close an item");
    await page.keyboard.press("Enter");
    must(await page.evaluate(() => document.activeElement.parentNode.open), "Enter does not open an item");
  }
  await page.keyboard.press("/");
  must((await focus()).id === "q", "/ does not lead to the search");
  const name = await page.evaluate(() => document.querySelector("tbody th")?.textContent.trim().split(/\s/)[0] ?? "");
  await page.keyboard.type(name);
  await page.waitForFunction(() => document.querySelector(".search output").textContent !== "");
  must(await page.evaluate(() => document.querySelectorAll("[data-row]:not([hidden])").length > 0), `the search does not find ${name}`);
  await page.keyboard.press("Escape");
  must(await page.evaluate(() => document.getElementById("q").value === "" && !document.querySelector("[data-row][hidden]")), "Escape does not end the search");
}

for (const file of args) {
  const bytes = statSync(file).size;
  if (bytes >= maxBytes) problems.push(`${file}: ${bytes} bytes, want fewer than ${maxBytes}`);
  for (const scheme of ["light", "dark"]) {
    const page = await open(file, scheme);
    const millis = page.millis;
    console.log(`${basename(file)} ${scheme}: ${(bytes / 1024).toFixed(0)} KiB, open after ${millis.toFixed(0)} ms`);
    if (millis >= maxMillis) problems.push(`${file}: opens after ${millis.toFixed(0)} ms, want less than ${maxMillis}`);
    await shot(page, file, scheme);
    // All items of a large page would be checked for minutes, and have the same elements.
    await page.evaluate(() => [document.querySelector("#updates details"), ...document.querySelectorAll("#operators details")].filter(Boolean).slice(0, 3).forEach(d => { d.open = true; }));
    await accessible(page, file, scheme);
    if (scheme === "light") await keyboard(page, file);
    await page.close();
  }
  const plain = await open(file, "light", false);
  if (!(await plain.$("main h2, main .none"))) problems.push(`${file}: shows nothing without its script`);
  await plain.close();
}
await browser.close();
problems.forEach(p => console.error(p));
process.exit(problems.length ? 1 : 0);
