#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Applications in `rdmadump analyze`: times of NVMe commands as tshark has them (tests/data/apps), what
# is shown as text and JSON, and captures that lack a part.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool zstd jq python3
an() { timeout 60 "$RDMADUMP" analyze "$@" 2>"$tmp/err"; }
nvme=$TEST_DATA/apps/nvme.pcap.zst
small=$TEST_DATA/roce/56_nvme/a.pcap.zst

# same_as_tshark TABLE JSON: counts, extremes, percentiles and sums of each operation, and the frames of
# the slowest commands
same_as_tshark() {
	python3 - "$1" "$2" <<'PY'
import json, math, sys

NEAR = 1000
theirs, rows = {}, []
with open(sys.argv[1], encoding="utf-8") as table:
    for line in table:
        name, command, reply, ns = line.rstrip("\n").split("\t")
        theirs.setdefault(name, []).append(int(ns))
        rows.append((int(ns), int(command), int(reply)))
app = json.load(open(sys.argv[2], encoding="utf-8"))["applications"][0]
# Connect of the admin queue and of an I/O queue are two rows; tshark has no I/O queue's of several packets.
connects = [o["latency_sum_ns"] for o in app["operations"] if o["name"] == "Connect"]
for time in theirs.pop("Connect"):
    assert any(abs(sum_ns - time) <= NEAR for sum_ns in connects), (connects, time)
ours = {o["name"]: o for o in app["operations"]}
for name, times in theirs.items():
    times.sort()
    value = ours[name]["latency"]
    pick = lambda part: times[math.ceil(len(times) * part / 100) - 1]
    assert ours[name]["exact"]
    assert value["n"] == len(times), (name, value["n"], len(times))
    for key, want in (("min_ns", times[0]), ("p50_ns", pick(50)), ("p90_ns", pick(90)), ("p99_ns", pick(99)), ("max_ns", times[-1])):
        assert abs(value[key] - want) <= NEAR, (name, key, value[key], want)
    # All of them together: what is wrong in one command is not hidden by the others.
    assert abs(ours[name]["latency_sum_ns"] - sum(times)) <= NEAR, name
rows.sort(reverse=True)
assert [(s["frame"], s["reply_frame"]) for s in app["slowest"][:4]] == [r[1:] for r in rows[:4]], (app["slowest"], rows[:4])
print(len(rows))
PY
}
an --json "$nvme" >"$tmp/nvme.json"
is "425 commands: as tshark times them" "$(same_as_tshark "$TEST_DATA/apps/nvme.tsv" "$tmp/nvme.json" 2>&1)" "$(wc -l <"$TEST_DATA/apps/nvme.tsv")"
# The comparison can fail.
awk -F '\t' -v OFS='\t' 'NR == 200 { $4 += 2000 } { print }' "$TEST_DATA/apps/nvme.tsv" >"$tmp/wrong.tsv"
has "... one of them wrong by 2 us is noticed" <(same_as_tshark "$tmp/wrong.tsv" "$tmp/nvme.json" 2>&1) 'AssertionError: Write'
sed 200d "$TEST_DATA/apps/nvme.tsv" >"$tmp/wrong.tsv"
has "... one that is missing, too" <(same_as_tshark "$tmp/wrong.tsv" "$tmp/nvme.json" 2>&1) "AssertionError: \('Write', 401, 400\)"
an --json "$small" >"$tmp/small.json"
is "another capture" "$(same_as_tshark "$TEST_DATA/apps/56_nvme.tsv" "$tmp/small.json" 2>&1)" "$(wc -l <"$TEST_DATA/apps/56_nvme.tsv")"
is "both queues are certain, by all signs" "$(jq -r '.conversations[].application // empty | "\(.name) \(.certainty) \(.signs | join("+")) \(.queue.id) \(.queue.send_size) \(.client)"' "$tmp/small.json" |
	sort | tr '\n' ';')" 'NVMe-oF certain port+private_data+messages 0 32 b;NVMe-oF certain port+private_data+messages 1 16 b;'
is "data by RDMA and in the capsule" "$(jq -c '.applications[0].operations | map({(.group + " " + .name): [.keyed.bytes, .inline.bytes]}) | add | [."I/O Write", ."I/O Connect"]' "$tmp/small.json")" \
	'[[65536,null],[null,1024]]'
is "an event request waits, and is no command without a reply of the others" \
	"$(jq -c '[.applications[0].operations[] | select(.open > 0) | [.name, .waits, .open]]' "$tmp/small.json")" '[["Async Event Request",true,1]]'

an "$small" >"$tmp/text"
has "text: the application" "$tmp/text" '^NVMe-oF, port 4420, 2 conversations  \[certain\]$'
has "... its operations" "$tmp/text" '^  I/O Write +4 +4\.55 ms +4\.96 ms +8\.2 ms +8\.2 ms +0 +0 65\.5 kB$'
sed -n '/^APPLICATIONS/,/more rows/p' "$tmp/text" | awk 'length > 80' >"$tmp/long"
is "... in 80 columns" "$(cat "$tmp/long")" ""
an -v "$small" >"$tmp/text"
has "-v: data in the capsule" "$tmp/text" '^  I/O Connect +1 .* 1\.0 kB, 1\.0 kB inline$'
has "-v: the slowest commands by frames" "$tmp/text" '^  8\.2 ms, Write: frame 222 to 241$'
has "... the application of a conversation" "$tmp/text" '^      application: NVMe-oF, I/O queue 1 of 16 entries, port 4420 \[certain\]'

# --- what is missing ----------------------------------------------------------------------------

cut() { "$RDMADUMP" -r "$small" -w "$tmp/cut.pcap" -q "$@" 2>"$tmp/err"; }
cut --snaplen 60
an --json "$tmp/cut.pcap" >"$tmp/one.json"
is "only headers: no numbers" "$(jq -c '[.applications[] | .operations]' "$tmp/one.json")" '[]'
cut --snaplen 96
an --json "$tmp/cut.pcap" >"$tmp/one.json"
is "96 bytes: messages are enough, but only likely" "$(jq -r '.applications[0] | .certainty, (.signs | join(" ")), (.operations | map(select(.name | startswith("Read"))) | .[0].latency.max_ns)' "$tmp/one.json" | tr '\n' ' ')" \
	'likely messages 4238248 '
if has_jsonschema "JSON by docs/schema/analyze.json"; then
	python3 - "$srcdir/docs/schema" "$tmp/small.json" "$tmp/one.json" >"$tmp/schema" 2>&1 <<'PY'
import json, sys, jsonschema
schema, finding = (json.load(open(f"{sys.argv[1]}/{n}.json", encoding="utf-8")) for n in ("analyze", "finding"))
resolver = jsonschema.RefResolver("analyze.json", schema, store={"finding.json": finding})
for name in sys.argv[2:]:
    report = json.load(open(name, encoding="utf-8"))
    jsonschema.Draft202012Validator(schema, resolver=resolver).validate(report)
    names = schema["$defs"]
    for app in report["applications"]:
        assert set(app) == set(names["application_sum"]["properties"]), app
        for o in app["operations"]:
            assert set(o) == set(names["app_operation"]["properties"]), o
    for c in report["conversations"]:
        assert c["application"] is None or set(c["application"]) == set(names["application"]["properties"]), c
PY
	ok "JSON by docs/schema/analyze.json" "$tmp/schema"
fi
tap_done
