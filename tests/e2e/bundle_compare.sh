#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What differs between two bundles: one of the modelled device, and copies of it with known changes.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3 tar zstd
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
"$RDMADUMP" --version | grep -q "^  libarchive" || skip_all "this build has no libarchive"
cd "$tmp" || exit 1
mkdir bin scratch
for tool in ethtool lspci devlink rdma dcb dmesg dpkg-query; do printf '#!/bin/sh\necho "%s: on"\n' $tool >bin/$tool; done
chmod 755 bin/*
PATH=$tmp/bin:$PATH model --gen count=100,size=200 -- "$RDMADUMP" bundle -w old.tar.zst --timeout 100 >log 2>&1
ok "a bundle" log
mkdir un && tar -xf old.tar.zst -C un

# changed NAME CODE: a copy of the bundle; CODE (Python) changes files of the dictionary m, name -> bytes
cat >change.py <<'EOF'
import hashlib, io, json, pathlib, sys, tarfile
root = next(pathlib.Path("un").iterdir())
manifest = json.loads((root / "manifest.json").read_text())
rows = {r["name"]: r for r in manifest["members"]}
m = {n: (root / n).read_bytes() for n, r in rows.items() if r["sha256"] and not n.startswith("sysroot")}
def edit(name, change):
    document = json.loads(m[name])
    change(document)
    m[name] = json.dumps(document).encode()
extra = []
exec(sys.argv[2])
for n in list(rows):
    if n not in m:
        del rows[n]
for n, data in m.items():
    rows[n] = {**rows.get(n, {}), "name": n, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
manifest["members"] = list(rows.values()) + extra
with tarfile.open(sys.argv[1], "w") as out:
    for n, data in [("manifest.json", json.dumps(manifest).encode()), *m.items()]:
        info = tarfile.TarInfo("b/" + n)
        info.size = len(data)
        out.addfile(info, io.BytesIO(data))
EOF
changed() { python3 change.py "$@"; }
compare() { TMPDIR=$tmp/scratch "$RDMADUMP" bundle --compare "$@" >out 2>log; }

compare old.tar.zst old.tar.zst
is "the same bundle: nothing changed" "$? $(tail -n 1 out)" "0 nothing changed"

changed new.tar '
edit("host/host.json", lambda d: d.update(kernel="9.9.9", uptime_s=1, start_ns=1))
edit("host/modules.json", lambda d: d["modules"][0]["parameters"].update(prof_sel="3"))
edit("rdmadump/info-mlx5_0.json", lambda d: (d["firmware"].update(sysfs="16.99.1"), d["pci"]["link"].update(width=8),
    d["ports"][0].update(state="down", active_mtu=4096),
    d["findings"].append({"rule": "pcie-width", "severity": "problem", "title": "the link is narrow", "where": "mlx5_0"})))
def more(d):
    for c in d["ports"][0]["counters"]:
        if c["name"] == "hw_counters/out_of_buffer": c["value"] = 12
edit("rdmadump/counters.json", more)
m["host/packages-dpkg.txt"] = b"dpkg-query: on\nlibibverbs1\tamd64\t50.0\tii\n"
m["tools/ethtool-k-enp1s0f0np0.txt"] = b"ethtool: off\n"
del m["tools/ethtool-a-enp1s0f0np0.txt"]
manifest["not_taken"].append({"name": "tools/ethtool-a-enp1s0f0np0.txt", "why": "ethtool is not installed"})
'
compare old.tar.zst new.tar --json
is "a changed one: exit status" "$?" 0
jq -r '.changes[] | "\(.topic)|\(.name)|\(.old)|\(.new)"' out >got
cat >want <<'EOF'
findings|findings/pcie-width mlx5_0|null|problem: the link is narrow
links|pci/link/width|16|8
links|ports/1/state|active|down
counters of faults|ports/mlx5_0:1/faults/hw_counters/out_of_buffer|0|12
versions|kernel|9.9.9
versions|libibverbs1|null|amd64 50.0 ii
firmware|firmware/sysfs|16.35.2000|16.99.1
module parameters|modules/mlx5_core/parameters/prof_sel|null|3
settings|ports/1/active_mtu|1024|4096
settings|ethtool|on|off
EOF
sed -i "s/^versions|kernel|.*|9.9.9$/versions|kernel|9.9.9/" got
diff want got >log
ok "what changed, by topic, and nothing else" log
is "what could not be compared, and why" "$(jq -r '.not_compared[] | "\(.member) \(.missing_in) \(.why)"' out)" \
	"tools/ethtool-a-enp1s0f0np0.txt new ethtool is not installed"
fits "its schema" bundle-compare out
compare new.tar old.tar.zst
has "as text" out '^  rdmadump/info-mlx5_0.json: firmware/sysfs: 16.99.1 -> 16.35.2000$'
has "... by topic" out '^links: 2 changed$'
has "... what is no longer there" out 'libibverbs1: amd64 50.0 ii -> \(none\)$'
has "... what could not be compared" out 'missing in the old bundle: ethtool is not installed$'

changed many.tar '
m["tools/ethtool-k-enp1s0f0np0.txt"] = "".join("feature%d: on\n" % i for i in range(6000)).encode()
m["tools/ethtool-i-enp1s0f0np0.txt"] = "".join("x%d: on\n" % i for i in range(100001)).encode()
m["rdmadump/info-mlx5_0.json"] = b"[" * 500 + b"]" * 500
m["tools/mlnx_qos-x.txt"] = b"\033[31mred: \033]0;title\007\xff\n"
manifest["redacted"] = True
'
compare old.tar.zst many.tar --json
is "very many changes: a limit, and how many there are more" \
	"$? $(jq -r '"\(.changes | length) \(.changes_left_out)"' out)" "0 5000 1001"
is "... members with too many values, or damaged ones" "$(jq -r '.not_compared[] | "\(.member): \(.why)"' out | sort | tr '\n' ,)" \
	"rdmadump/info-mlx5_0.json: it is damaged, or has too many values,tools/ethtool-i-enp1s0f0np0.txt: it is damaged, or has too many values,tools/mlnx_qos-x.txt: it has no such member,"
compare old.tar.zst many.tar
is "as text: the beginning of the list" "$? $(grep -c 'feature' out) $(grep -c '^  and 49[0-9][0-9] more: --json prints all$' out)" "0 39 1"
has "... and what is not in it" out '^1001 more changes were left out$'
has "... a redacted one" out '^Redaction replaces the same address'
changed red.tar 'm["tools/ofed_info.txt"] = b"\033[31mred: \033]0;title\007\xff\n"'
changed plain.tar 'm["tools/ofed_info.txt"] = b"a: 1\n"'
compare plain.tar red.tar
is "bytes that a terminal would obey are not printed" "$? $(grep -cP '\033|\007' out) $(grep -c title out)" "0 0 1"

# --- refused ----------------------------------------------------------------------------------

changed outside.tar 'm["tools/ethtool-i-../../../../../../etc/passwd.txt"] = b"x"'
compare old.tar.zst outside.tar
is "a member outside of the bundle: refused" "$?" 2
echo "secret: 7" >secret.txt
changed leak.tar "m['tools/ethtool-i-d/x.txt'] = b'a'
extra.append({'name': 'tools/ethtool-i-d/../../../../../../../../../../..$tmp/secret.txt', 'sha256': '', 'size': 1})"
compare old.tar.zst leak.tar
is "a name of the manifest that leads out of the bundle is not read" "$? $(grep -c 'secret: ' out)" "0 0"
changed sum.tar ''
python3 - <<'EOF'
data = bytearray(open("sum.tar", "rb").read())
data[data.index(b"b/host/host.json\0") + 512 + 5] ^= 1  # behind the header of 512 bytes
open("sum.tar", "wb").write(data)
EOF
compare sum.tar old.tar.zst
is "a member that the manifest does not describe: refused" "$?" 2
head -c 4000 old.tar.zst >half.tar.zst
compare old.tar.zst half.tar.zst
is "half a bundle: refused" "$?" 2
compare old.tar.zst absent.tar.zst
is "no bundle: refused" "$?" 2
has "... with its name" log "absent.tar.zst"
compare old.tar.zst
is "only one bundle: refused" "$?" 1
has "... and why" log "name the new bundle, too"
for more in "-w x.tar" "--dry-run" "--redact" "--capture 1" "--file log"; do
	# shellcheck disable=SC2086 # options
	compare old.tar.zst new.tar $more
	is "--compare $more: refused" "$?" 1
done
is "nothing is left" "$(ls -A scratch)" ""
tap_done
