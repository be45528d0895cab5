/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shows the report in this page, with page_draw.js, which is before it. */
(() => {
	const read = id => JSON.parse(document.getElementById(id).textContent);
	const everything = read("report"), words = read("words");
	const {el, count, bytes, rate, exact, span, moment, hex, many, sum, begins, plot, percentiles, psnplot} = draw;
	const page = document.getElementById("page");
	let whole = everything; /* a capture, or two ends, that is shown */
	let report; /* the capture that is shown */
	const ROWS = 200; /* of a table, until more are requested */
	const times = (side, ...keys) => sum(keys.map(key => side.events[key] ? side.events[key].count : 0));
	/* Several networks in tunnels may have the same addresses and QPs. */
	const network = n => n === null ? "" : ` (network ${String(n)})`;
	const within = c => report.conversations.some(other => other.network !== c.network) ? network(c.network) : "";
	const endpoint = e => e.address + (e.qp === null ? "" : ":" + hex(e.qp, 1));

	/* --- plots --- */
	const findingsof = (c, name) => c.findings.filter(f => !name || f.side === name);

	/* Of requesters: the QP, and the times of its responses. */
	const response = side => side.latency.ack || side.latency.read || side.latency.atomic;
	const responses = list => list.flatMap(c => ["a", "b"].filter(name => response(c.sides[name])).map(name => ({
		qp: hex(c[name].qp || 0, 1), latency: response(c.sides[name])}))).sort((p, q) => q.latency.p99_ns - p.latency.p99_ns);
	/* The slowest beside the median: far apart, there are stragglers. */
	const slowest = (one, list) => {
		const all = responses(list), part = one.conversations_in_all > one.conversations.length ? " here" : "";
		const row = (r, which, color) => ({name: which + r.qp, latency: r.latency, color});
		return all.length < 2 ? all.map(r => row(r, "QP ", "--one")) :
			[row(all[0], `slowest${part}: QP `, "--three"), row(all[Math.floor(all.length / 2)], "median: QP ", "--one")];
	};

	const plotlist = (series, found, times, at) => {
		const persecond = values => values.map(v => v * 8e9 / series.width_ns);
		const quiet = [], list = [plot("Rate" + at, series, [
			{name: "on the wire", color: "--one", values: persecond(series.wire_bytes)},
			{name: "new data", color: "--two", values: persecond(series.goodput_bytes), area: true}], rate, found)];
		const optional = (title, none, rows, show) => {
			if (rows.some(r => r.values.some(v => v)))
				list.push(plot(title + at, series, rows, show, found));
			else
				quiet.push(none);
		};
		optional("Retransmitted", "nothing was retransmitted", [
			{name: "packets", color: "--three", values: series.retransmitted, bars: true}], count);
		optional("NAKs", "no NAK", [{name: "NAK and RNR NAK", color: "--four", values: series.nak, bars: true}], count);
		optional("Congestion", "no CNP, no ECN mark", [
			{name: "CNP", color: "--three", values: series.cnp, bars: true},
			{name: "marked CE", color: "--four", values: series.ecn_ce, bars: true}], count);
		optional("Latency", "no latency could be measured", [
			{name: "longest", color: "--three", values: series.latency_max_ns},
			{name: "mean", color: "--one", values: series.latency_mean_ns}], span);
		if (times.length > 0)
			list.push(percentiles("Response time" + at, times));
		return {list, quiet};
	};

	/* As many as are in one row, so that the first screen has findings too. */
	const FIRST_PLOTS = 3;
	const plots = (series, found, times) => {
		if (!series)
			return el("p", {class: "soft"}, "No time series was stored for it.");
		const {list, quiet} = plotlist(series, found, times, ""), further = list.slice(FIRST_PLOTS);
		return [el("div", {class: "plots"}, list.slice(0, FIRST_PLOTS)), further.length > 0 &&
			el("details", {}, el("summary", {}, "More plots: " + further.map(p => p.firstChild.firstChild.textContent).join(", ")), el("div", {class: "plots"}, further)),
		quiet.length > 0 &&
			el("p", {class: "soft small"}, "Not drawn: " + quiet.join("; ") + ".")];
	};

	/* Those with findings first, as the findings are ordered. */
	const psnplots = () => {
		const rank = r => (i => i < 0 ? report.findings.length : i)(report.findings.findIndex(f => f.conversation === r.c.id && f.side === r.name));
		const rows = report.conversations.flatMap(c => ["a", "b"].filter(name => c.sides[name].psn_plot).map(name => ({c, name})))
			.map(r => ({...r, rank: rank(r)})).sort((p, q) => p.rank - q.rank);
		const place = el("div"), show = r => place.replaceChildren(psnplot(r.c.sides[r.name].psn_plot, findingsof(r.c, r.name)));
		if (!rows.length)
			return false;
		const choice = el("select", {"aria-label": "PSNs of", on: {change: () => show(rows[Number(choice.value)])}},
			rows.map((r, i) => el("option", {value: i}, `${endpoint(r.c[r.name])} \u2192 ${endpoint(r.c[r.name === "a" ? "b" : "a"])}${within(r.c)}` +
				(r.rank < report.findings.length ? " (findings)" : ""))));
		show(rows[0]);
		return [el("h2", {}, "PSNs over time"), rows.length > 1 && el("p", {class: "tools"}, choice), place];
	};

	/* --- tables --- */
	/* columns: {name, value: row -> for sorting, cell: row -> shown, number, bad: row -> bool} */
	const table = (columns, rows, more) => {
		const body = el("tbody");
		let by = -1, falling = true, limit = ROWS;
		const heads = columns.map((c, i) => el("th", {scope: "col", class: c.number && "number"},
			el("button", {type: "button", on: {click: () => sort(i)}}, c.name)));
		const fill = () => {
			const all = rows.slice(0, limit).map(row => {
				const line = el("tr", {}, columns.map((c, i) => {
					const shown = c.cell(row);
					if (i || !more)
						return el("td", {class: [c.number && "number", c.bad && c.bad(row) && "bad"].filter(Boolean).join(" ")}, shown);
					const open = el("button", {type: "button", class: "open", "aria-expanded": "false"}, shown);
					open.addEventListener("click", () => {
						const next = line.nextElementSibling, is = next && next.classList.contains("more");
						open.setAttribute("aria-expanded", String(!is));
						if (is)
							next.remove();
						else
							line.after(el("tr", {class: "more"}, el("td", {colspan: columns.length}, more(row))));
					});
					return el("td", {}, open);
				}));
				return line;
			});
			body.replaceChildren(...all);
			rest.hidden = rows.length <= limit;
			rest.textContent = `Show all ${count(rows.length)}`;
		};
		const rest = el("button", {type: "button", on: {click: () => {
			limit = rows.length;
			fill();
		}}});
		const sort = i => {
			falling = by === i ? !falling : Boolean(columns[i].number);
			by = i;
			heads.forEach((h, k) => k === i ? h.setAttribute("aria-sort", falling ? "descending" : "ascending") : h.removeAttribute("aria-sort"));
			rows.sort((a, b) => {
				const p = columns[i].value(a), q = columns[i].value(b);
				const order = typeof p === "string" ? p.localeCompare(q) : (p === null ? -1 : p) - (q === null ? -1 : q);
				return falling ? -order : order;
			});
			fill();
		};
		fill();
		return [el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)), el("p", {class: "tools"}, rest)];
	};
	const facts = list => el("dl", {class: "facts"}, list.filter(f => f[1] !== null && f[1] !== undefined && f[1] !== "")
		.map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
	const plain = (heads, rows) => el("div", {class: "scroll"}, el("table", {},
		el("thead", {}, el("tr", {}, heads.map(h => el("th", {scope: "col", class: h[1] && "number"}, h[0])))),
		el("tbody", {}, rows.map(row => el("tr", {}, row.map((cell, i) => el("td", {class: heads[i][1] && "number"}, cell)))))));

	/* --- the parts of the page --- */
	const copied = (button, code) => () => {
		const done = () => {
			button.textContent = "Copied";
			setTimeout(() => button.textContent = "Copy", 1500);
		};
		const pick = () => getSelection().selectAllChildren(code);
		if (navigator.clipboard)
			navigator.clipboard.writeText(code.textContent).then(done, pick);
		else
			pick();
	};
	const filter = text => {
		const code = el("code", {}, text), button = el("button", {type: "button", title: "Copy the display filter for Wireshark"}, "Copy");
		button.addEventListener("click", copied(button, code));
		return el("div", {class: "filter"}, code, button);
	};

	const leftout = left => [
		left.findings && many(left.findings, "finding"),
		left.conversations && many(left.conversations, "QP pair") +
			(left.conversations_with_findings ? ` (${count(left.conversations_with_findings)} with findings)` : ", none with findings"),
		left.series && `plots of ${many(left.series, "QP pair")}`,
		left.rows && many(left.rows, "row") + " of tables"].filter(Boolean).join("; ");

	const onlycounted = n => `${many(n, "finding")} ${n === 1 ? "is" : "are"} only counted: every report, with --json too, has the worst alone.`;

	/* Notes are not findings, as in the text; of those that are left out it is not known which they are. */
	const howmany = (all, left) => {
		const notes = all.filter(f => f.severity === "note").length, found = all.length - notes;
		return left ? `${count(all.length + left)} findings and notes` :
			(found ? many(found, "finding") : "No findings") + (notes ? `, ${many(notes, "note")}` : "");
	};

	const title = () => {
		const duration = report.duration_s * 1e9;
		const left = report.left_out;
		const name = report.capture.files.map(f => f.name).join(", ");
		return el("header", {},
			el("h1", {}, howmany(report.findings, report.findings_left_out + (left ? left.findings : 0)), " in ", name || "the capture"),
			el("p", {class: "soft"}, `${new Date(report.start_ns / 1e6).toISOString().replace("T", " ").replace("Z", " UTC")}, ${span(duration)}`,
				report.capture.hardware && `; ${report.capture.hardware}`, report.capture.os && `; ${report.capture.os}`),
			el("p", {class: report.capture.files.some(f => f.dropped > 0) ? "lossy" : "soft"}, sentence(report.capture.losses)),
			report.capture.filter && el("p", {class: "soft"}, `Only what the filter chose: ${report.capture.filter}`),
			report.totals.frames_left_out > 0 && el("p", {class: "left-out"}, `${many(report.totals.frames_left_out, "frame")} of QPs beyond ` +
				`the first ${count(report.totals.qps)} are only counted; the number of these QPs is not known.`),
			report.findings_left_out > 0 && el("p", {class: "left-out"}, onlycounted(report.findings_left_out)),
			left && el("p", {class: "left-out"}, `Left out, so that a browser can show this page: ${leftout(left)}. `,
				el("code", {}, "rdmadump analyze --json"), " prints it; ", el("code", {}, "--html FILE --qp QPN"), " makes a page of one QP."));
	};

	const tiles = () => {
		const t = report.totals;
		const datagrams = report.conversations.some(c => c.transport === "UD");
		const list = [["Frames", count(t.frames)], ["RDMA frames", count(t.rdma_frames)],
			[datagrams ? "QP pairs, UD flows" : "QP pairs", count(report.conversations_in_all)], ["New data", bytes(t.goodput_bytes)],
			["Goodput", t.goodput_bps ? rate(t.goodput_bps) : "-"],
			["Wrong ICRCs", t.icrc_trusted ? count(t.icrc_bad) : "none valid", t.icrc_trusted && t.icrc_bad > 0]];
		return el("dl", {class: "tiles"}, list.map(([name, value, bad]) =>
			el("div", {class: "tile"}, el("dt", {}, name), el("dd", {class: bad && "bad"}, value))));
	};

	/* A line does not end between a number and its unit, QP or pid, nor within an arrow. */
	const unbroken = text => text.replace(/(\d) (?=(%|[num]?s|[kMGT]?(b\/s|B))(?![a-z]))/g, "$1\u00a0").replace(/(QP|pid) (?=\d)/g, "$1\u00a0")
		.replace(/ -> /g, " \u2192 ");
	/* The name of a counter stays as it is. */
	const sentence = title => title.replace(/^[a-z](?=[a-z]* )/, letter => letter.toUpperCase());
	/* Of many frames only the first and the last, as in the text. */
	const evidence = f => f.frames.length === 1 ? `Frame ${f.frames[0]}` : f.frames.length === 2 || f.count > f.frames.length ?
		`First at frame ${f.frames[0]}, last at frame ${f.frames[f.frames.length - 1]}` : `Frames ${f.frames.join(", ")}`;
	const finding = f => el("article", {class: "finding " + f.severity},
		el("header", {}, el("h3", {}, sentence(f.title)), el("span", {class: "mark"}, `${f.severity}, ${f.certainty}`)),
		f.where && el("p", {class: "where"}, unbroken(f.where)), el("p", {}, unbroken(f.detail || "")),
		f.doubts && el("p", {}, el("span", {class: "soft"}, `Only ${f.certainty}: `), f.doubts.join("; ")),
		f.meaning && el("p", {}, el("span", {class: "soft"}, "Usually: "), f.meaning),
		f.next && el("p", {}, el("span", {class: "soft"}, "Next: "), f.next),
		f.frames.length > 0 && el("p", {class: "soft small"}, evidence(f), f.first_ns !== null &&
				`; ${moment(f.first_ns)}${f.last_ns > f.first_ns ? " to " + moment(f.last_ns) : ""}`),
		f.filter && filter(f.filter));

	const verdict = v => el("section", {class: "verdict", "aria-label": "Verdict"},
		el("dl", {class: "facts"}, v.rows.map(row => [el("dt", {}, row.label), el("dd", {}, unbroken(row.text))])));

	/* The worst finding of each cause; the others by name. */
	const first_of = (g, all) => all[g.findings[0]];
	/* A page may have the first findings only. */
	const groups = (list, all, lead) => [el("h2", {}, "Findings"), lead, list.length ? list.filter(g => first_of(g, all)).map(g => {
		const listed = g.findings.filter(i => i < all.length), left = g.findings_in_all - listed.length;
		const others = listed.slice(1).map(i => all[i]).filter(f => f.where);
		const first = finding(first_of(g, all));
		if (others.length)
			first.append(el("details", {}, el("summary", {}, first_of(g, all).conversation ?
				`The same for ${many(g.findings_in_all - 1, "other QP")}` : `${count(g.findings_in_all - 1)} more of these`),
				el("ul", {}, others.map(f => el("li", {}, unbroken(f.where), f.detail && el("span", {class: "soft"}, ": " + unbroken(f.detail)))),
					left > 0 && el("li", {}, `and ${count(left)} more`))));
		return first;
	}) : !lead && el("p", {}, "No problem was found in this traffic.")];

	const course = () => {
		const all = report.series, place = el("div"), named = report.conversations.filter(c => c.series);
		const show = (series, found, times) => place.replaceChildren(...[plots(series, found, times)].flat().filter(Boolean));
		const choice = el("select", {"aria-label": "Traffic of", on: {change: () =>
			choose(choice.value === "" ? null : named[Number(choice.value)])}},
			el("option", {value: ""}, "all traffic"),
			named.map((c, i) => el("option", {value: i}, `${endpoint(c.a)} \u2194 ${endpoint(c.b)}${within(c)} (${c.transport})`)));
		const every = report.findings, one = report, choose = c => c ? show(c.series, findingsof(c), slowest(one, [c])) : show(all, every, slowest(one, one.conversations));
		choose(null);
		return [el("h2", {}, "Over time ", begins(every)), named.length > 0 && el("p", {class: "tools"}, choice), place];
	};

	const events = side => {
		const rows = Object.entries(side.events).map(([key, e]) => [el("span", {}, words[key] || key), count(e.count),
			String(e.first_frame), String(e.last_frame), moment(e.first_ns)]);
		return rows.length > 0 && plain([["What happened"], ["Times", 1], ["First frame", 1], ["Last frame", 1], ["At", 1]], rows);
	};
	const latencies = side => {
		const c = side.congestion || {};
		const all = {...side.latency, "mark to CNP": c.mark_to_cnp, "between CNPs": c.cnp_interval, "last CNP to 90\u00a0% of the rate": c.recovery};
		const rows = Object.entries(all).filter(l => l[1]).map(([name, l]) => [name, count(l.n),
			...[l.min_ns, l.p50_ns, l.p90_ns, l.p99_ns, l.max_ns].map(span)]);
		return rows.length > 0 && plain([["Latency"], ["Samples", 1], ["Least", 1], ["p50", 1], ["p90", 1], ["p99", 1], ["Most", 1]], rows);
	};
	const verbs = side => {
		const rows = Object.entries(side.verbs).map(([name, v]) => [name, count(v.messages), bytes(v.bytes), count(v.packets),
			v.smallest === null ? "" : v.smallest === v.largest ? exact(v.smallest) : `${exact(v.smallest)} to ${exact(v.largest)}`]);
		return rows.length > 0 && plain([["Verb"], ["Messages", 1], ["Data", 1], ["Packets", 1], ["Sizes", 1]], rows);
	};
	const dscps = side => String(side.dscp) + (side.priority && side.priority.others ? ` (${many(side.priority.others, "frame")} with others, as ${side.priority.other_dscp})` : "");
	const endings = {open: "", closed: "closed by the CM", responses_stopped: "responses stopped", retry_exceeded: "gave up: no response", rnr_retry_exceeded: "gave up: receiver not ready", remote_error: "ended by an error NAK"};
	const spent = {idle_ns: "nothing requested", reply_ns: "waiting for the other side's message", sending_ns: "sending", waiting_ns: "waiting for a response",
		receiving_ns: "receiving READ responses", not_ready_ns: "receiver not ready", recovery_ns: "repeating"};
	const shares = times => {
		const all = times ? sum(Object.keys(spent).map(key => times[key])) : 0;
		return all ? Object.keys(spent).filter(key => times[key] * 200 >= all)
			.map(key => `${spent[key]} ${Math.round(100 * times[key] / all)} %`).join(", ") : null;
	};
	const owner = e => {
		const o = e.owner;
		if (!o)
			return {not_listed: "unknown: RDMA netlink did not list this QP", several: "unknown: several processes had a QP of this number", other_time: "unknown: processes had a QP of this number at other times only"}[e.owner_unknown];
		if (!o.pid)
			return `${o.comm} in the kernel`;
		return `${o.comm || "a process"} (${[`pid ${o.pid}`, o.rank !== null && `rank ${o.rank}`, ...Object.entries(o.job).map(([key, value]) => `${key}=${value}`), o.pod && `pod ${o.pod}`, o.container && `container ${o.container.slice(0, 12)}`].filter(Boolean).join(", ")})`;
	};
	const sideview = (c, name) => {
		const s = c.sides[name], from = c[name], to = c[name === "a" ? "b" : "a"];
		if (!s.seen && !s.requests)
			return el("div", {}, el("h3", {}, `From ${endpoint(from)}`), el("p", {class: "soft"}, "No frame of this side was captured."));
		return el("div", {}, el("h3", {}, `From ${endpoint(from)} to ${endpoint(to)}`), facts([
			["Frames", `${count(s.frames)} (${bytes(s.wire_bytes)}), ${s.first_frame === null ? "" : `${String(s.first_frame)} to ${String(s.last_frame)}`}`],
			["Requests", s.requests ? `${count(s.requests)} packets, ${bytes(s.goodput_bytes)} of new data` : null],
			["PSN", s.psn_first === null ? null : `${String(s.psn_first)} to ${String(s.psn_last)}`],
			["Path MTU", s.mtu === null ? null : exact(s.mtu)], ["P_Key", hex(s.pkey, 4)], ["DSCP", dscps(s)],
			["ECN", s.ecn.join(", ")], ["VLAN priority", s.priority && s.priority.pcp], ["DSCP of its CNPs", s.priority && s.priority.cnp_dscp],
			["Rate before and after CNPs", s.congestion && s.congestion.episodes ?
				`${rate(s.congestion.rate_before)}, ${rate(s.congestion.rate_after)} at least (${many(s.congestion.episodes, "time")})` : null],
			["Gaps that fit pauses", s.held && `${count(s.held.gaps)}, ${span(s.held.gaps_ns)} in all, the longest ${span(s.held.longest_ns)}, until frame ${s.held.longest_frame}`],
			["Q_Key", s.qkey === null ? null : hex(s.qkey, 8)], ["Credits", s.credits],
			["RNR timer", s.rnr_timer_us === null ? null : span(s.rnr_timer_us * 1000)],
			["Silence before a timeout (median)", s.timeout_ns === null ? null : span(s.timeout_ns)],
			["Time of requests", shares(s.times)],
			["Longest wait", s.longest_stall_ns ? `${span(s.longest_stall_ns)}${s.stall_frame === null ? "" : `, until frame ${String(s.stall_frame)}`}` : null],
			["Process", owner(from)],
			["Refused", s.refused && `${s.refused.verb}, frame ${String(s.refused.frame)}, PSN ${String(s.refused.psn)}` +
				(s.refused.address === null ? "" : `: ${exact(s.refused.length)} bytes at ${s.refused.address}, rkey ${hex(s.refused.rkey, 8)}`)],
			["Ending", endings[s.ending] && endings[s.ending] + (s.end_frame === null ? "" : `, frame ${String(s.end_frame)}`)]]),
			[verbs(s), events(s), latencies(s)].filter(Boolean).map(t => [el("h3"), t]));
	};
	const pairings = {none: "the other QP is unknown", port: "paired by UDP source ports, which drivers compute from both QP numbers", psn: "paired by PSNs and ACKs", cm: "paired by messages of the CM", resource: "paired by the host's list of QPs"};
	const connection = c => c && `connected by the CM for service ${c.service_id}: retry count ${c.retry_count}, RNR retry ${c.rnr_retry} (REQ) and ${c.reply_rnr_retry} (REP), ACK timeout ${c.ack_timeout}, frame ${String(c.frame)}`;
	const signs = {port: "the port of the CM's service id", private_data: "private data of the CM's REQ", messages: "its messages"};
	const queue = q => q && (q.id ? `I/O queue ${q.id}` : "admin queue");
	const application = a => a && `${a.name}${a.queue ? `, ${queue(a.queue)}` : ""} (${a.certainty}, by ${a.signs.map(key => signs[key]).join(", ")})`;
	const requests = a => {
		const number = (name, value, show, bad) => ({name, number: true, value, cell: o => value(o) === null ? "-" : show(value(o)), bad: bad && (o => value(o) > 0)});
		const time = (name, key) => number(name, o => o.latency && o.latency[key], span);
		return a && a.operations && a.operations.length > 0 && table([
			{name: "Request", value: o => o.name, cell: o => o.name}, {name: "Queue", value: o => o.group || "", cell: o => o.group || ""},
			number("Count", o => o.requests, count), time("Min", "min_ns"), time("Median", "p50_ns"), time("p99", "p99_ns"), time("Max", "max_ns"),
			number("At frame", o => o.slowest_frame, String), number("Errors", o => o.errors, count, true),
			number("No reply", o => o.open + o.unanswered, count), number("Inline", o => o.inline && o.inline.bytes, bytes),
			number("By RDMA", o => o.keyed && o.keyed.bytes, bytes)], a.operations.slice());
	};
	const limits = a => [[a.unreadable, "messages that cannot be read, cut off or replaced by zeros"], [a.misfits, "messages not in its format"],
		[a.unmatched, "replies without their request in the capture"], [sum(a.operations.map(o => o.untimed)), "replies not timed, since messages between may be missing"],
		[a.not_followed, "requests not followed, since too many were open at once"]].filter(([n]) => n).map(([n, text]) => `${text}: ${count(n)}`);
	const applications = () => report.applications.length > 0 && [el("h2", {}, "Applications"), report.applications.map(a => [
		el("h3", {}, a.name), el("p", {class: "soft small"}, [`${many(a.conversations, "conversation")}, ${a.certainty} by ${a.signs.map(key => signs[key]).join(", ")}`,
			a.port && `port ${a.port}`, ...a.statuses.map(s => `${count(s.count)} ${s.operation}: ${s.name}, frame ${s.first_frame}`), ...limits(a)].filter(Boolean).join("; ")),
		requests(a)])];
	const detail = row => [el("p", {class: "soft"}, [row.c.kind, row.c.transport, pairings[row.c.pairing], connection(row.c.connection), application(row.c.application)].filter(Boolean).join(", ")),
		requests(row.c.application),
		el("div", {class: "pair"}, sideview(row.c, row.name), sideview(row.c, row.name === "a" ? "b" : "a")), el("p", {}, begins(findingsof(row.c))), plots(row.c.series, findingsof(row.c), slowest(report, [row.c]))];

	const pairs = () => {
		const rows = report.conversations.flatMap(c => {
			const asked = ["a", "b"].filter(name => c.sides[name].requests > 0);
			return (asked.length ? asked : ["a"]).map(name => ({c, name, s: c.sides[name], from: c[name], to: c[name === "a" ? "b" : "a"]}));
		});
		const number = (name, value, show, bad) => ({name, number: true, value, cell: r => value(r) === null ? "-" : show(value(r)), bad: bad && (r => value(r) > 0)});
		const ack = key => r => {
			const l = r.s.latency.ack || r.s.latency.read || r.s.latency.atomic;
			return l && l[key] || null; /* 0: within a step of the clock */
		};
		const hidden = report.conversations_in_all - report.conversations.length;
		return [el("h2", {}, "QP pairs"), rows.length ? [el("p", {class: "soft small"}, "One row for each requester; click a pair for its details, a heading to sort. Goodput: new data, by the time from the first to the last frame of the pair.",
			hidden > 0 && ` ${many(hidden, "more pair")} not in this report.`), table([
			{name: "Requester \u2192 responder", value: r => endpoint(r.from) + endpoint(r.to) + within(r.c), cell: r => `${endpoint(r.from)} \u2192 ${endpoint(r.to)}${within(r.c)}`},
			{name: "Verbs", value: r => Object.keys(r.s.verbs).join(" "),
				cell: r => [r.c.transport, ...Object.keys(r.s.verbs)].join(" ") + (r.c.application ? ` (${r.c.application.name})` : "")},
			number("Frames", r => r.s.frames, count), number("New data", r => r.s.goodput_bytes, bytes),
			number("Goodput", r => r.s.goodput_bps, rate),
			number("Retx", r => times(r.s, "retransmitted"), count, true),
			number("NAK", r => times(r.s, "nak_sequence", "nak_invalid_request", "nak_remote_access", "nak_remote_operational", "nak_other"), count, true),
			number("RNR", r => times(r.s, "rnr"), count, true), number("CNP", r => times(r.s, "cnp"), count, true),
			number("ACK p50", ack("p50_ns"), span), number("p99", ack("p99_ns"), span),
			{name: "Ending", value: r => r.s.ending, cell: r => endings[r.s.ending], bad: r => /exceeded|error/.test(r.s.ending)}], rows, detail)] :
			el("p", {class: "soft"}, "No RDMA traffic between QPs was captured.")];
	};

	/* Two hosts are one row of the table of QP pairs. */
	const MATRIX = 12;
	const hosts = () => {
		const {list, pairs, frames_left_out: left} = report.hosts, few = list.slice(0, MATRIX);
		if (list.length < 3)
			return false;
		const sent = new Map(pairs.map(p => [p.from + " " + p.to, p.bytes])), most = Math.max(1, ...pairs.map(p => p.bytes));
		const cell = (from, to) => {
			const n = sent.get(from.address + " " + to.address);
			return el("td", {class: "number", style: n && `background: color-mix(in srgb, var(--one) ${Math.ceil(25 * n / most)}%, transparent)`}, n ? bytes(n) : "");
		};
		const column = (name, value, show) => ({name, number: true, value, cell: h => value(h) === null ? "" : show(value(h))});
		return [el("h2", {}, "Hosts"), table([{name: "Host", value: h => h.address, cell: h => h.address}, column("Sent", h => h.sent_bytes, bytes),
			column("Received", h => h.received_bytes, bytes), column("From hosts", h => h.senders, count),
			column("Peak in 100 us", h => h.peak_bytes, n => rate(n * 8e9 / 1e5)), column("Peak from hosts", h => h.peak_senders, count),
			column("At frame", h => h.peak_frame, String)], list.slice()),
		left > 0 && el("p", {class: "soft small"}, `${many(left, "frame")} of further hosts ${left === 1 ? "is" : "are"} not in this table.`),
		el("h3", {}, list.length > MATRIX ? `Bytes from host to host, the first ${MATRIX} of ${count(list.length)}` : "Bytes from host to host"),
		el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, el("th", {scope: "col"}, "From \\ to"), few.map((h, i) =>
			el("th", {scope: "col", class: "number", title: h.address}, String(i + 1))))), el("tbody", {}, few.map((from, i) => el("tr", {},
			el("td", {}, `${i + 1}. ${from.address}`), few.map(to => cell(from, to)))))))];
	};

	const pauses = () => report.pauses.length > 0 && [el("h2", {}, "Pause frames"), plain([["From"], ["Priority"], ["Pauses", 1], ["Resumes", 1],
		["Paused", 1], ["Share", 1], ["Longest", 1], ["First frame", 1]], report.pauses.flatMap(s => s.classes.map(c => [
		(s.mac || "unknown") + (s.address ? ` (${s.address})` : ""), c.priority === null ? "all" : String(c.priority), count(c.pauses), count(c.resumes),
		c.paused_ns === null ? "?" : span(c.paused_ns), c.share === null ? "?" : (100 * c.share).toFixed(1) + "\u00a0%",
		c.longest_ns === null ? "?" : span(c.longest_ns), c.first_pause_frame === null ? "" : String(c.first_pause_frame)]))),
		el("p", {class: "soft small"}, "The time that the frames ask for, at the speed of the link. Most adapters do not pass such frames on to a capture.")];

	const checks = () => report.counters.length > 0 && [el("h2", {}, "Counters of the device and packets"), table([
		{name: "Device", value: c => c.device, cell: c => c.device}, {name: "Counter", value: c => c.counter, cell: c => c.counter},
		{name: "Meaning", value: c => c.meaning, cell: c => c.meaning},
		{name: "Packets", number: true, value: c => c.packets, cell: c => count(c.packets)},
		{name: "Device", number: true, value: c => c.device_count, cell: c => c.device_count === null ? "unknown" : count(c.device_count)},
		{name: "", value: c => Number(c.agrees), cell: c => c.agrees ? "agrees" : c.why || "differs", bad: c => !c.agrees && !c.why}], report.counters.slice())];

	const mads = () => report.mads.length > 0 && [el("h2", {}, "Management datagrams"), table([
		{name: "Class", value: m => m.class, cell: m => m.class_name || hex(m.class, 2)},
		{name: "Method", value: m => m.method, cell: m => m.method_name || hex(m.method, 2)},
		{name: "Attribute", value: m => m.attribute, cell: m => m.attribute_name || hex(m.attribute, 4)},
		{name: "Status", value: m => m.status, cell: m => m.status ? hex(m.status, 4) + (m.status_name ? ` (${m.status_name})` : "") : "", bad: m => m.status > 3},
		{name: "Frames", number: true, value: m => m.frames, cell: m => count(m.frames)},
		{name: "Repeated", number: true, value: m => m.repeated, cell: m => m.repeated === null ? "" : count(m.repeated)},
		{name: "No response", number: true, value: m => m.unanswered, cell: m => m.unanswered === null ? "" : count(m.unanswered), bad: m => m.unanswered > 0}],
	report.mads.slice())];

	const files = () => [el("h2", {}, "Files"), plain([["File"], ["Format"], ["Frames", 1], ["Numbered from", 1], ["From", 1], ["To", 1], ["Dropped", 1], ["Damage"]],
		report.capture.files.map(f => [el("span", {class: "name"}, f.name), f.format, count(f.frames), String(f.first_frame), moment(f.first_ns), moment(f.last_ns),
			f.dropped === null ? "unknown" : count(f.dropped), f.damage || ""])),
		report.capture.application && el("p", {class: "soft small"}, `Written by ${report.capture.application}.`)];

	const capture = one => {
		report = one;
		/* Plots are drawn when another capture may be the current one. */
		for (const c of one.conversations)
			c.findings = one.findings.filter(f => f.conversation === c.id);
		return [title(), verdict(report.verdict), tiles(), course(), groups(report.groups, report.findings), psnplots(), applications(), pairs(), hosts(), pauses(), mads(),
			checks(), files()];
	};

	/* --- two ends of the same traffic --- */
	const clock = (c, unknown) => c ? `B's clock is ${Math.abs(c.offset_ns) < 1e9 ? moment(Math.abs(c.offset_ns)) : (Math.abs(c.offset_ns) / 1e9).toFixed(6) + "\u00a0s"} ${c.offset_ns < 0 ? "behind" : "ahead of"} A's, within ${span(c.error_ns)}` +
		(c.drift_ppm === null ? "." : `, and runs ${Math.abs(c.drift_ppm).toFixed(1)} ppm ${c.drift_ppm < 0 ? "slower" : "faster"}.`) :
		"The offset of the clocks is unknown: " + {one_direction: "no packets in both directions.", senders_unknown: "nothing proves which of the captures is at which host.",
			no_agreement: "their rates differ too much, or one was set meanwhile."}[unknown];
	/* Three plots that show both ends; each capture has its own below. */
	const sides = () => {
		const [a, b] = whole.captures.map((one, i) => one.series ?
			plotlist(one.series, one.findings, slowest(one, one.conversations), ` at ${"AB"[i]}`).list : []);
		const list = [a[0], b[0], a[1] || b[1]].filter(Boolean);
		return list.length > 0 && [el("h2", {}, "Over time ", begins(whole.captures.flatMap(one => one.findings))), el("div", {class: "plots"}, list)];
	};
	/* What the verdict rests on, where it is a finding of one capture. */
	const shown = by => {
		const one = by && whole.captures["ab".indexOf(by)], g = by && one.groups.find(g => g.rule === whole.ends.verdict.rule);
		const f = g && first_of(g, one.findings), card = f && finding(f);
		if (card)
			card.querySelector(".mark").append(`, in capture ${by.toUpperCase()}`);
		return card;
	};
	const ends = () => {
		const e = whole.ends, rows = e.paths.flatMap(p => p.qps.map((w, i) => ({p, w, v: i ? null : p.delay_variation})));
		const name = i => whole.captures[i].capture.files.map(f => f.name).join(", ");
		const left = e.page_left_out, all = e.findings.length + e.findings_left_out + (left ? left.findings : 0);
		const number = (head, value, bad) => ({name: head, number: true, value, cell: r => count(value(r)), bad: bad && (r => value(r) > 0)});
		const delay = (head, key) => ({name: head, number: true, value: r => r.v ? r.v[key] : null, cell: r => r.v ? span(r.v[key]) : ""});
		return [el("header", {}, el("h1", {}, all || !e.verdict.shown_by ? [howmany(e.findings, e.findings_left_out + (left ? left.findings : 0)), " between two ends of the same traffic"] :
			"Two ends of the same traffic"),
			e.findings_left_out > 0 && el("p", {class: "left-out"}, onlycounted(e.findings_left_out)),
			left && el("p", {class: "left-out"}, `Left out, so that a browser can show this page: ${[left.findings && many(left.findings, "finding"),
				left.qps && many(left.qps, "QP") + (left.faulty_qps ? ` (${count(left.faulty_qps)} with lost, duplicated, reordered or missed packets)` :
					", none with lost, duplicated, reordered or missed packets")].filter(Boolean).join("; ")}. `,
				el("code", {}, "rdmadump analyze --json"), " prints it."),
			e.left_out > 0 && el("p", {class: "left-out"}, `${many(e.left_out, "packet")} of further QPs ${e.left_out === 1 ? "was" : "were"} not compared; the number of these QPs is not known.`),
			el("p", {class: "soft"}, `A: ${name(0)}; B: ${name(1)}. ${count(e.packets)} packets were captured at both ends, in ${span(e.last_ns - e.first_ns)}.`),
			el("p", {}, clock(e.clock, e.clock_unknown))), verdict(e.verdict), sides(), groups(e.groups, e.findings, shown(e.verdict.shown_by)),
		el("h2", {}, "Between the ends"), table([
			{name: "To QP", value: r => r.p.from + r.p.to + r.w.qp + network(r.p.network), cell: r => `${r.p.from} \u2192 ${r.p.to}:${hex(r.w.qp, 1)}${network(r.p.network)}`},
			{name: "Direction", value: r => r.p.sender, cell: r => (r.p.sender === "a" ? "A \u2192 B" : "B \u2192 A") + (r.p.sender_known ? "" : "?")},
			number("Sent", r => r.w.sent), number("Lost", r => r.w.lost.count, true), number("Duplicated", r => r.w.duplicated.count, true),
			number("Reordered", r => r.w.reordered, true),
			number("Missed by a capture", r => r.w.missed.count + r.w.missed_at_receiver.count + r.w.unclear.count, true),
			delay("Delay variation p50", "p50_ns"), delay("p99", "p99_ns")], rows)];
	};

	const parts = () => (whole.ends ? [ends(), whole.captures.map((one, i) => [el("hr"), el("p", {class: "soft"}, `Capture ${"AB"[i]} alone`), capture(one)])] :
		capture(whole)).flat(6).filter(Boolean);

	/* --- several points --- */
	const COUNTS = [["lost", "Lost packets", count], ["retransmitted", "Retransmitted packets", count], ["p99", "p99 of responses", span],
		["paused_ns", "Time of pauses", span], ["packets", "Packets", count]];
	const value = (path, key) => key === "p99" ? path.latency && path.latency.n ? path.latency.p99_ns : null : path[key];
	/* The hosts of the worst paths. */
	const matrix = paths => {
		const few = [...new Set(paths.flatMap(p => [p.from, p.to]))].slice(0, MATRIX), place = el("div");
		const of = new Map(paths.map(p => [p.from + " " + p.to, p]));
		const show = ([key, , text]) => {
			const most = Math.max(1, ...paths.map(p => value(p, key)));
			const cell = (from, to) => {
				const path = of.get(from + " " + to), n = path ? value(path, key) : null;
				return el("td", {class: "number", style: n > 0 && `background: color-mix(in srgb, var(--one) ${Math.ceil(25 * n / most)}%, transparent)`},
					path ? n === null ? "?" : text(n) : "");
			};
			place.replaceChildren(el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, el("th", {scope: "col"}, "From \\ to"),
				few.map((h, i) => el("th", {scope: "col", class: "number", title: h}, String(i + 1))))),
			el("tbody", {}, few.map((from, i) => el("tr", {}, el("td", {}, `${i + 1}. ${from}`), few.map(to => cell(from, to))))))));
		};
		const choice = el("select", {"aria-label": "From host to host", on: {change: () => show(COUNTS[Number(choice.value)])}},
			COUNTS.map(([, name], i) => el("option", {value: i}, name)));
		show(COUNTS[0]);
		return [el("p", {class: "tools"}, choice), place];
	};
	const ranges = list => list.filter((r, i) => r !== list[i - 1] + 1).map(first => {
		let last = first;
		while (list.includes(last + 1))
			last++;
		return last > first ? `${first}-${last}` : first;
	}).join(", ");
	const overview = () => {
		const all = whole, place = el("div"), faults = all.faults;
		const captures = v => v.pair === null ? [v.capture] : all.pairs[v.pair].captures;
		const names = v => captures(v).map(i => all.names[i]).join(" and ");
		const full = all.verdicts.filter(v => v.pair === null ? all.captures[v.capture] : all.pairs[v.pair].ends);
		const show = v => {
			whole = v.pair === null ? all.captures[v.capture] : {ends: all.pairs[v.pair].ends, captures: captures(v).map(i => all.captures[i])};
			place.replaceChildren(...parts());
		};
		const choice = el("select", {"aria-label": "Report of", on: {change: () => show(full[Number(choice.value)])}},
			full.map((v, i) => el("option", {value: i}, `${names(v)}: ${v.verdict.what || v.verdict.label}`)));
		const number = ([key, name, text]) => ({name, number: true, value: p => value(p, key), cell: p => value(p, key) === null ? "?" : text(value(p, key)), bad: key === "lost" && (p => p.lost > 0)});
		const left = [all.verdicts_left_out && many(all.verdicts_left_out, "verdict"), all.paths_left_out && many(all.paths_left_out, "path")].filter(Boolean).join(", ");
		const programs = all.hosts.flatMap(h => h.programs.map(p => ({host: h.addresses[0], ...p})));
		const hidden = (name, what) => el("details", {}, el("summary", {}, name), what);
		const verdicts = rows => table([
			{name: "", value: v => v.verdict.label, cell: v => v.verdict.label, bad: v => v.verdict.severity === "problem" && v.better_pair === null},
			{name: "What", value: v => v.verdict.what || "", cell: v => unbroken(v.verdict.what || "no fault was found")},
			{name: "Certainty", value: v => v.verdict.certainty || "", cell: v => v.verdict.certainty || ""},
			{name: "Captures", value: names, cell: v => el("span", {class: "name"}, names(v))}], rows);
		const top = [el("header", {}, el("h1", {}, faults ? `Faults in ${count(faults)} of ${count(all.verdicts.length + all.verdicts_left_out)} reports of several points` :
			"No fault was found at several points"),
		all.summary.split("\n").map(line => line && el("p", {}, unbroken(line))),
		left && el("p", {class: "left-out"}, `Left out, so that a browser can show this page: ${left}. `, el("code", {}, "rdmadump analyze --json"), " prints them.")),
		faults > 0 && [el("h2", {}, "Verdicts, the worst first"), verdicts(all.verdicts.slice(0, faults))],
		faults < all.verdicts.length && hidden(`${faults ? "Other verdicts" : "Verdicts"}: no fault, or one that another pair shows better`, verdicts(all.verdicts.slice(faults))),
		all.paths.length > 0 && [el("h2", {}, "From host to host"), matrix(all.paths), hidden("All as a list, the worst first", table([
			{name: "From \u2192 to", value: p => p.from + " " + p.to, cell: p => `${p.from} \u2192 ${p.to}`}, ...COUNTS.map(number)], all.paths.slice()))],
		programs.length > 0 && [el("h2", {}, "Programs of the hosts"), table([
			{name: "Host", value: r => r.host, cell: r => r.host}, {name: "Program", value: r => r.comm, cell: r => r.comm || "?"},
			{name: "Processes", number: true, value: r => r.processes, cell: r => count(r.processes)},
			{name: "Ranks", value: r => r.ranks[0], cell: r => ranges(r.ranks)}, {name: "Slurm job", value: r => r.slurm_job || "", cell: r => r.slurm_job || ""}], programs)],
		el("hr"), el("p", {class: "tools"}, "Report of ", choice), place];
		show(full[0]);
		return top.flat(6).filter(Boolean);
	};

	page.replaceChildren(...whole.verdicts ? overview() : parts());

	/* Paper has all that can be opened. */
	let opened = [];
	addEventListener("beforeprint", () => {
		opened = [...document.querySelectorAll("details:not([open])")];
		opened.forEach(d => d.open = true);
	});
	addEventListener("afterprint", () => opened.forEach(d => d.open = false));
})();
