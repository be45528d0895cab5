-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- Wireshark: RoCE by the destination port, what happened to each packet (rdma.analysis), names that Wireshark
-- lacks. The marks are those of `rdmadump analyze --marks`, whose functions have the same names (src/analysis/
-- model): what a sender may do, and why, is explained there. docs/wireshark.md

set_plugin_info({version = "0.1.0", author = "rdmadump", description = "RDMA: lost, repeated and late packets"})

-- Each frame leaves objects of Wireshark's, and little else: collecting them more often is a fifth of the time.
collectgarbage("setpause", 1000)

-- Lua 5.4 (Wireshark 4.4) has operators instead, which 5.2 cannot read. All values here fit into 32 bits.
local bits = bit32 or load([[return {band = function(a, b) return a & b end, bor = function(a, b) return a | b end,
	bxor = function(a, b, c) return a ~ b ~ (c or 0) end, rshift = function(a, n) return a >> n end}]])()
local byte, sub, floor, band, rshift = string.byte, string.sub, math.floor, bits.band, bits.rshift
local bxor, bor = bits.bxor, bits.bor
local rdma = Proto("rdma", "RDMA analysis")
local F = {
	stream = ProtoField.uint32("rdma.stream", "QP pair", base.DEC, nil, nil, "Number of the conversation of two QPs"),
	src_qp = ProtoField.uint24("rdma.src_qp", "Source QP", base.HEX, nil, nil, "QP to which the responses go"),
	opcode = ProtoField.string("rdma.opcode", "Opcode"),
	fecn = ProtoField.bool("rdma.fecn", "Congestion seen on the way (FECN)"),
	becn = ProtoField.bool("rdma.becn", "Congestion reported to the sender (BECN)"),
	analysis = ProtoField.string("rdma.analysis", "Analysis"),
	retransmission = ProtoField.bool("rdma.analysis.retransmission", "Retransmitted"),
	lost_segment = ProtoField.bool("rdma.analysis.lost_segment", "Packets before this one were not captured"),
	duplicate = ProtoField.bool("rdma.analysis.duplicate", "Captured twice"),
	out_of_order = ProtoField.bool("rdma.analysis.out_of_order", "Late, not retransmitted"),
	nak_reason = ProtoField.string("rdma.analysis.nak_reason", "NAK"),
	bad_icrc = ProtoField.bool("rdma.analysis.bad_icrc", "Wrong invariant CRC: receivers drop it"),
}
rdma.fields = F
local stream_field = F.stream
local WORDS = {{"retransmission", "retransmitted"}, {"lost_segment", "packets missing before"}, {"duplicate", "captured twice"},
	{"out_of_order", "late"}, {"bad_icrc", "damaged"}}
rdma.prefs.icrc = Pref.bool("Verify invariant CRCs", false,
	"Damaged packets are no part of a sequence. Slow")

-- --- PSNs, and sequences with holes (seq.c) ---------------------------------------------------------

local M24, FAR = 0x1000000, 0x100000

local function diff(a, b) return (a - b + 0x800000) % M24 - 0x800000 end

local function hole_add(s, psn, n)
	if n <= 0 then return end
	if #s == 512 then table.remove(s, 1) table.remove(s, 1) end
	s[#s + 1], s[#s + 2] = psn, n
end

-- Removes [psn, psn + n); returns how many of these PSNs were missing.
local function hole_fill(s, psn, n)
	local taken, i = 0, 1
	while i < #s do
		local from, len = s[i], s[i + 1]
		local front, back = diff(psn, from), diff(from + len, psn + n)
		if front >= len or back >= len then
			i = i + 2
		else
			front, back = math.max(front, 0), math.max(back, 0)
			taken = taken + len - front - back
			if front == 0 and back == 0 then
				table.remove(s, i) table.remove(s, i)
			else
				if front == 0 then s[i], s[i + 1] = (psn + n) % M24, back else s[i + 1] = front end
				if front > 0 and back > 0 then hole_add(s, (psn + n) % M24, back) end
				i = i + 2
			end
		end
	end
	return taken
end

local function hole_close(s, psn)
	for i = #s - 1, 1, -2 do
		local d = diff(psn, s[i])
		if d >= s[i + 1] then
			table.remove(s, i) table.remove(s, i)
		elseif d > 0 then
			s[i], s[i + 1] = psn, s[i + 1] - d
		end
	end
end

local function is_hole(s, psn)
	for i = 1, #s, 2 do
		if (psn - s[i]) % M24 < s[i + 1] then return true end
	end
	return false
end

-- --- state ------------------------------------------------------------------------------------------

local marks, reasons -- by frame number
local flows, list, waits, waits_n, links, requests_cm, n_streams, last_frame
local now, frame, ip_id -- of the current frame; now in ns

local function reset()
	marks, reasons, flows, list, waits, waits_n, links, requests_cm = {}, {}, {}, {}, {}, 0, {}, {}
	n_streams, last_frame = 0, 0
end
reset()

local function mark(what, at)
	at = at or frame
	local m = marks[at]
	if not m then m = {} marks[at] = m end
	m[what] = true
	return m
end

local function flow_expect(f, psn)
	f.started, f.start_known, f.before = true, false, 0
	f.first, f.next, f.at, f.una = psn, psn, psn, psn
	f.active, f.slow, f.acked, f.late = false, false, false, nil
	f.rnr, f.nak, f.gap_open, f.straggler, f.open_since = nil, nil, false, false, nil
	f.waiting, f.seen, f.pass, f.unseen, f.seen_start, f.pass_start = {}, {}, {}, {}, psn, psn
	f.two_naks, f.leftover = false, false
end

-- The responses to its requests are of another connection from now on.
local function responses_restart(f)
	f.gap_open, f.waiting = false, {}
	if f.peer then f.peer.resp_started, f.peer.resp_open, f.peer.missing = false, false, {} end
end

-- --- which flows are a pair (pair.c, cm.c) ----------------------------------------------------------

local function pair(f, g)
	f.peer, g.peer = g, f
	local mtu = math.max(f.mtu, g.mtu)
	f.mtu, g.mtu = f.mtu == 0 and mtu or f.mtu, g.mtu == 0 and mtu or g.mtu
	f.stream = math.min(f.stream, g.stream)
	g.stream = f.stream
end

local function may_pair(f, g) return f ~= g and not g.peer end

-- rdma_get_udp_sport() of the kernel, of a product with up to 48 bits.
local function port_of(qp, other)
	local v = qp * other
	local label = bxor(v % 0x100000, floor(v / 2 ^ 20) % 0x100000, floor(v / 2 ^ 40))
	return bor(bxor(band(label, 0x3fff), rshift(label, 14)), 0xc000)
end

local function pair_by_port(f)
	local found
	for i = #list - 1, math.max(1, #list - 64), -1 do
		local g = list[i]
		local back = g.addr == f.back
		if g.sport == f.sport and (back or g.addr == f.addr) then
			if found or not back then return end
			found = g
		end
	end
	if found and may_pair(f, found) and port_of(f.qp, found.qp) == f.sport then pair(f, found) end
end

local function pair_request(f, psn)
	local at = waits[f.addr]
	if not at or waits_n > 65536 then
		if at then waits, waits_n = {}, 0 end
		at = {}
		waits[f.addr] = at
	end
	local w = at[psn]
	if not w or w.flow.peer then
		at[psn] = {flow = f}
		waits_n = waits_n + 1
	elseif w.flow ~= f then
		w.ambiguous = true
	end
end

local function pair_response(f, psn)
	local at = waits[f.back]
	local w = at and at[psn]
	if w and not w.ambiguous and may_pair(f, w.flow) then
		at[psn] = nil
		pair(f, w.flow)
		f.by_psn, f.peer.by_psn = true, true
	end
end

local function pair_nak(f, psn)
	local found
	if f.misses == 8 then return end
	f.misses = f.misses + 1
	for i = #list, math.max(1, #list - 1023), -1 do
		local g = list[i]
		if g.addr == f.back and g.started and may_pair(f, g) then
			local before = diff(g.next, psn)
			if before >= 0 and before <= 256 and diff(psn, g.first) >= 0 then
				if found then return end
				found = g
			end
		end
	end
	if found then
		f.misses = 0
		pair(f, found)
		f.by_psn, found.by_psn = true, true
	end
end

local function flow_at(addr, key) return flows[addr] and flows[addr][key] end

local function link_apply(l)
	local f, g = flow_at(l.addr, l.qp), flow_at(l.back, l.peer)
	if f and f.started and l.psn ~= f.first then -- the QP was reused
		flow_expect(f, l.psn)
		responses_restart(f)
		f.start_known = true
	end
	if not f or not g or f == g or f.peer == g then return end
	if f.peer then f.peer.peer = nil end
	if g.peer then g.peer.peer = nil end
	pair(f, g)
	f.by_psn, g.by_psn = false, false
end

local function be(s, at, n)
	local v = 0
	for i = at, at + n - 1 do v = v * 256 + (byte(s, i) or 0) end
	return v
end

-- A REQ or REP of the CM: its sender's QP, and the first PSN of what its peer sends.
local function cm_message(f, raw, mad)
	local attribute = be(raw, mad + 16, 2)
	local m = mad + 24
	if byte(raw, mad + 1) ~= 7 or #raw < m + 48 then return end
	if attribute == 0x10 then
		requests_cm[f.addr .. be(raw, m, 4)] = {qp = be(raw, m + 32, 3), psn = be(raw, m + 44, 3)}
	elseif attribute == 0x13 then
		local r = requests_cm[f.back .. be(raw, m + 4, 4)]
		if not r then return end
		local qp, psn = be(raw, m + 12, 3), be(raw, m + 20, 3)
		local there = {addr = f.back, qp = qp, back = f.addr, peer = r.qp, psn = psn}
		local back = {addr = f.addr, qp = r.qp, back = f.back, peer = qp, psn = r.psn}
		for _, l in ipairs({there, back}) do
			links[l.addr .. l.qp] = l
			link_apply(l)
		end
	end
end

local function flow_new(addr, back, key, qp, sport)
	local f = {addr = addr, back = back, key = key, qp = qp, sport = sport, mtu = 0, misses = 0, packets = 0,
		missing = {}, recent = {}, recent_resp = {}, recent_n = 0, cnps = {}, progress = 0, waited = 0, ulen = 0}
	n_streams = n_streams + 1
	f.stream = n_streams
	flows[addr] = flows[addr] or {}
	flows[addr][key] = f
	list[#list + 1] = f
	local l = links[addr .. key]
	if l then
		flow_expect(f, l.psn)
		f.start_known = true
		link_apply(l)
	end
	if not f.peer and sport and key < M24 then pair_by_port(f) end
	return f
end

-- --- IP identifications, times of the last packets (recent.c) ---------------------------------------

local STEP, BETWEEN_CNPS = 125, 1000000 -- ns

local function remember(f, psn, response)
	f.ip_id = ip_id
	if ip_id then
		(response and f.recent_resp or f.recent)[psn % 32] = psn * 65536 + ip_id
	elseif not response then
		f.recent[psn % 32] = psn * 65536 + floor(now / STEP) % 65536
		f.recent_ns = now
	end
end

local function is_duplicate(f, psn, response)
	local t = response and f.recent_resp or f.recent
	local before = t[(psn - 1) % 32]
	return ip_id and t[psn % 32] == psn * 65536 + ip_id and not (before and before % 65536 == ip_id)
end

local function is_same_cnp(f)
	local same, others = 0, false
	for _, was in ipairs(f.cnps) do
		same, others = same + (was == ip_id and 1 or 0), others or (was ~= 0 and was ~= ip_id)
	end
	table.insert(f.cnps, 1, ip_id or 0)
	f.cnps[5] = nil
	if ip_id and (same == 1 or same > 1 and others) and ip_id ~= f.ip_id and now - f.cnp_at < BETWEEN_CNPS then return true end
	f.cnp_at = now
	return false
end

local function is_recent(f, psn)
	local was = f.recent[psn % 32]
	if ip_id or not was or now - f.recent_ns > 32 * STEP or floor(was / 65536) ~= psn then return false end
	return (floor(now / STEP) - was) % 65536 <= (f.fetched and 8 or 32)
end

local function id_of(f, psn)
	local v = f.recent[psn % 32]
	return v and floor(v / 65536) == psn and v % 65536 ~= 0 and v % 65536
end

-- "before" or "after" the newest request, or nil, by IP identifications that the sender counts.
local function sent(f, psn)
	if not ip_id then return nil end
	local newest = id_of(f, (f.next - 1) % M24)
	local id = newest
	for back = 2, 3 do
		local older = id_of(f, (f.next - back) % M24)
		if not id or not older or (id - older) % 65536 == 0 or (id - older) % 65536 > 256 then return nil end
		id = older
	end
	local ahead = ((id_of(f, psn) or newest) - ip_id) % 65536
	if ahead == 0 then return nil end
	return ahead <= 8192 and "before" or ahead >= 65536 - 8192 and "after" or nil
end

-- --- READs (read.c) ---------------------------------------------------------------------------------

local MTUS = {256, 512, 1024, 2048, 4096}

local function packets(length, mtu) return length > 0 and floor((length - 1) / mtu) + 1 or 1 end

local function read_ends(f, upto)
	local provisional = (f.read_psn + 1) % M24
	local w = f.waiting[#f.waiting]
	if w and diff(upto, f.read_psn) > 0 and w.psn == f.read_psn and w.read then w.span = diff(upto, f.read_psn) end
	if f.next == provisional then f.next = upto end
	if f.at == provisional then f.at = upto end
	f.read_open = false
end

local function read_span(f, psn, length)
	local repeated = f.read_open
	f.read_open = false
	if not length then
		f.read_open, f.read_psn, f.read_length = true, psn, nil
		return 1
	end
	if f.mtu == 0 and f.peer then f.mtu = f.peer.mtu end
	if f.mtu > 0 then
		local span = packets(length, f.mtu)
		if repeated then read_ends(f, (psn + span) % M24) end
		return span
	end
	if length > MTUS[1] then f.read_open, f.read_psn, f.read_length = true, psn, length end
	return 1
end

local function learn_mtu(f, mtu)
	f.mtu = math.max(f.mtu, mtu)
	if f.read_open and f.read_length then read_ends(f, (f.read_psn + packets(f.read_length, f.mtu)) % M24) end
end

-- The request after a READ shows its number of responses.
local function read_followed(f, psn, is_read, length)
	local span, fit, mtu = diff(psn, f.read_psn), 0, nil
	if not f.read_length then
		if span > 0 and span < FAR then read_ends(f, psn) end
		f.read_open = false
		return
	end
	for _, m in ipairs(MTUS) do
		if span > 0 and packets(f.read_length, m) == span then mtu, fit = m, fit + 1 end
	end
	if fit == 1 then f.mtu = mtu end
	if fit > 0 then
		read_ends(f, psn)
	elseif span > 0 and is_read and length and length > 0 and length < f.read_length then
		for _, m in ipairs(MTUS) do
			if f.read_length - length == m * span then learn_mtu(f, m) break end
		end
	end
	f.read_open = false
end

local function read_is_rest(f, psn, span)
	local function is_rest(whole, of) return diff(psn, whole) > 0 and diff(psn + span, whole + of) == 0 end
	if diff(psn, f.una) <= 0 then return false end
	for _, w in ipairs(f.waiting) do
		if w.read and is_rest(w.psn, w.span) then return true end
	end
	return f.read and is_rest(f.read, f.read_n)
end

-- --- what responses show (acknowledge.c) ------------------------------------------------------------

local function gap_begin(r, psn)
	if r.gap_open then return end
	r.gap_open, r.gap_psn, r.gap_responses, r.gap_ns = true, psn, 0, now
end

local function gap_passed(r)
	local since = now - r.gap_ns
	local again = r.round_frame and (r.round_psn == r.gap_psn or (r.again_ns and r.again_ns >= r.gap_ns))
	if r.active then return end
	if again then
		if since < 1e9 then return end
	else
		r.gap_responses = r.gap_responses + 1
		if r.gap_responses <= 128 and since < 4e6 then return end
	end
	r.gap_open, r.waiting = false, {}
end

-- Packets that were never captured are acknowledged.
local function unseen(r, upto, ahead)
	if not r.read_open then
		hole_add(r.unseen, r.next, ahead)
	elseif not r.read_length then
		r.read_psn = (upto - 1) % M24
	else
		r.read_open = false
	end
	r.next, r.at, r.slow, r.active, r.late = upto, upto, false, false, nil
end

-- False and the PSN: a READ or atomic before `upto` lacks its last response.
local function waiting_done(r, upto, known)
	local w = r.waiting[1]
	while w do
		local d = diff(upto, w.psn + w.span)
		if d < 0 then return true end
		if d > 0 and known and diff(w.psn + w.span, r.una) > 0 then return false, w.psn end
		table.remove(r.waiting, 1)
		w = r.waiting[1]
	end
	return true
end

local function acknowledge(r, upto)
	if not r.started then return true end
	upto = upto % M24
	if r.gap_open and diff(upto, r.gap_psn) > 0 then
		gap_passed(r)
		if r.gap_open then return true end
	end
	local known, ahead, before = r.acked, diff(upto, r.next), diff(upto, r.una)
	if ahead > FAR or ahead < -FAR then return false end
	if before < 0 then return true end
	r.acked = true
	if before == 0 then return true end
	if ahead > 0 then
		unseen(r, upto, ahead)
	elseif r.seen[1] then
		for i = 1, #r.seen, 2 do
			local beyond = diff(upto, r.seen[i])
			if beyond > 0 then hole_add(r.unseen, r.seen[i], math.min(beyond, r.seen[i + 1])) end
		end
		hole_close(r.seen, upto)
	end
	if r.waiting[1] or r.fetch then
		local whole, missing = waiting_done(r, upto, known)
		missing = missing or r.una
		if known and (not whole or (r.fetch and (r.una - r.fetch) % M24 < r.fetch_n and diff(upto, r.una) > 1)) then
			if diff(missing, r.una) < 0 then missing = r.una end
			gap_begin(r, missing)
			r.waiting = {}
			upto = missing
		end
	end
	r.una = upto
	if now > r.progress then r.progress = now end
	if r.open_since then
		r.waited = now - r.open_since
		r.open_since = upto ~= r.next and now or nil
	end
	return true
end

-- --- retransmission rounds (round.c) ----------------------------------------------------------------

local function nak_waits(f) return f.nak and not f.leftover end

local function round_origin(f)
	if f.rnr then return f.rnr_psn end
	if nak_waits(f) then return f.nak_psn end
	return f.gap_open and f.gap_psn or f.una
end

local function goes_back(f, psn, span)
	local origin, second = round_origin(f), f.straggler and psn == f.straggler_next
	if not f.acked and not nak_waits(f) and not f.rnr then origin = psn end
	f.straggler = false
	local start = second and f.straggler_psn or psn
	if diff(start, origin) > 0 then start = origin end
	if second or psn == origin or (psn + span) % M24 == f.next or
		(f.acked and f.una == f.next and not f.nak and not f.rnr and sent(f, psn) == "after") then
		return start
	end
	f.straggler, f.straggler_psn, f.straggler_next = true, psn, (psn + span) % M24
end

local function round_begin(f, start, psn, span)
	if f.open_since then f.open_since = now end
	f.rnr = nil
	if f.two_naks then
		f.leftover = true
	elseif not f.leftover or start == f.nak_psn then
		f.nak, f.leftover = nil, false
	end
	f.two_naks = false
	f.round_psn, f.round_frame, f.round_ns, f.top = start, frame, now, f.next
	f.active, f.slow, f.waiting = true, true, {}
	f.pass, f.pass_start = {}, start
	hole_add(f.pass, start, diff(psn, start))
	f.at = (psn + span) % M24
end

local function round_end(f)
	if f.active and f.at ~= f.next then f.selective = (f.selective or 0) + 1 end
	f.active = false
end

local function round_take(f, psn, span)
	local ahead, front = diff(psn, f.at), diff(f.pass_start, psn)
	if f.nak and f.nak > f.round_frame and f.nak_psn == psn and (ahead > 0 or (ahead == 0 and
		psn == (f.round_psn + 1) % M24 and f.selective)) then
		round_end(f)
		round_begin(f, psn, psn, span)
	elseif ahead >= 0 then
		hole_add(f.pass, f.at, ahead)
		f.at = (psn + span) % M24
	elseif front > 0 then
		f.pass_start = psn
		hole_add(f.pass, (psn + span) % M24, front - span)
	elseif hole_fill(f.pass, psn, span) == 0 then
		local start = goes_back(f, psn, span)
		if start then round_begin(f, start, psn, span) end
	end
end

-- --- requests (request.c) ---------------------------------------------------------------------------

local SOON, LATE = 1e6, 4e6 -- ns

local function retransmitted(f)
	mark("retransmission")
	f.again_ns = now
end

local function settle(f) f.late, f.slow = nil, f.active end

local function before_capture(f, psn)
	return f.before > 0 and diff(f.first + f.before, psn) > 0
end

local function is_sent_again(f, psn)
	local s = sent(f, psn)
	if s then return s == "after" end
	return (f.nak and f.nak_psn == psn) or (f.open_since and now - f.progress > LATE)
end

-- An old packet outside of a round: it begins one, or is late.
local function old_take(f, psn, span, missing)
	local late = f.late
	if missing > 0 and is_sent_again(f, psn) then
		settle(f)
		f.doubtful = f.nak and not sent(f, psn) and not before_capture(f, psn)
		round_begin(f, psn, psn, span)
	elseif missing > 0 then
		if not late or psn ~= late.upto then
			late = {psn = psn, upto = psn}
			f.late = late
		end
		late[#late + 1] = frame
		late.upto, f.slow = (late.upto + missing) % M24, true
		mark("out_of_order")
		return
	elseif late and diff(psn, late.upto) >= 0 and (psn == late.upto or late.psn == round_origin(f)) then
		for _, at in ipairs(late) do
			marks[at].out_of_order = nil
			mark("retransmission", at)
		end
		local lost = diff(psn, late.upto)
		round_begin(f, late.psn, late.psn, diff(late.upto, late.psn) + lost + span)
		hole_add(f.pass, late.upto, lost)
		f.late = nil
	else
		settle(f)
		local start = goes_back(f, psn, span)
		if start then round_begin(f, start, psn, span) end
	end
	retransmitted(f)
end

-- Captured twice within microseconds, without a reason to send it again.
local function is_copy(f, psn)
	local reason = f.rnr or f.nak or f.gap_open
	if not is_recent(f, psn) or (reason and psn == round_origin(f)) then return false end
	return not f.active or (diff(psn, f.at) < 0 and not is_hole(f.pass, psn) and diff(psn, f.pass_start) >= 0)
end

local function restarts(f, begins, d)
	return math.abs(d) > FAR or (f.acked and f.una == f.next and begins and math.abs(d) > 1024)
end

local function before_first(f, psn, span)
	local front = diff(f.seen_start, psn)
	if front < span or front + f.before > 512 or f.start_known then return 0 end
	f.before = f.before + front
	hole_add(f.seen, (psn + span) % M24, front - span)
	f.seen_start, f.first, f.una = psn, psn, psn
	return span
end

-- Captured just after its ACK, and not before.
local function is_behind_ack(f, psn, span)
	return hole_fill(f.unseen, psn, span) > 0 and now - f.progress <= SOON
end

-- A packet before the highest one; true: it was not captured before.
local function sequence_old(f, psn, span, fetches, is_read)
	local missing = hole_fill(f.seen, psn, span)
	if now < f.progress then return missing > 0 end
	if missing == 0 and is_behind_ack(f, psn, span) then return true end
	if missing == 0 and not f.acked and diff(psn, f.seen_start) < 0 then missing = before_first(f, psn, span) end
	if missing == 0 and (is_duplicate(f, psn) or is_copy(f, psn)) then
		mark("duplicate")
		return false
	end
	if is_read and read_is_rest(f, psn, span) then
		f.gap_open, f.waiting, f.fetch = false, {}, nil
		acknowledge(f, psn)
	end
	if fetches and psn == f.una then f.fetch, f.fetch_n = psn, span end
	if (missing == 0 or f.active) and sent(f, psn) == "before" then
		mark("out_of_order")
		return missing > 0
	end
	if not f.active then
		old_take(f, psn, span, missing)
		return missing > 0
	end
	round_take(f, psn, span)
	retransmitted(f)
	return missing > 0
end

-- Every packet that is not the next one of the sequence; true: it is new.
local function sequence_odd(f, psn, span, fetches, is_read, begins)
	local d = diff(psn, f.next)
	f.troubled = true
	if f.start_known and f.packets == 1 and (d < 0 or d > 1024) then
		flow_expect(f, psn)
	elseif restarts(f, begins, d) then
		flow_expect(f, psn)
		responses_restart(f)
	end
	d = diff(psn, f.next)
	if d >= 0 then
		settle(f)
		round_end(f)
		f.slow = false
		if d > 0 then
			mark("lost_segment")
			hole_add(f.seen, f.next, d)
		end
		f.next = (psn + span) % M24
		f.at = f.next
		return true
	end
	if f.doubtful and now - f.round_ns > SOON then f.doubtful = false end
	if f.doubtful and psn == f.round_psn and not is_duplicate(f, psn) and not is_recent(f, psn) then
		-- The first copy was late, and the round begins here.
		mark("out_of_order", f.round_frame).retransmission = nil
		if not f.active and f.selective then f.selective = f.selective > 1 and f.selective - 1 or nil end
		f.doubtful, f.active = false, false
		f.nak, f.nak_psn, f.leftover = frame, psn, false
	elseif f.active and psn ~= f.round_psn then
		f.doubtful = false
	end
	return sequence_old(f, psn, span, fetches, is_read)
end

-- --- responses (response.c, nak.c) ------------------------------------------------------------------

local function is_taken(r, psn, first, last)
	if not r.started or not r.acked or psn == r.una or (r.gap_open and psn == r.gap_psn) then
		r.gap_open = false
		return true
	end
	if diff(psn, r.una) < 0 then return false end
	if not r.gap_open and first and r.others then return true end
	gap_begin(r, r.una)
	if last then gap_passed(r) end
	return not r.gap_open
end

local function repeated(f, r, psn)
	local unrequested = not ip_id and r and r.acked and not r.round_frame and not r.again_ns and diff(psn, r.first) >= 0
	mark((is_duplicate(f, psn, true) or unrequested) and "duplicate" or "retransmission")
end

local function is_first(r, psn) return not r or not r.round_frame or diff(psn, r.top) >= 0 end

local function response_old(f, r, psn)
	if hole_fill(f.missing, psn, 1) > 0 then
		if is_first(r, psn) then mark("out_of_order") end
		return true
	end
	if r and r.gap_open and psn == r.gap_psn and is_first(r, psn) and not is_duplicate(f, psn, true) then
		mark("out_of_order")
		return true
	end
	repeated(f, r, psn)
	return false
end

-- How many responses are missing just before this one, d PSNs after the last response.
local function response_missing(f, r, psn, first, d)
	if d == 0 then return 0 end
	if f.resp_open then return d end
	if first then return 0 end
	for _, w in ipairs(r and r.waiting or {}) do
		local into = diff(psn, w.psn)
		if w.read and into >= 0 and into < w.span then
			if into < d then return into end
			break
		end
	end
	return d < 4096 and d or 1
end

local function read_sequence(f, r, psn, first, last)
	if not f.resp_started then
		local w = r and r.waiting[1]
		f.resp_started, f.resp_next = true, psn
		if not first and w and w.read and #r.waiting == 1 and diff(psn, r.next) < 0 and diff(psn, w.psn) >= 0 then
			f.resp_next = w.psn
		end
		f.resp_open = f.resp_next ~= psn
	end
	local d = diff(psn, f.resp_next)
	if d > FAR or d < -FAR then d, f.resp_open, f.missing = 0, false, {} end
	if d < 0 then return response_old(f, r, psn) end
	local missing = response_missing(f, r, psn, first, d)
	if missing > 0 then
		mark("lost_segment")
		hole_add(f.missing, (psn - missing) % M24, missing)
		if r then gap_begin(r, (psn - missing) % M24) end
	elseif d > 0 and r then
		for _, w in ipairs(r.waiting) do
			if diff(w.psn + w.span, psn) > 0 then break end
			if w.read and diff(w.psn, f.resp_next) >= 0 then hole_add(f.missing, w.psn, w.span) end
		end
	end
	f.resp_next, f.resp_open = (psn + 1) % M24, not last
	return true
end

local function nak_sequence(r, psn)
	if not r or not r.started or diff(psn, r.next) > FAR then return end
	if r.acked and diff(psn, r.una) < 0 then return end
	if r.nak and r.nak_psn == psn then return end
	if diff(psn, r.una) > 0 then acknowledge(r, psn) end
	if r.nak and diff(psn, r.nak_psn) > 0 then r.two_naks = not r.leftover end
	r.leftover, r.nak, r.nak_psn = false, frame, psn
	if r.round_psn == psn then r.doubtful = false end
end

-- --- packets ----------------------------------------------------------------------------------------

local FIRST, LAST, READ, ATOMIC, RESPONSE, NAMES = {}, {}, {[12] = true}, {}, {}, {}
for _, low in ipairs({0, 4, 5, 6, 10, 11, 12, 13, 16, 17, 18, 19, 20, 23, 28, 29}) do FIRST[low] = true end
for _, low in ipairs({2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20, 22, 23, 28, 29}) do LAST[low] = true end
for _, low in ipairs({19, 20, 29}) do ATOMIC[low] = true end
for low = 13, 18 do RESPONSE[low] = true end
-- 1 requests, 2 responses, 3 UC, 4 UD, 5 CNP
local PART = {[0x64] = 4, [0x65] = 4, [0x81] = 5}
for low = 0, 29 do
	if FIRST[low] or LAST[low] or low == 1 or low == 7 or low == 14 then
		PART[low] = RESPONSE[low] and 2 or 1
		PART[0xa0 + low] = PART[low]
		if low < 12 then PART[0x20 + low] = 3 end
	end
end
for low, name in pairs({[0] = "SEND First", "SEND Middle", "SEND Last", "SEND Last with Immediate", "SEND Only",
	"SEND Only with Immediate", "RDMA WRITE First", "RDMA WRITE Middle", "RDMA WRITE Last",
	"RDMA WRITE Last with Immediate", "RDMA WRITE Only", "RDMA WRITE Only with Immediate", "RDMA READ Request",
	"RDMA READ response First", "RDMA READ response Middle", "RDMA READ response Last", "RDMA READ response Only",
	"Acknowledge", "ATOMIC Acknowledge", "CmpSwap", "FetchAdd", [22] = "SEND Last with Invalidate",
	[23] = "SEND Only with Invalidate", [28] = "FLUSH", [29] = "ATOMIC WRITE"}) do
	NAMES[0xa0 + low] = "XRC " .. name
	if low >= 28 then NAMES[low] = "RC " .. name end
end
NAMES[0x81] = "CNP (congestion notification)"
local SYNDROMES = {[0] = "PSN sequence error", "invalid request", "remote access error", "remote operational error"}

local function learn(f, r, raw, bth, stop, headers)
	local size = stop - bth - 12 - headers - 4 - floor(byte(raw, bth + 1) / 16) % 4
	if size > r.mtu then
		if f == r then r.mtu = size else learn_mtu(r, size) end
	end
end

local function request(f, raw, bth, stop, low, xrc, psn, asks)
	local is_read, fetches, fresh, length = READ[low], READ[low] or ATOMIC[low], true, nil
	local span = 1
	f.packets = f.packets + 1
	if not f.started then flow_expect(f, psn) end
	if is_read and #raw >= bth + 27 + xrc then length = be(raw, bth + 24 + xrc, 4) end
	if f.read_open and psn ~= f.read_psn then read_followed(f, psn, is_read, length) end
	if is_read then span = read_span(f, psn, length) else f.read_open = false end
	if psn == f.next and psn == f.at and not f.slow then
		f.next = (psn + span) % M24
		f.at = f.next
	else
		fresh = sequence_odd(f, psn, span, fetches, is_read, FIRST[low])
	end
	if fresh then
		if fetches then f.fetched = true else f.others, f.common = true, f.peer end
		if not LAST[low] and stop - bth ~= f.size then
			f.size = stop - bth
			learn(f, f, raw, bth, stop, xrc + (low == 6 and 16 or 0))
		end
		if now > f.progress then f.progress = now end
	end
	if is_read and f.troubled then f.read, f.read_n = psn, span end
	if asks or fetches then
		if fresh then
			f.open_since = f.open_since or now
			if fetches and #f.waiting < 8 and not f.active then
				f.waiting[#f.waiting + 1] = {psn = psn, span = span, read = is_read}
			end
		end
		if not f.peer then pair_request(f, psn) end
	end
	remember(f, psn)
end

local function acknowledge_packet(f, psn, syndrome)
	local kind, value = rshift(syndrome, 5) % 4, syndrome % 32
	if not f.peer and kind ~= 0 then pair_nak(f, psn) end
	local r = f.peer
	if is_duplicate(f, psn, true) then
		mark("duplicate")
	elseif kind == 0 then
		if r and not acknowledge(r, psn + 1) then f.misses = f.misses + 1 end
	elseif kind == 1 then
		mark("nak_reason")
		reasons[frame] = "RNR: receiver not ready"
		if r and r.started then
			acknowledge(r, psn)
			r.rnr, r.rnr_psn = frame, psn
		end
	else
		mark("nak_reason")
		reasons[frame] = kind == 3 and SYNDROMES[value] or "reserved"
		if kind == 3 and value == 0 then
			nak_sequence(r, psn)
		elseif kind == 3 and r and not r.ended then
			r.ended, r.open_since = true, nil
		end
	end
end

local function response(f, raw, bth, stop, low, psn)
	if not f.peer then pair_response(f, psn) end
	local r = f.peer
	if low == 17 then
		acknowledge_packet(f, psn, byte(raw, bth + 12) or 0x40)
	elseif low == 18 then
		if r and r.started and r.acked and diff(psn, r.una) < 0 then
			repeated(f, r, psn)
		elseif r and is_taken(r, psn, true, true) and not acknowledge(r, psn + 1) then
			f.misses = f.misses + 1
		end
	else
		if r and not LAST[low] then learn(f, r, raw, bth, stop, low == 14 and 0 or 4) end
		if r and r.read_open and psn == r.read_psn and low == 16 then read_ends(r, (psn + 1) % M24) end
		if r and r.started then
			hole_fill(r.seen, psn, 1)
			if not FIRST[low] and psn == r.next and r.next == r.at and not r.read_open then
				r.next = (psn + 1) % M24
				r.at = r.next
			end
		end
		read_sequence(f, r, psn, FIRST[low], LAST[low])
		if r and is_taken(r, psn, FIRST[low], LAST[low]) and not acknowledge(r, psn + 1) then f.misses = f.misses + 1 end
	end
	if f.misses > 8 and f.peer and f.by_psn then
		f.peer.peer, f.peer, f.misses = nil, nil, 0
	end
	remember(f, psn, true)
end

-- UC: nothing is retransmitted, so a gap is a loss.
local function unreliable(f, psn, begins)
	f.packets = f.packets + 1
	if not f.started then flow_expect(f, psn) end
	local d = diff(psn, f.next)
	if d ~= 0 then
		if restarts(f, begins, d) then
			flow_expect(f, psn)
		elseif d > 0 then
			mark("lost_segment")
			hole_add(f.seen, f.next, d)
		elseif (f.packets < 512 and diff(psn, f.first) < 0) or hole_fill(f.seen, psn, 1) > 0 then
			mark("out_of_order")
			return
		else
			mark("duplicate")
			return
		end
	end
	f.next = (psn + 1) % M24
	f.at = f.next
	remember(f, psn)
end

-- --- invariant CRCs (icrc.c) ------------------------------------------------------------------------

local crc_table
local icrc_good, icrc_bad, check_icrc = 0, 0, false

local function crc_bytes(crc, s)
	for i = 1, #s do crc = bxor(rshift(crc, 8), crc_table[band(bxor(crc, byte(s, i)), 0xff)]) end
	return crc
end

-- nil: cannot be computed. Fields that switches change count as ones, and ones replace RoCE's LRH.
local function icrc_is_right(raw, l3, bth, stop)
	if #raw < stop - 1 then return nil end
	if not crc_table then
		crc_table = {}
		for i = 0, 255 do
			local c = i
			for _ = 1, 8 do c = c % 2 == 1 and bxor(rshift(c, 1), 0xedb88320) or rshift(c, 1) end
			crc_table[i] = c
		end
	end
	local head, v4 = {}, l3 and byte(raw, l3) < 0x60
	local from = l3 or 1
	for i = from, bth + 11 do head[#head + 1] = byte(raw, i) end
	local function ones(at, mask) head[at - from + 1] = bor(head[at - from + 1], mask or 0xff) end
	if v4 then
		for _, i in ipairs({1, 8, 10, 11}) do ones(l3 + i) end
	elseif l3 then
		ones(l3, 0x0f)
		for _, i in ipairs({1, 2, 3, 7}) do ones(l3 + i) end
	else
		ones(1, 0xf0)
	end
	if l3 and bth - l3 ~= 40 then ones(bth - 2) ones(bth - 1) end
	ones(bth + 4)
	local crc = crc_bytes(0xffffffff, (l3 and ("\255"):rep(8) or "") .. string.char(table.unpack(head)))
	crc = bxor(crc_bytes(crc, sub(raw, bth + 12, stop - 5)), 0xffffffff)
	local a, b, c, d = byte(raw, stop - 4, stop - 1)
	local stored = a + b * 256 + c * 65536 + d * 16777216
	if stored == 0 then return nil end
	return stored == crc
end

-- --- frames -----------------------------------------------------------------------------------------

local function u16(raw, at)
	local a, b = byte(raw, at, at + 1)
	return b and a * 256 + b or -1
end

-- From an IP header or a GRH at l3 (1 is the first byte): key of the addresses, BTH, end, IP identification, port, l3.
local function at_ip(raw, l3)
	local version = rshift(byte(raw, l3) or 0, 4)
	if version == 4 and byte(raw, l3 + 9) == 17 then
		local l4 = l3 + byte(raw, l3) % 16 * 4
		if u16(raw, l4 + 2) ~= 4791 or band(u16(raw, l3 + 6), 0x1fff) ~= 0 then return nil end
		local id = u16(raw, l3 + 4)
		return sub(raw, l3 + 12, l3 + 19), l4 + 8, l4 + u16(raw, l4 + 4), id > 0 and id or nil, u16(raw, l4), l3
	elseif version == 6 and byte(raw, l3 + 6) == 17 and u16(raw, l3 + 42) == 4791 then
		return sub(raw, l3 + 8, l3 + 39), l3 + 48, l3 + 40 + u16(raw, l3 + 44), nil, u16(raw, l3 + 40), l3
	elseif version == 6 and byte(raw, l3 + 6) == 0x1b then
		return sub(raw, l3 + 8, l3 + 39), l3 + 40, l3 + 40 + u16(raw, l3 + 4), nil, nil, l3
	end
end

local function at_lrh(raw)
	local next_header = (byte(raw, 2) or 0) % 4
	local length = band(u16(raw, 5), 0x7ff) * 4
	if #raw < 20 or next_header < 2 then return nil end
	if next_header == 3 then return at_ip(raw, 9) end
	return sub(raw, 7, 8) .. sub(raw, 3, 4), 9, length + 1, nil, nil, nil
end

local TYPES = {[0x0800] = true, [0x86dd] = true, [0x8915] = true}
local function locate(raw, pinfo)
	if sub(raw, 13, 15) == "\8\0\69" then -- Ethernet, IPv4 without options
		if sub(raw, 37, 38) ~= "\18\183" or byte(raw, 24) ~= 17 then return end
		local i1, i2, more, offset = byte(raw, 19, 22)
		if more % 32 + offset > 0 then return end
		local p1, p2, _, _, u1, u2 = byte(raw, 35, 40)
		local id = i1 * 256 + i2
		return sub(raw, 27, 34), 43, 35 + u1 * 256 + u2, id > 0 and id or nil, p1 * 256 + p2, 15
	end
	local at, kind = 13, u16(raw, 13)
	while kind == 0x8100 or kind == 0x88a8 or kind == 0x9100 do
		at = at + 4
		kind = u16(raw, at)
	end
	if TYPES[kind] then return at_ip(raw, at + 2) end
	if tostring(pinfo.dl_src):find(":", 1, true) then return nil end -- Ethernet, and something else
	if TYPES[u16(raw, 15)] and u16(raw, 1) < 5 then return at_ip(raw, 17) end -- SLL
	if TYPES[u16(raw, 1)] and u16(raw, 3) == 0 then return at_ip(raw, 21) end -- SLL2
	local first = byte(raw, 1) or 0
	if first == 0x45 or (first >= 0x60 and first < 0x70 and byte(raw, 7) == 17) then return at_ip(raw, 1) end
	return at_lrh(raw)
end

-- Whether a packet may be RoCE: nothing proves what goes to the UDP port (foreign.c).
local function is_plausible(stop, bth, flags, notes, qp, asks)
	return flags % 16 == 0 and notes % 64 == 0 and asks % 128 == 0 and qp > 0 and (stop - bth) % 4 == 0
end

local function key_of(raw, bth, part, qp)
	return part == 4 and #raw >= bth + 19 and qp + (be(raw, bth + 17, 3) + 1) * M24 or qp
end

-- Of a packet that was taken before.
local function flow_of(raw, pinfo)
	local addr, bth = locate(raw, pinfo)
	if not addr or not flows[addr] or #raw < bth + 11 then return nil end
	return flows[addr][key_of(raw, bth, PART[byte(raw, bth)], be(raw, bth + 5, 3))]
end

local function take(raw, pinfo)
	local addr, bth, stop, id, sport, l3, op, flags, notes, q1, q2, q3, asks, p1, p2, p3, _
	local t1, t2, v, _, _, _, i1, i2, more, offset, _, proto = byte(raw, 13, 24)
	if t1 == 8 and t2 == 0 and v == 0x45 then -- as locate(), with fewer calls
		local s1, s2, d1, d2, u1, u2
		if proto ~= 17 or more % 32 + offset > 0 then return end
		s1, s2, d1, d2, u1, u2, _, _, op, flags, _, _, notes, q1, q2, q3, asks, p1, p2, p3 = byte(raw, 35, 54)
		if d2 ~= 183 or d1 ~= 18 or not p3 then return end
		addr, bth, stop, sport, l3 = sub(raw, 27, 34), 43, 35 + u1 * 256 + u2, s1 * 256 + s2, 15
		id = i1 * 256 + i2
		if id == 0 then id = nil end
	else
		addr, bth, stop, id, sport, l3 = locate(raw, pinfo)
		if not addr or #raw < bth + 11 then return end
		op, flags, _, _, notes, q1, q2, q3, asks, p1, p2, p3 = byte(raw, bth, bth + 11)
	end
	local qp, psn, part, low = q1 * 65536 + q2 * 256 + q3, p1 * 65536 + p2 * 256 + p3, PART[op], op % 32
	if not part then return end
	local key, f, right = part == 4 and key_of(raw, bth, part, qp) or qp, flows[addr], nil
	f = f and f[key]
	if check_icrc then right = icrc_is_right(raw, l3, bth, stop) end
	if not right and sport and not (f and f.proven) and not is_plausible(stop, bth, flags, notes, qp, asks) then return end
	if right then
		icrc_good = icrc_good + 1
	elseif right == false then
		icrc_bad = icrc_bad + 1
		if icrc_good > icrc_bad then
			mark("bad_icrc")
			return
		end
	end
	f = f or flow_new(addr, sub(addr, #addr / 2 + 1) .. sub(addr, 1, #addr / 2), key, qp, sport)
	if right then f.proven = true end
	ip_id = id
	if part == 1 and psn == f.next and psn == f.at and low < 12 and f.common and not f.slow and not f.read_open then
		-- The most common packet: as request(), with fewer calls
		local upto = (psn + 1) % M24
		f.next, f.at = upto, upto
		if stop - bth ~= f.size and not LAST[low] then
			f.size = stop - bth
			learn(f, f, raw, bth, stop, (op >= 0xa0 and 4 or 0) + (low == 6 and 16 or 0))
		end
		if now > f.progress then f.progress = now end
		if asks >= 128 and not f.open_since then f.open_since = now end
		f.ip_id = id
		if id then f.recent[psn % 32] = psn * 65536 + id else remember(f, psn) end
		if notes >= 0x40 or op >= 0xa0 then marks[frame] = {op = op, notes = notes} end
		return f
	end
	if NAMES[op] or notes >= 0x40 then marks[frame] = {op = op, notes = notes} end
	if part == 1 then
		request(f, raw, bth, stop, low, op >= 0xa0 and 4 or 0, psn, asks >= 128)
	elseif part == 2 then
		response(f, raw, bth, stop, low, psn)
	elseif part == 3 then
		unreliable(f, psn, FIRST[low])
	elseif part == 4 then
		if is_duplicate(f, psn) then mark("duplicate") else remember(f, psn) end
		if qp == 1 then cm_message(f, raw, bth + 20) end
	elseif part == 5 and is_same_cnp(f) then
		mark("duplicate")
	end
	return f
end

-- --- RoCE goes by the destination port --------------------------------------------------------------

-- Wireshark asks for the lower port first, which a RoCE sender may have from any protocol: such a protocol gets
-- only what does not go to port 4791.
local claim = Proto("rdma_port", "RDMA by its destination port")
local udp, owners, roce = DissectorTable.get("udp.port"), {}, nil

function claim.dissector(tvb, pinfo, tree)
	local owner = pinfo.dst_port == 4791 and roce or owners[pinfo.match]
	return owner:call(tvb, pinfo, tree)
end

-- After the preferences, which set the ports of protocols.
local function claim_install()
	roce = roce or udp:get_dissector(4791)
	for port = 1, 4790 do
		local owner = roce and udp:get_dissector(port)
		if owner and tostring(owner) ~= "RDMA_PORT" then
			owners[port] = owner
			udp:add(port, claim)
		end
	end
end

-- --- what Wireshark shows ---------------------------------------------------------------------------

local raw_of, is_referenced, number_of, time_of, wanted
function rdma.dissector(tvb, pinfo, tree)
	local f, first
	if not raw_of then
		local known = (debug.getmetatable(pinfo) or {}).__getters or {} -- pinfo.number looks its name up each time
		raw_of, is_referenced = tvb.raw, tree.referenced
		number_of = known.number or function(p) return p.number end
		time_of = known.rel_ts or function(p) return p.rel_ts end
	end
	frame = number_of(pinfo)
	if frame > last_frame then
		first, last_frame = true, frame
		now = time_of(pinfo) * 1e9
		f = take(raw_of(tvb), pinfo)
	end
	-- Whether anybody wants the fields changes with the display filter only, after which frames come again.
	if not first or frame % 64 == 1 then wanted = is_referenced(tree, stream_field) end
	local m = marks[frame]
	if m or wanted then
		f = f or flow_of(raw_of(tvb), pinfo)
		if not f and not m then return end
		local t = tree:add(rdma)
		if f then
			t:add(F.stream, f.stream):set_generated()
			if f.peer then t:add(F.src_qp, f.peer.qp):set_generated() end
		end
		if m then
			if NAMES[m.op] then
				t:add(F.opcode, NAMES[m.op]):set_generated()
				pinfo.cols.info = f and string.format("%s QP=0x%06x", NAMES[m.op], f.qp) or NAMES[m.op]
			end
			if m.notes and m.notes >= 128 then t:add(F.fecn, true):set_generated() end
			if m.notes and m.notes % 128 >= 64 then t:add(F.becn, true):set_generated() end
			local words = {}
			for _, row in ipairs(WORDS) do
				if m[row[1]] then
					words[#words + 1] = row[2]
					t:add(F[row[1]], true):set_generated()
				end
			end
			if m.nak_reason then
				words[#words + 1] = "NAK: " .. reasons[frame]
				t:add(F.nak_reason, reasons[frame]):set_generated()
			end
			if words[1] then t:add(F.analysis, table.concat(words, ", ")):set_generated() end
		end
	end
end

function rdma.init()
	reset()
	icrc_good, icrc_bad, check_icrc = 0, 0, rdma.prefs.icrc
	claim_install()
end

register_postdissector(rdma)
