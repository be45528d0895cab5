-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- Questions to the tables of docs/tables.md. SQLite, DuckDB and ClickHouse take them as they are: no alias is the name of a column that
-- it sums. tests/e2e/tables.sh runs each.

-- paths_by_loss: on which paths are most packets lost?
SELECT source, destination, SUM(lost) AS packets, SUM(sent) AS of_all, ROUND(100.0 * SUM(lost) / SUM(sent), 3) AS percent
FROM paths GROUP BY source, destination HAVING SUM(lost) > 0 ORDER BY percent DESC, source;

-- hosts_by_loss: which host do the paths with losses have in common, as sender or as receiver?
SELECT host, COUNT(*) AS paths, SUM(lost) AS packets
FROM (SELECT source AS host, lost FROM paths UNION ALL SELECT destination, lost FROM paths) AS ends
WHERE lost > 0 GROUP BY host ORDER BY paths DESC, packets DESC, host;

-- retransmissions_by_second: when was most retransmitted, as each capture has it?
SELECT capture, time_ns - time_ns % 1000000000 AS second_ns, SUM(retransmitted) AS packets, SUM(frames) AS of_all
FROM flows GROUP BY capture, second_ns HAVING SUM(retransmitted) > 0 ORDER BY packets DESC, second_ns, capture;

-- worst_minutes: which hosts retransmit most to each other, and when? Both ends may have been captured.
SELECT a, b, minute_ns, MAX(packets) AS most
FROM (SELECT capture, a, b, time_ns - time_ns % 60000000000 AS minute_ns, SUM(retransmitted) AS packets FROM flows
      GROUP BY capture, a, b, minute_ns) AS minutes
GROUP BY a, b, minute_ns HAVING MAX(packets) > 0 ORDER BY most DESC, a, b, minute_ns LIMIT 20;

-- naks_by_pair: which pairs of QPs see NAKs?
SELECT capture, a, a_qp, b, b_qp, SUM(nak) AS naks FROM flows GROUP BY capture, a, a_qp, b, b_qp HAVING SUM(nak) > 0
ORDER BY naks DESC, capture, a, a_qp, b, b_qp;

-- goodput_by_host: how much does each host send, without retransmissions? Both ends may have been captured.
SELECT address, SUM(bytes) AS sent
FROM (SELECT address, qp, peer, peer_qp, MAX(goodput_bytes) AS bytes FROM qps GROUP BY address, qp, peer, peer_qp) AS one
GROUP BY address ORDER BY sent DESC, address;

-- slow_qps: which QPs wait longest for an acknowledgement, of one packet in a hundred?
SELECT address, qp, peer, peer_qp, ack_p50_ns, ack_p99_ns FROM qps WHERE ack_p99_ns IS NOT NULL
ORDER BY ack_p99_ns DESC, address, qp LIMIT 20;

-- latency_by_rank: how long do the ranks of a job wait for an acknowledgement?
SELECT program, job, rank, COUNT(*) AS ends, MIN(ack_p50_ns) AS least_ns, MAX(ack_p50_ns) AS most_ns, MAX(ack_p99_ns) AS worst_ns
FROM qps WHERE program IS NOT NULL AND ack_p50_ns IS NOT NULL GROUP BY program, job, rank ORDER BY worst_ns DESC, program, rank;

-- stragglers: whose median is more than twice the least one of the same peer?
SELECT address, qp, peer, ack_p50_ns FROM qps
JOIN (SELECT peer, MIN(ack_p50_ns) AS least FROM qps WHERE ack_p50_ns > 0 GROUP BY peer) AS best USING (peer)
WHERE ack_p50_ns > 2 * least ORDER BY ack_p50_ns DESC, address, qp;

-- dead_qps: which QPs gave up or were refused, and whose are they?
SELECT DISTINCT address, qp, peer, peer_qp, ended, program, pid, rank, job FROM qps
WHERE ended IN ('retry_exceeded', 'rnr_retry_exceeded', 'remote_error') ORDER BY address, qp, ended;

-- programs: which programs and ranks had messages that were late?
-- The captures of both ends have the same QP.
SELECT program, pid, rank, SUM(late) AS messages, SUM(timed_out) AS rounds FROM
  (SELECT program, pid, rank, MAX(delayed) AS late, MAX(timeouts) AS timed_out FROM qps
   WHERE program IS NOT NULL GROUP BY program, pid, rank, address, qp, peer, peer_qp) AS each
GROUP BY program, pid, rank ORDER BY messages DESC, pid;

-- missing_hosts: of which addresses is there no capture?
SELECT DISTINCT q.peer FROM qps AS q
WHERE NOT EXISTS (SELECT 1 FROM captures AS c WHERE ' ' || c.addresses || ' ' LIKE '% ' || q.peer || ' %') ORDER BY q.peer;

-- silent: which captures have no RDMA traffic?
SELECT capture, device, frames FROM captures WHERE rdma_frames = 0 ORDER BY capture;

-- rules: what was found, how surely, and in how many captures?
SELECT rule, certainty, COUNT(DISTINCT capture) AS captures, SUM(times) AS made FROM findings
WHERE severity <> 'note' GROUP BY rule, certainty ORDER BY captures DESC, rule, certainty;

-- next: what is to be done first?
SELECT DISTINCT rule, next FROM findings WHERE severity = 'problem' AND certainty <> 'possible' AND next IS NOT NULL ORDER BY rule, next;

-- not_captured: where does a device's counter say more than its capture has?
SELECT capture, device, counter, packets, device_count FROM counters WHERE NOT agrees ORDER BY capture, counter;

-- congestion: what was marked, what was asked for, and what was retransmitted, by second?
SELECT capture, time_ns - time_ns % 1000000000 AS second_ns, SUM(ecn_ce) AS marked, SUM(cnp) AS cnps, SUM(retransmitted) AS packets
FROM flows GROUP BY capture, second_ns HAVING SUM(ecn_ce) + SUM(cnp) > 0 ORDER BY capture, second_ns;

-- incast: at which address were packets of several peers marked or retransmitted in the same second? Most peers first.
SELECT capture, address, second_ns, COUNT(DISTINCT peer) AS peers, SUM(marked) AS marks, SUM(again) AS packets
FROM (SELECT capture, a AS address, b AS peer, time_ns - time_ns % 1000000000 AS second_ns, ecn_ce AS marked, retransmitted AS again FROM flows
      UNION ALL SELECT capture, b, a, time_ns - time_ns % 1000000000, ecn_ce, retransmitted FROM flows) AS ends
WHERE marked + again > 0 GROUP BY capture, address, second_ns HAVING COUNT(DISTINCT peer) > 1
ORDER BY peers DESC, packets DESC, capture, address, second_ns;

-- pauses: who asked whom to pause, and for how long?
SELECT capture, mac, address, priority, SUM(pauses) AS asked, SUM(paused_ns) AS asked_ns FROM pauses
GROUP BY capture, mac, address, priority ORDER BY asked DESC, mac, priority;

-- paused_and_retransmitted: where there were pauses, was much retransmitted, too?
SELECT capture, packets, asked_ns FROM (SELECT capture, SUM(retransmitted) AS packets FROM flows GROUP BY capture) AS f
JOIN (SELECT capture, SUM(paused_ns) AS asked_ns FROM pauses GROUP BY capture) AS p USING (capture) ORDER BY asked_ns DESC, capture;

-- unproven: which captures do not say what they lost?
SELECT capture, losses FROM captures WHERE losses LIKE '%does not say%' ORDER BY capture;
