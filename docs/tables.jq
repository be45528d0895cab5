# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tables of `rdmadump analyze --json`, a row each line: docs/tables.md.
#
#   jq -rf tables.jq --arg table findings REPORT...              objects of JSON
#   jq -rf tables.jq --arg table findings --arg as tsv REPORT... tabs, a header first

# A report is of one capture, of both ends, or of captures at several points.
def captures: if .captures then .captures[] else . end;
def pairs: if .pairs then . as $all | .pairs[] | .captures |= map($all.captures[.]) elif .ends then . else empty end;
def name: .capture.files[0].name;
def port: .capture.ports[0] // {};
def of_capture: {capture: name, device: port.device, device_port: port.port};
def at($start): if . == null then null else $start + . end; # ns since the Unix epoch
def count: .count // 0;

def qp($c; $mine; $other):
	.sides[$mine] as $s | .[$mine] as $e | .[$other] as $p | ($e.owner // {}) as $o |
	($c | of_capture) + {conversation: .id, address: $e.address, qp: $e.qp, peer: $p.address, peer_qp: $p.qp, transport: .transport,
		pid: $o.pid, program: $o.comm, rank: $o.rank, job: ($o.job // {} | .SLURM_JOB_ID), container: $o.container,
		begin_ns: ($s.first_ns | at($c.start_ns)), end_ns: ($s.last_ns | at($c.start_ns)), frames: $s.frames, wire_bytes: $s.wire_bytes,
		goodput_bytes: $s.goodput_bytes, retransmitted: ($s.events.retransmitted | count), delayed: ($s.events.messages_delayed | count),
		timeouts: ($s.events.rounds_timeout | count), gave_up: ($s.events.gave_up | count), ended: $s.ending,
		ack_p50_ns: $s.latency.ack.p50_ns, ack_p99_ns: $s.latency.ack.p99_ns,
		message_p50_ns: $s.latency.message.p50_ns, message_p99_ns: $s.latency.message.p99_ns};

def table:
	if $table == "captures" then
		captures | of_capture + {begin_ns: .start_ns, duration_s, frames: .totals.frames, rdma_frames: .totals.rdma_frames, losses: .capture.losses,
			rule: .verdict.rule, certainty: .verdict.certainty, addresses: (port.addresses // [] | join(" "))}
	elif $table == "qps" then
		captures | . as $c | .conversations[] | qp($c; "a"; "b"), qp($c; "b"; "a") | select(.frames > 0)
	elif $table == "flows" then
		captures | . as $c | .conversations[] | . as $v | .series | . as $s | range(.points) | select($s.frames[.] > 0) as $i |
		($c | of_capture) + {conversation: $v.id, a: $v.a.address, a_qp: $v.a.qp, b: $v.b.address, b_qp: $v.b.qp,
			time_ns: (($s.start_ns + $i * $s.width_ns) | at($c.start_ns)), width_ns: $s.width_ns, frames: $s.frames[$i], wire_bytes: $s.wire_bytes[$i],
			goodput_bytes: $s.goodput_bytes[$i], retransmitted: $s.retransmitted[$i], nak: $s.nak[$i], cnp: $s.cnp[$i], ecn_ce: $s.ecn_ce[$i],
			latency_mean_ns: $s.latency_mean_ns[$i], latency_max_ns: $s.latency_max_ns[$i]}
	elif $table == "paths" then
		pairs | [.captures[] | name] as $n | .ends.paths[] | . as $p | .qps[] |
		{capture_a: $n[0], capture_b: $n[1], source: $p.from, destination: $p.to, sender: $p.sender, sender_known: $p.sender_known, qp, sent, arrived,
			lost: (.lost | count), unclear: (.unclear | count), duplicated: (.duplicated | count), reordered, missed: (.missed | count),
			variation_p50_ns: $p.delay_variation.p50_ns, variation_p99_ns: $p.delay_variation.p99_ns}
	elif $table == "findings" then
		(captures | . as $c | .findings[] | ($c | of_capture) + {scope: "capture", begin: $c.start_ns} + .),
		(pairs | . as $p | .ends.findings[] | {capture: ([$p.captures[] | name] | join(" ")), device: null, device_port: null, scope: "ends",
			begin: $p.start_ns} + .) |
		{capture, device, device_port, scope, rule, severity, certainty, place: .where, title, detail, next, times: .count, begin_ns: (.begin as $b | .first_ns | at($b)),
			end_ns: (.begin as $b | .last_ns | at($b)), doubts: (.doubts // [] | join("; "))}
	elif $table == "counters" then
		captures | . as $c | (.counters // [])[] | {capture: ($c | name)} + .
	elif $table == "pauses" then
		captures | . as $c | .pauses[] | . as $p | .classes[] |
		($c | of_capture) + {mac: $p.mac, address: $p.address, received: $p.received, sent: $p.sent} + .
	else
		error("rdmadump: there is no table \"\($table)\": captures, qps, flows, paths, findings, counters, pauses")
	end;

if ($ARGS.named.as // "json") == "tsv" then
	[table] | if length > 0 then (.[0] | keys_unsorted), (.[] | [.[]]) | @tsv else empty end
else
	table | tojson
end
