-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- The tables of docs/tables.md for ClickHouse 18.16 and later: clickhouse-client --multiquery <clickhouse.sql
CREATE TABLE captures (capture String, device Nullable(String), device_port Nullable(UInt8), begin_ns Nullable(Int64), duration_s Float64, frames
	Int64, rdma_frames Int64, losses String, rule Nullable(String), certainty Nullable(String), addresses String, clock_offset_ns Nullable(Int64),
	clock_error_ns Nullable(Int64)) ENGINE = MergeTree() ORDER BY capture;
CREATE TABLE hosts (host String, addresses String, captured String, programs String) ENGINE = MergeTree() ORDER BY host;
CREATE TABLE qps (capture String, device Nullable(String), device_port Nullable(UInt8), conversation UInt32, address String, qp Nullable(UInt32), peer
	String, peer_qp Nullable(UInt32), transport String, pid Nullable(UInt32), program Nullable(String), rank Nullable(UInt32), job
	Nullable(String), container Nullable(String), begin_ns Int64, end_ns Int64, frames Int64, wire_bytes Int64, goodput_bytes Int64, retransmitted
	Int64, delayed Int64, timeouts Int64, ended Nullable(String), ack_p50_ns Nullable(Int64), ack_p99_ns Nullable(Int64),
	message_p50_ns Nullable(Int64), message_p99_ns Nullable(Int64)) ENGINE = MergeTree() ORDER BY (capture, conversation);
CREATE TABLE flows (capture String, device Nullable(String), device_port Nullable(UInt8), conversation UInt32, a String, a_qp Nullable(UInt32), b
	String, b_qp Nullable(UInt32), time_ns Int64, width_ns Int64, frames Int64, wire_bytes Int64, goodput_bytes Int64, retransmitted Int64, nak
	Int64, cnp Int64, ecn_ce Int64, latency_mean_ns Nullable(Int64), latency_max_ns Nullable(Int64)) ENGINE = MergeTree() PARTITION BY
	intDiv(time_ns, 86400000000000) ORDER BY (capture, conversation, time_ns);
CREATE TABLE paths (capture_a String, capture_b String, source String, destination String, sender String, sender_known UInt8, qp UInt32, sent Int64,
	arrived Int64, lost Int64, unclear Int64, duplicated Int64, reordered Int64, missed Int64, variation_p50_ns Nullable(Int64), variation_p99_ns
	Nullable(Int64)) ENGINE = MergeTree() ORDER BY (source, destination);
CREATE TABLE findings (capture String, device Nullable(String), device_port Nullable(UInt8), scope String, rule String, severity String, certainty
	String, place Nullable(String), title String, detail String, next Nullable(String), times Int64, begin_ns Nullable(Int64), end_ns
	Nullable(Int64), doubts String) ENGINE = MergeTree() ORDER BY (rule, capture);
CREATE TABLE counters (capture String, device String, counter String, meaning String, packets Int64, device_count Nullable(Int64), agrees UInt8, why
	Nullable(String)) ENGINE = MergeTree() ORDER BY (capture, counter);
CREATE TABLE pauses (capture String, device Nullable(String), device_port Nullable(UInt8), mac Nullable(String), address Nullable(String), received
	Int64, sent Int64, priority Nullable(UInt8), pauses Int64, resumes Int64, first_pause_frame Nullable(Int64), last_pause_frame Nullable(Int64),
	quanta Int64, paused_ns Nullable(Int64), longest_ns Nullable(Int64), share Nullable(Float64)) ENGINE = MergeTree() ORDER BY capture;

-- missing_hosts: of queries.sql, where LIKE takes no column and a subquery has none of the query around it
SELECT DISTINCT peer FROM qps WHERE peer NOT IN (SELECT arrayJoin(splitByChar(' ', addresses)) FROM captures) ORDER BY peer;
