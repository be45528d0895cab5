/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
"use strict";
/* Elements, notation of numbers, plots. Text goes in as text nodes only: it may come from the wire. */
const draw = (() => {
	/* --- making elements --- */
	const put = (node, attributes, children) => {
		for (const [name, value] of Object.entries(attributes || {})) {
			if (name === "on")
				for (const [event, run] of Object.entries(value))
					node.addEventListener(event, run);
			else if (value !== undefined && value !== null && value !== false)
				node.setAttribute(name, value);
		}
		for (const child of children.flat(3))
			if (child !== undefined && child !== null && child !== false)
				node.append(child);
		return node;
	};
	const el = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
	const svg = (tag, attributes, ...children) =>
		put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

	/* --- notation of numbers --- */
	const count = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
	const scaled = (n, units, step) => {
		let i = 0;
		if (!n)
			return "0";
		while (n >= step && i < units.length - 1) {
			n /= step;
			i++;
		}
		return (n >= 100 || Number.isInteger(n) ? Math.round(n) : Number(n.toPrecision(3))) + "\u00a0" + units[i];
	};
	const bytes = n => scaled(n, ["B", "kB", "MB", "GB", "TB"], 1000);
	const rate = n => scaled(n, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"], 1000);
	const exact = n => count(n) + "\u00a0B";
	const span = ns => ns >= 6e10 ? count(ns / 1e9) + "\u00a0s" : scaled(ns, ["ns", "us", "ms", "s"], 1000);
	const moment = ns => ns < 1e6 ? `${(ns / 1e3).toFixed(0)}\u00a0us` : ns < 1e9 ? `${(ns / 1e6).toFixed(3)}\u00a0ms` : `${(ns / 1e9).toFixed(3)}\u00a0s`;
	const hex = (n, digits) => "0x" + n.toString(16).padStart(digits, "0");
	const many = (n, one, more) => count(n) + " " + (n === 1 ? one : more || one + "s");
	const sum = list => list.reduce((a, b) => a + b, 0);

	/* --- plots --- */
	const ceiling = most => {
		const power = 10 ** Math.floor(Math.log10(most));
		return [1, 2, 2.5, 5, 10].find(m => m * power >= most * 0.9999) * power;
	};
	const ticks = (from, to, wanted) => {
		const step = ceiling((to - from) / wanted), list = [];
		for (let t = Math.ceil(from / step) * step; t <= to * 1.0000001; t += step)
			list.push(t);
		return list;
	};

	/* Where findings begin: vertical lines with their titles. */
	const MARKS = 30;
	const marks = (list, x, top, bottom, from, to) => list.filter(f => f.first_ns !== null && f.first_ns >= from && f.first_ns <= to)
		.slice(0, MARKS).map(f => svg("g", {class: "finding-mark " + f.severity}, svg("title", {}, f.title),
			svg("line", {x1: x(f.first_ns), x2: x(f.first_ns), y1: top, y2: bottom}),
			svg("path", {d: `M${x(f.first_ns) - 5} ${top - 8}h10l-5 8z`})));

	/* Plots are drawn as wide as they are shown, so that their texts have the size that is set: one of three beside each other, as page.css has it. */
	const room = () => document.documentElement.clientWidth;
	const PADDING = 26; /* of a plot, and its border */
	const beside = () => room() > 760 ? Math.floor((Math.min(1180, room()) - 40 - 2 * 14) / 3) - PADDING : Math.max(240, room() - 24 - PADDING);
	const frame = () => {
		const width = beside(), height = Math.round(96 + width / 8);
		return {width, height, left: 62, right: width - 14, top: 10, bottom: height - 22, box: `0 0 ${width} ${height}`};
	};
	/* Horizontal lines with their values. */
	const scale = (picture, f, values, y, show) => {
		for (const v of values)
			picture.append(svg("line", {class: "grid", x1: f.left, x2: f.right, y1: y(v), y2: y(v)}),
				svg("text", {x: f.left - 6, y: y(v) + 4, "text-anchor": "end"}, show(v)));
	};

	/* What these marks mean, above plots. */
	const begins = found => found.some(f => f.first_ns !== null) && el("span", {class: "begins"}, "\u25bc a finding begins");

	const LEAST = 2; /* height of a bar, in pixels: a few among many are seen */
	/* rows: {name, color, values (null: no sample), area, bars}; show: value -> text */
	const plot = (title, series, rows, show, found) => {
		const f = frame(), {width, height, left, right, top, bottom} = f;
		const n = series.points, from = series.start_ns, to = from + n * series.width_ns;
		const most = ceiling(Math.max(1e-9, ...rows.flatMap(r => r.values).filter(v => v !== null)));
		const x = i => left + (right - left) * i / n;
		const y = v => bottom - (bottom - top) * v / most;
		const shown = rows.map(() => el("b"));
		const legend = el("div", {class: "legend"}, rows.map((r, k) => el("span", {},
			el("i", {style: `background: var(${r.color})`}), r.name, " ", shown[k])), rows.some(r => r.bars) && el("span", {}, ` per ${span(series.width_ns)}`));
		const when = el("span", {class: "when"});
		const cursor = svg("line", {class: "cursor", y1: top, y2: bottom, visibility: "hidden"});
		const picture = svg("svg", {viewBox: f.box, role: "img", "aria-label":
			title + ": " + rows.map(r => `${r.name} at most ${show(Math.max(0, ...r.values))}`).join(", ")});
		const whole = rows.some(r => r.bars);
		scale(picture, f, whole && most % 2 ? [0, most] : [0, most / 2, most], y, show);
		for (const t of ticks(from, to, Math.max(1, (right - left) / 60)))
			picture.append(svg("text", {x: x((t - from) / series.width_ns), y: height - 7, "text-anchor": "middle"}, span(t)));
		const order = rows.map((r, k) => [r, k]);
		/* The bars of the first row are in front: usually they are fewer. */
		if (whole)
			order.reverse();
		order.forEach(([r, k]) => {
			const color = `var(${r.color})`;
			if (r.bars) {
				const slot = (right - left) / n, wide = Math.max(1, slot * 0.8 / rows.length);
				r.values.forEach((v, i) => v && picture.append(svg("rect", {x: x(i) + slot * 0.1 + k * wide,
					width: wide, y: Math.min(y(v), bottom - LEAST), height: Math.max(LEAST, bottom - y(v)), fill: color})));
				return;
			}
			/* A step without a sample breaks the line. */
			let runs = [], run = null;
			r.values.forEach((v, i) => {
				if (v === null)
					run = null;
				else if (run)
					run.push([x(i + 0.5), y(v)]);
				else
					runs.push(run = [[x(i + 0.5), y(v)]]);
			});
			for (const points of runs) {
				const path = points.map(p => p.map(c => c.toFixed(1)).join(",")).join(" ");
				if (points.length === 1)
					picture.append(svg("circle", {cx: points[0][0], cy: points[0][1], r: 2, fill: color}));
				else if (r.area)
					picture.append(svg("polygon", {fill: color, opacity: 0.18,
						points: `${points[0][0]},${y(0)} ${path} ${points[points.length - 1][0]},${y(0)}`}));
				picture.append(svg("polyline", {points: path, fill: "none", stroke: color, "stroke-width": 1.6}));
			}
		});
		picture.append(...marks(found, ns => x((ns - from) / series.width_ns), top, bottom, from, to), cursor);
		const leave = () => {
			cursor.setAttribute("visibility", "hidden");
			when.textContent = "";
			shown.forEach(b => b.textContent = "");
		};
		picture.addEventListener("pointerleave", leave);
		picture.addEventListener("pointermove", event => {
			const box = picture.getBoundingClientRect();
			const i = Math.floor(((event.clientX - box.left) * width / box.width - left) * n / (right - left));
			if (i < 0 || i >= n)
				return leave();
			cursor.setAttribute("x1", x(i + 0.5));
			cursor.setAttribute("x2", x(i + 0.5));
			cursor.setAttribute("visibility", "visible");
			when.textContent = "at " + moment(from + i * series.width_ns);
			rows.forEach((r, k) => shown[k].textContent = r.values[i] === null ? "none" : show(r.values[i]));
		});
		return el("div", {class: "plot"}, el("h3", {}, title, when), legend, picture);
	};

	/* --- percentiles of latency --- */
	/* rows: {name, color, latency: {min_ns, ...}}; each percentile has one bar of each row. */
	const percentiles = (title, rows) => {
		const shown = [["min_ns", "least"], ["p50_ns", "p50"], ["p90_ns", "p90"], ["p99_ns", "p99"], ["max_ns", "most"]];
		const f = frame();
		const most = ceiling(Math.max(1, ...rows.flatMap(r => shown.map(([key]) => r.latency[key]))));
		const y = v => f.bottom - (f.bottom - f.top) * v / most;
		const slot = (f.right - f.left) / shown.length, wide = slot * 0.7 / rows.length;
		const picture = svg("svg", {viewBox: f.box, role: "img", "aria-label": title + ": " +
			rows.map(r => `${r.name} ${shown.map(([key, name]) => `${name} ${span(r.latency[key])}`).join(", ")}`).join("; ")});
		scale(picture, f, [0, most / 2, most], y, span);
		shown.forEach(([key, name], i) => {
			picture.append(svg("text", {x: f.left + (i + 0.5) * slot, y: f.height - 7, "text-anchor": "middle"}, name));
			rows.forEach((r, k) => picture.append(svg("rect", {x: f.left + (i + 0.15) * slot + k * wide, width: wide - 1,
				y: Math.min(y(r.latency[key]), f.bottom - 1), height: Math.max(1, f.bottom - y(r.latency[key])), fill: `var(${r.color})`},
			svg("title", {}, `${r.name}: ${name} ${span(r.latency[key])}`))));
		});
		return el("div", {class: "plot"}, el("h3", {}, title), el("div", {class: "legend"}, rows.map(r => el("span", {},
			el("i", {style: `background: var(${r.color})`}), r.name))), picture);
	};

	/* --- PSNs over time --- */
	/* All packets of one requester: a line that is not straight is a story. */
	const psnplot = (p, found) => {
		const width = Math.max(320, Math.min(1120, document.documentElement.clientWidth - 90));
		const height = 320, left = 66, right = 8, top = 14, bottom = 24;
		const from = p.start_ns, to = from + p.steps * p.width_ns;
		const values = [...p.sent, ...p.retransmitted].flatMap(r => [r[1], r[2]]).concat(p.acked.map(a => a[1]), p.naks.map(n => n.psn));
		const low = values.reduce((a, b) => Math.min(a, b), 0), high = values.reduce((a, b) => Math.max(a, b), low + 1);
		const x = ns => left + (width - left - right) * (ns - from) / (to - from);
		const y = v => height - bottom - (height - top - bottom) * (v - low) / (high - low);
		const at = step => x(from + (step + 0.5) * p.width_ns).toFixed(1);
		/* At least two pixels high, so that a single packet is seen. */
		const bars = list => list.map(r => `M${at(r[0])} ${(y(r[1]) + 1).toFixed(1)}V${(y(r[2]) - 1).toFixed(1)}`).join("");
		const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label":
			`PSNs over time: ${many(high - low, "packet")}, ${many(p.naks_in_all, "NAK")}`});
		for (const v of ticks(low, high, 4).filter(Number.isInteger))
			picture.append(svg("line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
				svg("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, (v < 0 ? "\u2212" : "+") + count(Math.abs(v))));
		for (const t of ticks(from, to, width / 190))
			picture.append(svg("text", {x: x(t), y: height - 7, "text-anchor": "middle"}, span(t)));
		const acked = p.acked.map(([step, psn], i) => `${i ? "H" + at(step) + "V" : "M" + at(step) + " "}${y(psn).toFixed(1)}`).join("");
		picture.append(...marks(found, x, top, height - bottom, from, to),
			svg("path", {d: bars(p.sent), stroke: "var(--two)", "stroke-width": 2.2, fill: "none"}),
			p.acked.length > 0 ? svg("path", {d: acked + `H${width - right}`, stroke: "var(--one)", "stroke-width": 1.3, fill: "none"}) : "",
			svg("path", {d: bars(p.retransmitted), stroke: "var(--three)", "stroke-width": 2.2, fill: "none"}),
			...p.naks.map(n => svg("path", {d: `M${(x(n.ns) - 4).toFixed(1)} ${(y(n.psn) - 4).toFixed(1)}l8 8m0 -8l-8 8`,
				stroke: "var(--four)", "stroke-width": 2, fill: "none"}, svg("title", {}, `${n.rnr ? "RNR NAK" : "NAK"}, frame ${String(n.frame)}, ${moment(n.ns)}`))));
		const key = (color, name) => el("span", {}, el("i", {style: `background: var(${color})`}), name);
		const reading = el("span");
		picture.addEventListener("pointerleave", () => reading.textContent = "");
		picture.addEventListener("pointermove", event => {
			const box = picture.getBoundingClientRect();
			const ns = from + ((event.clientX - box.left) * width / box.width - left) * (to - from) / (width - left - right);
			const v = low + (height - bottom - (event.clientY - box.top) * height / box.height) * (high - low) / (height - top - bottom);
			reading.textContent = ns < from || ns > to || v < low || v > high ? "" :
				`at ${moment(ns)}, PSN ${p.restarts ? "+" + count(v) : String(((p.psn + Math.round(v)) % 0x1000000 + 0x1000000) % 0x1000000)}`;
		});
		return el("div", {class: "plot"}, el("h3", {}, `PSNs, from ${String(p.psn)} on`),
			el("div", {class: "legend"}, key("--two", "sent first"), key("--one", "next PSN that the responder expects (ACKs)"),
				p.retransmitted.length > 0 && key("--three", "retransmitted"), p.naks.length > 0 && key("--four", "\u00d7 NAK"),
				found.some(f => f.first_ns !== null) && el("span", {}, "\u25bc a finding begins"), reading), picture,
			el("p", {class: "soft small"}, [`One step is ${span(p.width_ns)}.`,
				p.late && "It begins with the first retransmission or NAK, not with the first packet.",
				p.restarts > 0 && `The sequence restarted ${p.restarts === 1 ? "once" : count(p.restarts) + " times"}: PSNs after that are drawn above those before.`,
				p.naks_in_all > p.naks.length && `${count(p.naks.length)} of ${count(p.naks_in_all)} NAKs are drawn.`].filter(Boolean).join(" ")));
	};

	return {el, svg, count, bytes, rate, exact, span, moment, hex, many, sum, begins, plot, percentiles, psnplot};
})();
