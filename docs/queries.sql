-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- Questions to the tables of docs/tables.md. SQLite and DuckDB take them as they are; tests/e2e/tables.sh runs each.

-- paths_by_loss: on which paths are most packets lost?
SELECT source, destination, SUM(lost) AS lost, SUM(sent) AS sent, ROUND(100.0 * SUM(lost) / SUM(sent), 3) AS percent
FROM paths GROUP BY source, destination HAVING SUM(lost) > 0 ORDER BY percent DESC, source;

-- hosts_by_loss: which host do the paths with losses have in common, as sender or as receiver?
SELECT host, COUNT(*) AS paths, SUM(lost) AS lost
FROM (SELECT source AS host, lost FROM paths UNION ALL SELECT destination, lost FROM paths) AS ends
WHERE lost > 0 GROUP BY host ORDER BY paths DESC, lost DESC, host;

-- retransmissions_by_second: when was most retransmitted, as each capture has it?
SELECT capture, CAST(time_ns / 1000000000 AS BIGINT) AS second, SUM(retransmitted) AS retransmitted, SUM(frames) AS frames
FROM flows GROUP BY 1, 2 HAVING SUM(retransmitted) > 0 ORDER BY retransmitted DESC, second, capture;

-- naks_by_pair: which pairs of QPs see NAKs?
SELECT capture, a, a_qp, b, b_qp, SUM(nak) AS naks FROM flows GROUP BY capture, a, a_qp, b, b_qp HAVING SUM(nak) > 0
ORDER BY naks DESC, capture, a, a_qp, b, b_qp;

-- goodput_by_host: how much does each host send, without retransmissions? Both ends may have been captured.
SELECT address, SUM(bytes) AS bytes
FROM (SELECT address, qp, peer, peer_qp, MAX(goodput_bytes) AS bytes FROM qps GROUP BY address, qp, peer, peer_qp) AS one
GROUP BY address ORDER BY bytes DESC, address;

-- slow_qps: which QPs wait longest for an acknowledgement, of one packet in a hundred?
SELECT address, qp, peer, peer_qp, ack_p50_ns, ack_p99_ns FROM qps WHERE ack_p99_ns IS NOT NULL
ORDER BY ack_p99_ns DESC, address, qp LIMIT 20;

-- stragglers: whose median is more than twice the least one of the same peer?
SELECT q.address, q.qp, q.peer, q.ack_p50_ns FROM qps AS q
JOIN (SELECT peer, MIN(ack_p50_ns) AS least FROM qps WHERE ack_p50_ns > 0 GROUP BY peer) AS best ON best.peer = q.peer
WHERE q.ack_p50_ns > 2 * best.least ORDER BY q.ack_p50_ns DESC, q.address, q.qp;

-- dead_qps: which QPs gave up, and whose are they?
SELECT address, qp, peer, peer_qp, program, pid, rank, job FROM qps WHERE gave_up > 0 ORDER BY address, qp;

-- programs: which programs and ranks had messages that were late?
-- The captures of both ends have the same QP.
SELECT program, pid, rank, SUM(late) AS delayed, SUM(timed_out) AS timeouts FROM
  (SELECT program, pid, rank, MAX(delayed) AS late, MAX(timeouts) AS timed_out FROM qps
   WHERE program IS NOT NULL GROUP BY program, pid, rank, address, qp, peer, peer_qp) AS each
GROUP BY program, pid, rank ORDER BY delayed DESC, pid;

-- missing_hosts: of which addresses is there no capture?
SELECT DISTINCT q.peer FROM qps AS q
WHERE NOT EXISTS (SELECT 1 FROM captures AS c WHERE ' ' || c.addresses || ' ' LIKE '% ' || q.peer || ' %') ORDER BY q.peer;

-- silent: which captures have no RDMA traffic?
SELECT capture, device, frames FROM captures WHERE rdma_frames = 0 ORDER BY capture;

-- rules: what was found, how surely, and in how many captures?
SELECT rule, certainty, COUNT(DISTINCT capture) AS captures, SUM(times) AS times FROM findings
WHERE severity <> 'note' GROUP BY rule, certainty ORDER BY captures DESC, rule, certainty;

-- next: what is to be done first?
SELECT DISTINCT rule, next FROM findings WHERE severity = 'problem' AND certainty <> 'possible' AND next IS NOT NULL ORDER BY rule, next;

-- not_captured: where does a device's counter say more than its capture has?
SELECT capture, device, counter, packets, device_count FROM counters WHERE NOT agrees ORDER BY capture, counter;

-- congestion: what was marked, what was asked for, and what was retransmitted, by second?
SELECT capture, CAST(time_ns / 1000000000 AS BIGINT) AS second, SUM(ecn_ce) AS marked, SUM(cnp) AS cnps, SUM(retransmitted) AS retransmitted
FROM flows GROUP BY 1, 2 HAVING SUM(ecn_ce) + SUM(cnp) > 0 ORDER BY capture, second;

-- pauses: who asked whom to pause, and for how long?
SELECT capture, mac, address, priority, SUM(pauses) AS pauses, SUM(paused_ns) AS paused_ns FROM pauses
GROUP BY capture, mac, address, priority ORDER BY pauses DESC, mac, priority;

-- unproven: which captures do not say what they lost?
SELECT capture, losses FROM captures WHERE losses LIKE '%does not say%' ORDER BY capture;
