// The page: what it shows, asks for and orders. The server (driver/view/view-serve.c) tells by events how all stands;
// pictures, curves and orders are asked for by requests beside the page's own address.
"use strict";

const $ = id => document.getElementById(id);
const PIN_VALUES = 600;

let info = null;                    // what does not change: fields, params
let now = { state: "connecting", step: 0, from: 0, goal: 0, frame: 0, curves: 0, cleared: 0, params: {} };
let view = { field: 0, cut: 0, at: [0, 0, 0], box: null };   // box: rows and columns that are shown; null: all
let frame = null, asking = false, again = false, seen = 0, chosen = false;
let limits = [0, 1], widest = null;
let pins = [], speeds = [], curvesAsked = 0, curvesTimer = 0, curvesSeen = -1, clearedSeen = 0, ended = false;
let table = null;
const behind = document.createElement("canvas");   // the frame, a pixel a value

// ---- asking and ordering

async function order(what, query = "") {
  try {
    const answer = await fetch(`do/${what}${query}`, { method: "POST" });
    say(answer.ok ? "" : await answer.text());
    return answer.ok;
  } catch {
    say("stc does not answer");
    return false;
  }
}

function say(text) {
  $("said").textContent = text;
  $("said").hidden = !text;
}

// The field that is chosen; its rank; the dimensions that are rows and columns.
const field = () => info.fields[view.field];
const rank = () => field().shape.length;
const axes = () => rank() < 3 ? [0, 1].slice(2 - rank()) : [0, 1, 2].filter(d => d !== view.cut);
function extents() {
  const shape = field().shape;
  return rank() === 1 ? [1, shape[0]] : axes().map(d => shape[d]);
}
const box = () => view.box || [0, extents()[0], 0, extents()[1]];

function query() {
  const f = field(), stage = $("stage"), ratio = window.devicePixelRatio || 1;
  const side = Math.min(1024, Math.max(64, Math.ceil(Math.max(stage.clientWidth, stage.clientHeight) * ratio / 64) * 64));
  let q = `field=${f.field}&component=${f.component}&side=${side}&box=${box().join(",")}`;
  if (rank() === 3)
    q += `&cut=${view.cut}&at=${view.at[view.cut]}`;
  const here = pins.filter(p => p.field === view.field);
  if (here.length)
    q += "&pins=" + here.map(p => p.at.join(",")).join(";");
  return q;
}

// Asks for the picture, unless that is under way: one behind the other, so that a slow page has fewer of them.
async function ask() {
  if (!info || document.hidden || ended)
    return;
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  const asked = query(), which = view.field;
  try {
    const answer = await fetch(`frame?${asked}&have=${seen}`);
    if (answer.status === 200)
      take(await answer.arrayBuffer(), which, asked);
    else if (answer.status !== 204)
      say(await answer.text());
  } catch { /* events tell when stc is gone */ }
  asking = false;
  if (again || asked !== query()) {
    again = false;
    setTimeout(ask, 20);
  }
}

// Takes a frame: a head, values of points, values of pixels.
function take(buffer, which, asked) {
  const head = new DataView(buffer), whole = at => Number(head.getBigInt64(at, true));
  const npins = head.getUint32(16, true), at = 88 + 8 * npins;
  const got = {
    field: which, width: head.getUint32(8, true), height: head.getUint32(12, true), nowhere: head.getUint32(20, true),
    number: whole(24), step: whole(32), least: head.getFloat64(40, true), most: head.getFloat64(48, true),
    box: [56, 64, 72, 80].map(whole), values: new Float32Array(buffer, at),
  };
  if (which !== view.field)
    return;
  const here = pins.filter(p => p.field === which);
  for (let i = 0; i < npins && i < here.length && asked === query(); i++)
    follow(here[i], got.step, head.getFloat64(88 + 8 * i, true));
  frame = got;
  seen = got.number;
  $("hint").hidden = true;
  if (!chosen)
    chooseLook();
  measure();
  paint();
  showPins();
}

// ---- the picture

// The first picture says which look suits it.
function chooseLook() {
  chosen = true;
  if (frame.least < 0 && frame.most > 0 && -frame.least > frame.most / 20 && frame.most > -frame.least / 20) {
    $("map").value = "coolwarm";
    $("range").value = "symmetric";
  }
  table = tableOf($("map").value);
}

// Which values have the first and the last colour.
function measure() {
  const how = $("range").value, { least, most } = frame;
  if (how !== "fixed" && Number.isFinite(least)) {
    if (how === "grow")
      widest = widest ? [Math.min(widest[0], least), Math.max(widest[1], most)] : [least, most];
    const far = Math.max(Math.abs(least), Math.abs(most));
    limits = how === "symmetric" ? [-far, far] : how === "grow" ? widest : [least, most];
  }
  if (how !== "fixed") {
    $("low").value = tell(limits[0]);
    $("high").value = tell(limits[1]);
  }
  $("low").disabled = $("high").disabled = how !== "fixed";
}

// Puts the canvas where the box, whose points are squares, is as large as can be; narrow strips are drawn higher.
function place() {
  const stage = $("stage"), canvas = $("picture"), b = box(), W = stage.clientWidth, H = stage.clientHeight;
  let w = W, h = H;
  if (rank() > 1) {
    const ratio = Math.max(1 / 8, Math.min(8, (b[3] - b[2]) / (b[1] - b[0])));
    w = Math.min(W, H * ratio);
    h = w / ratio;
  }
  const style = { left: (W - w) / 2, top: (H - h) / 2, width: w, height: h };
  for (const name in style)
    canvas.style[name] = `${style[name]}px`;
  return style;
}

function paint() {
  if (!frame)
    return;
  const at = place(), canvas = $("picture");
  if (rank() === 1)
    drawLine(canvas, frame, ...limits);
  else {
    drawValues(behind, frame, table, ...limits);
    const ratio = window.devicePixelRatio || 1, b = box(), f = frame.box;
    canvas.width = Math.round(at.width * ratio);
    canvas.height = Math.round(at.height * ratio);
    const context = canvas.getContext("2d"), sx = frame.width / (f[3] - f[2]), sy = frame.height / (f[1] - f[0]);
    const w = (b[3] - b[2]) * sx, h = (b[1] - b[0]) * sy;
    context.imageSmoothingEnabled = w > canvas.width;
    context.drawImage(behind, (b[2] - f[2]) * sx, (b[0] - f[0]) * sy, w, h, 0, 0, canvas.width, canvas.height);
  }
  drawRamp($("ramp"), table);
  const e = extents(), b = box(), part = (b[1] - b[0]) * (b[3] - b[2]) < e[0] * e[1];
  $("shown").textContent = (part ? `zoomed: ${b[1] - b[0]} × ${b[3] - b[2]} of ` : "") + field().shape.join(" × ") +
    ` points, step ${frame.step}` + (frame.nowhere ? `; ${frame.nowhere} pixels are NaN or infinite` : "");
  $("whole").disabled = !part;
  showMarks(at);
}

// The point of the field under a place of the canvas, in numbers from 0; null: none.
function pointAt(event) {
  const r = $("picture").getBoundingClientRect(), b = box();
  const y = Math.floor(b[0] + (event.clientY - r.top) / r.height * (b[1] - b[0]));
  const x = Math.floor(b[2] + (event.clientX - r.left) / r.width * (b[3] - b[2]));
  if (x < b[2] || x >= b[3] || (rank() > 1 && (y < b[0] || y >= b[1])))
    return null;
  const p = rank() === 1 ? [x] : rank() === 2 ? [y, x] : [0, 0, 0];
  if (rank() === 3) {
    p[view.cut] = view.at[view.cut];
    [p[axes()[0]], p[axes()[1]]] = [y, x];
  }
  return p;
}

// The pixel of the frame that shows the point nearest to it: its value.
function pixelAt(p) {
  if (!frame)
    return null;
  const f = frame.box, y = rank() === 1 ? 0 : p[axes()[0]], x = rank() === 1 ? p[0] : p[axes()[1]];
  const i = Math.floor((y - f[0]) / (f[1] - f[0]) * frame.height), j = Math.floor((x - f[2]) / (f[3] - f[2]) * frame.width);
  return i < 0 || j < 0 || i >= frame.height || j >= frame.width ? null : frame.values[i * frame.width + j];
}

// A point in the coordinates of the grid.
const named = p => `[${p.map((n, d) => n + field().first[d]).join(", ")}]`;

function zoom(event, factor) {
  if (rank() === 1 && factor < 1 && box()[3] - box()[2] < 8)
    return;
  const r = $("picture").getBoundingClientRect(), e = extents(), b = box();
  const part = [(event.clientY - r.top) / r.height, (event.clientX - r.left) / r.width];
  const out = [];
  for (let k = 0; k < 2; k++) {
    const size = b[2 * k + 1] - b[2 * k], to = Math.max(Math.min(8, e[k]), Math.min(e[k], Math.round(size * factor)));
    const from = Math.max(0, Math.min(e[k] - to, Math.round(b[2 * k] + part[k] * (size - to))));
    out.push(from, from + to);
  }
  setBox(out);
}

function setBox(b) {
  const e = extents();
  view.box = b && (b[1] - b[0] < e[0] || b[3] - b[2] < e[1]) ? b : null;
  seen = 0;
  paint();
  ask();
}

// ---- points that are followed

function follow(pin, step, value) {
  const last = pin.steps.length - 1;
  if (last >= 0 && step < pin.steps[last])
    pin.steps.length = pin.values.length = 0;
  if (last >= 0 && step === pin.steps[last])
    return;
  pin.steps.push(step);
  pin.values.push(Number.isFinite(value) ? value : null);
  if (pin.steps.length > PIN_VALUES) {
    pin.steps = pin.steps.filter((_, i) => i % 2 === 0 || i === pin.steps.length - 1);
    pin.values = pin.values.filter((_, i) => i % 2 === 0 || i === pin.values.length - 1);
  }
}

function addPin(at) {
  const same = pins.findIndex(p => p.field === view.field && p.at.join() === at.join());
  if (same >= 0)
    return;
  const color = PIN_COLORS.find(c => !pins.some(p => p.color === c));
  if (!color)
    return say(`${PIN_COLORS.length} points are followed already`);
  pins.push({ field: view.field, at, color, steps: [], values: [] });
  seen = 0;
  showPins();
  paint();
  ask();
}

function removePin(pin) {
  pins = pins.filter(p => p !== pin);
  seen = 0;
  showPins();
  paint();
  ask();
}

// A row with a title, the last value and a curve, made when it is not there yet.
function curveRow(list, key, title, color, remove) {
  let row = [...list.children].find(r => r.dataset.key === key);
  if (!row) {
    row = document.createElement("div");
    row.className = "curve";
    row.dataset.key = key;
    row.innerHTML = '<div class="top"><span class="dot"></span><span></span><b></b><small></small><span class="push"></span></div><canvas></canvas>';
    row.querySelector(".dot").style.background = color || "";
    row.querySelector(".dot").hidden = !color;
    row.querySelectorAll("span")[1].textContent = title;
    row.querySelector("canvas").setAttribute("aria-label", `curve of ${title}`);
    if (!color)
      row.querySelector(".dot").remove();
    if (remove) {
      const button = document.createElement("button");
      button.className = "plain";
      button.textContent = "×";
      button.title = "follow it no more";
      button.onclick = remove;
      row.querySelector(".top").append(button);
    }
    list.append(row);
  }
  return row;
}

function fillRow(row, xs, ys, color) {
  row.querySelector("b").textContent = ys.length ? tell(ys[ys.length - 1], 7) : "";
  const by_log = drawCurve(row.querySelector("canvas"), xs, ys, { color });
  row.querySelector("small").textContent = by_log ? "log" : "";
}

function showPins() {
  const list = $("pins"), keys = pins.map(p => `${p.field}:${p.at}`);
  $("pins-card").hidden = !pins.length;
  for (const row of [...list.children])
    if (!keys.includes(row.dataset.key))
      row.remove();
  pins.forEach((p, i) => {
    const f = info.fields[p.field], title = `${f.name}[${p.at.map((n, d) => n + f.first[d]).join(", ")}]`;
    fillRow(curveRow(list, keys[i], title, p.color, () => removePin(p)), p.steps, p.values, p.color);
  });
}

function showMarks(at) {
  const b = box(), marks = $("marks");
  marks.textContent = "";
  pins.forEach((p, i) => {
    if (p.field !== view.field || (rank() === 3 && p.at[view.cut] !== view.at[view.cut]))
      return;
    const y = rank() === 1 ? 0.5 : (p.at[axes()[0]] + .5 - b[0]) / (b[1] - b[0]);
    const x = ((rank() === 1 ? p.at[0] : p.at[axes()[1]]) + .5 - b[2]) / (b[3] - b[2]);
    if (x < 0 || x > 1 || y < 0 || y > 1)
      return;
    const mark = document.createElement("div");
    mark.className = "mark";
    mark.textContent = i + 1;
    mark.style.cssText = `left:${at.left + x * at.width}px;top:${at.top + y * at.height}px;background:${p.color}`;
    marks.append(mark);
  });
}

// ---- curves of reductions and probes

async function askCurves() {
  curvesTimer = 0;
  curvesAsked = performance.now();
  try {
    const got = await (await fetch("curves")).json(), list = $("curves");
    curvesSeen = got.curves;
    $("curves-card").hidden = !got.all.length;
    const keys = got.all.map(c => `${c.name}:${c.point}`);
    for (const row of [...list.children])
      if (!keys.includes(row.dataset.key))
        row.remove();
    got.all.forEach((c, i) =>
      fillRow(curveRow(list, keys[i], c.point < 0 ? c.name : `${c.name}, point ${c.point}`), c.steps, c.values));
  } catch { /* events tell when stc is gone */ }
}

function wantCurves() {
  if (curvesTimer || document.hidden || (now.curves === curvesSeen && now.cleared === clearedSeen))
    return;
  clearedSeen = now.cleared;
  curvesTimer = setTimeout(askCurves, Math.max(0, 400 - (performance.now() - curvesAsked)));
}

// ---- params

function makeParams() {
  const free = info.params.filter(p => p.free), list = $("params");
  $("params-card").hidden = !info.params.length;
  for (const p of free)
    list.append(p.type === "bool" ? boolParam(p) : numberParam(p));
  const others = info.params.filter(p => !p.free).map(p => `${p.name} = ${/^f/.test(p.type) && p.value !== null ? short(p.value) : p.value}`);
  $("fixed").textContent = others.length ? `fixed when the run begins, as sizes and places follow from them: ${others.join(", ")}` : "";
}

function paramRow(p, inner) {
  const row = document.createElement("div");
  row.className = "param";
  row.id = `param-${p.name}`;
  row.innerHTML = `<label></label>${inner}`;
  const label = row.querySelector("label"), when = document.createElement("small");
  label.textContent = p.name;
  when.textContent = p.inits && !p.steps ? "from restart on" : p.inits ? "the start, too: restart" : "";
  label.append(when);
  return row;
}

function boolParam(p) {
  const row = paramRow(p, '<input type="checkbox">'), check = row.querySelector("input");
  check.checked = p.value;
  check.onchange = () => order("set", `?name=${p.name}&value=${check.checked}`);
  return row;
}

// A slider to twice the value that the param has at first (integers: to 10 at least), and a number that may be any.
function numberParam(p) {
  const row = paramRow(p, '<input class="number" inputmode="decimal"><input type="range">');
  const [number, slider] = row.querySelectorAll("input"), v = p.value || 0, most = isInteger(p) ? Math.max(10, Math.abs(2 * v)) : Math.abs(2 * v);
  slider.step = isInteger(p) ? 1 : "any";
  slider.min = v < 0 ? -most : v > 0 || isInteger(p) ? 0 : -1;
  slider.max = v < 0 ? 0 : most || 1;
  slider.value = v;
  number.value = shown(p, v);
  number.setAttribute("aria-label", p.name);
  slider.setAttribute("aria-label", `slider of ${p.name}`);
  let timer = 0;
  const send = async text => {
    row.classList.toggle("wrong", !await order("set", `?name=${p.name}&value=${encodeURIComponent(text)}`));
  };
  slider.oninput = () => {
    number.value = shown(p, Number(slider.value));
    clearTimeout(timer);
    timer = setTimeout(() => send(number.value), 60);
  };
  number.onchange = () => {
    slider.value = number.value;
    send(number.value.trim());
  };
  return row;
}

const short = v => String(Number(v.toPrecision(6)));
const isInteger = p => /^[iu]/.test(p.type);
const shown = (p, v) => isInteger(p) ? String(v) : short(v);

// The values as they are, unless one is just being changed or waits to be.
function showParams() {
  for (const p of info.params) {
    const row = $(`param-${p.name}`), value = now.params[p.name];
    if (!row)
      continue;
    for (const input of row.querySelectorAll("input"))
      input.disabled = Boolean(now.bound) || now.state === "idle";
    if (now.waiting || row.contains(document.activeElement))
      continue;
    const inputs = row.querySelectorAll("input");
    if (p.type === "bool")
      inputs[0].checked = value;
    else if (value !== null) {
      inputs[0].value = shown(p, value);
      inputs[1].value = value;
    }
  }
}

// ---- how it stands

function heard(state) {
  const before = now;
  now = state;
  if (now.cleared !== before.cleared)
    widest = null;
  const all = now.goal || 1, words = { running: "running", paused: "paused", done: "done", idle: "no run" };
  $("state").textContent = words[now.state];
  $("state").className = `chip ${now.state}`;
  $("step").textContent = now.step.toLocaleString("en");
  $("goal").textContent = `of ${now.goal.toLocaleString("en")} steps`;
  $("progress").firstElementChild.style.width = `${Math.min(100, now.step / all * 100)}%`;
  const left = now.rate > 0 && now.state === "running" ? (now.goal - now.step) / now.rate : 0;
  $("left-time").textContent = left > 0 ? `${left < 90 ? Math.ceil(left) + " s" : left < 5400 ? Math.round(left / 60) + " min" : (left / 3600).toFixed(1) + " h"} left` : "";
  showSpeed();
  showButtons();
  showParams();
  wantCurves();
  if (now.said)
    say(now.said);
  if (now.waiting && now.state === "paused")
    say("new params are taken when the run goes on");
  if (now.state === "running" || now.frame !== seen)
    ask();
}

function showSpeed() {
  if (now.state === "running" && now.rate > 0) {
    speeds.push(now.gpts);
    if (speeds.length > 240)
      speeds.shift();
  }
  if (!speeds.length)
    return;
  const last = speeds[speeds.length - 1], mega = last < 0.1;
  $("speed").textContent = mega ? tell(last * 1000, 3) : tell(last, 3);
  $("speed-unit").textContent = `${mega ? "million" : "billion"} points/s` + (now.rate > 0 ? `, ${Number(now.rate.toPrecision(3)).toLocaleString("en")} steps/s` : "");
  drawCurve($("speed-curve"), speeds.map((_, i) => i), speeds, { labels: false, zero: true });
}

function showButtons() {
  const idle = now.state === "idle" || ended, running = now.state === "running";
  $("play").textContent = running ? "pause" : now.state === "done" ? "go on" : "play";
  $("play").disabled = $("one").disabled = $("many").disabled = idle;
  $("restart").disabled = idle || Boolean(now.no_restart);
  $("restart").title = now.no_restart || "r";
  $("end").hidden = !now.stays;
  $("end").disabled = ended;
}

function connect() {
  const events = new EventSource("events");
  events.onmessage = e => heard(JSON.parse(e.data));
  events.addEventListener("end", () => {
    events.close();
    finish("ended");
  });
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED)
      finish("gone");
    else if (!ended)
      $("state").textContent = "stc does not answer";
  };
}

function finish(word) {
  ended = true;
  $("state").textContent = word;
  $("state").className = "chip";
  showButtons();
}

// ---- the page's own

function chooseField(i) {
  view = { field: i, cut: 0, at: info.fields[i].shape.map(n => Math.floor(n / 2)), box: null };
  seen = 0;
  frame = null;
  widest = null;
  chosen = $("range").value === "fixed";
  $("slice").hidden = rank() < 3;
  $("hint").hidden = false;
  $("hint").textContent = "waiting for a picture";
  if (rank() === 3)
    chooseCut(0);
  ask();
}

function chooseCut(d) {
  view.cut = d;
  view.box = null;
  $("at").max = field().shape[d] - 1;
  $("at").value = view.at[d];
  $("cut").value = d;
  chooseAt(view.at[d]);
}

function chooseAt(n) {
  view.at[view.cut] = n;
  $("place").textContent = n + field().first[view.cut];
  seen = 0;
  ask();
  paint();
}

function makeChoices() {
  info.fields.forEach((f, i) => $("field").add(new Option(f.name, i)));
  for (const name in MAPS)
    $("map").add(new Option(name, name));
  ["dimension 0", "dimension 1", "dimension 2"].forEach((name, d) => $("cut").add(new Option(name, d)));
  $("field").onchange = () => chooseField(Number($("field").value));
  $("cut").onchange = () => chooseCut(Number($("cut").value));
  $("at").oninput = () => chooseAt(Number($("at").value));
  $("map").onchange = () => {
    table = tableOf($("map").value);
    paint();
  };
  $("range").onchange = () => {
    widest = null;
    if (frame)
      measure();
    paint();
  };
  for (const id of ["low", "high"])
    $(id).onchange = () => {
      const given = [Number($("low").value), Number($("high").value)];
      if (given.every(Number.isFinite) && given[0] < given[1])
        limits = given;
      paint();
    };
}

function makeButtons() {
  $("play").onclick = () => order(now.state === "running" ? "pause" : "play");
  $("one").onclick = () => order("step", `?n=${$("many").value}`);
  $("restart").onclick = () => order("restart");
  $("end").onclick = () => order("end");
  $("whole").onclick = () => setBox(null);
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|SELECT|BUTTON/.test(e.target.tagName))
      return;
    const key = { " ": "play", ".": "one", r: "restart" }[e.key];
    if (key && !$(key).disabled) {
      e.preventDefault();
      $(key).click();
    }
  });
}

function makePointer() {
  const canvas = $("picture");
  let from = null;
  canvas.onpointerdown = e => {
    canvas.setPointerCapture(e.pointerId);
    from = { x: e.clientX, y: e.clientY, box: box(), moved: false };
  };
  canvas.onpointermove = e => {
    const p = info && frame && pointAt(e);
    if (p)
      $("cursor").textContent = `${field().name}${named(p)} ≈ ${tell(pixelAt(p), 7)}`;
    if (!from)
      return;
    from.moved = from.moved || Math.hypot(e.clientX - from.x, e.clientY - from.y) > 4;
    if (from.moved && view.box)
      pan(from, e);
  };
  canvas.onpointerup = e => {
    const p = from && !from.moved && frame && pointAt(e);
    from = null;
    if (p)
      addPin(p);
  };
  canvas.onpointercancel = () => { from = null; };
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    if (info && frame)
      zoom(e, Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 200));
  }, { passive: false });
}

function pan(from, e) {
  const r = $("picture").getBoundingClientRect(), all = extents(), b = from.box, out = [];
  const moved = [(from.y - e.clientY) / r.height, (from.x - e.clientX) / r.width];
  for (let k = 0; k < 2; k++) {
    const size = b[2 * k + 1] - b[2 * k], to = Math.max(0, Math.min(all[k] - size, Math.round(b[2 * k] + moved[k] * size)));
    out.push(to, to + size);
  }
  setBox(out);
}

function makeTheme() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try { kept = localStorage.getItem("stc-theme"); } catch { /* frames of other sites have no storage */ }
  const show = name => {
    root.dataset.theme = name;
    paint();
    showPins();
  };
  root.dataset.theme = kept || (system.matches ? "dark" : "light");
  system.addEventListener("change", e => kept || show(e.matches ? "dark" : "light"));
  $("theme").onclick = () => {
    kept = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("stc-theme", kept); } catch { /* as above */ }
    show(kept);
    curvesSeen = -1;
    wantCurves();
  };
}

async function begin() {
  makeTheme();
  info = await (await fetch("info")).json();
  document.title = `${info.program} – stc`;
  $("program").textContent = info.program;
  $("where").textContent = `${info.device} · ${info.schedule}`;
  $("where").title = $("where").textContent;
  makeChoices();
  makeButtons();
  makePointer();
  makeParams();
  table = tableOf("viridis");
  if (info.fields.length)
    chooseField(0);
  new ResizeObserver(() => { paint(); ask(); }).observe($("stage"));
  document.addEventListener("visibilitychange", ask);
  connect();
}

begin();
