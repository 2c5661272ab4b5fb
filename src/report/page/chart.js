// A chart: axes, a cursor that the pointer and the keyboard move, a stretch of the x axis that can
// be chosen by dragging. What it shows is drawn by its owner, in the colours of the style sheet, so
// that it is right in light, dark and print.

function ticksOf(min, max, most, binary) {
  const span = max - min;
  if (!(span > 0)) return [min];
  let step;
  if (binary) {
    step = 2 ** Math.ceil(Math.log2(span / most));
  } else {
    const raw = span / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    step = power * ([1, 2, 5, 10].find((each) => each * power >= raw * 0.999) || 10);
  }
  const ticks = [];
  for (let at = Math.ceil(min / step - 1e-9) * step; at <= max + step * 1e-9; at += step) ticks.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return ticks;
}

function logTicks(min, max) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); ++power) {
    for (const each of [1, 2, 5]) {
      const value = each * 10 ** power;
      if (value >= min * 0.999 && value <= max * 1.001) ticks.push(value);
    }
  }
  return ticks.length > 7 ? ticks.filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9) : ticks;
}

// Texts of a chart are not in the page while it is drawn, so their widths are estimated, at most too wide.
const textWidth = (text) => 7.4 * String(text).length;

// Text beside a point, on the side that has room for it.
function textBeside(frame, text, x, y, kind) {
  const wide = textWidth(text) + 10;
  const end = x + wide > frame.width;
  return svg("text", { class: kind, x: !end ? x + 10 : Math.max(x - 10, Math.min(frame.width, wide)), y, "text-anchor": end ? "end" : "start" }, text);
}

class Chart {
  // label: for those who do not see it. height: pixels. x, y: () => [from, to]. draw(frame): adds to
  // frame.plot. xText, yText: of a value. xName(): of the x axis. tip(x, frame): text beside the cursor, or null. moved(x):
  // the cursor. stops: () => rising list of x at which the arrow keys stop. chosen([from, to] or
  // null): a stretch was dragged, or all of it is wanted. keys: {key: function}.
  constructor(options) {
    this.o = { height: 240, left: 68, right: 14, top: 22, bottom: 26, ...options };
    this.at = null;
    this.root = el("div", { class: "chart", tabindex: "0", role: "group", "aria-roledescription": "chart", "aria-label": this.o.label, style: { "min-height": this.o.height + "px" } });
    this.tipBox = el("div", { class: "tip", hidden: true });
    this.root.append(this.tipBox);
    new ResizeObserver(() => this.resized()).observe(this.root);
    this.listen();
  }

  listen() {
    const root = this.root;
    root.addEventListener("pointermove", (event) => {
      if (!this.frame) return;
      const x = this.frame.fromX(this.pointer(event));
      if (this.dragFrom !== undefined) { this.dragTo = x; this.drawBrush(); }
      this.move(x, event.offsetY);
    });
    root.addEventListener("pointerleave", () => { if (!root.matches(":focus-visible")) this.leave(); });
    root.addEventListener("pointerdown", (event) => {
      if (!this.frame || !this.o.chosen || event.button !== 0 || event.pointerType === "touch") return;
      this.dragFrom = this.dragTo = this.frame.fromX(this.pointer(event));
      root.setPointerCapture(event.pointerId);
    });
    root.addEventListener("pointerup", () => {
      if (this.dragFrom === undefined) return;
      const [from, to] = [this.dragFrom, this.dragTo].sort((a, b) => a - b);
      this.dragFrom = undefined;
      this.drawBrush();
      const [low, high] = this.o.x();
      if (to - from > (high - low) * 0.008) this.o.chosen([from, to]);
    });
    root.addEventListener("dblclick", () => this.o.chosen && this.o.chosen(null));
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("blur", () => this.leave());
  }

  pointer(event) { return event.clientX - this.root.getBoundingClientRect().left; }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.frame) return;
    const [from, to] = this.o.x();
    const stops = this.o.stops ? this.o.stops() : [];
    const at = this.at === null ? from : this.at;
    const go = (x) => { this.move(Math.min(Math.max(x, from), to)); say(this.tipText || ""); };
    const zoom = (factor) => {
      if (!this.o.chosen) return;
      const middle = this.at === null ? (from + to) / 2 : this.at;
      this.o.chosen([middle - (middle - from) * factor, middle + (to - middle) * factor]);
    };
    const beside = (direction) => {
      if (stops.length === 0) return go(at + direction * (to - from) / 100);
      // At least as far as the eye can tell.
      const least = (to - from) / 250;
      let i = indexAt(stops, at);
      while (i + direction >= 0 && i + direction < stops.length) {
        i += direction;
        if (Math.abs(stops[i] - at) >= least || event.shiftKey) break;
      }
      return go(stops[i]);
    };
    const keys = {
      ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => go(from), End: () => go(to),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      0: () => this.o.chosen && this.o.chosen(null), Escape: () => this.o.chosen && this.o.chosen(null),
      ...(this.o.keys || {}),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  resized() {
    if (this.root.clientWidth === 0 || this.root.clientWidth === this.drawnWidth) return;
    if (this.root.getBoundingClientRect().top < 1.2 * window.innerHeight) { this.draw(); return; }
    if (this.waits) return;
    this.waits = true;
    inTurn(() => { this.waits = false; this.draw(); });
  }

  draw() {
    const width = this.root.clientWidth;
    if (width === 0) return;
    this.drawnWidth = width;
    const { left, right, top, bottom, height } = this.o;
    const [x0, x1] = this.o.x();
    const [y0, y1] = this.o.y();
    const log = this.o.log && this.o.log();
    const inner = Math.max(10, width - left - right);
    const tall = height - top - bottom;
    const scale = log ? Math.log : (value) => value;
    const [s0, s1] = [scale(y0), scale(y1)];
    const frame = {
      width, left, top, inner, tall, x0, x1, y0, y1, log,
      x: (value) => left + ((value - x0) / (x1 - x0 || 1)) * inner,
      y: (value) => top + tall - ((scale(value) - s0) / (s1 - s0 || 1)) * tall,
      fromX: (pixel) => Math.min(Math.max(x0 + ((pixel - left) / inner) * (x1 - x0), x0), x1),
      fromY: (pixel) => y0 + ((top + tall - pixel) / tall) * (y1 - y0),
    };
    this.frame = frame;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": this.o.label });
    const clip = "clip" + (Chart.count = (Chart.count || 0) + 1);
    picture.append(svg("clipPath", { id: clip }, svg("rect", { x: left, y: 0, width: inner, height: top + tall })));
    if (!this.o.bare) this.axes(picture, frame);
    frame.plot = svg("g", { "clip-path": `url(#${clip})` });
    frame.over = svg("g", {});
    picture.append(frame.plot, frame.over);
    this.o.draw(frame);
    this.brush = svg("rect", { class: "brush", y: top, height: tall, visibility: "hidden" });
    this.line = svg("line", { class: "cursor", y1: top, y2: top + tall, visibility: "hidden" });
    picture.append(this.brush, this.line);
    const before = this.root.querySelector("svg");
    if (before) before.replaceWith(picture); else this.root.prepend(picture);
    if (this.at !== null) this.move(this.at);
  }

  axes(picture, frame) {
    const { left, inner, top, tall } = frame;
    const ticks = frame.log ? logTicks(frame.y0, frame.y1) : ticksOf(frame.y0, frame.y1, Math.max(2, Math.round(tall / 52)), this.o.binary);
    for (const tick of ticks) {
      const y = frame.y(tick);
      picture.append(svg("line", { class: "grid", x1: left, x2: left + inner, y1: y, y2: y }),
        svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, this.o.yText(tick)));
    }
    for (const tick of ticksOf(frame.x0, frame.x1, Math.max(2, Math.round(inner / 110)), this.o.xBinary)) {
      const text = this.o.xText(tick);
      const outside = frame.x(tick) + textWidth(text) / 2 > frame.width;
      picture.append(svg("text", { x: outside ? frame.width : frame.x(tick), y: top + tall + 18, "text-anchor": outside ? "end" : "middle" }, text));
    }
    if (this.o.xName) picture.append(svg("text", { x: left - 8, y: top + tall + 18, "text-anchor": "end" }, this.o.xName()));
    picture.append(svg("line", { class: "axis", x1: left, x2: left + inner, y1: top + tall, y2: top + tall }));
  }

  drawBrush() {
    const on = this.dragFrom !== undefined;
    this.brush.setAttribute("visibility", on ? "visible" : "hidden");
    if (!on) return;
    const [from, to] = [this.frame.x(this.dragFrom), this.frame.x(this.dragTo)].sort((a, b) => a - b);
    this.brush.setAttribute("x", from);
    this.brush.setAttribute("width", to - from);
  }

  move(x, pixelY) {
    const frame = this.frame;
    if (!frame) return;
    this.at = x;
    const inside = x >= frame.x0 && x <= frame.x1;
    const pixel = frame.x(x);
    this.line.setAttribute("visibility", inside ? "visible" : "hidden");
    this.line.setAttribute("x1", pixel);
    this.line.setAttribute("x2", pixel);
    this.tipText = this.o.tip ? this.o.tip(x, frame, pixelY) : null;
    this.tipBox.hidden = !this.tipText || !inside;
    if (this.tipText && inside) {
      this.tipBox.textContent = this.tipText;
      const wide = this.tipBox.offsetWidth;
      const place = pixel + 14 + wide > frame.width ? pixel - wide - 14 : pixel + 14;
      // Within the chart even before it is drawn again for a narrower screen.
      this.tipBox.style.left = `max(0px, min(${place}px, 100% - ${wide}px))`;
      this.tipBox.style.top = (this.o.tipTop === undefined ? frame.top + 4 : this.o.tipTop) + "px";
    }
    if (this.o.moved) this.o.moved(x);
  }

  leave() {
    this.at = null;
    this.tipBox.hidden = true;
    if (this.line) this.line.setAttribute("visibility", "hidden");
    if (this.o.moved) this.o.moved(null);
  }
}

// Points for a line, at most a few for each pixel: of those that fall on one the first, the least,
// the largest and the last, so that nothing that stands out is lost.
function pathOf(frame, xs, ys, step) {
  let path = "";
  let column = null;
  let open = false;
  const put = (x, y) => {
    path += (open ? "L" : "M") + x + " " + y.toFixed(1);
    open = true;
  };
  const point = (y) => put(column.x, y);
  const flush = () => {
    if (!column) return;
    const { first, low, high, last } = column;
    point(first);
    if (low !== first) point(low);
    if (high !== first) point(high);
    if (last !== (high !== first ? high : low)) point(last);
    column = null;
  };
  const from = Math.max(0, indexAt(xs, frame.x0) - 1);
  let before = null;
  for (let i = from; i < xs.length; ++i) {
    if (!isNumber(ys[i]) || (frame.log && ys[i] <= 0)) { flush(); open = false; before = null; continue; }
    const x = Math.round(frame.x(xs[i]) * 2) / 2;
    const y = frame.y(ys[i]);
    if (step && before !== null && before !== y && (!column || column.x !== x)) { flush(); if (open) put(x, before); }
    if (column && column.x === x) {
      column.low = Math.max(column.low, y); column.high = Math.min(column.high, y); column.last = y;
    } else {
      flush();
      column = { x, first: y, low: y, high: y, last: y };
    }
    before = y;
    if (xs[i] > frame.x1) break;
  }
  flush();
  return path;
}
